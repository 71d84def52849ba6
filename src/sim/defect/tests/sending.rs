//! Defects in the transmission of PFC.

use super::*;

/// A defect, and the frames that leave when the node sends those of [`sent`].
const ROWS: &[(Sending, &[&str])] = &[
    (
        Sending::LosesResumptions { every: 2 },
        &["3:9", "3:9", "data", "3:0", "data", "3:9", "data", "data"],
    ),
    (
        Sending::RefreshesLate { every: 2 },
        &["3:9", "data", "3:0", "data", "3:9", "data", "3:0", "data"],
    ),
    (Sending::NeverRefreshes, &["3:9", "data", "3:0", "data", "3:9", "data", "3:0", "data"]),
    (
        Sending::BehindData { frames: 2 },
        &["data", "data", "3:9", "3:9", "data", "3:0", "data", "3:9"],
    ),
    (Sending::NextPriority, &["4:9", "4:9", "data", "4:0", "data", "4:9", "data", "4:0", "data"]),
    (Sending::NeverResumes, &["3:9", "3:9", "data", "data", "3:9", "data", "data"]),
    (
        Sending::PausesAgain,
        &["3:9", "3:9", "data", "3:0", "3:9", "data", "3:9", "data", "3:0", "3:9", "data"],
    ),
    (
        Sending::ScaledTimes { numerator: 1, denominator: 3 },
        &["3:3", "3:3", "data", "3:0", "data", "3:3", "data", "3:0", "data"],
    ),
    (
        Sending::ResumesNextPriority,
        &["3:9", "3:9", "data", "4:0", "data", "3:9", "data", "4:0", "data"],
    ),
];

/// Two pauses, a resumption, a pause and a resumption, with data between.
fn sent() -> Vec<VirtualFrame> {
    let (pause, resume) = (pfc(&[(3, 9)]), pfc(&[(3, 0)]));
    let data = data(1, 1);
    let order = [&pause, &pause, &data, &resume, &data, &pause, &data, &resume, &data];
    order.into_iter().cloned().collect()
}

/// Returns a frame as in the rows.
fn brief(told: &str) -> String {
    let Some(rest) = told.strip_prefix("pfc ") else { return "data".into() };
    let (vector, times) = rest.split_once(' ').unwrap_or((rest, ""));
    let p = 7 - vector.find('1').unwrap();
    if times.is_empty() { format!("{p}:0") } else { times.to_owned() }
}

#[test]
fn pauses_leave_as_the_defect_says() {
    for (defect, expected) in ROWS {
        let mut port = Port::with(Defect::Sending(*defect));
        let left: Vec<_> = sent().into_iter().flat_map(|frame| port.tx(0, frame)).collect();
        let left: Vec<_> = left.iter().map(|told| brief(told)).collect();
        assert_eq!(left, *expected, "{defect:?}");
        assert_eq!(port.rx(0, pfc(&[(3, 9)])), ["pfc 00001000 3:9"], "{defect:?}");
    }
}

fn port(defect: Sending) -> Port {
    Port::with(Defect::Sending(defect))
}

#[test]
fn several_priorities_in_a_pause_are_told_apart() {
    let both = || pfc(&[(3, 9), (4, 8)]);
    let rows = [
        (Sending::NeverPauses { priorities: P3 }, vec!["pfc 00010000 4:8"]),
        (Sending::NeverPauses { priorities: PrioritySet::ALL }, vec![]),
        (Sending::Few { most: 1 }, vec!["pfc 00001000 3:9"]),
        (Sending::Also { priorities: PrioritySet(1) }, vec!["pfc 00011001 0:9 3:9 4:8"]),
    ];
    for (defect, expected) in rows {
        let mut port = port(defect);
        assert_eq!(port.tx(0, both()), expected, "{defect:?}");
        assert_eq!(port.tx(0, data(3, 1)), ["data 3 1"], "{defect:?}");
    }
    let mut also = port(Sending::Also { priorities: PrioritySet(1) });
    assert_eq!(also.tx(0, pfc(&[(3, 0)])), ["pfc 00001001"]);
    let mut few = port(Sending::Few { most: 1 });
    assert_eq!(few.tx(0, pfc(&[(3, 9)])), ["pfc 00001000 3:9"]);
    assert_eq!(few.tx(1, pfc(&[(4, 9)])), Vec::<String>::new());
    assert_eq!(few.tx(2, pfc(&[(3, 0)])), ["pfc 00001000"]);
    assert_eq!(few.tx(3, pfc(&[(4, 9)])), ["pfc 00010000 4:9"]);
}

