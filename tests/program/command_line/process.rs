//! The program in a separate process, with outputs of every kind.

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use crate::run::{Dir, sluice};

/// Longest time of a command.
const PATIENCE: Duration = Duration::from_secs(120);

/// Result of a command.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub pid: u32,
    /// A time shortly before the process began.
    pub started: SystemTime,
}

/// Destination of an output.
#[derive(Clone, Copy)]
pub enum Output {
    /// Read by the test.
    Kept,
    /// Closed: the reader is gone before the program starts.
    Closed,
    /// A full disk.
    Full,
}

impl Output {
    fn stdio(self, kept: &PathBuf) -> Stdio {
        match self {
            Self::Kept => File::create(kept).unwrap().into(),
            Self::Closed => {
                let (ours, theirs) = UnixStream::pair().unwrap();
                drop(ours);
                OwnedFd::from(theirs).into()
            }
            Self::Full => fs::OpenOptions::new().write(true).open("/dev/full").unwrap().into(),
        }
    }
}

/// A running command, killed with the test.
pub struct Running {
    child: Child,
    kept: [PathBuf; 2],
    started: SystemTime,
}

/// Starts the program with a line of arguments, in which `{tmp}` is the folder.
pub fn start(dir: &Dir, line: &str, [out, err]: [Output; 2]) -> Running {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    let kept = ["out", "err"].map(|name| dir.path(&format!("{number}.{name}")));
    let line = line.replace("{tmp}", &dir.0.display().to_string());
    let started = SystemTime::now();
    let child = sluice()
        .args(line.split_whitespace())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("XDG_RUNTIME_DIR", &dir.0)
        .stdin(Stdio::null())
        .stdout(out.stdio(&kept[0]))
        .stderr(err.stdio(&kept[1]))
        .spawn()
        .unwrap();
    Running { child, kept, started }
}

/// Runs the program to its end.
pub fn run(dir: &Dir, line: &str, outputs: [Output; 2]) -> Ended {
    start(dir, line, outputs).end(line)
}

impl Running {
    /// Waits until the program has installed its signal handlers, or has ended.
    pub fn wait_for_signals(&mut self) {
        const SIGINT: u32 = 2;
        let status = format!("/proc/{}/status", self.child.id());
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() && start.elapsed() < PATIENCE {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let caught = text.lines().find_map(|line| line.strip_prefix("SigCgt:"));
            let caught = caught.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok());
            if caught.is_some_and(|bits| bits & 1 << (SIGINT - 1) != 0) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends SIGINT, as Ctrl-C does.
    pub fn interrupt(&self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    }

    /// Waits for the end.
    pub fn end(mut self, line: &str) -> Ended {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "{line} does not end");
            thread::sleep(Duration::from_millis(5));
        };
        let [stdout, stderr] = self.kept.each_ref().map(|path| {
            let mut bytes = Vec::new();
            let _ = File::open(path).and_then(|mut file| file.read_to_end(&mut bytes));
            String::from_utf8(bytes).unwrap()
        });
        let (pid, started) = (self.child.id(), self.started);
        Ended { status: status.code(), stdout, stderr, pid, started }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
