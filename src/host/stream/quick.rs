//! The usual frames, quickly: all of one length, with at most one field that changes, the probe's
//! numbers, and two checksums.
//!
//! What changes is written in words of eight octets, whose other octets are as in the template, so
//! that nothing depends on how wide a field is. [`super::frames`] says what is right; this is the
//! same in fewer steps, and used for bursts alone.

use super::frames::Word;
use super::sums::{Sums, fold};
use super::values::Cycle;
use crate::frame::Burst;
use crate::host::probe::{MODULUS, PROBE_LEN};
use crate::port::Source;

/// The most checksums that frames may have here.
pub(super) const SUMS_MAX: usize = 2;

/// Octets of a window.
const WINDOW: usize = 8;

/// How to change a copy of the template into a frame.
#[derive(Clone, Debug)]
pub(super) struct Quick {
    field: Window,
    /// The flow's number and the frame's, if there is a probe.
    numbers: Option<Window>,
    sums: [Total; SUMS_MAX],
    count: usize,
}

/// Eight octets of which some change.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    at: usize,
    /// What changes.
    mask: u64,
    /// All else, in this burst.
    rest: u64,
    /// How far a value is to be moved to the left.
    shift: u32,
    /// What of it each checksum covers.
    cover: [u64; SUMS_MAX],
}

/// A checksum.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    at: usize,
    /// The sum of all that is the same in this burst.
    sum: u64,
    bad: bool,
    udp: bool,
}

impl Quick {
    /// For frames of `len` octets whose one field, if there is one, is `field`, and whose values are
    /// to be moved to the left so far. Nothing where frames are not of the usual kind.
    pub(super) fn new(
        len: usize,
        field: Option<(&Word, i32)>,
        probe_at: Option<usize>,
        sums: &Sums,
    ) -> Option<Self> {
        let field = match field {
            Some((word, shift)) => Window::around(word, shift, len, sums)?,
            None => Window::default(),
        };
        let numbers = match probe_at {
            Some(at) => Some(Window::new(at + PROBE_LEN - 6 - WINDOW, MODULUS - 1, 0, sums)?),
            None => None,
        };
        let mut totals = [Total::default(); SUMS_MAX];
        let count = sums.each(|i, at, bad, udp| {
            if let Some(total) = totals.get_mut(i) {
                *total = Total { at, sum: 0, bad, udp };
            }
        });
        let usual = len >= WINDOW && count <= SUMS_MAX && sums.are_apart();
        usual.then_some(Self { field, numbers, sums: totals, count })
    }

    /// How many checksums there are.
    pub(super) const fn count(&self) -> usize {
        self.count
    }

    /// A burst of copies of `template` begins, whose checksums so far are `sums`.
    #[inline]
    pub(super) fn begin(&mut self, template: &[u8], sums: &Sums) {
        self.field.begin(template);
        for (i, total) in self.sums[..self.count].iter_mut().enumerate() {
            total.sum = sums.so_far(i);
        }
    }

    /// Makes up to `n` frames behind those in `hand`; says how many. Fields have the values of
    /// `cycle`, numbers are the flow's, in its place, and from the sequence number on.
    #[inline]
    pub(super) fn burst<const S: usize, P: Source>(
        &self,
        n: usize,
        mut cycle: Option<&mut Cycle>,
        (flow, mut sequence): (u64, u64),
        (head, wire_len): (&[u8], u32),
        port: &mut P,
        hand: &mut Burst<P::Frame>,
    ) -> usize {
        port.data_frames(n, head, wire_len, hand, |out| {
            let mut value = 0;
            if let Some(cycle) = &mut cycle {
                value = cycle.value() as u64;
                cycle.advance();
            }
            self.write::<S>(out, value, flow | sequence % MODULUS);
            sequence += 1;
        })
    }

    /// Changes a copy of the template into the frame whose field has this value, and whose numbers
    /// (flow and sequence) are these. `S` is [`Self::count`].
    #[inline(always)]
    fn write<const S: usize>(&self, out: &mut [u8], value: u64, numbers: u64) {
        let value = (value << self.field.shift) & self.field.mask;
        put(out, self.field.at, self.field.rest | value);
        let mut cover = [0; SUMS_MAX];
        if let Some(window) = &self.numbers {
            put(out, window.at, numbers);
            cover = window.cover;
        }
        for i in 0..S {
            let total = &self.sums[i];
            let sum = total.sum + halves(value & self.field.cover[i]) + halves(numbers & cover[i]);
            let sum = (!fold(sum)).wrapping_add(total.bad.into());
            let sum = match sum {
                0 if total.udp => 0xffff_u16.wrapping_add(u16::from(total.bad) * 2),
                sum => sum,
            };
            out[total.at..total.at + 2].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

impl Window {
    /// The window at `at`, unless a checksum takes its octets the other way round.
    fn new(at: usize, mask: u64, shift: u32, sums: &Sums) -> Option<Self> {
        let mut cover = [0; SUMS_MAX];
        for tap in sums.taps(at, WINDOW, mask) {
            if tap.swap {
                return None;
            }
            *cover.get_mut(tap.sum)? |= tap.mask;
        }
        Some(Self { at, mask, rest: 0, shift, cover })
    }

    /// A window that has all of a word in it.
    fn around(word: &Word, shift: i32, len: usize, sums: &Sums) -> Option<Self> {
        let first = (word.at + word.octets).saturating_sub(WINDOW);
        let last = word.at.min(len.checked_sub(WINDOW)?);
        (first..=last).rev().find_map(|at| {
            let more = 8 * (at + WINDOW - word.at - word.octets) as u32;
            let shift = u32::try_from(shift).ok()? + more;
            Self::new(at, word.mask << more, shift, sums)
        })
    }

    fn begin(&mut self, template: &[u8]) {
        let octets = template[self.at..].first_chunk().expect("the window is in the template");
        self.rest = u64::from_be_bytes(*octets) & !self.mask;
    }
}

/// Writes a window.
#[inline(always)]
fn put(out: &mut [u8], at: usize, value: u64) {
    out[at..at + WINDOW].copy_from_slice(&value.to_be_bytes());
}

/// The sum of the two halves of a window, each two words of a checksum.
#[inline(always)]
const fn halves(window: u64) -> u64 {
    (window >> 32) + (window & 0xffff_ffff)
}
