//! Generator files: an Open Traffic Generator configuration as YAML or JSON, to a test. Everything
//! that is wrong is said with file, line, column, field and remedy.

use std::path::Path;

use super::model::Config;
use super::resolve;
use crate::config::tree::{Kind, Node};
use crate::config::{self, ConfigError, Finding, Mark, Warning, names};
use crate::tester::plan::{Location, TestPlan};
use crate::tester::replay::{self, Replay};
use crate::units::BitsPerSec;

/// What is said about a file without anything in it.
const EMPTY: &str = "the file is empty; the shortest test is two ports and a flow: \
                     `ports: [{name: a, location: \"ring:r.a\"}, {name: b, location: \"ring:r.b\"}]` and \
                     `flows: [{name: f, tx_rx: {port: {tx_name: a, rx_names: [b]}}}]`";

/// A file, read and understood.
#[derive(Clone, PartialEq, Debug)]
pub struct TestFile {
    /// As it is written.
    pub config: Config,
    /// What is sent beside it, in our own words.
    pub replays: Vec<Replay>,
    /// What both come to.
    pub plan: TestPlan,
}

/// Reads a generator file; `link` knows the rate of what is at a location, if anybody does.
///
/// # Errors
/// Everything that is wrong with it, or that it could not be read.
pub fn load(
    path: &Path,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    let (name, text) = config::read_text(path, "generator file")?;
    parse(&name, &text, link)
}

/// Reads a generator file some of whose ports are elsewhere, as arguments of a command say: pairs of
/// a name and a location.
///
/// # Errors
/// Everything that is wrong with it then, or that it could not be read.
pub fn load_placed(
    path: &Path,
    places: &[(String, String)],
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    let (name, text) = config::read_text(path, "generator file")?;
    parse_placed(&name, &text, places)
}

/// The same of a text; `name` is what errors call it.
///
/// # Errors
/// Everything that is wrong with it then.
pub fn parse_placed(
    name: &str,
    text: &str,
    places: &[(String, String)],
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    read(name, text, places, &|_| None)
}

/// Puts a port elsewhere.
fn place_port(config: &mut Config, name: &str, place: &str) -> Result<(), Finding> {
    if let Some(port) = config.ports.iter_mut().find(|port| port.name == name) {
        port.location = Some(place.to_owned());
        return Ok(());
    }
    let all: Vec<_> = config.ports.iter().map(|port| port.name.as_str()).collect();
    let there = if all.is_empty() { "none".into() } else { names(&all) };
    let what = format!("there is no port `{name}` to be put at {place}; there are {there}");
    Err(Finding::new(None, "ports", &what))
}

/// Whether a text is that of a generator file, by what only such a file has at its top.
#[must_use]
pub fn is_test(text: &str) -> bool {
    const FIELDS: [&str; 5] = ["layer1", "captures", "devices", "stateful_flows", "replay"];
    let placed = |ports: &Node| match &ports.kind {
        Kind::Seq(ports) => ports.iter().any(|port| port.get("location").is_some()),
        Kind::Map(_) | Kind::Scalar { .. } => false,
    };
    config::tree::read(text, EMPTY).is_ok_and(|root| {
        FIELDS.iter().any(|field| root.get(field).is_some())
            || root.get("ports").is_some_and(placed)
    })
}

/// Reads the text of a generator file; `name` is what errors call it.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(
    name: &str,
    text: &str,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    read(name, text, &[], link)
}

/// A whole file: the configuration, and what there is beside it in our own words.
fn read(
    name: &str,
    text: &str,
    places: &[(String, String)],
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    let one = |finding: Finding| ConfigError::one(name, finding);
    let mut root = config::tree::read(text, EMPTY).map_err(one)?;
    let whole = root.clone();
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let replays = replay::take(&mut root, folder).map_err(one)?;
    let all = |mut findings: Vec<Finding>| {
        findings.iter_mut().for_each(|f| f.mark = f.mark.or(Some(mark_of(&whole, &f.path))));
        ConfigError { file: name.to_owned(), findings }
    };
    let mut config: Config = config::de::from_tree_all(&root).map_err(all)?;
    for (port, place) in places {
        place_port(&mut config, port, place).map_err(one)?;
    }
    let (mut file, warnings) = test_of(&root, config, link).map_err(all)?;
    replay::add(&mut file.plan, &replays).map_err(all)?;
    file.replays = replays;
    Ok((file, warnings))
}

/// Makes a test of a configuration that was read from a file.
fn test_of(
    node: &Node,
    config: Config,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), Vec<Finding>> {
    let (plan, warnings) = resolve::find(&config, link);
    let placed = |mut found: Vec<Finding>| {
        for finding in &mut found {
            finding.mark = Some(mark_of(node, &finding.path));
        }
        found.sort_by_key(|f| f.mark);
        found
    };
    match plan {
        Ok(plan) => Ok((TestFile { config, replays: Vec::new(), plan }, placed(warnings))),
        Err(errors) => Err(placed(errors)),
    }
}

/// Where the field at `path` stands, or the innermost thing around it that is there.
fn mark_of(mut node: &Node, path: &str) -> Mark {
    for step in path.split(['.', '[', ']']).filter(|s| !s.is_empty()) {
        let next = match &node.kind {
            Kind::Seq(items) => step.parse().ok().and_then(|i: usize| items.get(i)),
            Kind::Map(_) => node.get(step),
            Kind::Scalar { .. } => None,
        };
        let Some(next) = next else { break };
        node = next;
    }
    node.mark
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
ports:
  - {name: p1, location: \"ring:x.a\"}
  - {name: p2, location: \"ring:x.b\"}
flows:
  - name: f
    tx_rx: {port: {tx_name: p1, rx_names: [p2]}}
    packet: [{ethernet: {}}]
";

    #[test]
    fn ports_can_be_put_elsewhere() {
        let at = [("p2".to_owned(), "iface:eth7?pfc=3".to_owned())];
        let (test, _) = parse_placed("some.yaml", FILE, &at).unwrap();
        assert_eq!(test.plan.ports[1].location.text, "iface:eth7?pfc=3");
        let error = parse_placed("x", FILE, &[("p3".into(), "y".into())]).unwrap_err().to_string();
        assert!(error.contains("no port `p3`") && error.contains("p1, p2"), "{error}");
        let bad = FILE.replace("tx_name: p1", "tx_name: p9");
        let error = parse_placed("f.yaml", &bad, &at).unwrap_err().to_string();
        assert!(error.starts_with("f.yaml:6:") && error.contains("p9"), "{error}");
    }

    #[test]
    fn a_generator_file_is_told_from_others() {
        assert!(is_test(FILE) && is_test("layer1: []"));
        assert!(!is_test("ports: [{name: a, device: net_null0}]") && !is_test("") && !is_test("{"));
    }
}
