//! The end of a pause, as seen by the frames of a flow that has some to send.

use crate::judge::Limits;
use crate::test::Context;
use ground::time::Duration;
use ground::units::Quanta;

/// Returns the time at which the first frame began, of those that began after the limit for a pause
/// whose last bit left at `paused`; `None` if there is none. `begins` are the times of a flow in
/// their order.
pub(super) fn resumed(cx: &Context<'_>, begins: &[Duration], paused: Duration) -> Option<Duration> {
    let from = paused + cx.setup.stop_limit();
    begins.get(begins.partition_point(|begin| *begin < from)).copied()
}

/// Returns the limits in nanoseconds of the time from the last bit of a pause to the first frame
/// after it: its tolerance, and above it the time within which a port reacts.
pub(super) fn limits(cx: &Context<'_>, quanta: Quanta, size: u32) -> Limits {
    let wanted = quanta.at(cx.setup.rate).as_nanos_f64();
    let least = (Quanta(3).at(cx.setup.rate) + cx.setup.line_time(size)).as_nanos_f64();
    let tolerance = (wanted * cx.setup.limits.pause).max(least);
    let late = cx.setup.stop_limit().as_nanos_f64();
    Limits { at_least: Some(wanted - tolerance), at_most: Some(wanted + tolerance + late) }
}

/// Returns the time after which a port must have stopped, in quanta, rounded up.
pub(super) fn limit_quanta(cx: &Context<'_>) -> u64 {
    let quantum = Quanta(1).at(cx.setup.rate);
    cx.setup.stop_limit().as_picos().div_ceil(quantum.as_picos().max(1))
}
