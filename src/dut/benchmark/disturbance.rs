//! The one judgement of a trial that the machine disturbed.
//!
//! Every trial of every procedure passes through [`Runner`](crate::trial::Runner), which asks here. A trial
//! is disturbed if the tester was behind its schedule, or if frames are missing and the time for which a
//! thread of the tester, or a device on the same machine, had no CPU may be the reason. A trial without
//! missing frames is good, whatever the machine did: the device carried all of the load.
//!
//! Threads of ordinary machines always lose a little of their CPU, so near the limit of a device a few missing
//! frames are always in doubt. A search goes on with such a doubt if it is no more than the width of the
//! search, and clears it at the end by a load that is higher.

use tester::report::{DeviceCpu, Report, Unattended};
use validate::observation::Observation;
use validate::setup::Setup;
use validate::trial::{Addresses, Flow, FlowId, Limit, Trial};

use crate::trial::pauses;

/// Use of the missing frames of a trial.
#[derive(Clone, PartialEq, Debug, Default)]
pub(crate) enum Use {
    /// Their number is a result.
    #[default]
    Number,
    /// A search compares their share with these limits.
    Limits(Vec<f64>),
}

/// The reason why a trial was disturbed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Disturbed {
    pub(crate) why: String,
    /// True if a search may take the missing frames for lost by the device until its end: the doubt is about
    /// fewer frames than its width.
    pub(crate) is_small: bool,
}

impl Disturbed {
    const fn wholly(why: String) -> Self {
        Self { why, is_small: false }
    }
}

/// Frames of a trial, as the tester counted them.
#[derive(Clone, PartialEq, Debug, Default)]
struct Frames {
    intended: u64,
    sent: u64,
    lost: u64,
    /// Seconds for which a sender was paused; 0 if none was.
    paused_s: f64,
    /// Most frames per second of all flows together.
    rate: f64,
}

/// Judge of the trials of a procedure.
pub(crate) struct Judge<'a> {
    pub(crate) setup: &'a Setup,
    /// Largest relative error of a load, and of a number of frames.
    pub(crate) width: f64,
    pub(crate) used: &'a Use,
}

