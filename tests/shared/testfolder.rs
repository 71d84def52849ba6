//! A folder for the files of a test. Crates include this file in their tests.

#![allow(dead_code)] // a crate uses a part of it

use std::fs;
use std::path::{Path, PathBuf};

/// A folder that one test of one process has alone. It is removed with all in it, failed or not.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("sluice-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub(crate) fn at(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file.
    pub(crate) fn put(&self, name: &str, octets: &[u8]) -> PathBuf {
        let path = self.at(name);
        fs::write(&path, octets).unwrap();
        path
    }

    /// The names in it, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
