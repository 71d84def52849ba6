//! Defects of devices, as a lab file names them.

use super::*;
use crate::raw::DefectKind;
use ground::units::{Priority, PrioritySet, Quanta};
use schedule::Meter;
use sim::FaultKind;
use sim::defect::Defect::{
    self, Forwarding as F, Holding as H, Obeying as O, Securing as M, Sending as S, Storing as B,
    Telling as T,
};
use sim::defect::{Forwarding, Holding, Obeying, Part, Securing, Sending, Storing, Telling};
use switch::Change;

const P3: PrioritySet = PrioritySet::of(Priority::ALL[3]);
const US_2: Duration = Duration::from_micros(2);

/// Every spelling, and the defect that it gives.
pub(crate) const SPELLINGS: &[(&str, Defect)] = &[
    ("kind: ignores-pfc, priorities: [3]", O(Obeying::Ignores { priorities: P3 })),
    ("kind: ignores-pfc", O(Obeying::Ignores { priorities: PrioritySet::ALL })),
    ("kind: ignores-pfc-after-flap", O(Obeying::IgnoresAfterFlap)),
    (
        "kind: obeys-late, quanta: 20, priorities: [3]",
        O(Obeying::Late { by: Quanta(20), priorities: P3 }),
    ),
    ("kind: scaled-times, ratio: 1/8", O(Obeying::ScaledTimes { numerator: 1, denominator: 8 })),
    ("kind: scaled-times, ratio: 4", O(Obeying::ScaledTimes { numerator: 4, denominator: 1 })),
    ("kind: never-expires", O(Obeying::NeverExpires)),
    ("kind: adds-times", O(Obeying::AddsTimes)),
    ("kind: keeps-first-time", O(Obeying::KeepsFirst)),
    ("kind: keeps-longest-time", O(Obeying::KeepsLongest)),
    ("kind: ignores-zero-time", O(Obeying::IgnoresZeroTime)),
    ("kind: resumes-not-enabled", O(Obeying::ResumesNotEnabled)),
    ("kind: ignores-vector", O(Obeying::IgnoresVector)),
    ("kind: mirrors-vector", O(Obeying::MirrorsVector)),
    ("kind: reads-high-octet", O(Obeying::ReadsHighOctet)),
    ("kind: obeys-for-all", O(Obeying::AllPriorities)),
    ("kind: obeys-next-priority", O(Obeying::NextPriority)),
    ("kind: obeys-few, most: 1", O(Obeying::Few { most: 1 })),
    ("kind: obeys-unknown-opcodes", O(Obeying::UnknownOpcodes)),
    ("kind: obeys-truncated", O(Obeying::Truncated)),
    ("kind: obeys-pause", O(Obeying::Pause)),
    ("kind: ignores-zero-source", O(Obeying::IgnoresZeroSource)),
    ("kind: forwards-mac-control", O(Obeying::ForwardsControl)),
    ("kind: stuck-after-flap", O(Obeying::StuckAfterFlap)),
    (
        "kind: ignores-short-times, quanta: 20, priorities: [3]",
        O(Obeying::IgnoresShort { below: Quanta(20), priorities: P3 }),
    ),
    ("kind: resumes-all", O(Obeying::ResumesAll)),
    ("kind: resumes-other-ports", O(Obeying::ResumesOtherPorts)),
    ("kind: takes-zero-for-one", O(Obeying::ZeroIsOne)),
    ("kind: obeys-lossy, priorities: [3]", H(Holding::ObeysAlso { priorities: P3 })),
    ("kind: drops-while-paused", H(Holding::Drops { priorities: PrioritySet::ALL })),
    ("kind: releases-after-flap, frames: 9", H(Holding::ReleasesAfterFlap { frames: 9 })),
    ("kind: reorders-after-pause", H(Holding::Reorders)),
    ("kind: no-pfc-while-paused", H(Holding::PausesWait)),
    (
        "kind: drops-others, priorities: [3], after: 2us",
        H(Holding::DropsOthers { priorities: P3, after: US_2 }),
    ),
    ("kind: drops-by-turns, after: 2us", H(Holding::DropsByTurns { period: US_2 })),
    ("kind: watches-empty, after: 2us", H(Holding::WatchesEmpty { after: US_2 })),
    ("kind: pauses-upstream, after: 2us", H(Holding::PausesUpstream { after: US_2 })),
    ("kind: never-pauses, priorities: [3]", S(Sending::NeverPauses { priorities: P3 })),
    ("kind: loses-resumptions, every: 3", S(Sending::LosesResumptions { every: 3 })),
    ("kind: refreshes-late, every: 3", S(Sending::RefreshesLate { every: 3 })),
    ("kind: never-refreshes", S(Sending::NeverRefreshes)),
    ("kind: pauses-behind-data, frames: 4", S(Sending::BehindData { frames: 4 })),
    ("kind: pauses-next-priority", S(Sending::NextPriority)),
    ("kind: never-resumes", S(Sending::NeverResumes)),
    ("kind: pauses-again", S(Sending::PausesAgain)),
    ("kind: resumes-next-priority", S(Sending::ResumesNextPriority)),
    ("kind: names-changes-only", S(Sending::NamesChanges)),
    ("kind: pauses-few, most: 1", S(Sending::Few { most: 1 })),
    ("kind: pauses-also, priorities: [3]", S(Sending::Also { priorities: P3 })),
    ("kind: pauses-all-ports", S(Sending::OtherPorts)),
    (
        "kind: pauses-without-congestion, every: 8, priorities: [3], quanta: 9",
        S(Sending::WithoutCongestion { every: 8, priorities: P3, quanta: Quanta(9) }),
    ),
    (
        "kind: pauses-scaled-times, ratio: 1/4",
        S(Sending::ScaledTimes { numerator: 1, denominator: 4 }),
    ),
    ("kind: pauses-for-ever, priorities: [3]", S(Sending::ForEver { priorities: P3 })),
    ("kind: pfc-zero-source", S(Sending::Malformed(Part::Source))),
    ("kind: pfc-next-source", S(Sending::Malformed(Part::NextSource))),
    ("kind: pfc-wrong-destination", S(Sending::Malformed(Part::Destination))),
    ("kind: pfc-unpadded", S(Sending::Malformed(Part::Padding))),
    ("kind: pfc-bad-fcs", S(Sending::Malformed(Part::Fcs))),
    ("kind: loses-data, every: 10", F(Forwarding::LosesData { every: 10 })),
    ("kind: duplicates-data, every: 10", F(Forwarding::DuplicatesData { every: 10 })),
    ("kind: damages-data, every: 10", F(Forwarding::DamagesData { every: 10 })),
    ("kind: marks-not-ect, every: 10", F(Forwarding::MarksNotEct { every: 10 })),
    ("kind: clears-ce", F(Forwarding::ClearsCe)),
    ("kind: stale-checksum", F(Forwarding::StaleChecksum)),
    ("kind: ipv6-unmarked", F(Forwarding::Ipv6Unmarked)),
    ("kind: ignores-cnp", F(Forwarding::IgnoresCnp)),
    (
        "kind: limits-rate, priorities: [3], ratio: 1/8",
        F(Forwarding::LimitsRate { priorities: P3, numerator: 1, denominator: 8 }),
    ),
    ("kind: reads-beyond-tlv", T(Telling::ReadsBeyondTlv)),
    ("kind: tells-both-dialects", T(Telling::BothDialects)),
    ("kind: tells-wrong-shares", T(Telling::WrongShares)),
    ("kind: tells-other-flow", T(Telling::OtherFlow)),
    ("kind: believes-other-flow", T(Telling::AnyFlow)),
    ("kind: obeys-replays", M(Securing::ObeysReplays)),
    ("kind: obeys-forged", M(Securing::ObeysForged)),
    ("kind: obeys-old-keys", M(Securing::ObeysOldKeys)),
    ("kind: obeys-any-channel", M(Securing::ObeysAnyChannel)),
    ("kind: ignores-after-roll", M(Securing::IgnoresAfterRoll)),
    ("kind: resumes-at-rekey", M(Securing::ResumesAtRekey)),
    ("kind: loses-at-rekey, frames: 9", M(Securing::LosesAtRekey { frames: 9 })),
    (
        "kind: leaks-headroom, cells: 2, priorities: [3]",
        B(Storing::LeaksHeadroom { cells: 2, priorities: P3 }),
    ),
];

