//! Report of the self-test of a port: the form that its owner attaches to an issue.
//!
//! A line is `ok` or `fails` only if the ability was tried; the constructors of [`Line`] admit no
//! other. A number that is not known is absent.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use ground::verdict::Verdict;

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
    #[must_use]
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
    #[must_use]
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
    #[must_use]
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
    #[must_use]
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
}
