//! Golden files: what a program prints is compared with a file of the repository.
//!
//! `SLUICE_BLESS=1` writes what is printed now into the file, to be reviewed and committed.

/// Folder that paths are relative to.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// Checks that the file at `path`, relative to the root of the workspace, has this text.
///
/// # Panics
/// It has another one; the message says how it is written anew.
pub fn hold(path: &str, text: &str) {
    let full = format!("{ROOT}/{path}");
    if std::env::var_os("SLUICE_BLESS").is_some() {
        std::fs::write(full, text).unwrap();
        return;
    }
    let found = std::fs::read_to_string(full).unwrap_or_default();
    assert!(found == text, "{path} is out of date: this test writes it with SLUICE_BLESS=1 set");
}
