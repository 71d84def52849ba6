//! Benchmarks of LAN switches: RFC 2889, with the terms of RFC 2285. Forwarding of meshes, congestion control and
//! forward pressure are here; the tests of what makes a switch a bridge are in `bridge`.

pub use crate::bridge::{AddressRow, BroadcastRow, ErrorRow};

use ground::named;
use serde::Serialize;
use validate::bench::{Capability, TrialError};
use validate::trial::{Flow, Limit, Port, Rate, Trial};

use crate::mesh::{Mesh, Pattern};
use crate::mlrsearch::Irregular;
use crate::rfc8239::{GROUP, Split, blocking, has};
use crate::run::{Procedure, Run, tables};
use crate::trial::Runner;
use crate::{bridge, search, table};

named! {
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub enum Test {
        // Sections 5.1 and 5.3: fully and partially meshed.
        Mesh = "mesh",
        // Section 5.5: congestion control.
        Congestion = "congestion",
        // Section 5.6: forward pressure.
        Pressure = "pressure",
        // Sections 5.7 and 5.8: address caching capacity, and address learning rate.
        Addresses = "addresses",
        // Section 5.9: errored frames.
        Errors = "errors",
        // Section 5.10: forwarding of broadcast frames.
        Broadcast = "broadcast",
    }
}

tables! {
    mesh: ForwardingRow,
    congestion: CongestionRow,
    pressure: PressureRow,
    addresses: AddressRow,
    errors: ErrorRow,
    broadcast: BroadcastRow,
}

impl Procedure for Tables {
    const NAME: &'static str = "rfc2889";
    type Test = Test;
    const TESTS: &'static [(&'static str, Test)] = Test::NAMES;

    /// Runs the tests on all ports of the DUT file that have its common rate.
    fn fill(&mut self, runner: &mut Runner<'_>, tests: &[Test]) -> Result<(), TrialError> {
        for test in tests {
            // Two tests have frame sizes of their own.
            match test {
                Test::Addresses => {
                    let found = bridge::addresses(runner)?;
                    runner.add("addresses", &mut self.addresses, found);
                }
                Test::Errors => self.errors = bridge::errors(runner)?,
                Test::Mesh | Test::Congestion | Test::Pressure | Test::Broadcast => {
                    for size in runner.plan.sizes.clone() {
                        self.of_size(runner, *test, size)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn text(run: &Run<Self>) -> String {
        table::rfc2889(run)
    }
}

impl Tables {
    fn of_size(
        &mut self,
        runner: &mut Runner<'_>,
        test: Test,
        size: u32,
    ) -> Result<(), TrialError> {
        match test {
            Test::Mesh => self.mesh.extend(meshes(runner, size)?),
            Test::Congestion => self.congestion.extend(congestion(runner, size)?),
            Test::Broadcast => {
                let found = bridge::broadcast(runner, size)?;
                runner.add("broadcast", &mut self.broadcast, found);
            }
            Test::Pressure => {
                let found = pressure(runner, size)?;
                runner.add("pressure", &mut self.pressure, found);
            }
            Test::Addresses | Test::Errors => {}
        }
        Ok(())
    }
}

/// Loads at which forwarding rates are measured, in percent of the largest.
const LOADS: [u32; 5] = [100, 95, 90, 80, 50];

/// Forwarding rates of a pattern, for a frame size. Rates are sums over all ports.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ForwardingRow {
    /// `full mesh`, `pairs`, or the number of senders.
    pub pattern: String,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Frames that each sender sends one behind the other, 1 at a constant load.
    #[serde(skip_serializing_if = "is_one")]
    pub burst: u32,
    /// Highest load of each sender in percent of the line at which no frame is lost; absent if there
    /// was none.
    pub throughput_percent: Option<f64>,
    /// Absent if the throughput has two close bounds.
    pub irregular: Option<Irregular>,
    /// Forwarding rate at the maximum offered load (FRMOL).
    pub frmol: ForwardingPoint,
    /// Part of the frames offered at that load that did not arrive, in percent: 0 where pauses held the others
    /// back. Absent if pauses held back all.
    pub frmol_loss_percent: Option<f64>,
    /// Maximum forwarding rate (MFR) of the loads that were tried.
    pub mfr: ForwardingPoint,
}

/// True without bursts: rows of them are as before.
const fn is_one(burst: &u32) -> bool {
    *burst == 1
}

/// A forwarding rate at a load.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct ForwardingPoint {
    /// Offered load (Oload) in frames/s.
    pub offered: f64,
    /// Forwarded frames/s.
    pub forwarded: f64,
}

fn meshes(runner: &mut Runner<'_>, size: u32) -> Result<Vec<ForwardingRow>, TrialError> {
    let ports = runner.plan.equal_ports();
    let mut patterns = vec![Mesh::Pairs];
    if ports > 2 {
        // One to many and many to one: the extremes of a partial mesh.
        patterns.extend([Mesh::Full, Mesh::Partial(1), Mesh::Partial(ports - 1)]);
    }
    let all = runner.plan.bursts.iter();
    let all = all.flat_map(|burst| patterns.iter().map(|mesh| (*mesh, *burst)));
    all.map(|(mesh, burst)| forwarding(runner, size, Pattern { mesh, burst })).collect()
}

fn forwarding(
    runner: &mut Runner<'_>,
    size: u32,
    pattern: Pattern,
) -> Result<ForwardingRow, TrialError> {
    let plan = runner.plan;
    let (name, burst) = (pattern.mesh.name(), pattern.burst);
    let line = plan.line_rate(0, size);
    let run = |runner: &mut Runner<'_>, load: f64, time| {
        let streams = pattern.streams(plan, size, load, time);
        let bursts = if burst > 1 { format!(", bursts of {burst}") } else { String::new() };
        let name = format!("{size} bytes, {name}{bursts}, {:.3} % of the line", load * 100.0);
        // Bursts may take longer than `time`, and rates are over their own length.
        let length = runner.length(&streams[0]);
        runner.measure(name, &streams).map(|counted| (counted.sum(), length))
    };
    let (result, _) = search::rfc2544(runner, plan.max_rate(size), |runner, trial| {
        let (sample, _) = run(runner, trial.load / line, trial.duration)?;
        Ok((sample.intended, sample.forwarded))
    })?;
    let (mut points, mut losses) = (Vec::new(), Vec::new());
    for percent in LOADS {
        let load = plan.max_share(size) * f64::from(percent) / 100.0;
        let (sample, length) = run(runner, load, plan.trial)?;
        let rate = |frames: u64| frames as f64 / length.as_secs_f64();
        let (offered, forwarded) = (rate(sample.offered), rate(sample.forwarded));
        points.push(ForwardingPoint { offered, forwarded });
        let loss = sample.lost() as f64 / sample.offered as f64;
        losses.push((sample.offered > 0).then_some(100.0 * loss));
        // Lower loads forward no more than they offer.
        if sample.loss_ratio() == 0.0 {
            break;
        }
    }
    runner.row("mesh");
    // The maximum is not always at the largest load: a device may collapse under overload.
    let mfr = points.iter().copied().max_by(|a, b| a.forwarded.total_cmp(&b.forwarded));
    Ok(ForwardingRow {
        pattern: name,
        size,
        burst,
        throughput_percent: result.lower.map(|bound| bound.load / line * 100.0),
        irregular: result.irregular,
        frmol: points[0],
        frmol_loss_percent: losses[0],
        mfr: mfr.expect("there is a load"),
    })
}

/// A block of two senders, an uncongested and a congested port, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct CongestionRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Loss of the uncongested port in percent; absent if pauses held back all of its frames.
    pub uncongested_loss_percent: Option<f64>,
    /// Rate of the uncongested port in percent of the intended one. Below 100 without loss, pauses held its frames
    /// back.
    pub uncongested_rate_percent: Option<f64>,
    /// Loss of the congested port in percent; a third without congestion control. Absent as above.
    pub congested_loss_percent: Option<f64>,
    /// True if the uncongested port lost frames; absent with its loss.
    pub head_of_line_blocking: Option<bool>,
    /// True if the congested port lost none; absent with its loss.
    pub back_pressure: Option<bool>,
}

