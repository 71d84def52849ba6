//! The life of a running switch: start, from a switch file to what DPDK and the workers start with, watch,
//! end.

mod links;
mod session;
#[cfg(feature = "dpdk")]
mod telemetry;
mod warnings;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use anyhow::Result;
#[cfg(feature = "dpdk")]
use config::raw::Hugepages;
use config::{DevicePlan, SwitchFile};
use contracts::port::HardwarePfc;
#[cfg(feature = "dpdk")]
use dpdk::{Eal, EalOptions, Memory, TelemetryCommand};
use report::Scrape;
use results::Summary;
use runtime::Idle;
use runtime::real::{self, RealPort, RealSwitch, RealWorker, Running};
use switch::{PortPlan, SwitchPlan};

use crate::socket::{self, ControlSocket};
use crate::{LOG, pin};
use links::Links;
use session::Session;
use warnings::{AddressWarnings, Deadlocks, PollWarnings};

/// Log target of the steps that ports' results cause.
const STEPS: &str = "sluice::steps";
/// Period at which the main thread checks for the end.
const TICK: Duration = Duration::from_millis(20);
/// Period at which alarms are evaluated and telemetry is refreshed.
const ALARMS_EVERY: Duration = Duration::from_millis(200);
/// Period at which the counters behind warnings are read.
const COUNT_EVERY: Duration = Duration::from_secs(1);
/// Period at which a persistent alarm is repeated.
const ALARM_EVERY: Duration = Duration::from_secs(60);

/// A running switch.
pub struct Daemon {
    links: Links,
    #[cfg(feature = "dpdk")]
    telemetry: Vec<TelemetryCommand>,
    session: Arc<Session>,
    /// Devices and workers.
    pub running: Running,
    stop: Arc<AtomicBool>,
}

impl Daemon {
    /// Opens the interfaces of `what`, the switch in `file`, starts the workers, and follows the links. A client that
    /// stops the switch sets `stop`. `late_polls_ignored` excludes late polls from the verdict.
    ///
    /// # Errors
    /// [`RealError`](real::RealError), or no thread for the links.
    pub fn launch(
        file: &SwitchFile,
        what: RealSwitch,
        stop: Arc<AtomicBool>,
        late_polls_ignored: bool,
    ) -> Result<Self> {
        Self::begin(real::launch(what)?, file, stop, late_polls_ignored)
    }

    /// The same for a switch with devices of DPDK, which serves DPDK's telemetry if the file enables it.
    ///
    /// # Errors
    /// As [`Self::launch`], or a command that DPDK refuses.
    #[cfg(feature = "dpdk")]
    pub fn launch_on_dpdk(
        eal: &Eal,
        file: &SwitchFile,
        what: RealSwitch,
        stop: Arc<AtomicBool>,
        late_polls_ignored: bool,
    ) -> Result<Self> {
        let running = real::launch_on_dpdk(eal, what)?;
        let mut daemon = Self::begin(running, file, stop, late_polls_ignored)?;
        if file.telemetry {
            daemon.telemetry = telemetry::serve(eal, &daemon.session)?;
        }
        Ok(daemon)
    }

    fn begin(
        running: Running,
        file: &SwitchFile,
        stop: Arc<AtomicBool>,
        late_polls_ignored: bool,
    ) -> Result<Self> {
        let session = Session::new(file, &running, Arc::clone(&stop), late_polls_ignored);
        let session = Arc::new(session);
        let links = Links::follow(file, &running.devices, &session)?;
        Ok(Self {
            links,
            #[cfg(feature = "dpdk")]
            telemetry: Vec::new(),
            session,
            running,
            stop,
        })
    }

    /// Serves clients at a control socket.
    ///
    /// # Errors
    /// See [`socket::serve`].
    pub fn serve_control(&self, path: &Path) -> io::Result<ControlSocket> {
        let session = Arc::clone(&self.session);
        socket::serve(path, Arc::new(move |line| session.answer(line)))
    }

