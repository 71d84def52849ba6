//! Reactions of a station to congestion messages of switches: source flow control messages
//! (P802.1Qdw) pause a flow or its priority, congestion notification messages (802.1Qau) slow one.
//!
//! Guarantees for any content and number of messages:
//! - A message is parsed only if it goes to a MAC address that the station sends from, and obeyed
//!   only if the plan lists its sender and the station sends the flow.
//! - A pause ends at its time, at most the plan's maximum after the last message that requested it.
//!   A message never shortens a pause, except one with time 0, which ends what was requested for its
//!   flow, as at the proxy ([`SharedPause`]).
//! - A flow that gets another path is paused like any other, for the time that the old path's queue
//!   takes to drain, so its frames stay in order.
//! - A reaction point never reduces a flow below its minimum rate.
//! - Nothing allocates, and every message is counted by its outcome.
//!
//! A switch reports the priority of a flow at its queue and its DSCP; the maps of the host's port
//! give the host's priority. A repeated message cannot be distinguished from a new one, since the drafts
//! number none.

use super::flow_index::Index;
use super::plan::stream::{Path, StreamPlan};
use super::plan::{InNetwork, SfcPause, SfcReaction, StationPlan, Transport};
use super::source::Sources;
use congestion::qcn::QuantizedFeedback;
use congestion::{Named, SharedPause};
use ground::time::{Duration, Instant, Total};
use ground::units::{PRIORITIES, Priority, PrioritySet};
use wire::flow::FiveTuple;
use wire::ip::{self, Fragment, Protocol};
use wire::sfcm::{self, Locator};
use wire::{EtherType, WireError, cnm, vlan};

/// The reactions of one station.
#[derive(Debug)]
pub(super) struct Reactions {
    index: Index,
    sfc: Option<Sfc>,
    cnm: Option<CnmCounters>,
}

/// Source flow control at the source.
#[derive(Debug)]
struct Sfc {
    plan: SfcReaction,
    /// Priorities in which the station sends.
    used: PrioritySet,
    /// End of each priority's last pause. Unused where flows are paused, which keep it themselves.
    until: [SharedPause; PRIORITIES],
    /// End of life of the entry of each flow, or of each priority.
    dies: Box<[Instant]>,
    /// By flow: the earliest time of its next change of path.
    moves: Box<[Instant]>,
    /// Paused priorities, and the earliest end of a pause.
    paused: PrioritySet,
    earliest: Instant,
    /// Total time of all pauses, including the rest of running ones.
    granted: Total,
    counters: SfcmCounters,
}

impl Reactions {
    /// Creates the reactions of a validated plan, if it has any.
    pub(super) fn of(plan: &StationPlan) -> Option<Self> {
        let sfc = plan.reactions.sfc.as_ref().map(|sfc| Sfc {
            plan: sfc.clone(),
            used: used(plan),
            until: [SharedPause::NONE; PRIORITIES],
            dies: vec![Instant::ZERO; entries(plan, sfc.pause)].into_boxed_slice(),
            moves: vec![Instant::ZERO; entries(plan, SfcPause::Flow)].into_boxed_slice(),
            paused: PrioritySet::EMPTY,
            earliest: Instant::NEVER,
            granted: Total::ZERO,
            counters: SfcmCounters::default(),
        });
        let cnm = plan.reactions.qcn.map(|_| CnmCounters::default());
        let any = sfc.is_some() || cnm.is_some();
        any.then(|| Self { index: Index::new(plan), sfc, cnm })
    }

    /// Processes a received frame. Returns false if it is not a message to this station, or of a
    /// kind that it does not obey.
    #[inline]
    pub(super) fn take(
        &mut self,
        now: Instant,
        frame: &[u8],
        walk: &vlan::Walk,
        sources: &mut Sources,
    ) -> bool {
        let packet = &frame[walk.l3..];
        // By its EtherType first, which excludes nearly all frames.
        if let Some(counters) = self.cnm.as_mut().filter(|_| is_cnm(walk.ethertype, packet)) {
            let ours = self.index.has_mac(walk.dst);
            if ours {
                on_cnm(now, walk.ethertype, packet, &self.index, sources, counters);
            }
            return ours;
        }
        let Some(sfc) = &mut self.sfc else { return false };
        let ours =
            is_sfcm(walk.ethertype, packet, sfc.plan.udp_port) && self.index.has_mac(walk.dst);
        if ours {
            let tagged = walk.outer.is_some();
            sfc.on_message(now, walk.ethertype, packet, tagged, &mut self.index, sources);
        }
        ours
    }

