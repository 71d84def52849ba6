//! Managed objects of Congestion Isolation (802.1Qcz 12.33, 49.4.1).

use super::field::{
    Curve, Field, curve, curves, dscp, in_centiseconds, life, one, threshold, word, words,
    write_centiseconds, write_curve, write_threshold, write_word,
};
use super::object::{Entry, Lens, Reason, Scope, Section, Source, Spot};
use super::sfc::{BURST, DSCP, LIFE, OCTETS, PRIORITY, SECOND, STREAMS, US, plain};
use super::value::{Kind, ObjectValue, Unit};
use crate::{CongestionPlan, IsolationPoint};
use congestion::Detect;
use congestion::isolation::{CimRepeat, MapReading, QueueMap, Watch};
use ground::units::{PRIORITIES, PortId, TrafficClass};

const REPEATS: &[(&str, CimRepeat)] = CimRepeat::NAMES;

const fn standard(
    clause: &'static str,
    name: &'static str,
    kind: Kind,
    lens: Lens,
    doc: &'static str,
) -> Entry {
    ours(name, kind, lens, doc).of(Source::Isolation(clause))
}

const fn ours(name: &'static str, kind: Kind, lens: Lens, doc: &'static str) -> Entry {
    Entry::new(Section::CongestionIsolation, name, kind, lens, doc)
}

/// A field of each port's isolation point.
macro_rules! point {
    ($field:ident) => {
        Lens {
            get: |plan, spot| {
                let points = &plan.isolation.as_ref()?.points;
                Some(points.get(spot.port).copied().unwrap_or_default().$field.value())
            },
            set: |plan, spot, value| point(plan, spot)?.$field.write(value),
        }
    };
}

/// A field of each monitored queue's parameters.
macro_rules! watch {
    ($field:ident) => {
        Lens {
            get: |plan, spot| Some(watch(plan, spot)?.$field.value()),
            set: |plan, spot, value| {
                watch_mut(plan, spot).ok_or(Reason::NoQueue)?.$field.write(value)
            },
        }
    };
}

/// Bytes of a frame that a CIM encapsulates.
const HEADER_OCTETS: Kind = Kind::Number { least: 48, most: 512, unit: Unit::Octets };

pub(super) static OBJECTS: &[Entry] = &[
    standard(
        "49.4.1.1.1",
        "ci-master-enable",
        Kind::Bool,
        one!(isolation.machine.enabled),
        "True if congesting flows are isolated.",
    )
    .is(ObjectValue::Bool(true)),
    standard(
        "49.4.1.1.2",
        "ci-cim-tx-priority",
        PRIORITY,
        one!(isolation.cim_tx_priority),
        "The priority of CIMs.",
    )
    .number(6),
    standard(
        "49.4.1.1.3",
        "ci-max-flow-life",
        LIFE,
        life!(isolation.machine.max_flow_life),
        "Time that a flow named by a CIM stays after its queue is not congested, in centiseconds.",
    )
    .number(100),
    standard(
        "49.4.1.2.1",
        "cip-mac-address",
        Kind::Mac,
        point!(mac),
        "The MAC address that CIMs come from and go to; unset is that of the port.",
    )
    .per(Scope::Port)
    .is(ObjectValue::Unset),
    standard(
        "49.4.1.2.2",
        "cip-ipv4-address",
        Kind::Ipv4,
        point!(ipv4),
        "The IPv4 address that CIMs come from and go to.",
    )
    .per(Scope::Port)
    .is(ObjectValue::Unset),
    standard(
        "49.4.1.2.3",
        "cip-ipv6-address",
        Kind::Ipv6,
        point!(ipv6),
        "The IPv6 address that CIMs come from and go to.",
    )
    .per(Scope::Port)
    .is(ObjectValue::Unset),
    standard(
        "49.4.1.2.4",
        "cip-cim-port",
        plain(0, u16::MAX as i64),
        point!(cim_port),
        "UDP port of received CIMs; 0 accepts none over IP.",
    )
    .per(Scope::Port)
    .number(0),
    standard(
        "49.4.1.2.5",
        "queue-map",
        Kind::QueueMap,
        QUEUE_MAP,
        "Which class takes the congesting flows of which; one for all ports here.",
    )
    .is(ObjectValue::QueueMap([0; PRIORITIES])),
    standard(
        "49.4.1.2.6",
        "min-header-octets",
        HEADER_OCTETS,
        one!(isolation.min_header_octets),
        "The least octets of a frame that a CIM encapsulates; one for all ports here.",
    )
    .number(48),
    standard(
        "49.4.1.2.7",
        "max-cim-tx",
        // uint16 of the YANG module.
        plain(0, u16::MAX as i64),
        one!(isolation.machine.max_cim_tx),
        "The most CIMs for a flow; one for all ports here.",
    )
    .number(3),
    standard(
        "49.3.6",
        "max-ci-peer-entries",
        plain(0, PortId::MAX.get() as i64 + 1),
        one!(isolation.machine.peers_max),
        "The most entries of the CI peer table.",
    )
    .number(1_024)
    .fixed(),
    standard(
        "49.3.7",
        "max-ci-stream-entries",
        STREAMS,
        one!(isolation.machine.streams),
        "The most entries of the CI stream table.",
    )
    .number(4_096)
    .fixed(),
    ours("congestion_isolation.dscp", DSCP, dscp!(isolation), "The DSCP of CIMs in IP.").number(48),
    ours(
        "congestion_isolation.spacing",
        SECOND,
        one!(isolation.machine.spacing),
        "The least time between two CIMs about one flow.",
    )
    .number(10 * US),
    ours(
        "congestion_isolation.budget.interval",
        SECOND,
        one!(isolation.machine.budget.interval),
        "From one CIM to the next in the long run, of all flows together; 0 is no limit.",
    )
    .number(US),
    ours(
        "congestion_isolation.budget.burst",
        BURST,
        one!(isolation.machine.budget.burst),
        "Maximum burst of CIMs after a long silence.",
    )
    .number(64),
    ours(
        "congestion_isolation.heard.interval",
        SECOND,
        one!(isolation.machine.heard.interval),
        "From one CIM to the next that is taken from a peer in the long run; 0 is no limit.",
    )
    .number(US),
    ours(
        "congestion_isolation.heard.burst",
        BURST,
        one!(isolation.machine.heard.burst),
        "Maximum burst of CIMs accepted from a peer after a long silence.",
    )
    .number(64),
    ours(
        "congestion_isolation.repeat",
        Kind::Choice(&["never", "before_its_life_ends"]),
        words!(REPEATS: isolation.machine.dialect.repeat),
        "Time at which the count of CIMs about a flow starts again.",
    )
    .is(ObjectValue::Choice("before_its_life_ends")),
    ours(
        "congestion_isolation.queues.threshold",
        OCTETS,
        THRESHOLD,
        "The length of a monitored queue above which every frame's flow is isolated.",
    )
    .per(Scope::Queue),
    ours(
        "congestion_isolation.queues.aqm.kmin",
        OCTETS,
        KMIN,
        "Below this length no frame is picked.",
    )
    .per(Scope::Queue),
    ours(
        "congestion_isolation.queues.aqm.kmax",
        OCTETS,
        KMAX,
        "Above this length every frame is picked.",
    )
    .per(Scope::Queue),
    ours(
        "congestion_isolation.queues.aqm.pmax",
        super::sfc::SHARE,
        PMAX,
        "The part of frames that is picked just below kmax.",
    )
    .per(Scope::Queue),
    ours(
        "congestion_isolation.queues.low",
        OCTETS,
        watch!(low),
        "The length of the congesting queue at or below which its flows go back.",
    )
    .per(Scope::Queue),
    ours(
        "congestion_isolation.queues.cim_above",
        OCTETS,
        watch!(cim_above),
        "Length of the congesting queue above which the upstream neighbour is notified.",
    )
    .per(Scope::Queue),
];

