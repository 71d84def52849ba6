//! Tests of sections about congestion and their warnings.

use super::*;
use ::congestion::isolation::{MapReading, QueueMap};
use ::congestion::qcn::PointPlan;
use ::congestion::sfc::SfcPlan;
use ::congestion::{Detect, EcnPlan};
use ground::time::Duration;
use ground::units::PortId;
use ground::units::{Bytes, TrafficClass};
use switch::managed::{Access, At, Kind, Object, ObjectValue, Scope, Unit, get};
use switch::{CongestionPlan, SfcmForm, SfcmFrom, SourceQp};

/// Resolves sections on two ports, the first of which has lossless priorities.
fn plan(sections: &str) -> (CongestionPlan, Vec<String>) {
    let text = format!(
        "{sections}\nports:\n  - {{name: a, device: net_null0, rate: 100G, pfc: {{enable: [3, 5]}}}}\n  \
         - {{name: b, device: net_null1, rate: 25G}}\n"
    );
    let (file, warnings) = good(&text);
    (file.plan.congestion, warnings)
}

fn silent(sections: &str) -> CongestionPlan {
    let (plan, warnings) = plan(sections);
    assert_eq!(warnings, Vec::<String>::new(), "{sections}");
    plan
}

#[test]
fn nothing_is_done_unless_it_is_asked_for() {
    let plan = silent("");
    assert!(plan.sfc.is_none() && plan.isolation.is_none() && plan.proxy.is_none());
    assert!(plan.fast_cnp.is_none() && plan.qcn.is_none());
}

#[test]
fn points_watch_what_pfc_protects_by_the_rate_of_each_port() {
    let sfc = silent("sfc: {}").sfc.unwrap();
    let default = SfcPlan { enabled: true, monitored_queues: 0b10_1000, ..SfcPlan::new() };
    assert_eq!(SfcPlan { seed: default.seed, ..sfc.point }, default);
    let monitor = |port: usize| sfc.monitors[port][3].unwrap();
    for (port, threshold) in [(0, 100_000), (1, 25_000)] {
        assert_eq!(monitor(port).detect, Detect::Length(Bytes(threshold)));
        assert_eq!(monitor(port).target, Bytes(threshold / 2));
    }
    // A class that is monitored later has its parameters already.
    assert!(sfc.monitors[1].iter().all(Option::is_some));
    assert_eq!((sfc.form, sfc.from), (SfcmForm::Simplified, SfcmFrom::Swapped));
    assert_eq!((sfc.transmit_priority.get(), sfc.dscp().get()), (7, 56));
}

#[test]
fn a_slow_port_is_not_congested_by_a_few_frames() {
    let text = "sfc: {}\nports: [{device: net_null0, rate: 1G, pfc: {enable: [3]}}]";
    let sfc = good(text).0.plan.congestion.sfc.unwrap();
    assert_eq!(sfc.monitors[0][3].unwrap().detect, Detect::Length(Bytes(10_000)));
}

#[test]
fn queues_that_are_named_are_those_that_are_monitored() {
    for (said, mask) in [
        ("{queues: {6: {}}}", 0x40),
        ("{queues: {0-1: {threshold: 1MB}}}", 0x03),
        ("{sfcMonitoredQueues: 0x81}", 0x81),
        ("{sfcMonitoredQueues: [0, 7], queues: {7: {}}}", 0x81),
        ("{sfcMonitoredQueues: 0}", 0),
    ] {
        let sfc = silent(&format!("sfc: {said}")).sfc.unwrap();
        assert_eq!(sfc.point.monitored_queues, mask, "{said}");
    }
}

#[test]
fn with_isolation_points_watch_where_it_moves_flows_to() {
    let plan = silent("sfc: {}\ncongestion_isolation: {isolate: {3: 2}}");
    let point = plan.sfc.unwrap().point;
    assert_eq!(point.monitored_queues, 0b10_0100);
    assert_eq!(point.patience, Duration::from_micros(10));
    // No warning while isolation is off.
    let off = "congestion_isolation: {ci-master-enable: false, isolate: {3: 2}}";
    let point = silent(&format!("sfc: {{}}\n{off}")).sfc.unwrap().point;
    assert_eq!((point.monitored_queues, point.patience), (0b10_1000, Duration::ZERO));
}

