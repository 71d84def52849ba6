//! Managed objects of a running switch.

use super::{Congested, Filter, locator};
use crate::congestion::sfc::SfcPoint;
use crate::switch::Switch;
use crate::switch::managed::{self, At, Object, ObjectError, ObjectValue};
use crate::switch::plan::{CongestionPlan, IsolationObject};
use crate::units::{PortId, TrafficClass};
use crate::world::World;

impl<W: World> Switch<W> {
    /// Writes a managed object, which the machines then obey.
    ///
    /// # Errors
    /// [`ObjectError`], and nothing was changed.
    pub(in crate::switch) fn set_object(
        &mut self,
        object: Object,
        at: At,
        value: ObjectValue,
    ) -> Result<(), ObjectError> {
        let mut plan = (*self.congested.plan).clone();
        managed::set(&mut plan, self.tables.len(), object, at, value)?;
        self.adopt_isolation(&plan);
        self.congested.adopt(plan);
        self.look_again();
        Ok(())
    }

    /// The source flow control points of this worker, to look at.
    pub(in crate::switch) fn sfc_point(&self) -> Option<&SfcPoint> {
        self.congested.sfc.as_ref().map(|sfc| &sfc.point)
    }

    /// Frames pass by a queue no longer of which somebody has to be told when they join it.
    pub(in crate::switch) fn look_again(&mut self) {
        for port in &mut self.ports {
            let tables = &self.tables[port.id.index()];
            let unwatched = self.congested.unwatched(port.id, |p| tables.class(p), self.max_frame);
            port.direct.0 &= unwatched.0;
        }
    }

    fn adopt_isolation(&mut self, plan: &CongestionPlan) {
        let Some(isolation) = &plan.isolation else { return };
        let mut write = |object| self.set_isolation(object).expect("a plan that was checked");
        write(IsolationObject::Plan(isolation.machine));
        write(IsolationObject::Sending {
            priority: isolation.cim_tx_priority,
            min_header_octets: isolation.min_header_octets,
        });
        for (port, point) in port_ids().zip(&isolation.points) {
            write(IsolationObject::Point { port, point: *point });
        }
        for (port, watches) in port_ids().zip(&isolation.watches) {
            for (class, watch) in TrafficClass::ALL.into_iter().zip(watches) {
                if let Some(watch) = *watch {
                    write(IsolationObject::Watch { port, class, watch });
                }
            }
        }
    }
}

/// The ports of a switch, in the order of their numbers.
fn port_ids() -> impl Iterator<Item = PortId> {
    (0..=PortId::MAX.get()).filter_map(PortId::new)
}

impl Congested {
    /// Has all machines but isolation obey another plan, which was found to be sound.
    fn adopt(&mut self, new: CongestionPlan) {
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
        for (n, port) in port_ids().take(self.ports).enumerate() {
            let of = |plan: &CongestionPlan| plan.ports.get(n).copied().unwrap_or_default();
            let attached = of(&new);
            // What discovery has found since holds where nothing else is said now.
            if attached != of(&self.plan) {
                self.set_attached(port, attached.kind);
                self.set_locator(port, locator(&attached));
            }
        }
        self.filter = Filter::new(&new);
        self.set_floors();
        *self.plan = new;
    }
}
