use proptest::prelude::*;

use super::*;
use crate::tests;
use ground::time::Instant;

const SRC: Mac = Mac([2, 0, 0, 0, 0, 5]);
const REQUEST: Request = Request { t1: 0x0102_0304_0506_0708, psn: 0xf1 };
const RESPONSE: Response = Response {
    t1: 0x1112_1314_1516_1718,
    t2: 0x2122_2324_2526_2728,
    t3: 0x3132_3334_3536_3738,
    psn: 0xf2,
    compensation: None,
};
const BOTH: Message = Message::Both { response: RESPONSE, request: REQUEST };

const OTHER: Dialect = Dialect {
    kind: KindCodes::Numbers,
    length: LengthField::Rest,
    unit: TimeUnit::Picoseconds,
    piggyback: Piggyback::Response,
    pdu: PduLength::NONE,
    compensation: Compensation::Absent,
};

fn frame(message: Message, dialect: Dialect) -> [u8; 60] {
    let mut out = [0xff; 60];
    Repr { src: SRC, dst: DESTINATION, message }.emit(&mut out, &dialect).unwrap();
    out
}

/// Returns the layout of the proposal's table, one field per line.
fn golden(kind: u8, length: u8, parts: &[&[u8]]) -> [u8; 60] {
    let mut out = [0; 60];
    let header: &[&[u8]] = &[&DESTINATION.0, &SRC.0, &[0x89, 0xa2], &[0x01], &[kind], &[length]];
    let octets = [header.concat(), parts.concat()].concat();
    out[..octets.len()].copy_from_slice(&octets);
    out
}

#[test]
fn golden_bytes_of_all_three_kinds() {
    let (q, r) = (REQUEST.t1.to_be_bytes(), RESPONSE.t1.to_be_bytes());
    let (t2, t3) = (RESPONSE.t2.to_be_bytes(), RESPONSE.t3.to_be_bytes());
    let none = [0; 8];
    let request = golden(1, 35, &[&q, &none, &none, &none, &[0xf1]]);
    assert_eq!(frame(Message::Request(REQUEST), Dialect::default()), request);
    let response = golden(2, 35, &[&r, &t2, &t3, &none, &[0xf2]]);
    assert_eq!(frame(Message::Response(RESPONSE), Dialect::default()), response);
    let both = golden(3, 44, &[&r, &t2, &t3, &none, &[0xf2], &q, &[0xf1]]);
    assert_eq!(frame(BOTH, Dialect::default()), both);
    let printed = Repr::parse(&both, &Dialect::default()).unwrap().to_string();
    assert!(printed.starts_with("02:00:00:00:00:05 headroom resp 242 t1 12300"), "{printed}");
    assert!(printed.ends_with(", req 241 t1 72623859790382856"), "{printed}");
}

#[test]
fn the_other_reading_of_each_part_can_be_spoken() {
    let q = REQUEST.t1.to_be_bytes();
    let one = |dialect| frame(Message::Request(REQUEST), dialect);
    let zeros = [0; 24];
    assert_eq!(one(Dialect { kind: KindCodes::Numbers, ..Dialect::default() })[15..17], [0, 35]);
    assert_eq!(one(Dialect { length: LengthField::Rest, ..Dialect::default() })[15..17], [1, 33]);
    assert_eq!(one(OTHER), golden(0, 33, &[&q, &zeros, &[0xf1]]));
    let (r, t2, t3) =
        (RESPONSE.t1.to_be_bytes(), RESPONSE.t2.to_be_bytes(), RESPONSE.t3.to_be_bytes());
    let both = golden(2, 42, &[&q, &t2, &t3, &[0; 8], &[0xf1], &r, &[0xf2]]);
    assert_eq!(frame(BOTH, OTHER), both);
    assert_eq!(Repr::parse(&both, &OTHER).unwrap().message, BOTH);
}

#[test]
fn times_are_cut_to_the_unit_and_spans_never_overflow() {
    let at = Instant::from_picos(1_234_567);
    assert_eq!((Dialect::default().stamp(at), OTHER.stamp(at)), (1_234, 1_234_567));
    assert_eq!(Dialect::default().span(7), Duration::from_nanos(7));
    assert_eq!(OTHER.span(7), Duration::from_picos(7));
    assert_eq!(Dialect::default().span(u64::MAX), Duration::MAX);
    assert_eq!(Dialect::default().resolution(), Duration::from_nanos(1));
}

#[test]
fn every_truncation_is_refused_and_padding_accepted() {
    let dialect = Dialect::default();
    let octets = frame(BOTH, dialect);
    let parse = |octets| Repr::parse(octets, &dialect);
    let repr = Repr { src: SRC, dst: DESTINATION, message: BOTH };
    tests::hold(&repr, &octets, parse, |repr, out| repr.emit(out, &dialect));
    assert_eq!(Repr::parse(&[&octets[..], &[0xee; 4]].concat(), &dialect), Ok(repr));
}

