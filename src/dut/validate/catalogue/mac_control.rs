//! MAC control frames other than valid PFC, and the part that their tests have in common: traffic on
//! all priorities from A to B, and one frame that B repeats.

use super::stop;
use crate::bench::{Faculty, Trouble};
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::Context;
use crate::trial::{FlowId, Port, VECTOR, pfc_fields, pfc_frame};
use ground::units::{Mac, PRIORITIES, Priority, PrioritySet};
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
pub(super) fn judge(cx: &mut Context<'_>, case: &Case, wanted: Wanted) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let stops = !matches!(wanted, Wanted::Ignored);
    let storm = stop::repeated(cx, (a, b), &case.name, case.octets.clone(), stops);
    let seen = cx.observe(&storm.trial)?;
    judge_seen(cx, &storm, &seen, (b, wanted))
}

/// Judges the reaction to a case that was observed.
pub(super) fn judge_seen(
    cx: &mut Context<'_>,
    storm: &stop::Storm,
    seen: &Observation,
    (port, wanted): (Port, Wanted),
) -> Result<(), Trouble> {
    let (set, open) = match wanted {
        Wanted::Ignored => (PrioritySet::EMPTY, PrioritySet::EMPTY),
        Wanted::Obeyed(p) => (PrioritySet::of(p), PrioritySet::EMPTY),
        Wanted::Open(p, _) => (PrioritySet::EMPTY, PrioritySet::of(p)),
    };
    stop::judge_but(cx, storm, seen, (port, set, open))?;
    let name = &storm.trial.name;
    if let Wanted::Open(priority, why) = wanted {
        let held = stop::held(cx, seen, port)?;
        let flow = storm.priorities.iter().position(|p| *p == priority);
        let flow = FlowId(flow.expect("the traffic has all priorities"));
        let rate = cx.rate_of(seen, &storm.trial, flow, &held);
        cx.policy(format!("rate of priority {priority} while B sends {name}"), rate, "%", why);
    }
    not_relayed(cx, seen, name);
    Ok(())
}

/// Judges that no port received a MAC control frame that the tester sent.
pub(super) fn not_relayed(cx: &mut Context<'_>, seen: &Observation, name: &str) {
    let relayed = seen.relayed();
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
    let time = stop::longest(cx);
    let all: Vec<_> = cx.priorities().iter().map(|p| (p, time)).collect();
    pfc_frame(cx.port(from).mac, &all)
}

/// Returns PFC of a storm's time for one priority.
pub(super) fn for_one(cx: &Context<'_>, src: Mac, priority: Priority) -> Vec<u8> {
    pfc_frame(src, &[(priority, stop::longest(cx))])
}

/// Returns frames whose opcode is not PFC's.
pub(super) fn unknown_opcodes(cx: &Context<'_>, from: Port) -> Vec<Case> {
    let case = |opcode: u16| {
        let mut octets = for_all(cx, from);
        octets[OPCODE..OPCODE + 2].copy_from_slice(&opcode.to_be_bytes());
        Case { name: format!("opcode {opcode:#06x}"), octets }
    };
    OPCODES.map(case).into()
}

/// Returns frames that are too short; none if the tester's ports pad them.
pub(super) fn short(cx: &Context<'_>, from: Port) -> Vec<Case> {
    let case = |len: usize| {
        let mut octets = for_all(cx, from);
        octets.truncate(len);
        Case { name: format!("PFC of {} bytes", len + 4), octets }
    };
    if cx.has(Faculty::ShortFrames) { SHORT.map(case).into() } else { Vec::new() }
}

/// Returns PFC for one priority with more bytes behind it.
pub(super) fn long(cx: &Context<'_>, from: Port, priority: Priority) -> Vec<Case> {
    let case = |len: usize| {
        let mut octets = for_one(cx, cx.port(from).mac, priority);
        octets.resize(len, 0xff);
        Case { name: format!("PFC of {} bytes", len + 4), octets }
    };
    LONG.map(case).into()
}

/// Returns PFC for one priority with all bits of the reserved half of its vector.
pub(super) fn reserved_bits(cx: &Context<'_>, from: Port, priority: Priority) -> Case {
    let vector = 0xff00 | u16::from(PrioritySet::of(priority).0);
    let octets = pfc_fields(cx.port(from).mac, vector, [stop::longest(cx).0; PRIORITIES]);
    Case { name: format!("PFC of vector {vector:#06x}"), octets }
}

/// Returns PFC to this destination.
pub(super) fn to(cx: &Context<'_>, from: Port, (name, dst): (&str, Mac)) -> Case {
    let mut octets = for_all(cx, from);
    octets[..6].copy_from_slice(&dst.0);
    Case { name: format!("PFC to {name} {dst}"), octets }
}

/// Returns PFC whose destination or tag no port obeys. `to` is another port, whose address the DUT
/// knows.
pub(super) fn wrong_destinations(cx: &Context<'_>, from: Port, other: Port) -> Vec<Case> {
    let unknown = Mac([0x02, 0x53, 0x4c, 0xff, 0xff, from.0 as u8]);
    let destinations = [
        ("a known station", cx.port(other).mac),
        ("an unknown station", unknown),
        ("the address of LLDP", group::NEAREST_BRIDGE),
        ("broadcast", Mac::BROADCAST),
    ];
    let mut cases: Vec<_> = destinations.map(|dst| self::to(cx, from, dst)).into();
    let mut octets = for_all(cx, from);
    // Priority 7, no VLAN: a frame that belongs to the port's own one.
    octets.splice(12..12, [0x81, 0x00, 0xe0, 0x00]);
    cases.push(Case { name: "tagged PFC".to_owned(), octets });
    cases
}

/// Returns 802.3x PAUSE of a storm's time.
pub(super) fn pause(cx: &Context<'_>, from: Port) -> Case {
    let mut octets = vec![0; pfc_frame(cx.port(from).mac, &[]).len()];
    let repr = pause::Repr::new(cx.port(from).mac, stop::longest(cx));
    repr.emit(&mut octets).expect("the buffer has the frame's length");
    // A port that read it as PFC would find a vector and times here.
    octets[VECTOR + 2..VECTOR + 18].fill(0xff);
    Case { name: "PAUSE".to_owned(), octets }
}
