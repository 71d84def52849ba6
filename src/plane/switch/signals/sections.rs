//! Changes of the congestion functions while the switch runs. All must be applied to every worker.
//!
//! Managed objects are written. The functional elements of Source Flow Control (802.1Q 12.1.1 j as
//! proposed), the points and the proxy, are created and deleted: a section is created with empty
//! tables, whose memory is allocated here, so frames of the worker wait for that long. A deleted one
//! takes its flows, its cache and its counters with it; pauses that its proxy sent expire at the hosts.
//! Discovery sets what is known of the other ends of the ports.

use super::filter::Filter;
use super::relay::{self, Heard, Relay};
use super::source_flow::SourceFlow;
use super::{Signals, set_watches};
use crate::managed::{self, At, Object, ObjectError, ObjectValue};
use crate::{AttachedKind, CongestionIsolationPlan, CongestionPlan, Switch, SwitchPlan};
use congestion::isolation::{Peer, PeerError};
use congestion::proxy::Proxy;
use congestion::sfc::SfcPoint;
use contracts::world::World;
use ground::time::Instant;
use ground::units::{Mac, PortId};
use pfc::StormEvent;
use wire::sfcm::{Level, Locator};

impl<W: World> Switch<W> {
    /// Creates and deletes the points and the proxy so that they are those of `plan`, the switch's
    /// plan with other sections about congestion; existing ones get their new settings. Must be
    /// called on every worker.
    pub fn set_sections(&mut self, now: Instant, plan: &SwitchPlan) {
        let proxied = self.signals.relay.is_some();
        self.signals.create(plan);
        let macs = self.tables.iter().map(|tables| tables.mac);
        self.signals.adopt(plan.congestion.clone(), macs);
        self.narrow_direct_paths();
        // An existing proxy knows rate and priorities of its ports already.
        let created = self.signals.relay.is_some() && !proxied;
        for slot in 0..self.ports.len() {
            if created {
                // The plan has the configured rate and priorities, the port those in use.
                let (rate, mode) = (self.ports[slot].rate, self.ports[slot].receiver.mode());
                self.proxy_rate(now, slot, rate);
                self.proxy_mode(slot, mode);
            }
            self.note_proxy(slot);
        }
        if created {
            // The next frame of each flow is examined as if it were the first.
            self.fdb.invalidate();
        }
    }
}

impl Signals {
    /// Creates the sections that the plan has and the worker has not, and deletes the others.
    fn create(&mut self, plan: &SwitchPlan) {
        let ports = || (0..plan.ports.len() as u16).filter_map(PortId::new);
        if self.sfc.is_none() || plan.congestion.sfc.is_none() {
            self.sfc = SourceFlow::new(plan);
            // The new section counts from 0.
            self.base.sfc = None;
            // What discovery found is kept outside of the section, and given to the new one.
            for (port, locator) in ports().zip(self.locators.clone()) {
                self.set_locator(port, locator);
            }
            self.set_level(self.level);
        }
        if self.relay.is_none() || plan.congestion.proxy.is_none() {
            self.relay = Relay::new(plan);
            self.base.proxy = None;
            for (port, kind) in ports().zip(self.attached.clone()) {
                self.set_attached(port, kind);
            }
        }
    }
}

impl<W: World> Switch<W> {
    /// Writes a managed object and applies it to the machines.
    ///
    /// # Errors
    /// [`ObjectError`]; nothing was changed then.
    pub(crate) fn set_object(
        &mut self,
        now: Instant,
        object: Object,
        at: At,
        value: ObjectValue,
    ) -> Result<(), ObjectError> {
        // On a copy, so that a refused value changes nothing.
        let mut plan = (*self.signals.plan).clone();
        managed::set(&mut plan, self.tables.len(), object, at, value)?;
        let macs = self.tables.iter().map(|tables| tables.mac);
        self.signals.adopt(plan, macs);
        self.narrow_direct_paths();
        self.note_guards();
        self.follow_watchdogs(now);
        self.follow_measurements(now);
        Ok(())
    }

    /// Sets the parameters of the link measurements of owned ports according to the plan.
    fn follow_measurements(&mut self, now: Instant) {
        for slot in 0..self.ports.len() {
            let plan = self.signals.plan.port_measurement(self.ports[slot].id);
            let port = &mut self.ports[slot];
            if let (Some(plan), Some(agents)) = (plan, &mut port.agents) {
                let auto = plan.auto.map(|auto| (auto.methods, auto.statistic));
                // The deadline of the link protocols may be another one then.
                agents.set_measurement(now, plan.initiate, auto);
                self.note_agents(slot);
            }
        }
    }

