//! What a DUT file does not say of a virtual device and its lab knows, and MACsec at the tester's ports.

use config::quantity::LinkRate;
use config::raw::{Macsec, PhyName};
use config::{
    Cx, OWN, Place, SecuredPort, check_whole, has_phy, name_channels, read_text, secy_plan, tree,
};
use discovery::Role;
use ground::units::Bytes;
use lab::raw::{Lab, Link, Star, Topology};
use secure::{PfcAccept, Validate};
use sim::{NetworkPlan, NodeKind};

use crate::file::raw::{self, DutFile};
use crate::setup::{PortMacsec, Setup};

/// Returns the lab of a virtual device.
pub(super) fn lab(
    cx: &mut Cx,
    place: &Place<'_>,
    device: &raw::Virtual,
    raw: &DutFile,
) -> Option<Lab> {
    let place = place.key("virtual");
    match (&device.profile, &device.lab, &device.file) {
        (Some(profile), None, None) => {
            let star = Star { hosts: raw.ports.len() as u32 };
            let mut lab = Lab {
                topology: Some(Topology { star: Some(star), ..Topology::default() }),
                ..Lab::default()
            };
            lab.profiles.insert("dut".to_owned(), (**profile).clone());
            // A virtual device needs no PHY where there is no table of its delays.
            let phy = |rate| (!has_phy(rate)).then_some(PhyName::None);
            lab.defaults.links.rate = Some(LinkRate(raw.rate.0));
            lab.defaults.links.phy = phy(raw.rate.0);
            // The star's own names of its nodes.
            let others = raw.ports.iter().enumerate().filter(|(_, port)| port.rate.is_some());
            lab.links.extend(others.map(|(n, port)| Link {
                from: Some(format!("h{}", n + 1)),
                to: Some("s1".to_owned()),
                rate: port.rate,
                phy: port.rate.and_then(|LinkRate(rate)| phy(rate)),
                ..Link::default()
            }));
            Some(lab)
        }
        (None, Some(lab), None) => Some((**lab).clone()),
        (None, None, Some(file)) => {
            let read = read_text(file, "lab file").and_then(|(name, text)| {
                let one = |finding| config::ConfigError::one(&name, finding);
                let root = tree::read(&text, "the file is empty").map_err(one)?;
                lab::raw::read(&root).map_err(one)
            });
            read.map_err(|error| cx.error(&place.key("file"), error.to_string())).ok()
        }
        _ => {
            cx.error(&place, "a virtual device is exactly one of `profile`, `lab` and `file`");
            None
        }
    }
}

/// Sets the addresses of a virtual device's ports that are not in the file.
fn addresses(network: &NetworkPlan, setup: &mut Setup) {
    for port in setup.ports.iter_mut().filter(|port| port.dut_mac.is_none()) {
        let host = network.nodes.iter().position(|node| node.name() == port.location);
        let ends = network.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let mut ends = ends.filter(|(end, _)| Some(end.node.index()) == host);
        port.dut_mac =
            ends.next().and_then(|(_, far)| match &network.nodes[far.node.index()].kind {
                NodeKind::Switch(switch) => Some(switch.ports.get(far.port.index())?.mac),
                NodeKind::Host(_) => None,
            });
    }
}

/// Sets what is known of a virtual device and not in the file: the addresses of its ports, the delay of its
/// links, and the times in which its buffer is full and empty again.
pub(super) fn device(cx: &mut Cx, root: &Place<'_>, lab: &Lab, raw: &DutFile, setup: &mut Setup) {
    let place = &root.key("virtual");
    let network = match lab::resolve_raw(lab) {
        Ok((plan, _)) => plan.network,
        Err(error) => {
            error.findings.iter().for_each(|f| cx.error(place, format!("{}: {}", f.path, f.what)));
            return;
        }
    };
    if raw.cable.is_some() {
        let what = "the links of a virtual device have their own delay; leave it out, or give the links of \
                    `virtual.lab` a length";
        cx.error(&root.key("cable"), what);
    }
    name_by_lab(cx, place, &network, setup);
    addresses(&network, setup);
    if raw.cable.is_none() {
        // The interfaces of another rate have another delay.
        let common = network.links.iter().filter(|link| link.rate == setup.rate);
        // The longest way there and back: limits of time hold at every port.
        let both = common.map(|link| link.ab.delay + link.ba.delay);
        setup.cable = both.max().unwrap_or_default();
    }
    // The shortest limit on the way decides.
    let longest = network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(plan) => Some(plan.max_frame),
        NodeKind::Host(_) => None,
    });
    let longest = longest.min().filter(|longest| setup.max_frame > *longest);
    if let (Some(longest), None) = (longest, raw.max_frame) {
        setup.max_frame = longest;
    } else if let Some(longest) = longest {
        let what = format!(
            "the virtual device forwards frames of up to {longest} octets; give it this `max_frame`, too, or \
             lower this one"
        );
        cx.error(&root.key("max_frame"), what);
    }
    let buffers = network.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Switch(plan) => {
            Some(u64::from(plan.buffer.total.0) * u64::from(plan.buffer.cell_bytes))
        }
        NodeKind::Host(_) => None,
    });
    // Twice the time in which a port sends the largest buffer, so that it is full and empty again for certain.
    let full = setup.slowest().time_for(Bytes(buffers.max().unwrap_or(0))).saturating_mul(2);
    if raw.times.hold.is_none() {
        setup.times.hold = setup.times.hold.max(full);
    }
    if raw.times.drain.is_none() {
        setup.times.drain = setup.times.drain.max(full);
    }
}

