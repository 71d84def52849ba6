//! Claims of processes of Sluice on the CPUs of a machine.
//!
//! Two processes that each choose the last CPU would starve each other on it, so a process holds a lock on
//! the file of each CPU that it pins a polling thread to. The kernel releases the lock when the process ends
//! for any reason. The files are empty, and stay. They are in a folder that all users and all network
//! namespaces of a machine share; a container has its own. Any local user can hold a lock: the harm is that
//! threads of others are not pinned.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use ground::printable;
use rustix::fs::{FlockOperation, Mode, OFlags, fchmod, flock, open};

use super::cores::{allowed_ids, siblings};
use super::placement::{Cpus, Pin, Placement, Unpinned, place};

/// Folder of the lock files.
const FOLDER: &str = "/dev/shm";
/// Tries, and the time between them, for the lock under which one process at a time chooses.
const TRIES: usize = 100;
const TRY_EVERY: Duration = Duration::from_millis(1);

/// Claims of this process.
static MACHINE: Registry = Registry::new();

/// CPUs that this process has claimed. Threads of one process share a claim.
struct Registry(Mutex<BTreeMap<usize, Weak<OwnedFd>>>);

/// Locks on the CPUs of polling threads; dropping them releases the CPUs.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    _locks: Vec<Arc<OwnedFd>>,
}

impl Claims {
    /// Chooses and claims a CPU for each thread. `spare` CPUs are left for threads that do not poll. A CPU
    /// that is configured is claimed if no other process has it, and used anyway.
    #[must_use]
    pub fn take(pins: &[Pin], spare: usize) -> (Placement, Self) {
        MACHINE.take(Path::new(FOLDER), pins, &allowed_ids(), spare)
    }

    /// Chooses as [`Self::take`] would now.
    #[must_use]
    pub fn preview(pins: &[Pin], spare: usize) -> Placement {
        MACHINE.preview(Path::new(FOLDER), pins, &allowed_ids(), spare)
    }
}

impl Registry {
    const fn new() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }

    fn take(
        &self,
        folder: &Path,
        pins: &[Pin],
        allowed: &[usize],
        spare: usize,
    ) -> (Placement, Claims) {
        let (placement, claims, _choosing) = self.choose(folder, pins, allowed, spare);
        (placement, claims)
    }

    fn preview(&self, folder: &Path, pins: &[Pin], allowed: &[usize], spare: usize) -> Placement {
        // The claims are released before others may choose, who would see them otherwise.
        let (placement, claims, choosing) = self.choose(folder, pins, allowed, spare);
        drop(claims);
        drop(choosing);
        placement
    }

    /// Returns also the lock under which the CPUs were chosen.
    fn choose(
        &self,
        folder: &Path,
        pins: &[Pin],
        allowed: &[usize],
        spare: usize,
    ) -> (Placement, Claims, Option<OwnedFd>) {
        // Threads of this process are excluded by the mutex, other processes by the file.
        let mut own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let choosing = match patiently(&folder.join("sluice-cpus.lock")) {
            Ok(choosing) => choosing,
            Err(error) => {
                let why = format!("{}: {error}", folder.display());
                let unpinned = pins.contains(&Pin::Auto).then_some(Unpinned::Unseen(why));
                // Only CPUs that are configured are used.
                let mut placement =
                    place(pins, &Cpus { allowed: &[], taken: &[], siblings: &|_| None, spare });
                placement.unpinned = unpinned;
                return (placement, Claims::default(), None);
            }
        };
        // Claims of switches that have ended in this process.
        own.retain(|_, lock| lock.strong_count() > 0);
        // Every allowed CPU is locked for a moment: one that cannot be locked is taken.
        let claim = |cpu: &usize| {
            let shared = own.get(cpu).and_then(Weak::upgrade);
            (*cpu, shared.or_else(|| lock(&lock_file(folder, *cpu)).ok().map(Arc::new)))
        };
        let locks: BTreeMap<usize, Option<Arc<OwnedFd>>> = allowed.iter().map(claim).collect();
        let taken: Vec<usize> =
            locks.iter().filter(|(_, lock)| lock.is_none()).map(|(cpu, _)| *cpu).collect();
        let mut placement =
            place(pins, &Cpus { allowed, taken: &taken, siblings: &siblings, spare });
        for claimed in &mut placement.claimed {
            claimed.process = holder(&lock_file(folder, claimed.cpu));
        }
        // Locks of CPUs that were not chosen are released at the end of this function.
        let mut claims = Claims::default();
        for cpu in placement.cpus.iter().flatten() {
            if let Some(Some(lock)) = locks.get(cpu) {
                own.insert(*cpu, Arc::downgrade(lock));
                claims._locks.push(Arc::clone(lock));
            }
        }
        (placement, claims, Some(choosing))
    }
}

