//! A frame's headers while they are put together: octets, and what changes in them from frame to
//! frame.

use crate::host::plan::stream::{Checksum, Edit, LengthField, Values};

/// A field of a header: where it is and what it holds if nothing is said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// As OTG calls it.
    pub(super) name: &'static str,
    /// Its first bit, from the header's start.
    pub(super) bit: u16,
    /// Its width, 1 to 128.
    pub(super) bits: u8,
    /// What it holds if nothing is said.
    pub(super) default: u128,
}

/// A field, for tables.
pub(super) const fn field(name: &'static str, bit: u16, bits: u8, default: u128) -> Field {
    Field { name, bit, bits, default }
}

impl Field {
    /// The greatest value that fits.
    pub(super) const fn max(&self) -> u128 {
        max_of(self.bits)
    }
}

/// The greatest number of `bits` bits.
pub(super) const fn max_of(bits: u8) -> u128 {
    u128::MAX >> (128 - bits as u32)
}

/// Headers in the making.
#[derive(Default)]
pub(super) struct Draft {
    /// The octets so far.
    pub(super) octets: Vec<u8>,
    /// The fields that change.
    pub(super) edits: Vec<Edit>,
    /// The lengths that follow the frame's.
    pub(super) lengths: Vec<LengthField>,
    /// The checksums to be kept right, or wrong.
    pub(super) checksums: Vec<Checksum>,
}

impl Draft {
    /// Where the next header starts.
    pub(super) fn end(&self) -> u16 {
        // Whoever calls bounds the headers before they get there.
        u16::try_from(self.octets.len()).expect("headers are shorter than a frame")
    }

    /// Room for a header of `len` octets; where it starts.
    pub(super) fn room(&mut self, len: usize) -> u16 {
        let at = self.end();
        self.octets.resize(self.octets.len() + len, 0);
        at
    }

    /// Writes a value into a field of the header at `base`.
    pub(super) fn set(&mut self, base: u16, field: &Field, value: u128) {
        let first = usize::from(base) * 8 + usize::from(field.bit);
        for n in 0..usize::from(field.bits) {
            let on = value >> (usize::from(field.bits) - 1 - n) & 1 == 1;
            let (octet, bit) = ((first + n) / 8, 7 - (first + n) % 8);
            self.octets[octet] = self.octets[octet] & !(1 << bit) | u8::from(on) << bit;
        }
    }

    /// Writes the first of several values into a field, and notes that it changes if it does.
    pub(super) fn vary(&mut self, base: u16, field: &Field, values: Values) {
        if is_constant(&values) {
            self.set(base, field, first(&values));
        } else {
            self.vary_always(base, field, values);
        }
    }

    /// As [`Draft::vary`]; notes several values even if they are still alike.
    pub(super) fn vary_always(&mut self, base: u16, field: &Field, values: Values) {
        self.set(base, field, first(&values));
        if !matches!(&values, Values::List(list) if list.len() == 1) {
            let (at, skip) = (base + field.bit / 8, (field.bit % 8) as u8);
            self.edits.push(Edit { at, skip, bits: field.bits, values });
        }
    }
}

/// The first value of several. What is drawn is drawn by whoever sends; its least stands for it.
pub(super) fn first(values: &Values) -> u128 {
    match values {
        Values::List(list) => list[0],
        Values::Increment { start, .. } | Values::Decrement { start, .. } => *start,
        Values::Random { min, .. } => *min,
    }
}

/// Whether all values are the same.
fn is_constant(values: &Values) -> bool {
    match values {
        Values::List(list) => list.iter().all(|v| *v == list[0]),
        Values::Increment { step, count, .. } | Values::Decrement { step, count, .. } => {
            *count == 1 || *step == 0
        }
        Values::Random { min, max, .. } => min == max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_where_they_are_and_nowhere_else() {
        let mut draft = Draft::default();
        assert_eq!(draft.room(3), 0);
        let base = draft.room(4);
        draft.octets.fill(0xff);
        draft.set(base, &field("f", 3, 13, 0), 0);
        assert_eq!(draft.octets, [0xff, 0xff, 0xff, 0xe0, 0, 0xff, 0xff]);
        draft.set(base, &field("f", 3, 13, 0), 0x1234);
        assert_eq!(draft.octets[3..5], [0xe0 | 0x12, 0x34]);
    }

    #[test]
    fn only_what_changes_is_an_edit() {
        let mut draft = Draft::default();
        let base = draft.room(16);
        let f = field("f", 4, 4, 0);
        draft.vary(base, &f, Values::List(vec![3, 3]));
        draft.vary(base, &f, Values::Increment { start: 4, step: 0, count: 9 });
        draft.vary(base, &f, Values::Random { min: 5, max: 5, count: 9, seed: 1 });
        assert!(draft.edits.is_empty());
        draft.vary(base, &f, Values::Decrement { start: 9, step: 1, count: 2 });
        assert_eq!((draft.octets[0], draft.edits[0].at, draft.edits[0].skip), (9, 0, 4));
        assert_eq!(max_of(128), u128::MAX);
        assert_eq!(f.max(), 15);
    }
}
