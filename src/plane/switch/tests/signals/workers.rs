//! A switch of two workers: frames received by one leave by the other's port, whose proxy acts.

use super::*;
use crate::tests::workers::Meshed;
use contracts::mesh::mesh;
use ground::time::Instant;
use wire::pfc;

/// Port 0 and its host belong to the first worker, ports 1 and 2 to the other.
struct Pair([Switch<Meshed>; 2]);

impl Pair {
    fn new(plan: &SwitchPlan) -> Self {
        let owners = [0, 1, 1];
        let switches = mesh(&owners, 2, 64).into_iter().enumerate().map(|(me, handoff)| {
            let own = |n: &u16| owners[usize::from(*n)] == me;
            let ports = (0..3).filter(own).map(|n| (port(n), MemPort::endless())).collect();
            Switch::new(plan, ports, handoff, ()).unwrap()
        });
        let switches: Vec<_> = switches.collect();
        Self(switches.try_into().ok().unwrap())
    }

    fn port(&mut self, n: u16) -> &mut MemPort {
        self.0[usize::from(n > 0)].port_mut(port(n)).unwrap()
    }

    fn inject(&mut self, n: u16, octets: &[u8]) {
        self.port(n).rx.push_back(MemFrame::new(octets));
    }

    fn poll_until_idle(&mut self, now: Instant) {
        for _ in 0..10 {
            self.0.iter_mut().for_each(|switch| _ = switch.poll(now));
        }
    }

    /// Returns the pauses of priority 3 sent to the host of port 0, which must be all that it
    /// received.
    fn pauses_sent(&mut self) -> Vec<u16> {
        let p3 = Priority::ALL[3];
        let tx = self.port(0).tx.drain(..).map(|frame| {
            let octets = contracts::frame::Frame::head(&frame).to_vec();
            pfc::Repr::parse(&octets).expect("a pause").time(p3).unwrap().0
        });
        tx.collect()
    }
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

#[test]
fn a_message_that_another_worker_took_in_pauses_the_host_all_the_same() {
    let mut plan = plan(3);
    plan.congestion.proxy = Some(proxy());
    plan.congestion.ports =
        [AttachedKind::Host, AttachedKind::Switch, AttachedKind::Host].map(attached).to_vec();
    let mut pair = Pair::new(&plan);
    pair.inject(0, &frame(host(99), host(1), None, 60));
    pair.poll_until_idle(at(1));
    pair.port(1).tx.clear();
    pair.inject(1, &sfcm_frame(2, None, 3, Duration::from_micros(100)));
    pair.poll_until_idle(at(2));
    assert_eq!(pair.pauses_sent(), [1_954]);
    // A message from a host is validated at ingress, and dropped.
    pair.inject(2, &sfcm_frame(3, None, 3, Duration::from_micros(500)));
    pair.poll_until_idle(at(3));
    assert!(pair.pauses_sent().is_empty());
    let mut sum = *pair.0[0].congestion_snapshot().unwrap();
    sum.add(&pair.0[1].congestion_snapshot().unwrap());
    let counted = sum.proxy.unwrap();
    assert_eq!((counted.counters.sender, counted.ports[0].accepted), (1, 1));
    for switch in &mut pair.0 {
        let snapshot = switch.snapshot(at(4));
        assert!(snapshot.balance().holds(), "{snapshot:?}");
        switch.ledger().check();
    }
}

#[test]
fn what_the_switch_says_itself_is_believed_by_its_other_worker() {
    let mut plan = shaped(3);
    plan.congestion.sfc = Some(sfc(3));
    plan.congestion.proxy = Some(proxy());
    plan.congestion.ports = vec![attached(AttachedKind::Host); 3];
    let mut pair = Pair::new(&plan);
    for n in 0..3 {
        pair.inject(n, &frame(host(99), host(n as u8 + 1), None, 60));
    }
    for n in 1..5 {
        pair.poll_until_idle(at(n));
    }
    pair.port(0).tx.clear();
    for _ in 0..5 {
        pair.inject(0, &packet(((1, v4(1)), (2, v4(2))), Some((3, 0)), (7, 9), 978));
    }
    pair.poll_until_idle(at(10));
    assert_eq!(pair.pauses_sent(), [47]);
    let snapshot = pair.0[1].snapshot(at(11));
    assert_eq!(snapshot.congestion.unwrap().sfc.unwrap().counters.transmitted_sfcms, 1);
}
