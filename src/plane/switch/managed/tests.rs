//! Tests of every object: default, range, text and place.

use super::*;
use crate::*;
use ::congestion::isolation::{IsolationPlan, MapReading, QueueMap, Watch};
use ::congestion::proxy::CachePlan;
use ::congestion::qcn::PointPlan;
use ::congestion::sfc::Monitor;
use ::congestion::{Detect, EcnPlan, LimitPlan, MarkAt, NotEct};
use ::pfc::WatchdogPlan;
use ground::time::Duration;
use ground::units::{Bytes, Priority};
use headroom::measure::InitiatePlan;
use link::{Method, Preference, Statistic};

const PORTS: usize = 2;

const MEASUREMENT: PortMeasurement = PortMeasurement {
    initiate: Some(InitiatePlan::DEFAULT),
    auto: Some(MeasurementChoice {
        methods: Preference::only(Method::RoundTrip),
        statistic: Statistic::Max,
        ptp: true,
    }),
};

/// A plan with everything enabled and the machines' defaults. Even classes are detected by length,
/// odd ones by a curve, with parameters at the ends of their ranges.
pub(crate) fn whole() -> CongestionPlan {
    let (least, most) = (Bytes(0), Bytes(1 << 40));
    let ecn =
        EcnPlan { kmin: least, kmax: most, pmax: 9, at: MarkAt::Enqueue, not_ect: NotEct::Pass };
    let detect =
        |class: usize| if class % 2 == 0 { Detect::Length(most) } else { Detect::Aqm(ecn) };
    let limit = LimitPlan { interval: Duration::from_micros(1), burst: 64 };
    let monitor = |class| Monitor { detect: detect(class), target: least };
    let watch = |class| Watch { detect: detect(class), low: least, cim_above: most };
    let map = QueueMap::new([0, 0, -4, 3, 0, -7, 6, 0], MapReading::Partner).unwrap();
    let plan = crate::rig::congestion();
    CongestionPlan {
        sfc: Some(SourceFlowControlPlan {
            dscp: None,
            monitors: vec![core::array::from_fn(|class| Some(monitor(class))); PORTS],
            ..plan.sfc.unwrap()
        }),
        isolation: Some(CongestionIsolationPlan {
            machine: IsolationPlan { enabled: true, map, ..IsolationPlan::new() },
            watches: vec![core::array::from_fn(|class| Some(watch(class))); PORTS],
            ..plan.isolation.unwrap()
        }),
        proxy: Some(SfcProxyPlan { cache: Some(CachePlan::standard()), ..plan.proxy.unwrap() }),
        fast_cnp: Some(FastCnpPlan {
            detect: vec![core::array::from_fn(|class| Some(detect(class))); PORTS],
            spacing: Duration::from_micros(50),
            budget: limit,
            flows: 4_096,
            source_qp: SourceQp::Learnt,
            priority: Priority::ALL[6],
            dscp: None,
        }),
        qcn: Some(QuantizedPlan {
            points: vec![[Some(PointPlan::standard()); 8]; PORTS],
            transmit_priority: Priority::ALL[6],
            msdu_octets: 64,
        }),
        watchdog: Some(vec![Some(WatchdogPlan::DEFAULT); PORTS]),
        measurement: Some(vec![Some(MEASUREMENT); PORTS]),
        ports: vec![],
    }
}

fn object(name: &str) -> Object {
    Object::named(name).unwrap()
}

/// Returns a place that has the object, detected by length or by a curve as it requires.
fn place(object: Object) -> At {
    let port = PortId::new(1);
    // Classes 2 and 5 are also monitored by isolation.
    let class = if object.name().contains(".aqm.") { 5 } else { 2 };
    match object.scope() {
        Scope::Bridge => At::default(),
        Scope::Port => At { port, class: None },
        Scope::Queue | Scope::Sums => At { port, class: TrafficClass::new(class) },
    }
}

