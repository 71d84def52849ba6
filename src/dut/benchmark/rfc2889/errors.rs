//! Errored frames: a switch must not forward them (RFC 2889, 5.9).

use ground::time::Duration;
use ground::units::Bytes;
use serde::Serialize;
use validate::bench::{Faculty, Trouble};
use validate::observation::{Observation, Record, Way, What};
use validate::trial::{Control, Damage, Flow, FlowId, Limit, Port, Rate, Trial};

use crate::trial::Runner;

/// Frames of each kind.
const FRAMES: u32 = 100;

/// Shortest frame, and bytes of the FCS.
const LEAST: u32 = 64;
const FCS: u32 = 4;

/// Bytes of a frame on the line that are not part of it: preamble, start delimiter and gap.
const OVERHEAD: u64 = 20;

/// EtherType of local experiments (IEEE Std 802, 9.2.3), by which the errored frames are known again.
const EXPERIMENT: [u8; 2] = [0x88, 0xb5];

/// Lengths of undersized frames in bytes, FCS included.
const SHORT: [u32; 2] = [32, LEAST - 1];

/// Frames with an error, and what the device did with them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ErrorRow {
    /// `undersize`, `oversize`, `crc`, `alignment` or `dribble`.
    pub kind: &'static str,
    /// Frame size in bytes, FCS included; absent if it is not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u32>,
    pub sent: u64,
    /// Frames that a port of the tester received, padded ones included.
    pub forwarded: u64,
    /// True if none was forwarded; absent if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtered: Option<bool>,
    /// Reason why it is not tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_tested: Option<String>,
}

impl ErrorRow {
    fn missing(kind: &'static str, why: impl Into<String>) -> Self {
        let not_tested = Some(why.into());
        Self { kind, size: None, sent: 0, forwarded: 0, filtered: None, not_tested }
    }
}

/// Sends frames with each kind of error that the bench can make, from the first port to the second.
pub(super) fn run(runner: &mut Runner<'_>) -> Result<Vec<ErrorRow>, Trouble> {
    let mut rows = Vec::new();
    match runner.has(Faculty::ShortFrames) {
        true => {
            for size in SHORT {
                rows.push(sized(runner, "undersize", size)?);
                runner.row("errors");
            }
        }
        false => {
            rows.push(ErrorRow::missing("undersize", "ports pad them"));
            runner.row("errors");
        }
    }
    let longer = runner.plan.setup.max_frame + 1;
    rows.push(match sized(runner, "oversize", longer) {
        // A port that takes no longer frames.
        Err(Trouble::Error(why)) if !runner.is_exact() => {
            runner.note(format!("errors: {longer} bytes: {why}"));
            ErrorRow::missing("oversize", "the port takes none")
        }
        other => other?,
    });
    runner.row("errors");
    rows.push(match runner.has(Faculty::WrongFcs) {
        true => damaged(runner)?,
        false => ErrorRow::missing("crc", "ports calculate the FCS"),
    });
    runner.row("errors");
    let bytes = "ports send whole bytes";
    rows.extend(["alignment", "dribble"].map(|kind| ErrorRow::missing(kind, bytes)));
    runner.rows("errors", 2);
    Ok(rows)
}

/// Returns the time of a frame on the line of the first port, and a trial with valid frames behind it.
fn trial(runner: &Runner<'_>, kind: &str, size: u32) -> (Duration, Trial) {
    let plan = runner.plan;
    let rate = plan.setup.port(Port(0)).rate;
    let every = rate.time_for(Bytes(u64::from(size) + OVERHEAD));
    let span = every.saturating_mul(2 * u64::from(FRAMES));
    let name = format!("{size} bytes, {kind}");
    let valid = Flow::new((Port(0), Port(1)), plan.priority, Limit::Frames(FRAMES));
    let valid = valid.size(plan.setup.shortest()).rate(Rate::Line(0.5)).start(span);
    let after =
        rate.time_for(Bytes(4 * u64::from(FRAMES) * (u64::from(plan.setup.shortest()) + OVERHEAD)));
    let mut trial = Trial::new(name, span + after + plan.drain);
    trial.whole = true;
    trial.flow(valid);
    (every, trial)
}

/// Sends frames of a wrong length.
fn sized(runner: &mut Runner<'_>, kind: &'static str, size: u32) -> Result<ErrorRow, Trouble> {
    let (every, mut trial) = trial(runner, kind, size);
    let ports = &runner.plan.setup.ports;
    let mut octets = [&ports[1].mac.0[..], &ports[0].mac.0[..], &EXPERIMENT[..]].concat();
    octets.resize((size - FCS) as usize, 0);
    // Half of the line.
    let (start, every) = (Duration::ZERO, every.saturating_mul(2));
    trial.control.push(Control { port: Port(0), octets, start, every, frames: FRAMES });
    let seen = runner.observe(&trial)?;
    let is_one = |record: &&Record| {
        let What::Other(octets) = &record.what else { return false };
        octets.get(12..14) == Some(&EXPERIMENT[..])
    };
    let of = |way| seen.records.iter().filter(|r| r.way == way).filter(is_one).count() as u64;
    judged(&seen, kind, size, (of(Way::Sent), of(Way::Received)))
}

/// Sends frames with a wrong FCS.
fn damaged(runner: &mut Runner<'_>) -> Result<ErrorRow, Trouble> {
    let plan = runner.plan;
    let size = plan.sizes.iter().copied().min().unwrap_or(LEAST);
    let (every, mut trial) = trial(runner, "crc", size);
    let flow = Flow::new((Port(0), Port(1)), plan.priority, Limit::Frames(FRAMES)).size(size);
    let wrong = trial.flow(flow);
    let until = every.saturating_mul(u64::from(FRAMES) + u64::from(FRAMES) / 2);
    trial.damage.push(Damage { port: Port(0), from: Duration::ZERO, until });
    let seen = runner.observe(&trial)?;
    let of = |way| seen.of(wrong, way).count() as u64;
    // With the wrong FCS, or with a new one.
    let is_one = |r: &&Record| matches!(r.what, What::Data { flow, .. } if flow == wrong);
    let forwarded = of(Way::Received) + seen.damaged.iter().filter(is_one).count() as u64;
    judged(&seen, "crc", size, (of(Way::Sent), forwarded))
}

/// Returns the row of a trial, whose valid frames must have arrived.
fn judged(
    seen: &Observation,
    kind: &'static str,
    size: u32,
    (sent, forwarded): (u64, u64),
) -> Result<ErrorRow, Trouble> {
    let valid = seen.tally(FlowId(0));
    if valid.sent == 0 || valid.lost() > 0 {
        let (lost, all) = (valid.lost(), valid.sent);
        let what = format!("{lost} of {all} valid frames behind {kind} frames are lost");
        return Err(Trouble::Error(what));
    }
    if sent < u64::from(FRAMES) {
        let what = format!("the tester sent {sent} {kind} frames of {FRAMES}");
        return Err(Trouble::Error(what));
    }
    let filtered = Some(forwarded == 0);
    Ok(ErrorRow { kind, size: Some(size), sent, forwarded, filtered, not_tested: None })
}
