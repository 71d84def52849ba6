//! V-R10: the enable vector is honoured, bit by bit.

use super::{end, stop};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial, pfc_fields};
use ground::time::Duration;
use ground::units::{PRIORITIES, Priority, PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-R10",
    aliases: &[],
    title: "the enable vector is honoured, bit by bit",
    purpose: "A PFC frame stops the priorities that its vector enables, each for its own time, \
              and no other, whatever its time field says.",
    clause: "802.3 31D.2, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, together half of the line. B sends single \
                PFC frames with all 256 vectors (at level quick those with one bit, and with \
                all), with different times for all priorities, enabled or not.",
    pass: "Each lossless priority stops when its bit is set, for its own time, and only then; no \
           lossy priority stops.",
    uncertainty: "Time stamps of the tester.",
    source: "HLK BitsReset; sonic-mgmt unset_cev; UNH-IOL",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Load of all priorities together, as a share of the line: held frames have left before the next
/// vector.
const SHARE: f64 = 0.5;

/// Vectors of level quick.
const QUICK: [u8; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 255];

/// Frames of a flow that are due in the shortest pause, at least.
const DUE: f64 = 3.0;

/// Priorities, and the longest pause, in units.
const UNITS: u64 = PRIORITIES as u64;

/// The pauses of the trial.
struct Plan {
    vectors: Vec<u8>,
    /// Time of priority 0; priority n has n + 1 times as much.
    unit: Quanta,
}

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let vectors = cx.by_level(&QUICK[..], &[]).to_vec();
    let vectors = if vectors.is_empty() { (0..=u8::MAX).collect() } else { vectors };
    let plan = Plan { unit: unit(cx, vectors.len() as u64)?, vectors };
    let every = plan.unit.at(cx.setup.rate).saturating_mul(UNITS + 2);
    let baseline = cx.setup.times.baseline;
    let traffic = baseline + every.saturating_mul(plan.vectors.len() as u64);
    let mut trial = Trial::new("vectors", traffic + cx.setup.times.drain);
    let priorities: Vec<_> = cx.priorities().iter().collect();
    let share = Rate::Line(SHARE / priorities.len() as f64);
    for priority in &priorities {
        trial.flow(Flow::new((a, b), *priority, Limit::Time(traffic)).rate(share));
    }
    let times = Priority::ALL.map(|p| plan.time(p).0);
    for (n, vector) in plan.vectors.iter().enumerate() {
        let at = baseline + every.saturating_mul(n as u64);
        trial.frame(b, pfc_fields(cx.port(b).mac, (*vector).into(), times), at);
    }
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(baseline.div(4)..baseline))?;
    for (n, priority) in priorities.iter().enumerate() {
        judge(cx, &seen, &plan, (FlowId(n), *priority));
    }
    Ok(())
}

/// Returns the unit of the times: longer than the limit, so that a stop is seen, and as long as fits
/// into the time of a stimulus.
///
/// # Errors
/// The pauses that the DUT's watchdog allows are too short: a flow may have no frame to send in the shortest one.
fn unit(cx: &Context<'_>, vectors: u64) -> Result<Quanta, Trouble> {
    let one = Quanta(1).at(cx.setup.rate).saturating_mul(vectors * (UNITS + 2));
    let fits = cx.setup.times.hold.as_picos() / one.as_picos().max(1);
    let least = end::limit_quanta(cx).saturating_mul(2) + 500;
    let most = u64::from(cx.setup.pause_max().0) / UNITS;
    let unit = Quanta(fits.max(least).min(most) as u16);
    let due = cx.setup.line_time(stop::SIZE).as_secs_f64() * cx.priorities().iter().count() as f64
        / SHARE;
    if unit.at(cx.setup.rate).as_secs_f64() < DUE * due {
        let what = "expected.watchdog.detection: pauses that it allows are no longer than the gaps of a flow";
        return Err(Trouble::Missing(what.into()));
    }
    Ok(unit)
}

impl Plan {
    /// Returns the time of a priority.
    fn time(&self, priority: Priority) -> Quanta {
        Quanta(self.unit.0 * (u16::from(priority.get()) + 1))
    }
}

/// Stops of a priority.
#[derive(Default)]
struct Stops {
    /// Vectors with its bit that did not stop it, and without its bit that did.
    missed: u64,
    wrong: u64,
    /// Vectors of which the uncertainty leaves open if they stopped it.
    unsure: u64,
    /// Times of the first frame after a stop, from the pause, in nanoseconds.
    lengths: Vec<f64>,
}

fn judge(
    cx: &mut Context<'_>,
    seen: &Observation,
    plan: &Plan,
    (flow, priority): (FlowId, Priority),
) {
    let stops = stops(cx, seen, plan, (flow, priority));
    let exactly = Limits::exactly(0.0);
    let unsure = stops.unsure as f64;
    let name = format!("vectors without the bit of priority {priority} that stop it");
    let is_lossy = cx.setup.lossy.contains(priority);
    let name = if is_lossy { format!("vectors that stop lossy priority {priority}") } else { name };
    cx.judge(name, stops.wrong as f64, exactly, unsure, "");
    cx.none_lost(seen, (flow, priority));
    if is_lossy {
        return;
    }
    let name = format!("vectors with the bit of priority {priority} that do not stop it");
    cx.judge(name, stops.missed as f64, exactly, unsure, "");
    let limits = end::limits(cx, plan.time(priority), stop::SIZE);
    let u = seen.uncertainty.saturating_mul(2).as_nanos_f64();
    let shortest = stops.lengths.iter().copied().reduce(f64::min);
    let longest = stops.lengths.iter().copied().reduce(f64::max);
    for (which, value) in [("shortest", shortest), ("longest", longest)] {
        let Some(value) = value else { continue };
        cx.judge(format!("{which} pause of priority {priority}"), value, limits, u, "ns");
    }
}

fn stops(
    cx: &Context<'_>,
    seen: &Observation,
    plan: &Plan,
    (flow, priority): (FlowId, Priority),
) -> Stops {
    let [_, b] = cx.ports().expect("the test has checked it");
    let begins = seen.begins(flow);
    let u = seen.uncertainty;
    // A stop is seen in the time between the limit and the end of the shortest pause.
    let unit = plan.unit.at(cx.setup.rate);
    let quiet = unit.saturating_sub(unit.div(16));
    let before = |time: Duration| begins.partition_point(|begin| *begin < time);
    let in_span = |from: Duration, until: Duration| before(until).saturating_sub(before(from));
    let mut stops = Stops::default();
    for ((record, _), vector) in seen.control_sent(b).zip(&plan.vectors) {
        let (from, until) = (record.end + cx.setup.stop_limit(), record.end + quiet);
        let is_sure = from + u < until.saturating_sub(u);
        let inside = is_sure && in_span(from + u, until.saturating_sub(u)) > 0;
        let near = in_span(from.saturating_sub(u), until + u) > 0;
        let enabled =
            PrioritySet(*vector).contains(priority) && cx.setup.lossless.contains(priority);
        match (inside, near) {
            (false, true) => stops.unsure += 1,
            (false, false) if !enabled => stops.wrong += 1,
            (true, _) if enabled => stops.missed += 1,
            (true, _) => {}
            (false, false) => {
                let resumed = end::resumed(cx, &begins, record.end);
                let length = resumed.map_or(Duration::MAX, |t| t.saturating_sub(record.end));
                stops.lengths.push(length.as_nanos_f64());
            }
        }
    }
    stops
}
