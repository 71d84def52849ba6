//! Shared by the tests of the program: a temporary folder, pcap files, and a running switch.

#![allow(dead_code)]

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Program under test. Other files start it by [`sluice`] or [`PROGRAM`], which `house` checks.
const SLUICE: &str = env!("CARGO_BIN_EXE_sluice");

/// Arguments of another program (`nice`, a shell) that make it become the program under test, which
/// then ends with the thread that started it.
pub const PROGRAM: [&str; 5] = ["setpriv", GUARD[0], GUARD[1], GUARD[2], SLUICE];

/// A command of the program, killed with the test as [`guarded`] ones are.
pub fn sluice() -> Command {
    guarded(SLUICE)
}

/// Says why a test does not run, in a line that `./dev test` counts: not by `eprintln`, whose output is
/// kept back unless the test fails.
pub fn skipped(why: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Links the program to another path.
pub fn link_to_sluice(path: &Path) {
    std::os::unix::fs::symlink(SLUICE, path).unwrap();
}

/// Runs the programs that this thread starts from now on with a higher priority, if that is
/// allowed: for tests of the real time that these programs measure.
pub fn run_ahead() {
    let thread = fs::read_link("/proc/thread-self").unwrap();
    let mut renice = Command::new("renice");
    renice.args(["-n", "-20", "-p"]).arg(thread.file_name().unwrap());
    let _ = renice.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// The same against programs of other sessions, for a test in a session of its own: with the kernel's autogroups the
/// priority of a process counts within its session alone.
pub fn run_session_ahead() {
    let _ = fs::write("/proc/self/autogroup", "-20");
    run_ahead();
}

/// True for an exit status that is no failure. A switch that received nothing judges nothing, and a
/// run on a busy machine may be inconclusive.
pub fn has_not_failed(status: Option<i32>) -> bool {
    matches!(status, Some(0 | 4))
}

/// True if a switch lost frames only because it was kept from its CPU: the summary says that a
/// worker polled later than planned, that the devices lost frames before it, and that the switch
/// itself lost none. Its verdict is FAIL then, rightly, but of this machine and not of its code.
#[allow(dead_code, reason = "not every test loads a switch")]
pub fn was_starved(summary: &Value) -> bool {
    let polls = summary["polls"].as_array().unwrap();
    let checks = summary["checks"].as_array().unwrap();
    let lossless = checks.iter().find(|check| check["name"] == "lossless").unwrap();
    polls.iter().any(|worker| worker["late_polls"].as_u64().unwrap() > 0)
        && lossless["verdict"] == "fail"
        && lossless["detail"].as_str().unwrap().contains("before the switch saw them")
        && summary["lossless_lost_frames"] == 0
}

/// Output of a command that measures in real time. A run that a busy machine disturbed ends with
/// exit status 4, and is repeated a few times; any other result is final.
pub fn conclusive(mut run: impl FnMut() -> Output) -> Output {
    for _ in 0..9 {
        let output = run();
        if output.status.code() != Some(4) {
            return output;
        }
        eprintln!("repeated: {}", String::from_utf8_lossy(&output.stderr));
    }
    run()
}

/// A folder that is removed with the test.
pub struct Dir(pub PathBuf);

impl Dir {
    pub fn new(name: &str) -> Self {
        let dir = std::env::temp_dir().join(format!("sluice-{name}-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        Self(dir)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A running `sluice switch`, killed with the test.
pub struct Switch {
    child: Option<Child>,
    dir: PathBuf,
    name: String,
}

impl Switch {
    /// Starts a switch on ordinary pages with its files below `dir`, and waits until it answers.
    pub fn start(dir: &Dir, name: &str, file: &str, args: &[&str]) -> Self {
        Self::start_with(dir, name, file, args, &[])
    }

    /// Starts a switch with these variables in its environment.
    pub fn start_with(
        dir: &Dir,
        name: &str,
        file: &str,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let path = dir.write(&format!("{name}.yaml"), file);
        let mut switch = Self { child: None, dir: dir.0.clone(), name: name.into() };
        let child = command(&dir.0, "switch")
            .arg(path)
            // The machine of a test also does other work.
            .args(["--no-huge", "--ignore-late-polls", "--format", "json"])
            .args(["--idle", "yield"].into_iter().filter(|_| !args.contains(&"--idle")))
            .arg("--control")
            .arg(switch.socket())
            .args(args)
            .envs(variables.iter().copied())
            .stdout(fs::File::create(dir.path(&format!("{name}.out"))).unwrap())
            .stderr(fs::File::create(dir.path(&format!("{name}.err"))).unwrap())
            .spawn()
            .unwrap();
        switch.child = Some(child);
        let start = Instant::now();
        while !switch.ctl(&["show"]).status.success() {
            let ended = switch.child.as_mut().unwrap().try_wait().unwrap();
            let in_time = start.elapsed() < Duration::from_secs(60);
            assert!(ended.is_none() && in_time, "{ended:?}: {}", switch.stderr());
            thread::sleep(Duration::from_millis(50));
        }
        switch
    }

    #[allow(dead_code, reason = "not every test looks into its memory")]
    pub fn pid(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub fn socket(&self) -> PathBuf {
        self.dir.join(format!("{}.sock", self.name))
    }

    pub fn stderr(&self) -> String {
        fs::read_to_string(self.dir.join(format!("{}.err", self.name))).unwrap_or_default()
    }

    /// Answers to lines on its control socket.
    #[allow(dead_code, reason = "most tests ask by `sluice ctl`")]
    pub fn ask(&self, lines: &str) -> String {
        let mut stream = std::os::unix::net::UnixStream::connect(self.socket()).unwrap();
        stream.write_all(lines.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// `sluice ctl` with these arguments.
    pub fn ctl(&self, args: &[&str]) -> Output {
        let mut ctl = command(&self.dir, "ctl");
        ctl.arg("--control").arg(self.socket()).args(args).output().unwrap()
    }

    /// `sluice ctl` that must succeed.
    pub fn obey(&self, args: &[&str]) {
        let output = self.ctl(args);
        assert!(output.status.success(), "{args:?}: {}", text(&output.stderr));
    }

    /// `sluice ctl` that must be refused as bad input; returns the reason.
    pub fn refuse(&self, args: &[&str]) -> String {
        let output = self.ctl(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        text(&output.stderr)
    }

    /// Current summary.
    pub fn show(&self) -> Value {
        let output = self.ctl(&["--format", "json", "show"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits until the summary satisfies `wanted`.
    pub fn wait(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let now = self.show();
            if wanted(&now) {
                return now;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "never {what}: {now:#}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn signal(&self, signal: &str) {
        let pid = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Waits for the end; returns the exit status and the output.
    pub fn end(mut self) -> (Option<i32>, String) {
        let mut child = self.child.take().unwrap();
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > Duration::from_secs(60) {
                let _ = child.kill();
                let _ = child.wait();
                panic!("the switch does not end: {}", self.stderr());
            }
            thread::sleep(Duration::from_millis(10));
        };
        let out = self.dir.join(format!("{}.out", self.name));
        (status.code(), fs::read_to_string(out).unwrap())
    }

    /// Interrupts it and returns its exit status and its summary.
    pub fn stop(self) -> (Option<i32>, Value) {
        self.signal("-INT");
        let (status, out) = self.end();
        let summary: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(summary["balance"]["holds"], true, "{:#}", summary["balance"]);
        assert_eq!(summary["balance"]["held"], 0);
        (status, summary)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A command that is killed when the thread that starts it ends, and so with its test, however that
/// ends: a test that is killed drops no guard.
pub fn guarded(program: &str) -> Command {
    let mut command = Command::new("setpriv");
    command.args(GUARD).arg(program);
    command
}

/// Arguments of `setpriv` that end a program with the thread that started it; the program follows.
pub const GUARD: [&str; 3] = ["--pdeathsig", "KILL", "--"];

/// A command of the program that keeps its runtime files below `dir`.
pub fn command(dir: &Path, what: &str) -> Command {
    let mut command = sluice();
    command.arg(what).env("XDG_RUNTIME_DIR", dir).stdin(Stdio::null());
    command
}

/// Runs `sluice switch` on a file for a moment; returns the exit status and standard error.
pub fn run(dir: &Dir, file: &str, args: &[&str]) -> (Option<i32>, String) {
    let path = dir.write("switch.yaml", file);
    let output = command(&dir.0, "switch")
        .arg(path)
        .args(["--no-huge", "--duration", "0.1s", "--control", "none", "--quiet"])
        .arg("--ignore-late-polls")
        .args(args)
        .output()
        .unwrap();
    (output.status.code(), text(&output.stderr))
}

pub fn text(octets: &[u8]) -> String {
    String::from_utf8_lossy(octets).into_owned()
}

/// A frame without FCS: destination, source, a C-tag with this priority and VLAN 1, a number,
/// zeroes.
pub fn frame(dst: [u8; 6], src: [u8; 6], priority: u8, number: u32, len: usize) -> Vec<u8> {
    let mut f = [&dst[..], &src, &[0x81, 0, priority << 5, 1, 0x88, 0xb5]].concat();
    f.extend_from_slice(&number.to_be_bytes());
    f.resize(len, 0);
    f
}

/// Writes a pcap file (version 2.4, Ethernet) of these frames.
pub fn write_pcap(path: &Path, frames: &[Vec<u8>]) {
    let word = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
    let mut out = Vec::new();
    out.extend(0xa1b2_c3d4_u32.to_le_bytes());
    out.extend([2, 0, 4, 0]);
    for field in [0, 0, 65_535, 1] {
        out.extend(word(field));
    }
    for (n, f) in frames.iter().enumerate() {
        for field in [n / 1_000_000, n % 1_000_000, f.len(), f.len()] {
            out.extend(word(field));
        }
        out.extend(f);
    }
    fs::write(path, out).unwrap();
}

/// Reads the frames of a pcap file written on this machine.
pub fn read_pcap(path: &Path) -> Vec<Vec<u8>> {
    let mut octets = Vec::new();
    fs::File::open(path).unwrap().read_to_end(&mut octets).unwrap();
    let mut rest = octets.get(24..).unwrap_or_default();
    let mut frames = Vec::new();
    while rest.len() >= 16 {
        let len = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        frames.push(rest[16..16 + len].to_vec());
        rest = &rest[16 + len..];
    }
    frames
}
