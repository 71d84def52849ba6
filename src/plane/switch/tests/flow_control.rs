//! PFC and PAUSE in both directions, and malformed MAC control frames.

use crate::SwitchPlan;
use crate::managed::At;
use crate::rig::*;
use ::pfc::{FlowControl, PfcPlan, StormAction, WatchdogPlan};
use ground::time::{Duration, Instant};
use ground::units::*;
use wire::{pause, pfc};

const P3: Priority = Priority::ALL[3];

fn pfc(p: Priority, quanta: u16) -> Vec<u8> {
    crate::rig::pause(host(2), p, quanta)
}

/// A switch of this plan that knows that host 2 is behind port 1.
fn learnt(plan: &SwitchPlan) -> Lab {
    let mut lab = Lab::new(plan);
    lab.learn(1, 2);
    lab
}

/// Frames to host 2 with this PCP, in VLAN 1's priority tag.
fn data(pcp: u8, len: usize) -> Vec<u8> {
    frame(host(2), host(1), Some((pcp, 0)), len)
}

#[test]
fn an_overloaded_group_pauses_its_sender_and_loses_nothing() {
    let mut lab = learnt(&plan(3));
    lab.port(1).room = 0;
    // The sender continues until it sees XOFF, and for 200 frames of one cell after that.
    let mut after = 0;
    while after < 200 {
        after += usize::from(!lab.port(0).tx.is_empty());
        lab.deliver(0, &data(3, 60));
    }
    let pauses = lab.sent(0);
    assert_eq!(pauses.len(), 1, "one XOFF, no refresh yet");
    let repr = pfc::Repr::parse(&pauses[0]).unwrap();
    assert_eq!((repr.time(P3), repr.time(Priority::ALL[4])), (Some(Quanta::MAX), None));
    assert_eq!(repr.src, Mac([2, 0, 0, 0, 0, 0]), "from the port's own address");
    assert!(lab.drops().is_empty());
    // One more exceeds the headroom, which is sized for exactly this delay.
    lab.deliver(0, &data(3, 60));
    assert_eq!(lab.drops(), [("headroom_full", 1)]);
    // Another priority of the same port is not affected.
    lab.deliver(0, &data(0, 60));
    assert_eq!(lab.drops().len(), 1);
    let snapshot = lab.switch.snapshot(lab.now);
    assert_eq!(snapshot.ports[0].counters.priorities[3].headroom_peak_bytes, 200 * 64);
    lab.open(1);
    let last = lab.sent(0);
    assert_eq!(pfc::Repr::parse(last.last().unwrap()).unwrap().time(P3), Some(Quanta(0)), "XON");
    lab.check();
}

#[test]
fn xoff_is_refreshed_until_the_group_has_drained() {
    let mut p = plan(3);
    p.ports[0].pfc.refresh = Duration::from_micros(50);
    let mut lab = learnt(&p);
    lab.port(1).room = 0;
    while lab.port(0).tx.is_empty() {
        lab.deliver(0, &data(3, 60));
    }
    lab.sent(0);
    let start = lab.now;
    for n in 1..=10 {
        let deadline = lab.poll_until_idle();
        assert_eq!(deadline, start + Duration::from_micros(50 * n), "the next refresh");
        lab.now = deadline;
        lab.poll_until_idle();
        assert_eq!(lab.sent(0).len(), 1);
    }
    assert_eq!(lab.switch.snapshot(lab.now).ports[0].counters.pfc_tx_frames, 11);
    let c = lab.switch.snapshot(lab.now).ports[0].counters.priorities[3];
    assert_eq!((c.pfc_tx_frames, c.pfc_tx_transitions), (11, 1));
    assert_eq!(c.pfc_tx_paused, Duration::from_micros(500));
}

#[test]
fn a_pause_that_cannot_leave_is_sent_when_it_can_and_says_what_is_true_then() {
    let mut lab = learnt(&plan(3));
    lab.port(1).room = 0;
    lab.port(0).control = 0;
    lab.deliver_all(0, (0..1800).map(|_| data(3, 60)));
    assert!(lab.sent(0).is_empty());
    lab.port(0).control = 10;
    lab.poll_until_idle();
    assert_eq!(lab.sent(0).len(), 1);
    lab.check();
}

/// IEEE8021-PFC-MIB counts frames of a port, SAI those that enable a priority.
#[test]
fn a_pfc_frame_counts_once_for_the_port_and_once_for_each_priority_that_it_names() {
    let mut lab: Lab = Lab::new(&plan(3));
    let mut repr = pfc::Repr::new(host(2));
    repr.set(P3, Quanta(100));
    repr.set(Priority::ALL[4], Quanta(100));
    let mut both = vec![0; 60];
    repr.emit(&mut both).unwrap();
    lab.inject(1, &both);
    lab.deliver(1, &pfc(P3, 0));
    let c = &lab.switch.snapshot(lab.now).ports[1].counters;
    assert_eq!(c.pfc_rx_frames, 2);
    assert_eq!([3, 4].map(|p| c.priorities[p].pfc_rx_frames), [2, 1]);
}

