//! The HTTP server for Prometheus: one thread, a bounded number of connections, a few seconds for
//! each. A client that sends nothing, or half a request, never delays another: at the limit, the
//! oldest connection is closed.
//!
//! Hyper is used directly because it lets every bound be set here; a framework would only route
//! one path.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, VARY};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::task::AbortHandle;

use super::exposition::Exposition;

/// The default port of the metrics server, which is that of OpenTelemetry's Prometheus exporters.
pub const SCRAPE_PORT: u16 = 9464;
/// Maximum number of open connections.
const CONNECTIONS: usize = 64;
/// Maximum time of a connection, so that a stalled client frees its slot.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Returns the metrics in OpenMetrics, or the reason why there are none.
pub type Scrape = Arc<dyn Fn() -> Result<String, String> + Send + Sync>;

/// Serves `GET /metrics` on `addr` from its own thread until the process ends. Returns the
/// listening address, whose port is chosen by the system if `addr` has port 0.
///
/// # Errors
/// The address is not available.
pub fn serve(addr: SocketAddr, scrape: Scrape) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind(addr)?;
    listener.set_nonblocking(true)?;
    let addr = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("scrape".into()).spawn(move || {
        runtime.block_on(async {
            match tokio::net::TcpListener::from_std(listener) {
                Ok(listener) => accept(listener, scrape).await,
                Err(error) => tracing::error!(target: "sluice::report", "the metrics server cannot start: {error}"),
            }
        });
    })?;
    Ok(addr)
}

async fn accept(listener: tokio::net::TcpListener, scrape: Scrape) {
    let mut connections: VecDeque<AbortHandle> = VecDeque::with_capacity(CONNECTIONS);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Usually out of file descriptors; an immediate retry would spin.
                tracing::warn!(target: "sluice::report", "the metrics server cannot accept: {error}");
                tokio::time::sleep(TIMEOUT).await;
                continue;
            }
        };
        connections.retain(|connection| !connection.is_finished());
        if connections.len() >= CONNECTIONS {
            // A response takes milliseconds, so the oldest connection is a stalled one.
            connections.pop_front().expect("there are some").abort();
        }
        let scrape = Arc::clone(&scrape);
        let connection = tokio::spawn(async move {
            let answer = service_fn(move |request| {
                let answer = respond(&request, &scrape);
                async move { Ok::<_, Infallible>(answer) }
            });
            let connection = http1::Builder::new()
                .keep_alive(false)
                .serve_connection(TokioIo::new(stream), answer);
            // Errors here are the client's, or its disconnect.
            let _ = tokio::time::timeout(TIMEOUT, connection).await;
        });
        connections.push_back(connection.abort_handle());
    }
}

fn respond(request: &Request<Incoming>, scrape: &Scrape) -> Response<String> {
    const PLAIN: &str = "text/plain; charset=utf-8";
    let accept = request.headers().get_all(ACCEPT).iter().filter_map(|v| v.to_str().ok());
    let format = Exposition::accepted(accept);
    let (status, kind, body) = match (request.method(), request.uri().path()) {
        (&Method::GET, "/metrics") => match scrape() {
            Ok(body) => (StatusCode::OK, format.media_type(), format.write(body)),
            Err(why) => (StatusCode::SERVICE_UNAVAILABLE, PLAIN, why),
        },
        (_, "/metrics") => (StatusCode::METHOD_NOT_ALLOWED, PLAIN, "GET only\n".into()),
        _ => (StatusCode::NOT_FOUND, PLAIN, "the metrics are at /metrics\n".into()),
    };
    Response::builder()
        .status(status)
        .header(CONTENT_TYPE, kind)
        .header(VARY, "Accept")
        .body(body)
        .expect("a constant status and headers")
}
