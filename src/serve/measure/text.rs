//! Result of a measurement, as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::outcome::{Measurement, Outcome, PortCounts, Sum};
use ::text::{Column, Table, columns, count, delay as time, scaled};
use ground::printable;
use ground::statistics::Statistics;
use headroom::Term;

/// Counters that are shown even if they are zero.
const ALWAYS: [&str; 2] = ["requests_sent", "responses_sent"];

/// The whole result.
pub fn text(outcome: &Outcome) -> String {
    let mut out = String::new();
    for (n, measurement) in outcome.measurements.iter().enumerate() {
        if outcome.measurements.len() > 1 {
            let _ = writeln!(out, "measurement {}", n + 1);
        }
        out += &one(outcome, measurement);
        out.push('\n');
    }
    if outcome.measurements.len() > 1 {
        if let Some(sum) = &outcome.headroom {
            let _ = writeln!(out, "the largest headroom: {}\n", written(sum));
        }
    }
    for switched in &outcome.switched {
        let _ = writeln!(out, "{}: {}", printable::line(&outcome.port), printable::line(switched));
    }
    if let Some(failure) = &outcome.failure {
        let (port, failure) = (printable::line(&outcome.port), printable::line(failure));
        let _ = writeln!(out, "{port}: no headroom was found\n  {failure}\n");
        if outcome.is_unanswered {
            let _ = writeln!(out, "{}\n", remedies(outcome));
        }
    }
    if let Some(disturbance) = &outcome.disturbance {
        let _ = writeln!(out, "{}: {disturbance}\n", outcome.verdict);
    }
    if outcome.state == "interrupted" {
        let made = outcome.measurements.len();
        let _ = writeln!(out, "{}: interrupted after {made} measurements\n", outcome.verdict);
    }
    for port in &outcome.ports {
        out += &printable::lines([format!("{}: {}", port.port, counted(outcome, port))]);
    }
    out
}

/// Counters of a port that are worth showing.
fn counted(outcome: &Outcome, port: &PortCounts) -> String {
    // Counters of the method in use come first and without its name; those of the other only if they counted.
    let (of_method, others, prefix) = match outcome.method {
        "ptp" => (&port.ptp, &port.measurement, "measurement "),
        _ => (&port.measurement, &port.ptp, "PTP "),
    };
    let shown = |prefix: &str, name: &str, n: u64| {
        format!("{} {prefix}{}", count(n), name.replace("802_1as", "802.1AS").replace('_', " "))
    };
    let always = of_method.iter().filter(|(name, n)| **n > 0 || ALWAYS.contains(name));
    let always = always.map(|(name, n)| shown("", name, *n));
    let others = others.iter().filter(|(_, n)| **n > 0).map(|(name, n)| shown(prefix, name, *n));
    let more = port.other.iter().filter(|(_, n)| **n > 0).map(|(name, n)| shown("", name, *n));
    always.chain(others).chain(more).collect::<Vec<_>>().join(", ")
}

/// Possible causes if no peer answered.
fn remedies(outcome: &Outcome) -> String {
    let heard = outcome.ports.first().map_or(0, |port| {
        let counter = |name| port.measurement.get(name).copied().unwrap_or_default();
        // Any frame counts here: the question is whether the link carries anything.
        let other = port.other.values().sum::<u64>();
        counter("responses_received") + counter("requests_received") + other
    });
    let what = match outcome.method {
        "ptp" => "PTP's peer delay (P2P, over Ethernet, the same --domain)",
        _ => {
            "headroom measurements (`measurement` of its port, or sluice headroom measure --respond)"
        }
    };
    let none = BTreeMap::new();
    let ptp = outcome.ports.first().map_or(&none, |port| &port.ptp);
    let silent = silence(outcome.method, heard, ptp);
    format!(
        "check that\n  - the other end of this very link answers {what}\n  - no bridge is between \
         them: the messages are for the nearest one and go no further\n  - {silent}"
    )
}

