//! A station alone on its link, in virtual time: its frames with their times, and pauses for it.

use sluice::frame::Frame;
use sluice::host::probe::{Arrival, Probe};
use sluice::host::{FlowId, Station, StationPlan};
use sluice::time::Instant;
use sluice::units::{Mac, Priority, Quanta};
use sluice::wire::{mac_control, pfc, vlan};

use crate::mem_port::{MemFrame, MemPort};

/// Address of the far end.
pub const PEER: Mac = Mac([2, 0, 0, 0, 0, 2]);

pub fn priority(n: u8) -> Priority {
    Priority::new(n).unwrap()
}

/// A station, the far end of its link, and the frames it sent with their times.
pub struct Bench {
    pub host: Station<MemPort>,
    pub far: MemPort,
    pub now: Instant,
    pub sent: Vec<(Instant, MemFrame)>,
}

impl Bench {
    pub fn new(plan: &StationPlan) -> Self {
        let (near, far) = MemPort::pair(1024);
        let host = Station::new(plan, near).unwrap();
        Self { host, far, now: Instant::ZERO, sent: vec![] }
    }

    /// Polls until nothing moves, and returns the time of the next poll.
    pub fn settle(&mut self) -> Instant {
        loop {
            let next = self.host.poll(self.now);
            self.sent.extend(self.far.take().into_iter().map(|f| (self.now, f)));
            if !next.progressed {
                assert!(next.deadline > self.now, "a deadline that has passed");
                return next.deadline;
            }
        }
    }

    /// Goes from deadline to deadline up to `end`, where the station is polled as well.
    pub fn run_to(&mut self, end: Instant) {
        loop {
            let deadline = self.settle();
            if self.now >= end {
                return;
            }
            self.now = deadline.min(end);
        }
    }

    pub fn pfc(&mut self, p: u8, quanta: u16) {
        let mut repr = pfc::Repr::new(PEER);
        repr.set(priority(p), Quanta(quanta));
        self.control(mac_control::Repr::Pfc(repr));
    }

    pub fn control(&mut self, repr: mac_control::Repr) {
        let mut octets = [0; mac_control::FRAME_LEN];
        repr.emit(&mut octets).unwrap();
        self.far.give(MemFrame::new(&octets));
    }

    /// Times at which frames of flow `id` left.
    pub fn times(&self, id: u32) -> Vec<Instant> {
        let of = |f: &MemFrame| probe(f).is_some_and(|p| p.flow == FlowId(id));
        self.sent.iter().filter(|(_, f)| of(f)).map(|(t, _)| *t).collect()
    }
}

pub fn probe(frame: &MemFrame) -> Option<Probe> {
    Arrival::find(frame.head(), &vlan::walk(frame.head()).ok()?).map(|a| a.probe)
}
