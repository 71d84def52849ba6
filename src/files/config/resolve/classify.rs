//! Resolves classification: frame to priority, priority to group and queue, and VLAN membership.

use super::cx::by_number;
use super::{Cx, Place};
use crate::raw::{self, Range};
use ground::units::{Priority, PriorityGroup, TrafficClass, Vid};
use std::collections::BTreeMap;
use switch::{ClassifyPlan, Trust, VlanMember, VlanPlan};

/// Default VLAN of a port (802.1Q 9.6: the default PVID).
const VID_DEFAULT: u16 = 1;

/// Resolves the priority maps of a port.
pub fn classify(cx: &mut Cx, at: &Place<'_>, raw: &raw::Port) -> ClassifyPlan {
    let maps_at = at.key("maps");
    let maps = &raw.maps;
    let default_at = at.key("default_priority");
    let default = cx.ranged(&default_at, raw.default_priority.unwrap_or(0), (0, 7), 0);
    // PAUSE stops the whole link, so all priorities share one group.
    let grouped: fn(u8) -> u8 = if raw.pause.is_some() { |_| 0 } else { |p| p };
    let mut map = |field: &str, said, default: fn(u8) -> u8, out: &mut [u8]| {
        fill(cx, &maps_at.key(field), said, default, out);
    };
    let (mut pcp, mut dscp, mut group, mut class) = ([0; 8], [0; 64], [0; 8], [0; 8]);
    map("pcp_to_priority", &maps.pcp_to_priority, |n| n, &mut pcp);
    map("dscp_to_priority", &maps.dscp_to_priority, |n| n >> 3, &mut dscp);
    map("priority_to_group", &maps.priority_to_group, grouped, &mut group);
    map("priority_to_queue", &maps.priority_to_queue, |n| n, &mut class);
    ClassifyPlan {
        trust: match raw.trust.unwrap_or_default() {
            raw::Trust::Pcp => Trust::Pcp,
            raw::Trust::Dscp => Trust::Dscp,
            raw::Trust::PcpThenDscp => Trust::PcpThenDscp,
            raw::Trust::DscpThenPcp => Trust::DscpThenPcp,
            raw::Trust::Port => Trust::Port,
        },
        pcp: pcp.map(priority),
        dscp: dscp.map(priority),
        default: priority(default),
        group: group.map(|n| PriorityGroup::ALL[usize::from(n)]),
        class: class.map(|n| TrafficClass::ALL[usize::from(n)]),
    }
}

fn priority(n: u8) -> Priority {
    Priority::ALL[usize::from(n)]
}

/// Fills a map from its default and its entries; all values in the result are below 8.
fn fill(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &BTreeMap<Range, u8>,
    default: fn(u8) -> u8,
    out: &mut [u8],
) {
    for (n, slot) in (0..).zip(out.iter_mut()) {
        *slot = default(n);
    }
    for (n, (range, to)) in by_number(cx, at, said, out.len() as u16 - 1) {
        let slot = &mut out[usize::from(n)];
        *slot = cx.ranged(&at.key(&range.to_string()), *to, (0, 7), *slot);
    }
}

/// Resolves VLAN membership.
pub fn vlan(cx: &mut Cx, at: &Place<'_>, raw: &raw::Vlan) -> VlanPlan {
    let mut members: Vec<VlanMember> = Vec::new();
    for (field, list, tagged) in [("untagged", &raw.untagged, false), ("tagged", &raw.tagged, true)]
    {
        for (i, range) in list.iter().enumerate() {
            let here = at.key(field).index(i);
            for n in range.iter() {
                let Some(vid) = vid(cx, &here, n) else { break };
                if members.iter().any(|m| m.vid == vid) {
                    cx.error(&here, format!("VLAN {vid} is given twice; tagged or untagged, once"));
                    break;
                }
                members.push(VlanMember { vid, tagged });
            }
        }
    }
    let pvid = match raw.pvid {
        Some(0) => None,
        Some(n) => vid(cx, &at.key("pvid"), n),
        None if members.is_empty() => Vid::new(VID_DEFAULT),
        None => {
            let mut untagged = members.iter().filter(|m| !m.tagged);
            let first = untagged.next().map(|m| m.vid);
            if untagged.next().is_some() {
                let what = "several untagged VLANs; `pvid` must say which one untagged frames \
                            come in on";
                cx.error(at, what);
            }
            first
        }
    };
    if let Some(vid) = pvid {
        match members.iter().find(|m| m.vid == vid) {
            None => members.push(VlanMember { vid, tagged: false }),
            Some(m) if m.tagged => cx.warn(
                &at.key("pvid"),
                format!("untagged frames come in on VLAN {vid} but its frames leave tagged"),
            ),
            Some(_) => {}
        }
    }
    members.sort_by_key(|m| m.vid);
    VlanPlan { pvid, members }
}

/// Checks that a number is a valid VLAN ID.
pub fn vid(cx: &mut Cx, at: &Place<'_>, n: u16) -> Option<Vid> {
    let vid = Vid::new(n);
    if vid.is_none() {
        cx.error(
            at,
            format!("VLAN {n} cannot be used; choose 1 to 4094 (0 and 4095 are reserved)"),
        );
    }
    vid
}
