//! Generates random topologies and loads. All nodes and links are written out, so that each can be removed when a
//! failing lab is shrunk.

use super::Chance;
use super::profile::Drawn;
use crate::raw::{
    Amount, Back, DcqcnName, Drift, EcnName, Flow, FlowDuration, FlowRateText, Link, Many,
    NsPerMetre, Pattern, Roce, Route, Short, Storm, Tcp, Transport, TransportLong,
};
use config::quantity::{Length, LinkRate, Ratio, Size, Span};
use config::raw::PhyName;
use ground::time::Duration;
use ground::units::BitsPerSec;
use headroom::Fec;
use host::{Operation, Recovery};

/// Rate of a slow link, which is below all rates with known delays of PHYs.
pub(super) const SLOW: BitsPerSec = BitsPerSec::new(100_000_000).expect("a rate above zero");

/// Switches, hosts and links.
pub(super) struct Shape {
    /// Number of switches: `s1`, `s2` ...
    pub(super) switches: u64,
    /// Switch of each host: `h1`, `h2` ...
    pub(super) hosts: Vec<u64>,
    pub(super) links: Vec<Link>,
    pub(super) routes: Vec<Route>,
    /// Slowest rate of all links.
    pub(super) slowest: BitsPerSec,
}

impl Shape {
    /// Makes the link of a host slow.
    pub(super) fn slow_down(&mut self, chance: &mut Chance) {
        let host = chance.between(1, self.hosts.len() as u64) as usize - 1;
        let link = &mut self.links[host];
        (link.rate, link.phy, link.fec) = (Some(LinkRate(SLOW)), Some(PhyName::None), None);
        self.slowest = SLOW;
    }

    /// Returns the names of all hosts.
    pub(super) fn host_names(&self) -> Vec<String> {
        (1..=self.hosts.len()).map(|n| format!("h{n}")).collect()
    }
}

/// Links the switches: star, parking lot, leaves and spines, ring, or any tree.
fn trunks(chance: &mut Chance) -> (u64, Vec<u64>, Vec<(u64, u64)>, bool) {
    let each = |switches: std::ops::RangeInclusive<u64>, n: u64| -> Vec<u64> {
        switches.flat_map(|s| (0..n).map(move |_| s)).collect()
    };
    match chance.between(0, 13) {
        0..=3 => (1, each(1..=1, chance.between(2, 10)), vec![], false),
        4..=6 => {
            let n = chance.between(2, 4);
            let mut hosts = each(1..=n, chance.between(1, 3));
            // The receiver of the parking lot, at the last switch.
            hosts.push(n);
            (n, hosts, (1..n).map(|s| (s, s + 1)).collect(), false)
        }
        7..=9 => {
            let (leaves, spines) = (chance.between(2, 4), chance.between(1, 3));
            let hosts = each(1..=leaves, chance.between(1, 4));
            let up = (1..=leaves).flat_map(|l| (1..=spines).map(move |s| (l, leaves + s)));
            (leaves + spines, hosts, up.collect(), false)
        }
        // A ring with routes in one direction has a cyclic buffer dependency.
        10..=11 => {
            let n = chance.between(3, 6);
            let hosts = each(1..=n, chance.between(1, 2));
            (n, hosts, (1..=n).map(|s| (s, s % n + 1)).collect(), true)
        }
        _ => {
            let n = chance.between(2, 7);
            let up = (2..=n).map(|s| (s, chance.between(1, s - 1))).collect();
            let hosts = (0..chance.between(2, 10)).map(|_| chance.between(1, n));
            (n, hosts.collect(), up, false)
        }
    }
}

/// Generates a small fat tree: two edge and two aggregation switches in each pod, and one or two
/// cores for each of the latter.
fn fat_tree(chance: &mut Chance) -> (u64, Vec<u64>, Vec<(u64, u64)>, bool) {
    let (pods, cores, each) = (chance.between(2, 3), chance.between(1, 2), chance.between(1, 2));
    let edges = 2 * pods;
    let hosts = (1..=edges).flat_map(|edge| (0..each).map(move |_| edge)).collect();
    let within = (0..pods).flat_map(|pod| {
        [(1, 1), (1, 2), (2, 1), (2, 2)]
            .map(|(edge, above)| (2 * pod + edge, edges + 2 * pod + above))
    });
    let up = (0..pods).flat_map(|pod| {
        (1..=2).flat_map(move |above| {
            // Switches are numbered edges, aggregation, cores; each aggregation switch of a pod has cores of its own.
            let first = 2 * edges + (above - 1) * cores;
            (1..=cores).map(move |core| (edges + 2 * pod + above, first + core))
        })
    });
    (2 * edges + 2 * cores, hosts, within.chain(up).collect(), false)
}

