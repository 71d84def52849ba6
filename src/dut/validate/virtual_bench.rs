//! A DUT in the virtual world: a lab whose hosts are the ports of the tester. Each trial begins with
//! a new network, so it depends on nothing that happened before.

pub(crate) mod network;
mod recorder;
mod reports;

pub use reports::{Report, Reports};

use std::collections::BTreeMap;

use ::otg::model::Config;
use ground::time::{Duration, Instant};
use host::StationSnapshot;
use lab::raw::Lab;
use lab::{LabPlan, LabTester};
use network::link_of;
use recorder::Recorder;
use sim::{
    Direction, End, ErrorPlan, Fault, FaultKind, LineFault, LinkPlan, NetworkPlan, Node, NodeId,
    NodeKind, NodePlan, ObservedNetwork,
};
use switch::Change;
use switch::managed::{At, Object};
use tester::figures::Seen;
use tester::report::Report as Counts;
use tester::standing;
use tester::tally::report;
use tester::virtual_run::exact;

use crate::bench::{Acknowledged, Bench, Capability, TrialError, VIRTUAL};
use crate::counters::PortCounters;
use crate::observation::Observation;
use crate::otg;
use crate::setup::Setup;
use crate::trial::{LinkChange, Port, READING, ResetKind, Trial};

/// Bytes that a gap of 88 bits is shorter than one of 96.
const SHORTER: u32 = 1;

/// A virtual DUT with the tester around it.
#[derive(Debug)]
pub struct VirtualBench {
    setup: Setup,
    lab: Lab,
    reports: Reports,
    resets: BTreeMap<ResetKind, Duration>,
    device: Option<Device>,
    /// Warnings about the configurations of trials, once each.
    warnings: Vec<String>,
}

/// The lab without flows and generator, and with NICs also the network with their flows. Both are those of a
/// seed: switches and flows draw from it.
type Device = (LabPlan, Option<NetworkPlan>);

/// The network of a trial.
pub(crate) struct Prepared {
    pub(crate) network: NetworkPlan,
    /// Hosts of the tester's ports.
    pub(crate) hosts: Vec<NodeId>,
}

impl VirtualBench {
    /// A bench on a lab, whose generator and flows are replaced by those of the trials.
    pub fn new(setup: Setup, lab: Lab) -> Self {
        let (reports, resets, warnings) = (Reports::default(), BTreeMap::new(), Vec::new());
        Self { setup, lab, reports, resets, device: None, warnings }
    }

    /// Sets what the counters of the device say.
    #[must_use]
    pub fn reporting(self, reports: Reports) -> Self {
        Self { reports, ..self }
    }

    /// Sets the times in which the device forwards nothing after a reset.
    #[must_use]
    pub fn resetting(self, resets: BTreeMap<ResetKind, Duration>) -> Self {
        Self { resets, ..self }
    }

    /// Returns the network of a trial.
    pub(crate) fn prepare(&mut self, trial: &Trial) -> Result<Prepared, TrialError> {
        let config = otg::config(trial, &self.setup, |p| self.setup.port(p).location.clone());
        let (mut network, tester) = self.plan(trial, &config)?;
        self.secure(&mut network, &tester.hosts, trial);
        Ok(Prepared { network, hosts: tester.hosts })
    }

    /// Returns the device with a seed. It is resolved again only if that of the last trial was another.
    fn device(&mut self, seed: u64) -> Result<Device, TrialError> {
        if let Some(device) = self.device.as_ref().filter(|(plan, _)| plan.network.seed == seed) {
            return Ok(device.clone());
        }
        // The checks of a lab would judge the device a second time, by other rules.
        let mut lab = Lab { seed, checks: Some(Vec::new()), ..self.lab.clone() };
        // Before the flows are removed: NICs send what the lab says.
        let of_nics = self.setup.nic.as_ref().map(|_| resolved(&lab)).transpose()?;
        lab.flows.clear();
        lab.otg = None;
        let device = (resolved(&lab)?, of_nics.map(|plan| plan.network));
        Ok(self.device.insert(device).clone())
    }

