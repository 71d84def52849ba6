//! The adapter of a device that commands reach: each prints counters or changes a setting.
//!
//! A command is a list of arguments and is started without a shell. In each argument `{port}`,
//! `{priority}`, `{name}` and `{value}` are replaced. A command ends within a bounded time, or is killed.

mod parse;
mod process;

use core::time::Duration as StdDuration;
use std::collections::BTreeMap;

use super::{Action, Adapter};
use crate::bench::Trouble;
use crate::counters::{Counter, Counters, PortCounters};
use crate::trial::ResetKind;
use ground::time::Duration;
use ground::units::PrioritySet;

/// Default of the time after which a command is killed.
pub const TIMEOUT: StdDuration = StdDuration::from_secs(10);

/// Longest version in characters.
const VERSION_MAX: usize = 200;

/// Command lines, each a program and its arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct Commands {
    /// Prints counters as JSON: of the port with `{port}`, else of all ports.
    pub counters: Option<Vec<String>>,
    /// Prints one counter of a port, and of a priority, as a number.
    pub numbers: BTreeMap<Counter, Vec<String>>,
    /// Sets counters to zero.
    pub clear: Option<Vec<String>>,
    /// Changes a setting.
    pub set: Option<Vec<String>>,
    /// Reset the device.
    pub resets: BTreeMap<ResetKind, Vec<String>>,
    /// Prints the version of the device.
    pub version: Option<Vec<String>>,
    /// Prints the memory that the device uses, in bytes.
    pub memory: Option<Vec<String>>,
    /// Time after which a command is killed.
    pub timeout: StdDuration,
    /// Time after traffic until the counters are current.
    pub settle: Duration,
    /// Priorities whose counters are read one by one.
    pub priorities: PrioritySet,
}

/// A device that commands reach.
#[derive(Debug)]
pub struct Command(Commands);

impl Command {
    /// The device of these commands.
    #[must_use]
    pub const fn new(commands: Commands) -> Self {
        Self(commands)
    }

    /// Runs a command with these replacements, and returns what it prints.
    fn run(&self, field: &str, line: &[String], with: &[(&str, &str)]) -> Result<String, Trouble> {
        let argument = |text: &String| {
            with.iter().fold(text.clone(), |text, (name, value)| {
                text.replace(&format!("{{{name}}}"), value)
            })
        };
        let line: Vec<String> = line.iter().map(argument).collect();
        process::run(&line, self.0.timeout)
            .map_err(|why| Trouble::Error(format!("adapter.command.{field}: {why}")))
    }

    /// Reads the counters that one command prints as JSON.
    fn printed(&self, line: &[String], ports: &[&str]) -> Result<Vec<PortCounters>, Trouble> {
        let wrong = |why: String| Trouble::Error(format!("adapter.command.counters: {why}"));
        if has(line, "port") {
            let one = |port: &&str| {
                let text = self.run("counters", line, &[("port", port)])?;
                parse::one_port(&text).map_err(|why| wrong(format!("port {port}: {why}")))
            };
            return ports.iter().map(one).collect();
        }
        let text = self.run("counters", line, &[])?;
        parse::all_ports(&text, ports).map_err(wrong)
    }

    /// Reads one counter of a port, and adds it to the others.
    fn number(&self, counter: Counter, port: &str, to: &mut PortCounters) -> Result<(), Trouble> {
        let line = &self.0.numbers[&counter];
        let field = format!("numbers.{}", counter.name());
        let read = |with: &[(&str, &str)]| {
            let text = self.run(&field, line, with)?;
            parse::number(&text)
                .map_err(|why| Trouble::Error(format!("adapter.command.{field}: {why}")))
        };
        if !counter.is_of_priority() {
            to.port.extend(read(&[("port", port)])?.map(|n| (counter, n)));
            return Ok(());
        }
        for priority in self.0.priorities.iter() {
            let n = read(&[("port", port), ("priority", &priority.to_string())])?;
            to.priorities[priority.index()].extend(n.map(|n| (counter, n)));
        }
        Ok(())
    }
}

/// Returns true if a command line has a placeholder.
pub(crate) fn has(line: &[String], name: &str) -> bool {
    line.iter().any(|text| text.contains(&format!("{{{name}}}")))
}

impl Adapter for Command {
    fn settle(&self) -> Duration {
        self.0.settle
    }

    fn read(&mut self, ports: &[&str]) -> Result<Counters, Trouble> {
        let mut all = match &self.0.counters {
            Some(line) => self.printed(line, ports)?,
            None => vec![PortCounters::default(); ports.len()],
        };
        for counter in self.0.numbers.keys() {
            for (port, counters) in ports.iter().zip(&mut all) {
                self.number(*counter, port, counters)?;
            }
        }
        Ok(Counters(all))
    }

    fn clear(&mut self) -> Result<(), Trouble> {
        let Some(line) = &self.0.clear else { return Ok(()) };
        self.run("clear", line, &[]).map(drop)
    }

    fn can_read(&self) -> bool {
        self.0.counters.is_some() || !self.0.numbers.is_empty()
    }

    fn version(&mut self) -> Result<Option<String>, Trouble> {
        let Some(line) = &self.0.version else { return Ok(None) };
        let text = self.run("version", line, &[])?;
        let first = text.lines().map(str::trim).find(|line| !line.is_empty());
        Ok(first.map(|line| line.chars().filter(|c| !c.is_control()).take(VERSION_MAX).collect()))
    }

    fn can_read_memory(&self) -> bool {
        self.0.memory.is_some()
    }

    fn memory(&mut self) -> Result<Option<u64>, Trouble> {
        let Some(line) = &self.0.memory else { return Ok(None) };
        let text = self.run("memory", line, &[])?;
        parse::number(&text).map_err(|why| Trouble::Error(format!("adapter.command.memory: {why}")))
    }

    fn reset(&self, kind: ResetKind) -> Option<Action> {
        let (line, timeout) = (self.0.resets.get(&kind)?.clone(), self.0.timeout);
        let failed =
            move |why| Trouble::Error(format!("adapter.command.resets.{}: {why}", kind.name()));
        Some(Box::new(move || process::run(&line, timeout).map(drop).map_err(failed)))
    }

    fn can_set(&self) -> bool {
        self.0.set.is_some()
    }

    fn set(&mut self, port: &str, name: &str, value: &str) -> Result<(), Trouble> {
        let Some(line) = &self.0.set else {
            return Err(Trouble::Missing(
                "adapter.command.set is missing; add it to the file".into(),
            ));
        };
        self.run("set", line, &[("port", port), ("name", name), ("value", value)]).map(drop)
    }
}

#[cfg(test)]
mod tests;
