//! Defects in the reception of MAC control frames.

use super::*;

/// A defect, and what the node receives of a PFC frame with times 80 for priority 1, 0 for priority
/// 2 and 65,535 for priority 7, all three enabled, and 9 for priority 4, which is not.
const ROWS: &[(Obeying, &str)] = &[
    (Obeying::Ignores { priorities: PrioritySet(0b11) }, "pfc 10000100 4:9 7:65535"),
    (Obeying::ScaledTimes { numerator: 1, denominator: 8 }, "pfc 10000110 1:10 4:1 7:8191"),
    (Obeying::ScaledTimes { numerator: 2, denominator: 1 }, "pfc 10000110 1:160 4:18 7:65535"),
    (Obeying::NeverExpires, "pfc 10000110 1:65535 4:9 7:65535"),
    (Obeying::IgnoresZeroTime, "pfc 10000010 1:80 4:9 7:65535"),
    (Obeying::ResumesNotEnabled, "pfc 11101111 1:80 4:9 7:65535"),
    (Obeying::IgnoresVector, "pfc 11111111 1:80 4:9 7:65535"),
    (Obeying::MirrorsVector, "pfc 01100001 1:80 4:9 7:65535"),
    (Obeying::ReadsHighOctet, "pfc 00000000 1:80 4:9 7:65535"),
    (
        Obeying::AllPriorities,
        "pfc 11111111 0:65535 1:65535 2:65535 3:65535 4:65535 5:65535 6:65535 7:65535",
    ),
    (Obeying::NextPriority, "pfc 00001101 0:65535 2:80 5:9"),
    (Obeying::Few { most: 1 }, "pfc 00000110 1:80 4:9"),
    (
        Obeying::IgnoresShort { below: Quanta(81), priorities: PrioritySet::ALL },
        "pfc 10000100 4:9 7:65535",
    ),
    (Obeying::IgnoresShort { below: Quanta(81), priorities: P3 }, "pfc 10000110 1:80 4:9 7:65535"),
    (
        Obeying::IgnoresShort { below: Quanta(80), priorities: PrioritySet::ALL },
        "pfc 10000110 1:80 4:9 7:65535",
    ),
    (Obeying::ResumesAll, "pfc 11111111 1:80 7:65535"),
    (Obeying::ResumesOtherPorts, "pfc 10000110 1:80 4:9 7:65535"),
    (Obeying::ZeroIsOne, "pfc 10000110 1:80 2:1 4:9 7:65535"),
];

/// The frame of the rows.
fn three() -> VirtualFrame {
    let mut octets = pfc_octets(&[(1, 80), (2, 0), (7, 65_535)]);
    set_time(&mut octets, 4, 9);
    VirtualFrame::whole(&octets)
}

fn port(defect: Obeying) -> Port {
    Port::with(Defect::Obeying(defect))
}

#[test]
fn a_pause_is_read_as_the_defect_says() {
    for (defect, expected) in ROWS {
        let mut port = port(*defect);
        assert_eq!(port.rx(0, three()), [*expected], "{defect:?}");
        assert_eq!(port.rx(0, data(1, 5)), ["data 1 5"], "{defect:?}");
        assert_eq!(port.tx(0, pfc(&[(1, 80)])), ["pfc 00000010 1:80"], "{defect:?}");
    }
}

#[test]
fn a_resumption_reaches_the_other_ports_without_the_pauses_beside_it() {
    let mut port = port(Obeying::ResumesOtherPorts);
    assert_eq!(port.rx(0, pfc(&[(3, 80)])), ["pfc 00001000 3:80"]);
    assert_eq!(all_told(&port.0.take_for_lines().inward), Vec::<String>::new());
    assert_eq!(port.rx(0, pfc(&[(3, 80), (4, 0)])), ["pfc 00011000 3:80"]);
    let lines = port.0.take_for_lines();
    assert_eq!(all_told(&lines.inward), ["pfc 00010000"]);
    assert!(lines.line.is_empty() && lines.others.is_empty(), "the lines have none of it");
}