#[test]
fn objects_decide_what_else_follows_from_them() {
    let sfc = silent("sfc: {sfcMinHeaderOctets: 100, sfcmIPv4Address: 10.0.0.9}").sfc.unwrap();
    assert_eq!((sfc.form, sfc.min_header_octets), (SfcmForm::Encapsulated, 100));
    assert_eq!(sfc.from, SfcmFrom::Own);
    let sfc = silent("sfc: {sfcmIPv4Address: 10.0.0.9, from: swapped}").sfc.unwrap();
    assert_eq!(sfc.from, SfcmFrom::Swapped);
    let proxy = silent("sfc: {sfcmUDPPort: 50000, sfcMaxFlowLife: 30}\nfast_cnp: {}");
    assert_eq!(proxy.sfc.unwrap().point.max_flow_life, Duration::from_millis(300));
    let (plan, _) = plan("sfc: {sfcmUDPPort: 50000, sfcMaxFlowLife: 30}\nsfc_proxy: {cache: {}}");
    let proxy = plan.proxy.unwrap();
    assert_eq!((proxy.udp_port, proxy.cache.unwrap().life), (50_000, Duration::from_millis(300)));
}

#[test]
fn lives_are_centiseconds_unless_they_say_otherwise() {
    for (said, micros) in [("100", 1_000_000), ("7", 70_000), ("500us", 500), ("2s", 2_000_000)] {
        let sfc = silent(&format!("sfc: {{sfcMaxFlowLife: {said}}}")).sfc.unwrap();
        assert_eq!(sfc.point.max_flow_life, Duration::from_micros(micros), "{said}");
    }
}

#[test]
fn queue_maps_say_the_same_in_numbers_and_in_words() {
    let map = |said: &str| {
        plan(&format!("congestion_isolation: {said}")).0.isolation.unwrap().machine.map
    };
    let words = map("{isolate: {3: 4, 5: 4}}");
    let class = TrafficClass::ALL;
    assert_eq!(words.congesting(class[3]), Some(class[4]));
    assert_eq!(words.congesting(class[5]), Some(class[4]));
    assert_eq!(words.congesting(class[4]), None);
    let one = map("{isolate: {3: 4}}");
    assert_eq!(map("{queue-map: [0, 0, 0, -5, 4, 0, 0, 0]}"), one);
    assert_eq!(map("{queue-map: {3: -5, 4: 4}}"), one);
    assert_eq!(map("{queue-map: {3: 1, 4: -1}, map_reading: pair}"), one);
    assert_eq!(QueueMap::new([0, 0, 0, -5, 4, 0, 0, 0], MapReading::Partner), Ok(one));
}

#[test]
fn congesting_flows_that_go_before_the_others_are_said() {
    let starve = "class 4 takes the congesting flows of class 3 and is strictly served before it";
    let weight = "defaults: {queues: {3: {weight: 1}, 4: {weight: 1}}}";
    for (sections, warned) in [
        ("congestion_isolation: {isolate: {3: 4}}".into(), true),
        ("congestion_isolation: {isolate: {3: 2}}".into(), false),
        (format!("congestion_isolation: {{isolate: {{3: 4}}}}\n{weight}"), false),
    ] {
        let (_, warnings) = plan(&sections);
        assert_eq!(warnings.iter().any(|w| w.contains(starve)), warned, "{sections} {warnings:?}");
    }
}

