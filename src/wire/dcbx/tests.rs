//! Golden strings of every TLV, too short and too long ones, reserved bits, round trips.

use core::fmt::Debug;
use core::net::IpAddr;

use proptest::prelude::*;

use super::application::{self, Application, Selector};
use super::ets::{self, EtsTable};
use super::isolation::{self, CongestionIsolation, FamilyWidth};
use super::pfc::{self, Information, Proposed};
use super::source_flow::SourceFlowControl;
use super::topology::{Device, Orientation, Topology};
use crate::WireError;
use crate::headroom::Adjustment;
use ground::time::Duration;
use ground::units::{Mac, PrioritySet};

/// Checks that `repr` is written as `octets` and read from them, and that fewer than `least` octets
/// are refused.
fn is_golden<T: PartialEq + Debug>(
    octets: &[u8],
    least: usize,
    repr: T,
    parse: impl Fn(&[u8]) -> Result<T, WireError>,
    emit: impl Fn(&T, &mut [u8]) -> Result<usize, WireError>,
) {
    assert_eq!(parse(octets).as_ref(), Ok(&repr));
    let mut out = [0xff; isolation::LEN_MAX];
    assert_eq!(emit(&repr, &mut out), Ok(octets.len()));
    assert_eq!(out[..octets.len()], *octets);
    assert!(out[octets.len()..].iter().all(|&octet| octet == 0xff), "nothing else is written");
    for n in 0..octets.len() {
        assert_eq!(emit(&repr, &mut out[..n]), Err(WireError::NoRoom), "{n}");
    }
    for n in 0..least {
        assert_eq!(parse(&octets[..n]), Err(WireError::Truncated), "{n}");
    }
}

/// Checks that `repr` is written in `len` octets, which are read as the same.
fn comes_back<T: PartialEq + Debug>(
    len: usize,
    repr: T,
    parse: impl Fn(&[u8]) -> Result<T, WireError>,
    emit: impl Fn(&T, &mut [u8]) -> Result<usize, WireError>,
) {
    let mut out = [0xa5; isolation::LEN_MAX];
    assert_eq!(emit(&repr, &mut out), Ok(len));
    assert_eq!(parse(&out[..len]), Ok(repr));
}

fn longer(octets: &[u8]) -> Vec<u8> {
    [octets, &[0xee; 3]].concat()
}

/// Storage in class 3 with 60 %, all others in class 0.
const TABLE: EtsTable = EtsTable {
    class: [0, 0, 0, 3, 0, 0, 0, 7],
    bandwidth: [40, 0, 0, 60, 0, 0, 0, 0],
    algorithm: [2, 0, 0, 2, 0, 0, 0, 0],
};

#[test]
fn ets_configuration() {
    let octets = [0xc4, 0x00, 0x03, 0x00, 0x07, 40, 0, 0, 60, 0, 0, 0, 0, 2, 0, 0, 2, 0, 0, 0, 0];
    let repr = ets::Configuration { willing: true, cbs: true, classes: 4, table: TABLE };
    is_golden(&octets, ets::LEN, repr, ets::Configuration::parse, ets::Configuration::emit);
    assert_eq!(ets::Configuration::parse(&longer(&octets)), Ok(repr));
    assert_eq!(repr.buffer_len(), octets.len());
    let mut untidy = octets;
    untidy[0] |= 0x38;
    assert_eq!(ets::Configuration::parse(&untidy), Ok(repr), "reserved bits are ignored");
    assert!(repr.to_string().starts_with("ETS willing, 4 classes, classes [0, 0, 0, 3"));
}

#[test]
fn eight_classes_are_sent_as_none() {
    let repr = ets::Configuration { willing: false, cbs: false, classes: 8, table: TABLE };
    let mut out = [0xff; ets::LEN];
    repr.emit(&mut out).unwrap();
    assert_eq!(out[0], 0);
    assert_eq!(ets::Configuration::parse(&out), Ok(repr));
    for classes in [0, 9] {
        let refused = ets::Configuration { classes, ..repr }.emit(&mut out);
        assert_eq!(refused, Err(WireError::OutOfRange));
    }
}

#[test]
fn ets_recommendation() {
    let octets = [0x00, 0x00, 0x03, 0x00, 0x07, 40, 0, 0, 60, 0, 0, 0, 0, 2, 0, 0, 2, 0, 0, 0, 0];
    let repr = ets::Recommendation { table: TABLE };
    is_golden(&octets, ets::LEN, repr, ets::Recommendation::parse, ets::Recommendation::emit);
    let mut untidy = longer(&octets);
    untidy[0] = 0xff;
    assert_eq!(ets::Recommendation::parse(&untidy), Ok(repr), "the first octet is reserved");
}

