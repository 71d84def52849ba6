//! V-K03: protected PFC that is not the peer's.

use super::macsec::{self, Maker, Pair};
use super::stop::Storm;
use crate::bench::{Faculty, Trouble};
use crate::counters::{Counter, Counters};
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::KeyChange;
use ground::time::Duration;
use ground::units::{Mac, Priority, PrioritySet, Quanta};
use secure::{An, SaPlan, Sci, SciForm, SecyChange};

pub const TEST: Test = Test {
    id: "V-K03",
    aliases: &[],
    title: "replayed and forged PFC pauses nothing, and is counted",
    purpose: "A protected PFC frame pauses a port once, and only if it is the peer's, with a key in use: a copy, a \
              changed frame, one of another channel and one with an old key pause nothing, and are counted.",
    clause: "802.1AE 10.6, 10.6.2, 10.7.9",
    topology: Topology::Tm,
    procedure: "Flows on all priorities from A to B, and storms at B for one lossless priority: a protected one \
                that counts; then copies of a protected frame that was obeyed before the traffic; frames in which \
                one bit is changed, in the check value or in the time; frames of a channel that the device does \
                not have; frames of an association number that it has no key for; and frames with a key that was \
                removed, where the device's keys can be changed.",
    pass: "The first storm is obeyed as in V-K01. In all others all priorities keep their rates, and no frame is \
           lost. The device's counter of rejected frames (`macsec_rejected`) grows by their number, if it is read.",
    uncertainty: "Time stamps of the tester; a frame at each end of the storm.",
    source: "own; 802.1AE 10.6",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    for pair in macsec::pairs(cx)? {
        for priority in cx.each_lossless() {
            super::k01::protected(cx, &pair, priority)?;
            replayed(cx, &pair, priority)?;
            forged(cx, &pair, priority)?;
            foreign(cx, &pair, priority)?;
            without_key(cx, &pair, priority)?;
            removed(cx, &pair, priority)?;
        }
    }
    Ok(())
}

/// Frames that the device rejects.
struct Rejected {
    what: &'static str,
    /// Frames of the storm, one after the other.
    frames: Vec<Vec<u8>>,
    /// Valid frame before the traffic.
    before: Option<Vec<u8>>,
    /// Changes of keys before the traffic.
    keys: Vec<KeyChange>,
}

/// Judges a frame that was obeyed, again and again.
fn replayed(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), Trouble> {
    let (frames, _) = macsec::storm_frames(cx);
    let frame = macsec::pfc(cx, pair.b, PrioritySet::of(priority));
    let one = Maker::new(cx, pair.b, 1, |_| {})?.protect(&frame)?;
    let rejected = Rejected {
        what: "replayed",
        frames: vec![one.clone(); frames as usize],
        before: Some(one),
        keys: Vec::new(),
    };
    judge(cx, pair, priority, rejected)
}

/// Judges frames with a changed bit.
fn forged(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), Trouble> {
    let mut frames = made(cx, pair, priority, |_| {})?;
    let overhead = macsec::macsec(cx, pair.b)?.plan.overhead() as usize;
    for (n, frame) in frames.iter_mut().enumerate() {
        // The check value is the end; a time of PFC is behind SecTAG, opcode and enable vector.
        let icv = frame.len() - 1;
        let time = overhead - 16 + TIMES + 2 * priority.index() + 1;
        frame[if n % 2 == 0 { icv } else { time }] ^= 1;
    }
    judge(cx, pair, priority, Rejected { what: "changed", frames, before: None, keys: vec![] })
}

/// Offset of the first time in a plain PFC frame.
const TIMES: usize = crate::trial::VECTOR + 2;

/// Judges frames of a channel that the device does not have.
fn foreign(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), Trouble> {
    let frames = made(cx, pair, priority, |plan| {
        let Mac(mut octets) = plan.sci.mac;
        octets[5] ^= 0x80;
        plan.sci = Sci { mac: Mac(octets), ..plan.sci };
        plan.sci_form = SciForm::Explicit;
    })?;
    let what = "another channel's";
    judge(cx, pair, priority, Rejected { what, frames, before: None, keys: vec![] })
}

