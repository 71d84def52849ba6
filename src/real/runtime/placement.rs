//! Choice of the CPUs of polling threads, and sets of CPUs as lists of the kernel name them.
//!
//! [`place`] is pure: the CPUs, and which of them are in use, are arguments. Threads without a CPU in the
//! configuration are pinned all or none: with one CPU too few, a thread that polls without end would share
//! its CPU with another, and the scheduler could not move either.

use core::fmt;
use core::str::FromStr;
use std::collections::BTreeSet;

/// CPUs that a switch leaves for display, service and control.
pub const CONTROL_CPUS: usize = 1;

/// CPU of a polling thread, as configured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pin {
    /// A free CPU, if there are enough of them.
    Auto,
    /// Left to the scheduler.
    None,
    /// The CPU of this number.
    Cpu(usize),
}

/// CPUs of a machine, as seen by one process.
pub struct Cpus<'a> {
    /// CPUs that the process may use.
    pub allowed: &'a [usize],
    /// CPUs that polling threads of other processes are pinned to.
    pub taken: &'a [usize],
    /// CPUs of the physical core of a CPU, if the machine tells.
    pub siblings: &'a dyn Fn(usize) -> Option<CpuSet>,
    /// CPUs that are left for threads that do not poll.
    pub spare: usize,
}

/// CPUs of polling threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Placement {
    /// CPU by thread; none: not pinned.
    pub cpus: Vec<Option<usize>>,
    /// Reason why threads with [`Pin::Auto`] are not pinned.
    pub unpinned: Option<Unpinned>,
    /// CPUs with [`Pin::Cpu`] that polling threads of other processes are pinned to.
    pub claimed: Vec<Claimed>,
}

/// A configured CPU that another process of Sluice polls on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Claimed {
    pub cpu: usize,
    /// Number and command line of the process, if the system tells.
    pub process: Option<String>,
}

impl fmt::Display for Claimed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "core {} is configured, and ", self.cpu)?;
        match &self.process {
            Some(process) => write!(f, "process {process} polls on it, too"),
            None => f.write_str("another process of Sluice polls on it, too"),
        }
    }
}

/// Reason why threads are not pinned.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unpinned {
    /// There are fewer CPUs than threads and [`Cpus::spare`].
    TooFew {
        needed: usize,
        allowed: usize,
        /// CPUs of `allowed` that other processes poll on.
        taken: usize,
    },
    /// The CPUs of other processes are unknown, for this reason.
    Unseen(String),
}

impl fmt::Display for Unpinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooFew { needed, allowed, taken } => {
                let plural = if *needed == 1 { "" } else { "s" };
                write!(f, "they need {needed} CPU{plural}, this process may use {allowed}")?;
                match taken {
                    0 => Ok(()),
                    _ => write!(f, ", and other processes of Sluice poll on {taken} of them"),
                }
            }
            Self::Unseen(why) => {
                write!(f, "the CPUs of other processes of Sluice are not known: {why}")
            }
        }
    }
}

/// Chooses a CPU for each thread with [`Pin::Auto`], if the CPUs that no other process polls on are enough
/// for all threads and for [`Cpus::spare`].
#[must_use]
pub fn place(pins: &[Pin], cpus: &Cpus<'_>) -> Placement {
    let configured = pins.iter().map(|pin| match pin {
        Pin::Cpu(cpu) => Some(*cpu),
        Pin::Auto | Pin::None => None,
    });
    let mut placed: Vec<Option<usize>> = configured.collect();
    let both = placed.iter().flatten().copied().filter(|cpu| cpus.taken.contains(cpu));
    let both: BTreeSet<usize> = both.collect();
    let claimed: Vec<_> = both.into_iter().map(|cpu| Claimed { cpu, process: None }).collect();
    // Configured CPUs are used whatever other threads do; that they are claimed is only reported.
    if !pins.contains(&Pin::Auto) {
        return Placement { cpus: placed, unpinned: None, claimed };
    }
    let is_configured = |cpu: &usize| pins.contains(&Pin::Cpu(*cpu));
    let is_taken = |cpu: &&usize| cpus.taken.contains(*cpu) && !is_configured(cpu);
    let (needed, allowed) = (pins.len() + cpus.spare, cpus.allowed.len());
    let taken = cpus.allowed.iter().filter(is_taken).count();
    // All or none: a polling thread that shares a CPU slows the other down more than the scheduler would.
    if allowed < needed + taken {
        let unpinned = Some(Unpinned::TooFew { needed, allowed, taken });
        return Placement { cpus: placed, unpinned, claimed };
    }
    let mut polled: Vec<usize> = cpus.taken.to_vec();
    polled.extend(placed.iter().flatten());
    let first = cpus.allowed.iter().min();
    for (cpu, _) in placed.iter_mut().zip(pins).filter(|(_, pin)| **pin == Pin::Auto) {
        let free = cpus.allowed.iter().filter(|cpu| !polled.contains(cpu));
        // Two threads on one physical core share its speed. The first CPU has most of the system's work.
        let cost = |cpu: &&usize| {
            let core = (cpus.siblings)(**cpu);
            let is_shared =
                core.is_some_and(|core| polled.iter().any(|other| core.contains(*other)));
            (is_shared, first == Some(*cpu), core::cmp::Reverse(**cpu))
        };
        *cpu = free.min_by_key(cost).copied();
        // A CPU that was chosen is in use for the threads that follow.
        polled.extend(*cpu);
    }
    Placement { cpus: placed, unpinned: None, claimed }
}