/// Generates a topology: a fat tree from `tree`, if given.
pub(super) fn shape(chance: &mut Chance, tree: Option<&mut Chance>) -> Shape {
    // Drawn in any case, so that the numbers after it are the same with and without a tree.
    let drawn = trunks(chance);
    let (switches, hosts, trunks, ring) = tree.map_or(drawn, fat_tree);
    let rates = [1, 10, 25, 40, 50, 100, 100, 100, 200, 400];
    let base = chance.pick(&rates[1..]);
    let trunk = if chance.percent(60) { base } else { chance.pick(&rates[1..]) };
    let kind = Kind::draw(chance);
    let mut links = vec![];
    let mut slowest = 400;
    let mut link = |chance: &mut Chance, from: String, to: String, rate: u64| {
        slowest = slowest.min(rate);
        links.push(kind.link(chance, from, to, rate));
    };
    for (n, switch) in (1..).zip(&hosts) {
        let rate = if chance.percent(15) { chance.pick(&rates) } else { base };
        link(chance, format!("h{n}"), format!("s{switch}"), rate);
    }
    for (a, b) in trunks {
        link(chance, format!("s{a}"), format!("s{b}"), trunk);
    }
    let clockwise = |s: u64| {
        // The hosts of the switch itself are reached at their own ports.
        let far = hosts.iter().zip(1..).filter(|(at, _)| **at != s);
        Route {
            at: Some(format!("s{s}")),
            to: Some(Many(far.map(|(_, n): (_, u64)| format!("h{n}")).collect())),
            via: Some(format!("s{}", s % switches + 1)),
            ..Route::default()
        }
    };
    let routes = if ring { (1..=switches).map(clockwise).collect() } else { vec![] };
    Shape { switches, hosts, links, routes, slowest: BitsPerSec::gbps(slowest) }
}

/// Common parameters of the links of a lab.
struct Kind {
    /// True for links with a cable and PHYs, false for a delay alone.
    cable: bool,
    metres: u64,
    delay: Duration,
    mixed: bool,
    lopsided: bool,
    fec: bool,
    response: Option<Duration>,
    ns_per_m: Option<NsPerMetre>,
}

impl Kind {
    fn draw(chance: &mut Chance) -> Self {
        Self {
            cable: chance.percent(60),
            metres: chance.scale(1, 2_000),
            delay: chance.span(1, 5_000),
            mixed: chance.percent(40),
            lopsided: chance.percent(15),
            fec: chance.percent(20),
            response: chance.percent(40).then(|| chance.span(1, 2_000)),
            ns_per_m: chance.percent(20).then_some(NsPerMetre::COPPER),
        }
    }

    fn link(&self, chance: &mut Chance, from: String, to: String, rate: u64) -> Link {
        let mut link = Link {
            from: Some(from),
            to: Some(to),
            rate: Some(LinkRate(BitsPerSec::gbps(rate))),
            response: self.response.map(Span),
            ..Link::default()
        };
        if self.cable {
            let metres = if self.mixed { chance.scale(1, 2_000) } else { self.metres };
            link.length = Some(Length(metres * 1_000));
            link.ns_per_m = self.ns_per_m;
            // RS-FEC is an option of 25GBASE-R and 100GBASE-R.
            link.fec = (self.fec && [25, 100].contains(&rate)).then_some(Fec::Rs);
        } else {
            let delay = if self.mixed { chance.span(1, 5_000) } else { self.delay };
            link.delay = Some(Span(delay));
        }
        if self.lopsided {
            link.back = Some(Back {
                response: chance.percent(50).then(|| Span(chance.span(1, 2_000))),
                delay: (!self.cable).then(|| Span(chance.span(1, 5_000))),
                errors: None,
            });
        }
        link
    }
}

/// Generates a clock within the Ethernet limit.
pub(super) fn clock(chance: &mut Chance) -> crate::raw::Clock {
    crate::raw::Clock {
        offset: Some(Span(chance.span(1, 1_000_000))),
        // Up to 100 ppm either way, which is what 802.3 allows.
        drift: Some(Drift(chance.between(0, 200_000) as i32 - 100_000)),
    }
}

/// Approximate limits of the frames that all hosts together send.
const FRAMES: (u64, u64) = (1_000, 32_000);

/// Generates the flows of a lab.
pub(super) fn flows(chance: &mut Chance, hosts: &[String], drawn: &Drawn) -> Vec<Flow> {
    let kinds = chance.between(1, 4);
    let each = chance.scale(FRAMES.0, FRAMES.1) / kinds;
    (0..kinds).map(|_| flow(chance, hosts, drawn, each)).collect()
}

