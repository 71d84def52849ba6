//! Frames of `RoCEv2`: those of a NIC under test, and those of its peer, which the tester sends; and how a NIC
//! answers marks.

use super::{nic, sfc};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::{Marking, QueuePair};
use crate::test::{Context, Kind, Scope, Test, Topology};
use crate::trial::{Control, Flow, Limit, Port, QUEUE_PAIRS, Trial};
use contracts::frame::FCS_BYTES;
use core::net::IpAddr;
use ground::time::{Duration, Instant};
use ground::units::{Dscp, Mac, Pcp, Priority};
use host::FlowId;
use host::probe::Probe;
use std::collections::BTreeSet;
use wire::ip::{Ecn, Protocol};
use wire::roce::{Opcode, U24};
use wire::{cnp, datagram, ethernet, icrc, ip, roce, udp, vlan};

/// DSCP of congestion notifications. A choice: the usual one of NICs.
const CNP_DSCP: u8 = 48;

/// Bytes of payload in the tester's data: a multiple of 4.
const PAYLOAD: usize = 256;

/// Shortest frame without FCS.
const SHORTEST: usize = ethernet::MIN_FRAME - 4;

/// Data of `RoCEv2` that a NIC sends, seen from the peer that the tester is.
#[derive(Clone, Copy, Debug)]
struct NicData {
    priority: Priority,
    nic: (Mac, IpAddr),
    peer: IpAddr,
    src_port: u16,
}

/// A packet of `RoCEv2`.
struct Packet<'a> {
    walk: vlan::Walk,
    ip: ip::View<'a>,
    src_port: u16,
    bth: roce::View<'a>,
}

fn packet(octets: &[u8]) -> Option<Packet<'_>> {
    let walk = vlan::walk(octets).ok()?;
    let ip = ip::View::new(walk.ethertype, octets.get(walk.l3..)?).ok()?;
    let upper = ip.upper().ok().filter(|upper| upper.protocol == Protocol::UDP)?;
    let datagram = udp::View::new(upper.payload).ok()?;
    let is_roce = datagram.dst_port() == roce::UDP_PORT;
    let bth = is_roce.then(|| roce::View::new(datagram.payload()).ok()).flatten()?;
    Some(Packet { walk, ip, src_port: datagram.src_port(), bth })
}

/// Returns the first data of `RoCEv2` in the traffic of a NIC, whose flows have the priorities `sends`.
fn first_data(
    cx: &Context<'_>,
    observed: &Observation,
    port: Port,
    sends: &[Priority],
) -> Result<NicData, TrialError> {
    let here = observed.records.iter().filter(|r| r.port == port && r.way == Way::Received);
    let found = here.filter_map(|record| {
        let What::Data { flow, .. } = record.what else { return None };
        let packet = packet(&record.head)?;
        let is_answer = matches!(packet.bth.opcode(), Opcode::CNP | Opcode::RC_ACKNOWLEDGE);
        (!is_answer).then(|| NicData {
            priority: sends[flow.0],
            nic: (packet.walk.src, packet.ip.src()),
            peer: packet.ip.dst(),
            src_port: packet.src_port,
        })
    });
    found.into_iter().next().ok_or_else(|| {
        let what = format!("the NIC sends no data of RoCEv2 to port {}", cx.port(port).name);
        TrialError::Missing(what)
    })
}

impl NicData {
    /// Returns a congestion notification for a queue pair of the NIC, from the destination address on,
    /// without FCS.
    fn notification(&self, cx: &Context<'_>, port: Port, pair: U24) -> Vec<u8> {
        let (_, dst) = self.nic;
        let repr = cnp::Repr {
            src: self.peer,
            dst,
            dscp: Dscp::new(CNP_DSCP).expect("48 is below 64"),
            ecn: Ecn::NotEct,
            ttl: 64,
            identification: 0,
            src_port: self.src_port,
            p_key: roce::DEFAULT_P_KEY,
            dest_qp: pair,
        };
        let mut packet = vec![0; repr.buffer_len()];
        repr.emit(&mut packet).expect("it has the length of a notification");
        let pcp = Pcp::new(CNP_DSCP / 8).expect("it is below 8");
        let frame =
            ethernet::Repr { dst: self.nic.0, src: cx.port(port).mac, ethertype: repr.ethertype() };
        framed(&cx.setup.marking, &frame, pcp, &packet)
    }