#[test]
fn each_fault_has_its_own_error() {
    let dialect = Dialect::default();
    for (at, octet, error) in [
        (12, 0x88, WireError::BadEthertype),
        (14, 0x11, WireError::BadVersion),
        (14, 0x00, WireError::BadOpcode), // Congestion isolation message.
        (14, 0x02, WireError::BadOpcode),
        (15, 0x11, WireError::BadVersion),
        (15, 0x00, WireError::BadOpcode), // Not a kind of the flags.
        (16, 44, WireError::BadLength),
        (16, 33, WireError::BadLength),
        (16, 0, WireError::BadLength),
    ] {
        let mut bad = frame(Message::Request(REQUEST), dialect);
        bad[at] = octet;
        assert_eq!(Repr::parse(&bad, &dialect), Err(error), "octet {at} = {octet:#x}");
    }
    let mut bad = frame(Message::Request(REQUEST), OTHER);
    bad[15] = 3;
    assert_eq!(Repr::parse(&bad, &OTHER), Err(WireError::BadOpcode), "no fourth number");
}

#[test]
fn reserved_bits_and_fields_that_mean_nothing_are_ignored() {
    let dialect = Dialect::default();
    let mut octets = frame(Message::Request(REQUEST), dialect);
    octets[15] |= 0x0c;
    octets[25..49].fill(0xee);
    octets[50..].fill(0xee);
    let read = Repr::parse(&octets, &dialect).unwrap();
    assert_eq!(read.message, Message::Request(REQUEST));
    let mut octets = frame(Message::Response(RESPONSE), dialect);
    octets[41..49].fill(0xee); // t4, set by the receiver.
    assert_eq!(Repr::parse(&octets, &dialect).unwrap().message, Message::Response(RESPONSE));
}

#[test]
fn pdus_have_the_lengths_of_the_table_and_responses_a_compensation() {
    let pdu = PduLength::padded(65).unwrap();
    let compensation = Compensation::InResponse;
    let dialect = Dialect { pdu, compensation, ..Dialect::default() };
    let response = Response { compensation: Adjustment::from_nanos(-2), ..RESPONSE };
    let repr = Repr { src: SRC, dst: DESTINATION, message: Message::Response(response) };
    let mut out = [0xff; 80];
    repr.emit(&mut out, &dialect).unwrap();
    assert_eq!((dialect.frame_len(), out[16]), (80, 65));
    assert_eq!(out[59..63], [0xff, 0xff, 0xff, 0xfe]);
    assert!(out[63..].iter().all(|octet| *octet == 0));
    assert_eq!(Repr::parse(&out, &dialect), Ok(repr));
    assert_eq!(Repr::parse(&out[..62], &dialect), Err(WireError::Truncated));
    assert_eq!(repr.emit(&mut [0; 79], &dialect), Err(WireError::NoRoom));
    for (octets, valid) in [(64, false), (65, true), (529, true), (530, false)] {
        assert_eq!(PduLength::padded(octets).is_some(), valid, "{octets}");
    }
    let long = Dialect { pdu: PduLength::padded(529).unwrap(), ..Dialect::default() };
    let mut out = [0; 544];
    assert!(!long.is_consistent());
    assert_eq!(repr.emit(&mut out, &long), Err(WireError::OutOfRange));
    let long = Dialect { length: LengthField::Fields, ..long };
    repr.emit(&mut out, &long).unwrap();
    assert_eq!((long.frame_len(), out[16]), (544, 35));
}

fn dialects() -> impl Strategy<Value = Dialect> {
    let pdu = prop::option::of(65_u16..=529);
    (any::<[bool; 4]>(), 0..3_usize, pdu).prop_map(
        |([kind, unit, piggyback, more], length, pdu)| {
            let lengths = [LengthField::Whole, LengthField::Rest, LengthField::Fields];
            let dialect = Dialect {
                kind: if kind { KindCodes::Flags } else { KindCodes::Numbers },
                length: lengths[length],
                unit: if unit { TimeUnit::Nanoseconds } else { TimeUnit::Picoseconds },
                piggyback: if piggyback { Piggyback::Request } else { Piggyback::Response },
                pdu: pdu.and_then(PduLength::padded).unwrap_or_default(),
                compensation: if more { Compensation::InResponse } else { Compensation::Absent },
            };
            match dialect.is_consistent() {
                true => dialect,
                false => Dialect { length: LengthField::Fields, ..dialect },
            }
        },
    )
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same(
        dialect in dialects(),
        src in any::<[u8; 6]>(),
        dst in any::<[u8; 6]>(),
        which in 0..3,
        times in any::<[u64; 4]>(),
        psns in any::<[u8; 2]>(),
        nanos in any::<i32>(),
    ) {
        let request = Request { t1: times[0], psn: psns[0] };
        let compensation = match dialect.compensation {
            Compensation::Absent => None,
            Compensation::InResponse => Adjustment::from_nanos(nanos),
        };
        let [_, t1, t2, t3] = times;
        let response = Response { t1, t2, t3, psn: psns[1], compensation };
        let message = match which {
            0 => Message::Request(request),
            1 => Message::Response(response),
            _ => Message::Both { response, request },
        };
        let repr = Repr { src: Mac(src), dst: Mac(dst), message };
        let mut out = vec![0xff; dialect.frame_len()];
        repr.emit(&mut out, &dialect).unwrap();
        prop_assert_eq!(Repr::parse(&out, &dialect), Ok(repr));
    }
}
