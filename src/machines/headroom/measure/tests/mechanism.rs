//! The rules of the proposal's mechanism (Qdt, S4), one test each.

use super::*;

#[test]
fn initial_stage_sends_the_first_request_at_once() {
    let mut m = measurer(PLAN);
    assert_eq!((m.state(), m.next_deadline()), (State::Idle, Instant::NEVER));
    m.start(ns(10));
    assert_eq!(m.state(), State::Running { rounds: 0, requests: 0 });
    assert!(!m.is_due(ns(9)) && m.is_due(ns(10)));
    assert_eq!(request(&mut m, ns(10)), Some(Request { t1: 10_000, psn: 0 }));
    assert_eq!(m.state(), State::Running { rounds: 0, requests: 1 });
    assert!(!m.is_due(ns(10)));
}

#[test]
fn the_next_request_leaves_when_the_timer_reaches_the_most() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    let mut at = ns(0);
    for psn in 0..5 {
        assert_eq!(m.next_deadline(), at);
        assert_eq!(request(&mut m, at).map(|r| r.psn), Some(psn));
        at += MOST;
        let before = at.saturating_sub(Duration::from_picos(1));
        assert!(!m.is_due(before) && m.take(before, before).is_none());
    }
}

#[test]
fn no_response_is_waited_for_and_none_sends_a_request() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    let first = request(&mut m, ns(0)).unwrap();
    let second = request(&mut m, ns(0) + MOST).unwrap();
    let t4 = (ns(0) + MOST + MOST).saturating_sub(Duration::from_nanos(1));
    for one in [first, second] {
        m.on_message(t4, &answer(one, Duration::ZERO), t4);
        assert!(m.take(t4, t4).is_none(), "a response sends nothing, and does not reset the timer");
    }
    assert_eq!(m.next_deadline(), ns(0) + MOST + MOST);
}

#[test]
fn a_request_before_the_least_is_answered_alone() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    request(&mut m, ns(0)).unwrap();
    let at = (ns(0) + LEAST).saturating_sub(Duration::from_picos(1));
    m.on_message(at, &asks(9), at);
    let ps = at.as_picos() as u64;
    let response = Response { t1: 1_009, t2: ps, t3: ps + 5, psn: 9, compensation: None };
    let t_tx = at + Duration::from_picos(5);
    assert_eq!(m.take(at, t_tx), Some(Message::Response(response)));
    assert_eq!(m.next_deadline(), ns(0) + MOST, "the timer runs on");
}

#[test]
fn a_request_from_the_least_on_is_answered_with_one_and_resets_the_timer() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    request(&mut m, ns(0)).unwrap();
    let at = ns(0) + LEAST;
    m.on_message(at, &asks(9), at);
    let ps = at.as_picos() as u64;
    let response = Response { t1: 1_009, t2: ps, t3: ps, psn: 9, compensation: None };
    let own = Request { t1: ps, psn: 1 };
    assert_eq!(m.take(at, at), Some(Message::Both { response, request: own }));
    assert_eq!(m.next_deadline(), at + MOST);
    assert_eq!(m.counters().piggybacked, 1);
}

#[test]
fn without_piggybacking_answers_go_alone_and_requests_at_the_most() {
    let mut m = measurer(InitiatePlan { piggyback: false, ..PLAN });
    m.start(ns(0));
    request(&mut m, ns(0)).unwrap();
    let at = ns(0) + MOST;
    m.on_message(at, &asks(9), at);
    assert!(matches!(m.take(at, at), Some(Message::Response(_))));
    assert!(matches!(m.take(at, at), Some(Message::Request(Request { psn: 1, .. }))));
    assert_eq!(m.take(at, at), None);
}

#[test]
fn with_all_round_trips_requests_are_answered_alone() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    let mut at = ns(0);
    for n in 1..=4 {
        assert_eq!(m.next_event(), None);
        round(&mut m, at, Duration::from_nanos(100 * n));
        at += MOST;
    }
    assert_eq!((m.next_event(), m.next_event()), (Some(Event::Done), None));
    assert_eq!((m.state(), m.next_deadline()), (State::Idle, Instant::NEVER));
    m.on_message(at, &asks(9), at);
    assert!(matches!(m.take(at, at), Some(Message::Response(_))));
    let found = &m.round_trips().unwrap().round_trip();
    assert_eq!((found.count(), found.mean()), (4, Duration::from_nanos(250)));
    assert_eq!((found.min(), found.max()), (Duration::from_nanos(100), Duration::from_nanos(400)));
}

#[test]
fn a_response_with_a_request_counts_and_is_answered() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    let own = request(&mut m, ns(0)).unwrap();
    let Message::Response(response) = answer(own, Duration::ZERO) else { unreachable!() };
    let both = |psn| Message::Both { response, request: Request { t1: 5, psn } };
    m.on_message(ns(7), &both(9), ns(7));
    assert_eq!(m.state(), State::Running { rounds: 1, requests: 1 });
    let sent = m.take(ns(7), ns(7)).unwrap();
    assert_eq!((sent.response().map(|r| r.psn), sent.request()), (Some(9), None), "before t");
    let at = ns(0) + LEAST;
    m.on_message(at, &both(10), at);
    let sent = m.take(at, at).unwrap();
    assert_eq!(
        (sent.response().map(|r| r.psn), sent.request().map(|r| r.psn)),
        (Some(10), Some(1))
    );
}

