//! Judges a finished test: every flow sent its configured frames, and they arrived.
//!
//! - **sent**: all frames of a flow with a count, and the rate of one with a rate; `sent` defines
//!   the expected number and the accepted causes of a shortage.
//! - **received**: for flows that measure loss, each receiver has every frame once, as it was sent, and
//!   in the order of sending, except that frames whose changing fields may send them over several paths
//!   have no order. Frames that the tester's own devices lost are reported: if they may be all that is
//!   missing, the flow is INCONCLUSIVE, as the network may have lost none.
//! - **damaged**: for all flows, no frame arrived otherwise than it was sent.
//! - **run**: a run that was interrupted, or that a busy machine stopped, is inconclusive.
//!
//! A shortage is FAIL unless the machine explains it ([`Machine`]): frames are lost while no
//! thread polls if the gap is longer than the receiver's ring can hold at the flow's rate, and a
//! flow sends less by its rate times the preempted time. Then it is INCONCLUSIVE.

mod sent;
#[cfg(test)]
pub(super) mod tests;

use serde::Serialize;

use super::plan::{FlowKind, FlowPlan, TestPlan};
use super::report::{Flow, Machine, Report};
use ground::verdict::Verdict;

pub use sent::TOLERANCE;

/// The name in findings about the whole run, instead of a flow's name.
pub const RUN: &str = "run";

/// The result of one check of one flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The flow's name; [`RUN`] for the whole run.
    pub flow: String,
    pub verdict: Verdict,
    /// The numbers of the check, and the reason for any verdict but PASS.
    pub what: String,
}

/// The reason for the end of a test.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Why {
    /// Every finite flow has ended.
    Done,
    /// Its duration was over.
    Over,
    /// A signal ended a test that has no other end.
    Asked,
    /// A signal ended it before its own end.
    Interrupted,
    /// The unfinished flows could not send: the link of each was down for `DOWN_MAX`.
    Down,
    /// The runner failed for a reason outside the test.
    Disturbed(String),
}

impl Why {
    /// Returns the reason for which a test without failures is inconclusive, if there is one.
    pub fn disturbance(&self) -> Option<String> {
        match self {
            Self::Done | Self::Over | Self::Asked | Self::Down => None,
            Self::Interrupted => Some("interrupted by a signal before its end".into()),
            Self::Disturbed(why) => Some(why.clone()),
        }
    }
}

/// A finished test.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    pub plan: &'a TestPlan,
    /// The last report before the flows were stopped.
    pub before: &'a Report,
    /// The report after frames in flight had time to arrive.
    pub report: &'a Report,
    /// The reason for its end.
    pub why: &'a Why,
}

/// Judges every flow of a finished test.
pub fn judge(course: &Course<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut add = |flow: &str, (verdict, what)| {
        findings.push(Finding { flow: flow.to_owned(), verdict, what });
    };
    for (n, asked) in course.plan.flows.iter().enumerate() {
        let Some(flow) = course.report.flows.iter().find(|flow| flow.name == asked.name) else {
            add(&asked.name, (Verdict::Fail, "is missing in the report".into()));
            continue;
        };
        add(&asked.name, sent::judge(course, n, flow));
        if asked.metrics.loss {
            add(&asked.name, received(course, asked, flow));
        } else if flow.damaged > 0 {
            add(
                &asked.name,
                (Verdict::Fail, format!("{} of its frames {}", flow.damaged, damage(flow))),
            );
        }
    }
    if let Some(why) = course.why.disturbance() {
        add(RUN, (Verdict::Inconclusive, why));
    }
    findings
}

/// Returns the verdict of a test.
pub fn verdict(findings: &[Finding]) -> Verdict {
    Verdict::of_all(findings.iter().map(|finding| finding.verdict))
}

