//! A test in the virtual world: every pair of ports in memory is a link of their speed and of
//! length 0, and time is exact.

use std::collections::BTreeMap;

use super::drive::Runner;
use super::figures::Seen;
use super::plan::{Place, TestPlan};
use super::report::{Report, Stamps};
use super::standing::{self, settle_neighbours};
use super::stations::{Punctuality, asked_rates, stations};
use super::tally::report;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, PortId};
use host::{FlowId, StationSnapshot};
use schedule::LinePlan;
use sim::{
    DirectionPlan, End, LinkPlan, NetworkError, NetworkPlan, Node, NodeId, NodeKind, NodePlan,
    ObservedNetwork,
};

/// Interval between two samples. A choice: short for people, long for frames.
const STEP: Duration = Duration::from_millis(10);

/// The reason why a test cannot run in the virtual world.
#[derive(Debug, thiserror::Error)]
pub enum VirtualError {
    #[error(
        "port {port}: {location} is no end of a pair in memory; give it one (ring:NAME.a) or run \
         the test with --world real"
    )]
    NotInMemory { port: String, location: String },
    /// A port without its other end.
    #[error("port {port}: no port is at the other end of {location}; there has to be one")]
    Alone { port: String, location: String },
    /// The two ends of a pair have different speeds.
    #[error("ports {0} and {1} are one link, and layer 1 gives them different speeds")]
    Speeds(String, String),
    /// A neighbour that is not an interface of the test.
    #[error("{0}")]
    Neighbour(String),
    /// A port's plan is inconsistent.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

pub struct VirtualTest {
    plan: TestPlan,
    rates: Vec<BitsPerSec>,
    network: NetworkPlan,
    /// Network of the first start, made with the test so that an inconsistent plan is refused then.
    ready: Option<ObservedNetwork<'static>>,
    running: Option<ObservedNetwork<'static>>,
    warnings: Vec<String>,
}

impl VirtualTest {
    /// A test before its start.
    ///
    /// # Errors
    /// A part of the test that the virtual world does not support.
    pub fn new(mut plan: TestPlan) -> Result<Self, VirtualError> {
        settle_neighbours(&mut plan).map_err(VirtualError::Neighbour)?;
        let rates = asked_rates(&plan);
        let links = links(&plan, &rates)?;
        let mut nodes = Vec::new();
        for mut station in stations(&plan, &rates, Punctuality::EXACT) {
            // All flows start at time 0 of the network, without an order.
            station.tester.start = Some(Instant::ZERO);
            for connection in station.senders.iter_mut().chain(&mut station.receivers) {
                connection.start = Instant::ZERO;
            }
            nodes.push(NodePlan::new(NodeKind::Host(station)));
        }
        let network = NetworkPlan {
            nodes,
            links,
            faults: Vec::new(),
            // Nothing is random: no link of a test has errors.
            seed: 0,
            shuffle: None,
            sample_every: None,
        };
        let captured = plan.ports.iter().filter(|port| port.capture.is_some());
        let warnings = captured
            .map(|port| format!("port {}: nothing is captured in the virtual world", port.name))
            .collect();
        let ready = Some(ObservedNetwork::new(&network, None)?);
        Ok(Self { plan, rates, network, ready, running: None, warnings })
    }

    fn hosts(&self) -> impl Iterator<Item = NodeId> {
        (0..self.plan.ports.len() as u32).map(NodeId)
    }
}

/// Returns a link for every pair.
fn links(plan: &TestPlan, rates: &[BitsPerSec]) -> Result<Vec<LinkPlan>, VirtualError> {
    let mut ends: BTreeMap<&str, [Option<usize>; 2]> = BTreeMap::new();
    for (n, port) in plan.ports.iter().enumerate() {
        let Place::Ring { pair, end } = &port.location.place else {
            let (port, location) = (port.name.clone(), port.location.text.clone());
            return Err(VirtualError::NotInMemory { port, location });
        };
        ends.entry(pair).or_default()[usize::from(*end & 1)] = Some(n);
    }
    let end = |n: usize| End { node: NodeId(n as u32), port: PortId::MIN };
    let link = |(pair, both): (&str, [Option<usize>; 2])| match both {
        // A link has one rate.
        [Some(a), Some(b)] if rates[a] == rates[b] => Ok(LinkPlan {
            name: pair.to_owned(),
            a: end(a),
            b: end(b),
            rate: rates[a],
            line: LinePlan::ETHERNET,
            ab: DirectionPlan::default(),
            ba: DirectionPlan::default(),
        }),
        [Some(a), Some(b)] => {
            Err(VirtualError::Speeds(plan.ports[a].name.clone(), plan.ports[b].name.clone()))
        }
        [Some(n), None] | [None, Some(n)] => {
            let port = &plan.ports[n];
            let (port, location) = (port.name.clone(), port.location.text.clone());
            Err(VirtualError::Alone { port, location })
        }
        [None, None] => unreachable!("a pair is there because an end of it is"),
    };
    ends.into_iter().map(link).collect()
}

impl Runner for VirtualTest {
    type Error = VirtualError;

    fn start(&mut self) -> Result<(), VirtualError> {
        // The memory of the last run is free before that of the next one is taken.
        self.running = None;
        let ready = self.ready.take();
        self.running = Some(ready.map_or_else(|| ObservedNetwork::new(&self.network, None), Ok)?);
        Ok(())
    }

    fn stop(&mut self) -> Result<(), VirtualError> {
        let all: Vec<FlowId> = self.plan.flows.iter().map(|flow| flow.id).collect();
        let hosts: Vec<_> = self.hosts().collect();
        let Some(network) = &mut self.running else { return Ok(()) };
        for host in hosts {
            if let Node::Host(station) = network.nodes_mut().get_mut(host) {
                station.stop_streams(&all);
                station.end_senders(&all);
            }
        }
        Ok(())
    }

    fn advance(&mut self, span: Duration) -> Result<(), VirtualError> {
        if let Some(network) = &mut self.running {
            network.run_until(network.now() + span);
        }
        Ok(())
    }

    fn report(&mut self, whole: bool) -> Result<Report, VirtualError> {
        let hosts: Vec<_> = self.hosts().collect();
        let Some(network) = &mut self.running else { return Ok(Report::default()) };
        let now = network.now();
        let snapshot = |host: NodeId| match network.nodes_mut().get_mut(host) {
            Node::Host(station) => Some(station.snapshot(now)),
            Node::Switch(_) => None,
        };
        let stations: Vec<StationSnapshot> = hosts.into_iter().filter_map(snapshot).collect();
        let mut made = report(Seen {
            plan: &self.plan.ports,
            world: "virtual",
            stamps: exact(),
            elapsed: Some(now.total_since(Instant::ZERO)),
            stations: &stations,
            counted: None,
            ports: &standing::ports(&stations, &self.rates, Instant::ZERO, now),
            flows: &standing::flows(&self.plan, &stations, Instant::ZERO, now),
            warnings: self.warnings.clone(),
            machine: None,
        });
        // The snapshots have the distributions in any case.
        if !whole {
            made.flows.iter_mut().filter_map(|f| f.latency.as_mut()).for_each(|latency| {
                latency.distribution = None;
            });
        }
        Ok(made)
    }

    fn step(&self) -> Duration {
        STEP
    }
}

/// The precision of the virtual world's time.
pub fn exact() -> Stamps {
    Stamps { source: "virtual", resolution_ns: 0.001, uncertainty_ns: 0.0 }
}
