//! A running switch as seen and changed through its control socket.
//!
//! A change that would break the configuration is refused by the same calculation as a switch file.

mod macsec;
mod measured;
mod objects;
mod saving;
mod thresholds;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, anyhow, ensure};

use crate::LOG;
use crate::messages::{PortFound, PortsFound, Request, Response, StepReport};
use config::SwitchFile;
use ground::printable;
use ground::time::{Instant, Total};
use ground::units::{BitsPerSec, Cells, PortId, PriorityGroup};
use link::AgentsSnapshot;
use measured::Memory;
use results::{AgentsSummary, Summary};
use runtime::real::Running;
use runtime::{Controller, Device, OrderError, RunSnapshot};
use saving::Saved;
use switch::{Change, Reconciler, Refused, StepKind, SwitchPlan};

/// A running switch as seen and changed by clients.
pub(crate) struct Session {
    controller: Controller,
    /// The plan with all changes so far, which completes the absent fields of a request.
    plan: Mutex<SwitchPlan>,
    /// The switch file with the changes of clients.
    saved: Mutex<Saved>,
    /// Measurements that ended, and notifications.
    memory: Mutex<Memory>,
    /// Least headroom of each lossless group, from its link's round trip.
    headroom: BTreeMap<(PortId, PriorityGroup), Cells>,
    links: Mutex<Vec<LinkState>>,
    /// Number of suspected deadlocks at each port.
    deadlocks: Mutex<Vec<u64>>,
    /// Indexed by port.
    devices: Vec<Device>,
    /// True for each port whose device itself sends and obeys PFC.
    hardware_pfc: Vec<bool>,
    /// Applies the results of link protocols; None if no port has any.
    reconciler: Option<Mutex<Reconciler>>,
    stop: Arc<AtomicBool>,
    /// True if late polls do not affect the verdict.
    late_polls_ignored: bool,
    /// True once a client has cleared the counters: what was lost before is in no summary.
    cleared: AtomicBool,
    /// Last summary for readers that must not wait for workers.
    #[cfg(feature = "dpdk")]
    latest: Mutex<Option<Arc<Summary>>>,
}

/// State of a link and its causes.
#[derive(Clone, Copy, Debug)]
struct LinkState {
    /// True if no client has taken it down.
    wanted: bool,
    /// Link state of its device, and the negotiated rate.
    device: (bool, Option<BitsPerSec>),
    /// Link state and rate that the switch was last informed of.
    reported: (bool, Option<BitsPerSec>),
    /// Number of times that its device went down.
    losses: u64,
}

