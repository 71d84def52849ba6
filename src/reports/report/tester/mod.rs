//! Output of a test for people and programs: tables, a line, files for spreadsheets and plotters,
//! metrics. All are made from one [`Report`](tester::report::Report).

mod csv;
mod hgrm;
#[cfg(feature = "instruments")]
mod metrics;
mod plan;
#[cfg(all(feature = "dpdk", feature = "instruments"))]
mod self_test;
#[cfg(test)]
pub(super) mod tests;
mod text;

pub use csv::{flows_csv, ports_csv, priorities_csv};
pub use hgrm::hgrm;
#[cfg(feature = "instruments")]
pub use metrics::tester_metrics;
pub use plan::{plan_json, plan_text};
#[cfg(all(feature = "dpdk", feature = "instruments"))]
pub use self_test::self_test_text;
pub(super) use text::{scene, tables, time};
pub use text::{tester_line, tester_text};
