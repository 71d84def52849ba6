//! Reconciliation of neighbour information: the switch's level and its ports' places, congestion
//! locators, peers of congestion isolation, and hosts that need no proxy.

use super::{Reconciler, StepKind};
use crate::{Attached, AttachedKind, Change, Refused, SwitchPlan};
use congestion::isolation::{CimType, Peer};
use discovery::{
    CongestionIsolation, Device, Recognition, SourceFlowControl, Surroundings, Topology,
    TopologyPlan,
};
use ground::time::Instant;
use ground::units::PortId;
use wire::sfcm::{LEVEL_MAX, Level, Locator};

impl Reconciler {
    /// Applies the consequences of written objects: advertises the current plan to neighbours, and
    /// re-evaluates their TLVs by it.
    pub(super) fn announce(
        &mut self,
        now: Instant,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        for n in 0..self.neighbours.ports.len() {
            let port = PortId::new(n as u16).expect("a port of the plan");
            let (advertised, attached) =
                (advertised(&self.plan, port), self.plan.congestion.attached(port));
            let info = &mut self.neighbours.ports[n];
            let (isolation, sfc) = advertised;
            // LLDP sends at once what changes, so equal TLVs are not set again.
            if info.advertised != advertised
                && apply(Change::Advertise { port, isolation, sfc }).is_ok()
            {
                info.advertised = advertised;
            }
            if info.attached != attached {
                // Writing the object reset the switch to the configured locator.
                let locator = self.plan.congestion.locator(port);
                *info = PortInfo { attached, locator, obeys: false, elsewhere: None, ..*info };
            }
            // What the neighbour said is judged again, because the plan by which it is judged has changed.
            let heard = info.heard;
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
        self.neighbours.ports[port.index()].heard = *heard;
        self.neighbours.recognition.hear(port.index(), heard.place);
        self.place(now, port, heard.place.as_ref(), apply);
        self.enter_peer(now, port, heard.isolation.as_ref(), apply);
        self.attach(now, port, heard.sfc.as_ref(), apply);
    }

    /// Updates the positions of all ports, which share the level of the switch.
    fn place(
        &mut self,
        now: Instant,
        port: PortId,
        peer: Option<&Topology>,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let mut another = false;
        // All ports, because each level follows from the nearest server behind any of them.
        for (index, info) in self.neighbours.ports.iter_mut().enumerate() {
            let topology = self.neighbours.recognition.advertised(index);
            let id = PortId::new(index as u16).expect("a port of the plan");
            if info.topology.is_some_and(|old| old != topology)
                && apply(Change::Topology { port: id, topology }).is_ok()
            {
                info.topology = Some(topology);
                another |= id == port;
            }
        }
        // A message has a few bits for the level; a higher one is sent as unknown.
        let level = self.neighbours.recognition.level().filter(|level| *level <= LEVEL_MAX);
        let level = level.and_then(Level::new);
        // Without messages there is no receiver to tell the level to.
        if self.neighbours.level != level
            && self.plan.congestion.sfc.is_some()
            && apply(Change::Level(level)).is_ok()
        {
            self.neighbours.level = level;
        }
        let info = &mut self.neighbours.ports[port.index()];
        let locator = self.plan.congestion.locator_by(port, peer);
        if info.locator != locator
            && self.plan.congestion.sfc.is_some()
            && apply(Change::Locator { port, locator }).is_ok()
        {
            info.locator = locator;
            another = true;
        }
        if another {
            let (own, locator) =
                (self.neighbours.recognition.advertised(port.index()), info.locator);
            self.record(now, port, StepKind::Place { own, peer: peer.copied(), locator });
        }
    }

    /// Sets the peer of congestion isolation, if none is configured.
    fn enter_peer(
        &mut self,
        now: Instant,
        port: PortId,
        heard: Option<&CongestionIsolation>,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let Some(isolation) = &self.plan.congestion.isolation else { return };
        let configured = isolation.peers.iter().any(|(of, _)| *of == port);
        let info = &mut self.neighbours.ports[port.index()];
        let peer = heard.map(peer_of);
        // A configured peer is not replaced by one that announces itself.
        if configured || info.peer == peer {
            return;
        }
        let kind = match apply(Change::Peer { port, peer }) {
            Ok(()) => {
                info.peer = peer;
                StepKind::Peered(peer)
            }
            Err(Refused::Now(why) | Refused::Never(why)) => StepKind::PeerRefused { why },
        };
        self.record(now, port, kind);
    }

    /// Applies a host's SFC capability, if it is left to discovery. The TLV never makes the host a
    /// switch, whose messages would be trusted.
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
        let (expected, info) = (proxy.udp_port, &mut self.neighbours.ports[port.index()]);
        // A host on another UDP port would never see the messages, so the proxy pauses it.
        let obeys = heard.is_some_and(|sfc| sfc.obeys() && sfc.udp_port == expected);
        let elsewhere = heard.filter(|sfc| sfc.obeys() && !obeys).map(|sfc| sfc.udp_port);
        // Each difference is reported one time, not with each LLDPDU.
        let news = elsewhere.filter(|_| info.elsewhere != elsewhere);
        info.elsewhere = elsewhere;
        let mut kind = news.map(|port| StepKind::SfcElsewhere { port, expected });
        if obeys != info.obeys && apply(Change::SfcHost { port, obeys }).is_ok() {
            info.obeys = obeys;
            kind = kind.or(Some(StepKind::SfcHost { obeys }));
        }
        if let Some(kind) = kind {
            self.record(now, port, kind);
        }
    }
}

