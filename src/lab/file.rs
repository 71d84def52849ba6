//! Lab files: text to plan. Everything that is wrong with a file is said at once, each thing with
//! file, line, column, field and remedy.

#[cfg(test)]
mod tests;
mod variants;

use std::path::Path;

use super::resolve::{self, NAMELESS, Resolved};
use super::{LabPlan, raw};
use crate::config::tree::Node;
use crate::config::{self, ConfigError, Finding, Place, Warning};

pub use variants::LabFile;

/// What is said about a file without anything in it.
const EMPTY: &str = "the file is empty; the shortest lab is a topology and a flow: \
                     `topology: {star: {hosts: 3}}` and `flows: [{to: h3, priority: 3}]`";

/// The same about a generator file.
const EMPTY_GENERATOR: &str = "the file is empty; the least is `ports` and `flows` in OTG's words";

/// Reads a lab file, without any of its variants ([`LabFile`] knows those).
///
/// # Errors
/// Everything that is wrong with it, or that it could not be read.
pub fn load(path: &Path) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
    let (name, text) = config::read_text(path, "lab file")?;
    parse(&name, &text)
}

/// Reads a lab file in which some fields are to say something else, as arguments of a command do.
///
/// # Errors
/// Everything that is wrong with it then, or that it could not be read.
pub fn load_changed(
    path: &Path,
    change: impl FnOnce(&mut raw::Lab),
) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
    let (name, text) = config::read_text(path, "lab file")?;
    examine_changed(&name, &text, change).map(|(resolved, warnings)| (resolved.plan, warnings))
}

/// Reads the text of a lab file; `name` is what errors call it.
///
/// # Errors
/// Everything that is wrong with it.
pub fn parse(name: &str, text: &str) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
    examine(name, text).map(|(resolved, warnings)| (resolved.plan, warnings))
}

/// The same as [`parse`], with what else is known of the lab.
///
/// # Errors
/// Everything that is wrong with it.
pub fn examine(name: &str, text: &str) -> Result<(Resolved, Vec<Warning>), ConfigError> {
    examine_changed(name, text, |_| {})
}

fn examine_changed(
    name: &str,
    text: &str,
    change: impl FnOnce(&mut raw::Lab),
) -> Result<(Resolved, Vec<Warning>), ConfigError> {
    let root = config::tree::read(text, EMPTY).map_err(|f| ConfigError::one(name, f))?;
    examine_tree(name, &root, change)
}

fn examine_tree(
    name: &str,
    root: &Node,
    change: impl FnOnce(&mut raw::Lab),
) -> Result<(Resolved, Vec<Warning>), ConfigError> {
    let one = |finding| ConfigError::one(name, finding);
    let all = |findings| ConfigError { file: name.to_owned(), findings };
    let mut lab: raw::Lab = config::de::from_tree_all(root).map_err(all)?;
    change(&mut lab);
    take_in(&mut lab, &Place::root(root), Path::new(name).parent()).map_err(one)?;
    resolve::resolve(&lab, &Place::root(root), name).map_err(all)
}

/// Takes the generator file that a lab names into the lab, from `folder` if its name is not from the
/// root.
fn take_in(lab: &mut raw::Lab, at: &Place<'_>, folder: Option<&Path>) -> Result<(), Finding> {
    let Some(otg) = &mut lab.otg else { return Ok(()) };
    let Some(file) = otg.file.take() else { return Ok(()) };
    let at = at.key("otg").key("file");
    if otg.config.is_some() {
        return Err(at.finding("`config` is there too; leave out one of them"));
    }
    let path = folder.map_or_else(|| file.clone(), |folder| folder.join(&file));
    let read = config::read_text(&path, "generator file").and_then(|(name, text)| {
        let one = |finding| ConfigError::one(&name, finding);
        let root = config::tree::read(&text, EMPTY_GENERATOR).map_err(one)?;
        config::de::from_tree(&root).map_err(one)
    });
    otg.config = Some(read.map_err(|error| at.finding(error.to_string()))?);
    Ok(())
}

/// Makes the plan of a lab that was never in a file.
///
/// # Errors
/// Everything that is wrong with it.
pub fn resolve_raw(lab: &raw::Lab) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
    let mut lab = lab.clone();
    take_in(&mut lab, &Place::nowhere(), None).map_err(|f| ConfigError::one(NAMELESS, f))?;
    match resolve::resolve(&lab, &Place::nowhere(), NAMELESS) {
        Ok((resolved, warnings)) => Ok((resolved.plan, warnings)),
        Err(findings) => Err(ConfigError { file: NAMELESS.to_owned(), findings }),
    }
}

/// Whether a text is that of a lab rather than of a switch: by the fields at its top. A text that
/// is neither is taken for no lab.
#[must_use]
pub fn is_lab(text: &str) -> bool {
    const FIELDS: [&str; 10] = [
        "topology", "nodes", "links", "flows", "otg", "profiles", "faults", "checks", "routes",
        "variants",
    ];
    let root = config::tree::read(text, EMPTY);
    root.is_ok_and(|root| {
        FIELDS.iter().any(|f| root.get(f).is_some()) && root.get("ports").is_none()
    })
}
