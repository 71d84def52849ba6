//! The frames that are marked by ECN, and what of them a mark changes.

use super::{congestion, ecn, storm};
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Way, What};
use crate::setup::Marking;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial, Version};
use ground::time::Duration;
use ground::units::{Bytes, Priority, PrioritySet, Vid};
use std::collections::HashMap;
use wire::ip::Ecn;
use wire::{EtherType, ipv4, vlan};

pub(super) const NOT_ECT: Test = describe! {
    id: "V-E03",
    title: "frames without ECN are not marked",
    purpose: "A congested queue does not set CE on Not-ECT packets, and a lossless one does not drop them.",
    clause: "RFC 3168 5",
    procedure: "Not-ECT flows on a lossless priority from A and from B overload C, and then on a lossy one; at \
                level full on each of both kinds.",
    pass: "No frame arrives with CE, and no lossless frame is lost.",
    source: "OpenConfig DP-1.12; sonic-buildimage issue 27606",
    run: not_ect,
    aliases: &["DP-1.12"],
    topology: Topology::T3,
    uncertainty: "None: counts.",
    level: Level::Quick,
};

/// Share of the line of each of two flows that overload a port.
const SHARE: f64 = 1.0;

fn not_ect(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    cx.lossy()?;
    for priority in cx.each_lossless().into_iter().chain(cx.each_lossy()) {
        let trial = congestion::to_one(cx, &[a, b], c, &[priority], SHARE);
        let observed = cx.observe(&trial)?;
        congestion::arrives(cx, &observed, &trial)?;
        let all = (0..trial.flows.len()).flat_map(|n| observed.of(FlowId(n), Way::Received));
        // Any other code point than Not-ECT is a change.
        let is_marked = |what: &What| !matches!(what, What::Data { ecn: Ecn::NotEct, .. });
        let marked = all.filter(|record| is_marked(&record.what)).count() as u64;
        let what = format!("Not-ECT frames of priority {priority} that arrive marked");
        cx.count(what, marked, Limits::exactly(0.0));
        if cx.setup.lossless.contains(priority) {
            congestion::lossless(cx, &observed, &trial, priority);
        }
    }
    Ok(())
}

pub(super) const FIELD_ALONE: Test = describe! {
    id: "V-E04",
    title: "a mark changes the ECN field alone",
    purpose: "A congested queue sets CE on ECT(0) and ECT(1) packets of both versions of IP, tagged or not, \
              leaves CE as it is, corrects the checksum of IPv4, and changes nothing else.",
    clause: "RFC 3168 5, 7; RFC 791 3.1",
    procedure: "B pauses one priority of `expected.ecn.priorities`, at level full each, A fills its queue beyond \
                Kmax in turns with ECT(0), ECT(1) and CE frames of 128 bytes in IPv4 and IPv6, and B lets them \
                out. With `expected.vlan` the same with tags in addition.",
    pass: "Frames of either ECT arrive with CE or as they were sent, some of each kind with CE; frames with CE \
           keep it. Each IPv4 checksum is right. Addresses and packets are those that were sent, but for \
           ECN and checksum; a tag may be removed.",
    source: "sonic-mgmt ect_marking; OpenConfig issue 935",
    run: field_alone,
    aliases: &["ect_marking"],
    uncertainty: "None: bytes.",
};

/// Length of the frames in bytes: short enough that all of their bytes are recorded.
const SIZE: u32 = 128;

/// A kind of packets.
#[derive(Clone, Copy)]
struct Packets {
    version: Version,
    tag: Option<Vid>,
    ecn: Ecn,
}

fn field_alone(cx: &mut Context<'_>) -> Result<(), TrialError> {
    ecn::each_marked(cx, field_alone_of)?;
    if let (Marking::Dscp(_), None) = (&cx.setup.marking, cx.setup.expected.vlan) {
        cx.skip("tagged frames", "expected.vlan is missing; add it to the file");
    }
    Ok(())
}