/// Returns valid values, including the limits, and invalid ones.
fn samples(kind: Kind) -> (Vec<ObjectValue>, Vec<ObjectValue>) {
    use ObjectValue as V;
    let read = |texts: &[&str]| texts.iter().map(|t| kind.read(t).unwrap()).collect::<Vec<_>>();
    let (good, mut bad) = match kind {
        Kind::Bool => (read(&["true", "false"]), vec![V::Number(1)]),
        Kind::Number { least, most, .. } => (
            vec![V::Number(least), V::Number(most)],
            vec![V::Number(least - 1), V::Number(most + 1), V::Bool(true)],
        ),
        Kind::Mac => (
            read(&["02:00:00:00:00:01", "fe-ff-ff-ff-ff-ff", "unset"]),
            read(&["00:00:00:00:00:00", "01:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"]),
        ),
        Kind::Ipv4 => (
            read(&["0.0.0.1", "223.255.255.255", "unset"]),
            read(&["0.0.0.0", "127.0.0.1", "224.0.0.0", "255.255.255.255"]),
        ),
        Kind::Ipv6 => (read(&["2001:db8::1", "fe80::1", "none"]), read(&["::", "::1", "ff02::1"])),
        Kind::Classes => (read(&["0", "255", "0xff", "[0,7]", "3, 4"]), vec![V::Number(3)]),
        Kind::QueueMap => (
            read(&["0,0,0,0,0,0,0,0", "[-8,0,0,0,0,0,0,1]", "-2 1 0 0 0 0 0 0"]),
            read(&["-9,0,0,0,0,0,0,1", "9,0,0,0,0,0,0,1"]),
        ),
        Kind::Choice(words) => (
            words.iter().filter(|w| **w != "listed").map(|word| V::Choice(word)).collect(),
            vec![V::Choice("whatever"), V::Unset],
        ),
        Kind::Counter(_) => (vec![], vec![V::Number(0)]),
    };
    bad.extend((kind == Kind::Bool).then_some(V::Unset));
    (good, bad)
}

