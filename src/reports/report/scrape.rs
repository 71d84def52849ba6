//! The HTTP server for Prometheus: one thread, a bounded number of connections, a few seconds for
//! each. A client that sends nothing, or half a request, never delays another: at the limit, the
//! oldest connection is closed.
//!
//! Hyper is used directly because it lets every bound be set here; a framework would only route
//! one path.
//!
//! Prometheus reads two text formats. A client lists its formats in `Accept` (RFC 9110 12.5.1). OpenMetrics 1.0.0 is
//! sent to clients that name it and prefer it; all others, including browsers and `curl`, get the text format 0.0.4.

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
    // Tokio expects it of a listener that it takes over.
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
        // Handles of finished connections are only removed here, where their number matters.
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
                // Scrapes are seconds apart, and an idle connection would keep its slot.
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
        // Caches must not give one client's format to another.
        .header(VARY, "Accept")
        .body(body)
        .expect("a constant status and headers")
}

/// A text format for metrics.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposition {
    OpenMetrics,
    /// Prometheus text format, version 0.0.4.
    Text,
}

impl Exposition {
    /// Selects the format by the `Accept` headers of a request.
    #[must_use]
    pub fn accepted<'a>(headers: impl Iterator<Item = &'a str>) -> Self {
        let ranges: Vec<Range> =
            headers.flat_map(|h| h.split(',')).filter_map(Range::parse).collect();
        let best =
            |is: &dyn Fn(&Range) -> bool| ranges.iter().filter(|r| is(r)).map(|r| r.quality).max();
        let open =
            best(&|r| r.media == "application/openmetrics-text" && r.has_version(&["1.0.0"]));
        // The most specific range decides: `*/*` applies to plain text only if no other range
        // does.
        let text = best(&|r| r.media == "text/plain" && r.has_version(&["0.0.4"]))
            .or_else(|| best(&|r| r.media == "text/*"))
            .or_else(|| best(&|r| r.media == "*/*"));
        match open {
            // A quality of 0 refuses the format; equal ones are decided for the richer format.
            Some(open) if open > 0 && open >= text.unwrap_or(0) => Self::OpenMetrics,
            _ => Self::Text,
        }
    }

    /// Returns the media type for `Content-Type`.
    #[must_use]
    pub const fn media_type(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
        }
    }

    /// Converts OpenMetrics text to this format.
    #[must_use]
    pub fn write(self, open_metrics: String) -> String {
        match self {
            Self::OpenMetrics => open_metrics,
            Self::Text => as_text(&open_metrics),
        }
    }
}

/// A media range of an `Accept` header.
struct Range<'a> {
    media: String,
    version: Option<&'a str>,
    /// In thousandths.
    quality: u16,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut parts = text.split(';').map(str::trim);
        let media = parts.next().filter(|m| !m.is_empty())?.to_ascii_lowercase();
        let mut range = Self { media, version: None, quality: 1_000 };
        for (name, value) in parts.filter_map(|p| p.split_once('=')) {
            let value = value.trim().trim_matches('"');
            match name.trim().to_ascii_lowercase().as_str() {
                "version" => range.version = Some(value),
                "q" => {
                    // A range with a quality that is none is ignored as a whole.
                    let q: f32 = value.parse().ok().filter(|q| (0.0..=1.0).contains(q))?;
                    // Whole thousandths, as RFC 9110 allows three digits, so that equal qualities compare as equal.
                    range.quality = (q * 1_000.0).round() as u16;
                }
                _ => {}
            }
        }
        Some(range)
    }

    /// Returns true for a known version; a range without a version accepts any.
    fn has_version(&self, known: &[&str]) -> bool {
        self.version.is_none_or(|v| known.contains(&v))
    }
}

/// Converts OpenMetrics to text format 0.0.4, in which a counter's family has the name of its
/// samples, with `_total`, and which has neither units nor an end mark.
fn as_text(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(_), text) => help = Some(text.unwrap_or_default()),
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let suffix = if kind == "counter" { "_total" } else { "" };
                let kind = if kind == "unknown" { "untyped" } else { kind };
                // Held back until the type is known, as the name depends on it.
                if let Some(help) = help.take() {
                    out += &format!("# HELP {name}{suffix} {help}\n");
                }
                out += &format!("# TYPE {name}{suffix} {kind}\n");
            }
            // Units and the end mark, which the older format does not have.
            (Some("#"), ..) => {}
            _ => {
                out += line;
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
pub(super) mod tests {
    use super::Exposition::{OpenMetrics, Text};
    use super::*;

    #[test]
    fn the_format_follows_what_the_client_reads() {
        for (accept, expected) in [
            // Prometheus 2.42, and a version that prefers protocol buffers.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                 version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                OpenMetrics,
            ),
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                 encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;\
                 escaping=allow-utf-8;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                OpenMetrics,
            ),
            ("Application/OpenMetrics-Text; Version=\"1.0.0\"", OpenMetrics),
            ("application/openmetrics-text", OpenMetrics),
            ("*/*, application/openmetrics-text", OpenMetrics),
            ("text/plain;version=0.0.4", Text),
            ("text/plain, application/openmetrics-text;q=0.9", Text),
            ("application/openmetrics-text;q=0, */*", Text),
            ("application/openmetrics-text;q=0", Text),
            ("application/openmetrics-text;version=0.0.1", Text),
            ("application/openmetrics-text;q=nonsense", Text),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Text),
            ("*/*", Text),
            ("application/json", Text),
            ("", Text),
            (",;,=", Text),
        ] {
            assert_eq!(Exposition::accepted([accept].into_iter()), expected, "{accept}");
        }
        assert_eq!(Exposition::accepted(std::iter::empty()), Text);
        let two = ["text/plain;q=0.1", "application/openmetrics-text;q=0.2"];
        assert_eq!(Exposition::accepted(two.into_iter()), OpenMetrics);
    }

    #[test]
    fn counters_are_named_alike_everywhere_in_the_text_format() {
        let open = "# HELP a_frames Frames that came.\n# TYPE a_frames counter\n\
                    a_frames_total{port=\"x y\"} 1\n# HELP b Now.\n# TYPE b gauge\n# UNIT b bytes\n\
                    b{port=\"# TYPE b counter\"} 2\n# TYPE c unknown\nc 3\n# EOF\n";
        let expected = "# HELP a_frames_total Frames that came.\n# TYPE a_frames_total counter\n\
                        a_frames_total{port=\"x y\"} 1\n# HELP b Now.\n# TYPE b gauge\n\
                        b{port=\"# TYPE b counter\"} 2\n# TYPE c untyped\nc 3\n";
        assert_eq!(Text.write(open.into()), expected);
        assert_eq!(OpenMetrics.write(open.into()), open);
    }

    /// Checks metrics with promtool, which reads the text format and knows the naming
    /// conventions.
    pub(crate) fn judge_by_promtool(open_metrics: String) {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let mut promtool = Command::new("promtool");
        let tool = promtool.args(["check", "metrics"]).stdin(Stdio::piped());
        let Ok(mut tool) = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn() else {
            eprintln!(
                "skipped: no promtool (Debian package prometheus; `./dev setup` installs it)"
            );
            return;
        };
        tool.stdin.take().unwrap().write_all(Text.write(open_metrics).as_bytes()).unwrap();
        let out = tool.wait_with_output().unwrap();
        let said = [out.stdout, out.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(out.status.success() && said.trim().is_empty(), "{said}");
    }
}
