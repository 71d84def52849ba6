//! The proxy: messages to a host with PFC only become pauses of its port.

use super::*;
use ::congestion::proxy::Remember;
use ::pfc::FlowControl;
use wire::pfc;

const P3: Priority = Priority::ALL[3];

/// Port 0 to a host with PFC only, 1 to the fabric, 2 to a host that obeys messages.
fn relayed() -> SwitchPlan {
    let mut p = plan(3);
    p.congestion.proxy = Some(proxy());
    p.congestion.ports =
        [AttachedKind::Host, AttachedKind::Switch, AttachedKind::SfcHost].map(attached).to_vec();
    p
}

/// Returns the times of priority 3 in the frames that a port sent, all of which are PFC frames.
fn times(lab: &mut Lab, n: u16) -> Vec<u16> {
    let sent = lab.sent(n);
    sent.iter().map(|frame| pfc::Repr::parse(frame).unwrap().time(P3).unwrap().0).collect()
}

#[test]
fn a_message_becomes_a_pause_of_as_many_quanta_rounded_up() {
    let mut lab = lab(&relayed());
    // 100 us at 10 Gb/s are 1,953.125 quanta.
    lab.inject(1, &sfcm_frame(2, None, 3, us(100)));
    lab.switch.poll(lab.now);
    let sent = lab.sent(0);
    assert_eq!(sent.len(), 1, "a pause and no message");
    let repr = pfc::Repr::parse(&sent[0]).unwrap();
    let named: Vec<_> = Priority::ALL.iter().filter_map(|p| repr.time(*p)).collect();
    assert_eq!((repr.time(P3), named.len()), (Some(Quanta(1_954)), 1));
    assert_eq!(repr.src, Mac([2, 0, 0, 0, 0, 0]), "from the port's own address");
    let counters = counted(&mut lab).proxy.unwrap();
    assert_eq!((counters.ports[0].accepted, counters.ports[0].pauses), (1, 1));
    assert_eq!(lab.switch.snapshot(lab.now).ports[0].counters.priorities[3].pfc_tx_frames, 1);
    // The pause expires; nothing has to be resumed.
    lab.advance(us(200));
    assert!(lab.sent(0).is_empty());
    lab.check();
}

#[test]
fn a_message_with_a_time_of_zero_resumes_the_host_unless_the_port_itself_pauses_it() {
    let mut lab = lab(&relayed());
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    assert_eq!(times(&mut lab, 0), [1_954]);
    lab.advance(us(10));
    lab.deliver(1, &sfcm_frame(2, None, 3, us(0)));
    assert_eq!(times(&mut lab, 0), [0]);
    // The port's own groups fill up in between.
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    assert_eq!(times(&mut lab, 0), [1_954]);
    lab.advance(us(1));
    lab.switch.ports[0].sender.want(lab.now, P3, true);
    lab.advance(us(1));
    let own = times(&mut lab, 0);
    lab.deliver(1, &sfcm_frame(2, None, 3, us(0)));
    assert_eq!((own.len(), times(&mut lab, 0)), (1, vec![]), "the port's pause goes on");
    lab.switch.ports[0].sender.want(lab.now, P3, false);
    lab.advance(us(1));
    assert_eq!(times(&mut lab, 0), [0]);
    let counters = counted(&mut lab).proxy.unwrap();
    assert_eq!((counters.ports[0].accepted, counters.ports[0].resumed), (4, 2));
    lab.check();
}

