//! LLDP frames with any TLVs of a port.

use sluice::time::Duration;
use sluice::units::{Mac, PrioritySet};
use sluice::wire::dcbx::application::{self, Application, Selector};
use sluice::wire::dcbx::ets::{self, EtsTable};
use sluice::wire::dcbx::isolation::{self, CongestionIsolation, FamilyWidth};
use sluice::wire::dcbx::pfc::{self, Information, Proposed};
use sluice::wire::dcbx::source_flow::{self, SourceFlowControl};
use sluice::wire::dcbx::topology::{Device, Orientation, Topology};
use sluice::wire::dcbx::{OUI, subtype};
use sluice::wire::lldp::{self, Capabilities, Id, Repr, TlvType, Writer};

use super::Rng;

/// A whole frame: the mandatory TLVs, and any of the others.
pub fn frame(rng: &mut Rng) -> Vec<u8> {
    let (src, chassis) = (rng.mac(), rng.mac());
    let port = format!("swp{}", rng.below(1000));
    let head = Repr {
        dst: lldp::DESTINATION,
        src,
        chassis: Id { subtype: lldp::CHASSIS_MAC, octets: &chassis.0 },
        port: Id { subtype: lldp::PORT_INTERFACE_NAME, octets: port.as_bytes() },
        ttl: rng.next() as u16,
    };
    let mut out = vec![0xff; 1_000];
    let mut writer = Writer::new(&mut out, &head).unwrap();
    for (kind, text) in [
        (TlvType::PORT_DESCRIPTION, "to the core"),
        (TlvType::SYSTEM_NAME, "leaf"),
        (TlvType::SYSTEM_DESCRIPTION, "a switch that loses nothing"),
    ] {
        if rng.bool() {
            writer.tlv(kind, text.as_bytes()).unwrap();
        }
    }
    if rng.bool() {
        let capabilities = Capabilities { supported: 0x14, enabled: Capabilities::BRIDGE };
        writer.tlv(TlvType::CAPABILITIES, &capabilities.octets()).unwrap();
    }
    for n in 0..DCBX {
        if rng.bool() {
            let (subtype, value) = dcbx(n, rng);
            writer.organizational(OUI, subtype, &value).unwrap();
        }
    }
    if rng.bool() {
        let repr = source_flow(rng);
        let mut value = [0; SourceFlowControl::LEN];
        repr.emit(&mut value).unwrap();
        writer.organizational(source_flow::OUI, source_flow::SUBTYPE, &value).unwrap();
    }
    let len = writer.finish().unwrap();
    out.truncate(len);
    out
}

fn source_flow(rng: &mut Rng) -> SourceFlowControl {
    let (point, proxy, by_flow, by_priority) = (rng.bool(), rng.bool(), rng.bool(), rng.bool());
    let udp_port = 49_152 + rng.below(16_384) as u16;
    SourceFlowControl { point, proxy, by_flow, by_priority, udp_port }
}

/// Number of TLVs of [`dcbx`].
const DCBX: usize = 7;

/// The `n`th TLV of 802.1: its subtype and content.
fn dcbx(n: usize, rng: &mut Rng) -> (u8, Vec<u8>) {
    let mut out = vec![0xff; 100];
    let (subtype, len) = match n {
        0 => {
            let (willing, cbs, classes) = (rng.bool(), rng.bool(), 1 + rng.below(8) as u8);
            let repr = ets::Configuration { willing, cbs, classes, table: table(rng) };
            (subtype::ETS_CONFIGURATION, repr.emit(&mut out))
        }
        1 => {
            (subtype::ETS_RECOMMENDATION, ets::Recommendation { table: table(rng) }.emit(&mut out))
        }
        2 => (subtype::PFC, pfc_configuration(rng).emit(&mut out)),
        3 => {
            let all: Vec<_> = (0..1 + rng.below(8)).map(|_| application(rng)).collect();
            (subtype::APPLICATION, application::emit(&all, &mut out))
        }
        4 => {
            let internal_delay = Duration::from_nanos(u64::from(rng.next() as u32));
            (0xe0, Information { internal_delay, compensation: None }.emit(&mut out))
        }
        5 => (0xe1, isolation(rng).emit(&mut out)),
        _ => {
            let level = Some(rng.below(255) as u8).filter(|_| rng.bool());
            let (device, orientation) = (Device::Bridge, Orientation::Crosslink);
            (0xe2, Topology { device, level, orientation }.emit(&mut out))
        }
    };
    out.truncate(len.unwrap());
    (subtype, out)
}

/// A table whose shares add up to 100.
fn table(rng: &mut Rng) -> EtsTable {
    let storage = rng.below(101) as u8;
    let mut class = [0; 8];
    class.fill_with(|| rng.below(3) as u8);
    EtsTable {
        class,
        bandwidth: [100 - storage, storage, 0, 0, 0, 0, 0, 0],
        algorithm: [2, 2, 0, 0, 0, 0, 0, 0],
    }
}

fn pfc_configuration(rng: &mut Rng) -> pfc::Configuration {
    let (round_trip, ptp, macsec) = (rng.bool(), rng.bool(), rng.bool());
    pfc::Configuration {
        willing: rng.bool(),
        macsec_bound: rng.bool(),
        capability: rng.below(9) as u8,
        enable: PrioritySet(rng.next() as u8),
        proposed: Some(Proposed { round_trip, ptp, macsec }).filter(|_| rng.bool()),
    }
}

fn application(rng: &mut Rng) -> Application {
    let selectors = [Selector::EtherType, Selector::Tcp, Selector::Udp, Selector::AnyPort];
    let selector = selectors[rng.below(4)];
    Application { priority: rng.below(8) as u8, selector, protocol: rng.next() as u16 }
}

fn isolation(rng: &mut Rng) -> CongestionIsolation {
    let v6 = rng.bool();
    let repr = CongestionIsolation {
        queue_map: [0, 2, -2, 0, 0, 0, 0, 0],
        encapsulation: rng.below(513) as u16,
        mac: Mac([2, 0, 0, 0, 0, 1]),
        udp_port: rng.port(),
        address: Some(rng.address(v6)).filter(|_| rng.bool()),
        family: if rng.bool() { FamilyWidth::One } else { FamilyWidth::Two },
    };
    assert!(repr.buffer_len() <= isolation::LEN_MAX);
    repr
}
