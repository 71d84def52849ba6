//! Server of the Open Traffic Generator API: one listener for HTTP, HTTPS and gRPC.
//!
//! The first bytes of a connection select its protocol, so that one address serves every client:
//! 0x16 opens TLS (RFC 8446 5.1), the preface of HTTP/2 means gRPC, anything else is HTTP/1. TLS
//! uses a self-signed certificate that is generated at startup, as in other OTG engines. Clients
//! are authenticated, by client certificates, only if [`Options::client_ca`] is set; requests
//! without TLS are refused then.
//!
//! All transports use the same [`Engine`]. No client can stop the server, block it or exhaust its
//! memory: [`limits`] bounds the size, the time and the number of requests, and everything beyond
//! is answered with an error. A running test is not disturbed, because the server has its own
//! thread and calls of the engine run on further ones.

mod body;
mod call;
mod connection;
mod grpc;
mod http;
mod json;
pub mod limits;
mod response;
mod tls;
mod watch;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::{Semaphore, watch as channel};

use super::engine::Engine;
use tls::Identity;

/// Options of the server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The listening address; port 0 selects a free port. Default: 127.0.0.1:8443.
    pub addr: SocketAddr,
    /// Names in the certificate, beside `localhost` and the address.
    pub names: Vec<String>,
    /// CA certificates in PEM that must have signed clients' certificates. Default: clients need
    /// no certificate.
    pub client_ca: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { addr: (Ipv4Addr::LOCALHOST, 8443).into(), names: Vec::new(), client_ca: None }
    }
}

/// A running server; it stops when it is dropped.
pub struct Server {
    addr: SocketAddr,
    certificate: String,
    authenticates: bool,
    stop: channel::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// The state that all connections share.
struct Shared {
    engine: Arc<dyn Engine>,
    large_bodies: Arc<Semaphore>,
    /// True if clients must present a certificate, which implies TLS.
    authenticates: bool,
    /// True if only requests to an address or to `localhost` are served.
    local: bool,
}

/// Listens, and serves from its own thread.
///
/// # Errors
/// The address is not available, the certificate cannot be generated, or `client_ca` holds no
/// certificate ([`io::ErrorKind::InvalidData`]).
pub fn serve(options: &Options, engine: Arc<dyn Engine>) -> io::Result<Server> {
    let identity = Identity::new(options.addr.ip(), &options.names, options.client_ca.as_deref())?;
    let certificate = identity.certificate.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits::CALLS_MAX)
        .thread_name("otg-call")
        .build()?;
    let listener = {
        let _entered = runtime.enter();
        connection::listen(options.addr)?
    };
    let addr = listener.local_addr()?;
    let (stop, stopped) = channel::channel(false);
    let large_bodies = Arc::new(Semaphore::new(limits::LARGE_BODIES));
    let authenticates = options.client_ca.is_some();
    let shared =
        Arc::new(Shared { engine, large_bodies, authenticates, local: addr.ip().is_loopback() });
    let thread = std::thread::Builder::new().name("otg-server".into()).spawn(move || {
        runtime.block_on(connection::accept(listener, identity.acceptor, shared, stopped));
        runtime.shutdown_timeout(limits::STOP_TIME);
    })?;
    Ok(Server { addr, certificate, authenticates, stop, thread: Some(thread) })
}

impl Server {
    /// Returns the listening address.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the server's certificate in PEM, for clients that verify it (gRPC over TLS).
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns a message with the listening address and who can reach it.
    #[must_use]
    pub fn announcement(&self) -> String {
        if self.authenticates {
            return format!(
                "OTG on {} over HTTPS and gRPC, for clients with a certificate",
                self.addr
            );
        }
        let who = match self.addr.ip() {
            ip if ip.is_loopback() => "this machine only",
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => {
                "every host that can reach this machine, unauthenticated"
            }
            ip if ip.is_unspecified() => "every host that can reach this machine, unauthenticated",
            _ => "every host that can reach this address, unauthenticated",
        };
        format!("OTG on {} over HTTP, HTTPS and gRPC, for {who}", self.addr)
    }

    /// Stops listening, gives pending responses a short time to be sent, and returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // Without receivers the thread has ended already.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            if thread.join().is_err() {
                tracing::error!(target: "sluice::otg", "the OTG server has failed");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
