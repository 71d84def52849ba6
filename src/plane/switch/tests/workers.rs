//! One switch of one worker and of two: the same traffic has the same counters.

use proptest::prelude::*;

use super::signals::{attached, proxy, sfcm_frame};
use crate::rig::*;
use crate::{AttachedKind, Change, Switch, SwitchPlan};
use buffer::SharedLimit;
use congestion::{EcnPlan, MarkAt, NotEct};
use contracts::mesh::{Mesh, mesh};
use contracts::stats::PortCounters;
use contracts::world::World;
use ground::time::{Duration, Instant};
use ground::units::*;

const PORTS: u16 = 4;

/// The test world with a handoff between workers.
pub(super) struct Meshed;

impl World for Meshed {
    type Frame = MemFrame;
    type Port = MemPort;
    type Events = ();
    type Handoff = Mesh<MemFrame>;
}

/// A switch and the worker of each of its ports.
struct Workers {
    owners: [usize; PORTS as usize],
    switches: Vec<Switch<Meshed>>,
    now: Instant,
}

/// Copies of the frame by which a port learns its host: its destination is unknown.
const COPIES_OF_FIRST: u64 = 2;

#[derive(Clone, Debug)]
enum Step {
    /// A frame comes in from the host of a port.
    Frame { from: u16, to: u16, priority: u8, len: usize },
    /// A port takes frames, or none.
    Room(u16, bool),
    /// A host pauses its port's priority 3.
    Pause(u16, u16),
    /// A message of Source Flow Control to a host.
    Message { from: u16, to: u16, pause: Duration },
    /// The link of a port goes down or up.
    Link(u16, bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let frame =
        (0..PORTS, 0..PORTS + 1, prop::sample::select(vec![0_u8, 1, 2, 3]), 60_usize..1_500);
    let step = prop_oneof![
        20 => frame.prop_map(|(from, to, priority, len)| Step::Frame { from, to, priority, len }),
        2 => (0..PORTS, any::<bool>()).prop_map(|(port, room)| Step::Room(port, room)),
        1 => (0..PORTS, any::<bool>()).prop_map(|(port, up)| Step::Link(port, up)),
        1 => (0..PORTS, 0..2_000_u16).prop_map(|(port, quanta)| Step::Pause(port, quanta)),
        2 => (0..PORTS, 0..PORTS + 1, 0..200_u64).prop_map(|(from, to, us)| Step::Message {
            from,
            to,
            pause: Duration::from_micros(us),
        }),
    ];
    prop::collection::vec(step, 1..120)
}

/// Short queues, one that drops what is not ECN-capable, and a proxy at all hosts but the last, which is a
/// switch. The buffer has room for all frames: a frame for another worker's queue is charged before that
/// queue refuses it, so a buffer that is full as well refuses it under its own name.
fn limited() -> SwitchPlan {
    let mut p = plan(PORTS);
    p.buffer.total = Cells(65_536);
    p.congestion.proxy = Some(proxy());
    let host = AttachedKind::Host;
    p.congestion.ports = [host, host, host, AttachedKind::Switch].map(attached).to_vec();
    for port in &mut p.ports {
        port.queue_limits[0] = SharedLimit::Static(Cells(40));
        port.ecn[1] = Some(EcnPlan {
            kmin: Bytes(4_000),
            kmax: Bytes(4_000),
            pmax: 65_536,
            at: MarkAt::Enqueue,
            not_ect: NotEct::Drop,
        });
    }
    p
}

impl Workers {
    fn new(owners: [usize; PORTS as usize]) -> Self {
        let plan = limited();
        let workers = owners.iter().max().unwrap() + 1;
        let switches =
            mesh(&owners, workers, 1_024).into_iter().enumerate().map(|(me, handoff)| {
                let own = |n: &u16| owners[usize::from(*n)] == me;
                let ports = (0..PORTS).filter(own).map(|n| (port(n), MemPort::endless())).collect();
                Switch::new(&plan, ports, handoff, ()).unwrap()
            });
        let mut this = Self { owners, switches: switches.collect(), now: Instant::ZERO };
        for n in 0..PORTS {
            this.inject(n, &frame(host(99), host(n as u8 + 1), None, 60));
        }
        this.settle();
        this
    }

    fn owner(&mut self, n: u16) -> &mut Switch<Meshed> {
        &mut self.switches[self.owners[usize::from(n)]]
    }

    fn inject(&mut self, n: u16, octets: &[u8]) {
        self.owner(n).port_mut(port(n)).unwrap().rx.push_back(MemFrame::new(octets));
    }

    fn settle(&mut self) {
        self.now += Duration::from_micros(10);
        for _ in 0..20 {
            for switch in &mut self.switches {
                switch.poll(self.now);
            }
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Frame { from, to, priority, len } => {
                let (src, dst) = (host(from as u8 + 1), host(to as u8 + 1));
                self.inject(from, &frame(dst, src, Some((priority, 1)), len));
            }
            Step::Room(n, room) => {
                let port = self.owner(n).port_mut(port(n)).unwrap();
                port.room = if room { usize::MAX } else { 0 };
            }
            Step::Pause(n, quanta) => {
                self.inject(n, &pause(host(n as u8 + 1), Priority::ALL[3], quanta));
            }
            Step::Message { from, to, pause } => {
                let mut message = sfcm_frame(2, None, 3, pause);
                message[..6].copy_from_slice(&host(to as u8 + 1).0);
                self.inject(from, &message);
            }
            Step::Link(n, up) => {
                let now = self.now;
                let change = Change::Link { port: port(n), up, rate: None };
                self.owner(n).apply(now, change).unwrap();
            }
        }
        self.settle();
    }