#[test]
fn a_pause_stops_its_priority_for_exactly_its_quanta() {
    let mut lab = learnt(&plan(3));
    lab.deliver(1, &pfc(P3, 100));
    lab.inject(0, &data(3, 60));
    lab.inject(0, &data(4, 64));
    let deadline = lab.poll_until_idle();
    assert_eq!(lab.sent(1).len(), 1, "priority 4 goes on");
    // 100 quanta of 512 bits at 10 Gb/s.
    assert_eq!(deadline, Instant::ZERO + Duration::from_nanos(5_120));
    lab.now = Instant::from_picos(5_119_999);
    lab.poll_until_idle();
    assert!(lab.sent(1).is_empty());
    lab.now = deadline;
    lab.poll_until_idle();
    assert_eq!(lab.sent(1).len(), 1);
    let c = lab.switch.snapshot(lab.now).ports[1].counters.priorities[3];
    assert_eq!((c.pfc_rx_frames, c.pfc_rx_transitions), (1, 1));
    assert_eq!(c.pfc_rx_paused, Duration::from_nanos(5_120));
    lab.check();
}

#[test]
fn cleared_pause_times_and_transitions_begin_anew() {
    let mut lab = learnt(&plan(3));
    lab.deliver(1, &pfc(P3, 100));
    lab.now += Duration::from_nanos(2_000);
    lab.switch.apply(lab.now, crate::Change::ClearCounters).unwrap();
    let counted = |lab: &mut Lab| {
        let c = lab.switch.snapshot(lab.now).ports[1].counters.priorities[3];
        (c.pfc_rx_transitions, c.pfc_rx_paused)
    };
    let (transitions, paused) = counted(&mut lab);
    assert_eq!(transitions, 0);
    assert_eq!(paused, Duration::ZERO);
    // The pause goes on, to its own end.
    lab.now += Duration::from_nanos(9_000);
    let (transitions, paused) = counted(&mut lab);
    assert_eq!(transitions, 0);
    assert_eq!(paused, Duration::from_nanos(3_120));
}

#[test]
fn a_priority_that_its_device_holds_back_waits_and_others_go_on() {
    let mut lab = learnt(&plan(3));
    lab.port(1).held = PrioritySet::of(P3);
    for _ in 0..2 {
        // The second frame of each priority has a cached decision.
        lab.inject(0, &data(3, 60));
        lab.deliver(0, &data(4, 64));
    }
    assert_eq!(lab.sent(1).len(), 2);
    assert_eq!(lab.switch.held(), 2);
    lab.port(1).held = PrioritySet::EMPTY;
    lab.poll_until_idle();
    assert_eq!(lab.sent(1).len(), 2);
    lab.check();
}

#[test]
fn a_snapshot_says_whose_frames_wait_for_a_pause() {
    let mut lab = learnt(&plan(3));
    lab.deliver(0, &data(3, 60));
    let waiting = |lab: &mut Lab| lab.switch.snapshot(lab.now).ports[1].waiting;
    assert_eq!(waiting(&mut lab), [None; 8]);
    lab.deliver(1, &pfc(P3, 100));
    assert_eq!(waiting(&mut lab), [None; 8], "nothing waits");
    lab.deliver(0, &data(3, 60));
    let mut expected = [None; 8];
    expected[3] = Some(port(0));
    assert_eq!(waiting(&mut lab), expected);
    lab.now += Duration::from_nanos(5_120);
    assert_eq!(waiting(&mut lab), [None; 8], "the pause is over");
    lab.poll_until_idle();
    lab.check();
}

#[test]
fn a_pause_is_dated_by_the_poll_after_the_one_that_received_it() {
    let mut lab = learnt(&plan(3));
    lab.inject(1, &pfc(P3, 100));
    // The thread reads the clock, is preempted for a millisecond, and then receives.
    assert!(lab.switch.poll(lab.now).progressed);
    lab.now += Duration::from_millis(1);
    lab.inject(0, &data(3, 60));
    let deadline = lab.poll_until_idle();
    assert!(lab.sent(1).is_empty(), "it has just arrived");
    assert_eq!(deadline, lab.now + Duration::from_nanos(5_120));
    lab.now = deadline;
    lab.poll_until_idle();
    assert_eq!(lab.sent(1).len(), 1);
    // One pause, although its time was over before the second poll.
    let c = lab.switch.snapshot(lab.now).ports[1].counters.priorities[3];
    assert_eq!((c.pfc_rx_frames, c.pfc_rx_transitions), (1, 1));
    assert_eq!(c.pfc_rx_paused, Duration::from_nanos(1_000_000 + 5_120));
    lab.check();
}

