//! The checksums of a stream's frames, and the words of changing bytes that contribute to them.

use crate::plan::stream::{Checksum, Covered};
use wire::checksum::Sum;
use wire::ip::Protocol;

/// The checksums of one stream, each after those that it covers.
#[derive(Clone, Debug)]
pub(super) struct Sums(Vec<One>);

/// One checksum.
#[derive(Clone, Debug)]
struct One {
    plan: Checksum,
    /// Its place, and the checksums that cover it.
    word: Word,
    /// Sum of all constant bytes, up to `varies` if there is one.
    base: u64,
    /// For frames of various lengths: the offset from which bytes are added by length, and the
    /// start of the upper layer, whose length is in the pseudo header.
    varies: Option<(usize, usize)>,
    /// Sum of the bytes behind `varies`, by number of bytes. Further bytes are zeros.
    behind: Box<[u32]>,
    /// Partial sum of the current frame.
    sum: u64,
}

impl Sums {
    /// Orders the checksums of a validated plan for calculation.
    pub(super) fn order(plans: &[Checksum]) -> Self {
        let order = order(plans).expect("a checked plan's checksums have an order");
        let one = |i: usize| {
            let (plan, at) = (plans[i], plans[i].at.into());
            let word = Word::new(at, 2, 0xffff, Vec::new());
            One { plan, word, base: 0, varies: None, behind: [].into(), sum: 0 }
        };
        let mut sums = Self(order.into_iter().map(one).collect());
        for i in 0..sums.0.len() {
            let mut taps = sums.taps(sums.0[i].word.at, 2, 0xffff);
            // A checksum covers its own field, which counts as 0.
            taps.retain(|tap| tap.sum != i);
            sums.0[i].word.taps = taps;
        }
        sums
    }

    /// Returns the contributions of the bits under `mask` of the `octets` bytes at `at` to the
    /// checksums.
    pub(super) fn taps(&self, offset: usize, octets: usize, mask: u64) -> Vec<Tap> {
        let mut taps = Vec::new();
        for (sum, one) in self.0.iter().enumerate() {
            for (from, to) in one.plan.over.ranges() {
                let covered = (from.max(offset), to.min(offset + octets));
                if covered.0 >= covered.1 {
                    continue;
                }
                let len = 8 * (covered.1 - covered.0);
                let bits = (u64::MAX >> (64 - len)) << (8 * (offset + octets - covered.1));
                // Words of the sum count from its first byte.
                let swap = (offset + octets - from) % 2 == 1;
                taps.push(Tap { sum, mask: mask & bits, swap });
            }
        }
        taps.retain(|tap| tap.mask != 0);
        taps
    }

    /// Sums up the constant bytes in `octets`, where everything else but the checksums is zero.
    /// `headers` bytes are in all frames, and all bytes from `shown` are zeros.
    pub(super) fn add_up(&mut self, octets: &mut [u8], headers: usize, shown: usize, fixed: bool) {
        for one in &self.0 {
            one.word.put(octets, 0);
        }
        for one in &mut self.0 {
            let upper = one.plan.over.upper();
            one.varies = upper.filter(|_| !fixed).map(|(from, _)| {
                // Behind the headers, and at an upper byte of the checksum's 16 bits.
                (from + (headers.max(from) - from) / 2 * 2, from)
            });
            let end = one.varies.map_or(octets.len(), |(varies, _)| varies);
            let covered = one.plan.over.ranges().map(|(from, to)| (from.min(end), to.min(end)));
            // Not reduced to 16 bits: 64 hold the sum of any frame.
            one.base = covered.iter().map(|(from, to)| sum_of(&octets[*from..*to])).sum();
            if let Some((from, protocol)) = upper {
                one.base += u64::from(protocol.0);
                // The length in the pseudo header, unless it differs from frame to frame.
                one.base += if fixed { (octets.len() - from) as u64 } else { 0 };
            }
            if let Some((varies, _)) = one.varies {
                one.behind = sums_behind(&octets[varies..shown.clamp(varies, octets.len())]);
            }
        }
    }

    /// Calls `tell` for each checksum with its number, its offset, `bad`, and true for UDP; returns
    /// their number.
    pub(super) fn each(&self, mut tell: impl FnMut(usize, usize, bool, bool)) -> usize {
        for (i, one) in self.0.iter().enumerate() {
            tell(i, one.word.at, one.plan.bad, one.plan.over.is_udp());
        }
        self.0.len()
    }

