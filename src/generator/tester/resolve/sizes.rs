//! Resolves the frame sizes of a flow.

use super::findings::Findings;
use host::plan::stream::Sizes;
use host::plan::{FRAME_MAX, FRAME_MIN};
use otg::model::flow::{FlowSize, Mix, WeightPairs};

/// The predefined mixes of OTG's model: bytes with FCS, and weights.
const IMIX: &[(u32, f64)] = &[(64, 7.0), (570, 4.0), (1518, 1.0)];
const IPSEC: &[(u32, f64)] = &[(90, 58.67), (92, 2.0), (594, 23.66), (1418, 15.67)];
const IPV6: &[(u32, f64)] = &[(60, 58.67), (496, 2.0), (594, 23.66), (1518, 15.67)];
const STANDARD: &[(u32, f64)] = &[(58, 58.67), (62, 2.0), (594, 23.66), (1518, 15.67)];
const TCP: &[(u32, f64)] = &[(90, 58.67), (92, 2.0), (594, 23.66), (1518, 15.67)];

/// Returns the configured sizes; `None` after an error was reported.
pub(super) fn sizes(size: &FlowSize, path: &str, cx: &mut Findings) -> Option<Sizes> {
    match size {
        FlowSize::Fixed(size) => Some(Sizes::Fixed(*size)),
        FlowSize::Increment(i) => {
            if i.step == 0 || i.start > i.end {
                let what = "sizes go up from `start` to `end` by `step`, so `start` is not above \
                            `end` and `step` is at least 1";
                cx.error(format!("{path}.increment"), what);
                return None;
            }
            Some(Sizes::Increment { start: i.start, end: i.end, step: i.step })
        }
        FlowSize::Random(r) => {
            if r.min > r.max {
                let what = format!("`min` ({}) is above `max` ({}); swap them", r.min, r.max);
                cx.error(format!("{path}.random"), what);
                return None;
            }
            Some(Sizes::Random { min: r.min, max: r.max })
        }
        FlowSize::WeightPairs(pairs) => weighted(pairs, &format!("{path}.weight_pairs"), cx),
        FlowSize::Other { .. } => None,
    }
}

fn weighted(pairs: &WeightPairs, path: &str, cx: &mut Findings) -> Option<Sizes> {
    let pairs = match pairs {
        WeightPairs::Predefined(mix) => {
            let table = match mix {
                Mix::Imix => IMIX,
                Mix::IpsecImix => IPSEC,
                Mix::Ipv6Imix => IPV6,
                Mix::StandardImix => STANDARD,
                Mix::TcpImix => TCP,
            };
            return Some(Sizes::Weighted(table.to_vec()));
        }
        WeightPairs::Custom(pairs) => pairs,
        WeightPairs::Other { .. } => return None,
    };
    let path = format!("{path}.custom");
    if pairs.is_empty() {
        cx.error(path, "an empty list of sizes; give pairs such as `{size: 64, weight: 7}`");
        return None;
    }
    let before = cx.errors();
    for (i, pair) in pairs.iter().enumerate() {
        if !(pair.weight > 0.0 && pair.weight.is_finite()) {
            let what = format!("{} is no weight; write a number above 0", pair.weight);
            cx.error(format!("{path}[{i}].weight"), what);
        }
    }
    let all = || pairs.iter().map(|p| (p.size, p.weight)).collect();
    (cx.errors() == before).then(|| Sizes::Weighted(all()))
}

/// Lengthens frames of a predefined mix that are too short for this flow, as the client cannot
/// change the sizes of a mix.
pub(super) fn widen(
    size: &FlowSize,
    sizes: &mut Sizes,
    room: &Room,
    path: &str,
    cx: &mut Findings,
) {
    let FlowSize::WeightPairs(WeightPairs::Predefined(_)) = size else { return };
    let Sizes::Weighted(pairs) = sizes else { return };
    let Room { needed, what, .. } = room;
    for (size, _) in pairs.iter_mut().filter(|(size, _)| size < needed) {
        cx.warn(
            path,
            format!(
                "frames of {size} octets of the mix are sent with {needed}, which this flow needs \
                 ({what})"
            ),
        );
        *size = *needed;
    }
}

/// The bounds for the frame sizes of a flow.
pub(super) struct Room {
    /// Bytes of headers, probe and FCS.
    pub(super) needed: u32,
    /// Description of these bytes for error texts.
    pub(super) what: String,
    /// The longest frame that the path takes.
    pub(super) most: u32,
}

/// Returns true if all sizes are within the bounds; reports an error otherwise.
pub(super) fn check(sizes: &Sizes, room: &Room, path: &str, cx: &mut Findings) -> bool {
    let (min, max) = (sizes.shortest(), sizes.longest());
    let Room { needed, what, most } = room;
    if min < *needed {
        let what = format!(
            "{min} octets are less than the {needed} that this flow needs ({what}); \
             write at least {needed}, or take something out"
        );
        cx.error(path, what);
        return false;
    }
    if max > *most {
        let kind = if *most < FRAME_MAX { "frame of MAC control" } else { "frame" };
        let what = format!("{max} octets are more than a {kind} can have; write {most} or less");
        cx.error(path, what);
        return false;
    }
    if min < FRAME_MIN {
        let what = format!(
            "frames of {min} octets are shorter than Ethernet's least; ports that cannot send \
             such pad them to {FRAME_MIN}"
        );
        cx.warn(path, what);
    }
    true
}
