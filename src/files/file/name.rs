//! Names of keys in the YAML tree.

use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;

/// Text of a key. All comparisons use one function, so that tests can count them.
#[derive(Clone, Debug)]
pub struct Name(String);

#[cfg(test)]
thread_local! {
    static COMPARED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

impl Name {
    fn is(&self, other: &str) -> bool {
        #[cfg(test)]
        COMPARED.with(|n| n.set(n.get() + 1));
        self.0 == other
    }

    /// Number of name comparisons in this thread.
    #[cfg(test)]
    pub(super) fn compared() -> usize {
        COMPARED.with(core::cell::Cell::get)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl PartialEq for Name {
    fn eq(&self, other: &Self) -> bool {
        self.is(&other.0)
    }
}

impl Eq for Name {}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.is(other)
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.is(other)
    }
}

// Equal names have equal hashes, as `Hash` requires.
impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}
