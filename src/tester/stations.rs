//! A test as the end stations of its ports are told it: the same plans for either world.

use super::plan::{FlowKind, FlowPlan, Obeys, PortPlan, TestPlan};
use crate::host::plan::stream::{MeterPlan, Path, StreamPlan};
use crate::host::{StationPlan, TesterPlan, TransportPlan};
use crate::pfc::FlowControl;
use crate::time::{Duration, Instant};
use crate::units::{BitsPerSec, Mac, PrioritySet};

/// The rate of a port for which neither layer 1 nor the link names one: 10 Gb/s, OTG's default.
pub const RATE_DEFAULT: BitsPerSec = BitsPerSec::gbps(10);

/// How exactly a world polls its stations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Punctuality {
    /// How much time a port may catch up with, at full rate, after a poll that came late.
    pub late: Duration,
    /// How far a flow may fall behind its pace, paused or in want of the line, before what is
    /// further behind is given up.
    pub backlog: Duration,
}

impl Punctuality {
    /// Of a world that polls to the picosecond. The backlog is a choice: what eight flows whose
    /// longest frames meet on a line of 1 Gb/s have to wait for each other.
    pub const EXACT: Self = Self { late: Duration::ZERO, backlog: Duration::from_millis(1) };

    /// Of threads on a machine. Choices: a thread that polls on a CPU of its own was measured to
    /// lose up to 1.8 ms at a time, and one that shares it a scheduler's slice of a few more; no
    /// pace is to suffer by that, and no longer pause to be followed by more than that.
    pub const THREADS: Self =
        Self { late: Duration::from_micros(100), backlog: Duration::from_millis(10) };
}

/// The stations of a test, in the order of its ports, at links of the given rates.
///
/// All flows are stopped; connections (RoCEv2) too, whose start is [`Instant::NEVER`].
///
/// # Panics
/// If there is not one rate for each port.
#[must_use]
pub fn stations(test: &TestPlan, rates: &[BitsPerSec], how: Punctuality) -> Vec<StationPlan> {
    assert_eq!(rates.len(), test.ports.len(), "a rate for each port");
    test.ports
        .iter()
        .zip(rates)
        .enumerate()
        .map(|(n, (_, rate))| one(test, n, *rate, how))
        .collect()
}

/// The rate at which each port of a test is paced where its link names none.
#[must_use]
pub fn asked_rates(test: &TestPlan) -> Vec<BitsPerSec> {
    test.ports.iter().map(|port| port.rate.unwrap_or(RATE_DEFAULT)).collect()
}

fn one(test: &TestPlan, n: usize, rate: BitsPerSec, how: Punctuality) -> StationPlan {
    let port = &test.ports[n];
    let sent = |flow: &&FlowPlan| flow.tx == n;
    let received = |flow: &&FlowPlan| flow.rx.contains(&n);
    let senders: Vec<_> = test.flows.iter().filter(sent).filter_map(connection).collect();
    let receivers: Vec<_> = test.flows.iter().filter(received).filter_map(connection).collect();
    let arriving = || test.flows.iter().filter(received).filter_map(stream);
    let probed = || arriving().filter(|s| s.template.probe_at.is_some());
    let meter = MeterPlan {
        streams: probed()
            .filter_map(|s| match s.path {
                Path::Data(priority) => Some((s.id, priority)),
                Path::Control => None,
            })
            .collect(),
        control: arriving()
            .filter(|s| s.path == Path::Control && s.template.probe_at.is_none())
            .map(|s| (s.id, s.template.headers.clone()))
            .collect(),
    };
    let tester = TesterPlan {
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
        shaper_burst: rate.bytes_in(how.late),
        backlog: how.backlog,
        expects: probed().map(|s| s.id).collect(),
        senders,
        receivers,
        tester,
        ..StationPlan::new(port.name.clone(), mac, rate)
    }
}

/// The pauses that a port obeys: those that layer 1 names, unless its location leaves them out.
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

/// The address of a port: that of its connections, which answers go to, else its own.
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

/// A stream whose probes carry the test's number.
pub(super) fn in_run(stream: &StreamPlan, test: &TestPlan) -> StreamPlan {
    let mut stream = stream.clone();
    // A recording is sent as it is, and control streams have no probe.
    if stream.template.probe_at.is_some() {
        stream.template.run = test.run;
    }
    stream
}

/// A connection, stopped.
fn connection(flow: &FlowPlan) -> Option<TransportPlan> {
    match &flow.kind {
        FlowKind::Stream(_) => None,
        FlowKind::Roce(plan) => Some(TransportPlan { start: Instant::NEVER, ..(**plan).clone() }),
    }
}
