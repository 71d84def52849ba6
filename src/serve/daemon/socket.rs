//! Control socket of a running switch: a line per request, a line per answer.
//!
//! A Unix socket that only its owner may use. Each line is a request and is answered with one line,
//! in order. The server defines the meaning of the lines. Bounded: a few connections at a time, a
//! request of bounded length, each with a time limit.
//!
//! Path of a control socket, claimed without harm to existing files.
//!
//! The socket is bound in a folder of this user alone, so it has its mode before another user can
//! open it, and is then linked to its name, which fails if the name is taken: links are never
//! followed and nothing is replaced. The socket of a killed switch is first moved away, after a
//! check that it is a socket of this user that refuses connections.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use zeroize::{Zeroize, Zeroizing};

use crate::LOG;

/// Connections at a time; further ones get an error and are closed.
const CONNECTIONS: usize = 8;
/// Longest request in bytes.
const REQUEST_MAX: usize = 64 * 1024;
/// Longest time without a byte on a connection.
const SILENCE: Duration = Duration::from_secs(60);

/// Answers a request line with a response line, both without the newline.
pub type Answer = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Default path of the control socket of the switch `name`: below `XDG_RUNTIME_DIR`, for root
/// without one below `/run`, else below the temporary directory.
pub fn default_path(name: &str) -> PathBuf {
    directory().join(format!("{}.sock", file_name(name)))
}

/// Name of a switch as a part of a file name.
pub fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect()
}

fn directory() -> PathBuf {
    if let Some(dir) = std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty()) {
        return PathBuf::from(dir).join("sluice");
    }
    match uid() {
        0 => PathBuf::from("/run/sluice"),
        uid => std::env::temp_dir().join(format!("sluice-{uid}")),
    }
}

/// User id of this process. Its entry in `/proc` belongs to root while its core dumps are disabled.
fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Sockets below the default directory, for a client without a path.
pub fn sockets() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(directory()) else { return Vec::new() };
    let paths = entries.flatten().map(|e| e.path());
    let mut paths: Vec<_> = paths.filter(|p| p.extension().is_some_and(|e| e == "sock")).collect();
    paths.sort();
    paths
}

/// Serves `path` from its own threads until the returned socket is dropped.
///
/// Replaces nothing at `path` but a socket of this user at which no process answers.
///
/// # Errors
/// If the socket cannot be made: `AddrInUse` if another process serves it, `AlreadyExists` if the
/// path is another kind of file.
pub fn serve(path: &Path, answer: Answer) -> io::Result<ControlSocket> {
    // A folder that a user names is the user's business; only the default one is made here.
    if let Some(dir) = path.parent().filter(|dir| *dir == directory()) {
        make_private(dir)?;
    }
    let (listener, socket) = listen(path)?;
    let open = Arc::new(AtomicUsize::new(0));
    thread::Builder::new().name("control".into()).spawn(move || {
        for stream in listener.incoming() {
            match stream {
                Ok(stream) => connect(stream, &answer, &open),
                Err(error) => {
                    tracing::warn!(target: LOG, "the control socket cannot accept: {error}");
                    // Without the pause an error that stays, such as too many open files, would fill the log.
                    thread::sleep(Duration::from_secs(1));
                }
            }
        }
    })?;
    Ok(socket)
}

