//! V-M04: PFC to a wrong destination, and tagged PFC.

use super::mac_control::{self, Case, Wanted};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Trial};
use ground::units::{Mac, PrioritySet};

pub const TEST: Test = Test {
    id: "V-M04",
    aliases: &[],
    title: "PFC to wrong destinations and tagged PFC",
    purpose: "PFC is sent to 01-80-C2-00-00-01 without a tag. A port obeys no other PFC, and \
              forwards none.",
    clause: "802.3 31D.3, 31.4.1, 802.1Q 8.6.3",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends \
                PFC to a known and to an unknown station, to 01-80-C2-00-00-0E, to the broadcast \
                address, and with a tag; then to the address of the DUT at B, which it learns \
                from a pause of the DUT.",
    pass: "All flows keep their rates within {rate}, no frame is lost, and no port receives one of \
           the frames. The reaction to the address of the port is reported.",
    uncertainty: "Time stamps of the tester.",
    source: "HLK unicast and multicast destinations",
    level: Level::Full,
    run,
    line: line!(),
};

/// Reason why both reactions are right.
const OPEN: &str = "802.3 31B.3.3 allows the address of the port for PAUSE, 31D.3 does not name it";

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    for case in mac_control::wrong_destinations(cx, b, a) {
        mac_control::judge(cx, &case, Wanted::Ignored)?;
    }
    let Some(port) = address(cx)? else {
        cx.skip(
            "PFC to the address of the port",
            "the DUT sends no pause with a unicast source at B",
        );
        return Ok(());
    };
    let mut octets = mac_control::for_one(cx, cx.port(b).mac, priority);
    octets[..6].copy_from_slice(&port.0);
    let case = Case { name: format!("PFC to the port {port}"), octets };
    mac_control::judge(cx, &case, Wanted::Open(priority, OPEN))
}

/// Returns the address of the DUT's port at B: the source of the pauses that it sends there when A
/// takes no frames.
fn address(cx: &mut Context<'_>) -> Result<Option<Mac>, Trouble> {
    let [a, b] = cx.ports()?;
    let (times, priority) = (cx.setup.times, cx.lossless()?);
    let mut trial = Trial::new("address of the port", times.hold + times.drain);
    trial.flow(Flow::new((b, a), priority, Limit::Time(times.hold)));
    let at = (a, cx.port(a).mac, cx.setup.rate);
    let until = times.hold.min(times.baseline + cx.setup.storm_max());
    trial.storm(at, PrioritySet::of(priority), (times.baseline, until));
    let seen = cx.observe(&trial)?;
    let sources = seen.pauses(b).map(|pause| pause.frame.src);
    let is_address = |mac: &Mac| !mac.is_multicast() && *mac != Mac([0; 6]);
    let first = { sources }.find(is_address);
    Ok(first)
}
