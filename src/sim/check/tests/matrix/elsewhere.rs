//! Every excuse at another place than a planted bug, at another time, or for another priority.
//!
//! Bugs are at the first link of a network, or at the node that it begins at, from the start to the end. What
//! happens elsewhere happens at the link in the middle of the list, which leads to another host, or in a
//! network of its own beside.

use super::*;
use crate::check::Cause;
use ::pfc::{StormAction, WatchdogPlan};
use buffer::GroupKind;
use ground::time::Duration;
use ground::units::*;
use switch::rig;

/// An excuse, and how it is made in a network.
pub(super) struct Excuse {
    pub(super) name: &'static str,
    cause: Cause,
    nearby: bool,
    pub(super) plant: Box<dyn Fn(&mut NetworkPlan)>,
}

/// True if a check cannot follow what it judges with an excuse nearby: frames that nobody sent make what
/// is inside a switch unknown to all but the switch, from then on.
pub(super) fn is_blind(check: Check, excuse: &Excuse) -> bool {
    excuse.nearby && excuse.cause == Cause::ForgedFrame && check == Check::Cells
}

/// A direction in which data goes to a switch, on the link with this number.
#[derive(Clone)]
struct Place {
    data: Direction,
    octets: Box<[u8]>,
    host: Option<NodeId>,
    switch: NodeId,
}

impl Place {
    fn of(plan: &NetworkPlan, link: usize) -> Self {
        let link = LinkId(link as u32);
        let is_switch = |node: NodeId| matches!(plan.nodes[node.index()].kind, NodeKind::Switch(_));
        let of = |d: Direction| (plan.links[link.index()].from(d), plan.links[link.index()].to(d));
        let to_switch = |d: Direction| d.link() == link && is_switch(of(d).1.node);
        let (data, octets) = data_frame(plan, to_switch);
        let (from, to) = of(data);
        let host = (!is_switch(from.node)).then_some(from.node);
        Self { data, octets: octets.into(), host, switch: to.node }
    }

    fn lose(&self, from: Instant) -> Vec<Fault> {
        let direction = self.data.reverse();
        vec![fault(
            from,
            FaultKind::Line(direction, LineFault::Lose { which: Which::Control, frames: 1 }),
        )]
    }

    fn flap(&self, from: Instant, down_for: Duration) -> Vec<Fault> {
        let link = self.data.link();
        let kind = |up| FaultKind::Link { link, up };
        vec![fault(from, kind(false)), fault(from + down_for, kind(true))]
    }

    fn resume(&self, from: Instant, priority: usize, times: u64) -> Vec<Fault> {
        let octets = rig::pause(Mac([2, 0, 0, 0, 0, 7]), Priority::ALL[priority], 0);
        self.forge(self.data.reverse(), &octets, from, times)
    }

    fn frames(&self, from: Instant, dscp: u8, times: u64) -> Vec<Fault> {
        let mut octets = self.octets.clone();
        octets[15] = dscp << 2;
        self.forge(self.data, &octets, from, times)
    }

    fn forge(&self, direction: Direction, octets: &[u8], from: Instant, times: u64) -> Vec<Fault> {
        let forge = |n: u64| {
            let octets = octets.into();
            let at = from + Duration::from_nanos(200 * n);
            fault(at, FaultKind::Line(direction, LineFault::Forge(octets)))
        };
        (0..times).map(forge).collect()
    }
}

fn stall(node: NodeId, from: Instant, span: Duration) -> Vec<Fault> {
    vec![fault(from, FaultKind::Stall { node, span })]
}

/// Number of forgeries for an excuse that is to be active all the time.
const OFTEN: u64 = 400;

/// A frame that nobody sent, early.
pub(super) fn one_frame(plan: &NetworkPlan) -> Vec<Fault> {
    Place::of(plan, 0).frames(at(5), 24, 1)
}

/// All excuses, for a network.
pub(super) fn all(plan: &NetworkPlan) -> Vec<Excuse> {
    let (here, there) = (Place::of(plan, 0), Place::of(plan, plan.links.len() / 2));
    let mut all = vec![];
    for cause in Cause::ALL {
        all.extend(at_another_place(cause, there.clone()));
        all.extend(at_another_time(cause, &here));
    }
    all
}

fn faults(name: &'static str, cause: Cause, faults: Vec<Fault>) -> Excuse {
    let plant = move |plan: &mut NetworkPlan| plan.faults.extend(faults.iter().cloned());
    Excuse { name, cause, nearby: true, plant: Box::new(plant) }
}

fn beside(name: &'static str, cause: Cause, change: fn(&mut NetworkPlan, u32)) -> Excuse {
    let plant = move |plan: &mut NetworkPlan| {
        let first = annex(plan);
        change(plan, first);
    };
    Excuse { name, cause, nearby: false, plant: Box::new(plant) }
}