fn field_alone_of(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let ecn = ecn::expected(cx)?;
    let [a, b] = cx.ports()?;
    let kinds = kinds(cx);
    let flows = kinds.iter().map(|kind| {
        let flow = Flow::new((a, b), priority, Limit::Frames(1)).size(SIZE);
        flow.ecn(kind.ecn).version(kind.version).tag(kind.tag)
    });
    // Each kind is marked at either end of the queue.
    let more = ecn::BEYOND * kinds.len() as u64;
    let mut trial = ecn::held_queue(cx, a, b, flows, ecn::queue_frames(ecn, SIZE) + more)?;
    // The bytes of the frames are compared.
    trial.keep = true;
    let observed = ecn::observe_queue(cx, &trial)?;
    for (n, kind) in kinds.iter().enumerate() {
        judge_kind(cx, &observed, FlowId(n), *kind);
    }
    Ok(())
}

/// Returns the kinds of packets to send.
fn kinds(cx: &Context<'_>) -> Vec<Packets> {
    let mut tags = vec![None];
    // Frames that are marked by PCP have a tag already.
    if let Marking::Dscp(_) = cx.setup.marking {
        tags.extend(cx.setup.expected.vlan.map(Some));
    }
    let mut kinds = Vec::new();
    for tag in tags {
        for version in [Version::V4, Version::V6] {
            for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                kinds.push(Packets { version, tag, ecn });
            }
        }
    }
    kinds
}

impl core::fmt::Display for Packets {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let tagged = if self.tag.is_some() { "tagged " } else { "" };
        let version = match self.version {
            Version::V4 => "IPv4",
            Version::V6 => "IPv6",
        };
        let ecn = match self.ecn {
            Ecn::NotEct => "Not-ECT",
            Ecn::Ect0 => "ECT(0)",
            Ecn::Ect1 => "ECT(1)",
            Ecn::Ce => "CE",
        };
        write!(f, "{tagged}{version} frames with {ecn}")
    }
}

fn judge_kind(cx: &mut Context<'_>, observed: &Observation, flow: FlowId, kind: Packets) {
    let (mut marked, mut other, mut sums, mut changed) = (0, 0, 0, 0);
    let sequence = |what: &What| match what {
        What::Data { sequence, .. } => *sequence,
        What::Control(_) | What::Other(_) => u64::MAX,
    };
    let sent: HashMap<u64, &[u8]> =
        observed.of(flow, Way::Sent).map(|r| (sequence(&r.what), &r.head[..])).collect();
    for record in observed.of(flow, Way::Received) {
        let What::Data { sequence, ecn, .. } = record.what else { continue };
        marked += u64::from(ecn == Ecn::Ce);
        other += u64::from(ecn != Ecn::Ce && ecn != kind.ecn);
        sums += u64::from(kind.version == Version::V4 && !is_sum_right(&record.head));
        let sent = sent.get(&sequence).and_then(|octets| without_ecn(octets));
        // A frame that was not sent counts as changed.
        changed += u64::from(sent.is_none() || sent != without_ecn(&record.head));
    }
    let none = Limits::exactly(0.0);
    if kind.ecn != Ecn::Ce {
        cx.count(format!("{kind} that arrive with CE"), marked, Limits::at_least(1.0));
    }
    cx.count(format!("{kind} that arrive with another code point than CE"), other, none);
    if kind.version == Version::V4 {
        cx.count(format!("{kind} that arrive with a wrong checksum"), sums, none);
    }
    cx.count(format!("{kind} that arrive changed in other fields"), changed, none);
}

fn is_sum_right(octets: &[u8]) -> bool {
    let packet = vlan::walk(octets).ok().and_then(|walk| octets.get(walk.l3..));
    packet.and_then(|packet| ipv4::View::new(packet).ok()).is_some_and(|ip| ip.checksum_ok())
}

/// Returns the addresses and the packet of a frame with ECN and the checksum of IPv4 set to zero;
/// `None` for a frame without IP.
fn without_ecn(octets: &[u8]) -> Option<Vec<u8>> {
    let walk = vlan::walk(octets).ok()?;
    let mut packet = octets.get(walk.l3..)?.to_vec();
    match walk.ethertype {
        // ECN is in the low bits of the second octet of IPv4, and has a part in the checksum.
        EtherType::IPV4 if packet.len() >= ipv4::HEADER_LEN => {
            packet[1] &= !0x03;
            packet[10..12].fill(0);
        }
        // The traffic class of IPv6 begins in the first octet and ends in the high half of the second.
        EtherType::IPV6 if packet.len() > 1 => packet[1] &= !0x30,
        _ => return None,
    }
    let mut all = octets[..12].to_vec();
    all.extend(walk.ethertype.0.to_be_bytes());
    all.extend(packet);
    Some(all)
}

