//! A test that fails, and one that is killed, leave no process behind: neither a polling switch nor
//! the holders of the namespaces.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::apart::alone;
use crate::netns::{Host, capture::Capture, isolated, port};
use crate::run::{Dir, Switch, text};

/// End of the inner test: `panic` or `hang`.
const ENDS: &str = "SLUICE_TEST_ENDS";
/// File whose existence shows that all is running.
const READY: &str = "SLUICE_TEST_READY";

/// Run only by [`a_test_that_fails_or_is_killed_leaves_nothing`], in a separate process.
#[test]
fn fails_on_purpose() {
    let Ok(ends) = std::env::var(ENDS) else { return };
    isolated(&["tcpdump"], || {
        let dir = Dir::new("leftovers-inner");
        let hosts = [Host::new(0), Host::new(1)];
        let file = format!("defaults: {{rate: 100M}}\nports:\n{}{}", port(0, ""), port(1, ""));
        let _switch = Switch::start(&dir, "leftover", &file, &["--quiet"]);
        let _capture = Capture::start(&dir, &hosts[0], "leftover");
        fs::write(std::env::var(READY).unwrap(), "").unwrap();
        assert!(ends != "panic", "this test fails on purpose");
        loop {
            thread::park();
        }
    });
}

/// Processes that inherited `mark` in their environment, without this one.
fn left(mark: &str) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let found = processes.filter_map(|process| {
        let pid: u32 = process.file_name().to_str()?.parse().ok()?;
        let environment = fs::read(process.path().join("environ")).ok()?;
        let has = environment.windows(mark.len()).any(|part| part == mark.as_bytes());
        let name = fs::read(process.path().join("cmdline")).unwrap_or_default();
        (has && pid != std::process::id()).then(|| format!("{pid} {}", text(&name)))
    });
    found.collect()
}

#[test]
fn a_test_that_fails_or_is_killed_leaves_nothing() {
    let _alone = alone();
    for ends in ["panic", "hang"] {
        let dir = Dir::new(&format!("leftovers-{ends}"));
        let ready = dir.path("ready");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "leftovers::fails_on_purpose", "--nocapture"])
            // A killed test cannot remove its folder.
            .env("TMPDIR", &dir.0)
            .env(ENDS, ends)
            .env(READY, &ready)
            .stdout(fs::File::create(dir.path("out")).unwrap())
            .stderr(fs::File::create(dir.path("err")).unwrap())
            .spawn()
            .unwrap();
        let mark = ready.display().to_string();
        let said = || ["out", "err"].map(|name| fs::read_to_string(dir.path(name)).unwrap());
        let begun = Instant::now();
        while !ready.exists() && child.try_wait().unwrap().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(120), "never ready: {:?}", said());
            thread::sleep(Duration::from_millis(20));
        }
        if !ready.exists() {
            let said = said();
            assert!(said[1].contains("skipped") || said[0].contains("skipped"), "{said:?}");
            return crate::run::skipped(format!("{said:?}"));
        }
        if ends == "hang" {
            assert!(left(&mark).len() > 4, "the test itself, a switch, two hosts, a capture");
            child.kill().unwrap();
        }
        let status = child.wait().unwrap();
        assert!(!status.success(), "{ends}: {:?}", said());
        let ended = Instant::now();
        while !left(&mark).is_empty() {
            assert!(ended.elapsed() < Duration::from_secs(20), "{ends} leaves {:?}", left(&mark));
            thread::sleep(Duration::from_millis(20));
        }
    }
}