    /// Returns the number of source flow control messages that started or extended a pause.
    #[inline]
    pub(super) fn sfcm_pauses(&self) -> u64 {
        self.sfc.as_ref().map_or(0, |sfc| sfc.counters.paused)
    }

    /// Replaces a stream's plan.
    pub(super) fn set_stream(&mut self, plan: &StreamPlan) {
        self.index.set_stream(plan);
    }

    /// Returns the priorities that may not send now. A pause is over at the very instant it ends.
    #[inline]
    pub(super) fn paused(&mut self, now: Instant) -> PrioritySet {
        let Some(sfc) = &mut self.sfc else { return PrioritySet::EMPTY };
        // Nothing ends before that time, so the set stays as it is.
        if now >= sfc.earliest {
            sfc.find_earliest(now);
        }
        sfc.paused
    }

    /// Returns the end of the next priority pause; NEVER without any. Ends of flow pauses are part
    /// of the flows' due times.
    #[inline]
    pub(super) fn next_deadline(&self) -> Instant {
        self.sfc.as_ref().map_or(Instant::NEVER, |sfc| sfc.earliest)
    }

    /// Returns the counters, with the pause time up to now.
    pub(super) fn counters(&self, now: Instant, sources: &Sources) -> ReactionCounters {
        let sfcm = self.sfc.as_ref().map(|sfc| {
            let of_priorities = sfc.until.iter().map(|pause| pause.until().since(now));
            // Granted times count in full when they are granted; what has not passed yet is taken off.
            let left = of_priorities.fold(sources.left_held(now), |sum, left| sum + left);
            SfcmCounters { time: sfc.granted - left, ..sfc.counters }
        });
        ReactionCounters { sfcm, cnm: self.cnm }
    }
}

impl Sfc {
    /// Processes a message, in a frame that is tagged or not.
    fn on_message(
        &mut self,
        now: Instant,
        ethertype: EtherType,
        packet: &[u8],
        tagged: bool,
        index: &mut Index,
        sources: &mut Sources,
    ) {
        self.counters.received += 1;
        let c = &mut self.counters;
        let message = match sfcm::Repr::parse(ethertype, packet) {
            Ok(message) => message,
            Err(WireError::AboutItself) => return c.about_itself += 1,
            Err(_) => return c.malformed += 1,
        };
        // The parser ensures that the flow's source is the message's destination.
        let Some(flow) = message.message.flow() else { return c.malformed += 1 };
        // After parsing, because the sender is an IP address.
        if !self.plan.senders.accept(message.headers.src) {
            return c.sender += 1;
        }
        if !index.has_address(flow.src) {
            return c.other_host += 1;
        }
        let priority = self.priority(&message.message, tagged);
        let asked = message.message.pause;
        let until = now.saturating_add(asked.min(self.plan.longest));
        // A time of 0 ends a pause.
        let until = (asked > Duration::ZERO).then_some(until);
        let locator = message.message.locator;
        let changed = match self.plan.pause {
            SfcPause::Flow => self.pause_flow(now, &flow, until, index, sources),
            SfcPause::Priority => self.pause_priority(now, priority, flow, until),
        };
        let Some(moved) = changed else { return };
        let c = &mut self.counters;
        if moved {
            c.requested += asked;
        }
        c.cut_to_longest += u64::from(asked > self.plan.longest);
        c.incast += u64::from(locator == Locator::Incast);
        c.in_network += u64::from(locator == Locator::InNetwork);
        // Each message is counted as exactly one of these.
        *match (moved, until) {
            (false, _) => &mut c.redundant,
            (true, Some(_)) => &mut c.paused,
            (true, None) => &mut c.resumed,
        } += 1;
        // Towards its destination every path ends in the same queue: only congestion on the way can be avoided.
        if locator == Locator::InNetwork && until.is_some() {
            self.reroute(now, &flow, index, sources);
        }
    }

    /// Pauses the flows with these addresses and ports until `until`, or ends their pause. Returns true if a
    /// pause changed; `None`, and counts the message, if the station sends no such flow.
    fn pause_flow(
        &mut self,
        now: Instant,
        flow: &FiveTuple,
        until: Option<Instant>,
        index: &Index,
        sources: &mut Sources,
    ) -> Option<bool> {
        let places = index.places(flow);
        if places.is_empty() {
            self.counters.foreign_flow += 1;
            return None;
        }
        let mut moved = false;
        // Streams may share addresses and ports, and the message cannot tell them apart: all are paused.
        for i in places.map(|place| index.at(place)) {
            let until = self.within_life(now, i, until);
            let held = sources.held(i);
            // A message never shortens a pause, except one with time 0.
            let end = until.map_or(now, |until| until.max(held));
            if self.changes(now, held, end) {
                sources.hold(i, end);
                moved = true;
            }
        }
        Some(moved)
    }

