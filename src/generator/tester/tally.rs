//! Converts the counters of a test's stations to its report, in either world.
//!
//! Among them are the pauses of a proxy that follow from the source flow control messages (SFCM) of a port: the
//! PFC that another port of the test received, its latency and its time.

use std::collections::HashMap;

use super::figures::{FlowFigures, FlowSeen, FlowTally, Received, Seen, Sent, Transmit};
use super::plan::{FlowKind, FlowPlan, Metrics};
use super::report::{self, Report, Stamps};
use ground::statistics::percentile;
use ground::time::{Duration, Instant, Total};
use ground::units::{BitsPerSec, PRIORITIES, Quanta};
use host::meter::{BegunPause, ToldPause};
use host::plan::stream::{Path, StreamPlan};
use host::{
    ControlCounters, FlowId, MeterCounters, Rate, ReceiverCounters, SenderCounters, SinkCounters,
    StationSnapshot, StreamCounters, Transport, TransportPlan,
};

pub fn report(mut seen: Seen<'_>) -> Report {
    // Where figures were read flow by flow, snapshots have no distributions.
    let counted = seen.counted.take();
    let places = Places::of(seen.stations);

    let flows = match counted {
        Some(counted) => {
            let flows = seen.flows.iter().zip(counted);
            let flow = |(flow, (tally, figures))| self::flow(&seen, &places, flow, tally, figures);
            flows.map(flow).collect()
        }
        None => {
            let flows = seen.flows.iter();
            let flow = |flow: &FlowSeen<'_>| {
                let (tally, figures) = (places.tally(flow.plan), places.figures(flow.plan));
                self::flow(&seen, &places, flow, tally, figures)
            };
            flows.map(flow).collect()
        }
    };
    Report {
        elapsed_s: seen.elapsed.map(Total::as_secs_f64),
        world: seen.world,
        stamps: seen.stamps.clone(),
        ports: (0..seen.plan.len()).map(|n| port(&seen, n)).collect(),
        flows,
        warnings: seen.warnings,
        machine: seen.machine,
        preempted_ports: Vec::new(),
        device: report::DeviceCpu::default(),
    }
}

fn port(seen: &Seen<'_>, n: usize) -> report::Port {
    let (plan, more, station) = (&seen.plan[n], &seen.ports[n], &seen.stations[n]);
    let (counters, rates) = (&station.counters, more.rates);
    let [frames_tx, bytes_tx, frames_rx, bytes_rx] = counters.of_flows();
    let (capturing, captured, capture_missed) = more.capture;
    let sends = |flow: &FlowSeen<'_>| flow.plan.tx == n && flow.transmit == Transmit::Started;
    let sfcm = station.reactions.and_then(|reactions| reactions.sfcm);
    let messages = station.meter.as_ref().map(|meter| &meter.messages);
    // Only a port that obeys messages has times of its own reaction.
    let obeyed = messages.filter(|_| sfcm.is_some());
    let told = messages.filter(|messages| messages.sent > 0);
    let reactions = told.map(|told| told.reactions).filter(|reactions| reactions.count > 0);
    let proxied = self::proxied(seen, n);
    let latency = |pick: fn(&[f64]) -> Option<f64>| pick(&proxied.as_ref()?.latencies_ns);
    let measured = |ns: Option<f64>| ns.map(|ns| seen.stamps.measured(ns));
    let time = |time: Option<Duration>| measured(time.map(self::ns));
    report::Port {
        name: plan.name.clone(),
        location: plan.location.text.clone(),
        link_up: more.link_up,
        speed_bps: more.speed.get(),
        transmitting: seen.flows.iter().any(sends),
        capturing,
        frames_tx,
        frames_rx,
        bytes_tx,
        bytes_rx,
        frames_tx_rate: rates.frames_tx,
        frames_rx_rate: rates.frames_rx,
        bytes_tx_rate: rates.bytes_tx,
        bytes_rx_rate: rates.bytes_rx,
        unexpected: counters.unexpected + counters.foreign,
        other_runs: counters.other_runs,
        malformed: counters.malformed,
        captured,
        capture_missed,
        rx_room: more.rx_room,
        rx_missed: more.nic.missed(),
        tx_dropped: more.nic.unsent(),
        sfcm_rx: sfcm.map(|sfcm| sfcm.received),
        sfcm_obeyed: sfcm.map(|sfcm| sfcm.paused),
        sfcm_refused: sfcm.map(|sfcm| sfcm.refused()),
        sfcm_paused_ns: sfcm.map(|sfcm| sfcm.time.as_picos() as f64 / 1e3),
        sfcm_requested_ns: sfcm.map(|sfcm| sfcm.requested.as_nanos_f64()),
        sfcm_incast: sfcm.map(|sfcm| sfcm.incast),
        sfcm_in_network: sfcm.map(|sfcm| sfcm.in_network),
        sfcm_first_ns: time(obeyed.and_then(|m| m.until_first)),
        sfcm_silence_ns: time(obeyed.and_then(|m| m.silence)),
        sfcm_tx: told.map(|m| m.sent),
        sfcm_tx_requested_ns: told.map(|m| m.requested.as_nanos_f64()),
        sfcm_reaction_min_ns: time(reactions.and_then(|r| r.min)),
        sfcm_reaction_p50_ns: time(reactions.and_then(|r| r.percentile(50))),
        sfcm_reaction_max_ns: time(reactions.and_then(|r| r.max)),
        sfcm_to_pfc: proxied.as_ref().map(|proxied| proxied.latencies_ns.len() as u64),
        sfcm_to_pfc_min_ns: measured(latency(|all| all.first().copied())),
        sfcm_to_pfc_p50_ns: measured(latency(|all| percentile(all, 50))),
        sfcm_to_pfc_max_ns: measured(latency(|all| all.last().copied())),
        sfcm_quanta_error: proxied.as_ref().map(|proxied| proxied.error),
        priorities: station
            .meter
            .as_ref()
            .map(|m| priorities(seen, station, m))
            .unwrap_or_default(),
    }
}

