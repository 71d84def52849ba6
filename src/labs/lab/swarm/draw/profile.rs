//! Generates random switch profiles.

use std::collections::BTreeMap;

use super::Chance;
use crate::raw::{PortDefaults, Profile};
use config::quantity::{Ratio, Size, Span};
use config::raw::{
    self, AutoHeadroom, Buffer, Dcbx, Ecn, Headroom, Lossless, MarkPoint, Measurement,
    MethodChoice, Pause, Pfc, Ptp, Queue, Range, Refresh, Shared, StatisticName, Watchdog,
};
use ground::units::{BitsPerSec, Quanta};
use link::Statistic;
use pfc::{PfcPlan, StormAction};
use wire::headroom::TimeUnit;

/// A profile, and the properties that loads depend on.
pub(super) struct Drawn {
    pub(super) profile: Profile,
    pub(super) max_frame: u64,
    /// Lossless priorities, and some lossy ones.
    pub(super) lossless: Vec<u8>,
    pub(super) lossy: Vec<u8>,
    pub(super) watchdog: bool,
}

/// Generates a profile for a network whose slowest link has this rate.
pub(super) fn profile(chance: &mut Chance, slowest: BitsPerSec) -> Drawn {
    let max_frame = chance.pick(&[1_526, 1_526, 2_000, 4_200, 9_216]);
    let link_wide = chance.percent(8);
    let lossless: Vec<u8> = match link_wide {
        true => (0..8).collect(),
        false => chance.pick(&[vec![3], vec![3], vec![3, 4], vec![2, 5, 6], vec![0]]),
    };
    with(chance, max_frame, link_wide, lossless, slowest)
}

/// Generates another profile with the frame size and the lossless priorities of the first.
pub(super) fn another(chance: &mut Chance, first: &Drawn, slowest: BitsPerSec) -> Drawn {
    let link_wide = first.profile.defaults.pause.is_some();
    with(chance, first.max_frame, link_wide, first.lossless.clone(), slowest)
}

fn with(
    chance: &mut Chance,
    max_frame: u64,
    link_wide: bool,
    lossless: Vec<u8>,
    slowest: BitsPerSec,
) -> Drawn {
    let frames = |chance: &mut Chance, most| chance.scale(1, most) * max_frame;
    let lossy: Vec<u8> = (0..8).filter(|p| !lossless.contains(p)).collect();
    let limit = match chance.between(0, 9) {
        0..=4 => Shared { static_th: Some(Size(frames(chance, 40))), ..Shared::default() },
        5..=8 => dynamic(chance.between(0, 8) as i8 - 6),
        _ => Shared { unlimited: Some(true), ..Shared::default() },
    };
    // XON is below XOFF, which only a static threshold gives in advance; the plan refuses others.
    let xon = match limit.static_th {
        Some(Size(most)) if chance.percent(30) => Some(Size(chance.between(0, most / 2))),
        _ => None,
    };
    let protected = raw::Profile {
        reserved: chance.percent(40).then(|| Size(frames(chance, 4))),
        shared: Some(limit),
        lossless: Some(Lossless {
            xon,
            xon_offset: chance.percent(60).then(|| Size(frames(chance, 16))),
            ..Lossless::default()
        }),
    };
    // Spectrum switches have cells of 96 to 256 bytes; at 1 and 4096 rounding to cells shows.
    let cell = chance.pick(&[1, 64, 80, 96, 128, 160, 192, 208, 254, 256, 512, 1_024, 4_096]);
    let exposed = raw::Profile {
        // One frame fits even if the pool is full, or some connections would never end.
        reserved: Some(Size(frames(chance, 2) + cell)),
        shared: Some(dynamic(chance.between(0, 6) as i8 - 6)),
        lossless: None,
    };
    let profiles = [("lossless", protected), ("lossy", exposed)];
    let watchdog = chance.percent(15);
    let (quanta, refresh) = pauses(chance, max_frame, slowest);
    let mut defaults = PortDefaults {
        // The watchdog is one of PFC, as it needs the priority that is stuck.
        watchdog: (watchdog && !link_wide).then(|| watchdog_times(chance)),
        queues: queues(chance, &lossless, &lossy, max_frame),
        ..PortDefaults::default()
    };
    if link_wide {
        defaults.pause = Some(Pause { quanta: Some(quanta), refresh, ..Pause::default() });
    } else {
        let enable = Some(lossless.clone());
        defaults.pfc = Some(Pfc { enable, quanta: Some(quanta), refresh, ..Pfc::default() });
    }
    let buffer = Buffer {
        cell: Some(Size(cell)),
        total: None,
        profiles: profiles.map(|(name, profile)| (name.to_owned(), profile)).into(),
    };
    let max_frame_said = Some(Size(max_frame));
    let profile = Profile { max_frame: max_frame_said, buffer, defaults, ..Profile::default() };
    Drawn { profile, max_frame, lossless, lossy, watchdog }
}

pub(super) const fn dynamic(n: i8) -> Shared {
    Shared { dynamic_th: Some(n), static_th: None, unlimited: None }
}