#[test]
fn notifications_answer_the_frames_that_would_be_marked() {
    let text = "fast_cnp: {source_qp: [{destination: 10.0.0.2, destination_qp: 2, source_qp: 3}]}\n\
                ports: [{device: net_null0, rate: 10G, pfc: {enable: [3]},\n\
                queues: {3: {ecn: {kmin: 10KB, kmax: 20KB, at: dequeue}}}},\n\
                {device: net_null1, rate: 10G, fast_cnp: {queues: {3: {threshold: 7KB}}}},\n\
                {device: net_null2, rate: 10G}]";
    let file = good(text).0;
    let cnp = file.plan.congestion.fast_cnp.as_ref().unwrap();
    assert_eq!(cnp.detect[0][3], file.plan.ports[0].ecn[3].map(Detect::Aqm));
    assert_eq!(cnp.detect[1][3], Some(Detect::Length(Bytes(7_000))));
    let Some(Detect::Aqm(EcnPlan { kmin, kmax, .. })) = cnp.detect[2][3] else { panic!() };
    assert_eq!((kmin, kmax), (Bytes(40_000), Bytes(160_000)));
    assert!(cnp.detect.iter().all(|port| port.iter().flatten().count() == 1));
    assert!(matches!(&cnp.source_qp, SourceQp::Configured(list) if list.len() == 1));
}

#[test]
fn congestion_points_of_qcn_are_those_of_the_standard() {
    let qcn = silent("qcn: {}").qcn.unwrap();
    assert_eq!(qcn.points[1][5], Some(PointPlan::standard()));
    assert_eq!(qcn.points[1][4], None);
    let qcn = silent("qcn: {queues: {3: {set_point: 300KB, weight: -2}}}").qcn.unwrap();
    let said = PointPlan { set_point: Bytes(300_000), weight: -2, ..PointPlan::standard() };
    assert_eq!((qcn.points[0][3], qcn.points[0][5]), (Some(said), None));
    assert!(said.is_sound());
}

#[test]
fn machines_do_not_share_a_seed() {
    let text = "switch: {seed: 7}\nsfc: {}\ncongestion_isolation: {isolate: {3: 4}}\n\
                ports: [{device: net_null0, pfc: {enable: [3]}}]";
    let plan = good(text).0.plan;
    let seeds = [
        plan.seed,
        plan.congestion.sfc.unwrap().point.seed,
        plan.congestion.isolation.unwrap().machine.seed,
    ];
    assert!(seeds[0] == 7 && seeds[1] != 7 && seeds[2] != 7 && seeds[1] != seeds[2], "{seeds:?}");
}

#[test]
fn what_does_nothing_is_said() {
    let none = "ports: [{device: net_null0}]";
    for (text, what) in [
        (format!("sfc: {{}}\n{none}"), "sfc: monitors no queue"),
        (format!("qcn: {{}}\n{none}"), "qcn: concerns no queue"),
        (format!("congestion_isolation: {{}}\n{none}"), "congestion_isolation: isolates no class"),
        (
            format!("sfc_proxy: {{}}\n{none}"),
            "ports[0].attached: no port has a host that the proxy can pause",
        ),
        (
            "sfc_proxy: {}\nports: [{device: net_null0, attached: host}]".into(),
            "ports[0].attached: the proxy can pause this host for no priority",
        ),
        (
            "sfc_proxy: {}\nports: [{device: net_null0, attached: host, pause: {}}]".into(),
            "ports[0].attached: the proxy can pause this host for no priority",
        ),
        (
            format!(
                "sfc: {{form: simplified, sfcMinHeaderOctets: 64, queues: {{3: {{}}}}}}\n{none}"
            ),
            "sfc.sfcMinHeaderOctets: messages of the simplified form",
        ),
    ] {
        let warnings = good(&text).1;
        assert!(warnings.len() == 1 && warnings[0].contains(what), "{text}\n{warnings:?}");
    }
}