fn priorities(
    seen: &Seen<'_>,
    station: &StationSnapshot,
    meter: &MeterCounters,
) -> Vec<report::Priority> {
    let measured = |time: Duration| seen.stamps.measured(ns(time));
    let one = |p: usize| {
        let (rx, tx) = (&meter.received[p], &meter.sent[p]);
        let own = &station.counters.priorities[p];
        let reactions = &meter.reactions[p];
        report::Priority {
            priority: p as u8,
            pauses_rx: rx.pauses + rx.resumes,
            resumes_rx: rx.resumes,
            requested_ns: ns(rx.requested),
            paused_ns: ns(own.paused),
            paused: own.is_paused,
            transitions: own.transitions,
            last_frame_after_pause_ns: rx.last_frame.map(measured),
            pauses_tx: tx.pauses + tx.resumes,
            resumes_tx: tx.resumes,
            largest_gap_ns: tx.gap_max.map(ns),
            window_ns: tx.window.map(ns),
            continuous: tx.continuous(),
            reaction_count: reactions.count,
            reaction_min_ns: reactions.min.map(measured),
            reaction_p50_ns: reactions.percentile(50).map(measured),
            reaction_p99_ns: reactions.percentile(99).map(measured),
            reaction_max_ns: reactions.max.map(measured),
            frames_in_window: reactions.in_window,
            frames_after_stop: reactions.after_stop,
            resume_ns: tx.first_frame.map(measured),
        }
    };
    (0..PRIORITIES).map(one).collect()
}

/// Counters indexed by station and flow: there may be ten thousand, so none is searched for.
#[derive(Debug)]
pub struct Places<'a>(Vec<Place<'a>>);

#[derive(Debug)]
struct Place<'a> {
    sinks: HashMap<FlowId, &'a SinkCounters>,
    streams: HashMap<FlowId, &'a StreamCounters>,
    senders: HashMap<FlowId, &'a SenderCounters>,
    receivers: HashMap<FlowId, &'a ReceiverCounters>,
    control: HashMap<FlowId, &'a ControlCounters>,
}

