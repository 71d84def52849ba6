//! Captures: contents are the frames of the port, the memory is bounded, and filters match as
//! specified.

use std::collections::VecDeque;
use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::plan::{CaptureFormat, Part};
use ground::units::BitsPerSec;
use host::FlowId;
use wire::EtherType;

fn plan(overwrite: bool, snap: Option<u32>) -> CapturePlan {
    CapturePlan {
        name: "c".into(),
        filters: vec![],
        overwrite,
        snap,
        format: CaptureFormat::Pcapng,
    }
}

fn at(n: u64) -> Instant {
    Instant::from_picos((n * 1_000_000).into())
}

proptest! {
    /// The ring against an unbounded queue: it holds the newest frames that fit, or the oldest.
    #[test]
    fn the_memory_has_the_newest_or_the_oldest_frames_that_fit(
        bytes in 1_usize..2_000, overwrite in any::<bool>(),
        frames in prop::collection::vec((0_usize..300, any::<bool>()), 0..100),
    ) {
        let mut ring = Ring::new(bytes);
        let (mut model, mut lost) = (VecDeque::new(), 0);
        let mut missed = 0;
        let room = |m: &VecDeque<Kept>| m.iter().map(|k| 24 + k.octets.len()).sum::<usize>();
        for (n, (len, sent)) in (0..).zip(frames) {
            let way = if sent { Way::Out } else { Way::In };
            let octets: Vec<u8> = (0..len).map(|i| (i as u64 + n) as u8).collect();
            missed += ring.push(at(n), way, len as u32 + 9, &octets, overwrite);
            let kept = Kept { at: at(n), way, len: len as u32 + 9, octets };
            let fits = |m: &VecDeque<Kept>| room(m) + 24 + len <= bytes;
            if 24 + len > bytes || (!overwrite && !fits(&model)) {
                lost += 1;
                continue;
            }
            while !fits(&model) {
                model.pop_front();
                lost += 1;
            }
            model.push_back(kept);
        }
        prop_assert_eq!(missed, lost);
        prop_assert_eq!(ring.frames(), model.len() as u64);
        prop_assert!(ring.iter().eq(model));
    }
}

