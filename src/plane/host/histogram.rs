//! A histogram of times in little memory: pages of counters are allocated when a time needs them.
//!
//! Buckets are those of an HdrHistogram of three significant digits: exact up to 2047 ns, and 1,024
//! per octave above. Most flows' times lie within an octave or two, which is a few of the 221
//! pages. Pages come from a [`Spares`], which is refilled outside the data path; a page is
//! allocated while recording a time only if that is empty.

use std::sync::Arc;

use crossbeam::queue::ArrayQueue;
use hdrhistogram::Histogram as HdrHistogram;

/// Maximum time in nanoseconds (100 s); longer ones are counted as this.
const NS_MAX: u64 = 100_000_000_000;

/// Significant digits of a percentile.
const DIGITS: u8 = 3;

/// Buckets per octave for three digits.
const OCTAVE: u64 = 1_024;

/// A bucket of a histogram, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bucket(u16);

const _: () = assert!(index(NS_MAX) <= u16::MAX as usize);

impl Bucket {
    /// Returns the bucket of a time in nanoseconds.
    #[inline(always)]
    pub(super) const fn of(ns: u64) -> Self {
        // Longer times share the last bucket.
        Self(index(if ns < NS_MAX { ns } else { NS_MAX }) as u16)
    }

    /// Returns the number of its page, and its place there.
    #[inline(always)]
    const fn place(self) -> (u8, usize) {
        ((self.0 / PAGE as u16) as u8, self.0 as usize % PAGE)
    }
}

/// Counters per page: an eighth of an octave.
const PAGE: usize = 128;

/// Places for pages, more than all times need: every 8-bit number is one.
const PAGES: usize = 256;

const _: () = assert!(index(NS_MAX) / PAGE < PAGES);

/// Counters of adjacent buckets.
///
/// Each is split: counting one time touches a byte alone, so the counters of many flows fit into
/// the near caches, and every 256th time carries over.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
struct Page {
    /// Counts modulo 256.
    low: [u8; PAGE],
    /// The rest of the counts.
    rest: [u64; PAGE],
}

impl Page {
    fn empty() -> Box<Self> {
        Box::new(Self { low: [0; PAGE], rest: [0; PAGE] })
    }

    /// Counts one time.
    #[inline(always)]
    fn count_one(&mut self, place: usize) {
        let low = &mut self.low[place];
        *low = low.wrapping_add(1);
        // Carries over: the byte has counted 256.
        if *low == 0 {
            self.rest[place] += 256;
        }
    }

    /// Iterates over the counts.
    fn counts(&self) -> impl Iterator<Item = u64> {
        self.low.iter().zip(&self.rest).map(|(low, rest)| u64::from(*low) + rest)
    }
}

/// Returns the bucket of a time in nanoseconds.
#[inline(always)]
const fn index(ns: u64) -> usize {
    // The octaves above the first two, which are exact.
    let octave = (ns | (2 * OCTAVE - 1)).ilog2() - (2 * OCTAVE - 1).ilog2();
    (octave as u64 * OCTAVE + (ns >> octave)) as usize
}

/// Returns the longest time of a bucket.
const fn last(index: usize) -> u64 {
    let index = index as u64;
    // The inverse of `index`: the first two octaves have a bucket for each nanosecond.
    let octave = (index / OCTAVE).saturating_sub(1);
    ((index - octave * OCTAVE + 1) << octave) - 1
}

/// Preallocated pages for histograms. A clone is a handle on the same pool. Worlds whose time is
/// not the processor's leave it empty.
#[derive(Clone, Debug)]
pub struct Spares(Arc<ArrayQueue<Box<Page>>>);

impl Spares {
    /// Bytes of a page.
    pub const PAGE_BYTES: u64 = size_of::<Page>() as u64;

    /// Creates an empty pool of at most `pages` pages, at least one.
    pub fn new(pages: usize) -> Self {
        Self(Arc::new(ArrayQueue::new(pages.max(1))))
    }

    /// Allocates the pages that are missing. It must not be called from the data path.
    pub fn fill(&self) {
        while !self.0.is_full() {
            // Another handle filled it meanwhile.
            if self.0.push(Page::empty()).is_err() {
                return;
            }
        }
    }

