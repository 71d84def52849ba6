//! Tests of a bridge (RFC 2889): address caching capacity (5.7), address learning rate (5.8), errored frames, which
//! a switch must not forward (5.9), and forwarding of broadcast frames (5.10).

use ground::time::Duration;
use ground::units::Bytes;
use serde::Serialize;
use tester::report::Report;
use validate::bench::{Capability, TrialError};
use validate::observation::{Observation, Record, Way, What};
use validate::trial::{Addresses, Control, Damage, Flow, FlowId, Limit, Port, Rate, Trial};

use crate::mlrsearch::Irregular;
use crate::plan::Plan;
use crate::search;
use crate::trial::{Latency, Runner, latency_of};

/// Ports of the test: that of the addresses, that of the sender, and one that sees what is flooded.
const PORTS: usize = 3;

/// Frames by which the device learns where the sender is.
const ANNOUNCED: u32 = 3;

/// Addresses that no frame came from, which must be flooded to.
const CONTROL: u32 = 16;

/// Load of the frames to the learnt addresses, as a share of the line. A choice: far below any
/// throughput.
const TEST_LOAD: f64 = 0.1;

/// Addresses that a device learns from one port.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct AddressRow {
    /// Largest number of addresses of which none is forgotten: the address caching capacity.
    pub addresses: u32,
    /// True if the largest number that was tried was learnt.
    pub addresses_at_limit: bool,
    /// Highest rate in frames/s at which that many addresses are learnt; absent if there was none.
    pub learning_per_second: Option<f64>,
    /// Absent if the rate has two close bounds.
    pub irregular: Option<Irregular>,
}

/// Forwarding of broadcast frames, for a frame size.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct BroadcastRow {
    /// Frame size in bytes, FCS included.
    pub size: u32,
    /// Highest load in percent of the line at which no port misses a frame; absent if there was none.
    pub throughput_percent: Option<f64>,
    /// Absent if the throughput has two close bounds.
    pub irregular: Option<Irregular>,
    /// Latency at the throughput (FILO); absent without a throughput.
    pub latency: Option<Latency>,
}

/// Measures capacity and learning rate; `None` with too few ports.
pub(crate) fn addresses(runner: &mut Runner<'_>) -> Result<Option<AddressRow>, TrialError> {
    let plan = runner.plan;
    let ports = plan.equal_ports();
    if ports < PORTS {
        let why = format!("they need {PORTS} ports of one rate, there are {ports}");
        runner.not_applicable("addresses", &why);
        return Ok(None);
    }
    let (most, rate) = (plan.learning.addresses, f64::from(plan.learning.rate));
    // Without this a device that drops frames to unknown addresses would seem to know all of them.
    if knows(runner, most.min(CONTROL), false, rate)? {
        runner.not_run("addresses", "frames to unknown addresses are not flooded");
        return Ok(None);
    }
    let good = search::largest(most, |count| knows(runner, count, true, rate))?;
    if good == 0 {
        runner.note("addresses: not one is learnt: the device is no bridge, or its table is full");
        let (learning_per_second, irregular) = (None, None);
        return Ok(Some(AddressRow {
            addresses: 0,
            addresses_at_limit: false,
            learning_per_second,
            irregular,
        }));
    }
    let (result, _) = search::rfc2544(runner, plan.max_rate(smallest(plan)), |runner, trial| {
        // One trial learns all of the addresses, whatever the time that takes.
        let learnt = knows(runner, good, true, trial.load)?;
        Ok((1, u64::from(learnt)))
    })?;
    Ok(Some(AddressRow {
        addresses: good,
        addresses_at_limit: good == most,
        learning_per_second: result.lower.map(|bound| bound.load),
        irregular: result.irregular,
    }))
}

/// Returns the frame size in bytes, FCS included: the smallest, whose rate is the highest.
const fn smallest(plan: &Plan) -> u32 {
    plan.setup.shortest()
}

