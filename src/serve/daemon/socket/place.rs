//! Path of a control socket, claimed without harm to existing files.
//!
//! The socket is bound in a folder of this user alone, so it has its mode before another user can
//! open it, and is then linked to its name, which fails if the name is taken: links are never
//! followed and nothing is replaced. The socket of a killed switch is first moved away, after a
//! check that it is a socket of this user that refuses connections.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::uid;

/// A served socket. The file is removed on drop, if it is still this one.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    file: (u64, u64),
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path`.
///
/// # Errors
/// See [`super::serve`].
pub(super) fn listen(path: &Path) -> io::Result<(UnixListener, ControlSocket)> {
    let room = Room::beside(path)?;
    let stale = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => return Err(error),
        Ok(found) => Some(left_behind(path, &found)?),
    };
    // Through the open folder: its path may exceed the length of a socket's path (108 bytes).
    let open = File::open(&room.0)?;
    let listener = UnixListener::bind(format!("/proc/self/fd/{}/new", open.as_raw_fd()))?;
    let new = room.0.join("new");
    fs::set_permissions(&new, Permissions::from_mode(0o600))?;
    if let Some(stale) = stale {
        clear(path, stale, &room.0.join("old"))?;
    }
    fs::hard_link(&new, path)?;
    let socket = ControlSocket { path: path.to_owned(), file: identity(&new)? };
    Ok((listener, socket))
}

/// A folder of this user alone on the file system of a path; removed with its contents.
struct Room(PathBuf);

impl Room {
    fn beside(path: &Path) -> io::Result<Self> {
        /// Several sockets of one process have a folder each.
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = parent.unwrap_or(Path::new("."));
        let dir = parent.join(format!(".sluice-{}-{number}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&dir)?;
        Ok(Self(dir))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        for name in ["new", "old"] {
            let _ = fs::remove_file(self.0.join(name));
        }
        let _ = fs::remove_dir(&self.0);
    }
}

/// Identity of a socket of this user at a path that no process serves.
fn left_behind(path: &Path, found: &fs::Metadata) -> io::Result<(u64, u64)> {
    let refuse = |what: &str| {
        let why = format!("{} is {what}, which is not replaced", path.display());
        Err(io::Error::new(ErrorKind::AlreadyExists, why))
    };
    let kind = found.file_type();
    if kind.is_symlink() {
        return refuse("a symbolic link");
    }
    if kind.is_dir() {
        return refuse("a directory");
    }
    if !kind.is_socket() {
        return refuse("a file and no socket");
    }
    if found.uid() != uid() {
        return refuse("a socket of another user");
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            Ok((found.dev(), found.ino()))
        }
        Ok(_) => Err(io::Error::new(ErrorKind::AddrInUse, "another process answers there")),
        // A full backlog or another kind of socket: it may be in use.
        Err(error) => Err(io::Error::new(ErrorKind::AddrInUse, format!("it is in use: {error}"))),
    }
}

/// Moves a stale socket away from its name to a place where its identity is checked again: if it
/// was exchanged in between, it is moved back.
fn clear(path: &Path, stale: (u64, u64), aside: &Path) -> io::Result<()> {
    fs::rename(path, aside)?;
    if identity(aside)? == stale {
        return fs::remove_file(aside);
    }
    fs::hard_link(aside, path)?;
    Err(io::Error::new(ErrorKind::AddrInUse, "another process has just taken it"))
}

/// Device and inode of a file, or of a link itself.
fn identity(path: &Path) -> io::Result<(u64, u64)> {
    fs::symlink_metadata(path).map(|found| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixDatagram;

    use super::*;
    use crate::testfolder::Folder;

    #[test]
    fn what_is_no_stale_socket_stays_as_it_is() {
        let folder = Folder::new("place");
        let at = |name: &str| folder.0.join(name);
        fs::write(at("file"), "precious").unwrap();
        fs::create_dir(at("dir")).unwrap();
        symlink(at("file"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        drop(UnixListener::bind(at("stale")).unwrap());
        symlink(at("stale"), at("link to a stale one")).unwrap();
        let _datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
        let before = folder.names();
        let taken = ["file", "dir", "link", "dangling", "link to a stale one", "datagrams"];
        for name in taken {
            let error = listen(&at(name)).unwrap_err();
            let kinds = [ErrorKind::AlreadyExists, ErrorKind::AddrInUse];
            assert!(kinds.contains(&error.kind()), "{name}: {error}");
            assert_eq!(folder.names(), before, "{name}");
        }
        assert_eq!(fs::read_to_string(at("file")).unwrap(), "precious");
        assert_eq!(fs::read_link(at("dangling")).unwrap(), at("nowhere"));
        // A device, which this user could remove.
        assert!(listen(Path::new("/dev/null")).is_err() && Path::new("/dev/null").exists());
    }

    #[test]
    fn a_socket_is_private_alone_and_removed_by_its_owner_alone() {
        let folder = Folder::new("place-own");
        let path = folder.0.join("s.sock");
        drop(UnixListener::bind(&path).unwrap());
        let (_listener, socket) = listen(&path).unwrap();
        assert_eq!(fs::symlink_metadata(&path).unwrap().mode() & 0o7777, 0o600);
        assert_eq!(folder.names(), ["s.sock"]);
        assert!(UnixStream::connect(&path).is_ok());
        assert_eq!(listen(&path).unwrap_err().kind(), ErrorKind::AddrInUse);
        // Replaced by another owner's file.
        fs::remove_file(&path).unwrap();
        fs::write(&path, "precious").unwrap();
        drop(socket);
        assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    }

    #[test]
    fn what_was_exchanged_in_between_is_put_back() {
        let folder = Folder::new("place-race");
        let (path, aside) = (folder.0.join("s"), folder.0.join("aside"));
        fs::write(&path, "new").unwrap();
        assert!(clear(&path, (0, 0), &aside).is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
    }

    #[test]
    fn a_path_may_be_as_long_as_a_socket_may_have() {
        let folder = Folder::new("place-long");
        let long = folder.0.join("x".repeat(106 - folder.0.as_os_str().len()));
        assert!(listen(&long).is_ok(), "{} bytes", long.as_os_str().len());
    }
}
