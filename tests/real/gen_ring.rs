//! The traffic generator on a pair of ports in memory: every sent frame arrives, pauses stop only
//! the priorities that they name, and tests can follow each other on the same ports.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use sluice::dpdk::{Eal, EalOptions, Memory};
use sluice::host::{FlowId, Rate};
use sluice::tester::plan::Place;
use sluice::tester::self_test::SelfTest;
use sluice::tester::session::{Bench, SessionError};
use sluice::units::BitsPerSec;
use sluice::verdict::Verdict;

use crate::apart::own_process;
use crate::tester::{
    all, loopback, of_frames, pfc, port, priority, received, ring, udp, wait, wait_stopped,
};

const A_TO_B: (usize, usize) = (0, 1);
const B_TO_A: (usize, usize) = (1, 0);

/// Ports of this process, for one test at a time: DPDK starts once.
fn bench() -> MutexGuard<'static, Bench> {
    static BENCH: OnceLock<Mutex<Bench>> = OnceLock::new();
    let bench = BENCH.get_or_init(|| {
        let options = EalOptions { memory: Memory::NoHuge, ..EalOptions::default() };
        Mutex::new(Bench::new(Eal::start(&options).expect("DPDK starts"), None))
    });
    bench.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn everything_that_is_sent_arrives_once_and_in_order() {
    own_process!();
    let mut bench = bench();
    let flows = vec![
        of_frames(udp(0, A_TO_B, 0, 64, Rate::Frames(100_000)), 20_000),
        of_frames(udp(1, A_TO_B, 5, 1_518, Rate::LineShare(100_000)), 5_000),
        of_frames(udp(2, B_TO_A, 3, 512, Rate::FrameBits(BitsPerSec::gbps(1))), 10_000),
    ];
    let plan = loopback(BitsPerSec::gbps(10), flows);
    let session = bench.set(plan.clone()).unwrap();
    session.start(&all(&plan)).unwrap();
    let report = wait_stopped(&session);
    assert_eq!(received(&report), [20_000, 5_000, 10_000], "{report:#?}");
    for flow in &report.flows {
        assert_eq!(flow.frames_tx, flow.frames_rx);
        assert_eq!((flow.loss_percent, flow.duplicates, flow.reordered), (0.0, 0, 0));
        let latency = flow.latency.as_ref().unwrap();
        assert_eq!(latency.frames, flow.frames_rx);
        assert!(latency.min_ns <= latency.p50_ns && latency.p999_ns <= latency.max_ns);
        let pacing = flow.pacing.as_ref().unwrap();
        // The stream catches up after a late poll, except at its very end.
        assert!(pacing.error_ppm.abs() < 20_000.0, "{flow:#?}");
    }
    assert_eq!(report.ports[0].frames_tx, report.ports[1].frames_rx);
    assert_eq!(report.ports[1].unexpected, 0);
    assert!(report.stamps.source == "tsc" && report.stamps.uncertainty_ns > 0.0);
}

#[test]
fn a_storm_on_one_priority_stops_it_and_no_other_and_a_resume_ends_it() {
    own_process!();
    let mut bench = bench();
    let flows = vec![
        udp(0, A_TO_B, 3, 128, Rate::Frames(50_000)),
        udp(1, A_TO_B, 4, 128, Rate::Frames(50_000)),
        pfc(2, B_TO_A, 3, 0xffff, Rate::Frames(2_000)),
        of_frames(pfc(3, B_TO_A, 3, 0, Rate::Frames(1_000)), 3),
    ];
    let plan = loopback(BitsPerSec::gbps(10), flows);
    let session = bench.set(plan).unwrap();
    let (data, storm, resume) = ([FlowId(0), FlowId(1)], [FlowId(2)], [FlowId(3)]);
    session.start(&data).unwrap();
    wait(&session, "sending", |r| received(r)[..2].iter().all(|n| *n > 1_000));
    session.start(&storm).unwrap();
    wait(&session, "stormed", |r| received(r)[2] > 20);
    let before = received(&session.report().unwrap());
    let after = received(&wait(&session, "more", |r| received(r)[1] > before[1] + 5_000));
    assert_eq!(after[0], before[0], "priority 3 goes on in a storm");
    let report = session.report().unwrap();
    let (at_a, at_b) = (priority(&report, "a", 3), priority(&report, "b", 3));
    assert_eq!(at_b.continuous, Some(true), "{at_b:#?}");
    assert!(at_b.largest_gap_ns < at_b.window_ns, "{at_b:#?}");
    assert!(at_a.transitions == 1 && at_a.paused_ns > 0.0, "{at_a:#?}");
    assert_eq!(priority(&report, "a", 4).pauses_rx, 0);

    session.stop(&storm).unwrap();
    session.start(&resume).unwrap();
    wait(&session, "resumed", |r| received(r)[0] > after[0] + 1_000);
    session.stop(&data).unwrap();
    let report = wait_stopped(&session);
    for flow in &report.flows[..2] {
        assert_eq!((flow.frames_tx, flow.loss_percent), (flow.frames_rx, 0.0), "{flow:#?}");
    }
    assert!(priority(&report, "b", 3).resumes_tx >= 1);
}

