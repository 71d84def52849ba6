//! Conversion of a trial for the traffic generator, which runs it in either world: to a configuration of the Open
//! Traffic Generator model, which anybody can run again, and to plans of connections with acknowledgements, which the
//! model does not have.

use core::net::Ipv6Addr;

use ::otg::model::capture::{Capture, Format};
use ::otg::model::config::{self, Config, Ieee8021Qbb, Ieee8023x, Layer1, PauseKind, Speed};
use ::otg::model::flow::{
    self, Burst, FixedPackets, FixedSeconds, FlowDelay, FlowDuration, FlowMetrics, FlowRate,
    FlowSize, InterBurstGap, LatencyMetrics, LatencyMode,
};
use ::otg::model::header::{
    FlowCustom, FlowEthernet, FlowHeader, FlowIpv4, FlowIpv6, FlowUdp, FlowVlan, Ipv4Dscp,
    Ipv4Priority,
};
use ::otg::model::pattern::{Counter, Pattern, Values};
use ::otg::model::read::MacText;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Dscp, Mac, Pcp, Quanta};
use host::plan::Tag;
use host::{FlowId, SenderCounters, TcpPlan, Transport, TransportPlan};
use wire::ip::Ecn;

use crate::bench::Acknowledged;
use crate::setup::{FlowControl, Marking, Setup, TesterPort, line_time};
use crate::trial::{
    Addresses, Bursts, Control, Flow, LEARNING, Limit, Mark, Obeys, Port, Rate, Stateful, Trial,
    Version,
};

/// Bytes of a frame that a capture keeps: all headers, and the probe behind them.
const SNAP: u32 = 128;

/// Bytes that a capture keeps of frames that are to be read whole.
const WHOLE: u32 = 2048;

/// Number of packet numbers that a port with MACsec has for frames before those of a test: for those of
/// learning.
pub const BEFORE: u64 = 1000;

/// Time for the learning frames, before the trial's own traffic.
pub fn lead(setup: &Setup) -> Duration {
    // The last of three learning frames at a tenth of the line begins after 20 times its own, and none is longer.
    line_time(setup.slowest(), setup.max_frame).saturating_mul(20)
}

/// Returns the configuration. Its first flows are those that the tester sends in the trial, in that order;
/// `location` is where a port is.
pub fn config(trial: &Trial, setup: &Setup, location: impl Fn(Port) -> String) -> Config {
    let ports = (0..setup.ports.len()).map(Port);
    let lead = lead(setup);
    let mut flows: Vec<flow::Flow> = Vec::new();
    for (n, flow) in trial.flows[..trial.own_flows()].iter().enumerate() {
        flows.push(data(&format!("flow{n}"), flow, setup, lead));
    }
    // Behind the data flows, whose numbers are those of the trial.
    for port in ports.clone().filter(|_| !trial.unknown) {
        flows.push(learning(port, setup));
    }
    for (n, control) in trial.control.iter().enumerate() {
        flows.push(octets(&format!("control{n}"), control, setup, lead));
    }
    let name = |port: Port| setup.port(port).name.clone();
    let of_port = |port| config::Port {
        name: name(port),
        location: Some(location(port)),
        ..config::Port::default()
    };
    Config {
        ports: ports.clone().map(of_port).collect(),
        layer1: ports.clone().map(|port| layer1(trial, setup, port)).collect(),
        captures: vec![Capture {
            name: "all".to_owned(),
            port_names: ports.map(name).collect(),
            format: Format::Pcapng,
            overwrite: false,
            packet_size: Some(kept(trial, setup)),
            ..Capture::default()
        }],
        flows,
        ..Config::default()
    }
}

/// Returns the bytes that a capture keeps of a frame. A protected frame is read as a whole.
fn kept(trial: &Trial, setup: &Setup) -> u32 {
    let secured = setup.overhead();
    // A frame can be decrypted only as a whole.
    let all = if secured > 0 { setup.max_frame + secured } else { 0 };
    all.max(if trial.whole { WHOLE } else { SNAP })
}

