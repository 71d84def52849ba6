//! Forward pressure: a device that sends faster than its line, because it receives so (RFC 2889, 5.6).

use serde::Serialize;
use validate::bench::{Faculty, Trouble};
use validate::trial::{Flow, Limit, Port, Rate, Trial};

use crate::trial::Runner;

/// Part of the rate that is the smallest difference: the received frames have exact times.
const EXACT: f64 = 1e-6;

/// Forwarding of frames with a gap of 88 bits, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PressureRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Rate of a full line with gaps of 96 bits.
    pub line_frames_per_second: f64,
    /// Offered frames/s: a full line with gaps of 88 bits.
    pub offered: f64,
    /// Forwarding rate at this load (FRMOL), of the frames that arrived.
    pub forwarded: f64,
    pub lost: u64,
    /// True if the device forwards faster than the line.
    pub faster: bool,
}

/// Sends from the first port to the second; `None` if the bench, or the device, has no such ports.
pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<Option<PressureRow>, Trouble> {
    let plan = runner.plan;
    if !runner.has(Faculty::ShortGap) {
        runner.note("pressure: not run; ports in software cannot shorten the gap");
        return Ok(None);
    }
    if plan.equal_ports() < 2 {
        runner.note("pressure: not run; it needs 2 ports of one rate");
        return Ok(None);
    }
    let name = format!("{size} bytes, gaps of 88 bits");
    let mut trial = Trial::new(name, plan.trial + plan.drain);
    let flow = Flow::new((Port(0), Port(1)), plan.priority, Limit::Time(plan.trial)).size(size);
    trial.flow(flow.rate(Rate::Line(1.0)));
    trial.short_gap.push(Port(0));
    let line = plan.line_rate(0, size);
    runner.attempts(&trial, plan.rest, |runner, report| {
        let flow = report.flows.first().filter(|flow| flow.frames_rx > 1);
        let flow = flow.ok_or_else(|| Trouble::Error(format!("{size} bytes: no frame arrived")))?;
        let offered = flow.frames_tx as f64 / runner.plan.trial.as_secs_f64();
        if offered <= line * (1.0 + EXACT) {
            let what = format!("the tester sent {offered:.0} frames/s, not more than the line");
            return Err(Trouble::Error(what));
        }
        let span = flow.last_rx_s.zip(flow.first_rx_s).map(|(last, first)| last - first);
        let span = span.filter(|span| *span > 0.0);
        let span = span.ok_or_else(|| Trouble::Error("the arrivals have no times".to_owned()))?;
        let forwarded = (flow.frames_rx - 1) as f64 / span;
        Ok(Some(PressureRow {
            size,
            line_frames_per_second: line,
            offered,
            forwarded,
            lost: flow.frames_tx - flow.frames_rx,
            faster: forwarded > line * (1.0 + EXACT),
        }))
    })
}
