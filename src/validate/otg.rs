//! Conversion of a trial to a configuration of the Open Traffic Generator model, which the traffic
//! generator runs in either world, and which anybody can run again.

use serde_json::{Value, json};

use crate::setup::{FlowControl, Marking, Setup, TesterPort, line_time};
use crate::trial::{
    Addresses, Bursts, Control, Flow, LEARNING, Limit, Mark, Obeys, Port, Rate, Trial, Version,
};
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Mac, Quanta};
use wire::ip::Ecn;

/// Bytes of a frame that a capture keeps: all headers, and the probe behind them.
const SNAP: u32 = 128;

/// Bytes that a capture keeps of frames that are to be read whole.
const WHOLE: u32 = 2048;

/// Number of packet numbers that a port with MACsec has for frames before those of a test: for those of
/// learning.
pub const BEFORE: u64 = 1000;

/// Time for the learning frames, before the trial's own traffic.
#[must_use]
pub fn lead(setup: &Setup) -> Duration {
    line_time(setup.slowest(), setup.max_frame).saturating_mul(20)
}

/// Returns the configuration. Its first flows are those that the tester sends in the trial, in that order;
/// `location` is where a port is.
pub fn config(trial: &Trial, setup: &Setup, location: impl Fn(Port) -> String) -> Value {
    let ports = (0..setup.ports.len()).map(Port);
    let lead = lead(setup);
    let mut flows: Vec<Value> = Vec::new();
    for (n, flow) in trial.flows[..trial.own_flows()].iter().enumerate() {
        flows.push(data(&format!("flow{n}"), flow, setup, lead));
    }
    for port in ports.clone().filter(|_| !trial.unknown) {
        flows.push(learning(port, setup));
    }
    for (n, control) in trial.control.iter().enumerate() {
        flows.push(octets(&format!("control{n}"), control, setup, lead));
    }
    let name = |port: Port| setup.port(port).name.clone();
    let names: Vec<_> = ports.clone().map(name).collect();
    json!({
        "ports": ports.clone().map(|p| json!({"name": name(p), "location": location(p)}))
            .collect::<Vec<_>>(),
        "layer1": ports.map(|p| layer1(trial, setup, p)).collect::<Vec<_>>(),
        "captures": [{"name": "all", "port_names": names, "format": "pcapng", "overwrite": false, "packet_size": kept(trial, setup)}],
        "flows": flows,
    })
}

/// Returns the bytes that a capture keeps of a frame. A protected frame is read as a whole.
fn kept(trial: &Trial, setup: &Setup) -> u32 {
    let secured = setup.overhead();
    let all = if secured > 0 { setup.max_frame + secured } else { 0 };
    all.max(if trial.whole { WHOLE } else { SNAP })
}

/// Returns the configuration for counters and latencies without captures.
pub fn counting(trial: &Trial, setup: &Setup, location: impl Fn(Port) -> String) -> Value {
    let mut config = config(trial, setup, location);
    config["captures"] = json!([]);
    for n in 0..trial.own_flows() {
        config["flows"][n]["metrics"]["latency"] = json!({"enable": true, "mode": "cut_through"});
    }
    config
}

fn layer1(trial: &Trial, setup: &Setup, port: Port) -> Value {
    let mut layer1 = json!({
        "name": format!("link of {}", setup.port(port).name),
        "port_names": [setup.port(port).name],
        "mtu": setup.max_frame.max(longest(trial)) - 18 + setup.overhead(),
        "promiscuous": true,
    });
    // Ports without a link rate of their own are paced at this one.
    if let Some(speed) = speed(setup.port(port).rate) {
        layer1["speed"] = speed.into();
    }
    let own = match setup.flow_control {
        FlowControl::Pfc => Obeys::Pfc(Quanta(0)),
        FlowControl::Pause => Obeys::Pause,
    };
    match trial.reaction(port).unwrap_or(own) {
        Obeys::Nothing => {}
        Obeys::Pause => {
            layer1["flow_control"] = json!({"choice": "ieee_802_3x", "ieee_802_3x": {}});
        }
        Obeys::Pfc(Quanta(delay)) => {
            let mut pfc = json!({"pfc_delay": delay});
            for class in 0..8 {
                pfc[format!("pfc_class_{class}")] = class.into();
            }
            layer1["flow_control"] = json!({"choice": "ieee_802_1qbb", "ieee_802_1qbb": pfc});
        }
    }
    layer1
}

