//! The engine behind the OTG server, in the real world: runs the tests that clients configure,
//! start and monitor.
//!
//! There is one configuration at a time. Changes are serialised; queries never wait for a change:
//! while devices are opened or closed, they are answered from the last report.

mod actions;
mod changes;
mod metrics;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use serde_json::Value;

use super::location::Access;
use super::memory;
use super::plan::{FlowPlan, PortPlan, TestPlan};
use super::replay::{self, Replay};
use super::report::Report;
use super::session::{Bench, Session, SessionError};
use crate::plan::{FlowKind, Place};
use crate::resolve::resolve;
use config::memory::available;
use dpdk::{Eal, EalOptions, give_back_memory};
use otg::engine::{Engine, JsonText, Refusal, RefusalKind, Warnings};
use otg::model::control::{ConfigAppend, ConfigDelete, ConfigUpdate};
use otg::model::metrics::MetricsRequest;
use otg::model::{Config, parse};

/// Options of the engine.
#[derive(Clone, Debug, Default)]
pub struct TesterOptions {
    /// EAL options; DPDK is started once a configuration needs it. The PCI devices of that
    /// configuration are added to the allow-list; those of later ones must be named here.
    pub eal: EalOptions,
    /// Maximum number of polling threads. Default: one less than the CPUs that the process may
    /// use.
    pub threads: Option<usize>,
    /// Ports that configurations may name. Default: those allowed for clients.
    pub access: Access,
    /// Recordings to replay beside the flows of each configuration, which has no field for them.
    pub replays: Vec<Replay>,
    /// Bytes that the next test may take. Default: those that the kernel reports as available then.
    pub memory: Option<u64>,
}

#[derive(Debug)]
pub struct TesterEngine {
    options: TesterOptions,
    /// Locked for the time of a change.
    bench: Mutex<Option<Bench>>,
    /// The current state; never locked for long.
    now: Mutex<Now>,
    /// The last report of a test, and the time at which its generation began. Callers that waited
    /// for it use it too, so that a thousand concurrent queries cost the test no more than a few.
    seen: Mutex<Option<(Instant, Arc<Report>)>>,
}

