//! The proxy of Source Flow Control: the pauses that it makes of messages, and their limits.

use super::sfc;
use super::sfc::Message;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Way, What};
use crate::setup::ExpectedProxy;
use crate::setup::Setup;
use crate::test::{Context, Scope, Test, Topology};
use crate::trial::Port;
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};

/// Returns true for a device that is a proxy.
fn is_proxy(setup: &Setup) -> bool {
    setup.expected.sfc.is_some_and(|sfc| sfc.proxy.is_some())
}

pub(super) const BOUNDED_PAUSES: Test = describe! {
    id: "V-Q02",
    title: "messages stop the named host alone, and not for long",
    purpose: "A proxy pauses the host that a message of a trusted sender names, on the flow's priority alone, within \
              its limits; messages that are forged, or about another host, pause no host.",
    clause: "P802.1Qdw, 5.11 j as proposed; its limits are configuration",
    procedure: "Messages are sent to A (to B if A is the trusted one): one from the trusted address that asks \
                for half of `longest`; one that asks for twice that time; one from another address; one about a \
                flow of B; one about a lossy priority; and then 100,000 per second, each for `longest`, until \
                `credit` and `share` must end the pause.",
    pass: "The first one pauses its priority at A, and nothing else. The second one pauses it for `longest` at most. \
           Those that are forged, and the one about a lossy priority, pause nothing. Under the flood A is \
           paused for `credit` and `share` of the time at most.",
    source: "own",
    run: bounded_pauses,
    topology: Topology::T3,
    uncertainty: "Time stamps of the tester at both ends of a pause. A quantum is allowed for each, as times are \
                  rounded up.",
    scope: Scope::Device,
    described: is_proxy,
};

fn bounded_pauses(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let (udp_port, proxy) = sfc::proxy(cx)?;
    let ports = cx.ports::<3>()?;
    let (host, from) = ends(cx, &proxy, ports);
    let other = ports.into_iter().find(|port| *port != host && *port != from);
    let other = other.expect("there are three ports");
    let lossy = cx.lossy()?;
    for priority in cx.each_lossless() {
        let ip = |port: Port| cx.port(port).ip;
        let valid = Message {
            from,
            sender: proxy.trusted,
            to: host,
            source: ip(host),
            priority,
            pause: proxy.longest.div(2),
        };
        let long = Message { pause: proxy.longest.saturating_mul(2), ..valid };
        // Each differs from the valid one in one point, by which it must be refused.
        let forged = [
            ("from another address", Message { from: other, sender: ip(other), ..valid }),
            ("about another host's flow", Message { source: ip(other), ..valid }),
            ("about a lossy priority", Message { priority: lossy, ..valid }),
        ];
        judge_obeyed(cx, &valid, udp_port)?;
        judge_bounded(cx, &long, udp_port, &proxy)?;
        for (what, message) in forged {
            let name = format!("a message {what}");
            let octets = message.octets(cx, udp_port);
            let trial = once(&name, &message, octets, &proxy);
            let observed = cx.observe(&trial)?;
            let paused = sfc::others(cx, &observed, host, PrioritySet::EMPTY);
            cx.count(format!("pauses by {name}"), paused, Limits::exactly(0.0));
        }
        judge_flood(cx, &Message { pause: proxy.longest, ..valid }, udp_port, &proxy)?;
    }
    Ok(())
}

/// Returns the port of the host that messages are sent to, and that of the trusted sender.
fn ends(cx: &Context<'_>, proxy: &ExpectedProxy, ports: [Port; 3]) -> (Port, Port) {
    let is_trusted = |port: &Port| cx.port(*port).ip == proxy.trusted;
    let from = (0..cx.setup.ports.len()).map(Port).find(is_trusted);
    let from = from.expect("the file was checked");
    // The trusted sender is never the host, as it would pause itself.
    let host = ports.into_iter().find(|port| *port != from).expect("there are three ports");
    (host, from)
}

