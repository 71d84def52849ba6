//! Defects in the holding of frames while a port is paused.

use super::*;

fn port(defect: Holding) -> Port {
    Port::with(Defect::Holding(defect))
}

/// Time of 100 quanta in nanoseconds.
const PAUSE: u64 = 51_200;

/// Pauses priority 3 for 100 quanta.
fn pauses(port: &mut Port, ns: u64, received: &str) {
    assert_eq!(port.rx(ns, pfc(&[(3, 100)])), [received]);
}

const NONE: [&str; 0] = [];

#[test]
fn a_lossy_priority_is_held_and_leaves_in_order_after_the_pause() {
    let mut port = port(Holding::ObeysAlso { priorities: P3 });
    assert_eq!(port.tx(0, data(3, 1)), ["data 3 1"]);
    pauses(&mut port, 1, "pfc 00001000 3:100");
    assert_eq!(port.tx(2, data(3, 2)), NONE);
    assert_eq!(port.tx(3, data(3, 3)), NONE);
    assert_eq!(port.tx(4, data(4, 4)), ["data 4 4"]);
    assert_eq!((port.next(), port.0.held()), (Some(1 + PAUSE), 2));
    assert_eq!(port.due(1 + PAUSE), NONE);
    assert_eq!(port.added()[0], ["data 3 2"]);
    assert_eq!(port.tx(2 + PAUSE, data(3, 5)), NONE, "does not overtake");
    // The line takes 1,020 bytes in 8,160 ns.
    assert_eq!(port.next(), Some(1 + PAUSE + 8_160));
    port.due(1 + PAUSE + 8_160);
    port.due(1 + PAUSE + 2 * 8_160);
    assert_eq!(port.added()[0], ["data 3 3", "data 3 5"]);
    assert_eq!(port.tx(2 * PAUSE, data(3, 6)), ["data 3 6"]);
}

#[test]
fn frames_are_dropped_for_as_long_as_they_are_paused() {
    let mut port = port(Holding::Drops { priorities: P3 });
    pauses(&mut port, 0, "pfc 00000000");
    assert_eq!(port.tx(1, data(3, 1)), NONE);
    assert_eq!(port.tx(1, data(4, 2)), ["data 4 2"]);
    assert_eq!(port.tx(PAUSE, data(3, 3)), ["data 3 3"]);
    assert_eq!(port.rx(PAUSE, pfc(&[(4, 100)])), ["pfc 00010000 4:100"]);
}

#[test]
fn a_priority_is_stormed_after_a_time_with_frames_or_without() {
    let mut port = port(Holding::WatchesEmpty { after: Duration::from_nanos(1_000) });
    pauses(&mut port, 0, "pfc 00001000 3:100");
    assert_eq!(port.tx(999, data(3, 1)), ["data 3 1"]);
    pauses(&mut port, 1_000, "pfc 00001000");
    assert_eq!(port.tx(1_001, data(3, 2)), NONE);
    assert_eq!(port.tx(1_001, data(4, 3)), ["data 4 3"]);
    assert_eq!(port.tx(1_000 + PAUSE, data(3, 4)), ["data 3 4"]);
}

#[test]
fn pauses_are_ignored_for_some_frames_after_a_flap_in_a_pause() {
    let mut port = port(Holding::ReleasesAfterFlap { frames: 2 });
    port.flap(0);
    pauses(&mut port, 1, "pfc 00001000 3:100");
    port.flap(2);
    pauses(&mut port, 3, "pfc 00000000");
    for n in 1..3 {
        assert_eq!(port.tx(4, data(3, n)), [format!("data 3 {n}")]);
    }
    pauses(&mut port, 5, "pfc 00001000 3:100");
}

#[test]
fn the_first_two_frames_after_a_pause_change_places() {
    let mut port = port(Holding::Reorders);
    assert_eq!(port.tx(0, data(3, 0)), ["data 3 0"]);
    pauses(&mut port, 1, "pfc 00001000 3:100");
    assert_eq!(port.tx(2, data(3, 1)), ["data 3 1"], "committed before the pause");
    assert_eq!(port.tx(PAUSE + 1, data(3, 2)), NONE);
    assert_eq!(port.tx(PAUSE + 2, data(4, 3)), ["data 4 3"]);
    assert_eq!(port.tx(PAUSE + 3, data(3, 4)), ["data 3 4", "data 3 2"]);
    assert_eq!(port.tx(PAUSE + 4, data(3, 5)), ["data 3 5"]);
    // A frame without another one behind it leaves after a while.
    pauses(&mut port, 2 * PAUSE, "pfc 00001000 3:100");
    assert_eq!(port.tx(3 * PAUSE, data(3, 6)), NONE);
    assert_eq!(port.next(), Some(3 * PAUSE + 512_000));
    port.due(3 * PAUSE + 512_000);
    assert_eq!((port.added()[0].clone(), port.0.held()), (vec!["data 3 6".into()], 0));
}

#[test]
fn pfc_waits_for_the_end_of_a_pause() {
    let mut port = port(Holding::PausesWait);
    assert_eq!(port.tx(0, pfc(&[(4, 9)])), ["pfc 00010000 4:9"]);
    pauses(&mut port, 0, "pfc 00001000 3:100");
    assert_eq!(port.tx(1, pfc(&[(4, 9)])), NONE);
    assert_eq!(port.tx(1, data(3, 1)), ["data 3 1"], "data are the node's to hold");
    assert_eq!(port.next(), Some(PAUSE));
    port.due(PAUSE);
    assert_eq!(port.added()[0], ["pfc 00010000 4:9"]);
}

#[test]
fn another_priority_is_dropped_once_a_pause_has_lasted() {
    let after = Duration::from_nanos(PAUSE / 2);
    let mut port = port(Holding::DropsOthers { priorities: P4, after });
    pauses(&mut port, 0, "pfc 00001000 3:100");
    assert_eq!(port.tx(PAUSE / 2 - 1, data(4, 1)), ["data 4 1"]);
    assert_eq!(port.tx(PAUSE / 2, data(4, 2)), NONE);
    assert_eq!(port.tx(PAUSE / 2, data(5, 3)), ["data 5 3"]);
    assert_eq!(port.tx(PAUSE, data(4, 4)), ["data 4 4"], "the pause has ended");
}

#[test]
fn a_paused_priority_is_held_and_dropped_by_turns() {
    let period = Duration::from_nanos(PAUSE / 2);
    let mut port = port(Holding::DropsByTurns { period });
    pauses(&mut port, 0, "pfc 00001000 3:100");
    pauses(&mut port, PAUSE / 2, "pfc 00001000");
    assert_eq!(port.tx(PAUSE / 2, data(3, 1)), NONE);
    assert_eq!(port.tx(PAUSE / 2, data(4, 2)), ["data 4 2"]);
    pauses(&mut port, PAUSE, "pfc 00001000 3:100");
    assert_eq!(port.tx(PAUSE, data(3, 3)), ["data 3 3"], "held by the node");
    pauses(&mut port, PAUSE * 3 / 2, "pfc 00001000");
}

#[test]
fn a_lasting_pause_leaves_by_the_other_ports() {
    let mut port = port(Holding::PausesUpstream { after: Duration::from_nanos(PAUSE / 2) });
    pauses(&mut port, 0, "pfc 00001000 3:100");
    assert_eq!(port.added()[1], NONE);
    pauses(&mut port, PAUSE / 2, "pfc 00001000 3:100");
    assert_eq!(port.added(), [vec![], vec!["pfc 00001000 3:100".into()]] as [Vec<String>; 2]);
}
