//! Changes to a running switch.

use core::fmt;

use super::Switch;
use super::managed::{At, Object, ObjectError, ObjectValue};
use super::port_state::passes_empty_queues;
use crate::AttachedKind;
use buffer::{BufferError, GroupKind, GroupPlan, SharedLimit};
use congestion::EcnPlan;
use congestion::isolation::{Peer, PeerError};
use contracts::stats::{DropReason, PortCounters, TakenOver};
use contracts::world::{Events, Handoff, World};
use discovery::{CongestionIsolation, SourceFlowControl, Topology};
use ground::time::Instant;
use ground::units::{BitsPerSec, Bytes, Cells, PRIORITIES, PortId, PriorityGroup, TrafficClass};
use pfc::FlowControl;
use schedule::{ClassPlan, Meter};
use wire::sfcm::{Level, Locator};

/// A change to a running switch. It takes effect between two polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The link of an owned port went up or down, or has a new rate.
    Link {
        port: PortId,
        up: bool,
        /// New rate; `None` keeps the old one.
        rate: Option<BitsPerSec>,
    },
    /// New thresholds of a priority group. Must be applied to every worker, whichever owns the
    /// port: cells reserved for one group reduce the pool of all.
    Group { port: PortId, group: PriorityGroup, plan: GroupPlan },
    /// New ECN marking curve of a traffic class, or none.
    Ecn { port: PortId, class: TrafficClass, plan: Option<EcnPlan> },
    /// New unit of the shares of a port's classes.
    Meter { port: PortId, meter: Meter },
    /// New set of PFC priorities, as negotiated with the peer.
    Pfc {
        port: PortId,
        /// PFC modes; the rest of the port's flow control stays as it is.
        mode: FlowControl,
    },
    /// New ETS parameters or priority to traffic class map. Must be applied to every worker: the
    /// owner of the port schedules, and all workers classify.
    Ets {
        port: PortId,
        /// By traffic class.
        classes: [ClassPlan; PRIORITIES],
        /// Priority to traffic class.
        map: [TrafficClass; PRIORITIES],
    },
    /// New value of a managed object. Must be applied to every worker: budgets and tables are the
    /// same in all.
    Object {
        object: Object,
        /// Port and class of the object.
        at: At,
        value: ObjectValue,
    },
    /// Cells of a group's headroom are lost: a planted fault.
    Leak { port: PortId, group: PriorityGroup, cells: Cells },
    /// Starts a new link measurement at a port.
    Measure(PortId),
    /// Network position that a port advertises, where it advertises one.
    Topology { port: PortId, topology: Topology },
    /// Congestion isolation and source flow control TLVs that a port advertises, where it runs
    /// LLDP.
    Advertise {
        port: PortId,
        /// Destination of congestion isolation messages.
        isolation: Option<CongestionIsolation>,
        /// Source flow control parameters.
        sfc: Option<SourceFlowControl>,
    },
    /// Congestion locator of a port, for its source flow control messages. Must be applied to every
    /// worker.
    Locator { port: PortId, locator: Locator },
    /// Level of the switch by Topology Recognition, for its source flow control messages. Must be
    /// applied to every worker.
    Level(Option<Level>),
    /// CI peer of a port. Must be applied to every worker: the owner of the congested port makes
    /// the messages.
    Peer {
        port: PortId,
        /// The peer, or `None` to remove it.
        peer: Option<Peer>,
    },
    /// SFC capability of the host at a port: a capable host receives source flow control messages
    /// itself. Must be applied to every worker, because the set of valid senders depends on it.
    SfcHost {
        port: PortId,
        /// True if the host obeys messages itself.
        obeys: bool,
    },
    /// Removes all learnt addresses.
    FlushFdb,
    /// Resets counters and peaks to zero.
    ClearCounters,
}

impl Change {
    /// Returns its description in results; `name` returns the name of a port in the file.
    ///
    /// # Panics
    /// Never: a string takes any text.
    pub fn describe(&self, name: impl Fn(PortId) -> String) -> String {
        let mut text = String::new();
        let port = self.port().map(name).unwrap_or_default();
        self.write(&mut text, &port).expect("a string takes any text");
        text
    }

    /// Returns the port that it is about.
    fn port(&self) -> Option<PortId> {
        match *self {
            Self::Link { port, .. }
            | Self::Group { port, .. }
            | Self::Ecn { port, .. }
            | Self::Meter { port, .. }
            | Self::Pfc { port, .. }
            | Self::Ets { port, .. }
            | Self::Leak { port, .. }
            | Self::Measure(port)
            | Self::Topology { port, .. }
            | Self::Advertise { port, .. }
            | Self::Locator { port, .. }
            | Self::Peer { port, .. }
            | Self::SfcHost { port, .. } => Some(port),
            Self::Object { at, .. } => at.port,
            Self::Level(_) | Self::FlushFdb | Self::ClearCounters => None,
        }
    }

