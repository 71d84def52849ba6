//! A process with a bounded time and a bounded output.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Longest output in bytes.
const OUTPUT_MAX: u64 = 1 << 20;

/// Interval at which the end of a process is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// Runs a program with its arguments, and returns what it prints. The reason of a failure has the exit status
/// and the first line of its error output.
pub(super) fn run(line: &[String], timeout: Duration) -> Result<String, String> {
    let (program, arguments) = line.split_first().ok_or("the command is empty")?;
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let until = Instant::now() + timeout;
    let out = collect(child.stdout.take());
    let err = collect(child.stderr.take());
    let ended = wait(&mut child, until);
    let late = || format!("`{program}` does not end within {} ms", timeout.as_millis());
    let Some(status) = ended.map_err(|error| format!("`{program}`: {error}"))? else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(late());
    };
    // A process that it has started may hold its output open.
    let left = |until: Instant| until.saturating_duration_since(Instant::now()).max(LOOK);
    let out = out.recv_timeout(left(until)).map_err(|_| late())?;
    if !status.success() {
        let err = err.recv_timeout(left(until)).unwrap_or_default();
        let err = String::from_utf8_lossy(&err);
        let first = err.lines().find(|line| !line.trim().is_empty()).unwrap_or("no error output");
        let printable: String = first.chars().filter(|c| !c.is_control()).take(200).collect();
        return Err(format!("`{program}`: {status}: {printable}"));
    }
    if out.len() as u64 > OUTPUT_MAX {
        return Err(format!("`{program}` prints more than {OUTPUT_MAX} bytes"));
    }
    String::from_utf8(out).map_err(|_| format!("`{program}` prints no text"))
}

/// Waits for the end of a process; `None` if it goes on.
fn wait(child: &mut Child, until: Instant) -> std::io::Result<Option<std::process::ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        thread::sleep(LOOK);
    }
}

/// Reads an output in a thread of its own, which ends with it.
fn collect(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // The output is that before an error.
            let _ = from.by_ref().take(OUTPUT_MAX + 1).read_to_end(&mut bytes);
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        let _ = sender.send(bytes);
    });
    receiver
}