fn flow(chance: &mut Chance, hosts: &[String], drawn: &Drawn, frames: u64) -> Flow {
    let (pattern, from, to) = ends(chance, hosts);
    let pairs = match pattern {
        Pattern::AllToAll => from.len() * to.len(),
        // The other patterns are not generated.
        _ => from.len(),
    };
    let lossy = !drawn.lossy.is_empty() && chance.percent(30);
    let priority = chance.pick(if lossy { &drawn.lossy } else { &drawn.lossless });
    // The frames are those of all flows together, so that labs of many hosts take no longer.
    let most = (frames / pairs as u64).max(1);
    let sizes = [70, 128, 257, 512, 1_000, 1_048, 1_518, drawn.max_frame, drawn.max_frame];
    let transport = transport(chance, priority, lossy, drawn);
    // A connection's headers are longer, and its first frame can be longer than the others.
    let (least, more) = if transport.is_some() { (128, 16) } else { (0, 0) };
    let fits = |size: &u64| *size >= least && *size + more <= drawn.max_frame;
    let sizes: Vec<u64> = sizes.into_iter().filter(fits).collect();
    let rate = match chance.between(0, 3) {
        0..=2 => Ratio(1_000_000),
        _ => Ratio(chance.between(50_000, 1_000_000) as u32),
    };
    // A burst is short and at line rate.
    let burst = chance.percent(25);
    let frames = if burst { chance.between(1, 20) } else { chance.scale((most / 16).max(1), most) };
    Flow {
        from: Some(from.into()),
        to: Some(to.into()),
        pattern: Some(pattern),
        rate: Some(Short::Short(FlowRateText::Share(if burst { Ratio(1_000_000) } else { rate }))),
        size: Some(Size(chance.pick(&sizes))),
        duration: Some(FlowDuration::Amount(Amount {
            frames: Some(frames.min(most)),
            ..Amount::default()
        })),
        start: chance.percent(60).then(|| Span(chance.span(1, 50_000))),
        stagger: chance.percent(30).then(|| Span(chance.span(1, 10_000))),
        priority: Some(priority),
        ecn: chance.percent(50).then_some(EcnName::Ect0),
        transport,
        ..Flow::default()
    }
}

/// Selects a transport with acknowledgements for some flows: RoCE for lossless priorities, else
/// TCP.
///
/// Strict-priority data and link-wide pauses must not starve acknowledgements: data that is
/// retransmitted because no acknowledgement arrives, and starves the acknowledgements, would never
/// end.
fn transport(chance: &mut Chance, priority: u8, lossy: bool, drawn: &Drawn) -> Option<Transport> {
    let link_wide = drawn.profile.defaults.pause.is_some();
    if link_wide || !chance.percent(35) {
        return None;
    }
    let weighted = drawn.profile.defaults.queues.values().any(|queue| queue.weight.is_some());
    let marked = chance.percent(30) && !weighted;
    let ack_priority = marked.then(|| chance.between(priority.into(), 7) as u8);
    let window = chance.percent(40).then(|| Size(chance.scale(1, 200) * drawn.max_frame));
    let timeout = Some(Span(chance.span(200_000, 2_000_000)));
    if lossy {
        let initial_window = chance.percent(30).then(|| chance.scale(1, 50) as u32);
        let tcp =
            Tcp { ack_priority, window, initial_window, timeout_min: timeout, messages: None };
        return Some(Short::Long(TransportLong { tcp: Some(tcp), roce: None }));
    }
    let presets = [DcqcnName::None, DcqcnName::Sigcomm15, DcqcnName::Ns3, DcqcnName::Mellanox];
    let roce = Roce {
        operation: Some(chance.pick(&[Operation::Send, Operation::Write])),
        recovery: Some(chance.pick(&[Recovery::GoBackN, Recovery::SelectiveRepeat])),
        window,
        ack_every: chance.percent(50).then(|| chance.scale(1, 16) as u32),
        timeout,
        dcqcn: Some(Short::Short(chance.pick(&presets))),
        ack_priority,
        ..Roce::default()
    };
    Some(Short::Long(TransportLong { roce: Some(roce), tcp: None }))
}

/// Selects senders and receivers: an incast, a permutation, or some to some.
fn ends(chance: &mut Chance, hosts: &[String]) -> (Pattern, Vec<String>, Vec<String>) {
    let others = |of: &str| hosts.iter().filter(|h| *h != of).cloned().collect::<Vec<_>>();
    match chance.between(0, 5) {
        0..=2 => {
            let to = chance.pick(hosts);
            (Pattern::AllToAll, chance.some(&others(&to)), vec![to])
        }
        // Two hosts have one permutation, which is a pair of flows.
        3..=4 if hosts.len() > 2 => (Pattern::Permutation, hosts.to_vec(), hosts.to_vec()),
        _ => {
            let from = chance.pick(hosts);
            let to = chance.some(&others(&from));
            (Pattern::AllToAll, vec![from], to)
        }
    }
}

/// Generates a pause storm.
pub(super) fn storm(chance: &mut Chance, drawn: &Drawn, link_wide: bool) -> Storm {
    Storm {
        priorities: if link_wide { vec![] } else { chance.some(&drawn.lossless) },
        quanta: Some(chance.scale(10, 65_535) as u16),
        start: Some(Span(chance.span(1, 100_000))),
        every: Some(Span(chance.span(500, 100_000))),
        frames: Some(chance.scale(1, 20)),
    }
}
