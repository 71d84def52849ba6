//! Each checker sees what was done to the events.

use super::fixture::*;
use crate::check::*;
use crate::*;
use contracts::frame::Frame;
use ground::time::Duration;
use ground::units::*;
use ground::verdict::Verdict;
use host::{PauseAsk, PausePlan};

fn is_control(frame: &VirtualFrame) -> bool {
    frame.head()[12..14] == [0x88, 0x08]
}

/// Returns true if a PFC frame pauses priority 3; none for other frames.
fn pauses(frame: &VirtualFrame) -> Option<bool> {
    is_control(frame).then(|| frame.head()[24..26] != [0, 0])
}

/// The place of the `n`th event that is so.
fn nth(events: &[Event], n: usize, is: impl Fn(&Event) -> bool) -> usize {
    let mut found = events.iter().enumerate().filter(|(_, event)| is(event));
    found.nth(n).expect("there are as many").0
}

#[test]
fn nothing_is_wrong_with_the_events_as_they_were() {
    all_good(&doctored(&incast(3, 300), 200, |_| ()));
    all_good(&doctored(&stormy(), 400, |_| ()));
}

#[test]
fn a_frame_that_never_arrives_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| {
        let to_host = |e: &Event| matches!(e, Event::Arrived(_, d, _) if *d == LinkId(3).ab());
        events.remove(nth(events, 40, to_host));
    });
    objects(&findings, Check::Frames, &["1 frames of 1000 octets", "s:p3 never ended"]);
}

#[test]
fn a_frame_that_arrives_twice_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| {
        let last = |e: &Event| matches!(e, Event::Arrived(_, d, _) if *d == LinkId(3).ab());
        let n = events.iter().rposition(last).unwrap();
        events.insert(n, events[n].clone());
    });
    objects(&findings, Check::Frames, &["never started there"]);
}

#[test]
fn a_frame_that_a_switch_swallows_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| {
        let out = LinkId(3).ab();
        for sent in [true, false] {
            let n = events.iter().rposition(|e| match e {
                Event::Sent(_, d, ..) => sent && *d == out,
                Event::Arrived(_, d, _) => !sent && *d == out,
                _ => false,
            });
            events.remove(n.unwrap());
        }
    });
    objects(&findings, Check::Frames, &["s: 9"]);
}

#[test]
fn a_frame_from_nowhere_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| {
        let n = nth(events, 50, |e| matches!(e, Event::Sent(_, d, _, _) if *d == LinkId(3).ab()));
        let Event::Sent(at, direction, frame, end) = &events[n] else { panic!() };
        let mut other = frame.clone();
        other.head_mut()[11] ^= 0x40;
        events[n] = Event::Sent(*at, *direction, other, *end);
    });
    objects(&findings, Check::Frames, &["s:p3 sent a frame that never came in"]);
}

#[test]
fn a_cell_too_many_or_too_few_is_seen() {
    // In the middle, when groups hold something.
    for (grow, us) in [(64, 30), (0, 31)] {
        let findings = doctored(&incast(3, 300), us, |events| {
            let to_switch =
                |e: &Event| matches!(e, Event::Arrived(_, d, _) if *d == LinkId(0).ba());
            let n = events.iter().rposition(to_switch).unwrap();
            let Event::Arrived(at, direction, frame) = &events[n] else { panic!() };
            let len = if grow > 0 { frame.wire_len() + grow } else { frame.wire_len() - 64 };
            events[n] = Event::Arrived(*at, *direction, VirtualFrame::new(frame.head(), len));
        });
        objects(&findings, Check::Cells, &["s:p0 group 3 holds"]);
    }
}

#[test]
fn a_loss_that_no_fault_explains_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| {
        let n = nth(events, 200, |e| matches!(e, Event::Arrived(_, d, _) if *d == LinkId(1).ba()));
        let Event::Arrived(at, ..) = events[n] else { panic!() };
        let (port, priority) = (PortId::new(1).unwrap(), Some(P3));
        let reason = contracts::stats::DropReason::HeadroomFull;
        events.insert(n + 1, Event::Noted(at, NodeId(0), Note::Dropped { port, priority, reason }));
    });
    objects(&findings, Check::Lossless, &["s:p1 dropped", "headroom_full, from h1 to h3"]);
}

#[test]
fn a_frame_sent_against_a_pause_is_seen() {
    // The resumption comes to the host, and the checkers do not hear of it.
    let findings = doctored(&incast(3, 300), 200, |events| {
        let resume = |e: &Event| matches!(e, Event::Arrived(_, d, f) if *d == LinkId(0).ab() && pauses(f) == Some(false));
        events.remove(nth(events, 0, resume));
    });
    objects(&findings, Check::PauseLegality, &["h0 started a frame of priority 3"]);
}

#[test]
fn a_switch_that_sends_against_a_pause_is_seen() {
    // The checkers hear of a pause of twice the time.
    let findings = doctored(&stormy(), 400, |events| {
        for event in events {
            match event {
                Event::Arrived(_, _, frame) if pauses(frame) == Some(true) => {
                    // The third time, that of priority 3.
                    let time = frame.head_mut()[24..26].first_chunk_mut::<2>().unwrap();
                    *time = (u16::from_be_bytes(*time).saturating_mul(2)).to_be_bytes();
                }
                _ => {}
            }
        }
    });
    objects(&findings, Check::PauseLegality, &["s:p2 started a frame of priority 3"]);
}