    /// Returns the metrics of the switch at each call.
    pub fn scrape(&self) -> Scrape {
        let session = Arc::clone(&self.session);
        Arc::new(move || match session.summary() {
            Ok(summary) => Ok(report::metrics(summary)),
            Err(error) => Err(format!("{error:#}\n")),
        })
    }

    /// Reconciles and warns until `length` is over, the switch is stopped, or a worker ends. Calls
    /// `show` with the summary so far in each period of `every`.
    pub fn watch(
        &self,
        length: Option<Duration>,
        every: Option<Duration>,
        mut show: impl FnMut(Summary),
    ) {
        let start = Instant::now();
        let mut warnings = Warnings::default();
        let (mut alarms_at, mut count_at, mut show_at) = (Duration::ZERO, Duration::ZERO, every);
        let end = length.unwrap_or(Duration::MAX);
        loop {
            let ran = start.elapsed();
            let is_stopped = self.stop.load(Ordering::SeqCst);
            if ran >= end || is_stopped || self.running.workers.is_broken() {
                break;
            }
            // The next time counts from this turn: after a stall the periods are not made up for.
            if ran >= alarms_at {
                alarms_at = ran + ALARMS_EVERY;
                warnings.tell_alarms(&self.session);
                #[cfg(feature = "dpdk")]
                if !self.telemetry.is_empty() {
                    self.session.refresh();
                }
            }
            if ran >= count_at {
                count_at = ran + COUNT_EVERY;
                warnings.tell_counters(&self.session);
            }
            // At every turn, because a headroom that was measured is to apply soon.
            settle(&self.session);
            if show_at.is_some_and(|at| ran >= at) {
                show_at = every.map(|every| ran + every);
                if let Ok(summary) = self.session.summary() {
                    show(summary);
                }
            }
            // Not beyond the end, so that a run of 10 s is one.
            thread::sleep(TICK.min(end - ran));
        }
    }

    /// Stops the switch: sends held frames for at most `patience`, and drops the rest.
    ///
    /// # Errors
    /// Numbers and messages of the workers that panicked.
    pub fn stop(self, patience: Duration) -> Result<Summary, Vec<(usize, String)>> {
        // Link protocols end with their workers; one that has ended has no results.
        let agents = self.session.agents().unwrap_or_default();
        // The link thread first: it would report the links of devices that are being stopped as lost.
        drop(self.links);
        let ended = self.running.workers.stop(patience);
        // A kernel interface would stay down after the program, though only a client of it asked for that.
        self.session.restore_links();
        let run = ended.snapshot.ok_or(ended.panics)?;
        if !ended.drained {
            tracing::warn!(
                target: LOG,
                "not all queued frames could be sent; the rest is counted as flushed"
            );
        }
        Ok(self.session.judged(&run, ended.elapsed, agents))
    }
}

/// State of the warnings about counters and associations.
#[derive(Default)]
struct Warnings {
    addresses: AddressWarnings,
    polls: PollWarnings,
    deadlocks: Deadlocks,
    /// Last alarm of each port.
    alarms: BTreeMap<String, Instant>,
}

impl Warnings {
    /// Warns of addresses that the bridge does not learn, of late polls, and of suspected deadlocks.
    fn tell_counters(&mut self, session: &Session) {
        match session.summary() {
            Ok(summary) => {
                let now = Instant::now();
                let addresses = self.addresses.due(now, &summary);
                let due = addresses.into_iter().chain(self.polls.due(now, &summary));
                due.for_each(|warning| tracing::warn!(target: LOG, "{warning}"));
                let found = self.deadlocks.examine(&summary);
                for (egress, warning) in found.suspected {
                    session.count_deadlock(egress);
                    tracing::warn!(target: LOG, "{warning}");
                }
                found.ended.iter().for_each(|end| tracing::info!(target: LOG, "{end}"));
            }
            Err(error) => tracing::error!(target: LOG, "the counters: {error:#}"),
        }
    }

