//! Verdicts on stamps, single frames and round trips.

use ::text::delay as time;
use ground::verdict::Verdict;

use crate::selftest::report::Line;

/// Stamps of a number of frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::selftest) struct StampTry {
    /// Frames that the device stamps, or the reason why it stamps none.
    pub(in crate::selftest) offered: Result<String, String>,
    /// Frames by name: their number, and those with a stamp.
    pub(in crate::selftest) frames: Vec<(&'static str, u64, u64)>,
    /// Stamps that were before an earlier one, or far from the time of the burst.
    pub(in crate::selftest) wrong: u64,
}

/// Judges the device's stamps in one direction.
pub(in crate::selftest) fn stamped(check: &str, t: &StampTry) -> Line {
    let claimed = Some(match &t.offered {
        Ok(what) => what.clone(),
        Err(why) => format!("none: {why}"),
    });
    if t.offered.is_err() {
        let why = "the device gives none, so the processor's counter is read at the burst";
        return Line::not_tried(check, claimed, why);
    }
    if t.frames.iter().all(|(_, frames, _)| *frames == 0) {
        return Line::not_tried(check, claimed, "needs a peer");
    }
    let said = t.frames.iter().map(|(name, all, with)| format!("{name}: {with} of {all}"));
    let tried = said.collect::<Vec<_>>().join("; ");
    if t.wrong > 0 {
        let why = format!("{} stamps go back, or are far from the time of the burst", t.wrong);
        return Line::fails(check, claimed, tried, why);
    }
    let missing = |(_, all, with): &&(&str, u64, u64)| with < all;
    if t.frames.iter().all(|(.., with)| *with == 0) {
        let why = "no frame has a stamp: a model of a NIC, or a DPDK without RTE_LIBRTE_IEEE1588 as \
                   distributions build it, takes the request and gives none";
        return Line::fails(check, claimed, tried, why);
    }
    if let Some((name, all, with)) = t.frames.iter().find(missing) {
        let why = format!("{name}: {} of {all} frames have no stamp", all - with);
        return Line::fails(check, claimed, tried, why);
    }
    Line::ok(check, claimed, tried)
}

/// Judges times of single frames, of which this share arrived.
pub(in crate::selftest) fn at_rest(
    check: &str,
    claimed: Option<String>,
    (arrived, sent): (usize, usize),
    tried: String,
) -> Line {
    match arrived {
        0 => Line::fails(check, claimed, format!("0 of {sent} single frames"), "none arrived"),
        some if some < sent / 2 => {
            let why = format!("{some} of {sent} single frames arrived");
            Line::unknown(check, claimed, Some(tried), why)
        }
        _ => Line::ok(check, claimed, tried),
    }
}

/// Judges a measurement of the round trip by its verdict: the times, if there are any, and the
/// reason of another end.
pub(in crate::selftest) fn round_trip(
    check: &str,
    verdict: Verdict,
    times: Option<String>,
    why: Option<String>,
) -> Line {
    let why = why.unwrap_or_else(|| "the measurement was disturbed".into());
    match (verdict, times) {
        (Verdict::Pass, Some(times)) => Line::ok(check, None, times),
        (Verdict::Fail, times) => {
            Line::fails(check, None, times.unwrap_or_else(|| "no round trip".into()), why)
        }
        (_, times) => Line::unknown(check, None, times, why),
    }
}

/// Spread of times in nanoseconds.
pub(in crate::selftest) fn spread(min: f64, p50: f64, p99: f64, max: f64) -> String {
    format!("min {}, p50 {}, p99 {}, max {}", time(min), time(p50), time(p99), time(max))
}
