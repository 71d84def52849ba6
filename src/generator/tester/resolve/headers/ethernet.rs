//! Ethernet (802.3 3.1) and VLAN tags (802.1Q 9.6); MAC control frames, PAUSE (802.3 31B) and PFC (802.1Qbb,
//! 802.3 31D), each with its Ethernet header; and ARP (RFC 826). Fields are not checked against the standards,
//! so that a test can send invalid frames.

use super::draft::{Field, field};
use super::writer::{Setting, Writer};
use super::{Ends, Known, Notes};
use host::plan::stream::Values;
use otg::model::header::{FlowArp, FlowEthernet, FlowEthernetPause, FlowPfcPause, FlowVlan};
use wire::EtherType;

pub(super) const DST: Field = field("dst", 0, 48, 0);
pub(super) const SRC: Field = field("src", 48, 48, 0);
pub(super) const TYPE: Field = field("ether_type", 96, 16, 0xffff);
/// The queue of the port that sends the flow; not on the wire.
const PFC_QUEUE: Field = field("pfc_queue", 0, 3, 0);

const PRIORITY: Field = field("priority", 0, 3, 0);
const CFI: Field = field("cfi", 3, 1, 0);
const ID: Field = field("id", 4, 12, 0);
/// The type after the tag, as OTG's model follows the order of the wire; the tag's own type is in
/// the header in front.
const TPID: Field = field("tpid", 16, 16, 0xffff);

/// Writes an Ethernet header; `next` is the type of the next header.
pub(super) fn ethernet(
    w: &mut Writer<'_>,
    h: &FlowEthernet,
    next: Option<u16>,
    ends: &Ends,
    notes: &mut Notes,
) {
    let base = w.draft.room(14);
    destination(w, base, h, ends, notes);
    match w.setting(&SRC, h.src.as_ref()) {
        Setting::These(values) => w.draft.vary(base, &SRC, values),
        Setting::Nothing | Setting::Auto => {
            let macs = ends.each(|end| Some(u128::from(end.src.to_u64())));
            w.draft.vary(base, &SRC, macs.unwrap_or(Values::List(vec![SRC.default])));
        }
    }
    w.fill(base, &TYPE, &h.ether_type, next.map_or(TYPE.default, Into::into));
    if let Setting::These(values) = w.setting(&PFC_QUEUE, h.pfc_queue.as_ref()) {
        match values {
            // One value, however often it is listed.
            Values::List(list) if list.iter().all(|v| *v == list[0]) => {
                notes.queue = Some(list[0] as u8);
            }
            _ => {
                let path = format!("{}.{}", w.path, PFC_QUEUE.name);
                let what = "a flow is sent by one queue; give one value, and configure a flow \
                    for each queue";
                w.cx.error(path, what);
            }
        }
    }
}

/// Writes the destination address: the configured one, else the neighbour's.
fn destination(w: &mut Writer<'_>, base: u16, h: &FlowEthernet, ends: &Ends, notes: &mut Notes) {
    if let Setting::These(values) = w.setting(&DST, h.dst.as_ref()) {
        w.draft.vary(base, &DST, values);
        return;
    }
    let known = |end: &super::End| match &end.dst {
        Known::Mac(mac) => u128::from(mac.to_u64()),
        // Filled in at the start, when the neighbour has answered.
        Known::Asked { .. } => 0,
    };
    let Some(values) = ends.list(known) else {
        w.draft.set(base, &DST, DST.default);
        return;
    };
    for (nth, end) in ends.0.iter().enumerate() {
        if let Known::Asked { interface, neighbour } = &end.dst {
            notes.asked.push((base, nth, interface.clone(), *neighbour));
        }
    }
    // Recorded even if all values are equal, because resolved addresses are filled in later.
    w.draft.vary_always(base, &DST, values);
}

