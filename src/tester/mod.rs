//! The traffic generator as its users see it: named ports at locations, flows between them, what
//! was counted, what was captured.
//!
//! [`plan`] is what is to be run, made by `otg` of an Open Traffic Generator configuration;
//! [`report`] is what came of it, from which every table, file and answer to a client is made.

pub mod capture;
mod location;
pub mod plan;
pub mod report;

pub use location::QUEUES_MAX;