fn lock_file(folder: &Path, cpu: usize) -> PathBuf {
    folder.join(format!("sluice-cpu-{cpu}.lock"))
}

/// Returns the number and the command line of the process that has locked a file, if the kernel shows it:
/// processes of other containers are not shown.
fn holder(path: &Path) -> Option<String> {
    let inode = fs::metadata(path).ok()?.ino();
    let process = holder_in(&fs::read_to_string("/proc/locks").ok()?, inode)?;
    let command = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let command = String::from_utf8_lossy(&command).trim_end_matches('\0').replace('\0', " ");
    Some(match command.is_empty() {
        true => process.to_string(),
        false => format!("{process} ({})", printable::excerpt(&command)),
    })
}

/// Returns the process that has locked the file of this inode, from lines such as
/// `1: FLOCK  ADVISORY  WRITE 1234 00:19:5678 0 EOF`. The folder has one file system, so the device is not
/// compared.
fn holder_in(locks: &str, inode: u64) -> Option<u32> {
    locks.lines().find_map(|line| {
        let fields: Vec<_> = line.split_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", process, file, ..] = fields[..] else { return None };
        let is_file = file.rsplit(':').next()?.parse() == Ok(inode);
        process.parse().ok().filter(|process| is_file && *process > 0)
    })
}

/// Locks a file that other processes lock for a moment only.
fn patiently(path: &Path) -> io::Result<OwnedFd> {
    let mut result = lock(path);
    for _ in 1..TRIES {
        if result.is_ok() {
            break;
        }
        thread::sleep(TRY_EVERY);
        result = lock(path);
    }
    result
}

