//! Merges an object's fields over the defaults of its kind.

use super::{Flow, Host, Link, Switch};

/// Implements `over` for each type: every named field that is unset is taken from the defaults.
macro_rules! over {
    ($($name:ident: $($field:ident),*;)*) => {$(
        impl $name {
            /// Returns a copy with unset fields taken from `defaults`. Names and ends have no
            /// defaults.
            #[must_use]
            pub fn over(&self, defaults: &Self) -> Self {
                let mut all = self.clone();
                $(if all.$field.is_none() {
                    all.$field.clone_from(&defaults.$field);
                })*
                all
            }
        }
    )*};
}

over! {
    Switch: profile, clock, cpu, cut_through, control_frame;
    Host: obey, storms, backlog, clock, cpu, measurement, ptp, lldp, dcbx, macsec, sfc, qcn;
    Link: rate, length, ns_per_m, delay, phy, fec, response, errors, back, line_overhead, time_step,
        macsec;
    Flow: pattern, rate, size, duration, start, stagger, priority, dscp, ecn, transport, victim,
        on_off;
}