#[test]
fn names_are_unique_and_found() {
    let mut names: Vec<_> = Object::all().map(Object::name).collect();
    for name in &names {
        assert_eq!(object(name).name(), *name);
        assert!(!object(name).doc().is_empty());
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    let why = Object::named("sfcmudpport").unwrap_err().to_string();
    assert!(why.contains("is sfcmUDPPort meant?"), "{why}");
    assert!(Object::named("x").unwrap_err().to_string().contains("--describe"));
}

#[test]
fn what_a_plan_has_without_being_told_is_the_default_that_is_named() {
    let mut plan = whole();
    let form = ObjectValue::Choice("encapsulated");
    set(&mut plan, PORTS, object("sfc.form"), At::default(), form).unwrap();
    let not_default = ["sfc.form", "queue-map"];
    for object in Object::all().filter(|o| !not_default.contains(&o.name())) {
        let Some(default) = object.default() else { continue };
        assert_eq!(get(&plan, PORTS, object, place(object)), Some(default), "{object:?}");
        assert!(object.kind().takes(&default), "{object:?}");
    }
}

#[test]
fn the_dscp_of_messages_follows_their_priority_until_it_is_set() {
    for (priority, dscp) in [
        ("sfcmTransmitPriority", "sfc.dscp"),
        ("ci-cim-tx-priority", "congestion_isolation.dscp"),
        ("fast_cnp.priority", "fast_cnp.dscp"),
    ] {
        let (priority, dscp) = (object(priority), object(dscp));
        let mut plan = whole();
        plan.isolation.as_mut().unwrap().dscp = None;
        let at = At::default();
        for n in 0..8 {
            set(&mut plan, PORTS, priority, at, ObjectValue::Number(n)).unwrap();
            assert_eq!(get(&plan, PORTS, dscp, at), Some(ObjectValue::Number(8 * n)), "{dscp:?}");
        }
        set(&mut plan, PORTS, dscp, at, ObjectValue::Number(13)).unwrap();
        set(&mut plan, PORTS, priority, at, ObjectValue::Number(2)).unwrap();
        assert_eq!(get(&plan, PORTS, dscp, at), Some(ObjectValue::Number(13)), "{dscp:?}");
    }
}

#[test]
fn both_ends_of_every_range_can_be_set_and_nothing_beyond() {
    for object in Object::all().filter(|o| o.access() == Access::ReadWrite) {
        let at = place(object);
        let mut plan = whole();
        let form = ObjectValue::Choice("encapsulated");
        if object.name() != "sfc.form" {
            set(&mut plan, PORTS, super::Object::named("sfc.form").unwrap(), At::default(), form)
                .unwrap();
        }
        // Leaves room on both sides for parameters that depend on each other.
        let policy = &mut plan.proxy.as_mut().unwrap().policy;
        (policy.longest, policy.credit) = (Duration::from_picos(1), Duration::from_secs(60));
        let initiate = InitiatePlan {
            rounds: 1,
            requests_max: 256,
            spacing_min: Duration::ZERO,
            spacing_max: Duration::from_secs(10),
            ..InitiatePlan::DEFAULT
        };
        plan.measurement =
            Some(vec![Some(PortMeasurement { initiate: Some(initiate), ..MEASUREMENT }); PORTS]);
        let before = plan.clone();
        let (good, bad) = samples(object.kind());
        for value in good {
            set(&mut plan, PORTS, object, at, value).unwrap_or_else(|e| panic!("{value}: {e}"));
            assert_eq!(get(&plan, PORTS, object, at), Some(value), "{object:?}");
            let text = value.to_string();
            assert_eq!(object.kind().read(&text), Some(value), "{object:?} {text}");
            // A value written at one place is not written at others.
            if at.port.is_some() {
                let other = At { port: PortId::new(0), ..at };
                let was = get(&before, PORTS, object, other);
                assert_eq!(get(&plan, PORTS, object, other), was, "{object:?}");
            }
        }
        for value in bad {
            let before = plan.clone();
            let error = set(&mut plan, PORTS, object, at, value).unwrap_err();
            assert_eq!(error.reason(), &Reason::Range, "{object:?} {value}");
            let text = error.to_string();
            assert!(text.starts_with(object.name()) && text.contains("wanted is"), "{text}");
            assert!(plan == before, "a refused value was written");
        }
    }
}

#[test]
fn without_a_port_or_class_all_of_them_are_meant() {
    let mut plan = whole();
    let (target, value) = (object("sfc.queues.target"), ObjectValue::Number(7));
    plan.sfc.as_mut().unwrap().monitors[0] = [None; 8];
    set(&mut plan, PORTS, target, At { port: None, class: TrafficClass::new(4) }, value).unwrap();
    let targets = |plan: &CongestionPlan| -> Vec<u64> {
        let monitors = plan.sfc.as_ref().unwrap().monitors.iter().flatten().flatten();
        monitors.map(|monitor| monitor.target.0).collect()
    };
    assert_eq!(targets(&plan), [0, 0, 0, 0, 7, 0, 0, 0]);
    let mac = object("cip-mac-address");
    let own = Kind::Mac.read("02:00:00:00:00:09").unwrap();
    set(&mut plan, PORTS, mac, At::default(), own).unwrap();
    for port in [0, 1] {
        assert_eq!(get(&plan, PORTS, mac, At { port: PortId::new(port), class: None }), Some(own));
    }
    assert_eq!(get(&plan, PORTS, mac, At::default()), None, "two values are not one");
}

#[test]
fn refusals_say_what_to_do() {
    let n = ObjectValue::Number;
    let at = |port, class| At { port, class };
    let (none, first) = (At::default(), PortId::new(0));
    let (one, queue) = (at(first, None), at(first, TrafficClass::new(2)));
    let plan = whole();
    let empty = CongestionPlan::default();
    let on = ObjectValue::Bool(true);
    let mut unwatched = plan.clone();
    unwatched.watchdog = Some(vec![None, Some(WatchdogPlan::DEFAULT)]);
    let mut no_ptp = plan.clone();
    for port in no_ptp.measurement.iter_mut().flatten().flatten() {
        port.auto.as_mut().unwrap().ptp = false;
    }
    let mut lower = plan.clone();
    set(&mut lower, PORTS, object("sfc.queues.threshold"), queue, n(100)).unwrap();
    let low = "congestion_isolation.queues.low";
    let auto = ObjectValue::Choice("auto");
    for (plan, name, at, value, advice) in [
        (
            &empty,
            "sfcMaxSFCM",
            none,
            n(3),
            "put `sfc: {}` into the file, or `sluice ctl create sfc`",
        ),
        (&plan, "sfcTransmittedSFCMs", none, n(3), "a counter"),
        (&plan, "max-ci-stream-entries", none, n(3), "change it in the file and restart"),
        (&plan, "sfcmUDPPort", none, n(49_151), "49152 to 65535"),
        (&plan, "sfcmUDPPort", one, n(50_000), "leave out the port"),
        (&plan, "cip-cim-port", queue, n(5), "leave out the class"),
        (&plan, "cip-cim-port", at(PortId::new(2), None), n(5), "no such port"),
        (
            &plan,
            low,
            at(first, TrafficClass::new(0)),
            n(5),
            "`congestion_isolation.queues` of the file",
        ),
        (&unwatched, "watchdog.enabled", one, on, "put `watchdog: {}` into its part of the file"),
        (&empty, "watchdog.enabled", none, on, "put `watchdog: {}` into the file"),
        (
            &empty,
            "measurement.rounds",
            none,
            n(9),
            "put `measurement: {initiate: true}` into the file",
        ),
        (
            &empty,
            "headroom.auto.statistic",
            none,
            ObjectValue::Choice("mean"),
            "put `headroom: auto` into the file",
        ),
        (&plan, "measurement.rounds", one, n(201), "201 round trips need 201 to 256 requests"),
        (&plan, "measurement.spacing_min", none, n(500_000_001), "spacing_max"),
        (&plan, "measurement.period", none, n(1), "1us"),
        (&no_ptp, "headroom.auto.method", none, auto, "`ptp: {}`"),
        (&plan, "ieee8021PfcRequests", none, n(0), "a counter"),
        (&plan, "max-cim-tx", none, n(65_536), "0 to 65535"),
        (&plan, "sfcMinHeaderOctets", none, n(63), "64 to 512"),
        (&plan, "sfc.queues.aqm.kmin", queue, n(64), "give it an `aqm`"),
        (&lower, "sfc.queues.target", queue, n(101), "the target of 101 B is above 100 B"),
    ] {
        let mut new = plan.clone();
        let error = set(&mut new, PORTS, object(name), at, value).unwrap_err().to_string();
        assert!(new == *plan && error.starts_with(name) && error.contains(advice), "{error}");
    }
}

#[test]
fn the_point_and_the_proxy_keep_one_port() {
    for name in ["sfcmUDPPort", "sfc_proxy.sfcmUDPPort"] {
        let mut plan = whole();
        set(&mut plan, PORTS, object(name), At::default(), ObjectValue::Number(50_000)).unwrap();
        let ports = (plan.sfc.unwrap().point.udp_port, plan.proxy.unwrap().udp_port);
        assert_eq!(ports, (50_000, 50_000));
    }
}

#[test]
fn a_queue_length_that_no_queue_has_is_refused_with_the_remedy() {
    let buffer = Bytes(1_000_000);
    for object in Object::all() {
        let name = object.name();
        let begins = name.ends_with(".queues.threshold") || name.ends_with(".queues.aqm.kmin");
        let at = |n| reaches(object, ObjectValue::Number(n), buffer);
        assert_eq!(at(999_999), Ok(()), "{name}");
        let refused = at(1_000_000).err().map(|error| error.to_string());
        assert_eq!(refused.is_some(), begins, "{name}: {refused:?}");
        let advice = "write less than the whole buffer, 1000000 B";
        assert!(refused.is_none_or(|why| why.starts_with(name) && why.ends_with(advice)));
    }
}