/// Judges frames of an association number without a key.
fn without_key(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), Trouble> {
    let plan = &macsec::macsec(cx, pair.b)?.plan;
    let free = An::ALL.into_iter().find(|an| plan.transmit[an.index()].is_none());
    let Some(free) = free else {
        cx.skip("PFC without a key", "ports.macsec: all four association numbers have keys");
        return Ok(());
    };
    let frames = made(cx, pair, priority, |plan| {
        let sa = plan.transmit[plan.encoding.index()].take();
        plan.transmit[free.index()] = sa;
        plan.encoding = free;
    })?;
    let what = "without a key,";
    judge(cx, pair, priority, Rejected { what, frames, before: None, keys: vec![] })
}

/// Judges frames with a key that the device has removed.
fn removed(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), Trouble> {
    if !cx.has(Faculty::Keys) {
        let why =
            "keys of this device are not changed while traffic runs: it needs a virtual device";
        cx.skip("PFC with a removed key", why);
        return Ok(());
    }
    let frames = made(cx, pair, priority, |_| {})?;
    let plan = &macsec::macsec(cx, pair.b)?.plan;
    let (sci, an) = (plan.sci, plan.encoding);
    let sa: SaPlan = macsec::new_key(cx, pair.b, 0)?;
    let changes = [
        SecyChange::InstallReceive { sci, an: an.next(), sa },
        SecyChange::RemoveReceive { sci, an },
    ];
    let at = Duration::ZERO;
    let keys = changes.map(|change| KeyChange { at, port: pair.b, change });
    let what = "with a removed key,";
    judge(cx, pair, priority, Rejected { what, frames, before: None, keys: keys.into() })
}

/// Returns the frames of a storm, protected by a SecY that `change` makes another.
fn made(
    cx: &mut Context<'_>,
    pair: &Pair,
    priority: Priority,
    change: impl FnOnce(&mut secure::SecyPlan),
) -> Result<Vec<Vec<u8>>, Trouble> {
    let (frames, _) = macsec::storm_frames(cx);
    let frame = macsec::pfc(cx, pair.b, PrioritySet::of(priority));
    let mut maker = Maker::new(cx, pair.b, frames, change)?;
    (0..frames).map(|_| maker.protect(&frame)).collect()
}

/// Judges that a storm of frames that must be rejected is ignored and counted.
fn judge(
    cx: &mut Context<'_>,
    pair: &Pair,
    priority: Priority,
    rejected: Rejected,
) -> Result<(), Trouble> {
    let Rejected { what, frames, before, keys } = rejected;
    let count = frames.len() as u64;
    let (_, every) = macsec::storm_frames(cx);
    let name = format!("{what} PFC for {priority} at {}", cx.port(pair.b).name);
    let hold = every.saturating_mul(count + 1);
    let mut storm = macsec::traffic(cx, pair, name.clone(), hold);
    delay(&mut storm, Quanta::MAX.at(cx.setup.rate).saturating_mul(2));
    storm.trial.keys = keys;
    if let Some(octets) = before {
        storm.trial.frame(pair.b, octets, Duration::ZERO);
    }
    let start = storm.rest.end;
    let mut frames = frames.into_iter();
    let next = |_| frames.next().ok_or_else(|| Trouble::Error("a storm has too few frames".into()));
    macsec::storm(&mut storm.trial, pair.b, (start, count as u32, every), next)?;
    let (seen, counters) = cx.observe_with(storm.trial.clone())?;
    let span = start + cx.setup.stop_limit()..start + hold;
    macsec::judge_ignored(cx, &storm, &seen, &span)?;
    counted(cx, counters, pair, (name, count));
    Ok(())
}

/// Delays the traffic of a trial.
fn delay(storm: &mut Storm, by: Duration) {
    storm.trial.flows.iter_mut().for_each(|flow| flow.start += by);
    storm.trial.length += by;
    storm.rest = storm.rest.start + by..storm.rest.end + by;
}

/// Judges the device's counter of rejected frames.
fn counted(
    cx: &mut Context<'_>,
    counters: Result<Counters, Trouble>,
    pair: &Pair,
    (name, count): (String, u64),
) {
    let what = format!("counted as rejected: {name}");
    match counters {
        Ok(counters) => {
            let (at, limits) = ((pair.b, None), Limits::exactly(count as f64));
            cx.judge_counter(what, &counters, (at, Counter::MacsecRejected), limits);
        }
        Err(why) => cx.skip(what, &why.to_string()),
    }
}