/// Returns the entry of the CI Peer Table (802.1Qcz 49.3.6) for a TLV.
const fn peer_of(tlv: &CongestionIsolation) -> Peer {
    use core::net::IpAddr::{V4, V6};
    let (cim_type, ipv4, ipv6) = match tlv.address {
        None => (CimType::L2, None, None),
        Some(V4(address)) => (CimType::Ipv4, Some(address), None),
        Some(V6(address)) => (CimType::Ipv6, None, Some(address)),
    };
    let (mac, udp_port, encap_len) = (tlv.mac, tlv.udp_port, tlv.encapsulation);
    Peer { cim_type, mac, ipv4, ipv6, udp_port, encap_len }
}

/// Information received at one port, and the settings derived from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct PortInfo {
    pub(super) heard: Surroundings,
    /// Configured neighbour.
    pub(super) attached: Attached,
    /// Advertised position of the port, if it is discovered.
    pub(super) topology: Option<Topology>,
    pub(super) locator: Locator,
    pub(super) peer: Option<Peer>,
    pub(super) obeys: bool,
    /// UDP port on which a host obeys messages, if it differs from the switch's.
    pub(super) elsewhere: Option<u16>,
    /// Advertised congestion isolation and source flow control TLVs.
    pub(super) advertised: Advertised,
}

pub(super) type Advertised = (Option<CongestionIsolation>, Option<SourceFlowControl>);

/// Neighbour information of all ports.
#[derive(Clone, Debug)]
pub(super) struct NeighbourInfo {
    pub(super) recognition: Recognition,
    /// Level of the switch in its messages.
    pub(super) level: Option<Level>,
    pub(super) ports: Vec<PortInfo>,
}

impl NeighbourInfo {
    pub(super) fn new(plan: &SwitchPlan) -> Self {
        let ids = || (0..plan.ports.len()).filter_map(|n| PortId::new(n as u16));
        let kind = |port| match plan.agents_advertised(port)?.dcbx?.topology? {
            TopologyPlan::Recognized(device) => Some(device),
            TopologyPlan::Fixed(_) => None,
        };
        let device = ids().find_map(kind).unwrap_or(Device::Bridge);
        let recognition = Recognition::new(device, plan.ports.len());
        let info = |port: PortId| PortInfo {
            heard: Surroundings::default(),
            attached: plan.congestion.attached(port),
            topology: kind(port).map(|_| recognition.advertised(port.index())),
            locator: plan.congestion.locator(port),
            peer: None,
            obeys: false,
            elsewhere: None,
            advertised: advertised(plan, port),
        };
        Self { ports: ids().map(info).collect(), level: None, recognition }
    }
}

/// Returns the TLVs that a port advertises by the plan.
pub(super) fn advertised(plan: &SwitchPlan, port: PortId) -> Advertised {
    let dcbx = plan.agents_advertised(port).and_then(|agents| agents.dcbx);
    dcbx.map_or((None, None), |dcbx| (dcbx.isolation, dcbx.sfc))
}