#[test]
fn a_pause_that_one_frame_cannot_say_is_renewed_in_time() {
    let mut plan = relayed();
    plan.ports[0].rate = BitsPerSec::gbps(400);
    let mut lab = lab(&plan);
    lab.inject(1, &sfcm_frame(2, None, 3, us(200)));
    let mut said = vec![];
    let start = lab.now;
    loop {
        let deadline = lab.poll_until_idle();
        said.extend(times(&mut lab, 0).into_iter().map(|q| (lab.now.since(start), q)));
        if deadline.since(start) > us(300) {
            break;
        }
        lab.now = deadline.max(lab.now + Duration::from_picos(1));
    }
    // 65,535 quanta last 83.9 us at this rate, and half of that later the pause is renewed.
    let half = Quanta(65_535).at(BitsPerSec::gbps(400)).div(2);
    assert_eq!(said[0], (Duration::ZERO, 65_535));
    assert!(said[1].0 <= Quanta(65_535).at(BitsPerSec::gbps(400)) && said[1].0 >= half);
    let (last, quanta) = *said.last().unwrap();
    let end = last + Quanta(quanta).at(BitsPerSec::gbps(400));
    assert!(end >= us(200) && end < us(200) + Duration::from_nanos(2), "{end}");
    assert!(said.len() <= 5, "{said:?}");
}

#[test]
fn messages_to_switches_and_to_hosts_that_obey_them_go_on_as_they_are() {
    let mut lab = lab(&relayed());
    let mut message = sfcm_frame(2, None, 3, us(100));
    message[..6].copy_from_slice(&host(3).0);
    lab.deliver(1, &message);
    assert_eq!(lab.sent(2), [message.clone()]);
    assert_eq!(counted(&mut lab).proxy.unwrap().counters.forwarded, 1);
    // Discovery: the host does not obey messages after all, or the other one does.
    lab.switch.signals.set_attached(port(2), AttachedKind::Discovered);
    lab.deliver(1, &message);
    assert_eq!(times(&mut lab, 2), [1_954]);
    lab.switch.signals.set_attached(port(0), AttachedKind::SfcHost);
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    assert_eq!(lab.sent(0), [sfcm_frame(2, None, 3, us(100))]);
    lab.check();
}

#[test]
fn a_pause_for_a_host_whose_link_is_down_waits_for_the_link() {
    let mut plan = relayed();
    let at = StaticEntry { vid: Vid::new(1).unwrap(), mac: host(1), port: port(0) };
    plan.bridge.statics = vec![at];
    let mut lab = lab(&plan);
    let link = |up| Change::Link { port: port(0), up, rate: None };
    lab.switch.apply(lab.now, link(false)).unwrap();
    lab.inject(1, &sfcm_frame(2, None, 3, us(100)));
    let deadline = lab.poll_until_idle();
    assert!(deadline > lab.now, "nothing can be done about it now");
    assert!(lab.sent(0).is_empty());
    lab.advance(us(10));
    lab.switch.apply(lab.now, link(true)).unwrap();
    lab.poll_until_idle();
    // 90 us are left, 1,757.8 quanta.
    assert_eq!(times(&mut lab, 0), [1_758]);
    lab.check();
}

/// Returns the priorities that a port paused in one frame; empty if it sent none.
fn paused_by(lab: &mut Lab, n: u16) -> Vec<u8> {
    let sent = lab.sent(n);
    let named = |frame: &Vec<u8>| {
        let repr = pfc::Repr::parse(frame).unwrap();
        Priority::ALL.into_iter().filter(move |p| repr.time(*p).is_some()).map(Priority::get)
    };
    sent.iter().flat_map(|frame| named(frame).collect::<Vec<_>>()).collect()
}

#[test]
fn a_message_pauses_the_priority_that_the_maps_of_the_hosts_port_give_its_dscp() {
    let lossless = [3, 4].map(|n| Priority::ALL[n]).into_iter().collect();
    // The message says priority 3 and DSCP 26, which this rack maps to 4; its host's frames are
    // untagged.
    for (trust, dscp, pcp, paused, disagreed) in [
        (Trust::Dscp, 4, 3, vec![4], 1),
        (Trust::PcpThenDscp, 4, 3, vec![4], 1),
        (Trust::DscpThenPcp, 4, 3, vec![4], 1),
        (Trust::Pcp, 3, 4, vec![4], 1),
        (Trust::Pcp, 4, 3, vec![3], 0),
        (Trust::Port, 4, 4, vec![3], 0),
        // A priority without PFC is not paused, and not replaced by the message's.
        (Trust::Dscp, 1, 3, vec![], 1),
        // Only priority-tagged frames can be lossless here, and their PCP says 3.
        (Trust::PcpThenDscp, 1, 3, vec![3], 0),
    ] {
        let mut plan = relayed();
        let host = &mut plan.ports[0];
        host.pfc.mode = FlowControl::Pfc { send: lossless, obey: lossless };
        host.classify.trust = trust;
        host.classify.dscp[26] = Priority::ALL[dscp];
        host.classify.pcp[3] = Priority::ALL[pcp];
        let mut lab = lab(&plan);
        lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
        assert_eq!(paused_by(&mut lab, 0), paused, "{trust:?} {dscp} {pcp}");
        let counters = counted(&mut lab).proxy.unwrap().counters;
        let refused = u64::from(paused.is_empty());
        let expected = (disagreed, refused);
        assert_eq!((counters.incast, counters.in_network), (1 - refused, 0));
        assert_eq!((counters.disagreed, counters.not_protected), expected, "{trust:?} {dscp}");
        lab.check();
    }
}

