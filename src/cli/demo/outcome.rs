//! Results of the two runs and their checks.

use std::collections::BTreeMap;

use serde::Serialize;

use super::lab::{Ended, Run};
use super::plan::{LOSSLESS, LOSSY, Setup};
use crate::host::{Latency, StationSnapshot};
use crate::time::Duration;
use crate::units::Priority;
use crate::verdict::Verdict;
use ::text::count;

/// Result of the demo.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Outcome {
    /// Parameters of the runs.
    pub(super) setup: SetupSummary,
    /// PFC off, then PFC on; the second is missing if the first was interrupted or the second was
    /// starved of CPU time.
    pub(super) runs: Vec<RunSummary>,
    /// Checks of the expected effects.
    pub(super) checks: Vec<Check>,
    /// Worst verdict of all checks; at best inconclusive if a signal or a busy machine ended the
    /// demo.
    pub(super) verdict: Verdict,
    /// True if a signal ended it.
    pub(super) interrupted: bool,
    /// Disturbance by the machine that ended the run with PFC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) disturbance: Option<String>,
}

/// Parameters of the runs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct SetupSummary {
    pub(super) senders: u16,
    pub(super) link_rate_bps: u64,
    pub(super) frame_bytes: u32,
    pub(super) seconds: f64,
    pub(super) headroom_bytes_per_sender: u64,
    pub(super) frames_in_flight_max: u32,
    pub(super) ring_frames: u32,
    pub(super) cpus: u8,
}

/// One run.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RunSummary {
    pub(super) pfc: bool,
    /// True if a signal ended it early.
    pub(super) interrupted: bool,
    pub(super) lossless: PrioritySummary,
    pub(super) lossy: PrioritySummary,
    /// PFC frames that the switch sent for the lossless priority.
    pub(super) pauses_sent: u64,
    /// PFC frames that the hosts received and obeyed.
    pub(super) pauses_obeyed: u64,
    /// Average part of the time that a sender was paused.
    pub(super) paused_share: f64,
    /// Size of the shared pool; without PFC it includes the headroom.
    pub(super) shared_bytes: u64,
    /// Peak use of the shared pool.
    pub(super) shared_peak_bytes: u64,
    /// Peak use of any group, headroom included.
    pub(super) group_peak_bytes: u64,
    /// Peak headroom of any sender's group.
    pub(super) headroom_peak_bytes: u64,
    /// From the first frame to the end of the drain.
    pub(super) elapsed_ns: u64,
    /// Time for which threads were preempted, excluded from the clocks.
    pub(super) stalled_ns: u64,
    /// Frames dropped by the switch, by reason.
    pub(super) drops: BTreeMap<&'static str, u64>,
    /// True if every frame sent was delivered or dropped for a named reason.
    pub(super) accounted: bool,
    /// Number of times that a host's frame pool was empty.
    pub(super) dry: u64,
}

/// Result of one priority.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PrioritySummary {
    pub(super) priority: u8,
    pub(super) sent_frames: u64,
    pub(super) delivered_frames: u64,
    pub(super) lost_frames: u64,
    pub(super) duplicated_frames: u64,
    pub(super) reordered_frames: u64,
    pub(super) delivered_bps: f64,
    pub(super) latency_p50_ns: u64,
    pub(super) latency_p99_ns: u64,
    pub(super) latency_max_ns: u64,
}

/// A check of one expected effect.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    pub(super) verdict: Verdict,
    pub(super) text: String,
}

/// Result of checks that an interrupted run does not allow.
const INTERRUPTED: &str = "interrupted before it could be seen";

