//! Fast path for common frames: of one length, with at most one changing field, the probe's
//! numbers, and two checksums.
//!
//! Changing bytes are written in words of eight bytes, whose other bytes are those of the template,
//! so the width of a field does not matter. [`super::frames`] is the reference; this gives the same
//! result in fewer steps, and is used for bursts only.

use super::sums::{Sums, Word, fold};
use super::values::Cycle;
use crate::probe::{MODULUS, PROBE_LEN};
use contracts::frame::Burst;
use contracts::port::Source;

/// Maximum number of checksums.
const SUMS_MAX: usize = 2;

/// Bytes of a window.
const WINDOW: usize = 8;

/// Instructions for changing a copy of the template into a frame.
#[derive(Clone, Debug)]
pub(super) struct Quick {
    field: Window,
    /// Flow and sequence number, if there is a probe.
    numbers: Option<Window>,
    /// Checksums: first those that differ from frame to frame, then those that a burst shares.
    sums: [Total; SUMS_MAX],
    /// Number of the first kind.
    varying: usize,
    /// Total number.
    count: usize,
}

/// Eight bytes of which some change.
#[derive(Clone, Copy, Debug, Default)]
struct Window {
    at: usize,
    /// Changing bits.
    mask: u64,
    /// All other bits, in this burst.
    rest: u64,
    /// Left shift of a value.
    shift: u32,
    /// Bits that each checksum covers, by number.
    cover: [u64; SUMS_MAX],
}

/// A checksum.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    number: usize,
    at: usize,
    /// Bits that it covers of the field's window and of the numbers'.
    cover: (u64, u64),
    /// Sum of everything that a burst shares.
    sum: u64,
    bad: bool,
    udp: bool,
}

impl Quick {
    /// Creates the fast path for frames of `len` bytes with at most one field, given with the left
    /// shift of its values. `None` if frames do not qualify.
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
            // Flow and sequence number, in front of the time, which a burst shares.
            Some(at) => Some(Window::new(at + PROBE_LEN - 6 - WINDOW, MODULUS - 1, 0, sums)?),
            None => None,
        };
        let mut totals = [Total::default(); SUMS_MAX];
        let count = sums.each(|number, at, bad, udp| {
            if let Some(total) = totals.get_mut(number) {
                let cover = (field.cover[number], numbers.map_or(0, |n| n.cover[number]));
                *total = Total { number, at, cover, sum: 0, bad, udp };
            }
        });
        // A checksum that covers another would have to follow it.
        if len < WINDOW || count > SUMS_MAX || !sums.are_apart() {
            return None;
        }
        let totals_here = &mut totals[..count];
        // Checksums over constant bytes last: a burst writes them one time.
        totals_here.sort_by_key(|total| total.cover == (0, 0));
        let varying = totals_here.iter().filter(|total| total.cover != (0, 0)).count();
        Some(Self { field, numbers, sums: totals, varying, count })
    }

    /// Returns the number of checksums that differ from frame to frame.
    pub(super) const fn varying(&self) -> usize {
        self.varying
    }

    /// Starts a burst of copies of `template` with the partial checksums `sums`. Checksums that all
    /// copies share are written to the template.
    #[inline]
    pub(super) fn begin(&mut self, template: &mut [u8], sums: &Sums) {
        for total in &mut self.sums[..self.count] {
            total.sum = sums.so_far(total.number);
        }
        for total in &self.sums[self.varying..self.count] {
            total.put(template, total.sum);
        }
        self.field.begin(template);
    }

    /// Makes up to `n` frames behind those in `hand`; returns their number. Fields have the values
    /// of `cycle`; `flow` is the flow number, shifted to its place, and sequence numbers count from
    /// `sequence`. `S` is [`Self::varying`].
    #[allow(
        clippy::too_many_arguments,
        reason = "plain values in registers, on the path of a frame"
    )]
    #[inline]
    pub(super) fn burst<const S: usize, P: Source>(
        &self,
        n: usize,
        mut cycle: Option<&mut Cycle>,
        flow: u64,
        mut sequence: u64,
        head: &[u8],
        wire_len: u32,
        port: &mut P,
        hand: &mut Burst<P::Frame>,
    ) -> usize {
        let first = cycle.as_ref().map_or(0, |cycle| cycle.value() as u64);
        // Without a field nothing changes but the numbers.
        let step = cycle.as_ref().map_or(Some(0), |cycle| cycle.step_of(n));
        let numbers = flow | (sequence % MODULUS);
        if let Some(mut even) = step.and_then(|step| self.even::<S>(n, first, step, numbers)) {
            let made = port.data_frames(n, head, wire_len, hand, |out| even.write(out));
            if let Some(cycle) = cycle {
                cycle.advance_many(made);
            }
            return made;
        }
        port.data_frames(n, head, wire_len, hand, |out| {
            let mut value = 0;
            if let Some(cycle) = &mut cycle {
                value = cycle.value() as u64;
                cycle.advance();
            }
            self.write::<S>(out, value, flow | (sequence % MODULUS));
            sequence += 1;
        })
    }

    /// Prepares `n` frames whose field grows by a constant step from `first` on; `None` if a value or
    /// a number wraps around among them, or a checksum covers a part of the field.
    #[inline]
    fn even<const S: usize>(
        &self,
        n: usize,
        first: u64,
        step: u64,
        numbers: u64,
    ) -> Option<Even<S>> {
        let (field, more) = (&self.field, n.saturating_sub(1) as u64);
        // Neither the value nor the number may wrap around within the burst: the sums would not follow.
        let last = first.checked_add(step.checked_mul(more)?)?;
        let fits = |value: u64| (value << field.shift & field.mask) >> field.shift == value;
        let is_still = field.mask == 0;
        if !(is_still || fits(first) && fits(last)) || numbers % MODULUS + more >= MODULUS {
            return None;
        }
        let (value, step) =
            if is_still { (0, 0) } else { (first << field.shift, step << field.shift) };
        let mut sums = [Running::default(); S];
        for (running, total) in sums.iter_mut().zip(&self.sums) {
            let (of_field, of_numbers) = total.cover;
            // A part of the field would carry into bits that the checksum does not cover.
            let whole = [0, field.mask].contains(&of_field);
            if !(whole && [0, MODULUS - 1].contains(&of_numbers)) {
                return None;
            }
            let sum = total.sum + halves(value & of_field) + halves(numbers & of_numbers);
            // One step of the field and one of the number change the sum by a constant.
            let step = if of_field == 0 { 0 } else { u64::from(fold(step)) };
            let step = fold(step + u64::from(of_numbers != 0)).into();
            *running = Running { total: *total, sum: fold(sum).into(), step };
        }
        let numbers = self.numbers.as_ref().map(|window| (window.at, numbers));
        Some(Even { field: (field.at, field.rest | value, step), numbers, sums })
    }

    /// Changes a copy of the template into the frame with this field value and these numbers (flow
    /// and sequence). `S` is [`Self::varying`].
    #[inline(always)]
    fn write<const S: usize>(&self, out: &mut [u8], value: u64, numbers: u64) {
        let value = (value << self.field.shift) & self.field.mask;
        put(out, self.field.at, self.field.rest | value);
        if let Some(window) = &self.numbers {
            put(out, window.at, numbers);
        }
        for total in &self.sums[..S] {
            let (field, rest) = total.cover;
            total.put(out, total.sum + halves(value & field) + halves(numbers & rest));
        }
    }
}