#[test]
fn a_tagged_host_is_paused_by_pcp_where_that_comes_first() {
    let mut plan = relayed();
    plan.ports[0].vlan.members[0].tagged = true;
    plan.ports[0].classify.dscp[26] = P3;
    plan.ports[0].classify.pcp[5] = P3;
    plan.ports[0].classify.pcp[3] = Priority::ALL[4];
    let mut lab = Lab::new(&plan);
    lab.deliver(0, &frame(host(99), host(1), Some((0, 1)), 60));
    lab.sent(1);
    // Priority 5 of the message is a PCP that this port maps to 3; 3 is mapped to a lossy one.
    for (priority, paused) in [(5, vec![3]), (3, vec![])] {
        lab.deliver(1, &sfcm_frame(2, None, priority, us(100)));
        assert_eq!(paused_by(&mut lab, 0), paused, "{priority}");
    }
    assert_eq!(counted(&mut lab).proxy.unwrap().counters.disagreed, 2);
}

#[test]
fn the_ports_own_resumption_never_ends_a_pause_of_the_proxy_and_the_reverse() {
    let mut plan = relayed();
    plan.ports[0].pfc.quanta = Quanta(1_000);
    plan.ports[0].pfc.refresh = us(30);
    let mut lab = lab(&plan);
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    assert_eq!(times(&mut lab, 0), [1_954]);
    // The group of the host's frames fills up: its XOFF pauses for at least the proxy's time.
    lab.port(1).room = 0;
    while lab.port(0).tx.is_empty() {
        lab.deliver(0, &frame(host(2), host(1), Some((3, 0)), 1_000));
    }
    assert_eq!(times(&mut lab, 0), [1_954]);
    lab.advance(us(50));
    assert_eq!(times(&mut lab, 0), [1_000], "refreshed, for longer than the proxy still wants");
    // It drains: the proxy's remaining pause replaces the XON. 50 us are 976.56 quanta.
    lab.open(1);
    assert_eq!(times(&mut lab, 0), [977]);
    // If only the group is over its limit the proxy adds nothing, and the group sends XON.
    lab.advance(us(60));
    lab.port(1).room = 0;
    while lab.port(0).tx.is_empty() {
        lab.deliver(0, &frame(host(2), host(1), Some((3, 0)), 1_000));
    }
    assert_eq!(times(&mut lab, 0), [1_000]);
    lab.open(1);
    assert_eq!(times(&mut lab, 0), [0]);
    lab.check();
}

#[test]
fn a_shaped_port_says_it_as_soon_as_the_line_is_free() {
    let mut plan = relayed();
    plan.ports[0].shaped = true;
    let mut lab = lab(&plan);
    lab.deliver(1, &frame(host(1), host(2), None, 1_500));
    lab.sent(0);
    lab.inject(1, &sfcm_frame(2, None, 3, us(100)));
    let deadline = lab.poll_until_idle();
    assert!(lab.sent(0).is_empty(), "a frame is on the line");
    lab.now = deadline;
    lab.poll_until_idle();
    // Reduced by the waiting time: 1,219 ns are 23.8 quanta.
    assert_eq!(times(&mut lab, 0), [1_930]);
}