/// Returns the configuration for counters and latencies without captures.
pub fn counting(trial: &Trial, setup: &Setup, location: impl Fn(Port) -> String) -> Config {
    // The same traffic as with captures, so that both kinds of trials are comparable.
    let mut config = config(trial, setup, location);
    // Trials that are counted may last for hours, for which no capture has room.
    config.captures.clear();
    let mode = LatencyMode::CutThrough;
    let latency = LatencyMetrics { enable: true, mode, ..LatencyMetrics::default() };
    for metrics in config.flows[..trial.own_flows()].iter_mut().filter_map(|f| f.metrics.as_mut()) {
        metrics.latency = Some(latency.clone());
    }
    config
}

fn layer1(trial: &Trial, setup: &Setup, port: Port) -> Layer1 {
    // What a port obeys unless the trial says otherwise: the device's kind of flow control, without delay.
    let own = match setup.flow_control {
        FlowControl::Pfc => Obeys::Pfc(Quanta(0)),
        FlowControl::Pause => Obeys::Pause,
    };
    let flow_control = match trial.reaction(port).unwrap_or(own) {
        Obeys::Nothing => None,
        Obeys::Pause => Some(config::FlowControl {
            choice: Some(PauseKind::Ieee8023x),
            ieee_802_3x: Some(Ieee8023x::default()),
            ..config::FlowControl::default()
        }),
        // Without classes, each class has its own queue.
        Obeys::Pfc(Quanta(delay)) => Some(config::FlowControl {
            choice: Some(PauseKind::Ieee8021qbb),
            ieee_802_1qbb: Some(Ieee8021Qbb { pfc_delay: delay.into(), ..Ieee8021Qbb::default() }),
            ..config::FlowControl::default()
        }),
    };
    let name = &setup.port(port).name;
    Layer1 {
        name: format!("link of {name}"),
        port_names: vec![name.clone()],
        // The MTU of the model is without Ethernet header and FCS.
        mtu: setup.max_frame.max(longest(trial)) - 18 + setup.overhead(),
        // Frames to other addresses are evidence, too: flooded or wrongly forwarded ones.
        promiscuous: true,
        // Ports without a link rate of their own are paced at this one.
        speed: speed(setup.port(port).rate),
        flow_control,
        ..Layer1::default()
    }
}

/// Returns the length of the longest frame that is sent byte for byte, FCS included.
fn longest(trial: &Trial) -> u32 {
    trial.control.iter().map(|control| control.octets.len() as u32 + 4).max().unwrap_or(0)
}

/// Returns the model's word for a rate; `None` if it has none.
fn speed(rate: BitsPerSec) -> Option<Speed> {
    // The model has words for whole Gb/s, and for other rates in Mb/s.
    let mbps = rate.get() / 1_000_000;
    let word = match mbps % 1_000 {
        0 => format!("speed_{}_gbps", mbps / 1_000),
        _ => format!("speed_{mbps}_fd_mbps"),
    };
    word.parse().ok()
}

fn value<T>(value: impl Into<T>) -> Option<Pattern<T>> {
    Some(Pattern::value(value.into()))
}