/// Two hosts blast at one that pauses the switch now and then.
fn stormy() -> NetworkPlan {
    let mut plan = incast(2, 300);
    let NodeKind::Host(receiver) = &mut plan.nodes[3].kind else { panic!() };
    receiver.pauses.push(PausePlan {
        ask: PauseAsk::pfc(PrioritySet::of(P3), Quanta(2_000)),
        start: at(10),
        every: Duration::from_micros(50),
        frames: 3,
    });
    plan
}

/// Takes the `n`th PFC frame of a kind on port 0 of the switch off the line.
fn without(events: &mut Vec<Event>, n: usize, paused: bool) {
    let is = |f: &VirtualFrame| pauses(f) == Some(paused);
    let sent =
        nth(events, n, |e| matches!(e, Event::Sent(_, d, f, _) if *d == LinkId(0).ab() && is(f)));
    let arrived =
        nth(events, n, |e| matches!(e, Event::Arrived(_, d, f) if *d == LinkId(0).ab() && is(f)));
    events.remove(arrived);
    events.remove(sent);
}

#[test]
fn a_pause_that_is_wanted_and_never_told_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| without(events, 0, true));
    objects(&findings, Check::PausesSent, &["s:p0 owed its peer a pause of priority 3"]);
}

#[test]
fn a_lost_resumption_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| without(events, 1, false));
    objects(&findings, Check::PausesSent, &["s:p0 owed its peer a resumption of priority 3"]);
}

#[test]
fn the_last_resumption_is_missed_too() {
    let plan = incast(3, 300);
    let findings = doctored(&plan, 200, |events| {
        let resume = |e: &Event| matches!(e, Event::Sent(_, d, f, _) if *d == LinkId(0).ab() && pauses(f) == Some(false));
        let last = events.iter().filter(|e| resume(e)).count() - 1;
        without(events, last, false);
    });
    objects(&findings, Check::PausesSent, &["s:p0 owes its peer a resumption of priority 3"]);
    objects(&findings, Check::PausesEnd, &["s:p0 has priority 3 paused since"]);
}

#[test]
fn a_refresh_that_comes_late_is_seen() {
    // A receiver that pauses for long makes the switch pause for long.
    let mut plan = stormy();
    for node in &mut plan.nodes {
        match &mut node.kind {
            NodeKind::Host(host) => {
                for pause in &mut host.pauses {
                    pause.ask = PauseAsk::pfc(PrioritySet::of(P3), Quanta(9_000));
                }
            }
            NodeKind::Switch(switch) => {
                for port in &mut switch.ports {
                    (port.pfc.quanta, port.pfc.refresh) =
                        (Quanta(1_000), Duration::from_nanos(2_560));
                }
            }
        }
    }
    all_good(&doctored(&plan, 900, |_| ()));
    let findings = doctored(&plan, 900, |events| {
        without(events, 5, true);
        without(events, 5, true);
    });
    objects(&findings, Check::PausesSent, &["s:p0 wants priority 3 paused", "did not say so"]);
}

#[test]
fn a_pause_behind_a_row_of_data_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| {
        for event in events.iter_mut() {
            match event {
                Event::Sent(at, _, frame, end) if pauses(frame) == Some(true) => {
                    *at += Duration::from_nanos(400);
                    *end += Duration::from_nanos(400);
                }
                _ => {}
            }
        }
        events.sort_by_key(|event| match event {
            Event::Sent(at, ..) | Event::Arrived(at, ..) | Event::Lost(at, ..) => *at,
            Event::Noted(at, ..) | Event::Link(at, ..) | Event::Forged(at, ..) => *at,
            Event::HeldUp(at, _) | Event::CaughtUp(at, _) => *at,
        });
    });
    objects(&findings, Check::PausesSent, &["owed its peer a pause of priority 3"]);
}

#[test]
fn a_line_that_is_idle_for_no_reason_is_seen() {
    // In the middle of a pause that the checkers do not hear of.
    let findings = doctored(&stormy(), 15, |events| {
        events.retain(
            |e| !matches!(e, Event::Arrived(_, d, f) if *d == LinkId(2).ba() && is_control(f)),
        );
    });
    objects(&findings, Check::IdleLines, &["s:p2 is idle", "in class 3"]);
}

#[test]
fn a_deadlock_is_not_seen_where_a_pause_is_missing() {
    let plan = ring(3, 2, 2_000);
    objects(&doctored(&plan, 500, |_| ()), Check::Deadlock, &["s0:p1 -> s1:p1 -> s2:p1 -> s0:p1"]);
    let findings = doctored(&plan, 500, |events| {
        let from_s1 = |d: Direction| d == LinkId(0).ba();
        events.retain(|e| !matches!(e, Event::Arrived(_, d, f) if from_s1(*d) && is_control(f)));
    });
    let deadlock = of(&findings, Check::Deadlock);
    assert_eq!(deadlock.verdict, Verdict::NotJudged, "{findings:#?}");
    objects(&findings, Check::IdleLines, &["s0:p1"]);
}