/// Makes the default directory, or checks that no other user can write to it.
fn make_private(dir: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(dir) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    // Another user could have made it before, as a link or with other rights.
    let meta = fs::symlink_metadata(dir)?;
    if !meta.is_dir() || meta.uid() != uid() || meta.mode() & 0o022 != 0 {
        let why = format!("{} is not a directory of this user alone", dir.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    }
    Ok(())
}

fn connect(mut stream: UnixStream, answer: &Answer, open: &Arc<AtomicUsize>) {
    // Counted before the thread exists, so that a burst of connections cannot pass the limit.
    if open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS {
        open.fetch_sub(1, Ordering::AcqRel);
        let _ = writeln!(stream, r#"{{"ok":false,"error":"too many connections; try again"}}"#);
        return;
    }
    let (answer, place) = (Arc::clone(answer), Place(Arc::clone(open)));
    let spawned = thread::Builder::new().name("control".into()).spawn(move || {
        let _place = place;
        // An error of the client, or its disconnect.
        let _ = converse(&stream, &answer);
    });
    if let Err(error) = spawned {
        tracing::warn!(target: LOG, "the control socket has no thread for a client: {error}");
    }
}

/// A connection's place among [`CONNECTIONS`]; released however the connection ends.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

fn converse(stream: &UnixStream, answer: &Answer) -> io::Result<()> {
    stream.set_read_timeout(Some(SILENCE))?;
    stream.set_write_timeout(Some(SILENCE))?;
    let mut requests = Requests::new(stream);
    let mut writer = stream;
    while let Some(line) = requests.next()? {
        let mut response = answer(line.trim_end());
        // Wipe before the answer: the client may take the answer for the end of the key's use.
        requests.wipe();
        response.push('\n');
        writer.write_all(response.as_bytes())?;
    }
    Ok(())
}

/// Lines of a connection. A request may contain a key, so its bytes are in one buffer that never
/// moves, and are wiped before the request is answered, and when the connection ends.
struct Requests<R> {
    from: R,
    held: Zeroizing<Vec<u8>>,
    /// Bytes of `held` that were read.
    len: usize,
    /// Bytes at the start of `held` that were returned.
    done: usize,
}

impl<R: Read> Requests<R> {
    fn new(from: R) -> Self {
        Self { from, held: Zeroizing::new(vec![0; REQUEST_MAX]), len: 0, done: 0 }
    }

    /// Wipes the lines that were returned.
    fn wipe(&mut self) {
        // Bytes behind the returned line belong to the next request.
        self.held.copy_within(self.done..self.len, 0);
        self.len -= self.done;
        self.done = 0;
        self.held[self.len..].zeroize();
    }

    /// Returns the next line; none at the end, or if a line is too long.
    fn next(&mut self) -> io::Result<Option<&str>> {
        self.wipe();
        // Bytes that were searched for a newline are not searched again.
        let mut searched = 0;
        loop {
            if let Some(end) = self.held[searched..self.len].iter().position(|b| *b == b'\n') {
                self.done = searched + end + 1;
                let line = std::str::from_utf8(&self.held[..self.done]);
                return line.map(Some).map_err(|_| io::ErrorKind::InvalidData.into());
            }
            searched = self.len;
            // The buffer is full: the line is too long.
            if searched == self.held.len() {
                return Ok(None);
            }
            match self.from.read(&mut self.held[self.len..]) {
                Ok(0) => return Ok(None),
                Ok(n) => self.len += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

/// Sends one request to a running switch.
///
/// # Errors
/// If no process serves `path`, or the connection ends without an answer.
pub fn ask(path: &Path, request: &str) -> io::Result<String> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(SILENCE))?;
    // A server without a free place reports that and disconnects without a read. The request may
    // contain a key, so it is not copied.
    let written = stream.write_all(request.as_bytes()).and_then(|()| stream.write_all(b"\n"));
    let mut response = String::new();
    let read = BufReader::new(stream).read_line(&mut response);
    if response.ends_with('\n') {
        return Ok(response.trim_end().to_owned());
    }
    // The error of the write has precedence: it is the cause of the missing answer.
    written.and(read).and(Err(io::ErrorKind::UnexpectedEof.into()))
}

/// A served socket. The file is removed on drop, if it is still this one.
#[derive(Debug)]
pub struct ControlSocket {
    path: PathBuf,
    file: (u64, u64),
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        // Another process may have taken the name after a user removed this file.
        if identity(&self.path).is_ok_and(|file| file == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at `path`.
///
/// # Errors
/// See [`serve`].
fn listen(path: &Path) -> io::Result<(UnixListener, ControlSocket)> {
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
    // Still inside of the private folder, so no other user can connect before.
    fs::set_permissions(&new, Permissions::from_mode(0o600))?;
    if let Some(stale) = stale {
        clear(path, stale, &room.0.join("old"))?;
    }
    // A link fails where a name exists; a rename would replace what another process has made there.
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
        // On the same file system as the path, since links do not cross file systems.
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
    fn every_line_is_answered_and_the_file_goes_away() {
        let dir = Folder::new("control");
        let path = dir.at("s.sock");
        // A file that a killed process left does not prevent the start.
        drop(UnixListener::bind(&path).unwrap());
        let echo: Answer = Arc::new(|line| format!("<{line}>"));
        let socket = serve(&path, Arc::clone(&echo)).unwrap();
        assert_eq!(ask(&path, "a b").unwrap(), "<a b>");
        assert_eq!(serve(&path, echo).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let mut silent: Vec<_> =
            (0..CONNECTIONS).map(|_| UnixStream::connect(&path).unwrap()).collect();
        let refused = UnixStream::connect(&path).unwrap();
        let mut line = String::new();
        BufReader::new(refused).read_line(&mut line).unwrap();
        assert!(line.contains("too many connections"), "{line}");
        // A request without end is cut off, and its place is free again.
        let mut endless = silent.remove(0);
        endless.write_all(&vec![b'x'; REQUEST_MAX]).unwrap();
        assert_eq!(endless.read(&mut [0; 8]).unwrap(), 0);
        while ask(&path, "c").unwrap() != "<c>" {}
        drop(socket);
        assert!(!path.exists());
    }

    /// Reader that returns pieces of `self.1` bytes.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
            let n = self.1.min(out.len());
            self.0.take(n as u64).read(&mut out[..n]).inspect(|n| self.0 = &self.0[*n..])
        }
    }

    #[test]
    fn requests_are_wiped_from_their_buffer_before_they_are_answered() {
        for piece in [1, 3, 5, 100] {
            let mut requests = Requests::new(Pieces(b"secret\nab\n\nrest", piece));
            assert_eq!(requests.next().unwrap(), Some("secret\n"), "{piece}");
            assert_eq!(requests.next().unwrap(), Some("ab\n"));
            let is_left =
                |r: &Requests<_>, what: &[u8]| r.held.windows(what.len()).any(|w| w == what);
            assert!(!is_left(&requests, b"cret"), "{piece}");
            assert_eq!(requests.next().unwrap(), Some("\n"));
            assert!(!is_left(&requests, b"ab"), "{piece}");
            requests.wipe();
            assert!(!is_left(&requests, b"\n"), "{piece}");
            assert_eq!(requests.next().unwrap(), None);
            assert_eq!(requests.held.len(), REQUEST_MAX, "it never moves");
        }
        assert!(Requests::new(&b"\xff\n"[..]).next().is_err());
    }

    #[test]
    fn the_default_path_has_no_surprises_from_the_name() {
        let path = default_path("../a b/ü");
        assert_eq!(path.file_name().unwrap(), "---a-b--.sock");
    }

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
