//! MAC control frames other than valid PFC: what they stop, and that none of them is forwarded.
//!
//! All tests but one have the traffic in common, on all priorities from A to B, and one frame that B repeats
//! ([`judge`]).

use super::storm;
use crate::bench::{Capability, TrialError};
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::{Context, Level, Scope, Test};
use crate::trial::{
    Control, Damage, Flow, FlowId, Limit, Port, Rate, Trial, VECTOR, pfc_fields, pfc_frame,
};
use ground::units::{Mac, PRIORITIES, Priority, PrioritySet, Quanta};
use wire::{group, pause};

/// Offset of the opcode.
const OPCODE: usize = 14;

/// Opcodes: reserved, one above PFC's, the highest, and PAUSE's with the body of PFC.
const OPCODES: [u16; 4] = [0x0000, 0x0102, 0xffff, 0x0001];

/// Lengths without FCS of frames that end after the opcode, the vector and the fourth time, and of one
/// that lacks a byte.
const SHORT: [usize; 4] = [16, 18, 26, 59];

/// Lengths without FCS of frames that are longer than MAC control frames are.
const LONG: [usize; 4] = [61, 124, 508, 1514];

/// A frame to try.
pub(super) struct Case {
    pub(super) name: String,
    /// The frame from its destination address on, without FCS.
    pub(super) octets: Vec<u8>,
}

