//! Defects at a port with 802.3x PAUSE: they do to PAUSE what they do to PFC.

use super::*;

const NONE: [&str; 0] = [];
const BOTH: FlowControl = FlowControl::Pause { send: true, obey: true };
const ALL: PrioritySet = PrioritySet::ALL;

fn port(defect: impl Into<Defect>) -> Port {
    Port::of(BOTH, defect.into())
}

/// A PAUSE frame.
fn pause(quanta: u16) -> VirtualFrame {
    let mut octets = vec![1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 9, 0x88, 0x08, 0, 1];
    octets.extend(quanta.to_be_bytes());
    octets.resize(60, 0);
    VirtualFrame::whole(&octets)
}

/// PAUSE in the words of [`told`]: EtherType, opcode and time; the reserved octets are zero.
fn words(quanta: u16) -> String {
    let [high, low] = quanta.to_be_bytes();
    format!("[88, 08, 00, 01, {high:02x}, {low:02x}, 00, 00]")
}

#[test]
fn pauses_that_are_sent_are_lost_damaged_scaled_or_late() {
    let mut port_of = port(Sending::NeverPauses { priorities: ALL });
    assert_eq!(port_of.tx(0, pause(9)), NONE);
    assert_eq!(port_of.tx(1, pause(0)), [words(0)], "a resumption");
    assert_eq!(port(Sending::NeverResumes).tx(0, pause(0)), NONE);
    let mut refreshed = port(Sending::NeverRefreshes);
    assert_eq!(refreshed.tx(0, pause(9)), [words(9)]);
    assert_eq!(refreshed.tx(1, pause(9)), NONE);
    let scaled = Sending::ScaledTimes { numerator: 1, denominator: 4 };
    assert_eq!(port(scaled).tx(0, pause(400)), [words(100)]);
    let damaged = words(9) + " damaged";
    assert_eq!(port(Sending::Malformed(Part::Fcs)).tx(0, pause(9)), [damaged]);
    let sent = port(Sending::Malformed(Part::Padding)).sends(0, pause(9));
    assert_eq!((sent[0].head().len(), told(&sent[0])), (TIMES.end, words(9)));
    let sent = port(Sending::Malformed(Part::Destination)).sends(0, pause(9));
    assert_eq!((sent[0].head()[5], told(&sent[0])), (0, words(9)));
    let mut behind = port(Sending::BehindData { frames: 1 });
    assert_eq!(behind.tx(0, pause(9)), NONE);
    assert_eq!(behind.tx(1, data(3, 1)), ["data 3 1".to_owned(), words(9)]);
    let mut unasked = port(Sending::ForEver { priorities: ALL });
    unasked.due(0);
    assert_eq!(unasked.added(), [vec![words(u16::MAX)], vec![]]);
}

#[test]
fn pauses_that_arrive_are_ignored_prolonged_shortened_or_late() {
    assert_eq!(port(Obeying::Ignores { priorities: ALL }).rx(0, pause(9)), NONE);
    let scaled = Obeying::ScaledTimes { numerator: 1, denominator: 8 };
    assert_eq!(port(scaled).rx(0, pause(800)), [words(100)]);
    assert_eq!(port(Obeying::IgnoresZeroTime).rx(0, pause(0)), NONE);
    let mut stuck = port(Obeying::NeverExpires);
    assert_eq!(stuck.rx(0, pause(9)), [words(u16::MAX)]);
    assert_eq!(stuck.due(stuck.next().unwrap()), [words(u16::MAX)]);
    let mut late = port(Obeying::Late { by: Quanta(20), priorities: ALL });
    assert_eq!(late.rx(0, pause(9)), NONE);
    assert_eq!(late.due(20 * 512), [words(9)]);
    let mut added = port(Obeying::AddsTimes);
    added.rx(0, pause(100));
    assert_eq!(added.rx(0, pause(100)), [words(200)]);
    let short = Obeying::IgnoresShort { below: Quanta(20), priorities: ALL };
    assert_eq!(port(short).rx(0, pause(19)), NONE);
}

#[test]
fn frames_are_dropped_while_all_is_paused_and_pfc_means_nothing() {
    let mut port = port(Holding::Drops { priorities: ALL });
    assert_eq!(port.rx(0, pfc(&[(3, 100)])), ["pfc 00001000 3:100"]);
    assert_eq!(port.tx(1, data(3, 1)), ["data 3 1"]);
    assert_eq!(port.rx(2, pause(100)), NONE);
    assert_eq!(port.tx(3, data(5, 2)), NONE);
    assert_eq!(port.tx(3 + 51_200, data(5, 3)), ["data 5 3"]);
}
