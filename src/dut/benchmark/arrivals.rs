//! Frames that arrive otherwise than they were sent, in all trials of a run: twice, out of order, damaged, or not at
//! all in a class with flow control. The procedures of the RFCs have no figure for them: a device that sends frames
//! twice forwards at any rate, and one that loses frames instead of pausing has the same throughput.

use serde::{Deserialize, Serialize};
use tester::report::Report;
use validate::observation::Tally;
use validate::setup::{FlowControl, Setup};
use validate::trial::{Addresses, Trial};

/// Counts of such frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Arrivals {
    /// Frames that had arrived before.
    pub duplicates: u64,
    /// Frames that arrived after one that was sent later.
    pub reordered: u64,
    /// Frames that were cut, or had other bytes. They count as lost, too.
    pub damaged: u64,
    /// Lost frames of classes with flow control, where the tester obeyed the device's pauses. Absent if no such
    /// frame was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_lossless: Option<u64>,
}

impl Arrivals {
    /// Adds those of a counted trial.
    pub(crate) fn count(&mut self, setup: &Setup, trial: &Trial, report: &Report) {
        // A reset loses what the device holds.
        let is_obeying = trial.obeys.is_empty() && trial.reset.is_none();
        for (flow, counts) in trial.flows.iter().zip(&report.flows).take(trial.own_flows()) {
            self.duplicates += counts.duplicates;
            self.reordered += counts.reordered;
            self.damaged += counts.damaged;
            let is_controlled =
                setup.flow_control == FlowControl::Pause || setup.lossless.contains(flow.priority);
            if is_obeying && is_controlled && matches!(flow.addresses, Addresses::Ports) {
                let lost = counts.frames_tx.saturating_sub(counts.frames_rx);
                *self.lost_lossless.get_or_insert(0) += lost;
            }
        }
    }

    /// Adds those of a recorded flow.
    pub(crate) fn tally(&mut self, tally: Tally) {
        self.duplicates += tally.duplicates;
        self.reordered += tally.reordered;
    }

    /// Returns a line for the reader; `None` if there were none.
    pub(crate) fn note(&self) -> Option<String> {
        let all = [
            (self.duplicates, "arrived twice"),
            (self.reordered, "arrived out of order"),
            (self.damaged, "arrived damaged"),
            (self.lost_lossless.unwrap_or(0), "of classes with flow control were lost"),
        ];
        let all: Vec<String> = all
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        (!all.is_empty()).then(|| format!("frames of all trials: {}", all.join(", ")))
    }
}

/// Returns the reason why the counters of a trial cannot be right: a flow with one receiver has more frames than
/// were sent. Duplicates are not among them.
pub(crate) fn impossible(trial: &Trial, report: &Report) -> Option<String> {
    let all = trial.flows.iter().zip(&report.flows).take(trial.own_flows());
    let mut to_one = all.filter(|(flow, _)| matches!(flow.addresses, Addresses::Ports));
    let (_, flow) = to_one.find(|(_, flow)| flow.frames_rx > flow.frames_tx)?;
    let (sent, arrived) = (flow.frames_tx, flow.frames_rx);
    Some(format!(
        "{}: the tester counted {arrived} frames of {sent} that it sent: its counters are wrong, or frames of \
         another tester arrive",
        trial.name
    ))
}
