//! Responses that are late, duplicated, reordered or forged: each is counted by its cause and gives
//! no false round trip.

use super::*;

/// A measurement of four round trips with two outstanding requests, sent at 0 and at T.
fn two_under_way() -> (Measurer, [Request; 2], Instant) {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    let first = request(&mut m, ns(0)).unwrap();
    let at = ns(0) + MOST;
    let second = request(&mut m, at).unwrap();
    (m, [first, second], at)
}

fn rounds(m: &Measurer) -> u16 {
    match m.state() {
        State::Running { rounds, .. } => rounds,
        state => panic!("{state:?}"),
    }
}

#[test]
fn the_time_in_the_responder_is_taken_off() {
    let mut m = measurer(InitiatePlan { rounds: 1, ..PLAN });
    m.start(ns(0));
    let own = request(&mut m, ns(100)).unwrap();
    m.on_message(ns(1_100), &answer(own, Duration::from_nanos(700)), ns(1_100));
    let found = m.round_trips().unwrap();
    assert_eq!(found.round_trip().max(), Duration::from_nanos(300));
    assert_eq!(found.turnaround().max(), Duration::from_nanos(700));
}

#[test]
fn duplicates_count_once() {
    let (mut m, [first, _], at) = two_under_way();
    for _ in 0..3 {
        m.on_message(at, &answer(first, Duration::ZERO), at);
    }
    assert_eq!((rounds(&m), m.counters().duplicate, m.counters().round_trips), (1, 2, 1));
}

#[test]
fn lost_ones_are_made_up_for_by_later_requests() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    let mut at = ns(0);
    for n in 0..8 {
        let own = request(&mut m, at).unwrap();
        if n % 2 == 1 {
            m.on_message(at, &answer(own, Duration::ZERO), at);
        }
        at += MOST;
    }
    assert_eq!(m.next_event(), Some(Event::Done));
}

#[test]
fn reordered_ones_all_count_and_are_named() {
    let (mut m, [first, second], at) = two_under_way();
    m.on_message(at, &answer(second, Duration::ZERO), at);
    m.on_message(at, &answer(first, Duration::ZERO), at);
    assert_eq!((rounds(&m), m.counters().reordered, m.counters().round_trips), (2, 1, 2));
}

#[test]
fn redundant_ones_come_when_all_round_trips_are_there() {
    let mut m = measurer(InitiatePlan { rounds: 1, ..PLAN });
    m.start(ns(0));
    let first = request(&mut m, ns(0)).unwrap();
    let at = ns(0) + MOST;
    let second = request(&mut m, at).unwrap();
    m.on_message(at, &answer(second, Duration::ZERO), at);
    assert_eq!(m.next_event(), Some(Event::Done));
    m.on_message(at, &answer(first, Duration::ZERO), at);
    assert_eq!((m.counters().redundant, m.next_event()), (1, None));
    let found = &m.round_trips().unwrap().round_trip();
    assert_eq!((found.count(), found.max()), (1, Duration::ZERO));
}

#[test]
fn late_ones_never_count_for_a_new_measurement() {
    let (mut m, [first, second], at) = two_under_way();
    m.start(at);
    m.on_message(at, &answer(first, Duration::ZERO), at);
    m.on_message(at, &answer(second, Duration::ZERO), at);
    assert_eq!((rounds(&m), m.counters().late), (0, 2));
}

#[test]
fn late_ones_never_count_after_a_failure() {
    let mut m = measurer(InitiatePlan { rounds: 1, requests_max: 1, ..PLAN });
    m.start(ns(0));
    let own = request(&mut m, ns(0)).unwrap();
    let at = ns(0) + MOST;
    m.on_message(at, &answer(own, Duration::ZERO), at);
    assert_eq!(m.next_event(), Some(Event::Failed { rounds: 0, requests: 1 }));
    assert_eq!((m.counters().late, m.round_trips()), (1, None));
}

#[test]
fn a_number_that_comes_again_after_256_requests_is_another_request() {
    let plan = InitiatePlan { rounds: 200, requests_max: 256, ..PLAN };
    let mut m = measurer(plan);
    let mut at = ns(1);
    m.start(at);
    let old = request(&mut m, at).unwrap();
    for _ in 1..256 {
        at += MOST;
        assert!(request(&mut m, at).is_some());
    }
    at += MOST;
    assert_eq!(m.take(at, at), None);
    assert_eq!(m.next_event(), Some(Event::Failed { rounds: 0, requests: 256 }));
    m.start(at);
    let new = request(&mut m, at).unwrap();
    assert_eq!(new.psn, old.psn);
    m.on_message(at, &answer(old, Duration::ZERO), at);
    assert_eq!((rounds(&m), m.counters().mismatched), (0, 1));
    m.on_message(at, &answer(new, Duration::ZERO), at);
    assert_eq!(rounds(&m), 1);
}

#[test]
fn forged_ones_are_refused_and_the_true_one_still_counts() {
    let (mut m, [first, _], at) = two_under_way();
    let Message::Response(good) = answer(first, Duration::from_nanos(1)) else { unreachable!() };
    let whole = at.since(ns(0)).as_picos();
    let slack = whole / 5_000 + 1;
    for forged in [
        Response { psn: 77, ..good },                         // never sent
        Response { t1: good.t1 + 1, ..good },                 // sent at another time
        Response { t3: good.t2 - 1, ..good },                 // turnaround too long
        Response { t3: good.t2 + whole + slack + 1, ..good }, // turnaround longer than the round trip
        Response { t2: 0, t3: u64::MAX, ..good },
    ] {
        m.on_message(at, &Message::Response(forged), at);
    }
    let c = m.counters();
    assert_eq!((c.unknown, c.mismatched, c.impossible, c.responses_received), (1, 1, 3, 5));
    m.on_message(at, &Message::Response(good), at);
    assert_eq!(rounds(&m), 1);
}

#[test]
fn one_that_came_before_its_request_left_is_impossible() {
    let mut m = measurer(PLAN);
    m.start(ns(10));
    let own = request(&mut m, ns(10)).unwrap();
    m.on_message(ns(10), &answer(own, Duration::ZERO), ns(9));
    assert_eq!((rounds(&m), m.counters().impossible), (0, 1));
}

#[test]
fn clocks_that_drift_apart_leave_a_round_trip_of_zero() {
    let mut m = measurer(InitiatePlan { rounds: 1, ..PLAN });
    m.start(ns(0));
    let own = request(&mut m, ns(0)).unwrap();
    // All of 10 us is spent in the responder, whose clock is 200 ppm fast.
    m.on_message(ns(10_000), &answer(own, Duration::from_nanos(10_002)), ns(10_000));
    assert_eq!(m.round_trips().unwrap().round_trip().max(), Duration::ZERO);
}
