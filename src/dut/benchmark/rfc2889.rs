//! Benchmarks of LAN switches: RFC 2889, with the terms of RFC 2285. Forwarding of meshes, congestion control and
//! forward pressure are here; the tests of what makes a switch a bridge are in `bridge`.

pub use crate::bridge::{AddressRow, BroadcastRow, ErrorRow};

use serde::Serialize;
use validate::bench::{Bench, Capability, TrialError};
use validate::trial::{Flow, Limit, Port, Rate, Trial};

use crate::mesh::{Mesh, Pattern};
use crate::mlrsearch::Irregular;
use crate::plan::Plan;
use crate::rfc8239::{GROUP, Split, blocking};
use crate::run::Run;
use crate::trial::Runner;
use crate::{bridge, search};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Sections 5.1 and 5.3: fully and partially meshed.
    Mesh,
    /// Section 5.5: congestion control.
    Congestion,
    /// Section 5.6: forward pressure.
    Pressure,
    /// Sections 5.7 and 5.8: address caching capacity, and address learning rate.
    Addresses,
    /// Section 5.9: errored frames.
    Errors,
    /// Section 5.10: forwarding of broadcast frames.
    Broadcast,
}

impl Test {
    pub const ALL: [Self; 6] = [
        Self::Mesh,
        Self::Congestion,
        Self::Pressure,
        Self::Addresses,
        Self::Errors,
        Self::Broadcast,
    ];
}

/// Tables of results. A test that was not selected, or not reached, has no rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Tables {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mesh: Vec<ForwardingRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub congestion: Vec<CongestionRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pressure: Vec<PressureRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<AddressRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ErrorRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub broadcast: Vec<BroadcastRow>,
}

/// Runs the selected tests on all ports of the DUT file that have its common rate.
///
/// `progress` is called before each trial with its description, and ends the run by returning false.
pub fn run(
    plan: &Plan,
    tests: &[Test],
    bench: &mut dyn Bench,
    progress: &mut dyn FnMut(&str) -> bool,
) -> (Run<Tables>, Option<TrialError>) {
    Run::filled(Runner::new(plan, bench, progress), |runner, tables| all(runner, tests, tables))
}

fn all(runner: &mut Runner<'_>, tests: &[Test], tables: &mut Tables) -> Result<(), TrialError> {
    for test in tests {
        // These have frame sizes of their own.
        match test {
            Test::Addresses => {
                let found = bridge::addresses(runner)?;
                runner.rows("addresses", found.iter().count());
                tables.addresses.extend(found);
            }
            Test::Errors => tables.errors = bridge::errors(runner)?,
            Test::Mesh | Test::Congestion | Test::Pressure | Test::Broadcast => {}
        }
        if matches!(test, Test::Addresses | Test::Errors) {
            continue;
        }
        for size in runner.plan.sizes.clone() {
            match test {
                Test::Mesh => tables.mesh.extend(meshes(runner, size)?),
                Test::Congestion => tables.congestion.extend(congestion(runner, size)?),
                Test::Broadcast => {
                    let found = bridge::broadcast(runner, size)?;
                    runner.rows("broadcast", found.iter().count());
                    tables.broadcast.extend(found);
                }
                Test::Pressure => {
                    let found = pressure(runner, size)?;
                    runner.rows("pressure", found.iter().count());
                    tables.pressure.extend(found);
                }
                Test::Addresses | Test::Errors => {}
            }
        }
    }
    Ok(())
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
    let mut points = Vec::new();
    for percent in LOADS {
        let load = plan.max_share(size) * f64::from(percent) / 100.0;
        let (sample, length) = run(runner, load, plan.trial)?;
        let rate = |frames: u64| frames as f64 / length.as_secs_f64();
        let (offered, forwarded) = (rate(sample.offered), rate(sample.forwarded));
        points.push(ForwardingPoint { offered, forwarded });
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
    /// Loss of the congested port in percent; a third without congestion control. Absent as above.
    pub congested_loss_percent: Option<f64>,
    /// True if the uncongested port lost frames; absent with its loss.
    pub head_of_line_blocking: Option<bool>,
    /// True if the congested port lost none; absent with its loss.
    pub back_pressure: Option<bool>,
}

fn congestion(runner: &mut Runner<'_>, size: u32) -> Result<Option<CongestionRow>, TrialError> {
    let ports = runner.plan.equal_ports();
    if ports < GROUP {
        let why = format!("it needs {GROUP} ports of one rate, there are {ports}");
        runner.not_run("congestion", &why);
        return Ok(None);
    }
    let row = blocking(runner, size, GROUP, 0, Split::Halves)?;
    runner.row("congestion");
    Ok(Some(CongestionRow {
        size,
        uncongested_loss_percent: row.uncongested_loss_percent,
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
    if plan.equal_ports() < 2 {
        runner.not_run("pressure", "it needs 2 ports of one rate");
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
