//! The polling threads of a run: their start, their loop, orders to them, and their end.
//!
//! A switch, a test, a lab on rings and a measurement say what one of their threads polls
//! ([`PollLoop`]); everything else is here:
//!
//! - **Start.** Each thread is prepared in itself (pinned, registered with DPDK) before it reads its
//!   clock for the first time. No thread polls before all are prepared; if one cannot be, all end, and
//!   [`NotStarted`] names it.
//! - **Loop.** [`PollLoop::POLLS`] polls, then a check of the orders and of the stop flag. The loop makes no
//!   system call and takes no lock unless [`AfterPoll`] says so: a check without orders is three loads.
//! - **Orders.** The sender of an order waits for the answer, never the thread. A wait lasts five seconds,
//!   and longer by the time for which the threads had no CPU.
//! - **End.** A thread ends by itself, or all end by the stop flag, which a panic sets too. Orders that
//!   were sent before are obeyed first. Dropping [`PollThreads`] stops and joins the threads.

use std::fmt;
use std::hint;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration as StdDuration;

use crossbeam::channel::{
    Receiver, RecvTimeoutError, SendTimeoutError, Sender, bounded, unbounded,
};

use super::preemption::{Disturbance, Patience, Preemption, SLICE};

/// Capacity of a thread's queue of orders. A sender that finds it full waits, so this is no limit.
const ORDERS: usize = 64;

/// Time limit for an answer. A thread checks its orders every few microseconds; a longer delay means that
/// the machine has no free CPU.
const ANSWER: StdDuration = StdDuration::from_secs(5);

/// Contents of a polling thread. Dispatch is static: the loop around a poll is compiled for it.
pub trait PollLoop {
    /// An order to the thread. It carries the sender of its answer, if it has one.
    type Order;
    /// Result of the thread.
    type End;

    /// Polls between two checks of the orders: few enough for answers within microseconds, many enough
    /// that the check costs nothing compared with the polls.
    const POLLS: u32 = 64;
    /// The same after an order.
    const POLLS_AFTER_ORDER: u32 = Self::POLLS;

    /// Called before each round of polls.
    #[inline]
    fn begin_round(&mut self) {}

    fn poll(&mut self) -> AfterPoll;

    /// Called after a sleep for which a poll asked: the gap before the next poll is intended.
    #[inline]
    fn slept(&mut self) {}

    /// Executes an order, between two polls.
    fn obey(&mut self, order: Self::Order);

    /// Called in the thread after the last poll.
    fn end(self) -> Self::End;
}

/// Action of a polling thread after a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AfterPoll {
    /// Polls again at once.
    Again,
    /// Does the same, and tells the CPU that it waits.
    Spin,
    /// Yields the CPU to other threads.
    Yield,
    /// Sleeps, and checks the orders.
    Sleep(StdDuration),
    /// Checks the orders now, because the round has taken long.
    Orders,
    /// Ends the thread.
    End,
    /// Ends all threads.
    EndAll,
}

impl AfterPoll {
    /// The usual action: a thread without work spins, unless it yields.
    #[inline]
    pub(super) const fn rest(progressed: bool, yields: bool) -> Self {
        match (yields, progressed) {
            (true, _) => Self::Yield,
            (false, true) => Self::Again,
            (false, false) => Self::Spin,
        }
    }
}

/// State that the threads of a run share with their observers.
#[derive(Debug)]
pub struct PollGroup {
    /// Time for which each thread was preempted, if the threads enter themselves.
    pub preemption: Preemption,
    stop: AtomicBool,
}

/// Ends the other threads if this one panics: they would wait for it, or for a controller.
struct StopOnPanic<'a>(&'a PollGroup);

impl Drop for StopOnPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Reason why no polling thread was started.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{why}")]
pub struct NotStarted {
    /// Number of the thread, from 0.
    pub thread: usize,
    pub why: String,
}

/// A new polling thread, as it sees itself. Its code calls [`Self::run`] once.
pub struct PollThread<'a, O> {
    /// Number of the thread, from 0.
    pub number: usize,
    pub group: &'a PollGroup,
    orders: Receiver<O>,
    prepared: Sender<(usize, Result<(), String>)>,
    /// Receives once all threads are prepared; its sender is dropped if one cannot be.
    begin: Receiver<()>,
}

