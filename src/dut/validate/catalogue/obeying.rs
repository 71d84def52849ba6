//! Which priorities a port stops: those that a PFC frame of its peer names, and no others, at every port
//! and for every set of them.

use super::mac_control::{Case, Wanted};
use super::{mac_control, storm};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::{Context, Level, Scope, Test};
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial, pfc_fields};
use ground::time::Duration;
use ground::units::{Mac, PRIORITIES, Priority, PrioritySet, Quanta};

pub(super) const ONE_PRIORITY: Test = describe! {
    id: "V-R01",
    title: "one paused priority stops, others flow",
    purpose: "A port obeys PFC for one priority and keeps sending the others.",
    clause: "802.1Q 36.1.2",
    procedure: "A flow on each priority from A to B, an equal share of the line each. After a time \
                at rest B pauses one lossless priority without a gap.",
    pass: "From the limit after the first pause to the end of the last one no frame of the paused \
           priority begins. The others keep their rates within {rate}. No frame is lost.",
    source: "sonic-mgmt L01",
    run: one_priority,
    aliases: &["L01"],
    level: Level::Quick,
};

fn one_priority(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let set = PrioritySet::of(priority);
        let storm = storm::for_set(cx, (a, b), set, storm::SIZE);
        let observed = cx.observe(&storm.trial)?;
        storm::judge(cx, &storm, &observed, b, set)?;
    }
    Ok(())
}

pub(super) const PRIORITY_SETS: Test = describe! {
    id: "V-R02",
    title: "all lossless priorities stop at once",
    purpose: "A port obeys PFC for any set of priorities, up to all eight if PFC is on for them.",
    clause: "802.1Q 36.1.2",
    procedure: "A flow on each priority from A to B, an equal share of the line each. B pauses \
                all lossless priorities without a gap; at level full also their subsets: all of \
                them for up to four priorities, else each alone and each left out.",
    pass: "As V-R01, for each set.",
    source: "sonic-mgmt L02; UNH-IOL: devices that stop not all eight classes",
    run: priority_sets,
    aliases: &["L02"],
};

/// Number of priorities up to which all subsets are tried.
const SUBSETS_UP_TO: u32 = 4;

fn priority_sets(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    for set in sets(cx.setup.lossless).into_iter().take(cx.by_level(1, usize::MAX)) {
        let storm = storm::for_set(cx, (a, b), set, storm::SIZE);
        let observed = cx.observe(&storm.trial)?;
        storm::judge(cx, &storm, &observed, b, set)?;
    }
    Ok(())
}

/// Returns the sets to try, all priorities first.
fn sets(all: PrioritySet) -> Vec<PrioritySet> {
    let mut sets = vec![all];
    // Four priorities have 15 subsets, eight have 255: too many storms for a run.
    if all.0.count_ones() <= SUBSETS_UP_TO {
        let within = |set: &PrioritySet| set.0 & !all.0 == 0;
        sets.extend((1..all.0).map(PrioritySet).filter(within));
    } else {
        sets.extend(all.iter().map(PrioritySet::of));
        let without = |p: Priority| PrioritySet(all.0 & !PrioritySet::of(p).0);
        sets.extend(all.iter().map(without));
    }
    sets
}

pub(super) const EACH_PORT: Test = describe! {
    id: "V-R03",
    title: "each port obeys each lossless priority",
    purpose: "PFC works at every port of the DUT and for every lossless priority.",
    clause: "802.1Q 36.1.2",
    procedure: "V-R01 with each port in the place of B, from the port before it, and each \
                lossless priority. Of more than 64 combinations each port has one priority, and \
                each priority one port.",
    pass: "As V-R01, for each.",
    source: "sonic-mgmt L05",
    run: each_port,
    aliases: &["L05"],
    scope: Scope::Device,
};

/// Largest number of combinations that are all tried.
const PAIRS_UP_TO: usize = 64;

