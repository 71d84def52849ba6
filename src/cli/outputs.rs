//! Files that a command writes.
//!
//! All of them are claimed before the run, so that a path that cannot be written is bad input, not
//! a failure after an hour's work: each file is opened beside its target under a temporary name. An
//! output is made, be it a file or a folder, and the folder that it is in must be there: a mistyped
//! path is refused with the command that makes it. A complete file replaces its target atomically; a
//! failed run leaves the old content. Two outputs to one file, and an output over an input, are
//! refused.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use super::{bad_input, quoted};

/// Inputs and outputs of a command so far.
#[derive(Debug, Default)]
pub(super) struct Outputs {
    named: Vec<Named>,
}

/// A file and its use in the command.
#[derive(Debug)]
struct Named {
    file: Identity,
    what: String,
}

/// Identity of a file: its device and inode, or its folder and name if it does not exist yet.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Identity {
    There { device: u64, inode: u64 },
    Not(PathBuf),
}

/// An output file. Dropping it before [`Self::write`] removes the temporary file.
#[derive(Debug)]
pub(super) struct OutputFile {
    path: PathBuf,
    file: File,
    /// Temporary name; None if the file is written in place (a pipe, a device, a file in a folder
    /// where no file can be created).
    part: Option<PathBuf>,
}

impl Outputs {
    /// Starts with standard output, which may be a file, too.
    pub(super) fn new() -> Self {
        let mut outputs = Self::default();
        if let Ok(found) = fs::metadata("/proc/self/fd/1") {
            if found.is_file() {
                let what = "standard output".into();
                outputs.named.push(Named { file: Identity::of(&found), what });
            }
        }
        outputs
    }

    /// Claims an input, such as `the lab file`; a missing file is reported elsewhere.
    pub(super) fn input(&mut self, what: &str, path: &Path) {
        if let Ok(found) = fs::metadata(path) {
            if found.is_file() {
                let what = format!("{what} {}", quoted(path));
                self.named.push(Named { file: Identity::of(&found), what });
            }
        }
    }

    /// Claims a file that another part writes, and refuses one that the command uses already.
    ///
    /// # Errors
    /// Bad input: names the other use of the file, or its folder, if that is missing.
    pub(super) fn claim(&mut self, option: &str, path: &Path) -> Result<()> {
        let named = || format!("{option} {}", quoted(path));
        has_folder(path).with_context(named).map_err(bad_input)?;
        let found = fs::metadata(path);
        let file = match &found {
            // A device or a pipe accepts any number of writers.
            Ok(found) if is_stream(found) => return Ok(()),
            Ok(found) => Identity::of(found),
            Err(_) => Identity::Not(absolute(path)),
        };
        if let Some(other) = self.named.iter().find(|other| other.file == file) {
            let why =
                format!("{option}: {} is also {}; name another file", path.display(), other.what);
            return Err(bad_input(anyhow!(why)));
        }
        self.named.push(Named { file, what: format!("the file of {option}") });
        Ok(())
    }

    /// Opens the file of `option`.
    ///
    /// # Errors
    /// Bad input: the file cannot be written, has another use, or its folder is missing.
    pub(super) fn open(&mut self, option: &str, path: &Path) -> Result<OutputFile> {
        let named = || format!("{option} {}", quoted(path));
        self.claim(option, path)?;
        OutputFile::open(path).with_context(named).map_err(bad_input)
    }

    /// Claims the captures that devices by EAL names (`net_pcap0,rx_pcap=...,tx_pcap=...`) read and
    /// write.
    ///
    /// # Errors
    /// Bad input: names the other use of a file, or a missing folder.
    pub(super) fn devices(&mut self, devices: impl Iterator<Item = impl AsRef<str>>) -> Result<()> {
        let devices: Vec<_> = devices.collect();
        let files = |name: &'static str| {
            let arguments = devices.iter().flat_map(|device| device.as_ref().split(','));
            arguments.filter_map(move |argument| argument.strip_prefix(name)?.strip_prefix('='))
        };
        files("rx_pcap").for_each(|file| self.input("the capture that is replayed", file.as_ref()));
        files("tx_pcap").try_for_each(|file| self.claim("tx_pcap", file.as_ref()))
    }

    /// Creates the folder of `option` in one that is there, and checks that files can be created in it.
    ///
    /// # Errors
    /// Bad input: the reason why not.
    pub(super) fn folder(option: &str, path: &Path) -> Result<()> {
        let make = || -> Result<()> {
            has_folder(path)?;
            if !path.exists() {
                fs::create_dir(path)?;
            }
            let (_, part) = create_part(&path.join("x"))?;
            Ok(fs::remove_file(part)?)
        };
        make().with_context(|| format!("{option} {}", quoted(path))).map_err(bad_input)
    }
}