/// The configuration, and the test made from it.
#[derive(Clone, Debug, Default)]
struct Now {
    config: Config,
    session: Option<Arc<Session>>,
    /// The last report.
    report: Arc<Report>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TesterEngine {
    /// An engine without a configuration. DPDK is started with the first one that has ports.
    pub fn new(options: TesterOptions) -> Self {
        let (bench, seen) = (Mutex::new(None), Mutex::new(None));
        Self { options, bench, now: Mutex::new(Now::default()), seen }
    }

    /// Ends the test and closes all devices.
    pub fn close(&self) {
        let mut bench = lock(&self.bench);
        *lock(&self.now) = Now::default();
        *lock(&self.seen) = None;
        if let Some(bench) = &mut *bench {
            bench.clear();
        }
        *bench = None;
    }

    /// Returns all counters so far, without the latency distributions.
    ///
    /// # Errors
    /// The test's threads have ended.
    pub fn report(&self) -> Result<Arc<Report>, Refusal> {
        let asked = Instant::now();
        let mut seen = lock(&self.seen);
        // A report that was begun after this call has all that the caller may expect in it.
        if let Some((_, report)) = seen.as_ref().filter(|(begun, _)| *begun >= asked) {
            return Ok(Arc::clone(report));
        }
        let begun = Instant::now();
        let report = self.report_of(None, false)?;
        *seen = Some((begun, Arc::clone(&report)));
        Ok(report)
    }

    /// Returns all counters so far, with the latency distributions.
    ///
    /// # Errors
    /// The test's threads have ended.
    pub fn whole_report(&self) -> Result<Report, Refusal> {
        self.report_of(None, true).map(Arc::unwrap_or_clone)
    }

    /// Returns a report of some flows, by their indices in the plan, or of all; the last full
    /// report while one test replaces another.
    fn report_of(
        &self,
        which: Option<&[usize]>,
        distributions: bool,
    ) -> Result<Arc<Report>, Refusal> {
        let (session, last) = {
            let now = lock(&self.now);
            (now.session.clone(), Arc::clone(&now.report))
        };
        let Some(session) = session else { return Ok(last) };
        session.report_of(which, distributions).map(Arc::new).or_else(|error| {
            let now = lock(&self.now);
            // The test was replaced during the query, which the last report answers.
            let replaced = !now.session.as_ref().is_some_and(|s| Arc::ptr_eq(s, &session));
            if replaced { Ok(Arc::clone(&now.report)) } else { Err(refusal(&error)) }
        })
    }

    /// Returns a report with the flows that a request for metrics needs.
    fn report_for(&self, request: &MetricsRequest) -> Result<Arc<Report>, Refusal> {
        let needs = metrics::needs(request);
        let session = lock(&self.now).session.clone();
        let Some(session) = session else {
            let report = self.report()?;
            if let metrics::Needs::Flows(names) = needs {
                let known = report.flows.iter().map(|flow| flow.name.as_str());
                named(names, known, "flow.flow_names", "flow")?;
            }
            return Ok(report);
        };
        let plan = session.plan();
        let places = match needs {
            metrics::Needs::Flows([]) => return self.report(),
            metrics::Needs::Flows(names) => {
                named(names, flow_names(plan), "flow.flow_names", "flow")?
            }
            metrics::Needs::Ports => Vec::new(),
            metrics::Needs::Connections => {
                let roce = |n: &usize| matches!(plan.flows[*n].kind, FlowKind::Roce(_));
                (0..plan.flows.len()).filter(roce).collect()
            }
        };
        self.report_of(Some(&places), false)
    }

    /// Replaces the test by that of `config`.
    fn replace(
        &self,
        bench: &mut MutexGuard<'_, Option<Bench>>,
        config: Config,
    ) -> Result<Warnings, Refusal> {
        let (mut plan, mut warnings) = resolve(&config)?;
        allowed(&plan, &self.options.access)?;
        replay::add(&mut plan, &self.options.replays).map_err(|findings| {
            let errors = findings.into_iter().map(|f| format!("{}: {}", f.path, f.what));
            Refusal { kind: RefusalKind::Validation, errors: errors.collect() }
        })?;
        self.fits(&plan)?;
        // Nothing is to run, so DPDK need not be started.
        if plan.ports.is_empty() {
            *lock(&self.now) = Now { config, ..Now::default() };
            *lock(&self.seen) = None;
            if let Some(bench) = &mut **bench {
                bench.clear();
            }
            give_back_memory();
            return Ok(warnings);
        }
        let bench = self.bench_for(bench, &plan)?;
        // All that may fail is tried before the running test is stopped.
        let prepared = bench.prepare(plan).map_err(|error| refusal(&error))?;
        let report = self.report().unwrap_or_default();
        // While devices are closed and opened, queries are answered from this report.
        *lock(&self.now) = Now { config: Config::default(), session: None, report };
        *lock(&self.seen) = None;
        bench.clear();
        give_back_memory();
        let session = bench.begin(prepared).map_err(|error| refusal(&error))?;
        let report = session.report_of(None, false).map_err(|error| refusal(&error))?;
        let report = Arc::new(report);
        warnings.extend(report.warnings.iter().cloned());
        *lock(&self.now) = Now { config, session: Some(session), report };
        Ok(warnings)
    }

    /// Refuses a test for which the machine has too little memory, once the running one has given
    /// back its own.
    fn fits(&self, plan: &TestPlan) -> Result<(), Refusal> {
        let (running, last) = {
            let now = lock(&self.now);
            (now.session.clone(), Arc::clone(&now.report))
        };
        // The new test begins when the running one has given back what it took.
        let returned = running.map_or(0, |session| {
            let begun = self.report().unwrap_or(last).elapsed_s.is_some();
            memory::memory_returned(session.plan(), plan, begun)
        });
        let available = self.options.memory.or_else(available);
        let available = available.map(|bytes| bytes.saturating_add(returned));
        let Some(finding) = memory::memory_finding(plan, memory::World::Real, available) else {
            return Ok(());
        };
        Err(Refusal::validation(format!("{}: {}", finding.path, finding.what)))
    }

    /// Returns the bench, which is created on first use.
    fn bench_for<'a>(
        &self,
        bench: &'a mut MutexGuard<'_, Option<Bench>>,
        plan: &TestPlan,
    ) -> Result<&'a mut Bench, Refusal> {
        if bench.is_none() {
            let devices = plan.ports.iter().filter_map(|port| match &port.location.place {
                Place::Device(name) => Some(name),
                Place::Ring { .. } | Place::Interface(_) => None,
            });
            let options = self.options.eal.clone().for_devices(devices);
            let eal = Eal::start(&options).map_err(|e| Refusal::internal(e.to_string()))?;
            **bench = Some(Bench::new(eal, self.options.threads));
        }
        Ok(bench.as_mut().expect("it was just set up"))
    }

    /// Returns the running test.
    fn session(&self) -> Result<Arc<Session>, Refusal> {
        let session = lock(&self.now).session.clone();
        session.ok_or_else(|| Refusal::validation("no ports are configured; set a config first"))
    }
}

/// Refuses ports that a configuration may not name.
fn allowed(plan: &TestPlan, access: &Access) -> Result<(), Refusal> {
    let refused = |(n, port): (usize, &PortPlan)| {
        let why = access.check(&port.location).err()?;
        Some(format!("ports[{n}].location: {why}"))
    };
    let errors: Vec<_> = plan.ports.iter().enumerate().filter_map(refused).collect();
    if errors.is_empty() {
        return Ok(());
    }
    Err(Refusal { kind: RefusalKind::Validation, errors })
}