pub(super) const BEFORE_PAUSES: Test = describe! {
    id: "V-E05",
    title: "marks come before pauses",
    purpose: "A growing queue tells the senders by ECN to slow down before it stops them by PFC.",
    clause: "RFC 3168 5, 802.1Q 36.1.3.1",
    procedure: "ECT(0) flows on one priority of `expected.ecn.priorities`, at level full on each, from A and from \
                B load C with 90 to 110 % of the line, in steps of 1 % that last for the time in which 1 % of \
                the line is a quarter of Kmin.",
    pass: "Frames arrive with CE at a load that is lower by at least one step than that of the first pause, \
           and none is lost.",
    source: "sonic-mgmt L09",
    run: before_pauses,
    aliases: &["L09"],
    topology: Topology::T3,
    uncertainty: "Time stamps of the tester, twice, as a part of a step.",
};

/// Loads of C in percent of the line.
const LOADS: core::ops::RangeInclusive<u64> = 90..=110;

fn before_pauses(cx: &mut Context<'_>) -> Result<(), TrialError> {
    ecn::each_marked(cx, before_pauses_of)
}

fn before_pauses_of(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let ecn = ecn::expected(cx)?;
    let [a, b, c] = cx.ports()?;
    let quarter = Bytes((ecn.kmin.0 / 4).max(1));
    let step = cx.setup.rate.time_for(quarter).saturating_mul(100);
    let steps = LOADS.count() as u64;
    let end = step.saturating_mul(steps);
    let mut trial = Trial::new("growing load", end + cx.setup.times.drain);
    for (n, load) in LOADS.enumerate() {
        for from in [a, b] {
            let flow = Flow::new((from, c), priority, Limit::Time(step)).ecn(Ecn::Ect0);
            let share = Rate::Line(load as f64 / 200.0);
            trial.flow(flow.rate(share).start(step.saturating_mul(n as u64)));
        }
    }
    let observed = cx.observe(&trial)?;
    let arrived =
        (0..trial.flows.len()).flat_map(|n| observed.of(FlowId(n), Way::Received)).count();
    if arrived == 0 {
        return Err(TrialError::Error("no frame arrives; check the cables".into()));
    }
    congestion::lossless(cx, &observed, &trial, priority);
    let flows = (0..trial.flows.len()).map(FlowId);
    let mark = flows.filter_map(|flow| ecn::marked(&observed, flow).next()).map(|r| r.end).min();
    let Some(mark) = mark else {
        cx.count("frames that arrive with CE", 0, Limits::at_least(1.0));
        return Ok(());
    };
    let pauses = [a, b].into_iter().flat_map(|port| observed.pauses(port));
    let pause = pauses.filter(|pause| pause.stops(priority)).map(|pause| pause.at).min();
    let load = |at: Duration| {
        let step = at.as_picos() / step.as_picos().max(1);
        (*LOADS.start() + step).min(*LOADS.end()) as f64
    };
    // Mark and pause may each be off by the uncertainty, in whole steps of the load.
    let u = (observed.uncertainty.as_secs_f64() * 2.0 / step.as_secs_f64()).floor();
    let what = format!("load of the first mark ({} %) below that of the first pause", load(mark));
    // Without any pause the load of the first one is above the last.
    let pause = pause.map_or((*LOADS.end() + 1) as f64, load);
    cx.judge(what, pause - load(mark), Limits::at_least(1.0), u, "%");
    Ok(())
}

pub(super) const CONGESTED_ALONE: Test = describe! {
    id: "V-E06",
    title: "marks on the congested priority alone",
    purpose: "A queue that is not congested marks nothing, while another one of its port is.",
    clause: "RFC 3168 5, 802.1Q 8.6.6",
    procedure: "ECT(0) flows on one priority of `expected.ecn.priorities` and on another one from A and from B to \
                C, at 20 to 21 % of the line; then the same while C pauses the first one for the time in which \
                twice Kmax arrives. The other is lossless too if there are two; at level full each priority has \
                its turn as either of both. At last C pauses each lossless priority without the curve, if \
                `expected.ecn.priorities` tells which have it, beside the first one.",
    pass: "No frame arrives with CE at first. Then frames of the paused priority do, and none of the other \
           until the end of the pause; none of a priority without the curve does, and none of the first one \
           beside it until the end of the pause. No frame of a lossless priority is lost.",
    source: "sonic-mgmt marking_lossless_prio",
    run: congested_alone,
    aliases: &["marking_lossless_prio"],
    topology: Topology::T3,
    uncertainty: "None: counts.",
};

