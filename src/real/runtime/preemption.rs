//! Time for which polling threads were off their processors, and waits that allow for it.
//!
//! A test that a busy machine disturbed must neither fail nor pass for that reason. So every thread
//! that polls ports is registered here, and two sources give the time for which it did not run:
//!
//! - the kernel's account (`run_delay` of `/proc/self/task/TID/schedstat`), which includes all time
//!   in which the thread was runnable and another one ran. An observer reads it when it waits or
//!   reports; the polling thread makes no system call for it;
//! - gaps between polls longer than [`GAP_COUNTED`], which the thread detects by the time that it
//!   reads for its poll anyway. They include causes that the kernel does not see: a stopped
//!   process, a hypervisor that runs another guest.
//!
//! [`Patience`] is a deadline that grows by that time, and [`Disturbance`] is the input for a
//! verdict.

use std::cmp::Reverse;
use std::fmt;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration as StdDuration, Instant as StdInstant};

use crossbeam::utils::CachePadded;

use ground::time::{Duration, Instant, Total};

/// Shortest gap between two polls that counts as preemption. A choice: longer than a poll that
/// moves full bursts at every port, shorter than a scheduler's slice.
pub const GAP_COUNTED: Duration = Duration::from_millis(1);

/// Longest growth of a wait. A thread that gets no processor for a minute is not waited for.
pub const GROWTH_MAX: StdDuration = StdDuration::from_secs(60);

/// Longest sleep between two calls of [`Patience::is_over`].
pub const SLICE: StdDuration = StdDuration::from_millis(50);

/// Polling threads of one run.
#[derive(Debug)]
pub struct Preemption {
    slots: Box<[CachePadded<Slot>]>,
    /// By thread: the kernel's account at the last read. Observers only.
    accounts: Mutex<Vec<Account>>,
}

/// Counters that a polling thread writes.
#[derive(Debug, Default)]
struct Slot {
    /// Thread id in the kernel; 0 before it began.
    tid: AtomicU64,
    /// Sum of all counted gaps in nanoseconds (range 584 years).
    gaps: AtomicU64,
    /// Longest counted gap, in picoseconds, since [`Preemption::clear`].
    longest: AtomicU64,
}

/// The kernel's account of one thread.
#[derive(Clone, Copy, Debug)]
struct Account {
    /// Time on the processor and time runnable without one, in nanoseconds.
    account: (u64, u64),
    /// `run_delay` when the thread was first seen.
    first: Option<u64>,
    /// Time at which the account last changed.
    changed: StdInstant,
    /// Total at the last [`Preemption::clear`].
    cleared: Total,
}

/// Gaps between the polls of one thread.
#[derive(Debug)]
pub struct PollGaps<'a> {
    slot: &'a Slot,
    last: Instant,
}

/// Disturbance of a run by the machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Disturbance {
    /// Time off the processor, of the thread that lost most.
    pub preempted: Total,
    /// Longest gap between two polls, of any thread; zero if none was counted.
    pub longest: Duration,
    /// Number of the thread that lost most, from 0.
    pub thread: usize,
}

impl Preemption {
    /// Account of `threads` threads that have not begun.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let account = Account {
            account: (0, 0),
            first: None,
            changed: StdInstant::now(),
            cleared: Total::ZERO,
        };
        let slots = (0..threads).map(|_| CachePadded::default()).collect();
        Self { slots, accounts: Mutex::new(vec![account; threads]) }
    }

    /// Registers the calling thread as number `thread`, as the first thing that it does: one that gets no processor
    /// before its first poll is starved, too.
    pub(crate) fn register(&self, thread: usize) {
        // Without an id only the gaps between polls are known.
        self.slots[thread].tid.store(own_tid().unwrap_or(0), Ordering::Relaxed);
    }

    /// Begins to measure the gaps between the polls of a registered thread; `now` is the time of its first poll.
    #[must_use]
    pub fn enter(&self, thread: usize, now: Instant) -> PollGaps<'_> {
        PollGaps { slot: &self.slots[thread], last: now }
    }

    #[cfg(test)]
    pub(crate) fn is_registered(&self, thread: usize) -> bool {
        self.slots[thread].tid.load(Ordering::Relaxed) != 0
    }

    /// Time off the processor since the start, of the thread that lost most. It includes the time
    /// of a thread that is off the processor now.
    #[must_use]
    pub fn total(&self) -> Total {
        self.totals().into_iter().max().unwrap_or(Total::ZERO)
    }

    /// Disturbance since the last [`Preemption::clear`].
    #[must_use]
    pub fn disturbance(&self) -> Disturbance {
        let totals = self.totals();
        let accounts = self.accounts();
        let since = totals.iter().zip(accounts.iter()).map(|(t, s)| t.saturating_sub(s.cleared));
        let longest = self.slots.iter().map(|slot| slot.longest.load(Ordering::Relaxed)).max();
        // Of equal ones the first.
        let most = since.enumerate().max_by_key(|(n, lost)| (*lost, Reverse(*n)));
        let (thread, preempted) = most.unwrap_or((0, Total::ZERO));
        Disturbance { preempted, longest: Duration::from_picos(longest.unwrap_or(0)), thread }
    }

    /// Begins a new run: time lost before does not disturb it.
    pub fn clear(&self) {
        let totals = self.totals();
        for ((slot, account), total) in
            self.slots.iter().zip(self.accounts().iter_mut()).zip(totals)
        {
            // Only the longest is reset; the sums grow on, and are compared with those at this moment.
            slot.longest.store(0, Ordering::Relaxed);
            account.cleared = total;
        }
    }

    fn accounts(&self) -> std::sync::MutexGuard<'_, Vec<Account>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn totals(&self) -> Vec<Total> {
        let mut accounts = self.accounts();
        let of = |(slot, account): (&CachePadded<Slot>, &mut Account)| {
            let gaps = Total::from_nanos(slot.gaps.load(Ordering::Relaxed));
            match slot.tid.load(Ordering::Relaxed) {
                0 => gaps,
                // The two sources overlap, so the larger one counts and not the sum.
                tid => account.update(tid).max(gaps),
            }
        };
        self.slots.iter().zip(accounts.iter_mut()).map(of).collect()
    }
}

