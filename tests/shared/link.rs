//! Two stations that answer each other over a link with a length, in virtual time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use sluice::frame::Frame;
use sluice::host::{
    FlowId, RocePlan, Station, StationPlan, StationSnapshot, Tag, TcpPlan, Transport, TransportPlan,
};
use sluice::pfc::FlowControl;
use sluice::schedule::{Line, LinePlan};
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Dscp, Mac, Pcp, Priority, PrioritySet, Quanta, Vid};
use sluice::wire::ip::{self, Ecn};
use sluice::wire::roce::{Opcode, U24};
use sluice::wire::{mac_control, pfc, roce, udp, vlan};

use crate::mem_port::{MemFrame, MemPort};

pub const LINK: BitsPerSec = BitsPerSec::gbps(10);
pub const DELAY: Duration = Duration::from_micros(1);
pub const A: usize = 0;
pub const B: usize = 1;

pub fn mac(n: usize) -> Mac {
    Mac([2, 0, 0, 0, 0, 1 + n as u8])
}

pub fn priority(n: u8) -> Priority {
    Priority::new(n).unwrap()
}

pub fn at(us: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(us)
}

/// A flow from station A to station B, of frames with 1000 bytes of payload.
pub fn flow(id: u32, kind: Transport) -> TransportPlan {
    let mut plan = TransportPlan {
        id: FlowId(id),
        src: mac(A),
        dst: mac(B),
        src_ip: [10, 0, 0, 1].into(),
        dst_ip: [10, 0, 0, 2].into(),
        tag: Some(Tag { vid: Vid::new(100), pcp: Pcp::new(3).unwrap() }),
        priority: priority(3),
        dscp: Dscp::new(26).unwrap(),
        ecn: Ecn::Ect0,
        size: 0,
        rate: None,
        start: Instant::ZERO,
        stop: Instant::NEVER,
        message: None,
        work: sluice::host::Work::default(),
        kind,
    };
    plan.size = plan.overhead() + 1000;
    plan
}

pub fn roce(id: u32) -> RocePlan {
    RocePlan::new(U24::new(0x100 + id).unwrap(), U24::new(0x200 + id).unwrap())
}

pub fn roce_flow(id: u32) -> TransportPlan {
    flow(id, Transport::Roce(roce(id)))
}

pub fn tcp_flow(id: u32) -> TransportPlan {
    flow(id, Transport::TcpLike(TcpPlan::new(50_000 + id as u16, 9)))
}

pub fn reversed(mut plan: TransportPlan) -> TransportPlan {
    (plan.src, plan.dst) = (plan.dst, plan.src);
    (plan.src_ip, plan.dst_ip) = (plan.dst_ip, plan.src_ip);
    plan
}

/// Time of a frame of `size` bytes on the link.
pub fn on_line(size: u32) -> Duration {
    Line::new(LINK, LinePlan::ETHERNET).time_for(size)
}

pub fn station(n: usize, senders: &[TransportPlan], receivers: &[TransportPlan]) -> StationPlan {
    StationPlan {
        flow_control: FlowControl::Pfc { send: PrioritySet::EMPTY, obey: PrioritySet::ALL },
        senders: senders.to_vec(),
        receivers: receivers.to_vec(),
        ..StationPlan::new(format!("host{n}"), mac(n), LINK)
    }
}

/// Fate of a frame on its way: false if it is lost.
pub type Fate = Box<dyn FnMut(usize, &mut MemFrame) -> bool>;

/// Two stations on one link.
pub struct World {
    pub hosts: [Station<MemPort>; 2],
    pub far: [MemPort; 2],
    pub now: Instant,
    /// Time of arrival, order of sending, destination, and index in `sent`.
    wire: BinaryHeap<Reverse<(Instant, usize, usize)>>,
    /// Sent frames with their times and senders.
    pub sent: Vec<(Instant, usize, MemFrame)>,
    pub fate: Fate,
    /// True if each poll looks at everything, as after any call from outside.
    pub whole_polls: bool,
    deadlines: [Instant; 2],
}

