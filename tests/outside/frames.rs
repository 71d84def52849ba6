//! Scapy and tshark judge the library's frames, and the library must read scapy's.
//!
//! If a judge is not installed the test reports that and passes, except in CI (`CI=true`), where a
//! missing judge is a failure.

use std::fmt::Write as _;

use sluice::discovery::{
    Application, DcbxPfcPlan, DcbxPlan, EtsPlan, EtsTable, FRAME_MAX, Lldp, LldpPlan, PfcForm,
    Selector, SourceFlowControl, Topology, TopologyPlan,
};
use sluice::frame::Frame;
use sluice::host::{Message, Operation, RocePlan, Station, Transport};
use sluice::time::{Duration, Instant};
use sluice::units::{Mac, PrioritySet, Vid};
use sluice::wire::{
    EtherType, aeth, arp, cnp, echo, ethernet, group, icrc, ip, ipv4, lldp, mac_control, neighbour,
    roce, tcp, udp, vlan,
};

use crate::judges::{faulted, hex, missing, python, scapy, tshark, unhex};
use crate::link;
use crate::wire_frames::{self, KINDS, Rng};

/// Frames of each kind that a judge reads.
const EACH: u64 = 25;
/// Seed of all of them: a fixed one, so that a judgement can be repeated.
const SEED: u64 = 4791;

/// Frames of every kind, made by the library.
fn our_frames() -> Vec<(&'static str, Vec<u8>)> {
    let mut rng = Rng(SEED);
    let all = KINDS.into_iter().flat_map(|kind| (0..EACH).map(move |_| kind));
    all.map(|kind| (kind, wire_frames::frame(kind, &mut rng))).collect()
}

/// Fields that the library reads in a frame, in the format of `judges/scapy_judge.py`.
fn describe(frame: &[u8]) -> String {
    let walk = vlan::walk(frame).expect("a frame");
    let mut out = format!("eth {} {}", walk.dst, walk.src);
    for n in 0..walk.tags {
        let tag = vlan::Repr::parse(&frame[12 + n * vlan::TAG_LEN..]).expect("a tag");
        let (tpid, dei) = (tag.tpid.ethertype().0, u8::from(tag.dei));
        let vid = tag.vid.map_or(0, Vid::get);
        write!(out, " | tag {tpid:04x} {} {dei} {vid}", tag.pcp).unwrap();
    }
    write!(out, " | type {:04x}", walk.ethertype.0).unwrap();
    let rest = &frame[walk.l3..];
    match walk.ethertype {
        EtherType::MAC_CONTROL => describe_mac_control(frame, &mut out),
        EtherType::LLDP => describe_lldp(frame, &mut out),
        EtherType::ARP => {
            let a = arp::Repr::parse(rest).expect("ARP");
            let (sender, target) = (a.sender_ip.to_bits(), a.target_ip.to_bits());
            let (op, from, to) = (a.operation as u16, a.sender_mac, a.target_mac);
            write!(out, " | arp {op} {from} {sender:08x} {to} {target:08x}").unwrap();
        }
        EtherType::IPV4 | EtherType::IPV6 => describe_ip(walk.ethertype, rest, &mut out),
        other => panic!("nobody made a frame of type {other}"),
    }
    out
}

fn describe_mac_control(frame: &[u8], out: &mut String) {
    let port = ethernet::Repr::parse(frame).expect("Ethernet").dst;
    match mac_control::Repr::parse(frame, port).expect("MAC control") {
        mac_control::Repr::Pause(p) => write!(out, " | pause {}", p.time.0).unwrap(),
        mac_control::Repr::Pfc(p) => {
            let bits = format!("{:08b}", p.enabled.0.reverse_bits());
            let times: Vec<_> = p.times.iter().map(|t| t.0.to_string()).collect();
            write!(out, " | pfc {bits} {}", times.join(" ")).unwrap();
        }
    }
}

fn describe_lldp(frame: &[u8], out: &mut String) {
    let v = lldp::View::new(frame).expect("LLDP");
    for (what, id) in [("chassis", v.chassis()), ("port", v.port())] {
        write!(out, " | {what} {} {}", id.subtype, hex(id.octets)).unwrap();
    }
    write!(out, " | ttl {}", v.ttl()).unwrap();
    for tlv in v.optional() {
        match tlv.organizational() {
            Some(org) => {
                write!(out, " | org {} {} {}", hex(&org.oui), org.subtype, hex(org.value)).unwrap();
            }
            None => write!(out, " | tlv {} {}", tlv.kind.0, hex(tlv.value)).unwrap(),
        }
    }
}