fn data(name: &str, flow: &Flow, setup: &Setup, lead: Duration) -> flow::Flow {
    let (src, dst) = (setup.port(flow.from), setup.port(flow.to));
    // The queue of the generator, which pauses of this priority hold; the frame is marked with its own.
    let queue = flow.held_by.unwrap_or(flow.priority);
    let mut packet = vec![addressed(flow, src.mac, dst.mac, queue.get())];
    let (dscp, tag) = match (flow.mark, &setup.marking) {
        (Some(Mark::Dscp(dscp)), _) => (dscp.get(), None),
        (Some(Mark::Pcp(pcp, vid)), _) => (0, Some((vid.get(), pcp.get()))),
        (None, Marking::Dscp(map)) => {
            let tag = flow.tag.map(|vid| (vid.get(), flow.priority.get()));
            (map[flow.priority.index()].get(), tag)
        }
        (None, Marking::Pcp(map, vid)) => (0, Some((vid.get(), map[flow.priority.index()].get()))),
    };
    if let Some((id, pcp)) = tag {
        let vlan = FlowVlan { id: value(id), priority: value(pcp), ..FlowVlan::default() };
        packet.push(FlowHeader::Vlan(vlan));
    }
    packet.push(ip(flow, src, dst, dscp));
    packet.push(FlowHeader::Udp(FlowUdp::default()));
    let rate = match flow.rate {
        Rate::Line(share) => {
            FlowRate::Percentage(setup.own_share(flow.from, share, flow.size) * 100.0)
        }
        Rate::Frames(n) => FlowRate::Pps(n),
    };
    let delay = delay(lead + flow.start);
    let duration = match flow.limit {
        Limit::Frames(n) => packets(n, delay),
        Limit::Time(time) => FlowDuration::FixedSeconds(FixedSeconds {
            seconds: time.as_secs_f64(),
            delay,
            ..FixedSeconds::default()
        }),
        Limit::Bursts(bursts) => burst(bursts, flow, setup, delay),
    };
    flow::Flow {
        packet,
        size: Some(FlowSize::Fixed(flow.size)),
        rate: Some(rate),
        duration: Some(duration),
        metrics: Some(FlowMetrics { enable: true, loss: true, ..FlowMetrics::default() }),
        ..flow::Flow::between(name, &src.name, &receivers(flow, setup))
    }
}

fn packets(packets: u32, delay: Option<FlowDelay>) -> FlowDuration {
    FlowDuration::FixedPackets(FixedPackets { packets, delay, ..FixedPackets::default() })
}

/// Returns the duration of a flow in bursts.
fn burst(bursts: Bursts, flow: &Flow, setup: &Setup, delay: Option<FlowDelay>) -> FlowDuration {
    let rate = setup.port(flow.from).rate;
    let line = line_time(rate, flow.size + setup.overhead());
    let interval = match flow.rate {
        Rate::Line(share) => line.as_nanos_f64() / share,
        Rate::Frames(n) => 1e9 / n.max(1) as f64,
    };
    let others = Duration::from_nanos_f64(f64::from(bursts.frames - 1) * interval);
    FlowDuration::Burst(Burst {
        bursts: bursts.count,
        packets: bursts.frames,
        inter_burst_gap: gap_after(rate, line + others, bursts.every),
        delay,
        ..Burst::default()
    })
}

/// Returns the gap between bursts of a length with the last gap of frames, one in each interval.
fn gap_after(rate: BitsPerSec, length: Duration, every: Duration) -> Option<InterBurstGap> {
    // The gap counts from the last bit of the burst, behind which is the least gap of frames.
    let length = length.saturating_sub(rate.time_for(Bytes(12)));
    Some(InterBurstGap::Nanoseconds(every.saturating_sub(length).as_nanos_f64()))
}

/// Returns the IP header of a flow. IPv6 addresses are those of benchmarks, 2001:2::/48 (RFC 5180),
/// with the IPv4 address in their last bits.
fn ip(flow: &Flow, src: &TesterPort, dst: &TesterPort, dscp: u8) -> FlowHeader {
    let ecn = ecn(flow.ecn);
    match flow.version {
        Version::V4 => {
            let to = match flow.addresses {
                Addresses::Nic(_, ip) => ip,
                _ => dst.ip,
            };
            let dscp = Ipv4Dscp { phb: value(dscp), ecn: value(ecn), ..Ipv4Dscp::default() };
            FlowHeader::Ipv4(Box::new(FlowIpv4 {
                src: value(src.ip),
                dst: value(to),
                priority: Some(Ipv4Priority::Dscp(dscp)),
                ..FlowIpv4::default()
            }))
        }
        Version::V6 => {
            let address = |port: &TesterPort| {
                // The last two groups of the mapped address are the IPv4 address.
                let [.., high, low] = port.ip.to_ipv6_mapped().segments();
                value(Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, high, low))
            };
            FlowHeader::Ipv6(Box::new(FlowIpv6 {
                src: address(src),
                dst: address(dst),
                traffic_class: value(dscp << 2 | ecn),
                ..FlowIpv6::default()
            }))
        }
    }
}

