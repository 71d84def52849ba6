//! The headers of a flow's frames.

use super::pattern::Pattern;
use super::read::MacText;

/// A number in a header.
pub type Number = Option<Pattern<u32>>;
/// A MAC address in a header.
pub type HardwareAddress = Option<Pattern<MacText>>;

types_of!("header");

impl FlowPfcPause {
    /// Returns the pause times of classes 0 to 7.
    #[must_use]
    pub const fn times(&self) -> [&Number; 8] {
        [
            &self.pause_class_0,
            &self.pause_class_1,
            &self.pause_class_2,
            &self.pause_class_3,
            &self.pause_class_4,
            &self.pause_class_5,
            &self.pause_class_6,
            &self.pause_class_7,
        ]
    }
}
