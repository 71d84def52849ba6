//! A virtual device on ports in memory, in real time: the switches of its lab run in this process, and their
//! links are rings. Actions of a trial at their times: links of the tester that go down and come up, and settings of
//! such a device.

use contracts::stats::SwitchSnapshot;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PortId};
use lab::raw::Lab;
use sim::{End, Fault, FaultKind, NetworkPlan, NodeId, NodeKind};
use switch::Change;
use tester::plan::Place;
use tester::session::{DevicePlan, DeviceSwitch, Session, SessionError};

use crate::bench::TrialError;
use crate::counters::{Counters, of_snapshot};
use crate::setup::Setup;
use crate::trial::Trial;
use crate::virtual_bench::{Prepared, Reports, VirtualBench, changed, network, opposite};

/// The lab of a virtual device, of which each trial gets its own switches.
#[derive(Debug)]
pub(super) struct InProcess {
    bench: VirtualBench,
    reports: Reports,
    rate: BitsPerSec,
}

/// The device of a trial.
pub(super) struct Made {
    pub(super) plan: DevicePlan,
    /// By port of the tester: the switch at its other end, by its index in the plan, and the port there.
    ends: Vec<(usize, PortId)>,
    /// Changes of its configuration while the traffic runs: times from the start of the trial, and
    /// switches.
    pub(super) changes: Vec<(Duration, usize, Change)>,
    /// Bytes of a buffer cell.
    cell: u64,
}

impl InProcess {
    pub(super) fn new(setup: Setup, lab: Lab, reports: Reports) -> Self {
        let rate = setup.rate;
        Self { bench: VirtualBench::new(setup, lab), reports, rate }
    }

    /// Returns a set-up with the places of the tester's ports.
    ///
    /// # Errors
    /// The lab cannot be run like this.
    pub(super) fn placed(&mut self, setup: &Setup) -> Result<Setup, TrialError> {
        let trial = Trial::new("the device", Duration::from_millis(1));
        let Prepared { network, hosts } = self.bench.prepare(&trial)?;
        let mut setup = setup.clone();
        for (port, host) in setup.ports.iter_mut().zip(hosts) {
            port.location = place(network::link_of(&network, host).index(), 0).to_string();
        }
        Ok(setup)
    }

    /// Returns the device of a trial.
    ///
    /// # Errors
    /// The lab, or the trial, needs something that rings do not have.
    pub(super) fn make(&mut self, trial: &Trial) -> Result<Made, TrialError> {
        let Prepared { network, hosts } = self.bench.prepare(trial)?;
        // Hosts of the lab are ports of the tester, so only switches are made; others keep no index.
        let mut nodes: Vec<Option<usize>> = vec![None; network.nodes.len()];
        let mut plan = DevicePlan::default();
        for (n, node) in network.nodes.iter().enumerate() {
            let NodeKind::Switch(switch) = &node.kind else { continue };
            nodes[n] = Some(plan.switches.len());
            plan.switches.push(DeviceSwitch {
                plan: switch.clone(),
                places: places(&network, NodeId(n as u32), &hosts)?,
                defects: Vec::new(),
                changes: Vec::new(),
            });
        }
        let index = |node: NodeId| {
            nodes[node.index()].ok_or_else(|| {
                let name = network.nodes[node.index()].name();
                TrialError::Missing(format!("{name} is a host, and only switches run on rings"))
            })
        };
        let ends = hosts.iter().map(|host| opposite(&network, *host));
        let ends = ends.map(|end: End| Ok((index(end.node)?, end.port)));
        let ends = ends.collect::<Result<_, TrialError>>()?;
        for Fault { at, kind } in &network.faults {
            match kind {
                // What is there from the start is part of the switch that is made.
                FaultKind::Defect { end, defect } if *at == Instant::ZERO => {
                    let switch = &mut plan.switches[index(end.node)?];
                    switch.defects.push((end.port, *defect));
                }
                FaultKind::Change { node, change } if *at == Instant::ZERO => {
                    plan.switches[index(*node)?].changes.push(*change);
                }
                _ => {
                    let what =
                        "virtual.faults: on rings there are defects and changes at time 0 alone";
                    return Err(TrialError::Error(what.to_owned()));
                }
            }
        }
        for setting in &trial.settings {
            let host = hosts[setting.port.0];
            if let FaultKind::Change { node, change } =
                changed(&network, host, setting.name, &setting.value)?
            {
                plan.switches[index(node)?].changes.push(change);
            }
        }
        // Settings above are those at the start; these come at their times, by `Actions`.
        let mut later = Vec::new();
        for Fault { at, kind } in network::planned(&network, &hosts, trial, Duration::ZERO)? {
            if let FaultKind::Change { node, change } = kind {
                later.push((at.since(Instant::ZERO), index(node)?, change));
            }
        }
        let cells = plan.switches.iter().map(|switch| u64::from(switch.plan.buffer.cell_bytes));
        let cell = cells.max().unwrap_or(1);
        Ok(Made { plan, ends, changes: later, cell })
    }

    /// Returns the counters of the device's ports at those of the tester.
    pub(super) fn counters(&self, made: &Made, switches: &[SwitchSnapshot]) -> Counters {
        let read =
            |(switch, port): &(usize, PortId)| of_snapshot(&switches[*switch].ports[port.index()]);
        let mut counters = Counters(made.ends.iter().map(read).collect());
        self.reports.apply(&mut counters, self.rate, made.cell);
        counters
    }
}

