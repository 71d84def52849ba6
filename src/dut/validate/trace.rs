//! Traces of trials: rates and pauses over time for plots, and frames for captures.

use std::collections::BTreeMap;

use crate::observation::{Observation, Record, Way, What};
use crate::setup::{Keep, Setup};
use crate::trial::{FlowId, Port, Trial};
use ground::time::Duration;
use ground::units::{Mac, Quanta};
use wire::{pause, pfc};

/// Number of intervals in which rates are counted.
const BINS: u64 = 120;
/// Most pauses of a trial, and most frames, that are kept.
const PAUSES_MAX: usize = 2_000;
const FRAMES_MAX: usize = 20_000;
/// Most frames that are added for their comments.
const ADDED_MAX: usize = 1_000;

/// A trial as it was seen.
#[derive(Clone, PartialEq, Debug)]
pub struct Seen {
    /// Name of the trial.
    pub trial: String,
    pub length: Duration,
    /// Received bits per second of each flow.
    pub rates: Vec<FlowRates>,
    /// Pauses of both sides.
    pub pauses: Vec<PauseSpan>,
    /// Kept frames, by the time of their last bit.
    pub frames: Vec<Kept>,
    /// Number of frames that were not kept.
    pub left_out: usize,
    /// Number of frames that were added for their comments.
    added: usize,
}

/// Rates of a flow over time.
#[derive(Clone, PartialEq, Debug)]
pub struct FlowRates {
    pub name: String,
    /// Times in nanoseconds, and bits per second from each of them to the next; the last one is the end.
    pub points: Vec<(f64, f64)>,
}

/// A time in which a pause, renewed or not, was in force on the line.
#[derive(Clone, PartialEq, Debug)]
pub struct PauseSpan {
    /// Name of the tester's port.
    pub port: String,
    /// `Sent`: the tester paused the DUT.
    pub way: Way,
    /// Paused priority; `None` for PAUSE.
    pub priority: Option<u8>,
    pub from: Duration,
    pub until: Duration,
}

/// A frame of a capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Kept {
    pub port: Port,
    pub way: Way,
    /// Time of its last bit.
    pub end: Duration,
    /// Length in bytes, FCS included.
    pub len: u32,
    /// First bytes, without FCS.
    pub octets: Box<[u8]>,
    /// Reason for which the DUT failed by this frame.
    pub comment: Option<String>,
}

impl Seen {
    /// Takes what is to be kept of a trial.
    pub fn of(trial: &Trial, seen: &Observation, setup: &Setup, keep: Keep) -> Self {
        let frames = if keep == Keep::Frames { frames(seen) } else { Vec::new() };
        Self {
            trial: trial.name.clone(),
            length: trial.length,
            rates: rates(trial, seen, setup),
            pauses: pauses(seen, setup),
            left_out: seen.records.len().saturating_sub(frames.len()),
            added: 0,
            frames,
        }
    }

    /// Gives the frame of a record a comment. A frame that was left out is added, up to a number.
    pub(crate) fn mark(&mut self, record: &Record, why: &str) {
        let is_it = |kept: &&mut Kept| {
            (kept.port, kept.way, kept.end, kept.len)
                == (record.port, record.way, record.end, record.len)
        };
        // Frames are kept by their ends, so those of the same time stand together.
        let first = self.frames.partition_point(|kept| kept.end < record.end);
        let same = self.frames[first..].iter().take_while(|kept| kept.end == record.end).count();
        let comment = Some(why.to_owned());
        if let Some(kept) = self.frames[first..first + same].iter_mut().find(is_it) {
            kept.comment = comment;
        } else if self.added < ADDED_MAX && !self.frames.is_empty() {
            self.frames.insert(first, Kept { comment, ..kept_of(record) });
            self.added += 1;
            self.left_out = self.left_out.saturating_sub(1);
        }
    }

    /// Removes the frames of a trial in which nothing failed.
    pub(crate) fn forget_frames(&mut self) {
        self.left_out += self.frames.len();
        self.frames = Vec::new();
    }
}

