//! Managed objects written at run time: each takes effect from the next message.

use super::*;
use crate::managed::{At, Streams};
use ::congestion::qcn::PointPlan;
use wire::cnm;

/// Monitors port 1, to host 2; messages leave with a tag by port 0, to host 1.
fn monitored() -> SwitchPlan {
    let mut p = shaped(3);
    p.congestion.sfc = Some(sfc(3));
    p.ports[0].vlan.members[0].tagged = true;
    p
}

fn write(lab: &mut Lab, name: &str, value: &str) {
    lab.write(name, At::default(), value);
}

/// The message in a frame with a tag, and the tag's PCP.
fn tagged(frame: &[u8]) -> (u8, sfcm::Repr<'_>) {
    assert_eq!(frame[12..14], [0x81, 0]);
    let ethertype = EtherType(u16::from_be_bytes([frame[16], frame[17]]));
    (frame[14] >> 5, sfcm::Repr::parse(ethertype, &frame[18..]).unwrap())
}

#[test]
fn messages_stop_and_start_with_the_master_switch() {
    let mut plan = monitored();
    plan.congestion.sfc.as_mut().unwrap().point.enabled = false;
    let mut lab = lab(&plan);
    assert!(congest(&mut lab, (1, 9)).is_empty());
    for (n, on) in [true, false, true].into_iter().enumerate() {
        write(&mut lab, "sfcMasterEnable", if on { "true" } else { "false" });
        assert_eq!(congest(&mut lab, (10 + n as u16, 9)).len(), usize::from(on));
    }
}

#[test]
fn messages_are_as_the_objects_say() {
    let mut lab = lab(&monitored());
    let heard = congest(&mut lab, (1, 9));
    let (pcp, before) = tagged(&heard[0]);
    assert_eq!((pcp, before.headers.dscp.get(), before.headers.src), (7, 48, v4(2)));
    assert!(matches!(before.message.form, Form::Simplified(_)));
    for (name, value) in [
        ("sfcmTransmitPriority", "5"),
        ("sfc.dscp", "40"),
        ("sfcmMacAddress", "02:00:00:00:00:aa"),
        ("sfcmIPv4Address", "10.9.9.9"),
        ("sfc.from", "own"),
        ("sfc.form", "encapsulated"),
        ("sfcMinHeaderOctets", "100"),
        ("sfcmUDPPort", "50000"),
    ] {
        write(&mut lab, name, value);
    }
    let heard = congest(&mut lab, (2, 9));
    let (pcp, after) = tagged(&heard[0]);
    assert_eq!((pcp, after.headers.dscp.get()), (5, 40));
    assert_eq!((after.headers.src, after.headers.dst), ([10, 9, 9, 9].into(), v4(1)));
    assert_eq!((after.headers.src_port, after.headers.dst_port), (50_000, 50_000));
    assert_eq!(heard[0][6..12], [2, 0, 0, 0, 0, 0xaa]);
    let Form::Encapsulated(msdu) = after.message.form else { panic!("{after:?}") };
    assert_eq!(msdu.len(), 100);
    // Frames to the new port are messages now, and those to the old one are data.
    assert!(congest(&mut lab, (50_000, 50_000)).is_empty());
    assert_eq!(congest(&mut lab, (PORT, PORT)).len(), 1);
}

#[test]
fn messages_over_ipv6_have_the_source_address_of_the_object() {
    let mut lab = lab(&monitored());
    write(&mut lab, "sfc.from", "own");
    write(&mut lab, "sfcmIPv6Address", "fd00::99");
    lab.inject_all(0, (0..5).map(|_| packet(((1, v6(1)), (2, v6(2))), Some((3, 0)), (7, 9), 978)));
    lab.switch.poll(lab.now);
    let sent = lab.sent(0);
    let (_, message) = tagged(&sent[0]);
    assert_eq!((message.headers.src, message.headers.dst), (v6(0x99), v6(1)));
}

#[test]
fn the_number_and_the_spacing_of_messages_are_as_the_objects_say() {
    let mut lab = lab(&monitored());
    write(&mut lab, "sfc.spacing", "0");
    assert_eq!(congest(&mut lab, (1, 9)).len(), 3, "sfcMaxSFCM is 3");
    write(&mut lab, "sfcMaxSFCM", "1");
    assert_eq!(congest(&mut lab, (2, 9)).len(), 1);
    write(&mut lab, "sfcMaxSFCM", "4");
    assert_eq!(
        congest(&mut lab, (3, 9)).len(),
        3,
        "as many frames as meet more than the threshold"
    );
    write(&mut lab, "sfc.patience", "1000000000");
    assert!(congest(&mut lab, (4, 9)).is_empty(), "nobody is told within a millisecond");
}

