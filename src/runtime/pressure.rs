//! Time for which threads outside this process waited for a CPU of this machine.
//!
//! A device under test on the same machine, such as a bridge of the kernel or a program behind a ring,
//! loses frames while it waits for a CPU. Its threads are not known here, so the accounts of the whole
//! machine tell: `/proc/pressure/cpu`, or `/proc/schedstat` without it, less the waits of this process;
//! the waits of the kernel's own network threads, where they are visible; and the time that a hypervisor
//! gave to others. The result is an upper limit of what a device lost, and no more than the time between
//! two reads.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Length of a tick of `/proc/stat`: the kernel shows 100 in a second on every machine (`USER_HZ`).
const TICK: Duration = Duration::from_millis(10);

/// Name of the kernel's threads that handle packets, up to the number of their CPU.
const PACKETS: &str = "ksoftirqd/";

/// Ids of threads among which they are looked for: the kernel starts them before any program, with a few
/// others for each CPU.
fn early_ids() -> core::ops::Range<usize> {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    2..32 + 8 * cpus
}

/// The accounts at one moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CpuAccount {
    read: Instant,
    /// Time in which any thread of the machine waited; `None` if the kernel does not tell.
    waited: Option<Duration>,
    /// Sum of the waits of the threads of this process.
    own: Duration,
    /// Waits of the kernel's threads that handle packets.
    packets: Vec<Duration>,
    /// Time that the hypervisor gave to other guests, of all CPUs; `None` if the kernel does not tell.
    stolen: Option<Duration>,
}

impl CpuAccount {
    /// Reads the accounts.
    #[must_use]
    pub fn read() -> Self {
        let pressure = text("/proc/pressure/cpu").and_then(|text| some_waited(&text));
        let run_queues = || text("/proc/schedstat").and_then(|text| queues_waited(&text));
        let own = tasks("/proc/self/task");
        Self {
            read: Instant::now(),
            waited: pressure.or_else(run_queues),
            own: own.filter_map(|task| waits(&task)).sum(),
            packets: packet_threads(),
            stolen: text("/proc/stat").and_then(|text| stolen(&text)),
        }
    }

    /// Returns the longest time for which a thread outside this process can have waited since an earlier
    /// read; `None` if it is unknown.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Duration> {
        let waited = self.waited?.saturating_sub(earlier.waited?);
        let others = waited.saturating_sub(self.own.saturating_sub(earlier.own));
        let pairs = self.packets.iter().zip(&earlier.packets);
        let packets = pairs.map(|(now, before)| now.saturating_sub(*before)).max();
        let stolen = self.stolen?.saturating_sub(earlier.stolen?);
        let most = others.max(packets.unwrap_or_default()) + stolen;
        Some(most.min(self.read.saturating_duration_since(earlier.read)))
    }
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok()
}

/// Returns the folders of the tasks in a folder.
fn tasks(folder: &str) -> impl Iterator<Item = std::path::PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// Returns the time for which a task waited for a CPU, by the kernel's account of it.
fn waits(task: &Path) -> Option<Duration> {
    let text = fs::read_to_string(task.join("schedstat")).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

/// Returns the waits of the kernel's threads that handle packets, in the order of their CPUs. A process
/// in a container sees none.
fn packet_threads() -> Vec<Duration> {
    let candidates = early_ids().map(|pid| Path::new("/proc").join(pid.to_string()));
    let is_one = |task: &std::path::PathBuf| {
        fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with(PACKETS))
    };
    candidates.filter(is_one).filter_map(|task| waits(&task)).collect()
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
    let ticks: u32 = all.split_ascii_whitespace().nth(7)?.parse().ok()?;
    Some(TICK * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(ms: u64, waited: Option<u64>, own: u64, packets: &[u64], stolen: u64) -> CpuAccount {
        // Any beginning will do.
        let read = Instant::now() + Duration::from_secs(3600) + Duration::from_millis(ms);
        let ms = Duration::from_millis;
        let packets = packets.iter().map(|n| ms(*n)).collect();
        CpuAccount { read, waited: waited.map(ms), own: ms(own), packets, stolen: Some(ms(stolen)) }
    }

    #[test]
    fn waits_of_others_are_those_of_the_machine_without_the_own() {
        let before = account(0, Some(100), 40, &[5, 5], 0);
        let since = |now: CpuAccount| now.since(&before).map(|time| time.as_millis());
        assert_eq!(since(account(2_000, Some(400), 90, &[5, 5], 0)), Some(250));
        assert_eq!(since(account(2_000, Some(400), 900, &[5, 5], 0)), Some(0));
        assert_eq!(since(account(2_000, Some(400), 900, &[5, 125], 30)), Some(150));
        // Not longer than the time itself, whatever several CPUs add up to.
        assert!(since(account(2_000, Some(99_000), 40, &[], 0)).unwrap() <= 2_001);
    }

    #[test]
    fn a_kernel_without_accounts_is_unknown_and_not_idle() {
        let known = account(0, Some(0), 0, &[], 0);
        assert_eq!(account(1, None, 0, &[5], 9).since(&known), None);
        assert_eq!(known.since(&account(0, None, 0, &[], 0)), None);
        let untold = CpuAccount { stolen: None, ..account(1, Some(5), 0, &[], 0) };
        assert_eq!(untold.since(&known), None);
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
    struct Busy(std::process::Child);

    impl Drop for Busy {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// More threads than CPUs, in other processes: the machine's account alone shows them.
    #[test]
    fn a_busy_machine_is_seen() {
        let before = CpuAccount::read();
        if before.waited.is_none() {
            eprintln!("skipped: this kernel keeps no account of waiting threads");
            return;
        }
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let spin = || std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn();
        let _busy: Vec<_> = (0..2 * cpus).map(|_| Busy(spin().unwrap())).collect();
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