    /// Returns the end of the last checksum.
    pub(super) fn reach(&self) -> usize {
        self.0.iter().map(|one| one.word.at + 2).max().unwrap_or(0)
    }

    /// Returns true if none of them covers another.
    pub(super) fn are_apart(&self) -> bool {
        self.0.iter().all(|one| one.word.taps.is_empty())
    }

    /// Returns the partial sum of the current frame for checksum `i`.
    pub(super) fn so_far(&self, i: usize) -> u64 {
        self.0[i].sum
    }

    /// Starts a new frame of `len` bytes.
    #[inline]
    pub(super) fn begin(&mut self, len: usize) {
        for one in &mut self.0 {
            one.sum = one.base;
            if let Some((varies, from)) = one.varies {
                one.sum += (len - from) as u64;
                one.sum += one.behind_up_to(len - varies);
            }
        }
    }

    /// Writes a word and adds it to the checksums that cover it.
    #[inline]
    pub(super) fn put(&mut self, octets: &mut [u8], word: &Word, value: u64) {
        word.put(octets, value);
        for tap in &word.taps {
            self.0[tap.sum].sum += tap.part_of(value);
        }
    }

    /// Writes the checksums.
    #[inline]
    pub(super) fn finish(&mut self, octets: &mut [u8]) {
        for i in 0..self.0.len() {
            // In the order in which they cover each other, so each is complete when it is written.
            let (done, rest) = self.0.split_at_mut(i + 1);
            let one = &done[i];
            let value = one.sent(!fold(one.sum));
            one.word.put(octets, value.into());
            for tap in &one.word.taps {
                rest[tap.sum - i - 1].sum += tap.part_of(value.into());
            }
        }
    }
}

impl One {
    /// Returns the sum of the first `len` bytes behind `varies`.
    #[inline]
    fn behind_up_to(&self, len: usize) -> u64 {
        self.behind[len.min(self.behind.len() - 1)].into()
    }

    /// Returns the value to send for this correct checksum.
    #[inline]
    const fn sent(&self, right: u16) -> u16 {
        let udp = self.plan.over.is_udp();
        match right.wrapping_add(self.plan.bad as u16) {
            // 0 would mean no checksum (RFC 768). 0xffff is the same number, the one after it 1.
            0 if udp && self.plan.bad => 1,
            0 if udp => 0xffff,
            value => value,
        }
    }
}

impl Covered {
    /// Returns true if the checksum is that of UDP.
    #[must_use]
    pub const fn is_udp(self) -> bool {
        matches!(self, Self::Payload4 { udp: true, .. } | Self::Payload6 { udp: true, .. })
    }

    /// Returns the covered bytes, as start and end, in at most two pieces; the second may be empty.
    fn ranges(self) -> [(usize, usize); 2] {
        let piece = |from: u16, len: usize| (usize::from(from), usize::from(from) + len);
        match self {
            Self::Header(from, to) => [(from.into(), to.into()), (0, 0)],
            Self::Payload4 { ip, from, .. } => [piece(ip + 12, 8), (from.into(), usize::MAX)],
            Self::Payload6 { ip, from, .. } => [piece(ip + 8, 32), (from.into(), usize::MAX)],
        }
    }

    /// Returns true if all offsets are within headers of this length.
    pub(crate) fn is_within(self, headers: usize) -> bool {
        let header = match self {
            Self::Header(from, to) => return from < to && usize::from(to) <= headers,
            Self::Payload4 { .. } => 20,
            Self::Payload6 { .. } => 40,
        };
        let (Self::Payload4 { ip, from, .. } | Self::Payload6 { ip, from, .. }) = self else {
            return false;
        };
        usize::from(ip) + header <= usize::from(from) && usize::from(from) <= headers
    }

    /// Returns the start of the upper layer and its protocol, if there is a pseudo header.
    const fn upper(self) -> Option<(usize, Protocol)> {
        let (Self::Payload4 { from, udp, .. } | Self::Payload6 { from, udp, .. }) = self else {
            return None;
        };
        Some((from as usize, if udp { Protocol::UDP } else { Protocol::TCP }))
    }
}