fn congestion(runner: &mut Runner<'_>, size: u32) -> Result<Option<CongestionRow>, TrialError> {
    if !has(runner, "congestion", GROUP) {
        return Ok(None);
    }
    let row = blocking(runner, size, GROUP, 0, Split::Halves)?;
    runner.row("congestion");
    Ok(Some(CongestionRow {
        size,
        uncongested_loss_percent: row.uncongested_loss_percent,
        uncongested_rate_percent: row.uncongested_rate_percent,
        congested_loss_percent: row.congested_loss_percent,
        head_of_line_blocking: row.uncongested_loss_percent.map(|loss| loss > 0.0),
        back_pressure: row.congested_loss_percent.map(|loss| loss == 0.0),
    }))
}

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
fn pressure(runner: &mut Runner<'_>, size: u32) -> Result<Option<PressureRow>, TrialError> {
    let plan = runner.plan;
    if !runner.has(Capability::ShortGap) {
        runner.not_run("pressure", "ports in software cannot shorten the gap");
        return Ok(None);
    }
    if !has(runner, "pressure", 2) {
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
        let flow =
            flow.ok_or_else(|| TrialError::Error(format!("{size} bytes: no frame arrived")))?;
        let offered = flow.frames_tx as f64 / runner.plan.trial.as_secs_f64();
        // Ports that ignore the setting would make every device look well behaved.
        if offered <= line * (1.0 + EXACT) {
            let what = format!("the tester sent {offered:.0} frames/s, not more than the line");
            return Err(TrialError::Error(what));
        }
        let span = flow.last_rx_s.zip(flow.first_rx_s).map(|(last, first)| last - first);
        let span = span.filter(|span| *span > 0.0);
        let span =
            span.ok_or_else(|| TrialError::Error("the arrivals have no times".to_owned()))?;
        // Between n arrivals there are n - 1 intervals.
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
