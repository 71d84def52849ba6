//! Tests of the examples in configs/: each is valid, has the expected contents, and gives the same
//! plan as JSON.

use super::*;
use ::congestion::isolation::CimType;
use ::congestion::proxy::{CachePlan, PausePolicy};
use buffer::{GroupKind, Ledger, SharedLimit};
use file::testgolden;
use ground::time::Duration;
use ground::units::{BitsPerSec, Priority, TrafficClass, Vid};
use link::{AgentsPlan, Method, Preference};
use pfc::FlowControl;
use schedule::ClassPlan;
use secure::{CipherSuite, PfcAccept};
use switch::{AttachedKind, Trust};
use wire::sfcm::Locator;

fn example(name: &str) -> SwitchFile {
    let (_, text) = examples().into_iter().find(|(n, _)| n.ends_with(name)).unwrap();
    good(&text).0
}

#[test]
fn every_example_is_good_and_warns_of_nothing() {
    assert!(examples().len() >= 6);
    for (name, text) in examples() {
        let (file, warnings) = good(&text);
        assert_eq!(warnings, Vec::<String>::new(), "{name}");
        assert!(Ledger::new(&file.plan.buffer).is_ok(), "{name}");
        assert!(file.pool_frames >= file.plan.buffer.total.0 as usize, "{name}");
    }
}

#[test]
fn the_same_in_json_gives_the_same_plan() {
    for (name, text) in examples() {
        let tree = tree::read(&text, "").unwrap();
        let value: serde_json::Value = de::from_tree(&tree).unwrap();
        let json = serde_json::to_string_pretty(&value).unwrap();
        let (a, b) = (good(&text).0, good(&json).0);
        assert_eq!(format!("{a:?}"), format!("{b:?}"), "{name}");
    }
}

#[test]
fn no_truncation_of_an_example_panics() {
    for (_, text) in examples() {
        for (end, _) in text.char_indices() {
            let _ = parse("f", &text[..end], &Machine::any());
        }
    }
}

#[test]
fn load_reads_files_and_names_them_in_errors() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../configs/switch");
    assert!(load(&Path::new(dir).join("bump.yaml"), &Machine::any()).is_ok());
    let e = load(Path::new("/nonexistent/x.yaml"), &Machine::any()).unwrap_err().to_string();
    assert!(e.starts_with("/nonexistent/x.yaml: cannot be opened"), "{e}");
}

#[test]
fn the_bump_protects_priority_3_both_ways() {
    let file = example("bump.yaml");
    let p = &file.plan.ports[0];
    let three: ground::units::PrioritySet = Priority::new(3).into_iter().collect();
    assert_eq!(p.pfc.mode, FlowControl::Pfc { send: three, obey: three });
    assert_eq!((p.rate, p.shaped, p.name.as_str()), (BitsPerSec::gbps(1), true, "left"));
    assert_eq!(file.devices[1].device, "iface:v1");
    let lossless: Vec<_> = file.headroom.iter().map(|h| (h.port, h.group)).collect();
    assert_eq!(lossless, [(port(0), group(3)), (port(1), group(3))]);
    for h in &file.headroom {
        assert_eq!(h.given, h.required.cells);
    }
}

#[test]
fn the_top_of_rack_has_what_its_comments_say() {
    let file = example("tor4.yaml");
    let p = &file.plan.ports[2];
    let vlans: Vec<_> = p.vlan.members.iter().map(|m| (m.vid.get(), m.tagged)).collect();
    assert_eq!((p.vlan.pvid, vlans), (None, vec![(10, true), (20, true)]));
    assert_eq!(file.plan.ports[0].vlan.pvid, Vid::new(10));
    assert_eq!(p.schedule.classes[4], ClassPlan::Dwrr { weight: 30 });
    assert_eq!(p.schedule.classes[7], ClassPlan::Strict);
    assert!(p.ecn[3].is_some() && p.ecn[5].is_none());
    assert!(p.watchdog[3].is_some() && p.watchdog[5].is_none());
    assert_eq!(file.plan.bridge.statics[0].port, port(3));
    let groups = &file.plan.buffer.groups[0];
    assert!(matches!(groups[4].kind, GroupKind::Lossless { .. }));
    assert_eq!((groups[0].kind, groups[0].reserved.0), (GroupKind::Lossy, 80));
    assert_eq!(p.queue_limits, [SharedLimit::Unlimited; 8]);
}

#[test]
fn the_router_knows_its_networks() {
    let file = example("router.yaml");
    let r = &file.plan.routing;
    let routes: Vec<_> =
        r.routes.iter().map(|r| format!("{}/{}", r.network, r.prefix_len)).collect();
    let connected = ["10.0.10.0/24", "fd00:10::/64", "10.0.20.0/24", "fd00:20::/64"];
    assert_eq!(routes[..4], connected);
    assert_eq!(routes[4..], ["10.99.0.0/16", "0.0.0.0/0"]);
    assert_eq!(r.routes[4].interface, 1);
    assert_eq!(r.neighbours[3].port, port(1));
    assert_eq!(file.plan.ports[0].classify.trust, Trust::DscpThenPcp);
    assert_eq!(r.interfaces[0].mac, r.interfaces[1].mac);
    assert_ne!(r.interfaces[0].mac, file.plan.ports[0].mac);
}

