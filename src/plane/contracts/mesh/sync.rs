//! Atomics that the exchange uses; its loom test puts loom's in their place.

pub(super) use std::sync::Arc;
pub(super) use std::sync::atomic::{AtomicU64, Ordering, fence};
