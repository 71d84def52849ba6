use proptest::prelude::*;

use super::*;
use crate::tests;

/// The start of a UDP packet over IPv4, from its EtherType on.
const MSDU: [u8; 30] = [
    8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 9, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 9, 0, 26, 0,
    0,
];

/// [`repr`] without a tag, up to its MSDU.
const GOLDEN: [u8; HEADER_LEN] = [
    0x00, 0x2a, 2, 0, 0, 0, 0, 5, 0x01, 0x03, 0xff, 0x38, 0x00, 0x64, 0x60, 0, 2, 0, 0, 0, 0, 9, 0,
    30,
];

fn repr() -> Repr<'static> {
    Repr {
        flow_id: None,
        feedback: 42,
        cpid: CpId::of(Mac([2, 0, 0, 0, 0, 5]), 0x0103),
        q_offset: -200,
        q_delta: 100,
        priority: Priority::ALL[3],
        dst: Mac([2, 0, 0, 0, 0, 9]),
        msdu: &MSDU,
    }
}

fn emitted(repr: &Repr<'_>) -> Vec<u8> {
    let mut out = vec![0xff; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    out
}

#[test]
fn golden_bytes() {
    let want = [&GOLDEN[..], &MSDU].concat();
    assert_eq!(emitted(&repr()), want);
    assert_eq!(Repr::parse(EtherType::CNM, &want), Ok(repr()));
    assert_eq!(repr().flow().unwrap().to_string(), "udp 10.0.0.1 port 7 > 10.0.0.2 port 9");
    assert_eq!(
        repr().to_string(),
        "CNM 0200000000050103 feedback 42 offset -200 delta 100 priority 3 to 02:00:00:00:00:09"
    );
    let tagged = Repr { flow_id: Some(0xabcd), ..repr() };
    let want = [&[0xab, 0xcd, 0x22, 0xe7][..], &want].concat();
    assert_eq!((tagged.ethertype(), emitted(&tagged)), (EtherType::CN_TAG, want.clone()));
    assert_eq!(Repr::parse(EtherType::CN_TAG, &want), Ok(tagged));
}

#[test]
fn each_fault_has_its_own_error() {
    let good = emitted(&repr());
    for (at, octet, error) in [
        (0, 0x10, WireError::BadVersion),
        (22, 0x01, WireError::BadLength),
        (23, 65, WireError::BadLength),
        (23, 64, WireError::Truncated),
    ] {
        let mut bad = good.clone();
        bad[at] = octet;
        assert_eq!(Repr::parse(EtherType::CNM, &bad), Err(error), "octet {at}");
    }
    assert_eq!(Repr::parse(EtherType::CIM, &good), Err(WireError::BadEthertype));
    // A tagged data frame.
    let data = [0, 1, 8, 0, 0x45];
    assert_eq!(Repr::parse(EtherType::CN_TAG, &data), Err(WireError::BadEthertype));
    let mut out = [0; LEN_MAX];
    assert_eq!(Repr { feedback: 64, ..repr() }.emit(&mut out), Err(WireError::OutOfRange));
    assert_eq!(Repr { msdu: &[0; 65], ..repr() }.emit(&mut out), Err(WireError::OutOfRange));
}

#[test]
fn a_message_about_a_message_is_neither_sent_nor_read() {
    let about = Repr { msdu: &[0x22, 0xe7, 0, 0], ..repr() };
    assert_eq!(about.emit(&mut [0; LEN_MAX]), Err(WireError::AboutItself));
    let mut bad = emitted(&repr());
    bad[HEADER_LEN..HEADER_LEN + 2].copy_from_slice(&[0x22, 0xe7]);
    assert_eq!(Repr::parse(EtherType::CNM, &bad), Err(WireError::AboutItself));
}

#[test]
fn reserved_bits_are_ignored() {
    let mut octets = emitted(&repr());
    octets[0] |= 0x0f;
    octets[1] |= 0xc0;
    octets[14] |= 0x1f;
    octets[15] = 0xee;
    assert_eq!(Repr::parse(EtherType::CNM, &octets), Ok(repr()));
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same_and_every_truncation_is_refused(
        flow_id in any::<Option<u16>>(),
        (feedback, priority) in (0..=FEEDBACK_MAX, 0_usize..8),
        (cpid, q_offset, q_delta, dst) in any::<([u8; 8], i16, i16, [u8; 6])>(),
        msdu in prop::collection::vec(any::<u8>(), 0..=MSDU_MAX),
    ) {
        let (cpid, dst, priority) = (CpId(cpid), Mac(dst), Priority::ALL[priority]);
        let repr = Repr { flow_id, feedback, cpid, q_offset, q_delta, priority, dst, msdu: &msdu };
        prop_assume!(!repr.is_about_itself());
        let octets = emitted(&repr);
        prop_assert!(octets.len() <= LEN_MAX);
        tests::hold(&repr, &octets, |octets| Repr::parse(repr.ethertype(), octets), Repr::emit);
        let padded = [&octets[..], &[0xee; 9]].concat();
        prop_assert_eq!(Repr::parse(repr.ethertype(), &padded), Ok(repr));
    }
}
