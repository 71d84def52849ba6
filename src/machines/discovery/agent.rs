//! LLDP agent of one port: 802.1AB's state machines around the table of neighbours, and DCBX. Its
//! counters have the names of 802.1AB-2016 9.2.6 and of its remote systems' tables.

use arrayvec::ArrayVec;

use super::neighbours::{NEIGHBOURS_MAX, Neighbour, Received, read};
use super::plan::{
    AdminStatus, Application, CongestionIsolation, DcbxPlan, LldpPlan, SourceFlowControl, Subtypes,
    Topology,
};
use super::recognition::Surroundings;
use super::resolve::{Resolved, peer_of, resolve};
use super::transmit::{Own, Pdu, Transmitter, compose, frame_len};
use ground::counters;
use ground::time::{Duration, Instant};
use ground::units::{Mac, PrioritySet};
use wire::lldp::{self, View};

/// Maximum number of pending events: more than one frame and the ageing of all neighbours can
/// cause.
const EVENTS_MAX: usize = 4 * NEIGHBOURS_MAX;

/// An event. Neighbours are named by source address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A new neighbour.
    NeighbourNew(Mac),
    /// A neighbour's information changed.
    NeighbourChanged(Mac),
    /// A neighbour's time to live ran out.
    NeighbourAged(Mac),
    /// A neighbour sent a shutdown LLDPDU, or the link came up again.
    NeighbourLeft(Mac),
    /// [`Lldp::resolved`] changed.
    Negotiated,
    /// [`Lldp::surroundings`] changed.
    Surroundings,
}

/// LLDP agent of one port.
#[derive(Clone, Debug)]
pub struct Lldp {
    lldp: LldpPlan,
    dcbx: Option<Dcbx>,
    /// adminStatus is not enabledTxOnly.
    listens: bool,
    up: bool,
    transmitter: Transmitter,
    /// The last PDU taken, for [`Lldp::put_back`].
    taken: Option<Pdu>,
    neighbours: Vec<Neighbour>,
    surroundings: Surroundings,
    events: ArrayVec<Event, EVENTS_MAX>,
    counters: Counters,
}

/// DCBX state of the port.
#[derive(Clone, Debug)]
struct Dcbx {
    plan: DcbxPlan,
    /// True if PFC is advertised, if it is in the plan.
    pfc: bool,
    /// Priorities with PFC enabled locally.
    enable: PrioritySet,
    /// Advertised topology.
    topology: Option<Topology>,
    resolved: Resolved,
}

impl Dcbx {
    const fn own(&self) -> Own<'_> {
        let Self { ref plan, pfc, enable, topology, .. } = *self;
        Own { plan, pfc, enable, topology }
    }
}

impl Lldp {
    /// Creates an agent whose link is down.
    ///
    /// # Panics
    /// If the LLDPDU does not fit in a frame: the plan is to be checked with [`frame_len`].
    #[must_use]
    pub fn new(lldp: &LldpPlan, dcbx: Option<&DcbxPlan>) -> Self {
        frame_len(lldp, dcbx).expect("the plan was checked to fit in a frame");
        let dcbx = dcbx.map(|plan| {
            let Own { enable, topology, .. } = Own::planned(plan);
            let resolved = resolve(plan, enable, &[]);
            Dcbx { resolved, plan: plan.clone(), pfc: !plan.follows_pfc, enable, topology }
        });
        Self {
            listens: lldp.admin != AdminStatus::TxOnly,
            up: false,
            transmitter: Transmitter::new(lldp),
            taken: None,
            lldp: lldp.clone(),
            dcbx,
            neighbours: Vec::with_capacity(NEIGHBOURS_MAX),
            surroundings: Surroundings::default(),
            events: ArrayVec::new(),
            counters: Counters::default(),
        }
    }

