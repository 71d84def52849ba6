//! A file of all trials of a run, by which an interrupted one goes on.
//!
//! A procedure decides by the results of its trials alone. So a run that is given the recorded results of
//! the same trials comes to the point at which the last one ended, whatever ended it.

use std::collections::VecDeque;
use std::io;
use std::path::Path;

use lab::study::{RowFile, each_line};
use serde::{Deserialize, Serialize};
use tester::report::{DeviceCpu, Flow, Latency, Machine, Pacing, Port, Priority, Report, Stamps};
use validate::bench::{Acknowledged, Bench, Capability, TrialError};
use validate::observation::Observation;
use validate::trial::Trial;
use xxhash_rust::xxh3::xxh3_64;

use crate::arrivals::Arrivals;
use crate::plan::Plan;
use ground::printable;
use ground::time::Duration;

/// First line of a journal: the run that it is of.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Run {
    /// Version of the tester.
    sluice: String,
    procedure: String,
    dut: String,
    /// `virtual` or `real`.
    world: String,
    /// Digest of all parameters of the plan, of the options of the command, and of a virtual device.
    plan: u64,
}

/// A trial: what it was, and what was counted in it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Entry {
    name: String,
    /// Digest of the trial and of the seed.
    trial: u64,
    flows: Vec<Counts>,
    ports: Vec<Vec<Paused>>,
    /// Shortest time that the stamps distinguish from none, in nanoseconds.
    floor_ns: f64,
    /// Disturbance of the tester, and of a device on the same machine: a trial that was disturbed is
    /// recorded with it, and judged again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<Machine>,
    #[serde(default)]
    device: DeviceCpu,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    preempted_ports: Vec<String>,
    /// Memory of the device in bytes, in entries that are no trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    memory: Option<u64>,
}

/// Name of entries with the memory of the device.
const MEMORY: &str = "memory of the device";

/// Counters of a flow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
struct Counts {
    tx: u64,
    rx: u64,
    /// Frames per second that were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pace: Option<f64>,
    /// Received frames by port, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    by_port: Vec<u64>,
    /// Frames that arrived otherwise than sent.
    #[serde(default, skip_serializing_if = "is_none")]
    wrong: Arrivals,
    /// Seconds to the arrival of the first frame, and of the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    arrivals: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency: Option<Latency>,
}

fn is_none(wrong: &Arrivals) -> bool {
    *wrong == Arrivals::default()
}

/// Received pauses of a priority at a port.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
struct Paused {
    priority: u8,
    pauses: u64,
    resumes: u64,
    transitions: u64,
    ns: f64,
}

/// The reason why a journal cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error(transparent)]
    File(#[from] io::Error),
    #[error(
        "line {0} is no trial: {1}; give a file that --resume wrote, or one that is not there yet"
    )]
    Line(u64, String),
    #[error("it is of another run ({0}); give another file, or delete this one")]
    Other(String),
}

/// A bench whose trials are recorded in a file, and those that it has are not run again.
pub struct Journal<'a> {
    bench: &'a mut dyn Bench,
    file: RowFile,
    recorded: VecDeque<Entry>,
    seed: u64,
}

impl<'a> Journal<'a> {
    /// Opens a journal of a run, or begins one. A last line that is cut off is removed. `known` is what
    /// decides about the trials beside the plan: options of the command, and all of a virtual device.
    ///
    /// # Errors
    /// The file cannot be read or written, or is of something else.
    pub fn open(
        path: &Path,
        procedure: &str,
        plan: &Plan,
        known: &str,
        bench: &'a mut dyn Bench,
    ) -> Result<Self, JournalError> {
        let run = Run {
            sluice: ground::program::version().to_owned(),
            procedure: procedure.to_owned(),
            dut: plan.setup.name.clone(),
            world: bench.world().to_owned(),
            plan: digest(&format!("{plan:?} {known}")),
        };
        let (mut recorded, mut is_new) = (VecDeque::new(), true);
        let mut file = RowFile::go_on(path, |file| {
            let cut = each_line(file, |n, line| {
                if n > 1 {
                    recorded.push_back(parsed(n, line)?);
                    return Ok(());
                }
                is_new = false;
                let before: Run = parsed(n, line)?;
                // Other results than those of the same run would lead the procedure astray.
                match before == run {
                    true => Ok(()),
                    false => Err(JournalError::Other(before.difference(&run))),
                }
            })?;
            // Nothing but the begin of a first line may be overwritten.
            match !is_new || cut.is_empty() || cut.starts_with(b"{\"sluice\"") {
                true => Ok(cut),
                false => Err(JournalError::Line(1, "it is no first line".to_owned())),
            }
        })?;
        if is_new {
            file.add(&run)?;
            file.sync()?;
        }
        Ok(Self { bench, file, recorded, seed: plan.setup.seed })
    }