impl Outcome {
    pub(super) fn new(setup: &Setup, one_cpu: bool, off: &Run, on: Option<&Ended>) -> Self {
        let (on, disturbance) = match on {
            Some(Ended::Whole(on)) => (Some(on), None),
            Some(Ended::Starved(disturbance)) => (None, Some(disturbance.to_string())),
            None => (None, None),
        };
        let interrupted = disturbance.is_none() && on.is_none_or(|on| on.interrupted);
        let mut runs = vec![RunSummary::new(setup, false, off)];
        runs.extend(on.map(|on| RunSummary::new(setup, true, on)));
        let mut checks = checks(setup, &runs);
        if interrupted {
            let text = "a signal ended the demo before its time".into();
            checks.push(Check { verdict: Verdict::Inconclusive, text });
        }
        if let Some(disturbance) = &disturbance {
            let text = format!("PFC on: {disturbance}, so the run ended before its time");
            checks.push(Check { verdict: Verdict::Inconclusive, text });
        }
        let verdict = Verdict::of_all(checks.iter().map(|check| check.verdict));
        let setup = SetupSummary {
            senders: setup.senders,
            link_rate_bps: setup.rate.get(),
            frame_bytes: setup.size,
            seconds: setup.send_for.as_secs_f64(),
            headroom_bytes_per_sender: setup.headroom_bytes(),
            frames_in_flight_max: setup.in_flight(),
            ring_frames: setup.ring(),
            cpus: if one_cpu { 1 } else { 2 },
        };
        Self { setup, runs, checks, verdict, interrupted, disturbance }
    }
}

impl RunSummary {
    fn new(setup: &Setup, pfc: bool, run: &Run) -> Self {
        let (receiver, senders) = run.hosts.split_last().expect("the demo has hosts");
        let elapsed = receiver.at.since(super::plan::START);
        let of = |p| PrioritySummary::new(p, senders, receiver, elapsed);
        let (lossless, lossy) = (of(LOSSLESS), of(LOSSY));
        let ports = || run.switch.ports.iter().map(|p| &p.counters);
        let class = LOSSLESS.index();
        let groups = || ports().flat_map(|c| &c.priorities);
        let pauses = || senders.iter().map(|s| s.counters.priorities[class]);
        let drops = run.switch.drops();
        let dropped = |p: Priority| ports().map(|c| c.priorities[p.index()].dropped).sum::<u64>();
        let accounted = run.switch.balance().holds()
            && run.switch.held == 0
            && lossless.lost_frames == dropped(LOSSLESS)
            && lossy.lost_frames == dropped(LOSSY)
            && lossless.lost_frames + lossy.lost_frames == drops.total();
        let paused: f64 = pauses().map(|p| p.paused.as_secs_f64()).sum();
        Self {
            pfc,
            interrupted: run.interrupted,
            pauses_sent: ports().map(|c| c.priorities[class].pfc_tx_frames).sum(),
            pauses_obeyed: pauses().map(|p| p.obeyed).sum(),
            paused_share: paused / (f64::from(setup.senders) * setup.send_for.as_secs_f64()),
            shared_bytes: setup.shared_bytes(pfc),
            shared_peak_bytes: run.switch.shared_pool.peak_bytes,
            group_peak_bytes: groups().map(|g| g.buffer_peak_bytes).max().unwrap_or(0),
            headroom_peak_bytes: groups().map(|g| g.headroom_peak_bytes).max().unwrap_or(0),
            elapsed_ns: elapsed.as_nanos(),
            stalled_ns: run.stalled.as_nanos(),
            drops: drops.iter().map(|(reason, n)| (reason.name(), n)).collect(),
            accounted,
            dry: senders.iter().flat_map(|s| &s.sources).map(|s| s.dry).sum(),
            lossless,
            lossy,
        }
    }
}

impl PrioritySummary {
    fn new(
        priority: Priority,
        senders: &[StationSnapshot],
        receiver: &StationSnapshot,
        elapsed: Duration,
    ) -> Self {
        let mut latency = Latency::default();
        let [mut sent, mut delivered, mut bytes, mut duplicated, mut reordered] = [0; 5];
        for source in senders.iter().flat_map(|s| &s.sources).filter(|s| s.priority == priority) {
            sent += source.frames;
            let sink = receiver.sink(source.id).expect("the receiver expects every flow");
            delivered += sink.frames;
            bytes += sink.bytes;
            duplicated += sink.duplicates;
            reordered += sink.reordered;
            latency.add(&sink.latency);
        }
        Self {
            priority: priority.get(),
            sent_frames: sent,
            delivered_frames: delivered,
            lost_frames: sent - delivered,
            duplicated_frames: duplicated,
            reordered_frames: reordered,
            delivered_bps: bytes as f64 * 8.0 / elapsed.as_secs_f64(),
            latency_p50_ns: latency.percentile(50.0).as_nanos(),
            latency_p99_ns: latency.percentile(99.0).as_nanos(),
            latency_max_ns: latency.max().as_nanos(),
        }
    }
}

