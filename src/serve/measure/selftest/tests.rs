//! The form of reports, and the reports that the manual shows.

use std::fs;
use std::path::{Path, PathBuf};

use super::*;

/// A file of the repository.
fn path(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(of)
}

/// Compares a file with its text, or writes it if `SLUICE_BLESS` is set.
fn held(of: &str, wanted: &str) {
    if std::env::var_os("SLUICE_BLESS").is_some() {
        fs::write(path(of), wanted).unwrap();
    }
    let found = fs::read_to_string(path(of)).unwrap_or_default();
    assert!(found == wanted, "{of}: SLUICE_BLESS=1 cargo test -p sluice-measure writes it");
}

#[test]
fn the_schema_of_reports_is_that_of_the_repository() {
    let schema = serde_json::to_string_pretty(&schemars::schema_for!(Report)).unwrap();
    held("configs/schema/nic-report.schema.json", &format!("{schema}\n"));
}

/// The stored reports with their names, in the order of the manual's table.
fn stored() -> Vec<(String, Report)> {
    let mut files: Vec<_> = fs::read_dir(path("docs/nics"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|file| file.extension().is_some_and(|end| end == "json"))
        .collect();
    files.sort();
    let read = |file: PathBuf| {
        let text = fs::read_to_string(&file).unwrap();
        let report: Report = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        (file.file_name().unwrap().to_string_lossy().into_owned(), report)
    };
    let mut all: Vec<_> = files.into_iter().map(read).collect();
    // NICs of any kind come before devices that are none.
    all.sort_by_key(|(_, report)| {
        matches!(report.port.nature, Nature::KernelInterface | Nature::Memory)
    });
    all
}

#[test]
fn stored_reports_say_only_what_was_tried() {
    let all = stored();
    assert!(!all.is_empty());
    for (name, report) in all {
        assert_eq!(report.form, FORM, "{name}");
        let unsound: Vec<_> = report.lines.iter().filter(|line| !line.is_sound()).collect();
        assert!(unsound.is_empty(), "{name}: {unsound:#?}");
        let verdict = report::verdict_of(&report.lines, false);
        assert_eq!(report.verdict, verdict, "{name}: an interrupted test is no report");
        let shown = text(&report);
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{name}: {shown}");
    }
}

/// Columns of the manual's table: the heading and the check.
const COLUMNS: &[(&str, &str)] = &[
    ("MAC control", "mac_control"),
    ("PAUSE left to software", "nic_pause"),
    ("own PFC", "own_pfc"),
    ("tags", "vlan_tags"),
    ("jumbo", "jumbo"),
    ("counters", "counters"),
    ("missed", "missed"),
    ("link change", "link_change"),
    ("stamps rx", "rx_stamps"),
    ("stamps tx", "tx_stamps"),
    ("hardware PFC", "hardware_pfc"),
];

/// The table of the stored reports, in Markdown.
fn table(all: &[(String, Report)]) -> String {
    let heads: String = COLUMNS.iter().map(|(head, _)| format!(" {head} |")).collect();
    let rules: String = COLUMNS.iter().map(|_| " --- |").collect();
    let mut out = format!("| device | driver | DPDK |{heads}\n| --- | --- | --- |{rules}\n");
    for (name, report) in all {
        let cells: String = COLUMNS
            .iter()
            .map(|(_, check)| {
                let found = report.line(check).map_or("not tried", |line| line.verdict.label());
                let found = if found == "fails" { "**fails**" } else { found };
                format!(" {found} |")
            })
            .collect();
        let version = report.dpdk.trim_start_matches("DPDK ");
        out += &format!(
            "| `{}`: {} | `{}` | {version} |{cells}\n",
            name.trim_end_matches(".json"),
            report.port.nature.label(),
            report.port.driver
        );
    }
    out
}

#[test]
fn the_table_of_the_manual_is_that_of_the_stored_reports() {
    const PAGE: &str = "docs/src/nics.md";
    const BEGIN: &str = "<!-- reports: written by a test from docs/nics/*.json -->\n";
    const END: &str = "<!-- end of reports -->\n";
    let page = fs::read_to_string(path(PAGE)).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a place for the table");
    let (_, after) = rest.split_once(END).expect("the place for the table has an end");
    let wanted = format!("{before}{BEGIN}{}{END}{after}", table(&stored()));
    held(PAGE, &wanted);
}
