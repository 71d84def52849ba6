//! Functional elements of Source Flow Control created and deleted while the switch runs (802.1Q
//! 12.1.1 j as proposed): the points, and the proxy.
//!
//! A section is created with empty tables, whose memory is allocated here: frames of the worker wait
//! for that long. A deleted one takes its flows, its cache and its counters with it; pauses that its
//! proxy sent expire at the hosts.

use super::Signals;
use super::relay::Relay;
use super::source_flow::SourceFlow;
use crate::Switch;
use crate::plan::SwitchPlan;
use contracts::world::World;
use ground::time::Instant;
use ground::units::PortId;

impl<W: World> Switch<W> {
    /// Creates and deletes the points and the proxy so that they are those of `plan`, the switch's
    /// plan with other sections about congestion; existing ones get their new settings. Must be
    /// called on every worker.
    pub fn set_sections(&mut self, now: Instant, plan: &SwitchPlan) {
        let proxied = self.signals.relay.is_some();
        self.signals.create(plan);
        let macs = self.tables.iter().map(|tables| tables.mac);
        self.signals.adopt(plan.congestion.clone(), macs);
        self.look_again();
        let created = self.signals.relay.is_some() && !proxied;
        for at in 0..self.ports.len() {
            if created {
                // The plan has the configured rate and priorities, the port those in use.
                let (rate, mode) = (self.ports[at].rate, self.ports[at].receiver.mode());
                self.proxy_rate(now, at, rate);
                self.proxy_mode(at, mode);
            }
            self.note_proxy(at);
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
            self.base.sfc = None;
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
