//! V-N02: a NIC whose host is slow pauses its peer, and loses nothing; the pauses end with the reason.

use core::net::IpAddr;

use super::nic::{self, Station};
use super::sfc::{paused, total};
use crate::bench::{Faculty, Trouble};
use crate::counters::Counter;
use crate::judge::Limits;
use crate::observation::{Observation, Way};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Addresses, Flow, FlowId, Limit, Port, READING, Setting, Trial};
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-N02",
    aliases: &[],
    title: "a slow host's NIC sends PFC, and no storm",
    purpose: "A NIC whose host does not read what arrives stops its peer by PFC and drops nothing. It ends \
              its pauses once the host reads.",
    clause: "802.1Q 36.1.3.1",
    topology: Topology::T1,
    procedure: "A sends one lossless priority at line rate to the address that the NIC's own traffic has. \
                First the host does not read (setting `host.reading`: `off`); then it does (`on`).",
    pass: "The NIC pauses the priority, and counts no drop. While the host reads, frames still pass in the \
           second half of the time, and the NIC pauses no longer than `nic.paused`.",
    uncertainty: "Time stamps of the tester for the paused time; none for counts.",
    source: "Keysight ai-ml-testing PFC.md; NVIDIA/daqiri#250",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    if !cx.has(Faculty::Settings) {
        let what = "adapter is missing: it sets host.reading of the NIC; add it to the file";
        return Err(Trouble::Missing(what.to_owned()));
    }
    let priority = cx.lossless()?;
    let ports = (0..cx.setup.alike()).map(Port);
    for port in ports.take(cx.by_level(1, usize::MAX)) {
        let heard = nic::wait(cx, port)?;
        let station = nic::station(cx, &heard, port)?;
        stopped(cx, (port, priority), &station)?;
        reads(cx, (port, priority), &station)?;
    }
    Ok(())
}

/// Returns a trial with line rate to a NIC.
fn line_rate(
    cx: &Context<'_>,
    (name, port, priority): (&str, Port, Priority),
    station: &Station,
) -> Result<(Trial, FlowId), Trouble> {
    let IpAddr::V4(ip) = station.ip else {
        return Err(Trouble::Missing("the NIC sends IPv6, and the tester IPv4 alone".to_owned()));
    };
    let hold = cx.setup.times.hold;
    let mut trial = Trial::new(name, hold + cx.setup.times.drain);
    let flow = Flow::new((port, port), priority, Limit::Time(hold));
    let flow = trial.flow(flow.addresses(Addresses::Nic(station.mac, ip)));
    Ok((trial, flow))
}

/// Returns the share of the time of a flow in which the NIC paused it, in percent.
fn share(cx: &Context<'_>, seen: &Observation, (port, priority): (Port, Priority)) -> f64 {
    let hold = cx.setup.times.hold;
    let spans = paused(cx, seen, (port, priority));
    let inside: Vec<_> =
        spans.iter().map(|(from, to)| (*from.min(&hold), *to.min(&hold))).collect();
    total(&inside).as_secs_f64() / hold.as_secs_f64() * 100.0
}

/// Judges a NIC whose host does not read.
fn stopped(
    cx: &mut Context<'_>,
    (port, priority): (Port, Priority),
    station: &Station,
) -> Result<(), Trouble> {
    let name = "the host does not read";
    let (mut trial, _) = line_rate(cx, (name, port, priority), station)?;
    let (value, restored) = ("off".to_owned(), "on".to_owned());
    trial.settings.push(Setting { port, name: READING, value, restored });
    let (seen, counters) = cx.observe_with(trial)?;
    let pauses = seen.pauses(port).filter(|pause| pause.stops(priority)).count();
    let what = format!("pauses of priority {priority} while the host does not read");
    cx.count(what, pauses as u64, Limits::at_least(1.0));
    let what = "frames that the NIC drops while its host does not read";
    match counters {
        Ok(counters) => {
            let at = ((port, None), Counter::RxDrop);
            cx.judge_counter(what, &counters, at, Limits::exactly(0.0));
        }
        Err(why) => cx.skip(what, &why.to_string()),
    }
    let what = format!("time paused, priority {priority}, while the host does not read");
    let share = share(cx, &seen, (port, priority));
    cx.policy(what, share, "%", "802.1Q 36 has no longest time");
    Ok(())
}

/// Judges a NIC whose host reads.
fn reads(
    cx: &mut Context<'_>,
    (port, priority): (Port, Priority),
    station: &Station,
) -> Result<(), Trouble> {
    let (trial, flow) = line_rate(cx, ("the host reads", port, priority), station)?;
    let hold = cx.setup.times.hold;
    let seen = cx.observe(&trial)?;
    let half = hold.div(2)..hold;
    let sent = seen.of(flow, Way::Sent).filter(|record| half.contains(&record.begin)).count();
    let what = format!("frames of priority {priority} that the NIC takes while its host reads");
    cx.count(what, sent as u64, Limits::at_least(1.0));
    let share = share(cx, &seen, (port, priority));
    let what = format!("time paused, priority {priority}, while the host reads");
    match nic::told(cx)?.paused {
        Some(most) => {
            let u = seen.uncertainty.as_secs_f64() * 2.0 / hold.as_secs_f64() * 100.0;
            cx.judge(what, share, Limits::at_most(most * 100.0), u, "%");
        }
        None => cx.policy(what, share, "%", "`nic.paused` is not there"),
    }
    Ok(())
}
