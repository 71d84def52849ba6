//! A DUT behind real ports. The traffic generator runs each trial, and captures both directions of
//! every port.

mod in_process;
mod numbers;
mod recording;
mod traffic;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use crate::adapter::{Action, Adapter};
use crate::bench::{Acknowledged, Bench, Capability, RINGS, TrialError};
use crate::observation::Observation;
use crate::otg;
use crate::setup::{FlowControl, Setup};
use crate::trial::{Port, Trial, pause_frame, pfc_frame};
use crate::virtual_bench::Reports;
use dpdk::{Eal, EalOptions};
use ground::time::Duration;
use ground::units::{Priority, Quanta};
use in_process::{Actions, InProcess, Made, elapsed, trouble};
use lab::raw::Lab;
use numbers::{Far, Numbers};
use recording::{Arrival, Watch, disturbed, linked, missed, records};
use tester::plan::{Place, TestPlan};
use tester::report::{Report, Unattended};
use tester::session::{Bench as Ports, DevicePlan, Session};
use traffic::{Parts, end_of_cable, recorded};

/// Longest time until a running trial notices that the user has ended the run.
const LOOK: StdDuration = StdDuration::from_millis(50);

/// Times as long as it should that a trial may take.
const SLOWER_MAX: u32 = 10;

/// The same for a device in this process, whose clock waits for the thread.
const SLOWER_MAX_DEVICE: u32 = 1000;

/// Ends of the tester's own cable.
const CABLE: [&str; 2] = ["ring:validate.a", "ring:validate.b"];

/// A DUT behind real ports.
pub struct RealBench {
    setup: Setup,
    ports: Ports,
    adapter: Option<Box<dyn Adapter>>,
    numbers: Numbers,
    /// Warnings about the polling threads, once each.
    warnings: Vec<String>,
    /// The device, if it runs in this process.
    device: Option<InProcess>,
    /// Ends the run once it is set.
    stop: Arc<AtomicBool>,
}

