//! Frames that a port with MACsec sends: pauses and data are protected, also while keys change.

use super::macsec::{Maker, Pair};
use super::{macsec, storm};
use crate::bench::{Capability, TrialError};
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::PfcMode;
use crate::test::{Context, Scope, Test, Topology};
use crate::trial::{Flow, FlowId, KeyChange, Limit, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet};
use secure::{An, SaPlan, SecyChange, SecyPlan};
use std::collections::HashSet;

pub(super) const SENT_PROTECTED: Test = describe! {
    id: "V-K02",
    title: "pauses and data leave protected, and no frame is lost",
    purpose: "A port with MACsec pauses its peer before a lossless frame is lost, with PFC that is plain in the \
              mode bypass and protected in all others, and its data is protected by the suite of the file.",
    clause: "802.1AE 10.5, 14.5 to 14.8; 802.1Q 36.1.3.1",
    procedure: "A flow on one lossless priority from B to A at the load of the file, and one on a lossy priority \
                from A to B at a tenth of the line. A pauses the lossless priority, so that the device's buffer \
                fills and it pauses B, which obeys. All frames of the device at B are read with its keys.",
    pass: "B receives at least one pause for the priority; all PFC frames at B are plain in the mode bypass, and \
           protected in the others. Every data frame at B is longer by SecTAG and ICV (24 bytes, or 32 with the \
           SCI), and encrypted if the file says so. No packet number is used twice, no frame is valid by no key, \
           and none is lost.",
    source: "sonic-mgmt 16107; sonic-buildimage 25675; SNAPPI 06",
    run: sent_protected,
    aliases: &["SNAPPI 06"],
    topology: Topology::Tm,
    uncertainty: "None: counts.",
    scope: Scope::Device,
    described: macsec::has_macsec,
};

/// Share of the line of the flow to the port with MACsec.
const BACK: f64 = 0.1;

/// Length of the frames in bytes.
const SIZE: u32 = storm::SIZE;

