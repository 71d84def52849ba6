use proptest::prelude::*;

use super::*;
use crate::datagram::tests::headers as any_headers;
use crate::ip::Ecn;
use crate::tests;

/// Headers from 10.9.0.1 (or fd00::9) to the source of [`flow`].
fn headers(v6: bool) -> datagram::Repr {
    datagram::Repr {
        src: if v6 { "fd00::9" } else { "10.9.0.1" }.parse().unwrap(),
        dst: flow(v6).src,
        dscp: Dscp::new(56).unwrap(),
        ecn: Ecn::NotEct,
        ttl: 64,
        src_port: PORT_DEFAULT,
        dst_port: PORT_DEFAULT,
    }
}

fn flow(v6: bool) -> FiveTuple {
    let address = |v4: &str, six: &str| if v6 { six } else { v4 }.parse().unwrap();
    FiveTuple {
        src: address("10.0.0.1", "fd00::1"),
        dst: address("10.0.0.2", "fd00::2"),
        protocol: Protocol::UDP,
        src_port: 50_001,
        dst_port: 4791,
    }
}

fn message(form: Form<'_>) -> Sfcm<'_> {
    Sfcm {
        form,
        priority: Priority::ALL[3],
        dscp: Dscp::new(26).unwrap(),
        pause: Duration::from_nanos(0x0001_e240),
        locator: Locator::Incast,
        level: None,
    }
}

/// Returns a packet of [`flow`] over IPv4, from its EtherType on.
fn msdu() -> Vec<u8> {
    let mut msdu = vec![
        8, 0, 0x45, 0x68, 0, 62, 0, 0, 0, 0, 9, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0xc3, 0x51,
        0x12, 0xb7, 0, 42, 0, 0,
    ];
    msdu.resize(MSDU_MIN, 0xab);
    msdu
}

fn emitted(repr: &Repr<'_>) -> Vec<u8> {
    let mut out = vec![0xff; repr.buffer_len()];
    repr.emit(&mut out).unwrap();
    out
}

/// Returns a packet with `headers` around an unchecked PDU.
fn forged(headers: &datagram::Repr, pdu: &[u8]) -> Vec<u8> {
    let mut out = vec![0; headers.header_len()];
    out.extend(pdu);
    headers.emit(&mut out).unwrap();
    out
}

/// Parses `pdu` from `headers`, as a packet with correct checksums.
fn read(headers: &datagram::Repr, pdu: &[u8]) -> Result<(), WireError> {
    Repr::parse(headers.ethertype(), &forged(headers, pdu)).map(drop)
}

/// The PDU of [`message`] about [`flow`] over IPv4.
const GOLDEN: [u8; 24] = [
    0x00, 0x43, 0x68, 0, 0, 1, 0xe2, 0x40, 0, 14, 10, 0, 0, 1, 10, 0, 0, 2, 17, 0, 0xc3, 0x51,
    0x12, 0xb7,
];

#[test]
fn golden_bytes() {
    let repr = Repr { headers: headers(false), message: message(Form::Simplified(flow(false))) };
    let packet = emitted(&repr);
    assert_eq!(packet, forged(&repr.headers, &GOLDEN));
    assert_eq!(packet[28..], GOLDEN);
    assert_eq!(Repr::parse(EtherType::IPV4, &packet), Ok(repr));
    assert_eq!(
        repr.to_string(),
        "SFCM from 10.9.0.1 pause 123456 ns priority 3 dscp 26 incast \
         udp 10.0.0.1 port 50001 > 10.0.0.2 port 4791"
    );
    let v6 = Repr { headers: headers(true), message: message(Form::Simplified(flow(true))) };
    let packet = emitted(&v6);
    assert_eq!(packet[48..58], [0x00, 0x43, 26 << 2, 0, 0, 1, 0xe2, 0x40, 0, 38]);
    assert_eq!(packet[58..60], [0xfd, 0]);
    assert_eq!(packet[90..], GOLDEN[18..]);

    let msdu = msdu();
    let whole = Repr { headers: headers(false), message: message(Form::Encapsulated(&msdu)) };
    assert_eq!(whole.message.flow(), Some(flow(false)));
    let packet = emitted(&whole);
    assert_eq!(packet[28..38], [0x01, 0x43, 26 << 2, 0, 0, 1, 0xe2, 0x40, 0, 64]);
    assert_eq!(packet[38..], msdu);
}

#[test]
fn a_pause_is_cut_to_the_nanosecond_and_refused_when_too_long() {
    let mut message = message(Form::Simplified(flow(false)));
    message.pause = Duration::from_picos(1_999);
    let packet = emitted(&Repr { headers: headers(false), message });
    assert_eq!(packet[32..36], [0, 0, 0, 1]);
    message.pause = PAUSE_MAX;
    assert_eq!(emitted(&Repr { headers: headers(false), message })[32..36], [0xff; 4]);
    message.pause = Duration::from_nanos(1 << 32);
    let long = Repr { headers: headers(false), message };
    assert_eq!(long.emit(&mut [0; LEN_MAX]), Err(WireError::OutOfRange));
}

#[test]
fn each_fault_has_its_own_error() {
    let good = headers(false);
    assert_eq!(read(&good, &GOLDEN), Ok(()));
    for (at, octet, error) in [
        (0, 0x10, WireError::BadVersion),
        (0, 0x02, WireError::BadOpcode),
        (0, 0x01, WireError::BadLength), // An MSDU of 14 bytes.
        (9, 15, WireError::Truncated),
        (9, 13, WireError::BadLength),
        (8, 1, WireError::Truncated),
        (13, 9, WireError::BadAddress),
    ] {
        let mut bad = GOLDEN;
        bad[at] = octet;
        assert_eq!(read(&good, &bad), Err(error), "octet {at}");
    }
    for len in [0, 13, 15, 38] {
        let mut bad = [0; HEADER_LEN + 38];
        bad[9] = len;
        let bad = &bad[..HEADER_LEN + usize::from(len)];
        assert_eq!(read(&good, bad), Err(WireError::BadLength), "{len}");
    }
    let tail = [&GOLDEN[..], &[0]].concat();
    assert_eq!(read(&good, &tail), Err(WireError::BadLength));
    for (src_port, dst_port) in [(PORT_DEFAULT, 50_000), (9, 9), (PORT_MIN - 1, PORT_MIN - 1)] {
        let bad = datagram::Repr { src_port, dst_port, ..good };
        assert_eq!(read(&bad, &GOLDEN), Err(WireError::Unsupported));
        let message = message(Form::Simplified(flow(false)));
        let refused = Repr { headers: bad, message }.emit(&mut [0; LEN_MAX]);
        assert_eq!(refused, Err(WireError::Unsupported));
    }
}

#[test]
fn a_message_goes_to_one_host_which_is_the_source_of_its_flow() {
    for dst in ["224.0.0.1", "255.255.255.255", "0.0.0.0", "ff02::1", "::"] {
        let dst: IpAddr = dst.parse().unwrap();
        let v6 = dst.is_ipv6();
        let bad = datagram::Repr { dst, ..headers(v6) };
        let message = message(Form::Simplified(FiveTuple { src: dst, ..flow(v6) }));
        let refused = Repr { headers: bad, message }.emit(&mut [0; LEN_MAX]);
        assert_eq!(refused, Err(WireError::BadAddress));
        let elsewhere = datagram::Repr { dst: "10.0.0.7".parse().unwrap(), ..headers(false) };
        assert_eq!(read(&elsewhere, &GOLDEN), Err(WireError::BadAddress));
    }
    let mixed = FiveTuple { dst: flow(true).dst, ..flow(false) };
    let repr = Repr { headers: headers(false), message: message(Form::Simplified(mixed)) };
    assert_eq!(repr.emit(&mut [0; LEN_MAX]), Err(WireError::OutOfRange));
}

#[test]
fn a_message_about_a_message_is_neither_sent_nor_read() {
    let about = FiveTuple { dst_port: PORT_DEFAULT, ..flow(false) };
    let repr = Repr { headers: headers(false), message: message(Form::Simplified(about)) };
    assert_eq!(repr.emit(&mut [0; LEN_MAX]), Err(WireError::AboutItself));
    let mut bad = GOLDEN;
    bad[22..].copy_from_slice(&PORT_DEFAULT.to_be_bytes());
    assert_eq!(read(&headers(false), &bad), Err(WireError::AboutItself));
    // The TCP port of the same number is unrelated.
    bad[18] = Protocol::TCP.0;
    assert_eq!(read(&headers(false), &bad), Ok(()));

    let mut msdu = msdu();
    msdu[24..26].copy_from_slice(&PORT_DEFAULT.to_be_bytes());
    let repr = Repr { headers: headers(false), message: message(Form::Encapsulated(&msdu)) };
    assert_eq!(repr.emit(&mut [0; LEN_MAX]), Err(WireError::AboutItself));
    let pdu = [&[1, 0, 0, 0, 0, 0, 0, 9, 0, 64][..], &msdu].concat();
    assert_eq!(read(&headers(false), &pdu), Err(WireError::AboutItself));
}

#[test]
fn an_msdu_holds_an_ip_packet_and_has_64_to_512_octets() {
    fn repr(form: Form<'_>) -> Repr<'_> {
        Repr { headers: headers(false), message: message(form) }
    }
    let mut out = [0; LEN_MAX];
    let mut long = msdu();
    for len in [MSDU_MIN, 65, MSDU_MAX] {
        long.resize(len, 0);
        let whole = repr(Form::Encapsulated(&long));
        assert_eq!(Repr::parse(EtherType::IPV4, &emitted(&whole)), Ok(whole));
    }
    long.resize(MSDU_MAX + 1, 0);
    assert_eq!(repr(Form::Encapsulated(&long)).emit(&mut out), Err(WireError::OutOfRange));
    let short = &long[..MSDU_MIN - 1];
    assert_eq!(repr(Form::Encapsulated(short)).emit(&mut out), Err(WireError::OutOfRange));
    long.truncate(MSDU_MIN);
    long[1] = 6;
    assert_eq!(repr(Form::Encapsulated(&long)).emit(&mut out), Err(WireError::Unsupported));
    let pdu = [&[1, 0, 0, 0, 0, 0, 0, 9, 0, 64][..], &long].concat();
    assert_eq!(read(&headers(false), &pdu), Err(WireError::Unsupported));
}

#[test]
fn reserved_bits_are_ignored_and_the_fourth_locator_means_nothing() {
    let mut octets = GOLDEN;
    octets[1] |= 0x38;
    octets[2] |= 0x03;
    octets[19] = 0xee;
    let packet = forged(&headers(false), &octets);
    let read = Repr::parse(EtherType::IPV4, &packet).unwrap();
    assert_eq!(read.message, message(Form::Simplified(flow(false))));
    octets[1] |= 0xc0;
    let packet = forged(&headers(false), &octets);
    let read = Repr::parse(EtherType::IPV4, &packet).unwrap();
    assert_eq!(read.message.locator, Locator::Unknown);
}

#[test]
fn the_level_is_that_of_topology_recognition_from_1_to_254() {
    let leaf = Sfcm { level: Level::new(1), ..message(Form::Simplified(flow(false))) };
    let repr = Repr { headers: headers(false), message: leaf };
    let octets = emitted(&repr);
    assert_eq!(octets[headers(false).header_len() + 3], 1);
    assert!(repr.to_string().contains(" incast level 1 "), "{repr}");
    for (octet, level) in [(0, None), (1, Some(1)), (LEVEL_MAX, Some(LEVEL_MAX)), (255, None)] {
        let mut pdu = GOLDEN;
        pdu[3] = octet;
        let packet = forged(&headers(false), &pdu);
        let read = Repr::parse(EtherType::IPV4, &packet).unwrap().message;
        assert_eq!(read.level.map(Level::get), level);
    }
    let none = Sfcm { level: Level::new(255), ..leaf };
    let repr = Repr { headers: headers(false), message: none };
    assert_eq!(repr.emit(&mut [0; 200]), Err(WireError::OutOfRange));
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same_and_every_truncation_is_refused(
        headers in any_headers(Some(PORT_DEFAULT)),
        (dst, protocol, src_port, dst_port) in any::<(u128, u8, u16, u16)>(),
        (priority, dscp, locator, level) in (0_usize..8, 0_u8..64, 0_u8..3, 0..=LEVEL_MAX),
        pause in any::<u32>(),
        encapsulated in any::<bool>(),
    ) {
        let dst = match headers.dst {
            IpAddr::V4(_) => IpAddr::V4((dst as u32).into()),
            IpAddr::V6(_) => IpAddr::V6(dst.into()),
        };
        // An encapsulated packet here is of UDP.
        let protocol = if encapsulated { Protocol::UDP } else { Protocol(protocol) };
        let flow = FiveTuple { src: headers.dst, dst, protocol, src_port, dst_port };
        prop_assume!(!headers.carries(&flow) && is_host(headers.dst));
        let mut msdu = Vec::new();
        if encapsulated {
            // Any packet with the right source is accepted; the flow is then that of the message.
            let inner = datagram::Repr { src: flow.src, dst, src_port, dst_port, ..headers };
            let mut packet = vec![0x5a; MSDU_MIN + usize::from(dscp)];
            inner.emit(&mut packet).unwrap();
            msdu.extend(inner.ethertype().0.to_be_bytes());
            msdu.extend(packet);
        }
        let form = if encapsulated { Form::Encapsulated(&msdu) } else { Form::Simplified(flow) };
        let message = Sfcm {
            form,
            priority: Priority::ALL[priority],
            dscp: Dscp::new(dscp).unwrap(),
            pause: Duration::from_nanos(pause.into()),
            locator: Locator::from_bits(locator),
            level: Level::new(level),
        };
        prop_assert_eq!(message.flow(), Some(flow));
        let repr = Repr { headers, message };
        let octets = emitted(&repr);
        prop_assert!(octets.len() <= LEN_MAX);
        tests::hold(&repr, &octets, |octets| Repr::parse(repr.ethertype(), octets), Repr::emit);
        // A datagram that ends early, with correct checksums, is refused as well.
        for n in repr.headers.header_len()..octets.len() {
            let mut short = octets[..n].to_vec();
            repr.headers.emit(&mut short).unwrap();
            let cut = Repr::parse(repr.ethertype(), &short);
            prop_assert_eq!(cut, Err(WireError::Truncated), "{}", n);
        }
    }
}