impl World {
    pub fn new(plans: [StationPlan; 2]) -> Self {
        let ports = [(); 2].map(|()| MemPort::pair(1024));
        let far = [0, 1].map(|n: usize| ports[n].1.clone());
        let mut near = ports.into_iter().map(|(near, _)| near);
        let hosts = plans.map(|plan| Station::new(&plan, near.next().unwrap()).unwrap());
        let fate = Box::new(|_: usize, _: &mut MemFrame| true);
        let deadlines = [Instant::ZERO; 2];
        Self {
            hosts,
            far,
            now: Instant::ZERO,
            wire: BinaryHeap::new(),
            sent: vec![],
            fate,
            whole_polls: false,
            deadlines,
        }
    }

    /// Flows from A to B.
    pub fn of(flows: &[TransportPlan]) -> Self {
        Self::new([station(A, flows, &[]), station(B, &[], flows)])
    }

    fn settle(&mut self) {
        loop {
            let mut progressed = false;
            for n in [A, B] {
                if self.whole_polls {
                    self.hosts[n].stop_streams(&[]);
                }
                let next = self.hosts[n].poll(self.now);
                assert!(next.progressed || next.deadline > self.now, "a deadline that has passed");
                progressed |= next.progressed;
                self.deadlines[n] = next.deadline;
                for mut frame in self.far[n].take() {
                    let arrival = self.now + on_line(frame.wire_len()) + DELAY;
                    if (self.fate)(n, &mut frame) {
                        self.wire.push(Reverse((arrival, self.sent.len(), 1 - n)));
                    }
                    self.sent.push((self.now, n, frame));
                }
            }
            if !progressed {
                return;
            }
        }
    }

    /// Runs up to `end`, where the stations are polled as well.
    pub fn run_to(&mut self, end: Instant) {
        loop {
            while let Some(&Reverse((time, i, n))) = self.wire.peek() {
                if time > self.now {
                    break;
                }
                self.wire.pop();
                self.far[n].give(self.sent[i].2.clone());
            }
            self.settle();
            if self.now >= end {
                return;
            }
            let arrival = self.wire.peek().map_or(Instant::NEVER, |Reverse((time, ..))| *time);
            self.now = arrival.min(self.deadlines[A]).min(self.deadlines[B]).min(end);
        }
    }

    pub fn pfc(&mut self, n: usize, p: u8, quanta: u16) {
        let mut repr = pfc::Repr::new(mac(1 - n));
        repr.set(priority(p), Quanta(quanta));
        let mut octets = [0; mac_control::FRAME_LEN];
        mac_control::Repr::Pfc(repr).emit(&mut octets).unwrap();
        self.far[n].give(MemFrame::new(&octets));
    }

    pub fn snapshots(&self) -> [StationSnapshot; 2] {
        [A, B].map(|n| self.hosts[n].snapshot(self.now))
    }

    /// Frames that left `n` with this RoCEv2 opcode.
    pub fn with_opcode(&self, n: usize, opcode: Opcode) -> Vec<(Instant, Vec<u8>)> {
        let of = |f: &MemFrame| bth(f.head()).is_some_and(|b| b.opcode == opcode);
        let found = self.sent.iter().filter(|(_, from, f)| *from == n && of(f));
        found.map(|(t, _, f)| (*t, f.head().to_vec())).collect()
    }
}

/// The UDP payload of a frame.
pub fn datagram(frame: &[u8]) -> Option<&[u8]> {
    let walk = vlan::walk(frame).ok()?;
    let packet = ip::View::new(walk.ethertype, &frame[walk.l3..]).ok()?;
    let upper = packet.upper().ok()?;
    let datagram = (upper.protocol == ip::Protocol::UDP).then(|| udp::View::new(upper.payload))?;
    Some(datagram.ok()?.payload())
}

pub fn bth(frame: &[u8]) -> Option<roce::Repr> {
    roce::Repr::parse(datagram(frame)?).ok()
}