fn point(plan: &mut CongestionPlan, spot: Spot) -> Result<&mut IsolationPoint, Reason> {
    let points = &mut plan.isolation.as_mut().ok_or(Reason::NoSection)?.points;
    if points.len() <= spot.port {
        // A plan lists points up to the last port that has one.
        points.resize(spot.port + 1, IsolationPoint::default());
    }
    Ok(&mut points[spot.port])
}

const QUEUE_MAP: Lens = Lens {
    get: |plan, _| {
        let map = &plan.isolation.as_ref()?.machine.map;
        Some(ObjectValue::QueueMap(map.numbers()))
    },
    set: |plan, _, value| {
        let machine = &mut plan.isolation.as_mut().ok_or(Reason::NoSection)?.machine;
        let ObjectValue::QueueMap(numbers) = value else { return Err(Reason::Range) };
        let map = QueueMap::new(numbers, MapReading::Partner);
        machine.map = map.map_err(|error| Reason::Contradicts(error.to_string()))?;
        Ok(())
    },
};

/// Returns the parameters of a monitored queue: configured for it, or the common ones.
fn watch(plan: &CongestionPlan, spot: Spot) -> Option<Watch> {
    let isolation = plan.isolation.as_ref()?;
    isolation.machine.map.congesting(TrafficClass::ALL[spot.class])?;
    let own = isolation.watches.get(spot.port).and_then(|port| port[spot.class]);
    Some(own.unwrap_or(isolation.machine.watch))
}

/// As [`watch()`], for writing: from then on the queue has separate parameters.
fn watch_mut(plan: &mut CongestionPlan, spot: Spot) -> Option<&mut Watch> {
    // The common parameters are copied, so that the other values of the queue stay.
    let now = watch(plan, spot)?;
    let watches = &mut plan.isolation.as_mut()?.watches;
    if watches.len() <= spot.port {
        watches.resize(spot.port + 1, [None; PRIORITIES]);
    }
    Some(watches[spot.port][spot.class].get_or_insert(now))
}

fn detect(plan: &CongestionPlan, spot: Spot) -> Option<Detect> {
    Some(watch(plan, spot)?.detect)
}

fn detect_mut(plan: &mut CongestionPlan, spot: Spot) -> Option<&mut Detect> {
    Some(&mut watch_mut(plan, spot)?.detect)
}

curves!(detect, detect_mut);
