use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

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
