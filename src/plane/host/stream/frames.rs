//! Construction of a stream's frames.
//!
//! Constant bytes are written once. Changing bytes are written as words of at most eight bytes,
//! each with the list of checksums that cover it. A checksum is the sum of the constant bytes,
//! calculated once, and of the words of this frame, so it costs the same for frames of any length.
//! The sum has no subtractions: it is bit for bit that of the whole frame.

use super::quick::Quick;
use super::sums::{Sums, Word};
use super::values::{Cycle, Lengths};
use crate::plan::FlowId;
use crate::plan::stream::{Edit, LengthField, Payload, StreamPlan, TemplatePlan};
use crate::probe::{PROBE_LEN, Probe, SEQUENCE_AT, Stamp};
use contracts::frame::{Burst, FCS_BYTES};
use contracts::port::Source;
use ground::time::Instant;

/// Per-frame values besides fields and length.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Sequence number of the frame.
    pub(super) sequence: u64,
    /// Time at which it is given to the port.
    pub(super) sent: Instant,
}

/// The frames of one stream.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    /// The longest frame without FCS; a shorter one is a prefix.
    octets: Vec<u8>,
    /// Number of leading bytes that may be nonzero.
    shown: usize,
    lengths: Lengths,
    recipe: Recipe,
    /// Fast path for bursts, for frames that qualify.
    pub(super) quick: Option<Quick>,
}

/// Bytes accessible in any frame ([`contracts::frame::Frame::head`]): changing bytes have to be within
/// them, to be written in place.
const HEAD: usize = 128;

/// Rules for writing the changing bytes of a frame.
#[derive(Clone, Debug)]
struct Recipe {
    id: FlowId,
    cycles: Vec<Cycle>,
    fields: Vec<Field>,
    /// Length fields, for frames of various lengths.
    sizes: Vec<(LengthField, Word)>,
    /// The probe's sequence number and time.
    probe: Option<[Word; 2]>,
    sums: Sums,
    /// End of the last changing byte.
    reach: usize,
}

/// A part of a changing field.
#[derive(Clone, Debug)]
struct Field {
    /// Index of its values.
    cycle: usize,
    /// Left shift of the values for the word; negative to the right.
    shift: i32,
    word: Word,
}

impl Frames {
    /// Prepares the frames of a validated plan.
    pub(super) fn new(plan: &StreamPlan) -> Self {
        let template = &plan.template;
        // One buffer for all lengths, so that a shorter frame is a part of it.
        let longest = (plan.sizes.longest() - FCS_BYTES) as usize;
        let mut octets = template.headers.clone();
        octets.resize(longest, 0);
        for (n, octet) in octets[template.headers.len()..].iter_mut().enumerate() {
            *octet = template.payload.octet(n);
        }
        let mut shown = template.headers.len();
        shown += match &template.payload {
            Payload::Zero => 0,
            Payload::Fixed { octets, repeat: false } => octets.len(),
            _ => longest,
        };
        if let Some(at) = template.probe_at {
            let end = usize::from(at) + PROBE_LEN;
            let probe = Probe::new(plan.id, 0, Instant::ZERO).in_run(template.run);
            octets[at.into()..end].copy_from_slice(&probe.octets());
            shown = shown.max(end);
        }
        let lengths = Lengths::new(&plan.sizes, plan.seed);
        let recipe = Recipe::new(plan.id, template, &mut octets, lengths.is_fixed(), shown);
        let field = recipe.fields.first().map(|field| (&field.word, field.shift));
        let quick = Quick::new(longest, field, template.probe_at.map(usize::from), &recipe.sums);
        // The fast path knows one changing field and one length.
        let quick = quick.filter(|_| recipe.fields.len() <= 1 && lengths.is_fixed());
        Self { octets, shown: shown.min(longest), lengths, recipe, quick }
    }

    /// Restarts from the first frame.
    pub(super) fn restart(&mut self) {
        self.lengths.restart();
        self.recipe.cycles.iter_mut().for_each(Cycle::restart);
    }

    /// The length of the next frame with FCS.
    #[inline]
    pub(super) const fn size(&self) -> u32 {
        self.lengths.size()
    }