/// Returns a trial with one message.
fn once(
    name: &str,
    message: &Message,
    octets: Vec<u8>,
    proxy: &ExpectedProxy,
) -> crate::trial::Trial {
    let rest = proxy.longest.saturating_mul(4) + MARGIN;
    sfc::trial(name, message.from, octets, 1, rest)
}

/// Time for a device that is slow to act. A choice.
const MARGIN: Duration = Duration::from_micros(100);

/// Judges that a message pauses its host, and nothing else.
fn judge_obeyed(cx: &mut Context<'_>, message: &Message, udp_port: u16) -> Result<(), TrialError> {
    let (_, proxy) = sfc::proxy(cx)?;
    let Message { to, priority, .. } = *message;
    let trial = once("a message", message, message.octets(cx, udp_port), &proxy);
    let observed = cx.observe(&trial)?;
    let name = cx.port(to).name.clone();
    let spans = sfc::paused(cx, &observed, to, priority);
    let pauses = spans.iter().filter(|(from, to)| to > from).count() as u64;
    let what = format!("pauses of priority {priority} at {name} by a message");
    cx.count(what, pauses, Limits::at_least(1.0));
    let others = sfc::others(cx, &observed, to, PrioritySet::of(priority));
    let what = format!("pauses of others than priority {priority} of {name}");
    cx.count(what, others, Limits::exactly(0.0));
    Ok(())
}

/// Judges that a message that asks for more than is allowed gets no more.
fn judge_bounded(
    cx: &mut Context<'_>,
    message: &Message,
    udp_port: u16,
    proxy: &ExpectedProxy,
) -> Result<(), TrialError> {
    let trial = once("a message for too long", message, message.octets(cx, udp_port), proxy);
    let observed = cx.observe(&trial)?;
    judge_paused_at_most(cx, message, "one message", &observed, proxy.longest);
    Ok(())
}

/// Judges that a flood of messages pauses its host no longer than the limits say.
fn judge_flood(
    cx: &mut Context<'_>,
    message: &Message,
    udp_port: u16,
    proxy: &ExpectedProxy,
) -> Result<(), TrialError> {
    // Twice the time from which on a pause must have had an end.
    let ends = proxy.credit.as_secs_f64() / (1.0 - proxy.share);
    let length = Duration::from_nanos((ends * 2e9).ceil() as u64);
    let frames = length.as_picos().div_ceil(sfc::EVERY.as_picos());
    let Ok(frames) = u32::try_from(frames) else {
        let what = "expected.sfc.proxy.credit: a flood would take more than twelve hours; lower it";
        return Err(TrialError::Missing(what.to_owned()));
    };
    let octets = message.octets(cx, udp_port);
    let rest = proxy.longest.saturating_mul(2) + MARGIN;
    let trial = sfc::trial("a flood of messages", message.from, octets, frames, rest);
    let observed = cx.observe(&trial)?;
    let spans = sfc::paused(cx, &observed, message.to, message.priority);
    let span = match (spans.first(), spans.last()) {
        (Some((from, _)), Some((_, to))) => to.saturating_sub(*from),
        _ => Duration::ZERO,
    };
    let share = Duration::from_nanos((span.as_nanos_f64() * proxy.share).ceil() as u64);
    judge_paused_at_most(cx, message, "a flood", &observed, proxy.credit + share);
    Ok(())
}

/// Judges the time in which a host is paused, and that it is paused at all.
fn judge_paused_at_most(
    cx: &mut Context<'_>,
    message: &Message,
    by: &str,
    observed: &Observation,
    most: Duration,
) {
    let Message { to, priority, .. } = *message;
    let port = cx.port(to);
    let (name, quantum) = (port.name.clone(), Quanta(1).at(port.rate));
    let what = format!("time for which {by} pauses priority {priority} at {name}");
    let spans = sfc::paused(cx, observed, to, priority);
    let total = sfc::total(&spans);
    // Each pause is rounded up to a quantum.
    let most = most + quantum.saturating_mul(spans.len() as u64);
    let limits = Limits { at_least: Some(1.0), at_most: Some(most.as_nanos_f64()) };
    let u = observed.uncertainty.saturating_mul(2 * spans.len() as u64);
    cx.time(what, total, limits, u);
}

