//! Tests that need a process of their own, as DPDK starts once in each.
//!
//! [`own_process!`] is the first line of such a test: it starts this test program again, for that test
//! alone, and fails if that fails. Tests run side by side, as many as libtest has threads, except
//! those that judge real time: `own_process!(alone)`, and [`alone`] for tests that start the program
//! instead.

#![allow(dead_code, reason = "not every test program has tests of each kind")]

use std::io::Write;
use std::process::Command;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::run::{GUARD, text};

/// Variable with the path of the test that a process is for.
const APART: &str = "SLUICE_TEST_APART";

/// Beginnings of lines that say why a test was not judged; `./dev test` counts them.
const OUTCOMES: [&str; 2] = ["skipped: ", "inconclusive: "];

/// Held by tests that run beside others, or by one that runs alone.
static MACHINE: RwLock<()> = RwLock::new(());

/// Makes the rest of a test run in another process.
#[allow(unused_macros, reason = "not every test program has tests of each kind")]
macro_rules! own_process {
    () => {
        own_process!(@ $crate::apart::beside())
    };
    (alone) => {
        own_process!(@ $crate::apart::alone())
    };
    (@ $turn:expr) => {
        fn here() {}
        let path = $crate::apart::test_around(std::any::type_name_of_val(&here));
        if $crate::apart::ran_elsewhere(path, || $turn) {
            return;
        }
    };
}
#[allow(unused_imports, reason = "as above")]
pub(crate) use own_process;

/// Waits until no test runs alone.
pub fn beside() -> Turn {
    Turn::Beside(MACHINE.read().unwrap_or_else(PoisonError::into_inner))
}

/// Waits until no other test that waits here runs, and keeps them waiting.
pub fn alone() -> Turn {
    Turn::Alone(MACHINE.write().unwrap_or_else(PoisonError::into_inner))
}

/// Right to use the machine, until it is dropped.
pub enum Turn {
    Beside(RwLockReadGuard<'static, ()>),
    Alone(RwLockWriteGuard<'static, ()>),
}

/// Path of the test that has a closure or a function called `here`, by its type's name.
pub fn test_around(type_name: &'static str) -> &'static str {
    let (_program, path) = type_name.split_once("::").expect("it is in this program");
    let end = path.strip_suffix("::here").or_else(|| path.strip_suffix("::{{closure}}"));
    end.expect("a closure, or a function called `here`, in a test")
}

/// True in the process that runs the test at `path` alone.
pub fn is_for(path: &str) -> bool {
    std::env::var(APART).is_ok_and(|apart| apart == path)
}

/// Starts this program, by a command that starts others, for one test, which must pass.
pub fn start(mut command: Command, path: &str) {
    let program = std::env::current_exe().unwrap();
    // A session of its own: its priority can differ from that of the other tests.
    let command = command.arg("setsid").arg(program);
    let command = command.args(["--exact", path, "--nocapture"]).env(APART, path);
    let output = command.output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    for line in out.lines().chain(err.lines()) {
        if OUTCOMES.iter().any(|outcome| line.starts_with(outcome)) {
            // Not by `eprintln`, whose output is kept back unless the test fails.
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        // Marked, so that nobody takes the inner process's results for those of this one.
        println!("  | {line}");
    }
    assert!(output.status.success(), "{path} failed ({}), see above", output.status);
    assert!(out.contains("1 passed"), "{path} is not the path of one test");
}

/// Runs a test in another process and returns true; in that process, returns false.
pub fn ran_elsewhere(path: &str, turn: impl FnOnce() -> Turn) -> bool {
    if is_for(path) {
        return false;
    }
    let _turn = turn();
    let mut guard = Command::new("setpriv");
    guard.args(GUARD);
    start(guard, path);
    true
}