/// Sections whose fields set objects: place in a file, and fields.
fn settings() -> Vec<(&'static str, Vec<(String, Object)>)> {
    fn fields(
        place: &'static str,
        said: &impl raw::Settings,
    ) -> (&'static str, Vec<(String, Object)>) {
        let (mut out, section) = (Vec::new(), place.replace(".3", ""));
        said.visit(|key, name, said| {
            assert!(said.is_none(), "{key}");
            let own = Object::named(&format!("{section}.{name}"));
            out.push((key.into(), own.or_else(|_| Object::named(name)).unwrap()));
        });
        (place, out)
    }
    let limit = raw::MessageLimit::default();
    vec![
        fields("sfc", &raw::Sfc::default()),
        fields("sfc.budget", &limit),
        fields("sfc_proxy", &raw::SfcProxy::default()),
        fields("sfc_proxy.policy", &raw::PausePolicy::default()),
        fields("congestion_isolation", &raw::CongestionIsolation::default()),
        fields("congestion_isolation.budget", &limit),
        fields("congestion_isolation.heard", &limit),
        fields("fast_cnp", &raw::FastCnp::default()),
        fields("fast_cnp.budget", &limit),
        fields("qcn", &raw::Qcn::default()),
        fields("qcn.queues.3", &raw::QcnQueue::default()),
    ]
}

#[test]
fn fields_of_managed_objects_have_their_ranges_and_defaults() {
    let mut tried = 0;
    for (place, fields) in settings() {
        for (key, object) in fields {
            let at = match object.scope() {
                Scope::Queue => At { port: PortId::new(0), class: TrafficClass::new(3) },
                _ => At::default(),
            };
            let text = |value: &str| {
                let depth = place.split('.').count();
                let sections = place.split('.').map(|section| format!("{section}: {{"));
                let inner =
                    if value.is_empty() { String::new() } else { format!("{key}: {value}") };
                sections.collect::<String>() + &inner + &"}".repeat(depth)
            };
            let read = |value: &str| get(&plan(&text(value)).0, 2, object, at);
            if let Some(default) = object.default() {
                assert_eq!(read(""), Some(default), "{object:?}");
            }
            let (fits, out) = match object.kind() {
                Kind::Bool => (vec![("false".into(), ObjectValue::Bool(false))], vec![]),
                Kind::Choice(words) => {
                    let of = |word: &&'static str| (word.to_string(), ObjectValue::Choice(word));
                    (words.iter().map(of).collect(), vec!["whatever".into()])
                }
                Kind::Number { least, most, unit } => {
                    let write = |n: i64| match unit {
                        Unit::Picoseconds => format!("{n}ps"),
                        Unit::Share => format!("{}%", n * 100 / 65_536 + i64::from(n > 65_536)),
                        Unit::Percent => format!("{n}%"),
                        _ => n.to_string(),
                    };
                    let of = |n| (write(n), ObjectValue::Number(n));
                    (vec![of(least), of(most)], vec![write(least - 1), write(most + 1)])
                }
                kind => panic!("{object:?}: {kind:?} is not tried"),
            };
            for (said, value) in fits {
                assert_eq!(read(&said), Some(value), "{object:?}: {said}");
            }
            let below_share = matches!(object.kind(), Kind::Number { unit: Unit::Share, .. });
            for said in out.iter().skip(usize::from(below_share)) {
                let ports = "ports: [{device: net_null0, rate: 100G, pfc: {enable: [3, 5]}}]";
                let wrong = bad(&format!("{}\n{ports}\n", text(said)));
                let named = wrong.iter().any(|e| e.contains(&key) && e.starts_with("f.yaml:1"));
                assert!(named, "{object:?}: {said}: {wrong:?}");
                // Numbers that the field's type lacks are refused before the range is known.
                let Kind::Number { least, most, unit } = object.kind() else { continue };
                let by_type = if *said == out[0] { least == 0 } else { most >= u32::MAX.into() };
                let range = match unit {
                    Unit::Share => continue,
                    Unit::Percent => format!("{least}% to {most}%"),
                    Unit::Picoseconds => {
                        let of = |n: i64| Duration::from_picos(n.unsigned_abs());
                        format!("choose {} to {}", of(least), of(most))
                    }
                    _ => format!("choose {least} to {most}"),
                };
                assert!(by_type || wrong.iter().any(|e| e.contains(&range)), "{said}: {wrong:?}");
            }
            tried += 1;
        }
    }
    assert!(tried > 30, "{tried}");
}

