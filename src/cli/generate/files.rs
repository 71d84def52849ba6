//! Output files of a finished test.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};

use crate::cli::outputs::{OutputFile, Outputs};
use crate::cli::terminal;
use crate::report::{self, TestPage};
use tester::drive::Ran;
use tester::judge::verdict;
use tester::otg_file::TestFile;
use tester::plan::CaptureFormat;
use tester::report::Report;

/// Format of the results on standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    /// Tables.
    #[default]
    Table,
    /// One JSON document.
    Json,
    /// One CSV row per flow. `--csv` writes ports and priorities, too.
    Csv,
}

/// Output files in addition to standard output.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Results")]
pub struct Files {
    /// Write a self-contained HTML page with plots to this file.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// Write flows.csv, ports.csv and priorities.csv to this folder, which is made if it is missing.
    #[arg(long, value_name = "DIR")]
    pub csv: Option<PathBuf>,
    /// Write the latency distribution of each flow that measures it to FLOW.hgrm in this folder, in
    /// the text form of HdrHistogram, in microseconds.
    #[arg(long, value_name = "DIR")]
    pub hgrm: Option<PathBuf>,
    /// Write the capture of each port to PORT.pcap or PORT.pcapng in this folder.
    #[arg(long, value_name = "DIR")]
    pub captures: Option<PathBuf>,
}

/// Prints the results.
///
/// # Errors
/// Standard output cannot be written.
pub(super) fn print(format: Format, ran: &Ran) -> Result<()> {
    match format {
        Format::Table => terminal::print(report::tester_text(&ran.report, Some(&ran.findings))),
        Format::Csv => terminal::print(report::flows_csv(&ran.report)),
        Format::Json => terminal::print_json(&json(ran)?),
    }
}

/// The report with its findings.
fn json(ran: &Ran) -> Result<serde_json::Value> {
    let mut tree = serde_json::to_value(&ran.report)?;
    tree["verdict"] = verdict(&ran.findings).name().into();
    tree["checks"] = serde_json::to_value(&ran.findings)?;
    Ok(tree)
}

/// File names, in the order of [`tables`].
const CSV: [&str; 3] = ["flows.csv", "ports.csv", "priorities.csv"];

/// Open files, and folders that are writable.
pub(super) struct Opened<'a> {
    report: Option<OutputFile>,
    csv: Option<[OutputFile; 3]>,
    hgrm: Option<&'a Path>,
}

/// Opens the output files before the test.
///
/// # Errors
/// Bad input: a file that cannot be written, or would be written twice.
pub(super) fn open<'a>(files: &'a Files, file: &Path, test: &TestFile) -> Result<Opened<'a>> {
    let mut outputs = Outputs::new();
    outputs.input("the generator file", file);
    // Files that are replayed are read during the run, so no output may replace them.
    test.replays.iter().for_each(|replay| outputs.input("the replay", &replay.file));
    // A device may be a file, such as that of net_pcap.
    outputs.devices(test.plan.ports.iter().map(|port| port.location.place.to_string()))?;
    let report = files.report.as_ref().map(|path| outputs.open("--report", path)).transpose()?;
    // All three are opened, so that none is missing after the run.
    let csv = files.csv.as_ref().map(|folder| {
        Outputs::folder("--csv", folder)?;
        let [a, b, c] = CSV.map(|name| outputs.open("--csv", &folder.join(name)));
        anyhow::Ok([a?, b?, c?])
    });
    let csv = csv.transpose()?;
    if let Some(folder) = &files.hgrm {
        Outputs::folder("--hgrm", folder)?;
        for flow in &test.plan.flows {
            let option = format!("--hgrm of flow {}", flow.name);
            // Two names may be the same as a part of a file's name: the second would replace the first.
            outputs.claim(&option, &hgrm_file(folder, &flow.name))?;
        }
    }
    if let Some(folder) = &files.captures {
        Outputs::folder("--captures", folder)?;
        for port in test.plan.ports.iter() {
            let Some(capture) = &port.capture else { continue };
            let option = format!("--captures of port {}", port.name);
            outputs.claim(&option, &capture_file(folder, &port.name, capture.format))?;
        }
    }
    Ok(Opened { report, csv, hgrm: files.hgrm.as_deref() })
}