#[test]
fn pause_stops_the_link_where_it_is_configured_and_pfc_is_dropped_there() {
    let mut p = plan(3);
    p.ports[1].pfc =
        PfcPlan { mode: FlowControl::Pause { send: true, obey: true }, ..p.ports[1].pfc };
    let mut lab = learnt(&p);
    let mut octets = vec![0; 60];
    pause::Repr::new(host(2), Quanta(100)).emit(&mut octets).unwrap();
    lab.inject(1, &octets);
    lab.deliver(1, &pfc(P3, 100));
    lab.deliver_all(0, (0..8).map(|pcp| data(pcp, 60)));
    assert!(lab.sent(1).is_empty());
    lab.advance(Duration::from_nanos(5_120));
    assert_eq!(lab.sent(1).len(), 8);
    assert_eq!(lab.drops(), [("pfc_not_enabled", 1)]);
    // The other way round: PAUSE on a port that runs PFC.
    lab.deliver(0, &octets);
    assert_eq!(lab.drops(), [("pause_not_enabled", 1), ("pfc_not_enabled", 1)]);
    lab.check();
}

#[test]
fn malformed_control_frames_are_counted_and_pause_nothing() {
    let mut lab = learnt(&plan(3));
    let good = pfc(P3, 65535);
    let mut opcode = good.clone();
    opcode[15] = 0x02;
    let mut unicast = good.clone();
    unicast[..6].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    let mut tagged = good.clone();
    tagged.splice(12..12, [0x81, 0, 0, 1]);
    lab.deliver_all(1, [&opcode, &unicast, &tagged, &good[..40].to_vec()]);
    lab.deliver(0, &data(3, 60));
    assert_eq!(lab.sent(1).len(), 1, "nothing is paused");
    assert!(lab.sent(0).is_empty() && lab.sent(2).is_empty(), "nothing is forwarded");
    assert_eq!(
        lab.drops(),
        [
            ("mac_control_opcode", 1),
            ("mac_control_short", 1),
            ("mac_control_address", 1),
            ("mac_control_tagged", 1)
        ]
    );
    lab.check();
}

fn storm(action: StormAction) -> Lab {
    storm_of(action, true)
}

fn storm_of(action: StormAction, enabled: bool) -> Lab {
    let mut p = plan(3);
    let (detection, restoration) = (Duration::from_millis(10), Duration::from_millis(20));
    let watchdog = Some(WatchdogPlan { enabled, detection, restoration, action });
    p.congestion.watchdog = Some(vec![None, watchdog, None]);
    p.ports[1].watchdog[3] = watchdog;
    let mut lab = learnt(&p);
    // A NIC that sends XOFF every 100 us: 65535 quanta at 10 Gb/s last 3.4 ms.
    for n in 0..150 {
        lab.inject(1, &pfc(P3, 65535));
        if n == 1 {
            (0..5).for_each(|_| lab.inject(0, &data(3, 60)));
        }
        lab.poll_until_idle();
        lab.advance(Duration::from_micros(100));
    }
    lab
}

#[test]
fn the_watchdog_ends_a_storm_as_it_was_told() {
    let mut lab = storm(StormAction::Drop);
    assert_eq!((storms(&mut lab), lab.drops()), ((1, 0), vec![("watchdog", 5)]));
    lab.deliver(0, &data(3, 60));
    assert_eq!(lab.drops(), [("watchdog", 6)], "frames for the queue are dropped too");
    for _ in 0..30 {
        lab.advance(Duration::from_millis(1));
    }
    assert_eq!(storms(&mut lab), (1, 1));
    lab.deliver(0, &data(3, 60));
    assert_eq!(lab.sent(1).len(), 1);
    lab.check();

    let mut lab = storm(StormAction::Forward);
    assert_eq!((storms(&mut lab).0, lab.sent(1).len()), (1, 5), "pauses are ignored");

    let mut lab = storm(StormAction::Alert);
    assert_eq!((storms(&mut lab).0, lab.switch.held()), (1, 5), "only reported");
}

/// The place of the stormed port's objects.
const STORMED: At = At { port: PortId::new(1), class: None };

fn watch(lab: &mut Lab, enabled: bool) {
    lab.write("watchdog.enabled", STORMED, &enabled.to_string());
}

