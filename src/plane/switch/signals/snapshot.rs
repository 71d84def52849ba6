//! Snapshot of the congestion counters.

use super::Signals;
use crate::Switch;
use contracts::stats::CongestionSnapshot;
use contracts::world::World;

impl Signals {
    /// Counts since the start.
    fn counted(&self) -> CongestionSnapshot {
        CongestionSnapshot {
            sfc: self.sfc.as_ref().map(|sfc| sfc.snapshot(self.ports)),
            proxy: self.relay.as_ref().map(|relay| relay.snapshot(self.ports)),
            fast_cnp: self.notifier.as_ref().map(|notifier| notifier.snapshot()),
            qcn: self.quantizer.as_ref().map(|quantizer| quantizer.snapshot(self.ports)),
            isolation: None,
        }
    }

    /// Resets the counters to zero.
    pub(crate) fn clear_counters(&mut self) {
        *self.base = self.counted();
    }
}

impl<W: World> Switch<W> {
    /// Returns the congestion counters of this worker; `None` where no congestion function is
    /// configured.
    #[must_use]
    pub fn congestion_snapshot(&self) -> Option<Box<CongestionSnapshot>> {
        let signals = &self.signals;
        let counted =
            CongestionSnapshot { isolation: self.isolation_snapshot(), ..signals.counted() };
        (counted != CongestionSnapshot::default()).then(|| Box::new(counted.since(&signals.base)))
    }
}