    /// Handles link up. Neighbours are deleted, because another port may be connected
    /// (rxInitializeLLDP, 9.2.7.6).
    pub fn start(&mut self, now: Instant) {
        self.up = true;
        self.transmitter.start(now);
        while let Some(gone) = self.neighbours.pop() {
            self.counters.deletes += 1;
            self.emit(Event::NeighbourLeft(gone.received.mac));
        }
        self.conclude(now);
    }

    /// Handles link down. Neighbours stay valid for their time to live, or until the link is up.
    pub fn stop(&mut self, now: Instant) {
        // Neighbours that have aged by now have done so while the link was up.
        self.on_timeout(now);
        self.up = false;
        self.transmitter.stop();
    }

    /// Sends a shutdown LLDPDU, due at once; then the agent is silent until it is started, and for
    /// at least two seconds (reinitDelay).
    pub fn say_goodbye(&mut self, now: Instant) {
        self.on_timeout(now);
        self.transmitter.say_goodbye(now);
    }

    /// Handles a complete LLDP frame, from its destination address on.
    pub fn on_frame(&mut self, now: Instant, frame: &[u8]) {
        self.on_timeout(now);
        if !self.listens || !self.up {
            return;
        }
        // The other group addresses reach further and belong to agents of other scopes (802.1Q Table 8-1).
        if frame.first_chunk() != Some(&lldp::DESTINATION.0) {
            self.counters.frames_elsewhere += 1;
            return;
        }
        self.counters.frames_in += 1;
        let Ok(view) = View::new(frame) else {
            self.counters.frames_in_errors += 1;
            self.counters.frames_discarded += 1;
            return;
        };
        let known = self.neighbours.iter().position(|n| n.is_sender_of(&view));
        // A shutdown LLDPDU revokes the earlier information of its sender at once.
        if view.ttl() == 0 {
            if let Some(slot) = known {
                let gone = self.neighbours.remove(slot);
                self.counters.deletes += 1;
                self.emit(Event::NeighbourLeft(gone.received.mac));
            }
        } else {
            self.hear(now, &view, known);
        }
        self.conclude(now);
    }

    fn hear(&mut self, now: Instant, view: &View<'_>, known: Option<usize>) {
        let subtypes = self.dcbx.as_ref().map_or(Subtypes::DEFAULT, |dcbx| dcbx.plan.subtypes);
        let received = read(view, &subtypes, &mut self.counters);
        let expires = now.saturating_add(Duration::from_secs(view.ttl().into()));
        match known {
            Some(slot) => self.update(slot, received, expires),
            None if self.neighbours.len() < NEIGHBOURS_MAX => {
                self.counters.inserts += 1;
                self.emit(Event::NeighbourNew(received.mac));
                self.neighbours.push(Neighbour { received, expires });
                // A new neighbour needs this port's information soon (txFast).
                self.transmitter.hurry(now);
            }
            None => {
                self.counters.drops += 1;
                self.counters.frames_discarded += 1;
            }
        }
    }

    fn update(&mut self, slot: usize, received: Received, expires: Instant) {
        let neighbour = &mut self.neighbours[slot];
        neighbour.expires = expires;
        // Most LLDPDUs repeat the last one and only renew its life.
        if neighbour.received != received {
            let mac = received.mac;
            neighbour.received = received;
            self.emit(Event::NeighbourChanged(mac));
        }
    }

    /// Advances timers to `now`, and ages neighbours.
    pub fn on_timeout(&mut self, now: Instant) {
        self.transmitter.advance(now);
        let before = self.neighbours.len();
        while let Some(slot) = self.neighbours.iter().position(|n| n.expires <= now) {
            let gone = self.neighbours.remove(slot);
            self.counters.ageouts += 1;
            self.counters.deletes += 1;
            self.emit(Event::NeighbourAged(gone.received.mac));
        }
        if self.neighbours.len() != before {
            self.conclude(now);
        }
    }

    /// Returns true if a frame is to be sent, or a neighbour ages.
    #[must_use]
    pub fn is_due(&self, now: Instant) -> bool {
        self.transmitter.is_due(now) || self.next_ageout() <= now
    }