fn describe_ip(ethertype: EtherType, packet: &[u8], out: &mut String) {
    let view = ip::View::new(ethertype, packet).expect("IP");
    let (dscp, ecn, ttl) = (view.dscp(), view.ecn() as u8, view.ttl());
    match view {
        ip::View::V4(v) => {
            let flags = format!("{}{}", u8::from(v.dont_fragment()), u8::from(v.more_fragments()));
            let options: String = v.options().iter().map(|o| format!("{o:02x}")).collect();
            let options = if options.is_empty() { "-".into() } else { options };
            write!(
                out,
                " | ip4 {dscp} {ecn} {} {flags} {} {ttl} {} {:08x} {:08x} {options} {} {}",
                v.identification(),
                v.fragment_offset(),
                v.protocol().0,
                v.src().to_bits(),
                v.dst().to_bits(),
                usize::from(v.total_len()) - v.header_len(),
                u8::from(v.checksum_ok()),
            )
            .unwrap();
            assert_eq!(ipv4::Repr::parse(packet).is_ok(), v.checksum_ok());
        }
        ip::View::V6(v) => write!(
            out,
            " | ip6 {dscp} {ecn} {} {} {} {ttl} {:032x} {:032x}",
            v.flow_label(),
            v.payload_len(),
            v.next_header().0,
            v.src().to_bits(),
            v.dst().to_bits(),
        )
        .unwrap(),
    }
    let upper = view.upper().expect("an upper header");
    match upper.protocol {
        ip::Protocol::TCP => {
            let t = tcp::Repr::parse(upper.payload).expect("TCP");
            write!(out, " | tcp {} {}", t.src_port, t.dst_port).unwrap();
        }
        ip::Protocol::UDP => {
            let u = udp::View::new(upper.payload).expect("UDP");
            let right = u.checksum_ok(view.src(), view.dst()).expect("a whole datagram");
            let (from, to, len, sum) = (u.src_port(), u.dst_port(), u.len(), u.checksum());
            write!(out, " | udp {from} {to} {len} {sum:04x} {}", u8::from(right)).unwrap();
            if to == roce::UDP_PORT {
                describe_roce(ethertype, packet, u.payload(), out);
            }
        }
        ip::Protocol::ICMP | ip::Protocol::ICMPV6 => describe_icmp(&view, packet, &upper, out),
        other => panic!("nobody made a packet of {other}"),
    }
}

fn describe_icmp(view: &ip::View<'_>, packet: &[u8], upper: &ip::Upper<'_>, out: &mut String) {
    if let Ok(e) = echo::View::new(upper.protocol, upper.payload) {
        let right = u8::from(e.checksum_ok(view.src(), view.dst()));
        let request = u8::from(e.operation() == echo::Operation::Request);
        let (id, seq, data) = (e.identifier(), e.sequence(), hex(e.data()));
        let data = if data.is_empty() { "-".into() } else { data };
        write!(out, " | echo {request} {id} {seq} {data} {right}").unwrap();
        return;
    }
    let n = neighbour::Repr::parse(packet).expect("a neighbour message");
    let (target, mac) = (n.target.to_bits(), n.link_layer.expect("an address"));
    match n.kind {
        neighbour::Kind::Solicitation => write!(out, " | solicits {target:032x} {mac} 1").unwrap(),
        neighbour::Kind::Advertisement { router, solicited, overrides } => {
            let [r, s, o] = [router, solicited, overrides].map(u8::from);
            write!(out, " | advertises {r}{s}{o} {target:032x} {mac} 1").unwrap();
        }
    }
}

fn describe_roce(ethertype: EtherType, packet: &[u8], payload: &[u8], out: &mut String) {
    let b = roce::Repr::parse(payload).expect("BTH");
    let bit = u8::from;
    write!(
        out,
        " | bth {} {}{} {} {:04x} {}{} {} {} {} | icrc {}",
        b.opcode.0,
        bit(b.solicited),
        bit(b.migrated),
        b.pad_count,
        b.p_key,
        bit(b.fecn),
        bit(b.becn),
        b.dest_qp,
        bit(b.ack_request),
        b.psn,
        bit(icrc::verify(packet).is_ok()),
    )
    .unwrap();
    if b.opcode == roce::Opcode::RC_ACKNOWLEDGE {
        let aeth = aeth::Repr::parse(&payload[roce::BTH_LEN..]).expect("AETH");
        let syndrome = aeth.syndrome.octet().expect("what was read can be written");
        write!(out, " | aeth {syndrome:02x} {}", aeth.msn).unwrap();
    }
    if cnp::Repr::parse(ethertype, packet).is_ok() {
        out.push_str(" | cnp");
    }
}