impl<'a> Places<'a> {
    /// Indexes the counters of these stations.
    pub fn of(stations: &'a [StationSnapshot]) -> Self {
        let place = |s: &'a StationSnapshot| Place {
            sinks: s.sinks.iter().map(|one| (one.id, one)).collect(),
            streams: s.streams.iter().map(|one| (one.id, one)).collect(),
            senders: s.senders.iter().map(|one| (one.id, one)).collect(),
            receivers: s.receivers.iter().map(|one| (one.id, one)).collect(),
            control: s.meter.iter().flat_map(|m| &m.control).map(|one| (one.id, one)).collect(),
        };
        Self(stations.iter().map(place).collect())
    }

    /// Returns the sender's counters of a stream.
    pub fn stream(&self, plan: &FlowPlan) -> Option<&'a StreamCounters> {
        self.0[plan.tx].streams.get(&plan.id).copied()
    }

    /// Returns the sender's counters of a connection.
    pub fn sender(&self, plan: &FlowPlan) -> Option<&'a SenderCounters> {
        self.0[plan.tx].senders.get(&plan.id).copied()
    }

    /// Returns the receiver's counters of a connection.
    fn receiver(&self, plan: &FlowPlan) -> Option<&'a ReceiverCounters> {
        plan.rx.iter().find_map(|port| self.0[*port].receivers.get(&plan.id).copied())
    }

    /// Returns the counters of a control stream's receivers, where they exist.
    fn control(&self, plan: &FlowPlan) -> impl Iterator<Item = &'a ControlCounters> {
        plan.rx.iter().filter_map(|port| self.0[*port].control.get(&plan.id).copied())
    }

    /// Returns the counters of both ends of a flow.
    pub fn tally(&self, plan: &FlowPlan) -> FlowTally {
        let tx = match plan.kind {
            FlowKind::Stream(_) => self.stream(plan).map(|s| (s.frames, s.bytes)),
            FlowKind::Roce(_) => self.sender(plan).map(|s| (s.frames, s.bytes)),
        };
        let received = |port: &usize| {
            let place = &self.0[*port];
            let control = place.control.get(&plan.id).map(|c| (c.frames, c.bytes));
            place.sinks.get(&plan.id).map(|s| (s.frames, s.bytes)).or(control).unwrap_or_default()
        };
        FlowTally { tx: tx.unwrap_or_default(), rx: plan.rx.iter().map(received).collect() }
    }

    /// Returns the figures of both ends of a flow, with the distribution.
    fn figures(&self, plan: &FlowPlan) -> FlowFigures {
        let mut figures = FlowFigures::of_sender(self.stream(plan).map(Sent::of));
        for sink in plan.rx.iter().filter_map(|port| self.0[*port].sinks.get(&plan.id)) {
            let latency = plan.metrics.latency.map(|_| sink.latency.clone());
            figures.add(&Received::of(sink), latency);
        }
        figures
    }
}

fn flow(
    seen: &Seen<'_>,
    places: &Places<'_>,
    more: &FlowSeen<'_>,
    tally: FlowTally,
    figures: FlowFigures,
) -> report::Flow {
    let plan = more.plan;
    let ((frames_tx, bytes_tx), (frames_rx, bytes_rx)) = (tally.tx, tally.received());
    let name = |port: &usize| seen.plan[*port].name.clone();
    let received = &figures.received;
    let control = || places.control(plan);
    // MAC control frames have no probe and are counted apart from those that have one.
    let first = received.first.or_else(|| control().filter_map(|c| c.first_arrival).min());
    let last = received.last.or_else(|| control().filter_map(|c| c.last_arrival).max());
    // Not negative, where a frame of the last run has arrived since.
    let since = |at: Instant| more.started.map(|start| at.total_since(start.min(at)).as_secs_f64());
    let connection = match &plan.kind {
        FlowKind::Stream(_) => None,
        FlowKind::Roce(transport) => connection(plan, transport, places),
    };
    report::Flow {
        name: plan.name.clone(),
        metrics: plan.metrics,
        port_tx: name(&plan.tx),
        port_rx: plan.rx.iter().map(name).collect(),
        frames_rx_by_port: tally.rx.iter().map(|(frames, _)| *frames).collect(),
        transmit: more.transmit.name(),
        frames_tx,
        frames_rx,
        bytes_tx,
        bytes_rx,
        frames_tx_rate: more.rates.frames_tx,
        frames_rx_rate: more.rates.frames_rx,
        bytes_tx_rate: more.rates.bytes_tx,
        bytes_rx_rate: more.rates.bytes_rx,
        loss_percent: loss(plan, &tally),
        queued_frames: None,
        duplicates: received.duplicates,
        reordered: received.reordered,
        damaged: received.damaged,
        damage: received.damage.map(|damage| damage.to_string()),
        ce_marked: received.ce_marked,
        cnp: connection.as_ref().map(|c| (c.cnps_tx, c.cnps_rx)),
        pacing: figures.sent.and_then(|sent| pacing(seen, more, &sent)),
        latency: latency(&seen.stamps, &plan.metrics, &figures),
        first_rx_s: first.and_then(since),
        last_rx_s: last.and_then(since),
        connection,
    }
}

