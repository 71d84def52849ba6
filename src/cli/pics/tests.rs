use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ::file::testgolden;

use super::*;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// Reason why a named test does not exist.
fn fault(test: &str) -> Option<String> {
    let Some((file, name)) = test.split_once("::") else {
        let page = format!("docs/src/validate/{test}.md");
        return (!Path::new(ROOT).join(&page).is_file()).then(|| format!("there is no {page}"));
    };
    let Ok(text) = fs::read_to_string(Path::new(ROOT).join(file)) else {
        return Some(format!("there is no {file}"));
    };
    // In `proptest!` a test has parameters.
    let is_there = text.contains(&format!("fn {name}("));
    (!is_there).then(|| format!("{file} has no {name}"))
}

fn features() -> impl Iterator<Item = (Feature, Vec<Statement>)> {
    Feature::value_variants().iter().map(|feature| (*feature, parse(feature.lines())))
}

#[test]
fn every_test_that_a_statement_names_exists() {
    let statements: Vec<_> = features().flat_map(|(_, statements)| statements).collect();
    let faults: Vec<_> = statements
        .iter()
        .flat_map(|s| s.tests.iter().filter_map(|test| Some((s.item, fault(test)?))))
        .collect();
    assert_eq!(faults, []);
    let without: Vec<_> = statements
        .iter()
        .filter(|s| s.supported == s.tests.is_empty() || s.reason == Some(""))
        .map(|s| s.item)
        .collect();
    assert_eq!(without, [""; 0], "a test for yes, a reason for no");
}

#[test]
fn tests_that_do_not_exist_are_found() {
    assert!(fault("V-R01").is_none() && fault("V-Z99").is_some());
    let this = "src/cli/pics/tests.rs";
    assert!(fault(&format!("{this}::tests_that_do_not_exist_are_found")).is_none());
    assert!(fault(&format!("{this}::no_such")).is_some());
    assert!(fault("src/no/such.rs::test").is_some());
}

#[test]
fn items_are_unique_and_every_feature_has_some() {
    let mut items = BTreeSet::new();
    for (feature, statements) in features() {
        assert_eq!(statements.is_empty(), feature == Feature::Readings, "{feature:?}");
        for statement in statements {
            assert!(items.insert(statement.item), "{} twice", statement.item);
        }
    }
}

#[test]
fn a_table_says_why_not() {
    let text = table(&parse(
        "A-1 | shall | 1 | does it | yes | V-R01, V-R02\nA-2 | may | 2 | x | no | why",
    ));
    assert!(text.contains("A-1") && text.contains("V-R02") && text.contains("why"), "{text}");
    assert!(text.contains("1 of 2 statements supported"), "{text}");
}

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/src/sources.md");
const MARKS: [&str; 2] = ["<!-- readings: generated -->\n", "<!-- end -->\n"];

fn markdown(readings: &[Reading]) -> String {
    let code = |text: &str| format!("`{}`", text.replace('|', "\\|"));
    let rows = readings.iter().map(|r| {
        let all = r.readings.iter().map(|r| code(r)).collect::<Vec<_>>().join(", ");
        let key = if r.key == "-" { "-".to_owned() } else { code(r.key) };
        format!("| {} | {} | {key} | {all} | {} |\n", r.source, r.point, code(&r.default))
    });
    let head = "| source | point | key | readings | default |\n| --- | --- | --- | --- | --- |\n";
    format!("\n{head}{}\n", rows.collect::<String>())
}

/// `SLUICE_BLESS=1` writes the table into the page.
#[test]
fn the_page_has_the_table_of_the_program() {
    let page = fs::read_to_string(PAGE).unwrap();
    let (before, rest) = page.split_once(MARKS[0]).expect("the mark before the table");
    let (_, after) = rest.split_once(MARKS[1]).expect("the mark behind the table");
    let [first, last] = MARKS;
    let current = markdown(&all_readings());
    testgolden::hold("docs/src/sources.md", &format!("{before}{first}{current}{last}{after}"));
}

#[test]
fn readings_and_defaults_are_those_of_files() {
    let all = all_readings();
    let of = |key: &str| all.iter().find(|r| r.key == key).unwrap();
    let kinds = of("measurement.kinds");
    assert_eq!(
        (kinds.readings.join(" "), kinds.default.as_str()),
        ("flags numbers".into(), "flags")
    );
    assert_eq!(of("dcbx.subtypes.pfc_information").default, "224");
    assert_eq!(of("headroom.auto.statistic").default, "max");
    for reading in &all {
        assert!(!reading.readings.is_empty(), "{reading:?}");
        // Only PDUs have none as their default.
        let is_none = reading.default == "none" && reading.key != "measurement.pdu";
        assert!(!is_none, "{reading:?}");
    }
}
