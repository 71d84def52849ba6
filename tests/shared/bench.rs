//! A station alone on its link, in virtual time: its frames with their times, and pauses for it.

use sluice::frame::Frame;
use sluice::host::plan::stream::{Limit, Pace, Path, Payload, Sizes, StreamPlan, TemplatePlan};
use sluice::host::probe::{Arrival, Probe};
use sluice::host::{FlowId, FlowPlan, Headers, Rate, Station, StationPlan, Udp};
use sluice::pfc::FlowControl;
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Dscp, Mac, Priority, PrioritySet, Quanta};
use sluice::wire::ip::Ecn;
use sluice::wire::{mac_control, pfc, vlan};

use crate::mem_port::{MemFrame, MemPort};

/// Addresses of the station and of the far end.
pub const HOST: Mac = Mac([2, 0, 0, 0, 0, 1]);
pub const PEER: Mac = Mac([2, 0, 0, 0, 0, 2]);
pub const LINK: BitsPerSec = BitsPerSec::gbps(10);
/// The whole link.
pub const LINE: Rate = Rate::LineShare(1_000_000);

pub fn priority(n: u8) -> Priority {
    Priority::new(n).unwrap()
}

/// A station without flows that obeys PFC of these priorities.
pub fn obeying(priorities: &[u8]) -> StationPlan {
    let obey = priorities.iter().map(|p| priority(*p)).collect();
    StationPlan {
        flow_control: FlowControl::Pfc { send: PrioritySet::EMPTY, obey },
        ..StationPlan::new("host", HOST, LINK)
    }
}

/// A flow of frames of 1,000 bytes in priority 3, at the rate of its link.
pub fn flow(id: u32, headers: Headers) -> FlowPlan {
    FlowPlan {
        id: FlowId(id),
        src: HOST,
        dst: PEER,
        tag: None,
        priority: priority(3),
        headers,
        size: 1_000,
        rate: LINE,
        start: Instant::ZERO,
        stop: Instant::NEVER,
        frames: None,
    }
}

/// UDP from one port of the first address to another of the second.
pub fn udp(v6: bool, src_port: u16, dst_port: u16) -> Headers {
    let (dscp, ecn) = (Dscp::MIN, Ecn::NotEct);
    if v6 {
        let [src, dst] = ["fd00::1", "fd00::2"].map(|address| address.parse().unwrap());
        return Headers::Udp6(Udp { src, dst, src_port, dst_port, dscp, ecn });
    }
    let [src, dst] = [1, 2].map(|n| [10, 0, 0, n].into());
    Headers::Udp4(Udp { src, dst, src_port, dst_port, dscp, ecn })
}

/// A stream of the generator with these headers and a probe, of frames of `size` bytes with FCS.
pub fn stream(id: u32, headers: Vec<u8>, probe_at: u16, size: u32, rate: Rate) -> StreamPlan {
    StreamPlan {
        id: FlowId(id),
        path: Path::Data(priority(3)),
        template: TemplatePlan {
            headers,
            payload: Payload::Zero,
            edits: vec![],
            lengths: vec![],
            checksums: vec![],
            probe_at: Some(probe_at),
            run: 0,
        },
        recording: None,
        sizes: Sizes::Fixed(size),
        pace: Pace { rate, gap: 12, burst: None },
        limit: Limit::default(),
        delay: Duration::ZERO,
        seed: 7,
    }
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

    /// Goes up to `end` and polls at these times, too, all in picoseconds. What is given at a time arrives
    /// between two polls, as on a link, and in one order whatever the polls are.
    pub fn run_with<T: Copy + Ord>(
        &mut self,
        polls: &[u64],
        given: impl IntoIterator<Item = (u64, T)>,
        end: u64,
        mut give: impl FnMut(&mut Self, T),
    ) {
        let mut stops: Vec<_> = polls.iter().map(|ps| (*ps, None)).collect();
        stops.extend(given.into_iter().map(|(ps, what)| (ps, Some(what))));
        stops.push((end, None));
        stops.sort_by_key(|(ps, what)| (*ps, what.is_none(), *what));
        for (ps, what) in stops {
            let stop = Instant::from_picos(ps.into());
            if let Some(what) = what {
                let before = Instant::from_picos(ps.saturating_sub(1).into());
                self.run_to(before.max(self.now));
                self.now = self.now.max(stop);
                give(self, what);
            }
            self.run_to(stop.max(self.now));
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
