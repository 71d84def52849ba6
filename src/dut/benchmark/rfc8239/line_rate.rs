//! Line rate of all ports at once (RFC 8239, section 2).

use serde::Serialize;
use validate::bench::Trouble;
use validate::trial::Limit;

use crate::mesh::Mesh;
use crate::trial::{Latency, Runner};

/// Largest load of the RFC as a share of the line: clocks of ports differ.
const LOAD: f64 = 0.9998;

/// All ports at line rate, for a pattern and a frame size.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct LineRateRow {
    /// `pairs`, `full mesh` or `snake`.
    pub pattern: String,
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Load of each port in percent of the line.
    pub load_percent: f64,
    /// Forwarded frames in percent of what full lines carry in the trial.
    pub forwarded_percent: f64,
    pub lost: u64,
    /// Frames that the tester held back because of pauses.
    pub held_back: u64,
    /// First bit in to last bit out, of the same trial; absent if nothing arrived, and in a snake, where it
    /// would be the sum of all passes.
    pub latency: Option<Latency>,
    /// Largest less smallest latency, in nanoseconds: RFC 8238's jitter.
    pub jitter_ns: Option<f64>,
}

pub(super) fn run(runner: &mut Runner<'_>, size: u32) -> Result<Vec<LineRateRow>, Trouble> {
    let plan = runner.plan;
    let load = plan.max_share(size).min(LOAD);
    let mut rows = Vec::new();
    for mesh in [Mesh::Pairs, Mesh::Full] {
        // Two ports are a pair, and a mesh of two is the same.
        if mesh == Mesh::Full && plan.equal_ports() < 3 {
            continue;
        }
        let streams = mesh.streams(plan, size, load, Limit::Time(plan.trial));
        let snake = plan.snake > 1;
        let pattern = if snake { "snake".to_owned() } else { mesh.name() };
        let sum = runner.measure(format!("{size} bytes, line rate, {pattern}"), &streams)?.sum();
        runner.row("line_rate");
        if snake {
            let passes = plan.snake;
            runner.note(format!("line rate: a snake of {passes} passes, so there is no latency"));
        }
        let latency = sum.latency.filter(|_| !snake);
        rows.push(LineRateRow {
            pattern,
            size,
            load_percent: load * 100.0,
            forwarded_percent: load * 100.0 * (1.0 - sum.loss_ratio()),
            lost: sum.lost(),
            held_back: sum.intended - sum.offered,
            latency,
            jitter_ns: latency.map(|latency| latency.max_ns - latency.min_ns),
        });
    }
    Ok(rows)
}
