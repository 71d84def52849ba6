//! Verdicts on what the steps of the self-test observed. No function here has an effect, so each
//! verdict has a test in which it is `fails` and one in which it is not known.

use ::text::{count, delay as time};

use super::bench::Passed;
use super::report::Line;

/// Share of the frames without pauses below which a sender has stopped, as a divisor.
const STOPPED: u64 = 10;

/// Share of the frames without pauses above which a sender goes on, as a divisor. Between the two
/// a busy machine may be the reason.
const GOES_ON: u64 = 2;

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

/// Frames that arrived from a raw port without and with pauses at it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct PauseWatch {
    /// Frames offered to the port without pauses, and with them.
    pub(super) offered: [u64; 2],
    /// Frames that arrived at the peer.
    pub(super) arrived: [u64; 2],
    pub(super) pauses_sent: u64,
    /// Pauses that software received.
    pub(super) pauses_seen: u64,
}

/// Judges a NIC that must leave pauses to software.
pub(super) fn left_to_software(check: &str, claimed: Option<String>, w: &PauseWatch) -> Line {
    // Shares in thousandths, as the two windows are not of the same length.
    let share = |n: usize| w.arrived[n] * 1_000 / w.offered[n].max(1);
    let (free, paused) = (share(0), share(1));
    let tried = format!(
        "{} of {} pauses seen by software; frames sent: {:.1} % arrive, under pauses {:.1} %",
        count(w.pauses_seen),
        count(w.pauses_sent),
        free as f64 / 10.0,
        paused as f64 / 10.0
    );
    if free == 0 || w.pauses_sent == 0 || w.offered[1] == 0 {
        let why = "no frame arrived without pauses, or none was paused";
        return Line::unknown(check, claimed, Some(tried), why);
    }
    if paused * STOPPED <= free {
        let why = "the NIC obeys pauses itself: switch its flow control off";
        return Line::fails(check, claimed, tried, why);
    }
    if w.pauses_seen == 0 {
        let why = "the NIC, or something before it, swallows pauses: Sluice cannot obey them";
        return Line::fails(check, claimed, tried, why);
    }
    if paused * GOES_ON < free {
        let why = "fewer frames arrived under pauses, but they did not stop: try again when the \
                   machine is idle";
        return Line::unknown(check, claimed, Some(tried), why);
    }
    Line::ok(check, claimed, tried)
}

/// Frames of Sluice's own station before, during and after a pause of one priority: those of the
/// priority, and those of another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Obeyed {
    pub(super) before: (u64, u64),
    pub(super) during: (u64, u64),
    pub(super) after: (u64, u64),
    pub(super) pauses_sent: u64,
    /// Pauses that the station received.
    pub(super) pauses_seen: u64,
}

/// Judges the reaction of Sluice's port to PFC.
pub(super) fn obeyed(check: &str, o: &Obeyed) -> Line {
    let tried = format!(
        "{} of {} pauses seen; frames per window before, during, after: paused priority {}, {}, \
         {}; other priority {}, {}, {}",
        count(o.pauses_seen),
        count(o.pauses_sent),
        count(o.before.0),
        count(o.during.0),
        count(o.after.0),
        count(o.before.1),
        count(o.during.1),
        count(o.after.1),
    );
    if o.before.0 == 0 || o.before.1 == 0 || o.pauses_sent == 0 {
        let why = "too few frames or pauses were sent to tell";
        return Line::unknown(check, None, Some(tried), why);
    }
    if o.during.0 * STOPPED > o.before.0 {
        let why = "the paused priority went on: pauses do not reach software";
        return Line::fails(check, None, tried, why);
    }
    if o.during.1 * STOPPED < o.before.1 {
        let why =
            "the other priority stopped, too: the NIC obeys pauses itself, or nothing is sent";
        return Line::fails(check, None, tried, why);
    }
    if o.after.0 == 0 {
        return Line::fails(check, None, tried, "the paused priority did not resume");
    }
    if o.after.0 * STOPPED < o.before.0 {
        let why = "the paused priority resumed slowly: try again when the machine is idle";
        return Line::unknown(check, None, Some(tried), why);
    }
    Line::ok(check, None, tried)
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
    if o.received >= o.taken {
        return Line::not_tried(check, None, "no frame was lost: the sender is held back instead");
    }
    let lost = o.taken - o.received;
    match o.missed {
        None => Line::unknown(check, None, Some(tried), "the driver does not count missed frames"),
        Some(missed) if missed + o.refused == lost => Line::ok(check, None, tried),
        Some(missed) => {
            let why = format!(
                "{} of {} lost frames are in no counter",
                count(lost.saturating_sub(missed + o.refused)),
                count(lost)
            );
            Line::fails(check, None, tried, why)
        }
    }
}

/// A start with other ring sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct RingTry {
    /// Receive and transmit descriptors that were asked for.
    pub(super) asked: (u16, u16),
    /// Descriptors that the driver took and the frames that passed, or the error.
    pub(super) result: Result<((u16, u16), Option<Passed>), String>,
}

