//! Resolves the bridge and the router.

use std::net::IpAddr;

use ipnet::IpNet;

use super::device::made_up_mac;
use super::port::{VID_DEFAULT, vid};
use super::{Cx, Draft, Place};
use crate::raw;
use crate::unknown_name;
use ground::time::Duration;
use ground::units::{PortId, Vid};
use switch::{BridgePlan, InterfacePlan, NeighbourPlan, RoutePlan, RoutingPlan, StaticEntry};

/// Range of the ageing time (802.1Q Table 8-6).
const AGEING: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(1_000_000));
const AGEING_DEFAULT: Duration = Duration::from_secs(300);
const TABLE: (u32, u32) = (1, 1 << 20);
const TABLE_DEFAULT: u32 = 16_384;

/// Resolves the table of learnt addresses.
pub fn learning(cx: &mut Cx, place: &Place<'_>, raw: raw::Learning) -> BridgePlan {
    let table = raw.table_size.unwrap_or(TABLE_DEFAULT);
    let table_size = cx.ranged(&place.key("table_size"), table, TABLE, TABLE_DEFAULT) as usize;
    let ageing = raw.ageing.map_or(AGEING_DEFAULT, |s| s.0);
    let ageing = cx.ranged(&place.key("ageing"), ageing, AGEING, AGEING_DEFAULT);
    // Half of the table, so that one port cannot fill it.
    let limit_default = (table_size as u32).div_ceil(2);
    let limit = raw.addresses_per_port.unwrap_or(limit_default);
    let port_limit =
        cx.ranged(&place.key("addresses_per_port"), limit, TABLE, limit_default) as usize;
    BridgePlan { table_size, port_limit, ageing, ..BridgePlan::default() }
}

