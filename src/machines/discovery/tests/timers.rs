//! Transmit times of an agent (802.1AB-2016 9.2.8, 9.2.9).

use super::*;

/// Runs the agent from deadline to deadline up to `end` and returns its transmit times, in
/// milliseconds.
fn sends(agent: &mut Lldp, from: Instant, end: Instant) -> Vec<u64> {
    let (mut times, mut now) = (Vec::new(), from);
    while now <= end {
        assert!(agent.is_due(now) || agent.next_deadline() > now, "a deadline of nothing");
        while taken(agent, now).is_some() {
            times.push(now.as_nanos() / 1_000_000);
        }
        assert!(agent.next_deadline() > now, "sent, and still due");
        now = agent.next_deadline();
    }
    times
}

#[test]
fn a_new_neighbour_is_told_at_once_and_four_times_a_second_apart() {
    let mut agent = plain(1);
    assert!(taken(&mut agent, at(0)).is_some());
    agent.on_frame(at(10_500), &heard(2, 120, quiet));
    let times = sends(&mut agent, at(10_500), at(50_000));
    assert_eq!(times, [10_500, 11_500, 12_500, 13_500, 43_500]);
    agent.on_frame(at(50_000), &heard(2, 120, quiet));
    assert!(!agent.is_due(at(50_000)), "it is not new any more");
}

#[test]
fn no_more_than_the_credit_leaves_at_once_and_one_a_second_after_that() {
    let mut plan = lldp_plan(1);
    plan.credit = 2;
    let mut agent = started(Lldp::new(&plan, Some(&dcbx_plan(1, false, 0))));
    let mut times = Vec::new();
    for ms in (0..6_000).step_by(100) {
        agent.set_dcbx_pfc_enable(at(ms), PrioritySet((ms / 100) as u8));
        times.extend(sends(&mut agent, at(ms), at(ms)));
    }
    assert_eq!(times, [0, 100, 1_000, 2_000, 3_000, 4_000, 5_000]);
}

#[test]
fn credit_is_earned_while_nothing_is_sent() {
    let mut agent = started(Lldp::new(&lldp_plan(1), Some(&dcbx_plan(1, false, 0))));
    let burst = |agent: &mut Lldp, ms| {
        let mut sent = 0;
        for n in 0..20 {
            agent.set_dcbx_pfc_enable(at(ms), PrioritySet(n + 1));
            sent += usize::from(taken(agent, at(ms)).is_some());
        }
        sent
    };
    assert_eq!(burst(&mut agent, 0), 5);
    assert_eq!(burst(&mut agent, 2_999), 2);
    assert_eq!(burst(&mut agent, 3_000), 1);
    assert_eq!(burst(&mut agent, 20_000), 5, "never more than there may be");
}

#[test]
fn what_was_not_sent_is_due_again_without_cost() {
    let mut agent = plain(1);
    for _ in 0..20 {
        assert!(taken(&mut agent, at(0)).is_some());
        agent.put_back();
        agent.put_back();
        assert_eq!(agent.counters().frames_out, 0);
        assert!(agent.is_due(at(0)));
    }
    assert_eq!(sends(&mut agent, at(0), at(40_000)), [0, 30_000]);
}

#[test]
fn the_time_to_live_is_four_intervals_and_a_second() {
    let ttl = |interval, hold| {
        let mut plan = lldp_plan(1);
        (plan.interval, plan.hold) = (Duration::from_secs(interval), hold);
        let frame = taken(&mut started(Lldp::new(&plan, None)), at(0)).unwrap();
        View::new(&frame).unwrap().ttl()
    };
    assert_eq!(ttl(30, 4), 121);
    assert_eq!(ttl(3_600, 100), u16::MAX);
    assert_eq!(ttl(1, 1), 2);
}

#[test]
fn a_goodbye_has_no_time_to_live_and_silence_follows() {
    let mut agent = plain(1);
    assert!(taken(&mut agent, at(0)).is_some());
    agent.say_goodbye(at(5_000));
    assert!(agent.is_due(at(5_000)) && agent.next_deadline() <= at(5_000));
    let frame = taken(&mut agent, at(5_000)).unwrap();
    let view = View::new(&frame).unwrap();
    assert_eq!((view.ttl(), view.optional().count()), (0, 0), "nothing else is said");
    assert_eq!(taken(&mut agent, at(5_000)), None);
    assert_eq!(agent.next_deadline(), Instant::NEVER);
    agent.on_frame(at(5_500), &heard(2, 120, quiet));
    assert!(!agent.is_due(at(500_000)) || taken(&mut agent, at(5_500)).is_none());
    agent.start(at(6_000));
    assert_eq!(sends(&mut agent, at(6_000), at(40_000)), [7_000, 37_000], "after reinitDelay");
}

#[test]
fn a_goodbye_that_was_not_sent_is_due_again() {
    let mut agent = plain(1);
    assert!(taken(&mut agent, at(0)).is_some());
    agent.say_goodbye(at(1));
    assert!(taken(&mut agent, at(1)).is_some());
    agent.put_back();
    let frame = taken(&mut agent, at(2)).unwrap();
    assert_eq!(View::new(&frame).unwrap().ttl(), 0);
}

#[test]
fn nothing_is_sent_while_the_link_is_down() {
    let mut agent = Lldp::new(&lldp_plan(1), None);
    assert!(!agent.is_due(at(0)) && agent.next_deadline() == Instant::NEVER);
    agent.say_goodbye(at(0));
    assert_eq!(taken(&mut agent, at(0)), None, "nothing was said that could be taken back");
    agent.start(at(1_000));
    assert_eq!(sends(&mut agent, at(1_000), at(2_000)), [1_000]);
    agent.stop(at(3_000));
    assert_eq!(agent.next_deadline(), Instant::NEVER);
    assert_eq!(taken(&mut agent, at(100_000)), None);
    agent.start(at(200_000));
    assert_eq!(sends(&mut agent, at(200_000), at(231_000)), [200_000, 230_000]);
}

#[test]
fn an_agent_that_only_listens_sends_nothing_and_one_that_only_speaks_hears_nothing() {
    let of = |admin| started(Lldp::new(&LldpPlan { admin, ..lldp_plan(1) }, None));
    let mut listener = of(AdminStatus::RxOnly);
    listener.on_frame(at(0), &heard(2, 120, quiet));
    listener.say_goodbye(at(1));
    assert!(sends(&mut listener, at(0), at(119_000)).is_empty());
    assert_eq!(listener.neighbours().len(), 1);
    let mut speaker = of(AdminStatus::TxOnly);
    speaker.on_frame(at(0), &heard(2, 120, quiet));
    assert_eq!(speaker.counters(), &Counters::default());
    assert_eq!(sends(&mut speaker, at(0), at(61_000)), [0, 30_000, 60_000]);
    assert_eq!(speaker.counters().frames_out, 3);
}

#[test]
fn a_frame_that_says_all_there_is_fits_and_a_longer_one_is_refused() {
    let mut plan = lldp_plan(1);
    plan.system_name = "n".repeat(255);
    plan.system_description = "d".repeat(255);
    let long = frame_len(&plan, None).unwrap();
    assert!(long <= FRAME_MAX, "{long}");
    plan.port_id = "p".repeat(255);
    assert!(frame_len(&plan, None).is_err());
    let mut plan = lldp_plan(1);
    plan.port_id = String::new();
    assert!(frame_len(&plan, None).is_err());
    let mut plan = lldp_plan(1);
    plan.system_name = "n".repeat(256);
    assert!(frame_len(&plan, None).is_err());
}
