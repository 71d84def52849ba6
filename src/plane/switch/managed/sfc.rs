//! Managed objects of Source Flow Control points.

use super::field::{
    Curve, Field, curve, curves, dscp, in_centiseconds, life, one, queue, threshold, word, words,
    write_centiseconds, write_curve, write_threshold, write_word,
};
use super::object::{Entry, Lens, Reason, Scope, Section, Source, Spot};
use super::value::{Counter, Kind, ObjectValue, Unit};
use crate::{Attached, CongestionPlan, SfcmForm, SfcmFrom, UnknownHost};
use congestion::Detect;
use congestion::sfc::{Count, Life, SfcPlan};
use congestion::streams::STREAMS_MAX;
use ground::units::BitsPerSec;
use wire::sfcm::{self, Locator};

/// Objects of the bridge and the point, as proposed for Clause 12.
const SLIDES: Source = Source::Sfc("12.xx");

/// Byte counts that a message can carry.
pub(super) const OCTETS: Kind = Kind::Number { least: 0, most: 1 << 40, unit: Unit::Octets };

/// Durations of up to one second: spacings, patience, intervals of limits.
pub(super) const SECOND: Kind =
    Kind::Number { least: 0, most: 1_000_000_000_000, unit: Unit::Picoseconds };

/// Burst of messages: at least one.
pub(super) const BURST: Kind = plain(1, u32::MAX as i64);

pub(super) const PRIORITY: Kind = plain(0, 7);

pub(super) const DSCP: Kind = plain(0, 63);

/// Flow lives in centiseconds: at most 100 days, as any duration in a file.
pub(super) const LIFE: Kind =
    Kind::Number { least: 1, most: 864_000_000, unit: Unit::Centiseconds };

/// Flows in a table.
pub(super) const STREAMS: Kind = plain(1, STREAMS_MAX as i64);

/// Fractions, in parts of 65536.
pub(super) const SHARE: Kind = Kind::Number { least: 0, most: 65_536, unit: Unit::Share };

/// One microsecond in picoseconds.
pub(super) const US: i64 = 1_000_000;

const fn pause(least: i64) -> Kind {
    let most = SfcPlan::PAUSE_LONGEST.as_picos() as i64;
    Kind::Number { least, most, unit: Unit::Picoseconds }
}

/// Longest pause: at least the nanosecond of a message, because shorter ones would be no pause.
const PAUSE_MAX: Kind = pause(1_000);

const COUNTS: &[(&str, Count)] = Count::NAMES;
const LIVES: &[(&str, Life)] = Life::NAMES;
const LOCATORS: &[(&str, Option<Locator>)] =
    &[("auto", None), ("incast", Some(Locator::Incast)), ("in_network", Some(Locator::InNetwork))];
const FORMS: &[(&str, SfcmForm)] = SfcmForm::NAMES;
pub(super) const UNKNOWNS: &[(&str, UnknownHost)] = UnknownHost::NAMES;
const FROMS: &[(&str, SfcmFrom)] = SfcmFrom::NAMES;

pub(super) const fn plain(least: i64, most: i64) -> Kind {
    Kind::Number { least, most, unit: Unit::One }
}

const fn slides(name: &'static str, kind: Kind, lens: Lens, doc: &'static str) -> Entry {
    Entry::new(Section::Sfc, name, kind, lens, doc).of(SLIDES)
}

const fn ours(name: &'static str, kind: Kind, lens: Lens, doc: &'static str) -> Entry {
    Entry::new(Section::Sfc, name, kind, lens, doc)
}

