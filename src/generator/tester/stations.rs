//! Converts a test to the plans of its ports' end stations, which are the same in both worlds.

use super::plan::{FlowKind, FlowPlan, Obeys, PortPlan, TestPlan};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Mac, PrioritySet};
use host::plan::stream::{MeterPlan, Path, StreamPlan};
use host::{ReactionsPlan, SfcReaction, StationPlan, TesterPlan, TransportPlan};
use pfc::FlowControl;

/// The rate of a port if neither layer 1 nor the link has one: 10 Gb/s, OTG's default.
pub const RATE_DEFAULT: BitsPerSec = BitsPerSec::gbps(10);

/// Bytes that a flow may wait for on its line, whatever the rate. A choice: about those of eight flows whose longest
/// frames collide.
const COLLIDING: Bytes = Bytes(125_000);

/// The timing accuracy with which a world polls its stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Punctuality {
    /// Maximum time that a port may catch up with, at full rate, after a late poll.
    pub late: Duration,
    /// Maximum delay of a flow behind its pace, by pauses or by a busy line; a longer delay is
    /// not made up.
    pub backlog: Duration,
}

impl Punctuality {
    /// A world that polls at exact times. The backlog is that of eight flows whose longest frames collide at 1 Gb/s.
    pub const EXACT: Self = Self { late: Duration::ZERO, backlog: Duration::from_millis(1) };

    /// Threads on a machine. The values are choices: a polling thread was measured to lose up to
    /// 1.8 ms at a time on an exclusive CPU, and a scheduler's slice of a few ms more on a shared
    /// one. Such a delay must not lower the rate of a flow, and a longer pause must not cause a
    /// longer burst.
    pub const THREADS: Self =
        Self { late: Duration::from_micros(100), backlog: Duration::from_millis(10) };
}

/// Returns the stations of a test, in the order of its ports, at links of the given rates.
///
/// All flows are stopped, including RoCEv2 connections, whose start is [`Instant::NEVER`].
///
/// # Panics
/// The number of rates differs from that of ports.
pub fn stations(test: &TestPlan, rates: &[BitsPerSec], how: Punctuality) -> Vec<StationPlan> {
    assert_eq!(rates.len(), test.ports.len(), "a rate for each port");
    (0..test.ports.len()).map(|n| one(test, n, rates[n], how, |_| true)).collect()
}

/// Returns the stations of all queues of a test, in the order of its ports: as [`stations`], but each
/// sends the flows of its queue alone. All of a port expect all flows to it.
///
/// # Panics
/// The number of rates differs from that of ports.
pub fn queue_stations(test: &TestPlan, rates: &[BitsPerSec], how: Punctuality) -> Vec<StationPlan> {
    assert_eq!(rates.len(), test.ports.len(), "a rate for each port");
    let of_flow = queues_of_flows(test);
    let queue = |n: usize, queue: u16| {
        one(test, n, rates[n], how, |flow: &FlowPlan| of_flow[flow.id.0 as usize] == queue)
    };
    let port = |n: usize| (0..test.ports[n].location.queues).map(move |k| (n, k));
    (0..test.ports.len()).flat_map(port).map(|(n, k)| queue(n, k)).collect()
}

/// Returns the queue of its port that sends each flow: the flows of a port take its queues in turn.
pub fn queues_of_flows(test: &TestPlan) -> Vec<u16> {
    let mut next = vec![0; test.ports.len()];
    let of = |flow: &FlowPlan| {
        let (next, queues) = (&mut next[flow.tx], test.ports[flow.tx].location.queues);
        let queue = *next;
        *next = (queue + 1) % queues;
        queue
    };
    test.flows.iter().map(of).collect()
}

/// Returns the pacing rate of each port if its link has none.
pub fn asked_rates(test: &TestPlan) -> Vec<BitsPerSec> {
    test.ports.iter().map(|port| port.rate.unwrap_or(RATE_DEFAULT)).collect()
}