impl<O> PollThread<'_, O> {
    /// Prepares the thread, waits until all others are prepared, and polls to the end. What `prepare`
    /// returns is dropped in this thread after the loop. `make` may read the clock.
    pub fn run<G, L: PollLoop<Order = O>>(
        self,
        prepare: impl FnOnce() -> Result<G, String>,
        make: impl FnOnce() -> L,
    ) -> Option<L::End> {
        let Self { number, group, orders, prepared, begin } = self;
        let guard = match prepare() {
            Ok(guard) => guard,
            Err(why) => {
                let _ = prepared.send((number, Err(why)));
                return None;
            }
        };
        let _ = prepared.send((number, Ok(())));
        // Without a sender left, the starter knows that the threads that have not answered have panicked.
        drop(prepared);
        begin.recv().ok()?;
        let end = poll_to_end(make(), &orders, &group.stop);
        drop(guard);
        Some(end)
    }
}

/// Polls until the poll says that it is the last one, or until the stop flag is set.
fn poll_to_end<L: PollLoop>(
    mut polled: L,
    orders: &Receiver<L::Order>,
    stop: &AtomicBool,
) -> L::End {
    let mut polls = L::POLLS;
    loop {
        polled.begin_round();
        for _ in 0..polls {
            match polled.poll() {
                AfterPoll::Again => {}
                AfterPoll::Spin => hint::spin_loop(),
                AfterPoll::Yield => thread::yield_now(),
                AfterPoll::Sleep(span) => {
                    thread::sleep(span);
                    polled.slept();
                    break;
                }
                AfterPoll::Orders => break,
                AfterPoll::End => return polled.end(),
                AfterPoll::EndAll => {
                    stop.store(true, Ordering::Relaxed);
                    return polled.end();
                }
            }
        }
        polls = L::POLLS;
        // Not `try_recv` alone: on an empty queue it is a fence, which costs more than a short poll.
        if !orders.is_empty() {
            if let Ok(order) = orders.try_recv() {
                polled.obey(order);
                polls = L::POLLS_AFTER_ORDER;
            }
        } else if stop.load(Ordering::Relaxed) {
            // Relaxed: the flag orders nothing, and a round later is early enough.
            return polled.end();
        }
    }
}

/// Starts a thread for each of `bodies`, named `name` with its number. A body calls [`PollThread::run`].
///
/// # Errors
/// [`NotStarted`] names the first thread that could not be started; all have ended then.
pub fn start<O, E, B>(
    name: &str,
    bodies: impl IntoIterator<Item = B>,
) -> Result<(Orders<O>, PollThreads<E>), NotStarted>
where
    O: Send + 'static,
    E: Send + 'static,
    B: FnOnce(PollThread<'_, O>) -> Option<E> + Send + 'static,
{
    let bodies: Vec<B> = bodies.into_iter().collect();
    let count = bodies.len();
    let preemption = Preemption::new(count);
    let group = Arc::new(PollGroup { preemption, stop: AtomicBool::new(false) });
    let mut threads = PollThreads { group: group.clone(), handles: Vec::new() };
    let (prepared, answers) = unbounded();
    // Behind the threads: on an error it is dropped before they are joined, and those that wait for it end.
    let (all_prepared, begin) = bounded(count);
    let mut senders = Vec::new();
    for (number, body) in bodies.into_iter().enumerate() {
        let (sender, orders) = bounded(ORDERS);
        let (group, prepared, begin) = (group.clone(), prepared.clone(), begin.clone());
        let run = move || {
            let _stop = StopOnPanic(&group);
            group.preemption.register(number);
            body(PollThread { number, group: &group, orders, prepared, begin })
        };
        let handle = thread::Builder::new().name(format!("{name}{number}")).spawn(run);
        let failed = |error| NotStarted { thread: number, why: format!("no thread: {error}") };
        threads.handles.push(handle.map_err(failed)?);
        senders.push(sender);
    }
    drop(prepared);
    // All answers are awaited, so that the error is that of the first thread in any order of answers.
    let mut whys = vec![Some("it panicked".to_owned()); count];
    answers.iter().for_each(|(number, result): (usize, Result<_, _>)| whys[number] = result.err());
    for (thread, why) in whys.into_iter().enumerate() {
        if let Some(why) = why {
            return Err(NotStarted { thread, why });
        }
    }
    (0..count).for_each(|_| all_prepared.send(()).expect("there is room, and a receiver here"));
    Ok((Orders { senders, group }, threads))
}

/// Running polling threads. Dropping it stops and joins them.
pub struct PollThreads<E> {
    group: Arc<PollGroup>,
    /// A thread that did not begin returns none.
    handles: Vec<JoinHandle<Option<E>>>,
}

impl<E> PollThreads<E> {
    #[must_use]
    pub fn group(&self) -> &PollGroup {
        &self.group
    }

    /// True if a thread has ended.
    #[must_use]
    pub fn any_ended(&self) -> bool {
        self.handles.iter().any(JoinHandle::is_finished)
    }

    /// True if all threads have ended.
    #[must_use]
    pub fn all_ended(&self) -> bool {
        self.handles.iter().all(JoinHandle::is_finished)
    }

    /// Tells the threads to end, and does not wait for it.
    pub fn stop(&self) {
        self.group.stop.store(true, Ordering::Relaxed);
    }

    /// Stops the threads and returns their results in order, or the message of a thread's panic.
    #[must_use]
    pub fn join(mut self) -> Vec<Result<E, String>> {
        self.stop();
        let ends = std::mem::take(&mut self.handles).into_iter().map(JoinHandle::join);
        ends.filter_map(|end| end.map_err(|panic| message(&*panic)).transpose()).collect()
    }
}

impl<E> fmt::Debug for PollThreads<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PollThreads").field("threads", &self.handles.len()).finish_non_exhaustive()
    }
}

