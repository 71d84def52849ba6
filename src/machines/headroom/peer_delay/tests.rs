use proptest::prelude::*;

use super::*;

const US: Mac = Mac([2, 0, 0, 0, 0, 1]);
const THEM: Mac = Mac([2, 0, 0, 0, 0, 2]);
const PLAN: PeerDelayPlan = PeerDelayPlan { rounds: 2, ..PeerDelayPlan::DEFAULT };
const SECOND: Duration = Duration::from_secs(1);
const WAY: Duration = Duration::from_picos(500_123);

fn at(second: u64) -> Instant {
    Instant::ZERO + SECOND.saturating_mul(second)
}

/// Returns a port whose first request was sent.
fn asking() -> (PeerDelay, Message) {
    let mut us = PeerDelay::new(&PLAN, US);
    us.start(at(1));
    let request = us.take(at(1), at(1)).expect("the first request is due at once");
    (us, request)
}

/// Returns an answer of `THEM` to `request`.
fn answer(request: &Message, body: Body, correction: Correction) -> Message {
    let two_step = matches!(body, Body::PdelayResp { .. });
    Message { source: PortIdentity::of(THEM), two_step, correction, body, ..*request }
}

/// Returns the answers of a two-step responder, with its own clock.
fn two_steps(request: &Message, t2: Instant, t3: Instant) -> [Message; 2] {
    let requesting = request.source;
    let ((receipt, left2), (origin, left3)) = (Timestamp::split(t2), Timestamp::split(t3));
    [
        answer(request, Body::PdelayResp { receipt, requesting }, left2.negative()),
        answer(request, Body::PdelayRespFollowUp { origin, requesting }, left3),
    ]
}

/// Returns the answer of a one-step responder.
fn one_step(request: &Message, turnaround: Duration) -> Message {
    let body = Body::PdelayResp { receipt: Timestamp::default(), requesting: request.source };
    let correction = Correction::of_picos(turnaround.as_picos() as i64);
    Message { two_step: false, ..answer(request, body, correction) }
}

/// Returns the time at which the response to a request of second 1 arrives.
fn t4(turnaround: Duration) -> Instant {
    at(1) + WAY + turnaround + WAY
}

const TURNAROUND: Duration = Duration::from_picos(777_777);

fn answers(request: &Message) -> [Message; 2] {
    let t2 = at(70_000) + Duration::from_picos(987_654);
    two_steps(request, t2, t2 + TURNAROUND)
}

fn found(us: &PeerDelay) -> (u64, Duration) {
    (us.counters.exchanges, us.current.max())
}

proptest! {
    #[test]
    fn two_ports_find_the_mean_of_both_ways_to_the_picosecond(
        offset in 0_u64..100_000_000_000_000,
        there in 0_u64..10_000_000,
        back in 0_u64..10_000_000,
        turnaround in 0_u64..10_000_000,
        follows in 0_u64..10_000_000,
    ) {
        let (mut us, mut them) = (PeerDelay::new(&PLAN, US), PeerDelay::new(&PLAN, THEM));
        let offset = Duration::from_picos(offset);
        let [there, back, turnaround, follows] =
            [there, back, turnaround, follows].map(Duration::from_picos);
        us.start(at(1));
        for round in 1..=2 {
            let sent = us.next_deadline();
            prop_assert_eq!(sent, at(round));
            let request = us.take(sent, sent).unwrap();
            prop_assert_eq!((request.body, request.sequence), (Body::PdelayReq, round as u16));
            let t2 = sent + there;
            them.on_message(t2, &request, t2 + offset);
            prop_assert!(them.is_due(t2));
            let t3 = t2 + turnaround;
            let response = them.take(t3, t3 + offset).unwrap();
            let later = t3 + follows;
            let follow_up = them.take(later, later + offset).unwrap();
            prop_assert!(response.two_step && !follow_up.two_step);
            prop_assert_eq!(them.take(later, later + offset), None);
            us.on_message(t3 + back, &response, t3 + back);
            us.on_message(later + back, &follow_up, later + back);
        }
        prop_assert_eq!((us.next_event(), us.next_event()), (Some(Event::Done), None));
        let both = there.as_picos() + back.as_picos();
        let found = us.estimate().unwrap();
        prop_assert_eq!(found.count(), 2);
        // Two corrections, each rounded to a 65th of a picosecond.
        prop_assert!(found.max().as_picos().abs_diff(both / 2) <= 1);
    }
}

