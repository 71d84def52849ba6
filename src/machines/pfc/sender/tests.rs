use super::*;
use crate::tests::{RATE, at, p};

/// 1000 quanta are 5.12 us at 100G.
const QUANTA: Quanta = Quanta(1000);

fn plan(mode: FlowControl) -> PfcPlan {
    PfcPlan { mode, quanta: QUANTA, refresh: Duration::from_nanos(2_000) }
}

fn pfc() -> Sender {
    let mode = FlowControl::Pfc { send: PrioritySet(0b0001_1000), obey: PrioritySet::EMPTY };
    Sender::new(plan(mode), RATE)
}

fn pause() -> Sender {
    Sender::new(plan(FlowControl::Pause { send: true, obey: false }), RATE)
}

/// Returns the demand with exactly these priorities and times.
fn vector(entries: &[(u8, Quanta)]) -> Option<Demand> {
    let mut v = PauseVector::default();
    for (n, time) in entries {
        v.enabled.insert(p(*n));
        v.time[usize::from(*n)] = *time;
    }
    Some(Demand::Pfc(v))
}

/// Sends the frame that is due and returns it.
fn send(s: &mut Sender, now: Instant) -> Option<Demand> {
    let d = s.due(now);
    if let Some(d) = &d {
        s.on_sent(now, d);
    }
    d
}

#[test]
fn xoff_is_refreshed_until_xon() {
    let mut s = pfc();
    assert_eq!((s.due(at(0)), s.next_deadline()), (None, Instant::NEVER));
    s.want(at(10), p(3), true);
    assert_eq!(s.due(at(10)), vector(&[(3, QUANTA)]));
    assert_eq!(s.due(at(15)), vector(&[(3, QUANTA)]), "asked again until it is sent");
    assert!(send(&mut s, at(20)).is_some());
    assert_eq!((s.due(at(2_019)), s.next_deadline()), (None, at(2_020)));
    assert_eq!(send(&mut s, at(2_020)), vector(&[(3, QUANTA)]));
    s.want(at(3_010), p(3), false);
    assert_eq!(send(&mut s, at(3_015)), vector(&[(3, Quanta(0))]));
    assert_eq!((s.due(at(1_000_000)), s.next_deadline()), (None, Instant::NEVER));
    assert_eq!(
        (s.paused_time(at(9_000), p(3)), s.transitions(p(3))),
        (Duration::from_nanos(3_000).into(), 1)
    );
}

#[test]
fn one_frame_says_all_that_is_due() {
    let mut s = pfc();
    s.want(at(0), p(3), true);
    assert_eq!(send(&mut s, at(0)), vector(&[(3, QUANTA)]));
    s.want(at(500), p(4), true);
    assert_eq!(send(&mut s, at(500)), vector(&[(3, QUANTA), (4, QUANTA)]));
    assert_eq!(s.next_deadline(), at(2_500), "the change refreshed the other pause too");
    s.want(at(600), p(3), false);
    assert_eq!(send(&mut s, at(600)), vector(&[(3, Quanta(0)), (4, QUANTA)]));
    assert_eq!(s.wanted(), PrioritySet::of(p(4)));
}

#[test]
fn an_xoff_that_was_never_told_needs_no_xon() {
    let mut s = pfc();
    s.want(at(0), p(3), true);
    s.want(at(5), p(3), false);
    assert_eq!(s.due(at(5)), None);
    // A peer that may be paused gets an XON, and an XOFF in between renews the pause.
    s.want(at(10), p(3), true);
    send(&mut s, at(10));
    s.want(at(20), p(3), false);
    s.want(at(30), p(3), true);
    assert_eq!(s.due(at(30)), vector(&[(3, QUANTA)]));
    s.want(at(40), p(3), false);
    assert_eq!(send(&mut s, at(40)), vector(&[(3, Quanta(0))]));
    assert_eq!(s.transitions(p(3)), 3);
}

#[test]
fn what_changes_while_a_frame_is_made_stays_due() {
    let mut s = pfc();
    s.want(at(0), p(3), true);
    let stale = s.due(at(0)).unwrap();
    s.want(at(1), p(3), false);
    s.want(at(1), p(4), true);
    s.on_sent(at(2), &stale);
    assert_eq!(send(&mut s, at(2)), vector(&[(3, Quanta(0)), (4, QUANTA)]));
    assert_eq!(s.due(at(2)), None);
}

