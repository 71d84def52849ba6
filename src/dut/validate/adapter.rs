//! Access to a device beside its ports: reads its counters and changes its settings.
//!
//! A device has some of these counters, others not: one that it does not have is unknown, never 0. The
//! counters of a trial are differences over all of it, the frames by which the device learns the tester's
//! addresses included ([`crate::trial::LEARNING`] of each port). A [`crate::bench::Bench`] on real ports
//! reads them with an [`Adapter`]; the virtual one reads those of the virtual device.
//!
//! A device that commands reach has [`Command`]: each command prints counters or changes a setting. It is a list of
//! arguments and is started without a shell. In each argument `{port}`, `{priority}`, `{name}` and `{value}` are
//! replaced. A command ends within a bounded time, or is killed.
//!
//! JSON of a port: `{"rx_ok": 5, "drops": {"full": 2}, "priorities": {"3": {"pfc_rx": 7}}}`; an absent
//! counter or `null` is unknown. `paused_us` stands for `paused_ns` in microseconds.

use core::time::Duration as StdDuration;
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{self, Child, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Instant;

use ground::time::Duration;
use ground::units::{PRIORITIES, Priority, PrioritySet};
use serde_json::{Map, Value};

use crate::bench::TrialError;
use crate::counters::{Counter, Counters, PortCounters};
use crate::file::{Commands, span};
use crate::trial::ResetKind;

/// An action on a device, which runs beside the traffic.
pub type Action = Box<dyn FnOnce() -> Result<(), TrialError> + Send>;

/// Access to a device beside its ports.
pub trait Adapter {
    /// Returns the time after traffic until the counters are current.
    fn settle(&self) -> Duration;

    /// Reads the counters of these ports of the device, by their names.
    ///
    /// # Errors
    /// The device does not answer, or not as it should.
    fn read(&mut self, ports: &[&str]) -> Result<Counters, TrialError>;

    /// Sets counters and maxima to zero, if the device can.
    ///
    /// # Errors
    /// The device does not answer.
    fn clear(&mut self) -> Result<(), TrialError>;

    /// Returns true if it can read counters. Default: it can.
    fn can_read(&self) -> bool {
        true
    }

    /// Reads the version of the device; `None` if it is unknown. Default: unknown.
    ///
    /// # Errors
    /// The device does not answer.
    fn version(&mut self) -> Result<Option<String>, TrialError> {
        Ok(None)
    }

    /// Returns true if it can read the memory that the device uses. Default: it cannot.
    fn can_read_memory(&self) -> bool {
        false
    }

    /// Reads the memory that the device uses, in bytes; `None` if it is unknown. Default: unknown.
    ///
    /// # Errors
    /// The device does not answer, or not with a number.
    fn memory(&mut self) -> Result<Option<u64>, TrialError> {
        Ok(None)
    }

    /// Returns an action that resets the device in this way, and ends when that is begun; `None` if there is
    /// none. Default: none.
    fn reset(&self, _: ResetKind) -> Option<Action> {
        None
    }

    /// Returns true if it can change settings.
    fn can_set(&self) -> bool;

    /// Gives a setting of a port of the device a value; both by their names in files
    /// ([`crate::trial::Setting`]).
    ///
    /// # Errors
    /// The device refuses, or does not answer.
    fn set(&mut self, port: &str, name: &str, value: &str) -> Result<(), TrialError>;
}

/// Default of the time after which a command is killed.
const TIMEOUT: StdDuration = StdDuration::from_secs(10);

/// Default of the time until counters are current: switches poll those of their chip each second.
const SETTLE: Duration = Duration::from_secs(2);

/// Longest version in characters.
const VERSION_MAX: usize = 200;

/// A device that commands reach.
#[derive(Debug)]
pub struct Command {
    commands: Commands,
    /// Priorities whose counters are read one by one.
    priorities: PrioritySet,
}

impl Command {
    /// The device of these commands.
    pub const fn new(commands: Commands, priorities: PrioritySet) -> Self {
        Self { commands, priorities }
    }

    fn timeout(&self) -> StdDuration {
        let given = self.commands.timeout;
        given.map_or(TIMEOUT, |span| StdDuration::from_nanos(span.0.as_nanos()))
    }

    /// Runs a command with these replacements, and returns what it prints.
    fn run(
        &self,
        field: &str,
        line: &[String],
        with: &[(&str, &str)],
    ) -> Result<String, TrialError> {
        // Within arguments and without a shell: a value cannot become another argument or command.
        let argument = |text: &String| {
            with.iter().fold(text.clone(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value)
            })
        };
        let line: Vec<String> = line.iter().map(argument).collect();
        run_process(&line, self.timeout())
            .map_err(|why| TrialError::Error(format!("adapter.command.{field}: {why}")))
    }

    /// Reads the counters that one command prints as JSON.
    fn printed(&self, line: &[String], ports: &[&str]) -> Result<Vec<PortCounters>, TrialError> {
        let wrong = |why: String| TrialError::Error(format!("adapter.command.counters: {why}"));
        if has_placeholder(line, "port") {
            let one = |port: &&str| {
                let text = self.run("counters", line, &[("port", port)])?;
                one_port(&text).map_err(|why| wrong(format!("port {port}: {why}")))
            };
            return ports.iter().map(one).collect();
        }
        let text = self.run("counters", line, &[])?;
        all_ports(&text, ports).map_err(wrong)
    }

    /// Reads one counter of a port, and adds it to the others.
    fn number(
        &self,
        counter: Counter,
        port: &str,
        to: &mut PortCounters,
    ) -> Result<(), TrialError> {
        let line = &self.commands.numbers[&counter];
        let field = format!("numbers.{}", counter.name());
        let read = |with: &[(&str, &str)]| {
            let text = self.run(&field, line, with)?;
            number(&text)
                .map_err(|why| TrialError::Error(format!("adapter.command.{field}: {why}")))
        };
        if !counter.is_of_priority() {
            to.port.extend(read(&[("port", port)])?.map(|n| (counter, n)));
            return Ok(());
        }
        for priority in self.priorities.iter() {
            let n = read(&[("port", port), ("priority", &priority.to_string())])?;
            to.priorities[priority.index()].extend(n.map(|n| (counter, n)));
        }
        Ok(())
    }
}

