//! Verdicts on what the steps of the self-test observed. No function here has an effect, so each
//! verdict has a test in which it is `fails` and one in which it is not known.
//! Here are those on frames that should pass and their counters, on stamps, single frames and round trips.

mod pauses;
mod starts;

use ground::statistics::Statistics;
use ground::verdict::Verdict;

use super::bench::Passed;
use super::report::Line;
use ::text::{count, delay as time};

pub(super) use pauses::{Obeyed, PauseWatch, by_device, left_to_software, obeyed, off};
pub(super) use starts::{LinkTry, LinkUp, RingTry, link, link_up, restarts, rings};

/// Fate of frames of several kinds.
pub(super) type Parts = [(String, Passed)];

/// Judges frames that should arrive as they were sent. `remedy` tells what to look for if not.
pub(super) fn passed(check: &str, claimed: Option<String>, parts: &Parts, remedy: &str) -> Line {
    if parts.iter().all(|(_, passed)| passed.offered == 0) {
        return Line::not_tried(check, claimed, "needs a peer");
    }
    let tried = parts.iter().map(|(name, passed)| {
        format!("{name}: {} of {}", count(passed.intact), count(passed.taken))
    });
    let tried = tried.collect::<Vec<_>>().join("; ");
    // Frames that the sender's port took and that did not arrive are the tested link's; others never left.
    let lost = parts.iter().find(|(_, passed)| passed.intact < passed.taken);
    if let Some((name, passed)) = lost {
        let other = passed.other.as_ref().map_or(String::new(), |octets| {
            format!("; another frame came instead, behind its addresses {}", hex(octets))
        });
        return Line::fails(
            check,
            claimed,
            tried,
            format!("{name} did not arrive{other}. {remedy}"),
        );
    }
    if let Some((name, passed)) = parts.iter().find(|(_, p)| p.taken < p.offered) {
        let why = format!(
            "{name}: the sender's port took {} of {} frames",
            count(passed.taken),
            count(passed.offered)
        );
        return Line::unknown(check, claimed, Some(tried), why);
    }
    Line::ok(check, claimed, tried)
}

fn hex(octets: &[u8]) -> String {
    let groups = octets.chunks(2).map(|pair| pair.iter().map(|o| format!("{o:02x}")).collect());
    groups.collect::<Vec<String>>().join(" ")
}

/// A counter of the driver, and the number that it should have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Counted {
    pub(super) what: &'static str,
    pub(super) counter: u64,
    pub(super) actual: u64,
}

/// Judges the driver's counters.
pub(super) fn counted(check: &str, all: &[Counted]) -> Line {
    let said =
        all.iter().map(|c| format!("{} {} of {}", c.what, count(c.counter), count(c.actual)));
    let tried = said.collect::<Vec<_>>().join("; ");
    if all.iter().all(|c| c.actual == 0) {
        return Line::not_tried(check, None, "no frame passed");
    }
    if all.iter().all(|c| c.counter == c.actual) {
        return Line::ok(check, None, tried);
    }
    let why = match all.iter().all(|c| c.counter == 0) {
        true => "the driver counts nothing",
        false => "the driver's counters differ from what software sent and received",
    };
    Line::fails(check, None, tried, why)
}

/// More frames than the receive ring holds, to a port that was not polled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Overrun {
    /// Frames that the sender's port took.
    pub(super) taken: u64,
    /// Frames received when the port was polled again.
    pub(super) received: u64,
    /// Growth of `imissed`; `None` where nothing counts it.
    pub(super) missed: Option<u64>,
    /// Growth of `rx_nombuf` and `ierrors`.
    pub(super) refused: u64,
    /// True if the cable is a queue of the virtual machine, which may lose frames, too.
    pub(super) is_emulated: bool,
}

/// Judges the count of frames that found a full receive ring.
pub(super) fn missed(check: &str, o: &Overrun) -> Line {
    let shown = o.missed.map_or("unknown".into(), count);
    let tried = format!(
        "{} sent, {} received; missed {shown}, other errors {}",
        count(o.taken),
        count(o.received),
        count(o.refused)
    );
    if o.taken == 0 {
        return Line::not_tried(check, None, "no frame could be sent");
    }
    // A sender that waits for room, as in memory, cannot overrun the ring.
    if o.received >= o.taken {
        return Line::not_tried(check, None, "no frame was lost: the sender is held back instead");
    }
    let lost = o.taken - o.received;
    match o.missed {
        None => Line::unknown(check, None, Some(tried), "the driver does not count missed frames"),
        Some(missed) if missed + o.refused == lost => Line::ok(check, None, tried),
        // Counters that are too high are as wrong as missing ones: losses would be reported that did not occur.
        Some(missed) if missed + o.refused > lost => {
            let why = "the driver counts more frames than were lost";
            Line::fails(check, None, tried, why)
        }
        Some(_) if o.is_emulated => {
            let why = "frames are in no counter: the model, or the emulated cable, lost them";
            Line::unknown(check, None, Some(tried), why)
        }
        Some(missed) => {
            let why = format!(
                "{} of {} lost frames are in no counter",
                count(lost - missed - o.refused),
                count(lost)
            );
            Line::fails(check, None, tried, why)
        }
    }
}

/// Stamps of a number of frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StampTry {
    /// Frames that the device stamps, or the reason why it stamps none.
    pub(super) offered: Result<String, String>,
    /// Frames by name: their number, and those with a stamp.
    pub(super) frames: Vec<(&'static str, u64, u64)>,
    /// Stamps that were before an earlier one, or far from the time of the burst.
    pub(super) wrong: u64,
}

/// Judges the device's stamps in one direction.
pub(super) fn stamped(check: &str, t: &StampTry) -> Line {
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
    let counts = t.frames.iter().map(|(name, all, with)| format!("{name}: {with} of {all}"));
    let tried = counts.collect::<Vec<_>>().join("; ");
    if t.wrong > 0 {
        let why = format!("{} stamps go back, or are far from the time of the burst", t.wrong);
        return Line::fails(check, claimed, tried, why);
    }
    let missing = |(_, all, with): &&(&str, u64, u64)| with < all;
    // None at all has another cause than some: the build or the model, not single frames.
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

/// Judges times of single frames, of which `arrived` of `sent` arrived.
pub(super) fn at_rest(
    check: &str,
    claimed: Option<String>,
    arrived: usize,
    sent: usize,
    tried: String,
) -> Line {
    match arrived {
        0 => Line::fails(check, claimed, format!("0 of {sent} single frames"), "none arrived"),
        // The times of the few that arrived are no picture of the link.
        some if some < sent / 2 => {
            let why = format!("{some} of {sent} single frames arrived");
            Line::unknown(check, claimed, Some(tried), why)
        }
        _ => Line::ok(check, claimed, tried),
    }
}

/// Judges a measurement of the round trip by its verdict: the times, if there are any, and the
/// reason of another end.
pub(super) fn round_trip(
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
pub(super) fn spread(s: &Statistics<f64>) -> String {
    format!("min {}, p50 {}, p99 {}, max {}", time(s.min), time(s.p50), time(s.p99), time(s.max))
}

#[cfg(test)]
mod tests;
