//! Generates random faults.

use super::chance::Chance;
use crate::raw::{
    Chance as Odds, Errors, Fault, FaultKind, Flap, Link, LoseFault, Stall, WhichName,
};
use config::quantity::Span;

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