#[test]
fn queues_are_looked_at_as_the_objects_say() {
    let mut lab = lab(&monitored());
    write(&mut lab, "sfcMonitoredQueues", "[4,5]");
    assert!(congest(&mut lab, (1, 9)).is_empty());
    write(&mut lab, "sfcMonitoredQueues", "8");
    assert_eq!(congest(&mut lab, (2, 9)).len(), 1);
    let at = At { port: Some(port(1)), class: TrafficClass::new(3) };
    let other = At { port: Some(port(2)), class: TrafficClass::new(3) };
    lab.write("sfc.queues.threshold", other, "1000000");
    assert_eq!(congest(&mut lab, (3, 9)).len(), 1);
    lab.write("sfc.queues.threshold", at, "1000000");
    assert!(congest(&mut lab, (4, 9)).is_empty());
    lab.write("sfc.queues.threshold", at, "3500");
    lab.write("sfc.queues.target", at, "3400");
    let heard = congest(&mut lab, (5, 9));
    let (_, message) = tagged(&heard[0]);
    // 3,984 bytes in the queue and a target of 3,400, at 10 Gb/s.
    assert_eq!(message.message.pause, Duration::from_nanos(584 * 8 / 10));
    let page = lab.switch.streams(Streams::Sfc, 0, 256);
    assert!(page.rows.iter().any(|row| row.messages == 1) && page.next.is_none(), "{page:?}");
}

#[test]
fn the_proxy_believes_and_pauses_as_the_objects_say() {
    let mut plan = plan(3);
    plan.congestion.proxy = Some(proxy());
    plan.congestion.ports =
        [AttachedKind::Host, AttachedKind::Switch, AttachedKind::Switch].map(attached).to_vec();
    let mut lab = lab(&plan);
    let message = sfcm_frame(2, None, 3, Duration::from_micros(100));
    let relay = |lab: &mut Lab| {
        lab.advance(Duration::from_micros(500));
        drop(lab.sent(0));
        lab.inject(1, &message);
        lab.switch.poll(lab.now);
        lab.sent(0)
    };
    let quanta = |frames: &[Vec<u8>]| {
        wire::pfc::Repr::parse(&frames[0]).unwrap().time(Priority::ALL[3]).unwrap().0
    };
    assert_eq!(quanta(&relay(&mut lab)), 1_954);
    write(&mut lab, "sfc_proxy.policy.longest", "50000000");
    assert_eq!(quanta(&relay(&mut lab)), 977, "50 us at 10 Gb/s");
    write(&mut lab, "sfc_proxy.accept.switches", "nobody");
    assert!(relay(&mut lab).is_empty());
    assert_eq!(counted(&mut lab).proxy.unwrap().counters.sender, 1);
    write(&mut lab, "sfc_proxy.accept.switches", "anybody");
    lab.write("attached", At { port: Some(port(0)), class: None }, "sfc_host");
    assert_eq!(relay(&mut lab), std::slice::from_ref(&message), "the host hears it itself");
    // A message on a port other than the filter's is data.
    lab.write("attached", At { port: Some(port(0)), class: None }, "host");
    write(&mut lab, "sfc_proxy.sfcmUDPPort", "50000");
    assert_eq!(relay(&mut lab), std::slice::from_ref(&message));
    lab.check();
}

#[test]
fn congestion_points_are_as_their_objects_say() {
    let mut plan = shaped(3);
    let point = PointPlan { sample_base: Bytes(2_500), jitter: 0, ..PointPlan::standard() };
    plan.congestion.qcn = Some(QuantizedPlan {
        points: vec![[Some(point); 8]; 3],
        transmit_priority: Priority::ALL[6],
        msdu_octets: 40,
    });
    let mut lab = lab(&plan);
    assert!(congest(&mut lab, (1, 9)).is_empty(), "26,000 octets are aimed at");
    let at = At { port: Some(port(1)), class: TrafficClass::new(3) };
    lab.write("ieee8021CnCpQueueSizeSetPoint", at, "1000");
    write(&mut lab, "ieee8021CnGlobalCnmTransmitPriority", "2");
    write(&mut lab, "ieee8021CnCpMinHeaderOctets", "20");
    let heard = congest(&mut lab, (1, 9));
    assert!(!heard.is_empty());
    assert_eq!(cnm::Repr::parse(EtherType::CNM, &heard[0][14..]).unwrap().msdu.len(), 20);
    let sent = lab.switch.snapshot(lab.now).ports[0].counters.priorities[2].tx_frames;
    assert_eq!(sent, heard.len() as u64);
}