    /// Sets the watchdogs of owned ports according to the plan, which may start and stop them.
    fn follow_watchdogs(&mut self, now: Instant) {
        for slot in 0..self.ports.len() {
            let id = self.ports[slot].id;
            let Some(plan) = self.signals.plan.port_watchdog(id) else { continue };
            // A watchdog that is stopped releases the queues that it holds in a storm.
            for class in self.ports[slot].watchdog.set_plan(plan) {
                self.storm(now, slot, class, StormEvent::Restored);
            }
        }
    }

    /// Returns the source flow control points of this worker, for reading.
    pub(crate) fn sfc_point(&self) -> Option<&SfcPoint> {
        self.signals.sfc.as_ref().map(|sfc| &sfc.point)
    }

    /// Returns the proxy of this worker, for reading.
    pub(crate) fn proxy(&self) -> Option<&Proxy> {
        self.signals.relay.as_ref().map(|relay| &relay.proxy)
    }

    /// Returns the flows that messages to the proxy named, for reading.
    pub(crate) fn heard(&self) -> Option<&Heard> {
        self.signals.relay.as_ref().map(|relay| &relay.heard)
    }

    /// Removes from the direct path the priorities whose queue is now monitored for congestion.
    pub(crate) fn narrow_direct_paths(&mut self) {
        for port in &mut self.ports {
            let tables = &self.tables[port.id.index()];
            let unwatched = self.signals.unwatched(port.id, |p| tables.class(p), self.max_frame);
            // Only removes: a priority may take the direct path again after a new start.
            port.direct.0 &= unwatched.0;
        }
    }
}

/// The ports of a switch, in the order of their numbers.
fn port_ids() -> impl Iterator<Item = PortId> {
    (0..=PortId::MAX.get()).filter_map(PortId::new)
}

impl Signals {
    /// Applies another validated plan to all machines; `macs` are the addresses of the ports.
    pub(super) fn adopt(&mut self, new: CongestionPlan, macs: impl Iterator<Item = Mac>) {
        if let Some(plan) = &new.isolation {
            self.adopt_isolation(plan, macs);
        }
        if let (Some(sfc), Some(plan)) = (&mut self.sfc, &new.sfc) {
            sfc.adopt(plan);
        }
        if let (Some(relay), Some(plan)) = (&mut self.relay, &new.proxy) {
            relay.adopt(plan);
        }
        if let (Some(notifier), Some(plan)) = (&mut self.notifier, &new.fast_cnp) {
            notifier.adopt(plan);
        }
        if let (Some(quantizer), Some(plan)) = (&mut self.quantizer, &new.qcn) {
            quantizer.adopt(plan);
        }
        for port in port_ids().take(self.ports) {
            let attached = new.attached(port);
            // A discovered value stays where the new plan does not change the configured one.
            if attached != self.plan.attached(port) {
                self.set_attached(port, attached.kind);
                self.set_locator(port, new.locator(port));
            }
        }
        // The UDP ports of messages and the thresholds of queues may be others now.
        self.filter = Filter::new(&new);
        self.set_floors();
        *self.plan = new;
    }

    fn adopt_isolation(&mut self, plan: &CongestionIsolationPlan, macs: impl Iterator<Item = Mac>) {
        let Self { isolation: Some(machine), cims: Some(cims), .. } = self else { return };
        machine.set_plan(plan.machine).expect("a plan that was checked");
        set_watches(machine, plan);
        cims.adopt(plan, macs);
    }
}

impl Signals {
    pub(crate) fn set_locator(&mut self, port: PortId, locator: Locator) {
        self.locators[port.index()] = locator;
        if let Some(sfc) = &mut self.sfc {
            sfc.point.set_locator(port, locator);
        }
    }

    /// Sets the level of the switch in its messages.
    pub(crate) fn set_level(&mut self, level: Option<Level>) {
        self.level = level;
        if let Some(sfc) = &mut self.sfc {
            sfc.level = level;
        }
    }

    /// Sets the CI peer of a port.
    ///
    /// # Errors
    /// If the peer is not valid, or there is no room for it.
    pub(crate) fn set_peer(&mut self, port: PortId, peer: Option<Peer>) -> Result<(), PeerError> {
        self.isolation.as_mut().map_or(Ok(()), |isolation| isolation.set_peer(port, peer))
    }

    /// Sets the kind of device at the other end of a port; the proxy acts for hosts that do not
    /// react themselves.
    pub(crate) fn set_attached(&mut self, port: PortId, kind: AttachedKind) {
        self.attached[port.index()] = kind;
        if let Some(relay) = &mut self.relay {
            relay.proxy.set_kind(port, relay::kind(kind));
        }
    }
}
