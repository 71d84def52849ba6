//! Generates random MACsec: links whose ends protect pauses, on some of them data too, and attacks
//! on them.

use super::chance::Chance;
use crate::raw::{Fault, FaultKind, Forge, Link, Replay};
use config::quantity::Span;
use config::raw::{Macsec, MacsecDelay, MacsecProtect, MacsecReplay};
use ground::units::{Mac, Priority, Quanta};
use secure::CipherSuite;
use wire::mac_control::FRAME_LEN;
use wire::{pause, pfc};

/// Configures MACsec on some links, at least one, and returns their names.
pub(super) fn links(chance: &mut Chance, links: &mut [Link]) -> Vec<String> {
    let all: Vec<usize> = (0..links.len()).collect();
    let chosen = if chance.percent(50) { all } else { chance.some(&all) };
    let mut names = vec![];
    for at in chosen {
        links[at].macsec = Some(Box::new(macsec(chance)));
        names.push(super::trouble::name(&links[at]));
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
        octets.splice(12..12, tag);
        octets.extend((0..16).map(|_| chance.any() as u8));
    }
    octets
}
