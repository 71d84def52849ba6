//! MAC control frames, PAUSE (802.3 31B) and PFC (802.1Qbb, 802.3 31D), each with its Ethernet
//! header; and ARP (RFC 826). Fields are not checked against the standards, so that a test can
//! send invalid frames.

use super::draft::{Field, field};
use super::writer::Writer;
use otg::model::header::{FlowArp, FlowEthernetPause, FlowPfcPause};
use wire::EtherType;

/// The address of MAC control frames (802.3 31B.1).
const PAUSE_ADDRESS: u128 = 0x0180_c200_0001;

const DST: Field = field("dst", 0, 48, PAUSE_ADDRESS);
const SRC: Field = field("src", 48, 48, 0);
const TYPE: Field = field("ether_type", 96, 16, EtherType::MAC_CONTROL.0 as u128);
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
    let base = w.draft.room(34);
    w.put_all(base, &[(DST, &h.dst), (SRC, &h.src)]);
    w.put_all(
        base,
        &[(TYPE, &h.ether_type), (PFC, &h.control_op_code), (VECTOR, &h.class_enable_vector)],
    );
    for (field, said) in TIMES.iter().zip(h.times()) {
        w.put(base, field, said);
    }
}

pub(super) fn pause(w: &mut Writer<'_>, h: &FlowEthernetPause) {
    let base = w.draft.room(18);
    w.put_all(base, &[(DST, &h.dst), (SRC, &h.src)]);
    w.put_all(base, &[(TYPE, &h.ether_type), (PAUSE, &h.control_op_code), (TIME, &h.time)]);
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