fn each_port(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.ports::<2>()?;
    cx.lossless()?;
    let ports = cx.setup.alike();
    for (to, priority) in pairs(ports, &cx.each_lossless()) {
        // The port before it, around the end of the list, so that the last port sends to the first one.
        let (from, to) = (Port((to + ports - 1) % ports), Port(to));
        let set = PrioritySet::of(priority);
        let mut storm = storm::for_set(cx, (from, to), set, storm::SIZE);
        storm.trial.name = format!("{} at {}", storm.trial.name, cx.port(to).name);
        let observed = cx.observe(&storm.trial)?;
        storm::judge(cx, &storm, &observed, to, set)?;
    }
    Ok(())
}

/// Returns the ports and priorities to try.
fn pairs(ports: usize, priorities: &[Priority]) -> Vec<(usize, Priority)> {
    let each = |port| priorities.iter().map(move |p| (port, *p));
    if ports * priorities.len() <= PAIRS_UP_TO {
        return (0..ports).flat_map(each).collect();
    }
    // The longer list has each of its entries once, the shorter one is repeated.
    let number = ports.max(priorities.len());
    (0..number).map(|n| (n % ports, priorities[n % priorities.len()])).collect()
}

pub(super) const ENABLE_VECTOR: Test = describe! {
    id: "V-R10",
    title: "the enable vector is honoured, bit by bit",
    purpose: "A PFC frame stops the priorities that its vector enables, each for its own time, \
              and no other, whatever its time field says.",
    clause: "802.3 31D.2, 802.1Q 36.1.3.2",
    procedure: "A flow on each priority from A to B, together half of the line. B sends single \
                PFC frames with all 256 vectors (at level quick those with one bit, and with \
                all), with different times for all priorities, enabled or not.",
    pass: "Each lossless priority stops when its bit is set, for its own time, and only then; no \
           lossy priority stops.",
    source: "HLK BitsReset; sonic-mgmt unset_cev; UNH-IOL",
    run: enable_vector,
    level: Level::Quick,
};

/// Load of all priorities together, as a share of the line: held frames have left before the next
/// vector.
const VECTOR_SHARE: f64 = 0.5;

/// Vectors of level quick.
const QUICK_VECTORS: [u8; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 255];

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

fn enable_vector(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let vectors = cx.by_level(&QUICK_VECTORS[..], &[]).to_vec();
    let vectors = if vectors.is_empty() { (0..=u8::MAX).collect() } else { vectors };
    let plan = Plan { unit: unit(cx, vectors.len() as u64)?, vectors };
    // The longest pause has eight units; in two more the held frames leave.
    let every = plan.unit.at(cx.setup.rate).saturating_mul(UNITS + 2);
    let baseline = cx.setup.times.baseline;
    let traffic = baseline + every.saturating_mul(plan.vectors.len() as u64);
    let mut trial = Trial::new("vectors", traffic + cx.setup.times.drain);
    let priorities: Vec<_> = cx.priorities().iter().collect();
    let share = Rate::Line(VECTOR_SHARE / priorities.len() as f64);
    for priority in &priorities {
        trial.flow(Flow::new((a, b), *priority, Limit::Time(traffic)).rate(share));
    }
    // Every priority has a time of its own, also where its bit is not set.
    let times = Priority::ALL.map(|p| plan.time(p).0);
    for (n, vector) in plan.vectors.iter().enumerate() {
        let at = baseline + every.saturating_mul(n as u64);
        trial.frame(b, pfc_fields(cx.port(b).mac, (*vector).into(), times), at);
    }
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(baseline.div(4)..baseline))?;
    for (n, priority) in priorities.iter().enumerate() {
        judge_stops(cx, &observed, &plan, FlowId(n), *priority);
    }
    Ok(())
}

