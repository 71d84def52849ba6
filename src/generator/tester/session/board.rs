//! The state of a test's flows while it runs: transmission, arrival of the sent frames, and
//! rates.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration as StdDuration;

use super::Inner;
use crate::figures::{FlowTally, Rates, Transmit};
use crate::plan::{FlowPlan, TestPlan};
use ground::time::{Duration, Instant};
use host::plan::stream::StreamPlan;
use host::{FlowId, Spares};
use smallvec::SmallVec;

/// Time without an arrival after which the missing frames of a flow count as lost. A choice:
/// longer than any pause lasts and any switch holds a frame.
pub const GRACE: Duration = Duration::from_millis(500);

/// The same if as many frames as were sent have arrived, but not at each receiver.
const GRACE_ENOUGH: Duration = Duration::from_millis(50);

/// Interval between two samples while frames are sent or in flight.
const INTERVAL_AWAKE: StdDuration = StdDuration::from_millis(20);
/// Interval between two samples otherwise.
const INTERVAL_ASLEEP: StdDuration = StdDuration::from_millis(200);

/// The interval grows by one interval for each of this many flows.
const FLOWS_PER_INTERVAL: usize = 1_000;

/// Samples between two readings of devices' clocks: some seconds.
const REFRESH_EVERY: u32 = 100;

/// Minimum time from a kept sample to the next but one.
const STEP_MIN: Duration = Duration::from_millis(20);

/// The window of rates.
const WINDOW: Duration = Duration::from_secs(1);

/// Counters at one moment, without the expensive ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    pub(super) at: Instant,
    pub(super) ports: Vec<Counts>,
    pub(super) flows: Vec<FlowSample>,
}

/// Counters of a port or of a flow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    /// Times of the counters of the sending side and of the receiving side.
    pub(super) at: (Instant, Instant),
    /// Frames and bytes sent, frames and bytes received.
    pub(super) counts: [u64; 4],
}

impl Counts {
    /// Returns the counters of a port from those of its queues.
    pub(super) fn sum(queues: Vec<Self>) -> Self {
        queues.into_iter().fold(Self::default(), |all, queue| Self {
            at: (all.at.0.max(queue.at.0), all.at.1.max(queue.at.1)),
            counts: core::array::from_fn(|n| all.counts[n] + queue.counts[n]),
        })
    }
}

/// Counters of a flow.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowSample {
    /// Times of the counters of its sender and its receivers.
    pub(super) at: (Instant, Instant),
    pub(super) tally: FlowTally,
    /// True if each receiver has as many frames as were sent.
    pub(super) all_arrived: bool,
    /// True if its sender has finished.
    pub(super) ended: bool,
}

impl FlowSample {
    /// A flow before its first counters.
    pub(super) fn of(plan: &FlowPlan) -> Self {
        let tally = FlowTally { tx: (0, 0), rx: SmallVec::from_elem((0, 0), plan.rx.len()) };
        Self { tally, ended: true, ..Self::default() }
    }

    /// Returns frames and bytes sent, and frames and bytes received at all of its receivers.
    fn counts(&self) -> Counts {
        let ((frames_tx, bytes_tx), (frames_rx, bytes_rx)) = (self.tally.tx, self.tally.received());
        Counts { at: self.at, counts: [frames_tx, bytes_tx, frames_rx, bytes_rx] }
    }
}

#[derive(Debug)]
pub(super) struct Board {
    pub(super) flows: Vec<FlowState>,
    /// Oldest first; the window of rates.
    samples: VecDeque<Sample>,
    /// Time of the last start of flows.
    pub(super) epoch: Option<Instant>,
    /// Warnings from the run, each once.
    pub(super) warnings: Vec<String>,
}

#[derive(Clone, Debug)]
pub(super) struct FlowState {
    pub(super) transmit: Phase,
    /// Time of its last start.
    pub(super) started: Option<Instant>,
    /// The stream after an update, and true if the update was after the last start.
    pub(super) changed: Option<(Box<StreamPlan>, bool)>,
    /// True if a port counts its frames.
    counted: bool,
    /// The received frames at the last arrival, and its time.
    last_arrival: (u64, Instant),
}