fn at_another_place(cause: Cause, there: Place) -> Vec<Excuse> {
    let ns = Duration::from_nanos;
    match cause {
        Cause::LostPause => {
            let lost = (0..5).flat_map(|n| there.lose(at(9 * n))).collect();
            vec![faults("pauses lost at another port", cause, lost)]
        }
        Cause::Link => vec![faults("another link down", cause, there.flap(at(9), ns(1_000)))],
        Cause::Stall => {
            let host = there.host.expect("the link leads to a host");
            let faults = faults("a host that stands still", cause, stall(host, at(9), ns(5_000)));
            vec![
                faults,
                beside("a switch beside that stands still", cause, |plan, first| {
                    plan.faults.extend(stall(NodeId(first), at(5), Duration::from_micros(20)));
                }),
            ]
        }
        Cause::ForgedPause => {
            let forged = there.resume(at(5), 3, OFTEN);
            vec![faults("resumptions forged to another host", cause, forged)]
        }
        Cause::ForgedFrame => {
            let near = there.frames(at(5), 24, OFTEN);
            vec![
                faults("frames forged at another port", cause, near),
                beside("frames forged at a switch beside", cause, |plan, _| {
                    let place = Place::of(plan, plan.links.len() - 1);
                    plan.faults.extend(place.frames(at(5), 24, OFTEN));
                }),
            ]
        }
        Cause::Processor => {
            let plant = move |plan: &mut NetworkPlan| {
                let host = there.host.expect("the link leads to a host");
                plan.nodes[host.index()].cpu =
                    CpuPlan { poll: ns(50), frame: ns(20), byte: Duration::ZERO };
            };
            let name = "a busy host";
            vec![
                Excuse { name, cause, nearby: true, plant: Box::new(plant) },
                beside("a busy switch beside", cause, |plan, first| {
                    let (poll, frame) = (Duration::from_nanos(200), Duration::from_nanos(50));
                    let cpu = CpuPlan { poll, frame, byte: Duration::ZERO };
                    plan.nodes[first as usize].cpu = cpu;
                }),
            ]
        }
        Cause::Watchdog => {
            vec![beside("a watchdog beside that ignores pauses", cause, |plan, first| {
                let NodeKind::Switch(switch) = &mut plan.nodes[first as usize + 1].kind else {
                    panic!("the second node beside is a switch")
                };
                switch.ports[0].watchdog[3] = Some(WatchdogPlan {
                    enabled: true,
                    detection: Duration::from_micros(20),
                    restoration: Duration::from_micros(100),
                    action: StormAction::Forward,
                });
            })]
        }
    }
}

/// At the place of the bug, at the very start, long after it has shown, or for another priority.
fn at_another_time(cause: Cause, here: &Place) -> Vec<Excuse> {
    let (ns, late) = (Duration::from_nanos, at(300));
    let start = Instant::ZERO + ns(1);
    match cause {
        Cause::LostPause => vec![faults("the first pause lost", cause, here.lose(Instant::ZERO))],
        Cause::Link => vec![
            faults("the link down at the start", cause, here.flap(start, ns(1))),
            faults("the link down at the end", cause, here.flap(late, ns(1))),
        ],
        Cause::Stall => vec![
            faults("a stall in which nothing waits", cause, stall(here.switch, start, ns(1))),
            faults("a stall at the end", cause, stall(here.switch, late, ns(100))),
        ],
        Cause::ForgedPause => vec![
            faults("a resumption at the start", cause, here.resume(start, 3, 1)),
            faults("a resumption at the end", cause, here.resume(late, 3, 1)),
            faults("resumptions of another priority", cause, here.resume(at(5), 5, OFTEN)),
        ],
        Cause::ForgedFrame => vec![
            faults("a frame forged at the start", cause, here.frames(start, 24, 1)),
            faults("a frame forged at the end", cause, here.frames(late, 24, 1)),
            faults("frames of another priority", cause, here.frames(at(5), 0, OFTEN)),
        ],
        // They last as long as a network is configured so: another place is all that there is.
        Cause::Processor | Cause::Watchdog => vec![],
    }
}

/// Two switches beside a network, with hosts: over the link between them two of the second blast at one of
/// the first, which pauses its switch for long. Gives the number of the first of their nodes.
fn annex(plan: &mut NetworkPlan) -> u32 {
    let first = plan.nodes.len() as u32;
    let (mut a, mut b) = (switch("x", 2, 200), switch("y", 3, 200));
    a.bridge.statics = statics([(100, 1), (101, 0), (102, 0)].into_iter());
    b.bridge.statics = statics([(100, 0), (101, 1), (102, 2)].into_iter());
    for group in a.buffer.groups.iter_mut().chain(&mut b.buffer.groups) {
        let GroupKind::Lossless { headroom, .. } = &mut group[3].kind else { panic!() };
        *headroom = Cells(250);
    }
    let mut receiver = station(100, &[], 0, &[101, 102]);
    receiver.pauses.push(storm(10_000, 2, 25, 3));
    let hosts = [receiver, station(101, &[100], 100, &[]), station(102, &[100], 100, &[])];
    let kinds = [a, b].map(NodeKind::Switch).into_iter().chain(hosts.map(NodeKind::Host));
    plan.nodes.extend(kinds.map(NodePlan::new));
    let ends = [((0, 0), (1, 0)), ((0, 1), (2, 0)), ((1, 1), (3, 0)), ((1, 2), (4, 0))];
    let moved = |(node, port): (u32, u16)| (node + first, port);
    plan.links.extend(ends.map(|(a, b)| link(moved(a), moved(b))));
    first
}
