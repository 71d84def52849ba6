//! Context of the resolution of flows, and the values that its steps hand on.

use super::carrier::Carrier;
use super::traffic::Sizes;
use crate::LabTester;
use crate::raw;
use crate::resolve::graph::{self, Graph};
use crate::resolve::routes::{Hop, Routes};
use crate::resolve::switches::Switches;
use config::Cx;
use config::quantity::Span;
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{Dscp, Priority};
use host::{FlowId, MessageList, OnOffPlan, Rate, StationPlan};
use sim::{NodeId, NodeKind, NodePlan};
use switch::SwitchPlan;
use wire::ip::Ecn;

/// First of the dynamic ports (RFC 6335), and their number.
pub(super) const PORT_FIRST: u16 = 49_152;

pub(super) const PORTS: u32 = 16_384;

/// Context of all parts of a flow's resolution.
pub(in crate::resolve) struct Context<'r, 'g> {
    pub graph: &'r Graph<'g>,
    pub routes: &'r Routes,
    pub switches: &'r Switches,
    pub seed: u64,
    /// End of the run.
    pub end: Duration,
    /// Traffic generator. Its flows have the first numbers, and its hosts send no other flows.
    pub tester: Option<&'r LabTester>,
}

impl Context<'_, '_> {
    /// Returns the number of generator flows.
    pub(super) fn taken(&self) -> usize {
        self.tester.map_or(0, |tester| tester.plan.flows.len())
    }

    /// True if a host is a port of the generator.
    pub(super) fn is_tester(&self, host: usize) -> bool {
        let node = NodeId(self.graph.hosts[host] as u32);
        self.tester.is_some_and(|tester| tester.hosts.contains(&node))
    }

    pub(super) fn switch(&self, hop: &Hop) -> Option<&SwitchPlan> {
        self.switches.plans[hop.node].as_ref()
    }
}

/// Fields shared by all flows of an entry.
pub(super) struct KindOf {
    pub(super) carrier: Carrier,
    /// Retransmission timeout of the file.
    pub(super) timeout: Option<Duration>,
    pub(super) size: u32,
    pub(super) rate: Rate,
    pub(super) ecn: Ecn,
    pub(super) priority: Option<Priority>,
    pub(super) dscp: Option<Dscp>,
    pub(super) victim: bool,
    pub(super) bound: Bound,
    /// Sizes of flows whose amounts are drawn; each takes one instead of `bound`'s.
    pub(super) drawn: Option<Sizes>,
    pub(super) on_off: Option<raw::OnOff>,
}

/// Amount of traffic of each flow.
#[derive(Clone, Copy)]
pub(super) enum Bound {
    None,
    Frames(u64),
    Bytes(u64),
    Time(Duration),
}

/// Flow of an entry before it has a number: its ends, which are host numbers, and its own part of
/// the entry's traffic.
#[derive(Clone)]
pub(super) struct Sent {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) bound: Bound,
    /// Messages one by one.
    pub(super) list: Option<MessageList>,
    /// Number of equal messages of `bound` bytes.
    pub(super) times: u64,
    /// Flow of the entry, by its number there, whose messages this one's wait for.
    pub(super) after: Option<usize>,
}

impl Sent {
    /// Returns a flow from the first of two hosts to the second, with this amount of traffic.
    pub(super) const fn of(ends: (usize, usize), bound: Bound) -> Self {
        Self { from: ends.0, to: ends.1, bound, list: None, times: 1, after: None }
    }
}

/// One flow of an entry.
pub(super) struct One {
    pub(super) id: FlowId,
    pub(super) sent: Sent,
    pub(super) start: Instant,
    /// Flow whose messages this one's wait for.
    pub(super) after: Option<FlowId>,
    pub(super) on_off: Option<OnOffPlan>,
}

/// Uses of random numbers in workloads. Each has a stream of the lab's seed, so that one does not
/// change the others, nor those of older parts of labs.
#[derive(Clone, Copy)]
pub(super) enum Use {
    Hosts,
    Amounts,
    Messages,
    Receivers,
    OnOff,
}

/// Returns the seed of a use, by the number of the entry and of the host, flow or end in it.
pub(super) fn stream(seed: u64, of: Use, entry: usize, n: usize) -> u64 {
    // "workload" in ASCII. No other part of a lab uses the same random stream.
    let purpose = 0x776f_726b_6c6f_6164 + of as u64;
    let seed = Rng::nth(seed ^ Rng::nth(purpose, 0), entry as u64);
    Rng::nth(seed, n as u64)
}

/// Start and stop of a flow, by its sender's clock.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) start: Instant,
    pub(super) stop: Instant,
}

/// True if a frame of `size` bytes holds the `least` bytes of headers and probe; else reports it.
pub(super) fn has_room(cx: &mut Cx, source: &graph::Source<'_>, size: u32, least: u32) -> bool {
    if size < least {
        let what = format!(
            "{size} octets do not hold the headers and the probe of a flow; take {least} or more"
        );
        cx.error(&source.key("size"), what);
    }
    size >= least
}

/// Returns the start of the flow of this number, in simulation time.
pub(super) fn start(raw: &raw::Flow, number: u64) -> Instant {
    let span = |s: Option<Span>| s.map_or(Duration::ZERO, |s| s.0);
    let first = Instant::ZERO.saturating_add(span(raw.start));
    first.saturating_add(span(raw.stagger).saturating_mul(number))
}

/// Returns a host's plan; `None` for a switch.
pub(super) fn station(nodes: &mut [NodePlan], node: usize) -> Option<&mut StationPlan> {
    match &mut nodes[node].kind {
        NodeKind::Host(station) => Some(station),
        NodeKind::Switch(_) => None,
    }
}
