//! Congestion control: head-of-line blocking and back-pressure (RFC 2889, 5.5).

use serde::Serialize;
use validate::bench::Trouble;

use crate::rfc8239::holb;
use crate::trial::Runner;

/// Ports of a block.
const BLOCK: usize = 4;

/// A block of two senders, an uncongested and a congested port, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CongestionRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Loss of the uncongested port in percent.
    pub uncongested_loss_percent: f64,
    /// Loss of the congested port in percent; a third without congestion control.
    pub congested_loss_percent: f64,
    /// True if the uncongested port lost frames.
    pub head_of_line_blocking: bool,
    /// True if the congested port lost none.
    pub back_pressure: bool,
}

pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<Option<CongestionRow>, Trouble> {
    let ports = runner.plan.equal_ports();
    if ports < BLOCK {
        let what =
            format!("congestion: not run; it needs {BLOCK} ports of one rate, there are {ports}");
        runner.note(what);
        return Ok(None);
    }
    let row = holb::measure(runner, size, (BLOCK, 0), holb::Split::Halves)?;
    runner.row("congestion");
    Ok(Some(CongestionRow {
        size,
        uncongested_loss_percent: row.uncongested_loss_percent,
        congested_loss_percent: row.congested_loss_percent,
        head_of_line_blocking: row.uncongested_loss_percent > 0.0,
        back_pressure: row.congested_loss_percent == 0.0,
    }))
}
