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

mod compare;
pub mod data;
mod events;
mod html;
mod lab;
#[cfg(feature = "instruments")]
mod metrics;
mod names;
mod objects;
mod protocols;
#[cfg(feature = "instruments")]
mod scrape;
mod searches;
mod sheet;
mod study;
#[cfg(feature = "instruments")]
mod test_metrics;
mod tester;
mod text;
mod yang;

pub use compare::{ComparedRun, Comparison, comparison_text};
pub use events::{
    Delays, MeasurementRow, Measurements, Notification, Notifications, measurements_hgrm,
    measurements_text,
};
#[cfg(feature = "instruments")]
pub use html::{BenchmarkPage, ValidationPage, benchmark_html, validation_html};
pub use html::{
    ComparisonPage, ExplorePage, Report, RunSeries, SweepAxis, SweepFigure, SweepPage, SweepRow,
    TestPage, comparison_html, explore_html, html, searched_html, study_html, sweep_html,
    tester_html,
};
pub use lab::lab_text;
#[cfg(feature = "instruments")]
pub use metrics::metrics;
pub use names::{COUNTER_NAMES, CounterName, names_table};
pub use objects::{
    ObjectRow, ObjectTable, Objects, counted, object_rows, objects_described, objects_schema,
    objects_text, objects_tree,
};
pub use protocols::{agents_text, headroom_text, macsec_text, neighbours_text};
#[cfg(feature = "instruments")]
pub use scrape::{Exposition, SCRAPE_PORT, Scrape, serve};
pub use searches::{explored_text, searched_text};
pub use sheet::drops_text;
pub use study::study_text;
#[cfg(feature = "instruments")]
pub use test_metrics::{tester_metrics, validation_metrics};
#[cfg(all(feature = "dpdk", feature = "instruments"))]
pub use tester::self_test_text;
pub use tester::{
    flows_csv, hgrm, plan_json, plan_text, ports_csv, priorities_csv, tester_line, tester_text,
};
pub use text::{Live, Screen, line, text};
pub use yang::{
    CACHE_COLUMNS, MODULES, MeasuredBy, MeasuredPort, Module, STREAM_COLUMNS, YangSource, yang_tree,
};
