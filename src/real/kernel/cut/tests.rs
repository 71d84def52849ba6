use proptest::prelude::*;

use super::*;
use crate::testframes::{Made, made};

/// All frames of a packet.
fn frames(packet: &[u8], offload: &Offload) -> Result<Vec<Vec<u8>>, Lie> {
    let mut cut = Cut::new(packet, offload)?;
    let mut all = Vec::new();
    while let Some(len) = cut.next_len() {
        let mut frame = vec![0xaa; len];
        cut.write(packet, &mut frame);
        all.push(frame);
    }
    Ok(all)
}

/// A segment of 3,000 octets over IPv4 in frames of 1,448: the numbers are those that Linux puts on a wire.
#[test]
fn three_frames_of_tcp_have_the_numbers_of_a_wire() {
    let flags = TCP_CWR | 0x18;
    let made = made(&Made { payload: 3_000, size: 1_448, flags, ..Made::default() });
    let frames = frames(&made.packet, &made.offload).unwrap();
    let lens: Vec<_> = frames.iter().map(Vec::len).collect();
    assert_eq!(lens, [54 + 1_448, 54 + 1_448, 54 + 104]);
    let number = |n: usize| (be32(&frames[n], 38), be16(&frames[n], 18), be16(&frames[n], 16));
    assert_eq!(number(0), (0xffff_fe00, 0xfffe, 1_488));
    assert_eq!(number(1), (0x0000_03a8, 0xffff, 1_488));
    assert_eq!(number(2), (0x0000_0950, 0x0000, 144));
    // CWR in the first frame alone, PSH in the last.
    let flags: Vec<_> = frames.iter().map(|frame| frame[47]).collect();
    assert_eq!(flags, [0x90, 0x10, 0x18]);
    assert!(frames.iter().all(|frame| Headers::of(frame).unwrap().is_right(frame)));
}

#[test]
fn a_packet_that_lies_is_refused() {
    let good = Made { payload: 3_000, size: 1_448, ..Made::default() };
    let changed = |change: &dyn Fn(&mut Vec<u8>, &mut Offload)| {
        let mut made = made(&good);
        change(&mut made.packet, &mut made.offload);
        frames(&made.packet, &made.offload).map(|frames| frames.len())
    };
    let size = |size| move |offload: &mut Offload| offload.segments.as_mut().unwrap().size = size;
    assert_eq!(changed(&|_, _| {}), Ok(3));
    assert_eq!(changed(&|_, offload| size(0)(offload)), Err(Lie::NoSize));
    assert_eq!(changed(&|_, offload| size(65_535)(offload)), Err(Lie::Lengths));
    let kind = |kind| move |offload: &mut Offload| offload.segments.as_mut().unwrap().kind = kind;
    for other in [SegmentKind::TcpIpv6, SegmentKind::Udp] {
        assert_eq!(changed(&|_, offload| kind(other)(offload)), Err(Lie::OtherHeaders));
    }
    assert_eq!(changed(&|packet, _| packet[23] = 50), Err(Lie::OtherHeaders), "ESP");
    assert_eq!(changed(&|packet, _| packet[20] = 0x20), Err(Lie::OtherHeaders), "a fragment");
    assert_eq!(changed(&|packet, _| packet[16] = 0), Err(Lie::Lengths));
    assert_eq!(changed(&|packet, _| packet.truncate(54)), Err(Lie::Lengths));
    assert_eq!(changed(&|packet, _| packet.truncate(40)), Err(Lie::OtherHeaders));
    for unfinished in [Unfinished { start: 34, offset: 6 }, Unfinished { start: 38, offset: 16 }] {
        let lie = |_: &mut Vec<u8>, offload: &mut Offload| offload.unfinished = Some(unfinished);
        assert_eq!(changed(&lie), Err(Lie::Checksum));
    }
    let no_segments = |start, offset| {
        move |_: &mut Vec<u8>, offload: &mut Offload| {
            *offload =
                Offload { unfinished: Some(Unfinished { start, offset }), ..Offload::default() };
        }
    };
    assert_eq!(changed(&no_segments(3_052, 1)), Err(Lie::Checksum));
    assert_eq!(changed(&no_segments(65_535, 65_535)), Err(Lie::Checksum));
    assert_eq!(changed(&no_segments(12, 2)), Err(Lie::Checksum), "an address");
    assert_eq!(changed(&no_segments(3_050, 2)), Ok(1));
}

