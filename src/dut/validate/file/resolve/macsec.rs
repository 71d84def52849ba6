//! Validation of MACsec at the tester's ports.

use super::super::raw::DutFile;
use crate::setup::{PortMacsec, Setup};
use config::raw::Macsec;
use config::{Cx, OWN, Place, SecuredPort, check_whole, name_channels, secy_plan};
use discovery::Role;
use secure::{PfcAccept, Validate};
use sim::{NetworkPlan, NodeKind};

/// Sets the SecY of each port with MACsec. Channels of a virtual device get their names by [`named`].
pub(super) fn resolve(cx: &mut Cx, at: &Place<'_>, raw: &DutFile, setup: &mut Setup) {
    let is_virtual = raw.device.is_some();
    for (n, (said, port)) in raw.ports.iter().zip(&mut setup.ports).enumerate() {
        let Some(said) = said.macsec.as_deref() else { continue };
        let at = at.key("ports").index(n).key("macsec");
        testers_own(cx, &at, said);
        let mac = if is_virtual { OWN } else { port.mac };
        let secured = SecuredPort { mac, peer: is_virtual, role: Role::Station };
        let mut plan = secy_plan(cx, &at, said, secured);
        // All that the DUT sends is read, and judged by the tests.
        plan.accept_pfc = PfcAccept::Both;
        plan.validate = Validate::Strict;
        plan.replay_window = None;
        if !is_virtual {
            name_channels(&mut plan, port.mac, None);
            check_whole(cx, &at, &plan);
        }
        port.macsec = Some(Box::new(PortMacsec { plan, mode: None }));
    }
    let at = at.key("expected").key("macsec");
    for (name, mode) in &raw.expected.macsec {
        let port = setup.ports.iter_mut().find(|port| port.name == *name);
        match port.and_then(|port| port.macsec.as_mut()) {
            Some(macsec) => macsec.mode = Some(*mode),
            None => {
                let what = format!("no port `{name}` has `macsec`; name one that has");
                cx.error(&at.key(name), what);
            }
        }
    }
}

/// Refuses what the tester decides.
fn testers_own(cx: &mut Cx, at: &Place<'_>, said: &Macsec) {
    let fields = [
        ("accept_pfc", said.accept_pfc.is_some()),
        ("validate", said.validate.is_some()),
        ("replay", said.replay != Default::default()),
        ("uncontrolled", !said.uncontrolled.is_empty()),
        ("rollover_at", said.rollover_at.is_some()),
    ];
    for (field, _) in fields.into_iter().filter(|(_, given)| *given) {
        cx.error(&at.key(field), "the tests decide that of the tester's end; leave it out");
    }
    if said.protect.pfc.is_some() {
        let what = "`expected.macsec` says what becomes of PFC; leave it out";
        cx.error(&at.key("protect").key("pfc"), what);
    }
}

/// Names the channels of a virtual device's ports as its lab does.
pub(super) fn named(cx: &mut Cx, at: &Place<'_>, network: &NetworkPlan, setup: &mut Setup) {
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
            cx.error(at, what);
            continue;
        };
        let own = far.receive.first().map_or(port.mac, |sc| sc.sci.mac);
        name_channels(&mut macsec.plan, own, Some(far.sci));
    }
}