#[test]
fn filters_ask_for_bits_of_frames_that_have_the_field() {
    let mut frame = [0; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    frame[23] = 17;
    let udp = Filter {
        part: Part::Packet(EtherType::IPV4),
        at: 9,
        value: vec![0x11],
        mask: vec![0xff],
        negate: false,
    };
    let not_udp = Filter { negate: true, ..udp.clone() };
    assert!(udp.passes(&frame) && !not_udp.passes(&frame));
    frame[23] = 6;
    assert!(!udp.passes(&frame) && not_udp.passes(&frame));
    let some_bits = Filter { mask: vec![0x02], value: vec![0xfe], ..udp.clone() };
    assert!(some_bits.passes(&frame));
    frame[12] = 9;
    assert!(!some_bits.passes(&frame), "another kind of frame");
    assert!(not_udp.passes(&frame[..20]), "too short to have it");
}

/// A frame with these tags in front of IPv4.
fn tagged(tags: &[[u8; 4]]) -> Vec<u8> {
    let mut frame = vec![2; 12];
    tags.iter().for_each(|tag| frame.extend(tag));
    frame.extend([8, 0, 0x45]);
    frame.resize(60, 0);
    frame
}

#[test]
fn packets_are_found_behind_tags_and_the_outermost_tag_is_meant() {
    let ipv4 = Part::Packet(EtherType::IPV4);
    let version = Filter { part: ipv4, at: 0, value: vec![0x45], mask: vec![0xff], negate: false };
    let vid = |low: u8, negate| Filter {
        part: Part::Tag,
        at: 0,
        value: vec![0, low],
        mask: vec![0x0f, 0xff],
        negate,
    };
    let (service, customer) = ([0x88, 0xa8, 0xe0, 6], [0x81, 0, 0x60, 7]);
    for tags in [&[][..], &[customer], &[service, customer]] {
        let frame = tagged(tags);
        assert!(version.passes(&frame), "{tags:?}");
        let outermost = tags.first().map(|tag| tag[3]);
        for low in [6, 7] {
            assert_eq!(vid(low, false).passes(&frame), outermost == Some(low), "{tags:?} {low}");
            assert_eq!(vid(low, true).passes(&frame), outermost != Some(low), "{tags:?} {low}");
        }
        // A truncated frame has no value beyond its end.
        for end in 0..frame.len() {
            assert_eq!(version.passes(&frame[..end]), end > 14 + 4 * tags.len(), "{tags:?} {end}");
        }
    }
}

#[test]
fn lists_of_filters_are_for_captures_that_share_a_port() {
    let first_octet = |value: u8| Filter {
        part: Part::Frame,
        at: 0,
        value: vec![value],
        mask: vec![0xff],
        negate: false,
    };
    let keeps = |filters: Vec<Vec<Filter>>, octet: u8| {
        let plan = CapturePlan { filters, ..plan(false, None) };
        Capture::new(&plan, false, 100).wants(&[octet; 60])
    };
    assert!(keeps(vec![], 9));
    let two = || vec![vec![first_octet(1)], vec![first_octet(2)]];
    assert!(keeps(two(), 1) && keeps(two(), 2) && !keeps(two(), 3));
    assert!(!keeps(vec![vec![first_octet(1), first_octet(2)]], 1));
}

#[test]
fn files_have_the_fcs_of_frames_that_were_kept_whole() {
    let about = About {
        port: "p",
        location: "ring:x.a",
        rate: None,
        stamps: "",
        zero: Duration::ZERO,
        flow: &|_| None,
    };
    let frame: Vec<u8> = (0..60).collect();
    let fcs = crc32fast::hash(&frame).to_le_bytes();
    for (snap, kept) in [(None, 64), (Some(62), 62), (Some(60), 60), (Some(20), 20)] {
        let mut capture = Capture::new(&plan(false, snap), false, 1_000);
        let octets = &frame[..frame.len().min(capture.snap())];
        capture.ring.push(at(1), Way::In, 60, octets, false);
        let mut file = Vec::new();
        write(&capture, CaptureFormat::Pcap, &about, &mut file).unwrap();
        // The magic number for nanoseconds, little-endian.
        assert_eq!(file[..4], [0x4d, 0x3c, 0xb2, 0xa1]);
        let word = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
        assert_eq!((word(32), word(36)), (kept, 64), "snap {snap:?}");
        let whole = [&frame[..], &fcs].concat();
        assert_eq!(file[40..], whole[..kept as usize], "snap {snap:?}");
    }
}

#[test]
fn comments_name_flows_and_say_what_pauses_mean() {
    let flow = |id: FlowId| (id.0 == 7).then_some("seventh");
    let about = About {
        port: "p",
        location: "ring:x.a",
        rate: Some(BitsPerSec::gbps(10)),
        stamps: "",
        zero: Duration::ZERO,
        flow: &flow,
    };
    let said = |frame: &[u8]| write::comment(frame, &about);
    let mac_control = |from_type: &[u8]| {
        let mut out = [1, 0x80, 0xc2, 0, 0, 1, 2, 0, 0, 0, 0, 1].to_vec();
        out.extend(from_type);
        out.resize(60, 0);
        out
    };
    let pfc = mac_control(&[0x88, 8, 1, 1, 0, 0x18, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
    let stops = "PFC: priority 3 stops for 65535 quanta, 3355.392 us, priority 4 resumes";
    assert_eq!(said(&pfc).as_deref(), Some(stops));
    let nothing = mac_control(&[0x88, 8, 1, 1]);
    assert_eq!(said(&nothing).as_deref(), Some("PFC: no priority"));
    let pause = mac_control(&[0x88, 8, 0, 1, 0, 10]);
    assert_eq!(said(&pause).as_deref(), Some("PAUSE: all stops for 10 quanta, 0.512 us"));
    let unknown = mac_control(&[0x88, 8, 0, 9]);
    let why = "malformed: MAC control, neither PAUSE nor PFC";
    assert_eq!(said(&unknown).as_deref(), Some(why));
    let tagged = mac_control(&[0x81, 0, 0x60, 5, 0x88, 8, 1, 1]);
    assert!(said(&tagged).unwrap().contains("VLAN tag"));
    let mut probe = [2; 60];
    probe[12..14].copy_from_slice(&[0x88, 0xb5]);
    probe[14..20].copy_from_slice(b"SLUI\0\x07");
    probe[20..26].copy_from_slice(&[0, 0, 0, 0, 1, 0]);
    assert_eq!(said(&probe).as_deref(), Some("flow seventh, frame 256"));
    probe[19] = 8;
    let foreign = "flow 8, which is not of this test, frame 256";
    assert_eq!(said(&probe).as_deref(), Some(foreign));
    assert_eq!(said(&[0; 60]), None);
}

#[test]
fn a_capture_that_is_full_counts_what_it_does_not_take() {
    let mut capture = Capture::new(&plan(false, Some(20)), false, 100);
    for n in 0..5 {
        capture.missed += capture.ring.push(at(n), Way::In, 60, &[0; 20], capture.overwrite);
    }
    assert_eq!(capture.counters(), CaptureCounters { captured: 2, missed: 3 });
}