    /// Returns the network and the generator of a trial with its configuration.
    fn plan(
        &mut self,
        trial: &Trial,
        config: &Config,
    ) -> Result<(NetworkPlan, LabTester), TrialError> {
        // Equal trials differ in what is random, as they would on a real device.
        let seed = self.setup.seed.wrapping_add(trial.round.into());
        let (mut plan, of_nics) = self.device(seed)?;
        for warning in lab::set_tester(&mut plan, config).map_err(wrong)? {
            if !self.warnings.contains(&warning.what) {
                self.warnings.push(warning.what);
            }
        }
        let tester = plan.tester.expect("the lab has a generator");
        for (rate, port) in tester.rates.iter().zip(&self.setup.ports) {
            // Loads and limits are calculated from the rate of the file.
            if *rate != port.rate {
                let (name, said) = (&port.name, port.rate);
                let what = format!("the link of {name} runs at {rate}, and the file says {said}");
                return Err(TrialError::Error(what));
            }
        }
        if let Some(own) = of_nics {
            network::add_nics(&mut plan.network, own, &tester);
        }
        for port in &trial.short_gap {
            shorten(&mut plan.network, tester.hosts[port.0]);
        }
        network::add_connections(&mut plan.network, &tester, trial, &self.setup);
        Ok((plan.network, tester))
    }

    /// Gives the tester's ports with MACsec their SecY.
    fn secure(&self, network: &mut NetworkPlan, hosts: &[NodeId], trial: &Trial) {
        for (n, (host, port)) in hosts.iter().zip(&self.setup.ports).enumerate() {
            let Some(macsec) = &port.macsec else { continue };
            if let NodeKind::Host(station) = &mut network.nodes[host.index()].kind {
                station.secy = Some(Box::new(macsec.secy(trial.made.contains(&Port(n)))));
            }
        }
    }

    /// Changes keys of the device at their times.
    fn rekey(
        &self,
        network: &mut ObservedNetwork<'_>,
        plan: &NetworkPlan,
        hosts: &[NodeId],
        trial: &Trial,
    ) -> Result<(), TrialError> {
        let mut keys: Vec<_> = trial.keys.iter().collect();
        // The network runs forward only.
        keys.sort_by_key(|key| key.at);
        for key in keys {
            network.run_until(Instant::ZERO + otg::lead(&self.setup) + key.at);
            let end = opposite(plan, hosts[key.port.0]);
            let refused = |why| TrialError::Error(format!("a key is refused: {why}"));
            network.change_secy(end, &key.change).map_err(refused)?;
        }
        Ok(())
    }

    /// Runs a network and returns what the tester's ports recorded.
    fn observe(&self, trial: &Trial, prepared: Prepared) -> Result<Observation, TrialError> {
        let Prepared { mut network, hosts } = prepared;
        let lead = otg::lead(&self.setup);
        for change in &trial.links {
            let link = link_of(&network, hosts[change.port.0]);
            let kind = FaultKind::Link { link, up: change.up };
            network.faults.push(Fault { at: Instant::ZERO + lead + change.at, kind });
        }
        network.faults.extend(network::planned(&network, &hosts, trial, lead)?);
        for damage in &trial.damage {
            let link = link_of(&network, hosts[damage.port.0]);
            let direction = sent_by(&network, hosts[damage.port.0]);
            let before = match direction == link.ab() {
                true => network.links[link.index()].ab.errors,
                false => network.links[link.index()].ba.errors,
            };
            // Every bit in error damages every frame; other errors of the link stay as they are.
            let every = ErrorPlan { bit: u64::MAX, ..before };
            for (at, errors) in [(damage.from, every), (damage.until, before)] {
                let kind = FaultKind::Line(direction, LineFault::Errors(errors));
                network.faults.push(Fault { at: Instant::ZERO + lead + at, kind });
            }
        }
        // The network ends with the trial, so there is nothing to restore.
        for setting in &trial.settings {
            if setting.name == READING {
                network::set_reading(&mut network, &hosts, hosts[setting.port.0], &setting.value)?;
                continue;
            }
            let kind = changed(&network, hosts[setting.port.0], setting.name, &setting.value)?;
            network.faults.push(Fault { at: Instant::ZERO, kind });
        }
        let plan = network;
        let mut recorder = Recorder::new(&plan, &hosts, &self.setup, trial, lead)?;
        let mut network = ObservedNetwork::new(&plan, Some(&mut recorder))
            .map_err(|error| TrialError::Error(error.to_string()))?;
        self.rekey(&mut network, &plan, &hosts, trial)?;
        let cleared = self.run_to_clear(&mut network, &plan, &hosts, trial);
        let end = Instant::ZERO + lead + trial.length;
        network.run_until(end);
        let counters = trial.counters.then(|| {
            let mut read = reports::read(&mut network, &plan, &hosts, end);
            // What was counted before the link came up is gone, as on a device that clears its counters then.
            for (port, base) in cleared {
                read.0[port.0] = read.0[port.0].since(&base);
            }
            self.reports.apply(&mut read, self.setup.rate, reports::cell(&plan));
            read
        });
        // A change that the device refused would look like one without effect.
        if let Some(refusal) = network.refusals().first() {
            return Err(TrialError::Error(format!("a setting is refused: {}", refusal.why)));
        }
        drop(network);
        let [records, damaged] = recorder.into_records();
        let uncertainty = Duration::ZERO;
        Ok(Observation { records, damaged, uncertainty, counters, ..Observation::default() })
    }

