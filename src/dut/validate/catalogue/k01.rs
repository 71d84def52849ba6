//! V-K01: the PFC that a port with MACsec obeys.

use super::macsec::{self, Maker, Pair};
use super::stop;
use crate::bench::Trouble;
use crate::setup::PfcMode;
use crate::test::{Context, Level, Test, Topology};
use ground::units::{Priority, PrioritySet};

pub const TEST: Test = Test {
    id: "V-K01",
    aliases: &[],
    title: "a port with MACsec obeys the PFC of its mode alone",
    purpose: "In the modes bypass and encrypt a port obeys PFC with and without protection, so that peers of \
              either kind can pause it; in the mode strict it obeys protected PFC alone, which cannot be forged.",
    clause: "802.1AE 10.6, 802.1Q 36.1.3.2; modes of SONiC's `pfc_encryption_mode`",
    topology: Topology::Tm,
    procedure: "Flows on all priorities from A to B, as many as the line takes with SecTAGs, and a storm at B for \
                one lossless priority: once of plain frames, once of protected ones, each with a packet number of \
                its own. The mode is that of `expected.macsec`.",
    pass: "A storm that the mode obeys: no frame of its priority begins after the limit, the others keep their \
           rates, and no frame is lost. A plain storm in the mode strict: all priorities keep their rates, and no \
           frame is lost.",
    uncertainty: "Time stamps of the tester; a frame at each end of the storm.",
    source: "SONiC PR 898; sonic-swss 2955, 2095",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    for pair in macsec::pairs(cx)? {
        for priority in cx.each_lossless() {
            plain(cx, &pair, priority)?;
            protected(cx, &pair, priority)?;
        }
    }
    Ok(())
}

/// Judges the reaction to a storm of plain frames.
fn plain(cx: &mut Context<'_>, pair: &Pair, priority: Priority) -> Result<(), Trouble> {
    let set = PrioritySet::of(priority);
    let frame = macsec::pfc(cx, pair.b, set);
    let seen_of = observe(cx, (pair, priority), "plain", |_| Ok(frame.clone()))?;
    let (storm, seen) = seen_of;
    if pair.mode == PfcMode::Strict {
        let span = stop::held(cx, &seen, pair.b)?;
        return macsec::judge_ignored(cx, &storm, &seen, &span);
    }
    stop::judge(cx, &storm, &seen, (pair.b, set))
}

/// Judges the reaction to a storm of protected frames.
pub(super) fn protected(
    cx: &mut Context<'_>,
    pair: &Pair,
    priority: Priority,
) -> Result<(), Trouble> {
    let set = PrioritySet::of(priority);
    let frame = macsec::pfc(cx, pair.b, set);
    let (frames, _) = macsec::storm_frames(cx);
    let mut maker = Maker::new(cx, pair.b, frames, |_| {})?;
    let (storm, seen) = observe(cx, (pair, priority), "protected", |_| maker.protect(&frame))?;
    stop::judge(cx, &storm, &seen, (pair.b, set))
}

/// Runs a storm of frames that `make` makes.
fn observe(
    cx: &mut Context<'_>,
    (pair, priority): (&Pair, Priority),
    kind: &str,
    make: impl FnMut(u32) -> Result<Vec<u8>, Trouble>,
) -> Result<(stop::Storm, crate::observation::Observation), Trouble> {
    let (frames, every) = macsec::storm_frames(cx);
    let hold = every.saturating_mul(u64::from(frames) + 1);
    let name = format!(
        "{kind} storm for {priority} at {}, which is in mode {}",
        cx.port(pair.b).name,
        pair.mode
    );
    let mut storm = macsec::traffic(cx, pair, name, hold);
    let start = cx.setup.times.baseline;
    macsec::storm(&mut storm.trial, pair.b, (start, frames, every), make)?;
    let seen = cx.observe(&storm.trial)?;
    Ok((storm, seen))
}
