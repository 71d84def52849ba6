//! The request/response measurement of a link's round trip (P802.1Qdt proposals).

mod plan;

pub use plan::{InitiatePlan, MeasurePlan};