    /// Runs a network to the times at which links come up, if that clears the counters of their ports, and
    /// returns the counters then.
    fn run_to_clear(
        &self,
        network: &mut ObservedNetwork<'_>,
        plan: &NetworkPlan,
        hosts: &[NodeId],
        trial: &Trial,
    ) -> Vec<(Port, PortCounters)> {
        if !self.reports.wrong.contains(&Report::ClearedByLink) {
            return Vec::new();
        }
        let mut up: Vec<_> = trial.links.iter().filter(|change| change.up).collect();
        up.sort_by_key(|change| change.at);
        // The network is run to each of these times in their order.
        let clear = |change: &&LinkChange| {
            let time = Instant::ZERO + otg::lead(&self.setup) + change.at;
            network.run_until(time);
            let mut all = reports::read(network, plan, hosts, time);
            (change.port, all.0.swap_remove(change.port.0))
        };
        up.iter().map(clear).collect()
    }
}

fn resolved(lab: &Lab) -> Result<LabPlan, TrialError> {
    lab::resolve_raw(lab).map(|(plan, _)| plan).map_err(wrong)
}

fn wrong(error: config::ConfigError) -> TrialError {
    TrialError::Error(error.to_string())
}

/// Returns a node without MACsec: a cable has none.
fn unsecured(node: &NodePlan) -> NodePlan {
    let mut node = node.clone();
    if let NodeKind::Host(station) = &mut node.kind {
        station.secy = None;
    }
    node
}

/// Shortens the gap behind frames on the link of a host, which alone sends data on it.
fn shorten(network: &mut NetworkPlan, host: NodeId) {
    let id = link_of(network, host).index();
    let link = &mut network.links[id];
    // The line itself, and what both ends take for its speed when they pace their frames.
    link.line.overhead -= SHORTER;
    for End { node, port } in [link.a, link.b] {
        match &mut network.nodes[node.index()].kind {
            NodeKind::Host(station) => station.line.overhead -= SHORTER,
            NodeKind::Switch(switch) => {
                switch.ports[port.index()].schedule.line.overhead -= SHORTER;
            }
        }
    }
}

/// Returns the port of the device that a host is cabled to.
pub(crate) fn opposite(network: &NetworkPlan, host: NodeId) -> End {
    let link = &network.links[link_of(network, host).index()];
    if link.a.node == host { link.b } else { link.a }
}

/// Returns the change of a setting of the device's port at a host.
pub(crate) fn changed(
    network: &NetworkPlan,
    host: NodeId,
    name: &str,
    value: &str,
) -> Result<FaultKind, TrialError> {
    let End { node, port } = opposite(network, host);
    let object = Object::named(name).map_err(|error| TrialError::Missing(error.to_string()))?;
    let value = config::object_value(object, value).map_err(TrialError::Error)?;
    let at = At { port: Some(port), class: None };
    Ok(FaultKind::Change { node, change: Change::Object { object, at, value } })
}

/// Returns the direction of the frames that a host sends.
fn sent_by(network: &NetworkPlan, host: NodeId) -> Direction {
    let id = link_of(network, host);
    if network.links[id.index()].a.node == host { id.ab() } else { id.ba() }
}

