//! Generates random congestion settings of switches and hosts.

use congestion::isolation::CimRepeat;
use congestion::proxy::Remember;
use congestion::sfc::Count;
use congestion::sfc::Life;
use std::collections::BTreeMap;

use super::chance::Chance;
use super::profile::Drawn;
use crate::raw::{Host, Profile, QcnWord, SfcWord, Short};
use config::quantity::{Ratio, Size, Span};
use config::raw::{
    Centiseconds, CongestionIsolation, FastCnp, FastCnpQueue, IsolationQueue, MessageLimit,
    PausePolicy, Qcn, QcnQueue, Range, SendersSaid, Sfc, SfcFormName, SfcProxy, SfcProxyAccept,
    SfcProxyCache, SfcQueue,
};

/// Most bytes of a frame that messages of the virtual world can quote, beside their headers.
const QUOTED_MOST: u64 = 80;

/// Adds congestion sections to a profile: at least one, and those that it requires.
pub(super) fn sections(chance: &mut Chance, drawn: &mut Drawn) {
    let sfc = chance.percent(60).then(|| sfc(chance, drawn));
    let isolation = chance.percent(30).then(|| isolation(chance, drawn)).flatten();
    let proxy = (sfc.is_some() && chance.percent(70)) || chance.percent(25);
    let proxy = proxy.then(|| proxied(chance));
    let fast_cnp = chance.percent(25).then(|| fast_cnp(chance, drawn));
    let qcn = chance.percent(25).then(|| qcn(chance, drawn));
    let profile = &mut drawn.profile;
    (profile.sfc, profile.congestion_isolation, profile.sfc_proxy) = (sfc, isolation, proxy);
    (profile.fast_cnp, profile.qcn) = (fast_cnp, qcn);
}

/// Lowers congestion thresholds that no queue of a buffer of this size reaches; such a profile is refused.
pub(super) fn limit_thresholds(profile: &mut Profile, Size(buffer): Size) {
    let limit = |size: &mut Option<Size>, most: u64| {
        if let Some(Size(size)) = size {
            *size = (*size).min(most);
        }
    };
    // The buffer has whole cells alone.
    let cell = profile.buffer.cell.map_or(256, |Size(cell)| cell);
    let most = buffer.saturating_sub(cell);
    for queue in profile.sfc.iter_mut().flat_map(|sfc| sfc.queues.values_mut()) {
        limit(&mut queue.threshold, most);
        limit(&mut queue.target, most);
    }
    for queue in profile.congestion_isolation.iter_mut().flat_map(|of| of.queues.values_mut()) {
        limit(&mut queue.threshold, most);
        limit(&mut queue.low, most);
    }
    for queue in profile.fast_cnp.iter_mut().flat_map(|of| of.queues.values_mut()) {
        limit(&mut queue.threshold, most);
    }
}

/// Generates a host's reactions to messages.
pub(super) fn reactions(chance: &mut Chance, host: &mut Host) {
    let pauses = [SfcWord::Flow, SfcWord::Flow, SfcWord::Priority, SfcWord::None];
    host.sfc = chance.percent(50).then(|| Short::Short(chance.pick(&pauses)));
    host.qcn = chance.percent(40).then_some(Short::Short(QcnWord::Standard));
}

/// Returns the monitored classes: some lossless ones, and perhaps a lossy one.
fn classes(chance: &mut Chance, drawn: &Drawn) -> Vec<u8> {
    let mut classes = chance.some(&drawn.lossless);
    if !drawn.lossy.is_empty() && chance.percent(20) {
        classes.push(chance.pick(&drawn.lossy));
    }
    classes
}

fn by_class<T>(classes: Vec<u8>, mut queue: impl FnMut(u8) -> T) -> BTreeMap<Range, T> {
    let key = |p: u8| Range { first: p.into(), last: p.into() };
    classes.into_iter().map(|p| (key(p), queue(p))).collect()
}

fn sfc(chance: &mut Chance, drawn: &Drawn) -> Sfc {
    let classes = classes(chance, drawn);
    let queues = by_class(classes, |_| {
        let threshold = chance.scale(500, 200_000);
        let target = chance.percent(60).then(|| Size(chance.between(0, threshold)));
        SfcQueue { threshold: Some(Size(threshold)), target, aqm: None }
    });
    let encapsulated = chance.percent(30);
    Sfc {
        transmit_priority: chance.percent(50).then(|| chance.between(0, 7) as u8),
        max_sfcm: chance.percent(50).then(|| chance.scale(1, 16) as u32),
        max_flow_life: chance.percent(50).then(|| life(chance)),
        queues,
        form: encapsulated.then_some(SfcFormName::Encapsulated),
        min_header_octets: encapsulated.then(|| chance.between(64, QUOTED_MOST) as u16),
        spacing: chance.percent(50).then(|| Span(chance.span(1, 100_000))),
        patience: chance.percent(30).then(|| Span(chance.span(1, 50_000))),
        octets_min: chance.percent(20).then(|| Size(chance.scale(1, 50_000))),
        pause_max: chance.percent(60).then(|| Span(chance.span(100, 1_000_000))),
        budget: chance.percent(30).then(|| limit(chance)),
        streams: chance.percent(50).then(|| chance.scale(1, 4_096) as u32),
        count: chance.percent(30).then_some(Count::PerStream),
        life: chance.percent(30).then_some(Life::SinceCreated),
        ..Sfc::default()
    }
}

