//! Lab files: from text to plan. All errors of a file are reported at once, each with file, line,
//! column, field and remedy.

mod inputs;
#[cfg(test)]
mod tests;
mod variants;

use std::path::Path;

use super::resolve::{self, NAMELESS, Resolved};
use super::{LabPlan, raw};
use config::tree::Node;
use config::{self, ConfigError, Finding, Place, Warning};

#[cfg(test)]
pub(crate) use tests::DEFECT_SPELLINGS;
pub use variants::LabFile;

/// Error text for an empty lab file.
const EMPTY: &str = "the file is empty; the shortest lab is a topology and a flow: \
                     `topology: {star: {hosts: 3}}` and `flows: [{to: h3, priority: 3}]`";

/// Error text for an empty generator file.
const EMPTY_GENERATOR: &str = "the file is empty; the least is `ports` and `flows` in OTG's words";

/// Reads a lab file, without any of its variants ([`LabFile`] reads those).
///
/// # Errors
/// All errors of the file, or that it could not be read.
pub fn load(path: &Path) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
    let (name, text) = config::read_text(path, "lab file")?;
    parse(&name, &text)
}

/// Reads a lab file after fields are changed, for instance by arguments of a command.
///
/// # Errors
/// All errors of the changed file, or that it could not be read.
pub fn load_changed(
    path: &Path,
    change: impl FnOnce(&mut raw::Lab),
) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
    let (name, text) = config::read_text(path, "lab file")?;
    examine_changed(&name, &text, change).map(|(resolved, warnings)| (resolved.plan, warnings))
}

/// Parses the text of a lab file; `name` is the file name in errors.
///
/// # Errors
/// All errors of the text.
pub fn parse(name: &str, text: &str) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
    examine(name, text).map(|(resolved, warnings)| (resolved.plan, warnings))
}

/// Does the same as [`parse`], and returns the headroom too.
///
/// # Errors
/// All errors of the text.
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

pub(super) fn examine_tree(
    name: &str,
    root: &Node,
    change: impl FnOnce(&mut raw::Lab),
) -> Result<(Resolved, Vec<Warning>), ConfigError> {
    let one = |finding| ConfigError::one(name, finding);
    let all = |findings| ConfigError { file: name.to_owned(), findings };
    let mut lab = raw::read_all(root).map_err(all)?;
    change(&mut lab);
    take_in(&mut lab, &Place::root(root), Path::new(name).parent()).map_err(one)?;
    resolve::resolve(&lab, &Place::root(root), name).map_err(all)
}

/// Reads the raw model of a tree, with the generator file that it names.
pub(super) fn raw_lab(name: &str, root: &Node) -> Result<raw::Lab, ConfigError> {
    let mut lab = raw::read(root).map_err(|f| ConfigError::one(name, f))?;
    take_in(&mut lab, &Place::root(root), Path::new(name).parent())
        .map_err(|f| ConfigError::one(name, f))?;
    Ok(lab)
}

/// Includes the generator file that a lab names; a relative path starts at `folder`.
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

/// Resolves a lab that was not read from a file.
///
/// # Errors
/// All errors of the lab.
pub fn resolve_raw(lab: &raw::Lab) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
    let mut lab = lab.clone();
    take_in(&mut lab, &Place::nowhere(), None).map_err(|f| ConfigError::one(NAMELESS, f))?;
    match resolve::resolve(&lab, &Place::nowhere(), NAMELESS) {
        Ok((resolved, warnings)) => Ok((resolved.plan, warnings)),
        Err(findings) => Err(ConfigError { file: NAMELESS.to_owned(), findings }),
    }
}

/// True if a text is a lab file rather than a switch file, judged by its top-level fields. False if
/// it is neither.
#[must_use]
pub fn is_lab(text: &str) -> bool {
    const FIELDS: [&str; 12] = [
        "topology", "nodes", "links", "flows", "otg", "profiles", "faults", "checks", "routes",
        "variants", "sweep", "search",
    ];
    let root = config::tree::read(text, EMPTY);
    root.is_ok_and(|root| {
        FIELDS.iter().any(|f| root.get(f).is_some()) && root.get("ports").is_none()
    })
}