pub(super) const CONVERTED_TIME: Test = describe! {
    id: "V-Q03",
    title: "a message's time is that of the host's pause",
    purpose: "A proxy converts the nanoseconds of a message to quanta of the port at which the host is: they last \
              512 bit times of that port, whatever the rate of the port that the message came from.",
    clause: "P802.1Qdw, 5.11 j as proposed; 802.3 31B.2",
    procedure: "A message from the trusted address asks for `longest`, once of a host at a fast port, and once of \
                one at a slow port.",
    pass: "From the last bit of the message to the end of the pause passes this time, within `tolerances.pause`, \
           and a quantum, and two frames that its PFC may wait for.",
    source: "own",
    run: converted_time,
    topology: Topology::Ts,
    uncertainty: "Time stamps of the tester, twice.",
    scope: Scope::Device,
    described: is_proxy,
};

fn converted_time(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let (udp_port, proxy) = sfc::proxy(cx)?;
    let trusted = |port: &Port| cx.port(*port).ip == proxy.trusted;
    let ports = || (0..cx.setup.ports.len()).map(Port);
    let from = ports().find(trusted).expect("the file was checked");
    let hosts: Vec<_> = ports().filter(|port| *port != from).collect();
    let rate = |port: &Port| cx.port(*port).rate;
    // Of equal ports the first.
    let fast = hosts.iter().copied().rev().max_by_key(rate);
    let slow = hosts.iter().copied().min_by_key(rate);
    let (Some(fast), Some(slow)) = (fast, slow) else {
        return Err(TrialError::Missing(crate::test::too_few(cx.setup, 2, cx.setup.ports.len())));
    };
    if rate(&fast) == rate(&slow) {
        let what = "ports.rate: the hosts' ports have one rate; add a port of another one";
        return Err(TrialError::Missing(what.to_owned()));
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
            judge_converted(cx, &message, udp_port)?;
        }
    }
    Ok(())
}

/// Judges the length of the pause by one message.
fn judge_converted(
    cx: &mut Context<'_>,
    message: &Message,
    udp_port: u16,
) -> Result<(), TrialError> {
    let Message { from, to, priority, pause, .. } = *message;
    let port = cx.port(to);
    let (name, rate) = (port.name.clone(), port.rate);
    let octets = message.octets(cx, udp_port);
    let rest = pause.saturating_mul(4) + Duration::from_micros(100);
    let title = format!("a message to {name}");
    let trial = sfc::trial(&title, from, octets.clone(), 1, rest);
    let observed = cx.observe(&trial)?;
    let sent = sent_at(&observed, from, &octets);
    let spans = sfc::paused(cx, &observed, to, priority);
    let length = match (sent, spans.last()) {
        (Some(sent), Some((_, end))) => end.saturating_sub(sent),
        _ => Duration::ZERO,
    };
    // A time is rounded up to a quantum, and the PFC may wait for two frames.
    let slack = Quanta(1).at(rate) + sfc::latency(cx, to).saturating_mul(2);
    let pause = pause.as_nanos_f64();
    let limits = Limits {
        at_least: Some(pause * (1.0 - cx.setup.limits.pause)),
        at_most: Some(pause * (1.0 + cx.setup.limits.pause) + slack.as_nanos_f64()),
    };
    let what = format!("pause of priority {priority} at {name}, {rate}");
    cx.time(what, length, limits, observed.uncertainty.saturating_mul(2));
    Ok(())
}

/// Returns the time at which a frame was sent.
fn sent_at(observed: &Observation, port: Port, octets: &[u8]) -> Option<Duration> {
    let mine = observed.records.iter().filter(|r| r.port == port && r.way == Way::Sent);
    let is_it = |what: &What| match what {
        What::Other(sent) => {
            let common = sent.len().min(octets.len());
            common > 0 && sent[..common] == octets[..common]
        }
        What::Data { .. } | What::Control(_) => false,
    };
    mine.filter(|record| is_it(&record.what)).map(|record| record.end).next()
}