#[test]
fn late_priorities_are_delayed_by_their_quanta_and_others_are_not() {
    let mut port = port(Obeying::Late { by: Quanta(10), priorities: P3 });
    assert_eq!(port.rx(0, pfc(&[(3, 80), (4, 90)])), ["pfc 00010000 4:90"]);
    assert_eq!(port.rx(1_000, pfc(&[(3, 0)])), Vec::<String>::new());
    assert_eq!((port.next(), port.0.held()), (Some(5_120), 2));
    assert_eq!(port.due(5_119), Vec::<String>::new());
    assert_eq!(port.due(5_120), ["pfc 00001000 3:80"]);
    assert_eq!(port.due(6_120), ["pfc 00001000"]);
    assert_eq!((port.next(), port.0.held()), (None, 0));
}

#[test]
fn a_pause_that_never_expires_is_repeated_until_it_is_resumed() {
    let mut port = port(Obeying::NeverExpires);
    assert_eq!(port.rx(0, pfc(&[(3, 5)])), ["pfc 00001000 3:65535"]);
    let next = port.next().unwrap();
    assert_eq!(next, 32_768 * 512);
    assert_eq!(port.due(next), ["pfc 00001000 3:65535"]);
    assert_eq!(port.next(), Some(2 * next));
    assert_eq!(port.rx(2 * next, pfc(&[(3, 0)])), ["pfc 00001000"]);
    assert_eq!(port.next(), None);
}

#[test]
fn times_are_added_or_the_longest_is_kept() {
    // The second frame comes after 10 of the first one's 100 quanta.
    for (defect, second) in [(Obeying::AddsTimes, 130), (Obeying::KeepsLongest, 90)] {
        let mut port = port(defect);
        assert_eq!(port.rx(0, pfc(&[(3, 100)])), ["pfc 00001000 3:100"]);
        assert_eq!(port.rx(5_120, pfc(&[(3, 40)])), [format!("pfc 00001000 3:{second}")]);
        assert_eq!(port.rx(5_120, pfc(&[(3, 0)])), ["pfc 00001000"], "zero resumes");
        assert_eq!(port.rx(5_120, pfc(&[(3, 7)])), ["pfc 00001000 3:7"]);
    }
}

#[test]
fn a_paused_priority_is_not_paused_anew_and_resumes() {
    let mut port = port(Obeying::KeepsFirst);
    assert_eq!(port.rx(0, pfc(&[(3, 100)])), ["pfc 00001000 3:100"]);
    assert_eq!(port.rx(5_120, pfc(&[(3, 40), (4, 7)])), ["pfc 00010000 4:7"]);
    assert_eq!(port.rx(5_120, pfc(&[(3, 0)])), ["pfc 00001000"], "zero resumes");
    assert_eq!(port.rx(5_120, pfc(&[(3, 7)])), ["pfc 00001000 3:7"]);
    assert_eq!(port.rx(51_200, pfc(&[(3, 8)])), ["pfc 00001000 3:8"], "it is over");
}

#[test]
fn no_more_priorities_are_paused_until_one_is_resumed() {
    let mut port = port(Obeying::Few { most: 1 });
    assert_eq!(port.rx(0, pfc(&[(3, 10)])), ["pfc 00001000 3:10"]);
    assert_eq!(port.rx(1, pfc(&[(3, 10), (4, 10)])), ["pfc 00001000 3:10"]);
    assert_eq!(port.rx(2, pfc(&[(3, 0)])), ["pfc 00001000"]);
    assert_eq!(port.rx(3, pfc(&[(4, 10)])), ["pfc 00010000 4:10"]);
}

/// A MAC control frame with the body of a pause of priority 3 and another opcode.
fn other(opcode: [u8; 2]) -> VirtualFrame {
    let mut octets = pfc_octets(&[(3, 80)]);
    octets[14..16].copy_from_slice(&opcode);
    VirtualFrame::whole(&octets)
}