#[test]
fn scapy_reads_in_our_frames_what_we_put_there() {
    let Some(python) = python() else { return missing("scapy") };
    let frames = our_frames();
    let input: String = frames.iter().map(|(_, f)| hex(f) + "\n").collect();
    let words = scapy(python, "scapy_judge.py", &["describe"], &input);
    assert_eq!(words.len(), frames.len());
    for ((kind, frame), words) in frames.iter().zip(&words) {
        assert_eq!(&describe(frame), words, "{kind}, seed {SEED}: {}", hex(frame));
        // Neither may find a wrong checksum or ICRC in Sluice's frames.
        let wrong = words.split(" | ").any(|part| {
            ["ip4", "udp", "icrc", "echo", "solicits", "advertises"]
                .iter()
                .any(|p| part.starts_with(p))
                && part.ends_with(" 0")
        });
        assert!(!wrong, "{kind}, seed {SEED}: {words}");
    }
}

/// Frames that two stations exchange where every seventh frame is lost and all data is marked: the
/// complete ones.
fn said_by_stations() -> Vec<(&'static str, Vec<u8>)> {
    let flows = [Operation::Send, Operation::Write].map(|operation| {
        let id = operation as u32 + 1;
        let mut flow = link::flow(id, Transport::Roce(RocePlan { operation, ..link::roce(id) }));
        flow.size = flow.overhead() + 36;
        flow.message = Some(Message { bytes: 101, count: 20, every: Duration::ZERO });
        flow
    });
    let mut tcp = link::tcp_flow(3);
    tcp.message = Some(Message::once(5_000));
    let mut world = link::World::of(&[&flows[..], &[tcp]].concat());
    let mut n = 0;
    world.fate = Box::new(move |from, frame| {
        n += 1;
        if from == link::A {
            ip::mark_ce_in_frame(frame.head_mut());
        }
        n % 7 != 0
    });
    world.run_to(link::at(20_000));
    assert!(world.hosts.iter().all(Station::is_done));
    let snapshot = &world.snapshots()[link::B];
    assert!(snapshot.receivers[..2].iter().all(|r| r.naks > 0 && r.cnps > 0));
    world.sent.iter().map(|(_, _, frame)| ("said", frame.head().to_vec())).collect()
}

#[test]
fn scapy_and_tshark_read_what_stations_say_to_each_other() {
    let frames = said_by_stations();
    let Some(lines) = faulted("said.pcap", &frames) else { return missing("tshark") };
    assert!(lines.is_empty(), "{lines:#?}");
    let Some(python) = python() else { return missing("scapy") };
    let input: String = frames.iter().map(|(_, f)| hex(f) + "\n").collect();
    let words = scapy(python, "scapy_judge.py", &["describe"], &input);
    assert_eq!(words.len(), frames.len());
    for ((_, frame), words) in frames.iter().zip(&words) {
        assert_eq!(&describe(frame), words, "{}", hex(frame));
    }
    for part in ["aeth 1f", "aeth 60", "| cnp", "bth 0 ", "bth 2 ", "bth 6 ", "bth 8 ", "| tcp "] {
        assert!(words.iter().any(|w| w.contains(part)), "{part}");
    }
}

#[test]
fn we_read_in_frames_of_scapy_what_scapy_does() {
    let Some(python) = python() else { return missing("scapy") };
    let frames =
        scapy(python, "scapy_judge.py", &["build", &SEED.to_string(), &EACH.to_string()], "");
    assert_eq!(frames.len() as u64, 10 * EACH);
    let words = scapy(python, "scapy_judge.py", &["describe"], &(frames.join("\n") + "\n"));
    for (frame, words) in frames.iter().zip(&words) {
        assert_eq!(&describe(&unhex(frame)), words, "seed {SEED}: {frame}");
        assert!(!words.contains("icrc 0"), "scapy disowns its own ICRC: {words}");
    }
}