impl RealBench {
    /// Starts DPDK. The ports are opened by the first trial.
    ///
    /// # Errors
    /// DPDK cannot be started.
    pub fn new(
        setup: Setup,
        eal: EalOptions,
        adapter: Option<Box<dyn Adapter>>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, TrialError> {
        let devices = setup.ports.iter().filter_map(|port| {
            // Devices that EAL has to probe; a location that is wrong is refused when the ports are opened.
            let location = tester::plan::Location::parse(&port.location).ok()?;
            match location.place {
                Place::Device(name) => Some(name),
                Place::Ring { .. } | Place::Interface(_) => None,
            }
        });
        let eal = eal.for_devices(devices);
        let eal = Eal::start(&eal).map_err(|error| TrialError::Error(error.to_string()))?;
        let numbers = Numbers::new(&setup);
        let ports = Ports::new(eal, None);
        Ok(Self { setup, ports, adapter, numbers, warnings: Vec::new(), device: None, stop })
    }

    /// A virtual device whose switches run in this process, on ports in memory: in real time, with the frames
    /// and the threads of real ports.
    ///
    /// # Errors
    /// DPDK cannot be started, or the device needs what such ports do not have.
    pub fn in_process(
        setup: Setup,
        lab: Lab,
        reports: Reports,
        eal: EalOptions,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, TrialError> {
        let mut device = InProcess::new(setup.clone(), lab, reports);
        let placed = device.placed(&setup)?;
        Ok(Self { device: Some(device), ..Self::new(placed, eal, None, stop)? })
    }

    /// Opens the ports of a trial, at the far end of which is the device or a cable.
    fn open(
        &mut self,
        plan: TestPlan,
        trial: &Trial,
        to: Far,
    ) -> Result<(Arc<Session>, Option<Made>), TrialError> {
        let device = self.device.as_mut().filter(|_| to == Far::Device);
        let made = device.map(|device| device.make(trial)).transpose()?;
        // The tester's own cable is polled in the same way, by one thread, as an empty device.
        let of_device = self.device.as_ref();
        let of_device = of_device
            .map(|_| made.as_ref().map_or_else(DevicePlan::default, |made| made.plan.clone()));
        let session = self.ports.set_with(plan, of_device).map_err(trouble)?;
        Ok((session, made))
    }

    /// Runs a trial without captures between ports at these locations, and returns the counters.
    fn counts(&mut self, trial: &Trial, setup: &Setup, to: Far) -> Result<Report, TrialError> {
        let location = |port: Port| setup.port(port).location.clone();
        let mut config = otg::counting(trial, setup, location);
        let parts = Parts::spread(&mut config, trial, setup);
        let mut plan = resolved(&config)?;
        self.numbers.secure(&mut plan, trial, setup, to);
        let flows: Vec<_> = plan.flows.iter().map(|flow| flow.id).collect();
        let (session, _) = self.open(plan, trial, to)?;
        if to == Far::Device {
            self.warned(&session);
        }
        let reset = self.action(trial)?;
        let watch = self.watch(to);
        session.start(&flows).map_err(trouble)?;
        let lead = otg::lead(setup);
        let mut interrupted = false;
        let mut running = None;
        if let Some((at, action)) = reset {
            interrupted = !self.wait(&session, lead + at, &mut Actions::none())?;
            // Beside the wait: a command may take as long as the device takes to come back.
            running = (!interrupted).then(|| thread::spawn(action));
        }
        interrupted =
            interrupted || !self.wait(&session, lead + trial.length, &mut Actions::none())?;
        session.stop(&flows).map_err(trouble)?;
        // The action has its own time limit.
        let begun = running.map_or(Ok(()), |running| {
            running
                .join()
                .unwrap_or_else(|_| Err(TrialError::Error("the reset ended early".into())))
        });
        if interrupted {
            return Err(TrialError::Interrupted);
        }
        begun?;
        let mut report = parts.joined(session.report().map_err(trouble)?);
        report.device = watch.end();
        linked(&report)?;
        Ok(report)
    }

    /// Begins to watch the CPUs of a device on this machine. One in this process, and a cable, run in time
    /// that waits for them.
    fn watch(&self, to: Far) -> Watch {
        match (to, &self.device) {
            (Far::Device, None) => Watch::begin(&self.setup),
            _ => Watch::none(),
        }
    }

    /// Keeps the warnings of a session, once each.
    fn warned(&mut self, session: &Session) {
        for warning in session.warnings() {
            if !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
    }

    /// Returns the reset of a trial: its time, and the action.
    fn action(&self, trial: &Trial) -> Result<Option<(Duration, Action)>, TrialError> {
        let Some(reset) = trial.reset else { return Ok(None) };
        let adapter = self.adapter.as_ref().ok_or_else(no_adapter)?;
        let action = adapter.reset(reset.kind).ok_or_else(|| {
            let kind = reset.kind.name();
            TrialError::Missing(format!(
                "adapter.command.resets.{kind} is missing; add it to the file"
            ))
        })?;
        Ok(Some((reset.at, action)))
    }

    /// Runs a trial between ports at these locations.
    fn observe(
        &mut self,
        trial: &Trial,
        setup: &Setup,
        to: Far,
    ) -> Result<Observation, TrialError> {
        let mut plan = plan(trial, setup)?;
        self.numbers.secure(&mut plan, trial, setup, to);
        let all: Vec<usize> = (0..plan.ports.len()).collect();
        let flows: Vec<_> = plan.flows.iter().map(|flow| flow.id).collect();
        let (session, made) = self.open(plan, trial, to)?;
        session.capture(&all, true).map_err(trouble)?;
        // Immediately around the flows, so that other work of the machine is not counted.
        let watch = self.watch(to);
        session.start(&flows).map_err(trouble)?;
        let lead = otg::lead(setup);
        let mut actions = Actions::new(trial, made.as_ref(), lead);
        let waited = self.wait(&session, lead + trial.length, &mut actions);
        // Also after a failure and after Ctrl-C.
        actions.restore(&session);
        let interrupted = !waited?;
        session.stop(&flows).map_err(trouble)?;
        session.capture(&all, false).map_err(trouble)?;
        if interrupted {
            return Err(TrialError::Interrupted);
        }
        let mut report = session.report().map_err(trouble)?;
        report.device = watch.end();
        // A device in this process hands frames over at their first bit; of others nothing is known.
        let arrival = if made.is_some() { Arrival::FirstBit } else { Arrival::Unknown };
        let mut seen = records(trial, arrival, setup, &session, &report)?;
        seen.acted_late = actions.late();
        if let (Some(device), Some(made), true) = (&self.device, &made, trial.counters) {
            let switches = session.device(|device, now| device.snapshots(now)).map_err(trouble)?;
            seen.counters = Some(device.counters(made, &switches));
        }
        Ok(seen)
    }

    /// Waits for the end of a trial on its own clock, which stands still while the threads of ports in
    /// memory do not run; false if the user ended it.
    fn wait(
        &self,
        session: &Session,
        span: Duration,
        actions: &mut Actions,
    ) -> Result<bool, TrialError> {
        let begun = std::time::Instant::now();
        let slower = if self.device.is_some() { SLOWER_MAX_DEVICE } else { SLOWER_MAX };
        // The clock of ports in memory may stand still for long; at some factor a trial will not end.
        let most = StdDuration::from_nanos(span.as_nanos()).saturating_mul(slower) + LOOK;
        loop {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let elapsed = elapsed(session)?;
            let next = actions.due(session, elapsed)?;
            // The trial ends by the session's clock; the one of the machine only limits how long that may take.
            let left = span.as_secs_f64() - elapsed;
            if left <= 0.0 {
                return Ok(true);
            }
            if begun.elapsed() > most {
                let what = "the threads of the ports had too little of their CPUs for the trial";
                return Err(TrialError::Disturbed(what.to_owned()));
            }
            thread::sleep(StdDuration::from_secs_f64(left.min(next)).min(LOOK));
        }
    }

    /// Resumes all priorities of the DUT at all ports that a trial sent MAC control to.
    fn release(&mut self, trial: &Trial) -> Result<(), TrialError> {
        let mut ports: Vec<Port> = trial.control.iter().map(|control| control.port).collect();
        ports.sort_unstable();
        ports.dedup();
        // A device in this process ends with the trial.
        if ports.is_empty() || self.device.is_some() {
            return Ok(());
        }
        // A time of zero resumes, whether or not the port is paused.
        let mut release = Trial::new("release", Duration::from_millis(10));
        for port in ports {
            let src = self.setup.port(port).mac;
            let octets = match self.setup.flow_control {
                FlowControl::Pfc => pfc_frame(src, &Priority::ALL.map(|p| (p, Quanta(0)))),
                FlowControl::Pause => pause_frame(src, Quanta(0)),
            };
            release.frame(port, octets, Duration::ZERO);
        }
        let mut plan = plan(&release, &self.setup)?;
        self.numbers.secure(&mut plan, &release, &self.setup, Far::Device);
        let flows: Vec<_> = plan.flows.iter().map(|flow| flow.id).collect();
        let session = self.ports.set(plan).map_err(trouble)?;
        session.start(&flows).map_err(trouble)?;
        let lead = otg::lead(&self.setup) + release.length;
        thread::sleep(StdDuration::from_nanos(lead.as_nanos()));
        session.stop(&flows).map_err(trouble)
    }
}

impl RealBench {
    /// Runs a trial and returns the differences of the device's counters over it, if it reads them.
    fn counted(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let setup = self.setup.clone();
        if !trial.counters || self.device.is_some() {
            return self.observe(trial, &setup, Far::Device);
        }
        let ports: Vec<&str> = setup.ports.iter().map(|port| port.dut.as_str()).collect();
        let adapter = self.adapter.as_mut().ok_or_else(no_adapter)?;
        let settle = StdDuration::from_nanos(adapter.settle().as_nanos());
        adapter.clear()?;
        // Switches poll the counters of their chip: a value read at once would be an old one.
        thread::sleep(settle);
        let before = adapter.read(&ports)?;
        let mut seen = self.observe(trial, &setup, Far::Device)?;
        thread::sleep(settle);
        let adapter = self.adapter.as_mut().ok_or_else(no_adapter)?;
        seen.counters = Some(adapter.read(&ports)?.since(&before));
        Ok(seen)
    }

    /// Gives the settings of a trial their values in it, or those after it.
    fn set(&mut self, trial: &Trial, restored: bool) -> Result<(), TrialError> {
        // A device in this process gets them before it runs.
        let settings = trial.settings.iter().filter(|_| self.device.is_none());
        for setting in settings {
            let value = if restored { &setting.restored } else { &setting.value };
            let port = &self.setup.port(setting.port).dut;
            let adapter = self.adapter.as_mut().ok_or_else(no_adapter)?;
            adapter.set(port, setting.name, value)?;
        }
        Ok(())
    }
}

fn no_adapter() -> TrialError {
    TrialError::Missing("adapter is missing; add it to the file".to_owned())
}

impl Bench for RealBench {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let set = self.set(trial, false);
        let seen = set.and_then(|()| self.counted(trial));
        let restored = self.set(trial, true);
        // Also after a failure and after Ctrl-C: nothing stays paused.
        let released = self.release(trial);
        let seen = seen?;
        restored.and(released).map(|()| seen)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let setup = on_cable(&self.setup);
        self.observe(trial, &setup, Far::Cable)
    }

    /// The least of these: frames that a cable in memory carries, that the sender's port takes, and that
    /// the receiver's port has if it misses some.
    fn limit(&mut self, trial: &Trial) -> Result<Option<u64>, TrialError> {
        let cable = self.counts(trial, &on_cable(&self.setup), Far::Cable)?;
        let setup = self.setup.clone();
        let ports = self.counts(trial, &setup, Far::Device)?;
        let (Some(flow), [carried, ..]) = (trial.flows.first(), &cable.flows[..]) else {
            return Err(TrialError::Error("a trial without a flow has no limit".to_owned()));
        };
        let counted = &ports.flows[0];
        let sent = counted.frames_tx.saturating_sub(ports.ports[flow.from.0].tx_dropped);
        // A receiver that misses frames limits the tester; one that misses none may wait for the device.
        let missed = ports.ports[flow.to.0].rx_missed.unwrap_or(0) > 0;
        let received = if missed { counted.frames_rx } else { u64::MAX };
        let limit = carried.frames_rx.min(sent).min(received);
        // What a busy machine took from the tester is not its limit.
        let short = flow.intended(&setup).saturating_sub(limit) as f64;
        let Unattended { seconds, who } = ports.unattended();
        if limit < carried.frames_rx && short <= seconds * flow.frames_per_second(&setup) {
            return Err(TrialError::Disturbed(format!(
                "the tester's own limit is not known: {who}"
            )));
        }
        Ok(Some(limit))
    }

    fn count(&mut self, trial: &Trial) -> Result<Report, TrialError> {
        let setup = self.setup.clone();
        let counts = self.counts(trial, &setup, Far::Device);
        let released = self.release(trial);
        let counts = counts?;
        released?;
        // Frames that a port cannot send while a reset takes its link down are part of the result.
        let resets = trial.reset.is_some() && !counts.ports.iter().any(missed);
        match disturbed(&counts).filter(|_| !resets) {
            Some(what) => Err(TrialError::Disturbed(what)),
            None => Ok(counts),
        }
    }

    fn acknowledged(&mut self, trial: &Trial) -> Result<(Report, Vec<Acknowledged>), TrialError> {
        self.connect(trial)
    }

    fn packet_numbers(&mut self, port: Port, frames: u32) -> u64 {
        self.numbers.make(port, frames)
    }

    fn rest(&mut self, time: Duration) {
        let until = std::time::Instant::now() + StdDuration::from_nanos(time.as_nanos());
        while !self.stop.load(Ordering::Relaxed) {
            let left = until.saturating_duration_since(std::time::Instant::now());
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(LOOK));
        }
    }

    fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::ShortFrames | Capability::WrongFcs | Capability::ShortGap => false,
            Capability::Keys => false,
            // No test of a device in this process has connections: benchmarks do, of other devices.
            Capability::Stateful => self.device.is_none() && traffic::possible(&self.setup),
            Capability::Changes => self.device.is_some(),
            Capability::Counters | Capability::Settings if self.device.is_some() => true,
            Capability::Counters => self.adapter.as_ref().is_some_and(|adapter| adapter.can_read()),
            Capability::Memory => self.adapter.as_ref().is_some_and(|a| a.can_read_memory()),
            Capability::Reset(kind) => {
                self.adapter.as_ref().is_some_and(|a| a.reset(kind).is_some())
            }
            Capability::Settings => self.adapter.as_ref().is_some_and(|adapter| adapter.can_set()),
        }
    }

    fn version(&mut self) -> Result<Option<String>, TrialError> {
        if self.device.is_some() {
            return Ok(Some(format!("sluice {}", ground::program::version())));
        }
        self.adapter.as_mut().map_or(Ok(None), |adapter| adapter.version())
    }

    fn memory(&mut self) -> Result<Option<u64>, TrialError> {
        self.adapter.as_mut().map_or(Ok(None), |adapter| adapter.memory())
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn world(&self) -> &'static str {
        if self.device.is_some() { RINGS } else { "real" }
    }
}

/// Returns a set-up whose first two ports are the ends of a cable in memory.
fn on_cable(setup: &Setup) -> Setup {
    let mut setup = setup.clone();
    setup.ports.truncate(CABLE.len());
    // Both ends of a cable have the queues of the sender.
    let sender = setup.ports[0].location.clone();
    for (port, end) in setup.ports.iter_mut().zip(CABLE) {
        port.location = end_of_cable(end, &sender);
    }
    setup
}

/// Returns the plan of a trial.
fn plan(trial: &Trial, setup: &Setup) -> Result<TestPlan, TrialError> {
    resolved(&otg::config(trial, setup, |port| recorded(&setup.port(port).location)))
}

/// Returns the plan of a configuration.
fn resolved(config: &::otg::model::Config) -> Result<TestPlan, TrialError> {
    let resolved = tester::resolve::resolve(config);
    resolved.map(|(plan, _)| plan).map_err(|refusal| TrialError::Error(refusal.errors.join("; ")))
}
