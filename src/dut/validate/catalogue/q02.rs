//! V-Q02: pauses by messages have limits.

use super::sfc::{self, Message};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::setup::ExpectedProxy;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Port;
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-Q02",
    aliases: &[],
    title: "messages stop the named host alone, and not for long",
    purpose: "A proxy pauses the host that a message of a trusted sender names, on the flow's priority alone, within \
              its limits; messages that are forged, or about another host, pause no host.",
    clause: "P802.1Qdw, 5.11 j as proposed; its limits are configuration",
    topology: Topology::T3,
    procedure: "Messages are sent to A (to B if A is the trusted one): one from the trusted address that asks for half of `longest`; one that asks \
                for twice that time; one from another address; one about a flow of B; one about a lossy priority; \
                and then 100,000 per second, each for `longest`, until `credit` and `share` must end the pause.",
    pass: "The first one pauses its priority at A, and nothing else. The second one pauses it for `longest` at most. \
           Those that are forged, and the one about a lossy priority, pause nothing. Under the flood A is \
           paused for `credit` and `share` of the time at most.",
    uncertainty: "Time stamps of the tester at both ends of a pause. A quantum is allowed for each, as times are \
                  rounded up.",
    source: "own",
    level: Level::Full,
    run,
    line: line!(),
};

/// Interval of the messages of a flood.
const FLOOD: Duration = Duration::from_micros(10);

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
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
        let forged = [
            ("from another address", Message { from: other, sender: ip(other), ..valid }),
            ("about another host's flow", Message { source: ip(other), ..valid }),
            ("about a lossy priority", Message { priority: lossy, ..valid }),
        ];
        obeyed(cx, &valid, udp_port)?;
        bounded(cx, &long, (udp_port, &proxy))?;
        for (what, message) in forged {
            let name = format!("a message {what}");
            let octets = message.octets(cx, udp_port);
            let trial = once(&name, &message, octets, &proxy);
            let seen = cx.observe(&trial)?;
            let paused = sfc::others(cx, &seen, (host, PrioritySet::EMPTY));
            cx.count(format!("pauses by {name}"), paused, Limits::exactly(0.0));
        }
        flood(cx, &Message { pause: proxy.longest, ..valid }, (udp_port, &proxy))?;
    }
    Ok(())
}

/// Returns the port of the host that messages are sent to, and that of the trusted sender.
fn ends(cx: &Context<'_>, proxy: &ExpectedProxy, ports: [Port; 3]) -> (Port, Port) {
    let is_trusted = |port: &Port| cx.port(*port).ip == proxy.trusted;
    let from = (0..cx.setup.ports.len()).map(Port).find(is_trusted);
    let from = from.expect("the file was checked");
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
    sfc::trial((name, message.from), octets, (1, FLOOD), rest)
}

/// Time for a device that is slow to act. A choice.
const MARGIN: Duration = Duration::from_micros(100);

/// Judges that a message pauses its host, and nothing else.
fn obeyed(cx: &mut Context<'_>, message: &Message, udp_port: u16) -> Result<(), Trouble> {
    let (_, proxy) = sfc::proxy(cx)?;
    let Message { to, priority, .. } = *message;
    let trial = once("a message", message, message.octets(cx, udp_port), &proxy);
    let seen = cx.observe(&trial)?;
    let name = cx.port(to).name.clone();
    let spans = sfc::paused(cx, &seen, (to, priority));
    let pauses = spans.iter().filter(|(from, to)| to > from).count() as u64;
    let what = format!("pauses of priority {priority} at {name} by a message");
    cx.count(what, pauses, Limits::at_least(1.0));
    let others = sfc::others(cx, &seen, (to, PrioritySet::of(priority)));
    let what = format!("pauses of others than priority {priority} of {name}");
    cx.count(what, others, Limits::exactly(0.0));
    Ok(())
}

/// Judges that a message that asks for more than is allowed gets no more.
fn bounded(
    cx: &mut Context<'_>,
    message: &Message,
    (udp_port, proxy): (u16, &ExpectedProxy),
) -> Result<(), Trouble> {
    let trial = once("a message for too long", message, message.octets(cx, udp_port), proxy);
    let seen = cx.observe(&trial)?;
    let spans = sfc::paused(cx, &seen, (message.to, message.priority));
    let by = "one message";
    paused_at_most(cx, message, (by, &spans, proxy.longest), seen.uncertainty);
    Ok(())
}

/// Judges that a flood of messages pauses its host no longer than the limits say.
fn flood(
    cx: &mut Context<'_>,
    message: &Message,
    (udp_port, proxy): (u16, &ExpectedProxy),
) -> Result<(), Trouble> {
    // Twice the time from which on a pause must have had an end.
    let ends = proxy.credit.as_secs_f64() / (1.0 - proxy.share);
    let length = Duration::from_nanos((ends * 2e9).ceil() as u64);
    let frames = length.as_picos().div_ceil(FLOOD.as_picos());
    let Ok(frames) = u32::try_from(frames) else {
        let what = "expected.sfc.proxy.credit: a flood would take more than twelve hours; lower it";
        return Err(Trouble::Missing(what.to_owned()));
    };
    let octets = message.octets(cx, udp_port);
    let rest = proxy.longest.saturating_mul(2) + MARGIN;
    let trial = sfc::trial(("a flood of messages", message.from), octets, (frames, FLOOD), rest);
    let seen = cx.observe(&trial)?;
    let spans = sfc::paused(cx, &seen, (message.to, message.priority));
    let span = match (spans.first(), spans.last()) {
        (Some((from, _)), Some((_, to))) => to.saturating_sub(*from),
        _ => Duration::ZERO,
    };
    let share = Duration::from_nanos((span.as_nanos_f64() * proxy.share).ceil() as u64);
    let by = "a flood";
    paused_at_most(cx, message, (by, &spans, proxy.credit + share), seen.uncertainty);
    Ok(())
}

/// Judges the time in which a host is paused, and that it is paused at all.
fn paused_at_most(
    cx: &mut Context<'_>,
    message: &Message,
    (by, spans, most): (&str, &[(Duration, Duration)], Duration),
    uncertainty: Duration,
) {
    let Message { to, priority, .. } = *message;
    let port = cx.port(to);
    let (name, quantum) = (port.name.clone(), Quanta(1).at(port.rate));
    let what = format!("time for which {by} pauses priority {priority} at {name}");
    let total = sfc::total(spans);
    let most = most + quantum.saturating_mul(spans.len() as u64);
    let limits = Limits { at_least: Some(1.0), at_most: Some(most.as_nanos_f64()) };
    let u = uncertainty.saturating_mul(2 * spans.len() as u64);
    cx.time(what, total, limits, u);
}
