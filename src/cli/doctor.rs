//! `sluice doctor`: checks that this machine and its ports are suitable for the real world, with
//! remedies.
//!
//! Reads `/proc` and `/sys`, measures the clock, starts DPDK, and tests every port of the
//! arguments. A finding has a result, a severity and a remedy. Exit status 0: no obstacle; 1: a
//! port lacks something that Sluice needs; 3: DPDK does not run here. With `--selftest` it tries one
//! port and its cable by sending frames instead.

mod machine;
mod ports;

use std::fmt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use serde::Serialize;
use tester::plan::{Location, Place};

use super::machine::MachineArgs;
use super::outputs::Outputs;
use super::terminal::{self, Progress};
use super::{bad_input, exit, stop_on_signals};
use crate::dpdk::{Eal, EalOptions, own_prefix};
use crate::printable;
use ::measure::selftest::{Report, selftest, text};

pub use super::Format;

const EXAMPLES: &str = "\
EXAMPLES:
  sluice doctor                                    this machine
  sluice doctor --port 0000:3b:00.0                and a port, without sending to its peer
  sluice doctor --selftest --port 0000:3b:00.0 --peer 0000:3b:00.1  two ports with a cable in between
  sluice doctor --selftest --port iface:veth0 --peer iface:veth1
  sluice doctor --selftest --port ring:x.a --peer ring:x.b

A self-test sends frames, pauses among them, and takes the peer's link down: use it between two
ports that nothing else uses. The file of --json is the report to attach to an issue.

EXIT STATUS: 0 no obstacle, 1 something fails, 2 bad arguments, 3 a port or DPDK does not open,
4 nothing could be tried, or a signal ended the self-test.";

/// Arguments of `sluice doctor`.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct DoctorArgs {
    /// Port to test, by its EAL name: a PCI address, or a virtual device such as
    /// net_af_packet0,iface=eth1. May be repeated. With --selftest also iface:eth1 or ring:NAME.a.
    #[arg(long = "port", value_name = "DEVICE")]
    pub ports: Vec<String>,
    /// Try one port by sending frames, and report each ability as claimed and as tried.
    #[arg(long, requires = "ports")]
    pub selftest: bool,
    /// Port at the other end of the cable. Without it a self-test tries only what one port can.
    #[arg(long, value_name = "DEVICE", requires = "selftest")]
    pub peer: Option<String>,
    /// Write the report of a self-test to this file, as JSON.
    #[arg(long, value_name = "FILE", requires = "selftest")]
    pub json: Option<PathBuf>,
    /// Format of the findings.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// EAL options and idle mode.
    #[command(flatten)]
    pub machine: MachineArgs,
}

/// Severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Correct.
    Ok,
    /// Information.
    Note,
    /// Works, but slower or less exactly than possible.
    Warn,
    /// Does not work.
    Fail,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Warn => "WARN",
            Self::Fail => "FAIL",
        })
    }
}

/// Result of one check.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// `machine`, or the port's device.
    pub subject: String,
    /// Name of the check.
    pub check: &'static str,
    pub verdict: Verdict,
    /// Result of the check.
    pub found: String,
    /// Remedy, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// Findings about one subject, as they are made.
struct Findings<'a> {
    subject: &'a str,
    all: &'a mut Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, check: &'static str, verdict: Verdict, found: impl Into<String>) {
        let found = printable::message(&found.into()).into_owned();
        let subject = printable::excerpt(self.subject).into_owned();
        self.all.push(Finding { subject, check, verdict, found, advice: None });
    }

    fn advise(
        &mut self,
        check: &'static str,
        verdict: Verdict,
        found: impl Into<String>,
        advice: impl Into<String>,
    ) {
        self.add(check, verdict, found);
        // The finding that was just added.
        if let Some(last) = self.all.last_mut() {
            last.advice = Some(printable::message(&advice.into()).into_owned());
        }
    }
}

/// All findings and their overall verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Diagnosis {
    /// Worst of the findings.
    pub verdict: Verdict,
    /// True if DPDK runs here.
    pub dpdk_runs: bool,
    /// Findings, the machine's first.
    pub findings: Vec<Finding>,
}

