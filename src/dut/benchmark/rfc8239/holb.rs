//! Head-of-line blocking (RFC 8239, section 5).

use ground::time::Duration;
use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::{Limit, Port};

use super::has;
use crate::trial::{Runner, Stream};

/// Ports of a group: two senders, an uncongested and a congested receiver.
const GROUP: usize = 4;

/// Distribution of a sender to several ports.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Split {
    /// Halves to the two receivers of its group.
    Halves,
    /// Quarters to the receivers of its group and of the next one.
    Quarters,
}

impl Split {
    /// Returns the number of groups that a sender reaches.
    const fn groups(self) -> usize {
        match self {
            Self::Halves => 1,
            Self::Quarters => 2,
        }
    }

    /// Returns the name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Halves => "halves",
            Self::Quarters => "quarters",
        }
    }
}

/// Flows to uncongested ports beside flows to congested ones, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct HolbRow {
    pub pattern: Split,
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
    let mut rows = Vec::new();
    for split in [Split::Halves, Split::Quarters] {
        if split == Split::Quarters && !has(runner, "HOLB with quarters", 2 * GROUP) {
            continue;
        }
        for shift in 0..shifts {
            rows.push(measure(runner, size, (ports, shift), split)?);
            runner.row("holb");
        }
    }
    Ok(rows)
}

/// In each group, the first port sends equal parts to the third and the fourth of its own group, and with
/// quarters to those of the next one, too. The second port sends a full line to the fourth.
pub(crate) fn measure(
    runner: &mut Runner<'_>,
    size: u32,
    (ports, shift): (usize, usize),
    split: Split,
) -> Result<HolbRow, Trouble> {
    let (start, limit) = (Duration::ZERO, Limit::Time(runner.plan.trial));
    let load = runner.plan.max_share(size);
    let part = load / (2 * split.groups()) as f64;
    let (mut streams, mut congested) = (Vec::new(), Vec::new());
    for first in (0..ports).step_by(GROUP) {
        let port = |n: usize| Port((first + shift + n) % ports);
        let mut add = |ends, share, full| {
            streams.push(Stream { ends, size, share, start, limit });
            congested.push(full);
        };
        for group in 0..split.groups() {
            add((port(0), port(group * GROUP + 2)), part, false);
            add((port(0), port(group * GROUP + 3)), part, true);
        }
        add((port(1), port(3)), load, true);
    }
    let how = split.name();
    let name = format!("{size} bytes, head-of-line blocking, {how}, shift {shift}");
    let counted = runner.measure(name, &streams)?;
    let of = |full: bool| {
        let chosen = counted.samples.iter().zip(&congested).filter(|(_, is)| **is == full);
        crate::trial::Sample::sum(&chosen.map(|(sample, _)| *sample).collect::<Vec<_>>())
    };
    let (free, full) = (of(false), of(true));
    let percent = |part: u64, whole: u64| 100.0 * part as f64 / whole as f64;
    Ok(HolbRow {
        pattern: split,
        size,
        shift,
        uncongested_loss_percent: percent(free.lost(), free.offered),
        uncongested_rate_percent: percent(free.forwarded.min(free.intended), free.intended),
        congested_loss_percent: percent(full.lost(), full.offered),
        back_pressure: full.paused,
    })
}