/// Returns an order in which each checksum follows all that it covers; `None` if there is none.
pub(crate) fn order(plans: &[Checksum]) -> Option<Vec<usize>> {
    let covers = |over: Covered, at: usize| {
        over.ranges().iter().any(|(from, to)| *from < at + 2 && at < *to)
    };
    let mut left: Vec<usize> = (0..plans.len()).collect();
    let mut order = Vec::with_capacity(plans.len());
    while !left.is_empty() {
        let free = left.iter().position(|i| {
            left.iter().all(|j| i == j || !covers(plans[*i].over, plans[*j].at.into()))
        })?;
        order.push(left.remove(free));
    }
    Some(order)
}

/// Returns the sum of bytes as 16-bit words, in 16 bits: 0 only if all are 0.
fn sum_of(octets: &[u8]) -> u64 {
    (!Sum::default().octets(octets).finish()).into()
}

/// Returns the prefix sums of bytes, by number of bytes.
fn sums_behind(octets: &[u8]) -> Box<[u32]> {
    let mut sum = 0;
    let first = core::iter::once(0);
    first
        .chain(octets.iter().enumerate().map(|(n, octet)| {
            sum += u32::from(*octet) << if n % 2 == 0 { 8 } else { 0 };
            sum
        }))
        .collect()
}

/// Up to eight changing bytes.
#[derive(Clone, Debug)]
pub(super) struct Word {
    /// Offset of its first byte.
    pub(super) at: usize,
    /// Number of bytes.
    pub(super) octets: usize,
    /// Bits that change; the last byte's are the lowest.
    pub(super) mask: u64,
    /// True if all bits change.
    pub(super) whole: bool,
    /// The checksums that cover it.
    pub(super) taps: Vec<Tap>,
}

/// Contribution of a word to a checksum.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tap {
    /// Index of the checksum.
    pub(super) sum: usize,
    /// Bits of the word that it covers.
    pub(super) mask: u64,
    /// True if the word's last byte is the upper one of the checksum's 16 bits.
    pub(super) swap: bool,
}

impl Word {
    pub(super) fn new(offset: usize, octets: usize, mask: u64, taps: Vec<Tap>) -> Self {
        Self { at: offset, octets, mask, whole: mask == u64::MAX >> (64 - 8 * octets), taps }
    }

    /// Writes the changing bits; `value` must have no others set.
    #[inline]
    pub(super) fn put(&self, octets: &mut [u8], value: u64) {
        match (self.whole, &mut octets[self.at..self.at + self.octets]) {
            // The usual widths, without a loop over masks.
            (true, [a, b]) => [*a, *b] = (value as u16).to_be_bytes(),
            (true, [a, b, c, d]) => [*a, *b, *c, *d] = (value as u32).to_be_bytes(),
            (_, out) => {
                let (value, mask) = (value.to_be_bytes(), self.mask.to_be_bytes());
                let first = 8 - self.octets;
                for (n, octet) in out.iter_mut().enumerate() {
                    *octet = *octet & !mask[first + n] | value[first + n];
                }
            }
        }
    }

    /// Returns the changing bits of a frame that holds them.
    #[inline]
    pub(super) fn value(&self, octets: &[u8]) -> u64 {
        let octets = &octets[self.at..self.at + self.octets];
        octets.iter().fold(0, |value, octet| value << 8 | u64::from(*octet)) & self.mask
    }

    /// Clears the changing bits.
    pub(super) fn clear(&self, octets: &mut [u8]) {
        self.put(octets, 0);
    }
}

impl Tap {
    /// Returns the word's contribution to the sum.
    #[inline]
    pub(super) const fn part_of(self, value: u64) -> u64 {
        let value = value & self.mask;
        let sum = (value >> 32) + (value & 0xffff_ffff);
        // Swapping the bytes of each word swaps the bytes of the sum (RFC 1071 2B).
        if self.swap { fold(sum).swap_bytes() as u64 } else { sum }
    }
}

/// Returns the sum of all 16-bit words of `sum`, in 16 bits.
#[inline(always)]
pub(super) const fn fold(sum: u64) -> u16 {
    // Each half is added to the other: the upper one is then their sum with the carry of the lower
    // one, the end-around carry of ones' complement addition.
    let sum = (sum.wrapping_add(sum.rotate_right(32)) >> 32) as u32;
    (sum.wrapping_add(sum.rotate_right(16)) >> 16) as u16
}