    /// Writes the frame that is due, if any, to the front of `out`, which has room for
    /// [`FRAME_MAX`](super::FRAME_MAX) bytes; returns its length without FCS.
    ///
    /// # Panics
    /// If `out` is too short.
    pub fn take(&mut self, now: Instant, out: &mut [u8]) -> Option<usize> {
        self.on_timeout(now);
        let pdu = self.transmitter.take(now)?;
        let ttl = match pdu {
            Pdu::Shutdown => 0,
            Pdu::Normal => self.ttl(),
        };
        let dcbx = self.dcbx.as_ref().map(Dcbx::own);
        let len = compose(&self.lldp, dcbx, ttl, out).expect("a frame that fits, as checked");
        self.counters.frames_out += 1;
        self.taken = Some(pdu);
        Some(len)
    }

    /// Makes the PDU taken last due again, if it could not be sent.
    pub fn put_back(&mut self) {
        if let Some(pdu) = self.taken.take() {
            self.counters.frames_out -= 1;
            self.transmitter.put_back(pdu);
        }
    }

    /// txTTL (9.2.5.22), in seconds.
    fn ttl(&self) -> u16 {
        let seconds = self.lldp.interval.as_picos().div_ceil(Duration::from_secs(1).as_picos());
        // msgTxInterval * msgTxHold + 1, at most 65535.
        let ttl = seconds * u64::from(self.lldp.hold) + 1;
        u16::try_from(ttl).unwrap_or(u16::MAX)
    }