    /// Returns the number of recorded trials that the run has not come to yet.
    #[must_use]
    pub fn left(&self) -> usize {
        self.recorded.iter().filter(|entry| entry.name != MEMORY).count()
    }

    fn digest(&self, trial: &Trial) -> u64 {
        digest(&format!("{} {trial:?}", self.seed))
    }

    /// Returns the recorded report of a trial; `None` after the last one.
    fn again(&mut self, trial: &Trial) -> Result<Option<Report>, TrialError> {
        let Some(entry) = self.recorded.pop_front() else { return Ok(None) };
        let digest = self.digest(trial);
        Self::same(entry, digest, &trial.name).map(|entry| Some(entry.report()))
    }

    /// Returns a recorded entry, which must be the one of this digest.
    fn same(entry: Entry, digest: u64, name: &str) -> Result<Entry, TrialError> {
        if entry.trial == digest {
            return Ok(entry);
        }
        // A disturbed trial is recorded with its disturbance, so only another run comes to others.
        Err(TrialError::Error(format!(
            "the file of --resume has another trial here ({}, not {name}); delete it",
            entry.name
        )))
    }

    fn keep(&mut self, trial: &Trial, report: &Report) -> Result<(), TrialError> {
        let entry = Entry::new(trial, self.digest(trial), report);
        self.append(&entry)
    }

    fn append(&mut self, entry: &Entry) -> Result<(), TrialError> {
        let failed = |error| TrialError::Error(format!("the file of --resume: {error}"));
        // A machine that fails loses at most the trial that runs.
        self.file.add(entry).and_then(|()| self.file.sync()).map_err(failed)
    }
}

impl Run {
    /// Returns what differs, in words.
    fn difference(&self, now: &Self) -> String {
        let pairs = [
            ("procedure", &self.procedure, &now.procedure),
            ("device", &self.dut, &now.dut),
            ("world", &self.world, &now.world),
            ("version", &self.sluice, &now.sluice),
        ];
        match pairs.into_iter().find(|(_, before, now)| before != now) {
            Some((what, before, _)) => format!("{what} {before}"),
            None => "other parameters or options, or another virtual device".to_owned(),
        }
    }
}

fn digest(text: &str) -> u64 {
    xxh3_64(text.as_bytes())
}

fn parsed<T: for<'de> Deserialize<'de>>(n: u64, line: &[u8]) -> Result<T, JournalError> {
    let parsed = serde_json::from_slice(line.trim_ascii_end());
    parsed.map_err(|error| JournalError::Line(n, printable::json_error(&error)))
}

