//! Time for which threads outside this process waited for a CPU of this machine.
//!
//! A device under test on the same machine, such as a bridge of the kernel or a program behind a ring,
//! loses frames while it waits for a CPU. It is taken for one process, or for the kernel, and it is not known
//! which: so the longest wait of all processes that can have frames counts, the sum of a process's threads, and of
//! the kernel's threads those that handle packets. A process that has neither a socket nor a network device open,
//! such as a compiler, forwards nothing, however long it waits. A process that cannot see the others, as in a container, has the account of
//! the whole machine alone (`/proc/pressure/cpu`, or `/proc/schedstat` without it), less its own waits. The time
//! that a hypervisor gave to others is added. The result is an upper limit of what a device lost, and no more than
//! the time between two reads.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Length of a tick of `/proc/stat`: the kernel shows 100 in a second on every machine (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// Beginnings of the names of the kernel's threads that handle packets.
const PACKETS: [&str; 4] = ["ksoftirqd/", "ktimers/", "napi/", "vhost-"];

/// Beginnings of the names of the open files by which a process can have frames: sockets (of packets, of a tap, to a
/// virtual machine), and devices that give it frames past the kernel.
const FRAMES: [&str; 6] =
    ["socket:", "/dev/net/", "/dev/vhost-", "/dev/vfio/", "/dev/uio", "/dev/infiniband/"];

/// Id of the parent of all of the kernel's threads, and its name.
const KERNEL: (&str, &str) = ("2", "kthreadd");

/// The accounts at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuAccount {
    read: Instant,
    /// Time in which any thread of the machine waited; `None` if the kernel does not tell.
    waited: Option<Duration>,
    /// Sum of the waits of the threads of this process.
    own: Duration,
    /// Wait of each process that may be a device; `None` if other processes are not visible.
    processes: Option<BTreeMap<u32, Duration>>,
    /// Time that the hypervisor gave to other guests, of all CPUs; `None` if the kernel does not tell.
    stolen: Option<Duration>,
}

impl CpuAccount {
    #[must_use]
    pub fn read() -> Self {
        let pressure = text("/proc/pressure/cpu").and_then(|text| some_waited(&text));
        let run_queues = || text("/proc/schedstat").and_then(|text| queues_waited(&text));
        let own = tasks("/proc/self/task");
        Self {
            read: Instant::now(),
            // Pressure counts time in which any thread waited once; run queues count each waiting thread.
            waited: pressure.or_else(run_queues),
            own: own.filter_map(|task| waits(&task)).sum(),
            processes: processes(),
            stolen: text("/proc/stat").and_then(|text| stolen(&text)),
        }
    }