#[test]
fn a_traffic_class_above_7_is_no_table() {
    let mut octets = [0; ets::LEN];
    octets[2] = 0x80;
    assert_eq!(ets::Recommendation::parse(&octets), Err(WireError::OutOfRange));
    let mut table = TABLE;
    table.class[7] = 8;
    let refused = ets::Recommendation { table }.emit(&mut [0; ets::LEN]);
    assert_eq!(refused, Err(WireError::OutOfRange));
}

#[test]
fn shares_of_classes_under_ets_add_up_to_100() {
    assert!(TABLE.is_consistent());
    let mut over = TABLE;
    over.bandwidth[0] = 41;
    assert!(!over.is_consistent());
    let mut strict = over;
    strict.algorithm = [0; 8];
    assert!(strict.is_consistent(), "shares of strict classes mean nothing");
}

#[test]
fn pfc_as_published() {
    let repr = pfc::Configuration {
        willing: true,
        macsec_bound: false,
        capability: 8,
        enable: PrioritySet(0x18),
        proposed: None,
    };
    is_golden(&[0x88, 0x18], 2, repr, pfc::Configuration::parse, pfc::Configuration::emit);
    let untidy = pfc::Configuration::parse(&[0xb8, 0x18]);
    assert_eq!(untidy, Ok(repr), "MACsec's bit is reserved in this form");
    let bound = pfc::Configuration { willing: false, macsec_bound: true, ..repr };
    is_golden(&[0x48, 0x18], 2, bound, pfc::Configuration::parse, pfc::Configuration::emit);
    let refused = pfc::Configuration { capability: 16, ..repr }.emit(&mut [0; 3]);
    assert_eq!(refused, Err(WireError::OutOfRange));
    assert_eq!(repr.to_string(), "PFC willing, {3, 4} of 8");
}

#[test]
fn pfc_as_proposed() {
    let proposed = Proposed { round_trip: true, ptp: false, macsec: true };
    let repr = pfc::Configuration {
        willing: false,
        macsec_bound: true,
        capability: 8,
        enable: PrioritySet(0x08),
        proposed: Some(proposed),
    };
    let octets = [0x68, 0x08, 0x80];
    is_golden(&octets, 2, repr, pfc::Configuration::parse, pfc::Configuration::emit);
    let untidy = pfc::Configuration::parse(&[0x78, 0x08, 0xbf, 0xee]);
    assert_eq!(untidy, Ok(repr), "reserved bits and what later editions append are ignored");
    let ptp = Proposed { round_trip: false, ptp: true, macsec: false };
    let ptp = pfc::Configuration { proposed: Some(ptp), ..repr };
    is_golden(&[0x48, 0x08, 0x40], 2, ptp, pfc::Configuration::parse, pfc::Configuration::emit);
}

#[test]
fn the_internal_delay_is_rounded_up_to_nanoseconds() {
    let plain = |internal_delay| Information { internal_delay, compensation: None };
    let repr = plain(Duration::from_nanos(614));
    let octets = [0, 0, 0x02, 0x66];
    is_golden(&octets, 4, repr, Information::parse, Information::emit);
    // Less than the compensation behind it is ignored.
    assert_eq!(Information::parse(&[&octets[..], &[9; 3]].concat()), Ok(repr));
    let mut out = [0; 4];
    plain(Duration::from_picos(613_001)).emit(&mut out).unwrap();
    assert_eq!(out, octets);
    assert_eq!(plain(Information::MAX).emit(&mut out), Ok(4));
    let beyond = Information::MAX + Duration::from_picos(1);
    let refused = plain(beyond).emit(&mut out);
    assert_eq!(refused, Err(WireError::OutOfRange));
    assert_eq!(repr.to_string(), "internal delay 614ns");
}

#[test]
fn a_compensation_follows_the_internal_delay_and_has_a_sign() {
    let compensation = Adjustment::from_nanos(-2);
    let repr = Information { internal_delay: Duration::from_nanos(1), compensation };
    let octets = [0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe];
    is_golden(&octets, 4, repr, Information::parse, Information::emit);
    assert_eq!(Information::parse(&longer(&octets)), Ok(repr));
    assert_eq!(repr.emit(&mut [0; 7]), Err(WireError::NoRoom));
    assert_eq!(repr.to_string(), "internal delay 1ns, compensation -2ns");
    // The code for none.
    let none = [0, 0, 0, 1, 0x80, 0, 0, 0];
    assert_eq!(Information::parse(&none).unwrap().compensation, None);
}

/// RoCEv2 in priority 3, DSCP 26 in priority 3, all others in 0.
const APPLICATIONS: [Application; 3] = [
    Application { priority: 3, selector: Selector::Udp, protocol: 4791 },
    Application { priority: 3, selector: Selector::Dscp, protocol: 26 },
    Application { priority: 0, selector: Selector::EtherType, protocol: 0 },
];

