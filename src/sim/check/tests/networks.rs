//! The checkers on networks as they are.

use super::fixture::*;
use crate::check::*;
use crate::*;
use buffer::SharedLimit;
use congestion::Detect;
use congestion::sfc::{Monitor, SfcPlan};
use contracts::frame::Frame;
use ground::time::Duration;
use ground::units::*;
use ground::verdict::Verdict;
use pfc::{StormAction, WatchdogPlan};
use switch::{Attached, AttachedKind, SfcmForm, SourceFlowControlPlan, rig};

#[test]
fn an_incast_and_a_ring_with_a_way_out_pass_every_check() {
    let findings = run(&incast(4, 500), 400);
    all_good(&findings);
    assert!(of(&findings, Check::PausesEnd).detail.contains("the longest after"), "{findings:?}");
    // No switch of the ring is ever full, so nothing about pauses is judged there.
    let (judged, about_pauses): (Vec<_>, Vec<_>) = run(&ring(4, 1, 500), 400)
        .into_iter()
        .partition(|finding| finding.verdict != Verdict::NotJudged);
    all_good(&judged);
    let checks: Vec<_> = about_pauses.iter().map(|f| (f.check, f.detail.as_str())).collect();
    assert_eq!(
        checks,
        [
            (Check::PauseLegality, "no pause arrived"),
            (Check::PausesSent, "no pause was sent"),
            (Check::PausesEnd, "no pause was sent"),
            (Check::EcnBeforePfc, "no switch marks"),
        ]
    );
    // In the middle of it, too, but for pauses, which are not over then.
    let mut findings = run(&incast(4, 500), 50);
    findings.retain(|finding| finding.check != Check::PausesEnd);
    all_good(&findings);
}

#[test]
fn a_network_in_which_nothing_is_sent_is_judged_by_no_check() {
    for finding in run(&incast(0, 0), 400) {
        assert_eq!(finding.verdict, Verdict::NotJudged, "{finding:?}");
        assert!(finding.detail.starts_with("no "), "{finding:?}");
    }
}

#[test]
fn what_a_proxy_pauses_is_no_resumption_that_its_port_owes() {
    let mut plan = incast(4, 1_500);
    let s = the_switch(&mut plan);
    let monitor = Monitor { detect: Detect::Length(Bytes(20_000)), target: Bytes(10_000) };
    let plans = rig::congestion();
    s.congestion.sfc = Some(SourceFlowControlPlan {
        point: SfcPlan { enabled: true, monitored_queues: 0b1000, ..SfcPlan::new() },
        form: SfcmForm::Encapsulated,
        monitors: vec![[Some(monitor); 8]; 5],
        ..plans.sfc.unwrap()
    });
    s.congestion.proxy = plans.proxy;
    s.congestion.ports = vec![Attached { kind: AttachedKind::Host, locator: None }; 5];
    let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
    network.run_until(at(1_200));
    let (checkers, mut nodes) = network.finish();
    let Node::Switch(s) = nodes.get_mut(NodeId(0)) else { panic!() };
    let counted = s.congestion_snapshot().unwrap();
    assert!(counted.proxy.unwrap().ports.iter().all(|port| port.granted_ns < 1_200_000));
    assert!(counted.sfc.unwrap().counters.transmitted_sfcms > 10);
    all_good(&checkers.finish(at(1_200), &mut nodes));
}

#[test]
fn clocks_and_the_order_of_ties_make_no_difference_to_a_verdict() {
    for seed in 0..4 {
        let mut plan = incast(5, 200);
        plan.shuffle = Some(seed);
        for (n, node) in plan.nodes.iter_mut().enumerate() {
            let drift_ppb = [100_000, -100_000, 37_000][(n + seed as usize) % 3];
            node.clock = ClockPlan { offset: Duration::from_micros(n as u64 * 7), drift_ppb };
        }
        all_good(&run(&plan, 400));
    }
}

#[test]
fn a_ring_that_waits_for_itself_is_found_and_named() {
    let plan = ring(3, 2, 2_000);
    let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
    network.run_until(at(1_000));
    assert!(!network.is_quiet());
    let (checkers, mut nodes) = network.finish();
    let [deadlock] = checkers.deadlocks() else { panic!("{:?}", checkers.deadlocks()) };
    assert_eq!(deadlock.name, "s0:p1 -> s1:p1 -> s2:p1 -> s0:p1");
    assert_eq!(deadlock.cycle.len(), 3);
    assert!(deadlock.ended.is_none() && deadlock.since < deadlock.at && deadlock.at < at(200));
    let findings = checkers.finish(at(1_000), &mut nodes);
    objects(&findings, Check::Deadlock, &["s0:p1 -> s1:p1 -> s2:p1 -> s0:p1"]);
    objects(&findings, Check::PausesEnd, &["paused since"]);
    for check in [Check::Frames, Check::Cells, Check::Lossless, Check::PausesSent] {
        assert_eq!(of(&findings, check).verdict, Verdict::Pass, "{findings:#?}");
    }
    // Where the checkers hear of no pause of one switch, its neighbour seems to be idle.
    let findings = doctored(&plan, 500, |events| {
        let is_pause = |d: Direction, f: &VirtualFrame| d == LinkId(0).ba() && f.wire_len() < 500;
        events.retain(|e| !matches!(e, Event::Arrived(_, d, f) if is_pause(*d, f)));
    });
    objects(
        &findings,
        Check::Deadlock,
        &["nothing has moved since", "no circle of queues was found"],
    );
    objects(&findings, Check::IdleLines, &["s0:p1"]);
}

