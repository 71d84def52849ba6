//! Units and identifiers, times, random numbers, statistics, verdicts of checks, escaping of printed text, memory that is read
//! soon, and the version of the program. Every other crate of Sluice may use this one; it uses none of them.

#![warn(missing_docs)]

// Macros name this crate as others do.
extern crate self as ground;

#[cfg(feature = "arguments")]
#[doc(hidden)]
pub use clap;
#[cfg(feature = "files")]
#[doc(hidden)]
pub use schemars;
#[doc(hidden)]
pub use serde;

pub mod described;
pub mod named;
pub mod numbered;
pub mod printable;
pub mod rand;
pub mod statistics;
pub mod time;
pub mod units;
pub mod verdict;

/// Memory that is read soon.
pub mod memory {
    use core::slice::from_ref;

    use prefetch_index::prefetch_index;

    /// Bytes of a cache line.
    pub const LINE: usize = 64;

    /// Begins to bring the cache line of `place` into the caches, and does not wait for it: for memory that was not
    /// used for a while and is read soon. No result depends on it.
    #[inline(always)]
    pub fn fetch<T>(place: &T) {
        prefetch_index(from_ref(place), 0);
    }

    /// As [`fetch`], for item `n` of a slice. There need not be one.
    #[inline(always)]
    pub fn fetch_item<T>(items: &[T], n: usize) {
        prefetch_index(items, n);
    }

    /// As [`fetch`], for the `lines` cache lines from that of `first` on. They need not be part of it.
    #[inline(always)]
    pub fn fetch_lines<T>(first: &T, lines: usize) {
        const { assert!(LINE % size_of::<T>() == 0, "a line is a whole number of items") }
        for line in 0..lines {
            prefetch_index(from_ref(first), line * (LINE / size_of::<T>()));
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn any_place_may_be_fetched() {
            let items = [7_u64; 100];
            fetch(&items);
            fetch(&());
            fetch_item(&items, 99);
            fetch_item(&items, 1 << 40);
            fetch_item(&[] as &[u64], 3);
            fetch_lines(&items[0], 13);
            fetch_lines(&items[99], 2);
            assert_eq!(items, [7; 100]);
        }
    }
}

/// The program that makes results: its version, as kept results have it.
pub mod program {
    use std::sync::OnceLock;

    static VERSION: OnceLock<&str> = OnceLock::new();

    /// Sets the version of the program, with the commit of its sources. The first call counts.
    pub fn set_version(version: &'static str) {
        VERSION.get_or_init(|| version);
    }

    /// Returns the version of the program; in a program that has not set it, that of the crates.
    #[must_use]
    pub fn version() -> &'static str {
        VERSION.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
    }
}
