//! The two text formats that Prometheus reads, and the choice between them.
//!
//! A client lists its formats in `Accept` (RFC 9110 12.5.1). OpenMetrics 1.0.0 is sent to clients
//! that name it and prefer it; all others, including browsers and `curl`, get the text format
//! 0.0.4.

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
            Self::Text => text(&open_metrics),
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
                    let q: f32 = value.parse().ok().filter(|q| (0.0..=1.0).contains(q))?;
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
fn text(open_metrics: &str) -> String {
    let mut out = String::with_capacity(open_metrics.len());
    let mut help = None;
    for line in open_metrics.lines() {
        let mut words = line.splitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some("#"), Some("HELP"), Some(_), text) => help = Some(text.unwrap_or_default()),
            (Some("#"), Some("TYPE"), Some(name), Some(kind)) => {
                let suffix = if kind == "counter" { "_total" } else { "" };
                let kind = if kind == "unknown" { "untyped" } else { kind };
                if let Some(help) = help.take() {
                    out += &format!("# HELP {name}{suffix} {help}\n");
                }
                out += &format!("# TYPE {name}{suffix} {kind}\n");
            }
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
