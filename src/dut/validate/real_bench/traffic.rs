//! Flows of a trial over the queues of their senders, and its connections between real ports.
//!
//! A flow keeps its order in one queue. So a trial's flow from a port with several queues is sent as an equal
//! part for each, which differ in the UDP source port, and are counted as one flow again. The first frames
//! of the parts are one interval of the flow apart.

use std::sync::Arc;

use ::otg::model::config::Config;
use ::otg::model::flow::{self, FlowDelay, FlowDuration, FlowRate};
use ::otg::model::header::{FlowHeader, FlowUdp};
use ::otg::model::pattern::Pattern;
use ground::time::{Duration, Instant};
use host::FlowId;
use tester::plan::{FlowKind, FlowPlan, Location, Metrics, TestPlan};
use tester::report::{self, Report, Stamps};

use crate::bench::{Acknowledged, TrialError};
use crate::otg::{self, Connection};
use crate::real_bench::in_process::Actions;
use crate::real_bench::numbers::Far;
use crate::real_bench::{RealBench, disturbed, linked, resolved, trouble};
use crate::setup::{Setup, line_time};
use crate::trial::{Addresses, Flow, Limit, Port, Rate, Trial};

/// First UDP source port of the parts: a dynamic one (RFC 6335).
const FIRST: usize = 0xc000;
/// Number of dynamic ports.
const PORTS: usize = 0x4000;

/// The number of parts of each flow that a trial sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Parts(Vec<usize>);

impl Parts {
    /// Replaces the flows of a trial in its configuration by their parts.
    pub(super) fn spread(config: &mut Config, trial: &Trial, setup: &Setup) -> Self {
        let own = &trial.flows[..trial.own_flows()];
        let parts = own.iter().map(|flow| parts(flow, setup)).collect::<Vec<_>>();
        let mut flows = Vec::new();
        let mut rest = core::mem::take(&mut config.flows).into_iter();
        for ((flow, count), whole) in own.iter().zip(&parts).zip(rest.by_ref()) {
            match count {
                1 => flows.push(whole),
                _ => (0..*count).for_each(|k| {
                    let number = flows.len();
                    flows.push(part(&whole, flow, setup, Share { k, count: *count }, number));
                }),
            }
        }
        // Learning and control frames stand behind the flows of the trial, and stay whole.
        flows.extend(rest);
        config.flows = flows;
        Self(parts)
    }

    /// Adds the counters of the parts.
    pub(super) fn joined(&self, mut report: Report) -> Report {
        if self.0.iter().all(|parts| *parts == 1) {
            return report;
        }
        // Parts stand one behind the other, in the order in which `spread` made them.
        let mut rest = core::mem::take(&mut report.flows).into_iter();
        let own = self.0.iter().map(|parts| rest.by_ref().take(*parts).collect::<Vec<_>>());
        report.flows = own.map(|parts| sum(&report.stamps, parts)).collect();
        report.flows.extend(rest);
        report
    }
}

/// Returns the number of parts of a flow. Flows with many addresses send one frame to each, in their
/// order.
fn parts(flow: &Flow, setup: &Setup) -> usize {
    let queues = queues(&setup.port(flow.from).location);
    let most = match flow.limit {
        Limit::Frames(frames) => frames as usize,
        Limit::Time(_) => usize::MAX,
        // The frames of a burst stay one behind the other.
        Limit::Bursts(_) => 1,
    };
    match (flow.addresses, flow.rate) {
        (Addresses::Ports, Rate::Line(_)) => queues.min(most).max(1),
        _ => 1,
    }
}

/// Returns the number of queues of a location.
fn queues(location: &str) -> usize {
    Location::parse(location).map_or(1, |location| location.queues.into())
}

/// Part `k` of `count` of a flow.
#[derive(Clone, Copy)]
struct Share {
    k: usize,
    count: usize,
}

