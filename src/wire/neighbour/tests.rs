//! Neighbour messages: golden bytes, every truncation, messages that a receiver must drop, round
//! trips.

use proptest::prelude::*;

use super::*;
use crate::tests;

/// The solicitation of fd00::1 for fd00::fe, and its answer, as scapy builds them.
const ASKED: &str =
    "6000000000203afffd000000000000000000000000000001ff0200000000000000000001ff0000fe
    87007b9f00000000fd0000000000000000000000000000fe0101020000000001";
const TOLD: &str =
    "6000000000203afffd0000000000000000000000000000fefd000000000000000000000000000001
    880019a660000000fd0000000000000000000000000000fe02010200000000fe";

fn octets(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|d| (d[0] << 4 | d[1]) as u8).collect()
}

fn address(last: u16) -> Ipv6Addr {
    Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, last)
}

fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

fn asked() -> Repr {
    Repr { kind: Kind::Solicitation, target: address(0xfe), link_layer: Some(mac(1)) }
}

fn told() -> Repr {
    let kind = Kind::Advertisement { router: false, solicited: true, overrides: true };
    Repr { kind, target: address(0xfe), link_layer: Some(mac(0xfe)) }
}

/// Returns a changed packet with its checksum recalculated.
fn mended(mut packet: Vec<u8>) -> Vec<u8> {
    packet[42..44].fill(0);
    let v = ipv6::View::new(&packet).unwrap();
    let sum = sum(v.payload(), v.src(), v.dst());
    packet[42..44].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn golden_bytes() {
    let group = solicited_node(address(0xfe));
    assert_eq!(group_mac(group), Mac([0x33, 0x33, 0xff, 0, 0, 0xfe]));
    for (hex, repr, src, dst) in
        [(ASKED, asked(), address(1), group), (TOLD, told(), address(0xfe), address(1))]
    {
        tests::hold(&repr, &octets(hex), Repr::parse, |repr, out| repr.emit(src, dst, out));
    }
    assert_eq!(asked().to_string(), "who has fd00::fe tell 02:00:00:00:00:01");
    assert_eq!(told().to_string(), "fd00::fe is at 02:00:00:00:00:fe");
}

#[test]
fn a_message_is_complete_with_its_option_or_without() {
    let whole = octets(ASKED);
    let message = &whole[ipv6::HEADER_LEN..];
    for n in 0..message.len() {
        assert_eq!(View::new(&message[..n]).is_ok(), n == MESSAGE_LEN, "{n}");
    }
}

#[test]
fn what_a_receiver_has_to_drop_is_refused() {
    let refused = |packet: Vec<u8>| Repr::parse(&packet).unwrap_err();
    let with = |at: usize, octet: u8| {
        let mut packet = octets(ASKED);
        packet[at] = octet;
        packet
    };
    assert_eq!(refused(with(7, 254)), WireError::OutOfRange);
    assert_eq!(refused(with(70, 9)), WireError::BadChecksum);
    assert_eq!(refused(mended(with(41, 1))), WireError::BadOpcode);
    assert_eq!(refused(mended(with(40, 134))), WireError::BadOpcode);
    assert_eq!(refused(mended(with(65, 0))), WireError::BadLength);
    assert_eq!(refused(mended(with(48, 0xff))), WireError::BadAddress);
    assert_eq!(refused(with(6, 17)), WireError::Unsupported);
    let mut nobody = octets(ASKED);
    nobody[8..24].fill(0);
    assert_eq!(refused(mended(nobody)), WireError::BadAddress, "nobody has no address to give");
    let mut to_all = octets(TOLD);
    to_all[24..40].copy_from_slice(&ALL_NODES.octets());
    assert_eq!(refused(mended(to_all)), WireError::BadAddress, "solicited, but to all");
}

#[test]
fn other_options_and_reserved_bits_are_passed_over() {
    let mut packet = octets(ASKED);
    packet[45..48].fill(0xff);
    packet.splice(64..64, [14, 1, 9, 9, 9, 9, 9, 9]); // A nonce (RFC 3971).
    packet[5] += OPTION_LEN as u8;
    assert_eq!(Repr::parse(&mended(packet)), Ok(asked()));
}

proptest! {
    #[test]
    fn what_is_emitted_parses_to_the_same(
        src in 1_u16.., dst in any::<u16>(), target in any::<u16>(), mac in any::<[u8; 6]>(),
        kind in 0..9, option in any::<bool>(),
    ) {
        let flag = |bit| kind & bit != 0;
        let kind = match kind {
            8 => Kind::Solicitation,
            _ => Kind::Advertisement {
                router: flag(1),
                solicited: flag(2),
                overrides: flag(4),
            },
        };
        let repr = Repr { kind, target: address(target), link_layer: option.then_some(Mac(mac)) };
        let emit = |repr: &Repr, out: &mut [u8]| repr.emit(address(src), address(dst), out);
        tests::round(&repr, repr.buffer_len(), Repr::parse, emit);
    }
}