/// The phase of a flow between its start and its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Phase {
    Stopped,
    Started,
    Paused,
    /// Its sender has finished at this time, and frames may be in flight.
    Draining(Instant),
}

impl Phase {
    /// Returns the state that clients see.
    pub(super) const fn shown(self) -> Transmit {
        match self {
            Self::Stopped => Transmit::Stopped,
            Self::Started | Self::Draining(_) => Transmit::Started,
            Self::Paused => Transmit::Paused,
        }
    }
}

impl Board {
    pub(super) fn new(plan: &TestPlan) -> Self {
        let flow = |f: &FlowPlan| FlowState {
            transmit: Phase::Stopped,
            started: None,
            changed: None,
            counted: f.is_counted() && !f.rx.is_empty(),
            last_arrival: (0, Instant::ZERO),
        };
        let flows = plan.flows.iter().map(flow).collect();
        Self { flows, samples: VecDeque::new(), epoch: None, warnings: Vec::new() }
    }

    /// Returns true if any flow sends or has frames in flight.
    pub(super) fn is_awake(&self) -> bool {
        self.flows.iter().any(|flow| flow.transmit != Phase::Stopped)
    }

    /// Records a restart of flows, whose counters were cleared.
    pub(super) fn started(&mut self, epoch: Instant, which: &[FlowId]) {
        self.epoch = Some(epoch);
        // Rates count from here on, from the first frame of the started flows.
        let mut last = self.samples.pop_back();
        self.samples.clear();
        if let Some(sample) = &mut last {
            sample.at = epoch;
            for id in which {
                let flow = &mut sample.flows[id.0 as usize];
                flow.at = (epoch, epoch);
                flow.tally.tx = (0, 0);
                // The stations have cleared the counters of these flows.
                flow.tally.rx.fill((0, 0));
            }
        }
        self.samples.extend(last);
        for id in which {
            let flow = &mut self.flows[id.0 as usize];
            (flow.transmit, flow.started, flow.last_arrival) =
                (Phase::Started, Some(epoch), (0, epoch));
            if let Some((_, since_start)) = &mut flow.changed {
                *since_start = false;
            }
        }
    }

    /// Adds a warning, unless it is there already.
    pub(super) fn warn(&mut self, what: String) {
        if !self.warnings.contains(&what) {
            self.warnings.push(what);
        }
    }

    /// Records a sample, and updates the phases of flows.
    pub(super) fn take(&mut self, sample: Sample) {
        let now = sample.at;
        // A sample from before the last start has the old counters.
        if self.epoch.is_some_and(|epoch| now < epoch) {
            return;
        }
        for (flow, seen) in self.flows.iter_mut().zip(&sample.flows) {
            let received = seen.tally.received().0;
            if received != flow.last_arrival.0 {
                flow.last_arrival = (received, now);
            }
            if flow.transmit == Phase::Started && seen.ended {
                flow.transmit = Phase::Draining(now);
            }
            if let Phase::Draining(since) = flow.transmit {
                let quiet = now.since(since.max(flow.last_arrival.1));
                // Enough in all: what one receiver lacks has arrived at another.
                let enough = received >= seen.tally.tx.0;
                let patience = if enough { GRACE_ENOUGH } else { GRACE };
                if !flow.counted || seen.all_arrived || quiet >= patience {
                    flow.transmit = Phase::Stopped;
                }
            }
        }
        // Frequent samples replace each other, so that they do not lengthen the window.
        let before = self.samples.len().checked_sub(2).map(|n| self.samples[n].at);
        if before.is_some_and(|at| now.since(at) < STEP_MIN) {
            self.samples.pop_back();
        }
        self.samples.push_back(sample);
        // The oldest sample kept is the last one that is at least a window old.
        while self.samples.get(1).is_some_and(|s| now.since(s.at) >= WINDOW) {
            self.samples.pop_front();
        }
    }

