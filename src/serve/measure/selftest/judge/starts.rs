//! Verdicts on starts: links, rings, and stops.

use crate::selftest::bench::Passed;
use crate::selftest::report::Line;

/// A start with other ring sizes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::selftest) struct RingTry {
    /// Requested receive and transmit descriptors.
    pub(in crate::selftest) asked: (u16, u16),
    /// Descriptors that the driver took and the frames that passed, or the error.
    pub(in crate::selftest) result: Result<((u16, u16), Option<Passed>), String>,
}

/// Judges ring sizes.
pub(in crate::selftest) fn rings(check: &str, claimed: Option<String>, tries: &[RingTry]) -> Line {
    if tries.is_empty() {
        return Line::not_tried(check, claimed, "the driver names no sizes");
    }
    let sizes = tries.iter().map(|one| {
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
    let tried = sizes.collect::<Vec<_>>().join("; ");
    // A size within the driver's own limits that it refuses is a wrong claim.
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
pub(in crate::selftest) struct LinkTry {
    /// Answer of the peer's driver.
    pub(in crate::selftest) set: Result<(), String>,
    /// True if the port's link went down.
    pub(in crate::selftest) seen_down: bool,
    /// True if the port's link was up at the end.
    pub(in crate::selftest) seen_up: bool,
    /// Frames that passed afterwards.
    pub(in crate::selftest) passed: Passed,
}

/// Judges link changes.
pub(in crate::selftest) fn link(check: &str, t: &LinkTry) -> Line {
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
        // The worst first: a port whose link stays down needs a person.
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
pub(in crate::selftest) fn restarts(
    check: &str,
    all: &[(&str, Result<Option<Passed>, String>)],
) -> Line {
    if all.is_empty() {
        return Line::not_tried(check, None, "the port was not started");
    }
    let starts = all.iter().map(|(what, result)| match result {
        Ok(Some(passed)) => format!("{what}: {} of {} frames", passed.intact, passed.offered),
        Ok(None) => format!("{what}: started"),
        Err(_) => format!("{what}: refused"),
    });
    let tried = starts.collect::<Vec<_>>().join("; ");
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

/// State of the link after the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::selftest) struct LinkUp {
    /// Milliseconds until both ends were up; `None` if they are not.
    pub(in crate::selftest) after_ms: Option<u64>,
    pub(in crate::selftest) full_duplex: bool,
    pub(in crate::selftest) is_virtual: bool,
}

/// Judges the link after the start.
pub(in crate::selftest) fn link_up(check: &str, claimed: Option<String>, l: LinkUp) -> Line {
    match l.after_ms {
        None => Line::fails(check, claimed, "down", "check the cable, and that both ends are up"),
        Some(_) if !l.full_duplex && !l.is_virtual => {
            Line::fails(check, claimed, "up", "PFC needs full duplex (IEEE 802.3 31D)")
        }
        Some(ms) => {
            let line = Line::ok(check, claimed, format!("up after {ms} ms"));
            line.value("up_after_ms", ms as f64)
        }
    }
}
