//! Resolves the rate, the start and the end of a flow.

use super::findings::Findings;
use ground::time::Duration;
use ground::units::BitsPerSec;
use host::Rate;
use host::plan::stream::{Burst, Limit, Pace, Path, Sizes, StreamPlan};
use otg::model::flow::{self, FlowDelay, FlowDuration, FlowRate, InterBurstGap};

/// Minimum inter-frame gap in bytes (802.3 4.4.2).
const GAP_MIN: u32 = 12;

/// Preamble and start frame delimiter in bytes (802.3 3.1.1).
const PREAMBLE: u32 = 8;

/// Maximum time of a flow in seconds: a day below the range of an instant.
const SECONDS_MAX: f64 = 212.0 * 86_400.0;

/// The rate, the start and the end of a flow.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Timing {
    pub(super) pace: Pace,
    pub(super) limit: Limit,
    pub(super) delay: Duration,
}

/// The link over which a flow is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) rate: BitsPerSec,
    /// False if the rate is only an assumption.
    pub(super) known: bool,
}

impl Line {
    /// Returns the time of `octets` on the line; `None` if it is not a number or too long.
    fn time_of(self, octets: f64) -> Option<Duration> {
        seconds(octets * 8.0 / self.rate.get() as f64)
    }
}

/// Converts seconds to a duration; `None` if it is not a valid time.
fn seconds(s: f64) -> Option<Duration> {
    (0.0..=SECONDS_MAX).contains(&s).then(|| Duration::from_picos((s * 1e12).round() as u64))
}

/// Returns the timing of a flow; `None` after an error was reported. `path` is the flow's.
pub(super) fn timing(
    flow: &flow::Flow,
    sizes: &Sizes,
    line: Line,
    path: &str,
    cx: &mut Findings,
) -> Option<Timing> {
    let before = cx.errors();
    let default = FlowRate::default();
    let asked = flow.rate.as_ref().unwrap_or(&default);
    let rate = rate(asked, &format!("{path}.rate"), cx);
    let default = FlowDuration::default();
    let duration = flow.duration.as_ref().unwrap_or(&default);
    let (gap, delay, limit, burst) = lasting(duration, line, &format!("{path}.duration"), cx)?;
    // A pace cannot be 0, so a share of 0 is a limit of no frames.
    let limit = match asked {
        FlowRate::Percentage(0.0) => {
            cx.warn(format!("{path}.rate.percentage"), "0 per cent: nothing is sent of this flow");
            Limit { frames: Some(0), time: None }
        }
        _ => limit,
    };
    let pace = Pace { rate: rate?, gap: gap.max(GAP_MIN), burst };
    if line.known {
        fits_line(&pace, sizes, line, &format!("{path}.rate"), cx);
    }
    (cx.errors() == before).then_some(Timing { pace, limit, delay })
}

/// Returns the configured rate.
fn rate(rate: &FlowRate, path: &str, cx: &mut Findings) -> Option<Rate> {
    let bits = |name: &str, n: u64, unit: u64, cx: &mut Findings| {
        let rate = n.checked_mul(unit).and_then(BitsPerSec::new).map(Rate::FrameBits);
        if rate.is_none() {
            let what = format!("{n} is no rate that a line could have; write 1 or more");
            cx.error(format!("{path}.{name}"), what);
        }
        rate
    };
    match *rate {
        FlowRate::Pps(0) => {
            cx.error(format!("{path}.pps"), "0 frames per second are none; write 1 or more");
            None
        }
        FlowRate::Pps(n) => Some(Rate::Frames(n)),
        FlowRate::Bps(n) => bits("bps", n, 1, cx),
        FlowRate::Kbps(n) => bits("kbps", n, 1_000, cx),
        FlowRate::Mbps(n) => bits("mbps", n, 1_000_000, cx),
        FlowRate::Gbps(n) => bits("gbps", n.into(), 1_000_000_000, cx),
        FlowRate::Percentage(p) => {
            // The plan counts a share in parts per million.
            let ppm = (p * 10_000.0).round();
            if (1.0..=1_000_000.0).contains(&ppm) {
                return Some(Rate::LineShare(ppm as u32));
            }
            if p == 0.0 {
                // The limit of this rate is no frame at all.
                return Some(Rate::LineShare(1));
            }
            let what = format!("{p} is no share of a line; write 0, or 0.0001 to 100 per cent");
            cx.error(format!("{path}.percentage"), what);
            None
        }
        FlowRate::Other { .. } => None,
    }
}