/// Locks a file, which is made if it does not exist. It is opened for reading alone, so that a file of
/// another user can be locked, and no link is followed.
fn lock(path: &Path) -> io::Result<OwnedFd> {
    let how = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(path, how, Mode::empty()) {
        // Not made if it exists: with O_CREAT the kernel refuses files of others in sticky folders (protected_regular).
        Err(rustix::io::Errno::NOENT) => {
            let readable = Mode::from_raw_mode(0o644);
            let made = open(path, how | OFlags::CREATE | OFlags::EXCL, readable)?;
            // The umask may have taken the other users' right to read it.
            fchmod(&made, readable)?;
            made
        }
        file => file?,
    };
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::testfolder::Folder;

    const ALLOWED: [usize; 4] = [900, 901, 902, 903];

    #[test]
    fn two_processes_never_choose_the_same_cpu() {
        let folder = Folder::new("claims");
        // A registry stands for a process: locks of two open files exclude each other.
        let take = |pins: &[Pin]| Registry::new().take(&folder.0, pins, &ALLOWED, 1);
        let (first, claims) = take(&[Pin::Auto; 2]);
        assert_eq!(first.cpus, [Some(903), Some(902)]);
        let (second, others) = take(&[Pin::Auto]);
        assert_eq!(second.cpus, [Some(901)]);
        let (third, _) = take(&[Pin::Auto]);
        let too_few = Unpinned::TooFew { needed: 2, allowed: 4, taken: 3 };
        assert_eq!((&third.cpus[..], third.unpinned), (&[None][..], Some(too_few)));
        drop(others);
        assert_eq!(take(&[Pin::Auto]).0.cpus, [Some(901)]);
        drop(claims);
        assert_eq!(take(&[Pin::Auto; 3]).0.cpus, [Some(903), Some(902), Some(901)]);
    }

    #[test]
    fn a_configured_cpu_is_claimed_and_used_even_if_another_process_has_it() {
        let folder = Folder::new("claims-configured");
        let take = |pins: &[Pin]| Registry::new().take(&folder.0, pins, &ALLOWED, 1);
        let (first, _claims) = take(&[Pin::Cpu(903)]);
        assert_eq!(first.cpus, [Some(903)]);
        assert_eq!(take(&[Pin::Auto]).0.cpus, [Some(902)]);
        let (second, _) = take(&[Pin::Cpu(903), Pin::Cpu(902)]);
        assert_eq!(second.cpus, [Some(903), Some(902)]);
        // This process, in the place of another one.
        let told: Vec<_> = second.claimed.iter().map(ToString::to_string).collect();
        let own = format!("core 903 is configured, and process {} (", std::process::id());
        assert!(told.len() == 1 && told[0].starts_with(&own), "{told:?}");
        // Whoever has a CPU alone reads nothing.
        assert_eq!((first.claimed, take(&[Pin::Cpu(901)]).0.claimed), (vec![], vec![]));
    }

    #[test]
    fn the_holder_of_a_lock_is_found_by_its_file() {
        let locks = "1: POSIX  ADVISORY  WRITE 11 00:19:70 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 12 00:19:7 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 13 00:19:70 0 EOF\n\
                     3: FLOCK  ADVISORY  WRITE 14 00:19:70 0 EOF\n\
                     4: FLOCK  ADVISORY  WRITE -1 00:19:71 0 EOF\n";
        assert_eq!((holder_in(locks, 7), holder_in(locks, 70)), (Some(12), Some(14)));
        assert_eq!((holder_in(locks, 71), holder_in(locks, 72)), (None, None));
    }

    #[test]
    fn threads_of_one_process_share_a_claim_and_a_preview_claims_nothing() {
        let folder = Folder::new("claims-own");
        let own = Registry::new();
        let pins = [Pin::Auto];
        assert_eq!(own.preview(&folder.0, &pins, &ALLOWED, 1).cpus, [Some(903)]);
        assert_eq!(Registry::new().preview(&folder.0, &pins, &ALLOWED, 1).cpus, [Some(903)]);
        let (first, claims) = own.take(&folder.0, &pins, &ALLOWED, 1);
        let (second, more) = own.take(&folder.0, &pins, &ALLOWED, 1);
        assert_eq!((first.cpus, second.cpus), (vec![Some(903)], vec![Some(903)]));
        // The claim lasts as long as one of the two uses it.
        drop(claims);
        assert_eq!(Registry::new().preview(&folder.0, &pins, &ALLOWED, 1).cpus, [Some(902)]);
        drop(more);
        assert_eq!(Registry::new().preview(&folder.0, &pins, &ALLOWED, 1).cpus, [Some(903)]);
    }

    #[test]
    fn without_a_folder_for_claims_no_cpu_is_chosen() {
        let nowhere = Path::new("/nonexistent");
        let (placement, _) =
            Registry::new().take(nowhere, &[Pin::Auto, Pin::Cpu(901)], &ALLOWED, 1);
        assert_eq!(placement.cpus, [None, Some(901)]);
        let said = placement.unpinned.unwrap().to_string();
        assert!(said.contains("/nonexistent: No such file"), "{said}");
    }

    #[test]
    fn every_user_can_lock_a_file_and_a_link_is_not_followed() {
        let folder = Folder::new("claims-file");
        drop(lock(&folder.at("cpu")).unwrap());
        let mode = fs::metadata(folder.at("cpu")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        std::os::unix::fs::symlink(folder.at("target"), folder.at("link")).unwrap();
        assert!(lock(&folder.at("link")).is_err());
        assert_eq!(folder.names(), ["cpu", "link"]);
    }
}
