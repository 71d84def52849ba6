//! A report as text of 80 columns.

use std::fmt::Write;

use ::text::{Align, Table, count, scaled};
use ground::printable;

use super::report::{Device, Found, Line, Nature, Report};

/// Columns of the text.
const WIDTH: usize = 80;

/// Column at which the text of a line begins.
const INDENT: usize = 26;

/// The whole report.
#[must_use]
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    let to = report.peer.as_ref().map_or(String::new(), |peer| format!(" to {}", peer.port));
    wrapped(&mut out, 0, &format!("Self-test of {}{to}", report.port.port));
    let machine = &report.machine;
    let unknown = || "unknown".to_owned();
    let versions = format!(
        "Sluice {}, {}, kernel {}, {}",
        report.sluice,
        report.dpdk,
        machine.kernel.clone().unwrap_or_else(unknown),
        machine.architecture
    );
    named(&mut out, "versions", &versions);
    let is_virtual = match machine.is_virtual {
        Some(true) => "a virtual machine",
        Some(false) => "not virtual",
        None => "unknown whether virtual",
    };
    let processor = machine.processor.clone().unwrap_or_else(unknown);
    named(&mut out, "machine", &format!("{}; {processor}; {is_virtual}", machine.model));
    device(&mut out, "port", &report.port);
    if let Some(peer) = &report.peer {
        device(&mut out, "peer", peer);
    }
    if let Some(caveat) = caveat(report.port.nature) {
        named(&mut out, "note", caveat);
    }
    out.push('\n');
    report.lines.iter().for_each(|one| line(&mut out, one));
    if !report.rates.is_empty() {
        let right = |name| (name, Align::Right);
        let mut table = Table::new([
            right("bytes"),
            right("sent/s"),
            right("received/s"),
            right("on the line"),
        ]);
        for rate in &report.rates {
            table.row([
                count(rate.frame_bytes.into()),
                count(rate.sent_per_second as u64),
                count(rate.received_per_second as u64),
                scaled(rate.line_bps, "b/s"),
            ]);
        }
        let _ = write!(out, "\nrates by one thread, observed, not judged\n{table}");
    }
    let of = |found| report.lines.iter().filter(|line| line.verdict == found).count();
    let _ = writeln!(
        out,
        "\n{}: {} ok, {} fail, {} not tried, {} unknown",
        report.verdict,
        of(Found::Ok),
        of(Found::Fails),
        of(Found::NotTried),
        of(Found::Unknown)
    );
    out
}

/// Limits of a report about a device of this kind.
fn caveat(nature: Nature) -> Option<&'static str> {
    match nature {
        Nature::Physical => None,
        Nature::Unknown => {
            Some("whether this NIC is emulated is not known: say so where you publish the report")
        }
        Nature::VirtualFunction => {
            Some("a virtual function: the NIC it belongs to may hold pauses and stamps back")
        }
        _ => Some(
            "not a physical NIC: this proves code paths, and neither precision, line rate nor \
             losslessness",
        ),
    }
}

fn device(out: &mut String, what: &str, device: &Device) {
    let firmware = match (&device.firmware, &device.firmware_unknown) {
        (Some(version), _) => version.clone(),
        (None, Some(why)) => format!("unknown ({why})"),
        (None, None) => "unknown".into(),
    };
    let rate =
        device.link_rate_bps.map_or("no link rate".into(), |rate| scaled(rate as f64, "b/s"));
    let text = format!(
        "{}: driver {}, {} ({}), firmware {firmware}, {rate}",
        device.port,
        device.driver,
        device.nature.label(),
        device.evidence
    );
    named(out, what, &text);
}

fn line(out: &mut String, line: &Line) {
    let verdict = line.verdict.label();
    let parts = [("claimed", &line.claimed), ("tried", &line.tried), ("why", &line.reason)];
    let said: Vec<_> = parts
        .iter()
        .filter_map(|(name, text)| Some(format!("{name}: {}", text.as_ref()?)))
        .collect();
    let head = format!("{verdict:<9} {:<15}", line.check);
    wrapped_after(out, &head, said.first().map_or("", String::as_str));
    for more in said.iter().skip(1) {
        wrapped(out, INDENT, more);
    }
}

fn named(out: &mut String, name: &str, text: &str) {
    wrapped_after(out, &format!("  {name:<9}"), text);
}

/// Writes text behind a head; further lines begin where the first one does.
fn wrapped_after(out: &mut String, head: &str, text: &str) {
    let indent = head.chars().count() + 1;
    let mut body = String::new();
    wrapped(&mut body, indent, text);
    let _ = writeln!(out, "{head} {}", body.trim_start().trim_end());
}

/// Writes text in lines of at most [`WIDTH`] columns. Words that are longer are split.
fn wrapped(out: &mut String, indent: usize, text: &str) {
    let room = WIDTH - indent;
    let mut current = String::new();
    let text = printable::message(text).replace('\n', " ");
    for word in text.split_whitespace() {
        let chars: Vec<char> = word.chars().collect();
        for piece in chars.chunks(room) {
            let piece: String = piece.iter().collect();
            let used = current.chars().count();
            if used > 0 && used + 1 + piece.chars().count() > room {
                let _ = writeln!(out, "{:indent$}{current}", "");
                current.clear();
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current += &piece;
        }
    }
    let _ = writeln!(out, "{:indent$}{current}", "");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_never_longer_than_80_columns() {
        let mut out = String::new();
        let long = "x".repeat(200);
        line(
            &mut out,
            &Line::fails("mac_control", Some(long.clone()), "some words ".repeat(20), long),
        );
        device_lines(&mut out);
        assert!(out.lines().all(|line| line.chars().count() <= WIDTH), "{out}");
        assert!(out.starts_with("fails     mac_control     claimed:"), "{out}");
    }

    fn device_lines(out: &mut String) {
        named(out, "port", &"0000:03:00.0 ".repeat(20));
    }
}