fn life(chance: &mut Chance) -> Centiseconds {
    Centiseconds(chance.span(1_000, 1_000_000_000))
}

fn limit(chance: &mut Chance) -> MessageLimit {
    let burst = Some(chance.scale(1, 64) as u32);
    MessageLimit { interval: Some(Span(chance.span(1, 100_000))), burst }
}

/// Generates isolation of one lossless class, if a class is free for isolated flows.
fn isolation(chance: &mut Chance, drawn: &Drawn) -> Option<CongestionIsolation> {
    let monitored = chance.pick(&drawn.lossless);
    let free: Vec<u8> = (0..8).filter(|p| !drawn.lossless.contains(p)).collect();
    let to = (!free.is_empty()).then(|| chance.pick(&free))?;
    let queues = by_class(vec![monitored], |_| {
        let threshold = chance.scale(500, 100_000);
        let low = chance.percent(50).then(|| chance.between(0, threshold));
        let above = low.filter(|_| chance.percent(50)).map(|low| Size(low + threshold));
        let threshold = Some(Size(threshold));
        IsolationQueue { threshold, aqm: None, low: low.map(Size), cim_above: above }
    });
    Some(CongestionIsolation {
        isolate: by_class(vec![monitored], |_| to),
        max_flow_life: chance.percent(50).then(|| life(chance)),
        max_cim_tx: chance.percent(50).then(|| chance.between(0, 8) as u32),
        max_streams: chance.percent(50).then(|| chance.scale(1, 4_096) as u32),
        repeat: chance.percent(30).then_some(CimRepeat::Never),
        spacing: chance.percent(50).then(|| Span(chance.span(1, 100_000))),
        budget: chance.percent(30).then(|| limit(chance)),
        queues,
        ..CongestionIsolation::default()
    })
}

fn proxied(chance: &mut Chance) -> SfcProxy {
    let senders = |chance: &mut Chance| {
        let of = [SendersSaid::Anybody, SendersSaid::Anybody, SendersSaid::Nobody];
        chance.percent(60).then(|| chance.pick(&of))
    };
    let longest = chance.scale(100, 1_000_000);
    let policy = PausePolicy {
        longest: Some(Span(ground::time::Duration::from_nanos(longest))),
        credit: Some(Span(chance.span(longest, 4 * longest))),
        share: Some(Ratio(chance.between(0, 75) as u32 * 10_000)),
        spacing: Some(Span(chance.span(10, 100_000))),
        burst: Some(chance.scale(1, 64) as u32),
    };
    let cache = chance.percent(40).then(|| SfcProxyCache {
        entries: Some(1 << chance.between(3, 12)),
        max_flow_life: chance.percent(50).then(|| life(chance)),
        remember: Some(chance.pick(&[Remember::Rest, Remember::Whole])),
    });
    SfcProxy {
        udp_port: None,
        accept: SfcProxyAccept { switches: senders(chance), hosts: senders(chance) },
        unknown: None,
        max_flow_life: None,
        policy: chance.percent(80).then_some(policy),
        cache,
    }
}

fn fast_cnp(chance: &mut Chance, drawn: &Drawn) -> FastCnp {
    let classes = classes(chance, drawn);
    let threshold = |chance: &mut Chance| Some(Size(chance.scale(500, 200_000)));
    FastCnp {
        queues: by_class(classes, |_| FastCnpQueue { threshold: threshold(chance), aqm: None }),
        spacing: chance.percent(50).then(|| Span(chance.span(100, 100_000))),
        flows: chance.percent(50).then(|| chance.scale(1, 4_096) as u32),
        priority: chance.percent(30).then(|| chance.between(0, 7) as u8),
        ..FastCnp::default()
    }
}

fn qcn(chance: &mut Chance, drawn: &Drawn) -> Qcn {
    let classes = classes(chance, drawn);
    let queues = by_class(classes, |_| QcnQueue {
        // With a set point below a few maximum frames, even a flow that is alone slows down, and
        // its messages do not complete in time.
        set_point: Some(Size(chance.scale(60_000, 400_000))),
        sample_base: Some(Size(chance.scale(1_000, 150_000))),
        ..QcnQueue::default()
    });
    Qcn { queues, ..Qcn::default() }
}