/// Converts a session's error to a refusal.
fn refusal(error: &SessionError) -> Refusal {
    let kind = match error {
        SessionError::Starved(_) => RefusalKind::Starved,
        SessionError::Gone | SessionError::Silent(_) | SessionError::Threads(_) => {
            RefusalKind::Internal
        }
        SessionError::Dpdk(error) if !is_about_input(error) => RefusalKind::Internal,
        _ => RefusalKind::Validation,
    };
    Refusal { kind, errors: vec![error.to_string()] }
}

/// Returns true if DPDK refused the input, false if a resource is missing.
const fn is_about_input(error: &dpdk::Error) -> bool {
    use dpdk::Error;
    matches!(
        error,
        Error::Option { .. } | Error::Absent { .. } | Error::NoDriver { .. } | Error::InUse { .. }
    )
}

/// Maximum number of names listed for an unknown one, and of unknown names reported.
const LISTED_MAX: usize = 100;

/// Returns the indices of the named objects, or of all if no name is given.
fn named<'a>(
    names: &[String],
    all: impl Iterator<Item = &'a str> + Clone,
    field: &str,
    what: &str,
) -> Result<Vec<usize>, Refusal> {
    if names.is_empty() {
        return Ok((0..all.count()).collect());
    }
    let mut errors = Vec::new();
    let mut places = Vec::new();
    // A flow between devices of several ports is several flows of one name.
    let mut index: HashMap<&str, Vec<usize>> = HashMap::new();
    all.clone().enumerate().for_each(|(n, name)| index.entry(name).or_default().push(n));
    for (n, name) in names.iter().enumerate() {
        match index.get(name.as_str()) {
            Some(found) => places.extend(found),
            // A hostile request may have any number of names.
            None if errors.len() < LISTED_MAX => {
                let mut known: Vec<_> = all.clone().take(LISTED_MAX).collect();
                if known.is_empty() {
                    known.push("none");
                }
                let (name, known) =
                    (name.chars().take(LISTED_MAX).collect::<String>(), known.join(", "));
                errors.push(format!("{field}[{n}]: there is no {what} {name}; there are {known}"));
            }
            None => {}
        }
    }
    if errors.is_empty() {
        places.sort_unstable();
        places.dedup();
        return Ok(places);
    }
    Err(Refusal { kind: RefusalKind::Validation, errors })
}

fn port_names(plan: &TestPlan) -> impl Iterator<Item = &str> + Clone {
    plan.ports.iter().map(|port: &PortPlan| port.name.as_str())
}

fn flow_names(plan: &TestPlan) -> impl Iterator<Item = &str> + Clone {
    plan.flows.iter().map(|flow: &FlowPlan| flow.name.as_str())
}

impl Engine for TesterEngine {
    fn set_config(&self, config: &Value) -> Result<Warnings, Refusal> {
        let config: Config = parse(config)?;
        self.replace(&mut lock(&self.bench), config)
    }

    fn config(&self) -> Value {
        let config = lock(&self.now).config.clone();
        serde_json::to_value(config).expect("a configuration has nothing that JSON has not")
    }

    fn update_config(&self, update: &Value) -> Result<Warnings, Refusal> {
        let update: ConfigUpdate = parse(update)?;
        // Held for the time of the change, so that changes follow one another.
        let _turn = lock(&self.bench);
        self.update(&update)
    }

    fn append_config(&self, append: &Value) -> Result<Warnings, Refusal> {
        let append: ConfigAppend = parse(append)?;
        let mut turn = lock(&self.bench);
        let config = self.appended(&append)?;
        self.replace(&mut turn, config)
    }

    fn delete_config(&self, delete: &Value) -> Result<Warnings, Refusal> {
        let delete: ConfigDelete = parse(delete)?;
        let mut turn = lock(&self.bench);
        let config = self.deleted(&delete)?;
        self.replace(&mut turn, config)
    }

    fn control_state(&self, state: &Value) -> Result<Warnings, Refusal> {
        let state = parse(state)?;
        let _turn = lock(&self.bench);
        self.state(&state)
    }

    fn control_action(&self, action: &Value) -> Result<Value, Refusal> {
        let action = parse(action)?;
        self.act(&action)
    }

    fn metrics(&self, request: &Value) -> Result<JsonText, Refusal> {
        let request = parse(request)?;
        let report = self.report_for(&request)?;
        let config = match &request {
            // Only the metrics of peers need it, and it may be large.
            MetricsRequest::Rocev2Ipv4(_) => lock(&self.now).config.clone(),
            _ => Config::default(),
        };
        metrics::answer(&request, &report, &config)
    }

    fn states(&self, request: &Value) -> Result<Value, Refusal> {
        let request = parse(request)?;
        self.neighbours(&request)
    }

    fn settle(&self) {
        give_back_memory();
    }

    fn capture(&self, request: &Value) -> Result<Vec<u8>, Refusal> {
        let request = parse(request)?;
        self.captured(&request)
    }
}
