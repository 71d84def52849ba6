//! Messages of Source Flow Control (SFCM): those of the device, and those that the tester sends.
//!
//! No draft with their layout is public; it is that of [`wire::sfcm`].

use super::fill::missing;
use super::{congestion, fill};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::Setup;
use crate::setup::{ExpectedProxy, ExpectedSfc, Marking, line_time};
use crate::test::{Context, Scope, Test, Topology};
use crate::trial::{Control, FlowId, Port, Trial};
use core::net::{IpAddr, Ipv4Addr};
use ground::time::Duration;
use ground::units::{Bytes, Dscp, Pcp, Priority, PrioritySet};
use wire::flow::FiveTuple;
use wire::ip::{Ecn, Protocol};
use wire::sfcm::{Form, HEADER_LEN, Locator, Repr, Sfcm};
use wire::vlan::Tpid;
use wire::{datagram, ethernet, udp, vlan};

/// Port of the flows that the tester's messages are about. A choice: RoCEv2's.
const FLOW_PORT: u16 = 4_791;

/// Interval of the messages of a flood, and the time before the first message of a trial.
pub(super) const EVERY: Duration = Duration::from_micros(10);

/// Returns true for a device that sends messages. One that is a proxy alone sends none.
fn sends_messages(setup: &Setup) -> bool {
    setup.expected.sfc.is_some_and(|sfc| sfc.target.is_some() || sfc.proxy.is_none())
}

/// Returns the expectation, or the reason why a test is skipped.
fn expected(cx: &Context<'_>) -> Result<ExpectedSfc, TrialError> {
    cx.setup.expected.sfc.ok_or_else(|| missing("sfc"))
}

/// Returns the UDP port of messages, and what is expected of the proxy.
pub(super) fn proxy(cx: &Context<'_>) -> Result<(u16, ExpectedProxy), TrialError> {
    let expected = expected(cx)?;
    let proxy = expected.proxy.ok_or_else(|| missing("sfc.proxy"))?;
    Ok((expected.udp_port, proxy))
}

/// A message that the tester sends.
#[derive(Clone, Copy)]
pub(super) struct Message {
    /// Port by which it is sent.
    pub(super) from: Port,
    /// Its source address, which is the destination of the flow.
    pub(super) sender: Ipv4Addr,
    /// Host that it is sent to.
    pub(super) to: Port,
    /// Source of the flow that it is about.
    pub(super) source: Ipv4Addr,
    pub(super) priority: Priority,
    pub(super) pause: Duration,
}

impl Message {
    /// Returns the octets from the destination address on, without FCS.
    pub(super) fn octets(&self, cx: &Context<'_>, udp_port: u16) -> Vec<u8> {
        let (from, to) = (cx.port(self.from), cx.port(self.to));
        let (src, dst) = (IpAddr::V4(self.sender), IpAddr::V4(to.ip));
        let dscp = |n| Dscp::new(n).expect("a class selector is below 64");
        let headers = datagram::Repr {
            src,
            dst,
            dscp: dscp(56),
            ecn: Ecn::NotEct,
            ttl: 64,
            src_port: udp_port,
            dst_port: udp_port,
        };
        let (src_port, dst_port) = (FLOW_PORT, FLOW_PORT);
        let flow = FiveTuple { src: dst, dst: src, protocol: Protocol::UDP, src_port, dst_port };
        let message = Sfcm {
            form: Form::Simplified(flow),
            priority: self.priority,
            dscp: match &cx.setup.marking {
                Marking::Dscp(map) => map[self.priority.index()],
                Marking::Pcp(..) => Dscp::MIN,
            },
            pause: self.pause,
            locator: Locator::Incast,
            level: None,
        };
        let repr = Repr { headers, message };
        let frame = ethernet::Repr { dst: to.mac, src: from.mac, ethertype: repr.ethertype() };
        let mut octets = vec![0; ethernet::HEADER_LEN + repr.buffer_len()];
        let fits = "a message of the tester fits";
        frame.emit(&mut octets).expect(fits);
        let (_, packet) = octets.split_at_mut(ethernet::HEADER_LEN);
        repr.emit(packet).expect(fits);
        // A message about the flow of another host cannot be made without this.
        let datagram = &mut packet[headers.header_len() - udp::HEADER_LEN..];
        let at = udp::HEADER_LEN + HEADER_LEN;
        datagram[at..at + 4].copy_from_slice(&self.source.octets());
        udp::set_checksum(datagram, src, dst).expect(fits);
        let highest = Pcp::new(7).expect("7 is the highest");
        tagged(&cx.setup.marking, highest, octets)
    }
}

