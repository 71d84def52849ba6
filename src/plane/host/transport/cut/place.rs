//! The place of a packet in a flow's messages.

/// One packet of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    /// Number in the flow.
    pub(crate) index: u64,
    /// Number of its message.
    pub(crate) message: u64,
    /// Number in the message.
    pub(crate) within: u64,
}

impl Place {
    /// Returns true if a message starts with this packet.
    #[inline]
    pub(crate) const fn is_first(self) -> bool {
        self.within == 0
    }
}