/// The frames of a burst in which all that changes grows by constant steps.
struct Even<const S: usize> {
    /// Offset of the field's window, its value in the next frame, and the step.
    field: (usize, u64, u64),
    /// Offset of flow and sequence number, and their value in the next frame.
    numbers: Option<(usize, u64)>,
    sums: [Running; S],
}

/// A checksum that grows by a constant step.
///
/// As 2^16 is 1 modulo 65535, a number adds the same to a sum wherever it stands, carries between its
/// words included (RFC 1624 4). A sum of ones' complement is 0 only if it was never anything else, and
/// nothing is subtracted, so it is bit for bit that of the whole frame.
#[derive(Clone, Copy, Default)]
struct Running {
    total: Total,
    /// Sum of the next frame, in 16 bits.
    sum: u32,
    step: u32,
}

impl<const S: usize> Even<S> {
    /// Changes a copy of the template into the next frame.
    #[inline(always)]
    fn write(&mut self, out: &mut [u8]) {
        let (at, value, step) = &mut self.field;
        put(out, *at, *value);
        *value = value.wrapping_add(*step);
        if let Some((at, numbers)) = &mut self.numbers {
            put(out, *at, *numbers);
            *numbers += 1;
        }
        for running in &mut self.sums {
            running.total.put_folded(out, running.sum as u16);
            let sum = running.sum + running.step;
            // End-around carry of ones' complement addition.
            running.sum = (sum & 0xffff) + (sum >> 16);
        }
    }
}

impl Total {
    /// Writes the checksum for this sum, as [`Sums`] does.
    #[inline(always)]
    fn put(&self, out: &mut [u8], sum: u64) {
        self.put_folded(out, fold(sum));
    }

    /// As [`Self::put`], for a sum in 16 bits.
    #[inline(always)]
    fn put_folded(&self, out: &mut [u8], sum: u16) {
        let sum = match (!sum).wrapping_add(self.bad.into()) {
            0 if self.udp => 0xffff_u16.wrapping_add(u16::from(self.bad) * 2),
            sum => sum,
        };
        out[self.at..self.at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

impl Window {
    /// Creates the window at `at`; `None` if a checksum covers it byte-swapped.
    fn new(offset: usize, mask: u64, shift: u32, sums: &Sums) -> Option<Self> {
        let mut cover = [0; SUMS_MAX];
        for tap in sums.taps(offset, WINDOW, mask) {
            // Words of a checksum begin at an even distance from its start. A window at an odd one would need its
            // bytes swapped.
            if tap.swap {
                return None;
            }
            *cover.get_mut(tap.sum)? |= tap.mask;
        }
        Some(Self { at: offset, mask, rest: 0, shift, cover })
    }

    /// Creates a window that contains a whole word.
    fn around(word: &Word, shift: i32, len: usize, sums: &Sums) -> Option<Self> {
        let first = (word.at + word.octets).saturating_sub(WINDOW);
        let last = word.at.min(len.checked_sub(WINDOW)?);
        // Any place that holds the whole word will do: one of two neighbours is at an even distance.
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

#[inline(always)]
fn put(out: &mut [u8], offset: usize, value: u64) {
    out[offset..offset + WINDOW].copy_from_slice(&value.to_be_bytes());
}

/// Returns the sum of the two halves of a window, each two words of a checksum.
#[inline(always)]
const fn halves(window: u64) -> u64 {
    (window >> 32) + (window & 0xffff_ffff)
}
