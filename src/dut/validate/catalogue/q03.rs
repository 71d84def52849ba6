//! V-Q03: the proxy converts times by the rate of the host's port.

use super::sfc::{self, Message};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way, What};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Port;
use ground::time::Duration;
use ground::units::Quanta;

pub const TEST: Test = Test {
    id: "V-Q03",
    aliases: &[],
    title: "a message's time is that of the host's pause",
    purpose: "A proxy converts the nanoseconds of a message to quanta of the port at which the host is: they last \
              512 bit times of that port, whatever the rate of the port that the message came from.",
    clause: "P802.1Qdw, 5.11 j as proposed; 802.3 31B.2",
    topology: Topology::Ts,
    procedure: "A message from the trusted address asks for `longest`, once of a host at a fast port, and once of \
                one at a slow port.",
    pass: "From the last bit of the message to the end of the pause passes this time, within `tolerances.pause`, \
           and a quantum, and two frames that its PFC may wait for.",
    uncertainty: "Time stamps of the tester, twice.",
    source: "own",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let (udp_port, proxy) = sfc::proxy(cx)?;
    let trusted = |port: &Port| cx.port(*port).ip == proxy.trusted;
    let ports = || (0..cx.setup.ports.len()).map(Port);
    let from = ports().find(trusted).expect("the file was checked");
    let hosts: Vec<_> = ports().filter(|port| *port != from).collect();
    let rate = |port: &Port| cx.port(*port).rate;
    let fast = hosts.iter().copied().rev().max_by_key(rate);
    let slow = hosts.iter().copied().min_by_key(rate);
    let (Some(fast), Some(slow)) = (fast, slow) else {
        return Err(Trouble::Missing(crate::test::too_few(cx.setup, 2, cx.setup.ports.len())));
    };
    if rate(&fast) == rate(&slow) {
        let what = "ports.rate: the hosts' ports have one rate; add a port of another one";
        return Err(Trouble::Missing(what.to_owned()));
    }
    for priority in cx.each_lossless() {
        for host in [fast, slow] {
            let message = Message {
                from,
                sender: proxy.trusted,
                to: host,
                source: cx.port(host).ip,
                priority,
                pause: proxy.longest,
            };
            converted(cx, &message, udp_port)?;
        }
    }
    Ok(())
}

/// Judges the length of the pause by one message.
fn converted(cx: &mut Context<'_>, message: &Message, udp_port: u16) -> Result<(), Trouble> {
    let Message { from, to, priority, pause, .. } = *message;
    let port = cx.port(to);
    let (name, rate) = (port.name.clone(), port.rate);
    let octets = message.octets(cx, udp_port);
    let start = Duration::from_micros(10);
    let rest = pause.saturating_mul(4) + Duration::from_micros(100);
    let title = format!("a message to {name}");
    let trial = sfc::trial((&title, from), octets.clone(), (1, start), rest);
    let seen = cx.observe(&trial)?;
    let asked = sent(&seen, from, &octets);
    let spans = sfc::paused(cx, &seen, (to, priority));
    let length = match (asked, spans.last()) {
        (Some(asked), Some((_, end))) => end.saturating_sub(asked),
        _ => Duration::ZERO,
    };
    let slack = Quanta(1).at(rate) + sfc::latency(cx, to).saturating_mul(2);
    let pause = pause.as_nanos_f64();
    let limits = Limits {
        at_least: Some(pause * (1.0 - cx.setup.limits.pause)),
        at_most: Some(pause * (1.0 + cx.setup.limits.pause) + slack.as_nanos_f64()),
    };
    let what = format!("pause of priority {priority} at {name}, {rate}");
    cx.time(what, length, limits, seen.uncertainty.saturating_mul(2));
    Ok(())
}

/// Returns the time at which a frame was sent.
fn sent(seen: &Observation, port: Port, octets: &[u8]) -> Option<Duration> {
    let mine = seen.records.iter().filter(|r| r.port == port && r.way == Way::Sent);
    let is_it = |what: &What| match what {
        What::Other(sent) => {
            let common = sent.len().min(octets.len());
            common > 0 && sent[..common] == octets[..common]
        }
        What::Data { .. } | What::Control(_) => false,
    };
    mine.filter(|record| is_it(&record.what)).map(|record| record.end).next()
}