#[test]
fn a_frame_from_nowhere_is_seen() {
    let findings = doctored(&incast(3, 300), 200, |events| {
        let mut sent = events.iter_mut().filter_map(|event| match event {
            Event::Sent(_, d, frame, _) if *d == LinkId(3).ab() => Some(frame),
            _ => None,
        });
        sent.nth(50).unwrap().head_mut()[11] ^= 0x40;
    });
    objects(&findings, Check::Frames, &["s:p3 sent a frame that never came in"]);
}

#[test]
fn a_pause_under_the_address_of_another_port_is_seen() {
    let plan = incast(3, 300);
    all_good(&doctored(&plan, 200, |_| ()));
    let findings = doctored(&plan, 200, |events| {
        let mut sent = events.iter_mut().filter_map(|event| match event {
            Event::Sent(_, d, frame, _) if *d == LinkId(0).ab() => Some(frame),
            _ => None,
        });
        let pause = sent.find(|frame| frame.head()[12..14] == [0x88, 0x08]).unwrap();
        pause.head_mut()[11] ^= 0x40;
    });
    objects(&findings, Check::PauseLegality, &["s:p0 sent a MAC control frame", "not its own"]);
}

#[test]
fn the_last_resumption_is_missed_at_the_end() {
    let findings = doctored(&incast(3, 300), 200, |events| {
        let resumes = |d: Direction, frame: &VirtualFrame| {
            let head = frame.head();
            d == LinkId(0).ab() && head[12..14] == [0x88, 0x08] && head[24..26] == [0, 0]
        };
        for sent in [true, false] {
            let last = events.iter().rposition(|event| match event {
                Event::Sent(_, d, frame, _) => sent && resumes(*d, frame),
                Event::Arrived(_, d, frame) => !sent && resumes(*d, frame),
                _ => false,
            });
            events.remove(last.unwrap());
        }
    });
    objects(&findings, Check::PausesSent, &["s:p0 owes its peer a resumption of priority 3"]);
    objects(&findings, Check::PausesEnd, &["s:p0 has priority 3 paused since"]);
}

#[test]
fn a_watchdog_breaks_a_deadlock_up_and_that_is_seen() {
    let mut plan = ring(3, 2, 2_000);
    let NodeKind::Switch(first) = &mut plan.nodes[0].kind else { panic!() };
    first.ports[1].watchdog[3] = Some(WatchdogPlan {
        enabled: true,
        detection: Duration::from_micros(200),
        restoration: Duration::from_micros(50),
        action: StormAction::Drop,
    });
    let mut network = Network::new(&plan, Checkers::new(&plan)).unwrap();
    network.run_until(at(1_000));
    let (checkers, mut nodes) = network.finish();
    assert!(checkers.deadlocks()[0].ended.is_some(), "{:?}", checkers.deadlocks());
    let findings = checkers.finish(at(1_000), &mut nodes);
    for check in [Check::Frames, Check::Cells, Check::IdleLines] {
        assert_eq!(of(&findings, check).verdict, Verdict::Pass, "{findings:#?}");
    }
    // No host has sent a storm: it is what the switches do.
    let lossless = of(&findings, Check::Lossless);
    assert_eq!((lossless.verdict, lossless.known.planned), (Verdict::NotJudged, 0), "{lossless:?}");
    assert!(lossless.known.unplanned > 0 && lossless.detail.contains("(watchdog)"), "{lossless:?}");
}

#[test]
fn a_storm_is_no_deadlock_and_a_queue_that_ignores_it_is_legal() {
    for action in [None, Some(StormAction::Forward), Some(StormAction::Drop)] {
        let mut plan = incast(2, 500);
        host(&mut plan, 2).pauses.push(storm(40_000, 10, 100, 10));
        the_switch(&mut plan).ports[2].watchdog[3] = action.map(|action| WatchdogPlan {
            enabled: true,
            detection: Duration::from_micros(150),
            restoration: Duration::from_micros(150),
            action,
        });
        let findings = run(&plan, 3_000);
        let dropped = of(&findings, Check::Lossless).known;
        // What the watchdog drops in the storm of the host is lost, by a planned fault.
        let drops = action == Some(StormAction::Drop);
        assert_eq!((dropped.planned > 0, dropped.unplanned), (drops, 0), "{findings:#?}");
        let is_other = |finding: &&Finding| !drops || finding.check != Check::Lossless;
        all_good(&findings.iter().filter(is_other).cloned().collect::<Vec<_>>());
    }
}