/// Returns the length of the longest frame that is sent byte for byte, FCS included.
fn longest(trial: &Trial) -> u32 {
    trial.control.iter().map(|control| control.octets.len() as u32 + 4).max().unwrap_or(0)
}

/// Returns the name of a rate; `None` if the model has none for it.
fn speed(rate: BitsPerSec) -> Option<String> {
    let mbps = rate.get() / 1_000_000;
    match mbps {
        10 | 100 => Some(format!("speed_{mbps}_fd_mbps")),
        1_000 | 10_000 | 25_000 | 40_000 | 50_000 | 100_000 | 200_000 | 400_000 | 800_000 => {
            Some(format!("speed_{}_gbps", mbps / 1_000))
        }
        _ => None,
    }
}

fn value(value: impl Into<Value>) -> Value {
    json!({"choice": "value", "value": value.into()})
}

fn data(name: &str, flow: &Flow, setup: &Setup, lead: Duration) -> Value {
    let (src, dst) = (setup.port(flow.from), setup.port(flow.to));
    let queue = flow.held_by.unwrap_or(flow.priority);
    let mut packet = vec![addressed(flow, (src.mac, dst.mac), queue.get())];
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
        let vlan = json!({"id": value(id), "priority": value(pcp)});
        packet.push(json!({"choice": "vlan", "vlan": vlan}));
    }
    packet.push(ip(flow, (src, dst), dscp));
    packet.push(json!({"choice": "udp", "udp": {}}));
    let rate = match flow.rate {
        Rate::Line(share) => {
            let percent = setup.own_share(flow.from, share, flow.size) * 100.0;
            json!({"choice": "percentage", "percentage": percent})
        }
        Rate::Frames(n) => json!({"choice": "pps", "pps": n}),
    };
    let delay = delay(lead + flow.start);
    let duration = match flow.limit {
        Limit::Frames(n) => json!({
            "choice": "fixed_packets", "fixed_packets": {"packets": n, "delay": delay},
        }),
        Limit::Time(time) => json!({
            "choice": "fixed_seconds",
            "fixed_seconds": {"seconds": time.as_secs_f64(), "delay": delay},
        }),
        Limit::Bursts(bursts) => burst(bursts, (flow, setup), delay),
    };
    json!({
        "name": name,
        "tx_rx": json!({"choice": "port", "port": {"tx_name": src.name, "rx_names": receivers(flow, setup)}}),
        "packet": packet,
        "size": {"choice": "fixed", "fixed": flow.size},
        "rate": rate,
        "duration": duration,
        "metrics": {"enable": true, "loss": true},
    })
}

/// Returns the duration of a flow in bursts.
fn burst(bursts: Bursts, (flow, setup): (&Flow, &Setup), delay: Value) -> Value {
    let rate = setup.port(flow.from).rate;
    let line = line_time(rate, flow.size + setup.overhead());
    let interval = match flow.rate {
        Rate::Line(share) => line.as_nanos_f64() / share,
        Rate::Frames(n) => 1e9 / n.max(1) as f64,
    };
    // The gap counts from the last bit of the burst, behind which is the least gap of frames.
    let last = line.saturating_sub(rate.time_for(Bytes(12)));
    let length = f64::from(bursts.frames - 1) * interval + last.as_nanos_f64();
    let gap = (bursts.every.as_nanos_f64() - length).max(0.0);
    json!({"choice": "burst", "burst": {
        "bursts": bursts.count,
        "packets": bursts.frames,
        "inter_burst_gap": {"choice": "nanoseconds", "nanoseconds": gap},
        "delay": delay,
    }})
}

/// Returns the IP header of a flow. IPv6 addresses are those of benchmarks, 2001:2::/48 (RFC 5180),
/// with the IPv4 address in their last bits.
fn ip(flow: &Flow, (src, dst): (&TesterPort, &TesterPort), dscp: u8) -> Value {
    let ecn = ecn(flow.ecn);
    match flow.version {
        Version::V4 => {
            let to = match flow.addresses {
                Addresses::Nic(_, ip) => ip,
                _ => dst.ip,
            };
            let dscp = json!({"phb": value(dscp), "ecn": value(ecn)});
            json!({"choice": "ipv4", "ipv4": {
                "src": value(src.ip.to_string()),
                "dst": value(to.to_string()),
                "priority": {"choice": "dscp", "dscp": dscp},
            }})
        }
        Version::V6 => json!({"choice": "ipv6", "ipv6": {
            "src": value(format!("2001:2::{}", src.ip)),
            "dst": value(format!("2001:2::{}", dst.ip)),
            "traffic_class": value(dscp << 2 | ecn),
        }}),
    }
}