/// Returns a part of a flow; `number` is that of the part among all flows.
fn part(
    whole: &flow::Flow,
    flow: &Flow,
    setup: &Setup,
    Share { k, count }: Share,
    number: usize,
) -> flow::Flow {
    let mut part = whole.clone();
    part.name = format!("{}.{k}", whole.name);
    // Parts differ in this field alone; it does not change a frame's length or priority.
    let src_port = Some(Pattern::value((FIRST + number % PORTS) as u32));
    if let Some(header) = part.packet.last_mut() {
        *header = FlowHeader::Udp(FlowUdp { src_port, ..FlowUdp::default() });
    }
    if let Some(FlowRate::Percentage(percent)) = &mut part.rate {
        *percent /= count as f64;
    }
    let delay = match &mut part.duration {
        Some(FlowDuration::FixedPackets(fixed)) => {
            let frames = fixed.packets as usize;
            // The first parts take what cannot be divided, one frame each.
            fixed.packets = (frames / count + usize::from(k < frames % count)) as u32;
            &mut fixed.delay
        }
        Some(FlowDuration::FixedSeconds(fixed)) => &mut fixed.delay,
        // Bursts have one part.
        _ => return part,
    };
    if let Some(FlowDelay::Nanoseconds(delay)) = delay {
        // Together the parts are the flow again: a frame at each of its intervals.
        *delay += k as f64 * interval(flow, setup);
    }
    part
}

/// Returns the time from a frame of a flow to the next in nanoseconds.
fn interval(flow: &Flow, setup: &Setup) -> f64 {
    let line: Duration = line_time(setup.port(flow.from).rate, flow.size);
    match flow.rate {
        Rate::Line(share) => line.as_nanos_f64() / share,
        Rate::Frames(frames) => 1e9 / frames.max(1) as f64,
    }
}

fn sum(stamps: &Stamps, parts: Vec<report::Flow>) -> report::Flow {
    let several = parts.len() > 1;
    let mut all = parts.into_iter();
    let mut flow = all.next().unwrap_or_default();
    if !several {
        return flow;
    }
    // A rate is that of a part, and the gaps are those of its frames.
    flow.pacing = None;
    for part in all {
        flow.frames_tx += part.frames_tx;
        flow.frames_rx += part.frames_rx;
        flow.bytes_tx += part.bytes_tx;
        flow.bytes_rx += part.bytes_rx;
        for (all, own) in flow.frames_rx_by_port.iter_mut().zip(&part.frames_rx_by_port) {
            *all += own;
        }
        flow.frames_tx_rate += part.frames_tx_rate;
        flow.frames_rx_rate += part.frames_rx_rate;
        flow.bytes_tx_rate += part.bytes_tx_rate;
        flow.bytes_rx_rate += part.bytes_rx_rate;
        flow.duplicates += part.duplicates;
        flow.reordered += part.reordered;
        flow.ce_marked += part.ce_marked;
        flow.first_rx_s = [flow.first_rx_s, part.first_rx_s].into_iter().flatten().reduce(f64::min);
        flow.last_rx_s = [flow.last_rx_s, part.last_rx_s].into_iter().flatten().reduce(f64::max);
        flow.latency = latency(stamps, flow.latency.take(), part.latency);
    }
    // From the sums, because the percentages of parts of different sizes do not add up.
    let lost = flow.frames_tx.saturating_sub(flow.frames_rx) as f64;
    flow.loss_percent = if lost > 0.0 { lost * 100.0 / flow.frames_tx as f64 } else { 0.0 };
    flow
}

/// Returns the latencies of two parts together, from their distributions.
fn latency(
    stamps: &Stamps,
    a: Option<report::Latency>,
    b: Option<report::Latency>,
) -> Option<report::Latency> {
    let (a, b) = match (a, b) {
        (Some(a), Some(b)) => (a, b),
        (a, b) => return a.or(b),
    };
    // Percentiles of parts cannot be combined; those of the joint distribution are exact.
    let mut all = a.distribution?;
    Arc::make_mut(&mut all).add(b.distribution.as_deref()?);
    Some(report::Latency::new(stamps, &all.figures(), Some(all)))
}

/// Returns a location without its queues, with captures of both directions: a recording needs all frames of
/// a port in one sequence.
pub(super) fn recorded(location: &str) -> String {
    let (place, options) = location.split_once('?').unwrap_or((location, ""));
    let kept = options.split('&').filter(|option| {
        !option.is_empty() && !option.starts_with("queues=") && !option.starts_with("capture=")
    });
    let options: Vec<&str> = kept.chain(["capture=both"]).collect();
    format!("{place}?{}", options.join("&"))
}

/// Returns the location of an end of a cable in memory, with as many queues as the port that it stands for.
pub(super) fn end_of_cable(end: &str, location: &str) -> String {
    match queues(location) {
        1 => end.to_owned(),
        queues => format!("{end}?queues={queues}"),
    }
}

/// Shortest retransmission timeout: Linux's, because a thread that loses its CPU delays acknowledgements by
/// milliseconds.
const TIMEOUT: Duration = Duration::from_millis(200);