    fn write(&self, f: &mut impl fmt::Write, port: &str) -> fmt::Result {
        match self {
            Self::Link { up, rate, .. } => {
                // These texts are part of results, which name the change that was made.
                write!(f, "the link of port {port} {}", if *up { "is up" } else { "is down" })?;
                rate.map_or(Ok(()), |rate| write!(f, " at {rate}"))
            }
            Self::Group { group, plan, .. } => {
                write!(f, "group {group} of port {port}: reserved {} cells", plan.reserved.0)?;
                match plan.limit {
                    SharedLimit::Static(cells) => write!(f, ", shared at most {} cells", cells.0)?,
                    SharedLimit::Dynamic(alpha) => write!(f, ", dynamic_th {}", alpha.exponent())?,
                    SharedLimit::Unlimited => f.write_str(", shared without a limit")?,
                }
                match plan.kind {
                    GroupKind::Lossless { headroom, .. } => {
                        write!(f, ", headroom {} cells", headroom.0)
                    }
                    GroupKind::Lossy => f.write_str(", lossy"),
                }
            }
            Self::Ecn { class, plan: Some(plan), .. } => {
                let (kmin, kmax) = (plan.kmin, plan.kmax);
                write!(f, "class {class} of port {port} marks from {kmin} to {kmax}")
            }
            Self::Ecn { class, plan: None, .. } => {
                write!(f, "class {class} of port {port} marks nothing")
            }
            Self::Meter { meter: Meter::Bytes, .. } => write!(f, "port {port} shares by bytes"),
            Self::Meter { meter: Meter::Frames, .. } => write!(f, "port {port} shares by frames"),
            Self::Pfc { .. } => write!(f, "the PFC priorities of port {port}"),
            Self::Ets { .. } => write!(f, "the traffic classes of port {port}"),
            Self::Object { object, at, value } => {
                f.write_str(object.name())?;
                at.port.map_or(Ok(()), |_| write!(f, " of port {port}"))?;
                at.class.map_or(Ok(()), |class| write!(f, ", class {class}"))?;
                // In the unit of the object's kind, as a client writes it.
                write!(f, " is {}", object.kind().show(*value))
            }
            Self::Leak { group, cells, .. } => {
                write!(f, "group {group} of port {port} loses {} cells of headroom", cells.0)
            }
            Self::Measure(_) => write!(f, "port {port} measures its link"),
            Self::Topology { .. } => write!(f, "the advertised level of port {port}"),
            Self::Advertise { .. } => {
                write!(f, "the advertised congestion capabilities of port {port}")
            }
            Self::Locator { .. } => write!(f, "the congestion locator of port {port}"),
            Self::Level(_) => f.write_str("the level of the switch"),
            Self::Peer { peer: Some(_), .. } => write!(f, "port {port} has a CI peer"),
            Self::Peer { peer: None, .. } => write!(f, "port {port} has no CI peer"),
            Self::SfcHost { obeys: true, .. } => {
                write!(f, "the host at port {port} obeys SFC messages")
            }
            Self::SfcHost { obeys: false, .. } => {
                write!(f, "the host at port {port} obeys no SFC messages")
            }
            Self::FlushFdb => f.write_str("all learnt addresses are removed"),
            Self::ClearCounters => f.write_str("all counters are cleared"),
        }
    }
}

/// Reason for refusing a change; nothing was changed then.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// This worker does not own the port.
    #[error("port {0} is not one of this worker's")]
    NotMine(PortId),
    /// The buffer cannot satisfy the reservations.
    #[error(transparent)]
    Buffer(#[from] BufferError),
    /// The port starts no measurements.
    #[error(
        "port {0} starts no measurements; put `measurement: {{initiate: true}}` or `headroom: auto` \
         into its part of the file"
    )]
    CannotMeasure(PortId),
    /// There is nothing to measure.
    #[error("port {0} cannot measure: its link is down")]
    LinkDown(PortId),
    /// The CI peer is not valid, or there is no room for it.
    #[error(transparent)]
    Peer(#[from] PeerError),
    /// The port does not run PFC; a change cannot turn PAUSE into PFC.
    #[error("port {0} does not run PFC, so its priorities cannot change; set `pfc` in its file")]
    NotPfc(PortId),
    /// A managed object cannot have the value.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// Marking would be certain before it starts.
    #[error("kmin {kmin} is above kmax {kmax}; marking starts at kmin and is certain above kmax")]
    Ecn { kmin: Bytes, kmax: Bytes },
    /// A probability above 1.
    #[error("pmax is above 100%")]
    Pmax,
}

/// Refusal of a change, as the switch reports it.
#[derive(Debug)]
pub enum Refused {
    /// Because of frames held now: it may succeed later.
    Now(String),
    /// Permanent.
    Never(String),
}