    /// Pauses all flows of a priority until `until`, or ends what was requested for `flow`. Returns as
    /// [`Self::pause_flow`] does.
    fn pause_priority(
        &mut self,
        now: Instant,
        priority: Priority,
        flow: FiveTuple,
        until: Option<Instant>,
    ) -> Option<bool> {
        if !self.used.contains(priority) {
            self.counters.no_flow_of_priority += 1;
            return None;
        }
        let until = self.within_life(now, priority.index(), until);
        let shared = &mut self.until[priority.index()];
        let held = shared.until();
        match until {
            Some(until) => shared.request(Some(flow), until),
            // Other flows of the priority may still be congested: their requests stay.
            None => shared.end(flow),
        }
        let end = shared.until();
        let moved = self.changes(now, held, end);
        self.find_earliest(now);
        Some(moved)
    }

    /// Gives a flow another path because of congestion in the network.
    fn reroute(
        &mut self,
        now: Instant,
        flow: &FiveTuple,
        index: &mut Index,
        sources: &mut Sources,
    ) {
        let InNetwork::Path { spacing } = self.plan.in_network else { return };
        let moves = &mut self.moves;
        let may = |n: usize| {
            let permitted = moves[n] <= now;
            if permitted {
                // Until the new path can have been judged, it is kept.
                moves[n] = now.saturating_add(spacing);
            }
            permitted
        };
        self.counters.rerouted += u64::from(index.reroute(flow, sources, may));
    }

    /// Returns the priority of a message's flow at this host.
    fn priority(&mut self, message: &sfcm::Sfcm<'_>, tagged: bool) -> Priority {
        let sfcm::Sfcm { priority, dscp, .. } = *message;
        let Some(map) = &self.plan.map else { return priority };
        let found = map.priority(Named { priority, dscp, tagged }, self.used);
        self.counters.disagreed += u64::from(found != priority);
        found
    }

    /// Returns the end that a message requests for an entry, or the entry's end of life if that is
    /// earlier. An entry that has none, or whose life is over, is created.
    fn within_life(
        &mut self,
        now: Instant,
        entry: usize,
        until: Option<Instant>,
    ) -> Option<Instant> {
        let dies = &mut self.dies[entry];
        // The first message about an entry begins its life, later ones do not extend it.
        if *dies <= now {
            *dies = now.saturating_add(self.plan.max_flow_life);
        }
        self.counters.cut_to_life += u64::from(until.is_some_and(|until| until > *dies));
        until.map(|until| until.min(*dies))
    }

    /// Returns true if a pause that runs, or ran, to `held` changes by running to `end`. Updates the
    /// granted time.
    fn changes(&mut self, now: Instant, held: Instant, end: Instant) -> bool {
        // What remains of a pause, 0 for one that is over.
        let (before, after) = (held.since(now), end.since(now));
        self.granted = self.granted + after - before;
        before != after
    }

    fn find_earliest(&mut self, now: Instant) {
        let running = self.until.iter().map(|pause| pause.until()).filter(|until| *until > now);
        self.earliest = running.min().unwrap_or(Instant::NEVER);
        self.paused =
            Priority::ALL.into_iter().filter(|p| self.until[p.index()].until() > now).collect();
    }
}

/// Returns the number of entries that messages can create.
fn entries(plan: &StationPlan, pause: SfcPause) -> usize {
    match pause {
        SfcPause::Flow => plan.flows.len() + plan.senders.len() + plan.tester.streams.len(),
        SfcPause::Priority => PRIORITIES,
    }
}

/// Returns the priorities in which a station sends, acknowledgements included.
fn used(plan: &StationPlan) -> PrioritySet {
    let flows = plan.flows.iter().map(|f| f.priority);
    let senders = plan.senders.iter().map(|t| t.priority);
    let streams = plan.tester.streams.iter().filter_map(|s| match s.path {
        Path::Data(priority) => Some(priority),
        Path::Control => None,
    });
    let answers = plan.receivers.iter().map(|t| {
        let marking = match &t.kind {
            Transport::Roce(roce) => roce.ack,
            Transport::TcpLike(tcp) => tcp.ack,
        };
        marking.map_or(t.priority, |m| m.priority)
    });
    flows.chain(senders).chain(streams).chain(answers).collect()
}

