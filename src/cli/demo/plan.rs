//! Parameters of the demo, and the calculation that excludes the loss of a lossless frame.

use crate::buffer::{Alpha, BufferPlan, GroupKind, GroupPlan, SharedLimit};
use crate::frame::{BURST, LINE_OVERHEAD_BYTES};
use crate::host::{COMMITTED_MAX, FlowId, FlowPlan, Headers, Rate, StationPlan, Tag, Udp};
use crate::pfc::{FlowControl, PfcPlan};
use crate::schedule::{ClassPlan, LinePlan, SchedulePlan};
use crate::switch::{
    BridgePlan, ClassifyPlan, CongestionPlan, PortPlan, RoutingPlan, StaticEntry, SwitchPlan,
    Trust, VlanMember, VlanPlan,
};
use crate::time::{Duration, Instant};
use crate::units::{
    BitsPerSec, Bytes, Cells, Dscp, Mac, PRIORITIES, Pcp, PortId, Priority, PriorityGroup,
    PrioritySet, Quanta, TrafficClass, Vid,
};
use crate::wire::ip::Ecn;

/// Priority that PFC protects.
pub(super) const LOSSLESS: Priority = Priority::ALL[3];
/// Priority that may lose frames.
pub(super) const LOSSY: Priority = Priority::ALL[0];

/// Time in which a ring between a host and the switch fills. The ring is the cable: frames in it
/// have been sent and have not arrived. Long enough for the two threads to alternate on a busy
/// machine.
const CABLE: Duration = Duration::from_millis(2);
/// Range of a ring's length in frames.
const RING: [u32; 2] = [64, 1024];

/// Bytes per cell.
const CELL: u32 = 256;
/// Size of the shared pool, as the time in which a link carries as much ...
const SHARED: Duration = Duration::from_millis(4);
/// ... limited to this range, in bytes.
const SHARED_BYTES: [u64; 2] = [256 << 10, 4 << 20];
/// Load of all senders on the lossy priority, in millionths of the receiver's link. More than the
/// half that it gets there, so that frames are lost.
const LOSSY_OFFER: u32 = 600_000;
/// Time of the first frames, at which both threads have started.
pub(super) const START: Instant = Instant::from_picos(10_000_000_000);

/// Parameters of the demo.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup {
    /// Hosts that send; one more receives.
    pub(super) senders: u16,
    /// Rate of every link.
    pub(super) rate: BitsPerSec,
    /// Bytes per frame, FCS included.
    pub(super) size: u32,
    /// Time for which the hosts send.
    pub(super) send_for: Duration,
}

impl Setup {
    /// Ports of the switch; the last is the receiver's.
    pub(super) const fn ports(&self) -> u16 {
        self.senders + 1
    }

    /// Frames that a ring between a host and the switch holds.
    pub(super) fn ring(&self) -> u32 {
        let frames = CABLE.as_picos() / self.on_line().as_picos();
        (frames as u32).clamp(RING[0], RING[1])
    }

    /// Time of a frame on the line, preamble and gap included.
    const fn on_line(&self) -> Duration {
        self.rate.time_for(Bytes((self.size + LINE_OVERHEAD_BYTES) as u64))
    }

    /// Shared pool while PFC is on, in cells.
    fn shared(&self) -> Cells {
        let Bytes(n) = self.rate.bytes_in(SHARED);
        Cells(n.clamp(SHARED_BYTES[0], SHARED_BYTES[1]) as u32 / CELL)
    }

    /// Shared pool in bytes; without PFC it includes the headroom.
    pub(super) fn shared_bytes(&self, pfc: bool) -> u64 {
        let headroom = if pfc { 0 } else { self.headroom_bytes() * u64::from(self.senders) };
        u64::from(self.shared().0 * CELL) + headroom
    }

    const fn frame_cells(&self) -> u32 {
        self.size.div_ceil(CELL)
    }

    /// Frames of one sender that can still be admitted after its group went to XOFF, however late
    /// either thread is polled:
    /// - the rest of the burst that the switch was admitting, the frame that crossed the threshold
    ///   included;
    /// - the frames in the ring when the PFC frame was queued, at the end of the same poll (PFC
    ///   frames never wait for the link: `shaper_burst` covers them, and the ring to a sender
    ///   carries no other frames);
    /// - the frames that the host's current poll sends: every later poll reads the PFC frame first.
    ///
    /// More cannot arrive, because the pause does not expire: see [`Self::leash`].
    pub(super) fn in_flight(&self) -> u32 {
        BURST as u32 + self.ring() + COMMITTED_MAX as u32
    }

