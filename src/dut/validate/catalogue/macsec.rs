//! PFC that a port with MACsec obeys: protected or plain, by its mode, and never replayed or forged.

use super::fill::missing;
use super::storm;
use super::storm::{SIZE, Storm};
use crate::bench::{Capability, TrialError};
use crate::counters::{Counter, Counters};
use crate::judge::Limits;
use crate::observation::{Observation, Record, What};
use crate::setup::Setup;
use crate::setup::{PfcMode, PortMacsec};
use crate::test::{Context, Scope, Test, Topology};
use crate::trial::{Control, FlowId, KeyChange, Port, Trial};
use core::ops::Range;
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::{Mac, Priority, PrioritySet, Quanta};
use secure::{An, SaPlan, Sak, Sci, SciForm, Secy, SecyChange, SecyPlan};
use wire::EtherType;

/// Most frames of a storm that a test protects itself.
const FRAMES_MAX: u64 = 200;

/// Two ports: the second one has MACsec.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    pub(super) a: Port,
    pub(super) b: Port,
    /// Mode of the device for PFC at `b`.
    pub(super) mode: PfcMode,
}

/// Returns true if a port of the file has MACsec.
pub(super) fn has_macsec(setup: &Setup) -> bool {
    setup.ports.iter().any(|port| port.macsec.is_some())
}

/// Returns the ports with MACsec, each with one that sends to it: all at level full, one at level quick.
pub(super) fn pairs(cx: &Context<'_>) -> Result<Vec<Pair>, TrialError> {
    cx.ports::<2>()?;
    let all = || (0..cx.setup.alike()).map(Port);
    let secured: Vec<_> = all().filter(|port| cx.port(*port).macsec.is_some()).collect();
    if secured.is_empty() {
        let what = "ports.macsec is missing; add the keys of a port with MACsec to the file";
        return Err(TrialError::Missing(what.to_owned()));
    }
    let many = cx.by_level(1, secured.len());
    let pair = |b: Port| {
        let plain = |port: &Port| *port != b && cx.port(*port).macsec.is_none();
        // A sender without MACsec is preferred, as then B alone has it.
        let a = all().find(plain).or_else(|| all().find(|port| *port != b));
        let mode = macsec_of(cx, b)?.mode;
        let mode = mode.ok_or_else(|| missing(&format!("macsec.{}", cx.port(b).name)))?;
        Ok(Pair { a: a.expect("there are two ports"), b, mode })
    };
    secured.into_iter().take(many).map(pair).collect()
}

/// Returns the MACsec of a port.
pub(super) fn macsec_of<'a>(cx: &'a Context<'_>, port: Port) -> Result<&'a PortMacsec, TrialError> {
    let name = &cx.port(port).name;
    let macsec = cx.port(port).macsec.as_deref();
    macsec.ok_or_else(|| TrialError::Missing(format!("port {name} has no `macsec`")))
}

/// Protects frames of a test with the next packet numbers of a port.
pub(super) struct Maker(Secy);

impl Maker {
    /// For `frames` frames with the association that the port sends with; `change` makes them others.
    pub(super) fn new(
        cx: &mut Context<'_>,
        port: Port,
        frames: u32,
        change: impl FnOnce(&mut SecyPlan),
    ) -> Result<Self, TrialError> {
        let first = cx.packet_numbers(port, frames);
        let mut plan = macsec_of(cx, port)?.secy(false);
        for sa in plan.transmit.iter_mut().flatten() {
            // A number that was sent before would be a replay.
            sa.pn = first;
        }
        change(&mut plan);
        let secy = Secy::new(&plan).map_err(|why| TrialError::Error(why.to_string()))?;
        Ok(Self(secy))
    }

    /// Returns a frame with the next packet number.
    pub(super) fn protect(&mut self, frame: &[u8]) -> Result<Vec<u8>, TrialError> {
        let front = self.0.front();
        let mut octets = vec![0; front + frame.len() + Secy::BACK];
        octets[front..front + frame.len()].copy_from_slice(frame);
        self.0.protect(&mut octets).map_err(|why| TrialError::Error(why.to_string()))?;
        Ok(octets)
    }
}

