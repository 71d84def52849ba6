//! Lab files with variants: one lab that is run several times, with something else each time.
//!
//! A variant is a part of a lab. It is laid over the rest of the file as a tree, mappings key by key
//! and everything else as a whole, before any of it is given a meaning. So whatever a file can say a
//! variant can change, and every error has the line of whoever said it.

use std::path::Path;

use super::{EMPTY, Resolved, Warning, examine_tree, raw};
use crate::config::tree::{Key, Kind, Node};
use crate::config::{self, ConfigError, Finding, unknown_name};
use crate::lab::LabPlan;

/// The field that has them.
const FIELD: &str = "variants";

/// The most variants of a file. A choice: more rows than a table that people compare has.
const VARIANTS_MAX: usize = 64;

/// A lab file that was read but has no meaning yet.
#[derive(Clone, Debug)]
pub struct LabFile {
    name: String,
    /// All but the variants.
    rest: Node,
    /// In the order of the file.
    variants: Vec<(Key, Node)>,
}

impl LabFile {
    /// Reads a lab file.
    ///
    /// # Errors
    /// That it could not be read, is not YAML, or has something else where its variants are to be.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let (name, text) = config::read_text(path, "lab file")?;
        Self::parse(&name, &text)
    }

    /// Reads the text of a lab file; `name` is what errors call it.
    ///
    /// # Errors
    /// That it is not YAML, or has something else where its variants are to be.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let one = |finding| ConfigError::one(name, finding);
        let mut rest = config::tree::read(text, EMPTY).map_err(one)?;
        let variants = take_variants(&mut rest).map_err(one)?;
        Ok(Self { name: name.to_owned(), rest, variants })
    }

    /// What errors call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The names of its variants, in the order of the file.
    pub fn variants(&self) -> impl ExactSizeIterator<Item = &str> {
        self.variants.iter().map(|(key, _)| &*key.name)
    }

    /// What the file comes to with a variant, or with none, where some fields are to say something
    /// else, as arguments of a command do.
    ///
    /// # Errors
    /// Everything that is wrong with it then, or that there is no such variant.
    pub fn resolve(
        &self,
        variant: Option<&str>,
        change: impl FnOnce(&mut raw::Lab),
    ) -> Result<(Resolved, Vec<Warning>), ConfigError> {
        let Some(wanted) = variant else { return examine_tree(&self.name, &self.rest, change) };
        let Some((_, said)) = self.variants.iter().find(|(key, _)| key.name == wanted) else {
            let known: Vec<&str> = self.variants().collect();
            let what = match known.is_empty() {
                true => format!("there is no variant `{wanted}`; the file has no `variants`"),
                false => unknown_name("variant", wanted, &known),
            };
            return Err(ConfigError::one(&self.name, Finding::new(None, "", &what)));
        };
        // A variant that says nothing is the rest of the file as it stands.
        let mut whole = if said.is_null() { self.rest.clone() } else { said.clone() };
        whole.inherit(&self.rest);
        let (mut resolved, warnings) = examine_tree(&self.name, &whole, change)?;
        resolved.plan.variant = Some(wanted.to_owned());
        Ok((resolved, warnings))
    }

    /// The same, the plan alone.
    ///
    /// # Errors
    /// As of [`Self::resolve`].
    pub fn plan(
        &self,
        variant: Option<&str>,
        change: impl FnOnce(&mut raw::Lab),
    ) -> Result<(LabPlan, Vec<Warning>), ConfigError> {
        self.resolve(variant, change).map(|(resolved, warnings)| (resolved.plan, warnings))
    }
}

/// Takes the variants out of a file.
fn take_variants(root: &mut Node) -> Result<Vec<(Key, Node)>, Finding> {
    let Kind::Map(entries) = &mut root.kind else { return Ok(Vec::new()) };
    let Some(place) = entries.iter().position(|(key, _)| key.name == FIELD) else {
        return Ok(Vec::new());
    };
    let (key, node) = entries.remove(place);
    let at = |mark, path: String, what: String| Finding::new(Some(mark), &path, &what);
    let variants = match node.kind {
        Kind::Map(variants) if !variants.is_empty() => variants,
        _ => {
            let what = "needs names of variants, each with the part of a lab that differs, such as \
                        `{short: {}, long: {duration: 1ms}}`";
            return Err(at(key.mark, FIELD.into(), what.into()));
        }
    };
    if variants.len() > VARIANTS_MAX {
        let what = format!("{} variants; {VARIANTS_MAX} is as many as a file has", variants.len());
        return Err(at(key.mark, FIELD.into(), what));
    }
    for (key, said) in &variants {
        let path = format!("{FIELD}.{}", key.name);
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-+.".contains(c);
        if key.name.is_empty() || !key.name.chars().all(plain) {
            let what = "a name is letters, digits, `_`, `-`, `+` and `.`";
            return Err(at(key.mark, path, what.into()));
        }
        if !said.is_null() && !matches!(said.kind, Kind::Map(_)) {
            let what = "needs the part of a lab that differs, such as `{duration: 1ms}`, or `{}`";
            return Err(at(said.mark, path, what.into()));
        }
        for field in [FIELD, "name"] {
            if let Some(inner) = said.get(field) {
                let what = "a variant has none of its own; take it out";
                return Err(at(inner.mark, format!("{path}.{field}"), what.into()));
            }
        }
    }
    Ok(variants)
}