/// Selects the pause time and the refresh interval: early enough, however long a frame delays the
/// refresh.
fn pauses(chance: &mut Chance, max_frame: u64, slowest: BitsPerSec) -> (u16, Refresh) {
    // Forty maximum frames, in quanta of 64 bytes.
    let least = max_frame * 40 / 64;
    let quanta = if chance.percent(40) { u64::from(u16::MAX) } else { chance.scale(least, 65_535) };
    let quanta = quanta as u16;
    if chance.percent(50) {
        return (quanta, Refresh::Auto);
    }
    // The pause is shortest on the fastest link; less than half of that is early enough on every
    // link.
    let fastest = BitsPerSec::gbps(400).get().max(slowest.get());
    let pause = Quanta(quanta).at(BitsPerSec::new(fastest).unwrap_or(slowest));
    let part = chance.between(200, 500);
    let after = ground::time::Duration::from_picos(pause.as_picos() / 1_000 * part);
    // A short one is not taken by links that are slow.
    match after >= PfcPlan::refresh_least(slowest) {
        true => (quanta, Refresh::After(Span(after))),
        false => (quanta, Refresh::Auto),
    }
}

/// Generates link protocols with separate random numbers: a few ports have `auto` headroom, some
/// use LLDP and DCBX.
pub(super) fn agents(chance: &mut Chance, defaults: &mut PortDefaults) {
    let percentile = Statistic::Percentile(chance.between(1, 99) as u8);
    let statistics = [Statistic::Max, Statistic::Mean, percentile];
    if chance.percent(25) {
        let auto = AutoHeadroom {
            method: Some(chance.pick(&[MethodChoice::RoundTrip, MethodChoice::Ptp])),
            statistic: Some(StatisticName(chance.pick(&statistics))),
            wait: Some(Span(chance.span(1_000, 1_000_000))),
            ..AutoHeadroom::default()
        };
        defaults.headroom = Some(Headroom::Auto(auto));
        let least = chance.span(1_000, 20_000);
        defaults.measurement = Some(Measurement {
            rounds: Some(chance.scale(1, 40) as u16),
            spacing_min: Some(Span(least)),
            spacing_max: Some(Span(least + chance.span(1, 50_000))),
            times: Some(chance.pick(&[TimeUnit::Nanoseconds, TimeUnit::Picoseconds])),
            piggyback: Some(chance.percent(50)),
            ..Measurement::default()
        });
        defaults.ptp = Some(Ptp {
            rounds: Some(chance.scale(1, 8) as u16),
            interval: Some(Span(chance.span(100_000, 10_000_000))),
            ..Ptp::default()
        });
    }
    if chance.percent(15) {
        defaults.dcbx = Some(Dcbx::default());
    }
}

/// Sets long pauses: for a switch with a CPU cost per poll, because data is never sent if a refresh is due at
/// every poll, and for a lab with a slow link, which takes too many refreshes for its time.
pub(super) fn slow(defaults: &mut PortDefaults) {
    if let Some(pfc) = &mut defaults.pfc {
        (pfc.quanta, pfc.refresh) = (None, Refresh::Auto);
    }
    if let Some(pause) = &mut defaults.pause {
        (pause.quanta, pause.refresh) = (None, Refresh::Auto);
    }
}

fn watchdog_times(chance: &mut Chance) -> Watchdog {
    Watchdog {
        detection: Some(Span(chance.span(20_000, 500_000))),
        restoration: Some(Span(chance.span(20_000, 500_000))),
        action: Some(chance.pick(&[StormAction::Drop, StormAction::Forward, StormAction::Alert])),
        ..Watchdog::default()
    }
}

/// Generates weights, marking, and limits of lossy queues.
fn queues(
    chance: &mut Chance,
    lossless: &[u8],
    lossy: &[u8],
    max_frame: u64,
) -> BTreeMap<Range, Queue> {
    let mut queues: BTreeMap<Range, Queue> = BTreeMap::new();
    let key = |p: u8| Range { first: p.into(), last: p.into() };
    if chance.percent(50) {
        for p in 0..8 {
            if chance.percent(70) {
                let weight = Some(chance.scale(1, 100) as u16);
                queues.entry(key(p)).or_default().weight = weight;
            }
        }
    }
    if chance.percent(40) {
        let all: Vec<u8> = lossless.iter().chain(lossy).copied().collect();
        for p in chance.some(&all) {
            let kmin = chance.scale(500, 200_000);
            let ecn = Ecn {
                kmin: Some(Size(kmin).into()),
                // A factor of 1 is a step at kmin, which DCTCP has.
                kmax: Some(Size(kmin * chance.between(1, 8)).into()),
                pmax: Some(Ratio(chance.between(0, 1_000_000) as u32)),
                at: Some(chance.pick(&[MarkPoint::Enqueue, MarkPoint::Dequeue])),
                not_ect: None,
            };
            queues.entry(key(p)).or_default().ecn = Some(ecn);
        }
    }
    if !lossy.is_empty() && chance.percent(20) {
        let most = Some(Size(chance.scale(2, 40) * max_frame.max(8_192)));
        let limit = Shared { static_th: most, ..Shared::default() };
        queues.entry(key(chance.pick(lossy))).or_default().limit = Some(limit);
    }
    queues
}