pub(super) static OBJECTS: &[Entry] = &[
    slides("sfcMasterEnable", Kind::Bool, one!(sfc.point.enabled), "True if messages are sent.")
        .is(ObjectValue::Bool(true)),
    slides(
        "sfcmTransmitPriority",
        PRIORITY,
        one!(sfc.transmit_priority),
        "The priority of messages.",
    )
    .number(7),
    slides(
        "sfcmMacAddress",
        Kind::Mac,
        one!(sfc.mac),
        "The source MAC address of messages; unset is that of the port.",
    )
    .is(ObjectValue::Unset),
    slides(
        "sfcmIPv4Address",
        Kind::Ipv4,
        one!(sfc.ipv4),
        "The IPv4 address that messages come from.",
    )
    .is(ObjectValue::Unset),
    slides(
        "sfcmIPv6Address",
        Kind::Ipv6,
        one!(sfc.ipv6),
        "The IPv6 address that messages come from.",
    )
    .is(ObjectValue::Unset),
    slides(
        "sfcmUDPPort",
        plain(sfcm::PORT_MIN as i64, u16::MAX as i64),
        UDP_PORT,
        "Both UDP ports of messages, the same in the whole network; of the proxy, too.",
    )
    .number(sfcm::PORT_DEFAULT as i64),
    slides(
        "sfcMaxSFCM",
        plain(1, u32::MAX as i64),
        one!(sfc.point.max_sfcm),
        "The most messages for a congesting flow.",
    )
    .number(3),
    slides(
        "sfcMonitoredQueues",
        Kind::Classes,
        MONITORED,
        "The traffic classes that are monitored for congestion.",
    ),
    slides(
        "sfcMinHeaderOctets",
        Kind::Number {
            least: sfcm::MSDU_MIN as i64,
            most: sfcm::MSDU_MAX as i64,
            unit: Unit::Octets,
        },
        one!(sfc.min_header_octets),
        "Octets of the congesting frame in messages of the encapsulated form.",
    )
    .number(sfcm::MSDU_MIN as i64),
    slides(
        "sfcMaxFlowLife",
        LIFE,
        life!(sfc.point.max_flow_life),
        "Lifetime of the entry of a congesting flow at this switch's points, in centiseconds.",
    )
    .number(100),
    Entry::counter(
        Section::Sfc,
        "sfcTransmittedSFCMs",
        Counter::TransmittedSfcms,
        "Messages put into an egress queue or handed to this switch's proxy: of the switch, a \
         port or a queue.",
    )
    .of(SLIDES),
    ours(
        "sfc.form",
        Kind::Choice(&["simplified", "encapsulated"]),
        words!(FORMS: sfc.form),
        "Form of the messages: the flow's addresses, or octets of its frame.",
    )
    .is(ObjectValue::Choice("simplified")),
    ours(
        "sfc.from",
        Kind::Choice(&["swapped", "own"]),
        words!(FROMS: sfc.from),
        "Whose IP address messages come from: the flow's destination or the switch.",
    )
    .is(ObjectValue::Choice("swapped")),
    ours(
        "sfc.unknown",
        Kind::Choice(&["drop", "flood"]),
        words!(UNKNOWNS: sfc.unknown),
        "Handling of messages whose destination is not in the address table.",
    )
    .is(ObjectValue::Choice("drop")),
    ours("sfc.dscp", DSCP, dscp!(sfc), "The DSCP of messages.").number(56),
    ours(
        "sfc.spacing",
        SECOND,
        one!(sfc.point.spacing),
        "The least time between two messages about one flow.",
    )
    .number(10 * US),
    ours(
        "sfc.patience",
        SECOND,
        one!(sfc.point.patience),
        "Time that a flow congests before its source gets a message.",
    ),
    ours(
        "sfc.octets_min",
        OCTETS,
        one!(sfc.point.octets_min),
        "Octets of a flow in a congested queue before its source gets a message.",
    )
    .number(0),
    ours(
        "sfc.meter.rate",
        Kind::Number { least: 0, most: 1_000_000_000_000, unit: Unit::BitsPerSecond },
        METER_RATE,
        "The least rate of a flow whose source gets messages; 0 for no meter.",
    )
    .number(0),
    ours(
        "sfc.meter.window",
        Kind::Number { least: 1_000_000, most: 1_000_000_000_000, unit: Unit::Picoseconds },
        one!(sfc.point.meter.window),
        "The time over which the rate of a flow is measured.",
    )
    .number(100 * US),
    ours("sfc.pause_min", pause(0), one!(sfc.point.pause_min), "Shorter pauses are not requested.")
        .number(0),
    ours("sfc.pause_max", PAUSE_MAX, one!(sfc.point.pause_max), "Longer pauses are not requested.")
        .number(SfcPlan::PAUSE_LONGEST.as_picos() as i64),
    ours(
        "sfc.budget.interval",
        SECOND,
        one!(sfc.point.budget.interval),
        "From one message to the next in the long run, of all flows together; 0 is no limit.",
    )
    .number(US),
    ours(
        "sfc.budget.burst",
        BURST,
        one!(sfc.point.budget.burst),
        "Maximum burst of messages after a long silence.",
    )
    .number(64),
    ours("sfc.streams", STREAMS, one!(sfc.point.streams), "The most congesting flows at a time.")
        .number(4_096)
        .fixed(),
    ours(
        "sfc.count",
        Kind::Choice(&["per_pause", "per_stream"]),
        words!(COUNTS: sfc.point.dialect.count),
        "Interval over which sfcMaxSFCM is counted.",
    )
    .is(ObjectValue::Choice("per_pause")),
    ours(
        "sfc.life",
        Kind::Choice(&["last_seen", "created"]),
        words!(LIVES: sfc.point.dialect.life),
        "Start of sfcMaxFlowLife.",
    )
    .is(ObjectValue::Choice("last_seen")),
    ours(
        "sfc.queues.threshold",
        OCTETS,
        THRESHOLD,
        "The queue length above which every frame's flow is congesting.",
    )
    .per(Scope::Queue),
    ours("sfc.queues.aqm.kmin", OCTETS, KMIN, "Below this length no frame is picked.")
        .per(Scope::Queue),
    ours("sfc.queues.aqm.kmax", OCTETS, KMAX, "Above this length every frame is picked.")
        .per(Scope::Queue),
    ours("sfc.queues.aqm.pmax", SHARE, PMAX, "The part of frames that is picked just below kmax.")
        .per(Scope::Queue),
    ours(
        "sfc.queues.target",
        OCTETS,
        queue!(sfc.monitors: target),
        "The length that pauses bring the queue down to.",
    )
    .per(Scope::Queue),
    ours(
        "congestion_locator",
        Kind::Choice(&["auto", "incast", "in_network"]),
        LOCATOR,
        "Location of congestion at this port, as its messages report it.",
    )
    .per(Scope::Port)
    .is(ObjectValue::Choice("auto")),
];

