//! Recovery of a sender after an overload: the time until it has its rate again.

use ground::time::Duration;
use ground::units::Bytes;
use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::{Limit, Port};

use crate::mesh::Mesh;
use crate::trial::{Runner, Stream};

/// Parts of the time after the overload, each with frames of its own.
const PARTS: u32 = 50;

/// Least frames of a part: one of them is well below the loss of rate that counts.
const FRAMES: u64 = 100;

/// Share of its rate from which on a sender has recovered.
const RECOVERED: f64 = 0.98;

/// Quanta of the longest pause, twice: a device that never sends XON needs that long.
const LONGEST: u64 = 2 * 65_535;

/// Recovery of the first sender: all senders have the largest load, then it alone has half of that.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct Recovery {
    /// Time from the end of the overload until it sends 98 % of its rate, in microseconds. Absent if it was not
    /// paused, or did not recover.
    pub mean_us: Option<f64>,
    /// Time until the last lost frame (RFC 2544, 26.5); 0 if none was lost. Absent as the other.
    pub to_last_lost_us: Option<f64>,
    /// Largest error of both: the length of a part of the time.
    pub uncertainty_us: f64,
}

pub(super) fn measure(runner: &mut Runner<'_>, size: u32) -> Result<Recovery, Trouble> {
    let plan = runner.plan;
    let senders = plan.equal_ports() - 1;
    let load = plan.max_share(size);
    let time = plan.recovery.duration;
    let rate = plan.setup.rate;
    let longest = rate.time_for(Bytes(LONGEST * 512 / 8)).div(u64::from(PARTS));
    let frames = plan.frame_time(size).saturating_mul(2 * FRAMES);
    let part = longest.max(Duration::from_picos((frames.as_picos() as f64 / load) as u64));
    let mut streams = Mesh::Partial(senders).streams(plan, size, load, Limit::Time(time));
    let ends = (Port(0), Port(senders));
    for n in 0..PARTS {
        let (start, limit) = (time + part.saturating_mul(n.into()), Limit::Time(part));
        streams.push(Stream { ends, size, share: load / 2.0, start, limit });
    }
    let counted = runner.measure(format!("{size} bytes, recovery of a paused sender"), &streams)?;
    let after = &counted.samples[senders..];
    // Parts are numbered from 1, so that the number of the last one is the time until its end.
    let last = |is: &dyn Fn(&crate::trial::Sample) -> bool| {
        after.iter().rposition(is).map_or(0, |n| n as u32 + 1)
    };
    let slow = last(&|part| (part.offered as f64) < RECOVERED * part.intended as f64);
    let lost = last(&|part| part.lost() > 0);
    let uncertainty_us = part.as_secs_f64() * 1e6;
    let paused = counted.pauses.first().is_some_and(|of| of.pauses > 0);
    let why = match (paused, slow.max(lost) == PARTS) {
        (false, _) => "the sender was not paused in the overload",
        (true, true) => "the sender did not recover in two longest pauses",
        (true, false) => {
            let us = |parts: u32| Some(f64::from(parts) * uncertainty_us);
            return Ok(Recovery { mean_us: us(slow), to_last_lost_us: us(lost), uncertainty_us });
        }
    };
    runner.note(format!("recovery: not judged, {why}"));
    Ok(Recovery { uncertainty_us, ..Recovery::default() })
}
