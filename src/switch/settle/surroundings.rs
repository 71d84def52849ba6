//! What follows from what neighbours say that they are: the switch's level and its ports' places, where
//! congestion at a port is, the peers of congestion isolation, and the hosts that need no proxy.

use super::{Refused, Settler, StepKind};
use crate::congestion::isolation::{CimType, Peer};
use crate::discovery::{
    CongestionIsolation, Device, Recognition, SourceFlowControl, Surroundings, Topology,
    TopologyPlan,
};
use crate::switch::{Attached, AttachedKind, Change, SwitchPlan};
use crate::time::Instant;
use crate::units::PortId;
use crate::wire::sfcm::Locator;

/// What was heard at one port, and what the switch was told of it.
#[derive(Clone, Copy, Debug)]
struct Told {
    heard: Surroundings,
    /// What is planned to be there.
    attached: Attached,
    /// What the port says of its place, if that is found.
    topology: Option<Topology>,
    locator: Locator,
    peer: Option<Peer>,
    obeys: bool,
    /// The UDP port at which a host would obey them, where that is another.
    elsewhere: Option<u16>,
    /// What the port says of congestion isolation and of source flow control.
    said: Said,
}

type Said = (Option<CongestionIsolation>, Option<SourceFlowControl>);

/// What is known of the other ends of all ports.
#[derive(Clone, Debug)]
pub(super) struct Around {
    recognition: Recognition,
    told: Vec<Told>,
}

impl Around {
    pub(super) fn new(plan: &SwitchPlan) -> Self {
        let ids = || (0..plan.ports.len()).filter_map(|n| PortId::new(n as u16));
        let kind = |port| match plan.agents_told(port)?.dcbx?.topology? {
            TopologyPlan::Recognized(device) => Some(device),
            TopologyPlan::Fixed(_) => None,
        };
        let device = ids().find_map(kind).unwrap_or(Device::Bridge);
        let recognition = Recognition::new(device, plan.ports.len());
        let told = |port: PortId| Told {
            heard: Surroundings::default(),
            attached: plan.congestion.attached(port),
            topology: kind(port).map(|_| recognition.said(port.index())),
            locator: plan.congestion.locator(port),
            peer: None,
            obeys: false,
            elsewhere: None,
            said: said(plan, port),
        };
        Self { told: ids().map(told).collect(), recognition }
    }
}

/// What a port says by the plan.
fn said(plan: &SwitchPlan, port: PortId) -> Said {
    let dcbx = plan.agents_told(port).and_then(|agents| agents.dcbx);
    dcbx.map_or((None, None), |dcbx| (dcbx.isolation, dcbx.sfc))
}

impl Settler {
    /// Does what follows from managed objects that were written: neighbours are told what the plan says
    /// now, and what they said is judged by it.
    pub(super) fn announce(
        &mut self,
        now: Instant,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        for n in 0..self.around.told.len() {
            let port = PortId::new(n as u16).expect("a port of the plan");
            let (said, attached) = (said(&self.plan, port), self.plan.congestion.attached(port));
            let told = &mut self.around.told[n];
            let (isolation, sfc) = said;
            if told.said != said && apply(Change::Said { port, isolation, sfc }).is_ok() {
                told.said = said;
            }
            if told.attached != attached {
                // The switch went by the plan again as that was written.
                let locator = self.plan.congestion.locator(port);
                *told = Told { attached, locator, obeys: false, elsewhere: None, ..*told };
            }
            let heard = told.heard;
            self.place(now, port, heard.place.as_ref(), apply);
            self.attach(now, port, heard.sfc.as_ref(), apply);
        }
    }

    pub(super) fn surrounded(
        &mut self,
        now: Instant,
        port: PortId,
        heard: &Surroundings,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        self.around.told[port.index()].heard = *heard;
        self.around.recognition.hear(port.index(), heard.place);
        self.place(now, port, heard.place.as_ref(), apply);
        self.enter_peer(now, port, heard.isolation.as_ref(), apply);
        self.attach(now, port, heard.sfc.as_ref(), apply);
    }