/// Refuses an output in a folder that is missing.
///
/// # Errors
/// Names the folder, and the command that makes it.
pub(super) fn has_folder(path: &Path) -> Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if !folder.exists() => {
            let folder = quoted(folder);
            bail!("the folder {folder} is missing; make it first: mkdir -p {folder}")
        }
        _ => Ok(()),
    }
}

impl Identity {
    fn of(found: &Metadata) -> Self {
        Self::There { device: found.dev(), inode: found.ino() }
    }
}

impl OutputFile {
    fn open(path: &Path) -> Result<Self> {
        let found = tried(path)?;
        if found.as_ref().is_some_and(Metadata::is_dir) {
            bail!("is a folder; name a file");
        }
        // A symbolic link's target is written, not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let in_place = || OpenOptions::new().write(true).open(&path);
        if found.as_ref().is_some_and(is_stream) {
            return Ok(Self { file: in_place()?, path, part: None });
        }
        if found.is_some() {
            // A file that this user must not write is not replaced either.
            in_place()?;
        }
        match (create_part(&path), &found) {
            (Ok((file, part)), found) => {
                if let Some(found) = found {
                    let _ = file.set_permissions(found.permissions());
                }
                Ok(Self { path, file, part: Some(part) })
            }
            (Err(error), Some(_)) if error.kind() == io::ErrorKind::PermissionDenied => {
                Ok(Self { file: in_place()?, path, part: None })
            }
            (Err(error), _) => Err(error.into()),
        }
    }

    /// Writes the whole file and moves it to its target.
    ///
    /// # Errors
    /// The file cannot be written; the old content stays unless the file is written in place.
    pub(super) fn write(mut self, bytes: &[u8]) -> Result<()> {
        let written = self.put(bytes);
        written.with_context(|| format!("writing {}", quoted(&self.path)))
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.part.is_none() && self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(bytes)?;
        if let Some(part) = &self.part {
            fs::rename(part, &self.path)?;
            self.part = None;
        }
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(part) = &self.part {
            let _ = fs::remove_file(part);
        }
    }
}

/// Metadata of the file at a path; None if there is none.
fn tried(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// True for a file that is a stream and stores nothing.
fn is_stream(found: &Metadata) -> bool {
    let kind = found.file_type();
    kind.is_char_device() || kind.is_fifo() || kind.is_socket()
}

/// Creates a temporary file: hidden, and beside its target.
fn create_part(path: &Path) -> io::Result<(File, PathBuf)> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // A name has at most 255 bytes.
    let short: String = name.chars().take(40).collect();
    let mut tries = 0;
    loop {
        let part = path.with_file_name(format!(".{short}.{}-{tries}.part", std::process::id()));
        match File::create_new(&part) {
            // Left by a killed process that had the same number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < 100 => tries += 1,
            result => return result.map(|file| (file, part)),
        }
    }
}