/// The required reaction to a frame.
#[derive(Clone, Copy)]
pub(super) enum Wanted {
    /// Nothing stops.
    Ignored,
    /// The priority stops.
    Obeyed(Priority),
    /// The standards leave open if the priority stops, for this reason.
    Open(Priority, &'static str),
}

/// Runs a case and judges the reaction to it. The frame must not leave by any port.
pub(super) fn judge(cx: &mut Context<'_>, case: &Case, wanted: Wanted) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    // An open reaction may be a stop, too, which a watchdog would end.
    let stops = !matches!(wanted, Wanted::Ignored);
    let storm = storm::repeated(cx, (a, b), &case.name, case.octets.clone(), stops);
    let observed = cx.observe(&storm.trial)?;
    judge_observed(cx, &storm, &observed, b, wanted)
}

/// Judges the reaction to a case that was observed.
fn judge_observed(
    cx: &mut Context<'_>,
    storm: &storm::Storm,
    observed: &Observation,
    port: Port,
    wanted: Wanted,
) -> Result<(), TrialError> {
    let (set, open) = match wanted {
        Wanted::Ignored => (PrioritySet::EMPTY, PrioritySet::EMPTY),
        Wanted::Obeyed(p) => (PrioritySet::of(p), PrioritySet::EMPTY),
        // Neither that it stops is judged, nor its rate.
        Wanted::Open(p, _) => (PrioritySet::EMPTY, PrioritySet::of(p)),
    };
    storm::judge_but(cx, storm, observed, port, storm::Stopped { set, open })?;
    let name = &storm.trial.name;
    if let Wanted::Open(priority, why) = wanted {
        let held = storm::held(cx, observed, port)?;
        let flow = storm.priorities.iter().position(|p| *p == priority);
        let flow = FlowId(flow.expect("the traffic has all priorities"));
        let rate = cx.rate_of(observed, &storm.trial, flow, &held);
        cx.policy(format!("rate of priority {priority} while B sends {name}"), rate, "%", why);
    }
    not_relayed(cx, observed, name);
    Ok(())
}

/// Judges that no port received a MAC control frame that the tester sent.
fn not_relayed(cx: &mut Context<'_>, observed: &Observation, name: &str) {
    let relayed = observed.relayed();
    relayed.iter().for_each(|record| cx.mark(record, "was sent by the tester itself"));
    let what = match relayed.first() {
        Some(first) => {
            let port = &cx.port(first.port).name;
            let destination = first.what.destination().map_or_else(String::new, |d| d.to_string());
            format!("forwarded frames of {name} (the first to {port}, destination {destination})")
        }
        None => format!("forwarded frames of {name}"),
    };
    cx.count(what, relayed.len() as u64, Limits::exactly(0.0));
}

/// Returns PFC of a storm's time for all priorities of the set-up.
fn for_all(cx: &Context<'_>, from: Port) -> Vec<u8> {
    let time = storm::longest(cx);
    let all: Vec<_> = cx.priorities().iter().map(|p| (p, time)).collect();
    pfc_frame(cx.port(from).mac, &all)
}

/// Returns PFC of a storm's time for one priority.
pub(super) fn for_one(cx: &Context<'_>, src: Mac, priority: Priority) -> Vec<u8> {
    pfc_frame(src, &[(priority, storm::longest(cx))])
}

/// Returns frames whose opcode is not PFC's.
fn opcode_cases(cx: &Context<'_>, from: Port) -> Vec<Case> {
    let case = |opcode: u16| {
        let mut octets = for_all(cx, from);
        octets[OPCODE..OPCODE + 2].copy_from_slice(&opcode.to_be_bytes());
        Case { name: format!("opcode {opcode:#06x}"), octets }
    };
    OPCODES.map(case).into()
}

/// Returns frames that are too short; none if the tester's ports pad them.
fn short_cases(cx: &Context<'_>, from: Port) -> Vec<Case> {
    let case = |len: usize| {
        let mut octets = for_all(cx, from);
        octets.truncate(len);
        Case { name: format!("PFC of {} bytes", len + 4), octets }
    };
    if cx.has(Capability::ShortFrames) { SHORT.map(case).into() } else { Vec::new() }
}

/// Returns PFC for one priority with more bytes behind it.
fn long_cases(cx: &Context<'_>, from: Port, priority: Priority) -> Vec<Case> {
    let case = |len: usize| {
        let mut octets = for_one(cx, cx.port(from).mac, priority);
        octets.resize(len, 0xff);
        Case { name: format!("PFC of {} bytes", len + 4), octets }
    };
    LONG.map(case).into()
}

/// Returns PFC for one priority with all bits of the reserved half of its vector.
fn reserved_bits_case(cx: &Context<'_>, from: Port, priority: Priority) -> Case {
    let vector = 0xff00 | u16::from(PrioritySet::of(priority).0);
    // All times are the longest, so that a port that reads the high octet as priorities stops more.
    let octets = pfc_fields(cx.port(from).mac, vector, [storm::longest(cx).0; PRIORITIES]);
    Case { name: format!("PFC of vector {vector:#06x}"), octets }
}

/// Returns PFC to this destination.
fn case_to(cx: &Context<'_>, from: Port, name: &str, dst: Mac) -> Case {
    let mut octets = for_all(cx, from);
    octets[..6].copy_from_slice(&dst.0);
    Case { name: format!("PFC to {name} {dst}"), octets }
}

/// Returns PFC whose destination or tag no port obeys. `to` is another port, whose address the DUT
/// knows.
fn destination_cases(cx: &Context<'_>, from: Port, other: Port) -> Vec<Case> {
    // A locally administered address that no station has.
    let unknown = Mac([0x02, 0x53, 0x4c, 0xff, 0xff, from.0 as u8]);
    let destinations = [
        ("a known station", cx.port(other).mac),
        ("an unknown station", unknown),
        ("the address of LLDP", group::NEAREST_BRIDGE),
        ("broadcast", Mac::BROADCAST),
    ];
    let mut cases: Vec<_> = destinations.map(|(name, dst)| case_to(cx, from, name, dst)).into();
    let mut octets = for_all(cx, from);
    // Priority 7, no VLAN: a frame that belongs to the port's own one.
    octets.splice(12..12, [0x81, 0x00, 0xe0, 0x00]);
    cases.push(Case { name: "tagged PFC".to_owned(), octets });
    cases
}

/// Returns 802.3x PAUSE of a storm's time.
fn pause_case(cx: &Context<'_>, from: Port) -> Case {
    let mut octets = vec![0; pfc_frame(cx.port(from).mac, &[]).len()];
    let repr = pause::Repr::new(cx.port(from).mac, storm::longest(cx));
    repr.emit(&mut octets).expect("the buffer has the frame's length");
    // A port that read it as PFC would find a vector and times here.
    octets[VECTOR + 2..VECTOR + 18].fill(0xff);
    Case { name: "PAUSE".to_owned(), octets }
}

pub(super) const UNKNOWN_OPCODES: Test = describe! {
    id: "V-M01",
    title: "unknown opcodes pause nothing",
    purpose: "MAC control frames whose opcode is not PFC's are ignored where PFC is on, and are not \
              forwarded.",
    clause: "802.3 31.4.1.3",
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends PFC frames \
                whose opcode is another one.",
    pass: "All flows keep their rates within {rate}, no frame is lost, and no port receives one of the \
           frames.",
    source: "sonic-mgmt Y02",
    run: unknown_opcodes,
    aliases: &["Y02"],
    uncertainty: "None: counts.",
    level: Level::Quick,
};

fn unknown_opcodes(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    for case in opcode_cases(cx, b) {
        judge(cx, &case, Wanted::Ignored)?;
    }
    Ok(())
}

pub(super) const WRONG_SIZES: Test = describe! {
    id: "V-M02",
    title: "short, damaged and long PFC frames",
    purpose: "PFC frames that are cut or damaged are not obeyed; bytes behind a whole one are \
              ignored.",
    clause: "802.3 31.4.1, 4.2.4.1",
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends \
                PFC frames of 20, 22, 30 and 63 bytes, PFC with a wrong FCS, and PFC with more \
                bytes behind it, of 65 to 1518 bytes.",
    pass: "Short and damaged frames stop nothing; long ones stop their priority alone. No frame \
           is lost, and no port receives one of the frames.",
    source: "sonic-mgmt Y02; UNH-IOL incorrect size of PAUSE",
    run: wrong_sizes,
    aliases: &["Y02"],
};

fn wrong_sizes(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    let priority = cx.lossless()?;
    // Level quick leaves out the two shortest.
    let first = cx.by_level(2, 0);
    if !cx.has(Capability::ShortFrames) {
        cx.skip("frames below 64 bytes", "the ports of the tester pad them");
    }
    for case in short_cases(cx, b).iter().skip(first) {
        judge(cx, case, Wanted::Ignored)?;
    }
    judge_damaged(cx)?;
    for case in long_cases(cx, b, priority).iter().rev().take(cx.by_level(1, usize::MAX)) {
        judge(cx, case, Wanted::Obeyed(priority))?;
    }
    Ok(())
}

/// Judges the reaction to PFC with a wrong FCS.
fn judge_damaged(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    if !cx.has(Capability::WrongFcs) {
        cx.skip("PFC with a wrong FCS", "the ports of the tester calculate it");
        return Ok(());
    }
    let octets = for_one(cx, cx.port(b).mac, cx.lossless()?);
    let mut storm = storm::repeated(cx, (a, b), "PFC with a wrong FCS", octets, false);
    let (from, until) = (storm.rest.end, storm.rest.end + cx.setup.times.hold);
    let from = from.saturating_sub(cx.setup.line_time(64));
    storm.trial.damage.push(Damage { port: b, from, until });
    let observed = cx.observe(&storm.trial)?;
    judge_observed(cx, &storm, &observed, b, Wanted::Ignored)
}

pub(super) const RESERVED_BITS: Test = describe! {
    id: "V-M03",
    title: "reserved bits of the vector name no priority",
    purpose: "The high octet of the priority enable vector is reserved. A port ignores its bits, \
              or the frame.",
    clause: "802.3 31D.2, 802.1Q 36.1.3.2",
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends \
                PFC whose vector has all bits of its high octet and one lossless priority, with \
                the longest time for all.",
    pass: "The other priorities keep their rates within {rate}, and no frame is lost. The rate of \
           the named priority is reported.",
    source: "sonic-mgmt Y02",
    run: reserved_bits,
    aliases: &["Y02"],
};

/// Reason why both reactions are right.
const OPEN_BITS: &str =
    "802.3 31D.2 has the bits sent as zero, and says nothing of frames with others";

fn reserved_bits(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        let case = reserved_bits_case(cx, b, priority);
        judge(cx, &case, Wanted::Open(priority, OPEN_BITS))?;
    }
    Ok(())
}

