//! Serves clients of the Open Traffic Generator API, and measures the machine's resolution.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use anyhow::{Result, anyhow};

use super::GenerateArgs;
use super::files::Format;
use crate::cli::machine::MachineArgs;
use crate::cli::terminal::{self, say};
use crate::cli::{bad_input, exit, inconclusive, serve_metrics, stop_on_signals};
use crate::dpdk::{Eal, EalOptions, own_prefix};
use crate::report;
use otg::engine::{Refusal, RefusalKind};
use otg::server;
use tester::Access;
use tester::engine::{TesterEngine, TesterOptions};
use tester::plan::Place;
use tester::self_test;
use tester::session::SessionError;

/// Period of the checks for the end.
const TICK: Duration = Duration::from_millis(50);
/// Time for which the self-test sends.
const SELF_TEST: Duration = Duration::from_secs(2);

/// Serves clients until a signal.
///
/// # Errors
/// The address cannot be listened on.
pub(super) fn serve(args: &GenerateArgs, addr: SocketAddr) -> Result<ExitCode> {
    let listen = server_options(args, addr)?;
    let stop = stop_on_signals()?;
    // EAL has to know PCI devices at its start; the other places are opened when a client names them.
    let devices = args.allow.iter().filter_map(|location| match &location.place {
        Place::Device(device) => Some(device),
        Place::Ring { .. } | Place::Interface(_) => None,
    });
    let options = TesterOptions {
        eal: eal_options(args.machine).for_devices(devices),
        access: Access::of_clients(&args.allow),
        ..TesterOptions::default()
    };
    let engine = Arc::new(TesterEngine::new(options));
    let server = server::serve(&listen, engine.clone()).map_err(|error| match error.kind() {
        // The file of the authority was read, and is no certificate.
        io::ErrorKind::InvalidData => bad_input(anyhow!("--client-ca: {error}")),
        _ => anyhow::Error::from(error)
            .context(format!("--listen {addr}: cannot listen there; pick another port")),
    })?;
    // Printed rather than logged: with port 0 this is the only place that shows the port.
    say!("{}", server.announcement());
    let watched = engine.clone();
    serve_metrics(
        args.prometheus,
        None,
        Arc::new(move || {
            watched
                .report()
                .map(|watched| report::tester_metrics((*watched).clone()))
                .map_err(|refusal| format!("{refusal}\n"))
        }),
    )?;
    while !stop.load(Ordering::SeqCst) {
        thread::sleep(TICK);
    }
    // The server first: no request may start a test while the ports are closed.
    server.stop();
    engine.close();
    Ok(ExitCode::SUCCESS)
}

/// Settings of EAL, with a runtime directory for this process, because several generators may run
/// on a machine.
pub(in crate::cli) fn eal_options(machine: MachineArgs) -> EalOptions {
    let file_prefix = own_prefix("sluice-gen");
    EalOptions { file_prefix, memory: machine.memory(), ..EalOptions::default() }
}

/// Classifies an engine's error as bad input or as a fault of the machine.
pub(super) fn whose(refusal: Refusal) -> anyhow::Error {
    match refusal.kind {
        RefusalKind::Validation => bad_input(refusal),
        RefusalKind::Starved => inconclusive(refusal),
        RefusalKind::Internal => refusal.into(),
    }
}

/// Address of the server and the clients that it accepts.
fn server_options(args: &GenerateArgs, addr: SocketAddr) -> Result<server::Options> {
    // Every client that reaches the address controls the ports, so the user has to allow it.
    if !addr.ip().is_loopback() && !args.allow_remote && args.client_ca.is_none() {
        return Err(bad_input(anyhow!(
            "--listen {addr} is off the loopback, and OTG has no passwords: any client that reaches the \
             address could drive this machine's ports; add --client-ca FILE to ask clients for \
             certificates, or --allow-remote if the network is the lab's own"
        )));
    }
    let read = |path: &PathBuf| {
        fs::read_to_string(path)
            .map_err(|error| bad_input(anyhow!("--client-ca {}: {error}", path.display())))
    };
    let client_ca = args.client_ca.as_ref().map(read).transpose()?;
    Ok(server::Options { addr, client_ca, ..server::Options::default() })
}

/// Measures the machine's resolution. Exit status 1 means that frames were lost in memory, so that
/// its other measurements cannot be trusted.
///
/// # Errors
/// A resource that the machine lacks.
pub(super) fn self_test(args: &GenerateArgs) -> Result<ExitCode> {
    let eal = Eal::start(&eal_options(args.machine))?;
    let found = self_test::self_test(&eal, None, SELF_TEST).map_err(self_test_error)?;
    match args.format {
        Format::Json => terminal::print_json(&found)?,
        Format::Table | Format::Csv => terminal::print(report::self_test_text(&found))?,
    }
    Ok(exit(found.verdict()))
}

/// Tells a busy machine from one that lacks something.
fn self_test_error(error: SessionError) -> anyhow::Error {
    match error {
        SessionError::Starved(_) => inconclusive(error),
        _ => whose(Refusal::internal(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::status;
    use ground::verdict::Verdict;
    use runtime::Disturbance;

    #[test]
    fn a_self_test_whose_threads_did_not_run_is_inconclusive_and_a_silent_one_is_an_error() {
        let status = |error| status(&self_test_error(error));
        let starved = SessionError::Starved(Disturbance::default());
        assert_eq!(status(starved), Verdict::Inconclusive.exit_status());
        let silent = SessionError::Silent(Duration::from_secs(5));
        assert_ne!(status(silent), Verdict::Inconclusive.exit_status());
    }
}
