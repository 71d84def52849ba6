//! A switch on ports in memory for tests, and plans for it.

pub use contracts::memory::{MemFrame, MemPort, frame};

use super::managed::{At, Object};
use super::{Change, Switch, SwitchPlan};
use crate::*;
use buffer::{Alpha, BufferPlan, GroupKind, GroupPlan, SharedLimit};
use congestion::isolation::{IsolationPlan, MapReading, QueueMap};
use congestion::proxy::{PausePolicy, Senders};
use congestion::sfc::SfcPlan;
use contracts::frame::Frame;
use contracts::port::Secured;
use contracts::world::{Alone, Events, World};
use ground::time::{Duration, Instant};
use ground::units::*;
use headroom::{DelayInputs, Formula, Interface, Phy, SoftwareTerms};
use link::{AgentsPlan, AutoPlan, Method, Preference, Statistic};
use pfc::{FlowControl, PfcPlan};
use wire::headroom::Adjustment;
use wire::{cim, mac_control, sfcm};

pub struct TestWorld<E = ()>(core::marker::PhantomData<E>);

impl<E: Events> World for TestWorld<E> {
    type Frame = MemFrame;
    type Port = Secured<MemPort>;
    type Events = E;
    type Handoff = Alone;
}

pub fn port(n: u16) -> PortId {
    PortId::new(n).unwrap()
}

pub fn host(n: u8) -> Mac {
    Mac([2, 0, 0, 0, 1, n])
}

/// The default plan of a 10 Gb/s port: trusts the PCP, priority 3 is lossless, VLAN 1 untagged.
pub fn port_plan(n: u16) -> PortPlan {
    let lossless = PrioritySet::of(Priority::ALL[3]);
    PortPlan {
        pfc: PfcPlan {
            mode: FlowControl::Pfc { send: lossless, obey: lossless },
            quanta: Quanta::MAX,
            refresh: Duration::from_micros(1_000),
        },
        ..PortPlan::new(format!("p{n}"), Mac([2, 0, 0, 0, 0, n as u8]), BitsPerSec::gbps(10))
    }
}

/// The default groups: 3 is lossless with `headroom` cells, the others lossy; alpha 1.
pub fn groups(headroom: u32) -> [GroupPlan; 8] {
    core::array::from_fn(|g| GroupPlan {
        reserved: Cells(0),
        limit: SharedLimit::Dynamic(Alpha::new(0).unwrap()),
        kind: match g {
            3 => GroupKind::Lossless {
                headroom: Cells(headroom),
                xon: Cells(0),
                xon_offset: Cells(8),
            },
            _ => GroupKind::Lossy,
        },
    })
}

/// A switch of `n` such ports with cells of 64 bytes.
pub fn plan(n: u16) -> SwitchPlan {
    let buffer = BufferPlan {
        cell_bytes: 64,
        total: Cells(4096),
        groups: (0..n).map(|_| groups(200)).collect(),
        slack: Cells(0),
    };
    let bridge = BridgePlan { table_size: 256, ..BridgePlan::default() };
    SwitchPlan { bridge, ..SwitchPlan::new("test", (0..n).map(port_plan).collect(), buffer) }
}

/// Link protocols of a port, none of which runs.
pub fn agents(mac: Mac, rate: BitsPerSec) -> AgentsPlan {
    AgentsPlan { mac, rate, lldp: None, dcbx: None, measure: None, peer_delay: None, auto: None }
}

/// Headroom by round trips over links of 100 Gb/s, for cells of 64 bytes.
pub fn auto() -> AutoPlan {
    AutoPlan {
        link: DelayInputs::standard(Interface::plain(Phy::Base100R)),
        software: SoftwareTerms::default(),
        cell_bytes: 64,
        methods: Preference::only(Method::RoundTrip),
        statistic: Statistic::Max,
        formula: Formula::Full,
        adjustment: Adjustment::default(),
        invocation: Duration::ZERO,
        shims: None,
        stated: Cells(0),
        limit: Cells(u32::MAX),
        wait: Duration::from_secs(3),
    }
}

