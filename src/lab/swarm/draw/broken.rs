//! Generates a random defect of a device.

use super::chance::Chance;
use super::trouble::name;
use crate::raw::{DefectFault, DefectKind, Fault, FaultKind, Lab};
use crate::resolve::parameters_of_defect;
use config::quantity::Span;

/// Generates a defect of a node of the lab, at one of its ports or at all. `lossless` are the lossless
/// priorities.
pub(super) fn defect(chance: &mut Chance, lab: &Lab, lossless: &[u8]) -> Fault {
    let link = chance.pick(&lab.links);
    let ends = [&link.from, &link.to].map(|end| end.clone().unwrap_or_default());
    let kind = chance.pick(DefectKind::ALL);
    let names = parameters_of_defect(kind);
    let takes = |name: &str| names.contains(&name);
    let defect = DefectFault {
        on: chance.pick(&ends),
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
    let at = if chance.percent(50) { 0 } else { chance.scale(1, 50_000) };
    Fault::new(Span(ground::time::Duration::from_nanos(at)), FaultKind::Defect(defect))
}
