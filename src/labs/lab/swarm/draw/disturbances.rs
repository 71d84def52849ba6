//! Generates random faults, and random MACsec with attacks on it: links whose ends protect pauses, on some of them
//! data too.

use super::Chance;
use crate::raw::{
    Chance as Odds, DefectFault, DefectKind as Kind, Errors, Fault, FaultKind, Flap, Forge, Lab,
    Link, LoseFault, Replay, Stall, WhichName,
};
use crate::resolve::{parameters_of_defect, parameters_of_defect_with_pause};
use config::quantity::Span;
use config::raw::{Macsec, MacsecDelay, MacsecProtect, MacsecReplay};
use ground::units::{Mac, Priority, Quanta};
use secure::CipherSuite;
use wire::mac_control::FRAME_LEN;
use wire::{pause, pfc};

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
                // Errors are a property of the link for the whole run and no event.
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
    // Most devices have their defects from the start.
    let at = if chance.percent(70) { 0 } else { chance.scale(1, 50_000) };
    Fault::new(Span(ground::time::Duration::from_nanos(at)), FaultKind::Defect(defect))
}

/// Configures MACsec on some links, at least one, and returns their names.
pub(super) fn links(chance: &mut Chance, links: &mut [Link]) -> Vec<String> {
    let all: Vec<usize> = (0..links.len()).collect();
    let chosen = if chance.percent(50) { all } else { chance.some(&all) };
    let mut names = vec![];
    for at in chosen {
        links[at].macsec = Some(Box::new(macsec(chance)));
        names.push(name(&links[at]));
    }
    names
}

fn macsec(chance: &mut Chance) -> Macsec {
    let (suite, octets) = chance.pick(&[
        (CipherSuite::GcmAes128, 16),
        (CipherSuite::GcmAes256, 32),
        (CipherSuite::GcmAesXpn128, 16),
        (CipherSuite::GcmAesXpn256, 32),
    ]);
    let is_xpn = matches!(suite, CipherSuite::GcmAesXpn128 | CipherSuite::GcmAesXpn256);
    let mut hex = |octets: usize| {
        let digits: String = (0..octets).map(|_| format!("{:02x}", chance.any() as u8)).collect();
        digits.as_str().into()
    };
    let (key, salt) = (Some(hex(octets)), is_xpn.then(|| hex(12)));
    let confidentiality = chance.percent(30).then_some(false);
    // An offset needs encryption, and XPN suites support none.
    let offset = confidentiality.is_none() && !is_xpn && chance.percent(20);
    let delay = chance.percent(50);
    let shim = |chance: &mut Chance| delay.then(|| Span(chance.span(1, 500)));
    Macsec {
        cipher_suite: Some(suite),
        include_sci: chance.percent(40).then_some(true),
        confidentiality,
        confidentiality_offset: offset.then(|| chance.pick(&[30, 50])),
        protect: MacsecProtect { data: Some(chance.percent(40)), pfc: None },
        replay: match chance.between(0, 9) {
            0 => MacsecReplay { protect: Some(false), window: None },
            1..=3 => MacsecReplay { protect: None, window: Some(chance.scale(1, 1_000)) },
            _ => MacsecReplay::default(),
        },
        delay: MacsecDelay { tx: shim(chance), rx: shim(chance) },
        key,
        salt,
        ..Macsec::default()
    }
}

/// Generates up to six attacks on protected links: unprotected pauses, forged SecTAGs, and replayed
/// protected pauses.
pub(super) fn attacks(chance: &mut Chance, links: &[String]) -> Vec<Fault> {
    let n = chance.between(1, 6);
    (0..n).map(|_| attack(chance, links)).collect()
}

fn attack(chance: &mut Chance, links: &[String]) -> Fault {
    let link = chance.pick(links);
    let times = chance.percent(60).then(|| chance.scale(1, 200) as u32);
    let every = times.map(|_| Span(chance.span(10, 20_000)));
    let at = Span(chance.span(1, 300_000));
    if chance.percent(50) {
        // Any of the frames that a line keeps for replays.
        let back = Some(chance.between(0, 63) as u32);
        let replay = Replay { link, from: None, back, times, every };
        return Fault::new(at, FaultKind::Replay(replay));
    }
    let octets: String = forged(chance).iter().map(|octet| format!("{octet:02x}")).collect();
    Fault::new(at, FaultKind::Forge(Forge { link, from: None, octets, times, every }))
}

/// Generates a pause, plain or behind a forged SecTAG.
fn forged(chance: &mut Chance) -> Vec<u8> {
    let mut octets = vec![0; FRAME_LEN];
    let src = Mac([2, 0xbb, 0, 0, 0, 3]);
    if chance.percent(80) {
        let mut repr = pfc::Repr::new(src);
        for p in chance.some(&Priority::ALL) {
            repr.set(p, Quanta(chance.any() as u16));
        }
        repr.emit(&mut octets).expect("a pause has its size");
    } else {
        let repr = pause::Repr::new(src, Quanta(chance.any() as u16));
        repr.emit(&mut octets).expect("a pause has its size");
    }
    if chance.percent(40) {
        // TCI and AN of an encrypted or an unencrypted frame, and any packet number.
        let tci = chance.pick(&[0x0c_u8, 0x00, 0x2c, 0x4c]) | chance.between(0, 3) as u8;
        let pn = (chance.any() as u32).to_be_bytes();
        let tag = [0x88, 0xe5, tci, 0, pn[0], pn[1], pn[2], pn[3]];
        // A SecTAG stands behind the addresses, and the ICV at the end.
        octets.splice(12..12, tag);
        octets.extend((0..16).map(|_| chance.any() as u8));
    }
    octets
}