/// All congestion functions but QCN and fast CNP: class 3 is monitored, its congesting flows go to
/// class 5, and no neighbour is configured.
pub fn congestion() -> CongestionPlan {
    let dscp = Dscp::new(48).unwrap();
    let map = QueueMap::new([0, 0, 0, -6, 0, 4, 0, 0], MapReading::Partner).unwrap();
    CongestionPlan {
        sfc: Some(SourceFlowControlPlan {
            point: SfcPlan { enabled: true, ..SfcPlan::default() },
            transmit_priority: Priority::ALL[7],
            dscp: Some(dscp),
            form: SfcmForm::Simplified,
            min_header_octets: 64,
            unknown: UnknownHost::Drop,
            from: SfcmFrom::Swapped,
            mac: None,
            ipv4: None,
            ipv6: None,
            monitors: vec![],
        }),
        isolation: Some(CongestionIsolationPlan {
            machine: IsolationPlan { enabled: true, map, ..IsolationPlan::default() },
            cim_tx_priority: Priority::ALL[6],
            dscp: Some(dscp),
            min_header_octets: 48,
            watches: vec![],
            points: vec![],
            peers: vec![],
            dialect: cim::Dialect::default(),
        }),
        proxy: Some(SfcProxyPlan {
            udp_port: sfcm::PORT_DEFAULT,
            unknown: UnknownHost::Drop,
            max_flow_life: Duration::from_secs(1),
            fabric: Senders::Anybody,
            hosts: Senders::Nobody,
            policy: PausePolicy::standard(),
            cache: None,
        }),
        ..CongestionPlan::default()
    }
}

/// A frame from `src` that pauses one priority.
pub fn pause(src: Mac, priority: Priority, quanta: u16) -> Vec<u8> {
    let mut repr = wire::pfc::Repr::new(src);
    repr.set(priority, Quanta(quanta));
    let mut octets = vec![0; mac_control::FRAME_LEN];
    repr.emit(&mut octets).unwrap();
    octets
}

/// Writes a managed object.
pub fn object(name: &str, at: At, value: &str) -> Change {
    let object = Object::named(name).unwrap();
    let value = object.kind().read(value).unwrap();
    Change::Object { object, at, value }
}

/// A switch with one worker that a test steps by hand.
pub struct Lab<E: Events = ()> {
    pub switch: Switch<TestWorld<E>>,
    pub ports: u16,
    pub now: Instant,
}

impl<E: Events + Default> Lab<E> {
    pub fn new(plan: &SwitchPlan) -> Self {
        let at = |(n, plan): (u16, &PortPlan)| {
            (port(n), Secured::new(MemPort::endless(), plan.secy.as_deref()).unwrap())
        };
        let ports = (0..).zip(&plan.ports).map(at).collect();
        let switch = Switch::new(plan, ports, Alone::default(), E::default()).unwrap();
        Self { switch, ports: plan.ports.len() as u16, now: Instant::ZERO }
    }

    pub fn port(&mut self, n: u16) -> &mut MemPort {
        self.switch.port_mut(port(n)).unwrap().port_mut()
    }

    pub fn inject(&mut self, n: u16, octets: &[u8]) {
        self.port(n).rx.push_back(MemFrame::new(octets));
    }

    pub fn inject_all(&mut self, n: u16, frames: impl IntoIterator<Item = impl AsRef<[u8]>>) {
        frames.into_iter().for_each(|octets| self.inject(n, octets.as_ref()));
    }

    /// Frames arrive at once, with all of their consequences.
    pub fn deliver_all(&mut self, n: u16, frames: impl IntoIterator<Item = impl AsRef<[u8]>>) {
        self.inject_all(n, frames);
        self.poll_until_idle();
    }

    /// A port that was stopped sends again.
    pub fn open(&mut self, n: u16) {
        self.port(n).room = usize::MAX;
        self.poll_until_idle();
    }

    /// A frame arrives, with all of its consequences.
    pub fn deliver(&mut self, n: u16, octets: &[u8]) {
        self.inject(n, octets);
        self.poll_until_idle();
    }

    /// The switch learns that a host is behind a port.
    pub fn learn(&mut self, n: u16, of: u8) {
        self.deliver(n, &frame(host(99), host(of), None, 60));
        self.clear();
    }

    /// Writes a managed object.
    pub fn write(&mut self, name: &str, at: At, value: &str) {
        self.switch.apply(self.now, object(name, at, value)).unwrap();
    }

    /// Polls at the present time until nothing more happens.
    pub fn poll_until_idle(&mut self) -> Instant {
        loop {
            let next = self.switch.poll(self.now);
            if !next.progressed {
                return next.deadline;
            }
        }
    }

    pub fn advance(&mut self, d: Duration) {
        self.now += d;
        self.poll_until_idle();
    }

    /// Removes and returns the frames that a port has sent.
    pub fn sent(&mut self, n: u16) -> Vec<Vec<u8>> {
        self.port(n).tx.drain(..).map(|f| f.head().to_vec()).collect()
    }

    /// Removes the frames that all ports have sent.
    pub fn clear(&mut self) {
        (0..self.ports).for_each(|n| drop(self.sent(n)));
    }

    pub fn check(&mut self) {
        let snapshot = self.switch.snapshot(self.now);
        let balance = snapshot.balance();
        assert!(balance.holds(), "frames lost without a name: {balance:?} {snapshot:?}");
        self.switch.ledger().check();
    }

    pub fn drops(&mut self) -> Vec<(&'static str, u64)> {
        let now = self.now;
        self.switch.snapshot(now).drops().iter().map(|(r, n)| (r.name(), n)).collect()
    }
}