#[test]
fn a_wrong_pseudo_header_stays_wrong_and_is_known_to_be() {
    let mut made = made(&Made { payload: 3_000, size: 1_448, ..Made::default() });
    assert!(Cut::new(&made.packet, &made.offload).unwrap().is_checked());
    made.packet[50] ^= 1;
    assert!(!Cut::new(&made.packet, &made.offload).unwrap().is_checked());
    let frames = frames(&made.packet, &made.offload).unwrap();
    assert!(frames.iter().all(|frame| !Headers::of(frame).unwrap().is_right(frame)));
}

proptest! {
    /// Any segment gives frames of which each is right by itself and which together have its payload, and a packet
    /// whose checksum alone is unfinished gives the frame with it.
    #[test]
    fn frames_are_right_and_have_all_of_the_payload(made_of in crate::testframes::any_made()) {
        let made = made(&made_of);
        let frames = frames(&made.packet, &made.offload).unwrap();
        let mut payload = Vec::new();
        for (n, frame) in frames.iter().enumerate() {
            let headers = Headers::of(frame).unwrap();
            prop_assert_eq!(headers.l3 + headers.ip_len(frame), frame.len());
            prop_assert!(headers.is_right(frame));
            if !headers.is_ipv6 {
                let header = wire::ipv4::View::new(&frame[headers.l3..]).unwrap();
                prop_assert!(header.checksum_ok());
                prop_assert_eq!(header.identification(), made_of.identification.wrapping_add(n as u16));
            }
            if headers.transport == Transport::Tcp {
                let sequence = made_of.sequence.wrapping_add(payload.len() as u32);
                prop_assert_eq!(be32(frame, headers.l4 + 4), sequence);
            } else {
                prop_assert_eq!(usize::from(be16(frame, headers.l4 + 4)), frame.len() - headers.l4);
            }
            let is_last = n + 1 == frames.len();
            let len = frame.len() - headers.payload;
            let fits = if is_last { len <= made_of.size.max(made_of.payload) } else { len == made_of.size };
            prop_assert!(fits);
            payload.extend_from_slice(&frame[headers.payload..]);
        }
        prop_assert_eq!(&payload, &made.packet[made.packet.len() - made_of.payload..]);
    }

    /// Neither octets nor offload headers of a hostile sender make it panic, and no frame is longer than its packet.
    #[test]
    fn hostile_packets_are_cut_or_refused(
        mut made_of in crate::testframes::any_made(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        header in any::<[u8; 10]>(),
        keeps in any::<[bool; 10]>(),
        len in any::<prop::sample::Index>(),
    ) {
        made_of.payload %= 4_000;
        made_of.payload += 1;
        let mut made = made(&made_of);
        for (at, octet) in changes {
            let at = at.index(made.packet.len());
            made.packet[at] = octet;
        }
        let mut octets = made.offload.emit();
        for n in 0..10 {
            if !keeps[n] {
                octets[n] = header[n];
            }
        }
        made.packet.truncate(len.index(made.packet.len() + 1));
        let cut = Offload::parse(&octets).ok().and_then(|offload| Cut::new(&made.packet, &offload).ok());
        if let Some(mut cut) = cut {
            let mut frames = 0;
            while let Some(len) = cut.next_len() {
                prop_assert!(len <= made.packet.len());
                cut.write(&made.packet, &mut vec![0; len]);
                frames += 1;
            }
            prop_assert!(frames <= made.packet.len());
        }
    }
}
