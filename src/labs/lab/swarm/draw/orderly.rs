//! Generates labs with additional promises: hosts that send to one host at line rate, over a switch
//! that marks long before it pauses, and serves all equally.

use std::collections::BTreeMap;

use super::chance::Chance;
use super::{PROFILE, set_aside, time};
use crate::raw::{
    Amount, EcnName, Flow, FlowDuration, FlowRateText, Host, Lab, Link, Members, Nodes, Pattern,
    PortDefaults, Profile, Short, Switch,
};
use crate::resolve_raw;
use config::ConfigError;
use config::quantity::{LinkRate, Ratio, Size, Span};
use config::raw::{self, Buffer, Ecn, Lossless, MarkPoint, Pfc, Queue, Range, Refresh, Shared};
use ground::units::BitsPerSec;

/// Generates the lab of a seed.
pub(super) fn lab(chance: &mut Chance, seed: u64) -> Result<Lab, ConfigError> {
    let senders = chance.between(2, 5);
    let max_frame = chance.pick(&[1_526, 2_000, 4_200]);
    let sizes: Vec<u64> =
        [512, 1_000, 1_518, max_frame].into_iter().filter(|size| *size <= max_frame).collect();
    let size = chance.pick(&sizes);
    let limit = chance.between(20, 40) * max_frame;
    let priority = chance.between(0, 7) as u8;
    let hosts: Vec<String> = (1..=senders + 1).map(|n| format!("h{n}")).collect();
    let (to, from) = hosts.split_last().expect("there is a receiver");
    let rate = chance.pick(&[10, 25, 50, 100, 200, 400]);
    let delay = Span(chance.span(1, 40_000 / rate));
    let link = |host: &String| Link {
        from: Some(host.clone()),
        to: Some("s1".into()),
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
        profiles: [(PROFILE.into(), profile(chance, (max_frame, limit), priority))].into(),
        duration: Some(Span(ground::time::Duration::from_secs(1))),
        ..Lab::default()
    };
    let (plan, _) = resolve_raw(&lab)?;
    let pool = (senders + 1) * (limit + 2 * max_frame) + (64 << 10);
    let total = Some(Size(set_aside(&plan) + pool));
    lab.profiles.values_mut().for_each(|profile| profile.buffer.total = total);
    lab.duration = Some(Span(time(&plan)));
    Ok(lab)
}

fn profile(chance: &mut Chance, (max_frame, limit): (u64, u64), priority: u8) -> Profile {
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
