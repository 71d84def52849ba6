//! Sets of a worker's ports: those with pending work.

/// Set of ports, by their local index in this worker.
#[derive(Clone, Debug)]
pub(super) struct Awake {
    /// Bit words: one for up to 64 ports.
    words: Box<[u64]>,
}

impl Awake {
    pub(super) fn none(ports: usize) -> Self {
        Self { words: vec![0; ports.div_ceil(64).max(1)].into_boxed_slice() }
    }

    /// Adds a port; returns true if it was not in the set.
    #[inline(always)]
    pub(super) fn insert(&mut self, at: usize) -> bool {
        let word = &mut self.words[at / 64];
        let new = *word & 1 << (at % 64) == 0;
        *word |= 1 << (at % 64);
        new
    }

    /// Returns true if the set of a worker with up to 64 ports is empty. A larger one is not looked through.
    #[inline(always)]
    pub(super) fn is_none(&self) -> bool {
        matches!(*self.words, [0])
    }

    /// Returns true if the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Removes and returns the first port at or after `from`.
    #[inline(always)]
    pub(super) fn pop_from(&mut self, from: usize) -> Option<usize> {
        if let [word] = &mut *self.words {
            let found = if from < 64 { *word & u64::MAX << from } else { 0 };
            *word ^= found & found.wrapping_neg();
            return (found != 0).then_some(found.trailing_zeros() as usize);
        }
        self.pop_from_several(from)
    }

    #[inline(never)]
    fn pop_from_several(&mut self, from: usize) -> Option<usize> {
        let mut mask = u64::MAX << (from % 64);
        for (word, bits) in self.words.iter_mut().enumerate().skip(from / 64) {
            let found = *bits & mask;
            if found != 0 {
                let bit = found.trailing_zeros() as usize;
                *bits &= !(1 << bit);
                return Some(word * 64 + bit);
            }
            mask = u64::MAX;
        }
        None
    }
}