/// Parses a request. A request with a key must have no escapes, because the parser would copy the
/// key to resolve them.
fn request(line: &str) -> Result<Request> {
    let keyed = line.contains("macsec_install");
    ensure!(!(keyed && line.contains('\\')), "a request with a key is written without escapes");
    serde_json::from_str(line).context("a request is a line of JSON")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Creates a session for the running switch of `file`. `stop` is set when a client stops the
    /// switch.
    pub(crate) fn new(
        file: &SwitchFile,
        running: &Running,
        stop: Arc<AtomicBool>,
        late_polls_ignored: bool,
    ) -> Self {
        let headroom = file.headroom.iter().map(|h| ((h.port, h.group), h.required.cells));
        let links = running.devices.iter().map(|device| {
            let state = (device.link().up, None);
            LinkState { wanted: true, device: state, reported: state, losses: 0 }
        });
        Self {
            controller: running.workers.controller().clone(),
            reconciler: Reconciler::new(&file.plan).map(Mutex::new),
            plan: Mutex::new(file.plan.clone()),
            saved: Mutex::new(Saved::new(file)),
            memory: Mutex::new(Memory::new()),
            headroom: headroom.collect(),
            links: Mutex::new(links.collect()),
            deadlocks: Mutex::new(vec![0; running.devices.len()]),
            devices: running.devices.clone(),
            hardware_pfc: file.devices.iter().map(|device| device.hardware_pfc).collect(),
            stop,
            late_polls_ignored,
            cleared: AtomicBool::new(false),
            #[cfg(feature = "dpdk")]
            latest: Mutex::default(),
        }
    }

    /// Returns the summary so far.
    pub(crate) fn summary(&self) -> Result<Summary> {
        let elapsed = self.controller.elapsed();
        Ok(self.judged(&self.controller.snapshot()?, elapsed, self.agents()?))
    }

    /// Summary of a snapshot, with the results of the link protocols.
    pub(crate) fn judged(
        &self,
        run: &RunSnapshot,
        elapsed: Total,
        agents: BTreeMap<PortId, AgentsSummary>,
    ) -> Summary {
        let summary = Summary::new(run, elapsed).with_agents(agents);
        // Cloned: no lock is held while the summary is made.
        let deadlocks = lock(&self.deadlocks).clone();
        summary
            .with_link_losses(self.link_losses())
            .with_deadlocks(deadlocks)
            .with_hardware_pfc(self.hardware_pfc.iter().copied())
            .with_late_polls(self.late_polls_ignored)
            .with_cleared(self.cleared.load(Ordering::Relaxed))
    }

    /// Counts a suspected deadlock at a port.
    pub(crate) fn count_deadlock(&self, egress: usize) {
        if let Some(suspected) = lock(&self.deadlocks).get_mut(egress) {
            *suspected += 1;
        }
    }

    /// Number of times that the device of each port went down.
    fn link_losses(&self) -> Vec<u64> {
        lock(&self.links).iter().map(|link| link.losses).collect()
    }

    /// Results of the link protocols per port; empty if no port has any.
    pub(crate) fn agents(&self) -> Result<BTreeMap<PortId, AgentsSummary>> {
        let Some(reconciler) = &self.reconciler else { return Ok(BTreeMap::new()) };
        let agents = self.controller.agents()?;
        let reconciler = lock(reconciler);
        let (cell, now) =
            (reconciler.plan().buffer.cell_bytes, Instant::ZERO + self.controller.elapsed());
        let one = |(port, agents): (PortId, AgentsSnapshot)| {
            (port, AgentsSummary::new(&agents, reconciler.headroom(port), cell, now))
        };
        Ok(agents.into_iter().map(one).collect())
    }

    /// Results of the link protocols with the names of ports, and the steps that they caused.
    fn found(&self) -> Result<PortsFound> {
        let agents = self.agents()?;
        // Locked in the same order as in `settle`.
        let reconciler = self.reconciler.as_ref().map(lock);
        let plan = lock(&self.plan);
        let name = |port: PortId| plan.ports[port.index()].name.clone();
        let ports = agents.into_iter().map(|(port, agents)| PortFound { name: name(port), agents });
        let mut found = PortsFound { ports: ports.collect(), steps: vec![], steps_before: 0 };
        if let Some(reconciler) = &reconciler {
            let (before, steps) = reconciler.steps();
            found.steps_before = before;
            found.steps = steps
                .map(|step| StepReport {
                    at_ns: step.at.as_nanos(),
                    port: name(step.port),
                    step: step.kind.to_string(),
                })
                .collect();
        }
        Ok(found)
    }

    /// Applies the results of the ports' link protocols, and returns the steps with the names of
    /// their ports.
    pub(crate) fn settle(&self) -> Result<Vec<(String, StepKind)>> {
        let Some(reconciler) = &self.reconciler else { return Ok(Vec::new()) };
        let news = self.controller.news()?;
        let now = Instant::ZERO + self.controller.elapsed();
        let mut reconciler = lock(reconciler);
        let mut plan = lock(&self.plan);
        // The usual case: nothing happened, nothing is due, and neighbours know the settings.
        let is_advertised = reconciler.has_advertised(&plan);
        if news.is_empty() && now < reconciler.next_deadline() && is_advertised {
            return Ok(Vec::new());
        }
        // Clients may have changed the plan since the last turn.
        reconciler.adopt(&plan);
        let apply = |change| {
            self.controller.apply(change).map_err(|error| match error {
                OrderError::Refused(refused) => refused.as_refused(),
                other => Refused::Never(other.to_string()),
            })
        };
        // Steps are kept up to a number, so those that are new are found by their count.
        let before = reconciler.steps_total();
        reconciler.retry(now, apply);
        for (port, news) in &news {
            reconciler.reconcile(now, *port, news, apply);
        }
        // Under the same lock as the changes, so that no request sees one without the other.
        *plan = reconciler.plan().clone();
        let (first, steps) = reconciler.steps();
        let new = steps.skip(before.saturating_sub(first) as usize);
        let name = |port: PortId| plan.ports[port.index()].name.clone();
        let steps: Vec<_> = new.map(|step| (name(step.port), step.kind.clone())).collect();
        self.remember(&plan, &news, &steps);
        Ok(steps)
    }

    /// Makes a summary for readers that must not wait for workers.
    #[cfg(feature = "dpdk")]
    pub(crate) fn refresh(&self) {
        if let Ok(summary) = self.summary() {
            *lock(&self.latest) = Some(Arc::new(summary));
        }
    }

    /// Returns the last summary of [`refresh`](Self::refresh).
    #[cfg(feature = "dpdk")]
    pub(crate) fn latest(&self) -> Option<Arc<Summary>> {
        lock(&self.latest).clone()
    }

    /// Executes a request and returns the response, a line each.
    pub(crate) fn answer(&self, line: &str) -> String {
        let response = match request(line).and_then(|request| self.obey(request)) {
            Ok(result) => Response { ok: true, result: Some(result), error: None },
            Err(error) => {
                let text = match error.downcast_ref::<OrderError>() {
                    // Workers know ports by their numbers.
                    Some(error) => with_port_names(&error.to_string(), &lock(&self.plan)),
                    None => format!("{error:#}"),
                };
                let error = printable::message(&text).into_owned();
                Response { ok: false, result: None, error: Some(error) }
            }
        };
        serde_json::to_string(&response).expect("a response has nothing that JSON has not")
    }

    fn obey(&self, request: Request) -> Result<serde_json::Value> {
        let null = serde_json::Value::Null;
        match request {
            Request::Show {} => return Ok(serde_json::to_value(self.summary()?)?),
            Request::About {} => return Ok(serde_json::to_value(objects::about())?),
            Request::Drops {} => return Ok(serde_json::to_value(self.summary()?.drops)?),
            Request::SetGroup(set) => self.set_group(&set)?,
            Request::SetEcn(set) => self.set_ecn(&set)?,
            Request::Link { port, up } => {
                self.want_link(self.port(&port)?, up)?;
            }
            Request::Neighbours {} | Request::Headroom {} => {
                return Ok(serde_json::to_value(self.found()?)?);
            }
            Request::Objects { pattern } => {
                return Ok(serde_json::to_value(self.objects(pattern.as_deref())?)?);
            }
            Request::Get(place) => return Ok(serde_json::to_value(self.object(&place)?)?),
            Request::Set(set) => self.set_object(&set)?,
            Request::Yang {} => return self.yang(),
            Request::Measurements { port, samples } => {
                let found = self.measurements(port.as_deref(), samples)?;
                return Ok(serde_json::to_value(found)?);
            }
            Request::Notifications { after } => {
                return Ok(serde_json::to_value(self.notifications(after))?);
            }
            Request::Create { section, port, settings } => {
                self.create(&section, port.as_deref(), settings.as_deref())?;
            }
            Request::Delete { section, port } => self.delete(&section, port.as_deref())?,
            Request::Save {} => return Ok(self.save()?.into()),
            Request::Macsec {} => return Ok(serde_json::to_value(self.macsec()?)?),
            Request::MacsecInstall(install) => self.install(&install)?,
            Request::MacsecUse { port, an } => self.use_association(&port, an)?,
            Request::MacsecRemove { port, receive, an } => {
                self.remove(&port, receive.as_deref(), an)?;
            }
            Request::Measure { port } => {
                let port = self.port(&port)?;
                self.controller.apply(Change::Measure(port))?;
            }
            // Losses of links are counted here and not by the workers.
            Request::Clear {} => {
                // Before the counters: a summary that is made meanwhile may lack what they had.
                self.cleared.store(true, Ordering::Relaxed);
                self.controller.apply(Change::ClearCounters)?;
                lock(&self.links).iter_mut().for_each(|link| link.losses = 0);
            }
            Request::FlushFdb {} => self.controller.apply(Change::FlushFdb)?,
            // Only the flag: the thread that watches the switch stops it after this answer.
            Request::Stop {} => self.stop.store(true, Ordering::SeqCst),
        }
        Ok(null)
    }

    /// Handles a change of a device's link; a link that a client took down stays down.
    pub(crate) fn link_is(&self, port: PortId, up: bool, rate: Option<BitsPerSec>) -> Result<bool> {
        let mut links = lock(&self.links);
        let link = &mut links[port.index()];
        // Only a change from up to down is a loss; a link that is still down is reported again and again.
        link.losses += u64::from(link.device.0 && !up);
        link.device = (up, rate);
        self.tell_link(port, link)
    }

    /// Takes a link up or down, and its device if it supports that, so that the peer sees it.
    fn want_link(&self, port: PortId, up: bool) -> Result<()> {
        let mut links = lock(&self.links);
        let link = &mut links[port.index()];
        link.wanted = up;
        // A link that goes down gets no more frames; one that comes up waits for its device.
        self.tell_link(port, link)?;
        drop(links);
        // After the lock is released: a driver may take long.
        self.set_device(port.index(), up);
        Ok(())
    }

    fn set_device(&self, n: usize, up: bool) {
        if let Err(error) = self.devices[n].set_link(up) {
            // Most virtual devices cannot take a link down; the switch treats it as down all the
            // same.
            tracing::info!(target: LOG, "{error}");
        }
    }

    /// Takes up the devices whose links clients took down.
    pub(crate) fn restore_links(&self) {
        let down = |(n, link): (usize, &LinkState)| (!link.wanted).then_some(n);
        let down: Vec<_> = lock(&self.links).iter().enumerate().filter_map(down).collect();
        down.into_iter().for_each(|n| self.set_device(n, true));
    }

    /// Informs the switch of a changed link state. Returns true if it had changed.
    fn tell_link(&self, port: PortId, link: &mut LinkState) -> Result<bool> {
        let (up, rate) = link.device;
        // A link that goes down has no rate; the last one stays valid until another is negotiated.
        let now = (up && link.wanted, rate.or(link.reported.1));
        if now == link.reported {
            return Ok(false);
        }
        self.controller.apply(Change::Link { port, up: now.0, rate: now.1 })?;
        // Only after the workers took it, so that a failed change is tried again.
        link.reported = now;
        Ok(true)
    }

    fn port(&self, name: &str) -> Result<PortId> {
        let plan = lock(&self.plan);
        // A name that is a number has precedence over the number of a port.
        let by_name = plan.ports.iter().position(|p| p.name == name);
        let number = by_name.or_else(|| name.parse().ok().filter(|n| *n < plan.ports.len()));
        let id = number.and_then(|n| PortId::new(n as u16));
        id.ok_or_else(|| {
            let names: Vec<_> = plan.ports.iter().map(|p| p.name.as_str()).collect();
            anyhow!("there is no port {}; there are {}", printable::excerpt(name), names.join(", "))
        })
    }
}