const MONITORED: Lens = Lens {
    get: |plan, _| Some(ObjectValue::Classes(plan.sfc.as_ref()?.point.monitored_queues)),
    set: |plan, _, value| {
        let sfc = plan.sfc.as_mut().ok_or(Reason::NoSection)?;
        let ObjectValue::Classes(mask) = value else { return Err(Reason::Range) };
        // A class without a threshold at any port would be monitored in name only.
        let has = |class: usize| sfc.monitors.iter().any(|port| port[class].is_some());
        if (0..8).any(|class| mask >> class & 1 == 1 && !has(class)) {
            return Err(Reason::Needs("name each of these classes in `sfc.queues` of the file"));
        }
        sfc.point.monitored_queues = mask;
        Ok(())
    },
};

/// The rate of the meter; 0 without one.
const METER_RATE: Lens = Lens {
    get: |plan, _| {
        let rate = plan.sfc.as_ref()?.point.meter.rate;
        Some(ObjectValue::Number(rate.map_or(0, |rate| rate.get() as i64)))
    },
    set: |plan, _, value| {
        let point = &mut plan.sfc.as_mut().ok_or(Reason::NoSection)?.point;
        let ObjectValue::Number(n) = value else { return Err(Reason::Range) };
        // A rate of 0 is none, which turns the meter off.
        point.meter.rate = BitsPerSec::new(n.try_into().map_err(|_| Reason::Range)?);
        Ok(())
    },
};

const UDP_PORT: Lens = Lens {
    get: |plan, _| Some(plan.sfc.as_ref()?.point.udp_port.value()),
    set: |plan, _, value| write_udp_port(plan, value),
};

/// Sets the UDP port, which the point and the proxy of a switch share.
pub(super) fn write_udp_port(plan: &mut CongestionPlan, value: ObjectValue) -> Result<(), Reason> {
    // Both or neither, or the switch would not recognize its own messages.
    if let Some(sfc) = &mut plan.sfc {
        sfc.point.udp_port.write(value)?;
    }
    if let Some(proxy) = &mut plan.proxy {
        proxy.udp_port.write(value)?;
    }
    Ok(())
}

const LOCATOR: Lens = Lens {
    get: |plan, spot| {
        let locator = plan.ports.get(spot.port).copied().unwrap_or_default().locator;
        word(LOCATORS, locator)
    },
    set: |plan, spot, value| write_word(LOCATORS, &mut attached(plan, spot.port).locator, value),
};

/// Returns the attachment of a port, for writing.
pub(super) fn attached(plan: &mut CongestionPlan, port: usize) -> &mut Attached {
    if plan.ports.len() <= port {
        plan.ports.resize(port + 1, Attached::default());
    }
    &mut plan.ports[port]
}

fn detect(plan: &CongestionPlan, spot: Spot) -> Option<Detect> {
    Some(plan.sfc.as_ref()?.monitors.get(spot.port)?[spot.class]?.detect)
}

fn detect_mut(plan: &mut CongestionPlan, spot: Spot) -> Option<&mut Detect> {
    let monitors = plan.sfc.as_mut()?.monitors.get_mut(spot.port)?;
    Some(&mut monitors[spot.class].as_mut()?.detect)
}

curves!(detect, detect_mut);
