//! Checks of a switch's run and their verdict: what was checked, and what could not be; and gaps between polls.
//!
//! A lossless frame may be lost in the switch, in the device before it, or in the device behind it.
//! Each has its check, and what a device cannot say is not judged. A run is no PASS then either, unless
//! the check does not apply to it.

use std::fmt::Write;

use serde::{Deserialize, Serialize};

use super::summary::{PortSummary, Summary};
use ground::described;
use ground::time::Duration;
use ground::verdict::Verdict::{self, Fail, NotJudged, Pass};
use runtime::PollRecord;
use text::count;

/// One check of a run.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CheckSummary {
    /// The name that it has in every run.
    pub name: String,
    /// The result.
    pub verdict: Verdict,
    /// Findings, or the reason why it is not judged.
    pub detail: String,
    /// False where there is nothing to judge, and where the user has switched the check off; the verdict of the run
    /// does not depend on it then.
    pub applies: bool,
}

described! {
    /// Gaps between a worker's polls.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
    PollsSummary {
        /// The longest gap between two polls.
        longest_gap_ns: u64 = Gauge,
        /// The longest gap between two polls that headroom is planned for (`link.poll_gap`); null where no port of the
        /// worker has a lossless group.
        planned_gap_ns: Option<u64> = Gauge,
        /// Gaps between polls that were longer than planned.
        late_polls: u64 = Counter,
    }
}

impl PollsSummary {
    pub(super) fn new(gaps: &PollRecord) -> Self {
        Self {
            longest_gap_ns: gaps.longest.as_nanos(),
            planned_gap_ns: gaps.planned.map(Duration::as_nanos),
            late_polls: gaps.late,
        }
    }
}

/// The verdict of all checks: PASS only if every check that applies is one.
pub(super) fn verdict(checks: &[CheckSummary]) -> Verdict {
    // A check that found something counts even if it should not apply.
    let counts = |check: &&CheckSummary| check.applies || check.verdict != NotJudged;
    Verdict::of_all(checks.iter().filter(counts).map(|check| check.verdict))
}

const NOTHING_RECEIVED: &str = "no frame was received";

/// All checks of a run.
pub(super) fn checks(run: &Summary) -> Vec<CheckSummary> {
    let check = |name: &str, (verdict, detail), applies| CheckSummary {
        name: name.into(),
        verdict,
        detail,
        applies,
    };
    let has_lossless = received(run) > 0;
    // A silent device keeps the check open: it may have lost every frame before the switch could count one.
    let has_silent = silent(run).next().is_some();
    let has_headroom = has_lossless && planned_gap(run).is_some() && !run.late_polls_ignored;
    let has_sent =
        run.ports.iter().any(|port| port.port.counters.tx_frames + port.nic.unsent() > 0);
    vec![
        check("balance", balance(run), run.balance.came > 0),
        check("lossless", lossless(run), has_lossless || has_silent),
        check("headroom", headroom(run), has_headroom),
        check("sent", sent(run), has_sent),
    ]
}

fn balance(run: &Summary) -> (Verdict, String) {
    match run.balance.came.abs_diff(run.balance.went) {
        // Nothing received is balanced, but proves nothing.
        0 if run.balance.holds && run.balance.came == 0 => (NotJudged, NOTHING_RECEIVED.into()),
        0 if run.balance.holds => (Pass, "every frame is accounted for".into()),
        n => (Fail, format!("{} frames are NOT ACCOUNTED FOR", count(n))),
    }
}

/// Those of its ports that have lossless priorities.
fn lossless_ports(run: &Summary) -> impl Iterator<Item = &PortSummary> + Clone {
    run.ports.iter().filter(|port| !port.lossless_priorities.is_empty())
}

/// Lossless ports whose devices do not report the frames that they missed.
fn silent(run: &Summary) -> impl Iterator<Item = &PortSummary> + Clone {
    lossless_ports(run).filter(|port| port.nic.missed().is_none())
}

const NO_LOSSLESS_PRIORITY: &str = "no priority is lossless";
const NO_LOSSLESS_FRAME: &str = "no frame of a lossless priority was received";

