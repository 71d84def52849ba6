//! The configuration: ports and their settings.

types_of!("config");

use file::tree::Node;
use file::{Finding, de};

impl Config {
    /// Reads the configuration of a generator file.
    ///
    /// # Errors
    /// The first field that does not fit, and all unknown fields, each with its place in the file.
    pub fn read(root: &Node) -> Result<Self, Vec<Finding>> {
        de::from_tree_all(root)
    }
}

impl FlowControl {
    /// Returns the flow control standard, with OTG's default.
    #[must_use]
    pub fn kind(&self) -> PauseKind {
        match (self.choice, &self.ieee_802_1qbb, &self.ieee_802_3x) {
            (Some(kind), _, _) => kind,
            (None, None, Some(_)) => PauseKind::Ieee8023x,
            (None, _, _) => PauseKind::Ieee8021qbb,
        }
    }
}

impl Ieee8021Qbb {
    /// Returns the configured queues of classes 0 to 7.
    #[must_use]
    pub const fn classes(&self) -> [Option<u32>; 8] {
        [
            self.pfc_class_0,
            self.pfc_class_1,
            self.pfc_class_2,
            self.pfc_class_3,
            self.pfc_class_4,
            self.pfc_class_5,
            self.pfc_class_6,
            self.pfc_class_7,
        ]
    }
}