/// Sets the SecY of each port with MACsec. Channels of a virtual device get their names by [`name_by_lab`].
pub(super) fn macsec(cx: &mut Cx, place: &Place<'_>, raw: &DutFile, setup: &mut Setup) {
    let is_virtual = raw.device.is_some();
    for (n, (given, port)) in raw.ports.iter().zip(&mut setup.ports).enumerate() {
        let Some(given) = given.macsec.as_deref() else { continue };
        let place = place.key("ports").index(n).key("macsec");
        testers_own(cx, &place, given);
        // The SecY of a virtual device is known only with its lab; `name_by_lab` replaces the placeholder.
        let mac = if is_virtual { OWN } else { port.mac };
        let secured = SecuredPort { mac, peer: is_virtual, role: Role::Station };
        let mut plan = secy_plan(cx, &place, given, secured);
        // All that the DUT sends is read, and judged by the tests.
        plan.accept_pfc = PfcAccept::Both;
        plan.validate = Validate::Strict;
        plan.replay_window = None;
        if !is_virtual {
            name_channels(&mut plan, port.mac, None);
            check_whole(cx, &place, &plan);
        }
        port.macsec = Some(Box::new(PortMacsec { plan, mode: None }));
    }
    let place = place.key("expected").key("macsec");
    for (name, mode) in &raw.expected.macsec {
        let port = setup.ports.iter_mut().find(|port| port.name == *name);
        match port.and_then(|port| port.macsec.as_mut()) {
            Some(macsec) => macsec.mode = Some(*mode),
            None => {
                let what = format!("no port `{name}` has `macsec`; name one that has");
                cx.error(&place.key(name), what);
            }
        }
    }
}

/// Refuses what the tester decides.
fn testers_own(cx: &mut Cx, place: &Place<'_>, given: &Macsec) {
    let fields = [
        ("accept_pfc", given.accept_pfc.is_some()),
        ("validate", given.validate.is_some()),
        ("replay", given.replay != Default::default()),
        ("uncontrolled", !given.uncontrolled.is_empty()),
        ("rollover_at", given.rollover_at.is_some()),
    ];
    for (field, _) in fields.into_iter().filter(|(_, given)| *given) {
        cx.error(&place.key(field), "the tests decide that of the tester's end; leave it out");
    }
    if given.protect.pfc.is_some() {
        let what = "`expected.macsec` says what becomes of PFC; leave it out";
        cx.error(&place.key("protect").key("pfc"), what);
    }
}

/// Names the channels of a virtual device's ports as its lab does.
fn name_by_lab(cx: &mut Cx, place: &Place<'_>, network: &NetworkPlan, setup: &mut Setup) {
    for port in &mut setup.ports {
        let Some(macsec) = &mut port.macsec else { continue };
        let host = network.nodes.iter().position(|node| node.name() == port.location);
        let ends = network.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
        let mut ends = ends.filter(|(end, _)| Some(end.node.index()) == host);
        let far = ends.next().and_then(|(_, far)| match &network.nodes[far.node.index()].kind {
            NodeKind::Switch(switch) => switch.ports.get(far.port.index())?.secy.as_deref(),
            NodeKind::Host(_) => None,
        });
        let Some(far) = far else {
            let what = format!(
                "port `{}` has `macsec`, and the virtual device has none there; add it to the link in its \
                 lab",
                port.name
            );
            cx.error(place, what);
            continue;
        };
        // The device expects the channel that its lab names, so the tester sends in that one.
        let own = far.receive.first().map_or(port.mac, |sc| sc.sci.mac);
        name_channels(&mut macsec.plan, own, Some(far.sci));
    }
}