/// Checks that each receiving port of a flow received all of it.
fn received(course: &Course<'_>, asked: &FlowPlan, flow: &Flow) -> (Verdict, String) {
    if flow.frames_tx == 0 {
        return (Verdict::NotJudged, "no frame was sent, so none could be lost".into());
    }
    // Each receiver is to get every frame.
    let wanted = flow.frames_tx.saturating_mul(asked.rx.len().max(1) as u64);
    let (got, duplicates) = (flow.frames_rx, flow.duplicates);
    let mut what = format!("received {got} of {wanted} frames");
    if got < wanted {
        what += &format!(", {} lost", wanted - got);
    }
    if duplicates > 0 {
        what += &format!(", {duplicates} duplicates");
    }
    if flow.damaged > 0 {
        what += &format!(", {} {}", flow.damaged, damage(flow));
    }
    // Where frames may take several paths, their order says nothing.
    let reordered = if is_ordered(asked) { flow.reordered } else { 0 };
    if reordered > 0 {
        what += &format!(", {reordered} behind frames that were sent later");
    }
    let held = got == wanted && duplicates + flow.damaged + reordered == 0;
    // A busy machine or a device never makes a frame arrive twice, late or with other bytes.
    let lost = wanted.saturating_sub(got);
    let excusable = lost > 0 && duplicates + flow.damaged + reordered == 0;
    let busy = excusable.then(|| unpolled(course, asked)).flatten();
    let (most, by_device) = own_losses(course, asked, lost);
    let excused = most >= lost && excusable;
    let verdict = Verdict::unless(held, busy.is_some() || excused);
    for reason in by_device.into_iter().chain(busy) {
        what = format!("{what}; {reason}");
    }
    (verdict, what)
}

/// Describes the first damaged frame, as the end of a sentence.
fn damage(flow: &Flow) -> String {
    let first = flow.damage.as_deref().unwrap_or("not known");
    format!("arrived damaged (the first: {first})")
}

/// True if all frames of a flow take one path, on which bridges keep their order (802.1Q 6.5.3): no header
/// field changes by which a device may choose another path, queue or priority. Connections count their own
/// order.
fn is_ordered(asked: &FlowPlan) -> bool {
    matches!(&asked.kind, FlowKind::Stream(stream) if stream.template.edits.is_empty())
}

/// Returns the maximum number of the flow's frames that the devices of its ports may have lost, and a sentence for
/// each device with losses, of any flow. A device without a counter may have lost all of them.
fn own_losses(course: &Course<'_>, asked: &FlowPlan, lost: u64) -> (u64, Vec<String>) {
    let (mut most, mut by_device) = (0, Vec::new());
    let port = |n: usize| course.report.ports.get(n);
    if let Some(port) = port(asked.tx).filter(|port| port.tx_dropped > 0) {
        most += port.tx_dropped;
        let (name, n) = (&port.name, port.tx_dropped);
        by_device.push(format!("{n} frames sent by port {name} were dropped by its device"));
    }
    for port in asked.rx.iter().filter_map(|n| port(*n)) {
        let name = &port.name;
        match port.rx_missed {
            Some(0) => {}
            Some(n) => {
                most += n;
                by_device.push(format!("the device of port {name} missed {n} frames"));
            }
            None if lost > 0 => {
                // It may have lost all of them.
                most = most.max(lost);
                let what = format!("the device of port {name} does not count what it misses");
                by_device.push(what);
            }
            None => {}
        }
    }
    (most, by_device)
}

/// Returns the gap between polls that overflows a receiver's ring at the flow's rate, if there
/// was one.
fn unpolled(course: &Course<'_>, asked: &FlowPlan) -> Option<String> {
    let machine = course.report.machine.filter(|machine| !machine.excluded)?;
    // The receiver whose ring is full first decides.
    let margin =
        asked.rx.iter().filter_map(|port| margin_ns(course, *port)).min_by(f64::total_cmp)?;
    (machine.longest_gap_ns > margin).then(|| {
        format!(
            "{machine}: ports were not polled for {:.1} ms, and the receive ring bridges {:.1} ms",
            machine.longest_gap_ns / 1e6,
            margin / 1e6
        )
    })
}

/// Maximum time between polls of a port: its receive ring at the rates of all flows to it.
fn margin_ns(course: &Course<'_>, port: usize) -> Option<f64> {
    let room = course.report.ports.get(port)?.rx_room? as f64;
    let to_it = |(n, flow): (usize, &FlowPlan)| {
        flow.rx.contains(&port).then(|| sent::frames_per_second(course, n).unwrap_or(0.0))
    };
    let fps: f64 = course.plan.flows.iter().enumerate().filter_map(to_it).sum();
    (fps > 0.0).then(|| room / fps * 1e9)
}

impl core::fmt::Display for Machine {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let ms = self.preempted_ns.max(self.longest_gap_ns) / 1e6;
        write!(f, "the machine was busy for {ms:.0} ms")
    }
}
