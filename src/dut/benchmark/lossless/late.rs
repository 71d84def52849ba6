//! Senders that obey pauses late: the headroom as time.

use ground::units::Quanta;
use validate::bench::Trouble;
use validate::trial::{Limit, Obeys, Port};

use crate::mesh::Mesh;
use crate::trial::Runner;

/// Bits of a quantum of a pause.
const QUANTUM_BITS: f64 = 512.0;

/// Returns the longest response to a pause without loss, in nanoseconds, to the time of a frame; `None` if the
/// shortest loses frames, or the longest does not.
pub(super) fn response(runner: &mut Runner<'_>, size: u32) -> Result<Option<f64>, Trouble> {
    let plan = runner.plan;
    let quantum_ns = QUANTUM_BITS / plan.setup.rate.get() as f64 * 1e9;
    let step = (plan.frame_time(size).as_nanos_f64() / quantum_ns).max(1.0) as u16;
    if !is_lossless(runner, size, 0)? {
        runner.note("response: not measured, senders that respond at once lose frames");
        return Ok(None);
    }
    if is_lossless(runner, size, u16::MAX)? {
        runner.note("response: not measured, senders that take the longest time lose nothing");
        return Ok(None);
    }
    let (mut good, mut bad) = (0, u16::MAX);
    while bad - good > step {
        let middle = good.midpoint(bad);
        *(if is_lossless(runner, size, middle)? { &mut good } else { &mut bad }) = middle;
    }
    Ok(Some(f64::from(good) * quantum_ns))
}

/// True if all senders at the largest load lose nothing, although they stop these quanta after a pause.
fn is_lossless(runner: &mut Runner<'_>, size: u32, late: u16) -> Result<bool, Trouble> {
    let plan = runner.plan;
    let senders = plan.equal_ports() - 1;
    let (load, limit) = (plan.max_share(size), Limit::Time(plan.trial));
    let streams = Mesh::Partial(senders).streams(plan, size, load, limit);
    let obeys: Vec<_> = (0..senders).map(|n| (Port(n), Obeys::Pfc(Quanta(late)))).collect();
    let name = format!("{size} bytes, senders late by {late} quanta");
    Ok(runner.measure_with(name, &streams, &obeys)?.sum().lost() == 0)
}