#[test]
fn the_response_that_completes_it_is_answered_alone_however_late() {
    let mut m = measurer(InitiatePlan { rounds: 1, ..PLAN });
    m.start(ns(0));
    let own = request(&mut m, ns(0)).unwrap();
    let Message::Response(response) = answer(own, Duration::ZERO) else { unreachable!() };
    let at = ns(0) + LEAST;
    m.on_message(at, &Message::Both { response, request: Request { t1: 5, psn: 3 } }, at);
    assert_eq!(m.next_event(), Some(Event::Done));
    assert!(matches!(m.take(at, at), Some(Message::Response(_))));
}

#[test]
fn it_fails_when_all_requests_are_used_up_and_never_takes_longer_than_t_times_m() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    round(&mut m, ns(0), Duration::from_nanos(1));
    let mut at = ns(0);
    for _ in 1..PLAN.requests_max {
        at += MOST;
        assert!(request(&mut m, at).is_some());
    }
    assert_eq!((m.take(at, at), m.next_event()), (None, None), "the last may still be answered");
    at += MOST;
    assert_eq!(at, ns(0) + MOST.saturating_mul(u64::from(PLAN.requests_max)));
    assert!(m.is_due(at));
    assert_eq!(m.take(at, at), None);
    assert_eq!(m.next_event(), Some(Event::Failed { rounds: 1, requests: 8 }));
    assert_eq!((m.next_deadline(), m.round_trips()), (Instant::NEVER, None));
    assert_eq!(m.state(), State::Failed);
    m.start(at);
    assert_eq!(m.state(), State::Running { rounds: 0, requests: 0 });
}

#[test]
fn late_polls_do_not_make_it_longer_than_t_times_m_and_requests_make_up_for_them() {
    let most = MOST.saturating_mul(u64::from(PLAN.requests_max));
    for gap in [1, 30, 90, 400, 10_000].map(Duration::from_micros) {
        let mut m = measurer(PLAN);
        m.start(ns(0));
        // The first poll is late, too: the time runs from the first request.
        let (first, mut last, mut requests) = (ns(0) + gap, ns(0), 0);
        let mut now = first;
        while m.state() != State::Failed {
            assert!(now <= first + most + gap, "{gap}: {now:?}");
            if request(&mut m, now).is_some() {
                assert!(requests == 0 || now.since(last) >= LEAST, "{gap}");
                (last, requests) = (now, requests + 1);
            }
            now += gap;
        }
        let ended = m.next_event().unwrap();
        assert_eq!(ended, Event::Failed { rounds: 0, requests: u32::from(requests) }, "{gap}");
        // Polls that are late by less than T - t cost no request.
        assert!(gap >= MOST - LEAST || requests == PLAN.requests_max, "{gap}: {requests}");
    }
}

#[test]
fn with_protected_requests_the_rounds_are_those_of_plain_ones() {
    let plan = InitiatePlan { shims: true, ..PLAN };
    assert_eq!(plan.requests_least(), 8);
    let mut m = measurer(plan);
    m.start(ns(0));
    let mut at = ns(0);
    for _ in 0..7 {
        assert_eq!(m.next_event(), None);
        round(&mut m, at, Duration::from_nanos(100));
        at += MOST;
    }
    assert_eq!(m.next_event(), Some(Event::Done), "plain, protected, ..., plain");
    let trips = m.round_trips().unwrap();
    assert_eq!((trips.count(), trips.shims.count()), (4, 3));
    assert_eq!(trips.t1_by_software, 4, "no more than there are round trips");
}

#[test]
fn the_last_request_may_still_be_answered_and_none_rides_beyond_the_limit() {
    let mut m = measurer(InitiatePlan { rounds: 1, requests_max: 1, ..PLAN });
    m.start(ns(0));
    let own = request(&mut m, ns(0)).unwrap();
    let at = ns(0) + LEAST;
    m.on_message(at, &asks(1), at);
    assert!(matches!(m.take(at, at), Some(Message::Response(_))), "a second would be one too many");
    m.on_message(at, &answer(own, Duration::ZERO), at);
    assert_eq!(m.next_event(), Some(Event::Done));
}