/// Returns the number of frames of a storm, and the interval between them: half of the longest pause.
pub(super) fn storm_frames(cx: &Context<'_>) -> (u32, Duration) {
    let pause = storm::longest(cx).at(cx.setup.rate);
    let every = pause.div(2);
    let hold = cx.setup.times.hold.min(cx.setup.storm_max());
    let span = hold.saturating_sub(pause);
    // The frames are protected before the trial, so their number is bounded.
    let frames = (1 + span.as_picos() / every.as_picos().max(1)).min(FRAMES_MAX);
    (frames as u32, every)
}

/// Adds a storm of these frames at a port, each with a packet number of its own.
pub(super) fn add_storm(
    trial: &mut Trial,
    port: Port,
    start: Duration,
    every: Duration,
    frames: Vec<Vec<u8>>,
) {
    trial.made.push(port);
    for (n, octets) in frames.into_iter().enumerate() {
        let start = start + every.saturating_mul(n as u64);
        trial.control.push(Control { port, octets, start, every, frames: 1 });
    }
}

/// Returns traffic on all priorities to a port with MACsec, for a baseline, a stimulus of `hold`, and a
/// time after it.
pub(super) fn traffic(cx: &Context<'_>, pair: &Pair, name: String, hold: Duration) -> Storm {
    storm::traffic(cx, (pair.a, pair.b), name, SIZE, hold)
}

/// Judges that a storm is ignored: all priorities keep their rates, and no frame is lost.
fn judge_ignored(
    cx: &mut Context<'_>,
    storm: &Storm,
    observed: &Observation,
    span: &Range<Duration>,
) -> Result<(), TrialError> {
    cx.at_rest(observed, &storm.trial, &storm.rest)?;
    for (n, priority) in storm.priorities.iter().enumerate() {
        cx.rate(observed, &storm.trial, FlowId(n), span);
        let lost = observed.lost(FlowId(n), &(Duration::ZERO..Duration::MAX));
        lost.iter().for_each(|record| cx.mark(record, "does not arrive"));
        let what = format!("lost frames of priority {priority}");
        cx.count(what, lost.len() as u64, Limits::exactly(0.0));
    }
    Ok(())
}

/// Returns the PFC frame of a storm.
pub(super) fn pfc_for(cx: &Context<'_>, port: Port, set: PrioritySet) -> Vec<u8> {
    cx.pause(port, set, Quanta::MAX)
}

/// Returns true for a protected frame that no key of the trial reads.
pub(super) fn is_unread(record: &Record) -> bool {
    let What::Other(octets) = &record.what else { return false };
    octets.get(TYPE..TYPE + 2) == Some(&EtherType::MACSEC.0.to_be_bytes())
}

/// Offset of the type of an untagged frame.
const TYPE: usize = 12;

/// Returns key `n` of a test for the tester's channel at a port, which no file has.
pub(super) fn new_key(cx: &Context<'_>, port: Port, n: u32) -> Result<SaPlan, TrialError> {
    let plan = &macsec_of(cx, port)?.plan;
    let old = plan.transmit[plan.encoding.index()].clone();
    let old = old.ok_or_else(|| TrialError::Missing("ports.macsec.transmit has no key".into()))?;
    let mut random = Rng::new(cx.setup.seed ^ u64::from(n) << 32 ^ port.0 as u64);
    let octets: Vec<u8> = (0..4).flat_map(|_| random.next_u64().to_be_bytes()).collect();
    let key = Sak::new(&octets[..plan.suite.key_len()]);
    Ok(SaPlan { key: key.expect("it has the length of the suite"), pn: 1, ..old })
}