    /// Returns data for a queue pair of the NIC with these marks, in the same form.
    fn data(&self, cx: &Context<'_>, port: Port, pair: U24, ecn: Ecn) -> Vec<u8> {
        let (_, dst) = self.nic;
        let class = Pcp::new(self.priority.get()).expect("both are below 8");
        let (dscp, pcp) = match &cx.setup.marking {
            Marking::Dscp(map) => (map[self.priority.index()], class),
            Marking::Pcp(map, _) => (Dscp::MIN, map[self.priority.index()]),
        };
        let headers = datagram::Repr {
            src: self.peer,
            dst,
            dscp,
            ecn,
            ttl: 64,
            src_port: self.src_port,
            dst_port: roce::UDP_PORT,
        };
        let fits = "data of the tester fits";
        let udp_at = headers.header_len();
        let payload_at = udp_at + roce::BTH_LEN;
        let mut packet = vec![0; payload_at + PAYLOAD + icrc::LEN];
        let bth = roce::Repr::new(Opcode::RC_SEND_ONLY, pair, U24::default());
        bth.emit(&mut packet[udp_at..]).expect(fits);
        let probe = Probe::new(FlowId(QUEUE_PAIRS + pair.get()), 0, Instant::ZERO).octets();
        packet[payload_at..payload_at + probe.len()].copy_from_slice(&probe);
        headers.emit(&mut packet).expect(fits);
        // The ICRC covers the payload, so there is no checksum of UDP (A17.3.3).
        packet[udp_at - 2..udp_at].fill(0);
        icrc::seal(&mut packet).expect(fits);
        let frame = ethernet::Repr {
            dst: self.nic.0,
            src: cx.port(port).mac,
            ethertype: headers.ethertype(),
        };
        framed(&cx.setup.marking, &frame, pcp, &packet)
    }
}

/// Returns the octets of a frame from the destination address on, without FCS, with a tag where the marking has one.
fn framed(marking: &Marking, frame: &ethernet::Repr, pcp: Pcp, packet: &[u8]) -> Vec<u8> {
    let mut octets = vec![0; ethernet::HEADER_LEN];
    frame.emit(&mut octets).expect("it has the length of the header");
    octets.extend(packet);
    // Padding up to the shortest frame; the tester adds the FCS.
    octets.resize(octets.len().max(SHORTEST), 0);
    sfc::tagged(marking, pcp, octets)
}

/// Returns the congestion notifications that a port received, and of each the queue pair that it is for, and
/// true if it is well formed.
fn notifications(observed: &Observation, port: Port) -> impl Iterator<Item = (&Record, U24, bool)> {
    let here = observed.records.iter().filter(move |r| r.port == port && r.way == Way::Received);
    here.filter_map(|record| {
        let What::Other(octets) = &record.what else { return None };
        let found = packet(octets).filter(|packet| packet.bth.opcode() == Opcode::CNP)?;
        let (ethertype, l3) = (found.walk.ethertype, found.walk.l3);
        let is_right = cnp::Repr::parse(ethertype, &octets[l3..]).is_ok();
        Some((record, found.bth.dest_qp(), is_right))
    })
}

