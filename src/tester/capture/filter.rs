//! Which frames a capture wants.

use crate::tester::plan::Filter;

impl Filter {
    /// Whether a frame passes. One without the field, or that ends before it does, has no value
    /// there, so that only a filter that asks for *not* having one lets it pass.
    #[must_use]
    pub fn passes(&self, frame: &[u8]) -> bool {
        self.has(frame) != self.negate
    }

    fn has(&self, frame: &[u8]) -> bool {
        let word = |&(at, value): &(u16, u16)| {
            let at = usize::from(at);
            frame.get(at..at + 2) == Some(&value.to_be_bytes()[..])
        };
        let at = usize::from(self.at);
        let Some(octets) = frame.get(at..at + self.value.len()) else { return false };
        let same =
            octets.iter().zip(&self.value).zip(&self.mask).all(|((o, v), m)| (o ^ v) & m == 0);
        same && self.only.iter().all(word)
    }
}
