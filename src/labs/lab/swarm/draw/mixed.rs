//! Generates labs with two switch profiles, and changes of groups and marking curves during the
//! run.

use super::chance::Chance;
use super::profile::{self, Drawn, dynamic};
use super::shape::SLOW;
use crate::raw::{EcnFault, Fault, FaultKind, GroupFault, Lab, Members, Profile, Short};
use config::quantity::{Size, Span};
use config::raw::{self, Lossless, MarkPoint, Shared};
use ground::units::BitsPerSec;

/// Name of the second profile.
const OTHER: &str = "other";
/// Buffer profiles that groups get only by a change.
const CHANGED: &str = "changed";
const CHANGED_LOSSY: &str = "changed_lossy";

/// Gives some switches of a lab a second profile with other thresholds, cells, pauses, marking and
/// weights. The lossless priorities are the same, because a switch whose peer ignores its pauses
/// must lose frames.
pub(super) fn kinds(chance: &mut Chance, lab: &mut Lab, first: &Drawn, slowest: BitsPerSec) {
    let Some(of_first) = lab.profiles.get(super::PROFILE) else { return };
    let mut other = profile::another(chance, first, slowest).profile;
    let keep = of_first.defaults.clone();
    let defaults = &mut other.defaults;
    (defaults.headroom, defaults.measurement) = (keep.headroom, keep.measurement);
    (defaults.ptp, defaults.dcbx) = (keep.ptp, keep.dcbx);
    if keep.queues.values().all(|queue| queue.weight.is_none()) {
        // Acknowledgements have strict priority over data at all switches, if they have it at one.
        defaults.queues.values_mut().for_each(|queue| queue.weight = None);
    }
    if lab.defaults.switches.cpu.is_some() || slowest == SLOW {
        profile::slow(defaults);
    }
    let Profile { sfc, congestion_isolation, sfc_proxy, fast_cnp, qcn, .. } = of_first.clone();
    (other.sfc, other.congestion_isolation, other.sfc_proxy) =
        (sfc, congestion_isolation, sfc_proxy);
    (other.fast_cnp, other.qcn) = (fast_cnp, qcn);
    lab.profiles.insert(OTHER.into(), other);
    let Members::List(switches) = &mut lab.nodes.switches else { unreachable!("drawn as a list") };
    for switch in switches {
        let Short::Long(switch) = switch else { unreachable!("drawn with their names") };
        let name = if chance.percent(50) { OTHER } else { super::PROFILE };
        switch.profile = Some(name.into());
    }
}

/// Changes groups and marking curves of switches, up to four times.
pub(super) fn changes(chance: &mut Chance, lab: &mut Lab, drawn: &Drawn) {
    let answered = lab.flows.iter().any(|flow| flow.transport.is_some());
    for profile in lab.profiles.values_mut() {
        let of = &mut profile.buffer.profiles;
        for (name, to) in [("lossless", CHANGED), ("lossy", CHANGED_LOSSY)] {
            if let Some(was) = of.get(name).cloned() {
                of.insert(to.into(), changed(chance, was, drawn.max_frame));
            }
        }
    }
    for _ in 0..chance.between(1, 4) {
        let at = Span(chance.span(1, 200_000));
        let link = chance.pick(&lab.links);
        let ends = [link.from, link.to].map(Option::unwrap_or_default);
        let (switch, peer) = if ends[0].starts_with('s') { (0, 1) } else { (1, 0) };
        let port = chance.percent(60).then(|| ends[peer].clone());
        let switch = ends[switch].clone();
        let lossy = !drawn.lossy.is_empty() && chance.percent(20);
        let link_wide = drawn.profile.defaults.pause.is_some();
        // PAUSE stops all priorities, which are in one group then.
        let group = match link_wide {
            true => 0,
            false => chance.pick(if lossy { &drawn.lossy } else { &drawn.lossless }),
        };
        if chance.percent(25) {
            let curve = chance.percent(80).then(|| curve(chance));
            let ecn = EcnFault { switch, port, queue: group, curve };
            lab.faults.push(Fault::new(at, FaultKind::Ecn(ecn)));
            continue;
        }
        // Some connections retransmit lost lossless frames, perhaps without end.
        let loses = !answered && chance.percent(15);
        let profile = match (lossy, loses) {
            (true, _) => chance.pick(&[CHANGED_LOSSY, "lossy"]),
            (false, true) => "lossy",
            (false, false) => chance.pick(&[CHANGED, CHANGED, "lossless"]),
        };
        let group = GroupFault { switch, port, group, profile: profile.into() };
        lab.faults.push(Fault::new(at, FaultKind::Group(group)));
    }
}

/// Generates another limit and another XON threshold. Reserve and headroom stay, because the buffer
/// has room for these.
fn changed(chance: &mut Chance, was: raw::Profile, max_frame: u64) -> raw::Profile {
    let limit = match chance.between(0, 2) {
        0 => Shared { static_th: Some(Size(chance.scale(1, 40) * max_frame)), ..Shared::default() },
        1 => dynamic(chance.between(0, 8) as i8 - 6),
        _ => Shared { unlimited: Some(true), ..Shared::default() },
    };
    let lossless = was.lossless.map(|was| Lossless {
        xon: None,
        xon_offset: chance.percent(60).then(|| Size(chance.scale(1, 16) * max_frame)),
        ..was
    });
    raw::Profile { reserved: was.reserved, shared: Some(limit), lossless }
}

fn curve(chance: &mut Chance) -> raw::Ecn {
    let kmin = chance.scale(500, 200_000);
    raw::Ecn {
        kmin: Some(Size(kmin).into()),
        kmax: Some(Size(kmin * chance.between(1, 8)).into()),
        pmax: None,
        at: Some(chance.pick(&[MarkPoint::Enqueue, MarkPoint::Dequeue])),
        not_ect: None,
    }
}
