//! What is known of each number of results: whether more or less of it is better, and which values it can have.

use crate::summary::Metric;

/// The better direction of a number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sense {
    More,
    Less,
    /// A parameter of the trial, a statistic of the search, or a way of working: neither is better.
    Neither,
}

/// Sense of each number by the end of its path, `table.column`; the longest end decides. Flags count as 1
/// and 0.
pub(super) const SENSES: [(Sense, &[&str]); 3] = [
    (
        Sense::More,
        &[
            "addresses",
            "alone_bps",
            "back_to_back.max",
            "back_to_back.mean",
            "back_to_back.min",
            "bytes",
            "conditional_throughput",
            "corrected_us",
            "filtered",
            "forwarded",
            "forwarded_percent",
            "frames",
            "frames_per_second",
            "goodput_bps",
            "goodput_percent",
            "implied_us",
            "learning_per_second",
            // The throughput, or a share of it, where the latency is measured.
            "load",
            "loss_at",
            "loss_bytes",
            "no_loss_percent",
            "no_pause_percent",
            "response_ns",
            "target_accepted",
            "throughput_percent",
            "uncongested_rate_percent",
            "xoff_bytes",
        ],
    ),
    (
        Sense::Less,
        &[
            "bit_forwarding_ns",
            "burst_lost",
            "completion_us",
            "congested_loss_percent",
            "damaged",
            "duplicates",
            "errors.forwarded",
            "faster",
            "frmol_loss_percent",
            "head_of_line_blocking",
            "held_back",
            "jitter_ns",
            // A pause ends the search of the baseline, and a loss that of these runs.
            "loses_above",
            "loss_percent",
            "lost",
            "lost_lossless",
            "max_ns",
            "mean_ms",
            "mean_ns",
            "mean_us",
            "memory_bytes",
            "memory_leak",
            "min_ns",
            "p50_ns",
            "p99_ns",
            "pdv_p99_ns",
            "reordered",
            "retransmitted",
            "stamps_ms",
            "store_and_forward_ns",
            "timeouts",
            "to_last_lost_us",
            "uncongested_loss_percent",
        ],
    ),
    (
        Sense::Neither,
        &[
            "addresses_at_limit",
            "at_limit",
            "back_pressure",
            "buffer.latency_ns",
            "deviation",
            "intended",
            "latency_slope_ns_per_hour",
            "least_us",
            "line_frames_per_second",
            "lost_above",
            "memory_slope_bytes_per_hour",
            "message.frames",
            "offered",
            "overload.held_back",
            "overload_percent",
            "overloaded",
            "paused",
            "paused_percent",
            "pauses",
            // A full line with short gaps is more than a device may forward.
            "pressure.forwarded",
            "received",
            "repeats",
            "resolution_ns",
            "resumes",
            "run",
            "sent",
            "stateful_percent",
            "synchronous_percent",
            "target",
            "took_s",
            "trial_time_ps",
            "trials",
            "uncertainty_ms",
            "uncertainty_us",
            "worst_paused_percent",
        ],
    ),
];

impl Sense {
    /// Returns the sense of a number; `None` of one that this version does not know.
    pub(super) fn find(metric: &Metric) -> Option<Self> {
        let ends = SENSES.iter().flat_map(|(sense, names)| {
            names.iter().filter(|name| is_end(metric, name)).map(move |name| (name.len(), *sense))
        });
        // The longest end is the most special: `errors.forwarded` before `forwarded`.
        ends.max_by_key(|(len, _)| *len).map(|(_, sense)| sense)
    }
}

/// Returns true if the path of a number, `table.column`, ends so.
fn is_end(metric: &Metric, name: &str) -> bool {
    let path = format!("{}.{}", metric.test, metric.metric);
    path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// The values that a number can have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Range {
    /// A difference, or a slope.
    Any,
    /// A count, a share, a rate or a time.
    NotNegative,
    /// A load of a search: where none is found there is no number.
    AboveZero,
}

/// Numbers that may be negative: a device may send a frame before it has all of it, and memory may become less.
const SIGNED: [&str; 3] =
    ["latency_slope_ns_per_hour", "memory_slope_bytes_per_hour", "store_and_forward_ns"];

/// Numbers that are never 0.
const ABOVE_ZERO: [&str; 4] =
    ["line_frames_per_second", "lower.load", "throughput.frames_per_second", "throughput.loss_at"];

impl Range {
    pub(super) fn find(metric: &Metric) -> Self {
        let is_signed =
            SIGNED.iter().any(|name| metric.metric.split('.').any(|part| part == *name));
        match ABOVE_ZERO.iter().any(|name| is_end(metric, name)) {
            true => Self::AboveZero,
            false if is_signed => Self::Any,
            false => Self::NotNegative,
        }
    }

    pub(super) fn contains(self, value: f64) -> bool {
        match self {
            Self::Any => true,
            Self::NotNegative => value >= 0.0,
            Self::AboveZero => value > 0.0,
        }
    }
}