#[test]
fn application_priorities() {
    let octets = [0x00, 0x63, 0x12, 0xb7, 0x65, 0x00, 0x1a, 0x01, 0x00, 0x00];
    let read = |octets: &[u8]| Ok(application::parse(octets)?.collect::<Vec<_>>());
    let emit = |all: &Vec<Application>, out: &mut [u8]| application::emit(all, out);
    is_golden(&octets, 1, APPLICATIONS.to_vec(), read, emit);
    assert_eq!(application::buffer_len(&APPLICATIONS), octets.len());
    let mut untidy = octets.to_vec();
    untidy[0] = 0xff;
    untidy[1] |= 0x18;
    untidy.extend([0x60, 0, 1, 0x66, 0, 2, 0x67, 0, 3, 0x63, 0x12]);
    let text = "reserved bits, reserved selectors and half an entry are ignored";
    assert_eq!(read(&untidy), Ok(APPLICATIONS.to_vec()), "{text}");
    let words: Vec<_> = APPLICATIONS.iter().map(ToString::to_string).collect();
    assert_eq!(words[0], "UDP port 4791 priority 3");
    assert_eq!(words[2], "EtherType 0x0000 priority 0");
}

#[test]
fn as_many_applications_as_fit_in_a_tlv() {
    let mut out = [0; 600];
    let all = [APPLICATIONS[0]; application::ENTRIES_MAX + 1];
    assert_eq!(application::emit(&all, &mut out), Err(WireError::OutOfRange));
    let len = application::emit(&all[1..], &mut out).unwrap();
    assert!(len + 4 <= 511 && len + 4 + 3 > 511);
    let steep = Application { priority: 8, ..APPLICATIONS[0] };
    assert_eq!(application::emit(&[steep], &mut out), Err(WireError::OutOfRange));
}

fn isolation(address: Option<IpAddr>, family: FamilyWidth) -> CongestionIsolation {
    CongestionIsolation {
        queue_map: [0, 2, -2, 0, 0, 8, -8, 0],
        encapsulation: 48,
        mac: Mac([2, 0, 0, 0, 0, 7]),
        udp_port: 58_622,
        address,
        family,
    }
}