#[test]
fn later_flows_to_a_congested_destination_are_paused_at_once() {
    let mut plan = relayed();
    plan.congestion.ports[2] = attached(AttachedKind::Host);
    let mut lab = lab(&plan);
    let later = packet(((3, v4(3)), (2, v4(2))), Some((3, 0)), (7, 9), 200);
    // The host has sent to that destination before, so its frames use the shortcut by now.
    for _ in 0..2 {
        lab.deliver(2, &later);
    }
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    assert!(lab.sent(2).is_empty(), "nobody else is paused yet");
    lab.now += us(60);
    lab.deliver(2, &later);
    // Remaining pause: 40 us are 781.25 quanta.
    assert_eq!(times(&mut lab, 2), [782]);
    let counters = counted(&mut lab).proxy.unwrap();
    assert_eq!((counters.counters.cache_created, counters.ports[2].by_cache), (1, 1));
    // Another priority or another destination is not paused.
    lab.inject(2, &packet(((3, v4(3)), (2, v4(2))), Some((4, 0)), (7, 9), 200));
    lab.deliver(2, &packet(((3, v4(3)), (2, v4(9))), Some((3, 0)), (7, 9), 200));
    assert!(lab.sent(2).is_empty());
    // After the pause the cache entry has expired.
    lab.now += us(41);
    lab.switch.apply(lab.now, Change::FlushFdb).unwrap();
    lab.deliver(2, &later);
    assert!(times(&mut lab, 2).is_empty());
    lab.check();
}

#[test]
fn a_link_that_goes_down_forgets_and_another_rate_counts_other_quanta() {
    let mut lab = lab(&relayed());
    lab.port(0).control = 0;
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    let change = |up, rate| Change::Link { port: port(0), up, rate };
    lab.switch.apply(lab.now, change(true, Some(BitsPerSec::gbps(100)))).unwrap();
    lab.port(0).control = usize::MAX;
    lab.poll_until_idle();
    assert_eq!(times(&mut lab, 0), [19_532]);
    lab.switch.apply(lab.now, change(false, None)).unwrap();
    lab.switch.apply(lab.now, change(true, None)).unwrap();
    lab.poll_until_idle();
    assert!(lab.sent(0).is_empty());
    // PFC no longer runs for the priority: no message pauses it.
    let none = FlowControl::Pfc { send: PrioritySet::EMPTY, obey: PrioritySet::EMPTY };
    lab.switch.apply(lab.now, Change::Pfc { port: port(0), mode: none }).unwrap();
    lab.deliver(1, &sfcm_frame(2, None, 3, us(500)));
    assert_eq!(counted(&mut lab).proxy.unwrap().counters.not_routed, 1, "forgotten with its link");
    lab.deliver(0, &frame(host(99), host(1), None, 60));
    lab.deliver(1, &sfcm_frame(2, None, 3, us(500)));
    assert_eq!(counted(&mut lab).proxy.unwrap().counters.not_protected, 1);
    lab.check();
}

#[test]
fn a_flow_that_goes_on_is_not_paused_for_the_whole_time_again() {
    let mut plan = relayed();
    plan.congestion.ports[2] = attached(AttachedKind::Host);
    let whole = CachePlan { remember: Remember::Whole, ..CachePlan::standard() };
    plan.congestion.proxy.as_mut().unwrap().cache = Some(whole);
    // Frames whose tag changes take the full path every time.
    let mut lab = lab(&plan);
    let flow = |port| packet(((3, v4(3)), (2, v4(2))), Some((3, 0)), (port, 9), 200);
    lab.deliver(2, &flow(7));
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    for _ in 0..3 {
        lab.now += us(50);
        lab.deliver(2, &flow(7));
        assert!(lab.sent(2).is_empty(), "it began before the congestion");
    }
    lab.deliver(2, &flow(8));
    assert_eq!(times(&mut lab, 2), [1_954]);
    lab.now += us(90);
    lab.inject(2, &flow(8));
    lab.advance(us(20));
    assert!(lab.sent(2).is_empty());
    assert_eq!(counted(&mut lab).proxy.unwrap().ports[2].by_cache, 1);
}