#[test]
fn other_opcodes_are_taken_as_pfc() {
    let mut unknown = port(Obeying::UnknownOpcodes);
    assert_eq!(unknown.rx(0, other([1, 2])), ["pfc 00001000 3:80"]);
    assert_eq!(unknown.rx(0, other([0, 1])), [told(&other([0, 1]))]);
    let mut octets = pfc_octets(&[]);
    octets[14..18].copy_from_slice(&[0, 1, 0, 9]);
    let mut pause = port(Obeying::Pause);
    let expected = "pfc 11111111 0:9 1:9 2:9 3:9 4:9 5:9 6:9 7:9";
    assert_eq!(pause.rx(0, VirtualFrame::whole(&octets)), [expected]);
    assert_eq!(pause.rx(0, other([1, 2])), [told(&other([1, 2]))]);
}

#[test]
fn what_is_cut_off_is_taken_as_ones() {
    for (len, expected) in [
        (18, "pfc 00001000 0:65535 1:65535 2:65535 3:65535 4:65535 5:65535 6:65535 7:65535"),
        (26, "pfc 00001000 3:80 4:65535 5:65535 6:65535 7:65535"),
        (59, "pfc 00001000 3:80"),
    ] {
        let cut = VirtualFrame::whole(&pfc_octets(&[(3, 80)])[..len]);
        let received = port(Obeying::Truncated).receives(0, cut);
        assert_eq!((all_told(&received), received[0].wire_len()), (vec![expected.into()], 64));
    }
}

#[test]
fn frames_without_a_source_are_dropped() {
    let mut octets = pfc_octets(&[(3, 80)]);
    octets[6..12].fill(0);
    let mut port = port(Obeying::IgnoresZeroSource);
    assert_eq!(port.rx(0, VirtualFrame::whole(&octets)), Vec::<String>::new());
    assert_eq!(port.rx(0, pfc(&[(3, 80)])), ["pfc 00001000 3:80"]);
}

#[test]
fn mac_control_leaves_by_the_other_ports() {
    let mut port = port(Obeying::ForwardsControl);
    for frame in [pfc(&[(3, 80)]), other([1, 2])] {
        let shown = told(&frame);
        assert_eq!(all_told(&port.receives(0, frame)), std::slice::from_ref(&shown));
        assert_eq!(port.added(), [vec![], vec![shown]]);
    }
    assert_eq!(port.rx(0, data(3, 1)), ["data 3 1"]);
    assert_eq!(port.added(), [vec![], vec![]] as [Vec<String>; 2]);
}

#[test]
fn a_flap_ends_obedience_or_makes_pauses_last() {
    let mut deaf = port(Obeying::IgnoresAfterFlap);
    assert_eq!(deaf.rx(0, pfc(&[(3, 80)])), ["pfc 00001000 3:80"]);
    deaf.flap(10);
    assert_eq!(deaf.rx(20, pfc(&[(3, 80)])), ["pfc 00000000"]);
    let mut stuck = port(Obeying::StuckAfterFlap);
    assert_eq!(stuck.rx(0, pfc(&[(3, 80)])), ["pfc 00001000 3:80"]);
    assert_eq!(stuck.next(), None);
    stuck.flap(10);
    assert_eq!(stuck.next(), Some(11));
    assert_eq!(stuck.due(11), ["pfc 00001000 3:65535"]);
    assert_eq!(stuck.rx(20, pfc(&[(3, 0), (4, 0)])), ["pfc 00010000"], "3 cannot be resumed");
    assert_eq!(stuck.due(11 + 32_768 * 512), ["pfc 00001000 3:65535"]);
    // A flap without a pause does no harm.
    let mut free = port(Obeying::StuckAfterFlap);
    free.flap(10);
    assert_eq!(free.next(), None);
}
