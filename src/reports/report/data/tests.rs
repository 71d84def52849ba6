//! Data sets of small labs, read back.

use std::collections::BTreeMap;

use super::*;
use lab::study::{Changes, Study};
use lab::{LabFile, Options, Runner, World};
use text::Kind;

#[path = "../../../../tests/shared/testfolder.rs"]
mod testfolder;
use testfolder::Folder;

/// Three hosts send to one, and are paused and marked; one of them sends messages.
const LAB: &str = "\
name: small, with a comma
duration: 60us
topology: {star: {hosts: 4}}
profiles:
  tor:
    buffer: {total: 4MiB, profiles: {r: {shared: {dynamic_th: -6}, lossless: {xoff: auto}}}}
    defaults:
      pfc: {enable: [3]}
      priority_groups: {3: r}
      queues: {3: {ecn: {kmin: 5KB, kmax: 20KB, pmax: 100%}}}
record: {messages: true}
flows:
  - {name: stream, from: [h1, h2], to: h4, priority: 3, size: 1500, ecn: ect0}
  - name: roce
    from: h3
    to: h4
    priority: 3
    transport: {roce: {messages: {bytes: 10KB, count: 50}}}
sweep: {seed: 1..2, defaults.links.length: [5m, 50m], until_done: [true, false]}
";

fn file(text: &str) -> LabFile {
    LabFile::parse("f.yaml", text).unwrap_or_else(|e| panic!("{e}"))
}

/// Runs all of a lab and writes a data set.
fn written(folder: &Path, format: Format) -> DataSet {
    let study = Study::new(file(LAB), Changes::default()).unwrap();
    let axes: Vec<(String, bool)> = study
        .sweep()
        .unwrap()
        .columns()
        .iter()
        .map(|column| (column.key.to_owned(), column.is_number))
        .collect();
    let named = |name: &str, is_number| (name.to_owned(), is_number);
    let wanted =
        [named("seed", true), named("defaults.links.length", false), named("until_done", false)];
    assert_eq!(axes, wanted);
    let mut set = DataSet::create(folder, format, axes).unwrap();
    let options = Options { plots: true, moments: Some(MOMENTS_MAX), ..Options::default() };
    for n in 0..study.len() {
        let mut runner = Runner::new(World::Virtual);
        let done =
            study.row(n, &mut runner, options, |_| (), |row, plan, run| set.add(row, plan, &run));
        done.unwrap().unwrap().1.unwrap();
    }
    set
}

type Lines = Vec<BTreeMap<String, String>>;