    /// Headroom of one sender's lossless group: every frame in flight, in whole cells.
    pub(super) fn headroom(&self) -> Cells {
        Cells(self.in_flight() * self.frame_cells())
    }

    /// Headroom in bytes.
    pub(super) fn headroom_bytes(&self) -> u64 {
        u64::from(self.headroom().0 * CELL)
    }

    /// Reserved cells of each group: two frames.
    const fn reserved(&self) -> Cells {
        Cells(2 * self.frame_cells())
    }

    /// Longest possible pause, refreshed after half its time.
    const fn pfc(&self, mode: FlowControl) -> PfcPlan {
        PfcPlan { mode, quanta: Quanta::MAX, refresh: Quanta::MAX.at(self.rate).div(2) }
    }

    /// Largest difference between the clocks of switch and hosts.
    ///
    /// A PFC frame was read when the host's clock was at most this much behind the switch's, and
    /// until it is refreshed, half the pause time later, the host's clock is at most this much
    /// ahead. So the pause does not expire if the difference is at most a quarter of its time. A
    /// thread that runs alone for this time fills at most half of a ring, so that no link is idle
    /// for lack of space.
    pub(super) fn leash(&self) -> Duration {
        let pause = Quanta::MAX.at(self.rate);
        pause.div(4).min(self.on_line().saturating_mul(self.ring().into()).div(2))
    }

    /// Catch-up of a link's shaper after a gap between two polls: the longest gap's bytes.
    fn shaper_burst(&self) -> Bytes {
        self.rate.bytes_in(self.leash())
    }

    /// Largest number of frames in existence: all that the buffer admits, full rings, and the
    /// bursts of hosts and switch. A pool of this size is never empty before the ledger refuses.
    pub(super) fn frames_max(&self) -> u32 {
        let ports = self.ports() as u32;
        let hands = ports * (4 * BURST as u32 + COMMITTED_MAX as u32);
        self.buffer_cells().0 / self.frame_cells() + ports * 2 * self.ring() + hands
    }

    fn buffer_cells(&self) -> Cells {
        let reserved = 2 * self.reserved().0 * u32::from(self.ports());
        Cells(self.shared().0 + reserved + self.headroom().0 * u32::from(self.senders))
    }

    /// Plan of the switch, with PFC on or off.
    pub(super) fn switch(&self, pfc: bool) -> SwitchPlan {
        let receiver = self.senders;
        SwitchPlan {
            name: "demo".into(),
            ports: (0..self.ports()).map(|n| self.port(n, pfc)).collect(),
            buffer: BufferPlan {
                cell_bytes: CELL,
                total: self.buffer_cells(),
                groups: (0..self.ports()).map(|n| self.groups(pfc && n != receiver)).collect(),
                slack: Cells(0),
            },
            bridge: BridgePlan {
                shortcuts: BridgePlan::SHORTCUTS,
                table_size: 64,
                port_limit: BridgePlan::NO_LIMIT,
                ageing: Duration::from_secs(300),
                // The receiver never sends, so its address could not be learnt.
                statics: vec![StaticEntry { vid: VID, mac: host(receiver), port: port(receiver) }],
            },
            routing: RoutingPlan::default(),
            congestion: CongestionPlan::default(),
            max_frame: self.size,
            seed: 1,
        }
    }

    fn port(&self, n: u16, pfc: bool) -> PortPlan {
        let send = if n == self.senders { PrioritySet::EMPTY } else { PrioritySet::of(LOSSLESS) };
        let mode = FlowControl::Pfc { send, obey: PrioritySet::of(LOSSLESS) };
        PortPlan {
            name: if n == self.senders { "receiver".into() } else { format!("sender{n}") },
            mac: Mac([0x02, 0, 0, 0, 1, n as u8]),
            rate: self.rate,
            shaped: true,
            classify: ClassifyPlan {
                trust: Trust::Pcp,
                pcp: Priority::ALL,
                dscp: [LOSSY; 64],
                default: LOSSY,
                group: PriorityGroup::ALL,
                class: TrafficClass::ALL,
            },
            pfc: self.pfc(if pfc { mode } else { FlowControl::Off }),
            watchdog: [None; PRIORITIES],
            schedule: SchedulePlan {
                // Equal weights for all priorities.
                classes: [ClassPlan::Dwrr { weight: 1 }; PRIORITIES],
                shaper_burst: self.shaper_burst(),
                line: LinePlan::ETHERNET,
            },
            ecn: [None; PRIORITIES],
            queue_limits: [SharedLimit::Unlimited; PRIORITIES],
            vlan: VlanPlan { pvid: None, members: vec![VlanMember { vid: VID, tagged: true }] },
            agents: None,
            secy: None,
        }
    }

