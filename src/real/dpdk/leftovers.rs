//! Cleanup of directories that killed processes of Sluice left in DPDK's runtime folder.
//!
//! A process marks its directory by a file on which it holds a shared lock (flock) for its
//! lifetime. The kernel releases the lock when the process ends for any reason, so a directory
//! whose mark can be locked exclusively has no living user, whatever its name and even if its
//! process id is in use again. Only directories of this user with such a mark, and with nothing in
//! them but the mark and DPDK's files, are removed. No link is followed: all names are relative to
//! an open folder.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, flock, fstat, mkdirat, openat,
    statat, unlinkat,
};

/// File that marks a directory.
const MARK: &str = "sluice.lock";

/// Tries, and the time between them, for a mark that another process examines.
const TRIES: usize = 100;
const TRY_EVERY: Duration = Duration::from_millis(10);

/// The marked directory of this process.
static CLAIM: Mutex<Option<Claim>> = Mutex::new(None);

struct Claim {
    base: OwnedFd,
    folder: OwnedFd,
    prefix: String,
    mark: OwnedFd,
}

/// Folder of the runtime directories of all DPDK programs of this user, as DPDK selects it
/// (`eal_create_runtime_dir`).
fn base() -> PathBuf {
    let of_the_user = || match rustix::process::getuid().is_root() {
        true => "/var/run".into(),
        false => std::env::var_os("XDG_RUNTIME_DIR").unwrap_or_else(|| "/tmp".into()),
    };
    let above = std::env::var_os("RUNTIME_DIRECTORY").unwrap_or_else(of_the_user);
    Path::new(&above).join("dpdk")
}

/// Marks the runtime directory of this process before DPDK uses it, and removes those of dead
/// processes. On failure nothing is marked and nothing is removed: DPDK reports the fault of its
/// folder.
pub(super) fn claim(prefix: &str) {
    let Ok(claim) = claim_in(&base(), prefix) else { return };
    let _ = sweep(&claim);
    *CLAIM.lock().unwrap_or_else(PoisonError::into_inner) = Some(claim);
}

/// Removes the mark of this process, and its directory if it is empty then and no other process
/// uses it.
pub(super) fn release() {
    let claim = CLAIM.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(claim) = claim {
        let _ = claim.end();
    }
}

impl Claim {
    fn end(self) -> io::Result<()> {
        // Fails if another process of the same prefix is alive.
        flock(&self.mark, FlockOperation::NonBlockingLockExclusive)?;
        unlinkat(&self.folder, MARK, AtFlags::empty())?;
        Ok(unlinkat(&self.base, &*self.prefix, AtFlags::REMOVEDIR)?)
    }
}

fn claim_in(base: &Path, prefix: &str) -> io::Result<Claim> {
    let private = Mode::from_raw_mode(0o700);
    if !is_name(prefix) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    existing(mkdirat(CWD, base, private))?;
    let base = own_folder(CWD, base.as_os_str())?;
    for _ in 0..TRIES {
        existing(mkdirat(&base, prefix, private))?;
        let Ok(folder) = own_folder(&base, prefix.as_ref()) else { continue };
        let how = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mark = match openat(&folder, MARK, how, Mode::from_raw_mode(0o600)) {
            // It was removed meanwhile.
            Err(rustix::io::Errno::NOENT) => continue,
            mark => mark?,
        };
        if flock(&mark, FlockOperation::NonBlockingLockShared).is_err() {
            thread::sleep(TRY_EVERY);
            continue;
        }
        // The file may have been removed before it was locked.
        if is_still(&folder, MARK, &mark) && is_still(&base, prefix, &folder) {
            return Ok(Claim { base, folder, prefix: prefix.to_owned(), mark });
        }
    }
    Err(io::ErrorKind::TimedOut.into())
}

/// True if the name is that of an entry of a folder, and leads nowhere else.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/')
}