/// Returns the names of the ports that receive a flow's frames.
fn receivers(flow: &Flow, setup: &Setup) -> Vec<String> {
    match flow.addresses {
        Addresses::Ports | Addresses::Sources(_) | Addresses::Nic(..) => {
            vec![setup.port(flow.to).name.clone()]
        }
        Addresses::Broadcast | Addresses::Destinations(_) => {
            let all = setup.ports.iter().enumerate();
            let others = all.filter(|(n, _)| *n != flow.from.0);
            others.map(|(_, port)| port.name.clone()).collect()
        }
    }
}

/// First of the addresses of flows with many.
const MANY: Mac = Mac([0x02, 0x53, 0x4d, 0, 0, 1]);

/// Returns the Ethernet header of a flow.
fn addressed(flow: &Flow, (src, dst): (Mac, Mac), queue: u8) -> Value {
    let many = |count: u32| {
        let increment =
            json!({"start": MANY.to_string(), "step": "00:00:00:00:00:01", "count": count});
        json!({"choice": "increment", "increment": increment})
    };
    let dst = match flow.addresses {
        Addresses::Broadcast => Mac::BROADCAST,
        Addresses::Nic(mac, _) => mac,
        Addresses::Ports | Addresses::Sources(_) | Addresses::Destinations(_) => dst,
    };
    let mut header = ethernet(src, dst, queue);
    match flow.addresses {
        Addresses::Ports | Addresses::Broadcast | Addresses::Nic(..) => {}
        Addresses::Sources(count) => header["ethernet"]["src"] = many(count),
        Addresses::Destinations(count) => header["ethernet"]["dst"] = many(count),
    }
    header
}

fn ethernet(src: Mac, dst: Mac, queue: u8) -> Value {
    json!({"choice": "ethernet", "ethernet": {
        "src": value(src.to_string()),
        "dst": value(dst.to_string()),
        "pfc_queue": value(queue),
    }})
}

fn tx_rx(from: &str, to: &str) -> Value {
    json!({"choice": "port", "port": {"tx_name": from, "rx_names": [to]}})
}

/// Returns the frames from a port to the broadcast address by which the DUT learns its address.
fn learning(port: Port, setup: &Setup) -> Value {
    let from = setup.port(port);
    let to = setup.port(Port((port.0 + 1) % setup.ports.len()));
    let mut packet = vec![ethernet(from.mac, Mac::BROADCAST, 0)];
    if let Marking::Pcp(_, vid) = &setup.marking {
        packet.push(json!({"choice": "vlan", "vlan": {"id": value(vid.get())}}));
    }
    json!({
        "name": format!("learning {}", from.name),
        "tx_rx": tx_rx(&from.name, &to.name),
        "packet": packet,
        "rate": {"choice": "percentage", "percentage": 10.0},
        "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": LEARNING}},
    })
}

fn octets(name: &str, control: &Control, setup: &Setup, lead: Duration) -> Value {
    let bytes: String = control.octets.iter().map(|octet| format!("{octet:02x}")).collect();
    let from = setup.port(control.port);
    let next = setup.port(Port((control.port.0 + 1) % setup.ports.len()));
    let is_receiver = |port: &&TesterPort| control.octets.starts_with(&port.mac.0);
    let to = setup.ports.iter().find(is_receiver).unwrap_or(next);
    let pps = (1e12 / control.every.as_picos().max(1) as f64).ceil().max(1.0) as u64;
    json!({
        "name": name,
        "tx_rx": tx_rx(&from.name, &to.name),
        "packet": [{"choice": "custom", "custom": {"bytes": bytes}}],
        "size": {"choice": "fixed", "fixed": control.octets.len() + 4},
        "rate": {"choice": "pps", "pps": pps},
        "duration": {
            "choice": "fixed_packets",
            "fixed_packets": {
                "packets": control.frames,
                "delay": delay(lead + control.start),
            },
        },
    })
}

fn delay(time: Duration) -> Value {
    json!({"choice": "nanoseconds", "nanoseconds": time.as_nanos_f64()})
}

const fn ecn(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    }
}