/// True if the ports can have connections: acknowledgements may arrive in another queue than their
/// sender's, and the packet numbers that a connection uses of MACsec are not known before.
pub(super) fn possible(setup: &Setup) -> bool {
    let queues = |location: &str| Location::parse(location).map_or(1, |location| location.queues);
    setup.ports.iter().all(|port| port.macsec.is_none() && queues(&port.location) == 1)
}

/// Adds the connections of a trial to its plan, and returns their numbers.
fn add(plan: &mut TestPlan, trial: &Trial, setup: &Setup) -> Vec<FlowId> {
    let start = Instant::ZERO + otg::lead(setup);
    let one = |(n, wanted)| {
        let id = FlowId(plan.flows.len() as u32);
        let transport =
            otg::transport(wanted, setup, Connection { n, id, start, timeout: TIMEOUT });
        plan.flows.push(FlowPlan {
            name: format!("connection{n}"),
            id,
            tx: wanted.ends.0.0,
            rx: vec![wanted.ends.1.0],
            // The plan's kind for all transports with acknowledgements, TCP among them.
            kind: FlowKind::Roce(Box::new(transport)),
            metrics: Metrics { enable: true, ..Metrics::default() },
            resolve: Vec::new(),
        });
        id
    };
    trial.stateful.iter().enumerate().map(one).collect()
}

impl RealBench {
    /// Runs a trial with connections. Their results are of the time in which they send.
    pub(super) fn connect(
        &mut self,
        trial: &Trial,
    ) -> Result<(Report, Vec<Acknowledged>), TrialError> {
        let setup = self.setup.clone();
        let mut plan = resolved(&otg::counting(trial, &setup, |port: Port| {
            setup.port(port).location.clone()
        }))?;
        let connections = add(&mut plan, trial, &setup);
        self.numbers.secure(&mut plan, trial, &setup, Far::Device);
        let flows: Vec<_> = plan.flows.iter().map(|flow| flow.id).collect();
        let (session, _) = self.open(plan, trial, Far::Device)?;
        self.warned(&session);
        let watch = self.watch(Far::Device);
        session.start(&flows).map_err(trouble)?;
        let lead = otg::lead(&setup);
        let longest =
            trial.stateful.iter().map(|wanted| wanted.length).max().unwrap_or(Duration::ZERO);
        let mut interrupted = !self.wait(&session, lead + longest, &mut Actions::none())?;
        // Before the drain, in which late acknowledgements would still be counted.
        let senders = session.senders().map_err(trouble)?;
        interrupted =
            interrupted || !self.wait(&session, lead + trial.length, &mut Actions::none())?;
        session.stop(&flows).map_err(trouble)?;
        if interrupted {
            return Err(TrialError::Interrupted);
        }
        let mut report = session.report().map_err(trouble)?;
        report.device = watch.end();
        linked(&report)?;
        if let Some(what) = disturbed(&report) {
            return Err(TrialError::Disturbed(what));
        }
        let result = |id: &FlowId| {
            let sender = senders.iter().find(|sender| sender.id == *id).map(otg::acknowledged);
            sender.ok_or_else(|| TrialError::Error("a connection has no sender".to_owned()))
        };
        let acknowledged = connections.iter().map(result).collect::<Result<_, _>>()?;
        Ok((report, acknowledged))
    }
}

#[cfg(test)]
mod tests {
    use ground::units::Priority;

    use super::*;
    use crate::otg;
    use crate::trial::Port;

    fn setup(queues: u16) -> Setup {
        let text = format!(
            "rate: 10G\nports: [{{location: 'iface:a?queues={queues}'}}, {{location: 'iface:b'}}]\n"
        );
        crate::file::parse("dut.yaml", &text).unwrap().0.setup
    }

    fn trial(limit: Limit) -> Trial {
        let mut trial = Trial::new("t", Duration::from_millis(1));
        let flow = |from, to| Flow::new((Port(from), Port(to)), Priority::MIN, limit).size(512);
        trial.flow(flow(0, 1).rate(Rate::Line(0.5)));
        trial.flow(flow(1, 0).rate(Rate::Line(0.25)));
        trial
    }

    fn config(trial: &Trial, setup: &Setup) -> (Config, Parts) {
        let mut config = otg::counting(trial, setup, |port| setup.port(port).location.clone());
        let parts = Parts::spread(&mut config, trial, setup);
        (config, parts)
    }