/// Flows take the queues of their port in turn, so each queue has one flow of each priority.
#[test]
fn two_queues_keep_the_order_of_each_flow_and_a_pause_in_one_holds_both() {
    own_process!();
    let mut bench = bench();
    let sent = |id, priority| udp(id, A_TO_B, priority, 128, Rate::Frames(50_000));
    let flows = vec![
        sent(0, 3),
        sent(1, 3),
        sent(2, 4),
        sent(3, 4),
        // The storm is in the first queue of `b`, the resume in the second.
        pfc(4, B_TO_A, 3, 0xffff, Rate::Frames(2_000)),
        of_frames(pfc(5, B_TO_A, 3, 0, Rate::Frames(1_000)), 3),
    ];
    let mut plan = loopback(BitsPerSec::gbps(10), flows);
    plan.ports.iter_mut().for_each(|port| port.location.queues = 2);
    let session = bench.set(plan.clone()).unwrap();
    let (data, storm, resume) = (&all(&plan)[..4], [FlowId(4)], [FlowId(5)]);
    session.start(data).unwrap();
    wait(&session, "sending", |r| received(r)[..4].iter().all(|n| *n > 1_000));
    session.start(&storm).unwrap();
    wait(&session, "stormed", |r| received(r)[4] > 20);
    let before = received(&session.report().unwrap());
    let after =
        received(&wait(&session, "more", |r| (2..4).all(|n| received(r)[n] > before[n] + 5_000)));
    assert_eq!(after[..2], before[..2], "priority 3 goes on in a storm");
    session.stop(&storm).unwrap();
    session.start(&resume).unwrap();
    wait(&session, "resumed", |r| (0..2).all(|n| received(r)[n] > after[n] + 1_000));
    session.stop(data).unwrap();
    let report = wait_stopped(&session);
    for flow in &report.flows[..4] {
        assert_eq!((flow.frames_tx, flow.reordered), (flow.frames_rx, 0), "{flow:#?}");
        assert_eq!((flow.duplicates, flow.loss_percent), (0, 0.0), "{flow:#?}");
        assert_eq!(flow.latency.as_ref().unwrap().frames, flow.frames_rx, "{flow:#?}");
    }
    // Both queues obeyed each pause, and one received it.
    let (at_a, at_b) = (priority(&report, "a", 3), priority(&report, "b", 3));
    assert_eq!(
        (at_a.pauses_rx, at_a.resumes_rx),
        (at_b.pauses_tx, at_b.resumes_tx),
        "{at_a:#?} {at_b:#?}"
    );
    assert!(at_a.transitions == 1 && at_a.paused_ns > 0.0, "{at_a:#?}");
    assert_eq!(priority(&report, "a", 4).pauses_rx, 0);
    let data: u64 = report.flows[..4].iter().map(|flow| flow.frames_tx).sum();
    assert_eq!(report.ports[1].frames_rx, data, "{report:#?}");
}