/// Returns the names of the ports that receive a flow's frames.
fn receivers<'s>(flow: &Flow, setup: &'s Setup) -> Vec<&'s str> {
    match flow.addresses {
        Addresses::Ports | Addresses::Sources(_) | Addresses::Nic(..) => {
            vec![&setup.port(flow.to).name]
        }
        Addresses::Broadcast | Addresses::Destinations(_) => {
            let all = setup.ports.iter().enumerate();
            let others = all.filter(|(n, _)| *n != flow.from.0);
            others.map(|(_, port)| port.name.as_str()).collect()
        }
    }
}

/// First of the addresses of flows with many.
const MANY: Mac = Mac([0x02, 0x53, 0x4d, 0, 0, 1]);

/// Returns the Ethernet header of a flow.
fn addressed(flow: &Flow, src: Mac, dst: Mac, queue: u8) -> FlowHeader {
    let many = |count: u32| {
        let (start, step) = (Some(MacText(MANY)), Some(MacText(Mac([0, 0, 0, 0, 0, 1]))));
        let values = Values::Increment(Counter { start, step, count, ..Counter::default() });
        Some(Pattern { values, ..Pattern::default() })
    };
    let dst = match flow.addresses {
        Addresses::Broadcast => Mac::BROADCAST,
        Addresses::Nic(mac, _) => mac,
        Addresses::Ports | Addresses::Sources(_) | Addresses::Destinations(_) => dst,
    };
    // Many addresses replace that of one end; the other end is a port of the tester.
    let mut header = ethernet(src, dst, queue);
    match flow.addresses {
        Addresses::Ports | Addresses::Broadcast | Addresses::Nic(..) => {}
        Addresses::Sources(count) => header.src = many(count),
        Addresses::Destinations(count) => header.dst = many(count),
    }
    FlowHeader::Ethernet(header)
}

fn ethernet(src: Mac, dst: Mac, queue: u8) -> FlowEthernet {
    FlowEthernet {
        src: value(MacText(src)),
        dst: value(MacText(dst)),
        pfc_queue: value(queue),
        ..FlowEthernet::default()
    }
}

/// Returns the frames from a port to the broadcast address by which the DUT learns its address.
fn learning(port: Port, setup: &Setup) -> flow::Flow {
    let from = setup.port(port);
    let to = setup.port(Port((port.0 + 1) % setup.ports.len()));
    let mut packet = vec![FlowHeader::Ethernet(ethernet(from.mac, Mac::BROADCAST, 0))];
    if let Marking::Pcp(_, vid) = &setup.marking {
        let vlan = FlowVlan { id: value(vid.get()), ..FlowVlan::default() };
        packet.push(FlowHeader::Vlan(vlan));
    }
    flow::Flow {
        packet,
        rate: Some(FlowRate::Percentage(10.0)),
        duration: Some(packets(LEARNING, None)),
        ..flow::Flow::between(&format!("learning {}", from.name), &from.name, &[&to.name])
    }
}

/// Largest part by which rounding may shorten the interval of control frames. A choice, below all limits of tests.
const ROUNDED_MAX: f64 = 0.01;