#[test]
fn priorities_without_pfc_are_ignored() {
    let mut s = pfc();
    s.want(at(0), p(0), true);
    assert_eq!((s.due(at(0)), s.wanted(), s.transitions(p(0))), (None, PrioritySet::EMPTY, 0));
    for mode in [FlowControl::Off, FlowControl::Pause { send: false, obey: true }] {
        let mut s = Sender::new(plan(mode), RATE);
        s.want(at(0), p(3), true);
        assert_eq!(s.due(at(0)), None);
    }
}

#[test]
fn pause_stops_the_link_while_any_priority_wants_it() {
    let mut s = pause();
    s.want(at(0), p(3), true);
    assert_eq!(send(&mut s, at(0)), Some(Demand::Pause(QUANTA)));
    s.want(at(100), p(0), true);
    assert_eq!(s.due(at(100)), None);
    s.want(at(200), p(3), false);
    assert_eq!(s.due(at(200)), None);
    assert_eq!(send(&mut s, at(2_000)), Some(Demand::Pause(QUANTA)));
    s.want(at(2_500), p(0), false);
    assert_eq!(send(&mut s, at(2_500)), Some(Demand::Pause(Quanta(0))));
    assert_eq!(s.next_deadline(), Instant::NEVER);
}

#[test]
fn a_faster_link_is_refreshed_before_its_shorter_pause_ends() {
    let mut s = pfc();
    s.want(at(0), p(3), true);
    send(&mut s, at(0));
    s.set_rate(at(100), BitsPerSec::gbps(400));
    // 1000 quanta are 1.28 us now, less than the planned refresh of 2 us.
    assert_eq!(s.next_deadline(), at(740));
    s.set_rate(at(100), RATE);
    assert_eq!(s.next_deadline(), at(740), "a refresh is never put off");
    send(&mut s, at(740));
    assert_eq!(s.next_deadline(), at(2_740));
}

#[test]
fn a_slower_link_keeps_three_quarters_of_its_time_for_data() {
    let plan = PfcPlan { refresh: Duration::from_nanos(30), ..pfc().plan };
    let mut s = Sender::new(plan, RATE);
    s.want(at(0), p(3), true);
    send(&mut s, at(0));
    assert_eq!(s.next_deadline(), at(30));
    s.set_rate(at(10), BitsPerSec::gbps(1));
    send(&mut s, at(30));
    // A PFC frame takes 84 bytes on the line: 672 ns.
    assert_eq!(s.next_deadline(), at(30 + 4 * 672));
    // A shorter pause has to be renewed before it ends; configurations with one are refused.
    let mut s = Sender::new(PfcPlan { quanta: Quanta(5), ..plan }, RATE);
    s.want(at(0), p(3), true);
    send(&mut s, at(0));
    assert_eq!(s.next_deadline(), at(0) + Duration::from_picos(12_800));
}

#[test]
fn a_link_that_comes_back_is_told_what_is_wanted() {
    let mut s = pfc();
    s.want(at(0), p(3), true);
    s.want(at(0), p(4), true);
    send(&mut s, at(0));
    s.on_link_down();
    s.want(at(50), p(3), false);
    assert_eq!(send(&mut s, at(100)), vector(&[(4, QUANTA)]));
}

#[test]
fn a_priority_that_loses_pfc_is_resumed_and_not_paused_again() {
    let mode = |send| FlowControl::Pfc { send: PrioritySet(send), obey: PrioritySet::EMPTY };
    let mut s = pfc();
    s.want(at(0), p(3), true);
    s.want(at(0), p(4), true);
    send(&mut s, at(0));
    s.set_mode(at(50), mode(0b0011_0000));
    assert_eq!(send(&mut s, at(50)), vector(&[(3, Quanta(0)), (4, QUANTA)]));
    s.want(at(60), p(3), true);
    assert_eq!(s.due(at(60)), None);
    s.want(at(60), p(5), true);
    assert_eq!(send(&mut s, at(60)), vector(&[(4, QUANTA), (5, QUANTA)]));
}
