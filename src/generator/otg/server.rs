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

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use super::engine::Engine;
use tokio::sync::{Semaphore, watch as channel};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};

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
    // One thread for all connections: calls of the engine run on others, and none blocks it.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits::CALLS_MAX)
        .thread_name("otg-call")
        .build()?;
    let listener = {
        // A listener is registered with the runtime that is entered.
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
        // A call that does not end must not keep the program from ending.
        runtime.shutdown_timeout(limits::STOP_TIME);
    })?;
    Ok(Server { addr, certificate, authenticates, stop, thread: Some(thread) })
}

impl Server {
    /// Returns the listening address.
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Returns the server's certificate in PEM, for clients that verify it (gRPC over TLS).
    pub fn certificate(&self) -> &str {
        &self.certificate
    }

    /// Returns a message with the listening address and who can reach it.
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

/// The TLS identity of the server.
pub(super) struct Identity {
    pub(super) acceptor: TlsAcceptor,
    /// In PEM.
    pub(super) certificate: String,
}

impl Identity {
    /// Generates a key and a certificate for `localhost`, `ip` and `names`. With `client_ca`, CA
    /// certificates in PEM, clients must present a certificate that one of them signed.
    pub(super) fn new(ip: IpAddr, names: &[String], client_ca: Option<&str>) -> io::Result<Self> {
        let mut all = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
        // The loopback is in the list, and the unspecified address is none that a client names.
        if !ip.is_unspecified() && !ip.is_loopback() {
            all.push(ip.to_string());
        }
        all.extend(names.iter().cloned());
        let made = rcgen::generate_simple_self_signed(all).map_err(io::Error::other)?;
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let chain = vec![made.cert.der().clone()];
        let verifier = client_ca.map(client_verifier).transpose()?;
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .and_then(|builder| {
                    let builder = match verifier {
                        Some(verifier) => builder.with_client_cert_verifier(verifier),
                        None => builder.with_no_client_auth(),
                    };
                    builder.with_single_cert(chain, key.into())
                })
                .map_err(io::Error::other)?;
        // gRPC needs HTTP/2, which a TLS client selects by ALPN.
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Self { acceptor: Arc::new(config).into(), certificate: made.cert.pem() })
    }
}

/// Returns a verifier for clients' certificates with the CA certificates in `pem`.
fn client_verifier(pem: &str) -> io::Result<Arc<dyn ClientCertVerifier>> {
    let wrong = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        let certificate = certificate.map_err(|e| wrong(format!("no certificate in PEM: {e}")))?;
        roots
            .add(certificate)
            .map_err(|e| wrong(format!("no certificate of an authority: {e}")))?;
    }
    // Without an authority no client could connect, so this is the wrong file.
    if roots.is_empty() {
        return Err(wrong("there is no certificate in PEM in it".into()));
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    WebPkiClientVerifier::builder_with_provider(roots.into(), provider)
        .build()
        .map_err(|e| wrong(e.to_string()))
}

pub mod limits {
    //! Limits for clients of the server.

    use std::time::Duration;

    /// Maximum body of a request. A flow is about 2 kB of JSON, so this holds ten thousand flows.
    pub const BODY_MAX: usize = 32 << 20;

    /// Maximum bytes that are read and discarded after a body that is too long, so that a client that
    /// reads only after it has sent everything still gets the error.
    pub(super) const DRAIN_MAX: usize = 256 << 20;

    /// Maximum time from the head of a request to the end of its body.
    pub(super) const BODY_TIME: Duration = Duration::from_secs(60);

    /// Bodies up to this length are read by all connections at once.
    pub(super) const BODY_SMALL: usize = 64 << 10;

    /// Maximum number of longer bodies in memory; further requests wait.
    pub(super) const LARGE_BODIES: usize = 2;

    /// Maximum number of values in a JSON body, as in a configuration file.
    pub(super) const VALUES_MAX: usize = 1_000_000;

    /// Maximum number of connections in service: together with as many that are being refused, half
    /// of the usual limit of 1024 open files per process.
    pub const CONNECTIONS_MAX: usize = 256;

    /// Maximum number of connections that are being refused at a time; further ones wait.
    pub(super) const REFUSALS_MAX: usize = 256;

    /// Maximum time to refuse a connection.
    pub(super) const REFUSAL_TIME: Duration = Duration::from_secs(1);

    /// Maximum time from a connection to the head of its first request, and for every head.
    pub(super) const HEAD_TIME: Duration = Duration::from_secs(10);

    /// Maximum head of a request in bytes.
    pub(super) const HEAD_MAX: usize = 32 << 10;

    /// Maximum time of a connection without a request and without traffic.
    pub(super) const IDLE_TIME: Duration = Duration::from_secs(60);

    /// Maximum number of open requests on an HTTP/2 connection.
    pub(super) const STREAMS_MAX: u32 = 16;

    /// Maximum number of concurrent calls of the engine; further ones wait.
    pub(super) const CALLS_MAX: usize = 16;

    /// Maximum time to finish responses after the server was told to stop.
    pub(super) const STOP_TIME: Duration = Duration::from_secs(2);

    /// Maximum text of a gRPC status. It is sent in a header, where quotes and braces take three
    /// bytes each, and clients accept 8 KiB of headers.
    pub(super) const STATUS_MAX: usize = 2048;

    /// Maximum size of one message of a gRPC stream.
    pub(super) const CHUNK: usize = 1 << 20;
}