/// Adds the tag of a marking by PCP.
pub(super) fn tagged(marking: &Marking, pcp: Pcp, octets: Vec<u8>) -> Vec<u8> {
    let Marking::Pcp(_, vid) = marking else { return octets };
    let tag = vlan::Repr { tpid: Tpid::C, pcp, dei: false, vid: Some(*vid) };
    let mut frame = vec![0; vlan::TAG_LEN];
    frame.extend(octets);
    vlan::insert(&mut frame, &tag).expect("there is room for a tag");
    frame
}

/// Returns a trial with messages of the same contents, and a time after the last one in which a pause of
/// `rest` ends.
pub(super) fn trial(name: &str, from: Port, octets: Vec<u8>, frames: u32, rest: Duration) -> Trial {
    let length = EVERY + EVERY.saturating_mul(u64::from(frames)) + rest;
    let mut trial = Trial::new(name, length);
    trial.control.push(Control { port: from, octets, start: EVERY, every: EVERY, frames });
    trial
}

/// Returns the spans in which PFC of the device stops a priority at a port without a break: each from the
/// last bit of a frame to the end of its time, or of the one that renews or replaces it.
pub(super) fn paused(
    cx: &Context<'_>,
    observed: &Observation,
    port: Port,
    priority: Priority,
) -> Vec<(Duration, Duration)> {
    let rate = cx.port(port).rate;
    let mut spans: Vec<(Duration, Duration)> = Vec::new();
    for pause in observed.pauses(port) {
        let Some(time) = pause.frame.time(priority) else { continue };
        let until = pause.at + time.at(rate);
        // A pause that is renewed or replaced in time goes on.
        match spans.last_mut().filter(|(_, end)| pause.at <= *end) {
            Some((_, end)) => *end = until,
            None => spans.push((pause.at, until)),
        }
    }
    spans
}

/// Returns the time in which a priority is stopped at a port.
pub(super) fn total(spans: &[(Duration, Duration)]) -> Duration {
    spans.iter().fold(Duration::ZERO, |sum, (from, to)| sum + to.saturating_sub(*from))
}

/// Returns the numbers of PFC frames that stop something else than `set` at `port`, or anything at another
/// port.
pub(super) fn others(
    cx: &Context<'_>,
    observed: &Observation,
    port: Port,
    set: PrioritySet,
) -> u64 {
    let stops = |at: Port, set: PrioritySet| {
        let any = |pause: &crate::observation::Pause| set.iter().any(|p| pause.stops(p));
        observed.pauses(at).filter(any).count() as u64
    };
    // At the host's port all but the named priorities, at all other ports all of them.
    let each = (0..cx.setup.ports.len()).map(Port);
    each.map(|at| stops(at, if at == port { PrioritySet(!set.0) } else { PrioritySet::ALL })).sum()
}

/// Returns the time by which a frame of the device may be late without any traffic: it waits for one
/// frame, and is sent.
pub(super) fn latency(cx: &Context<'_>, port: Port) -> Duration {
    line_time(cx.port(port).rate, cx.setup.max_frame) + cx.setup.cable
}

/// A message that the tester received.
struct Received<'a> {
    record: &'a Record,
    /// Destination address of the frame.
    to: [u8; 6],
    /// The message, or its fault.
    read: Result<Repr<'a>, String>,
    /// True if reserved bits are not zero.
    reserved: bool,
}

/// Returns the messages that a port received: datagrams to the UDP port of messages, complete or not.
fn received(
    observed: &Observation,
    port: Port,
    udp_port: u16,
) -> impl Iterator<Item = Received<'_>> {
    observed.records.iter().filter_map(move |record| match &record.what {
        What::Other(octets) if record.port == port && record.way == Way::Received => {
            read(record, octets, udp_port)
        }
        _ => None,
    })
}