pub(super) const OBEYED_MODE: Test = describe! {
    id: "V-K01",
    title: "a port with MACsec obeys the PFC of its mode alone",
    purpose: "In the modes bypass and encrypt a port obeys PFC with and without protection, so that peers of \
              either kind can pause it; in the mode strict it obeys protected PFC alone, which cannot be forged.",
    clause: "802.1AE 10.6, 802.1Q 36.1.3.2; modes of SONiC's `pfc_encryption_mode`",
    procedure: "Flows on all priorities from A to B, as many as the line takes with SecTAGs, and a storm at B for \
                one lossless priority: once of plain frames, once of protected ones, each with a packet number of \
                its own. The mode is that of `expected.macsec`.",
    pass: "A storm that the mode obeys: no frame of its priority begins after the limit, the others keep their \
           rates, and no frame is lost. A plain storm in the mode strict: all priorities keep their rates, and no \
           frame is lost.",
    source: "SONiC PR 898; sonic-swss 2955, 2095",
    run: obeyed_mode,
    topology: Topology::Tm,
    uncertainty: "Time stamps of the tester; a frame at each end of the storm.",
    scope: Scope::Device,
    described: has_macsec,
};

fn obeyed_mode(cx: &mut Context<'_>) -> Result<(), TrialError> {
    for pair in pairs(cx)? {
        for priority in cx.each_lossless() {
            judge_plain(cx, &pair, priority)?;
            judge_protected(cx, &pair, priority)?;
        }
    }
    Ok(())
}

/// Judges the reaction to a storm of plain frames.
fn judge_plain(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), TrialError> {
    let set = PrioritySet::of(priority);
    let frame = pfc_for(cx, pair.b, set);
    let (storm, observed) = observe_storm(cx, pair, priority, "plain", |_| Ok(frame.clone()))?;
    // In the mode strict plain PFC is not that of the peer, and could be forged.
    if pair.mode == PfcMode::Strict {
        let span = storm::held(cx, &observed, pair.b)?;
        return judge_ignored(cx, &storm, &observed, &span);
    }
    storm::judge(cx, &storm, &observed, pair.b, set)
}

/// Judges the reaction to a storm of protected frames.
fn judge_protected(
    cx: &mut Context<'_>,
    pair: &Pair,
    priority: Priority,
) -> Result<(), TrialError> {
    let set = PrioritySet::of(priority);
    let frame = pfc_for(cx, pair.b, set);
    let (frames, _) = storm_frames(cx);
    let mut maker = Maker::new(cx, pair.b, frames, |_| {})?;
    let (storm, observed) =
        observe_storm(cx, pair, priority, "protected", |_| maker.protect(&frame))?;
    storm::judge(cx, &storm, &observed, pair.b, set)
}

/// Runs a storm of frames that `make` makes.
fn observe_storm(
    cx: &mut Context<'_>,
    pair: &Pair,
    priority: Priority,
    kind: &str,
    make: impl FnMut(u32) -> Result<Vec<u8>, TrialError>,
) -> Result<(storm::Storm, crate::observation::Observation), TrialError> {
    let (frames, every) = storm_frames(cx);
    let hold = every.saturating_mul(u64::from(frames) + 1);
    let name = format!(
        "{kind} storm for {priority} at {}, which is in mode {}",
        cx.port(pair.b).name,
        pair.mode
    );
    let mut storm = traffic(cx, pair, name, hold);
    let start = cx.setup.times.baseline;
    let made = (0..frames).map(make).collect::<Result<_, _>>()?;
    add_storm(&mut storm.trial, pair.b, start, every, made);
    let observed = cx.observe(&storm.trial)?;
    Ok((storm, observed))
}

