//! The program that makes results: its version, as kept results have it.

use std::sync::OnceLock;

static VERSION: OnceLock<&str> = OnceLock::new();

/// Sets the version of the program, with the commit of its sources. The first call counts.
pub fn set_version(version: &'static str) {
    VERSION.get_or_init(|| version);
}

/// Returns the version of the program; in a program that has not set it, that of the crates.
#[must_use]
pub fn version() -> &'static str {
    VERSION.get().copied().unwrap_or(env!("CARGO_PKG_VERSION"))
}
