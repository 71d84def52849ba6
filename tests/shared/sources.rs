//! The project's Rust files, for the tests that check rules of the source.

use std::fs;
use std::path::Path;

/// One source file.
pub struct Source {
    /// Relative to the package, with `/` as separator: `src/wire/pfc.rs`.
    pub path: String,
    /// Text of the whole file.
    pub text: String,
}

/// Every `.rs` file under these folders of the package, in the order of their paths.
pub fn rust_files(folders: &[&str]) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    for folder in folders {
        collect(root, &root.join(folder), &mut files);
    }
    files.sort_by(|a: &Source, b| a.path.cmp(&b.path));
    files
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            // Excludes files that cargo generated.
            if !path.ends_with("target") {
                collect(root, &path, files);
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            let relative = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
            files.push(Source { path: relative, text: fs::read_to_string(&path).unwrap() });
        }
    }
}