impl Account {
    /// Time without a processor since the thread was first seen. The kernel adds a wait to its
    /// account when it is over, so a wait in progress is measured here.
    fn update(&mut self, tid: u64) -> Total {
        let now = StdInstant::now();
        let Some(account) = schedstat(tid) else { return self.known() };
        let first = self.first.is_none();
        // Waits before the first look, such as at the creation of the thread, are not part of the run.
        self.first.get_or_insert(account.1);
        // A wait in progress is not in the account: while it stands still, the time since its last change counts.
        if first || account != self.account {
            (self.account, self.changed) = (account, now);
            return self.known();
        }
        let waits = if is_kept_waiting(tid) { now - self.changed } else { StdDuration::ZERO };
        self.known() + waits
    }

    fn known(&self) -> Total {
        Total::from_nanos(self.account.1 - self.first.unwrap_or(self.account.1))
    }
}

impl PollGaps<'_> {
    /// Records a poll at `now`, by a clock that does not stop. True if the gap before it counts: a
    /// thread that checks its orders once in many polls should do so now.
    #[inline]
    pub fn polled(&mut self, now: Instant) -> bool {
        let gap = now.since(self.last);
        self.last = now;
        let counts = gap >= GAP_COUNTED;
        if counts {
            self.count(gap);
        }
        counts
    }

    /// The thread slept on purpose: the gap until `now` is not preemption.
    #[inline]
    pub const fn slept(&mut self, now: Instant) {
        self.last = now;
    }

    #[cold]
    fn count(&self, gap: Duration) {
        self.slot.gaps.fetch_add(gap.as_nanos(), Ordering::Relaxed);
        self.slot.longest.fetch_max(gap.as_picos(), Ordering::Relaxed);
    }
}

impl fmt::Display for Disturbance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded up: a disturbance is never 0 ms.
        let longest = self.preempted.max(self.longest.into());
        write!(f, "the machine was busy for {} ms", longest.as_picos().div_ceil(1_000_000_000))
    }
}

/// A deadline for an answer of a polling thread. It grows by the time for which threads of the run
/// were off the processor, up to `GROWTH_MAX`, and excludes time in which the waiting thread itself
/// did not run.
#[derive(Debug)]
pub struct Patience<'a> {
    preemption: &'a Preemption,
    base: StdDuration,
    waited: StdDuration,
    last: StdInstant,
    /// [`Preemption::total`] at the first read, which most waits never need.
    from: Option<Total>,
}

impl<'a> Patience<'a> {
    /// Waits for `base` of time in which the threads of the run had their processors.
    #[must_use]
    pub fn new(preemption: &'a Preemption, base: StdDuration) -> Self {
        let (waited, last) = (StdDuration::ZERO, StdInstant::now());
        Self { preemption, base, waited, last, from: None }
    }

    /// Restarts the wait after an answer.
    pub fn renew(&mut self) {
        *self = Self::new(self.preemption, self.base);
    }

    /// True if the wait is over. Must be called at least once in [`SLICE`].
    pub fn is_over(&mut self) -> bool {
        let now = StdInstant::now();
        // A longer step means that the waiting thread itself did not run, which is no fault of the others.
        self.waited += (now - self.last).min(2 * SLICE);
        self.last = now;
        self.from.get_or_insert_with(|| self.preemption.total());
        // The first comparison alone decides most calls, and saves the reads of the accounts.
        self.waited >= self.base && self.waited >= self.base + self.stolen().min(GROWTH_MAX)
    }

    /// Time off the processor during the wait, of the thread that lost most.
    #[must_use]
    pub fn stolen(&self) -> StdDuration {
        let stolen =
            self.from.map_or(Total::ZERO, |from| self.preemption.total().saturating_sub(from));
        StdDuration::from_nanos(stolen.as_nanos())
    }

