//! The state of a test's flows and ports, derived from their stations alone: sufficient for a
//! world whose links never go down, and whose flows all start together.

use super::figures::{FlowSeen, PortSeen, Rates, Transmit};
use super::plan::{FlowKind, FlowPlan, TestPlan};
use super::tally::Places;
use contracts::stats::NicCounters;
use ground::time::{Duration, Instant, Total};
use ground::units::BitsPerSec;
use host::{StationSnapshot, StreamState};

/// Time in flight after which a frame is lost. A choice: a thousand times the time of the longest
/// frame at 100 Gb/s.
const ON_THE_WAY: Duration = Duration::from_millis(1);

/// Returns the state of all flows at `now`, which were started at `started` and have run since.
pub fn flows<'a>(
    plan: &'a TestPlan,
    stations: &[StationSnapshot],
    started: Instant,
    now: Instant,
) -> Vec<FlowSeen<'a>> {
    let places = Places::of(stations);
    let one = |flow: &'a FlowPlan| {
        let counted = places.tally(flow);
        let rate = |n: u64| per_second(n, now.total_since(started));
        let received = counted.received();
        let rates = Rates {
            frames_tx: rate(counted.tx.0),
            bytes_tx: rate(counted.tx.1),
            frames_rx: rate(received.0),
            bytes_rx: rate(received.1),
        };
        // The arrival of frames that are not counted is unknown, so they have the time in flight.
        let is_counted = flow.is_counted() && !counted.rx.is_empty();
        let all = is_counted && counted.rx.iter().all(|rx| rx.0 >= counted.tx.0);
        let transmit = transmit(flow, &places, all, now);
        FlowSeen { plan: flow, changed: None, transmit, started: Some(started), rates }
    };
    plan.flows.iter().map(one).collect()
}

/// Returns the transmit state of a flow; `all` is true if all of its frames have arrived.
fn transmit(flow: &FlowPlan, places: &Places<'_>, all: bool, now: Instant) -> Transmit {
    let ended = |over: bool, last: Option<Instant>| {
        // A frame that is missing for so long is lost, and the flow is over.
        let old = last.is_none_or(|last| now.since(last) > ON_THE_WAY);
        if over && (all || old) { Transmit::Stopped } else { Transmit::Started }
    };
    match &flow.kind {
        FlowKind::Stream(_) => places.stream(flow).map_or(Transmit::Stopped, |s| match s.state {
            StreamState::Paused => Transmit::Paused,
            StreamState::Started => ended(false, s.last_sent),
            StreamState::Stopped | StreamState::Done => ended(true, s.last_sent),
        }),
        // Unacknowledged data is sent again, so a finished sender means that all has arrived.
        FlowKind::Roce(_) => ended(places.sender(flow).is_none_or(|s| s.done), None),
    }
}

/// Returns the state of all ports; `speeds` are the rates of their links.
pub fn ports(
    stations: &[StationSnapshot],
    speeds: &[BitsPerSec],
    started: Instant,
    now: Instant,
) -> Vec<PortSeen> {
    let one = |(station, speed): (&StationSnapshot, &BitsPerSec)| {
        let (c, rate) = (&station.counters, |n: u64| per_second(n, now.total_since(started)));
        let rates = Rates {
            frames_tx: rate(c.tx_frames),
            bytes_tx: rate(c.tx_bytes),
            frames_rx: rate(c.rx_frames),
            bytes_rx: rate(c.rx_bytes),
        };
        PortSeen {
            link_up: true,
            speed: *speed,
            capture: (false, 0, 0),
            rates,
            rx_room: None,
            nic: NicCounters::NO_DEVICE,
        }
    };
    stations.iter().zip(speeds).map(one).collect()
}

fn per_second(n: u64, span: Total) -> f64 {
    let seconds = span.as_secs_f64();
    if seconds > 0.0 { n as f64 / seconds } else { 0.0 }
}

/// Fills in the addresses of neighbours that are interfaces of the test, for worlds without other
/// nodes.
///
/// # Errors
/// A flow with another neighbour, as a sentence.
pub fn settle_neighbours(plan: &mut TestPlan) -> Result<(), String> {
    let interfaces = || plan.ports.iter().flat_map(|port| &port.interfaces);
    let owner = |ip: core::net::IpAddr| {
        interfaces().find(|interface| match ip {
            core::net::IpAddr::V4(ip) => interface.ipv4.iter().any(|(own, ..)| *own == ip),
            core::net::IpAddr::V6(ip) => interface.ipv6.iter().any(|(own, ..)| *own == ip),
        })
    };
    let mut found = Vec::new();
    for (n, flow) in plan.flows.iter().enumerate() {
        for (which, wanted) in flow.resolve.iter().enumerate() {
            let Some(interface) = owner(wanted.neighbour) else {
                return Err(format!(
                    "flow {}: {} is no interface of this test, and no other interface here answers for \
                     it; give the flow a destination address",
                    flow.name, wanted.neighbour
                ));
            };
            found.push((n, which, interface.mac));
        }
    }
    found.into_iter().for_each(|(n, which, mac)| plan.flows[n].found(which, mac));
    Ok(())
}
