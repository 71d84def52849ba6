//! Benchmarks of a device under test: how fast is it?
//!
//! A [`plan::Plan`] comes from a benchmark file ([`mod@file`]). A procedure ([`rfc2544`], [`rfc2889`], [`rfc7640`],
//! [`rfc8239`], [MLRsearch](search), [`lossless`], [`soak`]) runs trials on a bench of `validate`, behind real ports or
//! virtual, and returns rows of results that [`table`] shows. [`mlrsearch`] is the search alone, without ports.

pub mod arrivals;
pub mod baseline;
mod bridge;
mod buffers;
pub mod calibrate;
mod disturbance;
pub mod file;
pub mod journal;
pub mod junit;
pub mod lossless;
pub mod mesh;
pub mod mlrsearch;
pub mod plan;
mod recovery;
pub mod rfc2544;
pub mod rfc2889;
pub mod rfc7640;
pub mod rfc8239;
pub mod run;
pub mod search;
pub mod soak;
pub mod summary;
pub mod table;
pub mod trial;

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;
#[cfg(test)]
mod tests;