/// Sends a frame from each of `count` addresses at `rate` frames/s if it `announces` them, and one to each. Returns
/// true if the device floods none of these.
fn knows(
    runner: &mut Runner<'_>,
    count: u32,
    announces: bool,
    rate: f64,
) -> Result<bool, TrialError> {
    let plan = runner.plan;
    let [learning, sender] = [Port(0), Port(1)];
    let pause = plan.drain.max(Duration::from_micros(10));
    let size = smallest(plan);
    let time = |frames: u32, per_second: f64| {
        Duration::from_picos((f64::from(frames) / per_second * 1e12).ceil() as u64)
    };
    let flow = |ends, frames| Flow::new(ends, plan.priority, Limit::Frames(frames)).size(size);
    // Whole numbers of frames per second, which the generator keeps.
    let slow = Rate::Frames((rate as u64).max(1));
    let load = TEST_LOAD.min(plan.max_share(size));
    let fast = plan.line_rate(0, size) * load;
    // The pauses let the device empty its queues and write its table before the next step relies on it.
    let begin = time(ANNOUNCED, rate) + pause;
    let test = begin + time(count, rate) + pause;
    let name = format!("{count} addresses at {rate:.0} frames/s");
    let mut trial = Trial::new(name, test + time(count, fast) + plan.drain);
    trial.unknown = true;
    trial.flow(flow((sender, learning), ANNOUNCED).addresses(Addresses::Broadcast).rate(slow));
    let sources = flow((learning, sender), count).addresses(Addresses::Sources(count));
    if announces {
        trial.flow(sources.rate(slow).start(begin));
    }
    let destinations = flow((sender, learning), count).addresses(Addresses::Destinations(count));
    trial.flow(destinations.rate(Rate::Line(load)).start(test));
    // A rest as long as the ageing time: the table is empty again when the next trial begins.
    runner.attempts(&trial, plan.learning.ageing, |runner, report| {
        is_learnt(&report, count, announces, rate * (1.0 - runner.plan.width))
    })
}

/// Returns true if each test frame arrived at the port of its address alone. Frames from the addresses, if there are
/// any, must have been sent at `least` frames/s.
fn is_learnt(report: &Report, count: u32, announces: bool, least: f64) -> Result<bool, TrialError> {
    let (announced, learning) = (&report.flows[0], announces.then(|| &report.flows[1]));
    let test = &report.flows[1 + usize::from(announces)];
    if announced.frames_rx == 0 {
        let what =
            "a broadcast frame is not forwarded; check the cables, and that the device is a bridge";
        return Err(TrialError::Error(what.to_owned()));
    }
    let count = u64::from(count);
    let sent = learning.map_or(u64::MAX, |flow| flow.frames_tx).min(test.frames_tx);
    if sent < count {
        return Err(TrialError::Disturbed(format!("the tester sent {sent} frames of {count}")));
    }
    // Too slow learning would show a rate that was never sent. A single frame has no rate.
    let pace = learning.and_then(|flow| flow.pacing.as_ref()).map(|pacing| pacing.sent_fps);
    if let Some(pace) = pace.filter(|pace| count > 1 && *pace < least) {
        let what = format!(
            "the tester sent {pace:.0} frames/s, not {least:.0}: the machine is busy, or too slow for this \
             load; lower `max_load`"
        );
        return Err(TrialError::Disturbed(what));
    }
    // Those at the port of the addresses, and those that were flooded: a lost frame and a flooded one are two.
    let Some((arrived, others)) = test.frames_rx_by_port.split_first() else {
        return Err(TrialError::Error("the test frames are not counted by port".to_owned()));
    };
    let flooded: u64 = others.iter().sum();
    if *arrived < count {
        let what = format!(
            "{arrived} of {count} frames to the learnt addresses arrive, and {flooded} at other ports"
        );
        return Err(TrialError::Error(what));
    }
    Ok(flooded == 0)
}

/// Measures the throughput and the latency of broadcast frames from the first port.
pub(crate) fn broadcast(
    runner: &mut Runner<'_>,
    size: u32,
) -> Result<Option<BroadcastRow>, TrialError> {
    let plan = runner.plan;
    let ports = plan.equal_ports();
    if ports < 2 || ports < plan.setup.ports.len() {
        runner.not_applicable("broadcast", "it needs two ports or more, all of one rate");
        return Ok(None);
    }
    let line = plan.line_rate(0, size);
    let (result, _) = search::rfc2544(runner, plan.max_rate(size), |runner, trial| {
        let (sent, arrived, _) = to_all(runner, size, trial.load, trial.duration)?;
        Ok((sent, arrived))
    })?;
    let found = result.lower.map(|bound| bound.load);
    let latency = match found {
        Some(load) => to_all(runner, size, load, plan.trial)?.2,
        None => None,
    };
    Ok(Some(BroadcastRow {
        size,
        throughput_percent: found.map(|load| load / line * 100.0),
        irregular: result.irregular,
        latency,
    }))
}