pub(super) const REJECTED: Test = describe! {
    id: "V-K03",
    title: "replayed and forged PFC pauses nothing, and is counted",
    purpose: "A protected PFC frame pauses a port once, and only if it is the peer's, with a key in use: a copy, a \
              changed frame, one of another channel and one with an old key pause nothing, and are counted.",
    clause: "802.1AE 10.6, 10.6.2, 10.7.9",
    procedure: "Flows on all priorities from A to B, and storms at B for one lossless priority: a protected one \
                that counts; then copies of a protected frame that was obeyed before the traffic; frames in which \
                one bit is changed, in the check value or in the time; frames of a channel that the device does \
                not have; frames of an association number that it has no key for; and frames with a key that was \
                removed, where the device's keys can be changed.",
    pass: "The first storm is obeyed as in V-K01. In all others all priorities keep their rates, and no frame is \
           lost. The device's counter of rejected frames (`macsec_rejected`) grows by their number, if it is read.",
    source: "own; 802.1AE 10.6",
    run: rejected,
    topology: Topology::Tm,
    uncertainty: "Time stamps of the tester; a frame at each end of the storm.",
    scope: Scope::Device,
    described: has_macsec,
};

fn rejected(cx: &mut Context<'_>) -> Result<(), TrialError> {
    for pair in pairs(cx)? {
        for priority in cx.each_lossless() {
            judge_protected(cx, &pair, priority)?;
            judge_replayed(cx, &pair, priority)?;
            judge_forged(cx, &pair, priority)?;
            judge_foreign(cx, &pair, priority)?;
            judge_without_key(cx, &pair, priority)?;
            judge_removed(cx, &pair, priority)?;
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
fn judge_replayed(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), TrialError> {
    let (frames, _) = storm_frames(cx);
    let frame = pfc_for(cx, pair.b, PrioritySet::of(priority));
    let one = Maker::new(cx, pair.b, 1, |_| {})?.protect(&frame)?;
    let rejected = Rejected {
        what: "replayed",
        frames: vec![one.clone(); frames as usize],
        // The first one is valid and obeyed; all others are copies of it.
        before: Some(one),
        keys: Vec::new(),
    };
    judge_rejected(cx, pair, priority, rejected)
}

/// Judges frames with a changed bit.
fn judge_forged(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), TrialError> {
    let mut frames = protected_frames(cx, pair, priority, |_| {})?;
    let overhead = macsec_of(cx, pair.b)?.plan.overhead() as usize;
    for (n, frame) in frames.iter_mut().enumerate() {
        // The check value is the end; a time of PFC is behind SecTAG, opcode and enable vector.
        let icv = frame.len() - 1;
        let time = overhead - 16 + TIMES + 2 * priority.index() + 1;
        frame[if n % 2 == 0 { icv } else { time }] ^= 1;
    }
    judge_rejected(
        cx,
        pair,
        priority,
        Rejected { what: "changed", frames, before: None, keys: vec![] },
    )
}

/// Offset of the first time in a plain PFC frame.
const TIMES: usize = crate::trial::VECTOR + 2;

/// Judges frames of a channel that the device does not have.
fn judge_foreign(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), TrialError> {
    let frames = protected_frames(cx, pair, priority, |plan| {
        let Mac(mut octets) = plan.sci.mac;
        octets[5] ^= 0x80;
        plan.sci = Sci { mac: Mac(octets), ..plan.sci };
        // A SecTAG without SCI would stand for the channel of the peer.
        plan.sci_form = SciForm::Explicit;
    })?;
    let what = "another channel's";
    judge_rejected(cx, pair, priority, Rejected { what, frames, before: None, keys: vec![] })
}

/// Judges frames of an association number without a key.
fn judge_without_key(
    cx: &mut Context<'_>,
    pair: &Pair,
    priority: Priority,
) -> Result<(), TrialError> {
    let plan = &macsec_of(cx, pair.b)?.plan;
    let free = An::ALL.into_iter().find(|an| plan.transmit[an.index()].is_none());
    let Some(free) = free else {
        cx.skip("PFC without a key", "ports.macsec: all four association numbers have keys");
        return Ok(());
    };
    let frames = protected_frames(cx, pair, priority, |plan| {
        let sa = plan.transmit[plan.encoding.index()].take();
        plan.transmit[free.index()] = sa;
        plan.encoding = free;
    })?;
    let what = "without a key,";
    judge_rejected(cx, pair, priority, Rejected { what, frames, before: None, keys: vec![] })
}

/// Judges frames with a key that the device has removed.
fn judge_removed(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), TrialError> {
    if !cx.has(Capability::Keys) {
        let why =
            "keys of this device are not changed while traffic runs: it needs a virtual device";
        cx.skip("PFC with a removed key", why);
        return Ok(());
    }
    let frames = protected_frames(cx, pair, priority, |_| {})?;
    let plan = &macsec_of(cx, pair.b)?.plan;
    let (sci, an) = (plan.sci, plan.encoding);
    let sa: SaPlan = new_key(cx, pair.b, 0)?;
    // The next key comes before the old one goes, so that the channel always has one.
    let changes = [
        SecyChange::InstallReceive { sci, an: an.next(), sa },
        SecyChange::RemoveReceive { sci, an },
    ];
    let at = Duration::ZERO;
    let keys = changes.map(|change| KeyChange { at, port: pair.b, change });
    let what = "with a removed key,";
    judge_rejected(cx, pair, priority, Rejected { what, frames, before: None, keys: keys.into() })
}

/// Returns the frames of a storm, protected by a SecY that `change` makes another.
fn protected_frames(
    cx: &mut Context<'_>,
    pair: &Pair,
    priority: Priority,
    change: impl FnOnce(&mut secure::SecyPlan),
) -> Result<Vec<Vec<u8>>, TrialError> {
    let (frames, _) = storm_frames(cx);
    let frame = pfc_for(cx, pair.b, PrioritySet::of(priority));
    let mut maker = Maker::new(cx, pair.b, frames, change)?;
    (0..frames).map(|_| maker.protect(&frame)).collect()
}

/// Judges that a storm of frames that must be rejected is ignored and counted.
fn judge_rejected(
    cx: &mut Context<'_>,
    pair: &Pair,
    priority: Priority,
    rejected: Rejected,
) -> Result<(), TrialError> {
    let Rejected { what, frames, before, keys } = rejected;
    let count = frames.len() as u64;
    let (_, every) = storm_frames(cx);
    let name = format!("{what} PFC for {priority} at {}", cx.port(pair.b).name);
    let hold = every.saturating_mul(count + 1);
    let mut storm = traffic(cx, pair, name.clone(), hold);
    // The valid frame before the traffic pauses the priority: that must be over.
    delay_storm(&mut storm, Quanta::MAX.at(cx.setup.rate).saturating_mul(2));
    storm.trial.keys = keys;
    if let Some(octets) = before {
        storm.trial.frame(pair.b, octets, Duration::ZERO);
    }
    let start = storm.rest.end;
    add_storm(&mut storm.trial, pair.b, start, every, frames);
    let (observed, counters) = cx.observe_with(storm.trial.clone())?;
    let span = start + cx.setup.stop_limit()..start + hold;
    judge_ignored(cx, &storm, &observed, &span)?;
    judge_counted(cx, counters, pair, name, count);
    Ok(())
}

/// Delays the traffic of a trial.
fn delay_storm(storm: &mut Storm, by: Duration) {
    storm.trial.flows.iter_mut().for_each(|flow| flow.start += by);
    storm.trial.length += by;
    storm.rest = storm.rest.start + by..storm.rest.end + by;
}

/// Judges the device's counter of rejected frames.
fn judge_counted(
    cx: &mut Context<'_>,
    counters: Result<Counters, TrialError>,
    pair: &Pair,
    name: String,
    count: u64,
) {
    let what = format!("counted as rejected: {name}");
    match counters {
        Ok(counters) => {
            let rejected = Counter::MacsecRejected.at(pair.b);
            cx.judge_counter(what, &counters, rejected, Limits::exactly(count as f64));
        }
        Err(why) => cx.skip(what, &why.to_string()),
    }
}
