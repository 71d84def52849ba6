//! Resolves RoCEv2 connections: their flows, the RoCEv2 settings of ports, and the DCQCN of reaction points.

use std::collections::HashMap;

use super::captures::number;
use super::devices::Devices;
use super::findings::Findings;
use super::ports::Ports;
use super::queue_pairs::{self, PAIRS_MAX, QueuePair};
use crate::plan::{FlowKind, FlowPlan, Metrics};
use congestion::DcqcnPlan;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Dscp, Pcp, Priority};
use host::{FlowId, Marking, Message, Operation, RocePlan, Tag, Transport, TransportPlan};
use otg::model::Config;
use otg::model::config::PortProtocol;
use otg::model::rocev2::{
    AckAndNak, Acknowledgement, Dcqcn, DscpValue, Ecn as EcnWord, PortConnection, PortSettings,
    Rocev2Flow, SizeUnit, StatefulFlow, TransmitType, TxPort, Verb,
};
use wire::ip::Ecn;

/// A timeout longer than any test, for senders without retransmission.
const NEVER: Duration = Duration::from_secs(86_400);

/// Bytes on the line beside a frame: preamble and inter-frame gap (802.3 3.1.1, 4.4.2).
const BESIDE_FRAME: u64 = 20;

/// The RoCEv2 settings of a port and their path.
type Settings<'a> = Option<(&'a PortSettings, String)>;

/// The state of the resolution of connections.
struct Reader<'a, 'p> {
    ports: &'p mut Ports,
    devices: &'p Devices,
    pairs: &'p [QueuePair<'a>],
    /// Per port.
    settings: &'p [Settings<'a>],
    /// Queue pairs in use, by port, number and direction (true for the sender), with the name of
    /// the flow. One may send a flow and receive another.
    used: HashMap<(usize, u32, bool), String>,
    cx: &'p mut Findings,
}

/// A flow during its resolution.
struct Connection<'f, 'p, 'a> {
    flow: &'f Rocev2Flow,
    from: &'p QueuePair<'a>,
    to: &'p QueuePair<'a>,
    /// The sending and the receiving port.
    ports: (usize, usize),
    path: String,
}

/// A share of a line rate, for several flows together.
#[derive(Clone, Copy)]
struct Share {
    per_cent: u64,
    flows: u64,
}

/// Appends the flows of all connections to `plans`.
pub(super) fn flows(
    config: &Config,
    ports: &mut Ports,
    devices: &Devices,
    plans: &mut Vec<FlowPlan>,
    cx: &mut Findings,
) {
    let pairs = queue_pairs::read(config, devices, cx);
    let settings = settings(config, ports, cx);
    let Some(StatefulFlow::Rocev2(list)) = &config.stateful_flows else { return };
    let (pairs, settings) = (&pairs[..], &settings[..]);
    let mut reader = Reader { ports, devices, pairs, settings, used: HashMap::new(), cx };
    for (i, flows) in list.iter().enumerate() {
        for (t, tx) in flows.tx_ports.iter().enumerate() {
            reader.port(tx, &format!("stateful_flows.rocev2[{i}].tx_ports[{t}]"), plans);
        }
    }
}

/// Returns the RoCEv2 settings of each port.
fn settings<'a>(config: &'a Config, ports: &Ports, cx: &mut Findings) -> Vec<Settings<'a>> {
    let mut all: Vec<Settings<'a>> = ports.plans.iter().map(|_| None).collect();
    let options = config.options.iter().flat_map(|o| &o.per_port_options);
    for (i, options) in options.enumerate() {
        let path = format!("options.per_port_options[{i}]");
        let name = options.port_name.as_deref().unwrap_or_default();
        let Some(port) = ports.find(name, &format!("{path}.port_name"), cx) else { continue };
        for (p, protocol) in options.protocols.iter().enumerate() {
            let path = format!("{path}.protocols[{p}].rocev2");
            match protocol {
                PortProtocol::Rocev2(_) if all[port].is_some() => {
                    cx.error(path, format!("is set for port `{name}` already; keep one"));
                }
                PortProtocol::Rocev2(settings) => all[port] = Some((settings, path)),
                PortProtocol::Other { .. } => {}
            }
        }
    }
    all
}

