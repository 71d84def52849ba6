//! Ethernet (802.3 3.1) and VLAN tags (802.1Q 9.6).

use super::draft::{Field, field};
use super::writer::{Said, Writer};
use super::{Ends, Known, Notes};
use host::plan::stream::Values;
use otg::model::header::{FlowEthernet, FlowVlan};

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
    match w.said(&SRC, h.src.as_ref()) {
        Said::These(values) => w.draft.vary(base, &SRC, values),
        Said::Nothing | Said::Auto => {
            let macs = ends.each(|end| Some(u128::from(end.src.to_u64())));
            w.draft.vary(base, &SRC, macs.unwrap_or(Values::List(vec![SRC.default])));
        }
    }
    w.fill(base, &TYPE, &h.ether_type, next.map_or(TYPE.default, Into::into));
    if let Said::These(values) = w.said(&PFC_QUEUE, h.pfc_queue.as_ref()) {
        match values {
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
    if let Said::These(values) = w.said(&DST, h.dst.as_ref()) {
        w.draft.vary(base, &DST, values);
        return;
    }
    let known = |end: &super::End| match &end.dst {
        Known::Mac(mac) => u128::from(mac.to_u64()),
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
    notes.tag.get_or_insert(base);
    w.put_all(base, &[(PRIORITY, &h.priority), (CFI, &h.cfi), (ID, &h.id)]);
    w.fill(base, &TPID, &h.tpid, next.map_or(TPID.default, Into::into));
}