/// Treats an existing entry as success.
fn existing(made: rustix::io::Result<()>) -> io::Result<()> {
    match made {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Opens a folder that belongs to this user and is not a link.
fn own_folder(above: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let how = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let folder = openat(above, name, how, Mode::empty())?;
    match fstat(&folder)?.st_uid == rustix::process::geteuid().as_raw() {
        true => Ok(folder),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// True if `name` in a folder is still the opened file.
fn is_still(folder: impl AsFd, name: &str, opened: impl AsFd) -> bool {
    let named = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
    let both = named.and_then(|named| Ok((named, fstat(opened)?)));
    both.is_ok_and(|(a, b)| (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino))
}

/// Removes the directories beside that of `own` whose process is dead.
fn sweep(own: &Claim) -> io::Result<()> {
    for name in names(&own.base)? {
        if name != own.prefix {
            let _ = remove_dead(own.base.as_fd(), &name);
        }
    }
    Ok(())
}

/// Removes a marked directory that no process uses.
fn remove_dead(base: impl AsFd, name: &str) -> io::Result<()> {
    let folder = own_folder(&base, name.as_ref())?;
    let how = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mark = openat(&folder, MARK, how, Mode::empty())?;
    let found = fstat(&mark)?;
    let is_ours = FileType::from_raw_mode(found.st_mode).is_file()
        && found.st_uid == rustix::process::geteuid().as_raw();
    if !is_ours {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    flock(&mark, FlockOperation::NonBlockingLockExclusive)?;
    let all = names(&folder)?;
    if !is_still(&folder, MARK, &mark) || !all.iter().all(|name| is_of_dpdk(name)) {
        return Ok(());
    }
    for entry in all.iter().filter(|entry| *entry != MARK) {
        unlinkat(&folder, &**entry, AtFlags::empty())?;
    }
    unlinkat(&folder, MARK, AtFlags::empty())?;
    Ok(unlinkat(base, name, AtFlags::REMOVEDIR)?)
}

/// True for the names of DPDK 22.11's files in a runtime directory, and the mark.
fn is_of_dpdk(name: &str) -> bool {
    name == MARK
        || ["config", "hugepage_info", "fbarray_", "mp_socket", "dpdk_telemetry."]
            .iter()
            .any(|known| name.starts_with(known))
}

/// UTF-8 names of the entries of a folder; Sluice makes no others.
fn names(folder: impl AsFd) -> io::Result<Vec<String>> {
    let entries = Dir::read_from(folder)?.collect::<Result<Vec<_>, _>>()?;
    let names = entries.iter().map(|entry| entry.file_name().to_string_lossy().into_owned());
    Ok(names.filter(|name| is_name(name)).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::testfolder::Folder;

    /// Directory that a killed process left: marked, and not locked.
    fn dead(folder: &Folder, name: &str) {
        fs::create_dir(folder.at(name)).unwrap();
        fs::write(folder.at(name).join(MARK), "").unwrap();
    }

    #[test]
    fn directories_of_the_dead_go_and_those_of_the_living_stay() {
        let folder = Folder::new("leftovers");
        let living = claim_in(&folder.0, "living").unwrap();
        for name in ["dead", "dead-with-socket"] {
            dead(&folder, name);
        }
        fs::write(folder.at("dead-with-socket/dpdk_telemetry.v2"), "").unwrap();
        let own = claim_in(&folder.0, "own").unwrap();
        sweep(&own).unwrap();
        assert_eq!(folder.names(), ["living", "own"]);
        own.end().unwrap();
        assert_eq!(folder.names(), ["living"]);
        // Once the lock is released, as at the end of a process, its directory is removed too.
        drop(living);
        sweep(&claim_in(&folder.0, "next").unwrap()).unwrap();
        assert_eq!(folder.names(), ["next"]);
    }

    #[test]
    fn what_is_not_certainly_ours_stays_as_it_is() {
        let folder = Folder::new("leftovers-others");
        let own = claim_in(&folder.0, "own").unwrap();
        // Directory of another DPDK program, whose process may be dead.
        fs::create_dir(folder.at("rte")).unwrap();
        fs::write(folder.at("rte/config"), "x").unwrap();
        // Marked, but with a file that neither Sluice nor DPDK makes.
        dead(&folder, "precious");
        fs::write(folder.at("precious/notes"), "x").unwrap();
        fs::create_dir(folder.at("linked")).unwrap();
        fs::write(folder.at("target"), "x").unwrap();
        symlink("../target", folder.at("linked").join(MARK)).unwrap();
        dead(&folder, "elsewhere");
        let elsewhere = Folder::new("leftovers-elsewhere");
        dead(&elsewhere, "dead");
        symlink(elsewhere.at("dead"), folder.at("link")).unwrap();
        sweep(&own).unwrap();
        assert_eq!(folder.names(), ["link", "linked", "own", "precious", "rte", "target"]);
        assert_eq!(elsewhere.names(), ["dead"]);
        assert_eq!(fs::read_to_string(folder.at("precious/notes")).unwrap(), "x");
    }

    #[test]
    fn a_directory_that_two_processes_use_goes_with_the_last() {
        let folder = Folder::new("leftovers-shared");
        let [first, second] = [(); 2].map(|()| claim_in(&folder.0, "same").unwrap());
        assert!(first.end().is_err());
        assert_eq!(folder.names(), ["same"]);
        second.end().unwrap();
        assert_eq!(folder.names(), [] as [&str; 0]);
        for odd in ["", ".", "..", "a/b", "../x"] {
            assert!(claim_in(&folder.0, odd).is_err(), "{odd}");
        }
    }
}
