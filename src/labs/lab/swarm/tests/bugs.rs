//! Injected bugs: each is active in the run, and its checker fails.
//!
//! Bugs of a port are injected at the port (`sim::defect`); miscalculations of a switch are
//! injected into its plan, of which the checkers get the correct version.

use crate::swarm::trial::{Trial, Watch, run_with};
use crate::swarm::{draw, lab_seed};
use buffer::GroupKind;
use ground::time::{Duration, Instant};
use ground::units::{Cells, PortId};
use sim::defect::{Defect, Forwarding, Obeying, Sending};
use sim::{End, Fault, FaultKind, Network, NetworkPlan, Node, NodeId, NodeKind};
use switch::SwitchPlan;

/// Seed of the swarm in which bugs are injected.
const SEED: u64 = 2;
/// Most labs in which a bug must be found.
const LABS: u64 = 60;

/// Runs labs with a bug until `check` fails. Without the bug that lab passes.
#[track_caller]
fn is_caught_by(check: &str, bug: impl Fn(&crate::raw::Lab) -> Trial) {
    for n in 0..LABS {
        let lab = draw(lab_seed(SEED, n)).unwrap();
        let trial = bug(&lab);
        let caught = trial.failures.iter().find(|failure| failure.check == check);
        if let Some(failure) = caught {
            println!("lab {n}: {check}: {}", failure.detail);
            let without = run_with(&lab, |_| (), |_| ());
            assert_eq!(without.failures, [], "lab {n}");
            return;
        }
    }
    panic!("{check} did not object in any of {LABS} labs");
}

/// Injects a bug into every port of every switch, or of every node.
fn in_ports(what: Defect, hosts: bool) -> impl Fn(&mut Network<Watch>) {
    move |network| {
        for node in (0..network.nodes_mut().len() as u32).map(NodeId) {
            let ids = (0..).map_while(PortId::new);
            let ports: Vec<PortId> = match network.nodes_mut().get_mut(node) {
                Node::Host(_) => ids.take(usize::from(hosts)).collect(),
                Node::Switch(switch) => {
                    ids.take_while(|id| switch.port_mut(*id).is_some()).collect()
                }
            };
            ports.into_iter().for_each(|port| network.add_defect(End { node, port }, what));
        }
    }
}

fn ports(check: &str, what: Defect, hosts: bool) {
    is_caught_by(check, |lab| run_with(lab, |_| (), in_ports(what, hosts)));
}

fn plans(check: &str, bug: impl Fn(&mut NetworkPlan)) {
    is_caught_by(check, |lab| run_with(lab, &bug, |_| ()));
}

fn switches(plan: &mut NetworkPlan) -> impl Iterator<Item = (NodeId, &mut SwitchPlan)> {
    (0..).map(NodeId).zip(&mut plan.nodes).filter_map(|(id, node)| match &mut node.kind {
        NodeKind::Switch(switch) => Some((id, switch)),
        NodeKind::Host(_) => None,
    })
}

#[test]
fn headroom_charged_late_is_seen() {
    // The ledger sees frames 20 us late, and pauses are sent that much later.
    plans("lossless", |plan| {
        for link in &mut plan.links {
            for (end, direction) in [(link.b, &mut link.ab), (link.a, &mut link.ba)] {
                if matches!(plan.nodes[end.node.index()].kind, NodeKind::Switch(_)) {
                    direction.delay += Duration::from_micros(20);
                }
            }
        }
    });
}

#[test]
fn a_lost_resumption_is_seen() {
    ports("pauses_told", Defect::Sending(Sending::LosesResumptions { every: 3 }), false);
}

#[test]
fn a_refresh_that_comes_late_is_seen() {
    ports("pauses_told", Defect::Sending(Sending::RefreshesLate { every: 3 }), false);
}

#[test]
fn pauses_behind_data_are_seen() {
    ports("pauses_told", Defect::Sending(Sending::BehindData { frames: 4 }), false);
}

#[test]
fn a_pause_of_the_wrong_priority_is_seen() {
    ports("pauses_told", Defect::Sending(Sending::NextPriority), false);
}

#[test]
fn quanta_read_as_octets_are_seen() {
    ports(
        "pause_legality",
        Defect::Obeying(Obeying::ScaledTimes { numerator: 1, denominator: 8 }),
        true,
    );
}

#[test]
fn pauses_that_never_expire_are_seen() {
    ports("idle_lines", Defect::Obeying(Obeying::NeverExpires), true);
}

#[test]
fn frames_that_a_switch_swallows_are_seen() {
    ports("frames", Defect::Forwarding(Forwarding::LosesData { every: 10 }), false);
}

#[test]
fn frames_charged_by_the_wrong_cell_are_seen() {
    plans("cells", |plan| {
        for (_, switch) in switches(plan) {
            switch.buffer.cell_bytes *= 2;
        }
    });
}