/// Returns true if a packet is a datagram to this UDP port, or the first fragment of one.
#[inline]
fn is_sfcm(ethertype: EtherType, packet: &[u8], port: u16) -> bool {
    let upper = ip::View::new(ethertype, packet).and_then(|ip| {
        let upper = ip.upper()?;
        Ok((upper.protocol, upper.fragment, upper.payload.get(2..4) == Some(&port.to_be_bytes())))
    });
    matches!(upper, Ok((Protocol::UDP, Fragment::Whole | Fragment::First, true)))
}

/// Returns true for a congestion notification message behind an EtherType.
#[inline]
fn is_cnm(ethertype: EtherType, octets: &[u8]) -> bool {
    // Behind a CN-TAG the EtherType follows the flow identifier.
    let tagged = || octets.get(2..cnm::TAG_LEN) == Some(&EtherType::CNM.0.to_be_bytes());
    ethertype == EtherType::CNM || (ethertype == EtherType::CN_TAG && tagged())
}

/// Processes a congestion notification message.
fn on_cnm(
    now: Instant,
    ethertype: EtherType,
    octets: &[u8],
    index: &Index,
    sources: &mut Sources,
    c: &mut CnmCounters,
) {
    c.received += 1;
    let message = match cnm::Repr::parse(ethertype, octets) {
        Ok(message) => message,
        Err(WireError::AboutItself) => return c.about_itself += 1,
        Err(_) => return c.malformed += 1,
    };
    let feedback = QuantizedFeedback::new(message.feedback).expect("it was read from six bits");
    if feedback.get() == 0 {
        return c.no_feedback += 1;
    }
    let flow = index.of_frame(message.msdu, message.flow_id);
    if flow.is_some_and(|i| sources.on_cnm(now, i, feedback)) {
        c.obeyed += 1;
    } else {
        c.foreign_flow += 1;
    }
}

/// Counters of all messages that a station obeys.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ReactionCounters {
    /// Source flow control messages; `None` where none are obeyed.
    pub sfcm: Option<SfcmCounters>,
    /// Congestion notification messages of QCN; likewise.
    pub cnm: Option<CnmCounters>,
}

/// Counters of source flow control messages. Each is counted as received and as one of the others
/// up to `no_flow_of_priority`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SfcmCounters {
    /// Messages on the planned port to an address of the station.
    pub received: u64,
    /// Messages that started or extended a pause.
    pub paused: u64,
    /// Messages that ended a pause.
    pub resumed: u64,
    /// Messages without effect: a longer pause was running, or none that could end. Messages have
    /// no sequence number, so a repeated one is counted here or, when late, starts a new pause.
    pub redundant: u64,
    /// Messages with invalid bytes.
    pub malformed: u64,
    /// Messages about other messages.
    pub about_itself: u64,
    /// Messages of senders that the plan does not list.
    pub sender: u64,
    /// Messages to an IP address that is not the station's, whatever their MAC address.
    pub other_host: u64,
    /// Messages about a flow that the station does not send. Where a whole priority is paused, any
    /// flow from its address is accepted.
    pub foreign_flow: u64,
    /// Messages for a priority in which the station sends nothing.
    pub no_flow_of_priority: u64,
    /// Messages accepted so far whose priority is another one by the maps of the host's port.
    pub disagreed: u64,
    /// Messages among `paused`, `resumed` and `redundant` whose locator says incast.
    pub incast: u64,
    /// Likewise, whose locator says in-network.
    pub in_network: u64,
    /// Messages among these that gave a flow another path.
    pub rerouted: u64,
    /// Messages among `paused` and `redundant` whose time exceeded the plan's maximum, and was
    /// reduced to it.
    pub cut_to_longest: u64,
    /// Messages whose pause ended with the entry of their flow or priority (sfcMaxFlowLife).
    pub cut_to_life: u64,
    /// Sum of the pause times requested by the messages among `paused`.
    pub requested: Total,
    /// Total pause time of flows, or of priorities, by messages.
    pub time: Total,
}

impl SfcmCounters {
    /// Returns the number of messages that were not obeyed.
    pub const fn refused(&self) -> u64 {
        self.malformed
            + self.about_itself
            + self.sender
            + self.other_host
            + self.foreign_flow
            + self.no_flow_of_priority
    }
}

/// Counters of congestion notification messages. Each is counted as received and as one of the
/// others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CnmCounters {
    /// Messages to an address of the station, with or without a CN-TAG.
    pub received: u64,
    /// Messages that a reaction point accepted.
    pub obeyed: u64,
    /// Messages without feedback, which no congestion point sends.
    pub no_feedback: u64,
    /// Messages with invalid bytes.
    pub malformed: u64,
    /// Messages about other messages.
    pub about_itself: u64,
    /// Messages about a flow without a reaction point here.
    pub foreign_flow: u64,
}
