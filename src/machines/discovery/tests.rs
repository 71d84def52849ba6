//! An agent against hand-made frames, and two agents against each other.

mod negotiation;
mod pair;
mod recognition;
mod table;
mod timers;

use super::*;
use ground::time::{Duration, Instant};
use ground::units::{Mac, PrioritySet};
use wire::lldp::{self, Id, Repr, TlvType, View, Writer};

/// Returns the address of station `last`.
fn mac(last: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, last])
}

/// Returns the time `ms` after time zero.
fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn lldp_plan(last: u8) -> LldpPlan {
    LldpPlan::new(mac(last), mac(last), format!("port{last}"))
}

fn pfc_plan(willing: bool, enable: u8) -> DcbxPfcPlan {
    DcbxPfcPlan {
        willing,
        macsec_bound: false,
        capability: 8,
        enable: PrioritySet(enable),
        form: PfcForm::Published,
    }
}

fn dcbx_plan(last: u8, willing: bool, enable: u8) -> DcbxPlan {
    DcbxPlan { pfc: Some(pfc_plan(willing, enable)), ..DcbxPlan::new(mac(last)) }
}

/// Returns an agent with LLDP alone, its link up since time zero.
fn plain(last: u8) -> Lldp {
    started(Lldp::new(&lldp_plan(last), None))
}

fn started(mut agent: Lldp) -> Lldp {
    agent.start(Instant::ZERO);
    agent
}

/// Returns the frame that the agent sends at `now`, if any.
fn taken(agent: &mut Lldp, now: Instant) -> Option<Vec<u8>> {
    let mut buf = [0; FRAME_MAX];
    agent.take(now, &mut buf).map(|len| buf[..len].to_vec())
}

/// Returns a frame of neighbour `last` with a TTL and the TLVs that `more` adds.
fn heard(last: u8, ttl: u16, more: impl Fn(&mut Writer<'_>)) -> Vec<u8> {
    let mut buf = [0; 1500];
    let head = Repr {
        dst: lldp::DESTINATION,
        src: mac(last),
        chassis: Id { subtype: lldp::CHASSIS_MAC, octets: &mac(last).0 },
        port: Id { subtype: lldp::PORT_INTERFACE_NAME, octets: b"eth0" },
        ttl,
    };
    let mut writer = Writer::new(&mut buf, &head).unwrap();
    more(&mut writer);
    let len = writer.finish().unwrap();
    buf[..len].to_vec()
}

fn quiet(_: &mut Writer<'_>) {}

fn events(agent: &mut Lldp) -> Vec<Event> {
    core::iter::from_fn(|| agent.next_event()).collect()
}