/// Resolves the learning bridge.
pub fn bridge(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Bridge,
    drafts: &[Draft<'_>],
) -> BridgePlan {
    let raw::Bridge { table_size, addresses_per_port, ageing, .. } = *raw;
    let plan = learning(cx, place, raw::Learning { table_size, addresses_per_port, ageing });
    let table_size = plan.table_size;
    let mut statics: Vec<StaticEntry> = Vec::new();
    for (i, entry) in raw.statics.iter().enumerate() {
        let place = place.key("statics").index(i);
        let vid = vid(cx, &place.key("vlan"), entry.vlan.unwrap_or(VID_DEFAULT));
        let mac = cx.mac(&place.key("mac"), &entry.mac);
        let port = port(cx, &place.key("port"), &entry.port, drafts, vid);
        let (Some(vid), Some(mac), Some(port)) = (vid, mac, port) else { continue };
        if statics.iter().any(|s| s.vid == vid && s.mac == mac) {
            cx.error(&place.key("mac"), format!("{mac} is given twice in VLAN {vid}"));
        }
        statics.push(StaticEntry { vid, mac, port });
    }
    if statics.len() > table_size {
        let what = format!("{} static addresses in a table of {table_size}", statics.len());
        cx.error(&place.key("table_size"), what);
    }
    BridgePlan { statics, ..plan }
}

/// Resolves the name of a port, which must be a member of the VLAN.
fn port(
    cx: &mut Cx,
    place: &Place<'_>,
    name: &str,
    drafts: &[Draft<'_>],
    vid: Option<Vid>,
) -> Option<PortId> {
    let Some(i) = drafts.iter().position(|d| d.plan.name == name) else {
        let names: Vec<&str> = drafts.iter().map(|d| d.plan.name.as_str()).collect();
        cx.error(place, unknown_name("port", name, &names));
        return None;
    };
    if let Some(vid) = vid {
        if !drafts[i].plan.vlan.members.iter().any(|m| m.vid == vid) {
            cx.error(
                place,
                format!("port {name} is not in VLAN {vid}; add it there or name another"),
            );
        }
    }
    PortId::new(u16::try_from(i).ok()?)
}

/// A directly connected network.
struct Connected {
    net: IpNet,
    interface: usize,
}

/// A router that is being resolved.
#[derive(Default)]
struct Router {
    connected: Vec<Connected>,
    plan: RoutingPlan,
}

impl Router {
    /// Returns the interface whose network has an address.
    fn towards(&self, ip: IpAddr) -> Option<usize> {
        self.connected.iter().find(|c| c.net.contains(&ip)).map(|c| c.interface)
    }
}

/// Resolves the router.
pub fn routing(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Routing,
    drafts: &[Draft<'_>],
    switch: &str,
) -> RoutingPlan {
    let mut router = Router::default();
    for (i, interface) in raw.interfaces.iter().enumerate() {
        let place = place.key("interfaces").index(i);
        let Some(vid) = vid(cx, &place.key("vlan"), interface.vlan) else { continue };
        if router.plan.interfaces.iter().any(|f| f.vid == vid) {
            cx.error(&place.key("vlan"), format!("VLAN {vid} has an interface already"));
        }
        if !drafts.iter().any(|d| d.plan.vlan.members.iter().any(|m| m.vid == vid)) {
            cx.error(&place.key("vlan"), format!("no port is in VLAN {vid}"));
        }
        let mac = interface.mac.as_deref().and_then(|m| cx.mac(&place.key("mac"), m));
        // By number in the plan: interfaces with errors are left out.
        let index = router.plan.interfaces.len();
        let addresses =
            addresses(cx, &place.key("addresses"), interface, index, &mut router.connected);
        // All interfaces have the address of the system, as no two of them share a VLAN.
        let mac = mac.unwrap_or_else(|| made_up_mac(switch, 0));
        router.plan.interfaces.push(InterfacePlan { vid, mac, addresses });
    }
    // Connected networks come first: they are routes without a next hop.
    router.plan.routes =
        router.connected.iter().map(|c| route(&c.net, None, c.interface)).collect();
    for (i, route) in raw.routes.iter().enumerate() {
        static_route(cx, &place.key("routes").index(i), route, &mut router);
    }
    for (i, neighbour_raw) in raw.neighbours.iter().enumerate() {
        neighbour(cx, &place.key("neighbours").index(i), neighbour_raw, drafts, &mut router);
    }
    for (i, route) in raw.routes.iter().enumerate() {
        // Asked only now, as neighbours may follow their routes in the file.
        let known = |ip: &IpAddr| router.plan.neighbours.iter().any(|n| n.ip == *ip);
        if route.via.parse::<IpAddr>().is_ok_and(|ip| !known(&ip)) {
            let what = format!("{} is no neighbour yet; what goes there is dropped", route.via);
            cx.warn(&place.key("routes").index(i).key("via"), what);
        }
    }
    router.plan
}

fn route(net: &IpNet, via: Option<IpAddr>, interface: usize) -> RoutePlan {
    RoutePlan { network: net.network(), prefix_len: net.prefix_len(), via, interface }
}

/// Resolves the addresses of an interface and adds their networks to the connected ones.
fn addresses(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Interface,
    interface: usize,
    connected: &mut Vec<Connected>,
) -> Vec<IpAddr> {
    if raw.addresses.is_empty() {
        cx.error(place, "an interface needs at least one address, such as 10.0.1.1/24");
    }
    let mut out = Vec::new();
    for (i, text) in raw.addresses.iter().enumerate() {
        let place = place.index(i);
        let Ok(net) = text.parse::<IpNet>() else {
            cx.error(&place, format!("`{text}` is no address with a prefix; write 10.0.1.1/24"));
            continue;
        };
        let ip = net.addr();
        if ip.is_unspecified() || ip.is_multicast() || ip.is_loopback() {
            cx.error(&place, format!("{ip} cannot be the address of a router"));
        }
        let net = net.trunc();
        // A next hop must be in the network of one interface; one interface may have several addresses in it.
        let overlap = |c: &&Connected| c.net.contains(&net) || net.contains(&c.net);
        match connected.iter().find(overlap) {
            Some(c) if c.interface != interface || c.net != net => {
                cx.error(&place, format!("{net} overlaps {}; networks must be apart", c.net));
            }
            Some(_) => {}
            None => connected.push(Connected { net, interface }),
        }
        out.push(ip);
    }
    out
}

fn static_route(cx: &mut Cx, place: &Place<'_>, raw: &raw::Route, router: &mut Router) {
    let Ok(to) = raw.to.parse::<IpNet>() else {
        return cx
            .error(&place.key("to"), format!("`{}` is no network; write 10.2.0.0/16", raw.to));
    };
    if to != to.trunc() {
        cx.error(&place.key("to"), format!("{to} has host bits; the network is {}", to.trunc()));
    }
    let Ok(via) = raw.via.parse::<IpAddr>() else {
        return cx.error(&place.key("via"), format!("`{}` is no IP address", raw.via));
    };
    if via.is_ipv4() != to.addr().is_ipv4() {
        return cx.error(&place.key("via"), format!("{via} and {to} are of different IP versions"));
    }
    let Some(interface) = router.towards(via) else {
        let what = format!("{via} is in no connected network; a next hop must be a neighbour");
        return cx.error(&place.key("via"), what);
    };
    let new = route(&to, Some(via), interface);
    if router.plan.routes.iter().any(|r| r.network == new.network && r.prefix_len == new.prefix_len)
    {
        return cx.error(&place.key("to"), format!("there is a route to {to} already"));
    }
    router.plan.routes.push(new);
}

fn neighbour(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Neighbour,
    drafts: &[Draft<'_>],
    router: &mut Router,
) {
    let mac = cx.mac(&place.key("mac"), &raw.mac);
    let Ok(ip) = raw.ip.parse::<IpAddr>() else {
        return cx.error(&place.key("ip"), format!("`{}` is no IP address", raw.ip));
    };
    let Some(interface) = router.towards(ip) else {
        let what = format!("{ip} is in no connected network; add it to `interfaces` first");
        return cx.error(&place.key("ip"), what);
    };
    // Frames to the neighbour leave in the VLAN of its interface, so its port must be in it.
    let vid = router.plan.interfaces.get(interface).map(|f| f.vid);
    let port = port(cx, &place.key("port"), &raw.port, drafts, vid);
    if router.plan.neighbours.iter().any(|n| n.ip == ip) {
        return cx.error(&place.key("ip"), format!("neighbour {ip} is given twice"));
    }
    if let (Some(mac), Some(port)) = (mac, port) {
        router.plan.neighbours.push(NeighbourPlan { ip, mac, interface, port });
    }
}