    /// Returns the longest time for which a device outside this process can have waited since an earlier
    /// read; `None` if it is unknown.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Duration> {
        let others = match (&self.processes, &earlier.processes) {
            (Some(now), Some(before)) => {
                // Processes that began or ended in between are left out: their accounts have no difference.
                let both = now.iter().filter_map(|(id, now)| Some((now, before.get(id)?)));
                both.map(|(now, before)| now.saturating_sub(*before)).max().unwrap_or_default()
            }
            _ => {
                let waited = self.waited?.saturating_sub(earlier.waited?);
                waited.saturating_sub(self.own.saturating_sub(earlier.own))
            }
        };
        // Stolen time is of all CPUs, and any of them may have been the device's.
        let most = others + self.stolen?.saturating_sub(earlier.stolen?);
        // Nothing waits for longer than the time between the reads.
        Some(most.min(self.read.saturating_duration_since(earlier.read)))
    }
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the folders in a folder of processes or tasks.
fn tasks(folder: impl AsRef<Path>) -> impl Iterator<Item = PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns the time for which a task waited for a CPU, by the kernel's account of it.
fn waits(task: &Path) -> Option<Duration> {
    let text = fs::read_to_string(task.join("schedstat")).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Returns the waits of the processes that may be a device, by id; `None` if not all processes are visible, or the
/// kernel keeps no account.
fn processes() -> Option<BTreeMap<u32, Duration>> {
    let (id, name) = KERNEL;
    // In a container number 2 is another process or none, and then not all processes are visible.
    let parent = text(&format!("/proc/{id}/comm"))?;
    waits(Path::new("/proc/self"))?;
    let own = std::process::id();
    let waits_of = |folder: PathBuf| {
        let id = folder.file_name()?.to_str()?.parse().ok().filter(|id| *id != own)?;
        let may_be_one = match kernel_thread(&fs::read_to_string(folder.join("stat")).ok()?) {
            Some(name) => PACKETS.iter().any(|packets| name.starts_with(packets)),
            None => may_have_frames(&folder),
        };
        may_be_one.then(|| (id, tasks(folder.join("task")).filter_map(|task| waits(&task)).sum()))
    };
    (parent.trim_end() == name).then(|| tasks("/proc").filter_map(waits_of).collect())
}

/// Returns the name of a thread of the kernel by its `stat`; `None` for a program.
fn kernel_thread(stat: &str) -> Option<&str> {
    // The name may contain spaces and brackets, so the last bracket ends it.
    let (front, rest) = stat.rsplit_once(") ")?;
    let (_, name) = front.split_once('(')?;
    // The second field behind the name is the parent.
    let is_kernel = rest.split_ascii_whitespace().nth(1) == Some(KERNEL.0) || name == KERNEL.1;
    is_kernel.then_some(name)
}

/// True unless a program has none of the files by which it can have frames.
fn may_have_frames(process: &Path) -> bool {
    // Another user's files are not shown: it may have any.
    let Ok(files) = fs::read_dir(process.join("fd")) else { return true };
    let mut files = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    files.any(|file| file.to_str().is_some_and(|file| FRAMES.iter().any(|f| file.starts_with(f))))
}

/// Returns the time in which some thread waited, of `/proc/pressure/cpu`.
fn some_waited(pressure: &str) -> Option<Duration> {
    let line = pressure.lines().find_map(|line| line.strip_prefix("some "))?;
    let total = line.split_ascii_whitespace().find_map(|word| word.strip_prefix("total="))?;
    total.parse().ok().map(Duration::from_micros)
}

/// Returns the waits on the run queues of all CPUs, of `/proc/schedstat`: the second number from the end
/// of each CPU's line.
fn queues_waited(schedstat: &str) -> Option<Duration> {
    let is_cpu = |line: &&str| line.starts_with("cpu");
    let mut found = None;
    for line in schedstat.lines().filter(is_cpu) {
        let ns: u64 = line.split_ascii_whitespace().nth_back(1)?.parse().ok()?;
        found = Some(found.unwrap_or_default() + Duration::from_nanos(ns));
    }
    found
}

/// Returns the time that the hypervisor gave to others, of `/proc/stat`.
fn stolen(stat: &str) -> Option<Duration> {
    let all = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user, nice, system, idle, iowait, irq, softirq, steal (proc(5)).
    let ticks: u32 = all.split_ascii_whitespace().nth(7)?.parse().ok()?;
    Some(TICK * ticks)
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::process::{Child, Command, Stdio};

    use super::*;

    fn account(ms: u64, waited: Option<u64>, own: u64, stolen: u64) -> CpuAccount {
        // Any beginning will do.
        let read = Instant::now() + Duration::from_secs(3600) + Duration::from_millis(ms);
        let ms = Duration::from_millis;
        let (waited, stolen) = (waited.map(ms), Some(ms(stolen)));
        CpuAccount { read, waited, own: ms(own), processes: None, stolen }
    }

    /// The same with the waits of these processes.
    fn seen(account: CpuAccount, waits: &[(u32, u64)]) -> CpuAccount {
        let processes = waits.iter().map(|(id, ms)| (*id, Duration::from_millis(*ms)));
        CpuAccount { processes: Some(processes.collect()), ..account }
    }

    #[test]
    fn without_the_processes_waits_of_others_are_those_of_the_machine_without_the_own() {
        let before = account(0, Some(100), 40, 0);
        let since = |now: CpuAccount| now.since(&before).map(|time| time.as_millis());
        assert_eq!(since(account(2_000, Some(400), 90, 0)), Some(250));
        assert_eq!(since(account(2_000, Some(400), 900, 0)), Some(0));
        assert_eq!(since(account(2_000, Some(400), 900, 30)), Some(30));
        // Not longer than the time itself, whatever several CPUs add up to.
        assert!(since(account(2_000, Some(99_000), 40, 0)).unwrap() <= 2_001);
    }

    #[test]
    fn a_device_waited_as_long_as_the_process_that_waited_longest() {
        let at = |ms, waited, own, stolen| account(ms, Some(waited), own, stolen);
        let before = seen(at(0, 100, 40, 0), &[(7, 10), (8, 500)]);
        let since = |now: CpuAccount| now.since(&before).map(|time| time.as_millis());
        // Many processes that wait in turn are not one that waits all the time; a new one is no device.
        assert_eq!(
            since(seen(at(2_000, 1_900, 40, 0), &[(7, 60), (8, 530), (9, 1_700)])),
            Some(50)
        );
        assert_eq!(since(seen(at(2_000, 1_900, 40, 20), &[(7, 60), (8, 530)])), Some(70));
        // One that waited together with the tester is seen, which the account of the machine does not show.
        assert_eq!(since(seen(at(2_000, 500, 900, 0), &[(7, 410), (8, 500)])), Some(400));
        assert!(since(seen(at(2_000, 0, 0, 0), &[(7, 99_000)])).unwrap() <= 2_001);
        // Processes that can no longer be seen.
        assert_eq!(since(at(2_000, 400, 90, 0)), Some(250));
    }

    #[test]
    fn threads_of_the_kernel_are_known_by_their_parent() {
        let stat = |name: &str, parent: u32| format!("9 ({name}) S {parent} 0 0");
        assert_eq!(kernel_thread(&stat("ksoftirqd/1", 2)), Some("ksoftirqd/1"));
        assert_eq!(kernel_thread(&stat("kworker/u8:1 (a)", 2)), Some("kworker/u8:1 (a)"));
        assert_eq!(kernel_thread(&stat("kthreadd", 0)), Some("kthreadd"));
        assert_eq!(kernel_thread(&stat("ovs-vswitchd", 1)), None);
        assert_eq!(kernel_thread(&stat("a) b (c", 1)), None);
        assert_eq!(kernel_thread(""), None);
    }

    #[test]
    fn a_process_without_a_socket_or_a_device_is_none() {
        let ends = std::os::unix::net::UnixStream::pair().unwrap();
        let (with, without) = (spin(Stdio::from(OwnedFd::from(ends.0))), spin(Stdio::null()));
        let Some(seen) = processes() else {
            eprintln!("skipped: this kernel keeps no account, or hides other processes");
            return;
        };
        assert!(seen.contains_key(&with.0.id()));
        assert!(!seen.contains_key(&without.0.id()));
        assert!(may_have_frames(Path::new("/proc/no such process")), "it is not known");
        for file in ["/dev/net/tun", "/dev/vfio/7", "/dev/uio0", "socket:[12]"] {
            assert!(FRAMES.iter().any(|frames| file.starts_with(frames)), "{file}");
        }
    }

    #[test]
    fn a_kernel_without_accounts_is_unknown_and_not_idle() {
        let known = account(0, Some(0), 0, 0);
        assert_eq!(account(1, None, 0, 9).since(&known), None);
        assert_eq!(known.since(&account(0, None, 0, 0)), None);
        let untold = CpuAccount { stolen: None, ..account(1, Some(5), 0, 0) };
        assert_eq!(untold.since(&known), None);
        assert_eq!(seen(untold, &[(7, 0)]).since(&seen(known, &[(7, 0)])), None);
    }

    #[test]
    fn texts_of_the_kernel_are_read() {
        let pressure = "some avg10=85.69 avg60=52.20 avg300=20.85 total=9404732717\n\
                        full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n";
        assert_eq!(some_waited(pressure), Some(Duration::from_micros(9_404_732_717)));
        assert_eq!(some_waited(""), None);
        let queues = "version 17\ntimestamp 4295\n\
                      cpu0 0 0 0 0 0 0 1000 700 9\ndomain0 MC 03 1 2 3\n\
                      cpu1 0 0 0 0 0 0 1000 300 9\n";
        assert_eq!(queues_waited(queues), Some(Duration::from_nanos(1_000)));
        assert_eq!(queues_waited("version 17\n"), None);
        let stat =
            "cpu  2995835 597369 321754 500225 8366 0 6294 3783 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(stolen(stat), Some(Duration::from_millis(37_830)));
    }

    /// Ends a process also when the test fails.
    struct Busy(Child);

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// A process that never waits for anything but a CPU, with this as its input and no other file.
    fn spin(input: Stdio) -> Busy {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).stdin(input);
        Busy(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    /// More threads than CPUs, in other processes: the machine's account alone shows them.
    #[test]
    fn a_busy_machine_is_seen() {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let ends = || std::os::unix::net::UnixStream::pair().unwrap().0;
        let busy = || spin(Stdio::from(OwnedFd::from(ends())));
        let _busy: Vec<_> = (0..2 * cpus).map(|_| busy()).collect();
        let before = CpuAccount::read();
        if before.waited.is_none() && before.processes.is_none() {
            eprintln!("skipped: this kernel keeps no account of waiting threads");
            return;
        }
        let deadline = Instant::now() + Duration::from_secs(60);
        let waited = loop {
            std::thread::sleep(Duration::from_millis(50));
            let waited = CpuAccount::read().since(&before).unwrap();
            if waited > Duration::from_millis(20) || Instant::now() > deadline {
                break waited;
            }
        };
        assert!(waited > Duration::from_millis(20), "{waited:?}");
    }
}
