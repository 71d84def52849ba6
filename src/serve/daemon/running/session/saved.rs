//! The file of a running switch.

use std::collections::BTreeSet;

use config::{SwitchFile, Written};
use ground::units::{PortId, TrafficClass};

/// The file of a running switch, and the changes of clients that are no managed objects.
pub(super) struct Saved {
    pub(super) written: Written,
    /// Ports whose groups were changed.
    pub(super) groups: BTreeSet<PortId>,
    /// Queues whose marking curves were changed.
    pub(super) curves: BTreeSet<(PortId, u8)>,
}

impl Saved {
    pub(super) fn new(file: &SwitchFile) -> Self {
        let written = file.written.clone();
        Self { written, groups: BTreeSet::new(), curves: BTreeSet::new() }
    }

    /// Records that a client changed a group of a port.
    pub(super) fn group(&mut self, port: PortId) {
        self.groups.insert(port);
    }

    /// Records that a client changed a marking curve.
    pub(super) fn curve(&mut self, port: PortId, class: TrafficClass) {
        self.curves.insert((port, class.get()));
    }
}