#[test]
fn congestion_isolation_with_every_address_and_either_family() {
    let fixed = [0, 2, 0xfe, 0, 0, 8, 0xf8, 0, 0, 48, 0x02, 0, 0, 0, 0, 7, 0xe4, 0xfe];
    let v4: IpAddr = "192.0.2.1".parse().unwrap();
    let v6: IpAddr = "2001:db8::1".parse().unwrap();
    let v6_octets = [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
    let v4_octets = [192, 0, 2, 1];
    for (address, octets, number) in
        [(None, &[][..], 0), (Some(v4), &v4_octets[..], 1), (Some(v6), &v6_octets[..], 2)]
    {
        for (family, width) in
            [(&[number][..], FamilyWidth::One), (&[0, number][..], FamilyWidth::Two)]
        {
            let all = [&fixed[..], family, octets].concat();
            let repr = isolation(address, width);
            is_golden(&all, 19, repr, CongestionIsolation::parse, CongestionIsolation::emit);
            // Two octets of a family truncated to the first are no valid family of the other width.
            for n in 18 + family.len()..all.len() {
                assert!(CongestionIsolation::parse(&all[..n]).is_err(), "{all:?} cut to {n}");
            }
            let contradicted = [&fixed[..], family, octets, &[0; 4]].concat();
            assert_eq!(CongestionIsolation::parse(&contradicted), Err(WireError::BadLength));
            assert!(repr.to_string().contains("48 octets to 02:00:00:00:00:07"));
        }
    }
}

#[test]
fn a_queue_map_beyond_8_is_none() {
    let mut octets = [0; 19];
    octets[3] = 9;
    assert_eq!(CongestionIsolation::parse(&octets), Err(WireError::OutOfRange));
    let mut repr = isolation(None, FamilyWidth::One);
    repr.queue_map[0] = -9;
    assert_eq!(repr.emit(&mut [0; 40]), Err(WireError::OutOfRange));
    let long = CongestionIsolation { encapsulation: 513, ..isolation(None, FamilyWidth::One) };
    assert_eq!(long.emit(&mut [0; 40]), Err(WireError::OutOfRange));
}

#[test]
fn topology() {
    let (device, orientation) = (Device::Bridge, Orientation::Uplink);
    let repr = Topology { device, level: Some(1), orientation };
    is_golden(&[1, 1, 0], 3, repr, Topology::parse, Topology::emit);
    is_golden(&[255, 255, 255], 3, Topology::default(), Topology::parse, Topology::emit);
    assert_eq!(Topology::parse(&[1, 1, 0, 9]), Ok(repr));
    let reserved = Topology::parse(&[77, 1, 3]);
    assert_eq!(reserved, Ok(Topology { level: Some(1), ..Topology::default() }));
    let refused = Topology { level: Some(255), ..repr }.emit(&mut [0; 3]);
    assert_eq!(refused, Err(WireError::OutOfRange));
    assert_eq!(repr.to_string(), "Bridge, level 1, Uplink");
    assert_eq!(Topology::default().to_string(), "Unknown, level unknown, Unknown");
}

#[test]
fn source_flow_control() {
    let host = SourceFlowControl {
        point: false,
        proxy: false,
        by_flow: true,
        by_priority: false,
        udp_port: 58_622,
    };
    let (parse, emit) = (SourceFlowControl::parse, SourceFlowControl::emit);
    is_golden(&[0x00, 0x20, 0xe4, 0xfe], 4, host, parse, emit);
    let switch = SourceFlowControl { point: true, proxy: true, by_flow: false, ..host };
    is_golden(&[0x00, 0xc0, 0xe4, 0xfe], 4, switch, parse, emit);
    let priority = SourceFlowControl { by_flow: false, by_priority: true, ..host };
    is_golden(&[0x00, 0x10, 0xe4, 0xfe], 4, priority, parse, emit);
    assert_eq!([host, switch, priority].map(|s| s.obeys()), [true, false, true]);
    let untidy = parse(&[0x0f, 0x2f, 0xe4, 0xfe, 0xee]);
    assert_eq!(untidy, Ok(host), "reserved bits and what later versions append are ignored");
    assert_eq!(parse(&[0x10, 0x20, 0xe4, 0xfe]), Err(WireError::BadVersion));
    assert_eq!(parse(&[0x00, 0x20, 0xbf, 0xff]), Err(WireError::OutOfRange));
    let refused = SourceFlowControl { udp_port: 49_151, ..host }.emit(&mut [0; 4]);
    assert_eq!(refused, Err(WireError::OutOfRange));
    assert_eq!(switch.to_string(), "SFC point, proxy, port 58622");
}

#[test]
fn the_organization_of_our_own_tlv_is_nobodys() {
    let [first, ..] = super::source_flow::OUI;
    assert_eq!(first & 0b1111, 0b0010, "local, unicast, administratively assigned");
}

proptest! {
    #[test]
    fn source_flow_control_that_is_emitted_parses_to_the_same(
        roles in any::<[bool; 4]>(), udp_port in 49_152_u16..
    ) {
        let [point, proxy, by_flow, by_priority] = roles;
        let repr = SourceFlowControl { point, proxy, by_flow, by_priority, udp_port };
        comes_back(repr.buffer_len(), repr, SourceFlowControl::parse, SourceFlowControl::emit);
    }

    #[test]
    fn ets_that_is_emitted_parses_to_the_same(
        flags in any::<[bool; 2]>(), classes in 1_u8..=8, class in prop::array::uniform8(0_u8..8),
        bandwidth in any::<[u8; 8]>(), algorithm in any::<[u8; 8]>()
    ) {
        let table = EtsTable { class, bandwidth, algorithm };
        let repr = ets::Configuration { willing: flags[0], cbs: flags[1], classes, table };
        comes_back(repr.buffer_len(), repr, ets::Configuration::parse, ets::Configuration::emit);
        let repr = ets::Recommendation { table };
        comes_back(repr.buffer_len(), repr, ets::Recommendation::parse, ets::Recommendation::emit);
    }

    #[test]
    fn pfc_that_is_emitted_parses_to_the_same(
        flags in any::<[bool; 2]>(), capability in 0_u8..16, enable in any::<u8>(),
        proposed in any::<Option<[bool; 3]>>()
    ) {
        let [willing, macsec_bound] = flags;
        let proposed =
            proposed.map(|[round_trip, ptp, macsec]| Proposed { round_trip, ptp, macsec });
        let enable = PrioritySet(enable);
        let repr = pfc::Configuration { willing, macsec_bound, capability, enable, proposed };
        comes_back(repr.buffer_len(), repr, pfc::Configuration::parse, pfc::Configuration::emit);
    }

    #[test]
    fn congestion_isolation_that_is_emitted_parses_to_the_same(
        queue_map in prop::array::uniform8(-8_i8..=8), encapsulation in 0_u16..=512,
        mac in any::<[u8; 6]>(), udp_port in any::<u16>(), address in any::<Option<IpAddr>>(),
        wide in any::<bool>()
    ) {
        let family = if wide { FamilyWidth::Two } else { FamilyWidth::One };
        let mac = Mac(mac);
        let repr =
            CongestionIsolation { queue_map, encapsulation, mac, udp_port, address, family };
        comes_back(repr.buffer_len(), repr, CongestionIsolation::parse, CongestionIsolation::emit);
    }
}