    /// Groups of one port: each may use as much of the pool as is free.
    fn groups(&self, lossless: bool) -> [GroupPlan; PRIORITIES] {
        let limit = SharedLimit::Dynamic(Alpha::new(0).expect("0 is in range"));
        let lossy = GroupPlan { reserved: Cells(0), limit, kind: GroupKind::Lossy };
        let mut groups = [lossy; PRIORITIES];
        groups[LOSSY.index()].reserved = self.reserved();
        groups[LOSSLESS.index()].reserved = self.reserved();
        if lossless {
            // A quarter of a group's use when every group is at its limit.
            let xon_offset = Cells(self.shared().0 / (2 * u32::from(self.senders) + 1) / 4);
            let headroom = self.headroom();
            groups[LOSSLESS.index()].kind =
                GroupKind::Lossless { headroom, xon: Cells(0), xon_offset };
        }
        groups
    }

    /// Plans of the hosts, the receiver last.
    pub(super) fn stations(&self, pfc: bool) -> Vec<StationPlan> {
        (0..self.ports()).map(|n| self.station(n, pfc)).collect()
    }

    fn station(&self, n: u16, pfc: bool) -> StationPlan {
        let obeys = FlowControl::Pfc { send: PrioritySet::EMPTY, obey: PrioritySet::of(LOSSLESS) };
        let receives = n == self.senders;
        StationPlan {
            flow_control: if pfc { obeys } else { FlowControl::Off },
            shaper_burst: self.shaper_burst(),
            backlog: self.leash(),
            flows: if receives { vec![] } else { self.flows(n) },
            expects: if receives { (0..self.senders).flat_map(flow_ids).collect() } else { vec![] },
            ..StationPlan::new(format!("host{n}"), host(n), self.rate)
        }
    }

    /// The two flows of sender `n`, which together fill its link.
    fn flows(&self, n: u16) -> Vec<FlowPlan> {
        let lossy = LOSSY_OFFER / u32::from(self.senders);
        let shares = [(LOSSLESS, 1_000_000 - lossy), (LOSSY, lossy)];
        let flow = |(id, (priority, share)): (FlowId, (Priority, u32))| FlowPlan {
            id,
            src: host(n),
            dst: host(self.senders),
            tag: Some(Tag {
                vid: Some(VID),
                pcp: Pcp::new(priority.get()).expect("both are 0 to 7"),
            }),
            priority,
            headers: Headers::Udp4(Udp {
                src: [10, 0, 0, 1 + n as u8].into(),
                dst: [10, 0, 0, 1 + self.senders as u8].into(),
                src_port: 49_152 + id.0 as u16,
                dst_port: DISCARD,
                dscp: Dscp::MIN,
                ecn: Ecn::NotEct,
            }),
            size: self.size,
            rate: Rate::LineShare(share),
            start: START,
            stop: START.saturating_add(self.send_for),
            frames: None,
        };
        flow_ids(n).into_iter().zip(shares).map(flow).collect()
    }
}

/// VLAN of all hosts.
const VID: Vid = match Vid::new(100) {
    Some(vid) => vid,
    None => unreachable!(),
};

/// UDP port of the discard service (RFC 863).
const DISCARD: u16 = 9;

/// Flows of sender `n`: lossless, lossy.
fn flow_ids(n: u16) -> [FlowId; 2] {
    [FlowId(u32::from(n) * 2), FlowId(u32::from(n) * 2 + 1)]
}

const fn host(n: u16) -> Mac {
    Mac([0x02, 0, 0, 0, 0, n as u8])
}

pub(super) fn port(n: u16) -> PortId {
    PortId::new(n).expect("a demo has few ports")
}
