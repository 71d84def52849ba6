//! A server of the Open Traffic Generator's API: one listener that speaks HTTP, HTTPS and gRPC.
//!
//! Which of them a connection speaks is seen by its first octets, so that one address does for
//! every client: 0x16 opens TLS (RFC 8446 5.1), the preface of HTTP/2 is gRPC's, anything else is
//! HTTP/1. TLS is by a certificate that the server makes for itself when it starts, as engines of
//! OTG do. Clients are authenticated only where [`Options::client_ca`] says so, by certificates of
//! their own; then nothing is answered outside of TLS.
//!
//! All doors lead to the same [`Engine`]. Nothing that a client sends can
//! stop the server, hold it up or fill its memory: [`limits`] bounds what is read, how long it may
//! take and how many may ask at once, and everything beyond is answered with an error. A test that
//! runs is not disturbed by any of it, because the server has a thread of its own and calls of the
//! engine are made on others.

mod body;
mod call;
mod connection;
mod grpc;
mod http;
pub mod limits;
mod tls;
mod watch;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use tokio::sync::{Semaphore, watch as channel};

use super::engine::Engine;
use tls::Identity;

/// Where to listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Options {
    /// The address; port 0 takes any that is free. Default: 127.0.0.1:8443.
    pub addr: SocketAddr,
    /// Names that the certificate is for, beside `localhost` and the address.
    pub names: Vec<String>,
    /// Certificates, as PEM, of the authorities that clients' certificates have to be signed by.
    /// Default: clients need none.
    pub client_ca: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { addr: (Ipv4Addr::LOCALHOST, 8443).into(), names: Vec::new(), client_ca: None }
    }
}

/// A server that runs until it is stopped or dropped.
pub struct Server {
    addr: SocketAddr,
    certificate: String,
    authenticates: bool,
    stop: channel::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

/// What all connections of a server have in common.
struct Shared {
    engine: Arc<dyn Engine>,
    large_bodies: Arc<Semaphore>,
    /// True if clients have to show a certificate, and so to speak TLS.
    authenticates: bool,
}

/// Listens, and serves from a thread of its own.
///
/// # Errors
/// If the address cannot be listened on, no certificate be made, or `client_ca` holds none
/// ([`io::ErrorKind::InvalidData`]).
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
    let shared = Arc::new(Shared { engine, large_bodies, authenticates });
    let thread = std::thread::Builder::new().name("otg-server".into()).spawn(move || {
        runtime.block_on(connection::accept(listener, identity.acceptor, shared, stopped));
        runtime.shutdown_timeout(limits::STOP_TIME);
    })?;
    Ok(Server { addr, certificate, authenticates, stop, thread: Some(thread) })
}

impl Server {
    /// Where it listens.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Its certificate as PEM, for clients that want to know whom they talk to (gRPC over TLS).
    #[must_use]
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Where it listens and who can reach it, for people.
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
            IpAddr::V4(Ipv4Addr::UNSPECIFIED) => "whoever can reach this machine, unauthenticated",
            ip if ip.is_unspecified() => "whoever can reach this machine, unauthenticated",
            _ => "whoever can reach this address, unauthenticated",
        };
        format!("OTG on {} over HTTP, HTTPS and gRPC, for {who}", self.addr)
    }

    /// Stops listening, gives answers under way a moment to leave, and returns.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        // Without receivers the thread has ended already.
        let _ = self.stop.send(true);
        if let Some(thread) = self.thread.take() {
            if thread.join().is_err() {
                tracing::error!("the OTG server has failed");
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}