    /// Returns true if frames may be made in bursts: all have one length, and change in their head
    /// only.
    #[inline]
    pub(super) fn is_even(&self) -> bool {
        self.lengths.is_fixed() && self.recipe.reach <= HEAD
    }

    /// Makes up to `n` frames, the first with number `sequence`, behind those in `hand`; returns
    /// their number. Equivalent to [`Self::stamp`] and [`Self::advance`] for each; requires
    /// [`is_even`], and frames of `wire_len` bytes on the wire.
    ///
    /// [`is_even`]: Self::is_even
    #[inline]
    pub(super) fn burst<P: Source>(
        &mut self,
        n: usize,
        mut numbers: Numbers,
        wire_len: u32,
        port: &mut P,
        hand: &mut Burst<P::Frame>,
    ) -> usize {
        let Self { octets, recipe, quick, .. } = self;
        let len = octets.len();
        let shown = self.shown;
        // The reference, frame by frame: it gives the same bytes in more steps.
        let Some(quick) = quick else {
            return port.data_frames(n, &octets[..shown], wire_len, hand, |out| {
                recipe.write(out, len, numbers);
                recipe.cycles.iter_mut().for_each(Cycle::advance);
                numbers.sequence += 1;
            });
        };
        recipe.begin(octets, len, numbers.sent);
        quick.begin(octets, &recipe.sums);
        let head = &octets[..shown];
        let cycle = recipe.cycles.first_mut();
        let flow = u64::from(recipe.id.0) << 48;
        let sequence = numbers.sequence;
        // A loop for each number of checksums, so that none of them tests for it.
        match quick.varying() {
            0 => quick.burst::<0, _>(n, cycle, flow, sequence, head, wire_len, port, hand),
            1 => quick.burst::<1, _>(n, cycle, flow, sequence, head, wire_len, port, hand),
            _ => quick.burst::<2, _>(n, cycle, flow, sequence, head, wire_len, port, hand),
        }
    }

    /// Returns the first bytes of the next frame; the rest of its length is zero. Returns the same
    /// frame until [`Self::advance`].
    #[inline]
    pub(super) fn stamp(&mut self, numbers: Numbers) -> &[u8] {
        let len = (self.lengths.size() - FCS_BYTES) as usize;
        self.recipe.write(&mut self.octets, len, numbers);
        &self.octets[..len.min(self.shown)]
    }

    /// Makes the frame of `len` bytes without FCS whose changing fields have the values that they have in
    /// `arrived`, which holds at least [`Self::reach`] bytes or all of a shorter frame, and returns it. Its
    /// lengths and checksums are those that its sender writes.
    #[inline]
    pub(super) fn like(&mut self, arrived: &[u8], len: usize) -> &[u8] {
        self.recipe.like(&mut self.octets, len, arrived);
        &self.octets[..len]
    }

    /// The longest frame, with the changing fields of the last one made.
    pub(super) fn octets(&self) -> &[u8] {
        &self.octets
    }

    /// The end of the last changing byte.
    #[inline]
    pub(super) const fn reach(&self) -> usize {
        self.recipe.reach
    }

    /// Advances to the next frame.
    #[inline]
    pub(super) fn advance(&mut self) {
        self.lengths.advance();
        self.recipe.cycles.iter_mut().for_each(Cycle::advance);
    }
}

