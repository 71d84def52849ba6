//! NICs: they send traffic by themselves, obey PFC, and pause their peers.

use super::sfc::{paused, total};
use super::{obeying, pause_time, resuming, storm, storm_traffic};
use crate::bench::{Capability, TrialError};
use crate::counters::Counter;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::setup::Nic;
use crate::test::{Context, Kind, Level, Scope, Test, Topology};
use crate::trial::{Addresses, Control, Flow, FlowId, Limit, Port, READING, Setting, Trial};
use core::net::IpAddr;
use ground::time::Duration;
use ground::units::{Mac, Priority, PrioritySet, Quanta};
use wire::{ip, vlan};

/// Returns what the file tells of the NICs.
pub(super) fn expected<'a>(cx: &Context<'a>) -> Result<&'a Nic, TrialError> {
    cx.setup.nic.as_ref().ok_or_else(|| TrialError::Missing("nic is missing".to_owned()))
}

/// Waits for the traffic of the NIC at a port, of each priority that it sends, and returns it with the first
/// bytes of its frames.
///
/// # Errors
/// It does not come in time.
pub(super) fn wait_for_traffic(
    cx: &mut Context<'_>,
    port: Port,
) -> Result<Observation, TrialError> {
    cx.wait_for_nic(port)?.map_err(|priority| {
        let what = format!(
            "the NIC sends no frame of priority {priority} to port {}; start its traffic, see \
             `nic.sends`",
            cx.port(port).name
        );
        TrialError::Missing(what)
    })
}

/// Addresses of a NIC.
struct Station {
    mac: Mac,
    ip: IpAddr,
}

/// Returns the addresses in the frames that a NIC sent.
fn station(cx: &Context<'_>, observed: &Observation, port: Port) -> Result<Station, TrialError> {
    let frames = observed.records.iter().filter(|r| r.way == Way::Received && r.port == port);
    let found = frames.filter_map(|record| {
        let walk = vlan::walk(&record.head).ok()?;
        let ip = ip::View::new(walk.ethertype, record.head.get(walk.l3..)?).ok()?;
        Some(Station { mac: walk.src, ip: ip.src() })
    });
    found.into_iter().next().ok_or_else(|| {
        let what = format!("the traffic to port {} has no address of IP", cx.port(port).name);
        TrialError::Missing(what)
    })
}

pub(super) const OBEYS_PFC: Test = describe! {
    id: "V-N01",
    title: "a NIC obeys PFC",
    purpose: "A NIC that sends by itself reacts to PFC as V-R01 and V-R04 to V-R11 ask of a switch.",
    clause: "802.1Q 36.1.2; 802.3 31B.3",
    procedure: "The host of the NIC sends its traffic all the time. At each port the tests V-R01 and V-R04 \
                to V-R11 are run, with this traffic in the place of the tester's.",
    pass: "As in those tests, with the rates at rest in the place of the intended ones. Loss within the \
           NIC is not judged: its frames have no numbers.",
    source: "HLK QosPriorityFlowControl",
    run: obeys_pfc,
    topology: Topology::T1,
    uncertainty: "Time stamps of the tester, and the distance of the NIC's frames: traffic that fills the \
                  line shows most.",
    level: Level::Quick,
    kind: Kind::Nic,
    scope: Scope::Device,
};

/// Tests of obeying, of which each is a part.
const PARTS: &[Test] = &[
    obeying::ONE_PRIORITY,
    resuming::ZERO_TIME,
    pause_time::SINGLE_PAUSE,
    pause_time::REACTION_TIME,
    pause_time::REPLACED_TIME,
    storm_traffic::REFRESHED,
    resuming::ZERO_WITHOUT_EFFECT,
    obeying::ENABLE_VECTOR,
    obeying::LOSSY_PRIORITIES,
];

fn obeys_pfc(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let ports = (0..cx.setup.alike()).map(Port);
    for port in ports.take(cx.by_level(1, usize::MAX)) {
        // Without traffic every pause would seem to be obeyed.
        wait_for_traffic(cx, port)?;
        let level = cx.level;
        for part in PARTS.iter().filter(|part| part.level <= level) {
            cx.at_nic(port, part)?;
        }
    }
    Ok(())
}