/// Checks the effects that the demo shows. A frame lost with PFC, or not accounted for, fails in a
/// run of any length; effects that take time are not judged in an interrupted run.
fn checks(setup: &Setup, runs: &[RunSummary]) -> Vec<Check> {
    let p = LOSSLESS.get();
    let off = &runs[0];
    let (lost, sent) = (off.lossless.lost_frames, off.lossless.sent_frames);
    let without = Check {
        verdict: seen(lost > 0, off),
        text: match lost {
            0 if off.interrupted => format!("PFC off: an overload of priority {p}: {INTERRUPTED}"),
            0 => format!("PFC off: priority {p} lost nothing; this machine cannot overload a link"),
            _ => format!(
                "PFC off: the overload cost priority {p} {:.1} % of its frames",
                100.0 * lost as f64 / sent as f64
            ),
        },
    };
    let clean = |r: &RunSummary| {
        let twice = r.lossless.duplicated_frames + r.lossy.duplicated_frames;
        r.accounted && r.dry == 0 && twice == 0
    };
    let accounted = Check {
        verdict: Verdict::of_judged(
            runs.iter().all(clean),
            runs.iter().map(|r| r.lossless.sent_frames + r.lossy.sent_frames).sum(),
        ),
        text: "every frame sent was delivered once, or dropped by the switch under a reason".into(),
    };
    let with = runs.get(1).map_or_else(Vec::new, |on| with_pfc(setup, off, on));
    [without].into_iter().chain(with).chain([accounted]).collect()
}

/// Verdict of an effect that takes time.
fn seen(held: bool, run: &RunSummary) -> Verdict {
    match (held, run.interrupted) {
        (true, _) => Verdict::Pass,
        (false, true) => Verdict::NotJudged,
        (false, false) => Verdict::Fail,
    }
}

/// Checks of the run with PFC.
fn with_pfc(setup: &Setup, off: &RunSummary, on: &RunSummary) -> Vec<Check> {
    let p = LOSSLESS.get();
    let (lost, delivered) = (on.lossless.lost_frames, on.lossless.delivered_frames);
    let with = Check {
        verdict: if lost > 0 { Verdict::Fail } else { seen(delivered > 0, on) },
        text: format!(
            "PFC on: priority {p} lost {} of {} frames",
            count(lost),
            count(on.lossless.sent_frames)
        ),
    };
    let paused = Check {
        verdict: match on.pauses_obeyed == on.pauses_sent && off.pauses_sent == 0 {
            true => seen(on.pauses_sent > 0, on),
            false => Verdict::Fail,
        },
        text: format!(
            "PFC on: the hosts obeyed {} of the {} pauses that the switch sent",
            count(on.pauses_obeyed),
            count(on.pauses_sent)
        ),
    };
    // It gets half of the link in both runs; a slow machine may forward less in total, but the
    // ratio stays.
    let flows = Check {
        verdict: seen(on.lossy.delivered_bps * 2.0 > off.lossy.delivered_bps, on),
        text: format!(
            "PFC on: priority {} flowed on at {:.0} % of its rate without PFC",
            LOSSY.get(),
            100.0 * on.lossy.delivered_bps / off.lossy.delivered_bps
        ),
    };
    let headroom = Check {
        verdict: Verdict::of_judged(
            on.headroom_peak_bytes <= setup.headroom_bytes(),
            on.headroom_peak_bytes,
        ),
        text: format!(
            "PFC on: headroom held at most {} of {} bytes, the size of all {} frames in flight",
            count(on.headroom_peak_bytes),
            count(setup.headroom_bytes()),
            setup.in_flight()
        ),
    };
    vec![with, paused, flows, headroom]
}