/// Returns the likely cause of the silence, from the messages that did arrive.
fn silence(method: &str, heard: u64, ptp: &BTreeMap<&'static str, u64>) -> &'static str {
    let came = |name| ptp.get(name).is_some_and(|n| *n > 0);
    match method {
        // The most specific cause first: a message of the wrong profile or domain says what to change.
        "ptp" if came("messages_of_802_1as") => {
            "the peer speaks 802.1AS (majorSdoId 1): try --gptp"
        }
        "ptp" if came("messages_of_1588") => {
            "the peer speaks IEEE 1588 (majorSdoId 0): leave --gptp out"
        }
        "ptp" if came("other_domain") => {
            "the peer's PTP messages are of another domain: try --domain"
        }
        _ if heard == 0 && !came("ignored") => {
            "nothing at all has arrived: is this the right port, and the peer's end up?"
        }
        "ptp" => {
            "frames arrive, so the link is fine, but no PTP message of peer delay is among them"
        }
        _ => {
            "frames arrive, so the link is fine: does the peer speak another dialect? `sluice headroom identify` tells"
        }
    }
}

fn one(outcome: &Outcome, m: &Measurement) -> String {
    let rate = scaled(outcome.rate_bps as f64, "b/s");
    // A rate that is assumed scales every term, so the text says where it comes from.
    let whose = match outcome.rate_from {
        "line" => "the port's line",
        "argument" => "--rate",
        _ => "assumed; say --rate",
    };
    let to = outcome.peer.as_ref().map_or(String::new(), |peer| format!(" to {peer}"));
    let mut out = format!(
        "{}{to}: {} rounds in {:.1} ms, link {rate} ({whose})\n\
         stamps: t1 {}, t4 {}, t2 and t3 as the peer says; resolution {}\n\
         a delay may be off by {} either way{}\n{}\n",
        outcome.port,
        m.rounds,
        m.took_ms,
        stamps(&m.sources.t1),
        stamps(&m.sources.t4),
        time(m.stamps.resolution_ns),
        time(m.uncertainty_ns),
        ring(m.in_ring_ns),
        not_counted(&m.not_counted),
    );
    let columns: [Column<(&str, Statistics<f64>)>; 7] = columns! { (name, s) =>
        Text [""] = *name;
        Printed ["min"] = time(s.min);
        Printed ["mean"] = time(s.mean);
        Printed ["p50"] = time(s.p50);
        Printed ["p90"] = time(s.p90);
        Printed ["p99"] = time(s.p99);
        Printed ["max"] = time(s.max);
    };
    let delay = if outcome.method == "ptp" { "mean path delay" } else { "round trip" };
    let turnaround = m.turnaround_ns.map(|turnaround| ("peer's t3 - t2", turnaround));
    let times: Vec<_> = [(delay, m.delay_ns)].into_iter().chain(turnaround).collect();
    let times = Table::of(&times, &columns);
    let _ = writeln!(out, "{times}");
    let columns: [Column<Term>; 4] = columns! { term =>
        Text ["headroom"] = term.name;
        // Adjustments may take off bits, and `count` groups the digits of unsigned numbers alone.
        Printed ["bits"] =
            format!("{}{}", if term.bits < 0 { "-" } else { "" }, count(term.bits.unsigned_abs()));
        Printed ["bytes"] = format!("{:.1}", term.bits as f64 / 8.0);
        Text [""] = term.source;
    };
    let _ = write!(out, "{}", Table::of(&m.terms, &columns));
    let by = match outcome.statistic.as_str() {
        "max" => "the longest delay".to_owned(),
        "mean" => "the mean delay".to_owned(),
        other => format!("the {other} of the delays"),
    };
    let _ = writeln!(out);
    // The failure below says why there is no sum.
    if m.limited {
        return out;
    }
    let _ = writeln!(out, "headroom, by {by}: {}", written(&m.headroom));
    if let Some(with) = &m.headroom_macsec {
        let _ = writeln!(out, "with MACsec: {}", written(with));
    }
    let _ = writeln!(
        out,
        "accuracy: {:.2} quanta or {:.3} of the longest frame ({} B), either way",
        m.accuracy.quanta, m.accuracy.max_frames, outcome.max_frame
    );
    out
}

fn written(sum: &Sum) -> String {
    let cells = sum.cells.map_or(String::new(), |n| {
        format!("; {} cells of a switch's buffer in the shortest frames", count(n))
    });
    let (bytes, bits, quanta) = (count(sum.bytes), count(sum.bits), count(sum.quanta));
    format!("{bytes} bytes = {bits} bits = {quanta} quanta{cells}")
}

fn stamps(source: &str) -> &'static str {
    match source {
        "exact" => "exact (virtual time)",
        "nic" => "by the NIC",
        "software" => "by software",
        _ => "by the poll",
    }
}

/// Returns lines about unknown times that are part of the delay; none if there are none.
fn not_counted(times: &[&str]) -> String {
    let lines: String = times.iter().map(|time| format!("  {time}\n")).collect();
    if lines.is_empty() {
        lines
    } else {
        format!("unknown, and can only lengthen a delay:\n{lines}")
    }
}

/// Returns the part of the sentence about frames in the transmit ring.
fn ring(longest: Option<f64>) -> String {
    let longest = longest.filter(|longest| *longest > 0.0);
    longest.map_or(String::new(), |longest| {
        format!(", and up to {} too long by frames in the transmit ring", time(longest))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_that_were_ignored_say_what_to_try() {
        let hint = |method, heard, name: &'static str| {
            silence(method, heard, &BTreeMap::from([(name, 2), ("requests_sent", 9)]))
        };
        for (name, part) in [
            ("messages_of_802_1as", "802.1AS (majorSdoId 1): try --gptp"),
            ("messages_of_1588", "leave --gptp out"),
            ("other_domain", "try --domain"),
            ("ignored", "no PTP message of peer delay"),
            ("late", "nothing at all has arrived"),
        ] {
            let said = hint("ptp", 0, name);
            assert!(said.contains(part) && !said.contains("identify"), "{name}: {said}");
        }
        assert!(hint("round_trip", 3, "late").contains("headroom identify"));
    }
}