pub(super) const SLOW_HOST: Test = describe! {
    id: "V-N02",
    title: "a slow host's NIC sends PFC, and no storm",
    purpose: "A NIC whose host does not read what arrives stops its peer by PFC and drops nothing. It ends \
              its pauses once the host reads.",
    clause: "802.1Q 36.1.3.1",
    procedure: "A sends one lossless priority at line rate to the address that the NIC's own traffic has. \
                First the host does not read (setting `host.reading`: `off`); then it does (`on`).",
    pass: "The NIC pauses the priority, and counts no drop. While the host reads, frames still pass in the \
           second half of the time, and the NIC pauses no longer than `nic.paused`.",
    source: "Keysight ai-ml-testing PFC.md; NVIDIA/daqiri#250",
    run: slow_host,
    topology: Topology::T1,
    uncertainty: "Time stamps of the tester for the paused time; none for counts.",
    kind: Kind::Nic,
    scope: Scope::Device,
};

fn slow_host(cx: &mut Context<'_>) -> Result<(), TrialError> {
    if !cx.has(Capability::Settings) {
        let what = "adapter is missing: it sets host.reading of the NIC; add it to the file";
        return Err(TrialError::Missing(what.to_owned()));
    }
    let priority = cx.lossless()?;
    let ports = (0..cx.setup.alike()).map(Port);
    for port in ports.take(cx.by_level(1, usize::MAX)) {
        let traffic = wait_for_traffic(cx, port)?;
        let station = station(cx, &traffic, port)?;
        judge_stopped(cx, port, priority, &station)?;
        judge_reading(cx, port, priority, &station)?;
    }
    Ok(())
}

/// Returns a trial with line rate to a NIC.
fn line_rate_trial(
    cx: &Context<'_>,
    name: &str,
    port: Port,
    priority: Priority,
    station: &Station,
) -> Result<(Trial, FlowId), TrialError> {
    let IpAddr::V4(ip) = station.ip else {
        return Err(TrialError::Missing(
            "the NIC sends IPv6, and the tester IPv4 alone".to_owned(),
        ));
    };
    let hold = cx.setup.times.hold;
    let mut trial = Trial::new(name, hold + cx.setup.times.drain);
    // The flow ends in the NIC, so it has no second port.
    let flow = Flow::new((port, port), priority, Limit::Time(hold));
    let flow = trial.flow(flow.addresses(Addresses::Nic(station.mac, ip)));
    Ok((trial, flow))
}

/// Returns the share of the time of a flow in which the NIC paused it, in percent.
fn paused_share(cx: &Context<'_>, observed: &Observation, port: Port, priority: Priority) -> f64 {
    let hold = cx.setup.times.hold;
    let spans = paused(cx, observed, port, priority);
    // Of a pause that outlasts the traffic the rest does not count.
    let inside: Vec<_> =
        spans.iter().map(|(from, to)| (*from.min(&hold), *to.min(&hold))).collect();
    total(&inside).as_secs_f64() / hold.as_secs_f64() * 100.0
}

/// Judges a NIC whose host does not read.
fn judge_stopped(
    cx: &mut Context<'_>,
    port: Port,
    priority: Priority,
    station: &Station,
) -> Result<(), TrialError> {
    let name = "the host does not read";
    let (mut trial, _) = line_rate_trial(cx, name, port, priority, station)?;
    let (value, restored) = ("off".to_owned(), "on".to_owned());
    trial.settings.push(Setting { port, name: READING, value, restored });
    let (observed, counters) = cx.observe_with(trial)?;
    let pauses = observed.pauses(port).filter(|pause| pause.stops(priority)).count();
    let what = format!("pauses of priority {priority} while the host does not read");
    cx.count(what, pauses as u64, Limits::at_least(1.0));
    let what = "frames that the NIC drops while its host does not read";
    // The frames of the tester end in the NIC, so only its own counter tells of a drop.
    match counters {
        Ok(counters) => {
            let dropped = Counter::RxDrop.at(port);
            cx.judge_counter(what, &counters, dropped, Limits::exactly(0.0));
        }
        Err(why) => cx.skip(what, &why.to_string()),
    }
    let what = format!("time paused, priority {priority}, while the host does not read");
    let share = paused_share(cx, &observed, port, priority);
    cx.policy(what, share, "%", "802.1Q 36 has no longest time");
    Ok(())
}

