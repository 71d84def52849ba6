//! Verdicts on frames that were to pass, and on their counters.

use ::text::count;

use crate::selftest::bench::Passed;
use crate::selftest::report::Line;

/// Fate of frames of several kinds.
pub(in crate::selftest) type Parts = [(String, Passed)];

/// Judges frames that should arrive as they were sent. `remedy` tells what to look for if not.
pub(in crate::selftest) fn passed(
    check: &str,
    claimed: Option<String>,
    parts: &Parts,
    remedy: &str,
) -> Line {
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

/// A counter of the driver, and the number that it should have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::selftest) struct Counted {
    pub(in crate::selftest) what: &'static str,
    pub(in crate::selftest) counter: u64,
    pub(in crate::selftest) actual: u64,
}

/// Judges the driver's counters.
pub(in crate::selftest) fn counted(check: &str, all: &[Counted]) -> Line {
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
pub(in crate::selftest) struct Overrun {
    /// Frames that the sender's port took.
    pub(in crate::selftest) taken: u64,
    /// Frames received when the port was polled again.
    pub(in crate::selftest) received: u64,
    /// Growth of `imissed`; `None` where nothing counts it.
    pub(in crate::selftest) missed: Option<u64>,
    /// Growth of `rx_nombuf` and `ierrors`.
    pub(in crate::selftest) refused: u64,
    /// True if the cable is a queue of the virtual machine, which may lose frames, too.
    pub(in crate::selftest) is_emulated: bool,
}

/// Judges the count of frames that found a full receive ring.
pub(in crate::selftest) fn missed(check: &str, o: &Overrun) -> Line {
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