    /// The disturbance, if it explains a missing answer: the threads lost at least as much time as
    /// the wait was meant to give them.
    #[must_use]
    pub fn starved(&self) -> Option<Disturbance> {
        let stolen = self.stolen();
        let preempted = Total::from(stolen);
        (stolen >= self.base).then(|| Disturbance { preempted, ..Disturbance::default() })
    }
}

/// Id of the calling thread in the kernel.
fn own_tid() -> Option<u64> {
    let link = fs::read_link("/proc/thread-self").ok()?;
    link.file_name()?.to_str()?.parse().ok()
}

/// Nanoseconds that a thread of this process ran, and was runnable without a processor; none if the
/// kernel keeps no such account or the thread has ended.
fn schedstat(tid: u64) -> Option<(u64, u64)> {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).ok()?;
    let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
    Some((numbers.next()?, numbers.next()?))
}

/// True if a thread that does not run could: it is runnable, or stopped from outside.
fn is_kept_waiting(tid: u64) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/self/task/{tid}/stat")) else { return false };
    // The name before the state may contain any character.
    let state = stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next());
    matches!(state, Some('R' | 'T' | 't'))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::thread;

    use super::*;

    fn at_ms(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn long_gaps_between_polls_count_and_short_ones_do_not() {
        let preemption = Preemption::new(2);
        let mut gaps = PollGaps { slot: &preemption.slots[1], last: at_ms(0) };
        assert!(!(0..1_000).any(|us| gaps.polled(Instant::ZERO + Duration::from_micros(us))));
        assert_eq!(preemption.disturbance(), Disturbance::default());
        assert_eq!([31, 32, 132].map(at_ms).map(|now| gaps.polled(now)), [true; 3]);
        gaps.slept(at_ms(10_000));
        gaps.polled(at_ms(10_000));
        let found = preemption.disturbance();
        assert_eq!(found.longest, Duration::from_millis(100));
        // 30.001 ms, 1 ms and 100 ms.
        assert_eq!(found.preempted, Duration::from_micros(131_001));
        assert_eq!(found.to_string(), "the machine was busy for 132 ms");
        assert_eq!(found.thread, 1);
        preemption.clear();
        assert_eq!(preemption.disturbance(), Disturbance::default());
        assert_eq!(preemption.total(), found.preempted, "waits need a sum that only grows");
    }

    #[test]
    fn a_wait_grows_by_what_its_threads_lost_and_no_further_than_the_limit() {
        let preemption = Preemption::new(1);
        let gaps = PollGaps { slot: &preemption.slots[0], last: at_ms(0) };
        let base = StdDuration::from_secs(5);
        let mut patience = Patience::new(&preemption, base);
        assert!(!patience.is_over());
        patience.waited = base;
        assert!(patience.is_over() && patience.starved().is_none());
        gaps.count(Duration::from_secs(7));
        assert!(!patience.is_over(), "7 s more");
        patience.waited = base + StdDuration::from_secs(7);
        assert!(patience.is_over());
        assert_eq!(patience.starved().unwrap().preempted, Duration::from_secs(7));
        gaps.count(Duration::from_secs(1_000));
        patience.waited = base + GROWTH_MAX;
        assert!(patience.is_over());
    }

    #[test]
    fn a_waiting_thread_that_did_not_run_itself_has_not_waited() {
        let preemption = Preemption::new(1);
        let mut patience = Patience::new(&preemption, StdDuration::from_secs(5));
        patience.last = StdInstant::now().checked_sub(StdDuration::from_secs(60)).unwrap();
        assert!(!patience.is_over());
        assert!(patience.waited <= 2 * SLICE);
    }

    /// More threads than CPUs that never sleep: each is off the processor part of the time, and the
    /// kernel's account shows it without a poll.
    #[test]
    fn the_kernel_s_account_is_read_from_another_thread() {
        if own_tid().and_then(schedstat).is_none() {
            eprintln!("skipped: this kernel keeps no account of waiting threads");
            return;
        }
        let threads = 2 * thread::available_parallelism().map_or(1, usize::from);
        let (preemption, stop) = (Preemption::new(threads), AtomicBool::new(false));
        thread::scope(|scope| {
            for n in 0..threads {
                let (preemption, stop) = (&preemption, &stop);
                scope.spawn(move || {
                    preemption.register(n);
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            // The first read sets the base of each account. A wait in progress is in the total, and
            // in the account once it is over.
            let deadline = StdInstant::now() + StdDuration::from_secs(60);
            let is_accounted = || {
                let total = preemption.total();
                total > Duration::ZERO
                    && preemption.accounts().iter().any(|s| s.known() > Duration::ZERO)
            };
            while !is_accounted() && StdInstant::now() < deadline {
                thread::sleep(StdDuration::from_millis(20));
            }
            stop.store(true, Ordering::Relaxed);
        });
        assert!(preemption.total() > Total::ZERO);
    }
}