    /// Returns the rates per second over the last second or since the start: by port and by flow.
    pub(super) fn rates(&self) -> (Vec<Rates>, Vec<Rates>) {
        let (Some(old), Some(new)) = (self.samples.front(), self.samples.back()) else {
            return (Vec::new(), Vec::new());
        };
        let ports = old.ports.iter().zip(&new.ports);
        let ports = ports.map(|(o, n)| rates(*o, *n));
        let flows = old.flows.iter().zip(&new.flows);
        let flows = flows.map(|(o, n)| rates(o.counts(), n.counts()));
        (ports.collect(), flows.collect())
    }
}

/// Returns the rates between two samples. Each side uses the time of its own counters, because
/// the threads' replies may be milliseconds apart.
fn rates(old: Counts, new: Counts) -> Rates {
    let spans = [new.at.0.since(old.at.0), new.at.1.since(old.at.1)];
    let rate = |n: usize| {
        // The first two counters are the sender's, the others the receiver's.
        let span = spans[n / 2].as_secs_f64();
        if span > 0.0 { new.counts[n].saturating_sub(old.counts[n]) as f64 / span } else { 0.0 }
    };
    Rates { frames_tx: rate(0), bytes_tx: rate(1), frames_rx: rate(2), bytes_rx: rate(3) }
}

/// Samples the flows of a test until it ends.
pub(super) fn watch(inner: &Inner) {
    let mut samples_taken = 0_u32;
    while !inner.ending.load(Ordering::Relaxed) {
        samples_taken = samples_taken.wrapping_add(1);
        if samples_taken % REFRESH_EVERY == 0 && inner.refresh_stamps().is_err() {
            return;
        }
        let awake = inner.board().is_awake();
        if inner.take_sample().and_then(|()| inner.follow_links()).is_err() {
            inner.board().warn("a thread of the test is gone: start the test again".into());
            return;
        }
        // A sample of ten thousand flows costs the polling threads some hundred microseconds.
        let many = 1 + (inner.plan.flows.len() / FLOWS_PER_INTERVAL) as u32;
        thread::park_timeout(if awake {
            INTERVAL_AWAKE * many
        } else {
            INTERVAL_ASLEEP.max(INTERVAL_AWAKE * many)
        });
    }
}

