//! V-K02: the frames that a port with MACsec sends.

use super::macsec::{self, Pair};
use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::PfcMode;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet};
use secure::SecyPlan;
use std::collections::HashSet;

pub const TEST: Test = Test {
    id: "V-K02",
    aliases: &["SNAPPI 06"],
    title: "pauses and data leave protected, and no frame is lost",
    purpose: "A port with MACsec pauses its peer before a lossless frame is lost, with PFC that is plain in the \
              mode bypass and protected in all others, and its data is protected by the suite of the file.",
    clause: "802.1AE 10.5, 14.5 to 14.8; 802.1Q 36.1.3.1",
    topology: Topology::Tm,
    procedure: "A flow on one lossless priority from B to A at the load of the file, and one on a lossy priority \
                from A to B at a tenth of the line. A pauses the lossless priority, so that the device's buffer \
                fills and it pauses B, which obeys. All frames of the device at B are read with its keys.",
    pass: "B receives at least one pause for the priority; all PFC frames at B are plain in the mode bypass, and \
           protected in the others. Every data frame at B is longer by SecTAG and ICV (24 bytes, or 32 with the \
           SCI), and encrypted if the file says so. No packet number is used twice, no frame is valid by no key, \
           and none is lost.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt 16107; sonic-buildimage 25675; SNAPPI 06",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of the flow to the port with MACsec.
const BACK: f64 = 0.1;

/// Length of the frames in bytes.
const SIZE: u32 = super::stop::SIZE;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let lossy = cx.lossy()?;
    for pair in macsec::pairs(cx)? {
        for priority in cx.each_lossless() {
            let trial = congested(cx, &pair, (priority, lossy));
            let seen = cx.observe(&trial)?;
            let Pair { b, mode, .. } = pair;
            let name = cx.port(b).name.clone();
            let pauses = seen.pauses(b).filter(|pause| pause.stops(priority)).count();
            let what = format!("pauses of priority {priority} at {name}");
            cx.count(what, pauses as u64, Limits::at_least(1.0));
            pfc(cx, &seen, (b, &name), mode);
            data(cx, &seen, (b, &name))?;
            for (flow, of) in [(FlowId(0), priority), (FlowId(1), lossy)] {
                let lost = seen.lost(flow, &(Duration::ZERO..Duration::MAX));
                lost.iter().for_each(|record| cx.mark(record, "does not arrive"));
                let what = format!("lost frames of priority {of} with MACsec at {name}");
                cx.count(what, lost.len() as u64, Limits::exactly(0.0));
            }
        }
    }
    Ok(())
}

/// Returns traffic from B that A pauses, and traffic to B.
fn congested(
    cx: &Context<'_>,
    &Pair { a, b, mode }: &Pair,
    (priority, lossy): (Priority, Priority),
) -> Trial {
    let times = cx.setup.times;
    let (frames, every) = macsec::storm_frames(cx);
    let hold = every.saturating_mul(u64::from(frames) + 1);
    let span = times.baseline + hold + times.settle;
    let name = format!("pause from behind {}, which is in mode {mode}", cx.port(b).name);
    let mut trial = Trial::new(name, span + times.drain);
    let limit = Limit::Time(span);
    let load = Rate::Line(cx.setup.load);
    trial.flow(Flow::new((b, a), priority, limit).size(SIZE).rate(load));
    trial.flow(Flow::new((a, b), lossy, limit).size(SIZE).rate(Rate::Line(BACK)));
    let pause = stop::longest(cx);
    let octets = cx.pause(a, PrioritySet::of(priority), pause);
    let until = times.baseline + hold;
    trial.repeat((a, pause.at(cx.setup.rate)), octets, every, (times.baseline, until));
    trial
}

/// Judges the protection of the PFC frames at a port.
fn pfc(cx: &mut Context<'_>, seen: &Observation, (port, name): (Port, &str), mode: PfcMode) {
    let is_plain = mode == PfcMode::Bypass;
    let mut wrong = 0;
    for (record, _) in seen.control(port) {
        if record.secured.is_none() != is_plain {
            wrong += 1;
            cx.mark(record, if is_plain { "is protected" } else { "is plain" });
        }
    }
    let kind = if is_plain { "protected" } else { "plain" };
    let what = format!("{kind} PFC frames at {name}, in mode {mode}");
    cx.count(what, wrong, Limits::exactly(0.0));
}

/// Wrong protections of frames.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wrong {
    /// Data that is plain and must be protected, or the reverse.
    Kind,
    /// Other bytes, or other confidentiality, than those of the file.
    Form,
    /// No key reads it.
    Unread,
    /// Its packet number was used before.
    Again,
}

impl Wrong {
    const fn why(self) -> &'static str {
        match self {
            Self::Kind => "must be protected, or must not",
            Self::Form => "has another protection",
            Self::Unread => "is valid by no key",
            Self::Again => "has a packet number again",
        }
    }
}

/// Judges the protection of all frames at a port.
fn data(
    cx: &mut Context<'_>,
    seen: &Observation,
    (port, name): (Port, &str),
) -> Result<(), Trouble> {
    let plan = macsec::macsec(cx, port)?.plan.clone();
    let is_here = |record: &&Record| record.port == port && record.way == Way::Received;
    let (mut wrong, mut used) = (Vec::new(), HashSet::new());
    for record in seen.records.iter().filter(is_here) {
        let again = record
            .secured
            .as_ref()
            .is_some_and(|secured| !used.insert((secured.sci, secured.an, secured.pn)));
        let found = if again { Some(Wrong::Again) } else { wrong_of(record, &plan) };
        if let Some(found) = found {
            wrong.push(found);
            cx.mark(record, found.why());
        }
    }
    let other = if plan.protect_data { "plain" } else { "protected" };
    let said = if plan.confidentiality.is_some() { "encrypted" } else { "readable" };
    let overhead = plan.overhead();
    for (of, what) in [
        (Wrong::Kind, format!("{other} data frames at {name}")),
        (Wrong::Form, format!("frames at {name} that are not {said} with {overhead} more bytes")),
        (Wrong::Again, format!("packet numbers used again at {name}")),
        (Wrong::Unread, format!("frames at {name} that are valid by no key")),
    ] {
        let count = wrong.iter().filter(|wrong| **wrong == of).count();
        cx.count(what, count as u64, Limits::exactly(0.0));
    }
    Ok(())
}

/// Returns the fault of a frame's protection.
fn wrong_of(record: &Record, plan: &SecyPlan) -> Option<Wrong> {
    let is_data = matches!(record.what, What::Data { .. });
    match &record.secured {
        Some(_) if is_data && !plan.protect_data => Some(Wrong::Kind),
        Some(secured) => {
            let is_as_said = secured.len == record.len + plan.overhead()
                && secured.encrypted == plan.confidentiality.is_some();
            (!is_as_said).then_some(Wrong::Form)
        }
        None if is_data && plan.protect_data => Some(Wrong::Kind),
        None => macsec::is_unread(record).then_some(Wrong::Unread),
    }
}