impl Bench for VirtualBench {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let prepared = self.prepare(trial)?;
        self.observe(trial, prepared)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let Prepared { network, hosts } = self.prepare(trial)?;
        let [a, b] = [0, 1].map(|n: usize| unsecured(&network.nodes[hosts[n].index()]));
        let line = &network.links[link_of(&network, hosts[0]).index()];
        let end = |n| sim::End { node: NodeId(n), port: ground::units::PortId::MIN };
        // The line of the first port, with its delays, between both hosts.
        let link = LinkPlan { name: "cable".into(), a: end(0), b: end(1), ..line.clone() };
        let network = NetworkPlan {
            nodes: vec![a, b],
            links: vec![link],
            faults: Vec::new(),
            seed: network.seed,
            shuffle: None,
            sample_every: None,
        };
        self.observe(trial, Prepared { network, hosts: vec![NodeId(0), NodeId(1)] })
    }

    fn count(&mut self, trial: &Trial) -> Result<Counts, TrialError> {
        self.acknowledged(trial).map(|(counts, _)| counts)
    }

    fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    fn acknowledged(&mut self, trial: &Trial) -> Result<(Counts, Vec<Acknowledged>), TrialError> {
        let config = otg::counting(trial, &self.setup, |p| self.setup.port(p).location.clone());
        let (plan, tester) = self.plan(trial, &config)?;
        let mut network = ObservedNetwork::new(&plan, None)
            .map_err(|error| TrialError::Error(error.to_string()))?;
        if let Some(reset) = trial.reset {
            let time = Instant::ZERO + otg::lead(&self.setup) + reset.at;
            network.run_until(time);
            let span = self.resets.get(&reset.kind).copied().ok_or_else(|| {
                let kind = reset.kind.name();
                TrialError::Missing(format!("virtual.resets.{kind} is missing; add it to the file"))
            })?;
            let is_switch =
                |node: &NodeId| matches!(plan.nodes[node.index()].kind, NodeKind::Switch(_));
            for switch in (0..plan.nodes.len() as u32).map(NodeId).filter(is_switch) {
                network
                    .restart(switch, &plan, time + span)
                    .map_err(|error| TrialError::Error(error.to_string()))?;
            }
        }
        // Later acknowledgements are no part of the time.
        let longest = trial.stateful.iter().map(|wanted| wanted.length).max().unwrap_or_default();
        let stop = (Instant::ZERO + otg::lead(&self.setup) + longest).max(network.now());
        network.run_until(stop);
        let acknowledged = network::acknowledged(&mut network, &tester, trial, stop)?;
        let end = Instant::ZERO + otg::lead(&self.setup) + trial.length;
        network.run_until(end);
        Ok((counts(&mut network, &tester, end), acknowledged))
    }

    fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::ShortFrames | Capability::WrongFcs => true,
            Capability::ShortGap | Capability::Stateful => true,
            Capability::Counters
            | Capability::Settings
            | Capability::Changes
            | Capability::Keys => true,
            Capability::Memory => false,
            Capability::Reset(kind) => self.resets.contains_key(&kind),
        }
    }

    fn packet_numbers(&mut self, port: Port, _: u32) -> u64 {
        // Each trial begins with new associations, and with a few frames.
        let first = self.setup.port(port).macsec.as_ref().map_or(1, |macsec| macsec.first_pn());
        first + otg::BEFORE
    }

    /// The device is this program.
    fn version(&mut self) -> Result<Option<String>, TrialError> {
        Ok(Some(format!("sluice {}", ground::program::version())))
    }

    fn reseed(&mut self, seed: u64) {
        self.setup.seed = seed;
    }

    fn world(&self) -> &'static str {
        VIRTUAL
    }
}

/// Returns the report of a lab's generator at `now`.
fn counts(network: &mut ObservedNetwork<'_>, tester: &LabTester, now: Instant) -> Counts {
    let snapshot = |host| match network.nodes_mut().get_mut(host) {
        Node::Host(station) => Some(station.snapshot(now)),
        Node::Switch(_) => None,
    };
    let stations: Vec<StationSnapshot> =
        tester.hosts.iter().copied().filter_map(snapshot).collect();
    report(Seen {
        plan: &tester.plan.ports,
        world: "virtual",
        // Virtual time is exact, and no thread of it can be late: there is no machine to blame.
        stamps: exact(),
        elapsed: Some(now.total_since(Instant::ZERO)),
        stations: &stations,
        counted: None,
        ports: &standing::ports(&stations, &tester.rates, Instant::ZERO, now),
        flows: &standing::flows(&tester.plan, &stations, Instant::ZERO, now),
        warnings: Vec::new(),
        machine: None,
    })
}