    /// Logs alarms of ports whose association is nearly exhausted, and repeats them.
    fn tell_alarms(&mut self, session: &Session) {
        let alarms = match session.alarms() {
            Ok(alarms) => alarms,
            Err(error) => return tracing::error!(target: LOG, "MACsec of ports: {error:#}"),
        };
        // An alarm that ended and comes again is new, whatever the time since the last one.
        self.alarms.retain(|port, _| alarms.iter().any(|(name, _)| name == port));
        for (port, alarm) in alarms {
            let last = self.alarms.get(&port);
            // Repeated, since traffic stops when the packet numbers run out, and the first line may be long ago.
            if last.is_none_or(|last| last.elapsed() >= ALARM_EVERY) {
                tracing::warn!(target: LOG, "{port}: {alarm}");
                self.alarms.insert(port, Instant::now());
            }
        }
    }
}

/// Applies the results of the link protocols, and logs each step.
fn settle(session: &Session) {
    match session.settle() {
        Ok(steps) => {
            for (port, step) in steps {
                if step.is_trouble() {
                    tracing::warn!(target: STEPS, "{port}: {step}");
                } else {
                    tracing::info!(target: STEPS, "{port}: {step}");
                }
            }
        }
        Err(error) => tracing::error!(target: LOG, "what ports found out: {error:#}"),
    }
}

/// Generates a random seed if the file has none: a known seed would allow an attacker to direct
/// flows to one slot of a hash table.
pub fn seed(plan: &mut SwitchPlan) {
    if plan.seed == 0 {
        // The system seeds the standard library's hash tables, too.
        plan.seed = RandomState::new().hash_one(plan.name.as_str());
        config::seed_congestion(&mut plan.congestion, plan.seed);
    }
}

/// Settings of EAL for a switch. `memory` overrides the file.
#[cfg(feature = "dpdk")]
pub fn eal_options(file: &SwitchFile, memory: Option<Memory>, what: &RealSwitch) -> EalOptions {
    let configured = match file.eal.hugepages {
        Hugepages::On => Memory::Hugepages,
        Hugepages::Off => Memory::NoHuge,
        Hugepages::Auto => Memory::Auto,
    };
    let options = EalOptions {
        memory: memory.unwrap_or(configured),
        // Without a configured size it is what the ports' pools need.
        memory_mib: file.eal.memory_mib.or_else(|| Some(real::memory_mib(what))),
        telemetry: file.telemetry,
        // Several switches on one machine each have a runtime directory.
        file_prefix: socket::file_name(&file.plan.name),
        extra: file.eal.args.clone(),
        ..EalOptions::default()
    };
    options.for_devices(file.devices.iter().map(|d| d.device.as_str()))
}

/// Ports, workers and frames of the switch in a file.
pub fn real_switch(file: &SwitchFile, idle: Option<Idle>) -> RealSwitch {
    // All groups of a port have the gap of its link, so any of them will do.
    let gap = |n| file.headroom.iter().find(|h| h.port.index() == n).map(|h| h.poll_gap);
    let port = |(n, (device, port)): (usize, (&DevicePlan, &PortPlan))| RealPort {
        device: device.device.clone(),
        rx_descriptors: device.rx_descriptors,
        tx_descriptors: device.tx_descriptors,
        hardware_pfc: device
            .hardware_pfc
            .then(|| HardwarePfc { priorities: port.pfc.mode.pfc(), pause: port.pfc.quanta }),
        offload: device.offload,
        rate_max: port.rate,
        poll_gap: gap(n),
    };
    RealSwitch {
        plan: file.plan.clone(),
        ports: file.devices.iter().zip(&file.plan.ports).enumerate().map(port).collect(),
        workers: file
            .workers
            .iter()
            .map(|w| RealWorker { pin: pin(w), ports: w.ports.clone() })
            .collect(),
        pool_frames: u32::try_from(file.pool_frames).unwrap_or(u32::MAX),
        idle,
    }
}