#[test]
fn a_period_is_counted_from_the_end_of_a_measurement_good_or_bad() {
    let period = Duration::from_millis(10);
    let mut m = measurer(InitiatePlan { rounds: 1, requests_max: 1, period: Some(period), ..PLAN });
    m.start(ns(0));
    round(&mut m, ns(0), Duration::from_nanos(500));
    let again = ns(500) + period;
    assert_eq!((m.next_event(), m.next_deadline()), (Some(Event::Done), again));
    assert!(request(&mut m, again).is_some());
    // The peer does not answer, and the port is not polled for a while.
    let late = again + MOST + Duration::from_micros(30);
    assert_eq!(m.take(late, late), None);
    assert_eq!(m.next_event(), Some(Event::Failed { rounds: 0, requests: 1 }));
    assert_eq!(m.next_deadline(), again + MOST + period);
    assert_eq!(m.round_trips().unwrap().round_trip().count(), 1, "the last good one stays");
}

#[test]
fn a_manual_trigger_or_a_link_change_begins_anew() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    round(&mut m, ns(0), Duration::from_nanos(10));
    m.start(ns(20));
    assert_eq!(m.state(), State::Running { rounds: 0, requests: 0 });
    assert_eq!(request(&mut m, ns(20)).map(|r| r.psn), Some(1), "numbers go on");
    m.stop();
    assert_eq!((m.state(), m.next_deadline()), (State::Stopped, Instant::NEVER));
    m.on_message(ns(30), &asks(1), ns(30));
    assert_eq!((m.take(ns(30), ns(30)), m.counters().while_down), (None, 1));
    m.start(ns(40));
    assert_eq!(request(&mut m, ns(40)).map(|r| r.psn), Some(2));
}

#[test]
fn a_port_that_does_not_initiate_answers_alone() {
    let mut m = Measurer::new(&MeasurePlan {
        respond: true,
        initiate: None,
        dialect: EXACT,
        compensation: None,
    });
    m.start(ns(0));
    assert_eq!((m.take(ns(0), ns(0)), m.next_deadline()), (None, Instant::NEVER));
    m.on_message(ns(5), &asks(1), ns(4));
    assert_eq!(m.next_deadline(), ns(5));
    let expected = Response { t1: 1_001, t2: 4_000, t3: 6_000, psn: 1, compensation: None };
    assert_eq!(m.take(ns(5), ns(6)), Some(Message::Response(expected)));
}

#[test]
fn a_port_that_does_not_respond_counts_what_it_was_asked() {
    let plan =
        MeasurePlan { respond: false, initiate: Some(PLAN), dialect: EXACT, compensation: None };
    let mut m = Measurer::new(&plan);
    m.start(ns(0));
    request(&mut m, ns(0)).unwrap();
    m.on_message(ns(5), &asks(1), ns(5));
    assert_eq!((m.take(ns(5), ns(5)), m.counters().requests_unanswered), (None, 1));
}

#[test]
fn a_flood_of_requests_is_answered_up_to_a_bound() {
    let mut m = measurer(PLAN);
    for psn in 0..20 {
        m.on_message(ns(1), &asks(psn), ns(1));
    }
    let answered: Vec<_> =
        core::iter::from_fn(|| m.take(ns(2), ns(2))).map(|a| a.response().unwrap().psn).collect();
    assert_eq!(answered, [0, 1, 2, 3, 4, 5, 6, 7], "in the order in which they came");
    assert_eq!((m.counters().requests_refused, m.counters().responses_sent), (12, 8));
}

#[test]
fn other_parameters_start_a_running_measurement_again_and_the_same_change_nothing() {
    let mut m = measurer(PLAN);
    m.start(ns(0));
    round(&mut m, ns(0), Duration::from_nanos(700));
    m.set_initiate(ns(1_000), PLAN);
    assert_eq!(m.state(), State::Running { rounds: 1, requests: 1 });
    m.set_initiate(ns(1_000), InitiatePlan { rounds: 1, ..PLAN });
    assert_eq!(m.state(), State::Running { rounds: 0, requests: 0 });
    round(&mut m, ns(1_000), Duration::from_nanos(800));
    assert_eq!((m.state(), m.next_event()), (State::Idle, Some(Event::Done)));
    assert_eq!((m.counters().started, m.counters().done), (2, 1));
}

#[test]
fn a_new_period_counts_from_its_write_and_none_ends_the_repetition() {
    let mut m = measurer(InitiatePlan { rounds: 1, ..PLAN });
    m.start(ns(0));
    round(&mut m, ns(0), Duration::from_nanos(700));
    assert_eq!(m.next_deadline(), Instant::NEVER);
    let period = Some(Duration::from_micros(30));
    m.set_initiate(ns(5_000), InitiatePlan { rounds: 1, period, ..PLAN });
    assert_eq!(m.next_deadline(), ns(35_000));
    round(&mut m, ns(35_000), Duration::from_nanos(900));
    assert_eq!(m.round_trips().unwrap().round_trip().max(), Duration::from_nanos(900));
    m.set_initiate(ns(40_000), InitiatePlan { rounds: 1, ..PLAN });
    assert_eq!(m.next_deadline(), Instant::NEVER);
    m.stop();
    m.set_initiate(ns(50_000), InitiatePlan { rounds: 1, period, ..PLAN });
    assert_eq!(m.next_deadline(), Instant::NEVER, "the link is down");
}
