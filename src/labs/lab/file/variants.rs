//! Lab files with variants and a sweep: one lab that is run several times with different fields.
//!
//! A variant is a part of a lab. Its YAML tree is merged over the rest of the file, mappings key by
//! key and all other values as a whole, before anything is resolved. So a variant can change any
//! field, and every error has the line of the value that caused it. A sweep is taken out as well:
//! [`Study`](crate::study::Study) has its points.

use std::path::Path;

use super::{EMPTY, Resolved, Warning, examine_tree, raw};
use crate::LabPlan;
use crate::file;
use crate::study::{self, Axis, Places, Search, Setter, Sweep, digest, is_name};
use config::tree::{Key, Kind, Node};
use config::{self, ConfigError, Finding, unknown_name};

/// Name of the field with the variants.
const FIELD: &str = "variants";

/// Most variants of a file. A choice: more rows than a readable table has.
const VARIANTS_MAX: usize = 64;

/// A parsed lab file that is not resolved yet.
#[derive(Clone, Debug)]
pub struct LabFile {
    name: String,
    /// The file without its variants and its sweep.
    rest: Node,
    /// Variants in the order of the file.
    variants: Vec<(Key, Node)>,
    sweep: Option<Sweep>,
    search: Option<Search>,
    /// Fields of a command, with one value each: written after the variant, before the sweep.
    fields: Vec<Axis>,
    digest: String,
}