/// Writable objects whose fields are not resolved by [`raw::Settings`], by the reason.
const APART: &[(&str, &str)] = &[
    (
        "the default depends on other fields",
        "sfc.form sfc.from sfc.pause_min sfc.queues.target sfcMonitoredQueues sfcmUDPPort \
        sfc_proxy.sfcmUDPPort sfc_proxy.policy.credit congestion_isolation.queues.low \
        congestion_isolation.queues.cim_above",
    ),
    (
        "a threshold or a curve, by the rate of the port",
        "sfc.queues.threshold sfc.queues.aqm.kmin sfc.queues.aqm.kmax sfc.queues.aqm.pmax \
        congestion_isolation.queues.threshold congestion_isolation.queues.aqm.kmin \
        congestion_isolation.queues.aqm.kmax congestion_isolation.queues.aqm.pmax \
        fast_cnp.queues.threshold fast_cnp.queues.aqm.kmin fast_cnp.queues.aqm.kmax \
        fast_cnp.queues.aqm.pmax",
    ),
    (
        "files have lifetimes below a centisecond",
        "sfcMaxFlowLife sfc_proxy.sfcMaxFlowLife ci-max-flow-life",
    ),
    ("files have no rate of 0", "sfc.meter.rate sfc.meter.window"),
    (
        "fixed at the start, so its lens does not write",
        "sfc_proxy.cache.entries sfc_proxy.cache.sfcMaxFlowLife sfc_proxy.cache.remember",
    ),
    (
        "addresses, lists and maps",
        "sfcmMacAddress sfcmIPv4Address sfcmIPv6Address cip-mac-address cip-ipv4-address \
        cip-ipv6-address sfc_proxy.accept.switches sfc_proxy.accept.hosts queue-map",
    ),
    (
        "a field of the port",
        "attached congestion_locator cip-cim-port watchdog.enabled watchdog.detection \
        watchdog.restoration measurement.rounds measurement.requests measurement.spacing_min \
        measurement.spacing_max measurement.period headroom.auto.statistic headroom.auto.method",
    ),
];

#[test]
fn every_writable_object_has_a_field_in_files() {
    let schema = include_str!("../../../../configs/schema/switch.schema.json");
    let by_table: Vec<Object> =
        settings().into_iter().flat_map(|(_, fields)| fields).map(|(_, object)| object).collect();
    let apart: Vec<&str> = APART.iter().flat_map(|(_, names)| names.split_whitespace()).collect();
    for object in Object::all().filter(|object| object.access() != Access::ReadOnly) {
        let name = object.name();
        let ways = (by_table.contains(&object), apart.contains(&name));
        assert!(ways.0 != ways.1, "{name}: by the table and apart: {ways:?}");
        let key = name.rsplit('.').next().unwrap();
        assert!(ways.0 || schema.contains(&format!("\"{key}\": {{")), "{name} is no field");
    }
    assert!(apart.iter().all(|name| Object::named(name).is_ok()));
}

#[test]
fn numbers_out_of_range_are_refused_with_the_range_of_the_table() {
    for object in Object::all() {
        let Kind::Number { least, most, unit } = object.kind() else { continue };
        let write = |n: i64| match unit {
            Unit::Picoseconds => format!("{n}ps"),
            Unit::Share => format!("{}%", n as f64 * 100.0 / 65_536.0),
            _ => n.to_string(),
        };
        for n in [least, most] {
            assert_eq!(object_value(object, &write(n)), Ok(ObjectValue::Number(n)), "{object:?}");
        }
        let above = object_value(object, &write(most + 1));
        let below =
            (least > 0 || unit == Unit::One).then(|| object_value(object, &write(least - 1)));
        for refused in [Some(above), below].into_iter().flatten() {
            let why = refused.unwrap_err();
            let range = format!("{}: wanted is {}", object.name(), object.kind().range());
            assert!(why == range || unit == Unit::Share, "{why}");
        }
    }
}
