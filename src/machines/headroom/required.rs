//! Headroom of a lossless group of a software switch: the delay value, plus the delays of software.
//!
//! The sum is for one group that receives all traffic, in frames of the size that wastes most of
//! its cells; the waste is a separate term, so that the terms add up to whole cells. It includes
//! the frame whose admission triggers XOFF, because all of that frame is stored in headroom.

use core::{fmt, iter};

use super::delay::{DelayInputs, DelayValue, Frames, Term, bits_in, delay_value};
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Cells};

/// Minimum Ethernet frame size (802.3 4.4.2), FCS included.
const MIN_FRAME_OCTETS: u64 = 64;

/// Delays that a software switch and its peer add to the delay of the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SoftwareTerms {
    /// Maximum bytes of frames in the port's receive ring before the switch polls it, or [`Self::UNKNOWN_RING`].
    /// Frames that the ring cannot hold are lost before any buffer accounting.
    pub rx_backlog: Bytes,
    /// Maximum bytes of frames in the port's transmit ring ahead of a PFC frame.
    pub tx_committed: Bytes,
    /// Maximum bytes of frames that the peer still sends after it has processed the PFC frame:
    /// those already passed to its device.
    pub peer_committed: Bytes,
    /// Maximum time from a frame's arrival to the end of the poll that admits it, when its PFC
    /// frame has been passed to the port, or [`Self::UNKNOWN_GAP`].
    pub poll_gap: Duration,
}

impl SoftwareTerms {
    /// Size of a ring that is not known: it limits nothing, and the gap between polls counts alone.
    pub const UNKNOWN_RING: Bytes = Bytes(u64::MAX);

    /// A gap between polls that is not known: it limits nothing, and the ring counts alone.
    pub const UNKNOWN_GAP: Duration = Duration::MAX;

    /// Returns the terms with a ring and a gap of which one or both may not be known. What is known counts by itself;
    /// without either no frame waits for a poll.
    #[must_use]
    pub fn polled(self, rx_backlog: Option<Bytes>, poll_gap: Option<Duration>) -> Self {
        let (rx_backlog, poll_gap) = match (rx_backlog, poll_gap) {
            (None, None) => (Bytes(0), Duration::ZERO),
            (ring, gap) => (ring.unwrap_or(Self::UNKNOWN_RING), gap.unwrap_or(Self::UNKNOWN_GAP)),
        };
        Self { rx_backlog, poll_gap, ..self }
    }
}

/// Required headroom of a lossless group.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Required {
    /// Terms of the delay value, of the software, and of the unused space in cells of the most
    /// wasteful frame size. The sum is exactly the size of `cells`.
    pub sum: DelayValue,
    /// Headroom in cells.
    pub cells: Cells,
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cells for {}", self.cells.0, self.sum)
    }
}

/// Maximum number of cells per byte on the line, as a fraction.
#[derive(Clone, Copy)]
struct Density {
    cells: u64,
    octets: u64,
}

impl Density {
    /// Returns the maximum over all frame sizes, with `overhead` more bytes per frame.
    fn worst(cell_bytes: u64, max_frame: u64, overhead: u64) -> Self {
        let mut worst = Self { cells: 0, octets: 1 };
        // Of the sizes that take the same number of cells, the shortest is the worst: the minimum, and those
        // of one byte more than full cells.
        let full = MIN_FRAME_OCTETS / cell_bytes..=max_frame.saturating_sub(1) / cell_bytes;
        let begun = full.map(|cells| cells * cell_bytes + 1);
        for len in iter::once(MIN_FRAME_OCTETS).chain(begun.filter(|len| *len > MIN_FRAME_OCTETS)) {
            let this = Self { cells: len.div_ceil(cell_bytes), octets: len + overhead };
            // Compared by cross multiplication, without the rounding of a division.
            if this.cells * worst.octets > worst.cells * this.octets {
                worst = this;
            }
        }
        worst
    }

    /// Returns the cells that the line can fill in `bits` bit times.
    fn cells_in_bits(self, bits: u64) -> u128 {
        (u128::from(bits) * u128::from(self.cells)).div_ceil(u128::from(self.octets) * 8)
    }
}

/// Source of the term for unused parts of cells.
const PACKING: &str = "cell size, worst frame length";