/// Sends broadcast frames from the first port. Returns the copies that all others together should
/// receive, those that arrived, and the latency.
fn to_all(
    runner: &mut Runner<'_>,
    size: u32,
    load: f64,
    duration: Duration,
) -> Result<(u64, u64, Option<Latency>), TrialError> {
    let plan = runner.plan;
    let share = (load / plan.line_rate(0, size)).min(1.0);
    let name = format!("{size} bytes, broadcast, {:.3} % of the line", share * 100.0);
    let mut trial = Trial::new(name, duration + plan.drain);
    let flow = Flow::new((Port(0), Port(1)), plan.priority, Limit::Time(duration)).size(size);
    trial.flow(flow.rate(Rate::Line(share)).addresses(Addresses::Broadcast));
    // Each frame should arrive once at every port but its sender's.
    let others = plan.setup.ports.len() as u64 - 1;
    runner.attempts(&trial, plan.rest, |_, report| {
        let flow = report.flows.first().filter(|flow| flow.frames_tx > 0);
        let flow = flow.ok_or_else(|| TrialError::Error("the tester sent nothing".to_owned()))?;
        let latency = latency_of(flow, &report);
        Ok((flow.frames_tx * others, flow.frames_rx, latency))
    })
}

/// Frames of each kind.
const FRAMES: u32 = 100;

/// Shortest frame, and bytes of the FCS.
const LEAST: u32 = 64;
const FCS: u32 = 4;

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
pub(crate) fn errors(runner: &mut Runner<'_>) -> Result<Vec<ErrorRow>, TrialError> {
    let mut rows = Vec::new();
    match runner.has(Capability::ShortFrames) {
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
        Err(TrialError::Error(why)) if !runner.is_exact() => {
            runner.note(format!("errors: {longer} bytes: {why}"));
            ErrorRow::missing("oversize", "the port takes none")
        }
        other => other?,
    });
    runner.row("errors");
    rows.push(match runner.has(Capability::WrongFcs) {
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
    let every = rate.time_for(Bytes(plan.on_line(size)));
    // Errored frames take half of the line, so they need twice the time of as many at line rate.
    let span = every.saturating_mul(2 * u64::from(FRAMES));
    let name = format!("{size} bytes, {kind}");
    let valid = Flow::new((Port(0), Port(1)), plan.priority, Limit::Frames(FRAMES));
    let valid = valid.size(plan.setup.shortest()).rate(Rate::Line(0.5)).start(span);
    let shortest = plan.on_line(plan.setup.shortest());
    let after = rate.time_for(Bytes(4 * u64::from(FRAMES) * shortest));
    let mut trial = Trial::new(name, span + after + plan.drain);
    trial.whole = true;
    trial.flow(valid);
    (every, trial)
}

/// Sends frames of a wrong length.
fn sized(runner: &mut Runner<'_>, kind: &'static str, size: u32) -> Result<ErrorRow, TrialError> {
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
    let count = |way| seen.records.iter().filter(|r| r.way == way).filter(is_one).count() as u64;
    error_row(&seen, kind, size, count(Way::Sent), count(Way::Received))
}

/// Sends frames with a wrong FCS.
fn damaged(runner: &mut Runner<'_>) -> Result<ErrorRow, TrialError> {
    let plan = runner.plan;
    let size = plan.sizes.iter().copied().min().unwrap_or(LEAST);
    let (every, mut trial) = trial(runner, "crc", size);
    let flow = Flow::new((Port(0), Port(1)), plan.priority, Limit::Frames(FRAMES)).size(size);
    let wrong = trial.flow(flow);
    // Half as long again: the last damaged frame ends before, and the first valid one begins after it.
    let until = every.saturating_mul(u64::from(FRAMES) + u64::from(FRAMES) / 2);
    trial.damage.push(Damage { port: Port(0), from: Duration::ZERO, until });
    let seen = runner.observe(&trial)?;
    let count = |way| seen.of(wrong, way).count() as u64;
    // With the wrong FCS, or with a new one.
    let is_one = |r: &&Record| matches!(r.what, What::Data { flow, .. } if flow == wrong);
    let forwarded = count(Way::Received) + seen.damaged.iter().filter(is_one).count() as u64;
    error_row(&seen, "crc", size, count(Way::Sent), forwarded)
}

/// Returns the row of a trial, whose valid frames must have arrived.
fn error_row(
    seen: &Observation,
    kind: &'static str,
    size: u32,
    sent: u64,
    forwarded: u64,
) -> Result<ErrorRow, TrialError> {
    // A device that stops forwarding after an errored frame would seem to filter well.
    let valid = seen.tally(FlowId(0));
    if valid.sent == 0 || valid.lost() > 0 {
        let (lost, all) = (valid.lost(), valid.sent);
        let what = format!("{lost} of {all} valid frames behind {kind} frames are lost");
        return Err(TrialError::Error(what));
    }
    if sent < u64::from(FRAMES) {
        let what = format!("the tester sent {sent} {kind} frames of {FRAMES}");
        return Err(TrialError::Error(what));
    }
    let filtered = Some(forwarded == 0);
    Ok(ErrorRow { kind, size: Some(size), sent, forwarded, filtered, not_tested: None })
}