fn sent_protected(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let lossy = cx.lossy()?;
    for pair in macsec::pairs(cx)? {
        for priority in cx.each_lossless() {
            let trial = congested(cx, &pair, priority, lossy);
            let observed = cx.observe(&trial)?;
            let Pair { b, mode, .. } = pair;
            let name = cx.port(b).name.clone();
            let pauses = observed.pauses(b).filter(|pause| pause.stops(priority)).count();
            let what = format!("pauses of priority {priority} at {name}");
            cx.count(what, pauses as u64, Limits::at_least(1.0));
            judge_pfc(cx, &observed, b, &name, mode);
            judge_data(cx, &observed, b, &name)?;
            for (flow, priority) in [(FlowId(0), priority), (FlowId(1), lossy)] {
                let lost = observed.lost(flow, &(Duration::ZERO..Duration::MAX));
                lost.iter().for_each(|record| cx.mark(record, "does not arrive"));
                let what = format!("lost frames of priority {priority} with MACsec at {name}");
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
    priority: Priority,
    lossy: Priority,
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
    let pause = storm::longest(cx);
    let octets = cx.pause(a, PrioritySet::of(priority), pause);
    let until = times.baseline + hold;
    // A holds the priority, so that the buffer of the device fills up and it has to pause B.
    trial.repeat(a, pause.at(cx.setup.rate), octets, every, (times.baseline, until));
    trial
}

/// Judges the protection of the PFC frames at a port.
fn judge_pfc(cx: &mut Context<'_>, observed: &Observation, port: Port, name: &str, mode: PfcMode) {
    let is_plain = mode == PfcMode::Bypass;
    let mut wrong = 0;
    for (record, _) in observed.control(port) {
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
fn judge_data(
    cx: &mut Context<'_>,
    observed: &Observation,
    port: Port,
    name: &str,
) -> Result<(), TrialError> {
    let plan = macsec::macsec_of(cx, port)?.plan.clone();
    let is_here = |record: &&Record| record.port == port && record.way == Way::Received;
    let (mut wrong, mut used) = (Vec::new(), HashSet::new());
    for record in observed.records.iter().filter(is_here) {
        // With one key a packet number is sent once (802.1AE 10.5).
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
    let wanted = if plan.confidentiality.is_some() { "encrypted" } else { "readable" };
    let overhead = plan.overhead();
    for (kind, what) in [
        (Wrong::Kind, format!("{other} data frames at {name}")),
        (Wrong::Form, format!("frames at {name} that are not {wanted} with {overhead} more bytes")),
        (Wrong::Again, format!("packet numbers used again at {name}")),
        (Wrong::Unread, format!("frames at {name} that are valid by no key")),
    ] {
        let count = wrong.iter().filter(|wrong| **wrong == kind).count();
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
        // PFC may be plain; a SecTAG that no key opens is a fault.
        None => macsec::is_unread(record).then_some(Wrong::Unread),
    }
}

pub(super) const CHANGED_KEYS: Test = describe! {
    id: "V-K04",
    title: "a pause outlasts changes of keys, and no frame is lost",
    purpose: "While a priority is paused by protected PFC, key agreement replaces keys, and packet numbers reach the \
              end of their range: the pause has no gap, and the traffic of the others loses no frame.",
    clause: "802.1AE 10.5, 10.6, 10.7.22, 10.7.28; 802.1X 9.8",
    procedure: "Flows on all priorities from A to B, a tenth of the line together, and a protected storm at B for one \
                lossless priority. Both ends get a new key 60 times (8 times at level quick), after every second \
                frame of the storm; each key is installed for the next association number, then used, and the \
                one before is removed. Times are scaled: a key lives as long as the longest pause of PFC, not a \
                second. The storm ends each key with its last packet number; with XPN its numbers pass the end of \
                their lower half instead, and so do those of the device.",
    pass: "No frame of the priority begins from the limit after the first pause to the end of the last one; the \
           others keep their rates; no frame is lost, and none of the device's is valid by no key. The device \
           changes the association number that it sends with as often as it is told to.",
    source: "own; sonic-mgmt 28120",
    run: changed_keys,
    topology: Topology::Tm,
    uncertainty: "Time stamps of the tester; a frame at each end of the storm.",
    scope: Scope::Device,
    described: macsec::has_macsec,
};

/// Share of the line of all flows together.
const SHARE: f64 = 0.1;

/// Number of new keys at levels quick and full.
const KEYS: (u32, u32) = (8, 60);

/// Frames of the storm with each key.
const FRAMES: u32 = 2;

/// Packet numbers before the end of the lower half with which the device begins.
const NEAR: u64 = 4;

fn changed_keys(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let pairs = macsec::pairs(cx)?;
    if !cx.has(Capability::Keys) {
        let what = "keys of this device are not changed while traffic runs: the test needs a virtual device";
        return Err(TrialError::Missing(what.to_owned()));
    }
    for pair in pairs {
        for priority in cx.each_lossless() {
            rekeyed(cx, &pair, priority)?;
        }
    }
    Ok(())
}

fn rekeyed(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), TrialError> {
    let (_, every) = macsec::storm_frames(cx);
    let keys = cx.by_level(KEYS.0, KEYS.1);
    let frames = (keys + 1) * FRAMES;
    let hold = every.saturating_mul(u64::from(frames) + 1);
    if hold > cx.setup.storm_max() {
        let what =
            "expected.watchdog.detection: the watchdog would take the storm for one; turn it off";
        return Err(TrialError::Missing(what.to_owned()));
    }
    let name = cx.port(pair.b).name.clone();
    let title = format!("storm for {priority} at {name} with {keys} new keys");
    let mut storm = macsec::traffic(cx, pair, title, hold);
    // A tenth of the line, so that no frame waits while the keys change.
    let share = SHARE / storm.trial.flows.len() as f64;
    storm.trial.flows.iter_mut().for_each(|flow| flow.rate = Rate::Line(share));
    let set = PrioritySet::of(priority);
    let made = change_keys(cx, pair, &mut storm.trial, keys, set)?;
    let start = cx.setup.times.baseline;
    macsec::add_storm(&mut storm.trial, pair.b, start, every, made);
    let observed = cx.observe(&storm.trial)?;
    storm::judge(cx, &storm, &observed, pair.b, set)?;
    judge_used(cx, &observed, pair.b, &name, keys);
    Ok(())
}

/// Adds the changes of keys to a trial, and returns the frames of its storm.
fn change_keys(
    cx: &mut Context<'_>,
    pair: &Pair,
    trial: &mut Trial,
    keys: u32,
    set: PrioritySet,
) -> Result<Vec<Vec<u8>>, TrialError> {
    let (_, every) = macsec::storm_frames(cx);
    let frame = macsec::pfc_for(cx, pair.b, set);
    let plan = macsec::macsec_of(cx, pair.b)?.plan.clone();
    let theirs = plan.receive.first().and_then(|sc| sc.associations[plan.encoding.index()].clone());
    let Some(theirs) = theirs else {
        let what = "ports.macsec.receive: the device's channel has no key to begin with";
        return Err(TrialError::Missing(what.to_owned()));
    };
    let (sci, is_xpn, start) = (plan.sci, plan.suite.is_xpn(), cx.setup.times.baseline);
    let mut maker = Maker::new(cx, pair.b, FRAMES, |_| {})?;
    let mut made: Vec<Vec<u8>> =
        (0..FRAMES).map(|_| maker.protect(&frame)).collect::<Result<_, _>>()?;
    let mut an = plan.encoding;
    for n in 1..=keys {
        let (old, new) = (an, an.next());
        let key = macsec::new_key(cx, pair.b, n)?;
        // The last number of 32 bits, or one that is followed by another lower half.
        let last = u64::from(u32::MAX);
        let first = if is_xpn { last } else { last + 1 - u64::from(FRAMES) };
        let sa = SaPlan { pn: first, ..key.clone() };
        let pn = if is_xpn { last - NEAR } else { 1 };
        // The channel of the device keeps its SSCI and salt.
        let sent = SaPlan { pn, ssci: theirs.ssci, salt: theirs.salt, ..key };
        let mine = sa.clone();
        let mut maker = Maker::new(cx, pair.b, 0, |plan| {
            plan.transmit = [const { None }; 4];
            plan.transmit[new.index()] = Some(mine);
            plan.encoding = new;
        })?;
        for _ in 0..FRAMES {
            made.push(maker.protect(&frame)?);
        }
        // Between the last frame with the old key and the first one with the new key.
        let at = start + every.saturating_mul(u64::from(n * FRAMES)).saturating_sub(every.div(2));
        let installed = [
            SecyChange::InstallReceive { sci, an: new, sa },
            SecyChange::InstallTransmit { an: new, sa: sent },
            SecyChange::UseTransmit(new),
        ];
        let removed = [SecyChange::RemoveTransmit(old), SecyChange::RemoveReceive { sci, an: old }];
        let change_at = |at| move |change| KeyChange { at, port: pair.b, change };
        trial.keys.extend(installed.into_iter().map(change_at(at)));
        trial.keys.extend(removed.into_iter().map(change_at(at + every)));
        an = new;
    }
    Ok(made)
}

/// Judges that the device has used its new keys, and no others.
fn judge_used(cx: &mut Context<'_>, observed: &Observation, port: Port, name: &str, keys: u32) {
    let (mut changes, mut unread, mut last) = (0, 0, None::<An>);
    for record in &observed.records {
        if record.port != port || record.way != Way::Received {
            continue;
        }
        match &record.secured {
            Some(secured) => {
                changes += u64::from(last.is_some_and(|last| last != secured.an));
                last = Some(secured.an);
            }
            None if macsec::is_unread(record) => {
                unread += 1;
                cx.mark(record, "is valid by no key");
            }
            None => {}
        }
    }
    let limits = Limits::exactly(f64::from(keys));
    let what = format!("changes of the association number at {name}");
    cx.judge(what, changes as f64, limits, 0.0, "changes");
    let what = format!("frames at {name} that are valid by no key");
    cx.count(what, unread, Limits::exactly(0.0));
}
