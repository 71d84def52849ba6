//! The whole way from text to plan.

use super::*;

#[test]
fn the_shortest_file_is_a_plain_bridge() {
    let text = "ports: [{device: 'net_af_packet0,iface=v0'}, {device: net_null1}]";
    let (file, warnings) = parse("f", text, &Machine::any()).unwrap();
    assert_eq!(warnings, []);
    assert_eq!(file.plan.ports[0].name, "net_af_packet0");
    assert_eq!(file.workers, [WorkerPlan { core: None, ports: ids(2) }]);
    assert!(file.headroom.is_empty());
}

fn ids(n: u16) -> Vec<crate::units::PortId> {
    (0..n).filter_map(crate::units::PortId::new).collect()
}