impl<E> Drop for PollThreads<E> {
    fn drop(&mut self) {
        self.stop();
        self.handles.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Message of a panic.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("(no message)").into()
}

/// Sends orders to polling threads.
pub struct Orders<O> {
    senders: Vec<Sender<O>>,
    group: Arc<PollGroup>,
}

impl<O> fmt::Debug for Orders<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Orders").field("threads", &self.threads()).finish_non_exhaustive()
    }
}

/// An answer that a thread will give.
#[derive(Debug)]
pub struct Answer<T> {
    thread: usize,
    receiver: Receiver<T>,
}

/// Reason why a thread did not take or answer an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoAnswer {
    /// The thread has ended: it was stopped, or it panicked.
    Ended { thread: usize },
    /// It did not answer for this time although it was not preempted.
    Silent { thread: usize, waited: StdDuration },
    /// The threads were preempted for so long that they could not answer.
    Starved { thread: usize, disturbance: Disturbance },
}

impl NoAnswer {
    fn from_wait(thread: usize, patience: &Patience<'_>) -> Self {
        match patience.starved() {
            Some(disturbance) => Self::Starved { thread, disturbance },
            None => Self::Silent { thread, waited: ANSWER + patience.stolen() },
        }
    }
}

impl<O> Orders<O> {
    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.senders.len()
    }

    #[must_use]
    pub fn preemption(&self) -> &Preemption {
        &self.group.preemption
    }

    /// Sends an order to a thread, and waits for space in its queue.
    ///
    /// # Errors
    /// [`NoAnswer`] if the thread takes no orders.
    pub fn send(&self, thread: usize, mut order: O) -> Result<(), NoAnswer> {
        let sender = self.senders.get(thread).ok_or(NoAnswer::Ended { thread })?;
        // In slices, so that time for which the threads were preempted is not held against them.
        let mut patience = Patience::new(self.preemption(), ANSWER);
        loop {
            order = match sender.send_timeout(order, SLICE) {
                Ok(()) => return Ok(()),
                Err(SendTimeoutError::Disconnected(_)) => return Err(NoAnswer::Ended { thread }),
                Err(SendTimeoutError::Timeout(order)) => order,
            };
            if patience.is_over() {
                return Err(NoAnswer::from_wait(thread, &patience));
            }
        }
    }

    /// Sends an order with an answer, and does not wait for the answer.
    ///
    /// # Errors
    /// [`NoAnswer`] if the thread takes no orders.
    pub fn ask<T>(
        &self,
        thread: usize,
        order: impl FnOnce(Sender<T>) -> O,
    ) -> Result<Answer<T>, NoAnswer> {
        // Room for the answer: a thread never waits for a sender that has given up.
        let (answer, receiver) = bounded(1);
        self.send(thread, order(answer))?;
        Ok(Answer { thread, receiver })
    }

    /// Waits for an answer.
    ///
    /// # Errors
    /// [`NoAnswer`] if the thread does not answer.
    pub fn wait<T>(&self, answer: &Answer<T>) -> Result<T, NoAnswer> {
        let thread = answer.thread;
        let mut patience = Patience::new(self.preemption(), ANSWER);
        loop {
            match answer.receiver.recv_timeout(SLICE) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => return Err(NoAnswer::Ended { thread }),
                Err(RecvTimeoutError::Timeout) if patience.is_over() => {
                    return Err(NoAnswer::from_wait(thread, &patience));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Sends an order to one thread and waits for the answer.
    ///
    /// # Errors
    /// [`NoAnswer`] if the thread does not answer.
    pub fn one<T>(&self, thread: usize, order: impl FnOnce(Sender<T>) -> O) -> Result<T, NoAnswer> {
        self.wait(&self.ask(thread, order)?)
    }

    /// Sends an order to all threads and waits for all answers.
    ///
    /// # Errors
    /// [`NoAnswer`] if a thread does not answer.
    pub fn all<T>(&self, order: impl Fn(Sender<T>) -> O) -> Result<Vec<T>, NoAnswer> {
        // All orders are sent before the first answer is awaited, so that the readings are close in time.
        let asked = (0..self.threads()).map(|thread| self.ask(thread, &order));
        let answers = asked.collect::<Result<Vec<_>, _>>()?;
        answers.iter().map(|answer| self.wait(answer)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts its polls; an order asks for the number.
    struct Counter {
        polls: u32,
        last: Option<AfterPoll>,
    }

    impl PollLoop for Counter {
        type Order = Sender<u32>;
        type End = u32;

        const POLLS_AFTER_ORDER: u32 = 1;

        fn poll(&mut self) -> AfterPoll {
            self.polls += 1;
            self.last.filter(|_| self.polls == 100).unwrap_or(AfterPoll::Yield)
        }

        fn obey(&mut self, answer: Sender<u32>) {
            assert!(answer.capacity() == Some(1), "this order is not obeyed");
            let _ = answer.try_send(self.polls);
        }

        fn end(self) -> u32 {
            self.polls
        }
    }

    type Started = Result<(Orders<Sender<u32>>, PollThreads<u32>), NotStarted>;

    fn counters(lasts: [Option<AfterPoll>; 3]) -> Started {
        let body = |last| {
            move |thread: PollThread<'_, _>| thread.run(|| Ok(()), || Counter { polls: 0, last })
        };
        start("counter", lasts.map(body))
    }

    fn wait_for(what: impl Fn() -> bool) {
        let mut waits = 0..1_000;
        assert!(waits.any(|_| what() || {
            thread::sleep(StdDuration::from_millis(10));
            false
        }));
    }

    #[test]
    fn orders_are_obeyed_one_per_poll_and_before_the_end() {
        let (orders, threads) = counters([None; 3]).unwrap();
        assert_eq!(orders.all(|answer| answer).unwrap().len(), 3);
        let asked: Vec<_> = (0..20).map(|_| orders.ask(1, |answer| answer).unwrap()).collect();
        threads.stop();
        let polls: Vec<_> = asked.iter().map(|answer| orders.wait(answer).unwrap()).collect();
        assert!(polls.windows(2).all(|two| two[0] < two[1]), "{polls:?}");
        assert!(threads.join().into_iter().all(|end| end.is_ok_and(|polls| polls > 0)));
        let gone = orders.one(2, |answer| answer);
        assert_eq!(gone, Err(NoAnswer::Ended { thread: 2 }));
        assert_eq!(orders.one(3, |answer| answer), Err(NoAnswer::Ended { thread: 3 }));
    }

    /// A wait for its first answer must see that it gets no processor.
    #[test]
    fn a_thread_is_registered_before_it_is_prepared() {
        let body = |_| {
            |thread: PollThread<'_, _>| {
                let (group, number) = (thread.group, thread.number);
                let is_known = || group.preemption.is_registered(number);
                let prepare = || if is_known() { Ok(()) } else { Err("unknown".to_owned()) };
                thread.run(prepare, || Counter { polls: 0, last: None })
            }
        };
        assert!(start("counter", (0..2).map(body)).is_ok());
    }

    #[test]
    fn a_thread_ends_alone_or_ends_all() {
        let (_, threads) = counters([None, Some(AfterPoll::End), None]).unwrap();
        wait_for(|| threads.any_ended());
        thread::sleep(StdDuration::from_millis(20));
        assert!(!threads.all_ended());
        drop(threads);
        let (_, threads) = counters([None, Some(AfterPoll::EndAll), None]).unwrap();
        wait_for(|| threads.all_ended());
        assert_eq!(threads.join()[1], Ok(100));
    }

    #[test]
    fn a_panic_ends_all_and_has_a_message() {
        let (orders, threads) = counters([None; 3]).unwrap();
        orders.send(1, unbounded().0).unwrap();
        wait_for(|| threads.all_ended());
        let ends = threads.join();
        assert_eq!(ends[1], Err("this order is not obeyed".into()));
        assert!(ends[0].is_ok() && ends[2].is_ok());
    }

    /// The first of two failures, whichever thread answers first; no thread polls.
    #[test]
    fn all_threads_are_started_or_none() {
        for panics in [false, true] {
            let body = |number| {
                move |thread: PollThread<'_, Sender<u32>>| {
                    let prepare = || match number {
                        1 if panics => panic!("at its start"),
                        1 | 2 => Err(format!("{number} is refused")),
                        _ => Ok(()),
                    };
                    thread.run(prepare, || -> Counter { panic!("polls") })
                }
            };
            let failed = start("counter", [0, 1, 2].map(body)).map(|_| ()).unwrap_err();
            let why = if panics { "it panicked" } else { "1 is refused" };
            assert_eq!(failed, NotStarted { thread: 1, why: why.into() });
        }
    }
}