impl<'a> Reader<'a, '_> {
    /// Resolves the flows that a port sends.
    fn port(&mut self, tx: &TxPort, path: &str, plans: &mut Vec<FlowPlan>) {
        let name = tx.port_name.as_ref();
        let port = name.and_then(|n| self.ports.find(n, &format!("{path}.port_name"), self.cx));
        let Some(TransmitType::TargetLineRate(target)) = &tx.transmit_type else { return };
        let path = format!("{path}.transmit_type.target_line_rate");
        if !(1..=100).contains(&target.value) {
            let what = format!("{} is no share of a line; write 1 to 100", target.value);
            self.cx.error(format!("{path}.value"), what);
        }
        if target.flows.len() > PAIRS_MAX / 2 {
            let what = format!("{} flows are more than {}", target.flows.len(), PAIRS_MAX / 2);
            self.cx.error(format!("{path}.flows"), what);
            return;
        }
        for (f, flow) in target.flows.iter().enumerate() {
            let path = format!("{path}.flows[{f}]");
            let (ports, devices) = (&*self.ports, self.devices);
            let ends = queue_pairs::ends(flow, self.pairs, ports, devices, &path, self.cx);
            let Some((from, to)) = ends else { continue };
            let ports =
                (devices.interface(from.endpoint).port, devices.interface(to.endpoint).port);
            let connection = Connection { flow, from, to, ports, path };
            // The plan is made in spite of errors here, so that its own are found as well.
            self.places(&connection, port);
            let share = Share { per_cent: target.value, flows: target.flows.len() as u64 };
            let id = FlowId(plans.len() as u32);
            let Some(plan) = self.plan(&connection, id, share) else { continue };
            for port in [ports.0, ports.1] {
                self.ports.carry(port, plan.longest(), &flow.name, self.cx);
            }
            // Connections are always measured, as their counters do not depend on the
            // configuration.
            let metrics = Metrics { enable: true, loss: true, timestamps: true, latency: None };
            plans.push(FlowPlan {
                name: flow.name.clone(),
                id,
                tx: ports.0,
                rx: vec![ports.1],
                kind: FlowKind::Roce(Box::new(plan)),
                metrics,
                resolve: Vec::new(),
            });
        }
    }

    /// Checks that a flow belongs to its port, that no other flow uses its queue pairs, and that
    /// its addresses are those of its ports.
    fn places(&mut self, c: &Connection<'_, '_, '_>, port: Option<usize>) {
        let name = |p: usize| self.ports.plans[p].name.as_str();
        if port.is_some_and(|p| p != c.ports.0) {
            let what = format!(
                "`{}` is on port `{}`; list the flow under that port",
                c.from.name,
                name(c.ports.0)
            );
            self.cx.error(format!("{}.tx_endpoint", c.path), what);
        }
        for (port, end, sends) in [(c.ports.0, c.from, true), (c.ports.1, c.to, false)] {
            let number = end.number.get();
            // A station finds the connection of a packet by the number of its queue pair.
            if let Some(other) = self.used.insert((port, number, sends), c.flow.name.clone()) {
                let what = format!(
                    "queue pair {number} of port `{}` {} flow `{other}` already; give each flow \
                     queue pairs with numbers of their own",
                    name(port),
                    if sends { "sends" } else { "receives" },
                );
                self.cx.error(&c.path, what);
            }
            let mac = self.devices.interface(end.endpoint).plan.mac;
            if mac != self.ports.plans[port].mac {
                let what = format!(
                    "connections of port `{}` come from its first interface ({}), not from {mac}; \
                     put the address on that interface",
                    name(port),
                    self.ports.plans[port].mac
                );
                self.cx.error(&c.path, what);
            }
        }
    }

    /// Returns the plan of a flow; `None` after an error was reported.
    fn plan(
        &mut self,
        c: &Connection<'_, '_, '_>,
        id: FlowId,
        share: Share,
    ) -> Option<TransportPlan> {
        let before = self.cx.errors();
        let (from, to) =
            (self.devices.interface(c.from.endpoint), self.devices.interface(c.to.endpoint));
        if !self.devices.reaches(c.from.endpoint, c.to.address) {
            let what = "connections run between devices of one network, not through routers; give \
                        both ends addresses with one prefix";
            self.cx.error(&c.path, what);
        }
        if from.plan.vlans.len() > 1 {
            self.cx.error(&c.path, "connections carry at most one tag; take the others out");
        }
        let tag = from.plan.vlans.first().map(|(vid, pcp)| Tag {
            vid: Some(*vid),
            pcp: Pcp::new(*pcp & 7).expect("three bits are a priority"),
        });
        // Tagged frames have the priority of their tag, others that of their DSCP.
        let own = tag.map_or(of_dscp(c.from.dscp), |t| of_pcp(t.pcp));
        let bytes = u64::from(c.flow.message_size) * unit(c.flow.message_size_unit);
        if bytes == 0 {
            let what = "a message of 0 octets is none; write 1 or more";
            self.cx.error(format!("{}.message_size", c.path), what);
        }
        let roce = self.roce(c)?;
        let mut plan = TransportPlan {
            id,
            src: from.plan.mac,
            dst: to.plan.mac,
            src_ip: c.from.address,
            dst_ip: c.to.address,
            tag,
            // Layer 1 may let another priority pause the queue.
            priority: self.ports.stopped_by(c.ports.0, own.get()).unwrap_or(own),
            dscp: c.from.dscp,
            ecn: ecn(c.from.parameters.ecn),
            size: c.from.mtu,
            // Set below, once the length of a frame is known.
            rate: None,
            start: Instant::ZERO,
            stop: Instant::NEVER,
            message: Some(Message { bytes, count: u64::MAX, every: Duration::ZERO }),
            work: host::Work::default(),
            kind: Transport::Roce(roce),
        };
        // OTG configures the payload, and the plan has the length of frames.
        plan.size = c.from.mtu + plan.overhead();
        plan.rate = self.rate(c, plan.size, share);
        // The check of the plan would report the same without the fields.
        if self.cx.errors() > before {
            return None;
        }
        match plan.check() {
            Ok(()) => Some(plan),
            Err(error) => {
                self.cx.error(&c.path, format!("{error}; change ib_mtu ({})", c.from.mtu));
                None
            }
        }
    }

    /// Returns the rate of one of the flows that have a share of the line rate, in bits of frames;
    /// `None` for the full line rate.
    fn rate(&mut self, c: &Connection<'_, '_, '_>, size: u32, share: Share) -> Option<BitsPerSec> {
        let Share { per_cent, flows } = share;
        // Without a rate the sender fills the line, which a rounded rate would not.
        if (per_cent, flows) == (100, 1) {
            return None;
        }
        let line = self.ports.lines[c.ports.0];
        if !line.known {
            let what = format!(
                "{per_cent} per cent are taken of {}, because the line's rate is not known here; \
                 say the speed in layer1",
                line.rate
            );
            self.cx.warn(&c.path, what);
        }
        // The share is of the line, with preamble and gap; the rate of the plan is that of frames.
        let (size, all) = (u128::from(size), u128::from(u64::from(size) + BESIDE_FRAME));
        let share = u128::from(line.rate.get()) * u128::from(per_cent) * size;
        BitsPerSec::new((share / (100 * u128::from(flows) * all)) as u64)
    }

    /// Returns the RoCEv2 plan of a flow: the sender's port gives retransmission and reaction to
    /// congestion, the receiver's port acknowledgements and notifications.
    fn roce(&mut self, c: &Connection<'_, '_, '_>) -> Option<RocePlan> {
        let path = format!("{}.rocev2_verb", c.path);
        let (operation, immediate) = match &c.flow.rocev2_verb {
            None | Some(Verb::Write) => (Operation::Write, None),
            Some(Verb::Send) => (Operation::Send, None),
            Some(Verb::WriteWithImmediate(data)) => (Operation::Write, Some(data)),
            Some(Verb::SendWithImmediate(data)) => (Operation::Send, Some(data)),
            Some(_) => {
                self.cx.error(path, "read is not known here; take `write` or `send`");
                return None;
            }
        };
        let mut plan = RocePlan::new(c.from.number, c.to.number);
        plan.operation = operation;
        plan.immediate = match immediate {
            None => None,
            Some(data) => {
                let path = format!("{path}.immediate_data");
                Some(number(&data.immediate_data, u32::BITS, &path, self.cx)? as u32)
            }
        };
        (plan.src_port, plan.first_psn) = (c.from.src_port, c.from.first_psn);
        if let Some((given, path)) = &self.settings[c.ports.0] {
            if let Some(PortConnection::ReliableConnection(how)) = &given.connection_type {
                let path = format!("{path}.connection_type.reliable_connection");
                plan.timeout = timeout(how, &path, self.cx);
            }
            if let Some(dcqcn) = &given.dcqcn_settings {
                let (rate, path) =
                    (self.ports.lines[c.ports.0].rate, format!("{path}.dcqcn_settings"));
                plan.dcqcn = self::dcqcn(dcqcn, rate, &path, self.cx);
            }
        }
        // The receiver's port decides about the answers.
        if let Some((given, path)) = &self.settings[c.ports.1] {
            if let Some(cnp) = &given.cnp {
                let path = format!("{path}.cnp");
                plan.cnp = marking(cnp.ip_dscp.as_ref(), &path, self.cx);
                plan.cnp_interval = Some(Duration::from_micros(cnp.cnp_delay_timer.into()));
                sent_as(cnp.ecn_value, Ecn::Ect0, &path, self.cx);
            }
            if let Some(PortConnection::ReliableConnection(how)) = &given.connection_type {
                let path = format!("{path}.connection_type.reliable_connection");
                plan.ack = acknowledgements(how, ecn(c.from.parameters.ecn), &path, self.cx);
            }
        }
        Some(plan)
    }
}