    fn take(&self) -> Option<Box<Page>> {
        self.0.pop()
    }
}

/// Histogram of times.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Histogram {
    count: u64,
    pages: Box<Pages>,
}

/// The pages of a histogram, by their place.
#[derive(Debug)]
struct Pages {
    table: [Option<Box<Page>>; PAGES],
    spares: Option<Spares>,
}

impl Histogram {
    /// Creates one without pages, which takes them from `spares`.
    pub(super) fn sparse(spares: &Spares) -> Self {
        Self::empty(Some(spares.clone()))
    }

    /// Creates one with all pages: recording never allocates.
    pub(super) fn dense() -> Self {
        let mut histogram = Self::empty(None);
        // All that a time can need, so that it never takes from a pool.
        let pages = &mut histogram.pages.table[..=index(NS_MAX) / PAGE];
        pages.iter_mut().for_each(|page| *page = Some(Page::empty()));
        histogram
    }

    fn empty(spares: Option<Spares>) -> Self {
        Self { count: 0, pages: Box::new(Pages { table: [const { None }; PAGES], spares }) }
    }

    /// Counts one time of a bucket.
    #[inline(always)]
    pub(super) fn count_one(&mut self, bucket: Bucket) {
        let (page, place) = bucket.place();
        self.count += 1;
        self.pages.page(page).count_one(place);
    }

    /// Counts `n` times of a bucket.
    #[inline]
    pub(super) fn count_many(&mut self, bucket: Bucket, n: u64) {
        let (page, place) = bucket.place();
        self.count += n;
        // Past the byte, which would have to carry many times.
        self.pages.page(page).rest[place] += n;
    }

    /// Adds the counts of another histogram.
    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        for (place, theirs) in other.pages.table.iter().enumerate() {
            let Some(theirs) = theirs else { continue };
            // Whole counts go to the wide counters; the bytes of both stay what they are.
            let own = self.pages.page(place as u8).rest.iter_mut();
            own.zip(theirs.counts()).for_each(|(own, n)| *own += n);
        }
    }

    /// Clears all counts. Keeps its pages.
    pub(super) fn clear(&mut self) {
        for page in self.pages.table.iter_mut().flatten() {
            page.low.fill(0);
            page.rest.fill(0);
        }
        self.count = 0;
    }

    /// Number of recorded times.
    pub(super) const fn count(&self) -> u64 {
        self.count
    }

    /// Returns the longest time of the bucket that `percent` (0 to 100) of all times reach at most;
    /// 0 for an empty histogram.
    pub(super) fn percentile(&self, percent: f64) -> u64 {
        let [one] = self.percentiles([percent]);
        one
    }

    /// As [`Self::percentile`] for several, in ascending order, in one pass and without an
    /// allocation.
    pub(super) fn percentiles<const N: usize>(&self, percents: [f64; N]) -> [u64; N] {
        let wanted =
            // The rank of the time, from 1: rounded up, so that at least `percent` of all times are not longer.
            percents.map(|p| ((p / 100.0).min(1.0) * self.count as f64).ceil().max(1.0) as u64);
        let mut found = [0; N];
        let (mut rank, mut counted) = (0, 0);
        for (longest, n) in self.buckets() {
            counted += n;
            // One bucket may hold several of the ranks.
            while rank < N && counted >= wanted[rank] {
                found[rank] = longest;
                rank += 1;
            }
            if rank == N {
                break;
            }
        }
        found
    }

    /// Converts to an HdrHistogram, for writing it to a file.
    pub(super) fn to_hdr(&self) -> HdrHistogram<u64> {
        let mut out = HdrHistogram::new_with_bounds(1, NS_MAX, DIGITS)
            .expect("the bounds are in order and the digits few");
        for (longest, n) in self.buckets() {
            out.saturating_record_n(longest.min(NS_MAX), n);
        }
        out
    }

    /// Iterates over non-empty buckets, shorter times first: the longest time of each, and its count.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (u64, u64)> {
        let pages = self.pages.table.iter().enumerate();
        let pages = pages.filter_map(|(place, page)| Some((place, page.as_deref()?)));
        pages.flat_map(|(place, page)| {
            let counted = page.counts().enumerate().filter(|(_, n)| *n > 0);
            counted.map(move |(at, n)| (last(place * PAGE + at), n))
        })
    }
}