#[test]
fn a_responder_of_two_steps_tells_both_times_and_gives_corrections_back() {
    let mut them = PeerDelay::new(&PLAN, THEM);
    let (_, request) = asking();
    let corrected = Message { correction: Correction(0x5_0000), ..request };
    let t2 = at(3) + Duration::from_picos(1_250);
    them.on_message(at(0), &corrected, t2);
    let t3 = at(3) + Duration::from_picos(9_500);
    let response = them.take(at(0), t3).unwrap();
    let requesting = PortIdentity::of(US);
    let receipt = Timestamp { seconds: 3, nanos: 1 };
    assert_eq!(response.body, Body::PdelayResp { receipt, requesting });
    assert_eq!((response.correction, response.sequence), (Correction(-0x4000), 1));
    let follow_up = them.take(at(0), at(9)).unwrap();
    let origin = Timestamp { seconds: 3, nanos: 9 };
    assert_eq!(follow_up.body, Body::PdelayRespFollowUp { origin, requesting });
    assert_eq!(
        follow_up.correction,
        Correction(0x5_8000),
        "half a nanosecond, and the request's 5"
    );
    assert_eq!(them.counters().follow_ups_sent, 1);
}

#[test]
fn two_steps_are_understood_in_either_order() {
    for reversed in [false, true] {
        let (mut us, request) = asking();
        let mut both = answers(&request);
        if reversed {
            both.reverse();
        }
        for (n, message) in both.iter().enumerate() {
            assert_eq!(us.counters.exchanges, 0, "{n} is not enough");
            us.on_message(t4(TURNAROUND), message, t4(TURNAROUND));
        }
        // The time of the response's arrival counts; here both arrived together.
        assert_eq!(found(&us), (1, WAY));
    }
}

#[test]
fn one_step_is_understood_by_its_correction() {
    let (mut us, request) = asking();
    us.on_message(t4(TURNAROUND), &one_step(&request, TURNAROUND), t4(TURNAROUND));
    assert_eq!(found(&us), (1, WAY));
    assert_eq!(us.counters.follow_ups_lost, 0);
}

#[test]
fn corrections_of_the_way_are_taken_off() {
    let (mut us, request) = asking();
    let residence = Duration::from_nanos(300);
    let [response, follow_up] = answers(&request);
    let held = Correction::of_picos(residence.as_picos() as i64);
    let response = Message { correction: response.correction.plus(held), ..response };
    let late = t4(TURNAROUND) + residence;
    us.on_message(late, &response, late);
    us.on_message(late, &follow_up, late);
    assert_eq!(found(&us), (1, WAY));
}

#[test]
fn answers_to_others_and_to_other_requests_are_ignored() {
    let (mut us, request) = asking();
    let [response, follow_up] = answers(&request);
    let Body::PdelayResp { receipt, .. } = response.body else { unreachable!() };
    let requesting = PortIdentity::of(THEM);
    let now = t4(TURNAROUND);
    let for_others = Message { body: Body::PdelayResp { receipt, requesting }, ..response };
    us.on_message(now, &for_others, now);
    us.on_message(now, &Message { sequence: 0, ..response }, now);
    us.on_message(now, &Message { sequence: 2, ..follow_up }, now);
    assert_eq!((us.counters.for_others, us.counters.late, us.counters.exchanges), (1, 2, 0));
    us.on_message(now, &response, now);
    us.on_message(now, &follow_up, now);
    assert_eq!(found(&us), (1, WAY));
}

#[test]
fn other_domains_other_profiles_other_messages_and_our_own_are_ignored() {
    let (mut us, request) = asking();
    let [response, _] = answers(&request);
    let now = t4(TURNAROUND);
    for message in [
        Message { domain: 1, ..response },
        Message { major_sdo_id: 1, ..response },
        Message { body: Body::Other(0), ..response },
        request, // looped back
    ] {
        us.on_message(now, &message, now);
    }
    let c = &us.counters;
    assert_eq!(
        (c.ignored, c.other_domain, c.messages_of_802_1as, c.answers_received),
        (2, 1, 1, 0)
    );
    assert!(!us.is_due(now), "nothing to answer");
}

#[test]
fn duplicates_and_second_responders_change_nothing() {
    let (mut us, request) = asking();
    let [response, follow_up] = answers(&request);
    let now = t4(TURNAROUND);
    us.on_message(now, &response, now);
    us.on_message(now, &response, now + SECOND);
    let other = PortIdentity { port: 2, ..PortIdentity::of(THEM) };
    us.on_message(now, &Message { source: other, ..follow_up }, now);
    us.on_message(now, &follow_up, now);
    us.on_message(now, &follow_up, now);
    assert_eq!(found(&us), (1, WAY));
    assert_eq!((us.counters.duplicate, us.counters.other_responder), (2, 1));
}

