//! Generator files: an Open Traffic Generator configuration as YAML or JSON, to a test. Everything
//! that is wrong is said with file, line, column, field and remedy.

use std::path::Path;

use super::model::Config;
use super::resolve;
use crate::config::tree::{Kind, Node};
use crate::config::{self, ConfigError, Finding, Mark, Warning};
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

/// Reads the text of a generator file; `name` is what errors call it.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(
    name: &str,
    text: &str,
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
    let (mut file, warnings) = test_at("", &root, link).map_err(all)?;
    replay::add(&mut file.plan, &replays).map_err(all)?;
    file.replays = replays;
    Ok((file, warnings))
}

/// Makes a test of the configuration that is at `path` in a file: all of a generator file, or a
/// part of a lab file.
///
/// # Errors
/// Everything that is wrong with it, in the order of its lines.
pub(crate) fn test_at(
    path: &str,
    node: &Node,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestFile, Vec<Warning>), Vec<Finding>> {
    let config: Config = config::de::from_tree(node).map_err(|mut finding| {
        finding.path = joined(path, &finding.path);
        vec![finding]
    })?;
    let (plan, warnings) = resolve::find(&config, link);
    let placed = |mut found: Vec<Finding>| {
        for finding in &mut found {
            finding.mark = Some(mark_of(node, &finding.path));
            finding.path = joined(path, &finding.path);
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

fn joined(root: &str, path: &str) -> String {
    match (root, path) {
        ("", path) => path.to_owned(),
        (root, "") => root.to_owned(),
        (root, path) => format!("{root}.{path}"),
    }
}