pub(super) const WRONG_DESTINATIONS: Test = describe! {
    id: "V-M04",
    title: "PFC to wrong destinations and tagged PFC",
    purpose: "PFC is sent to 01-80-C2-00-00-01 without a tag. A port obeys no other PFC, and \
              forwards none.",
    clause: "802.3 31D.3, 31.4.1, 802.1Q 8.6.3",
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends \
                PFC to a known and to an unknown station, to 01-80-C2-00-00-0E, to the broadcast \
                address, and with a tag; then to the address of the DUT at B, which it learns \
                from a pause of the DUT.",
    pass: "All flows keep their rates within {rate}, no frame is lost, and no port receives one of \
           the frames. The reaction to the address of the port is reported.",
    source: "HLK unicast and multicast destinations",
    run: wrong_destinations,
};

/// Reason why both reactions are right.
const OPEN_ADDRESS: &str =
    "802.3 31B.3.3 allows the address of the port for PAUSE, 31D.3 does not name it";

fn wrong_destinations(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    for case in destination_cases(cx, b, a) {
        judge(cx, &case, Wanted::Ignored)?;
    }
    let Some(port) = dut_address(cx)? else {
        cx.skip(
            "PFC to the address of the port",
            "the DUT sends no pause with a unicast source at B",
        );
        return Ok(());
    };
    let mut octets = for_one(cx, cx.port(b).mac, priority);
    octets[..6].copy_from_slice(&port.0);
    let case = Case { name: format!("PFC to the port {port}"), octets };
    judge(cx, &case, Wanted::Open(priority, OPEN_ADDRESS))
}