impl Bench for Journal<'_> {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.bench.run(trial)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.bench.run_on_cable(trial)
    }

    fn count(&mut self, trial: &Trial) -> Result<Report, TrialError> {
        if let Some(report) = self.again(trial)? {
            return Ok(report);
        }
        let report = self.bench.count(trial)?;
        self.keep(trial, &report)?;
        Ok(report)
    }

    /// Connections are not recorded, so their trials run again.
    fn acknowledged(&mut self, trial: &Trial) -> Result<(Report, Vec<Acknowledged>), TrialError> {
        self.bench.acknowledged(trial)
    }

    fn limit(&mut self, trial: &Trial) -> Result<Option<u64>, TrialError> {
        if let Some(report) = self.again(trial)? {
            return Ok(report.flows.first().map(|flow| flow.frames_rx));
        }
        let limit = self.bench.limit(trial)?;
        if let Some(frames_rx) = limit {
            // Recorded as a trial with one flow that carries the limit.
            let flow = Flow { frames_rx, ..Flow::default() };
            self.keep(trial, &Report { flows: vec![flow], ..Report::default() })?;
        }
        Ok(limit)
    }

    fn version(&mut self) -> Result<Option<String>, TrialError> {
        self.bench.version()
    }

    fn memory(&mut self) -> Result<Option<u64>, TrialError> {
        let trial = Trial::new(MEMORY, Duration::ZERO);
        let digest = self.digest(&trial);
        if let Some(entry) = self.recorded.pop_front() {
            return Self::same(entry, digest, MEMORY).map(|entry| entry.memory);
        }
        let memory = self.bench.memory()?;
        let entry = Entry { memory, ..Entry::new(&trial, digest, &Report::default()) };
        self.append(&entry)?;
        Ok(memory)
    }

    fn has(&self, capability: Capability) -> bool {
        self.bench.has(capability)
    }

    fn reseed(&mut self, seed: u64) {
        self.seed = seed;
        self.bench.reseed(seed);
    }

    fn rest(&mut self, time: Duration) {
        // A recorded trial takes no time, so the device has rested long enough.
        if self.recorded.is_empty() {
            self.bench.rest(time);
        }
    }

    fn warnings(&self) -> Vec<String> {
        self.bench.warnings()
    }

    fn world(&self) -> &'static str {
        self.bench.world()
    }
}

impl Entry {
    fn new(trial: &Trial, digest: u64, report: &Report) -> Self {
        let counts = |flow: &Flow| Counts {
            tx: flow.frames_tx,
            rx: flow.frames_rx,
            pace: flow.pacing.as_ref().map(|pacing| pacing.sent_fps),
            // With one receiver it is `rx` again.
            by_port: match flow.frames_rx_by_port.len() {
                0 | 1 => Vec::new(),
                _ => flow.frames_rx_by_port.clone(),
            },
            wrong: Arrivals {
                duplicates: flow.duplicates,
                reordered: flow.reordered,
                damaged: flow.damaged,
                // Counted again when the trial is read.
                lost_lossless: None,
            },
            arrivals: flow.first_rx_s.zip(flow.last_rx_s),
            latency: flow.latency.clone().filter(|latency| latency.frames > 0),
        };
        let paused = |of: &Priority| Paused {
            priority: of.priority,
            pauses: of.pauses_rx,
            resumes: of.resumes_rx,
            transitions: of.transitions,
            ns: of.paused_ns,
        };
        Self {
            name: trial.name.clone(),
            trial: digest,
            flows: report.flows.iter().map(counts).collect(),
            ports: report.ports.iter().map(|p| p.priorities.iter().map(paused).collect()).collect(),
            floor_ns: report.stamps.floor_ns(),
            machine: report.machine,
            device: report.device,
            preempted_ports: report.preempted_ports.clone(),
            memory: None,
        }
    }

    /// Returns the report again, with what benchmarks read of it.
    fn report(self) -> Report {
        let flow = |counts: Counts| Flow {
            frames_tx: counts.tx,
            frames_rx: counts.rx,
            frames_rx_by_port: counts.by_port,
            duplicates: counts.wrong.duplicates,
            reordered: counts.wrong.reordered,
            damaged: counts.wrong.damaged,
            first_rx_s: counts.arrivals.map(|(first, _)| first),
            last_rx_s: counts.arrivals.map(|(_, last)| last),
            pacing: counts.pace.map(|sent_fps| Pacing { sent_fps, ..Pacing::default() }),
            latency: counts.latency,
            ..Flow::default()
        };
        let priority = |paused: Paused| Priority {
            priority: paused.priority,
            pauses_rx: paused.pauses,
            resumes_rx: paused.resumes,
            transitions: paused.transitions,
            paused_ns: paused.ns,
            ..Priority::default()
        };
        let port = |paused: Vec<Paused>| Port {
            priorities: paused.into_iter().map(priority).collect(),
            ..Port::default()
        };
        Report {
            // One number of the two of a report: benchmarks read their floor alone.
            stamps: Stamps { source: "journal", resolution_ns: self.floor_ns, uncertainty_ns: 0.0 },
            ports: self.ports.into_iter().map(port).collect(),
            flows: self.flows.into_iter().map(flow).collect(),
            machine: self.machine,
            device: self.device,
            preempted_ports: self.preempted_ports,
            ..Report::default()
        }
    }
}
