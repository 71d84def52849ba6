//! Numbers of nodes and links, and error probabilities of links.

use ground::units::PortId;

/// Number of a node: its index in [`NetworkPlan::nodes`](super::NetworkPlan::nodes).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(pub u32);

/// Number of a link: its index in [`NetworkPlan::links`](super::NetworkPlan::links).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LinkId(pub u32);

/// One direction of a link.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Direction(pub u32);

/// One end of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct End {
    pub node: NodeId,
    /// Port number; 0 for a host.
    pub port: PortId,
}

/// Place of a node: the number of its part, and its index among the part's nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) part: u32,
    pub(super) index: u32,
}

/// Error probabilities of a link, in units of 2^-64: 0 is never, `u64::MAX` almost always.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ErrorPlan {
    /// Bit error probability. The frame is then damaged.
    pub bit: u64,
    /// Probability that a frame is lost without a trace.
    pub frame: u64,
}

impl LinkId {
    /// From end `a` to end `b`.
    #[must_use]
    pub const fn ab(self) -> Direction {
        Direction(self.0 * 2)
    }

    /// From end `b` to end `a`.
    #[must_use]
    pub const fn ba(self) -> Direction {
        Direction(self.0 * 2 + 1)
    }
}

impl Direction {
    #[must_use]
    pub const fn link(self) -> LinkId {
        LinkId(self.0 / 2)
    }

    /// Returns the other direction of the same link.
    #[must_use]
    pub const fn reverse(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// Index in a list of all directions.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeId {
    /// Index in a list of all nodes.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// Index in a list of all links.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}
