//! `sluice doctor --selftest`: tries a port, and the cable to its peer, by sending frames.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};

use super::DoctorArgs;
use crate::cli::outputs::Outputs;
use crate::cli::terminal::{self, Progress};
use crate::cli::{Format, bad_input, exit, stop_on_signals};
use crate::dpdk::{Eal, EalOptions, own_prefix};
use crate::printable;
use ::measure::selftest::{Report, selftest, text};
use tester::plan::{Location, Place};

/// Period of progress lines without a terminal.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Makes the self-test and prints its report.
///
/// # Errors
/// Bad arguments, a port that cannot be opened, or an output that cannot be written.
pub(super) fn run(args: &DoctorArgs) -> Result<ExitCode> {
    args.machine.apply()?;
    let places = places(args).map_err(bad_input)?;
    let mut outputs = Outputs::new();
    outputs.devices(places.iter().map(ToString::to_string))?;
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
    let tell = |step: &str| {
        steps += 1;
        progress.update(steps, step.to_owned(), |text| format!("self-test: {text}"));
    };
    let report = selftest(&eal, ground::program::version(), &places, &stop, tell)?;
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

/// The ports, of which the first is tested.
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
