//! What a lossless group of a switch in software needs: the delay value, and what software adds.
//!
//! The sum is for one group that gets all that arrives, in frames of the length that wastes most
//! of its cells; what they waste is a term of its own, so that the terms add up to whole cells. It
//! starts with the frame whose admission sends XOFF, because that one goes to headroom as a whole.

use core::fmt;

use super::delay::{DelayInputs, DelayValue, Frames, Term, bits_in, delay_value};
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes, Cells};

/// The shortest frame of Ethernet (802.3 4.4.2), FCS included.
const MIN_FRAME_OCTETS: u64 = 64;

/// What a switch in software, and its peer, add to the delay of the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SoftwareTerms {
    /// The most octets of frames that the port's receive ring holds before the switch looks.
    /// What the ring cannot hold is lost before any ledger sees it.
    pub rx_backlog: Bytes,
    /// The most octets of frames that the port's transmit ring holds in front of a PFC frame.
    pub tx_committed: Bytes,
    /// The most octets of frames that the peer still sends after it has taken in the PFC frame:
    /// what it has given to its device.
    pub peer_committed: Bytes,
    /// The longest time from a frame's arrival to the end of the poll that admits it, when its
    /// PFC frame has been given to the port.
    pub poll_gap: Duration,
}

/// The headroom that a lossless group needs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Required {
    /// Its terms: those of the delay value, those of the software, and what frames of the
    /// most wasteful length leave unused of their cells. It is exactly the size of `cells`.
    pub sum: DelayValue,
    /// The same in cells.
    pub cells: Cells,
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} cells for {}", self.cells.0, self.sum)
    }
}

/// How many cells arrive at worst with a number of octets: a fraction.
#[derive(Clone, Copy)]
struct Density {
    cells: u64,
    octets: u64,
}

impl Density {
    /// The worst of all frame lengths, if each frame takes `overhead` octets besides its own.
    fn worst(cell_bytes: u64, max_frame: u64, overhead: u64) -> Self {
        let mut worst = Self { cells: 0, octets: 1 };
        for len in MIN_FRAME_OCTETS..=max_frame.max(MIN_FRAME_OCTETS) {
            let this = Self { cells: len.div_ceil(cell_bytes), octets: len + overhead };
            if this.cells * worst.octets > worst.cells * this.octets {
                worst = this;
            }
        }
        worst
    }

    /// The cells that the line can fill in so many bit times.
    fn cells_in_bits(self, bits: u64) -> u128 {
        (u128::from(bits) * u128::from(self.cells)).div_ceil(u128::from(self.octets) * 8)
    }
}

/// Source of the term for unused parts of cells.
const PACKING: &str = "cell size, worst frame length";

/// The term that makes `terms` as large as `cells` cells of `cell` octets: what frames of the worst length
/// waste of their cells. Negative where cells are so small that the gaps between frames, which no
/// cell holds, are more than that.
fn packing(terms: &[Term], cells: u128, cell: u64) -> Term {
    let buffer = (cells * u128::from(cell) * 8).min(1 << 62) as i64;
    let bits = buffer - Term::sum(terms) as i64;
    Term { name: "cells that short frames waste", bits, source: PACKING }
}

/// Unused parts of cells under frames of up to `max_frame` bytes, of the length that wastes most,
/// where `terms` arrive on a line.
pub(super) fn packed(terms: &[Term], max_frame: Bytes, cell_bytes: u32) -> Term {
    let cell = u64::from(cell_bytes);
    let frames = Frames::up_to(max_frame);
    let worst = Density::worst(cell, max_frame.0, frames.around_data());
    packing(terms, worst.cells_in_bits(Term::sum(terms)), cell)
}

/// The headroom that one lossless group of a port needs so that nothing is lost after XOFF, in a
/// buffer of `cell_bytes` octets per cell (1 to 65536). More than `u32::MAX` cells come out as
/// that number, which no buffer has.
#[must_use]
pub fn required(link: &DelayInputs, software: &SoftwareTerms, cell_bytes: u32) -> Required {
    required_of(delay_value(link), link.rate(), link.frames(), software, cell_bytes)
}

/// The same for a delay value that was found in another way, of a link of `rate` that carries
/// `frames`.
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
    // Frames that come over the line bring its overhead along, and what MACsec adds and the port takes
    // off; those in a ring do not.
    let on_line = Density::worst(cell, max_frame, overhead);
    let in_ring = Density::worst(cell, max_frame, 0);

    let mut sum = delay;
    let mut cells = on_line.cells_in_bits(sum.bits());
    let mut add = |name, bits, more: u128| {
        sum.terms.push(Term::new(name, bits, SOFTWARE));
        cells += more;
    };

    add("frame that sends XOFF", max_frame * 8, u128::from(max_frame.div_ceil(cell)));

    // What arrives before the switch looks: no more than the line brings, or the ring holds.
    let brought = bits_in(rate, software.poll_gap.as_picos());
    let held = software.rx_backlog.0.saturating_mul(8);
    let waiting = on_line.cells_in_bits(brought).min(in_ring.cells_in_bits(held));
    add("frames in the receive ring", brought.min(held), waiting);

    // The delay value has one longest frame in front of the PFC frame. A ring of short frames
    // takes longer than its octets: each frame has its overhead, while as much arrives.
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
