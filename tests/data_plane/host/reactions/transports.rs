//! Reactions of senders with acknowledgements: pauses, and other paths.

use super::*;
use crate::link;

/// A station with a RoCEv2 flow from port 0xc002 and a TCP-like one from port 77.
fn acknowledged() -> StationPlan {
    let qp = |n| U24::new(n).unwrap();
    let transport = |id, kind| TransportPlan {
        tag: None,
        dscp: Dscp::MIN,
        size: 1_066,
        ..link::flow(id, kind)
    };
    let mut plan = plan(SfcPause::Flow, vec![]);
    let mut roce = RocePlan::new(qp(2), qp(3));
    roce.timeout = us_(10_000);
    plan.senders = vec![
        transport(1, Transport::Roce(roce)),
        transport(2, Transport::TcpLike(TcpPlan { initial_window: 10_000, ..TcpPlan::new(77, 9) })),
    ];
    plan
}

#[test]
fn congestion_in_the_network_gives_a_roce_flow_another_path() {
    let mut plan = acknowledged();
    let spacing = PATH_SPACING;
    plan.reactions.sfc.as_mut().unwrap().in_network = InNetwork::Path { spacing };
    let mut bench = Bench::new(&plan);
    bench.run_to(at(100));
    let about = |protocol, src_port, dst_port, locator| {
        let flow = FiveTuple { protocol, ..udp("10.0.0.1", src_port, "10.0.0.2", dst_port) };
        Message { locator, ..Message::about(flow, 3, us_(50)) }.frame(HOST, &[])
    };
    bench.message(&about(Protocol::UDP, 0xc002, 4791, Locator::InNetwork));
    bench.run_to(at(200));
    // It pauses as usual, and goes on from another port.
    let ports = |bench: &Bench, from, to| {
        let sent = bench.sent.iter().filter(|(t, _)| *t > at(from) && *t < at(to));
        let head = |frame| sluice::frame::Frame::head(frame);
        let of_roce = sent.filter(|(_, frame)| head(frame)[36..38] == 4791_u16.to_be_bytes());
        of_roce.map(|(_, f)| u16::from_be_bytes([head(f)[34], head(f)[35]])).collect::<Vec<_>>()
    };
    let all = |ports: &[u16], port| ports.len() > 20 && ports.iter().all(|p| *p == port);
    assert!(all(&ports(&bench, 0, 100), 0xc002));
    assert_eq!(ports(&bench, 102, 149), [0; 0]);
    assert!(all(&ports(&bench, 150, 200), 0xc003));
    // A message about the old path comes too late. Neither one about the edge nor one that comes too
    // early moves the flow again, and TCP has no other path.
    bench.message(&about(Protocol::UDP, 0xc002, 4791, Locator::InNetwork));
    bench.message(&about(Protocol::UDP, 0xc003, 4791, Locator::Incast));
    bench.run_to(at(260));
    bench.message(&about(Protocol::TCP, 77, 9, Locator::InNetwork));
    bench.run_to(at(300));
    assert!(all(&ports(&bench, 250, 300), 0xc003));
    let sfcm = SfcmCounters { time: Total::ZERO, requested: Total::ZERO, ..bench.sfcm() };
    let expected = SfcmCounters {
        received: 4,
        rerouted: 1,
        foreign_flow: 1,
        paused: 3,
        incast: 1,
        in_network: 2,
        ..SfcmCounters::default()
    };
    assert_eq!(sfcm, expected);
    for (time, port) in [(300, 0xc003), (360, 0xc004)] {
        bench.message(&about(Protocol::UDP, port, 4791, Locator::InNetwork));
        bench.run_to(at(time + 60));
    }
    assert_eq!(bench.sfcm().rerouted, 2, "the first of two within the spacing");
    assert!(ports(&bench, 350, 360).iter().all(|port| *port == 0xc004));
    assert!(!ports(&bench, 350, 360).is_empty());
}

#[test]
fn senders_of_both_transports_are_paused_by_their_ports() {
    let plan = acknowledged();
    for (id, protocol, src_port, dst_port) in
        [(1, Protocol::UDP, 0xc002, 4791), (2, Protocol::TCP, 77, 9)]
    {
        let mut bench = Bench::new(&plan);
        bench.run_to(at(100));
        let flow = FiveTuple { protocol, ..udp("10.0.0.1", src_port, "10.0.0.2", dst_port) };
        bench.message(&Message::about(flow, 3, us_(50)).frame(HOST, &[]));
        bench.run_to(at(200));
        let frames = |from, to| {
            let probes = bench.sent.iter().filter(|(t, _)| *t > at(from) && *t < at(to));
            let ids =
                probes.filter_map(|(_, f)| sluice::host::probe_of(sluice::frame::Frame::head(f)));
            let mut count = [0; 3];
            ids.for_each(|probe| count[probe.flow.0 as usize] += 1);
            (count[id], count[3 - id])
        };
        let (own, other) = frames(101, 150);
        assert!(own == 0 && other > 50, "{own} {other}");
        let (own, other) = frames(150, 200);
        assert!(own > 25 && other > 25, "{own} {other}");
        assert_eq!(bench.sfcm().paused, 1);
    }
}
