//! Output for people and programs: the JSON summary, tables, the live view, metrics, and packets
//! as files.
//!
//! All output of a switch is made from one [`Summary`](results::Summary), and of a lab from its one
//! [`Outcome`](::lab::Outcome), so that no two forms can disagree. Nothing here runs on a
//! worker's core or blocks one.

mod agents;
mod checks;
mod compare;
mod congestion;
mod explore;
mod exposition;
mod families;
mod html;
mod lab;
mod live;
mod macsec;
mod measurements;
mod metrics;
mod names;
mod notifications;
mod objects;
mod scrape;
mod search;
mod sheet;
mod study;
mod tester;
mod text;
mod validation;
mod workloads;
mod yang;

pub use agents::{agents_text, headroom_text, neighbours_text};
pub use compare::{ComparedRun, Comparison, comparison_text};
pub use explore::explored_text;
pub use exposition::Exposition;
pub use html::{
    BenchmarkPage, ComparisonPage, ExplorePage, Report, RunSeries, SweepAxis, SweepFigure,
    SweepPage, SweepRow, TestPage, ValidationPage, benchmark_html, comparison_html, explore_html,
    html, searched_html, study_html, sweep_html, tester_html, validation_html,
};
pub use lab::lab_text;
pub use live::{Live, Screen};
pub use macsec::macsec_text;
pub use measurements::{
    Delays, MeasurementRow, Measurements, measurements_hgrm, measurements_text,
};
pub use metrics::metrics;
pub use names::{COUNTER_NAMES, CounterName, names_table};
pub use notifications::{Notification, Notifications};
pub use objects::{
    ObjectRow, ObjectTable, Objects, counted, object_rows, objects_described, objects_schema,
    objects_text, objects_tree,
};
pub use scrape::{SCRAPE_PORT, Scrape, serve};
pub use search::searched_text;
pub use sheet::drops_text;
pub use study::study_text;
#[cfg(feature = "dpdk")]
pub use tester::self_test_text;
pub use tester::{
    flows_csv, hgrm, plan_text, ports_csv, priorities_csv, tester_line, tester_metrics, tester_text,
};
pub use text::{line, text};
pub use validation::validation_metrics;
pub use yang::{
    CACHE_COLUMNS, MODULES, MeasuredPort, Module, STREAM_COLUMNS, YangSource, yang_tree,
};