#[test]
fn a_change_does_not_name_the_pauses_that_go_on() {
    let mut port = port(Sending::NamesChanges);
    assert_eq!(port.tx(0, pfc(&[(3, 9)])), ["pfc 00001000 3:9"]);
    assert_eq!(port.tx(1, pfc(&[(3, 9)])), ["pfc 00001000 3:9"], "a refresh");
    assert_eq!(port.tx(2, pfc(&[(3, 9), (4, 9)])), ["pfc 00010000 4:9"]);
    assert_eq!(port.tx(3, pfc(&[(3, 9), (4, 9)])), ["pfc 00011000 3:9 4:9"], "a refresh");
    assert_eq!(port.tx(4, pfc(&[(3, 9), (4, 0)])), ["pfc 00010000"]);
    assert_eq!(port.tx(5, pfc(&[(3, 0)])), ["pfc 00001000"]);
}

#[test]
fn ports_without_held_frames_send_pauses() {
    let mut port = port(Sending::OtherPorts);
    assert_eq!(port.tx(0, pfc(&[(3, 9)])), ["pfc 00001000 3:9"]);
    assert_eq!(port.added(), [vec![], vec!["pfc 00001000 3:9".into()]] as [Vec<String>; 2]);
}

#[test]
fn pauses_are_sent_without_congestion() {
    let mut port = port(Sending::WithoutCongestion { every: 2, priorities: P3, quanta: Quanta(7) });
    assert_eq!(port.tx(0, pfc(&[(3, 9)])), ["pfc 00001000 3:9"]);
    assert_eq!(port.rx(0, data(3, 1)), ["data 3 1"]);
    assert_eq!(port.added()[0], Vec::<String>::new());
    assert_eq!(port.rx(0, pfc(&[(3, 9)])), ["pfc 00001000 3:9"]);
    assert_eq!(port.rx(0, data(3, 2)), ["data 3 2"]);
    let sent = port.0.take_for_lines().line;
    assert_eq!(all_told(&sent), ["pfc 00001000 3:7"]);
    assert_eq!(sent[0].head()[6..12], pfc(&[]).head()[6..12], "the port's address");
}

#[test]
fn pauses_for_ever_are_repeated() {
    let mut port = port(Sending::ForEver { priorities: P3 });
    for n in 0..3 {
        let ns = n * 32_768 * 512;
        assert_eq!(port.next(), Some(ns));
        assert_eq!(port.due(ns), Vec::<String>::new());
        assert_eq!(port.added()[0], ["pfc 00001000 3:65535"]);
    }
}

#[test]
fn pfc_frames_are_malformed_in_one_part() {
    let sound = pfc_octets(&[(3, 9)]);
    let of = |part| {
        let sent = port(Sending::Malformed(part)).sends(0, pfc(&[(3, 9)]));
        let [frame] = &sent[..] else { panic!("{sent:?}") };
        (frame.head().to_vec(), frame.wire_len(), frame.is_damaged())
    };
    let changed = |range: core::ops::Range<usize>, value: u8| {
        let mut octets = sound.clone();
        octets[range].fill(value);
        octets
    };
    assert_eq!(of(Part::Source), (changed(6..12, 0), 64, false));
    assert_eq!(of(Part::NextSource), (changed(11..12, sound[11] + 1), 64, false));
    assert_eq!(of(Part::Destination), (changed(5..6, 0), 64, false));
    assert_eq!(of(Part::Padding), (sound[..34].to_vec(), 38, false));
    assert_eq!(of(Part::Fcs), (sound.clone(), 64, true));
}
