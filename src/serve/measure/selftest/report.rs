//! Report of the self-test of a port: the form that its owner attaches to an issue, as JSON and as text of
//! 80 columns.
//!
//! A line is `ok` or `fails` only if the ability was tried; the constructors of [`Line`] admit no
//! other. A number that is not known is absent.

use std::collections::BTreeMap;
use std::fmt::Write;

use ground::printable;
use ground::verdict::Verdict;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ::text::{Column, Table, columns, scaled};

/// Value of [`Report::form`]: changes with every change that a reader of reports would notice.
pub const FORM: &str = "sluice-nic-report/1";

/// Verdict of a line.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// It was tried, and it works.
    Ok,
    /// It was tried, and it does not work, or not as claimed.
    Fails,
    /// It was not tried; the reason is in the line.
    NotTried,
    /// It was tried or asked for, and the result proves neither; the reason is in the line.
    Unknown,
}

impl Found {
    /// Returns the word in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fails => "fails",
            Self::NotTried => "not tried",
            Self::Unknown => "unknown",
        }
    }
}

/// One ability of the port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// Name of the check, such as `mac_control`.
    pub check: String,
    /// Claim of the driver. Null: it makes none.
    pub claimed: Option<String>,
    /// Result of the try. Null: it was not tried.
    pub tried: Option<String>,
    pub verdict: Found,
    /// Reason of any verdict but `ok`.
    pub reason: Option<String>,
    /// Measured numbers by name; the end of a name is the unit.
    #[serde(default)]
    pub values: BTreeMap<String, f64>,
}

impl Line {
    /// Line that was tried and works.
    pub(crate) fn ok(check: &str, claimed: Option<String>, tried: impl Into<String>) -> Self {
        Self::new(check, claimed, Some(tried.into()), Found::Ok, None)
    }

    /// Line that was tried and does not work.
    pub(crate) fn fails(
        check: &str,
        claimed: Option<String>,
        tried: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self::new(check, claimed, Some(tried.into()), Found::Fails, Some(reason.into()))
    }

    /// Line that was not tried.
    pub(crate) fn not_tried(check: &str, claimed: Option<String>, why: impl Into<String>) -> Self {
        Self::new(check, claimed, None, Found::NotTried, Some(why.into()))
    }

    /// Line whose try proves nothing.
    pub(crate) fn unknown(
        check: &str,
        claimed: Option<String>,
        tried: Option<String>,
        why: impl Into<String>,
    ) -> Self {
        Self::new(check, claimed, tried, Found::Unknown, Some(why.into()))
    }

    fn new(
        check: &str,
        claimed: Option<String>,
        tried: Option<String>,
        verdict: Found,
        reason: Option<String>,
    ) -> Self {
        Self { check: check.into(), claimed, tried, verdict, reason, values: BTreeMap::new() }
    }

    /// Adds a measured number.
    pub(crate) fn value(mut self, name: &str, value: f64) -> Self {
        self.values.insert(name.into(), value);
        self
    }

    /// True if verdict, try and reason agree.
    pub fn is_sound(&self) -> bool {
        match self.verdict {
            Found::Ok => self.tried.is_some() && self.reason.is_none(),
            Found::Fails => self.tried.is_some() && self.reason.is_some(),
            Found::NotTried => self.tried.is_none() && self.reason.is_some(),
            Found::Unknown => self.reason.is_some(),
        }
    }
}

/// Kind of a device. It decides what its report can prove.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// A NIC of its own.
    Physical,
    /// A NIC that a virtual machine imitates.
    Emulated,
    /// A device made for virtual machines: no NIC of this kind exists.
    Paravirtual,
    /// A virtual function of a NIC.
    VirtualFunction,
    /// An interface of the kernel.
    KernelInterface,
    /// A virtual device of DPDK in memory.
    Memory,
    /// In a virtual machine, and either emulated or passed through.
    Unknown,
}

impl Nature {
    /// Returns the word in tables.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Physical => "physical NIC",
            Self::Emulated => "EMULATED NIC",
            Self::Paravirtual => "PARAVIRTUAL device",
            Self::VirtualFunction => "virtual function of a NIC",
            Self::KernelInterface => "kernel interface",
            Self::Memory => "virtual device in memory",
            Self::Unknown => "unknown: physical or emulated",
        }
    }
}

/// PCI identity of a device, in hexadecimal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pci {
    pub vendor: String,
    pub device: String,
    pub subsystem_vendor: String,
    pub subsystem_device: String,
}

/// A device of the test.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Device {
    /// Port as given in the arguments.
    pub port: String,
    /// DPDK's driver, such as `net_ixgbe`.
    pub driver: String,
    pub nature: Nature,
    /// Evidence for `nature`.
    pub evidence: String,
    /// Null for devices that are not on the PCI bus.
    pub pci: Option<Pci>,
    /// Version of the firmware. Null: unknown, see `firmware_unknown`.
    pub firmware: Option<String>,
    /// Reason why the version is unknown.
    pub firmware_unknown: Option<String>,
    /// Negotiated rate of the link in b/s. Null: the device has none.
    pub link_rate_bps: Option<u64>,
}