/// Writes a VLAN tag; `next` is the type of the next header.
pub(super) fn vlan(w: &mut Writer<'_>, h: &FlowVlan, next: Option<u16>, notes: &mut Notes) {
    let base = w.draft.room(4);
    // The outermost tag tells the priority.
    notes.tag.get_or_insert(base);
    w.put_all(base, &[(PRIORITY, &h.priority), (CFI, &h.cfi), (ID, &h.id)]);
    w.fill(base, &TPID, &h.tpid, next.map_or(TPID.default, Into::into));
}

/// The address of MAC control frames (802.3 31B.1).
const PAUSE_ADDRESS: u128 = 0x0180_c200_0001;

const CONTROL_DST: Field = field("dst", 0, 48, PAUSE_ADDRESS);
const CONTROL_SRC: Field = field("src", 48, 48, 0);
const CONTROL_TYPE: Field = field("ether_type", 96, 16, EtherType::MAC_CONTROL.0 as u128);
const PAUSE: Field = field("control_op_code", 112, 16, 0x0001);
const TIME: Field = field("time", 128, 16, 0);

const PFC: Field = field("control_op_code", 112, 16, 0x0101);
const VECTOR: Field = field("class_enable_vector", 128, 16, 0);
const TIMES: [Field; 8] = [
    field("pause_class_0", 144, 16, 0),
    field("pause_class_1", 160, 16, 0),
    field("pause_class_2", 176, 16, 0),
    field("pause_class_3", 192, 16, 0),
    field("pause_class_4", 208, 16, 0),
    field("pause_class_5", 224, 16, 0),
    field("pause_class_6", 240, 16, 0),
    field("pause_class_7", 256, 16, 0),
];

pub(super) fn pfc(w: &mut Writer<'_>, h: &FlowPfcPause) {
    // Up to the last of the times; the size of the frame adds the padding.
    let base = w.draft.room(34);
    w.put_all(base, &[(CONTROL_DST, &h.dst), (CONTROL_SRC, &h.src)]);
    w.put_all(
        base,
        &[
            (CONTROL_TYPE, &h.ether_type),
            (PFC, &h.control_op_code),
            (VECTOR, &h.class_enable_vector),
        ],
    );
    for (field, pattern) in TIMES.iter().zip(h.times()) {
        w.put(base, field, pattern);
    }
}

pub(super) fn pause(w: &mut Writer<'_>, h: &FlowEthernetPause) {
    let base = w.draft.room(18);
    w.put_all(base, &[(CONTROL_DST, &h.dst), (CONTROL_SRC, &h.src)]);
    w.put_all(base, &[(CONTROL_TYPE, &h.ether_type), (PAUSE, &h.control_op_code), (TIME, &h.time)]);
}

const HARDWARE_TYPE: Field = field("hardware_type", 0, 16, 1);
const PROTOCOL_TYPE: Field = field("protocol_type", 16, 16, 0x0800);
const HARDWARE_LENGTH: Field = field("hardware_length", 32, 8, 6);
const PROTOCOL_LENGTH: Field = field("protocol_length", 40, 8, 4);
const OPERATION: Field = field("operation", 48, 16, 1);
const SENDER_MAC: Field = field("sender_hardware_addr", 64, 48, 0);
const SENDER_IP: Field = field("sender_protocol_addr", 112, 32, 0);
const TARGET_MAC: Field = field("target_hardware_addr", 144, 48, 0);
const TARGET_IP: Field = field("target_protocol_addr", 192, 32, 0);

pub(super) fn arp(w: &mut Writer<'_>, h: &FlowArp) {
    let base = w.draft.room(28);
    w.put_all(
        base,
        &[
            (HARDWARE_TYPE, &h.hardware_type),
            (PROTOCOL_TYPE, &h.protocol_type),
            (HARDWARE_LENGTH, &h.hardware_length),
            (PROTOCOL_LENGTH, &h.protocol_length),
            (OPERATION, &h.operation),
        ],
    );
    w.put_all(
        base,
        &[(SENDER_MAC, &h.sender_hardware_addr), (TARGET_MAC, &h.target_hardware_addr)],
    );
    w.put_all(base, &[(SENDER_IP, &h.sender_protocol_addr), (TARGET_IP, &h.target_protocol_addr)]);
}
