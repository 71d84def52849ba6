use super::*;
use crate::otg_file::parse;

/// Two ports in memory and one of the kernel with jumbo frames and a capture; a flow to both
/// others, and one with a list of values.
const FILE: &str = "\
ports:
  - {name: p1, location: \"ring:x.a\"}
  - {name: p2, location: \"ring:x.b\"}
  - {name: p3, location: \"iface:eth7\"}
layer1: [{name: l, port_names: [p3], mtu: 9000}]
captures: [{name: c, port_names: [p3]}]
flows:
  - {name: f, tx_rx: {port: {tx_name: p1, rx_names: [p2, p3]}}, packet: [{ethernet: {}}]}
  - name: g
    tx_rx: {port: {tx_name: p1, rx_names: [p2]}}
    packet: [{ethernet: {src: {values: [\"02:00:00:00:00:01\", \"02:00:00:00:00:02\"]}}}]
";

fn plan(text: &str) -> TestPlan {
    parse("x.yaml", text, &|_| None).unwrap().0.plan
}

#[test]
fn a_test_beyond_the_memory_is_refused_with_the_sum_the_fields_and_the_remedy() {
    let test = plan(FILE);
    for (world, grown) in [(World::Real, DISTRIBUTIONS), (World::Virtual, DISTRIBUTIONS_EXACT)] {
        let needed = memory_needed(&test, world);
        assert_eq!(refuse_memory("x.yaml", &test, world, Some(needed)), Ok(()));
        assert_eq!(refuse_memory("x.yaml", &test, world, None), Ok(()));
        let refused =
            refuse_memory("x.yaml", &test, world, Some(needed - 1)).unwrap_err().to_string();
        let common = [
            format!("x.yaml: ports, flows: 2 `flows` x {STREAM} bytes + "),
            format!("3 receivers of `flows` x {} bytes + ", RECEIVER + grown),
            format!("2 `values` of fields x {VALUE} bytes + 3 `ports` x {PORT} bytes"),
            format!("that are available here: {REMEDY}"),
        ];
        for part in common {
            assert!(refused.contains(&part), "{part}\nis not in\n{refused}");
        }
        let real = [
            " + 3 devices of `ports` x 2621440 bytes + 8191 frames of the `ports`' pools x 2368 bytes",
            " + 8191 frames of the `ports`' pools x 9536 bytes",
            " + 2 rings of interfaces x 8388608 bytes + 1 `captures` x 67108864 bytes = ",
        ];
        for part in real {
            assert_eq!(refused.contains(part), world == World::Real, "{part}\n{refused}");
        }
    }
}

#[test]
fn flows_and_devices_of_a_running_test_are_given_back_or_used_again() {
    let (both, none) = (plan(FILE), TestPlan::default());
    let elsewhere = plan(&FILE.replace("iface:eth7", "iface:eth8"));
    let flows = memory_returned(&both, &none, false);
    assert_eq!(flows, sum(stations(&both, 0)));
    assert_eq!(memory_returned(&both, &none, true) - flows, 3 * DISTRIBUTIONS);
    let pair = memory_returned(&both, &elsewhere, false) - flows;
    assert_eq!(pair, 2 * DEVICE + u64::from(POOL_FRAMES) * 2_368);
    // Captures end with their test and are not counted: they may not have begun.
    let captures = CAPTURE_BYTES as u64;
    assert_eq!(memory_returned(&both, &both, true) + captures, memory_needed(&both, World::Real));
    assert_eq!(memory_returned(&none, &both, true), 0);
}