/// Judges ring sizes.
pub(super) fn rings(check: &str, claimed: Option<String>, tries: &[RingTry]) -> Line {
    if tries.is_empty() {
        return Line::not_tried(check, claimed, "the driver names no sizes");
    }
    let said = tries.iter().map(|one| {
        let (rx, tx) = one.asked;
        match &one.result {
            Ok((got, passed)) => {
                let got = if *got == one.asked {
                    String::new()
                } else {
                    format!(" ({}/{})", got.0, got.1)
                };
                let frames = passed
                    .as_ref()
                    .map_or("started".into(), |p| format!("{} of {}", p.intact, p.offered));
                format!("{rx}/{tx}{got}: {frames}")
            }
            Err(_) => format!("{rx}/{tx}: refused"),
        }
    });
    let tried = said.collect::<Vec<_>>().join("; ");
    if let Some(why) = tries.iter().find_map(|one| one.result.as_ref().err()) {
        return Line::fails(check, claimed, tried, why.clone());
    }
    let lost = |one: &RingTry| {
        one.result.as_ref().is_ok_and(|(_, p)| p.as_ref().is_some_and(|p| !p.all()))
    };
    if tries.iter().any(lost) {
        return Line::fails(check, claimed, tried, "frames were lost with some sizes");
    }
    Line::ok(check, claimed, tried)
}

/// The peer's link, taken down and up again.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct LinkTry {
    /// Answer of the peer's driver.
    pub(super) set: Result<(), String>,
    /// True if the port's link went down.
    pub(super) seen_down: bool,
    /// True if the port's link was up at the end.
    pub(super) seen_up: bool,
    /// Frames that passed afterwards.
    pub(super) passed: Passed,
}

/// Judges link changes.
pub(super) fn link(check: &str, t: &LinkTry) -> Line {
    if let Err(why) = &t.set {
        return Line::not_tried(
            check,
            None,
            format!("the peer's link cannot be taken down: {why}"),
        );
    }
    let yes = |seen: bool| if seen { "seen" } else { "not seen" };
    let tried = format!(
        "peer taken down: {}; up again: {}; then {} of {} frames",
        yes(t.seen_down),
        yes(t.seen_up),
        t.passed.intact,
        t.passed.offered
    );
    match (t.seen_down, t.seen_up) {
        (_, false) => Line::fails(check, None, tried, "the link stayed down"),
        (true, true) if !t.passed.all() => {
            Line::fails(check, None, tried, "frames were lost after the link came up again")
        }
        (true, true) => Line::ok(check, None, tried),
        (false, true) => {
            let why = "the port did not see its peer go down: the peer's driver may leave its \
                       transmitter on, so pull the cable to be sure";
            Line::unknown(check, None, Some(tried), why)
        }
    }
}

/// Judges stops and starts: for each the frames that passed, or the error.
pub(super) fn restarts(check: &str, all: &[(&str, Result<Option<Passed>, String>)]) -> Line {
    if all.is_empty() {
        return Line::not_tried(check, None, "the port was not started");
    }
    let said = all.iter().map(|(what, result)| match result {
        Ok(Some(passed)) => format!("{what}: {} of {} frames", passed.intact, passed.offered),
        Ok(None) => format!("{what}: started"),
        Err(_) => format!("{what}: refused"),
    });
    let tried = said.collect::<Vec<_>>().join("; ");
    if let Some(why) = all.iter().find_map(|(_, result)| result.as_ref().err()) {
        return Line::fails(check, None, tried, why.clone());
    }
    let lost = |(_, r): &(&str, Result<Option<Passed>, String>)| {
        r.as_ref().is_ok_and(|p| p.as_ref().is_some_and(|p| !p.all()))
    };
    if all.iter().any(lost) {
        return Line::fails(check, None, tried, "frames were lost after a start");
    }
    Line::ok(check, None, tried)
}

/// Stamps of a number of frames.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StampTry {
    /// True, or the reason why the device gives none.
    pub(super) offered: Result<(), String>,
    /// Frames by name: their number, and those with a stamp.
    pub(super) frames: Vec<(&'static str, u64, u64)>,
    /// Stamps that were before an earlier one, or far from the time of the burst.
    pub(super) wrong: u64,
}

/// Judges the device's stamps in one direction.
pub(super) fn stamped(check: &str, t: &StampTry) -> Line {
    let claimed = Some(match &t.offered {
        Ok(()) => "offered".to_owned(),
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
    if let Some((name, ..)) = t.frames.iter().find(|(_, all, with)| with < all) {
        let why = format!(
            "{name}: frames without a stamp. Does this DPDK have RTE_LIBRTE_IEEE1588? Debian's has not"
        );
        return Line::fails(check, claimed, tried, why);
    }
    Line::ok(check, claimed, tried)
}

/// Spread of times in nanoseconds.
pub(super) fn spread(min: f64, p50: f64, p99: f64, max: f64) -> String {
    format!("min {}, p50 {}, p99 {}, max {}", time(min), time(p50), time(p99), time(max))
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