/// Returns the defects of a lab, each as `node port defect`.
fn defects(faults: &str) -> Vec<(u32, u16, Defect)> {
    let plan = good(&format!("topology: {{star: {{hosts: 3}}}}\nfaults:\n{faults}")).0.plan;
    let found = plan.network.faults.iter().filter_map(|fault| match fault.kind {
        FaultKind::Defect { end, defect } => Some((end.node.0, end.port.get(), defect)),
        _ => None,
    });
    found.collect()
}

#[test]
fn every_spelling_gives_its_defect() {
    for (text, expected) in SPELLINGS {
        let found = defects(&format!("- {{defect: {{on: h2, {text}}}}}\n"));
        let [(_, 0, defect)] = found[..] else { panic!("{text}: {found:?}") };
        assert_eq!(defect, *expected, "{text}");
    }
    for kind in DefectKind::ALL {
        let name = serde_json::to_value(kind).unwrap();
        let name = format!("kind: {}", name.as_str().unwrap());
        let is_spelt = |(text, _): &(&str, _)| text.split(',').next() == Some(&name);
        assert!(SPELLINGS.iter().any(is_spelt), "{name} is not in the table of spellings");
    }
}

#[test]
fn a_defect_is_at_all_ports_of_its_node_or_at_one_named_by_neighbour_link_or_number() {
    let what = O(Obeying::NeverExpires);
    let at = |place: &str| defects(&format!("- {{defect: {{{place}, kind: never-expires}}}}\n"));
    let all = at("on: s1");
    let node = all[0].0;
    assert_eq!(all, [(node, 0, what), (node, 1, what), (node, 2, what)]);
    for place in ["on: s1, port: h3", "on: s1, port: h3-s1", "on: s1, port: 2"] {
        assert_eq!(at(place), [(node, 2, what)], "{place}");
    }
}