/// Share of the line of each of four flows.
const SHARE_OF_FOUR: f64 = 0.2;

fn congested_alone(cx: &mut Context<'_>) -> Result<(), TrialError> {
    ecn::each_marked(cx, congested_alone_of)
}

fn congested_alone_of(cx: &mut Context<'_>, priority: Priority) -> Result<(), TrialError> {
    let ecn = ecn::expected(cx)?;
    let [a, b, c] = cx.ports()?;
    // The time for a queue of twice Kmax.
    let filled = Bytes(2 * ecn.kmax.0).max(Bytes(1));
    let filled = cx.setup.rate.time_for(filled).as_secs_f64() / (2.0 * SHARE_OF_FOUR);
    let hold = Duration::from_nanos_f64(filled * 1e9).max(cx.setup.storm_pause());
    for other in cx.others(priority, cx.neighbour(priority)?) {
        judge_beside(cx, priority, other, hold)?;
    }
    let marked = ecn.priorities.unwrap_or(PrioritySet::ALL);
    let is_bare = |other: &Priority| *other != priority && !marked.contains(*other);
    for bare in cx.setup.lossless.iter().filter(is_bare) {
        let mut trial = congestion::to_one(cx, &[a, b], c, &[bare, priority], SHARE_OF_FOUR);
        trial.flows.iter_mut().for_each(|flow| flow.ecn = Ecn::Ect0);
        trial.name = "a priority without ECN is congested".to_owned();
        storm::add(cx, &mut trial, c, PrioritySet::of(bare), &(Duration::ZERO..hold));
        judge_marks(cx, &trial, &[(bare, false, Duration::MAX), (priority, false, hold)])?;
    }
    Ok(())
}

/// Judges the marks of two priorities without congestion, and while the first one is held.
fn judge_beside(
    cx: &mut Context<'_>,
    priority: Priority,
    other: Priority,
    hold: Duration,
) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let mut trial = congestion::to_one(cx, &[a, b], c, &[priority, other], SHARE_OF_FOUR);
    // Frames of equal rates may never meet, whatever the device would mark then: each rate is one in a hundred higher.
    for (n, flow) in trial.flows.iter_mut().enumerate() {
        flow.ecn = Ecn::Ect0;
        flow.rate = Rate::Line(SHARE_OF_FOUR * (1.0 + n as f64 / 100.0));
    }
    trial.name = "no congestion".to_owned();
    let all = Duration::MAX;
    judge_marks(cx, &trial, &[(priority, false, all), (other, false, all)])?;
    ecn::too_long(cx, hold)?;
    trial.name = "one priority is congested".to_owned();
    storm::add(cx, &mut trial, c, PrioritySet::of(priority), &(Duration::ZERO..hold));
    // The frames of a released priority may hold up others.
    judge_marks(cx, &trial, &[(priority, true, hold), (other, false, hold)])
}

/// Judges the marks of each priority: with congestion at least one, else none until its time.
fn judge_marks(
    cx: &mut Context<'_>,
    trial: &Trial,
    priorities: &[(Priority, bool, Duration)],
) -> Result<(), TrialError> {
    let observed = cx.observe(trial)?;
    congestion::arrives(cx, &observed, trial)?;
    for (priority, is_congested, until) in priorities {
        let until = until.saturating_sub(observed.uncertainty);
        let flows = trial.flows.iter().enumerate().filter(|(_, flow)| flow.priority == *priority);
        let marked = flows.flat_map(|(n, _)| ecn::marked(&observed, FlowId(n)));
        let marked = marked.filter(|record| *is_congested || record.end < until).count() as u64;
        let limits = if *is_congested { Limits::at_least(1.0) } else { Limits::exactly(0.0) };
        let what = format!("frames of priority {priority} that arrive with CE ({})", trial.name);
        cx.count(what, marked, limits);
        if cx.setup.lossless.contains(*priority) {
            congestion::lossless(cx, &observed, trial, *priority);
        }
    }
    Ok(())
}
