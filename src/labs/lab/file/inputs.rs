//! The files that a lab file names: distributions of sizes, generator files and what they name, keys.
//!
//! Every value of the file that is the name of a file counts, whatever field it is in and whether a variant
//! or a sweep has it. So no field that is added later can be left out.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use config::tree::{Kind, Node};
use xxhash_rust::xxh3::Xxh3Default;

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
            0 => return Ok(format!("{:016x}", hasher.digest())),
            len => hasher.update(&part[..len]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::LabFile;
    use crate::testfolder::Folder;

    const LAB: &str = "\
topology: {star: {hosts: 3}}
flows: [{to: h3, priority: 3, transport: {roce: {messages: {bytes: {cdf: sizes.txt}}}}}]
otg: {file: otg/gen.yaml}
variants: {a: {note: a.key}, b: {}}
sweep: {flows.0.transport.roce.messages.bytes.cdf: [sizes.txt, sweep.txt]}
";

    /// Every file that is reached from the lab changes the digest when it changes, and no other does.
    #[test]
    fn the_digest_covers_every_file_that_is_named_and_no_other() {
        let folder = Folder::new("lab-inputs");
        fs::create_dir_all(folder.at("otg")).unwrap();
        let names =
            ["sizes.txt", "a.key", "sweep.txt", "otg/gen.yaml", "otg/packets.pcap", "set.txt"];
        for name in names.iter().chain(&["other.txt"]) {
            folder.put(name, b"1");
        }
        folder.put("otg/gen.yaml", b"flows: [{replay: packets.pcap}]");
        let lab = folder.put("lab.yaml", LAB.as_bytes());
        let digest = || {
            let set = ("flows.0.x".to_owned(), "{cdf: set.txt}".to_owned());
            let file = LabFile::read(&lab).unwrap().with_fields(&[set]).unwrap();
            file.digest().to_owned()
        };
        for name in names {
            let (before, old) = (digest(), fs::read(folder.at(name)).unwrap());
            folder.put(name, &[&old[..], b" # changed"].concat());
            assert_ne!(digest(), before, "{name}");
            folder.put(name, &old);
            assert_eq!(digest(), before, "{name}");
        }
        let before = digest();
        folder.put("other.txt", b"2");
        assert_eq!(digest(), before);
    }
}
