//! Output of a test for people and programs: tables, a line, files for spreadsheets and plotters,
//! metrics. All are made from one [`Report`](tester::report::Report).

mod csv;
mod hgrm;
mod metrics;
mod plan;
#[cfg(feature = "dpdk")]
mod self_test;
#[cfg(test)]
pub(super) mod tests;
mod text;

pub use csv::{flows_csv, ports_csv, priorities_csv};
pub use hgrm::hgrm;
pub use metrics::tester_metrics;
pub use plan::plan_text;
#[cfg(feature = "dpdk")]
pub use self_test::self_test_text;
pub(super) use text::{scene, tables, time};
pub use text::{tester_line, tester_text};