fn read<'a>(record: &'a Record, octets: &'a [u8], udp_port: u16) -> Option<Received<'a>> {
    let walk = vlan::walk(octets).ok()?;
    let packet = octets.get(walk.l3..)?;
    let view = wire::ip::View::new(walk.ethertype, packet).ok()?;
    let upper = view.upper().ok()?;
    if upper.protocol != Protocol::UDP {
        return None;
    }
    let datagram = udp::View::new(upper.payload).ok()?;
    if datagram.dst_port() != udp_port {
        return None;
    }
    let parsed = Repr::parse(walk.ethertype, packet).map_err(|error| error.to_string());
    let pdu = datagram.payload();
    let bits = |at: usize, mask: u8| pdu.get(at).is_some_and(|octet| octet & mask != 0);
    let is_simple = matches!(&parsed, Ok(repr) if matches!(repr.message.form, Form::Simplified(_)));
    // Behind the addresses of a simplified flow is its protocol, and a reserved octet.
    let behind = if view.src().is_ipv4() { 8 } else { 32 };
    let in_flow = is_simple && bits(HEADER_LEN + behind + 1, 0xff);
    let reserved = bits(1, 0x38) || bits(2, 0x03) || in_flow;
    let to = *octets.first_chunk()?;
    Some(Received { record, to, read: parsed, reserved })
}

pub(super) const MESSAGES: Test = describe! {
    id: "V-Q01",
    title: "messages name the flow that congests, and a time",
    purpose: "A queue that is congested tells the sources of its frames to pause, for no longer than the queue \
              takes to drain, and without congestion no message is sent.",
    clause: "P802.1Qdw, 8.6.6 as proposed; layout: version 0 of this program, none is public",
    procedure: "A and B send to C at 40 % of the line each, then at 75 %, and ignore the messages.",
    pass: "No message at 40 %. At 75 % A and B receive messages, and C none. Each is complete, with reserved bits \
           of zero, to the source of a flow of this port, with the flow's addresses, ports, priority and DSCP. \
           Its time is at most what the line takes for the bytes that are in the device above `target`.",
    source: "P802.1Qdw, slides of January 2022",
    run: messages,
    topology: Topology::T3,
    uncertainty: "What was in the device is known but for the frames on the cables: the tester sees neither when a \
                  frame joined the queue nor when a message left. Time stamps of the tester, four times.",
    scope: Scope::Device,
    described: sends_messages,
};

/// Share of the line of each of two senders, without and with congestion.
const CALM: f64 = 0.4;
const OVERLOAD: f64 = 0.75;

fn messages(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let udp_port = expected(cx)?.udp_port;
    target(cx)?;
    let [a, b, c] = cx.ports()?;
    for priority in cx.each_lossless() {
        let mut calm = congestion::to_one(cx, &[a, b], c, &[priority], CALM);
        calm.whole = true;
        let observed = cx.observe(&calm)?;
        congestion::arrives(cx, &observed, &calm)?;
        let count = |port| received(&observed, port, udp_port).count() as u64;
        let what = format!("messages about priority {priority} without congestion");
        cx.count(what, [a, b, c].map(count).iter().sum(), Limits::exactly(0.0));

        let mut trial = congestion::to_one(cx, &[a, b], c, &[priority], OVERLOAD);
        trial.whole = true;
        // The flows of the senders are read from their frames.
        trial.keep = true;
        let observed = cx.observe(&trial)?;
        congestion::arrives(cx, &observed, &trial)?;
        for (n, port) in [a, b].into_iter().enumerate() {
            judge_messages(cx, &observed, FlowId(n), port, priority)?;
        }
        let stray = received(&observed, c, udp_port).count() as u64;
        let what = format!("messages to {}, which sends nothing", cx.port(c).name);
        cx.count(what, stray, Limits::exactly(0.0));
    }
    Ok(())
}

/// Returns the length to which the queue is to be drained.
fn target(cx: &Context<'_>) -> Result<Bytes, TrialError> {
    expected(cx)?.target.ok_or_else(|| fill::missing("sfc.target"))
}