/// Returns true if a command line has a placeholder.
pub(crate) fn has_placeholder(line: &[String], name: &str) -> bool {
    line.iter().any(|text| text.contains(&format!("{{{name}}}")))
}

impl Adapter for Command {
    fn settle(&self) -> Duration {
        span(self.commands.settle, SETTLE)
    }

    fn read(&mut self, ports: &[&str]) -> Result<Counters, TrialError> {
        let mut all = match &self.commands.counters {
            Some(line) => self.printed(line, ports)?,
            None => vec![PortCounters::default(); ports.len()],
        };
        for counter in self.commands.numbers.keys() {
            for (port, counters) in ports.iter().zip(&mut all) {
                self.number(*counter, port, counters)?;
            }
        }
        Ok(Counters(all))
    }

    fn clear(&mut self) -> Result<(), TrialError> {
        // Without the command counters go on: those of a trial are differences anyway.
        let Some(line) = &self.commands.clear else { return Ok(()) };
        self.run("clear", line, &[]).map(drop)
    }

    fn can_read(&self) -> bool {
        self.commands.counters.is_some() || !self.commands.numbers.is_empty()
    }

    fn version(&mut self) -> Result<Option<String>, TrialError> {
        let Some(line) = &self.commands.version else { return Ok(None) };
        let text = self.run("version", line, &[])?;
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        // What a device prints is not trusted: it is shown in a terminal and written to reports.
        Ok(first.map(|line| line.chars().filter(|c| !c.is_control()).take(VERSION_MAX).collect()))
    }

    fn can_read_memory(&self) -> bool {
        self.commands.memory.is_some()
    }

    fn memory(&mut self) -> Result<Option<u64>, TrialError> {
        let Some(line) = &self.commands.memory else { return Ok(None) };
        let text = self.run("memory", line, &[])?;
        number(&text).map_err(|why| TrialError::Error(format!("adapter.command.memory: {why}")))
    }

    fn reset(&self, kind: ResetKind) -> Option<Action> {
        let (line, timeout) = (self.commands.resets.get(&kind)?.clone(), self.timeout());
        let failed =
            move |why| TrialError::Error(format!("adapter.command.resets.{}: {why}", kind.name()));
        Some(Box::new(move || run_process(&line, timeout).map(drop).map_err(failed)))
    }

    fn can_set(&self) -> bool {
        self.commands.set.is_some()
    }

    fn set(&mut self, port: &str, name: &str, value: &str) -> Result<(), TrialError> {
        let Some(line) = &self.commands.set else {
            return Err(TrialError::Missing(
                "adapter.command.set is missing; add it to the file".into(),
            ));
        };
        self.run("set", line, &[("port", port), ("name", name), ("value", value)]).map(drop)
    }
}

/// Parses the counters of one port.
fn one_port(text: &str) -> Result<PortCounters, String> {
    port(&json(text)?)
}