pub(super) const SLOWED_BY_ECN: Test = describe! {
    id: "V-N03",
    title: "ECN slows a NIC down before PFC has to",
    purpose: "A NIC with RoCEv2 notifies the sender of packets that are marked CE, and sends slower when it \
              is notified itself.",
    clause: "InfiniBand A17.9.3; RFC 3168",
    procedure: "The tester is the peer of the queue pairs of the NIC in the file, best three at a port. For one \
                pair after the other it sends congestion notifications (CNPs) for the pair's data, one each \
                50 us. Then all pairs get data at once, together up to 90 % of the line, all of it marked CE; \
                then one pair after the other alone is marked; then none.",
    pass: "In the second half of the notifications the rate of the priority is at least 2 % below that at \
           rest, with each pair. Marks are answered by CNPs, no more than marks, to as many queue pairs of the \
           tester as have marks; data without marks by none. The NIC pauses the priority at no time.",
    source: "Keysight ai-ml-testing RoCEv2.md",
    run: slowed_by_ecn,
    topology: Topology::T1,
    uncertainty: "Time stamps of the tester for the rate; none for counts.",
    kind: Kind::Nic,
    scope: Scope::Device,
};

/// Interval of notifications: the least of most NICs.
const NOTIFY: Duration = Duration::from_micros(50);

/// Shortest interval of the data of a pair.
const DATA: Duration = Duration::from_micros(1);

/// Share of the line that the data of all pairs takes at most: none is lost before the NIC.
const SHARE: u64 = 90;

/// Most frames of each trial.
const MOST: u64 = 100_000;

fn slowed_by_ecn(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let nic = nic::expected(cx)?;
    let sends: Vec<Priority> = nic.sends.iter().collect();
    let ports = (0..cx.setup.alike()).map(Port);
    for port in ports.take(cx.by_level(1, usize::MAX)) {
        let pairs = nic.queue_pairs.get(port.0).filter(|pairs| !pairs.is_empty());
        let Some(pairs) = pairs else {
            let what = format!("nic.queue_pairs: that at port {} is missing", cx.port(port).name);
            return Err(TrialError::Missing(what));
        };
        let traffic = nic::wait_for_traffic(cx, port)?;
        let data_of_nic = first_data(cx, &traffic, port, &sends)?;
        for pair in pairs {
            judge_slows(cx, port, data_of_nic, *pair)?;
        }
        let all: Vec<usize> = (0..pairs.len()).collect();
        judge_answers(cx, port, data_of_nic, pairs, &all)?;
        for one in all.iter().filter(|_| pairs.len() > 1) {
            judge_answers(cx, port, data_of_nic, pairs, &[*one])?;
        }
        judge_answers(cx, port, data_of_nic, pairs, &[])?;
    }
    Ok(())
}

/// Returns the number of frames of a stimulus.
fn stimulus_frames(cx: &Context<'_>, every: Duration) -> u32 {
    (cx.setup.times.hold.as_picos() / every.as_picos()).clamp(1, MOST) as u32
}

/// Judges the rate of a NIC that is notified.
fn judge_slows(
    cx: &mut Context<'_>,
    port: Port,
    data_of_nic: NicData,
    pair: QueuePair,
) -> Result<(), TrialError> {
    let (start, frames) = (cx.setup.times.baseline, stimulus_frames(cx, NOTIFY));
    let end = start + NOTIFY.saturating_mul(u64::from(frames));
    let length = end + cx.setup.times.settle;
    let number = pair.sends.get();
    let mut trial = Trial::new(format!("notifications of queue pair {number}"), length);
    let priority = data_of_nic.priority;
    let flow = trial.flow(Flow::new((port, port), priority, Limit::Time(length)));
    let octets = data_of_nic.notification(cx, port, pair.sends);
    trial.control.push(Control { port, octets, start, every: NOTIFY, frames });
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    // In the first half the NIC may still slow down.
    let half = start + end.saturating_sub(start).div(2)..end;
    let (value, u) = cx.of_rest(&observed, flow, &half);
    let what = format!(
        "rate of priority {priority} when queue pair {number} is notified, of that at rest"
    );
    let most = 100.0 - cx.setup.limits.rate * 100.0;
    cx.judge(what, value, Limits::at_most(most), u, "%");
    judge_unpaused(cx, &observed, port, priority, "notified");
    Ok(())
}