#[test]
fn a_defect_is_there_from_the_start_or_from_a_time_on() {
    let time = |at: &str| {
        let text = format!("- {{{at} defect: {{on: h1, kind: never-expires}}}}");
        let plan = good(&format!("topology: {{star: {{hosts: 3}}}}\nfaults:\n{text}\n")).0.plan;
        plan.network.faults[0].at.as_nanos()
    };
    assert_eq!((time(""), time("at: 3us,")), (0, 3_000));
}

/// Shares by frames are a change of the switch, not a defect of its line.
#[test]
fn the_unit_of_shares_is_a_change_of_the_ports() {
    let text =
        "topology: {star: {hosts: 3}}\nfaults: [{at: 2us, scheduler: {switch: s1, FIELDS}}]\n";
    let changes = |fields: &str| {
        let plan = good(&text.replace("FIELDS", fields)).0.plan;
        let of = |fault: &sim::Fault| match fault.kind {
            FaultKind::Change { change: Change::Meter { port, meter }, .. } => (port.get(), meter),
            _ => panic!("{fault:?}"),
        };
        plan.network.faults.iter().map(of).collect::<Vec<_>>()
    };
    let frames = Meter::Frames;
    assert_eq!(changes("meter: frames"), [(0, frames), (1, frames), (2, frames)]);
    assert_eq!(changes("port: h2, meter: bytes"), [(1, Meter::Bytes)]);
}
