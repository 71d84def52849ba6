//! Unmodified snappi, the client of the Open Traffic Generator, against `sluice gen --listen` on
//! ports in memory, over HTTP, HTTPS and gRPC. `judges/snappi_generator.py` reports its results.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::run::sluice;
use crate::snappi;

/// Lines that the judge prints for each part that passes.
const PARTS: [&str; 6] = [
    "flows_arrive",
    "captures_are_what_was_asked",
    "filters_keep_what_they_name",
    "a_storm_stops_one_priority",
    "neighbours_are_found",
    "bad_configurations_are_refused",
];

/// `sluice gen --listen`, killed with the test.
struct Generator {
    child: Child,
    addr: String,
}

impl Generator {
    fn start() -> Self {
        Self::with(&["--listen", "127.0.0.1:0"])
    }

    fn with(args: &[&str]) -> Self {
        let mut child =
            sluice().arg("gen").args(args).stderr(Stdio::piped()).spawn().expect("sluice starts");
        let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut line = String::new();
        let addr = loop {
            line.clear();
            assert!(said.read_line(&mut line).unwrap() > 0, "sluice ended before it listened");
            if let Some(rest) = line.strip_prefix("OTG on ") {
                break rest.split_whitespace().next().expect("an address").to_owned();
            }
        };
        // Its later output must be read.
        std::thread::spawn(move || {
            let mut rest = String::new();
            let _ = said.read_to_string(&mut rest);
            eprint!("{rest}");
        });
        Self { child, addr }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One at a time: all of them poll with all CPUs.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn judge(transport: &str) {
    let Some(python) = snappi::python() else { return };
    let _alone = alone();
    let generator = Generator::start();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/judges/snappi_generator.py");
    let output = Command::new(python)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args([script, transport, &generator.addr])
        .output()
        .expect("python starts");
    let (said, wrong) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{transport}: {said}\n{wrong}");
    for part in PARTS {
        assert!(said.lines().any(|line| line == format!("ok {part}")), "{part}: {said}\n{wrong}");
    }
}

#[test]
fn a_client_over_http_finds_what_it_asks_for() {
    judge("http");
}

#[test]
fn a_client_over_https_finds_what_it_asks_for() {
    judge("https");
}

#[test]
fn a_client_over_grpc_finds_what_it_asks_for() {
    judge("grpc");
}

#[test]
fn the_example_for_people_runs_as_it_says() {
    let Some(python) = snappi::python() else { return };
    let _alone = alone();
    let generator = Generator::start();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/configs/gen/snappi_example.py");
    let output = Command::new(python)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .args([script, "--api", &format!("http://{}", generator.addr)])
        .output()
        .expect("python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let halves: Vec<_> = said.lines().filter(|l| l.starts_with("priority 3 paused")).collect();
    assert_eq!(halves.len(), 2, "{said}");
    assert!(halves[1].contains("on3 +0,") && !halves[1].contains("on4 +0"), "{said}");
}

#[test]
fn an_address_off_the_loopback_is_not_listened_on_unasked() {
    let refused = |args: &[&str]| {
        let output = sluice().args(["gen", "--listen", "0.0.0.0:0"]).args(args).output();
        let output = output.expect("sluice starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, said) = refused(&[]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("--client-ca") && said.contains("--allow-remote"), "{said}");
    let (status, said) = refused(&["--client-ca", "/nonexistent/ca.pem"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("/nonexistent/ca.pem"), "{said}");
    let remote = Generator::with(&["--listen", "127.0.0.1:0", "--allow-remote"]);
    assert!(remote.addr.starts_with("127.0.0.1:"));
}
