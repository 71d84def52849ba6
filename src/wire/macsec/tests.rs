use proptest::prelude::*;

use super::*;

const SCI: [u8; 8] = [2, 0, 0, 0, 0, 5, 0, 1];

/// A protected frame of 14 + 46 bytes, encrypted, with its SCI.
fn golden() -> (Vec<u8>, Repr) {
    let mut octets = vec![
        0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x00, 0x00, 0x00, 0x05, 0x88, 0xe5, 0x2e,
        0x00, 0xde, 0xad, 0xbe, 0xef, 0x02, 0x00, 0x00, 0x00, 0x00, 0x05, 0x00, 0x01, 0x88, 0x08,
    ];
    octets.resize(12 + 16 + 48 + 16, 0x5a);
    let (channel, pn) = (Channel::Sci(SCI), 0xdead_beef);
    (octets, Repr { channel, encrypted: true, an: 2, short_len: 0, pn })
}

fn frame(repr: &Repr, secure: usize) -> Vec<u8> {
    let mut octets = vec![7; 12 + repr.buffer_len() + secure + ICV_LEN];
    repr.emit(&mut octets[12..]).unwrap();
    octets
}

#[test]
fn golden_bytes() {
    let (octets, repr) = golden();
    assert_eq!(Repr::parse(&octets), Ok(repr));
    let mut out = [0xff; 16];
    repr.emit(&mut out).unwrap();
    assert_eq!(out, octets[12..28]);
    let v = View::new(&octets).unwrap();
    assert_eq!((v.front(), v.secure_len(), v.back()), (16, 48, 16));
    assert_eq!((v.an(), v.pn(), v.encrypted()), (2, 0xdead_beef, true));
    assert_eq!((v.channel(), v.inner()), (Channel::Sci(SCI), EtherType::MAC_CONTROL));
    assert_eq!(repr.to_string(), "MACsec an 2 pn 3735928559 sci 02:00:00:00:00:05/1 encrypted");
}

#[test]
fn each_form_has_its_control_bits() {
    for (channel, encrypted, tci) in [
        (Channel::Implied, false, 0x03),
        (Channel::EndStation, false, 0x43),
        (Channel::SingleCopy, true, 0x1f),
        (Channel::Sci(SCI), false, 0x23),
        (Channel::Sci(SCI), true, 0x2f),
    ] {
        let repr = Repr { channel, encrypted, an: 3, short_len: 47, pn: 1 };
        let mut octets = frame(&repr, 47);
        assert_eq!(octets[12..20], [0x88, 0xe5, tci, 47, 0, 0, 0, 1]);
        assert_eq!(Repr::parse(&octets), Ok(repr));
        // A station on a single copy channel may set ES, too.
        octets[14] |= if channel == Channel::SingleCopy { ES } else { 0 };
        assert_eq!(View::new(&octets).unwrap().channel(), channel);
    }
}

#[test]
fn every_truncation_is_refused() {
    let (octets, repr) = golden();
    for n in 0..octets.len() {
        let error = if n < 20 { WireError::Truncated } else { WireError::BadLength };
        assert_eq!(Repr::parse(&octets[..n]), Err(error), "{n}");
    }
    for n in 0..16 {
        assert_eq!(repr.emit(&mut [0; 16][..n]), Err(WireError::NoRoom));
    }
    let longer = [&octets[..], &[0; 1]].concat();
    assert_eq!(View::new(&longer).unwrap().secure_len(), 49, "without a short length");
}

#[test]
fn each_fault_has_its_own_error() {
    let (good, _) = golden();
    for (at, octet, error) in [
        (12, 0x08, WireError::BadEthertype),
        (14, 0xae, WireError::BadVersion),
        (14, 0x6e, WireError::Unsupported), // ES and an SCI
        (14, 0x3e, WireError::Unsupported), // SCB and an SCI
        (14, 0x2a, WireError::Unsupported), // E alone is not for a SecY
        (14, 0x26, WireError::Unsupported), // C alone is of no GCM suite
        (15, 0x01, WireError::BadLength),   // shorter than an EtherType
        (15, 0x2f, WireError::BadLength),   // one byte too many
        (15, 0x30, WireError::BadLength),   // 48 bytes are not short
        (15, 0x40, WireError::BadLength),   // reserved bits
        (15, 0x80, WireError::BadLength),
    ] {
        let mut bad = good.clone();
        bad[at] = octet;
        assert_eq!(Repr::parse(&bad), Err(error), "octet {at} as {octet:#x}");
    }
    let repr = Repr { channel: Channel::Implied, encrypted: true, an: 0, short_len: 0, pn: 1 };
    for bad in
        [Repr { an: 4, ..repr }, Repr { short_len: 48, ..repr }, Repr { short_len: 1, ..repr }]
    {
        assert_eq!(bad.emit(&mut [0; 16]), Err(WireError::OutOfRange));
    }
}

#[test]
fn padding_is_what_a_mac_has_to_add_and_no_more() {
    for secure in 2..48_usize {
        let (channel, short_len) = (Channel::Implied, secure as u8);
        let mut octets = frame(&Repr { channel, encrypted: true, an: 0, short_len, pn: 1 }, secure);
        let bare = octets.len();
        octets.resize(bare.max(MIN_FRAME), 0);
        let v = View::new(&octets).unwrap();
        assert_eq!((v.secure_len(), v.back()), (secure, 16 + octets.len() - bare));
        octets.push(0);
        assert_eq!(View::new(&octets).err(), Some(WireError::BadLength), "{secure}");
    }
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same(
        sci in any::<[u8; 8]>(), form in 0..4, encrypted: bool, an in 0_u8..4, pn: u32,
        secure in 2..100_usize,
    ) {
        let channel = match form {
            0 => Channel::Implied,
            1 => Channel::Sci(sci),
            2 => Channel::EndStation,
            _ => Channel::SingleCopy,
        };
        let short_len = if secure < SHORT { secure as u8 } else { 0 };
        let repr = Repr { channel, encrypted, an, short_len, pn };
        let octets = frame(&repr, secure);
        prop_assert_eq!(Repr::parse(&octets), Ok(repr));
        prop_assert_eq!(View::new(&octets).unwrap().secure_len(), secure);
    }

    #[test]
    fn whatever_is_accepted_can_be_read(
        mut octets in proptest::collection::vec(any::<u8>(), 0..120), like: bool
    ) {
        if like && octets.len() > 16 {
            octets[12..14].copy_from_slice(&[0x88, 0xe5]);
            octets[15] = if octets[15] & 1 == 0 { 0 } else { octets[15] % 60 };
        }
        if let Ok(v) = View::new(&octets) {
            let whole = TAG_OFFSET + v.front() + v.secure_len() + v.back();
            prop_assert_eq!(whole, octets.len());
            prop_assert!(v.secure_len() >= 2 && v.back() >= ICV_LEN);
            prop_assert!(v.an() < 4);
            let _ = (v.channel(), v.inner(), v.pn());
        }
    }
}
