//! Receipts for buffer space.

use core::fmt;
use core::num::NonZeroU64;

use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup};

/// Receipt for a frame's buffer space: neither Clone nor Copy, created by admission alone and
/// consumed by release. Only the `buffer` crate can create or open one.
///
/// It is one word, since each step of a frame's way stores it and the next one reads it: a processor that
/// reads several fresh small stores as one waits until all of them are in its cache.
#[derive(PartialEq, Eq)]
#[must_use = "buffer space that is never released is lost to its group"]
pub struct Charge(NonZeroU64);

// From the lowest bit: cells (32 bits), port (16), group (8); the highest bit is set.
const PORT: u32 = 32;
const GROUP: u32 = 48;
const SET: NonZeroU64 = NonZeroU64::new(1 << 63).unwrap();

impl Charge {
    #[inline(always)]
    pub(super) fn new(port: PortId, group: PriorityGroup, cells: Cells) -> Self {
        let group = u64::from(group.get()) << GROUP;
        Self(SET | group | u64::from(port.get()) << PORT | u64::from(cells.0))
    }

    /// Returns the ingress port and group charged, and the cells.
    #[inline(always)]
    pub(super) fn open(self) -> (PortId, PriorityGroup, Cells) {
        let port = PortId::new(self.port()).expect("a charge is made with a PortId");
        (port, self.group(), self.cells())
    }

    /// Index of its group among those of a ledger.
    #[inline(always)]
    pub(super) fn index(&self) -> usize {
        usize::from(self.port()) * PRIORITIES + usize::from(self.group_number())
    }

    #[inline(always)]
    const fn port(&self) -> u16 {
        (self.0.get() >> PORT) as u16
    }

    #[inline(always)]
    const fn group_number(&self) -> u8 {
        (self.0.get() >> GROUP) as u8
    }

    #[inline(always)]
    pub(super) const fn cells(&self) -> Cells {
        Cells(self.0.get() as u32)
    }

    /// Adds another receipt of the same group to this one, so that both are released together.
    ///
    /// # Errors
    /// The other receipt, if it is for another group.
    #[inline]
    pub fn join(&mut self, other: Self) -> Result<(), Self> {
        if (self.0.get() ^ other.0.get()) >> PORT != 0 {
            return Err(other);
        }
        self.set_cells(self.cells().0 + other.cells().0);
        Ok(())
    }

    /// Splits `cells` off into another receipt, for a part that is released later.
    ///
    /// # Panics
    /// If there are fewer.
    pub fn split(&mut self, cells: u32) -> Self {
        let left = self.cells().0.checked_sub(cells).expect("a part is no larger than the whole");
        let mut part = Self(self.0);
        part.set_cells(cells);
        self.set_cells(left);
        part
    }

    #[inline(always)]
    fn set_cells(&mut self, cells: u32) {
        let place = self.0.get() >> PORT << PORT;
        self.0 = SET | place | u64::from(cells);
    }

    /// Returns the ingress group charged.
    #[inline]
    #[must_use]
    pub fn group(&self) -> PriorityGroup {
        PriorityGroup::new(self.group_number()).expect("a charge is made with a PriorityGroup")
    }
}

impl fmt::Debug for Charge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?} at port {}", self.cells(), self.group(), self.port())
    }
}
