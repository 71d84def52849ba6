//! Generator files: an Open Traffic Generator configuration in YAML or JSON, resolved to a test.
//! Errors name file, line, column, field and remedy.

use std::path::Path;

use super::resolve;
use crate::plan::{Location, Place, TestPlan};
use crate::replay::{self, Replay};
use config::tree::{Kind, Node};
use config::{self, ConfigError, Finding, Mark, Warning, names};
use ground::units::BitsPerSec;
use otg::model::Config;

/// The error text for an empty file.
const EMPTY: &str = "the file is empty; the shortest test is two ports and a flow: \
                     `ports: [{name: a, location: \"ring:r.a\"}, {name: b, location: \"ring:r.b\"}]` and \
                     `flows: [{name: f, tx_rx: {port: {tx_name: a, rx_names: [b]}}}]`";

/// A generator file, parsed and resolved.
#[derive(Clone, PartialEq, Debug)]
pub struct TestFile {
    /// The configuration as it is written.
    pub config: Config,
    /// The replays, which are an extension of this program.
    pub replays: Vec<Replay>,
    /// The test plan of both.
    pub plan: TestPlan,
}

/// Reads a generator file; `link` returns the link rate of a location if it is known.
///
/// # Errors
/// All errors of the file, or the reason for which it could not be read.
pub fn load(
    path: &Path,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    let (name, text) = config::read_text(path, "generator file")?;
    parse(&name, &text, link)
}

/// Reads a generator file with other locations for some ports, given as pairs of port name and
/// location.
///
/// # Errors
/// All errors of the file with these locations, or the reason for which it could not be read.
pub fn load_placed(
    path: &Path,
    places: &[(String, String)],
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    let (name, text) = config::read_text(path, "generator file")?;
    parse_placed(&name, &text, places)
}

/// The same for a text; `name` stands for the file in error texts.
///
/// # Errors
/// All errors of the text with these locations.
pub fn parse_placed(
    name: &str,
    text: &str,
    places: &[(String, String)],
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    read(name, text, places, &|_| None)
}

/// Replaces the location of a port.
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

/// Returns true for the text of a generator file, which has top-level keys that no other file
/// has.
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

/// Parses the text of a generator file; `name` stands for the file in error texts.
///
/// # Errors
/// All errors of the text.
pub fn parse(
    name: &str,
    text: &str,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    read(name, text, &[], link)
}

/// Parses a whole file: the configuration and the extensions of this program.
fn read(
    name: &str,
    text: &str,
    places: &[(String, String)],
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), ConfigError> {
    let one = |finding: Finding| ConfigError::one(name, finding);
    let mut root = config::tree::read(text, EMPTY).map_err(one)?;
    // Replays are taken out of the tree, and errors about them need their places.
    let whole = root.clone();
    let folder = Path::new(name).parent().unwrap_or(Path::new(""));
    let replays = replay::take(&mut root, folder).map_err(one)?;
    let all = |mut findings: Vec<Finding>| {
        findings.iter_mut().for_each(|f| f.mark = f.mark.or(Some(mark_of(&whole, &f.path))));
        ConfigError { file: name.to_owned(), findings }
    };
    let mut config = Config::read(&root).map_err(all)?;
    for (port, place) in places {
        place_port(&mut config, port, place).map_err(one)?;
    }
    let (mut file, warnings) = test_of(&root, config, link).map_err(all)?;
    replay::add(&mut file.plan, &replays).map_err(all)?;
    file.replays = replays;
    Ok((file, warnings))
}

/// Resolves the configuration of a file to a test.
fn test_of(
    node: &Node,
    config: Config,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), Vec<Finding>> {
    let (mut plan, mut warnings) = resolve::find(&config, link);
    // Of the files alone: clients must not learn by an error which files there are.
    if let Ok(test) = &plan {
        let (found, errors) = captures(test);
        warnings.extend(found);
        plan = if errors.is_empty() { plan } else { Err(errors) };
    }
    // The resolver knows the paths of fields, and the tree their lines.
    let placed = |mut found: Vec<Finding>| {
        for finding in &mut found {
            finding.mark = Some(mark_of(node, &finding.path));
        }
        // In the order of the file, as a reader goes through it.
        found.sort_by_key(|f| f.mark);
        found
    };
    match plan {
        Ok(plan) => Ok((TestFile { config, replays: Vec::new(), plan }, placed(warnings))),
        Err(errors) => Err(placed(errors)),
    }
}

/// Returns the warnings and errors about the captures that ports receive from.
fn captures(test: &TestPlan) -> (Vec<Finding>, Vec<Finding>) {
    let (mut warnings, mut errors) = (Vec::new(), Vec::new());
    for (n, port) in test.ports.iter().enumerate() {
        let Place::Device(device) = &port.location.place else { continue };
        let finding = |what: &str| Finding::new(None, &format!("ports[{n}].location"), what);
        match config::check_captures(device) {
            Ok(found) => warnings.extend(found.iter().map(|what| finding(what))),
            Err(what) => errors.push(finding(&what)),
        }
    }
    (warnings, errors)
}

/// Returns the position of the field at `path`, or of the innermost enclosing node that exists.
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
    fn a_capture_that_a_port_receives_from_is_checked_by_its_field() {
        let at = [("p2".to_owned(), "net_pcap0,rx_pcap=/nonexistent/x".to_owned())];
        let error = parse_placed("f.yaml", FILE, &at).unwrap_err().to_string();
        assert!(error.starts_with("f.yaml:3:"), "{error}");
        assert!(error.contains("ports[1].location: rx_pcap=/nonexistent/x"), "{error}");
    }

    #[test]
    fn a_generator_file_is_told_from_others() {
        assert!(is_test(FILE) && is_test("layer1: []"));
        assert!(!is_test("ports: [{name: a, device: net_null0}]") && !is_test("") && !is_test("{"));
    }
}