/// Judges the answers to data of all pairs, of which some are marked.
fn judge_answers(
    cx: &mut Context<'_>,
    port: Port,
    data_of_nic: NicData,
    pairs: &[QueuePair],
    marked: &[usize],
) -> Result<(), TrialError> {
    let name = match marked {
        [] => "data without marks".to_owned(),
        [one] => format!("data marked to queue pair {}", pairs[*one].receives.get()),
        all => format!("data marked to {} queue pairs", all.len()),
    };
    let octets: Vec<Vec<u8>> = pairs
        .iter()
        .enumerate()
        .map(|(n, pair)| {
            let ecn = if marked.contains(&n) { Ecn::Ce } else { Ecn::Ect0 };
            data_of_nic.data(cx, port, pair.receives, ecn)
        })
        .collect();
    let all: u64 = octets.iter().map(|octets| frame_time(cx, octets).as_picos()).sum();
    // A frame for each pair takes at most `SHARE` of this time, so that none is lost before the NIC.
    let every = Duration::from_picos(all * 100 / SHARE).max(DATA);
    let frames = stimulus_frames(cx, every);
    let start = cx.setup.times.baseline;
    let end = start + every.saturating_mul(u64::from(frames));
    let mut trial = Trial::new(&name, end + cx.setup.times.settle);
    let mut at = start;
    for octets in &octets {
        let octets = octets.clone();
        // The frames of the pairs follow each other.
        at += frame_time(cx, &octets);
        trial.control.push(Control { port, octets, start: at, every, frames });
    }
    let observed = cx.observe(&Trial { whole: true, ..trial })?;
    // What was sent counts, and not what was planned: a pause may have held some.
    let marks = marked.iter().map(|n| count_sent(&observed, &octets[*n])).sum::<usize>();
    let all: Vec<_> = notifications(&observed, port).collect();
    let malformed = all.iter().filter(|(.., is_right)| !is_right).count();
    let pairs: BTreeSet<u32> = all.iter().map(|(_, pair, _)| pair.get()).collect();
    // A NIC may answer several marks by one notification, but sends none without a mark.
    let limits = match marked {
        [] => Limits::exactly(0.0),
        _ => Limits { at_least: Some(marked.len() as f64), at_most: Some(marks as f64) },
    };
    cx.count(format!("CNPs for {marks} marks, {name}"), all.len() as u64, limits);
    let what = format!("queue pairs that get CNPs, {name}");
    cx.count(what, pairs.len() as u64, Limits::exactly(marked.len() as f64));
    cx.count(format!("malformed CNPs, {name}"), malformed as u64, Limits::exactly(0.0));
    judge_unpaused(cx, &observed, port, data_of_nic.priority, &name);
    Ok(())
}

/// Returns the time of a frame without FCS on the line.
fn frame_time(cx: &Context<'_>, octets: &[u8]) -> Duration {
    cx.setup.line_time(octets.len() as u32 + FCS_BYTES)
}

/// Returns the number of frames of these bytes that the tester sent.
fn count_sent(observed: &Observation, octets: &[u8]) -> usize {
    let is_own = |what: &What| matches!(what, What::Other(sent) if octets.starts_with(sent));
    observed.records.iter().filter(|r| r.way == Way::Sent && is_own(&r.what)).count()
}

/// Judges that the NIC does not pause its peer.
fn judge_unpaused(
    cx: &mut Context<'_>,
    observed: &Observation,
    port: Port,
    priority: Priority,
    when: &str,
) {
    let pauses = observed.pauses(port).filter(|pause| pause.stops(priority)).count();
    let what = format!("pauses of priority {priority} by the NIC, {when}");
    cx.count(what, pauses as u64, Limits::exactly(0.0));
}