impl Diagnosis {
    /// Exit status: see the module's head.
    pub fn status(&self) -> u8 {
        match (self.dpdk_runs, self.verdict) {
            // Without DPDK nothing is known of the ports, whatever the machine's findings are.
            (false, _) => 3,
            (true, Verdict::Fail) => 1,
            (true, _) => 0,
        }
    }
}

/// Makes all checks and prints the findings on standard output.
///
/// # Errors
/// Standard output cannot be written; of a self-test also bad arguments, and a port that cannot be
/// opened.
pub fn run(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    if args.selftest {
        return run_selftest(args);
    }
    let diagnosis = diagnose(args);
    match args.format {
        Format::Json => terminal::print_json(&diagnosis)?,
        Format::Table => terminal::print(table(&diagnosis))?,
    }
    Ok(ExitCode::from(diagnosis.status()))
}

/// Makes all checks.
pub fn diagnose(args: &DoctorArgs) -> Diagnosis {
    let mut findings = Vec::new();
    let mut machine = Findings { subject: "machine", all: &mut findings };
    // Before DPDK starts, which takes hugepages and changes what is free.
    machine::examine(&mut machine, &args.ports);
    let memory = args.machine.memory();
    let file_prefix = own_prefix("sluice-doctor");
    let options = EalOptions { memory, file_prefix, ..Default::default() };
    let eal = Eal::start(&options.for_devices(&args.ports));
    match &eal {
        Ok(eal) => {
            let pages = if eal.hugepages() { "hugepages" } else { "ordinary pages" };
            machine.add("start", Verdict::Ok, format!("DPDK starts, on {pages}"));
            for port in &args.ports {
                ports::examine(&mut Findings { subject: port, all: &mut findings }, eal, port);
            }
        }
        Err(err) => machine.add("start", Verdict::Fail, err.to_string()),
    }
    let verdict = findings.iter().map(|f| f.verdict).max().unwrap_or(Verdict::Ok);
    Diagnosis { verdict, dpdk_runs: eal.is_ok(), findings }
}

fn table(diagnosis: &Diagnosis) -> String {
    let mut out = String::new();
    let mut subject = "";
    for finding in &diagnosis.findings {
        // Findings of one subject follow each other.
        if finding.subject != subject {
            subject = &finding.subject;
            out += &format!("{subject}\n");
        }
        let mut lines = finding.found.lines();
        let first = lines.next().unwrap_or_default();
        out += &format!("  {:<5} {:<15} {first}\n", finding.verdict, finding.check);
        for line in lines {
            out += &format!("{:24}{line}\n", "");
        }
        if let Some(advice) = &finding.advice {
            out += &format!("{:24}-> {advice}\n", "");
        }
    }
    let count = |verdict| diagnosis.findings.iter().filter(|f| f.verdict == verdict).count();
    out += &format!(
        "{} failed, {} warnings, {} notes, {} as they should be\n",
        count(Verdict::Fail),
        count(Verdict::Warn),
        count(Verdict::Note),
        count(Verdict::Ok)
    );
    if !diagnosis.findings.iter().any(|finding| finding.subject != "machine") {
        out += "Name ports to try them too: sluice doctor --port 0000:03:00.0 \
                --port net_af_packet0,iface=eth1\n";
    }
    out
}

/// Period of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Makes the self-test and prints its report.
///
/// # Errors
/// Bad arguments, a port that cannot be opened, or an output that cannot be written.
fn run_selftest(args: &DoctorArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    let places = places(args).map_err(bad_input)?;
    let mut outputs = Outputs::new();
    outputs.devices(places.iter().map(ToString::to_string))?;
    // Opened before the test, so that a path that cannot be written is found at once.
    let file = args.json.as_ref().map(|path| outputs.open("--json", path)).transpose()?;
    let stop = stop_on_signals()?;
    let options = EalOptions {
        file_prefix: own_prefix("sluice-selftest"),
        memory: args.machine.memory(),
        ..EalOptions::default()
    };
    let eal = Eal::start(&options.for_devices(places.iter().map(ToString::to_string)))
        .context("starting DPDK")?;
    let mut progress = Progress::new("{prefix} {spinner} {msg}", "self-test", None, LINE_EVERY);
    let mut steps = 0;
    let report_step = |step: &str| {
        steps += 1;
        progress.update(steps, step.to_owned(), |text| format!("self-test: {text}"));
    };
    let report = selftest(&eal, ground::program::version(), &places, &stop, report_step)?;
    progress.clear();
    if let Some(file) = file {
        file.write(document(&report)?.as_bytes())?;
    }
    match args.format {
        Format::Json => terminal::print_json(&report)?,
        Format::Table => terminal::print(text(&report))?,
    }
    Ok(exit(report.verdict))
}