/// Returns an end of the ring that is a link.
fn place(link: usize, end: u8) -> Place {
    Place::Ring { pair: format!("device{link}"), end }
}

/// Returns the ends of rings of a switch's ports. The tester has the first end of its own links.
fn places(network: &NetworkPlan, node: NodeId, hosts: &[NodeId]) -> Result<Vec<Place>, TrialError> {
    let ports = network.nodes[node.index()].ports();
    let ring_end = |port: u16| {
        let end = End { node, port: PortId::new(port)? };
        let n = network.links.iter().position(|link| link.a == end || link.b == end)?;
        let link = &network.links[n];
        let far = if link.a == end { link.b.node } else { link.a.node };
        // Between two switches the first end of the link has the first end of the ring.
        let second = hosts.contains(&far) || link.b == end;
        Some(place(n, u8::from(second)))
    };
    let name = network.nodes[node.index()].name();
    let all = (0..ports).map(|port| {
        ring_end(port as u16)
            .ok_or_else(|| TrialError::Error(format!("{name}: port {port} has no link")))
    });
    all.collect()
}

/// An action.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// A link of the tester goes down or comes up.
    Link { port: usize, up: bool },
    /// A switch of the device gets another setting.
    Change { switch: usize, change: Change },
}

/// The actions of a trial that are not done yet.
#[derive(Debug, Default)]
pub(super) struct Actions {
    /// By time from the start of the flows, the last one first.
    left: Vec<(Duration, Action)>,
    /// Ports whose link is down.
    down: Vec<usize>,
    /// Longest time in seconds from the time of an action to its end.
    late: f64,
}

impl Actions {
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// Returns the actions of a trial that begins `lead` after its flows.
    pub(super) fn new(trial: &Trial, made: Option<&Made>, lead: Duration) -> Self {
        let links = trial.links.iter();
        let links = links.map(|link| (link.at, Action::Link { port: link.port.0, up: link.up }));
        let changes = made.iter().flat_map(|made| &made.changes);
        let changes = changes
            .map(|(at, switch, change)| (*at, Action::Change { switch: *switch, change: *change }));
        let mut left: Vec<_> =
            links.chain(changes).map(|(at, action)| (lead + at, action)).collect();
        left.sort_by_key(|(at, _)| *at);
        // The next one is popped from the end.
        left.reverse();
        Self { left, down: Vec::new(), late: 0.0 }
    }

    /// Does what is due `elapsed` seconds after the start, and returns the seconds until the next action.
    ///
    /// # Errors
    /// A link cannot be taken down or up, or the device refuses a setting.
    pub(super) fn due(&mut self, session: &Session, elapsed: f64) -> Result<f64, TrialError> {
        while let Some((at, action)) = self.left.last().copied() {
            let left = at.as_secs_f64() - elapsed;
            if left > 0.0 {
                return Ok(left);
            }
            // Removed before it is done: an action that fails is not tried again.
            self.left.pop();
            match action {
                Action::Link { port, up } => self.link(session, port, up)?,
                Action::Change { switch, change } => {
                    let set = session.device(move |device, now| device.change(now, switch, change));
                    let refused = |why| TrialError::Error(format!("a setting is refused: {why}"));
                    set.map_err(trouble)?.map_err(refused)?;
                }
            }
            self.late = self.late.max(self::elapsed(session)? - at.as_secs_f64());
        }
        Ok(f64::INFINITY)
    }

    fn link(&mut self, session: &Session, port: usize, up: bool) -> Result<(), TrialError> {
        // Remembered before it is tried: a link that may be down is taken up again in any case.
        if !up && !self.down.contains(&port) {
            self.down.push(port);
        }
        let set = session.change_link(port, up).map_err(trouble)?;
        let name = &session.plan().ports[port].name;
        set.map_err(|why| match up {
            true => TrialError::Error(format!("the link of port {name} does not come up: {why}")),
            false => TrialError::Missing(format!(
                "the tester cannot take the link of port {name} down: {why}"
            )),
        })?;
        if up {
            self.down.retain(|down| *down != port);
        }
        Ok(())
    }

    /// Returns the longest time by which an action was done after its time.
    pub(super) fn late(&self) -> Duration {
        Duration::from_nanos_f64(self.late * 1e9)
    }

    /// Takes all links up again that are down. Errors are those of the trial that left them down.
    pub(super) fn restore(&mut self, session: &Session) {
        for port in self.down.drain(..) {
            let _ = session.change_link(port, true);
        }
    }
}

/// Returns the seconds since the start of the flows, on the clock of the session.
pub(super) fn elapsed(session: &Session) -> Result<f64, TrialError> {
    let report = session.report_of(Some(&[]), false).map_err(trouble)?;
    Ok(report.elapsed_s.unwrap_or(0.0))
}

/// Returns the trouble that an error of the session is.
pub(super) fn trouble(error: SessionError) -> TrialError {
    match error {
        SessionError::Starved(_) => TrialError::Disturbed(error.to_string()),
        error => TrialError::Error(error.to_string()),
    }
}