/// Writes all files except captures, which come from ports. A file that cannot be written does not
/// affect the others.
///
/// # Errors
/// The first file that could not be written.
pub(super) fn write(opened: Opened<'_>, name: &str, command: &str, ran: &Ran) -> Result<()> {
    let mut written = Vec::new();
    if let Some(file) = opened.report {
        let Ran { report, history, findings, .. } = ran;
        let page = TestPage { name, report, history, findings, command };
        written.push(file.write(report::tester_html(&page).as_bytes()));
    }
    if let Some(files) = opened.csv {
        let tables = tables(&ran.report);
        written.extend(files.into_iter().zip(tables).map(|(file, csv)| file.write(csv.as_bytes())));
    }
    if let Some(folder) = opened.hgrm {
        for flow in &ran.report.flows {
            // Only flows that measure latency have a distribution.
            let Some(latency) = &flow.latency else { continue };
            let Some(distribution) = latency.distribution.as_deref() else { continue };
            let text = report::hgrm(latency, &distribution.histogram());
            written.push(put("--hgrm", &hgrm_file(folder, &flow.name), text.as_bytes()));
        }
    }
    written.into_iter().collect()
}

/// The tables, in the order of [`CSV`].
fn tables(report: &Report) -> [String; 3] {
    [report::flows_csv(report), report::ports_csv(report), report::priorities_csv(report)]
}

/// Path of a flow's distribution.
fn hgrm_file(folder: &Path, flow: &str) -> PathBuf {
    folder.join(format!("{}.hgrm", file_name(flow)))
}

/// Path of a port's capture.
pub(super) fn capture_file(folder: &Path, port: &str, format: CaptureFormat) -> PathBuf {
    let ending = match format {
        CaptureFormat::Pcap => "pcap",
        CaptureFormat::Pcapng => "pcapng",
    };
    folder.join(format!("{}.{ending}", file_name(port)))
}

/// Writes a file whose folder was checked before.
pub(super) fn put(option: &str, path: &Path, bytes: &[u8]) -> Result<()> {
    Outputs::default().open(option, path)?.write(bytes)
}

/// Replaces characters that are invalid in a file name, so that the file stays in its folder.
fn file_name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_.+,=@ ".contains(c);
    let kept: String = name.chars().map(|c| if plain(c) { c } else { '_' }).collect();
    if kept.starts_with('.') { format!("_{kept}") } else { kept }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::testfolder::Folder;
    use crate::verdict::Verdict;
    use tester::Measured;
    use tester::drive::Why;
    use tester::history::History;
    use tester::judge::Finding;
    use tester::report::{Flow, Latency};

    fn ran() -> Ran {
        let mut distribution = crate::host::Latency::default();
        distribution.record(crate::time::Duration::from_nanos(1_500));
        let latency = Latency {
            frames: 1,
            max_ns: Measured::new(1_500.0, 0.0),
            distribution: Some(Arc::new(distribution)),
            ..Latency::default()
        };
        let flow = Flow { name: "../up/f 1".into(), latency: Some(latency), ..Flow::default() };
        let finding =
            Finding { flow: "f".into(), verdict: Verdict::Fail, what: "sent 0 of 1".into() };
        Ran {
            why: Why::Done,
            report: Report { flows: vec![flow], ..Report::default() },
            history: History::default(),
            findings: vec![finding],
        }
    }

    #[test]
    fn all_files_are_written_where_they_belong() {
        let folder = Folder::new("files");
        let files = Files {
            report: Some(folder.at("r.html")),
            csv: Some(folder.at("csv")),
            hgrm: Some(folder.at("h")),
            captures: None,
        };
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/constant-rate.yaml");
        let (test, _) = tester::otg_file::load_placed(Path::new(file), &[]).unwrap();
        let opened = open(&files, Path::new("t.yaml"), &test).unwrap();
        assert!(!folder.at("r.html").exists());
        write(opened, "t", "sluice gen t.yaml", &ran()).unwrap();
        let read = |name: &str| fs::read_to_string(folder.at(name)).unwrap();
        assert!(read("r.html").contains("sluice gen t.yaml"));
        assert_eq!(read("csv/flows.csv").lines().count(), 2);
        assert_eq!(read("csv/priorities.csv").lines().count(), 1);
        assert!(read("h/_.._up_f 1.hgrm").contains("1.5"));
    }

    #[test]
    fn json_says_what_was_found() {
        let tree = json(&ran()).unwrap();
        assert_eq!(
            (&tree["verdict"], &tree["checks"][0]["verdict"]),
            (&"fail".into(), &"fail".into())
        );
        assert_eq!(tree["flows"][0]["latency"]["max_ns"], 1_500.0);
    }

    #[test]
    fn a_folder_that_cannot_be_is_bad_input() {
        let error = put("--csv", Path::new("/dev/null/x.csv"), b"").unwrap_err();
        assert!(format!("{error:#}").contains("--csv /dev/null/x.csv"), "{error:#}");
    }
}