/// Judges a NIC whose host reads.
fn judge_reading(
    cx: &mut Context<'_>,
    port: Port,
    priority: Priority,
    station: &Station,
) -> Result<(), TrialError> {
    let (trial, flow) = line_rate_trial(cx, "the host reads", port, priority, station)?;
    let hold = cx.setup.times.hold;
    let observed = cx.observe(&trial)?;
    let half = hold.div(2)..hold;
    let sent = observed.of(flow, Way::Sent).filter(|record| half.contains(&record.begin)).count();
    let what = format!("frames of priority {priority} that the NIC takes while its host reads");
    cx.count(what, sent as u64, Limits::at_least(1.0));
    let share = paused_share(cx, &observed, port, priority);
    let what = format!("time paused, priority {priority}, while the host reads");
    match expected(cx)?.paused {
        Some(most) => {
            let u = observed.uncertainty.as_secs_f64() * 2.0 / hold.as_secs_f64() * 100.0;
            cx.judge(what, share, Limits::at_most(most * 100.0), u, "%");
        }
        None => cx.policy(what, share, "%", "`nic.paused` is not there"),
    }
    Ok(())
}

pub(super) const ONE_FLOW: Test = describe! {
    id: "V-N04",
    title: "a pause of one priority stops one flow of one NIC",
    purpose: "Of two NICs that send two lossless priorities each, a pause stops the named flow alone, and it \
              resumes by XON.",
    clause: "802.1Q 36.1.2, 36.1.3.2",
    procedure: "Both NICs send all their priorities. A pauses one lossless priority without a gap, then sends \
                one frame with a time of zero.",
    pass: "From the limit after the first pause to XON no frame of the priority begins at A. Its other \
           priorities, and all at B, keep the rates that they had at rest within {rate}. The first frame after \
           XON begins within the resume time (1 ms), and before half of the last pause is over.",
    source: "Keysight ai-ml-testing PFC.md",
    run: one_flow,
    topology: Topology::Pair,
    kind: Kind::Nic,
    scope: Scope::Device,
};

fn one_flow(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let sends = expected(cx)?.sends;
    let lossless = PrioritySet(cx.setup.lossless.0 & sends.0);
    if lossless.iter().count() < 2 {
        let what = "nic.sends: two lossless priorities are needed";
        return Err(TrialError::Missing(what.to_owned()));
    }
    for port in [a, b] {
        wait_for_traffic(cx, port)?;
    }
    for priority in lossless.iter().take(cx.by_level(1, usize::MAX)) {
        judge_flows(cx, a, b, priority, sends)?;
    }
    Ok(())
}

fn judge_flows(
    cx: &mut Context<'_>,
    a: Port,
    b: Port,
    paused: Priority,
    sends: PrioritySet,
) -> Result<(), TrialError> {
    let times = cx.setup.times;
    let window = storm::longest(cx).at(cx.setup.rate);
    // Renewed after half of their time, no pause ends by itself before XON.
    let every = window.div(2);
    let hold = times.hold.min(cx.setup.storm_max().saturating_sub(storm::until_xon(cx)));
    let frames = (hold.as_picos() / every.as_picos().max(1)).max(1) as u32;
    let last = times.baseline + every.saturating_mul(u64::from(frames) - 1);
    let xon = last + storm::until_xon(cx);
    let length = xon + times.settle;
    let mut trial = Trial::new(format!("storm for priority {paused}, then XON"), length);
    for port in [a, b] {
        for priority in sends.iter() {
            trial.flow(Flow::new((port, port), priority, Limit::Time(length)));
        }
    }
    let set = PrioritySet::of(paused);
    let octets = cx.pause(a, set, storm::longest(cx));
    trial.control.push(Control { port: a, octets, start: times.baseline, every, frames });
    trial.frame(a, cx.pause(a, set, Quanta(0)), xon);
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(times.baseline.div(4)..times.baseline))?;
    let sent: Vec<Duration> = observed.control_sent(a).map(|(record, _)| record.end).collect();
    let [first, .., last, xon] = sent[..] else {
        return Err(TrialError::Error("the tester sent too few pauses before XON".into()));
    };
    let held = first + cx.setup.stop_limit()..xon;
    for n in 0..trial.flows.len() {
        let Flow { to, priority, .. } = trial.flows[n];
        // All other flows, also those of the other NIC, go on as at rest.
        if (to, priority) == (a, paused) {
            storm::none_began(cx, &observed, FlowId(n), priority, &held);
            let expiry = last + window;
            resuming::judge_resumed(cx, &observed, FlowId(n), priority, &(xon..expiry));
        } else {
            cx.rate(&observed, &trial, FlowId(n), &held);
        }
    }
    Ok(())
}
