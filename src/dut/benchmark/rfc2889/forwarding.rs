//! Throughput and forwarding rates of meshes (RFC 2889, 5.1 to 5.3).

use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::Limit;

use crate::mesh::Mesh;
use crate::mlrsearch::Irregular;
use crate::search;
use crate::trial::Runner;

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

pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<Vec<ForwardingRow>, Trouble> {
    let ports = runner.plan.equal_ports();
    let mut patterns = vec![Mesh::Pairs];
    if ports > 2 {
        patterns.extend([Mesh::Full, Mesh::Partial(1), Mesh::Partial(ports - 1)]);
    }
    let all = runner.plan.bursts.iter();
    let all = all.flat_map(|burst| patterns.iter().map(|mesh| (*mesh, *burst)));
    all.map(|(mesh, burst)| measure(runner, size, (mesh, burst))).collect()
}

fn measure(
    runner: &mut Runner<'_>,
    size: u32,
    (mesh, burst): (Mesh, u32),
) -> Result<ForwardingRow, Trouble> {
    let plan = runner.plan;
    let pattern = mesh.name();
    let line = plan.line_rate(0, size);
    let run = |runner: &mut Runner<'_>, load: f64, time| {
        let streams = match burst {
            1 => mesh.streams(plan, size, load, Limit::Time(time)),
            _ => mesh.bursts(plan, size, (load, burst), time),
        };
        let bursts = if burst > 1 { format!(", bursts of {burst}") } else { String::new() };
        let name = format!("{size} bytes, {pattern}{bursts}, {:.3} % of the line", load * 100.0);
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
    let mfr = points.iter().copied().max_by(|a, b| a.forwarded.total_cmp(&b.forwarded));
    Ok(ForwardingRow {
        pattern,
        size,
        burst,
        throughput_percent: result.lower.map(|bound| bound.load / line * 100.0),
        irregular: result.irregular,
        frmol: points[0],
        mfr: mfr.expect("there is a load"),
    })
}
