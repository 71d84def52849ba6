//! Admission, queue limits, ECN, and full buffers.

use crate::rig::*;
use crate::{Change, Trust};
use buffer::SharedLimit;
use congestion::{EcnPlan, MarkAt, NotEct};
use contracts::stats::DropReason;
use contracts::world::Events;
use ground::time::Instant;
use ground::units::*;
use wire::ip::{self, Ecn};
use wire::{EtherType, ethernet, ipv4};

/// Teaches the switch that host 2 is behind port 1, and stops port 1 from taking frames.
fn blocked<E: Events + Default>(lab: &mut Lab<E>) {
    lab.learn(1, 2);
    lab.port(1).room = 0;
}

#[test]
fn a_lossy_group_drops_at_its_shared_limit_and_nothing_else_does() {
    let mut lab: Lab = Lab::new(&plan(3));
    blocked(&mut lab);
    lab.deliver_all(0, (0..5000).map(|_| frame(host(2), host(1), None, 60)));
    // 4096 cells less 3 x 200 of headroom are shared; alpha 1 lets one group have half of it.
    let held = lab.switch.held();
    assert_eq!(held, (4096 - 600) / 2);
    assert_eq!(lab.drops(), [("shared_limit", 5000 - held)]);
    lab.check();
    lab.open(1);
    assert_eq!(lab.sent(1).len() as u64, held);
    assert_eq!(lab.switch.ledger().shared_used(), Cells(0));
    lab.check();
}

/// Number of events about frames sent, and about frames dropped.
#[derive(Default)]
struct Told {
    sent: u64,
    dropped: u64,
}

impl Events for Told {
    fn sent(&mut self, _: Instant, _: PortId, _: Priority, _: u32) {
        self.sent += 1;
    }
    fn dropped(&mut self, _: Instant, _: PortId, _: Option<Priority>, _: DropReason) {
        self.dropped += 1;
    }
}

#[test]
fn a_frame_refused_at_an_idle_port_is_reported_as_dropped_and_not_as_sent() {
    let mut lab: Lab<Told> = Lab::new(&plan(3));
    lab.deliver(2, &frame(host(9), host(3), None, 60));
    blocked(&mut lab);
    lab.deliver_all(0, (0..5000).map(|_| frame(host(2), host(1), None, 60)));
    // The group of port 0 is at its limit; port 2 is idle. The second frame has a cached decision.
    for _ in 0..2 {
        lab.deliver(0, &frame(host(3), host(1), None, 60));
    }
    let refused = 5002 - lab.switch.held();
    assert_eq!(lab.drops(), [("shared_limit", refused)]);
    lab.open(1);
    let counters = lab.switch.snapshot(lab.now).ports;
    let priorities = counters.iter().flat_map(|port| &port.counters.priorities);
    let sent: u64 = priorities.map(|counters| counters.tx_frames).sum();
    let told = lab.switch.events_mut();
    assert_eq!((told.sent, told.dropped), (sent, refused));
    lab.check();
}

#[test]
fn an_egress_queue_keeps_to_its_limit() {
    let mut p = plan(3);
    p.ports[1].queue_limits[0] = SharedLimit::Static(Cells(40));
    let mut lab: Lab = Lab::new(&p);
    blocked(&mut lab);
    lab.deliver_all(0, (0..100).map(|_| frame(host(2), host(1), None, 60)));
    // One burst was scheduled before the port refused; the queue behind it is limited.
    let held = lab.switch.held();
    assert!((40..=72).contains(&held), "{held}");
    assert_eq!(lab.drops(), [("queue_limit", 100 - held)]);
    lab.check();
}

#[test]
fn the_limit_of_a_queue_is_of_cells_and_not_of_bytes() {
    let mut p = plan(3);
    p.buffer.cell_bytes = 256;
    p.ports[1].queue_limits[0] = SharedLimit::Static(Cells(40));
    let mut lab: Lab = Lab::new(&p);
    blocked(&mut lab);
    // A frame of 64 bytes takes a cell of 256.
    lab.deliver_all(0, (0..200).map(|_| frame(host(2), host(1), None, 60)));
    let held = lab.switch.held();
    assert!((40..=72).contains(&held), "{held}");
    assert_eq!(lab.drops(), [("queue_limit", 200 - held)]);
    lab.check();
}

