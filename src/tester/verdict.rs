//! Whether a test went as it was to go: nothing lost of the flows that ask for their loss, and
//! everything sent of those that say how many frames they have.
//!
//! How well a rate was kept and whether pauses followed each other without a gap are numbers for
//! people to judge: a report has them, and no verdict depends on them.

use serde::Serialize;

use super::plan::{FlowKind, FlowPlan, TestPlan};
use super::report::{Flow, Report};

/// What is said about one flow.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The flow's name.
    pub flow: String,
    /// Whether it went as it was to.
    pub good: bool,
    /// What was looked at, with its numbers.
    pub what: String,
}

/// Looks at every flow when a test is over. A flow of which nothing was asked gives no finding; one
/// that the report does not have gives a bad one.
#[must_use]
pub fn judge(plan: &TestPlan, report: &Report) -> Vec<Finding> {
    let mut findings = Vec::new();
    for asked in &plan.flows {
        let mut say = |good, what| {
            findings.push(Finding { flow: asked.name.clone(), good, what });
        };
        match report.flows.iter().find(|flow| flow.name == asked.name) {
            None => say(false, "it is not in the report".into()),
            Some(flow) => {
                if let Some(frames) = frames(asked) {
                    let sent = flow.frames_tx;
                    say(sent == frames, format!("sent {sent} of {frames} frames"));
                }
                if asked.metrics.loss {
                    let (good, what) = loss(asked, flow);
                    say(good, what);
                }
            }
        }
    }
    findings
}

/// Whether nothing bad was found.
#[must_use]
pub fn is_good(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.good)
}

/// How many frames a flow is to send, if it says.
fn frames(flow: &FlowPlan) -> Option<u64> {
    match &flow.kind {
        FlowKind::Stream(stream) => stream.limit.frames,
        FlowKind::Roce(_) => None,
    }
}

/// Each port that is to receive a flow receives all of it.
fn loss(asked: &FlowPlan, flow: &Flow) -> (bool, String) {
    let wanted = flow.frames_tx.saturating_mul(asked.rx.len().max(1) as u64);
    let (got, twice) = (flow.frames_rx, flow.duplicates);
    let mut what = format!("received {got} of {wanted} frames");
    if got < wanted {
        what += &format!(", {} lost", wanted - got);
    }
    if twice > 0 {
        what += &format!(", {twice} twice");
    }
    (got == wanted && twice == 0, what)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::host::FlowId;
    use crate::host::plan::Rate;
    use crate::host::plan::stream::{Limit, Pace, Path, Sizes, StreamPlan, TemplatePlan};
    use crate::tester::plan::Metrics;
    use crate::time::Duration;
    use crate::units::Priority;

    pub(in crate::tester) fn flow(name: &str, frames: Option<u64>, loss: bool) -> FlowPlan {
        let stream = StreamPlan {
            id: FlowId(0),
            path: Path::Data(Priority::ALL[3]),
            template: TemplatePlan::default(),
            recording: None,
            sizes: Sizes::Fixed(64),
            pace: Pace { rate: Rate::Frames(1), gap: 12, burst: None },
            limit: Limit { frames, time: None },
            delay: Duration::ZERO,
            seed: 0,
        };
        FlowPlan {
            name: name.into(),
            id: FlowId(0),
            tx: 0,
            rx: vec![1],
            kind: FlowKind::Stream(Box::new(stream)),
            metrics: Metrics { enable: true, loss, ..Metrics::default() },
            resolve: vec![],
        }
    }

    fn judged(frames: Option<u64>, loss: bool, counted: &[(u64, u64, u64)]) -> Vec<(bool, String)> {
        let plan = TestPlan { ports: vec![], flows: vec![flow("f", frames, loss)] };
        let flows = counted.iter().map(|(frames_tx, frames_rx, duplicates)| Flow {
            name: "f".into(),
            frames_tx: *frames_tx,
            frames_rx: *frames_rx,
            duplicates: *duplicates,
            ..Flow::default()
        });
        let report = Report { flows: flows.collect(), ..Report::default() };
        judge(&plan, &report).into_iter().map(|f| (f.good, f.what)).collect()
    }

    #[test]
    fn what_was_asked_is_looked_at_and_nothing_else() {
        assert_eq!(judged(None, false, &[(10, 3, 0)]), []);
        let all = judged(Some(10), true, &[(10, 10, 0)]);
        let words = ["sent 10 of 10 frames", "received 10 of 10 frames"];
        assert_eq!(all, words.map(|w| (true, w.into())));
    }

    #[test]
    fn a_frame_too_few_or_twice_is_bad() {
        let lost = judged(None, true, &[(10, 9, 0)]);
        assert_eq!(lost, [(false, "received 9 of 10 frames, 1 lost".into())]);
        let twice = judged(None, true, &[(10, 10, 1)]);
        assert_eq!(twice, [(false, "received 10 of 10 frames, 1 twice".into())]);
        let short = judged(Some(10), false, &[(9, 9, 0)]);
        assert_eq!(short, [(false, "sent 9 of 10 frames".into())]);
        assert!(!judged(None, false, &[])[0].0);
    }
}