#[test]
fn times_that_cannot_be_are_refused_and_the_true_answers_still_count() {
    let (mut us, request) = asking();
    let now = t4(TURNAROUND);
    let away = now.since(at(1));
    for turnaround in [away + away, SECOND] {
        us.on_message(now, &one_step(&request, turnaround), now);
    }
    let body = Body::PdelayResp {
        receipt: Timestamp { seconds: 0, nanos: 1_000_000_000 },
        requesting: request.source,
    };
    let [response, follow_up] = answers(&request);
    us.on_message(now, &Message { body, ..response }, now);
    us.on_message(now, &follow_up, now);
    let backwards = two_steps(&request, at(5), at(4));
    us.on_message(now, &backwards[0], now);
    us.on_message(now, &backwards[1], now);
    us.on_message(now, &one_step(&request, Duration::ZERO), at(0));
    assert_eq!((us.counters.impossible, us.counters.exchanges), (5, 0));
    us.on_message(now, &response, now);
    us.on_message(now, &follow_up, now);
    assert_eq!(found(&us), (1, WAY));
}

#[test]
fn a_turnaround_cut_to_nanoseconds_may_exceed_the_way_by_one() {
    let (mut us, request) = asking();
    let turnaround = TURNAROUND + Duration::from_nanos(1);
    us.on_message(at(1), &one_step(&request, turnaround), at(1) + TURNAROUND);
    assert_eq!(found(&us), (1, Duration::ZERO));
}

#[test]
fn lost_answers_are_counted_and_a_set_fails_after_twice_its_rounds() {
    let (mut us, request) = asking();
    let [response, _] = answers(&request);
    us.on_message(at(1), &response, t4(TURNAROUND)); // Its Follow_Up is lost.
    for second in 2..=4 {
        assert_eq!(us.next_deadline(), at(second));
        assert!(us.take(at(second), at(second)).is_some());
    }
    assert_eq!(us.next_event(), None);
    assert!(us.take(at(5), at(5)).is_some(), "the next set begins at once");
    assert_eq!(us.next_event(), Some(Event::Failed { rounds: 0, requests: 4 }));
    let c = us.counters();
    assert_eq!((c.follow_ups_lost, c.lost, c.requests_sent), (1, 3, 5));
    assert_eq!((c.failed, us.estimate()), (1, None));
}

#[test]
fn a_link_that_goes_down_ends_everything_and_keeps_what_was_found() {
    let (mut us, request) = asking();
    us.on_message(at(1), &one_step(&request, TURNAROUND), t4(TURNAROUND));
    let second = us.take(at(2), at(2)).unwrap();
    let t4 = at(2) + WAY + WAY;
    us.on_message(t4, &one_step(&second, Duration::ZERO), t4);
    us.on_message(t4, &second, t4); // Our own, so nothing to answer.
    assert_eq!((us.next_event(), us.estimate().unwrap().count()), (Some(Event::Done), 2));
    us.stop();
    assert_eq!((us.next_deadline(), us.take(at(9), at(9))), (Instant::NEVER, None));
    us.on_message(at(9), &Message { source: PortIdentity::of(THEM), ..request }, at(9));
    assert!(!us.is_due(at(9)) && us.estimate().is_some());
    us.start(at(10));
    assert_eq!(us.take(at(10), at(10)).unwrap().sequence, 3);
}

#[test]
fn a_port_that_only_answers_never_asks_and_one_that_only_asks_never_answers() {
    let (_, request) = asking();
    let mut them = PeerDelay::new(&PeerDelayPlan { interval: None, ..PLAN }, THEM);
    them.start(at(0));
    assert_eq!(them.next_deadline(), Instant::NEVER);
    them.on_message(at(1), &request, at(1));
    assert_eq!(them.next_deadline(), at(1));
    assert!(them.take(at(1), at(1)).is_some() && them.take(at(1), at(1)).is_some());
    assert_eq!((them.take(at(9), at(9)), them.next_deadline()), (None, Instant::NEVER));

    let mut them = PeerDelay::new(&PeerDelayPlan { respond: false, interval: None, ..PLAN }, THEM);
    them.on_message(at(1), &request, at(1));
    assert_eq!((them.take(at(1), at(1)), them.counters().requests_unanswered), (None, 1));
}

#[test]
fn responses_leave_before_follow_ups_and_a_flood_is_bounded() {
    let (_, request) = asking();
    let mut them = PeerDelay::new(&PeerDelayPlan { interval: None, ..PLAN }, THEM);
    for sequence in 0..20 {
        them.on_message(at(1), &Message { sequence, ..request }, at(1));
    }
    let sent: Vec<_> = core::iter::from_fn(|| them.take(at(1), at(1))).collect();
    let numbers: Vec<_> = sent.iter().map(|m| m.sequence).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(sent[..8].iter().all(|m| m.two_step) && sent[8..].iter().all(|m| !m.two_step));
    assert_eq!(them.counters().requests_refused, 12);
}

#[test]
fn looking_more_often_sends_nothing_more() {
    let (mut us, _) = asking();
    for look in 0..1_000 {
        let now = at(1) + Duration::from_millis(look);
        assert!(!us.is_due(now) && us.take(now, now).is_none(), "{now:?}");
    }
    assert!(us.is_due(at(2)));
}
