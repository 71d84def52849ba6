//! Benchmarks of a device under test: how fast is it?

pub mod mlrsearch;