impl Pages {
    /// Returns a page, allocated if missing.
    #[inline(always)]
    fn page(&mut self, place: u8) -> &mut Page {
        let Self { table, spares } = self;
        table[usize::from(place)].get_or_insert_with(|| Self::allocate(spares.as_ref()))
    }

    #[cold]
    #[inline(never)]
    fn allocate(spares: Option<&Spares>) -> Box<Page> {
        spares.and_then(Spares::take).unwrap_or_else(Page::empty)
    }
}

/// A copy has no spare pages: it is for reading.
impl Clone for Histogram {
    fn clone(&self) -> Self {
        let pages = Pages { table: self.pages.table.clone(), spares: None };
        Self { count: self.count, pages: Box::new(pages) }
    }
}

/// Compares the counts only.
impl PartialEq for Histogram {
    fn eq(&self, other: &Self) -> bool {
        self.count == other.count && self.buckets().eq(other.buckets())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Times of all magnitudes.
    fn times() -> impl Strategy<Value = Vec<(u64, u64)>> {
        let time = (0_u32..40, any::<u64>()).prop_map(|(bits, n)| n & ((1 << bits) - 1));
        prop::collection::vec((time, 1_u64..1_000), 0..200)
    }

    proptest! {
        /// Bucket counts agree with an HdrHistogram of the same bounds.
        #[test]
        fn buckets_and_percentiles_are_those_of_an_hdr_histogram(
            times in times(), percents in prop::collection::vec(0.001_f64..100.0, 1..20),
        ) {
            let spares = Spares::new(2);
            let mut ours = Histogram::sparse(&spares);
            let mut theirs = HdrHistogram::<u64>::new_with_bounds(1, NS_MAX, DIGITS).unwrap();
            for (ns, n) in &times {
                if *n < 300 {
                    (0..*n).for_each(|_| ours.count_one(Bucket::of(*ns)));
                } else {
                    ours.count_many(Bucket::of(*ns), *n);
                }
                theirs.saturating_record_n((*ns).min(NS_MAX), *n);
            }
            prop_assert_eq!(ours.count(), theirs.len());
            for percent in percents.into_iter().chain([50.0, 99.0, 99.9, 100.0]) {
                prop_assert_eq!(ours.percentile(percent), theirs.value_at_percentile(percent));
            }
            let three = [50.0, 99.0, 99.9];
            prop_assert_eq!(ours.percentiles(three), three.map(|p| theirs.value_at_percentile(p)));
            prop_assert_eq!(ours.to_hdr(), theirs);
            let mut dense = Histogram::dense();
            dense.add(&ours.clone());
            prop_assert_eq!(dense.to_hdr(), ours.to_hdr());
            dense.clear();
            prop_assert_eq!((dense.count(), dense.percentile(50.0)), (0, 0));
        }
    }

    #[test]
    fn recording_takes_pages_that_are_there_and_keeps_them() {
        let spares = Spares::new(3);
        spares.fill();
        let mut histogram = Histogram::sparse(&spares);
        let taken = |histogram: &mut Histogram, ns: u64| {
            allocation_counter::measure(|| histogram.count_one(Bucket::of(ns))).count_total
        };
        for ns in [5, 5_000, 5_000_000] {
            assert_eq!(taken(&mut histogram, ns), 0, "a page was ready for {ns} ns");
        }
        assert_eq!(taken(&mut histogram, 5_000_000_000), 1, "there were three");
        histogram.clear();
        assert_eq!(taken(&mut histogram, 5_000_000_000), 0, "it kept its pages");
        spares.fill();
        assert_eq!(taken(&mut histogram, 50), 0);
        let mut dense = Histogram::dense();
        for octave in 0..40 {
            assert_eq!(taken(&mut dense, 1 << octave), 0);
        }
    }
}
