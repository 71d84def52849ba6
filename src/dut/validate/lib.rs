//! Validation of a device under test (DUT) from outside: the tester sends frames to its ports,
//! records all that comes back, and judges what it saw against the standards.
//!
//! - [`setup`] says how the DUT is cabled and configured; [`mod@file`] reads it from a DUT file.
//! - [`trial`] is what the tester sends in a bounded time; [`observation`] is what it recorded. A
//!   [`mod@bench`] runs a trial, in the virtual world or on real ports. The tests are the same in both.
//! - [`adapter`] reads the counters of a device and changes its settings, where that is possible.
//! - [`catalogue`] has the tests, by families; [`judge`] compares values with their limits, with the
//!   uncertainty of the measurement.
//! - [`suite`] selects tests, runs them in order and collects their results, with [`trace`]s of their
//!   trials; [`evidence`] shows these as a table, JSON Lines, JUnit, captures and a statement of
//!   conformance.
//! - [`knobs`] are faults of devices, and [`prove`] checks that the tests find them.

pub mod adapter;
pub mod bench;
pub mod catalogue;
pub mod counters;
pub mod evidence;
mod expected;
pub mod file;
pub mod judge;
pub mod knobs;
pub mod observation;
mod opened;
mod otg;
pub mod prove;
#[cfg(feature = "dpdk")]
pub mod real_bench;
pub mod setup;
pub mod suite;
pub mod test;
pub mod trace;
pub mod trial;
pub mod virtual_bench;

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;
