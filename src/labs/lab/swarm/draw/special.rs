//! Generates labs of two special kinds: those with two switch profiles, and changes of groups and marking curves
//! during the run; and orderly ones, with additional promises: hosts that send to one host at line rate, over a
//! switch that marks long before it pauses, and serves all equally.

use std::collections::BTreeMap;

use super::network::SLOW;
use super::profile::{self, Drawn, dynamic};
use super::{Chance, PROFILE, set_aside, time};
use crate::raw::{
    Amount, EcnFault, EcnName, Fault, FaultKind, Flow, FlowDuration, FlowRateText, GroupFault,
    Host, Lab, Link, Members, Nodes, Pattern, PortDefaults, Profile, Short, Switch,
};
use crate::resolve_raw;
use config::ConfigError;
use config::quantity::{LinkRate, Ratio, Size, Span};
use config::raw::{self, Buffer, Ecn, Lossless, MarkPoint, Pfc, Queue, Range, Refresh, Shared};
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
    // Both ends of a link between the profiles have to speak the same protocols.
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
        // A port is named by the node at its other end; without one the change is of all ports.
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

/// Generates an orderly lab.
pub(super) fn orderly(chance: &mut Chance, seed: u64) -> Result<Lab, ConfigError> {
    let senders = chance.between(2, 5);
    let max_frame = chance.pick(&[1_526, 2_000, 4_200]);
    let sizes: Vec<u64> =
        [512, 1_000, 1_518, max_frame].into_iter().filter(|size| *size <= max_frame).collect();
    let size = chance.pick(&sizes);
    // Far above the marking curve, which begins at one to three frames: marks come first.
    let limit = chance.between(20, 40) * max_frame;
    let priority = chance.between(0, 7) as u8;
    let hosts: Vec<String> = (1..=senders + 1).map(|n| format!("h{n}")).collect();
    let (to, from) = hosts.split_last().expect("there is a receiver");
    let rate = chance.pick(&[10, 25, 50, 100, 200, 400]);
    // At most 40 kbit on the line, whatever the rate: what is under way bounds how uneven shares are.
    let delay = Span(chance.span(1, 40_000 / rate));
    let link = |host: &String| Link {
        from: Some(host.clone()),
        to: Some("s1".into()),
        // One rate for all links: a faster sender would get more between two pauses.
        rate: Some(LinkRate(BitsPerSec::gbps(rate))),
        delay: Some(delay),
        ..Link::default()
    };
    let flow = Flow {
        from: Some(from.to_vec().into()),
        to: Some(to.clone().into()),
        pattern: Some(Pattern::AllToAll),
        rate: Some(Short::Short(FlowRateText::Share(Ratio(1_000_000)))),
        size: Some(Size(size)),
        duration: Some(FlowDuration::Amount(Amount {
            frames: Some(senders * chance.between(1_000, 2_000)),
            ..Amount::default()
        })),
        start: chance.percent(50).then(|| Span(chance.span(1, 50_000))),
        priority: Some(priority),
        ecn: Some(chance.pick(&[EcnName::Ect0, EcnName::Ect1])),
        ..Flow::default()
    };
    let named = |name: &String| Short::Long(Host { name: Some(name.clone()), ..Host::default() });
    let switch = Switch { name: Some("s1".into()), ..Switch::default() };
    let mut lab = Lab {
        name: Some(format!("swarm-{seed}")),
        seed: chance.any(),
        shuffle: chance.percent(30).then(|| chance.any()),
        until_done: true,
        links: hosts.iter().map(link).collect(),
        nodes: Nodes {
            switches: Members::List(vec![Short::Long(switch)]),
            hosts: Members::List(hosts.iter().map(named).collect()),
        },
        flows: vec![flow],
        profiles: [(PROFILE.into(), orderly_profile(chance, max_frame, limit, priority))].into(),
        duration: Some(Span(ground::time::Duration::from_secs(1))),
        ..Lab::default()
    };
    let (plan, _) = resolve_raw(&lab)?;
    // The pool holds the limits of all groups together, so no group pauses because of another.
    let pool = (senders + 1) * (limit + 2 * max_frame) + (64 << 10);
    let total = Some(Size(set_aside(&plan) + pool));
    lab.profiles.values_mut().for_each(|profile| profile.buffer.total = total);
    lab.duration = Some(Span(time(&plan)));
    Ok(lab)
}

fn orderly_profile(chance: &mut Chance, max_frame: u64, limit: u64, priority: u8) -> Profile {
    let key = Range { first: priority.into(), last: priority.into() };
    let kmin = chance.between(1, 3) * max_frame;
    let ecn = Ecn {
        kmin: Some(Size(kmin).into()),
        kmax: Some(Size(kmin + chance.between(0, 2) * max_frame).into()),
        pmax: Some(Ratio(chance.between(0, 1_000_000) as u32)),
        at: Some(chance.pick(&[MarkPoint::Enqueue, MarkPoint::Dequeue])),
        not_ect: None,
    };
    let queue = Queue { ecn: Some(ecn), ..Queue::default() };
    let protected = raw::Profile {
        reserved: None,
        shared: Some(Shared { static_th: Some(Size(limit)), ..Shared::default() }),
        lossless: Some(Lossless {
            xon_offset: chance.percent(50).then(|| Size(chance.between(1, 6) * max_frame)),
            ..Lossless::default()
        }),
    };
    let pfc = Pfc { enable: Some(vec![priority]), refresh: Refresh::Auto, ..Pfc::default() };
    Profile {
        max_frame: Some(Size(max_frame)),
        buffer: Buffer {
            cell: Some(Size(chance.pick(&[1, 64, 80, 128, 208, 256]))),
            total: None,
            profiles: [("lossless".to_owned(), protected)].into(),
        },
        defaults: PortDefaults {
            pfc: Some(pfc),
            queues: BTreeMap::from([(key, queue)]),
            ..PortDefaults::default()
        },
        ..Profile::default()
    }
}