/// Most CPUs of a machine that a set can name: as many as the kernel's own type for C programs.
const CPUS_MAX: usize = 1024;

/// A set of CPUs: `2,4-7`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuSet([u64; CPUS_MAX / 64]);

/// An error in a list of CPUs.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CpuSetError {
    #[error("`{0}` is no CPU; give numbers and ranges, such as 2,4-7")]
    NoNumber(String),
    #[error("CPU {0} is above {max}, the last one that can be named", max = CPUS_MAX - 1)]
    TooLarge(usize),
    #[error("the range {0}-{1} ends before it begins; swap its ends")]
    Reversed(usize, usize),
}

impl CpuSet {
    /// Returns true if a CPU is in the set.
    #[must_use]
    pub const fn contains(&self, cpu: usize) -> bool {
        cpu < CPUS_MAX && self.0[cpu / 64] >> (cpu % 64) & 1 == 1
    }

    /// Returns the CPUs in their order.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        (0..CPUS_MAX).filter(|cpu| self.contains(*cpu))
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    fn from_str(list: &str) -> Result<Self, CpuSetError> {
        let number = |text: &str| {
            let is_plain = !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
            // The parser would take a sign, too.
            let parsed = text.parse::<usize>().ok().filter(|_| is_plain);
            let cpu = parsed.ok_or_else(|| CpuSetError::NoNumber(text.to_owned()))?;
            if cpu < CPUS_MAX { Ok(cpu) } else { Err(CpuSetError::TooLarge(cpu)) }
        };
        let mut set = Self([0; CPUS_MAX / 64]);
        for part in list.split(',').map(str::trim) {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (number(from)?, number(to)?);
            if from > to {
                return Err(CpuSetError::Reversed(from, to));
            }
            (from..=to).for_each(|cpu| set.0[cpu / 64] |= 1 << (cpu % 64));
        }
        Ok(set)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut cpus = self.iter().peekable();
        while let Some(from) = cpus.next() {
            let mut to = from;
            while let Some(next) = cpus.next_if(|next| *next == to + 1) {
                to = next;
            }
            write!(f, "{separator}{from}")?;
            if to > from {
                write!(f, "-{to}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use Pin::{Auto, Cpu};

    use super::*;

    /// Two CPUs per physical core: `first` and `first + cores`, as most machines number them.
    fn pairs(cores: usize) -> impl Fn(usize) -> Option<CpuSet> {
        move |cpu| format!("{},{}", cpu % cores, cpu % cores + cores).parse().ok()
    }

    fn on(
        pins: &[Pin],
        allowed: &[usize],
        taken: &[usize],
        siblings: &dyn Fn(usize) -> Option<CpuSet>,
    ) -> Placement {
        place(pins, &Cpus { allowed, taken, siblings, spare: 1 })
    }

    fn cpus(pins: &[Pin], allowed: &[usize], taken: &[usize]) -> Vec<Option<usize>> {
        on(pins, allowed, taken, &|_| None).cpus
    }

    #[test]
    fn the_last_cpus_are_chosen_and_the_first_one_is_left() {
        assert_eq!(cpus(&[Auto; 2], &[0, 1, 2, 3], &[]), [Some(3), Some(2)]);
        assert_eq!(cpus(&[Auto; 3], &[0, 1, 2, 3], &[]), [Some(3), Some(2), Some(1)]);
        assert_eq!(cpus(&[Auto], &[0, 1], &[]), [Some(1)]);
        // The order of the list does not matter, and CPUs that are not in it are not used.
        assert_eq!(cpus(&[Auto; 2], &[6, 2, 4], &[]), [Some(6), Some(4)]);
    }

    #[test]
    fn with_one_cpu_too_few_no_thread_is_pinned() {
        let few = on(&[Auto; 2], &[0, 1], &[], &|_| None);
        assert_eq!(few.cpus, [None, None]);
        let said = few.unpinned.unwrap().to_string();
        assert_eq!(said, "they need 3 CPUs, this process may use 2");
        // A thread that is left to the scheduler needs a CPU as well.
        assert_eq!(cpus(&[Auto, Pin::None], &[0, 1], &[]), [None, None]);
        assert_eq!(cpus(&[Auto, Pin::None], &[0, 1, 2], &[]), [Some(2), None]);
        assert_eq!(cpus(&[Auto], &[], &[]), [None]);
        // Without `auto`, there is nothing to choose and nothing to report.
        let none = on(&[Pin::None, Cpu(0)], &[0], &[], &|_| None);
        assert_eq!(none, Placement { cpus: vec![None, Some(0)], unpinned: None, claimed: vec![] });
    }

    #[test]
    fn configured_cpus_are_not_used_again() {
        assert_eq!(cpus(&[Cpu(3), Auto], &[0, 1, 2, 3], &[]), [Some(3), Some(2)]);
        assert_eq!(cpus(&[Auto, Cpu(2), Auto], &[0, 1, 2, 3], &[]), [Some(3), Some(2), Some(1)]);
        assert_eq!(cpus(&[Auto, Cpu(1)], &[0, 1], &[]), [None, Some(1)]);
    }

    #[test]
    fn cpus_of_other_processes_are_not_used() {
        assert_eq!(cpus(&[Auto], &[0, 1, 2, 3], &[3]), [Some(2)]);
        assert_eq!(cpus(&[Auto; 2], &[0, 1, 2, 3], &[3]), [Some(2), Some(1)]);
        let few = on(&[Auto; 3], &[0, 1, 2, 3], &[3], &|_| None);
        assert_eq!(few.cpus, [None; 3]);
        let said = few.unpinned.unwrap().to_string();
        assert!(said.ends_with("other processes of Sluice poll on 1 of them"), "{said}");
        // One that is configured here in spite of it is counted once, and reported once.
        let both = on(&[Cpu(2), Auto], &[0, 1, 2], &[2], &|_| None);
        assert_eq!(both.cpus, [Some(2), Some(1)]);
        assert_eq!(both.claimed, [Claimed { cpu: 2, process: None }]);
        let twice = on(&[Cpu(2), Cpu(2), Cpu(1)], &[0, 1, 2], &[2, 0], &|_| None);
        let told: Vec<_> = twice.claimed.iter().map(ToString::to_string).collect();
        assert_eq!(told, ["core 2 is configured, and another process of Sluice polls on it, too"]);
        // One that this process may not use anyway.
        assert_eq!(cpus(&[Auto], &[0, 1], &[7]), [Some(1)]);
    }

    #[test]
    fn two_threads_share_a_physical_core_only_where_no_other_is_free() {
        let all = [0, 1, 2, 3];
        let on_pairs = |pins: &[Pin], taken: &[usize]| on(pins, &all, taken, &pairs(2)).cpus;
        // 0 and 2 are one core, 1 and 3 the other.
        assert_eq!(on_pairs(&[Auto; 2], &[]), [Some(3), Some(2)]);
        assert_eq!(on_pairs(&[Auto], &[3]), [Some(2)]);
        assert_eq!(on_pairs(&[Cpu(3), Auto], &[]), [Some(3), Some(2)]);
        assert_eq!(on_pairs(&[Auto; 3], &[]), [Some(3), Some(2), Some(1)]);
        // Neighbours are one core: 3 would share with 2 and has to wait.
        let neighbours =
            |cpu: usize| format!("{},{}", cpu / 2 * 2, cpu / 2 * 2 + 1).parse::<CpuSet>().ok();
        assert_eq!(on(&[Auto; 2], &all, &[], &neighbours).cpus, [Some(3), Some(1)]);
        assert_eq!(on(&[Cpu(2), Auto], &all, &[], &neighbours).cpus, [Some(2), Some(1)]);
        assert_eq!(on(&[Auto; 3], &all, &[], &neighbours).cpus, [Some(3), Some(1), Some(2)]);
    }

    #[test]
    fn a_list_is_read_and_written() {
        for (list, written) in
            [("3", "3"), ("2,4-7", "2,4-7"), ("7, 5-6,5", "5-7"), ("0-1023", "0-1023")]
        {
            let set: CpuSet = list.parse().unwrap();
            assert_eq!(set.to_string(), written);
            assert_eq!(written.parse(), Ok(set));
        }
        let set: CpuSet = "2,64-65".parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), [2, 64, 65]);
        assert!(!set.contains(3) && !set.contains(5_000));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (list, part) in [
            ("", "`` is no CPU"),
            ("a", "`a` is no CPU"),
            ("+1", "`+1` is no CPU"),
            ("1-", "`` is no CPU"),
            ("1,,2", "`` is no CPU"),
            ("99999999999999999999999", "is no CPU"),
            ("1024", "CPU 1024 is above 1023"),
            ("5-4", "ends before it begins"),
        ] {
            let error = list.parse::<CpuSet>().unwrap_err().to_string();
            assert!(error.contains(part), "{list}: {error}");
        }
    }
}