fn csv(folder: &Folder, name: &str) -> Lines {
    let mut reader = csv::Reader::from_path(folder.at(format!("{name}.csv"))).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn every_table_has_lines_that_agree_with_the_results() {
    let folder = Folder::new("data-csv");
    written(&folder.0, Format::Csv).close().unwrap();
    let runs = csv(&folder, "runs");
    assert_eq!(runs.len(), 8);
    let of = |line: &BTreeMap<String, String>, name: &str| line[name].clone();
    let number = |line: &BTreeMap<String, String>, name: &str| -> f64 {
        line[name].parse().unwrap_or_else(|_| panic!("{name}: {line:?}"))
    };
    assert_eq!(of(&runs[1], "lab"), "small, with a comma");
    assert_eq!([of(&runs[3], "seed"), of(&runs[3], "defaults.links.length")], ["1", "50m"]);
    assert_eq!([of(&runs[2], "variant"), of(&runs[2], "victim_bps")], ["", ""], "unknown is empty");
    let flows = csv(&folder, "flows");
    assert_eq!(of(&runs[1], "until_done"), "false");
    assert_eq!(flows.len(), 8 * 3);
    for line in &flows[..3] {
        assert!(number(line, "tx_frames") >= number(line, "rx_frames"), "{line:?}");
        assert!(number(line, "latency_p50_ns") <= number(line, "latency_p99_ns"), "{line:?}");
    }
    let messages = csv(&folder, "messages");
    let complete = messages.iter().filter(|line| line["n"] == "0" && !line["slowdown"].is_empty());
    assert_eq!(complete.clone().count() as f64, number(&runs[0], "fct.messages"));
    for line in complete {
        let ratio = number(line, "completion_ns") / number(line, "ideal_ns");
        assert!((ratio - number(line, "slowdown")).abs() < 1e-9 && ratio >= 1.0, "{line:?}");
    }
    let paused: f64 = csv(&folder, "pauses").iter().map(|line| number(line, "paused_ns")).sum();
    let told: f64 = runs.iter().map(|line| number(line, "pauses.paused_ns")).sum();
    assert!(paused > 0.0 && (paused - told).abs() < 1.0, "{paused} {told}");
    let hops: f64 = csv(&folder, "hops").iter().map(|line| number(line, "pauses")).sum();
    let pieces: f64 = csv(&folder, "pauses").iter().map(|line| number(line, "pauses")).sum();
    assert!((hops - pieces).abs() < f64::EPSILON, "{hops} {pieces}");
    let series = csv(&folder, "series");
    let most = |what: &str| -> f64 {
        let of = series.iter().filter(|line| line["what"] == what && line["n"] == "0");
        of.map(|line| number(line, "value")).fold(0.0, f64::max)
    };
    assert!(most("queue") > 1_500.0 && most("group") > 1_500.0 && most("rate") > 1e9);
    assert!(most("queue") <= number(&runs[0], "queue_peak_bytes"));
    // A line is a change, or the last sample of its series.
    let keys = ["n", "what", "node", "port", "index", "flow"];
    let key = |line: &BTreeMap<String, String>| keys.map(|name| line[name].clone());
    let all: Vec<_> = series.chunk_by(|a, b| key(a) == key(b)).collect();
    for lines in &all {
        let held = lines.windows(2).filter(|pair| pair[0]["value"] == pair[1]["value"]).count();
        assert!(held <= 1 && lines.len() > 1, "{lines:?}");
    }
    let ends: BTreeSet<&str> =
        all.iter().filter(|l| l[0]["n"] == "0").map(|l| &*l[l.len() - 1]["t_ns"]).collect();
    assert_eq!(ends.len(), 1, "all series end with the run: {ends:?}");
    assert!(most("marks") > 0.0 && most("marks") <= number(&runs[0], "marks"), "{}", most("marks"));
}

#[test]
fn a_set_without_series_has_all_other_tables() {
    let folder = Folder::new("data-no-series");
    let mut set = DataSet::create(&folder.0, Format::Csv, vec![]).unwrap().without_series();
    let study = Study::new(file(&LAB.replace("sweep:", "#")), Changes::default()).unwrap();
    let options = Options { plots: true, ..Options::default() };
    let mut runner = Runner::new(World::Virtual);
    let add = |row: &Row, plan: &LabPlan, run: Run| {
        assert!(series_bytes_max(plan) > 1 << 20);
        set.add(row, plan, &run)
    };
    study.row(0, &mut runner, options, |_| (), add).unwrap().unwrap().1.unwrap();
    set.close().unwrap();
    assert!(!folder.at("series.csv").exists() && folder.at("pauses.csv").exists());
}

#[test]
fn files_that_are_there_are_kept() {
    let folder = Folder::new("data-there");
    folder.put("series.csv", b"mine");
    let error = DataSet::create(&folder.0, Format::Csv, vec![]).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("series.csv: the file is there already; name another folder, or remove it")
    );
    let missing = folder.at("series.csv").join("in-a-file");
    assert!(matches!(DataSet::create(&missing, Format::Csv, vec![]), Err(DataError::Io(..))));
}

#[test]
fn an_error_of_a_file_is_told() {
    let folder = Folder::new("data-gone");
    let set = DataSet::create(&folder.at("set"), Format::Csv, vec![]).unwrap();
    std::fs::remove_dir(folder.at("set")).unwrap();
    let study = Study::new(file(&LAB.replace("sweep:", "#")), Changes::default()).unwrap();
    let mut set = set;
    let mut runner = Runner::new(World::Virtual);
    let add = |row: &Row, plan: &LabPlan, run: Run| set.add(row, plan, &run);
    let (_, added) = study.row(0, &mut runner, Options::default(), |_| (), add).unwrap().unwrap();
    assert!(matches!(added, Err(DataError::Io(path, _)) if path.ends_with("runs.csv")));
}

/// A table in the manual.
struct Described {
    name: &'static str,
    meaning: &'static str,
    fields: Vec<Field<'static>>,
}

fn described<T>(table: &Table<T>, meaning: &'static str) -> Described {
    Described { name: table.name, meaning, fields: table.fields() }
}

/// Returns all tables but that of runs.
fn tables() -> [Described; 5] {
    [
        described(&tables::flows(), "A line for each flow of each run."),
        described(
            &tables::messages(),
            "A line for each message that was due; only of labs with `record: {messages: true}`.",
        ),
        described(
            &tables::hops(),
            "A line for the paused lines of each distance from the destination.",
        ),
        described(
            &tables::series(),
            "A line where a value of a series changes, which holds until the next one, and for its last sample.",
        ),
        described(
            &tables::pauses(),
            "A line for each pause of a priority, as the paused end sees it.",
        ),
    ]
}

