//! What congestion control is told.

use crate::units::Bytes;

/// RED-like ECN marking of one traffic class (RFC 3168; DCQCN's switch part).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EcnPlan {
    /// Queue length below which nothing is marked.
    pub kmin: Bytes,
    /// Queue length above which every ECT frame is marked. Not below `kmin`.
    pub kmax: Bytes,
    /// The probability just below `kmax`, in parts of 65536 (0 to 65536).
    pub pmax: u32,
    /// Where the queue is looked at.
    pub at: MarkAt,
    /// What the mark means for a frame that is not ECN-capable.
    pub not_ect: NotEct,
}

/// When a frame is marked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MarkAt {
    /// By the queue it joins.
    Enqueue,
    /// By the queue it leaves behind.
    Dequeue,
}

/// What becomes of a Not-ECT frame that the curve picks. CE is never set on it (RFC 3168 6.1.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotEct {
    /// It passes: the limits of its queue and group are all that bound it. The default, and the
    /// only choice for a lossless class.
    Pass,
    /// It is dropped, as RED does.
    Drop,
}