    /// Returns the latest time at which [`Lldp::is_due`], if no frame arrives.
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        self.transmitter.next_deadline().min(self.next_ageout())
    }

    fn next_ageout(&self) -> Instant {
        self.neighbours.iter().map(|n| n.expires).min().unwrap_or(Instant::NEVER)
    }

    /// Returns the oldest pending event, once.
    pub fn next_event(&mut self) -> Option<Event> {
        (!self.events.is_empty()).then(|| self.events.remove(0))
    }

    fn emit(&mut self, event: Event) {
        if self.events.is_full() {
            self.events.remove(0);
            // The oldest goes: events say that something changed, and the state itself can be read.
            self.counters.events_lost += 1;
        }
        self.events.push(event);
    }

    /// Recalculates the results from the neighbours' information.
    fn conclude(&mut self, now: Instant) {
        // From all neighbours anew: the result must not depend on the order in which they came and went.
        let surroundings = Surroundings::of(&self.neighbours);
        if surroundings != self.surroundings {
            self.surroundings = surroundings;
            self.emit(Event::Surroundings);
        }
        self.follow(now);
        self.negotiate();
    }

    /// Advertises the peer's priorities with PFC, if the plan says so.
    fn follow(&mut self, now: Instant) {
        let Some(dcbx) = self.dcbx.as_mut().filter(|dcbx| dcbx.plan.follows_pfc) else { return };
        let peer = peer_of(&self.neighbours).1.and_then(|received| received.dcbx.pfc);
        // Before that a willing peer would adopt a setting that is not its own. Another port that follows says its
        // delays first.
        let mut all = self.neighbours.iter().map(|neighbour| &neighbour.received.dcbx);
        let is_known = all.any(|dcbx| dcbx.is_peer() || dcbx.information.is_some());
        let enable = peer.map_or(dcbx.enable, |pfc| pfc.enable);
        if (dcbx.pfc, dcbx.enable) != (is_known, enable) {
            (dcbx.pfc, dcbx.enable) = (is_known, enable);
            self.transmitter.changed(now);
        }
    }

    fn negotiate(&mut self) {
        let Some(dcbx) = &mut self.dcbx else { return };
        let resolved = resolve(&dcbx.plan, dcbx.enable, &self.neighbours);
        if resolved != dcbx.resolved {
            dcbx.resolved = resolved;
            self.emit(Event::Negotiated);
        }
    }

    /// Advertises PFC for these priorities from now on, if DCBX advertises PFC.
    pub fn set_dcbx_pfc_enable(&mut self, now: Instant, enable: PrioritySet) {
        self.on_timeout(now);
        let Some(dcbx) = self.dcbx.as_mut().filter(|dcbx| dcbx.plan.pfc.is_some()) else { return };
        if dcbx.enable != enable {
            dcbx.enable = enable;
            // Neighbours learn of it at once, and not after the interval (somethingChangedLocal).
            self.transmitter.changed(now);
            self.negotiate();
        }
    }

    /// Advertises this topology from now on, if DCBX advertises it.
    pub fn set_topology(&mut self, now: Instant, topology: Topology) {
        self.on_timeout(now);
        let Some(advertised) = self.dcbx.as_mut().and_then(|dcbx| dcbx.topology.as_mut()) else {
            return;
        };
        if *advertised != topology {
            *advertised = topology;
            self.transmitter.changed(now);
        }
    }

    /// Advertises these settings of Congestion Isolation and Source Flow Control from now on, if
    /// DCBX is enabled.
    pub fn set_congestion(
        &mut self,
        now: Instant,
        isolation: Option<CongestionIsolation>,
        sfc: Option<SourceFlowControl>,
    ) {
        self.on_timeout(now);
        let Some(dcbx) = &mut self.dcbx else { return };
        if (dcbx.plan.isolation, dcbx.plan.sfc) != (isolation, sfc) {
            (dcbx.plan.isolation, dcbx.plan.sfc) = (isolation, sfc);
            self.transmitter.changed(now);
        }
    }

    /// Returns the advertised topology.
    #[must_use]
    pub fn topology(&self) -> Option<Topology> {
        self.dcbx.as_ref()?.topology
    }

    /// Returns the congestion-related information of the neighbours.
    #[must_use]
    pub const fn surroundings(&self) -> &Surroundings {
        &self.surroundings
    }

    /// Returns the known neighbours.
    pub fn neighbours(&self) -> impl ExactSizeIterator<Item = &Neighbour> {
        self.neighbours.iter()
    }

    /// Returns the result of DCBX, if it is enabled.
    #[must_use]
    pub fn resolved(&self) -> Option<&Resolved> {
        self.dcbx.as_ref().map(|dcbx| &dcbx.resolved)
    }

    /// Returns the peer's application priorities. They are informational (802.1Q 38.4.3): this
    /// port's priorities are in its plan.
    #[must_use]
    pub fn peer_applications(&self) -> &[Application] {
        let applications = peer_of(&self.neighbours).1.and_then(|p| p.dcbx.applications.as_ref());
        applications.map_or(&[], |applications| applications)
    }

    /// Returns the counters.
    #[must_use]
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }
}

counters! {
    /// Counters of one port's agent.
    Counters {
        /// statsFramesOutTotal: LLDPDUs sent, shutdowns included.
        frames_out,
        /// statsFramesInTotal: LLDPDUs received.
        frames_in,
        /// statsFramesInErrorsTotal: LLDPDUs received with at least one error.
        frames_in_errors,
        /// statsFramesDiscardedTotal: LLDPDUs discarded.
        frames_discarded,
        /// LLDPDUs to another destination than the nearest bridge: for an agent that does not run
        /// here.
        frames_elsewhere,
        /// statsTLVsDiscardedTotal: TLVs that are malformed or duplicates.
        tlvs_discarded,
        /// statsTLVsUnrecognizedTotal: TLVs of reserved types, and of unknown organizations and
        /// subtypes.
        tlvs_unrecognized,
        /// statsAgeoutsTotal: neighbours whose time to live ran out.
        ageouts,
        /// lldpStatsRemTablesInserts: neighbours added.
        inserts,
        /// lldpStatsRemTablesDeletes: neighbours deleted, for any reason.
        deletes,
        /// lldpStatsRemTablesDrops: LLDPDUs of new neighbours while the table was full
        /// (tooManyNeighbors).
        drops,
        /// Events lost because too many were pending.
        events_lost,
    }
}
