//! Counters by name.

use std::collections::BTreeMap;

/// Counters by name.
pub type Counters = BTreeMap<String, u64>;

/// Collects counters by name.
pub(super) fn by_name(all: impl Iterator<Item = (&'static str, u64)>) -> Counters {
    all.map(|(name, n)| (name.to_owned(), n)).collect()
}
