//! Generates random faults.

use super::chance::Chance;
use crate::raw::{
    Chance as Odds, DefectFault, DefectKind as Kind, Errors, Fault, FaultKind, Flap, Lab, Link,
    LoseFault, Stall, WhichName,
};
use crate::resolve::{parameters_of_defect, parameters_of_defect_with_pause};
use config::quantity::Span;

/// Kinds that act on data frames, which every lab has.
const OF_DATA: &[Kind] = &[
    Kind::LosesData,
    Kind::DuplicatesData,
    Kind::DamagesData,
    Kind::MarksNotEct,
    Kind::ClearsCe,
    Kind::StaleChecksum,
    Kind::LimitsRate,
    Kind::ReordersAfterPause,
];

/// Kinds that act on the pauses of a switch.
const OF_PAUSES_SENT: &[Kind] = &[
    Kind::NeverPauses,
    Kind::LosesResumptions,
    Kind::NeverRefreshes,
    Kind::PausesBehindData,
    Kind::PausesNextPriority,
    Kind::NeverResumes,
    Kind::PausesAgain,
    Kind::ResumesNextPriority,
    Kind::PausesWithoutCongestion,
    Kind::PausesScaledTimes,
    Kind::PausesForEver,
    Kind::PfcWrongDestination,
    Kind::PfcBadFcs,
    Kind::LeaksHeadroom,
];

/// Kinds that act on the pauses that a port gets.
const OF_PAUSES_OBEYED: &[Kind] = &[
    Kind::IgnoresPfc,
    Kind::ObeysLate,
    Kind::ScaledTimes,
    Kind::NeverExpires,
    Kind::AddsTimes,
    Kind::IgnoresZeroTime,
    Kind::IgnoresVector,
    Kind::MirrorsVector,
    Kind::ReadsHighOctet,
    Kind::ObeysForAll,
    Kind::ObeysNextPriority,
    Kind::DropsWhilePaused,
    Kind::DropsOthers,
    Kind::DropsByTurns,
    Kind::WatchesEmpty,
];

/// Generates up to four faults, and errors on links.
pub(super) fn faults(chance: &mut Chance, links: &mut [Link], nodes: &[String]) -> Vec<Fault> {
    let names: Vec<String> = links.iter().map(name).collect();
    let n = chance.between(1, 4);
    let mut faults = vec![];
    for _ in 0..n {
        let at = Span(chance.span(1, 200_000));
        let link = chance.pick(&names);
        let kind = match chance.between(0, 9) {
            0..=2 => FaultKind::Flap(flap(chance, link)),
            3..=6 => FaultKind::Lose(lose(chance, link)),
            7 => {
                let (node, span) = (chance.pick(nodes), Span(chance.span(500, 100_000)));
                FaultKind::Stall(Stall { node, span })
            }
            _ => {
                let at = chance.between(0, links.len() as u64 - 1) as usize;
                links[at].errors = Some(errors(chance));
                continue;
            }
        };
        faults.push(Fault::new(at, kind));
    }
    faults
}

/// Returns the default name of a link.
pub(super) fn name(link: &Link) -> String {
    let end = |end: &Option<String>| end.clone().unwrap_or_default();
    format!("{}-{}", end(&link.from), end(&link.to))
}

fn flap(chance: &mut Chance, link: String) -> Flap {
    Flap {
        link,
        down_for: Span(chance.span(10, 50_000)),
        times: chance.percent(30).then(|| chance.between(1, 3) as u32),
        every: None,
    }
}

fn lose(chance: &mut Chance, link: String) -> LoseFault {
    LoseFault {
        link,
        from: None,
        frames: Some(chance.between(1, 3)),
        which: Some(chance.pick(&[
            WhichName::Any,
            WhichName::Pause,
            WhichName::Pause,
            WhichName::Data,
        ])),
    }
}

fn errors(chance: &mut Chance) -> Errors {
    let odds = |chance: &mut Chance, exponents: (u64, u64)| {
        Odds::new(10f64.powi(-(chance.between(exponents.0, exponents.1) as i32)))
    };
    match chance.percent(50) {
        true => Errors { loss: odds(chance, (2, 4)), ber: None },
        false => Errors { ber: odds(chance, (6, 9)), loss: None },
    }
}

/// Generates a defect of a node of the lab, at one of its ports or at all. `lossless` are the lossless
/// priorities. Nine of ten are of a kind and at a node where it meets what it acts on.
pub(super) fn defect(chance: &mut Chance, lab: &Lab, lossless: &[u8]) -> Fault {
    let link = chance.pick(&lab.links);
    let ends = [&link.from, &link.to].map(|end| end.clone().unwrap_or_default());
    let is_switch = |end: &String| end.starts_with('s');
    let (kinds, wants_switch) = match chance.between(0, 9) {
        0..=2 => (OF_DATA, None),
        3..=5 => (OF_PAUSES_SENT, Some(true)),
        6..=8 => (OF_PAUSES_OBEYED, Some(false)),
        _ => (Kind::ALL, None),
    };
    let kind = chance.pick(kinds);
    let fitting =
        ends.iter().filter(|end| wants_switch.is_none_or(|wants| is_switch(end) == wants));
    let fitting: Vec<String> = fitting.cloned().collect();
    let link_wide = lab.profiles.values().any(|profile| profile.defaults.pause.is_some());
    let with_pause = parameters_of_defect_with_pause(kind);
    let (kind, names) = match with_pause {
        Some(names) if link_wide => (kind, names),
        // PAUSE names no priorities, so this one has nothing to act on.
        None if link_wide => (Kind::LosesData, vec!["every"]),
        _ => (kind, parameters_of_defect(kind).to_vec()),
    };
    let takes = |name: &str| names.contains(&name);
    let defect = DefectFault {
        on: chance.pick(if fitting.is_empty() { &ends[..] } else { &fitting[..] }),
        port: chance.percent(60).then(|| name(&link)),
        kind,
        priorities: takes("priorities").then(|| chance.some(lossless)),
        quanta: takes("quanta").then(|| chance.scale(1, 65_535) as u16),
        ratio: takes("ratio").then(|| chance.pick(&["1/8", "1/2", "2", "8"]).to_owned()),
        every: takes("every").then(|| chance.scale(2, 64) as u32),
        frames: takes("frames").then(|| chance.scale(1, 32) as u32),
        cells: takes("cells").then(|| chance.scale(1, 64) as u32),
        most: takes("most").then(|| chance.between(0, 2) as u8),
        after: takes("after").then(|| Span(chance.span(500, 100_000))),
    };
    let at = if chance.percent(70) { 0 } else { chance.scale(1, 50_000) };
    Fault::new(Span(ground::time::Duration::from_nanos(at)), FaultKind::Defect(defect))
}
