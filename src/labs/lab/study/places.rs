//! Places of a lab file's tree that a study and its command set, so that no value is written over by
//! another one and stands in a table all the same.
//!
//! A path may have several names: an entry of a list has its `name` and its index, and `*` stands for all
//! of them. So what is compared is the places to which paths lead in the tree of a run, not their text.

use std::collections::HashMap;

use config::Finding;

use super::axis::Axis;

/// A place of a tree: the keys and indices that lead to it.
pub(crate) type Place = Vec<Step>;

/// A key of a mapping, or the index of an entry of a list.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Step {
    Key(String),
    Index(usize),
}

/// A place to which a value was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Written {
    pub(super) place: Place,
    /// True if the tree had no value there.
    pub(super) is_new: bool,
}

/// The part of a study that sets a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setter {
    /// An option of the command.
    Command,
    Sweep,
    Search,
}

/// All places that were set so far, in the tree of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) struct Places {
    all: HashMap<Place, Owner>,
}

/// The setter of a place, or of one below it.
#[derive(Clone, PartialEq, Debug)]
struct Owner {
    setter: Setter,
    path: String,
    /// False if only places below this one are set.
    is_whole: bool,
}

impl Places {
    /// Adds a field of the lab that an option of the command sets.
    ///
    /// # Errors
    /// It is set already.
    pub(super) fn claim_field(&mut self, field: &str) -> Result<(), Finding> {
        let written = Written { place: vec![Step::Key(field.into())], is_new: false };
        self.claim(&[written], Setter::Command, field)
            .map_err(|what| Finding::new(None, &format!("--{field}"), &what))
    }

    /// Adds the places to which an axis was written.
    ///
    /// # Errors
    /// Another setter has written one of them, or a value within it.
    pub(crate) fn claim_axis(
        &mut self,
        axis: &Axis,
        written: &[Written],
        setter: Setter,
    ) -> Result<(), Finding> {
        self.claim(written, setter, axis.key()).map_err(|mut what| {
            if setter == Setter::Sweep && axis.mark().is_none() {
                // Axes of a command are no part of a file.
                what = what.replacen("another part of the sweep", "another axis", 1);
            }
            let within = match (setter, axis.mark()) {
                (Setter::Sweep, Some(_)) => "sweep.",
                (Setter::Search, Some(_)) => "search.",
                _ => "",
            };
            Finding::new(axis.mark(), &format!("{within}{}", axis.key()), &what)
        })
    }

    fn claim(&mut self, written: &[Written], setter: Setter, path: &str) -> Result<(), String> {
        let taken = written.iter().find_map(|written| self.owner(written));
        if let Some(owner) = taken {
            let part = match (owner.setter, setter) {
                (Setter::Command, _) => "the command",
                (Setter::Sweep, Setter::Sweep) => "another part of the sweep",
                (Setter::Sweep, _) => "the sweep",
                (Setter::Search, _) => "the search",
            };
            let (what, own) = ("sets the same field", &owner.path);
            return Err(format!("{part} {what} by `{own}`; leave out one of them"));
        }
        for Written { place, .. } in written {
            for len in 1..=place.len() {
                let is_whole = len == place.len();
                let owner = Owner { setter, path: path.to_owned(), is_whole };
                let known = self.all.entry(place[..len].to_vec());
                known.and_modify(|known| known.is_whole |= is_whole).or_insert(owner);
            }
        }
        Ok(())
    }

    /// Returns the setter of a value that this one replaces: of the same place, of a place below it, or of
    /// one above it that had a value here.
    fn owner(&self, written: &Written) -> Option<&Owner> {
        let Written { place, is_new } = written;
        let above = (1..place.len()).filter_map(|len| self.all.get(&place[..len]));
        let above = above.filter(|owner| owner.is_whole && !is_new);
        self.all.get(place).into_iter().chain(above).next()
    }
}
