//! The HTTP server that Prometheus scrapes: one thread, a few connections, a few seconds each.
//!
//! Hyper is the engine under most Rust servers and lets every bound be set here; a framework on
//! top of it would route one path.

use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::sync::Semaphore;

use super::metrics;

/// Connections served at a time; more wait in the listener's queue.
const CONNECTIONS: usize = 8;
/// The longest a connection may take, so that a client that stalls gives its place back.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Answers a scrape with the metrics, or says why there are none.
pub type Scrape = Arc<dyn Fn() -> Result<String, String> + Send + Sync>;

/// Serves `GET /metrics` on `addr` from a thread of its own until the process ends, and returns
/// the address it listens on (its port, where `addr` has port 0).
///
/// # Errors
/// When the address cannot be listened on.
pub fn serve(addr: SocketAddr, scrape: Scrape) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(addr)?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("scrape".into()).spawn(move || {
        runtime.block_on(async {
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => accept(listener, scrape).await,
                Err(error) => tracing::error!("the metrics server cannot start: {error}"),
            }
        });
    })?;
    Ok(addr)
}

async fn accept(listener: tokio::net::TcpListener, scrape: Scrape) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely; trying again at once would spin.
                tracing::warn!("the metrics server cannot accept: {error}");
                tokio::time::sleep(TIMEOUT).await;
                continue;
            }
        };
        let scrape = Arc::clone(&scrape);
        tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let answer = respond(&request, &scrape);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answer);
            // Whatever goes wrong here is the client's doing, or its going away.
            let _ = tokio::time::timeout(TIMEOUT, connection).await;
            drop(place);
        });
    }
}

fn respond(request: &Request<Incoming>, scrape: &Scrape) -> Response<String> {
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => match scrape() {
            Ok(body) => (StatusCode::OK, metrics::CONTENT_TYPE, body),
            Err(why) => (StatusCode::SERVICE_UNAVAILABLE, "text/plain", why),
        },
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, "text/plain", "GET only\n".into()),
        _ => (StatusCode::NOT_FOUND, "text/plain", "the metrics are at /metrics\n".into()),
    };
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, kind)
        .body(body)
        .expect("a constant status and header")
}