#[test]
fn mac_control_frames_of_scapy_come_out_the_same_when_emitted_again() {
    let Some(python) = python() else { return missing("scapy") };
    let frames =
        scapy(python, "scapy_judge.py", &["build", &SEED.to_string(), &EACH.to_string()], "");
    let mut seen = 0;
    for frame in frames.iter().map(|f| unhex(f)) {
        let header = ethernet::Repr::parse(&frame).unwrap();
        if header.ethertype != EtherType::MAC_CONTROL {
            continue;
        }
        let repr = mac_control::Repr::parse(&frame, header.dst).unwrap();
        let mut ours = vec![0; repr.buffer_len()];
        repr.emit(&mut ours).unwrap();
        let mut want = frame.clone();
        if let mac_control::Repr::Pfc(pfc) = repr {
            // Scapy sends times of priorities that it does not enable; Sluice sends 0 there.
            for p in sluice::units::Priority::ALL {
                if pfc.time(p).is_none() {
                    want[18 + 2 * p.index()..20 + 2 * p.index()].fill(0);
                }
            }
        }
        assert_eq!(ours, want, "seed {SEED}");
        seen += 1;
    }
    assert_eq!(seen, 2 * EACH);
}

#[test]
fn tshark_decodes_our_frames_without_a_warning() {
    let mut frames = our_frames();
    // tshark requires the group address of PAUSE too, where 802.3 31B.3.3 allows the port's own.
    frames.retain(|(kind, f)| *kind != "pause" || f[..6] == group::MAC_CONTROL.0);
    let Some(lines) = faulted("judged.pcap", &frames) else { return missing("tshark") };
    assert!(lines.is_empty(), "seed {SEED}: {lines:#?}");
}

#[test]
fn tshark_would_notice_a_fault() {
    let mut rng = Rng(SEED);
    let faults = [("ipv4-udp", 0), ("ipv6-tcp", 0), ("ipv4-tcp", 20), ("pfc", 16), ("arp", 30)];
    let mut frames = Vec::new();
    for (kind, at) in faults {
        let mut frame = wire_frames::frame(kind, &mut rng);
        match at {
            0 => *frame.last_mut().unwrap() ^= 0x11,
            16 => frame[16] = 1,
            n => frame.truncate(n),
        }
        frames.push((kind, frame));
    }
    let Some(lines) = faulted("faults.pcap", &frames) else { return missing("tshark") };
    assert_eq!(lines.len(), faults.len(), "{lines:#?}");
}

#[test]
fn tshark_names_every_format_and_reads_the_pause_times() {
    let frames = our_frames();
    let times: Vec<_> = (0..8).map(|n| format!("macc.cbfc.pause_time.c{n}")).collect();
    let mut args = vec!["-T", "fields", "-E", "separator=;", "-e", "frame.protocols"];
    args.extend(["-e", "macc.pause_time", "-e", "macc.cbfc.enbv"]);
    args.extend(times.iter().flat_map(|t| ["-e", t]));
    let Some(lines) = tshark("named.pcap", &frames, &args) else { return missing("tshark") };
    assert_eq!(lines.len(), frames.len());
    for ((kind, frame), line) in frames.iter().zip(&lines) {
        let mut fields = line.split(';');
        let protocols = fields.next().unwrap();
        let want = match *kind {
            "pfc" | "pause" => "eth:ethertype:macc",
            "lldp" => "ethertype:lldp",
            "arp" => "ethertype:arp",
            "ipv4-udp" | "ipv4-options" => "ethertype:ip:udp",
            "ipv4-tcp" => "ethertype:ip:tcp",
            "ipv6-udp" => "ethertype:ipv6:udp",
            "ipv6-tcp" => "ethertype:ipv6:tcp",
            "echo4" => "ethertype:ip:icmp",
            "echo6" | "solicitation" | "advertisement" => "ethertype:ipv6:icmpv6",
            "ipv6-extension" => "ethertype:ipv6:ipv6.dstopts:udp",
            _ => ":infiniband",
        };
        assert!(protocols.contains(want), "{kind}: {protocols}");
        let number = |text: &str| {
            let hex = text.strip_prefix("0x");
            hex.map_or_else(|| text.parse(), |h| u32::from_str_radix(h, 16)).unwrap()
        };
        let mine = ethernet::Repr::parse(frame).unwrap().dst;
        match mac_control::Repr::parse(frame, mine) {
            Ok(mac_control::Repr::Pause(p)) => {
                assert_eq!(number(fields.next().unwrap()), u32::from(p.time.0));
            }
            Ok(mac_control::Repr::Pfc(p)) => {
                fields.next();
                assert_eq!(number(fields.next().unwrap()), u32::from(p.enabled.0), "{line}");
                let read: Vec<_> = fields.map(number).collect();
                assert_eq!(read, p.times.map(|t| u32::from(t.0)), "{line}");
            }
            Err(_) => {}
        }
    }
}