/// Returns the address of the DUT's port at B: the source of the pauses that it sends there when A
/// takes no frames.
fn dut_address(cx: &mut Context<'_>) -> Result<Option<Mac>, TrialError> {
    let [a, b] = cx.ports()?;
    let (times, priority) = (cx.setup.times, cx.lossless()?);
    let mut trial = Trial::new("address of the port", times.hold + times.drain);
    trial.flow(Flow::new((b, a), priority, Limit::Time(times.hold)));
    let (src, rate) = (cx.port(a).mac, cx.setup.rate);
    let until = times.hold.min(times.baseline + cx.setup.storm_max());
    trial.storm(a, src, rate, PrioritySet::of(priority), (times.baseline, until));
    let observed = cx.observe(&trial)?;
    let sources = observed.pauses(b).map(|pause| pause.frame.src);
    // A port sends pauses from an individual address; others tell nothing about it.
    let is_address = |mac: &Mac| !mac.is_multicast() && *mac != Mac([0; 6]);
    let first = { sources }.find(is_address);
    Ok(first)
}

pub(super) const PAUSE_BESIDE_PFC: Test = describe! {
    id: "V-M05",
    title: "PAUSE stops nothing where PFC is on",
    purpose: "A port with PFC ignores 802.3x PAUSE, and does not forward it.",
    clause: "802.1Q 36.1.2",
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends \
                PAUSE of the longest time without a gap.",
    pass: "All flows keep their rates within {rate}, no frame is lost, and no port receives one of \
           the frames.",
    source: "sonic-mgmt Y03",
    run: pause_beside_pfc,
    aliases: &["Y03"],
    level: Level::Quick,
};

fn pause_beside_pfc(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [_, b] = cx.ports()?;
    cx.lossless()?;
    let case = pause_case(cx, b);
    judge(cx, &case, Wanted::Ignored)
}

pub(super) const NEVER_FORWARDED: Test = describe! {
    id: "V-M06",
    title: "MAC control is never forwarded",
    purpose: "A bridge forwards no MAC control frame, valid or not.",
    clause: "802.3 31.4.1, 802.1Q 8.6.3",
    procedure: "A flow from A to B at a tenth of the line. All ports send PFC that pauses and \
                resumes, PAUSE, and the frames of V-M01 to V-M04. All ports record.",
    pass: "No port receives one of the frames, by its source address and its contents.",
    source: "SAI issue 1262, Snabb issue 1365",
    run: never_forwarded,
    uncertainty: "None: counts.",
    level: Level::Quick,
    scope: Scope::Device,
};

/// Number of times that each frame is sent by each port.
const TIMES: u32 = 3;

fn never_forwarded(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let priority = cx.lossless()?;
    let traffic = times.baseline + times.hold;
    let mut trial = Trial::new("MAC control of all kinds", traffic + times.drain);
    trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)).rate(Rate::Line(0.1)));
    let ports: Vec<Port> = (0..cx.setup.ports.len()).map(Port).collect();
    let last = ports.len() - 1;
    for (n, port) in ports.iter().enumerate() {
        let cases = all_cases(cx, *port, ports[(n + 1) % ports.len()], priority);
        let every = times.hold.div(cases.len() as u64 * u64::from(TIMES) + 1);
        // Each port has its own part of an interval, so that no two frames meet.
        let offset = every.div(ports.len() as u64).saturating_mul((last - n) as u64);
        for (n, case) in cases.into_iter().enumerate() {
            let start = times.baseline + offset + every.saturating_mul(n as u64 * u64::from(TIMES));
            let Case { octets, .. } = case;
            trial.control.push(Control { port: *port, octets, start, every, frames: TIMES });
        }
    }
    let observed = cx.observe(&trial)?;
    // A DUT that forwards nothing would pass.
    cx.at_rest(&observed, &trial, &(times.baseline.div(4)..times.baseline))?;
    not_relayed(cx, &observed, "MAC control");
    Ok(())
}

/// Returns the frames that a port sends. The last one resumes all priorities.
fn all_cases(cx: &Context<'_>, port: Port, other: Port, priority: Priority) -> Vec<Case> {
    let mut cases = opcode_cases(cx, port);
    cases.extend(short_cases(cx, port));
    cases.extend(long_cases(cx, port, priority));
    cases.push(reserved_bits_case(cx, port, priority));
    cases.extend(destination_cases(cx, port, other));
    cases.push(pause_case(cx, port));
    for time in [Quanta::MAX, Quanta(0)] {
        let all = Priority::ALL.map(|p| (p, time));
        let octets = pfc_frame(cx.port(port).mac, &all);
        cases.push(Case { name: format!("PFC of {} quanta", time.0), octets });
    }
    cases
}
