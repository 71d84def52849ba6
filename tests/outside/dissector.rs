//! tshark with `tools/sluice.lua` must read the same fields in Sluice's congestion and headroom
//! messages as the library wrote, and reject the messages that the library rejects.
//!
//! If tshark is not installed a test reports that and passes, except in CI (`CI=true`), where a
//! missing judge is a failure.

use std::collections::BTreeSet;

use sluice::units::Vid;
use sluice::wire::headroom::{KindCodes, LengthField, Message};
use sluice::wire::sfcm::{Form, Locator};
use sluice::wire::{EtherType, cim, cnm, datagram, flow::FiveTuple, headroom, sfcm, vlan};

use crate::judges::{hex, missing, tshark};
use crate::wire_frames::{
    self, LINK_KINDS, Rng,
    wire_congestion::{CIM_PORT, CONGESTION_KINDS, congestion_frame},
};

/// Seed of all frames: a fixed one, so that a judgement can be repeated.
const SEED: u64 = 58_622;

type Frames = Vec<(&'static str, Vec<u8>)>;

/// `each` frames of every kind that the dissector knows.
fn our_frames(each: usize) -> Frames {
    let mut rng = Rng(SEED);
    let mut frames = Frames::new();
    for kind in CONGESTION_KINDS {
        frames.extend((0..each).map(|_| (kind, congestion_frame(kind, &mut rng))));
    }
    for kind in LINK_KINDS.into_iter().filter(|kind| kind.starts_with("headroom")) {
        frames.extend((0..each).map(|_| (kind, wire_frames::link_frame(kind, &mut rng))));
    }
    frames
}

/// Runs tshark with the dissector.
fn dissect(name: &str, frames: &Frames, args: &[&str]) -> Option<Vec<String>> {
    let script = concat!("lua_script:", env!("CARGO_MANIFEST_DIR"), "/tools/sluice.lua");
    let port = format!("cim.port:{CIM_PORT}");
    tshark(name, frames, &[&["-X", script, "-o", &port], args].concat())
}

/// Values of a row of `-e` options for each frame.
fn fields(name: &str, frames: &Frames, fields: &[&str], more: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut args = vec!["-T", "fields", "-E", "separator=;"];
    args.extend(fields.iter().flat_map(|field| ["-e", field]));
    args.extend(more);
    let lines = dissect(name, frames, &args)?;
    Some(lines.iter().map(|line| line.split(';').map(str::to_owned).collect()).collect())
}

/// EtherType after the tags and the bytes after it.
fn behind_tags(frame: &[u8]) -> (EtherType, &[u8]) {
    let walk = vlan::walk(frame).expect("a frame");
    (walk.ethertype, &frame[walk.l3..])
}

/// Flow in the order of [`flow_names`]; one without ports has zeros.
fn flow_words(flow: Option<FiveTuple>) -> Vec<String> {
    let Some(flow) = flow else { return vec![String::new(); 7] };
    let word = |yes: bool, word: String| if yes { word } else { String::new() };
    let ports = flow.src_port != 0 || flow.dst_port != 0;
    let (src, dst, v4) = (flow.src.to_string(), flow.dst.to_string(), flow.src.is_ipv4());
    vec![
        word(v4, src.clone()),
        word(v4, dst.clone()),
        word(!v4, src),
        word(!v4, dst),
        flow.protocol.0.to_string(),
        word(ports, flow.src_port.to_string()),
        word(ports, flow.dst_port.to_string()),
    ]
}

/// Fields of a flow below a protocol.
fn flow_names(protocol: &str) -> Vec<String> {
    let names = ["src", "dst", "src6", "dst6", "protocol", "srcport", "dstport"];
    names.iter().map(|name| format!("{protocol}.flow.{name}")).collect()
}

/// Compares the rows of `protocol` with `expected`, which returns one for each frame of `kinds`.
fn compare(
    protocol: &str,
    names: &[&str],
    kinds: fn(&str) -> bool,
    expected: fn(&[u8]) -> Vec<String>,
) -> Option<()> {
    let mut frames = our_frames(20);
    frames.retain(|(kind, _)| kinds(kind));
    let own: Vec<_> = names.iter().map(|name| format!("{protocol}.{name}")).collect();
    let flows = if protocol == "headroom" { Vec::new() } else { flow_names(protocol) };
    let all: Vec<_> = own.iter().chain(&flows).map(String::as_str).collect();
    let rows = fields(&format!("dissect-{protocol}.pcap"), &frames, &all, &[])?;
    assert_eq!(rows.len(), frames.len());
    for ((kind, frame), row) in frames.iter().zip(rows) {
        assert_eq!(row, expected(frame), "seed {SEED}, {kind}: {}", hex(frame));
    }
    Some(())
}

fn sfcm_words(frame: &[u8]) -> Vec<String> {
    let (ethertype, packet) = behind_tags(frame);
    let message = sfcm::Repr::parse(ethertype, packet).expect("an SFCM").message;
    let (form, msdu) = match message.form {
        Form::Simplified(_) => (0, String::new()),
        Form::Encapsulated(msdu) => (1, hex(msdu)),
    };
    let locator = match message.locator {
        Locator::Unknown => 0,
        Locator::Incast => 1,
        Locator::InNetwork => 2,
    };
    let (priority, dscp) = (message.priority.to_string(), message.dscp.to_string());
    let pause = message.pause.as_nanos().to_string();
    let level = message.level.map_or(0, |level| level.get()).to_string();
    let (form, locator) = (form.to_string(), locator.to_string());
    let own = ["0".to_owned(), form, locator, priority, dscp, level, pause, msdu];
    own.into_iter().chain(flow_words(message.flow())).collect()
}

#[test]
fn tshark_reads_every_field_of_an_sfcm() {
    let names = ["version", "form", "locator", "priority", "dscp", "level", "pause", "msdu"];
    let judged = compare("sfcm", &names, |kind| kind.starts_with("sfcm"), sfcm_words);
    judged.unwrap_or_else(|| missing("tshark"));
}

fn cim_words(frame: &[u8]) -> Vec<String> {
    let (ethertype, packet) = behind_tags(frame);
    let repr = cim::Repr::parse(ethertype, packet, &cim::Dialect::default()).expect("a CIM");
    let (dst, src) = (repr.dst.to_string(), repr.src.to_string());
    let vid = repr.vid.map_or(0, Vid::get).to_string();
    let own = ["0".to_owned(), dst, src, vid, repr.msdu.len().to_string(), hex(repr.msdu)];
    own.into_iter().chain(flow_words(repr.flow())).collect()
}

#[test]
fn tshark_reads_every_field_of_a_cim() {
    let names = ["version", "dst", "src", "vid", "length", "msdu"];
    let judged = compare("cim", &names, |kind| kind.starts_with("cim"), cim_words);
    judged.unwrap_or_else(|| missing("tshark"));
}

#[test]
fn tshark_knows_adding_from_deleting_in_both_readings() {
    let mut frames = our_frames(20);
    frames.retain(|(kind, _)| *kind == "cim");
    for (set_adds, flipped) in [("cim.set_adds:TRUE", false), ("cim.set_adds:FALSE", true)] {
        let more = ["-o", set_adds];
        let Some(rows) = fields("dissect-add.pcap", &frames, &["cim.add"], &more) else {
            return missing("tshark");
        };
        for ((_, frame), row) in frames.iter().zip(rows) {
            let (ethertype, packet) = behind_tags(frame);
            let repr = cim::Repr::parse(ethertype, packet, &cim::Dialect::default()).unwrap();
            // Older releases print 1, newer ones True.
            assert_eq!(["1", "True"].contains(&&row[0][..]), repr.add != flipped, "{row:?}");
        }
    }
}

fn cnm_words(frame: &[u8]) -> Vec<String> {
    let (ethertype, packet) = behind_tags(frame);
    let repr = cnm::Repr::parse(ethertype, packet).expect("a CNM");
    let number = |n: i16| n.to_string();
    let (feedback, cpid) = (repr.feedback.to_string(), format!("0x{}", repr.cpid));
    let (priority, dst) = (repr.priority.to_string(), repr.dst.to_string());
    let (offset, delta) = (number(repr.q_offset), number(repr.q_delta));
    let own = ["0".to_owned(), feedback, cpid, offset, delta, priority, dst, hex(repr.msdu)];
    own.into_iter().chain(flow_words(repr.flow())).collect()
}

#[test]
fn tshark_reads_every_field_of_a_cnm() {
    let names = ["version", "feedback", "cpid", "q_offset", "q_delta", "priority", "dst", "msdu"];
    let judged = compare("cnm", &names, |kind| kind.starts_with("cnm"), cnm_words);
    judged.unwrap_or_else(|| missing("tshark"));
    let mut frames = our_frames(20);
    frames.retain(|(kind, _)| kind.starts_with("cnm"));
    let Some(rows) = fields("dissect-tag.pcap", &frames, &["cn_tag.flow"], &[]) else {
        return missing("tshark");
    };
    for ((_, frame), row) in frames.iter().zip(rows) {
        let (ethertype, packet) = behind_tags(frame);
        let flow_id = cnm::Repr::parse(ethertype, packet).unwrap().flow_id;
        assert_eq!(row[0], flow_id.map_or_else(String::new, |id| id.to_string()));
    }
}

fn headroom_row(frame: &[u8], dialect: &headroom::Dialect) -> Vec<String> {
    let message = headroom::Repr::parse(frame, dialect).expect("a measurement").message;
    let none = String::new;
    let kind = match message {
        Message::Request(_) => "Request",
        Message::Response(_) => "Response",
        Message::Both { .. } => "Response and request",
    };
    let mut row = vec!["0".to_owned(), kind.to_owned()];
    match (message.response(), message.request()) {
        (Some(r), q) => {
            row.extend([r.t1, r.t2, r.t3, r.psn.into()].map(|n| n.to_string()));
            row.extend(q.map_or([none(), none()], |q| [q.t1.to_string(), q.psn.to_string()]));
        }
        (None, Some(q)) => {
            row.extend([q.t1.to_string(), none(), none(), q.psn.to_string(), none(), none()]);
        }
        (None, None) => unreachable!("a message says something"),
    }
    row
}

const HEADROOM: [&str; 8] = ["version", "kind", "t1", "t2", "t3", "psn", "p_t1", "p_psn"];

#[test]
fn tshark_reads_every_field_of_a_headroom_measurement() {
    let judged = compare(
        "headroom",
        &HEADROOM,
        |kind| kind.starts_with("headroom"),
        |frame| headroom_row(frame, &headroom::Dialect::default()),
    );
    judged.unwrap_or_else(|| missing("tshark"));
}

#[test]
fn tshark_speaks_the_other_readings_too() {
    let other = headroom::Dialect {
        kind: KindCodes::Numbers,
        length: LengthField::Rest,
        ..headroom::Dialect::default()
    };
    let bare = cim::Dialect {
        octet_three: cim::OctetThree::Pdu,
        vid: cim::VidBits::High,
        ..cim::Dialect::default()
    };
    let mut measurements = Frames::new();
    let mut isolations = Frames::new();
    for (kind, frame) in our_frames(20) {
        if let Ok(repr) = headroom::Repr::parse(&frame, &headroom::Dialect::default()) {
            let mut out = vec![0; other.frame_len()];
            repr.emit(&mut out, &other).unwrap();
            measurements.push((kind, out));
        }
        let (ethertype, packet) = behind_tags(&frame);
        if kind == "cim" {
            let repr = cim::Repr::parse(ethertype, packet, &cim::Dialect::default()).unwrap();
            let mut out = frame[..frame.len() - packet.len()].to_vec();
            let at = out.len();
            out.resize(at + repr.buffer_len(&bare), 0);
            repr.emit(&mut out[at..], &bare).unwrap();
            isolations.push((kind, out));
        }
    }
    let names = HEADROOM.map(|name| format!("headroom.{name}"));
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let more = ["-o", "headroom.flags:FALSE", "-o", "headroom.whole:FALSE"];
    let Some(rows) = fields("dissect-other.pcap", &measurements, &names, &more) else {
        return missing("tshark");
    };
    for ((_, frame), row) in measurements.iter().zip(rows) {
        assert_eq!(row, headroom_row(frame, &other));
    }
    let names = ["cim.vid", "cim.msdu", "cim.refused"];
    let more = ["-o", "cim.subtype:FALSE", "-o", "cim.vid_low:FALSE"];
    let rows = fields("dissect-bare.pcap", &isolations, &names, &more).expect("it was there");
    for ((_, frame), row) in isolations.iter().zip(rows) {
        let (ethertype, packet) = behind_tags(frame);
        let repr = cim::Repr::parse(ethertype, packet, &bare).unwrap();
        let vid = repr.vid.map_or(0, Vid::get).to_string();
        assert_eq!(row, [vid, hex(repr.msdu), String::new()]);
    }
}

/// True if the library reads a frame as one of the messages.
fn accepted(frame: &[u8]) -> bool {
    let (ethertype, packet) = behind_tags(frame);
    let cim = || cim::Repr::parse(ethertype, packet, &cim::Dialect::default()).is_ok();
    match ethertype {
        EtherType::CIM => {
            let untagged = [&frame[..12], &ethertype.0.to_be_bytes(), packet].concat();
            cim() || headroom::Repr::parse(&untagged, &headroom::Dialect::default()).is_ok()
        }
        EtherType::CNM | EtherType::CN_TAG => cnm::Repr::parse(ethertype, packet).is_ok(),
        _ => match datagram::Repr::parse(ethertype, packet).expect("a datagram").0.dst_port {
            CIM_PORT => cim(),
            _ => sfcm::Repr::parse(ethertype, packet).is_ok(),
        },
    }
}

/// Start of the PDU of a message, and the number of its octets that are fields.
fn pdu_of(kind: &str, frame: &[u8]) -> (usize, usize) {
    let at = vlan::walk(frame).expect("a frame").l3;
    match kind {
        "sfcm4" => (at + 28, sfcm::HEADER_LEN + 14),
        "sfcm6" => (at + 48, sfcm::HEADER_LEN + 38),
        "sfcm4-msdu" => (at + 28, sfcm::HEADER_LEN),
        "sfcm6-msdu" => (at + 48, sfcm::HEADER_LEN),
        "cim" => (at, 1 + cim::HEADER_LEN),
        "cim4" => (at + 28, cim::HEADER_LEN),
        "cim6" => (at + 48, cim::HEADER_LEN),
        "cnm" => (at, cnm::HEADER_LEN),
        "cnm-tagged" => (at + cnm::TAG_LEN, cnm::HEADER_LEN),
        _ => (at, 3),
    }
}

/// A frame with some fields of its message changed and the checksums corrected.
fn forged(kind: &str, frame: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut frame = frame.to_vec();
    let (at, len) = pdu_of(kind, &frame);
    for _ in 0..1 + rng.below(2) {
        let octet = &mut frame[at + rng.below(len)];
        match rng.below(3) {
            0 => *octet ^= 1 << rng.below(8),
            1 => *octet = [0, 1, 0xff][rng.below(3)],
            _ => *octet = rng.next() as u8,
        }
    }
    let walk = vlan::walk(&frame).expect("a frame");
    if matches!(walk.ethertype, EtherType::IPV4 | EtherType::IPV6) {
        // The checksum of the original shows its length.
        let packet = &frame[walk.l3..];
        let view = sluice::wire::ip::View::new(walk.ethertype, packet).expect("a packet");
        let (src, dst, end) = (view.src(), view.dst(), walk.l3 + view.total_len());
        let udp = at - sluice::wire::udp::HEADER_LEN;
        sluice::wire::udp::set_checksum(&mut frame[udp..end], src, dst).expect("a datagram");
    }
    frame
}

#[test]
fn tshark_refuses_what_the_library_refuses_and_nothing_else() {
    let mut rng = Rng(SEED);
    let good = our_frames(40);
    let forgeries = good.iter().map(|(kind, frame)| (*kind, forged(kind, frame, &mut rng)));
    let frames: Frames = forgeries.chain(good.iter().cloned()).collect();
    let filter = "sfcm.refused || cim.refused || cnm.refused || headroom.refused \
                  || cim_ethertype.refused";
    let Some(rows) = fields("refused.pcap", &frames, &["frame.number"], &["-Y", filter]) else {
        return missing("tshark");
    };
    let refused: BTreeSet<usize> = rows.iter().map(|row| row[0].parse().unwrap()).collect();
    let mut both = 0;
    for (number, (kind, frame)) in (1..).zip(&frames) {
        assert_eq!(!refused.contains(&number), accepted(frame), "{kind}: {}", hex(frame));
        both += usize::from(refused.contains(&number));
    }
    assert!(both > good.len() / 8 && both < good.len(), "{both} of {} refused", good.len());
}

#[test]
fn tshark_finds_no_fault_with_our_frames() {
    let frames = our_frames(25);
    let filter = "_ws.malformed || _ws.expert.severity >= 0x400000 || ip.checksum.status == 0 \
                  || udp.checksum.status == 0";
    let more = ["-Y", filter];
    let Some(rows) = fields("congestion.pcap", &frames, &["frame.protocols"], &more) else {
        return missing("tshark");
    };
    assert!(rows.is_empty(), "seed {SEED}: {rows:#?}");
    // Each was recognised, or there would be nothing to reject.
    for protocol in ["sfcm", "cim", "cnm", "headroom"] {
        let found = fields("congestion.pcap", &frames, &["frame.number"], &["-Y", protocol]);
        let found: Vec<_> = found.expect("it was there").concat();
        let made = (1..).zip(&frames).filter(|(_, (kind, _))| kind.starts_with(protocol));
        assert_eq!(found, made.map(|(n, _): (usize, _)| n.to_string()).collect::<Vec<_>>());
    }
}

/// A script error is a line of the tree that only a dissection of that frame shows.
#[test]
fn no_frame_however_cut_upsets_the_dissector() {
    let mut frames = Frames::new();
    for (kind, frame) in our_frames(1) {
        frames.extend((14..=frame.len()).map(|n| (kind, frame[..n].to_vec())));
    }
    let Some(lines) = dissect("cut.pcap", &frames, &["-V"]) else { return missing("tshark") };
    assert!(lines.len() > frames.len());
    let upset: Vec<_> = lines.iter().filter(|line| line.contains("Lua Error")).collect();
    assert!(upset.is_empty(), "seed {SEED}: {upset:#?}");
}
