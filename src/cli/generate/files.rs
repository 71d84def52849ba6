//! What is written of a test that is over.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use crate::cli::bad_input;
use crate::report::{self, TestPage};
use crate::tester::drive::Ran;
use crate::tester::report::Report;
use crate::tester::verdict::is_good;

/// What the results look like on standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    /// Tables for people.
    #[default]
    Table,
    /// One JSON document for programs.
    Json,
    /// A row for each flow, for spreadsheets. `--csv` writes ports and priorities, too.
    Csv,
}

/// Where results are written beside standard output.
#[derive(Args, Clone, Debug, Default)]
pub struct Files {
    /// Write a page with plots, which needs nothing but a browser, to this file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write flows.csv, ports.csv and priorities.csv to this folder, which is made if need be.
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Write the latency distribution of each flow that measures it to FLOW.hgrm in this folder, in
    /// the text form of HdrHistogram, in microseconds.
    #[arg(long, value_name = "DIR")]
    pub hgrm: Option<PathBuf>,
    /// Write what each port captured to PORT.pcap or PORT.pcapng in this folder.
    #[arg(long, value_name = "DIR")]
    pub captures: Option<PathBuf>,
}

/// The results as text.
///
/// # Errors
/// Never in practice: everything in a report has a place in JSON.
pub(super) fn text(format: Format, ran: &Ran) -> Result<String> {
    Ok(match format {
        Format::Table => report::tester_text(&ran.report, Some(&ran.findings)),
        Format::Csv => report::flows_csv(&ran.report),
        Format::Json => serde_json::to_string_pretty(&json(ran)?)? + "\n",
    })
}

/// The report, with what was found beside it.
fn json(ran: &Ran) -> Result<serde_json::Value> {
    let mut tree = serde_json::to_value(&ran.report)?;
    tree["verdict"] = if is_good(&ran.findings) { "good" } else { "bad" }.into();
    tree["checks"] = serde_json::to_value(&ran.findings)?;
    Ok(tree)
}

/// Writes the files that were asked for; captures are apart, because they come from ports.
///
/// # Errors
/// A file or folder that cannot be written.
pub(super) fn write(files: &Files, name: &str, command: &str, ran: &Ran) -> Result<()> {
    if let Some(path) = &files.report {
        let Ran { report, history, findings, .. } = ran;
        let page = TestPage { name, report, history, findings, command };
        put(path, report::tester_html(&page).as_bytes())?;
    }
    if let Some(folder) = &files.csv {
        let parts = [
            ("flows.csv", report::flows_csv(&ran.report)),
            ("ports.csv", report::ports_csv(&ran.report)),
            ("priorities.csv", report::priorities_csv(&ran.report)),
        ];
        parts.iter().try_for_each(|(file, text)| put(&folder.join(file), text.as_bytes()))?;
    }
    files.hgrm.as_deref().map_or(Ok(()), |folder| distributions(folder, &ran.report))
}

fn distributions(folder: &Path, report: &Report) -> Result<()> {
    for flow in &report.flows {
        let measured = flow.latency.as_ref().and_then(|l| l.distribution.as_deref());
        if let Some(distribution) = measured {
            let file = folder.join(format!("{}.hgrm", file_name(&flow.name)));
            put(&file, report::hgrm(distribution).as_bytes())?;
        }
    }
    Ok(())
}

/// Writes a file, and makes its folder if there is none.
pub(super) fn put(path: &Path, octets: &[u8]) -> Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let written = folder.map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, octets));
    written.with_context(|| format!("writing {}", path.display())).map_err(bad_input)
}

/// A name without what a file's name cannot have, and that stays in its folder.
pub(super) fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.+,=@ ".contains(c);
    let kept: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    if kept.starts_with('.') { format!("_{kept}") } else { kept }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use hdrhistogram::Histogram;

    use super::*;
    use crate::tester::drive::Why;
    use crate::tester::history::History;
    use crate::tester::report::{Flow, Latency};
    use crate::tester::verdict::Finding;

    fn ran() -> Ran {
        let mut distribution = Histogram::new_with_bounds(1, 1_000_000, 3).unwrap();
        distribution.record(1_500).unwrap();
        let latency = Latency {
            frames: 1,
            max_ns: 1_500.0,
            distribution: Some(Arc::new(distribution)),
            ..Latency::default()
        };
        let flow = Flow { name: "../up/f 1".into(), latency: Some(latency), ..Flow::default() };
        let finding = Finding { flow: "f".into(), good: false, what: "sent 0 of 1".into() };
        Ran {
            why: Why::Done,
            report: Report { flows: vec![flow], ..Report::default() },
            history: History::default(),
            findings: vec![finding],
        }
    }

    #[test]
    fn all_files_are_written_where_they_belong() {
        let folder = std::env::temp_dir().join(format!("sluice-files-{}", std::process::id()));
        let files = Files {
            report: Some(folder.join("a/r.html")),
            csv: Some(folder.join("csv")),
            hgrm: Some(folder.join("h")),
            captures: None,
        };
        write(&files, "t", "sluice gen t.yaml", &ran()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert!(read("a/r.html").contains("sluice gen t.yaml"));
        assert_eq!(read("csv/flows.csv").lines().count(), 2);
        assert_eq!(read("csv/priorities.csv").lines().count(), 1);
        assert!(read("h/_.._up_f 1.hgrm").contains("1.5"));
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn json_says_what_was_found() {
        let tree: serde_json::Value =
            serde_json::from_str(&text(Format::Json, &ran()).unwrap()).unwrap();
        assert_eq!((&tree["verdict"], &tree["checks"][0]["good"]), (&"bad".into(), &false.into()));
        assert_eq!(tree["flows"][0]["latency"]["max_ns"], 1_500.0);
        assert!(text(Format::Csv, &ran()).unwrap().starts_with("name,port_tx,"));
    }

    #[test]
    fn a_folder_that_cannot_be_is_bad_input() {
        let error = put(Path::new("/dev/null/x.csv"), b"").unwrap_err();
        assert!(format!("{error:#}").contains("writing /dev/null/x.csv"), "{error:#}");
    }
}