impl ChangeError {
    /// Classifies the refusal: temporary if it may succeed once the buffer holds less, else
    /// permanent.
    pub fn as_refused(&self) -> Refused {
        match self {
            // Cells that frames hold now come back when the frames leave.
            Self::Buffer(BufferError::HeadroomInUse { .. } | BufferError::PoolInUse { .. }) => {
                Refused::Now(self.to_string())
            }
            _ => Refused::Never(self.to_string()),
        }
    }
}

impl<W: World> Switch<W> {
    /// Applies a change to the running switch.
    ///
    /// # Errors
    /// [`ChangeError`]; nothing was changed then.
    pub fn apply(&mut self, now: Instant, change: Change) -> Result<(), ChangeError> {
        // Whatever changes may alter a cached decision, or give a port something to do. Changes are rare, so all are
        // looked up again.
        self.fdb.invalidate();
        self.wake_all();
        match change {
            Change::Link { port, up, rate } => self.set_link(now, port, up, rate)?,
            Change::Group { port, group, plan } => self.set_group(now, port, group, plan)?,
            Change::Leak { port, group, cells } => {
                self.index.get(port.index()).ok_or(ChangeError::NotMine(port))?;
                self.ledger.leak(port, group, cells);
            }
            Change::Ecn { port, class, plan } => self.set_ecn(port, class, plan)?,
            Change::Meter { port, meter } => {
                let slot = self.local(port).ok_or(ChangeError::NotMine(port))?;
                self.ports[slot].scheduler.set_meter(meter);
            }
            Change::Pfc { port, mode } => self.set_pfc(now, port, mode)?,
            Change::Ets { port, classes, map } => self.set_ets(now, port, &classes, map)?,
            Change::Object { object, at, value } => self.set_object(now, object, at, value)?,
            Change::Measure(port) => self.measure(now, port)?,
            Change::Topology { port, topology } => {
                let slot = self.local(port).ok_or(ChangeError::NotMine(port))?;
                if let Some(agents) = &mut self.ports[slot].agents {
                    agents.set_topology(now, topology);
                }
                self.note_agents(slot);
            }
            Change::Advertise { port, isolation, sfc } => {
                let slot = self.local(port).ok_or(ChangeError::NotMine(port))?;
                if let Some(agents) = &mut self.ports[slot].agents {
                    agents.set_congestion(now, isolation, sfc);
                }
                self.note_agents(slot);
            }
            Change::Locator { port, locator } => self.signals.set_locator(port, locator),
            Change::Level(level) => self.signals.set_level(level),
            Change::Peer { port, peer } => self.signals.set_peer(port, peer)?,
            Change::SfcHost { port, obeys } => {
                let kind = if obeys { AttachedKind::SfcHost } else { AttachedKind::Host };
                self.signals.set_attached(port, kind);
            }
            Change::FlushFdb => self.fdb.flush(None),
            Change::ClearCounters => self.clear_counters(now),
        }
        Ok(())
    }

    /// Sets the link state. A link that goes down drops the frames queued for it, ends the peer's
    /// pauses, and removes the addresses learnt on it; pending XON frames are not sent.
    fn set_link(
        &mut self,
        now: Instant,
        id: PortId,
        up: bool,
        rate: Option<BitsPerSec>,
    ) -> Result<(), ChangeError> {
        let slot = self.local(id).ok_or(ChangeError::NotMine(id))?;
        let port = &mut self.ports[slot];
        if let Some(rate) = rate {
            port.rate = rate;
            port.receiver.set_rate(now, rate);
            port.sender.set_rate(now, rate);
            if let Some(shaper) = &mut port.shaper {
                shaper.set_rate(rate);
            }
            // Quanta last longer on a slower link, also those that the proxy has granted.
            self.proxy_rate(now, slot, rate);
        }
        let port = &mut self.ports[slot];
        let went_down = port.up && !up;
        port.up = up;
        let rate = port.rate;
        // Before the queues are flushed, so that other workers hand over no more frames for them.
        self.handoff.tell_link(id, up, rate);
        if went_down {
            // A peer that comes back has no pause in force, and knows of none.
            self.ports[slot].receiver.clear(now);
            self.ports[slot].sender.on_link_down();
            self.proxy_link_down(slot);
            self.fdb.flush(Some(id));
            self.flush_port(now, slot, DropReason::Flushed);
        }
        self.tell_agents_link(now, slot);
        Ok(())
    }