/// Returns the priority of a DSCP on untagged frames: its upper bits, the class selector.
fn of_dscp(dscp: Dscp) -> Priority {
    Priority::new(dscp.get() >> 3).expect("three bits are a priority")
}

fn of_pcp(pcp: Pcp) -> Priority {
    Priority::new(pcp.get()).expect("both are 0 to 7")
}

const fn unit(unit: SizeUnit) -> u64 {
    match unit {
        SizeUnit::Bytes => 1,
        SizeUnit::Kb => 1_000,
        SizeUnit::Mb => 1_000_000,
        SizeUnit::Gb => 1_000_000_000,
    }
}

const fn ecn(word: EcnWord) -> Ecn {
    match word {
        EcnWord::NonEct => Ecn::NotEct,
        EcnWord::Ect1 => Ecn::Ect1,
        EcnWord::Ect0 => Ecn::Ect0,
        EcnWord::Ce => Ecn::Ce,
    }
}

/// Returns the marking of responses.
fn marking(dscp: Option<&DscpValue>, path: &str, cx: &mut Findings) -> Marking {
    let given = dscp.map_or(DscpValue::default().value, |d| d.value);
    let dscp = u8::try_from(given).ok().and_then(Dscp::new).unwrap_or_else(|| {
        cx.error(format!("{path}.ip_dscp.value"), format!("{given} is no DSCP; write 0 to 63"));
        Dscp::MIN
    });
    Marking { priority: of_dscp(dscp), dscp }
}

