//! A lab with MACsec on its links in both worlds: pauses and received frames are the same, and
//! unprotected pauses are ignored.
//!
//! In a separate process, as DPDK starts once in each.

use sluice::dpdk::Eal;
use sluice::lab::real::{self, RealOptions};
use sluice::lab::{self, LabPlan, Options, Outcome, World, parse};
use sluice::sim::NodeKind;

use crate::apart::own_process;
use crate::secys::secy;

const RACK: &str = "
duration: 200ms
until_done: true
profiles:
  tor:
    buffer:
      cell: 1000
      total: 2MB
      profiles:
        roce: {shared: {static_th: 30000}, lossless: {xon_offset: 20000}}
        rest: {shared: {static_th: 20000}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: roce, 0: rest}}
defaults:
  links: {rate: 1G, delay: 500ns, phy: none}
  flows: {size: 1000}
topology: {star: {hosts: 4}}
flows:
  - {name: a, from: [h1, h2, h3], to: h4, priority: 3, rate: 50%, duration: {frames: 800}}
checks: [conservation, lossless, pauses_end, no_deadlock]
";

/// The lab, with MACsec on all of its links; for data, too, if `data`. Receivers take `response` to
/// respond to a pause.
fn protected(data: bool, response: &str) -> LabPlan {
    let lab = RACK.replace("phy: none", &format!("phy: none, response: {response}"));
    assert_ne!(lab, RACK);
    let (mut plan, _) = parse("lab", &lab).unwrap_or_else(|e| panic!("{e}"));
    let network = &mut plan.network;
    for (n, link) in (0..).zip(&network.links) {
        for (end, (own, peer)) in
            [(link.a, (2 * n + 1, 2 * n + 2)), (link.b, (2 * n + 2, 2 * n + 1))]
        {
            let place = match &mut network.nodes[end.node.index()].kind {
                NodeKind::Switch(switch) => &mut switch.ports[end.port.index()].secy,
                NodeKind::Host(host) => &mut host.secy,
            };
            *place = Some(Box::new(secy(own, peer, data)));
        }
    }
    plan
}

#[test]
fn protected_links_do_the_same_in_both_worlds() {
    own_process!();
    let eal = Eal::start(&real::eal_options()).unwrap();
    // During the longer response data frames arrive between a pause and its effect.
    for (data, response) in [(false, "0ns"), (true, "0ns"), (true, "60us")] {
        let plan = protected(data, response);
        let exact = lab::run(&plan, World::Virtual, Options::default(), |_| ()).unwrap().outcome;
        let real = real::run(&eal, &plan, RealOptions::default(), |_| ()).unwrap().outcome();
        let seen = |outcome: &Outcome| {
            assert!(outcome.is_pass(), "{}: {:#?}", outcome.world, outcome.checks);
            assert_eq!(outcome.line_losses.secy, 0, "{}", outcome.world);
            assert!(outcome.pauses.received_xoffs > 0, "{}", outcome.world);
            outcome.flows.iter().map(|flow| flow.rx_frames).collect::<Vec<_>>()
        };
        assert_eq!(seen(&exact), [800; 3]);
        assert_eq!(seen(&real), [800; 3]);
    }
}