#[test]
fn flows_are_paused_resumed_and_started_again_with_counters_at_zero() {
    own_process!();
    let mut bench = bench();
    let plan = loopback(
        BitsPerSec::gbps(10),
        vec![
            udp(0, A_TO_B, 0, 200, Rate::Frames(20_000)),
            udp(1, A_TO_B, 0, 200, Rate::Frames(20_000)),
        ],
    );
    let (session, both) = (bench.set(plan.clone()).unwrap(), all(&plan));
    session.start(&both).unwrap();
    wait(&session, "sending", |r| received(r).iter().all(|n| *n > 500));
    session.pause(&both[..1]).unwrap();
    let paused = session.report().unwrap();
    assert_eq!((paused.flows[0].transmit, paused.flows[1].transmit), ("paused", "started"));
    let sent = paused.flows[0].frames_tx;
    let later = wait(&session, "more", |r| received(r)[1] > received(&paused)[1] + 2_000);
    assert_eq!(later.flows[0].frames_tx, sent);
    session.resume(&both).unwrap();
    wait(&session, "resumed", |r| r.flows[0].frames_tx > sent + 500);
    session.stop(&both).unwrap();
    let report = wait_stopped(&session);
    assert!(report.flows.iter().all(|f| f.frames_tx == f.frames_rx), "{report:#?}");

    session.start(&both[1..]).unwrap();
    wait(&session, "sending again", |r| received(r)[1] > 100);
    session.stop(&both).unwrap();
    let again = wait_stopped(&session);
    assert_eq!(again.flows[1].frames_tx, again.flows[1].frames_rx, "{again:#?}");
    assert!(again.flows[1].frames_tx < report.flows[1].frames_tx, "{again:#?}");
    // The flow that was not started again keeps its counts.
    assert_eq!(again.flows[0].frames_rx, report.flows[0].frames_rx);
}

#[test]
fn a_test_replaces_one_that_runs_on_the_same_ports() {
    own_process!();
    let mut bench = bench();
    let first = loopback(BitsPerSec::gbps(10), vec![udp(0, A_TO_B, 0, 64, Rate::Frames(200_000))]);
    let session = bench.set(first.clone()).unwrap();
    session.start(&all(&first)).unwrap();
    wait(&session, "sending", |r| received(r)[0] > 1_000);
    let second = udp(0, A_TO_B, 1, 9_000, Rate::LineShare(500_000));
    let second = loopback(BitsPerSec::gbps(100), vec![of_frames(second, 2_000)]);
    let session = bench.set(second.clone()).unwrap();
    assert_eq!(received(&session.report().unwrap()), [0]);
    session.start(&all(&second)).unwrap();
    let report = wait_stopped(&session);
    assert_eq!(received(&report), [2_000], "{report:#?}");
    assert_eq!((report.ports[1].frames_rx, report.ports[1].unexpected), (2_000, 0));
}

#[test]
fn a_test_that_cannot_be_opened_leaves_the_one_that_runs_alone() {
    own_process!();
    let mut bench = bench();
    let good = loopback(BitsPerSec::gbps(10), vec![udp(0, A_TO_B, 0, 64, Rate::Frames(10_000))]);
    let session = bench.set(good.clone()).unwrap();
    session.start(&all(&good)).unwrap();
    let rate = BitsPerSec::gbps(10);
    let mut absent = good.clone();
    absent.ports[1] = port("b", Place::Interface("no-such-one".parse().unwrap()), rate);
    let error = bench.set(absent).unwrap_err();
    assert!(error.to_string().contains("no-such-one"), "{error}");
    let mut twice = good.clone();
    twice.ports[1] = port("b", ring("loop", 0), rate);
    assert!(matches!(bench.set(twice), Err(SessionError::SamePlace(..))));
    let mut queues = good.clone();
    queues.ports[0].location.queues = 2;
    assert!(bench.set(queues).unwrap_err().to_string().contains("queues=2"));
    let mut fast = good.clone();
    fast.flows[0] = udp(0, A_TO_B, 0, 64, Rate::LineShare(2_000_000));
    assert!(matches!(bench.set(fast), Err(SessionError::Plan { .. })));
    let before = received(&session.report().unwrap())[0];
    let report = wait(&session, "still sending", |r| received(r)[0] > before + 100);
    assert_eq!(report.flows[0].transmit, "started");
}

#[test]
fn the_self_test_says_what_cannot_be_resolved() {
    own_process!();
    let bench = bench();
    let span = std::time::Duration::from_millis(300);
    let test = || sluice::tester::self_test::self_test(bench.eal(), None, span).unwrap();
    // A busy machine may preempt the receiver in one run; not in each of ten.
    let inconclusive = |found: &SelfTest| found.verdict() == Verdict::Inconclusive;
    let found = (0..9).map(|_| test()).find(|found| !inconclusive(found)).unwrap_or_else(test);
    assert_eq!(found.verdict(), Verdict::Pass, "{found:#?}");
    assert!(found.floor_ns > 0.0 && found.floor_ns >= found.latency.p50_ns.ns(), "{found:#?}");
    assert_eq!(found.resolved(found.floor_ns / 2.0), None);
    assert_eq!(found.resolved(found.floor_ns * 2.0), Some(found.floor_ns * 2.0));
}
