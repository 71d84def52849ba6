//! Output for people and programs: the JSON summary, tables, the live view, metrics, pages, and the results of
//! labs as files of tables.
//!
//! All output of a switch is made from one [`Summary`](results::Summary), and of a lab from its one
//! [`Outcome`](::lab::Outcome), so that no two forms can disagree. Nothing here runs on a
//! worker's core or blocks one.

#![cfg_attr(
    not(feature = "instruments"),
    allow(dead_code, reason = "tables and pages of instruments share modules with those of labs")
)]

mod agents;
mod checks;
mod compare;
mod congestion;
pub mod data;
mod explore;
#[cfg(feature = "instruments")]
mod exposition;
#[cfg(feature = "instruments")]
mod families;
mod html;
mod lab;
mod live;
mod macsec;
mod measurements;
#[cfg(feature = "instruments")]
mod metrics;
mod names;
mod notifications;
mod objects;
#[cfg(feature = "instruments")]
mod scrape;
mod search;
mod sheet;
mod study;
mod tester;
mod text;
#[cfg(feature = "instruments")]
mod validation;
mod workloads;
mod yang;

pub use agents::{agents_text, headroom_text, neighbours_text};
pub use compare::{ComparedRun, Comparison, comparison_text};
pub use explore::explored_text;
#[cfg(feature = "instruments")]
pub use exposition::Exposition;
#[cfg(feature = "instruments")]
pub use html::{BenchmarkPage, ValidationPage, benchmark_html, validation_html};
pub use html::{
    ComparisonPage, ExplorePage, Report, RunSeries, SweepAxis, SweepFigure, SweepPage, SweepRow,
    TestPage, comparison_html, explore_html, html, searched_html, study_html, sweep_html,
    tester_html,
};
pub use lab::lab_text;
pub use live::{Live, Screen};
pub use macsec::macsec_text;
pub use measurements::{
    Delays, MeasurementRow, Measurements, measurements_hgrm, measurements_text,
};
#[cfg(feature = "instruments")]
pub use metrics::metrics;
pub use names::{COUNTER_NAMES, CounterName, names_table};
pub use notifications::{Notification, Notifications};
pub use objects::{
    ObjectRow, ObjectTable, Objects, counted, object_rows, objects_described, objects_schema,
    objects_text, objects_tree,
};
#[cfg(feature = "instruments")]
pub use scrape::{SCRAPE_PORT, Scrape, serve};
pub use search::searched_text;
pub use sheet::drops_text;
pub use study::study_text;
#[cfg(all(feature = "dpdk", feature = "instruments"))]
pub use tester::self_test_text;
#[cfg(feature = "instruments")]
pub use tester::tester_metrics;
pub use tester::{
    flows_csv, hgrm, plan_json, plan_text, ports_csv, priorities_csv, tester_line, tester_text,
};
pub use text::{line, text};
#[cfg(feature = "instruments")]
pub use validation::validation_metrics;
pub use yang::{
    CACHE_COLUMNS, MODULES, MeasuredBy, MeasuredPort, Module, STREAM_COLUMNS, YangSource, yang_tree,
};
