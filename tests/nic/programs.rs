//! Programs that items start, and their output.

use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Time after which a program is ended.
const LIMIT: Duration = Duration::from_secs(120);

/// A finished program.
#[derive(Debug)]
pub struct Output {
    pub status: Option<i32>,
    pub stdout: String,
    /// Both streams.
    pub all: String,
}

impl Output {
    /// Reads standard output as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.stdout).with_context(|| format!("no JSON: {}", self.all))
    }
}

/// A running program, ended with its handle.
pub struct Running {
    child: Child,
    name: String,
}

impl Running {
    /// Starts a program of the guest.
    pub fn start(program: &str, args: &[&str]) -> Result<Self> {
        let child = Command::new(program)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {program}"))?;
        Ok(Self { child, name: format!("{program} {}", args.join(" ")) })
    }

    /// Asks it to stop, as a user does by Ctrl-C.
    pub fn stop(&self) -> Result<()> {
        run("kill", &["-INT", &self.child.id().to_string()]).map(drop)
    }

    /// Waits for its end.
    pub fn end(mut self) -> Result<Output> {
        let reader = |stream: Option<Box<dyn Read + Send>>| {
            thread::spawn(move || {
                let mut text = Vec::new();
                let _ = stream.map(|mut stream| stream.read_to_end(&mut text));
                String::from_utf8_lossy(&text).into_owned()
            })
        };
        let stdout = reader(self.child.stdout.take().map(|s| Box::new(s) as _));
        let stderr = reader(self.child.stderr.take().map(|s| Box::new(s) as _));
        let started = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status.code();
            }
            if started.elapsed() > LIMIT {
                self.child.kill()?;
                self.child.wait()?;
                let text = stderr.join().unwrap_or_default();
                bail!("{} did not end within {} s: {text}", self.name, LIMIT.as_secs());
            }
            thread::sleep(Duration::from_millis(20));
        };
        let [stdout, stderr] = [stdout, stderr].map(|text| text.join().unwrap_or_default());
        Ok(Output { status, all: format!("{stdout}{stderr}"), stdout })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a program of the guest to its end.
pub fn run(program: &str, args: &[&str]) -> Result<Output> {
    Running::start(program, args)?.end()
}