/// Returns the lost frames in percent of those sent, at the receiver with the most frames,
/// because a flooded frame arrives at several. Retransmissions of a connection count as sent.
fn loss(plan: &FlowPlan, tally: &FlowTally) -> f64 {
    let most = tally.rx.iter().map(|(frames, _)| *frames).max().unwrap_or(0);
    // Frames that are spread arrive once in all, each at one of the receivers.
    let most = most.max(if is_spread(plan) { tally.received().0 } else { 0 });
    if tally.tx.0 == 0 || !plan.is_counted() || plan.rx.is_empty() {
        return 0.0;
    }
    tally.tx.0.saturating_sub(most) as f64 * 100.0 / tally.tx.0 as f64
}

/// True if a changing header field spreads the frames of a flow over several receivers.
fn is_spread(plan: &FlowPlan) -> bool {
    match &plan.kind {
        FlowKind::Stream(stream) => plan.rx.len() > 1 && !stream.template.edits.is_empty(),
        FlowKind::Roce(_) => false,
    }
}

fn latency(stamps: &Stamps, wanted: &Metrics, figures: &FlowFigures) -> Option<report::Latency> {
    // Connections measure it in any case, and it is shown only where it is configured.
    wanted.latency?;
    let all = figures.received.latency;
    (all.count > 0).then(|| report::Latency::new(stamps, &all, figures.distribution.clone()))
}

/// Returns the accuracy of a stream's pacing between its first and its last frame, if its rate
/// can be expressed in frames.
fn pacing(seen: &Seen<'_>, of: &FlowSeen<'_>, counted: &Sent) -> Option<report::Pacing> {
    let FlowKind::Stream(planned) = &of.plan.kind else { return None };
    let stream = of.changed.unwrap_or(planned);
    // Recorded times have no rate to compare with.
    if stream.recording.as_ref().is_some_and(|recording| recording.timed) {
        return None;
    }
    let (first, last) = (counted.first?, counted.last?);
    let span = last.total_since(first).as_secs_f64();
    // A rate needs two frames, and bursts have none that is the same throughout.
    if counted.frames < 2 || span <= 0.0 || stream.pace.burst.is_some() {
        return None;
    }
    // Between the first and the last frame there is one interval less than frames.
    let sent_fps = (counted.frames - 1) as f64 / span;
    let mean_size = counted.bytes as f64 / counted.frames as f64;
    let asked_fps = self::asked_fps(stream, seen.ports[of.plan.tx].speed.get() as f64, mean_size);
    let gap = |time: Duration| seen.stamps.measured(ns(time));
    Some(report::Pacing {
        asked_fps,
        sent_fps,
        error_ppm: (sent_fps / asked_fps - 1.0) * 1e6,
        gap_min_ns: gap(counted.gaps.min),
        gap_p50_ns: gap(counted.gaps.p50),
        gap_p99_ns: gap(counted.gaps.p99),
        gap_max_ns: gap(counted.gaps.max),
    })
}

/// Returns the configured frames per second of a stream, on a line of `line` bits per second and
/// with frames of `mean_size` bytes on average.
pub(super) fn asked_fps(stream: &StreamPlan, line: f64, mean_size: f64) -> f64 {
    const LINE_OVERHEAD: f64 = contracts::frame::LINE_OVERHEAD_BYTES as f64;
    match stream.pace.rate {
        Rate::Frames(fps) => fps as f64,
        Rate::FrameBits(rate) => rate.get() as f64 / (mean_size * 8.0),
        Rate::LineShare(ppm) => line * f64::from(ppm) / 1e6 / ((mean_size + LINE_OVERHEAD) * 8.0),
    }
}

fn connection(
    plan: &FlowPlan,
    transport: &TransportPlan,
    places: &Places<'_>,
) -> Option<report::Connection> {
    let (sender, receiver) = (places.sender(plan)?, places.receiver(plan)?);
    let Transport::Roce(roce) = &transport.kind else { return None };
    Some(report::Connection {
        src_qp: roce.src_qp.get(),
        dst_qp: roce.dst_qp.get(),
        src_ip: transport.src_ip,
        dst_ip: transport.dst_ip,
        retransmitted: sender.retransmitted,
        timeouts: sender.timeouts,
        out_of_order: receiver.out_of_order,
        messages_tx: sender.completions.messages,
        messages_rx: receiver.messages,
        completion_ns: sender.completions.fct.map(ns),
        acks_tx: receiver.acks,
        acks_rx: sender.acks,
        naks_tx: receiver.naks,
        naks_rx: sender.naks,
        cnps_tx: receiver.cnps,
        cnps_rx: sender.cnps,
        rate_bps: sender.rate.get(),
    })
}

/// True for a flow of MAC control frames.
pub fn is_control(plan: &FlowPlan) -> bool {
    matches!(&plan.kind, FlowKind::Stream(stream) if stream.path == Path::Control)
}

