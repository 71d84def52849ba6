//! sfcTransmittedSFCMs counts the messages that went on, and unknown destinations by their setting.

use super::*;
use contracts::stats::SfcSnapshot;

/// Port 1, to host 2, is congested by host 1 at port 0; messages go to host 1.
fn monitored() -> SwitchPlan {
    let mut p = shaped(3);
    p.congestion.sfc = Some(sfc(3));
    p
}

/// Sends six frames at once from host 1 to host 2, and returns what Source Flow Control counted.
fn congested(lab: &mut Lab) -> SfcSnapshot {
    burst(lab, 6, (7, 9));
    lab.check();
    let sfc = counted(lab).sfc.unwrap();
    let by_port = (0..3).map(|port| sfc.of_port(port).transmitted_sfcms);
    assert_eq!(by_port.sum::<u64>(), sfc.counters.transmitted_sfcms, "queues add up");
    sfc
}

/// Forgets where host 1 is when its own frames are not looked up: learning is by VLAN.
fn unlearnt(plan: &SwitchPlan) -> Lab {
    let mut plan = plan.clone();
    // One address per port is learnt; host 99 takes the place of host 1.
    plan.bridge.port_limit = 1;
    let mut lab = Lab::new(&plan);
    for (port, source) in [(0, 98), (1, 2), (2, 3)] {
        lab.inject(port, &frame(host(99), host(source), None, 60));
    }
    for _ in 0..4 {
        lab.advance(Duration::from_micros(10));
    }
    (0..3).for_each(|port| drop(lab.sent(port)));
    lab
}

#[test]
fn a_message_to_an_unknown_host_is_lost_unless_it_is_to_be_flooded() {
    let mut lab = unlearnt(&monitored());
    let sfc = congested(&mut lab);
    assert_eq!((sfc.counters.transmitted_sfcms, sfc.counters.lost, sfc.counters.unsent), (0, 1, 0));
    assert_eq!(lab.drops(), [("message_unknown", 1)]);
    let mut plan = monitored();
    plan.congestion.sfc.as_mut().unwrap().unknown = UnknownHost::Flood;
    let mut lab = unlearnt(&plan);
    let sfc = congested(&mut lab);
    let drops = lab.drops();
    assert_eq!((sfc.counters.transmitted_sfcms, sfc.counters.lost), (1, 0), "{drops:?}");
    // As if port 1 had received it: by all others.
    assert_eq!((lab.sent(0).len(), lab.sent(2).len()), (1, 1));
    assert!(lab.drops().is_empty());
}

#[test]
fn a_flooded_message_pauses_no_host_of_the_proxy() {
    let mut plan = monitored();
    plan.congestion.sfc.as_mut().unwrap().unknown = UnknownHost::Flood;
    plan.congestion.proxy = Some(proxy());
    plan.congestion.ports =
        [AttachedKind::Host, AttachedKind::Host, AttachedKind::Switch].map(attached).to_vec();
    let mut lab = unlearnt(&plan);
    congested(&mut lab);
    assert!(lab.sent(0).is_empty());
    assert_eq!(lab.sent(2).len(), 1);
    // The same for a received message, by the setting of the proxy.
    for (unknown, arrived) in [(UnknownHost::Drop, 0), (UnknownHost::Flood, 1)] {
        let mut plan = plan.clone();
        plan.congestion.ports[1] = attached(AttachedKind::Switch);
        plan.congestion.proxy.as_mut().unwrap().unknown = unknown;
        let mut lab = unlearnt(&plan);
        lab.deliver(1, &sfcm_frame(2, None, 3, Duration::from_micros(100)));
        assert_eq!((lab.sent(0).len(), lab.sent(2).len()), (0, arrived), "{unknown:?}");
        lab.check();
    }
}

#[test]
fn a_message_that_the_own_proxy_refuses_is_lost() {
    let mut plan = monitored();
    plan.congestion.proxy = Some(proxy());
    plan.congestion.ports = vec![attached(AttachedKind::Host); 3];
    let mut lab = lab(&plan);
    let sfc = congested(&mut lab);
    assert_eq!((sfc.counters.transmitted_sfcms, sfc.counters.lost), (1, 0), "it paused the host");
    // Without PFC on the priority the proxy refuses it.
    plan.ports[0].pfc.mode = ::pfc::FlowControl::Off;
    let mut lab = super::lab(&plan);
    let sfc = congested(&mut lab);
    assert_eq!((sfc.counters.transmitted_sfcms, sfc.counters.lost), (0, 1));
}