fn octets(name: &str, control: &Control, setup: &Setup, lead: Duration) -> flow::Flow {
    let bytes = control.octets.iter().map(|octet| format!("{octet:02x}")).collect();
    let from = setup.port(control.port);
    let next = setup.port(Port((control.port.0 + 1) % setup.ports.len()));
    // The model wants a receiver; of a frame to a group any other port may be it.
    let is_receiver = |port: &&TesterPort| control.octets.starts_with(&port.mac.0);
    let to = setup.ports.iter().find(is_receiver).unwrap_or(next);
    let size = control.octets.len() as u32 + 4;
    let line = line_time(from.rate, size);
    // What has gaps on a fast line may have none on a slow one, which has no room for more.
    let every = control.every.max(line);
    let per_second = |interval: Duration| 1e12 / interval.as_picos() as f64;
    // Rounded up: a storm of pauses must not have a gap, and the model has whole frames per second.
    let pps = per_second(every).ceil().min(per_second(line).floor()).max(1.0);
    let delay = delay(lead + control.start);
    // On a slow line the next whole number is another interval. Bursts of one frame have any, but a frame that waits
    // delays those after it.
    let is_exact = pps <= per_second(every) * (1.0 + ROUNDED_MAX);
    let duration = match is_exact || control.frames == 1 {
        true => packets(control.frames, delay),
        false => {
            let gap = gap_after(from.rate, line, every);
            let (bursts, packets) = (control.frames, 1);
            FlowDuration::Burst(Burst {
                bursts,
                packets,
                inter_burst_gap: gap,
                delay,
                ..Burst::default()
            })
        }
    };
    flow::Flow {
        packet: vec![FlowHeader::Custom(FlowCustom { bytes, ..FlowCustom::default() })],
        size: Some(FlowSize::Fixed(size)),
        rate: Some(FlowRate::Pps(pps as u64)),
        duration: Some(duration),
        ..flow::Flow::between(name, &from.name, &[&to.name])
    }
}

fn delay(time: Duration) -> Option<FlowDelay> {
    Some(FlowDelay::Nanoseconds(time.as_nanos_f64()))
}

const fn ecn(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}

/// Port of the receivers (iperf's); senders have a port each, from the first dynamic one on (RFC 6335).
const RECEIVER: u16 = 5_001;
const SENDERS: u16 = 0xc000;

/// A connection of a trial.
pub(crate) struct Connection {
    /// Its number in the trial.
    pub(crate) n: usize,
    pub(crate) id: FlowId,
    /// Time at which it begins.
    pub(crate) start: Instant,
    /// Shortest retransmission timeout of its sender.
    pub(crate) timeout: Duration,
}

/// Returns the plan of a connection.
pub(crate) fn transport(wanted: &Stateful, setup: &Setup, connection: Connection) -> TransportPlan {
    let Connection { n, id, start, timeout } = connection;
    let [src, dst] = [wanted.ends.0, wanted.ends.1].map(|port| setup.port(port));
    let (dscp, tag) = match &setup.marking {
        Marking::Dscp(map) => (map[wanted.priority.index()], None),
        Marking::Pcp(map, vid) => {
            let pcp: Pcp = map[wanted.priority.index()];
            (Dscp::MIN, Some(Tag { vid: Some(*vid), pcp }))
        }
    };
    // Each connection has its own port, by which its acknowledgements are recognised.
    let tcp = TcpPlan::new(SENDERS + n as u16, RECEIVER);
    TransportPlan {
        id,
        src: src.mac,
        dst: dst.mac,
        src_ip: src.ip,
        dst_ip: dst.ip,
        tag,
        priority: wanted.priority,
        dscp,
        ecn: Ecn::NotEct,
        size: wanted.size,
        rate: None,
        start,
        stop: start + wanted.length,
        message: None,
        work: host::Work::default(),
        kind: Transport::TcpLike(TcpPlan { timeout_min: timeout, ..tcp }),
    }
}

/// Returns the result of a connection from the counters of its sender.
pub(crate) const fn acknowledged(sender: &SenderCounters) -> Acknowledged {
    Acknowledged {
        bytes: sender.acknowledged,
        frames: sender.frames,
        retransmitted: sender.retransmitted,
        timeouts: sender.timeouts,
    }
}