/// The machine of the test.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Release of the kernel.
    pub kernel: Option<String>,
    /// Instruction set, such as `x86_64`.
    pub architecture: String,
    /// Processor's model.
    pub processor: Option<String>,
    /// True in a virtual machine. Null: unknown.
    pub is_virtual: Option<bool>,
    /// Maker and model by DMI, or the reason why they are unknown.
    pub model: String,
}

/// Rate of frames of one size, as one thread of this machine sent and received them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SizeRate {
    /// Size in bytes, FCS included.
    pub frame_bytes: u32,
    /// Frames that the port took, per second.
    pub sent_per_second: f64,
    /// Frames that the peer received, per second.
    pub received_per_second: f64,
    /// Received bits, preamble and gap included, per second.
    pub line_bps: f64,
}

/// Result of the self-test of a port.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// Form of this document.
    pub form: String,
    /// Version of Sluice.
    pub sluice: String,
    /// Version of DPDK that ran.
    pub dpdk: String,
    /// Version of the DPDK headers that Sluice was built with.
    pub built_against: String,
    pub machine: Machine,
    pub port: Device,
    /// The device at the other end. Null: one port alone was tested.
    pub peer: Option<Device>,
    /// `fail` if any line fails; `pass` if one is ok and none fails; otherwise `not_judged`;
    /// `inconclusive` if a signal ended the test.
    #[schemars(with = "String")]
    pub verdict: Verdict,
    pub lines: Vec<Line>,
    /// Observed rates, without a verdict. Empty: not measured.
    pub rates: Vec<SizeRate>,
}

impl Report {
    /// Returns the line of a check.
    pub fn line(&self, check: &str) -> Option<&Line> {
        self.lines.iter().find(|line| line.check == check)
    }
}

/// Verdict of a test with these lines. It is asked what works: what it cannot try and what a driver does not
/// tell are reported, not judged.
pub(crate) fn verdict_of(lines: &[Line], interrupted: bool) -> Verdict {
    if interrupted {
        return Verdict::Inconclusive;
    }
    Verdict::of_all(lines.iter().filter_map(|line| match line.verdict {
        Found::Ok => Some(Verdict::Pass),
        Found::Fails => Some(Verdict::Fail),
        Found::NotTried | Found::Unknown => None,
    }))
}

/// Columns of the text.
const WIDTH: usize = 80;

/// Column at which the text of a line begins.
const INDENT: usize = 26;

/// The whole report.
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
    // Three answers: a machine that does not tell is not the same as one that is not virtual.
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
    // Before the lines, so that no line is read without it.
    if let Some(caveat) = caveat(report.port.nature) {
        named(&mut out, "note", caveat);
    }
    out.push('\n');
    report.lines.iter().for_each(|one| line(&mut out, one));
    // Rates depend on this machine's CPU as much as on the NIC, so they have no verdict.
    if !report.rates.is_empty() {
        let columns: [Column<SizeRate>; 4] = columns! { rate =>
            Whole ["bytes"] = u64::from(rate.frame_bytes);
            Whole ["sent/s"] = rate.sent_per_second as u64;
            Whole ["received/s"] = rate.received_per_second as u64;
            Printed ["on the line"] = scaled(rate.line_bps, "b/s");
        };
        let table = Table::of(&report.rates, &columns);
        let _ = write!(out, "\nrates by one thread, observed, not judged\n{table}");
    }
    let number = |found| report.lines.iter().filter(|line| line.verdict == found).count();
    let _ = writeln!(
        out,
        "\n{}: {} ok, {} fail, {} not tried, {} unknown",
        report.verdict,
        number(Found::Ok),
        number(Found::Fails),
        number(Found::NotTried),
        number(Found::Unknown)
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
    let texts: Vec<_> = parts
        .iter()
        .filter_map(|(name, text)| Some(format!("{name}: {}", text.as_ref()?)))
        .collect();
    // As wide as the longest check, so that the texts begin in one column.
    let head = format!("{verdict:<9} {:<15}", line.check);
    wrapped_after(out, &head, texts.first().map_or("", String::as_str));
    for more in texts.iter().skip(1) {
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
        // A word without spaces, such as a path, may be longer than a line.
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
    fn nothing_untried_is_ok_and_one_failure_fails_the_test() {
        let ok = Line::ok("a", None, "8 of 8");
        let fails = Line::fails("b", None, "0 of 8", "lost");
        let untried = Line::not_tried("c", None, "needs a peer");
        let unknown = Line::unknown("d", None, None, "the driver does not tell");
        let all = [&ok, &fails, &untried, &unknown];
        assert!(all.iter().all(|line| line.is_sound()));
        assert!(!Line { verdict: Found::Ok, ..untried.clone() }.is_sound());
        assert!(!Line { verdict: Found::Ok, ..unknown.clone() }.is_sound());
        let verdict = |lines: &[&Line]| {
            let lines: Vec<_> = lines.iter().map(|line| (*line).clone()).collect();
            verdict_of(&lines, false)
        };
        assert_eq!(verdict(&all), Verdict::Fail);
        assert_eq!(verdict(&[&ok, &untried, &unknown]), Verdict::Pass);
        assert_eq!(verdict(&[&untried, &unknown]), Verdict::NotJudged);
        assert_eq!(verdict_of(&[ok], true), Verdict::Inconclusive);
    }

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
