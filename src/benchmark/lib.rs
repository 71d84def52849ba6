//! Benchmarks of a device under test: how fast is it?
//!
//! A [`plan::Plan`] comes from a benchmark file ([`file`]). A procedure ([`rfc2544`], [`mlr`]) runs
//! trials on a bench of `validate`, behind real ports or virtual, and returns rows of results that
//! [`table`] shows. [`mlrsearch`] is the search alone, without ports.

pub mod file;
pub mod mlr;
pub mod mlrsearch;
pub mod plan;
pub mod rfc2544;
pub mod table;
pub mod trial;

#[cfg(test)]
#[path = "../testfolder.rs"]
mod testfolder;
#[cfg(test)]
mod tests;
