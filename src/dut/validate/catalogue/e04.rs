//! V-E04: a mark changes the ECN field alone.

use std::collections::HashMap;

use super::marks;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Observation, Way, What};
use crate::setup::Marking;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Version};
use ground::units::Vid;
use wire::ip::Ecn;
use wire::{EtherType, ipv4, vlan};

pub const TEST: Test = Test {
    id: "V-E04",
    aliases: &["ect_marking"],
    title: "a mark changes the ECN field alone",
    purpose: "A congested queue sets CE on ECT(0) and ECT(1) packets of both versions of IP, tagged or not, \
              leaves CE as it is, corrects the checksum of IPv4, and changes nothing else.",
    clause: "RFC 3168 5, 7; RFC 791 3.1",
    topology: Topology::T2,
    procedure: "B pauses one lossless priority, A fills its queue beyond Kmax (`expected.ecn`) in turns with \
                ECT(0), ECT(1) and CE frames of 128 bytes in IPv4 and IPv6, and B lets them out. With \
                `expected.vlan` the same with tags in addition.",
    pass: "Frames of either ECT arrive with CE or as they were sent, some of each kind with CE; frames with CE \
           keep it. Each IPv4 checksum is right. Addresses and packets are those that were sent, but for \
           ECN and checksum; a tag may be removed.",
    uncertainty: "None: bytes.",
    source: "sonic-mgmt ect_marking; OpenConfig issue 935",
    level: Level::Full,
    run,
    line: line!(),
};

/// Length of the frames in bytes: short enough that all of their bytes are recorded.
const SIZE: u32 = 128;

/// A kind of packets.
#[derive(Clone, Copy)]
struct Kind {
    version: Version,
    tag: Option<Vid>,
    ecn: Ecn,
}

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ecn = marks::expected(cx)?;
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let kinds = kinds(cx);
    let flows = kinds.iter().map(|kind| {
        let flow = Flow::new((a, b), priority, Limit::Frames(1)).size(SIZE);
        flow.ecn(kind.ecn).version(kind.version).tag(kind.tag)
    });
    // Each kind is marked at either end of the queue.
    let more = marks::BEYOND * kinds.len() as u64;
    let mut trial = marks::held(cx, (a, b), flows, marks::frames(ecn, SIZE) + more)?;
    trial.keep = true;
    let seen = marks::observe(cx, &trial)?;
    for (n, kind) in kinds.iter().enumerate() {
        judge(cx, &seen, FlowId(n), *kind);
    }
    if let (Marking::Dscp(_), None) = (&cx.setup.marking, cx.setup.expected.vlan) {
        cx.skip("tagged frames", "expected.vlan is missing; add it to the file");
    }
    Ok(())
}

/// Returns the kinds of packets to send.
fn kinds(cx: &Context<'_>) -> Vec<Kind> {
    let mut tags = vec![None];
    if let Marking::Dscp(_) = cx.setup.marking {
        tags.extend(cx.setup.expected.vlan.map(Some));
    }
    let mut kinds = Vec::new();
    for tag in tags {
        for version in [Version::V4, Version::V6] {
            for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
                kinds.push(Kind { version, tag, ecn });
            }
        }
    }
    kinds
}

impl core::fmt::Display for Kind {
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

fn judge(cx: &mut Context<'_>, seen: &Observation, flow: FlowId, kind: Kind) {
    let (mut marked, mut other, mut sums, mut changed) = (0, 0, 0, 0);
    let sequence = |what: &What| match what {
        What::Data { sequence, .. } => *sequence,
        What::Control(_) | What::Other(_) => u64::MAX,
    };
    let sent: HashMap<u64, &[u8]> =
        seen.of(flow, Way::Sent).map(|r| (sequence(&r.what), &r.head[..])).collect();
    for record in seen.of(flow, Way::Received) {
        let What::Data { sequence, ecn, .. } = record.what else { continue };
        marked += u64::from(ecn == Ecn::Ce);
        other += u64::from(ecn != Ecn::Ce && ecn != kind.ecn);
        sums += u64::from(kind.version == Version::V4 && !is_sum_right(&record.head));
        let sent = sent.get(&sequence).and_then(|octets| without_ecn(octets));
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
        EtherType::IPV4 if packet.len() >= ipv4::HEADER_LEN => {
            packet[1] &= !0x03;
            packet[10..12].fill(0);
        }
        EtherType::IPV6 if packet.len() > 1 => packet[1] &= !0x30,
        _ => return None,
    }
    let mut all = octets[..12].to_vec();
    all.extend(walk.ethertype.0.to_be_bytes());
    all.extend(packet);
    Some(all)
}