/// The report as a file.
fn document(report: &Report) -> Result<String> {
    let document = serde_json::to_string_pretty(report)?;
    Ok(format!("{}\n", printable::json(&document)))
}

/// The ports; the first is tested.
fn places(args: &DoctorArgs) -> Result<Vec<Place>> {
    let [port] = args.ports.as_slice() else {
        return Err(anyhow!("--port: a self-test has one port, and --peer names its other end"));
    };
    let parsed = |option: &str, text: &str| {
        let location = Location::parse(text).map_err(|why| anyhow!("{option} {text}: {why}"))?;
        match text.contains('?') {
            true => Err(anyhow!(
                "{option} {text}: options are for generators; leave out the part behind the ?"
            )),
            false => Ok(location.place),
        }
    };
    let mut places = vec![parsed("--port", port)?];
    if let Some(peer) = &args.peer {
        places.push(parsed("--peer", peer)?);
    }
    match &places[..] {
        // A ring's two ends are two places, so equal places are always an error.
        [one, two] if one == two => Err(anyhow!("--peer: {one} is the port itself")),
        [Place::Ring { pair: a, .. }, Place::Ring { pair: b, .. }] if a == b => Ok(places),
        all => match all.iter().find(|place| matches!(place, Place::Ring { .. })) {
            Some(ring) => {
                Err(anyhow!("{ring}: the peer of an end of a ring is its other end; name both"))
            }
            None => Ok(places),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnosis(dpdk_runs: bool, verdict: Verdict) -> Diagnosis {
        let mut findings = Vec::new();
        let mut of = Findings { subject: "net_null0", all: &mut findings };
        of.add("driver", Verdict::Ok, "net_null");
        of.advise("link", verdict, "down\nsince long", "plug it in");
        Diagnosis { verdict, dpdk_runs, findings }
    }

    #[test]
    fn the_status_tells_a_bad_port_from_a_broken_environment() {
        assert_eq!(diagnosis(true, Verdict::Warn).status(), 0);
        assert_eq!(diagnosis(true, Verdict::Fail).status(), 1);
        assert_eq!(diagnosis(false, Verdict::Fail).status(), 3);
    }

    #[test]
    fn every_finding_is_printed_with_its_advice() {
        let text = table(&diagnosis(true, Verdict::Fail));
        let expected = "net_null0\n  ok    driver          net_null\n  \
                        FAIL  link            down\n\
                        \x20                       since long\n\
                        \x20                       -> plug it in\n\
                        1 failed, 0 warnings, 0 notes, 1 as they should be\n";
        assert_eq!(text, expected);
        let json = serde_json::to_value(diagnosis(true, Verdict::Fail)).unwrap();
        assert_eq!(json["findings"][1]["verdict"], "fail");
        assert!(json["findings"][0].get("advice").is_none());
    }

    fn of(port: &[&str], peer: Option<&str>) -> Result<Vec<Place>> {
        let ports = port.iter().map(|port| (*port).to_owned()).collect();
        places(&DoctorArgs { ports, peer: peer.map(String::from), ..DoctorArgs::default() })
    }

    #[test]
    fn a_self_test_has_one_port_and_the_other_end_of_its_cable() {
        assert_eq!(of(&["0000:03:00.0"], None).unwrap().len(), 1);
        assert_eq!(of(&["ring:x.b"], Some("ring:x.a")).unwrap().len(), 2);
        for (port, peer, says) in [
            (&["a", "b"][..], None, "one port"),
            (&["iface:a"][..], Some("iface:a"), "itself"),
            (&["ring:x.a"][..], None, "name both"),
            (&["ring:x.a"][..], Some("ring:y.b"), "name both"),
            (&["iface:a?pfc=3"][..], None, "generators"),
            (&["iface:"][..], None, "interface"),
        ] {
            let error = of(port, peer).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