/// Returns a worker's message with the names of its ports in place of their numbers.
fn with_port_names(text: &str, plan: &SwitchPlan) -> String {
    let mut parts = text.split("port ");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Only whole numbers are replaced: `port 12` is not `port 1` and a 2.
        let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = part[..digits].parse::<usize>().ok();
        out += "port ";
        match number.and_then(|n| plan.ports.get(n)) {
            Some(port) => out += &(port.name.clone() + &part[digits..]),
            None => out += part,
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{SetEcn, SetGroup};

    #[test]
    fn messages_of_workers_name_ports() {
        let text = "ports: [{device: net_null0, name: left}, {device: net_null1, name: right}]\n";
        let plan = config::parse("f.yaml", text, &config::Machine::any()).unwrap().0.plan;
        let named = |text: &str| with_port_names(text, &plan);
        assert_eq!(named("port 1 cannot measure: its link"), "port right cannot measure: its link");
        assert_eq!(named("from port 0 to port 7, any port"), "from port left to port 7, any port");
    }

    /// A verdict on the time since a clear is none on the run.
    #[test]
    fn a_summary_says_that_its_counters_were_cleared() {
        let switch = contracts::stats::SwitchSnapshot::new("s".into(), Default::default());
        let (nics, lossless, polls) = (vec![], vec![], vec![]);
        let run = RunSnapshot { switch, nics, lossless_lost: Default::default(), lossless, polls };
        let summary = |cleared| Summary::new(&run, Total::ZERO).with_cleared(cleared);
        let heading =
            |cleared| report::text(&summary(cleared), None).lines().next().map(str::to_owned);
        assert_eq!(heading(false).unwrap(), "s after 0ps");
        assert_eq!(heading(true).unwrap(), "s after 0ps, since its counters were cleared");
        let json = |cleared| serde_json::to_value(summary(cleared)).unwrap();
        assert_eq!((json(false).get("cleared"), &json(true)["cleared"]), (None, &true.into()));
    }

    #[test]
    fn requests_are_read_as_they_are_written_and_nothing_else_is() {
        for request in [
            Request::Show {},
            Request::SetGroup(SetGroup { port: "a".into(), xoff: Some(1), ..SetGroup::default() }),
            Request::SetEcn(SetEcn { port: "a".into(), pmax: Some(0.1), ..SetEcn::default() }),
            Request::Link { port: "a".into(), up: false },
        ] {
            let line = serde_json::to_string(&request).unwrap();
            assert_eq!(serde_json::from_str::<Request>(&line).unwrap(), request, "{line}");
        }
        let escaped = r#"{"command":"macsec_install","port":"a","an":0,"key":"\u0030\u0031"}"#;
        assert!(request(escaped).unwrap_err().to_string().contains("without escapes"));
        assert!(request(r#"{"command":"link","port":"\u0061","up":true}"#).is_ok());
        for line in [
            "",
            "{}",
            r#"{"command":"show","port":"a"}"#,
            r#"{"command":"link","port":"a"}"#,
            r#"{"command":"set_group","port":"a","group":3,"xof":1}"#,
            r#"{"command":"explode"}"#,
        ] {
            assert!(serde_json::from_str::<Request>(line).is_err(), "{line}");
        }
    }
}