#[test]
fn the_times_of_a_running_watchdog_can_change() {
    let mut lab = storm(StormAction::Drop);
    assert_eq!(storms(&mut lab), (1, 0));
    lab.write("watchdog.restoration", STORMED, "1000000000");
    lab.write("watchdog.detection", STORMED, "60000000000");
    lab.advance(Duration::from_millis(1));
    lab.poll_until_idle();
    assert_eq!(storms(&mut lab), (1, 1), "restored after 1 ms");
    lab.inject(0, &data(3, 60));
    for _ in 0..2 {
        storm_on(&mut lab);
        assert_eq!(storms(&mut lab), (1, 1), "40 ms are no storm");
    }
    storm_on(&mut lab);
    lab.advance(Duration::from_millis(1));
    lab.poll_until_idle();
    assert_eq!(storms(&mut lab).0, 2);
}

/// Counts of storms detected and restored on the stormed queue.
fn storms(lab: &mut Lab) -> (u64, u64) {
    let port = &lab.switch.snapshot(lab.now).ports[1];
    let counters = &port.counters.priorities[3];
    (counters.storms_detected, counters.storms_restored)
}

/// Another 20 ms of the same storm: twice the detection time, and less than the restoration time
/// after.
fn storm_on(lab: &mut Lab) {
    for _ in 0..200 {
        lab.deliver(1, &pfc(P3, 65535));
        lab.advance(Duration::from_micros(100));
    }
}

#[test]
fn a_watchdog_that_is_stopped_releases_its_queue_and_detects_nothing() {
    let mut lab = storm(StormAction::Drop);
    assert_eq!(storms(&mut lab), (1, 0));
    watch(&mut lab, false);
    assert_eq!(storms(&mut lab), (1, 1), "released at once, while the storm goes on");
    lab.inject(0, &data(3, 60));
    storm_on(&mut lab);
    assert_eq!((storms(&mut lab), lab.switch.held()), ((1, 1), 1), "held, not dropped");
    assert_eq!(lab.drops(), [("watchdog", 5)]);

    watch(&mut lab, true);
    watch(&mut lab, true);
    assert_eq!(storms(&mut lab), (1, 1), "it gets the whole detection time");
    storm_on(&mut lab);
    assert_eq!((storms(&mut lab), lab.switch.held()), ((2, 1), 0));
    assert_eq!(lab.drops(), [("watchdog", 6)]);
    lab.check();
}

#[test]
fn a_watchdog_may_be_stopped_from_the_start() {
    let mut lab = storm_of(StormAction::Drop, false);
    assert_eq!((storms(&mut lab), lab.switch.held()), ((0, 0), 5));
    watch(&mut lab, true);
    storm_on(&mut lab);
    assert_eq!((storms(&mut lab), lab.drops()), ((1, 0), vec![("watchdog", 5)]));
}

#[test]
fn a_pause_that_ends_while_nothing_waits_is_no_deadline() {
    let mut lab = learnt(&plan(3));
    lab.deliver(1, &pfc(P3, 100));
    for _ in 0..3 {
        // 100 quanta at 10 Gb/s are 5.12 us.
        lab.now += Duration::from_micros(4);
        let deadline = lab.poll_until_idle();
        assert!(deadline > lab.now, "{deadline:?} is over at {:?}", lab.now);
    }
    // A pause for which a frame waits has a deadline.
    lab.inject(1, &pfc(P3, 100));
    lab.inject(0, &data(3, 60));
    let end = lab.now + Duration::from_nanos(5_120);
    assert_eq!(lab.poll_until_idle(), end);
    lab.advance(Duration::from_nanos(5_120));
    assert_eq!(lab.sent(1).len(), 1);
}

#[test]
fn a_refresh_that_finds_the_line_busy_waits_for_the_line() {
    let mut p = plan(3);
    for port in &mut p.ports {
        port.shaped = true;
        port.pfc.refresh = Duration::from_nanos(1_500);
    }
    let mut lab = learnt(&p);
    lab.advance(Duration::from_micros(1));
    // Port 1 is paused, so frames for host 2 fill the group of port 0.
    lab.inject(1, &pfc(P3, u16::MAX));
    let mut pauses = 0;
    while pauses == 0 {
        lab.deliver(0, &data(3, 1_500));
        pauses = lab.sent(0).len();
    }
    // A frame of 1,000 bytes takes 816 ns on the line of port 0, and the refresh is due within it.
    lab.now += Duration::from_nanos(1_000);
    lab.inject_all(1, (0..2).map(|_| frame(host(1), host(2), None, 996)));
    let end = lab.now + Duration::from_nanos(816);
    lab.poll_until_idle();
    lab.now += Duration::from_nanos(500);
    assert_eq!(lab.poll_until_idle(), end);
    assert_eq!(lab.sent(0).len(), 1, "the first frame alone");
    lab.now = end;
    lab.poll_until_idle();
    let sent = lab.sent(0);
    assert!(sent.len() == 1 && pfc::Repr::parse(&sent[0]).is_ok(), "the refresh goes first");
    lab.check();
}