/// Returns the gap, delay, limit and bursts of a duration.
fn lasting(
    duration: &FlowDuration,
    line: Line,
    path: &str,
    cx: &mut Findings,
) -> Option<(u32, Duration, Limit, Option<Burst>)> {
    match duration {
        FlowDuration::Continuous(d) => {
            let delay = delay(&d.delay, line, &format!("{path}.continuous"), cx);
            Some((d.gap, delay, Limit::default(), None))
        }
        FlowDuration::FixedPackets(d) => {
            let path = format!("{path}.fixed_packets");
            some_packets(d.packets, &path, cx);
            let limit = Limit { frames: Some(d.packets.into()), time: None };
            Some((d.gap, delay(&d.delay, line, &path, cx), limit, None))
        }
        FlowDuration::FixedSeconds(d) => {
            let path = format!("{path}.fixed_seconds");
            let time = seconds(d.seconds).filter(|t| *t > Duration::ZERO);
            if time.is_none() {
                let what = format!("{} s is no time to send in; write more than 0", d.seconds);
                cx.error(format!("{path}.seconds"), what);
            }
            let limit = Limit { frames: None, time };
            Some((d.gap, delay(&d.delay, line, &path, cx), limit, None))
        }
        FlowDuration::Burst(d) => {
            let path = format!("{path}.burst");
            some_packets(d.packets, &path, cx);
            // 0 bursts are no limit.
            let all = u64::from(d.bursts) * u64::from(d.packets);
            let limit = Limit { frames: (d.bursts > 0).then_some(all), time: None };
            let gap = between(&d.inter_burst_gap, line, &path, cx);
            let burst = Burst { frames: d.packets, gap };
            Some((d.gap, delay(&d.delay, line, &path, cx), limit, Some(burst)))
        }
        FlowDuration::Other { .. } => None,
    }
}

/// Returns true if the configuration leaves the start of a flow's frames open: it has no delay.
pub(super) fn starts_anywhere(flow: &flow::Flow) -> bool {
    match &flow.duration {
        None => true,
        Some(FlowDuration::Continuous(d)) => d.delay.is_none(),
        Some(FlowDuration::FixedPackets(d)) => d.delay.is_none(),
        Some(FlowDuration::FixedSeconds(d)) => d.delay.is_none(),
        Some(FlowDuration::Burst(_) | FlowDuration::Other { .. }) => false,
    }
}

/// Returns the time from one frame of a stream to the next; `None` if it is not always the same.
pub(super) fn interval(stream: &StreamPlan, line: Line) -> Option<Duration> {
    let (Sizes::Fixed(size), Path::Data(_), None) = (&stream.sizes, stream.path, stream.pace.burst)
    else {
        return None;
    };
    let size = f64::from(*size);
    seconds(match stream.pace.rate {
        Rate::Frames(n) => 1.0 / n as f64,
        Rate::FrameBits(rate) => size * 8.0 / rate.get() as f64,
        Rate::LineShare(ppm) => {
            // A share of the line has preamble and gap in it.
            let bits = (size + f64::from(PREAMBLE + GAP_MIN)) * 8.0;
            bits * 1e6 / (f64::from(ppm) * line.rate.get() as f64)
        }
    })
}

fn some_packets(packets: u32, path: &str, cx: &mut Findings) {
    if packets == 0 {
        cx.error(format!("{path}.packets"), "0 frames are none; write 1 or more");
    }
}

