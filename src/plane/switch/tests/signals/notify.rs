//! CNPs to the sources of RoCEv2 flows, and QCN's CNMs.

use super::*;
use ::congestion::qcn::PointPlan;
use wire::cnm::{self, CpId};
use wire::cnp;
use wire::roce::{self, Opcode, U24};

fn qp(n: u32) -> U24 {
    U24::new(n).unwrap()
}

/// A packet of RoCEv2 from host `src` to host `dst`; of a flow with this UDP source port.
fn rdma(src: u8, dst: u8, src_port: u16, opcode: Opcode, to: U24) -> Vec<u8> {
    let ends = ((src, v4(src)), (dst, v4(dst)));
    let mut out = packet(ends, Some((3, 0)), (src_port, roce::UDP_PORT), 978);
    roce::Repr::new(opcode, to, U24::default()).emit(&mut out[46..]).unwrap();
    out
}

fn fast(source_qp: SourceQp) -> SwitchPlan {
    let mut p = shaped(3);
    p.congestion.fast_cnp = Some(FastCnpPlan {
        detect: vec![[Some(Detect::Length(Bytes(3_000))); 8]; 3],
        spacing: Duration::from_micros(50),
        budget: LimitPlan { interval: Duration::ZERO, burst: 1 },
        flows: 64,
        source_qp,
        priority: Priority::ALL[6],
        dscp: None,
    });
    p
}

/// Data of a flow that congests the queue to host 2.
fn burst(lab: &mut Lab, n: usize) {
    lab.inject_all(0, (0..n).map(|_| rdma(1, 2, 7, Opcode::RC_WRITE_MIDDLE, qp(3))));
    lab.switch.poll(lab.now);
}

#[test]
fn a_congesting_source_gets_the_notification_that_its_destination_would_send() {
    let mut lab = lab(&fast(SourceQp::Learnt));
    burst(&mut lab, 5);
    assert!(lab.sent(0).is_empty());
    // The third of three acknowledgements uses the shortcut, and is learnt from as well.
    for (port, qp_of) in [(6, 20), (8, 22), (7, 2)] {
        lab.inject(1, &rdma(2, 1, port, Opcode::RC_ACKNOWLEDGE, qp(qp_of)));
        lab.advance(Duration::from_micros(20));
    }
    assert_eq!(lab.sent(0).len(), 3);
    lab.advance(Duration::from_micros(20));
    burst(&mut lab, 5);
    let sent = lab.sent(0);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0][..14], [2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 1, 8, 0]);
    let expected = cnp::Repr {
        src: v4(2),
        dst: v4(1),
        dscp: Dscp::new(48).unwrap(),
        ecn: Ecn::NotEct,
        ttl: 64,
        identification: 0,
        src_port: 7,
        p_key: 0xffff,
        dest_qp: qp(2),
    };
    assert_eq!(cnp::Repr::parse(EtherType::IPV4, &sent[0][14..]), Ok(expected));
    let c = counted(&mut lab).fast_cnp.unwrap();
    assert_eq!((c.sent, c.learnt), (1, 3));
    assert!(c.not_learnt > 0 && c.too_soon > 0);
    lab.check();
}

#[test]
fn a_configured_queue_pair_needs_no_acknowledgement() {
    let pair = QueuePairs { destination: v4(2), destination_qp: qp(3), source_qp: qp(44) };
    let mut lab = lab(&fast(SourceQp::Configured(vec![pair])));
    burst(&mut lab, 5);
    let sent = lab.sent(0);
    assert_eq!(cnp::Repr::parse(EtherType::IPV4, &sent[0][14..]).unwrap().dest_qp, qp(44));
}

#[test]
fn acknowledgements_and_notifications_are_not_notified() {
    let mut lab = lab(&fast(SourceQp::Learnt));
    for opcode in [Opcode::RC_ACKNOWLEDGE, Opcode::CNP] {
        lab.inject_all(0, (0..5).map(|_| rdma(1, 2, 7, opcode, qp(3))));
    }
    lab.inject(0, &packet(((1, v4(1)), (2, v4(2))), Some((3, 0)), (7, 9), 978));
    lab.switch.poll(lab.now);
    let c = counted(&mut lab).fast_cnp.unwrap();
    assert_eq!((c.sent, c.not_learnt, c.learnt), (0, 0, 1));
    lab.check();
}

#[test]
fn a_congestion_point_samples_what_joins_its_queue() {
    let mut plan = shaped(3);
    let point = PointPlan {
        set_point: Bytes(1_000),
        sample_base: Bytes(2_500),
        jitter: 0,
        ..PointPlan::standard()
    };
    let mut points = vec![[None; 8]; 3];
    points[1][3] = Some(point);
    plan.congestion.qcn =
        Some(QuantizedPlan { points, transmit_priority: Priority::ALL[6], msdu_octets: 40 });
    let mut lab = lab(&plan);
    super::burst(&mut lab, 3, (7, 9));
    let sent = lab.sent(0);
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0][..14], [2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 1, 0x22, 0xe7]);
    // Frames of 1,000 bytes without their tag: 3,000 queued, 2,000 too many, 3,000 more than
    // before.
    let untagged = packet(((1, v4(1)), (2, v4(2))), None, (7, 9), 978);
    let expected = cnm::Repr {
        flow_id: None,
        feedback: 63,
        cpid: CpId::of(Mac([2, 0, 0, 0, 0, 1]), 3),
        q_offset: -(1_988 / 64),
        q_delta: 2_988 / 64,
        priority: Priority::ALL[3],
        dst: host(2),
        msdu: &untagged[12..52],
    };
    assert_eq!(cnm::Repr::parse(EtherType::CNM, &sent[0][14..]), Ok(expected));
    let qcn = counted(&mut lab).qcn.unwrap();
    assert_eq!((qcn.queues[1][3].transmitted_cnms, qcn.total().samples), (1, 1));
    lab.check();
}
