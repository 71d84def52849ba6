//! Configuration files of every kind: the YAML (or JSON) tree with the place of each field,
//! quantities with units, findings with line and remedy, keys, and sums of memory.
//!
//! The YAML reader is a tree built on `granit-parser`, the parser inside serde-saphyr, which itself
//! needs a newer compiler than Debian 13 has.

pub mod de;
mod error;
mod forms;
mod key_file;
pub mod memory;
pub mod quantity;
mod quantity_text;
mod schema;
pub mod tree;
mod written;

#[cfg(any(test, feature = "rig"))]
pub mod testexamples;
#[cfg(any(test, feature = "rig"))]
pub mod testfields;
#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;
#[cfg(any(test, feature = "rig"))]
pub mod testgolden;
#[cfg(any(test, feature = "rig"))]
pub mod testquoted;
#[cfg(any(test, feature = "rig"))]
pub mod testrefusals;

pub use error::{ConfigError, Finding, Mark, Warning, names, nearest, unknown_name};
pub use key_file::{
    keep_out_of_core_dumps, key_of, octets_of as hex_octets, read_from as read_key_from, read_key,
};
pub use schema::{schema_of, sparse, without_nulls};

use std::io::Read;
use std::path::Path;

use ground::printable;
use zeroize::Zeroizing;

/// Largest file that is read, in bytes; a switch file that writes out every field of every port has
/// less than a hundredth of it.
const FILE_MAX: u64 = 16 << 20;

/// Bytes to reserve beyond the end of a file, so that detecting the end does not reallocate.
const PROBE: u64 = 64;

/// Reads a file and returns its name and text; `kind` names it in errors (`switch file`).
///
/// # Errors
/// The file could not be read.
pub fn read_text(path: &Path, kind: &str) -> Result<(String, Zeroizing<String>), ConfigError> {
    let name = path.display().to_string();
    let unreadable =
        |what: String| ConfigError::one(&printable::excerpt(&name), Finding::new(None, "", &what));
    let file = std::fs::File::open(path)
        .map_err(|e| unreadable(format!("cannot be opened: {e}; check the name and its rights")))?;
    // The text may contain keys: reserving the whole size avoids copies that would not be wiped.
    let regular = file.metadata().ok().filter(std::fs::Metadata::is_file);
    let len = regular.map_or(FILE_MAX, |of| of.len().min(FILE_MAX)) + PROBE;
    let mut text = Zeroizing::new(String::with_capacity(len as usize));
    file.take(FILE_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|e| unreadable(format!("cannot be read: {e}; a {kind} is UTF-8 text")))?;
    // One byte more than the maximum was allowed above, to tell the two cases apart.
    if text.len() as u64 > FILE_MAX {
        return Err(unreadable(format!("is longer than {FILE_MAX} bytes, so no {kind}")));
    }
    Ok((name, text))
}
