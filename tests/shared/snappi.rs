//! Path of snappi, the client of the Open Traffic Generator API.

use std::path::Path;
use std::process::{Command, Stdio};

/// A Python that has the snappi of `judges/requirements.txt`: that of the environment that `./dev
/// setup` makes, before the first one in the path. Without one the reason is printed and the test
/// passes, except in CI (`CI=true`), where it fails unless setup could not install it.
pub fn python() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = root.join("target/snappi/bin/python").display().to_string();
    let wanted = include_str!("../judges/requirements.txt");
    let wanted = wanted.lines().find_map(|line| line.strip_prefix("snappi==")).expect("a version");
    let probe = format!(
        "from importlib.metadata import version as v; import sys; sys.exit(v('snappi') != '{wanted}')"
    );
    let found = [made, "python3".to_owned()].into_iter().find(|python| {
        let mut command = Command::new(python);
        command.args(["-c", &probe]).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    });
    if found.is_none() {
        let why = std::fs::read_to_string(root.join("target/snappi.unavailable"));
        let ci = std::env::var("CI").is_ok_and(|v| v == "true");
        assert!(!ci || why.is_ok(), "snappi {wanted} is not there, and CI needs it");
        let why = why.unwrap_or_else(|_| "./dev setup installs it".to_owned());
        crate::run::skipped(format!("snappi {wanted} is not there: {why}"));
    }
    found
}

/// Runs a script of `judges` and returns its output.
///
/// # Panics
/// If it fails; its message is printed above.
pub fn run(python: &str, script: &str, args: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges").join(script);
    let output = Command::new(python)
        .args(["-W", "ignore"])
        .arg(&script)
        .args(args)
        .stderr(Stdio::inherit())
        .output()
        .expect("python starts");
    let said = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{} failed: {said}", script.display());
    said
}