    /// Sets the thresholds of a priority group, of this worker's or another's port.
    fn set_group(
        &mut self,
        now: Instant,
        port: PortId,
        group: PriorityGroup,
        plan: GroupPlan,
    ) -> Result<(), ChangeError> {
        self.index.get(port.index()).ok_or(ChangeError::NotMine(port))?;
        // On every worker: cells reserved for one group are taken from the pool of all.
        let crossing = self.ledger.set_group(port, group, plan)?;
        let headroom = match plan.kind {
            GroupKind::Lossless { headroom, .. } => Some(headroom),
            GroupKind::Lossy => None,
        };
        self.events.regrouped(now, port, group, headroom);
        self.tables[port.index()].set_lossy(group, plan.kind == GroupKind::Lossy);
        // The group may be above its new limit, or below it, without any frame.
        if let Some(crossing) = crossing {
            self.on_crossing(now, port, group, crossing);
        }
        Ok(())
    }

    fn set_ets(
        &mut self,
        now: Instant,
        port: PortId,
        classes: &[ClassPlan; PRIORITIES],
        map: [TrafficClass; PRIORITIES],
    ) -> Result<(), ChangeError> {
        // All workers classify frames for the port, its owner alone schedules them.
        let tables = self.tables.get_mut(port.index()).ok_or(ChangeError::NotMine(port))?;
        tables.set_classes(map);
        self.events.classes_changed(now, port, map);
        if let Some(slot) = self.local(port) {
            self.ports[slot].scheduler.set_classes(classes);
        }
        self.narrow_direct_paths();
        self.note_guards();
        Ok(())
    }

    /// Starts a new link measurement at an owned port.
    fn measure(&mut self, now: Instant, port: PortId) -> Result<(), ChangeError> {
        let slot = self.local(port).ok_or(ChangeError::NotMine(port))?;
        let agents = self.ports[slot].agents.as_mut();
        if !agents.is_some_and(|agents| agents.measure_now(now)) {
            // A port that can measure refuses for its link alone.
            let is_down = self.ports[slot].agents.as_ref().is_some_and(|a| a.can_measure());
            return Err(match is_down {
                true => ChangeError::LinkDown(port),
                false => ChangeError::CannotMeasure(port),
            });
        }
        self.note_agents(slot);
        Ok(())
    }

    fn set_pfc(
        &mut self,
        now: Instant,
        port: PortId,
        mode: FlowControl,
    ) -> Result<(), ChangeError> {
        let slot = self.local(port).ok_or(ChangeError::NotMine(port))?;
        let state = &mut self.ports[slot];
        let (was, will) = (state.receiver.mode(), mode);
        // PAUSE and PFC exclude each other on a port, and DCBX negotiates PFC alone.
        let pfc = |mode| matches!(mode, FlowControl::Pfc { .. });
        if !pfc(was) || !pfc(will) {
            return Err(ChangeError::NotPfc(port));
        }
        state.sender.set_mode(now, mode);
        state.receiver.set_mode(now, mode);
        // A port that obeys no pause cannot hold a frame back.
        state.straight = mode.obeys().is_empty();
        self.proxy_mode(slot, mode);
        if let FlowControl::Pfc { send, obey } = mode {
            self.events.pfc_changed(now, port, send, obey);
            // A priority that joins others in a group over its limit is paused with them.
            for p in send.iter() {
                let xoff = self.ledger.is_xoff(port, self.tables[port.index()].group(p));
                self.ports[slot].sender.want(now, p, xoff);
            }
            self.awake.insert(slot);
        }
        Ok(())
    }

    fn set_ecn(
        &mut self,
        port: PortId,
        class: TrafficClass,
        plan: Option<EcnPlan>,
    ) -> Result<(), ChangeError> {
        let slot = self.local(port).ok_or(ChangeError::NotMine(port))?;
        if let Some(EcnPlan { kmin, kmax, .. }) = plan.filter(|p| p.kmin > p.kmax) {
            return Err(ChangeError::Ecn { kmin, kmax });
        }
        if plan.is_some_and(|p| p.pmax > 65_536) {
            return Err(ChangeError::Pmax);
        }
        self.tables[port.index()].ecn[class.index()] = plan;
        // A curve that marks at length 0 has to see every frame, so none bypasses the queue from now on.
        if plan.is_some_and(|plan| !passes_empty_queues(&plan)) {
            let priorities = self.tables[port.index()].priorities_of_class(class);
            self.ports[slot].direct.0 &= !priorities.0;
        }
        Ok(())
    }

    /// Resets the counters. Held frames stay accounted for, as if they had just been received.
    fn clear_counters(&mut self, now: Instant) {
        // Held frames count as taken over, or the balance would miss them when they leave.
        let held = self.held();
        self.ledger.clear_peaks();
        for port in &mut self.ports {
            port.counters = PortCounters::default();
            port.scheduler.clear_peaks();
            port.receiver.clear_counters(now);
            port.sender.clear_counters(now);
        }
        self.taken_over.fill(TakenOver::default());
        self.fdb.clear_counters();
        self.signals.clear_isolation_counters();
        self.signals.clear_counters();
        self.given = 0;
        self.taken = held;
    }
}