impl LabFile {
    /// Reads a lab file.
    ///
    /// # Errors
    /// The file could not be read, is not YAML, or has an invalid `variants` or `sweep`.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let (name, text) = config::read_text(path, "lab file")?;
        Self::parse(&name, &text)
    }

    /// Parses the text of a lab file; `name` is the file name in errors.
    ///
    /// # Errors
    /// The text is not YAML, or has an invalid `variants` or `sweep`.
    pub fn parse(name: &str, text: &str) -> Result<Self, ConfigError> {
        let one = |finding| ConfigError::one(name, finding);
        let mut rest = config::tree::read(text, EMPTY).map_err(one)?;
        // The text as it is, comments included: to run again without need is better than to keep a wrong row.
        let digest = digest(&format!("{text:?}{:?}", file::digests(&rest, name)));
        let variants = take_variants(&mut rest).map_err(one)?;
        let sweep = take(&mut rest, study::FIELD).map(|(key, node)| Sweep::read(&key, &node));
        let sweep = sweep.transpose().map_err(one)?;
        let search =
            take(&mut rest, study::SEARCH_FIELD).map(|(key, node)| Search::read(&key, &node));
        let search = search.transpose().map_err(one)?;
        Ok(Self {
            name: name.to_owned(),
            rest,
            variants,
            sweep,
            search,
            fields: Vec::new(),
            digest,
        })
    }

    /// Returns the file name for errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the variants, in the order of the file.
    pub fn variants(&self) -> impl ExactSizeIterator<Item = &str> {
        self.variants.iter().map(|(key, _)| &*key.name)
    }

    /// Returns the sweep, if the file has one.
    pub const fn sweep(&self) -> Option<&Sweep> {
        self.sweep.as_ref()
    }

    /// Returns the search, if the file has one.
    pub const fn search(&self) -> Option<&Search> {
        self.search.as_ref()
    }

    /// Returns the digest of the file's text, and of all files that it or a field of a command names.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the file that a variant, or none, makes of this one; it has no variants and no sweep.
    ///
    /// # Errors
    /// There is no such variant.
    fn only(&self, variant: Option<&str>) -> Result<Self, ConfigError> {
        let (rest, _) = self.merged(variant)?;
        let (name, digest) = (self.name.clone(), self.digest.clone());
        Ok(Self {
            name,
            rest,
            variants: Vec::new(),
            sweep: None,
            search: None,
            fields: Vec::new(),
            digest,
        })
    }

    /// Returns the file that a variant, or none, makes of this one, for a study with other axes than those of a file.
    ///
    /// # Errors
    /// There is no such variant, or the file has a sweep or a search, which would be left out.
    pub fn without_study(&self, variant: Option<&str>) -> Result<Self, ConfigError> {
        for (field, is_there) in
            [(study::FIELD, self.sweep.is_some()), (study::SEARCH_FIELD, self.search.is_some())]
        {
            if is_there {
                let what = "the axes of this command are the only ones; take it out, or give its fields here";
                return Err(ConfigError::one(&self.name, Finding::new(None, field, what)));
            }
        }
        self.only(variant)
    }

    /// Returns the file with a sweep over these axes, instead of its own.
    #[must_use]
    pub fn with_axes(self, axes: &[Axis]) -> Self {
        Self { sweep: Some(Sweep::product(axes)), ..self }
    }

    /// Returns the file with the sweep of a text, such as `{seed: 1..10}`, instead of its own.
    ///
    /// # Errors
    /// The text is no sweep.
    pub fn with_sweep(self, text: &str) -> Result<Self, ConfigError> {
        let sweep = Sweep::parse(text).map_err(|finding| ConfigError::one(&self.name, finding))?;
        let digest = digest(&format!("{} {text}{:?}", self.digest, self.named(text)));
        Ok(Self { sweep: Some(sweep), digest, ..self })
    }

    /// Returns the file with values at these paths, which are YAML, in all of its variants.
    ///
    /// # Errors
    /// A path or a value is invalid; a path that the file does not have is an error of [`Self::plan`].
    pub fn with_fields(mut self, fields: &[(String, String)]) -> Result<Self, ConfigError> {
        for (path, value) in fields {
            let axis = Axis::new(path, std::slice::from_ref(value));
            self.fields.push(axis.map_err(|what| self.wrong(&what))?);
        }
        if !fields.is_empty() {
            let named: Vec<_> = fields.iter().map(|(_, value)| self.named(value)).collect();
            self.digest = digest(&format!("{} {fields:?}{named:?}", self.digest));
        }
        Ok(self)
    }

    /// Returns the digests of files that a text of a command names.
    fn named(&self, text: &str) -> Vec<(String, String)> {
        let tree = config::tree::read(text, EMPTY);
        tree.map_or_else(|_| Vec::new(), |tree| file::digests(&tree, &self.name))
    }

    /// Returns an error without a place in the file.
    fn wrong(&self, what: &str) -> ConfigError {
        ConfigError::one(&self.name, Finding::new(None, "", what))
    }

    /// Returns the tree of a variant, or of the rest of the file, with the fields of a command, and the
    /// places that these set.
    pub(crate) fn merged(&self, variant: Option<&str>) -> Result<(Node, Places), ConfigError> {
        let (mut root, mut places) = (self.of_variant(variant)?, Places::default());
        for axis in &self.fields {
            let written = axis.write(&mut root, 0).map_err(|what| self.wrong(&what))?;
            let claimed = places.claim_axis(axis, &written, Setter::Command);
            claimed.map_err(|finding| ConfigError::one(&self.name, finding))?;
        }
        Ok((root, places))
    }

    fn of_variant(&self, variant: Option<&str>) -> Result<Node, ConfigError> {
        let Some(wanted) = variant else { return Ok(self.rest.clone()) };
        let Some((_, said)) = self.variants.iter().find(|(key, _)| key.name == wanted) else {
            let known: Vec<&str> = self.variants().collect();
            let what = match known.is_empty() {
                true => format!("there is no variant `{wanted}`; the file has no `variants`"),
                false => unknown_name("variant", wanted, &known),
            };
            return Err(self.wrong(&what));
        };
        // An empty variant is the rest of the file.
        let mut whole = if said.is_null() { self.rest.clone() } else { said.clone() };
        // The variant inherits, so its own values and their places win.
        whole.inherit(&self.rest);
        Ok(whole)
    }

    /// Resolves the file with a variant, or without one, after `change` has changed fields, for
    /// instance by arguments of a command.
    ///
    /// # Errors
    /// All errors of the result, or that there is no such variant.
    pub fn resolve(
        &self,
        variant: Option<&str>,
        change: impl FnOnce(&mut raw::Lab),
    ) -> Result<(Resolved, Vec<Warning>), ConfigError> {
        let (whole, _) = self.merged(variant)?;
        let (mut resolved, warnings) = examine_tree(&self.name, &whole, change)?;
        resolved.plan.variant = variant.map(Into::into);
        Ok((resolved, warnings))
    }

    /// Does the same as [`Self::resolve`], and returns only the plan.
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

/// Removes a field from a file and returns it.
fn take(root: &mut Node, field: &str) -> Option<(Key, Node)> {
    let Kind::Map(entries) = &mut root.kind else { return None };
    let place = entries.iter().position(|(key, _)| key.name == *field)?;
    Some(entries.remove(place))
}

/// Removes the variants from a file and returns them.
fn take_variants(root: &mut Node) -> Result<Vec<(Key, Node)>, Finding> {
    let Some((key, node)) = take(root, FIELD) else { return Ok(Vec::new()) };
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
        if !is_name(&key.name) {
            let what = "a name is letters, digits, `_`, `-`, `+` and `.`";
            return Err(at(key.mark, path, what.into()));
        }
        if !said.is_null() && !matches!(said.kind, Kind::Map(_)) {
            let what = "needs the part of a lab that differs, such as `{duration: 1ms}`, or `{}`";
            return Err(at(said.mark, path, what.into()));
        }
        // Variants of variants have no names, and the name of the lab is what its variants share.
        for field in [FIELD, study::FIELD, study::SEARCH_FIELD, "name"] {
            if let Some(inner) = said.get(field) {
                let what = "a variant cannot have one; take it out";
                return Err(at(inner.mark, format!("{path}.{field}"), what.into()));
            }
        }
    }
    Ok(variants)
}
