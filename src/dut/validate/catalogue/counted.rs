//! The part that tests of counters have in common: control frames that a device counts, and data that
//! shows that the ports are cabled and counted.

use crate::test::Context;
use crate::trial::{Control, Flow, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::Priority;

/// Data frames of a trial.
pub(super) const DATA: u32 = 100;

/// Interval of control frames: 10,000 frames per second.
pub(super) const EVERY: Duration = Duration::from_micros(100);

/// Returns a trial in which `from` sends control frames with these contents and numbers one after the other,
/// and data frames of a lossy priority to `to`.
pub(super) fn control(
    cx: &Context<'_>,
    (from, to): (Port, Port),
    (name, data): (&str, Priority),
    frames: impl IntoIterator<Item = (Vec<u8>, u32)>,
    every: Duration,
) -> Trial {
    let mut trial = Trial::new(name, Duration::ZERO);
    let mut start = cx.setup.times.baseline;
    let flow = Flow::new((from, to), data, Limit::Frames(DATA)).rate(Rate::Line(0.1));
    trial.flow(flow);
    for (octets, frames) in frames {
        trial.control.push(Control { port: from, octets, start, every, frames });
        start += every.saturating_mul(u64::from(frames));
    }
    trial.length = start + cx.setup.times.settle + cx.setup.times.drain;
    trial
}
