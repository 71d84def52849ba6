//! Points and proxies created and deleted at run time, and the tables of the proxy.

use super::*;
use crate::managed::Streams;
use wire::pfc;

/// Port 0 to a host with PFC only, the others to switches.
fn bare() -> SwitchPlan {
    let mut p = shaped(3);
    p.congestion.ports =
        [AttachedKind::Host, AttachedKind::Switch, AttachedKind::Switch].map(attached).to_vec();
    p
}

fn set(lab: &mut Lab, plan: &SwitchPlan) {
    lab.switch.set_sections(lab.now, plan);
    lab.poll_until_idle();
}

#[test]
fn points_are_created_and_deleted() {
    let mut plan = bare();
    let mut lab = lab(&plan);
    assert!(congest(&mut lab, (1, 9)).is_empty());
    plan.congestion.sfc = Some(sfc(3));
    set(&mut lab, &plan);
    let heard = congest(&mut lab, (2, 9));
    assert_eq!(parsed(&heard[0]).message.locator, Locator::InNetwork, "port 1 is to a switch");
    // The point of port 1 alone, then all.
    plan.congestion.sfc.as_mut().unwrap().monitors[1] = [None; 8];
    set(&mut lab, &plan);
    assert!(congest(&mut lab, (3, 9)).is_empty());
    assert_eq!(counted(&mut lab).sfc.unwrap().counters.transmitted_sfcms, 1, "it kept its counts");
    plan.congestion.sfc = None;
    set(&mut lab, &plan);
    assert!(lab.switch.congestion_snapshot().is_none());
    plan.congestion.sfc = Some(sfc(3));
    set(&mut lab, &plan);
    assert_eq!(congest(&mut lab, (4, 9)).len(), 1);
    assert_eq!(counted(&mut lab).sfc.unwrap().counters.transmitted_sfcms, 1, "it is another one");
}

#[test]
fn a_proxy_is_created_with_what_was_discovered_and_its_pauses_end_with_it() {
    let mut plan = bare();
    plan.ports.iter_mut().for_each(|port| port.shaped = false);
    let mut lab = lab(&plan);
    let message = sfcm_frame(2, None, 3, us(100));
    // Without a proxy the message is data.
    lab.deliver(1, &message);
    assert_eq!(lab.sent(0), std::slice::from_ref(&message));
    plan.congestion.proxy = Some(proxy());
    set(&mut lab, &plan);
    lab.deliver(1, &message);
    let sent = lab.sent(0);
    assert_eq!(pfc::Repr::parse(&sent[0]).unwrap().time(Priority::ALL[3]), Some(Quanta(1_954)));
    // Deleted: no renewal, and messages are data again.
    plan.congestion.proxy = None;
    set(&mut lab, &plan);
    lab.advance(us(90));
    assert!(lab.sent(0).is_empty());
    lab.deliver(1, &message);
    assert_eq!(lab.sent(0), std::slice::from_ref(&message));
    // The host has meanwhile advertised that it obeys messages.
    lab.switch.signals.set_attached(port(0), AttachedKind::SfcHost);
    plan.congestion.proxy = Some(proxy());
    set(&mut lab, &plan);
    lab.deliver(1, &message);
    assert_eq!(lab.sent(0), std::slice::from_ref(&message));
    lab.check();
}

#[test]
fn the_flows_of_received_messages_and_the_cache_are_listed_and_live_as_long_as_the_object_says() {
    let mut plan = bare();
    let mut of = proxy();
    of.max_flow_life = Duration::from_millis(10);
    plan.congestion.proxy = Some(of);
    let mut lab = lab(&plan);
    let start = lab.now;
    let listed = |lab: &Lab| lab.switch.streams(Streams::SfcProxy, 0, 256).rows;
    assert!(listed(&lab).is_empty());
    for _ in 0..2 {
        lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    }
    let rows = listed(&lab);
    assert_eq!(rows.len(), 1);
    let row = rows[0];
    assert_eq!((row.key, row.messages, row.created), (FlowKey::Ip(flow((7, 9))), 2, start));
    assert_eq!(row.paused, Some((Priority::ALL[3], start + us(100))));
    let cached = lab.switch.cached(lab.now, 0, 4_096).rows;
    assert_eq!(cached.len(), 1);
    assert_eq!((cached[0].destination, cached[0].pause), (v4(2), us(100)));
    assert_eq!(cached[0].until, start + us(100));
    // A pause ends with the entry of its flow; the next message makes another entry.
    lab.now = start + us(9_950);
    lab.poll_until_idle();
    drop(lab.sent(0));
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    assert_eq!(listed(&lab)[0].paused, Some((Priority::ALL[3], start + us(10_000))));
    assert!(lab.switch.cached(start + us(9_950) + us(200), 0, 4_096).rows.is_empty());
    lab.now = start + us(10_000);
    lab.deliver(1, &sfcm_frame(2, None, 3, us(100)));
    let row = listed(&lab)[0];
    assert_eq!((row.messages, row.created), (1, lab.now));
    assert_eq!(row.paused, Some((Priority::ALL[3], lab.now + us(100))));
}
