//! Steps that start and stop the ports: ring sizes, restarts, link changes, hardware PFC.

use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use dpdk::{Abilities, HardwarePfc, PortControl, PortOptions, RingLimits};
use ground::units::{PrioritySet, Quanta};

use super::bench::{End, Pair};
use super::judge::{self, LinkTry, RingTry};
use super::passes::few;
use super::report::Line;
use super::{Context, options};
use crate::inputs::is_up;

/// Ring sizes to try, as far as the driver takes them.
const RINGS: [u16; 4] = [64, 256, 1_024, 2_048];

/// Time in which a port sees that its peer's link changed. A choice: a NIC polls its PHY every
/// second or two.
const LINK_SEEN: StdDuration = StdDuration::from_secs(4);

/// Priority of the test's hardware PFC.
const PRIORITY: PrioritySet = PrioritySet(1 << 3);

fn within(limits: RingLimits, n: u16) -> Option<u16> {
    // A driver would round another size to its steps, and the result would be about a size that was not requested.
    let fits = (limits.min..=limits.max).contains(&n) && n % limits.align == 0;
    fits.then_some(n)
}

/// Sizes of both rings to try: the least, the usual ones, and the largest of up to 2,048.
fn sizes(abilities: &Abilities) -> Vec<(u16, u16)> {
    let (rx, tx) = (abilities.rx_rings, abilities.tx_rings);
    let both = |n| Some((within(rx, n)?, within(tx, n)?));
    RINGS.into_iter().filter_map(both).collect()
}

fn limits(name: &str, limits: RingLimits) -> String {
    format!("{name} {} to {} in steps of {}", limits.min, limits.max, limits.align)
}

/// Starts with rings of several sizes and passes frames.
pub(super) fn rings(context: &mut Context<'_>) -> Line {
    let abilities = &context.abilities;
    let claimed = Some(format!(
        "{}; {}",
        limits("receive", abilities.rx_rings),
        limits("transmit", abilities.tx_rings)
    ));
    let mut tries = Vec::new();
    // A copy, because the steps borrow the context mutably.
    for asked in sizes(&context.abilities.clone()) {
        let usual = options(context.bench.clock);
        let sized =
            PortOptions { rx_descriptors: asked.0, tx_descriptors: asked.1, ..usual.clone() };
        let result = match context.bench.start(&sized, &usual) {
            Ok(mut pair) => {
                let info = pair.port.info();
                let got = (info.rx_descriptors, info.tx_descriptors);
                let passed = few(&mut pair);
                context.bench.give_back(pair);
                Ok((got, passed))
            }
            Err(refused) => Err(refused.why),
        };
        tries.push(RingTry { asked, result });
    }
    judge::rings("ring_sizes", claimed, &tries)
}

/// Stops and starts the ports, and opens them again.
pub(super) fn restarts(context: &mut Context<'_>) -> Line {
    let mut all = Vec::new();
    for what in ["stop and start", "again", "close and open"] {
        // Closed ports are opened by the next start.
        if what == "close and open" {
            context.bench.close();
        }
        let usual = options(context.bench.clock);
        let result = context.bench.start(&usual, &usual).map_err(|refused| refused.why);
        let result = result.map(|mut pair| {
            let passed = few(&mut pair);
            context.bench.give_back(pair);
            passed
        });
        all.push((what, result));
    }
    judge::restarts("restart", &all)
}

/// Takes the peer's link down and up.
pub(super) fn link_change(pair: &mut Pair, in_memory: bool) -> Line {
    let Some(peer) = &pair.peer else {
        return Line::not_tried("link_change", None, "needs a peer");
    };
    if in_memory {
        return Line::not_tried("link_change", None, "memory has no carrier");
    }
    let (port, peer) = (pair.port.control(), peer.control());
    let set = peer.set_link(false).map_err(|error| first_line(&error.to_string()));
    // The tested port is to see the change; the peer only causes it.
    let seen_down = set.is_ok() && becomes(&port, false);
    // Whatever happened before, the link must not stay down.
    let up = peer.set_link(true);
    let seen_up = up.is_ok() && becomes(&port, true) && becomes(&peer, true);
    pair.wait_for_links();
    let passed = few(pair).unwrap_or_default();
    judge::link("link_change", &LinkTry { set, seen_down, seen_up, passed })
}

fn becomes(control: &PortControl, up: bool) -> bool {
    let started = StdInstant::now();
    while is_up(control) != up && started.elapsed() < LINK_SEEN {
        thread::sleep(StdDuration::from_millis(20));
    }
    is_up(control) == up
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Asks for PFC by the device.
pub(super) fn hardware_pfc(context: &mut Context<'_>) -> Line {
    const CHECK: &str = "hardware_pfc";
    let usual = options(context.bench.clock);
    let pfc = HardwarePfc { priorities: PRIORITY, pause: Quanta(0xffff) };
    let asked = PortOptions { hardware_pfc: Some(pfc), ..usual.clone() };
    let started = context.bench.start(&asked, &usual);
    let tried = match started {
        Ok(pair) => {
            context.bench.give_back(pair);
            Ok(())
        }
        Err(refused) if refused.end == End::Peer => {
            return Line::not_tried(
                CHECK,
                None,
                format!("the peer does not start: {}", refused.why),
            );
        }
        Err(refused) => Err(first_line(&refused.why)),
    };
    judge::by_device(CHECK, &context.abilities.hardware_pfc, &tried)
}