/// Returns the term that makes `terms` as large as `cells` cells of `cell` bytes: the waste of
/// cells by frames of the worst size. Negative if cells are so small that the gaps between frames,
/// which are not stored, exceed the waste.
fn packing(terms: &[Term], cells: u128, cell: u64) -> Term {
    let buffer = (cells * u128::from(cell) * 8).min(1 << 62) as i64;
    // Exactly to whole cells, so that the terms add up to the size of the headroom.
    let bits = buffer - Term::sum(terms) as i64;
    Term { name: "cells that short frames waste", bits, source: PACKING }
}

/// Returns the unused space in cells for frames of up to `max_frame` bytes, of the most wasteful
/// size, if `terms` arrive on a line.
pub(super) fn packed(terms: &[Term], max_frame: Bytes, cell_bytes: u32) -> Term {
    let cell = u64::from(cell_bytes);
    let frames = Frames::up_to(max_frame);
    let worst = Density::worst(cell, max_frame.0, frames.around_data());
    packing(terms, worst.cells_in_bits(Term::sum(terms)), cell)
}

/// Calculates the headroom that one lossless group of a port needs to lose no frame after XOFF, in
/// a buffer of `cell_bytes` bytes per cell (1 to 65536). Limited to `u32::MAX` cells, more than any
/// buffer has.
#[must_use]
pub fn required(link: &DelayInputs, software: &SoftwareTerms, cell_bytes: u32) -> Required {
    required_of(delay_value(link), link.rate(), link.frames(), software, cell_bytes)
}

/// Calculates the headroom from any delay value, for a link of `rate` that carries `frames`.
#[must_use]
pub fn required_of(
    delay: DelayValue,
    rate: BitsPerSec,
    frames: Frames,
    software: &SoftwareTerms,
    cell_bytes: u32,
) -> Required {
    const SOFTWARE: &str = "the port's own figure";
    assert!(cell_bytes > 0, "a cell has at least one octet");
    let cell = u64::from(cell_bytes);
    let (max_frame, overhead) = (frames.max.0, frames.around_data());
    // Frames from the line include its overhead, and MACsec's, which the port removes; those in a
    // ring do not.
    let on_line = Density::worst(cell, max_frame, overhead);
    let in_ring = Density::worst(cell, max_frame, 0);

    let mut sum = delay;
    let mut cells = on_line.cells_in_bits(sum.bits());
    let mut add = |name, bits, more: u128| {
        sum.terms.push(Term::new(name, bits, SOFTWARE));
        cells += more;
    };

    add("frame that sends XOFF", max_frame * 8, u128::from(max_frame.div_ceil(cell)));

    // Data that arrives before a poll: limited by the line rate and the ring, as far as they are known.
    let gap = Some(software.poll_gap).filter(|gap| *gap != SoftwareTerms::UNKNOWN_GAP);
    let brought = gap.map_or(u64::MAX, |gap| bits_in(rate, gap.as_picos()));
    let held = software.rx_backlog.0.saturating_mul(8);
    let waiting = on_line.cells_in_bits(brought).min(in_ring.cells_in_bits(held));
    add("frames in the receive ring", brought.min(held), waiting);

    // The delay value has one longest frame in front of the PFC frame. Sending a ring of short
    // frames takes longer than its bytes: each frame has its overhead, while data arrives at line
    // rate.
    let counted = (max_frame + overhead) * 8;
    let shortest = (MIN_FRAME_OCTETS + overhead) * 8;
    let ahead = software.tx_committed.0.saturating_mul(shortest).div_ceil(MIN_FRAME_OCTETS);
    let ahead = ahead.saturating_sub(counted);
    add("frames sent before the PFC frame", ahead, on_line.cells_in_bits(ahead));

    // Likewise one frame that the peer has begun is in the delay value, and in its cells.
    let held = software.peer_committed.0.saturating_mul(8);
    let behind = in_ring.cells_in_bits(held).saturating_sub(on_line.cells_in_bits(counted));
    add("frames in the peer's device", held.saturating_sub(max_frame * 8), behind);

    let waste = packing(&sum.terms, cells, cell);
    sum.terms.push(waste);
    let cells = Cells(u32::try_from(cells).unwrap_or(u32::MAX));
    Required { sum, cells }
}

#[cfg(test)]
mod tests;