/// Parses the counters of all ports by their names, and returns those of some.
fn all_ports(text: &str, ports: &[&str]) -> Result<Vec<PortCounters>, String> {
    let value = json(text)?;
    let one = |name: &&str| {
        let counters = value.get(*name).ok_or_else(|| format!("there is no port `{name}`"))?;
        port(counters).map_err(|why| format!("port {name}: {why}"))
    };
    ports.iter().map(one).collect()
}

/// Parses a number; `None` if it says that there is none. Thousands may be separated by commas.
fn number(text: &str) -> Result<Option<u64>, String> {
    let text = text.trim().replace(',', "");
    match text.as_str() {
        // Words of switches' command lines for a counter that they do not have.
        "" | "-" | "N/A" | "null" => Ok(None),
        text => text.parse().map(Some).map_err(|_| {
            let short: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
            format!("`{short}` is no number")
        }),
    }
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("its output is no JSON: {error}"))
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| "a JSON object is needed, with counters by their names".to_owned())
}

/// Returns a count; `None` if it is unknown.
fn count(name: &str, value: &Value) -> Result<Option<u64>, String> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => number(text).map_err(|why| format!("{name}: {why}")),
        value => value.as_u64().map(Some).ok_or_else(|| format!("{name}: {value} is no count")),
    }
}

fn port(value: &Value) -> Result<PortCounters, String> {
    let mut port = PortCounters::default();
    for (name, value) in object(value)? {
        match name.as_str() {
            "priorities" => priorities(value, &mut port)?,
            "drops" => port.drops = drops(value)?,
            name => insert(&mut port.port, name, false, value)?,
        }
    }
    Ok(port)
}

fn priorities(value: &Value, to: &mut PortCounters) -> Result<(), String> {
    for (name, value) in object(value)? {
        let priority = name.parse().ok().and_then(Priority::new);
        let priority =
            priority.ok_or_else(|| format!("`{name}` is none of {PRIORITIES} priorities"))?;
        for (name, value) in object(value)? {
            insert(&mut to.priorities[priority.index()], name, true, value)?;
        }
    }
    Ok(())
}

fn drops(value: &Value) -> Result<Option<BTreeMap<String, u64>>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let mut drops = BTreeMap::new();
    for (name, value) in object(value)? {
        drops.extend(count(name, value)?.map(|n| (name.clone(), n)));
    }
    Ok(Some(drops))
}

fn insert(
    to: &mut BTreeMap<Counter, u64>,
    name: &str,
    of_priority: bool,
    value: &Value,
) -> Result<(), String> {
    let (name, factor) = if name == "paused_us" { ("paused_ns", 1000) } else { (name, 1) };
    let mut all = Counter::ALL.iter().filter(|counter| counter.is_of_priority() == of_priority);
    let Some(counter) = all.clone().find(|counter| counter.name() == name) else {
        let names: Vec<_> = all.by_ref().map(|counter| counter.name()).collect();
        return Err(format!("`{name}` is no counter here; there are {}", names.join(", ")));
    };
    to.extend(count(name, value)?.map(|n| (*counter, n.saturating_mul(factor))));
    Ok(())
}

/// Longest output in bytes.
const OUTPUT_MAX: u64 = 1 << 20;

/// Interval at which a process is polled for its end.
const POLL: StdDuration = StdDuration::from_millis(5);

/// Runs a program with its arguments, and returns what it prints. The reason of a failure has the exit status
/// and the first line of its error output.
fn run_process(line: &[String], timeout: StdDuration) -> Result<String, String> {
    let (program, arguments) = line.split_first().ok_or("the command is empty")?;
    let mut child = process::Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    let until = Instant::now() + timeout;
    let out = collect(child.stdout.take());
    let err = collect(child.stderr.take());
    // Both outputs are read meanwhile: a process that fills a pipe would not end.
    let ended = wait(&mut child, until);
    // The same words for a process that does not end, and for one whose output does not.
    let late = || format!("`{program}` does not end within {} ms", timeout.as_millis());
    let Some(status) = ended.map_err(|error| format!("`{program}`: {error}"))? else {
        // It may end by itself in between, which is as good.
        let _ = child.kill();
        let _ = child.wait();
        return Err(late());
    };
    // A process that it has started may hold its output open.
    let left = |until: Instant| until.saturating_duration_since(Instant::now()).max(POLL);
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
        thread::sleep(POLL);
    }
}

/// Reads an output in its own thread, which ends with it.
fn collect(from: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut from) = from {
            // The output is that before an error.
            let _ = from.by_ref().take(OUTPUT_MAX + 1).read_to_end(&mut bytes);
            // The rest is read and dropped, because a process that cannot write waits.
            let _ = std::io::copy(&mut from, &mut std::io::sink());
        }
        let _ = sender.send(bytes);
    });
    receiver
}

#[cfg(test)]
mod tests;