    #[test]
    fn a_flow_has_a_part_for_each_queue_of_its_sender() {
        let (config, parts) = config(&trial(Limit::Frames(10)), &setup(4));
        assert_eq!(parts, Parts(vec![4, 1]));
        let flows = &config.flows;
        let durations = flows[..4].iter().map(|flow| match flow.duration.as_ref().unwrap() {
            FlowDuration::FixedPackets(fixed) => match fixed.delay.as_ref().unwrap() {
                FlowDelay::Nanoseconds(delay) => (fixed.packets, *delay),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
        let (packets, delays): (Vec<_>, Vec<_>) = durations.unzip();
        assert!(flows[..4].iter().all(|flow| flow.rate == Some(FlowRate::Percentage(12.5))));
        assert_eq!(packets, [3, 3, 2, 2]);
        // 532 bytes at half of 10 Gb/s.
        assert!(delays.windows(2).all(|two| (two[1] - two[0] - 851.2).abs() < 1e-6), "{delays:?}");
        let ports: Vec<_> = flows[..4].iter().map(|flow| flow.packet.last().unwrap()).collect();
        assert!(ports.windows(2).all(|two| two[0] != two[1]), "{ports:?}");
        assert_eq!((&*flows[4].name, &flows[4].rate), ("flow1", &Some(FlowRate::Percentage(25.0))));
        let whole = super::super::resolved(&config).unwrap();
        assert_eq!(whole.flows.len(), flows.len());
    }

    #[test]
    fn small_bursts_and_flows_of_many_addresses_have_fewer_parts() {
        assert_eq!(config(&trial(Limit::Frames(3)), &setup(4)).1, Parts(vec![3, 1]));
        let mut many = trial(Limit::Time(Duration::from_millis(1)));
        assert_eq!(config(&many, &setup(4)).1, Parts(vec![4, 1]));
        many.flows[0].addresses = Addresses::Sources(10);
        assert_eq!(config(&many, &setup(4)).1, Parts(vec![1, 1]));
        let (one, parts) = config(&trial(Limit::Frames(3)), &setup(1));
        assert_eq!(parts, Parts(vec![1, 1]));
        let before = otg::counting(&trial(Limit::Frames(3)), &setup(1), |_| "iface:a".to_owned());
        assert_eq!(one.flows, before.flows);
    }

    #[test]
    fn parts_are_counted_as_one_flow() {
        let part = |sent, us: &[u64], first| {
            let mut latency = host::Latency::default();
            us.iter().for_each(|us| latency.record(Duration::from_micros(*us)));
            let frames_rx = us.len() as u64;
            let latency = report::Latency {
                frames: frames_rx,
                distribution: Some(Arc::new(latency)),
                ..Default::default()
            };
            report::Flow {
                frames_tx: sent,
                frames_rx,
                frames_rx_by_port: vec![frames_rx],
                first_rx_s: Some(first),
                last_rx_s: Some(first + 1.0),
                latency: (frames_rx > 0).then_some(latency),
                ..Default::default()
            }
        };
        let flows = vec![
            part(4, &[1, 2, 9], 0.5),
            part(4, &[3], 0.25),
            part(2, &[], 7.0),
            part(5, &[5], 0.0),
        ];
        let report = Report { flows, ..Report::default() };
        let joined = Parts(vec![3, 1]).joined(report.clone());
        assert_eq!(joined.flows.len(), 2);
        let flow = &joined.flows[0];
        assert_eq!(
            (flow.frames_tx, flow.frames_rx, &flow.frames_rx_by_port[..]),
            (10, 4, &[4][..])
        );
        assert_eq!((flow.first_rx_s, flow.loss_percent), (Some(0.25), 60.0));
        let latency = flow.latency.as_ref().unwrap();
        assert_eq!((latency.frames, latency.min_ns.ns(), latency.max_ns.ns()), (4, 1e3, 9e3));
        assert_eq!(latency.mean_ns.ns(), 3_750.0);
        assert_eq!(joined.flows[1], report.flows[3]);
        assert_eq!(Parts(vec![1; 4]).joined(report.clone()), report);
    }

    #[test]
    fn a_recording_is_of_one_queue() {
        assert_eq!(recorded("iface:a"), "iface:a?capture=both");
        assert_eq!(recorded("iface:a?pfc=3&queues=4&capture=rx"), "iface:a?pfc=3&capture=both");
        assert_eq!(end_of_cable("ring:x.a", "iface:a?queues=4"), "ring:x.a?queues=4");
        assert_eq!(end_of_cable("ring:x.a", "iface:a?pfc=3"), "ring:x.a");
    }
}