fn one(
    test: &TestPlan,
    n: usize,
    rate: BitsPerSec,
    how: Punctuality,
    sends: impl Fn(&FlowPlan) -> bool,
) -> StationPlan {
    let port = &test.ports[n];
    let sent = |flow: &&FlowPlan| flow.tx == n && sends(flow);
    let received = |flow: &&FlowPlan| flow.rx.contains(&n);
    let senders: Vec<_> = test.flows.iter().filter(sent).filter_map(connection).collect();
    let receivers: Vec<_> = test.flows.iter().filter(received).filter_map(connection).collect();
    let arriving = || test.flows.iter().filter(received).filter_map(stream);
    // Frames with a probe are compared and counted; MAC control is recognised by its bytes.
    let probed = || arriving().filter(|s| s.template.probe_at.is_some());
    let meter = MeterPlan {
        streams: probed()
            .filter_map(|s| match s.path {
                Path::Data(priority) => Some((s.id, priority)),
                Path::Control => None,
            })
            .collect(),
        compared: probed().map(|s| in_run(s, test)).collect(),
        control: arriving()
            .filter(|s| s.path == Path::Control && s.template.probe_at.is_none())
            .map(|s| (s.id, s.template.headers.clone()))
            .collect(),
    };
    let tester = TesterPlan {
        // Nothing is sent before the order to start.
        start: None,
        streams: test
            .flows
            .iter()
            .filter(sent)
            .filter_map(stream)
            .map(|s| in_run(s, test))
            .collect(),
        run: test.run,
        meter: Some(meter),
        pause_delay: port.pause_delay,
        interfaces: port.interfaces.clone(),
    };
    let mac = address(port, &senders, &receivers);
    StationPlan {
        flow_control: flow_control(port),
        // What a port may send at once after a late poll.
        shaper_burst: rate.bytes_in(how.late),
        // On a slow line the frames of the other flows take longer than any delay of the world.
        backlog: how.backlog.max(rate.time_for(COLLIDING)),
        expects: probed().map(|s| s.id).collect(),
        senders,
        receivers,
        tester,
        reactions: reactions(port),
        secy: port.secy.clone(),
        ..StationPlan::new(port.name.clone(), mac, rate)
    }
}

/// Returns the source flow control messages that a port obeys: of any sender, as there is no telling
/// which address a device under test gives its messages.
fn reactions(port: &PortPlan) -> ReactionsPlan {
    let sfc = port.location.sfc.map(|pause| SfcReaction { pause, ..SfcReaction::default() });
    ReactionsPlan { sfc, ..ReactionsPlan::default() }
}

/// Returns the pause frames that a port obeys: those of layer 1, restricted by its location.
fn flow_control(port: &PortPlan) -> FlowControl {
    match port.obeys {
        Obeys::Nothing => FlowControl::Off,
        Obeys::Pfc(classes) => {
            let kept = port.location.pfc.unwrap_or(PrioritySet::ALL);
            let obey = PrioritySet(classes.0 & kept.0);
            FlowControl::Pfc { send: PrioritySet::EMPTY, obey }
        }
        Obeys::Pause => FlowControl::Pause { send: false, obey: true },
    }
}

/// Returns the MAC address of a port: that of its connections, to which responses are sent, else
/// its own.
fn address(port: &PortPlan, senders: &[TransportPlan], receivers: &[TransportPlan]) -> Mac {
    let of_sender = senders.first().map(|plan| plan.src);
    of_sender.or(receivers.first().map(|plan| plan.dst)).unwrap_or(port.mac)
}

fn stream(flow: &FlowPlan) -> Option<&StreamPlan> {
    match &flow.kind {
        FlowKind::Stream(stream) => Some(stream),
        FlowKind::Roce(_) => None,
    }
}

/// Returns a stream with the test's run number in its probes.
pub fn in_run(stream: &StreamPlan, test: &TestPlan) -> StreamPlan {
    let mut stream = stream.clone();
    // A recording is sent unchanged, and control streams have no probe.
    if stream.template.probe_at.is_some() {
        stream.template.run = test.run;
    }
    stream
}

/// A stopped connection.
fn connection(flow: &FlowPlan) -> Option<TransportPlan> {
    match &flow.kind {
        FlowKind::Stream(_) => None,
        FlowKind::Roce(plan) => Some(TransportPlan { start: Instant::NEVER, ..(**plan).clone() }),
    }
}