#[test]
fn columns_of_all_tables_are_described_and_unique() {
    let axes = [("defaults.links.length".into(), false)];
    let runs = ("runs", tables::runs(&axes));
    let tables = tables().into_iter().map(|table| (table.name, table.fields));
    for (table, fields) in tables.chain([runs]) {
        let names: BTreeSet<&str> = fields.iter().map(|field| field.name).collect();
        assert_eq!(names.len(), fields.len(), "{table}");
        assert!(fields.iter().all(|field| !field.meaning.is_empty()), "{table}");
        let in_ns = |field: &Field<'_>| field.name.ends_with("_ns") == (field.unit == "ns");
        assert!(fields.iter().all(in_ns), "{table}");
        assert!(TABLES.contains(&table));
    }
}

/// Every value of a row must have the type of its column, or Parquet has it as unknown.
#[test]
fn the_types_of_columns_are_those_of_the_rows() {
    let study = Study::new(file(LAB), Changes::default()).unwrap();
    let options = Options::default();
    let mut runner = Runner::new(World::Virtual);
    let (mut row, ()) = study.row(0, &mut runner, options, |_| (), |_, _, _| ()).unwrap().unwrap();
    row.wall_ms = 12.5;
    let mut seen = 0;
    for field in tables::runs(&[("defaults.links.length".into(), false)]) {
        let cell = row.cell(field.name);
        let fits = matches!(
            (field.kind, &cell),
            (_, Cell::Unknown)
                | (Kind::Text, Cell::Text(_))
                | (Kind::Whole, Cell::Whole(_))
                | (Kind::Number, Cell::Whole(_) | Cell::Number(_))
                | (Kind::Truth, Cell::Truth(_))
        );
        assert!(fits, "{field:?} {cell:?}");
        seen += usize::from(cell != Cell::Unknown);
    }
    assert!(seen > 30, "{seen}");
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_has_what_csv_has() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    let folder = Folder::new("data-parquet");
    written(&folder.at("p"), Format::Parquet).close().unwrap();
    written(&folder.at("c"), Format::Csv).close().unwrap();
    for table in TABLES {
        let path = folder.at("c").join(format!("{table}.csv"));
        let lines: Lines =
            csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect();
        let path = folder.at("p").join(format!("{table}.parquet"));
        let reader = SerializedFileReader::new(std::fs::File::open(path).unwrap()).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        assert_eq!(rows.len(), lines.len(), "{table}");
        for (row, line) in rows.iter().zip(&lines) {
            for (name, field) in row.get_column_iter() {
                let text = match field {
                    Field::Null => String::new(),
                    Field::Str(text) => text.clone(),
                    Field::ULong(n) => n.to_string(),
                    Field::Double(n) => n.to_string(),
                    Field::Bool(is) => is.to_string(),
                    other => panic!("{name}: {other:?}"),
                };
                // Two runs of the same lab do not take the same time.
                assert!(text == line[name] || name == "wall_ms", "{table}: {name}: {text}");
            }
        }
    }
}

/// `SLUICE_BLESS=1` writes the tables into the page.
#[test]
fn the_manual_has_all_tables_and_columns() {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/src/studies.md");
    const MARKS: [&str; 2] = ["<!-- tables: written by a test -->\n", "<!-- end of tables -->\n"];
    let mut wanted = String::new();
    let meaning = "A line for each run: the fields of its row but those of hops, and the values of the sweep's axes.";
    wanted += &format!("\n### `runs`\n\n{meaning}\n");
    for Described { name, meaning, fields } in tables() {
        wanted += &format!("\n### `{name}`\n\n{meaning}\n");
        wanted += "\n| column | type | unit | meaning |\n| --- | --- | --- | --- |\n";
        for Field { name, kind, unit, meaning, .. } in fields {
            let kind = match kind {
                Kind::Text | Kind::Sentence => "text",
                Kind::Whole => "whole number",
                Kind::Number => "number",
                Kind::Truth => "truth value",
            };
            wanted += &format!("| `{name}` | {kind} | {unit} | {meaning} |\n");
        }
    }
    wanted += "\n";
    let page = std::fs::read_to_string(PAGE).unwrap();
    let (head, rest) = page.split_once(MARKS[0]).unwrap();
    let (now, tail) = rest.split_once(MARKS[1]).unwrap();
    if std::env::var_os("SLUICE_BLESS").is_some() {
        let [first, last] = MARKS;
        std::fs::write(PAGE, format!("{head}{first}{wanted}{last}{tail}")).unwrap();
        return;
    }
    assert_eq!(now, wanted, "SLUICE_BLESS=1 writes the current tables");
}