impl Recipe {
    /// Clears the changing bits in `octets`, sums up the rest, and precalculates what frames of one
    /// length share.
    fn new(
        id: FlowId,
        template: &TemplatePlan,
        octets: &mut [u8],
        fixed: bool,
        shown: usize,
    ) -> Self {
        let mut sums = Sums::order(&template.checksums);
        let mut fields = Vec::new();
        for (cycle, edit) in template.edits.iter().enumerate() {
            fields.extend(parts(edit).map(|(at, octets, mask, shift)| {
                let taps = sums.taps(at, octets, mask);
                Field { cycle, shift, word: Word::new(at, octets, mask, taps) }
            }));
        }
        let whole = |sums: &Sums, at: usize, octets: usize| {
            let mask = u64::MAX >> (64 - 8 * octets);
            Word::new(at, octets, mask, sums.taps(at, octets, mask))
        };
        let probe = template.probe_at.map(|at| {
            let at = usize::from(at) + SEQUENCE_AT;
            [whole(&sums, at, 6), whole(&sums, at + 6, 6)]
        });
        let mut sizes: Vec<_> =
            template.lengths.iter().map(|l| (*l, whole(&sums, l.at.into(), 2))).collect();
        let words = fields.iter().map(|f: &Field| &f.word).chain(probe.iter().flatten());
        let mut reach = sums.reach();
        for word in words.chain(sizes.iter().map(|(_, word)| word)) {
            // The sum of the constant bytes is calculated once. It counts bytes that change as zero.
            word.clear(octets);
            reach = reach.max(word.at + word.octets);
        }
        // With one length the length fields are constant, and are written here.
        if fixed {
            for (length, word) in sizes.drain(..) {
                word.put(octets, (octets.len() - usize::from(length.from)) as u64);
            }
        }
        sums.add_up(octets, template.headers.len(), shown, fixed);
        let cycles = template.edits.iter().map(|e| Cycle::new(&e.values)).collect();
        Self { id, cycles, fields, sizes, probe, sums, reach }
    }

    /// Writes what all frames of `len` bytes sent at one time share.
    fn begin(&mut self, octets: &mut [u8], len: usize, sent: Instant) {
        self.sums.begin(len);
        if let Some([_, time]) = &self.probe {
            self.sums.put(octets, time, Stamp::of(sent).value());
        }
    }

    /// Writes all changing bits into a frame of `len` bytes without FCS, whose first bytes are
    /// `octets`.
    #[inline]
    fn write(&mut self, octets: &mut [u8], len: usize, numbers: Numbers) {
        self.sums.begin(len);
        for field in &self.fields {
            let value = self.cycles[field.cycle].value();
            let value =
                // A field of more than eight bytes has several words, each with its part of the value.
                if field.shift < 0 { value >> -field.shift } else { value << field.shift } as u64;
            self.sums.put(octets, &field.word, value & field.word.mask);
        }
        for (length, word) in &self.sizes {
            self.sums.put(octets, word, (len - usize::from(length.from)) as u64);
        }
        if let Some([sequence, time]) = &self.probe {
            let probe = Probe::new(self.id, numbers.sequence, numbers.sent);
            self.sums.put(octets, sequence, probe.sequence);
            self.sums.put(octets, time, probe.sent.value());
        }
        self.sums.finish(octets);
    }

    /// As [`Self::write`], with the fields and the numbers that a received frame has.
    #[inline]
    fn like(&mut self, octets: &mut [u8], len: usize, arrived: &[u8]) {
        self.sums.begin(len);
        let fields = self.fields.iter().map(|field| &field.word);
        for word in fields.chain(self.probe.iter().flatten()) {
            self.sums.put(octets, word, word.value(arrived));
        }
        for (length, word) in &self.sizes {
            self.sums.put(octets, word, (len - usize::from(length.from)) as u64);
        }
        self.sums.finish(octets);
    }
}

/// Iterates over the words of a field: first byte, number of bytes, mask, and left shift of its
/// values.
fn parts(edit: &Edit) -> impl Iterator<Item = (usize, usize, u64, i32)> {
    let first = usize::from(edit.at);
    let bits = usize::from(edit.skip) + usize::from(edit.bits);
    let end = first + bits.div_ceil(8);
    let (skip, below) = (usize::from(edit.skip), (8 * bits.div_ceil(8) - bits) as i32);
    (first..end).step_by(8).map(move |at| {
        let octets = (end - at).min(8);
        // The first word loses the bits before the field, the last one those behind it.
        let mut mask = u64::MAX >> (64 - 8 * octets);
        if at == first {
            mask &= u64::MAX >> (64 - 8 * octets + skip);
        }
        // Bits of the field's bytes behind this word.
        let behind = 8 * (end - at - octets) as i32;
        if behind == 0 {
            mask &= u64::MAX << below;
        }
        (at, octets, mask, below - behind)
    })
}
