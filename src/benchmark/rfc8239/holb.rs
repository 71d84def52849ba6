//! Head-of-line blocking (RFC 8239, section 5).

use ground::time::Duration;
use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::{Limit, Port};

use super::has;
use crate::trial::{Runner, Stream};

/// Ports of a group: two senders, an uncongested and a congested receiver.
const GROUP: usize = 4;

/// Flows to uncongested ports beside flows to congested ones, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct HolbRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Number of the first port of the first group, from 0.
    pub shift: usize,
    /// Loss of the flows to uncongested ports in percent: anything above 0 is head-of-line blocking.
    pub uncongested_loss_percent: f64,
    /// Rate of these flows in percent of the intended one. Below 100 without loss, pauses held them
    /// back.
    pub uncongested_rate_percent: f64,
    /// Loss of the flows to congested ports in percent; a third if nothing is held back.
    pub congested_loss_percent: f64,
    /// True if the device paused the senders to congested ports (back-pressure, RFC 2889).
    pub back_pressure: bool,
}

pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<Vec<HolbRow>, Trouble> {
    if !has(runner, "HOLB", GROUP) {
        return Ok(Vec::new());
    }
    let ports = runner.plan.equal_ports() / GROUP * GROUP;
    let shifts = if ports > GROUP { ports } else { 1 };
    let of = |shift| {
        let row = measure(runner, size, (ports, shift));
        runner.row("holb");
        row
    };
    (0..shifts).map(of).collect()
}

/// In each group, the first port sends halves to the third and the fourth, and the second one a full
/// line to the fourth.
pub(crate) fn measure(
    runner: &mut Runner<'_>,
    size: u32,
    (ports, shift): (usize, usize),
) -> Result<HolbRow, Trouble> {
    let (start, limit) = (Duration::ZERO, Limit::Time(runner.plan.trial));
    let load = runner.plan.max_share(size);
    let mut streams = Vec::new();
    for first in (0..ports).step_by(GROUP) {
        let port = |n: usize| Port((first + shift + n) % ports);
        for (ends, share) in [
            ((port(0), port(2)), load / 2.0),
            ((port(0), port(3)), load / 2.0),
            ((port(1), port(3)), load),
        ] {
            streams.push(Stream { ends, size, share, start, limit });
        }
    }
    let name = format!("{size} bytes, head-of-line blocking, shift {shift}");
    let counted = runner.measure(name, &streams)?;
    let of = |congested: bool| {
        let chosen = counted.samples.iter().enumerate().filter(|(n, _)| (n % 3 != 0) == congested);
        crate::trial::Sample::sum(&chosen.map(|(_, sample)| *sample).collect::<Vec<_>>())
    };
    let (free, full) = (of(false), of(true));
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
    Ok(HolbRow {
        size,
        shift,
        uncongested_loss_percent: percent(free.lost(), free.offered),
        uncongested_rate_percent: percent(free.forwarded.min(free.intended), free.intended),
        congested_loss_percent: percent(full.lost(), full.offered),
        back_pressure: full.paused,
    })
}