/// Returns the retransmission timeout.
fn timeout(how: &AckAndNak, path: &str, cx: &mut Findings) -> Duration {
    if !how.enable_retransmission_timeout {
        return NEVER;
    }
    if how.retransmission_timeout_value == 0 {
        let what = "0 ms would repeat everything at once; write 1 or more";
        cx.error(format!("{path}.retransmission_timeout_value"), what);
    }
    let what = "is ignored: senders repeat until they are stopped";
    cx.warn(format!("{path}.retransmission_retry_count"), what);
    Duration::from_millis(how.retransmission_timeout_value.max(1).into())
}

/// Returns the marking of ACKs and NAKs, which must be the same.
fn acknowledgements(how: &AckAndNak, data: Ecn, path: &str, cx: &mut Findings) -> Option<Marking> {
    let mut of = |given: &Option<Acknowledgement>, name: &str| {
        given.as_ref().map(|given| {
            let path = format!("{path}.{name}");
            sent_as(given.ecn_value, data, &path, cx);
            marking(given.ip_dscp.as_ref(), &path, cx)
        })
    };
    let (ack, nak) = (of(&how.ack, "ack"), of(&how.nak, "nak"));
    if let (Some(ack), Some(nak)) = (ack, nak) {
        if ack != nak {
            let what = "acknowledgements of both kinds are sent alike; give both one DSCP";
            cx.error(format!("{path}.nak.ip_dscp"), what);
        }
    }
    ack.or(nak)
}