fn ns(span: impl Into<Total>) -> f64 {
    span.into().as_nanos_f64()
}

/// Maximum time from a message to the PFC that it causes. A choice, far above that of any device: a pause
/// that begins later has another cause.
const LATEST: Duration = Duration::from_millis(10);

/// Pauses that followed from messages.
#[derive(Clone, PartialEq, Debug, Default)]
struct Proxied {
    /// From the message to the PFC, in nanoseconds, sorted.
    latencies_ns: Vec<f64>,
    /// Largest difference between the quanta of a PFC frame and the time of its message in quanta of that
    /// link, rounded up; signed.
    error: f64,
}

/// Returns the pauses that began at other ports after the last 128 messages of port `n`, each before the
/// next message about its priority; `None` without any.
fn proxied(seen: &Seen<'_>, n: usize) -> Option<Proxied> {
    let told = &seen.stations[n].meter.as_ref()?.messages.told;
    let others = seen.stations.iter().zip(seen.ports).enumerate().filter(|(m, _)| *m != n);
    let begun = others.flat_map(|(_, (station, port))| {
        let begun = station.meter.iter().flat_map(|meter| &meter.messages.begun);
        begun.map(|begun| (*begun, port.speed))
    });
    pair(told, &begun.collect::<Vec<_>>())
}

fn pair(told: &[ToldPause], begun: &[(BegunPause, BitsPerSec)]) -> Option<Proxied> {
    let mut found = Proxied::default();
    for (n, message) in told.iter().enumerate() {
        let next = told[n + 1..].iter().find(|next| next.priority == message.priority);
        // A pause behind the next message about the priority follows from that one.
        let until = next.map_or(Instant::NEVER, |next| next.at);
        let until = until.min(message.at.saturating_add(LATEST));
        let follows = |(begun, _): &&(BegunPause, BitsPerSec)| {
            begun.priority == message.priority && (message.at..until).contains(&begun.at)
        };
        // A message may pause several ports, and the first of them tells its latency.
        let first = begun.iter().filter(follows).min_by_key(|(begun, _)| begun.at);
        let Some((pause, rate)) = first.filter(|_| message.pause > Duration::ZERO) else {
            continue;
        };
        found.latencies_ns.push(pause.at.since(message.at).as_nanos_f64());
        let error = f64::from(pause.quanta.0) - quanta(message.pause, *rate);
        // The largest in either direction, with its sign.
        if error.abs() > found.error.abs() {
            found.error = error;
        }
    }
    found.latencies_ns.sort_by(f64::total_cmp);
    (!found.latencies_ns.is_empty()).then_some(found)
}

/// Returns a time in quanta of a link, rounded up, as far as one frame can have them.
fn quanta(pause: Duration, rate: BitsPerSec) -> f64 {
    let quantum = Quanta(1).at(rate).as_picos().max(1);
    pause.as_picos().div_ceil(quantum).min(Quanta::MAX.0.into()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::units::Priority;

    const P3: Priority = Priority::ALL[3];

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    fn told(us: u64, priority: Priority, pause: u64) -> ToldPause {
        ToldPause { at: at(us), priority, pause: Duration::from_nanos(pause) }
    }

    fn begun(us: u64, quanta: u16) -> (BegunPause, BitsPerSec) {
        let pause = BegunPause { at: at(us), priority: P3, quanta: Quanta(quanta) };
        (pause, BitsPerSec::gbps(1))
    }

    #[test]
    fn each_pause_belongs_to_the_message_before_it() {
        // A quantum is 512 ns: 1000 ns are two of them.
        let messages = [told(0, P3, 1_000), told(100, P3, 1_000), told(200, P3, 0)];
        let pauses = [begun(7, 2), begun(105, 1), begun(150, 2), begun(205, 9)];
        let found = pair(&messages, &pauses).unwrap();
        assert_eq!((found.latencies_ns, found.error), (vec![5e3, 7e3], -1.0));
        // A proxy that sends none, or one for another priority, or late, is not measured.
        assert_eq!(pair(&messages, &[]), None);
        assert_eq!(pair(&[told(0, Priority::ALL[4], 1_000)], &pauses), None);
        assert_eq!(pair(&[told(0, P3, 1_000)], &[begun(10_001, 2)]), None);
        // No frame has more than 65,535 quanta.
        let long = pair(&[told(0, P3, 4_000_000_000)], &[begun(1, u16::MAX)]).unwrap();
        assert_eq!(long.error, 0.0);
    }
}