/// Returns all frames, or if there are too many the control frames and a share of the data frames.
fn frames(seen: &Observation) -> Vec<Kept> {
    let is_data = |record: &&Record| matches!(record.what, What::Data { .. });
    // Control frames are the evidence of flow control, so data frames alone are thinned.
    let every = seen.records.len().div_ceil(FRAMES_MAX).max(1);
    let mut n = 0;
    let kept = seen.records.iter().filter(|record| {
        n += usize::from(is_data(record));
        !is_data(record) || n % every == 0
    });
    kept.take(2 * FRAMES_MAX).map(kept_of).collect()
}

fn kept_of(record: &Record) -> Kept {
    let octets = match &record.what {
        What::Control(octets) | What::Other(octets) => {
            record.secured.as_ref().map_or(octets, |secured| &secured.line).clone()
        }
        What::Data { .. } => record.head.clone(),
    };
    let Record { port, way, end, len, .. } = *record;
    Kept { port, way, end, len, octets, comment: None }
}

fn rates(trial: &Trial, seen: &Observation, setup: &Setup) -> Vec<FlowRates> {
    let bin = trial.length.div(BINS).as_picos().max(1);
    let mut bits = vec![vec![0_u64; BINS as usize]; trial.flows.len()];
    for record in seen.records.iter().filter(|record| record.way == Way::Received) {
        let What::Data { flow: FlowId(flow), .. } = record.what else { continue };
        // Frames behind the end of the trial count in the last interval.
        let slot = (record.end.as_picos() / bin).min(BINS - 1) as usize;
        bits[flow][slot] += u64::from(record.len) * 8;
    }
    let seconds = bin as f64 / 1e12;
    let rates = trial.flows.iter().zip(bits).map(|(flow, bits)| {
        let point = |(n, bits): (usize, u64)| (n as f64 * bin as f64 / 1e3, bits as f64 / seconds);
        let (from, to) = (&setup.port(flow.from).name, &setup.port(flow.to).name);
        let name = format!("{from} to {to}, priority {}", flow.priority);
        let mut points: Vec<(f64, f64)> = bits.into_iter().enumerate().map(point).collect();
        // A rate lasts up to the next point; the last one needs an end.
        if let Some((_, last)) = points.last().copied() {
            points.push((trial.length.as_nanos_f64(), last));
        }
        FlowRates { name, points }
    });
    rates.collect()
}

/// Returns the pauses of both sides; those that renew one before their end prolong it.
fn pauses(seen: &Observation, setup: &Setup) -> Vec<PauseSpan> {
    let mut open: BTreeMap<(usize, bool, Option<u8>), (Duration, Duration)> = BTreeMap::new();
    let mut spans = Vec::new();
    let mut close = |(port, sent, priority): (usize, bool, Option<u8>), (from, until)| {
        let port = setup.port(Port(port)).name.clone();
        let way = if sent { Way::Sent } else { Way::Received };
        spans.push(PauseSpan { port, way, priority, from, until });
    };
    for record in &seen.records {
        let What::Control(octets) = &record.what else { continue };
        for (priority, time) in times(octets) {
            let key = (record.port.0, record.way == Way::Sent, priority);
            let until = record.end + time.at(setup.port(record.port).rate);
            match open.get_mut(&key) {
                // In force still: the latest time replaces what was left of the one before.
                Some((_, end)) if *end >= record.end => *end = until,
                Some(old) => {
                    let span = core::mem::replace(old, (record.end, until));
                    close(key, span);
                }
                // XON without a pause before it opens nothing.
                None if time > Quanta(0) => {
                    open.insert(key, (record.end, until));
                }
                None => {}
            }
        }
    }
    open.into_iter().for_each(|(key, span)| close(key, span));
    // A pause that was resumed at once has no length to draw.
    spans.retain(|span| span.until > span.from);
    spans.sort_by_key(|span| span.from);
    spans.truncate(PAUSES_MAX);
    spans
}

/// Returns the pause times of a frame by priority; `None` for PAUSE, which is for all.
fn times(octets: &[u8]) -> Vec<(Option<u8>, Quanta)> {
    if let Ok(frame) = pfc::Repr::parse(octets) {
        let time = |p: ground::units::Priority| Some((Some(p.get()), frame.time(p)?));
        return frame.enabled.iter().filter_map(time).collect();
    }
    let pause = pause::Repr::parse(octets, Mac::default());
    pause.map(|pause| vec![(None, pause.time)]).unwrap_or_default()
}