#[test]
fn one_port_finds_its_headroom_and_the_other_is_measured() {
    let file = example("auto-headroom.yaml");
    let [left, right] =
        [0, 1].map(|n: usize| file.plan.ports[n].agents.as_ref().expect("both have agents"));
    let auto = left.auto.as_ref().unwrap();
    assert_eq!(
        (auto.methods, auto.wait),
        (Preference::only(Method::RoundTrip), Duration::from_secs(3))
    );
    assert_eq!(auto.link.higher_layer, Duration::from_millis(2));
    let measures = |a: &AgentsPlan| {
        let plan = a.measure.as_ref().unwrap();
        (plan.respond, plan.initiate.map(|i| i.period))
    };
    assert_eq!(measures(left), (true, Some(Some(Duration::from_secs(3_600)))));
    assert_eq!((measures(right), right.auto.is_none()), ((true, None), true));
    assert_eq!(left.peer_delay.unwrap().interval, None);
    let (lldp, dcbx) = (right.lldp.as_ref().unwrap(), right.dcbx.as_ref().unwrap());
    assert_eq!((&*lldp.port_id, &*lldp.system_name), ("right", "auto"));
    assert_eq!(dcbx.internal_delay, Some(Duration::from_millis(2)));
    assert!(dcbx.pfc.unwrap().willing && !left.dcbx.as_ref().unwrap().pfc.unwrap().willing);
    let local = dcbx.ets.unwrap().local;
    assert_eq!(
        (local.bandwidth, local.algorithm),
        ([10, 10, 10, 60, 10, 0, 0, 0], [2, 2, 2, 2, 2, 0, 0, 0])
    );
}

#[test]
fn the_rack_isolates_first_and_then_tells_sources() {
    let file = example("sfc-tor.yaml");
    let plan = &file.plan.congestion;
    let (sfc, isolation) = (plan.sfc.as_ref().unwrap(), plan.isolation.as_ref().unwrap());
    let classes = TrafficClass::ALL;
    assert_eq!(isolation.machine.map.congesting(classes[3]), Some(classes[2]));
    let watch = isolation.watches[0][3].unwrap();
    assert_eq!((watch.low.0, watch.cim_above.0), (4_000, 40_000));
    assert_eq!((sfc.point.monitored_queues, sfc.point.patience), (0x04, Duration::from_micros(20)));
    let targets: Vec<_> = sfc.monitors.iter().map(|port| port[2].unwrap().target.0).collect();
    // A port's own queue settings replace those of the whole switch.
    assert_eq!(targets, [10_000, 10_000, 10_000, 10_000]);
    let kinds: Vec<_> = plan.ports.iter().map(|port| port.kind).collect();
    use AttachedKind::{Discovered, Host, SfcHost, Switch};
    assert_eq!(kinds, [Host, SfcHost, Discovered, Switch]);
    assert_eq!(plan.ports[0].locator, Some(Locator::Incast));
    assert_eq!(isolation.points[3].cim_port, 50_000);
    let (at, peer) = isolation.peers[0];
    assert_eq!((at, peer.cim_type), (port(3), CimType::L2));
    let proxy = plan.proxy.as_ref().unwrap();
    assert_eq!((proxy.udp_port, proxy.policy), (58_622, PausePolicy::standard()));
    assert_eq!(proxy.cache, Some(CachePlan::standard()));
    assert!(proxy.fabric.accept("10.1.2.3".parse().unwrap()));
    assert!(!proxy.fabric.accept("11.0.0.1".parse().unwrap()));
    assert!(plan.fast_cnp.is_none() && plan.qcn.is_none());
}

#[test]
fn the_protected_bump_demands_what_it_sends() {
    let file = example("macsec-pfc.yaml");
    let secy = |n: usize| file.plan.ports[n].secy.as_deref().unwrap();
    let (left, right) = (secy(0), secy(1));
    assert_eq!((left.suite, right.suite), (CipherSuite::GcmAes128, CipherSuite::GcmAesXpn256));
    assert!(!left.protect_data && left.protect_pfc && right.protect_data && right.protect_pfc);
    assert_eq!((left.accept_pfc, right.accept_pfc), (PfcAccept::Protected, PfcAccept::Protected));
    assert_eq!((left.overhead(), right.overhead()), (24, 32));
    assert_eq!(left.receive[0].associations, left.transmit);
    assert_eq!(right.uncontrolled, [0x88cc]);
    // The configured names are those that key agreement would assign.
    let mut named = right.clone();
    for sa in named.transmit.iter_mut().chain(&mut named.receive[0].associations).flatten() {
        sa.ssci = 0;
    }
    resolve::name_channels(&mut named, file.plan.ports[1].mac, None);
    assert_eq!(&named, right);
    let pfc = file.plan.ports[0].agents.as_ref().unwrap().dcbx.as_ref().unwrap().pfc.unwrap();
    assert!(pfc.macsec_bound);
}

#[test]
fn the_null_switches_are_unshaped_and_only_one_is_lossless() {
    let (plain, lossless) = (example("/null.yaml"), example("null-lossless.yaml"));
    assert!(plain.headroom.is_empty() && !plain.plan.ports[0].shaped);
    assert_eq!(lossless.headroom.len(), 4);
    let classify = &lossless.plan.ports[0].classify;
    assert_eq!(classify.class[classify.default.index()], TrafficClass::ALL[3]);
    assert!(lossless.plan.buffer.total.0 < 100_000, "{:?}", lossless.plan.buffer.total);
}

#[test]
fn the_published_schema_is_the_one_of_the_code() {
    let schema = serde_json::to_string_pretty(&switch_schema()).unwrap() + "\n";
    testgolden::hold("configs/schema/switch.schema.json", &schema);
}
