//! Faults that set managed objects take effect at their time.

use super::*;
use crate::{FlowOutcome, Options, World, run};

/// Runs an incast of eight hosts to one through a switch that sends messages, which the hosts obey
/// per flow.
fn incast(sfc: &str, faults: &str) -> Vec<FlowOutcome> {
    let text = format!(
        "topology: {{star: {{hosts: 9}}}}\n\
         duration: 2ms\nuntil_done: true\n\
         profiles: {{p: {{sfc: {{queues: {{3: {{threshold: 20KB, target: 5KB}}}}{sfc}}}, \
         defaults: {{pfc: {{enable: [3]}}}}}}}}\n\
         defaults: {{switches: {{profile: p}}, hosts: {{sfc: flow}}, links: {{rate: 100G, length: 5m}}}}\n\
         flows:\n\
         - {{name: f, from: [h1, h2, h3, h4, h5, h6, h7, h8], to: h9, priority: 3, size: 1024, \
         transport: {{roce: {{messages: {{bytes: 100KB, count: 1, every: 1ms}}}}}}}}\n\
         faults: [{faults}]\n"
    );
    let (lab, _) = good(&text);
    run(&lab.plan, World::Virtual, Options::default(), |_| {}).unwrap().outcome.flows
}

#[test]
fn a_master_switch_that_is_turned_off_at_once_is_one_that_was_never_on() {
    let off = "{at: 0s, object: {switch: s1, name: sfcMasterEnable, value: false}}";
    let (on, never) = (incast("", ""), incast(", sfcMasterEnable: false", ""));
    assert_ne!(on, never, "messages make no difference");
    assert_eq!(incast("", off), never);
    // Turned off while the hosts still send, it differs from both.
    let neither = |us: u64| {
        let later = incast("", &off.replace("0s", &format!("{us}us")));
        later != on && later != never
    };
    assert!((1..8).any(neither));
    // Turned off after all traffic, it changes nothing.
    assert_eq!(incast("", &off.replace("0s", "1900us")), on);
}