impl Inner {
    /// Samples all counters, and lets the threads sleep once no frame is sent or in flight.
    pub(super) fn take_sample(&self) -> Result<(), super::SessionError> {
        let sample = self.sample()?;
        self.spares.iter().for_each(Spares::fill);
        let mut board = self.board();
        board.take(sample);
        self.shared.awake.store(board.is_awake(), Ordering::Relaxed);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use smallvec::smallvec;

    use super::*;

    const EPOCH: Instant = Instant::from_picos(1_000_000);

    fn board() -> Board {
        let flow = FlowState {
            transmit: Phase::Stopped,
            started: None,
            changed: None,
            counted: true,
            last_arrival: (0, Instant::ZERO),
        };
        let mut board =
            Board { flows: vec![flow], samples: VecDeque::new(), epoch: None, warnings: vec![] };
        board.started(EPOCH, &[FlowId(0)]);
        board
    }

    /// A sample at this many milliseconds after the start.
    fn sample(board: &mut Board, ms: u64, sent: u64, received: u64, ended: bool) -> Phase {
        let tally = FlowTally { tx: (sent, sent * 64), rx: smallvec![(received, received * 64)] };
        let now = EPOCH + Duration::from_millis(ms);
        let at = (now, now);
        let flow = FlowSample { at, tally, all_arrived: received >= sent, ended };
        let port = Counts { at, counts: [sent, 0, received, 0] };
        board.take(Sample { at: now, ports: vec![port], flows: vec![flow] });
        board.flows[0].transmit
    }

    #[test]
    fn a_flow_has_stopped_when_its_last_frame_is_there() {
        let mut board = board();
        assert_eq!(sample(&mut board, 10, 100, 90, false), Phase::Started);
        assert!(matches!(sample(&mut board, 20, 200, 150, true), Phase::Draining(_)));
        assert!(matches!(sample(&mut board, 30, 200, 199, true), Phase::Draining(_)));
        assert_eq!(sample(&mut board, 40, 200, 200, true), Phase::Stopped);
        assert!(!board.is_awake());
    }

    proptest! {
        #[test]
        fn what_is_lost_is_given_up_so_long_after_the_last_arrival(
            last in 1_u64..2_000,
            lost in 1_u64..100,
        ) {
            let mut board = board();
            sample(&mut board, 0, 200, 0, true);
            sample(&mut board, last, 200, 200 - lost, true);
            let grace = GRACE.as_picos() / 1_000_000_000;
            let before = sample(&mut board, last + grace - 1, 200, 200 - lost, true);
            prop_assert!(matches!(before, Phase::Draining(_)));
            let after = sample(&mut board, last + grace, 200, 200 - lost, true);
            prop_assert_eq!(after, Phase::Stopped);
        }
    }

    #[test]
    fn a_look_from_before_a_start_says_nothing_of_it() {
        let mut board = board();
        let tally = FlowTally { tx: (5, 320), rx: smallvec![(5, 320)] };
        let at = (Instant::ZERO, Instant::ZERO);
        let flow = FlowSample { at, tally, all_arrived: true, ended: true };
        let ports = vec![Counts::default()];
        board.take(Sample { at: Instant::ZERO, ports, flows: vec![flow] });
        assert_eq!(board.flows[0].transmit, Phase::Started);
        assert!(board.rates().1.is_empty());
    }

    #[test]
    fn rates_are_those_of_the_last_second() {
        let mut board = board();
        for (ms, sent) in [(0, 0), (500, 5_000), (1_000, 5_000), (2_000, 6_000), (2_500, 6_500)] {
            sample(&mut board, ms, sent, sent, false);
        }
        let rates = board.rates().1[0];
        // From 1 s on: 1,500 frames in 1.5 s.
        assert_eq!((rates.frames_tx, rates.bytes_rx), (1_000.0, 64_000.0));
    }

    /// A sender that replies some milliseconds late has sent more by then, at the same rate.
    #[test]
    fn rates_go_by_the_time_at_which_each_side_was_asked() {
        let mut board = board();
        let ms = |n: u64| EPOCH + Duration::from_millis(n);
        for (n, late_tx, late_rx) in [(0, 0, 0), (400, 7, 2), (800, 1, 9), (1_200, 12, 0)] {
            let (sent_at, received_at) = (n + late_tx, n + late_rx);
            let tally = FlowTally {
                tx: (sent_at * 10, sent_at * 640),
                rx: smallvec![(received_at * 10, received_at * 640)],
            };
            let at = (ms(sent_at), ms(received_at));
            let flow = FlowSample { at, tally, all_arrived: false, ended: false };
            let port = Counts { at, counts: [sent_at * 20, 0, received_at * 20, 0] };
            board.take(Sample { at: ms(n), ports: vec![port], flows: vec![flow] });
            let (ports, flows) = board.rates();
            if n > 0 {
                for (rate, wanted) in [
                    (flows[0].frames_tx, 10_000.0),
                    (flows[0].frames_rx, 10_000.0),
                    (ports[0].frames_tx, 20_000.0),
                    (ports[0].frames_rx, 20_000.0),
                ] {
                    assert!((rate - wanted).abs() < 1e-6, "{rate} at {n}");
                }
            }
        }
    }

    #[test]
    fn a_start_is_where_the_rate_of_a_flow_counts_from() {
        let mut board = board();
        sample(&mut board, 0, 90_000, 90_000, true);
        let epoch = EPOCH + Duration::from_millis(500);
        board.started(epoch, &[FlowId(0)]);
        sample(&mut board, 510, 50, 40, false);
        let rate = board.rates().1[0].frames_tx;
        assert!((rate - 5_000.0).abs() < 1e-6, "{rate}");
    }

    #[test]
    fn whoever_asks_often_takes_no_more_memory() {
        let mut board = board();
        for n in 0..5_000 {
            sample(&mut board, n, n, n, false);
        }
        assert!(board.samples.len() <= 101, "{}", board.samples.len());
        let rate = board.rates().1[0].frames_tx;
        assert!((rate - 1_000.0).abs() < 1e-6, "{rate}");
    }
}
