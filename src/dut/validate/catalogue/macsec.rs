//! The part that tests of MACsec have in common: the ports that have it, frames that the test protects
//! itself, and traffic to such a port.

use core::ops::Range;

use super::fill::missing;
use super::stop::{self, SIZE, Storm};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Record, What};
use crate::setup::{PfcMode, PortMacsec};
use crate::test::Context;
use crate::trial::{Control, FlowId, Port, Trial};
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};
use secure::{SaPlan, Sak, Secy, SecyPlan};
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

/// Returns the ports with MACsec, each with one that sends to it: all at level full, one at level quick.
pub(super) fn pairs(cx: &Context<'_>) -> Result<Vec<Pair>, Trouble> {
    cx.ports::<2>()?;
    let all = || (0..cx.setup.alike()).map(Port);
    let secured: Vec<_> = all().filter(|port| cx.port(*port).macsec.is_some()).collect();
    if secured.is_empty() {
        let what = "ports.macsec is missing; add the keys of a port with MACsec to the file";
        return Err(Trouble::Missing(what.to_owned()));
    }
    let many = cx.by_level(1, secured.len());
    let pair = |b: Port| {
        let plain = |port: &Port| *port != b && cx.port(*port).macsec.is_none();
        let a = all().find(plain).or_else(|| all().find(|port| *port != b));
        let mode = macsec(cx, b)?.mode;
        let mode = mode.ok_or_else(|| missing(&format!("macsec.{}", cx.port(b).name)))?;
        Ok(Pair { a: a.expect("there are two ports"), b, mode })
    };
    secured.into_iter().take(many).map(pair).collect()
}

/// Returns the MACsec of a port.
pub(super) fn macsec<'a>(cx: &'a Context<'_>, port: Port) -> Result<&'a PortMacsec, Trouble> {
    let name = &cx.port(port).name;
    let macsec = cx.port(port).macsec.as_deref();
    macsec.ok_or_else(|| Trouble::Missing(format!("port {name} has no `macsec`")))
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
    ) -> Result<Self, Trouble> {
        let first = cx.packet_numbers(port, frames);
        let mut plan = macsec(cx, port)?.secy(false);
        for sa in plan.transmit.iter_mut().flatten() {
            sa.pn = first;
        }
        change(&mut plan);
        let secy = Secy::new(&plan).map_err(|why| Trouble::Error(why.to_string()))?;
        Ok(Self(secy))
    }

    /// Returns a frame with the next packet number.
    pub(super) fn protect(&mut self, frame: &[u8]) -> Result<Vec<u8>, Trouble> {
        let front = self.0.front();
        let mut octets = vec![0; front + frame.len() + Secy::BACK];
        octets[front..front + frame.len()].copy_from_slice(frame);
        self.0.protect(&mut octets).map_err(|why| Trouble::Error(why.to_string()))?;
        Ok(octets)
    }
}

/// Returns the number of frames of a storm, and the interval between them: half of the longest pause.
pub(super) fn storm_frames(cx: &Context<'_>) -> (u32, Duration) {
    let pause = stop::longest(cx).at(cx.setup.rate);
    let every = pause.div(2);
    let hold = cx.setup.times.hold.min(cx.setup.storm_max());
    let span = hold.saturating_sub(pause);
    let frames = (1 + span.as_picos() / every.as_picos().max(1)).min(FRAMES_MAX);
    (frames as u32, every)
}

/// Adds a storm for a set of priorities at a port, each frame with a packet number of its own. The bytes of
/// frame `n` are made by `make`.
pub(super) fn storm(
    trial: &mut Trial,
    port: Port,
    (start, frames, every): (Duration, u32, Duration),
    mut make: impl FnMut(u32) -> Result<Vec<u8>, Trouble>,
) -> Result<(), Trouble> {
    trial.made.push(port);
    for n in 0..frames {
        let start = start + every.saturating_mul(n.into());
        let octets = make(n)?;
        trial.control.push(Control { port, octets, start, every, frames: 1 });
    }
    Ok(())
}

/// Returns traffic on all priorities to a port with MACsec, for a baseline, a stimulus of `hold`, and a
/// time after it.
pub(super) fn traffic(cx: &Context<'_>, pair: &Pair, name: String, hold: Duration) -> Storm {
    stop::traffic(cx, (pair.a, pair.b), (name, SIZE), hold)
}

/// Judges that a storm is ignored: all priorities keep their rates, and no frame is lost.
pub(super) fn judge_ignored(
    cx: &mut Context<'_>,
    storm: &Storm,
    seen: &Observation,
    span: &Range<Duration>,
) -> Result<(), Trouble> {
    cx.at_rest(seen, &storm.trial, &storm.rest)?;
    for (n, priority) in storm.priorities.iter().enumerate() {
        cx.rate(seen, &storm.trial, FlowId(n), span);
        let lost = seen.lost(FlowId(n), &(Duration::ZERO..Duration::MAX));
        lost.iter().for_each(|record| cx.mark(record, "does not arrive"));
        let what = format!("lost frames of priority {priority}");
        cx.count(what, lost.len() as u64, Limits::exactly(0.0));
    }
    Ok(())
}

/// Returns the PFC frame of a storm.
pub(super) fn pfc(cx: &Context<'_>, port: Port, set: PrioritySet) -> Vec<u8> {
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
pub(super) fn new_key(cx: &Context<'_>, port: Port, n: u32) -> Result<SaPlan, Trouble> {
    let plan = &macsec(cx, port)?.plan;
    let old = plan.transmit[plan.encoding.index()].clone();
    let old = old.ok_or_else(|| Trouble::Missing("ports.macsec.transmit has no key".into()))?;
    let mut random = Rng::new(cx.setup.seed ^ u64::from(n) << 32 ^ port.0 as u64);
    let octets: Vec<u8> = (0..4).flat_map(|_| random.next_u64().to_be_bytes()).collect();
    let key = Sak::new(&octets[..plan.suite.key_len()]);
    Ok(SaPlan { key: key.expect("it has the length of the suite"), pn: 1, ..old })
}
