//! Switch files that are written back with changes of a running switch.

use super::*;
use crate::{Machine, SwitchFile};
use ::congestion::{MarkAt, NotEct};
use buffer::Alpha;
use ground::units::Bytes;
use switch::managed::ObjectValue as V;

const FILE: &str = "\
defaults: {rate: 10G, pfc: {enable: [3]}, queues: {2-4: {weight: 5}}}
sfc: {sfcMaxSFCM: 2}
sfc_proxy: {cache: {}}
congestion_isolation: {isolate: {3: 2}}
fast_cnp: {}
qcn: {queues: {1: {}}}
ports:
  - {name: a, device: net_null0, attached: host, watchdog: {}, headroom: auto, ptp: {}}
  - {name: b, device: \"net_null1,size=64\", sfc: {queues: {3: {threshold: 50KB}}}}
";

fn file(text: &str) -> SwitchFile {
    crate::parse("switch.yaml", text, &Machine::any()).unwrap().0
}

/// Returns the file with the objects of `plan`, as text and resolved.
fn saved(start: &SwitchFile, plan: &CongestionPlan) -> (String, SwitchFile) {
    let written = start.written.with_objects(plan, 2, &Machine::any()).unwrap();
    let text = written.to_yaml();
    (text.clone(), file(&text))
}

#[test]
fn an_unchanged_switch_writes_a_file_that_resolves_to_the_same_plan() {
    let start = file(FILE);
    let (text, again) = saved(&start, &start.plan.congestion);
    assert_eq!(again.plan.congestion, start.plan.congestion, "{text}");
    assert_eq!(again.plan.buffer, start.plan.buffer);
    assert!(!text.contains("defaults") && text.contains("\"net_null1,size=64\""), "{text}");
}

#[test]
fn every_writable_object_comes_back_with_another_value() {
    let start = file(FILE);
    let mut all = start.plan.congestion.clone();
    let mut changed = 0;
    for object in Object::all().filter(|object| object.access() == Access::ReadWrite) {
        let spot = places(object, 2)
            .into_iter()
            .find_map(|at| Some((at, managed::get(&start.plan.congestion, 2, object, at)?)));
        let Some((at, old)) = spot else {
            // A queue has a threshold or a curve: here those of `fast_cnp` have a curve.
            let name = object.name();
            let other = name.contains("aqm") || name == "fast_cnp.queues.threshold";
            assert!(other, "{name} has no value");
            continue;
        };
        let buffer = start.plan.buffer.octets();
        let reaches = |value: &V| managed::reaches(object, *value, buffer).is_ok();
        for value in others(object, old).into_iter().filter(reaches) {
            let mut plan = start.plan.congestion.clone();
            if managed::set(&mut plan, 2, object, at, value).is_err() {
                continue;
            }
            if value == V::Choice("own") {
                // Such a switch would send nothing.
                let refused = start.written.with_objects(&plan, 2, &Machine::any());
                assert!(refused.unwrap_err().to_string().contains("no address to send from"));
                continue;
            }
            let (text, again) = saved(&start, &plan);
            assert_eq!(again.plan.congestion, plan, "{} {value:?}\n{text}", object.name());
            changed += 1;
            let _ = managed::set(&mut all, 2, object, at, value);
        }
    }
    assert!(changed > 60, "{changed}");
    let (text, again) = saved(&start, &all);
    assert_eq!(again.plan.congestion, all, "{text}");
}

/// Returns other values of an object.
fn others(object: Object, old: V) -> Vec<V> {
    match (object.kind(), old) {
        (Kind::Bool, V::Bool(old)) => vec![V::Bool(!old)],
        (Kind::Number { least, most, .. }, V::Number(old)) => {
            [old, least, most, old - 1, old + 1, old / 3 + 1]
                .into_iter()
                .filter(|n| *n != old || object.name().ends_with(".dscp"))
                .map(V::Number)
                .collect()
        }
        (Kind::Mac, _) => vec![V::Mac("02:00:00:00:00:99".parse().unwrap())],
        (Kind::Ipv4, _) => vec![V::Ipv4("10.9.9.9".parse().unwrap())],
        (Kind::Ipv6, _) => vec![V::Ipv6("fd00::99".parse().unwrap())],
        (Kind::Choice(words), _) => {
            words.iter().map(|word| V::Choice(word)).filter(|word| *word != old).collect()
        }
        (Kind::Classes, _) => vec![V::Classes(0b101_0000)],
        (Kind::QueueMap, _) => vec![V::QueueMap([0, 0, 0, -6, 0, 4, 0, 0])],
        _ => vec![],
    }
}

/// A switch that starts from what was saved marks and drops as the one that saved it.
#[test]
fn every_kind_of_curve_is_read_back_as_it_was_written() {
    let start = file(FILE);
    let (port, class) = (PortId::new(1).unwrap(), TrafficClass::ALL[2]);
    for at in [MarkAt::Enqueue, MarkAt::Dequeue, MarkAt::Queue] {
        for (name, not_ect) in NotEct::NAMES {
            let mut written = start.written.clone();
            let mut plan = start.plan.clone();
            let (kmin, kmax) = (Bytes(5_000), Bytes(7_000));
            plan.ports[1].ecn[2] =
                Some(EcnPlan { kmin, kmax, pmax: 12_345, at, not_ect: *not_ect });
            written.write_ecn(&plan, port, class);
            let again = file(&written.to_yaml());
            assert_eq!(again.plan.ports[1].ecn[2], plan.ports[1].ecn[2], "{at:?}, {name}");
        }
    }
}

#[test]
fn curves_groups_sections_and_points_are_written_too() {
    let start = file(FILE);
    let mut written = start.written.clone();
    let (port, class) = (PortId::new(1).unwrap(), TrafficClass::ALL[3]);
    let mut plan = start.plan.clone();
    plan.ports[1].ecn[3] = Some(EcnPlan {
        kmin: Bytes(5_000),
        kmax: Bytes(7_000),
        pmax: 12_345,
        at: MarkAt::Dequeue,
        not_ect: NotEct::Pass,
    });
    written.write_ecn(&plan, port, class);
    plan.buffer.groups[1][3].limit = SharedLimit::Dynamic(Alpha::new(-2).unwrap());
    plan.buffer.groups[1][0].reserved = Cells(4);
    written.write_groups(&plan, port);
    let again = file(&written.to_yaml());
    assert_eq!(again.plan.ports[1].ecn, plan.ports[1].ecn, "{}", written.to_yaml());
    assert_eq!(again.plan.buffer.groups, plan.buffer.groups);
    // The range that the queue was in keeps its other queues.
    assert_eq!(again.plan.ports[1].schedule, plan.ports[1].schedule);

    written.set_point(port, false);
    let sfc = file(&written.to_yaml()).plan.congestion.sfc.unwrap();
    assert_eq!((sfc.monitors[0][3].is_some(), sfc.monitors[1]), (true, [None; 8]));
    written.remove_section(Section::Sfc);
    written.remove_section(Section::SfcProxy);
    let none = file(&written.to_yaml()).plan.congestion;
    assert!(none.sfc.is_none() && none.proxy.is_none() && none.isolation.is_some());
    written.add_section(Section::Sfc, "{sfcMaxSFCM: 9}").unwrap();
    assert_eq!(file(&written.to_yaml()).plan.congestion.sfc.unwrap().point.max_sfcm, 9);
    assert!(written.add_section(Section::Sfc, "{").is_err());
}

/// A port that finds its headroom takes no size of it.
#[test]
fn groups_of_a_port_that_finds_its_headroom_have_none_of_their_own() {
    let start = file(FILE);
    let (mut written, mut plan) = (start.written.clone(), start.plan.clone());
    plan.buffer.groups[0][3].limit = SharedLimit::Static(Cells(40));
    let GroupKind::Lossless { xon, .. } = &mut plan.buffer.groups[0][3].kind else { panic!() };
    *xon = Cells(7);
    written.write_groups(&plan, PortId::new(0).unwrap());
    // The other port's headroom is calculated, and written as a size.
    written.write_groups(&plan, PortId::new(1).unwrap());
    let text = written.to_yaml();
    assert_eq!(file(&text).plan.buffer.groups, plan.buffer.groups, "{text}");
    assert_eq!(text.matches("xoff: auto").count(), 1, "{text}");
    // Once more, from what was saved.
    let again = file(&text);
    let mut written = again.written.clone();
    written.write_groups(&again.plan, PortId::new(0).unwrap());
    assert_eq!(file(&written.to_yaml()).plan.buffer.groups, plan.buffer.groups);
}

#[test]
fn keys_are_noticed_and_not_kept() {
    assert!(!file(FILE).written.has_keys());
    let with = format!(
        "{FILE}  - {{name: c, device: net_null2, macsec: {{key: \"{}\", receive: [{{sci: {{mac: \"02:00:00:00:00:01\"}}}}]}}}}\n",
        "71d3c95a".repeat(4)
    );
    let written = file(&with).written;
    assert!(written.has_keys() && !written.to_yaml().contains("71d3c95a"));
    // Sections of a switch with keys are created by resolving its file again.
    written.resolve(&Machine::any()).unwrap();
}

fn read(name: &str, text: &str) -> Result<ObjectValue, String> {
    object_value(Object::named(name).unwrap(), text)
}

#[test]
fn values_take_the_units_that_files_have() {
    for (name, text, value) in [
        ("sfcMasterEnable", "off", V::Bool(false)),
        ("sfcmTransmitPriority", "5", V::Number(5)),
        ("sfc.queues.target", "64KiB", V::Number(65_536)),
        ("sfc.queues.target", "1500", V::Number(1_500)),
        ("sfc.spacing", "10us", V::Number(10_000_000)),
        ("sfcMaxFlowLife", "100", V::Number(100)),
        ("sfcMaxFlowLife", "1.5s", V::Number(150)),
        ("sfc_proxy.policy.share", "75%", V::Number(49_152)),
        ("sfcMonitoredQueues", "[3, 4]", V::Classes(0x18)),
        ("sfcMonitoredQueues", "24", V::Classes(0x18)),
        ("ieee8021CnCpFeedbackWeight", "-10", V::Number(-10)),
    ] {
        assert_eq!(read(name, text), Ok(value), "{name} {text}");
    }
}

#[test]
fn what_is_shown_can_be_written() {
    for (name, n) in [
        ("sfc.pause_max", 4_294_967_295_000),
        ("sfc.spacing", 0),
        ("sfc.spacing", 1),
        ("sfc.spacing", 83_840),
        ("sfc.spacing", 1_000_000),
        ("sfc.spacing", 1_000_001),
        ("sfcMaxFlowLife", 150),
        ("sfc.queues.target", 65_536),
        ("sfc_proxy.policy.share", 49_152),
    ] {
        let object = Object::named(name).unwrap();
        let shown = object.kind().show(ObjectValue::Number(n));
        assert_eq!(object_value(object, &shown), Ok(ObjectValue::Number(n)), "{shown}");
    }
}

#[test]
fn what_is_no_value_says_which_there_are() {
    for (name, text, why) in [
        ("sfcMasterEnable", "maybe", "sfcMasterEnable: wanted is true or false"),
        ("sfcmTransmitPriority", "8", "0 to 7"),
        ("sfcmUDPPort", "49151", "49152 to 65535"),
        ("sfc.queues.target", "64K", "can mean two things"),
        ("sfc.spacing", "2s", "sfc.spacing: wanted is 0 to 1s"),
        ("sfcMaxFlowLife", "15ms", "not a whole number of centiseconds"),
        ("sfcMaxFlowLife", "0", "1 to 864000000 centiseconds"),
        ("sfc.form", "long", "simplified or encapsulated"),
        ("sfcMaxFlowLife", "0.5", "whole; write another time with its unit"),
        ("sfcTransmittedSFCMs", "0", "cannot be written"),
    ] {
        let error = read(name, text).unwrap_err();
        assert!(error.contains(why) && error.starts_with(name), "{error}");
    }
}

#[test]
fn what_contradicts_the_rest_of_the_file_is_refused_without_a_line_of_it() {
    let start = file(FILE);
    let mut plan = start.plan.congestion.clone();
    let port = Object::named("sfcmUDPPort").unwrap();
    managed::set(&mut plan, 2, port, At::default(), V::Number(50_000)).unwrap();
    plan.proxy = None;
    // A proxy that is added to the file of the start has another port than the points have now.
    let mut without = start.written.clone();
    without.remove_section(Section::SfcProxy);
    let mut with = without.with_objects(&plan, 2, &Machine::any()).unwrap();
    for (file, agrees) in [(&mut without, false), (&mut with, true)] {
        file.add_section(Section::SfcProxy, "{}").unwrap();
        let proxy = file.resolve(&Machine::any()).unwrap().plan.congestion.proxy.unwrap();
        assert_eq!(proxy.udp_port == 50_000, agrees);
    }
    let from = Object::named("sfc.from").unwrap();
    managed::set(&mut plan, 2, from, At::default(), V::Choice("own")).unwrap();
    let refused = start.written.with_objects(&plan, 2, &Machine::any()).unwrap_err().to_string();
    assert!(refused.starts_with("switch.yaml: sfc.from: "), "{refused}");
}
