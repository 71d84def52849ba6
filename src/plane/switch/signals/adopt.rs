//! Writes to managed objects of a running switch.

use super::filter::Filter;
use super::heard::Heard;
use super::{Signals, set_watches};
use crate::Switch;
use crate::managed::{self, At, Object, ObjectError, ObjectValue};
use crate::plan::{CongestionIsolationPlan, CongestionPlan};
use congestion::proxy::Proxy;
use congestion::sfc::SfcPoint;
use contracts::world::World;
use ground::time::Instant;
use ground::units::{Mac, PortId};
use pfc::StormEvent;

impl<W: World> Switch<W> {
    /// Writes a managed object and applies it to the machines.
    ///
    /// # Errors
    /// [`ObjectError`]; nothing was changed then.
    pub(crate) fn set_object(
        &mut self,
        now: Instant,
        (object, at): (Object, At),
        value: ObjectValue,
    ) -> Result<(), ObjectError> {
        let mut plan = (*self.signals.plan).clone();
        managed::set(&mut plan, self.tables.len(), object, at, value)?;
        let macs = self.tables.iter().map(|tables| tables.mac);
        self.signals.adopt(plan, macs);
        self.look_again();
        self.note_guards();
        self.follow_watchdogs(now);
        self.follow_measurements(now);
        Ok(())
    }

    /// Sets the parameters of the link measurements of owned ports according to the plan.
    fn follow_measurements(&mut self, now: Instant) {
        for at in 0..self.ports.len() {
            let plan = self.signals.plan.port_measurement(self.ports[at].id);
            let port = &mut self.ports[at];
            if let (Some(plan), Some(agents)) = (plan, &mut port.agents) {
                let auto = plan.auto.map(|auto| (auto.methods, auto.statistic));
                agents.set_measurement(now, plan.initiate, auto);
                self.note_agents(at);
            }
        }
    }

    /// Starts and stops the watchdogs of owned ports, and sets their times, according to the plan.
    fn follow_watchdogs(&mut self, now: Instant) {
        for at in 0..self.ports.len() {
            let id = self.ports[at].id;
            if let Some(plan) = self.signals.plan.port_watchdog(id) {
                self.ports[at].watchdog.set_times(plan.detection, plan.restoration);
            }
            let enabled = self.signals.plan.watches(id);
            for class in self.ports[at].watchdog.set_enabled(enabled) {
                self.storm(now, at, class, StormEvent::Restored);
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
    pub(crate) fn look_again(&mut self) {
        for port in &mut self.ports {
            let tables = &self.tables[port.id.index()];
            let unwatched = self.signals.unwatched(port.id, |p| tables.class(p), self.max_frame);
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