/// Warns if responses are sent with an ECN other than the configured one.
fn sent_as(given: EcnWord, is: Ecn, path: &str, cx: &mut Findings) {
    if ecn(given) != is {
        let sent = match is {
            Ecn::NotEct => EcnWord::NonEct,
            Ecn::Ect1 => EcnWord::Ect1,
            Ecn::Ect0 => EcnWord::Ect0,
            Ecn::Ce => EcnWord::Ce,
        };
        let what = format!("`{}` is ignored: they are sent as `{}`", given.word(), sent.word());
        cx.warn(format!("{path}.ecn_value"), what);
    }
}

/// The denominator of OTG's alpha and g.
const ONE: u64 = 1024;

/// Bytes per unit of the byte counter, as in the firmware from which OTG took its numbers.
const COUNTED: u64 = 64;

/// Returns the reaction point of flows on a link of rate `line`, or `None` if DCQCN is disabled.
fn dcqcn(given: &Dcqcn, line: BitsPerSec, path: &str, cx: &mut Findings) -> Option<DcqcnPlan> {
    if !given.enable_dcqcn {
        return None;
    }
    let before = cx.errors();
    for (name, value, range) in [
        ("alpha_g", given.alpha_g, 1..=1023),
        ("initial_alpha", given.initial_alpha, 1..=1023),
        ("alpha_update_period", given.alpha_update_period, 1..=u64::from(u32::MAX)),
        ("rate_reduction_time_period", given.rate_reduction_time_period, 0..=u64::from(u32::MAX)),
        ("maximum_rate_decrement_at_time", given.maximum_rate_decrement_at_time.into(), 1..=100),
        ("rate_increment_time", given.rate_increment_time, 1..=u64::from(u32::MAX)),
        ("rate_increment_byte_counter", given.rate_increment_byte_counter, 1..=32767),
        ("rate_increment_threshold", given.rate_increment_threshold.into(), 1..=31),
    ] {
        if !range.contains(&value) {
            let what =
                format!("{value} is out of range; write {} to {}", range.start(), range.end());
            cx.error(format!("{path}.{name}"), what);
        }
    }
    let mut share = |name: &str, per_cent: f64| {
        if !(0.0..=100.0).contains(&per_cent) {
            let what = format!("{per_cent} is no share of a line; write 0 to 100 per cent");
            cx.error(format!("{path}.{name}"), what);
        }
        // Rounded down, and `None` for a share that comes to nothing.
        BitsPerSec::new((line.get() as f64 * per_cent / 100.0) as u64)
    };
    let least = BitsPerSec::new(1).expect("one is not zero");
    let first_rate = share("initial_rate_after_first_cnp", given.initial_rate_after_first_cnp);
    let min_rate = share("minimum_rate_limmit", given.minimum_rate_limmit).unwrap_or(least);
    let additive = share("additive_increment_rate", given.additive_increment_rate).unwrap_or(least);
    let hyper = share("hyper_increment_rate", given.hyper_increment_rate);
    if cx.errors() > before {
        return None;
    }
    // Exact, because GAIN_ONE is a multiple of OTG's denominator.
    let part = |n: u64| DcqcnPlan::GAIN_ONE / ONE as u32 * n as u32;
    Some(DcqcnPlan {
        // OTG gives the weight of the old alpha, the plan that of the new one.
        gain: part(ONE - given.alpha_g),
        initial_alpha: part(given.initial_alpha),
        alpha_period: Duration::from_micros(given.alpha_update_period),
        increase_period: Duration::from_micros(given.rate_increment_time),
        increase_bytes: Bytes(given.rate_increment_byte_counter * COUNTED),
        recoveries: given.rate_increment_threshold,
        additive,
        hyper,
        min_rate,
        decrease_period: Duration::from_micros(given.rate_reduction_time_period),
        decrease_max: given.maximum_rate_decrement_at_time as u8,
        clamp_target: given.clamp_target_rate,
        first_rate,
    })
}
