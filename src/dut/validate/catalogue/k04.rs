//! V-K04: keys that change in a storm.

use super::macsec::{self, Maker, Pair};
use super::stop;
use crate::bench::{Faculty, Trouble};
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{KeyChange, Port, Rate, Trial};
use ground::time::Duration;
use ground::units::{Priority, PrioritySet};
use secure::{An, SaPlan, SecyChange};

pub const TEST: Test = Test {
    id: "V-K04",
    aliases: &[],
    title: "a pause outlasts changes of keys, and no frame is lost",
    purpose: "While a priority is paused by protected PFC, key agreement replaces keys, and packet numbers reach the \
              end of their range: the pause has no gap, and the traffic of the others loses no frame.",
    clause: "802.1AE 10.5, 10.6, 10.7.22, 10.7.28; 802.1X 9.8",
    topology: Topology::Tm,
    procedure: "Flows on all priorities from A to B, a tenth of the line together, and a protected storm at B for one \
                lossless priority. Both ends get a new key 60 times (8 times at level quick), after every second \
                frame of the storm; each key is installed for the next association number, then used, and the \
                one before is removed. Times are scaled: a key lives as long as the longest pause of PFC, not a \
                second. The storm ends each key with its last packet number; with XPN its numbers pass the end of \
                their lower half instead, and so do those of the device.",
    pass: "No frame of the priority begins from the limit after the first pause to the end of the last one; the \
           others keep their rates; no frame is lost, and none of the device's is valid by no key. The device \
           changes the association number that it sends with as often as it is told to.",
    uncertainty: "Time stamps of the tester; a frame at each end of the storm.",
    source: "own; sonic-mgmt 28120",
    level: Level::Full,
    run,
    line: line!(),
};

/// Share of the line of all flows together.
const SHARE: f64 = 0.1;

/// Number of new keys at levels quick and full.
const KEYS: (u32, u32) = (8, 60);

/// Frames of the storm with each key.
const FRAMES: u32 = 2;

/// Packet numbers before the end of the lower half with which the device begins.
const NEAR: u64 = 4;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let pairs = macsec::pairs(cx)?;
    if !cx.has(Faculty::Keys) {
        let what = "keys of this device are not changed while traffic runs: the test needs a virtual device";
        return Err(Trouble::Missing(what.to_owned()));
    }
    for pair in pairs {
        for priority in cx.each_lossless() {
            rekeyed(cx, &pair, priority)?;
        }
    }
    Ok(())
}

fn rekeyed(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), Trouble> {
    let (_, every) = macsec::storm_frames(cx);
    let keys = cx.by_level(KEYS.0, KEYS.1);
    let frames = (keys + 1) * FRAMES;
    let hold = every.saturating_mul(u64::from(frames) + 1);
    if hold > cx.setup.storm_max() {
        let what =
            "expected.watchdog.detection: the watchdog would take the storm for one; turn it off";
        return Err(Trouble::Missing(what.to_owned()));
    }
    let name = cx.port(pair.b).name.clone();
    let title = format!("storm for {priority} at {name} with {keys} new keys");
    let mut storm = macsec::traffic(cx, pair, title, hold);
    let share = SHARE / storm.trial.flows.len() as f64;
    storm.trial.flows.iter_mut().for_each(|flow| flow.rate = Rate::Line(share));
    let set = PrioritySet::of(priority);
    let made = change(cx, pair, &mut storm.trial, (keys, set, every))?;
    let mut made = made.into_iter();
    let next = |_| made.next().ok_or_else(|| Trouble::Error("a storm has too few frames".into()));
    let start = cx.setup.times.baseline;
    macsec::storm(&mut storm.trial, pair.b, (start, frames, every), next)?;
    let seen = cx.observe(&storm.trial)?;
    stop::judge(cx, &storm, &seen, (pair.b, set))?;
    used(cx, &seen, (pair.b, &name), keys);
    Ok(())
}

/// Adds the changes of keys to a trial, and returns the frames of its storm.
fn change(
    cx: &mut Context<'_>,
    pair: &Pair,
    trial: &mut Trial,
    (keys, set, every): (u32, PrioritySet, Duration),
) -> Result<Vec<Vec<u8>>, Trouble> {
    let frame = macsec::pfc(cx, pair.b, set);
    let plan = macsec::macsec(cx, pair.b)?.plan.clone();
    let theirs = plan.receive.first().and_then(|sc| sc.associations[plan.encoding.index()].clone());
    let Some(theirs) = theirs else {
        let what = "ports.macsec.receive: the device's channel has no key to begin with";
        return Err(Trouble::Missing(what.to_owned()));
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
        let of = |at| move |change| KeyChange { at, port: pair.b, change };
        trial.keys.extend(installed.into_iter().map(of(at)));
        trial.keys.extend(removed.into_iter().map(of(at + every)));
        an = new;
    }
    Ok(made)
}

/// Judges that the device has used its new keys, and no others.
fn used(cx: &mut Context<'_>, seen: &Observation, (port, name): (Port, &str), keys: u32) {
    let (mut changes, mut unread, mut last) = (0, 0, None::<An>);
    for record in &seen.records {
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