#[test]
fn a_pause_that_a_switch_reads_late_lasts_from_then_on() {
    let mut plan = incast(2, 300);
    host(&mut plan, 2).pauses.push(storm(10_000, 10, 100, 1));
    let kind = FaultKind::Stall { node: NodeId(0), span: Duration::from_micros(30) };
    plan.faults.push(fault(at(8), kind));
    let findings = run(&plan, 400);
    assert_eq!(of(&findings, Check::IdleLines).verdict, Verdict::Pass, "{findings:#?}");
    // The same where nothing explains that it waits so long.
    objects(&judged(&incast(2, 300), &plan, 400), Check::IdleLines, &["s:p2 is idle"]);
}

#[test]
fn links_that_go_down_and_frames_that_get_lost_are_accounted_for() {
    let mut plan = incast(4, 500);
    for (n, link) in [LinkId(1), LinkId(4), LinkId(2)].into_iter().enumerate() {
        let us = 20 + 30 * n as u64;
        plan.faults.push(fault(at(us), FaultKind::Link { link, up: false }));
        plan.faults.push(fault(at(us + 10), FaultKind::Link { link, up: true }));
    }
    let lose = FaultKind::Line(LinkId(3).ba(), LineFault::Lose { which: Which::Data, frames: 5 });
    plan.faults.push(fault(at(30), lose));
    let findings = run(&plan, 400);
    let others: Vec<_> = findings.iter().filter(|f| f.check != Check::Lossless).cloned().collect();
    all_good(&others);
    let lossless = of(&findings, Check::Lossless);
    assert_eq!(lossless.verdict, Verdict::NotJudged, "{lossless:?}");
    assert!(lossless.known.planned > 5 && lossless.known.unplanned == 0, "{lossless:?}");
    assert!(lossless.detail.contains("5 by a planned fault (line error)"), "{lossless:?}");
}

#[test]
fn a_link_that_is_up_is_not_brought_up_again() {
    let up = |us| fault(at(us), FaultKind::Link { link: LinkId(4), up: true });
    let mut plan = incast(4, 500);
    plan.faults = vec![up(5), up(20)];
    let findings = run(&plan, 400);
    all_good(&findings);
    assert!(
        of(&findings, Check::Lossless).detail.contains(", 0 lost in another way"),
        "{findings:?}"
    );
}

#[test]
fn whoever_obeys_late_is_legal_if_it_was_told_to() {
    let mut slow = incast(4, 500);
    (0..5).for_each(|n| host(&mut slow, n).tester.pause_delay = Quanta(100));
    all_good(&run(&slow, 400));
}

#[test]
fn shares_are_measured_where_flows_arrive() {
    let mut plan = incast(3, 100_000);
    let shares = Shares::new(&plan, at(50), at(150));
    plan.sample_every = None;
    let mut network = Network::new(&plan, shares).unwrap();
    network.run_until(at(200));
    let (shares, _) = network.finish();
    let flows = [flow(0, 3), flow(1, 3), flow(2, 3)];
    let finding = shares.finding(&flows, 0.05);
    assert_eq!(finding.verdict, Verdict::Pass, "{finding:?}");
    let sum: u64 = flows.iter().map(|flow| shares.octets(*flow)).sum();
    // 100 us at 100 Gb/s, less preambles and gaps.
    assert!(sum.abs_diff(1_250_000 * 1000 / 1020) <= 1000, "{sum}");
    let unfair = shares.finding(&[flow(0, 3), flow(9, 3)], 0.02);
    assert_eq!(unfair.verdict, Verdict::Fail, "{unfair:?}");
}

#[test]
fn a_dynamic_limit_and_lossy_neighbours_are_followed_to_the_cell() {
    let mut plan = incast(4, 500);
    for groups in &mut the_switch(&mut plan).buffer.groups {
        groups[3].limit = SharedLimit::Dynamic(buffer::Alpha::new(-3).unwrap());
        groups[3].reserved = Cells(5);
        groups[2].limit = SharedLimit::Static(Cells(50));
    }
    let mut lossy = host(&mut plan, 0).flows[0].clone();
    let ::host::Headers::Udp4(udp) = &mut lossy.headers else { panic!() };
    udp.dscp = Dscp::new(16).unwrap();
    (lossy.id, lossy.priority) = (::host::FlowId(7), Priority::ALL[2]);
    host(&mut plan, 0).flows.push(lossy);
    let findings = run(&plan, 400);
    all_good(&findings);
    assert!(!of(&findings, Check::Frames).detail.contains(" 0 dropped"), "{findings:#?}");
}