#[test]
fn a_switch_that_marks_late_is_seen() {
    plans("ecn_before_pfc", |plan| {
        let curves = switches(plan).flat_map(|(_, s)| &mut s.ports).flat_map(|p| &mut p.ecn);
        for curve in curves.flatten() {
            (curve.kmin.0, curve.kmax.0) = (curve.kmin.0 * 1_000, curve.kmax.0 * 1_000);
        }
    });
}

#[test]
fn a_flow_that_gets_less_than_the_others_is_seen() {
    // Its host sends at a tenth of its line rate.
    plans("fairness", |plan| {
        let hosts = plan.nodes.iter_mut().filter_map(|node| match &mut node.kind {
            NodeKind::Host(host) => host.flows.first_mut(),
            NodeKind::Switch(_) => None,
        });
        hosts.take(1).for_each(|flow| flow.rate = host::Rate::LineShare(100_000));
    });
}

#[test]
fn a_switch_that_nobody_wakes_is_seen() {
    plans("idle_lines", |plan| {
        let ids: Vec<NodeId> = switches(plan).map(|(id, _)| id).collect();
        for (n, node) in (0..200).flat_map(|n| ids.iter().map(move |id| (n, *id))) {
            let at = Instant::ZERO + Duration::from_micros(15 * n);
            let kind = FaultKind::Stall { node, span: Duration::from_micros(8) };
            plan.faults.push(Fault { at, kind });
        }
    });
}

/// Highest headroom use of each group of each switch.
type Peaks = Vec<Vec<[u32; 8]>>;

/// Runs a lab and returns its headroom use.
fn peaks(lab: &crate::raw::Lab) -> Peaks {
    let (mut lab, _) = crate::resolve_raw(lab).unwrap();
    lab.network.sample_every = Some(Duration::from_micros(10));
    let mut network = Network::new(&lab.network, ()).unwrap();
    while network.now() < Instant::ZERO + lab.duration && !network.is_quiet() {
        let next = network.now() + Duration::from_micros(50);
        network.run_until(next);
    }
    let mut of_node = |(n, node): (usize, &sim::NodePlan)| {
        let Node::Switch(switch) = network.nodes_mut().get_mut(NodeId(n as u32)) else {
            return vec![];
        };
        let port = |port: u16| {
            let port = PortId::new(port).unwrap();
            ground::units::PriorityGroup::ALL
                .map(|group| switch.ledger().usage(port, group).headroom_peak.0)
        };
        (0..node.ports() as u16).map(port).collect()
    };
    lab.network.nodes.iter().enumerate().map(&mut of_node).collect()
}

/// Gives every group that used headroom `less` cells less than it used, and keeps the pool's size.
fn exact(plan: &mut NetworkPlan, peaks: &Peaks, less: u32) {
    for (id, switch) in switches(plan) {
        let BufferPeaks { groups, total } = BufferPeaks::of(switch);
        for (group, peak) in groups.zip(peaks[id.index()].iter().flatten()) {
            let GroupKind::Lossless { headroom, .. } = &mut group.kind else { continue };
            let cells = peak.saturating_sub(less).max(1);
            total.0 = total.0 - headroom.0 + cells;
            headroom.0 = cells;
        }
    }
}

struct BufferPeaks<'a, G> {
    groups: G,
    total: &'a mut Cells,
}

impl<'a> BufferPeaks<'a, ()> {
    fn of(
        switch: &'a mut SwitchPlan,
    ) -> BufferPeaks<'a, impl Iterator<Item = &'a mut buffer::GroupPlan>> {
        let buffer = &mut switch.buffer;
        BufferPeaks { groups: buffer.groups.iter_mut().flatten(), total: &mut buffer.total }
    }
}

#[test]
fn a_pause_that_comes_a_cell_late_is_seen_where_headroom_is_exact() {
    let mut caught = 0;
    for n in 0..LABS {
        let lab = draw(lab_seed(SEED, n)).unwrap();
        let faults = !lab.faults.is_empty() || lab.links.iter().any(|link| link.errors.is_some());
        let busy = lab.defaults.switches.cpu.is_some();
        // Congestion messages of a switch depend on its queues, not on headroom.
        let tells = lab.profiles.values().any(|p| {
            p.sfc.is_some() || p.qcn.is_some() || p.fast_cnp.is_some() || p.sfc_proxy.is_some()
        });
        if faults || busy || tells {
            continue;
        }
        let peaks = peaks(&lab);
        if !peaks.iter().flatten().flatten().any(|peak| *peak > 1) {
            continue;
        }
        let fits = run_with(&lab, |plan| exact(plan, &peaks, 0), |_| ());
        assert_eq!(fits.failures, [], "lab {n} with exactly the headroom that it uses");
        let late = run_with(&lab, |plan| exact(plan, &peaks, 1), |_| ());
        let lost = late.failures.iter().any(|failure| failure.check == "lossless");
        assert!(lost, "lab {n} with a cell less than it uses: {:?}", late.failures);
        caught += 1;
        if caught == 5 {
            return;
        }
    }
    panic!("only {caught} labs use headroom");
}