    /// Counters of all ports, as they are merged. A frame that goes straight past an idle port of its worker
    /// is in no queue, so peaks are not compared, and the bytes of queues not while the device has no room for it.
    fn counters(&mut self) -> Vec<PortCounters> {
        let now = self.now;
        let parts: Vec<_> = self.switches.iter_mut().map(|switch| switch.snapshot(now)).collect();
        let mut own: Vec<_> = parts.iter().map(|part| part.ports.iter()).collect();
        let next = |owner: &usize| own[*owner].next().unwrap().counters.clone();
        let mut ports: Vec<_> = self.owners.iter().map(next).collect();
        for part in &parts {
            assert!(part.balance().holds(), "{part:?}");
            for (port, of) in ports.iter_mut().zip(&part.taken_over) {
                of.add_to(port);
            }
        }
        for priority in ports.iter_mut().flat_map(|port| &mut port.priorities) {
            priority.buffer_peak_bytes = 0;
            priority.headroom_peak_bytes = 0;
            priority.queue_peak_bytes = 0;
        }
        for (n, counters) in (0..).zip(&mut ports) {
            if self.owner(n).port_mut(port(n)).unwrap().room == 0 {
                counters.priorities.iter_mut().for_each(|priority| priority.queue_bytes = 0);
            }
        }
        ports
    }
}

#[test]
fn a_drop_at_the_limit_of_a_queue_counts_at_the_ingress_port_whoever_owns_the_queue() {
    for owners in [[0, 0, 0, 0], [0, 1, 1, 1]] {
        let mut workers = Workers::new(owners);
        workers.step(&Step::Room(1, false));
        for _ in 0..100 {
            workers.step(&Step::Frame { from: 0, to: 1, priority: 0, len: 1_000 });
        }
        let counters = workers.counters();
        let drops: Vec<_> =
            counters.iter().map(|port| port.drops.by_name()["queue_limit"]).collect();
        assert!(drops[0] > 0 && drops[1..] == [0, 0, 0], "{owners:?} {drops:?}");
        assert_eq!(counters[0].priorities[0].dropped, drops[0]);
        let (first, now) = (port(0), workers.now);
        for switch in &mut workers.switches {
            switch.apply(now, Change::ClearCounters).unwrap();
        }
        assert_eq!(workers.counters()[first.index()].drops.total(), 0);
    }
}

#[test]
fn an_address_of_a_link_that_went_down_is_forgotten_by_every_worker() {
    for owners in [[0, 0, 0, 0], [0, 1, 1, 1]] {
        let mut workers = Workers::new(owners);
        let to_first = Step::Frame { from: 1, to: 0, priority: 0, len: 60 };
        workers.step(&to_first);
        assert_eq!(workers.counters()[1].copied, COPIES_OF_FIRST, "{owners:?}: it is known");
        workers.step(&Step::Link(0, false));
        workers.step(&Step::Link(0, true));
        workers.step(&to_first);
        assert_eq!(workers.counters()[1].copied, COPIES_OF_FIRST + 2, "{owners:?}: it is flooded");
        // An address learnt again stays.
        workers.step(&Step::Frame { from: 0, to: 1, priority: 0, len: 60 });
        workers.step(&to_first);
        assert_eq!(
            workers.counters()[1].copied,
            COPIES_OF_FIRST + 2,
            "{owners:?}: it is known again"
        );
    }
}

#[test]
fn a_message_that_becomes_a_pause_was_received_at_its_ingress_port() {
    for owners in [[0, 0, 0, 0], [0, 1, 1, 1]] {
        let mut workers = Workers::new(owners);
        let before = workers.counters();
        workers.step(&Step::Message { from: 3, to: 0, pause: Duration::from_micros(100) });
        let after = workers.counters();
        let grown = |of: fn(&PortCounters) -> u64| of(&after[3]) - of(&before[3]);
        let received = |port: &PortCounters| port.priorities.iter().map(|of| of.rx_frames).sum();
        assert_eq!(grown(received), 1, "{owners:?}");
        assert_eq!(grown(|port| port.consumed), 1, "{owners:?}");
        assert_eq!(after[0].pfc_tx_frames, 1, "{owners:?}");
    }
}

proptest! {
    #[test]
    fn the_number_of_workers_changes_no_counter(steps in steps(), split in 1_usize..4) {
        let two = core::array::from_fn(|n| usize::from(n >= split));
        let mut both = [Workers::new([0; PORTS as usize]), Workers::new(two)];
        for step in &steps {
            both.iter_mut().for_each(|workers| workers.step(step));
        }
        let [one, two] = both.each_mut().map(Workers::counters);
        prop_assert_eq!(one, two);
    }
}