/// Returns the delay from a flow's start to its first frame.
fn delay(delay: &Option<FlowDelay>, line: Line, path: &str, cx: &mut Findings) -> Duration {
    let (name, given, time) = match delay {
        None | Some(FlowDelay::Other { .. }) => return Duration::ZERO,
        Some(FlowDelay::Bytes(n)) => ("bytes", n, line.time_of(*n)),
        Some(FlowDelay::Nanoseconds(n)) => ("nanoseconds", n, seconds(n * 1e-9)),
        Some(FlowDelay::Microseconds(n)) => ("microseconds", n, seconds(n * 1e-6)),
    };
    if name == "bytes" && *given > 0.0 {
        assumed(line, &format!("{path}.delay.bytes"), cx);
    }
    span(time, *given, &format!("{path}.delay.{name}"), cx)
}

/// Returns the gap from the end of a burst to the next; OTG's default is 12 bytes.
fn between(gap: &Option<InterBurstGap>, line: Line, path: &str, cx: &mut Findings) -> Duration {
    let default = InterBurstGap::default();
    let (name, given, time) = match gap.as_ref().unwrap_or(&default) {
        InterBurstGap::Other { .. } => return Duration::ZERO,
        InterBurstGap::Bytes(n) => ("bytes", n, line.time_of(*n)),
        InterBurstGap::Nanoseconds(n) => ("nanoseconds", n, seconds(n * 1e-9)),
        InterBurstGap::Microseconds(n) => ("microseconds", n, seconds(n * 1e-6)),
    };
    // The least gap is there at any rate, so no rate is assumed for it.
    if name == "bytes" && *given > f64::from(GAP_MIN) {
        assumed(line, &format!("{path}.inter_burst_gap.bytes"), cx);
    }
    span(time, *given, &format!("{path}.inter_burst_gap.{name}"), cx)
}

/// Warns that bytes are converted to time at an assumed rate.
fn assumed(line: Line, path: &str, cx: &mut Findings) {
    if !line.known {
        let what = format!(
            "is taken at {}, because the line's rate is not known here; say it in nanoseconds, or \
             the speed in layer1",
            line.rate
        );
        cx.warn(path, what);
    }
}

fn span(time: Option<Duration>, given: f64, path: &str, cx: &mut Findings) -> Duration {
    time.unwrap_or_else(|| {
        cx.error(path, format!("{given} is no time; write 0 or more, at most 212 days"));
        Duration::ZERO
    })
}

/// Refuses a rate above the line rate, as the mean over the frame sizes.
fn fits_line(pace: &Pace, sizes: &Sizes, line: Line, path: &str, cx: &mut Findings) {
    let (size, rate) = (sizes.mean(), line.rate.get() as f64);
    // The part of the line that frames have, with this gap between them.
    let share = |gap: u32| size / (size + f64::from(PREAMBLE) + f64::from(gap));
    let (asked, unit) = match pace.rate {
        Rate::Frames(n) => (n as f64, 1.0 / (8.0 * size)),
        Rate::FrameBits(bits) => (bits.get() as f64, 1.0),
        Rate::LineShare(ppm) => (f64::from(ppm) / 1e4, 100.0 / rate / share(GAP_MIN)),
    };
    let most = |gap: u32| rate * share(gap) * unit;
    let words = |gap: u32| match pace.rate {
        Rate::Frames(_) => {
            format!("{:.0} frames of {size:.0} octets per second", most(gap).floor())
        }
        Rate::FrameBits(_) => {
            format!("{:.0} bit/s of frames of {size:.0} octets", most(gap).floor())
        }
        Rate::LineShare(_) => format!("{:.4} per cent of it", most(gap)),
    };
    // Rates that were rounded to whole frames or bits may be slightly above.
    let over = |gap: u32| asked > most(gap) * (1.0 + 1e-6);
    if over(GAP_MIN) {
        let what = format!(
            "is more than a line of {} carries: at most {}, preamble and gap counted; lower the \
             rate, or say `percentage: 100`",
            line.rate,
            words(GAP_MIN)
        );
        cx.error(path, what);
    } else if over(pace.gap) {
        let what = format!(
            "is more than gaps of {} octets leave of a line of {}: {}; the gap holds it there",
            pace.gap,
            line.rate,
            words(pace.gap)
        );
        cx.warn(path, what);
    }
}