/// Absolute path, with the links and dots of its folder resolved if that exists.
fn absolute(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::testfolder::Folder;

    #[test]
    fn a_file_appears_whole_or_not_at_all() {
        let folder = Folder::new("outputs");
        let mut outputs = Outputs::default();
        fs::write(folder.at("old"), "before").unwrap();
        fs::create_dir_all(folder.at("a/b")).unwrap();
        let new = outputs.open("--report", &folder.at("a/b/new")).unwrap();
        let old = outputs.open("--csv", &folder.at("old")).unwrap();
        let unused = outputs.open("--hgrm", &folder.at("unused")).unwrap();
        assert_eq!(fs::read_to_string(folder.at("old")).unwrap(), "before");
        assert!(!folder.at("a/b/new").exists());
        new.write(b"1").unwrap();
        old.write(b"after").unwrap();
        drop(unused);
        assert_eq!(folder.names(), ["a", "old"]);
        assert_eq!(fs::read_to_string(folder.at("a/b/new")).unwrap(), "1");
        assert_eq!(fs::read_to_string(folder.at("old")).unwrap(), "after");
        assert_eq!(fs::read_dir(folder.at("a/b")).unwrap().count(), 1);
    }

    #[test]
    fn links_are_written_through_and_modes_are_kept() {
        let folder = Folder::new("outputs-links");
        fs::write(folder.at("file"), "before").unwrap();
        fs::set_permissions(folder.at("file"), fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", folder.at("link")).unwrap();
        Outputs::default().open("-o", &folder.at("link")).unwrap().write(b"after").unwrap();
        assert_eq!(fs::read_to_string(folder.at("file")).unwrap(), "after");
        assert!(folder.at("link").is_symlink());
        let mode = fs::metadata(folder.at("file")).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o640);
        for device in ["/dev/null", "/dev/full"] {
            let full = Outputs::default().open("-o", Path::new(device)).unwrap().write(b"x");
            assert_eq!(full.is_ok(), device == "/dev/null");
            assert!(fs::metadata(device).unwrap().file_type().is_char_device());
        }
    }

    #[test]
    fn no_file_is_two() {
        let folder = Folder::new("outputs-two");
        let mut outputs = Outputs::default();
        fs::write(folder.at("lab.yaml"), "x").unwrap();
        fs::hard_link(folder.at("lab.yaml"), folder.at("same.yaml")).unwrap();
        symlink("lab.yaml", folder.at("link.yaml")).unwrap();
        outputs.input("the lab file", &folder.at("lab.yaml"));
        for name in ["lab.yaml", "same.yaml", "link.yaml", "../x/lab.yaml"] {
            let name = name.replace(
                "../x",
                &format!("../{}", folder.0.file_name().unwrap().to_str().unwrap()),
            );
            let error = outputs.open("--report", &folder.at(&name)).unwrap_err();
            assert!(format!("{error:#}").contains("the lab file"), "{error:#}");
        }
        let _page = outputs.open("--report", &folder.at("page")).unwrap();
        let error = outputs.open("--csv", &folder.at("./page")).unwrap_err();
        assert!(format!("{error:#}").contains("the file of --report"), "{error:#}");
        assert!(outputs.claim("--x", Path::new("/dev/null")).is_ok());
        assert!(outputs.claim("--y", Path::new("/dev/null")).is_ok());
        assert_eq!(fs::read_to_string(folder.at("lab.yaml")).unwrap(), "x");
    }

    #[test]
    fn devices_write_over_no_capture() {
        let folder = Folder::new("outputs-pcap");
        fs::write(folder.at("in"), "x").unwrap();
        let device = |n: u8, way: &str, name: &str| {
            format!("net_pcap{n},{way}={}", folder.at(name).display())
        };
        let check = |all: &[String]| Outputs::default().devices(all.iter());
        assert!(check(&[device(0, "rx_pcap", "in"), device(1, "tx_pcap", "out")]).is_ok());
        assert!(check(&[device(0, "tx_pcap", "in"), device(1, "rx_pcap", "in")]).is_err());
        assert!(check(&[device(0, "tx_pcap", "out"), device(1, "tx_pcap", "./out")]).is_err());
    }

    #[test]
    fn what_cannot_be_written_is_told_at_once() {
        let folder = Folder::new("outputs-bad");
        let mut outputs = Outputs::default();
        for (path, says) in [
            (folder.0.clone(), "is a folder"),
            (PathBuf::from("/dev/null/x"), "Not a directory"),
            (PathBuf::from("/proc/no/x"), "make it first: mkdir -p /proc/no"),
        ] {
            let error = format!("{:#}", outputs.open("--report", &path).unwrap_err());
            assert!(error.contains(says) && error.contains("--report"), "{error}");
        }
        assert!(Outputs::folder("--keep", Path::new("/proc/x")).is_err());
        Outputs::folder("--keep", &folder.at("kept")).unwrap();
        Outputs::folder("--keep", &folder.at("kept")).unwrap();
        for error in [
            Outputs::folder("--keep", &folder.at("mistyped/kept")).unwrap_err(),
            outputs.open("--report", &folder.at("mistyped/x.html")).map(|_| ()).unwrap_err(),
        ] {
            let error = format!("{error:#}");
            assert!(error.contains("is missing; make it first: mkdir -p "), "{error}");
        }
        assert_eq!(folder.names(), ["kept"]);
    }
}