fn ip_frame(ecn: Ecn, len: usize) -> Vec<u8> {
    let mut f = frame(host(2), host(1), None, len);
    f[12..14].copy_from_slice(&EtherType::IPV4.0.to_be_bytes());
    let header: [u8; 20] =
        [0x45, ecn as u8, 0, (len - 14) as u8, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    f[14..34].copy_from_slice(&header);
    let sum = wire::checksum::Sum::default().octets(&f[14..34]).finish();
    f[24..26].copy_from_slice(&sum.to_be_bytes());
    f
}

fn ecn_of(f: &[u8]) -> Ecn {
    let view = ipv4::View::new(&f[ethernet::HEADER_LEN..]).unwrap();
    assert!(view.checksum_ok());
    view.ecn()
}

fn curve(at: MarkAt, not_ect: NotEct) -> EcnPlan {
    EcnPlan { kmin: Bytes(6400), kmax: Bytes(6400), pmax: 65_536, at, not_ect }
}

#[test]
fn a_long_queue_marks_ect_frames_and_never_others() {
    for at in [MarkAt::Enqueue, MarkAt::Dequeue] {
        let mut p = plan(3);
        p.ports[1].ecn[0] = Some(curve(at, NotEct::Pass));
        let mut lab: Lab = Lab::new(&p);
        blocked(&mut lab);
        for n in 0..300 {
            let ecn = [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][n % 3];
            lab.inject(0, &ip_frame(ecn, 60));
        }
        lab.poll_until_idle();
        lab.open(1);
        let out = lab.sent(1);
        assert_eq!(out.len(), 300);
        let ce: Vec<_> = (0..300).filter(|n| ecn_of(&out[*n]) == Ecn::Ce).collect();
        assert!(ce.iter().all(|n| n % 3 != 2), "CE on Not-ECT");
        let marked = lab.switch.snapshot(lab.now).ports[1].counters.priorities[0].ecn_marked;
        assert_eq!(marked, ce.len() as u64);
        // 100 frames of 64 bytes are the threshold; one burst of 32 left before the port refused.
        match at {
            MarkAt::Enqueue => assert!((130..=134).contains(&ce[0]) && ce.last() == Some(&298)),
            MarkAt::Dequeue => assert!(ce[0] <= 33 && (195..=200).contains(ce.last().unwrap())),
            MarkAt::Queue => unreachable!("has its own test"),
        }
        lab.check();
    }
}

#[test]
fn red_drops_what_it_cannot_mark_where_that_is_asked_for() {
    let mut p = plan(3);
    p.ports[1].ecn[0] = Some(curve(MarkAt::Enqueue, NotEct::Drop));
    let mut lab: Lab = Lab::new(&p);
    blocked(&mut lab);
    lab.deliver_all(0, (0..200).map(|_| ip_frame(Ecn::NotEct, 60)));
    assert_eq!(lab.drops(), [("red_not_ect", 200 - lab.switch.held())]);
    lab.check();
}

#[test]
fn a_queue_above_its_upper_limit_is_marked_as_a_whole() {
    let mut p = plan(3);
    // 40 frames do not reach Kmin, 110 exceed Kmax, even if those that can be dropped are.
    p.ports[1].ecn[0] = Some(EcnPlan { kmin: Bytes(5_000), ..curve(MarkAt::Queue, NotEct::Pass) });
    for (frames, letter) in [(40, false), (110, false), (110, true), (300, true)] {
        if letter {
            p.ports[1].ecn[0].as_mut().unwrap().not_ect = NotEct::Letter;
        }
        let mut lab: Lab = Lab::new(&p);
        blocked(&mut lab);
        // One burst leaves before the port refuses.
        for n in 0..frames + 32 {
            let ecn = if n % 3 == 0 && n > 40 { Ecn::NotEct } else { Ecn::Ect0 };
            lab.inject(0, &ip_frame(ecn, 60));
        }
        lab.poll_until_idle();
        lab.open(1);
        let out = lab.sent(1);
        let ce = out.iter().filter(|f| ecn_of(f) == Ecn::Ce).count();
        let not_ect = out.iter().filter(|f| ecn_of(f) == Ecn::NotEct).count();
        match (frames, letter) {
            (40, _) => assert_eq!((ce, out.len()), (0, 72)),
            // Of those in the queue, none that is ECN-capable is left out.
            (_, false) => assert_eq!(ce + not_ect + 32, out.len()),
            (_, true) => assert_eq!((ce + 32, not_ect), (out.len(), 0)),
        }
        lab.check();
    }
}

#[test]
fn frames_that_cannot_be_marked_are_dropped_by_chance_up_to_the_upper_limit() {
    for (not_ect, above) in [(NotEct::Chance, Ecn::NotEct), (NotEct::Letter, Ecn::Ce)] {
        let mut p = plan(3);
        // Half of the frames between 50 and 100 frames of 64 bytes.
        let plan = EcnPlan {
            kmin: Bytes(0),
            kmax: Bytes(6_400),
            pmax: 65_536,
            at: MarkAt::Enqueue,
            not_ect,
        };
        p.ports[1].ecn[0] = Some(plan);
        let mut lab: Lab = Lab::new(&p);
        blocked(&mut lab);
        (0..500).for_each(|_| lab.inject(0, &ip_frame(Ecn::Ect0, 60)));
        (0..100).for_each(|_| lab.deliver(0, &ip_frame(Ecn::NotEct, 60)));
        assert_eq!(lab.drops(), [], "above the limit none is dropped");
        lab.open(1);
        assert_eq!(lab.sent(1).iter().rev().take(100).filter(|f| ecn_of(f) == above).count(), 100);
        blocked(&mut lab);
        (0..100).for_each(|_| lab.deliver(0, &ip_frame(Ecn::NotEct, 60)));
        let [("red_not_ect", dropped)] = lab.drops()[..] else { panic!("{:?}", lab.drops()) };
        assert!((10..90).contains(&dropped), "{dropped} of 100");
        lab.check();
    }
}

#[test]
fn marking_can_be_changed_while_running() {
    let mut lab: Lab = Lab::new(&plan(3));
    blocked(&mut lab);
    let class = TrafficClass::MIN;
    let bad = EcnPlan { pmax: 65_537, ..curve(MarkAt::Enqueue, NotEct::Pass) };
    assert!(
        lab.switch.apply(lab.now, Change::Ecn { port: port(1), class, plan: Some(bad) }).is_err()
    );
    let good = EcnPlan { kmin: Bytes(0), kmax: Bytes(0), ..curve(MarkAt::Enqueue, NotEct::Pass) };
    lab.switch.apply(lab.now, Change::Ecn { port: port(1), class, plan: Some(good) }).unwrap();
    lab.deliver_all(0, (0..40).map(|_| ip_frame(Ecn::Ect0, 60)));
    lab.open(1);
    assert!(lab.sent(1).iter().any(|f| ecn_of(f) == Ecn::Ce));
}

#[test]
fn dscp_decides_where_it_is_trusted() {
    for (trust, expect) in [
        (Trust::Dscp, 5),
        (Trust::DscpThenPcp, 5),
        (Trust::PcpThenDscp, 2),
        (Trust::Pcp, 2),
        (Trust::Port, 0),
    ] {
        let mut p = plan(2);
        p.ports[0].classify.trust = trust;
        let mut lab: Lab = Lab::new(&p);
        let mut f = ip_frame(Ecn::NotEct, 60);
        f[15] = 40 << 2;
        f.splice(12..12, [0x81, 0, 2 << 5, 1]);
        assert_eq!(ip::View::new(EtherType::IPV4, &f[18..]).unwrap().dscp().get(), 40);
        lab.deliver(0, &f);
        let rx = lab.switch.snapshot(lab.now).ports[0].counters.priorities.map(|c| c.rx_frames);
        assert_eq!(rx[expect], 1, "{trust:?}: {rx:?}");
    }
}