fn lossless(run: &Summary) -> (Verdict, String) {
    let mut lost = Vec::new();
    if run.lossless_lost_frames > 0 {
        lost.push(format!(
            "{} frames of lossless priorities were lost to congestion",
            count(run.lossless_lost_frames)
        ));
    }
    if run.lossless_watchdog_frames > 0 {
        lost.push(format!(
            "{} frames of lossless priorities were dropped by watchdogs",
            count(run.lossless_watchdog_frames)
        ));
    }
    let missed = |port: &PortSummary| port.nic.missed().filter(|n| *n > 0);
    for (port, n) in lossless_ports(run).filter_map(|port| Some((port, missed(port)?))) {
        lost.push(format!(
            "{} frames, lossless ones perhaps among them, were lost by the device of {} before the \
             switch saw them",
            count(n),
            port.port.name
        ));
    }
    if !lost.is_empty() {
        let mut detail = lost.join("; ");
        if let Some(late) = late(run) {
            // Frames that arrive while a port is not polled fill the ring of its device.
            let _ = write!(detail, "; a cause: {late}");
        }
        return (Fail, detail);
    }
    if lossless_ports(run).next().is_none() {
        return (NotJudged, NO_LOSSLESS_PRIORITY.into());
    }
    // The link excuses these losses, yet the run does not show that none would have been lost.
    if run.lossless_link_frames > 0 {
        let lost = count(run.lossless_link_frames);
        return (
            NotJudged,
            format!("{lost} frames of lossless priorities were lost at links that were down"),
        );
    }
    // Such a device may have lost every lossless frame, so this comes before the count of frames.
    let silent: Vec<_> = silent(run).map(|port| &*port.port.name).collect();
    if !silent.is_empty() {
        let whose = if silent.len() == 1 { "the device of" } else { "the devices of" };
        let detail = format!(
            "the switch lost none, but {whose} {} does not count frames lost before it",
            silent.join(", ")
        );
        return (NotJudged, detail);
    }
    match received(run) {
        0 => (NotJudged, NO_LOSSLESS_FRAME.into()),
        _ => (Pass, "no frame of a lossless priority was lost".into()),
    }
}

/// Frames of lossless priorities that its ports received.
fn received(run: &Summary) -> u64 {
    let of_port = |port: &PortSummary| -> u64 {
        let lossless = port.lossless_priorities.iter();
        lossless.map(|p| port.port.counters.priorities[p.index()].rx_frames).sum()
    };
    lossless_ports(run).map(of_port).sum()
}

/// The worker that polled latest, if that was later than planned.
fn late(run: &Summary) -> Option<String> {
    let late = run.polls.iter().enumerate().filter(|(_, polls)| polls.late_polls > 0);
    // The worst worker stands for all.
    let (worker, polls) = late.max_by_key(|(_, polls)| polls.longest_gap_ns)?;
    let (longest, planned) = (polls.longest_gap_ns, polls.planned_gap_ns?);
    Some(format!(
        "worker {worker} polled {} times later than planned, once after {}, and headroom is for {} \
         (link.poll_gap)",
        count(polls.late_polls),
        Duration::from_nanos(longest),
        Duration::from_nanos(planned),
    ))
}

/// The shortest gap between polls that headroom is planned for.
fn planned_gap(run: &Summary) -> Option<u64> {
    run.polls.iter().filter_map(|polls| polls.planned_gap_ns).min()
}

fn headroom(run: &Summary) -> (Verdict, String) {
    let Some(planned) = planned_gap(run) else {
        return (NotJudged, NO_LOSSLESS_PRIORITY.into());
    };
    // Headroom is for frames of lossless priorities: without any, late polls put none at risk.
    if received(run) == 0 {
        return (NotJudged, NO_LOSSLESS_FRAME.into());
    }
    if let Some(late) = late(run) {
        // Said even so, as the reader may not know of the option.
        if run.late_polls_ignored {
            return (NotJudged, format!("switched off (--ignore-late-polls): {late}"));
        }
        return (NotJudged, format!("headroom was not guaranteed: {late}"));
    }
    let longest = run.polls.iter().map(|polls| polls.longest_gap_ns).max().unwrap_or(0);
    let [longest, planned] = [longest, planned].map(Duration::from_nanos);
    (Pass, format!("no gap between polls was longer than {longest}; headroom is for {planned}"))
}

/// Ports of which frames did not leave the device.
fn unsent(run: &Summary) -> impl Iterator<Item = &PortSummary> {
    run.ports.iter().filter(|port| port.nic.unsent() > 0)
}

fn sent(run: &Summary) -> (Verdict, String) {
    let list = |ports: &[&PortSummary]| {
        let each = ports.iter().map(|p| format!("{} at {}", count(p.nic.unsent()), p.port.name));
        each.collect::<Vec<_>>().join(", ")
    };
    let (lossless, lossy): (Vec<&PortSummary>, Vec<&PortSummary>) =
        unsent(run).partition(|port| !port.lossless_priorities.is_empty());
    // A link that was down excuses what its device did not send.
    let (excused, failed): (Vec<&PortSummary>, Vec<&PortSummary>) =
        lossless.into_iter().partition(|port| port.link_losses > 0);
    // Errors are the device's own; drops of the kernel's interface may be those of any program.
    if failed.iter().any(|port| port.nic.tx_errors > 0) {
        let what = "frames that the switch handed over did not leave the device";
        (Fail, format!("{what}: {}", list(&failed)))
    } else if !failed.is_empty() {
        let what = "the kernel dropped frames on their way out, of the switch or of other programs";
        (NotJudged, format!("{what}: {}", list(&failed)))
    } else if !excused.is_empty() {
        let why = "frames did not leave, and the link was down for a time";
        (NotJudged, format!("{why}: {}", list(&excused)))
    } else if !lossy.is_empty() {
        (Pass, format!("frames without protection did not leave: {}", list(&lossy)))
    } else {
        match run.ports.iter().map(|port| port.port.counters.tx_frames).sum() {
            0_u64 => (NotJudged, "no frame was handed to a device".into()),
            _ => (Pass, "every frame that was handed to a device left it".into()),
        }
    }
}