/// Returns the unit of the times: longer than the limit, so that a stop is seen, and as long as fits
/// into the time of a stimulus.
///
/// # Errors
/// The pauses that the DUT's watchdog allows are too short: a flow may have no frame to send in the shortest one.
fn unit(cx: &Context<'_>, vectors: u64) -> Result<Quanta, TrialError> {
    // What a quantum more per unit adds to the whole trial.
    let one = Quanta(1).at(cx.setup.rate).saturating_mul(vectors * (UNITS + 2));
    let fits = cx.setup.times.hold.as_picos() / one.as_picos().max(1);
    // A stop is judged from the limit on, so the shortest pause has to outlast that by far.
    let least = storm::limit_quanta(cx).saturating_mul(2) + 500;
    let most = u64::from(cx.setup.pause_max().0) / UNITS;
    let unit = Quanta(fits.max(least).min(most) as u16);
    // Mean distance of the frames of one flow.
    let due = cx.setup.line_time(storm::SIZE).as_secs_f64() * cx.priorities().iter().count() as f64
        / VECTOR_SHARE;
    if unit.at(cx.setup.rate).as_secs_f64() < DUE * due {
        let what = "expected.watchdog.detection: pauses that it allows are no longer than the gaps of a flow";
        return Err(TrialError::Missing(what.into()));
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

fn judge_stops(
    cx: &mut Context<'_>,
    observed: &Observation,
    plan: &Plan,
    flow: FlowId,
    priority: Priority,
) {
    let stops = stops(cx, observed, plan, flow, priority);
    let exactly = Limits::exactly(0.0);
    let unsure = stops.unsure as f64;
    let name = format!("vectors without the bit of priority {priority} that stop it");
    let is_lossy = cx.setup.lossy.contains(priority);
    // A lossy priority never stops, so it has no lengths.
    let name = if is_lossy { format!("vectors that stop lossy priority {priority}") } else { name };
    cx.judge(name, stops.wrong as f64, exactly, unsure, "");
    cx.none_lost(observed, flow, priority);
    if is_lossy {
        return;
    }
    let name = format!("vectors with the bit of priority {priority} that do not stop it");
    cx.judge(name, stops.missed as f64, exactly, unsure, "");
    let limits = storm::end_limits(cx, plan.time(priority), storm::SIZE);
    let u = observed.uncertainty.saturating_mul(2).as_nanos_f64();
    let shortest = stops.lengths.iter().copied().reduce(f64::min);
    let longest = stops.lengths.iter().copied().reduce(f64::max);
    for (which, value) in [("shortest", shortest), ("longest", longest)] {
        let Some(value) = value else { continue };
        cx.judge(format!("{which} pause of priority {priority}"), value, limits, u, "ns");
    }
}

fn stops(
    cx: &Context<'_>,
    observed: &Observation,
    plan: &Plan,
    flow: FlowId,
    priority: Priority,
) -> Stops {
    let [_, b] = cx.ports().expect("the test has checked it");
    let begins = observed.begins(flow);
    let u = observed.uncertainty;
    // A stop is seen in the time between the limit and the end of the shortest pause.
    let unit = plan.unit.at(cx.setup.rate);
    let quiet = unit.saturating_sub(unit.div(16));
    let before = |time: Duration| begins.partition_point(|begin| *begin < time);
    let in_span = |from: Duration, until: Duration| before(until).saturating_sub(before(from));
    let mut stops = Stops::default();
    for ((record, _), vector) in observed.control_sent(b).zip(&plan.vectors) {
        let (from, until) = (record.end + cx.setup.stop_limit(), record.end + quiet);
        let is_sure = from + u < until.saturating_sub(u);
        let inside = is_sure && in_span(from + u, until.saturating_sub(u)) > 0;
        let near = in_span(from.saturating_sub(u), until + u) > 0;
        let enabled =
            PrioritySet(*vector).contains(priority) && cx.setup.lossless.contains(priority);
        // Frames that are within the uncertainty of an end may belong to either side of it.
        match (inside, near) {
            (false, true) => stops.unsure += 1,
            (false, false) if !enabled => stops.wrong += 1,
            (true, _) if enabled => stops.missed += 1,
            (true, _) => {}
            (false, false) => {
                let resumed = storm::resumed(cx, &begins, record.end);
                let length = resumed.map_or(Duration::MAX, |t| t.saturating_sub(record.end));
                stops.lengths.push(length.as_nanos_f64());
            }
        }
    }
    stops
}

pub(super) const LOSSY_PRIORITIES: Test = describe! {
    id: "V-R11",
    title: "PFC for lossy priorities is ignored",
    purpose: "A port does not stop a priority for which PFC is off.",
    clause: "802.1Q 36.1.2, 12.22",
    procedure: "A flow on each priority from A to B, an equal share of the line each. B pauses \
                all lossy priorities without a gap; at level full also each alone.",
    pass: "All flows keep their rates within {rate}. No frame is lost.",
    source: "sonic-mgmt Y01; HLK TestPfcDisabled",
    run: lossy_priorities,
    aliases: &["Y01"],
    level: Level::Quick,
};

fn lossy_priorities(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    cx.lossy()?;
    let lossy = cx.setup.lossy;
    // All together come first, as level quick has only this set.
    let sets = [lossy].into_iter().chain(lossy.iter().map(PrioritySet::of));
    for set in sets.take(cx.by_level(1, usize::MAX)) {
        let storm = storm::for_set(cx, (a, b), set, storm::SIZE);
        let observed = cx.observe(&storm.trial)?;
        storm::judge(cx, &storm, &observed, b, PrioritySet::EMPTY)?;
    }
    Ok(())
}

pub(super) const SOURCE_ADDRESS: Test = describe! {
    id: "V-R17",
    title: "the source address of PFC does not matter",
    purpose: "A port obeys PFC of its peer whatever its source address is.",
    clause: "802.3 31.4.1.2, 31D.3",
    procedure: "V-R01 with PFC whose source is the address of B, another one, zero, and a \
                multicast address.",
    pass: "PFC of the first two is obeyed, as in V-R01, and no port receives it. The reaction to \
           the others is reported. Counters of the DUT are not read.",
    source: "sonic-mgmt 6172, 8239; SONiC 418",
    run: source_address,
};

/// Reason why both reactions are right.
const OPEN_SOURCE: &str =
    "802.3 31.4.1.2 has an individual address sent, and says nothing of others";

fn source_address(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    cx.lossless()?;
    let own = cx.port(b).mac;
    // The standard has an individual address sent, and says nothing of zero and group addresses.
    let sources = [
        ("its own", own, true),
        ("another", Mac([0x02, 0x53, 0x4c, 0xff, 0xfe, 0xfd]), true),
        ("the zero", Mac([0; 6]), false),
        ("a multicast", Mac([0x03, 0x53, 0x4c, 0xff, 0xfe, 0xfd]), false),
    ];
    for priority in cx.each_lossless() {
        for (name, src, is_valid) in sources {
            let octets = mac_control::for_one(cx, src, priority);
            let case = Case { name: format!("PFC from {name} address {src}"), octets };
            let wanted = match is_valid {
                true => Wanted::Obeyed(priority),
                false => Wanted::Open(priority, OPEN_SOURCE),
            };
            mac_control::judge(cx, &case, wanted)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_subsets_of_few_priorities_are_tried() {
        let of = |set| sets(PrioritySet(set)).iter().map(|set| set.0).collect::<Vec<_>>();
        assert_eq!(of(0x18), [0x18, 0x08, 0x10]);
        assert_eq!(of(0x0f).len(), 15);
        let eight = of(0xff);
        assert!(eight.len() == 17 && eight.contains(&0x80) && eight.contains(&0x7f));
    }

    #[test]
    fn every_port_and_every_priority_is_tried() {
        assert_eq!(pairs(3, &Priority::ALL[3..5]).len(), 6);
        let many = pairs(64, &Priority::ALL);
        assert_eq!(many.len(), 64);
        assert!(Priority::ALL.iter().all(|p| many.iter().any(|(_, q)| p == q)));
    }
}
