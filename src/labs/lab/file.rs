//! Lab files: from text to plan, and the files that they name.
//!
//! All errors of a file are reported at once, each with file, line, column, field and remedy. Files that a lab file
//! names are distributions of sizes, generator files and what they name, and keys: every value that is the name of a
//! file counts, whatever field it is in and whether a variant or a sweep has it, so no field that is added later can
//! be left out.

mod variants;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::resolve::{self, NAMELESS, Resolved};
use super::{LabPlan, raw};
use config::tree::{Kind, Node};
use config::{self, ConfigError, Finding, Place, Warning};
use xxhash_rust::xxh3::Xxh3Default;

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

/// Reads the raw model of a lab file that is one run, with the generator file that it names.
///
/// # Errors
/// All errors of the file, or that it could not be read, or has several runs.
pub fn load_raw(path: &Path) -> Result<raw::Lab, ConfigError> {
    let (name, text) = config::read_text(path, "lab file")?;
    let root = config::tree::read(&text, EMPTY).map_err(|f| ConfigError::one(&name, f))?;
    examine(&name, &text)?;
    for several in ["variants", "sweep", "search"] {
        let place = Place::root(&root).key(several);
        if root.get(several).is_some() {
            let what = "the file has several runs, and one is needed; take it out";
            return Err(ConfigError::one(&name, place.finding(what)));
        }
    }
    raw_lab(&name, &root)
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
    let root = config::tree::read(text, EMPTY).map_err(|f| ConfigError::one(name, f))?;
    examine_tree(name, &root, |_| {})
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
    // After `change`, which may replace the generator; the resolution reads no generator file.
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
    // Taken out: from here on the lab has the configuration itself, and can be written as one file.
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
pub fn is_lab(text: &str) -> bool {
    const FIELDS: [&str; 12] = [
        "topology", "nodes", "links", "flows", "otg", "profiles", "faults", "checks", "routes",
        "variants", "sweep", "search",
    ];
    let root = config::tree::read(text, EMPTY);
    root.is_ok_and(|root| {
        // A switch file always has `ports`, and may share other fields with labs.
        FIELDS.iter().any(|f| root.get(f).is_some()) && root.get("ports").is_none()
    })
}

/// Longest text that may be the name of a file.
const NAME_MAX: usize = 4_096;

/// Largest file whose own values may be names of files: as of the longest file that is read.
const TEXT_MAX: u64 = 16 << 20;

/// Returns the names and digests of all files that a tree names, those that they name included. Relative
/// names start at the folder of the lab file `name`.
pub(super) fn digests(root: &Node, name: &str) -> Vec<(String, String)> {
    let folder = Path::new(name).parent().map(Path::to_owned).unwrap_or_default();
    let mut found = BTreeMap::new();
    collect(root, &[folder], &mut found);
    found.into_iter().map(|(path, digest)| (path.display().to_string(), digest)).collect()
}

fn collect(node: &Node, folders: &[PathBuf], found: &mut BTreeMap<PathBuf, String>) {
    match &node.kind {
        Kind::Scalar { text, .. } if !text.is_empty() && text.len() <= NAME_MAX => {
            // A name may be relative to the lab or to the file that has it; whichever exists counts.
            for folder in folders {
                add(folder.join(&**text), folders, found);
            }
        }
        Kind::Scalar { .. } => {}
        Kind::Seq(items) => items.iter().for_each(|item| collect(item, folders, found)),
        Kind::Map(entries) => {
            entries.iter().for_each(|(_, value)| collect(value, folders, found));
        }
    }
}

/// Adds a file, and those that it names itself, which start at its folder or at the lab's.
fn add(path: PathBuf, folders: &[PathBuf], found: &mut BTreeMap<PathBuf, String>) {
    let Ok(meta) = path.metadata() else { return };
    // Found before: files may name each other in a circle.
    if !meta.is_file() || found.contains_key(&path) {
        return;
    }
    // A file that cannot be read is an error where its field is resolved.
    let Ok(digest) = digest(&path) else { return };
    found.insert(path.clone(), digest);
    let is_tree =
        path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
    if is_tree && meta.len() <= TEXT_MAX {
        let tree = config::read_text(&path, "file").and_then(|(name, text)| {
            config::tree::read(&text, "").map_err(|f| config::ConfigError::one(&name, f))
        });
        let own = path.parent().map(Path::to_owned).unwrap_or_default();
        let folders = [&[own], folders].concat();
        if let Ok(tree) = tree {
            collect(&tree, &folders, found);
        }
    }
}

fn digest(path: &Path) -> io::Result<String> {
    let (mut file, mut hasher) = (File::open(path)?, Xxh3Default::new());
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part)? {
            // Read in parts: a capture to replay may be larger than the memory.
            0 => return Ok(format!("{:016x}", hasher.digest())),
            len => hasher.update(&part[..len]),
        }
    }
}

#[cfg(test)]
mod tests;