/// The fields of a port with everything planned, as tshark reads them.
#[test]
fn tshark_reads_what_dcbx_says() {
    let mac = Mac([2, 0, 0, 0, 0, 1]);
    let local = EtsTable {
        class: [0, 0, 0, 3, 0, 0, 0, 7],
        bandwidth: [40, 0, 0, 60, 0, 0, 0, 0],
        algorithm: [2, 0, 0, 2, 0, 0, 0, 0],
    };
    let recommended = Some(EtsTable { bandwidth: [30, 0, 0, 70, 0, 0, 0, 0], ..local });
    let form = PfcForm::Proposed { round_trip: true, ptp: true, macsec: true };
    let enable = PrioritySet(0b0001_1000);
    let (capability, macsec_bound) = (6, true);
    let plan = DcbxPlan {
        ets: Some(EtsPlan { willing: true, cbs: false, classes: 5, local, recommended }),
        pfc: Some(DcbxPfcPlan { willing: false, macsec_bound, capability, enable, form }),
        applications: vec![
            Application { priority: 3, selector: Selector::Udp, protocol: 4791 },
            Application { priority: 5, selector: Selector::EtherType, protocol: 0x8906 },
        ],
        internal_delay: Some(Duration::from_nanos(615)),
        topology: Some(TopologyPlan::Fixed(Topology::default())),
        sfc: Some(SourceFlowControl {
            point: true,
            proxy: true,
            by_flow: false,
            by_priority: false,
            udp_port: 58_622,
        }),
        ..DcbxPlan::new(mac)
    };
    let mut agent = Lldp::new(&LldpPlan::new(mac, mac, "swp1"), Some(&plan));
    agent.start(Instant::ZERO);
    let mut out = [0; FRAME_MAX];
    let len = agent.take(Instant::ZERO, &mut out).expect("the first frame");
    let frames = [("lldp", out[..len].to_vec())];
    let Some(faults) = faulted("dcbx-faults.pcap", &frames) else { return missing("tshark") };
    assert!(faults.is_empty(), "{faults:#?}");
    let said = tshark("dcbx.pcap", &frames, &["-O", "lldp"]).expect("it was there");
    let mut lines = said.iter();
    // For MACsec's bit tshark shows the opposite of 802.1Q's managed object, so it is not compared.
    for want in [
        "Chassis Id: 02:00:00:00:00:01",
        "Port Id: swp1",
        "Seconds: 121",
        "Subtype: ETS Configuration (0x09)",
        "= Willing: Yes",
        "= Maximum Number of Traffic Classes: 5",
        "= PGID for Prio 2: 0",
        "= PGID for Prio 3: 3",
        "= PGID for Prio 7: 7",
        "Bandwidth for PGID 0: 40",
        "Bandwidth for PGID 3: 60",
        "TSA for Traffic Class 0: Enhanced Transmission Selection (2)",
        "TSA for Traffic Class 1: Strict Priority (0)",
        "Subtype: ETS Recommendation (0x0a)",
        "= PGID for Prio 3: 3",
        "Bandwidth for PGID 3: 70",
        "Subtype: Priority Flow Control Configuration (0x0b)",
        "= Willing: No",
        "= Max PFC Enabled Traffic Classes: 6",
        "= PFC for Priority 2: Disabled",
        "= PFC for Priority 3: Enabled",
        "= PFC for Priority 4: Enabled",
        "= PFC for Priority 5: Disabled",
        "Subtype: Application Protocol (0x0c)",
        "= Application Priority: 3",
        "= Application Selector: Port over UDP/DCCP (3)",
        "Application Protocol Id: 0x12b7",
        "= Application Priority: 5",
        "= Application Selector: Default or Ethertype (1)",
        "Application Protocol Id: 0x8906",
        "End of LLDPDU",
    ] {
        assert!(lines.any(|line| line.contains(want)), "{want}: {said:#?}");
    }
}