impl Judge<'_> {
    /// Returns the reason why a counted trial was disturbed; `None` if it was not.
    pub(crate) fn counted(&self, trial: &Trial, report: &Report) -> Option<Disturbed> {
        let own: Vec<&Flow> = trial.flows[..trial.own_flows()].iter().collect();
        let flows = || own.iter().copied().zip(&report.flows);
        let arrived = |(flow, counts): (&Flow, &tester::report::Flow)| match flow.addresses {
            // Copies at all other ports.
            Addresses::Broadcast => {
                let copies = self.setup.ports.len().saturating_sub(1).max(1) as u64;
                (counts.frames_tx * copies, counts.frames_rx)
            }
            // Flooded copies arrive at others than the first.
            Addresses::Destinations(_) => {
                let first = counts.frames_rx_by_port.first();
                (counts.frames_tx, *first.unwrap_or(&counts.frames_rx))
            }
            Addresses::Ports | Addresses::Sources(_) | Addresses::Nic(..) => {
                (counts.frames_tx, counts.frames_rx)
            }
        };
        let paused = |(flow, _): (&Flow, _)| {
            let port = report.ports.get(flow.from.0)?;
            let found = pauses(port, flow.held_by.unwrap_or(flow.priority));
            // A pause without a measurable length has held the sender all the same.
            (found.pauses > 0).then_some(found.paused_ns.max(1.0) / 1e9)
        };
        let frames = Frames {
            sent: flows().map(|(_, counts)| counts.frames_tx).sum(),
            lost: flows().map(arrived).map(|(sent, here)| sent.saturating_sub(here)).sum(),
            paused_s: flows().filter_map(paused).fold(0.0, f64::max),
            ..self.load(&own)
        };
        let unattended = report.unattended();
        let connected = self.connected(trial, &unattended);
        connected.or_else(|| self.frames(trial, &frames, &unattended))
    }

    /// Returns the reason why a recorded trial was disturbed; `None` if it was not.
    pub(crate) fn observed(&self, trial: &Trial, seen: &Observation) -> Option<Disturbed> {
        if let Some(why) = seen.disturbed.clone() {
            return Some(Disturbed::wholly(why));
        }
        // Frames with a wrong FCS are not to arrive.
        let is_damaged = |flow: &Flow| {
            trial.damage.iter().any(|of| of.port == flow.from && flow.start < of.until)
        };
        let own = trial.flows[..trial.own_flows()].iter().enumerate();
        let valid: Vec<(usize, &Flow)> = own.filter(|(_, flow)| !is_damaged(flow)).collect();
        let tallies = || valid.iter().map(|(n, _)| seen.tally(FlowId(*n)));
        let frames = Frames {
            sent: tallies().map(|tally| tally.sent).sum(),
            lost: tallies().map(|tally| tally.lost()).sum(),
            ..self.load(&valid.iter().map(|(_, flow)| *flow).collect::<Vec<_>>())
        };
        self.frames(trial, &frames, &seen.unattended)
    }

    /// Returns the load of flows.
    fn load(&self, own: &[&Flow]) -> Frames {
        let spans: Vec<(f64, f64, f64)> = own
            .iter()
            .map(|flow| {
                let (start, rate) = (flow.start.as_secs_f64(), flow.frames_per_second(self.setup));
                let length = match flow.limit {
                    Limit::Time(time) => time.as_secs_f64(),
                    Limit::Frames(frames) => f64::from(frames) / rate,
                    Limit::Bursts(all) => all.every.as_secs_f64() * f64::from(all.count),
                };
                (start, start + length, rate)
            })
            .collect();
        // Parts of a trial one after the other are not at their rates together.
        let rate_at = |time: f64| {
            let running = spans.iter().filter(|(start, end, _)| *start <= time && time < *end);
            running.map(|(.., rate)| rate).sum::<f64>()
        };
        Frames {
            intended: own.iter().map(|flow| flow.intended(self.setup)).sum(),
            // The sum grows only where a flow starts, so one of these times has the largest.
            rate: spans.iter().map(|(start, ..)| rate_at(*start)).fold(0.0, f64::max),
            ..Frames::default()
        }
    }

    /// The goodput of connections is a figure over their time, so time without a CPU is missing in it.
    fn connected(&self, trial: &Trial, unattended: &Unattended) -> Option<Disturbed> {
        let longest = trial.stateful.iter().map(|of| of.length).max()?;
        let is_short = unattended.seconds <= self.width * longest.as_secs_f64();
        (!is_short).then(|| Disturbed::wholly(unattended.who.clone()))
    }

    fn frames(&self, trial: &Trial, frames: &Frames, unattended: &Unattended) -> Option<Disturbed> {
        let Frames { intended, sent, lost, paused_s, rate } = *frames;
        // A sender that the device pauses is behind its schedule for the device's reason.
        let is_held = paused_s > 0.0;
        let short = intended.saturating_sub(sent);
        // A larger error of the load than the width of the search would move its result; every flow may end a frame
        // short. What a port cannot send while a reset takes its link down is part of the result.
        let pacing = (self.width * intended as f64).max(trial.flows.len() as f64);
        if sent > 0 && !is_held && trial.reset.is_none() && short as f64 > pacing {
            let who = match &unattended.who[..] {
                "" => String::new(),
                who => format!(" ({who})"),
            };
            return Some(Disturbed::wholly(format!(
                "the tester sent {sent} frames of {intended}, {short} behind its schedule, without being \
                 paused{who}: the machine is busy, or too slow for this load; lower `max_load`, or widen \
                 `width`"
            )));
        }
        if unattended.seconds <= 0.0 {
            return None;
        }
        // Behind a pause, frames that were not sent are held back by the device, and count like lost ones.
        let missing = lost + if is_held { short } else { 0 };
        // A wait that is shorter than the interval of two frames misses none.
        let most = (unattended.seconds * rate) as u64;
        let who = &unattended.who;
        let is_within = most as f64 <= self.width * intended as f64;
        let is_small = is_within && matches!(self.used, Use::Limits(_));
        if missing == 0 {
            // A pause that is no longer than the wait may be the doing of a device that had no CPU.
            let explains = is_held && paused_s <= unattended.seconds;
            let why = || format!("the device paused the tester, and {who}");
            return explains.then(|| Disturbed { why: why(), is_small });
        }
        // More than the wait explains is lost by the device for certain.
        let sure = missing.saturating_sub(most);
        let is_open = match self.used {
            Use::Number => {
                sure == 0 || missing.min(most) as f64 > (self.width * intended as f64).max(1.0)
            }
            // In doubt only where the search's decision depends on it: its limit is between what is lost for
            // certain and all that is missing.
            Use::Limits(limits) => limits.iter().any(|limit| {
                let limit = limit * intended as f64;
                sure as f64 <= limit && limit < missing as f64
            }),
        };
        is_open.then(|| {
            let why = format!(
                "{missing} frames of {intended} are missing, and {who}: up to {} of them may be lost \
                 for that reason",
                most.min(missing)
            );
            Disturbed { why, is_small }
        })
    }
}

/// Returns a remark about what is not noticed; `None` if all is.
pub(crate) fn unnoticed(report: &Report) -> Option<&'static str> {
    (report.device == DeviceCpu::Unknown).then_some(
        "the device is on this machine, which does not tell if it had its CPU (unknown: neither \
         /proc/pressure/cpu nor /proc/schedstat is there): loss for want of CPU is not noticed",
    )
}
