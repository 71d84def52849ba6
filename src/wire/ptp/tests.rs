use proptest::prelude::*;

use super::*;
use crate::tests;

const SRC: Mac = Mac([2, 0, 0, 0, 0, 5]);
const PEER: PortIdentity = PortIdentity { clock: [1, 2, 3, 4, 5, 6, 7, 8], port: 0x0910 };
const TIME: Timestamp = Timestamp { seconds: 0x1112_1314_1516, nanos: 0x1718_191a };

fn message(body: Body) -> Message {
    Message {
        major_sdo_id: 0,
        minor_sdo_id: 0,
        domain: 24,
        two_step: matches!(body, Body::PdelayResp { .. }),
        correction: Correction(0x2122_2324_2526_2728),
        source: PortIdentity::of(SRC),
        sequence: 0x3132,
        body,
    }
}

fn frame(body: Body) -> [u8; 68] {
    let mut out = [0xff; 68];
    Repr { src: SRC, dst: DESTINATION, message: message(body) }.emit(&mut out).unwrap();
    out
}

/// Returns the header of 1588 13.3.1, field by field, and 20 bytes after it.
fn golden(kind: u8, flags: u8, parts: &[&[u8]]) -> Vec<u8> {
    let header: &[&[u8]] = &[
        &[0x01, 0x80, 0xc2, 0, 0, 0x0e],
        &SRC.0,
        &[0x88, 0xf7],
        &[kind, 0x12],
        &[0, 54],
        &[24, 0],
        &[flags, 0],
        &[0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28],
        &[0; 4],
        &[2, 0, 0, 0xff, 0xfe, 0, 0, 5, 0, 1],
        &[0x31, 0x32],
        &[5, 0x7f],
    ];
    [header.concat(), parts.concat()].concat()
}

#[test]
fn golden_bytes_of_the_three_messages() {
    let time = [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x19, 0x1a];
    let peer = [1, 2, 3, 4, 5, 6, 7, 8, 9, 0x10];
    assert_eq!(frame(Body::PdelayReq)[..], golden(0x02, 0, &[&[0; 20]]));
    let resp = Body::PdelayResp { receipt: TIME, requesting: PEER };
    assert_eq!(frame(resp)[..], golden(0x03, 2, &[&time, &peer]));
    let follow = Body::PdelayRespFollowUp { origin: TIME, requesting: PEER };
    assert_eq!(frame(follow)[..], golden(0x0a, 0, &[&time, &peer]));
    let printed = Repr::parse(&frame(follow)).unwrap().to_string();
    let expected =
        "02:00:00:00:00:05 Pdelay_Resp_Follow_Up 12594 from 020000fffe000005-1 domain 24";
    assert_eq!(printed, expected);
}

#[test]
fn other_messages_are_named_and_not_emitted() {
    let mut sync = frame(Body::PdelayReq);
    sync[14] = 0x10; // Sync of IEEE 802.1AS, 44 bytes long.
    sync[17] = 44;
    let read = Repr::parse(&sync[..58]).unwrap();
    assert_eq!((read.message.body, read.message.major_sdo_id), (Body::Other(0), 1));
    assert_eq!(read.emit(&mut [0; 68]), Err(WireError::Unsupported));
}

#[test]
fn every_truncation_is_refused_and_what_lies_behind_accepted() {
    let octets = frame(Body::PdelayReq);
    let repr = Repr::parse(&octets).unwrap();
    tests::hold(&repr, &octets, Repr::parse, Repr::emit);
    assert_eq!(Repr::parse(&[&octets[..], &[0xee; 9]].concat()), Ok(repr));
}

#[test]
fn each_fault_has_its_own_error() {
    for (at, octet, error) in [
        (12, 0x89, WireError::BadEthertype),
        (15, 0x11, WireError::BadVersion),
        (17, 53, WireError::BadLength),
    ] {
        let mut bad = frame(Body::PdelayReq);
        bad[at] = octet;
        assert_eq!(Repr::parse(&bad), Err(error), "octet {at}");
    }
    let repr = Repr { src: SRC, dst: DESTINATION, message: message(Body::PdelayReq) };
    let wide = Message { major_sdo_id: 16, ..repr.message };
    let late = Timestamp { seconds: 1 << 48, nanos: 0 };
    let body = Body::PdelayResp { receipt: late, requesting: PEER };
    for message in [wide, Message { body, ..repr.message }] {
        let emitted = Repr { message, ..repr }.emit(&mut [0; 68]);
        assert_eq!(emitted, Err(WireError::OutOfRange));
    }
}

#[test]
fn the_older_version_and_reserved_octets_are_read_alike() {
    let good = frame(Body::PdelayReq);
    let mut octets = good;
    octets[15] = 0x02; // 1588-2008.
    octets[20] |= 0xfd; // All flags except the one that is read.
    octets[21] = 0xff;
    octets[30..34].fill(0xee);
    octets[46..].fill(0xee); // Control, interval, the origin timestamp, reserved bytes.
    assert_eq!(Repr::parse(&octets), Repr::parse(&good));
}

#[test]
fn times_split_into_nanoseconds_and_a_correction() {
    let (time, left) = Timestamp::split(Instant::from_picos(3_000_000_001_250));
    assert_eq!((time, left.0), (Timestamp { seconds: 3, nanos: 1 }, 0x4000));
    assert_eq!((time.picos(), left.picos()), (Some(3_000_000_001_000), 250));
    assert_eq!(left.negative().picos(), -250);
    assert_eq!(Correction(i64::MAX).plus(left), Correction(i64::MAX));
    assert_eq!(Timestamp { seconds: 0, nanos: 1_000_000_000 }.picos(), None);
}

/// Corrections are given in picoseconds; the field's unit is a 65th of one.
#[test]
fn no_picosecond_is_lost_in_a_correction() {
    for ps in -2_000..=2_000 {
        assert_eq!(Correction::of_picos(ps).picos(), i128::from(ps));
    }
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same(
        addresses in any::<[[u8; 6]; 2]>(),
        sdo in 0_u8..16,
        octets in any::<[u8; 2]>(),
        two_step: bool,
        correction: i64,
        clocks in any::<[[u8; 8]; 2]>(),
        ports in any::<[u16; 3]>(),
        seconds in 0_u64..1 << 48,
        nanos: u32,
        which in 0..3,
    ) {
        let requesting = PortIdentity { clock: clocks[0], port: ports[0] };
        let time = Timestamp { seconds, nanos };
        let message = Message {
            major_sdo_id: sdo,
            minor_sdo_id: octets[0],
            domain: octets[1],
            two_step,
            correction: Correction(correction),
            source: PortIdentity { clock: clocks[1], port: ports[1] },
            sequence: ports[2],
            body: match which {
                0 => Body::PdelayReq,
                1 => Body::PdelayResp { receipt: time, requesting },
                _ => Body::PdelayRespFollowUp { origin: time, requesting },
            },
        };
        let repr = Repr { src: Mac(addresses[0]), dst: Mac(addresses[1]), message };
        tests::round(&repr, 68, Repr::parse, Repr::emit);
    }
}