/// Judges the messages that a sender received.
fn judge_messages(
    cx: &mut Context<'_>,
    observed: &Observation,
    flow: FlowId,
    port: Port,
    priority: Priority,
) -> Result<(), TrialError> {
    let ([_, _, to], target) = (cx.ports()?, target(cx)?);
    let udp_port = expected(cx)?.udp_port;
    let name = cx.port(port).name.clone();
    let sent = observed.of(flow, Way::Sent).next();
    let Some(own) = sent.and_then(|record| FiveTuple::of_frame(&record.head)) else {
        return Err(TrialError::Error(format!("the frames from {name} were not recorded")));
    };
    let backlog = Backlog::new(observed, to);
    let (mut count, mut faults, mut longest) = (0, Vec::new(), None::<(Duration, Duration)>);
    for message in received(observed, port, udp_port) {
        count += 1;
        let wrong = examine(cx, &message, port, &own, priority);
        if let Some(first) = wrong.first() {
            cx.mark(message.record, first);
        }
        faults.extend(wrong);
        let Ok(repr) = &message.read else { continue };
        let allowed = backlog.drain(cx, message.record.end, port, target);
        let pause = repr.message.pause;
        let excess =
            |(pause, allowed): (Duration, Duration)| pause.as_nanos_f64() - allowed.as_nanos_f64();
        // The message that is closest to its limit, or beyond it by most, decides.
        if longest.is_none_or(|longest| excess((pause, allowed)) > excess(longest)) {
            longest = Some((pause, allowed));
        }
    }
    cx.count(format!("messages to {name}"), count, Limits::at_least(1.0));
    let (number, text) = (faults.len() as u64, list_faults(faults));
    cx.count(format!("faults of the messages to {name}{text}"), number, Limits::exactly(0.0));
    if let Some((pause, allowed)) = longest {
        // Both senders and the receiver may be off.
        let u = observed.uncertainty.saturating_mul(4);
        let limits = Limits::at_most(allowed.as_nanos_f64());
        cx.time(format!("pause that {name} is asked for"), pause, limits, u);
    }
    Ok(())
}

/// Returns faults in a few words, each once.
fn list_faults(mut faults: Vec<String>) -> String {
    faults.sort_unstable();
    faults.dedup();
    if faults.is_empty() { String::new() } else { format!(" ({})", faults.join("; ")) }
}

/// Returns what is wrong with a message.
fn examine(
    cx: &Context<'_>,
    message: &Received<'_>,
    port: Port,
    own: &FiveTuple,
    priority: Priority,
) -> Vec<String> {
    let repr = match &message.read {
        Ok(repr) => repr,
        Err(error) => return vec![format!("it cannot be read: {error}")],
    };
    let port = cx.port(port);
    let mut faults = Vec::new();
    let mut fault = |is_wrong: bool, what: String| faults.extend(is_wrong.then_some(what));
    fault(message.reserved, "reserved bits are set".to_owned());
    fault(message.to != port.mac.0, "its frame is to another address".to_owned());
    fault(repr.headers.dst != IpAddr::V4(port.ip), format!("its destination is not {}", port.ip));
    if let Some(flow) = repr.message.flow() {
        fault(flow != *own, format!("it is about {flow}, not {own}"));
    }
    let named = repr.message.priority;
    fault(named != priority, format!("priority {named}, not {priority}"));
    let dscp = match &cx.setup.marking {
        Marking::Dscp(map) => map[priority.index()].get(),
        // Frames that are marked by PCP have a DSCP of zero.
        Marking::Pcp(..) => 0,
    };
    let named = repr.message.dscp.get();
    fault(named != dscp, format!("DSCP {named}, not {dscp}"));
    faults
}

/// Bytes on their way from the senders to a port, by time.
struct Backlog {
    to: Port,
    sent: Vec<(Duration, u64)>,
    arrived: Vec<(Duration, u64)>,
}

impl Backlog {
    fn new(observed: &Observation, to: Port) -> Self {
        let sums = |way: Way| {
            let is_data = |record: &&Record| record.what.sequence().is_some();
            let mine = observed.records.iter().filter(|record| record.way == way).filter(is_data);
            let mine = mine.filter(|record| way == Way::Sent || record.port == to);
            let mut sum = 0;
            let mut all = Vec::new();
            for record in mine {
                sum += u64::from(record.len);
                all.push((record.end, sum));
            }
            all
        };
        Self { to, sent: sums(Way::Sent), arrived: sums(Way::Received) }
    }

    /// Returns the time in which the line drains all that may have been in the device when it sent a message
    /// that arrived at `at`, down to `target`.
    fn drain(&self, cx: &Context<'_>, at: Duration, port: Port, target: Bytes) -> Duration {
        let until = |sums: &[(Duration, u64)], at: Duration| {
            let n = sums.partition_point(|(end, _)| *end <= at);
            n.checked_sub(1).map_or(0, |last| sums[last].1)
        };
        // What arrived while the message was on its way may have been in the device when it was sent.
        let before = at.saturating_sub(latency(cx, port));
        let inside = until(&self.sent, at).saturating_sub(until(&self.arrived, before));
        cx.port(self.to).rate.time_for(Bytes(inside.saturating_sub(target.0)))
    }
}