    /// The level of a switch is every port's business.
    fn place(
        &mut self,
        now: Instant,
        port: PortId,
        peer: Option<&Topology>,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let mut another = false;
        for (at, told) in self.around.told.iter_mut().enumerate() {
            let topology = self.around.recognition.said(at);
            let id = PortId::new(at as u16).expect("a port of the plan");
            if told.topology.is_some_and(|old| old != topology)
                && apply(Change::Topology { port: id, topology }).is_ok()
            {
                told.topology = Some(topology);
                another |= id == port;
            }
        }
        let told = &mut self.around.told[port.index()];
        let locator = self.plan.congestion.locator_by(port, peer);
        if told.locator != locator
            && self.plan.congestion.sfc.is_some()
            && apply(Change::Locator { port, locator }).is_ok()
        {
            told.locator = locator;
            another = true;
        }
        if another {
            let (own, locator) = (self.around.recognition.said(port.index()), told.locator);
            self.tell(now, port, StepKind::Place { own, peer: peer.copied(), locator });
        }
    }

    /// The peer of congestion isolation, where none is configured.
    fn enter_peer(
        &mut self,
        now: Instant,
        port: PortId,
        heard: Option<&CongestionIsolation>,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let Some(isolation) = &self.plan.congestion.isolation else { return };
        let configured = isolation.peers.iter().any(|(of, _)| *of == port);
        let told = &mut self.around.told[port.index()];
        let peer = heard.map(peer_of);
        if configured || told.peer == peer {
            return;
        }
        let kind = match apply(Change::Peer { port, peer }) {
            Ok(()) => {
                told.peer = peer;
                StepKind::Peered(peer)
            }
            Err(Refused::Now(why) | Refused::Never(why)) => StepKind::PeerRefused { why },
        };
        self.tell(now, port, kind);
    }

    /// Whether a host needs the proxy, where that is for it to say. What it says never makes a switch of
    /// it, whose messages would be believed.
    fn attach(
        &mut self,
        now: Instant,
        port: PortId,
        heard: Option<&SourceFlowControl>,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let congestion = &self.plan.congestion;
        let Some(proxy) = &congestion.proxy else { return };
        if congestion.attached(port).kind != AttachedKind::Discovered {
            return;
        }
        let (expected, told) = (proxy.udp_port, &mut self.around.told[port.index()]);
        let obeys = heard.is_some_and(|sfc| sfc.obeys() && sfc.udp_port == expected);
        let elsewhere = heard.filter(|sfc| sfc.obeys() && !obeys).map(|sfc| sfc.udp_port);
        let news = elsewhere.filter(|_| told.elsewhere != elsewhere);
        told.elsewhere = elsewhere;
        let mut kind = news.map(|port| StepKind::SfcElsewhere { port, expected });
        if obeys != told.obeys && apply(Change::SfcHost { port, obeys }).is_ok() {
            told.obeys = obeys;
            kind = kind.or(Some(StepKind::SfcHost { obeys }));
        }
        if let Some(kind) = kind {
            self.tell(now, port, kind);
        }
    }
}

/// The entry of the CI Peer Table (802.1Qcz 49.3.6) that a TLV makes.
const fn peer_of(said: &CongestionIsolation) -> Peer {
    use core::net::IpAddr::{V4, V6};
    let (cim_type, ipv4, ipv6) = match said.address {
        None => (CimType::L2, None, None),
        Some(V4(address)) => (CimType::Ipv4, Some(address), None),
        Some(V6(address)) => (CimType::Ipv6, None, Some(address)),
    };
    let (mac, udp_port, encap_len) = (said.mac, said.udp_port, said.encapsulation);
    Peer { cim_type, mac, ipv4, ipv6, udp_port, encap_len }
}
