//! Managed objects of ports: link measurements, the PFC storm watchdog, and the PFC MIB.
//!
//! No document names the objects of measurements, so they have the keys of a file; N, M, t and T are
//! the proposal's (Qdt, S4). The watchdog is as SONiC's `pfcwd start` and `pfcwd stop`, with its times.
//! The objects of IEEE8021-PFC-MIB are read from a running switch, not from a plan.

use super::field::{Field, word, write_word};
use super::object::{Entry, Lens, Reason, Scope, Section, Source, Spot};
use super::sfc::plain;
use super::value::{Counter, Kind, ObjectValue, Unit};
use crate::{CongestionPlan, MeasurementChoice, PortMeasurement};
use ground::time::Duration;
use headroom::measure::InitiatePlan;
use link::{Method, Preference};
use pfc::WatchdogPlan;

/// Sequence numbers have eight bits.
const REQUESTS: Kind = plain(1, 256);

const fn time(least: i64, most: i64) -> Kind {
    Kind::Number { least, most, unit: Unit::Picoseconds }
}

/// One microsecond in picoseconds: below it, requests are a flood.
const US: i64 = 1_000_000;

const SPACING_MAX: i64 = 10_000_000 * US;

/// Ten days.
const PERIOD_MAX: i64 = 864_000_000_000 * US;

const METHODS: &[(&str, Preference)] = &[
    ("round_trip", Preference::only(Method::RoundTrip)),
    ("ptp", Preference::only(Method::PeerDelay)),
    ("auto", Preference::AUTO),
    ("ptp, round_trip", Preference::PTP_FIRST),
];

#[rustfmt::skip]
const STATISTICS: &[&str] = &[
    "max", "mean", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13",
    "p14", "p15", "p16", "p17", "p18", "p19", "p20", "p21", "p22", "p23", "p24", "p25", "p26",
    "p27", "p28", "p29", "p30", "p31", "p32", "p33", "p34", "p35", "p36", "p37", "p38", "p39",
    "p40", "p41", "p42", "p43", "p44", "p45", "p46", "p47", "p48", "p49", "p50", "p51", "p52",
    "p53", "p54", "p55", "p56", "p57", "p58", "p59", "p60", "p61", "p62", "p63", "p64", "p65",
    "p66", "p67", "p68", "p69", "p70", "p71", "p72", "p73", "p74", "p75", "p76", "p77", "p78",
    "p79", "p80", "p81", "p82", "p83", "p84", "p85", "p86", "p87", "p88", "p89", "p90", "p91",
    "p92", "p93", "p94", "p95", "p96", "p97", "p98", "p99",
];

/// A field of the request/response measurement of each port.
macro_rules! initiate {
    ($field:ident) => {
        Lens {
            get: |plan, spot| Some(Field::value(&initiate(plan, spot)?.$field)),
            set: |plan, spot, value| Field::write(&mut initiate_mut(plan, spot)?.$field, value),
        }
    };
}

const fn ours(name: &'static str, kind: Kind, lens: Lens, doc: &'static str) -> Entry {
    Entry::new(Section::Measurement, name, kind, lens, doc).per(Scope::Port)
}

pub(super) static MEASUREMENT: &[Entry] = &[
    ours(
        "measurement.rounds",
        REQUESTS,
        initiate!(rounds),
        "Round trips of a measurement (N). A write of any of these starts a running one again.",
    )
    .number(InitiatePlan::DEFAULT.rounds as i64),
    ours(
        "measurement.requests",
        REQUESTS,
        initiate!(requests_max),
        "Most requests of a measurement, after which it fails (M).",
    )
    .number(InitiatePlan::DEFAULT.requests_max as i64),
    ours(
        "measurement.spacing_min",
        time(0, SPACING_MAX),
        initiate!(spacing_min),
        "Shortest time between two requests (t).",
    )
    .number(InitiatePlan::DEFAULT.spacing_min.as_picos() as i64),
    ours(
        "measurement.spacing_max",
        time(US, SPACING_MAX),
        initiate!(spacing_max),
        "Time after which the next request is sent without a response (T).",
    )
    .number(InitiatePlan::DEFAULT.spacing_max.as_picos() as i64),
    ours(
        "measurement.period",
        time(0, PERIOD_MAX),
        PERIOD,
        "Time from the end of a measurement to the next; 0 for no next one.",
    )
    .number(0),
    ours(
        "headroom.auto.statistic",
        Kind::Choice(STATISTICS),
        STATISTIC,
        "Figure of the measured times from which headroom is calculated.",
    )
    .is(ObjectValue::Choice("max")),
    ours(
        "headroom.auto.method",
        Kind::Choice(&["round_trip", "ptp", "auto", "ptp, round_trip"]),
        METHOD,
        "Measurements in order of preference; auto is round_trip, then ptp.",
    )
    .is(ObjectValue::Choice("round_trip")),
];

fn port(plan: &CongestionPlan, spot: Spot) -> Option<&PortMeasurement> {
    plan.measurement.as_ref()?.get(spot.port)?.as_ref()
}

fn port_mut(plan: &mut CongestionPlan, spot: Spot) -> Result<&mut PortMeasurement, Reason> {
    let ports = plan.measurement.as_mut().ok_or(Reason::NoSection)?;
    ports.get_mut(spot.port).and_then(Option::as_mut).ok_or(Reason::NoQueue)
}

fn initiate(plan: &CongestionPlan, spot: Spot) -> Option<&InitiatePlan> {
    port(plan, spot)?.initiate.as_ref()
}

fn initiate_mut(plan: &mut CongestionPlan, spot: Spot) -> Result<&mut InitiatePlan, Reason> {
    port_mut(plan, spot)?.initiate.as_mut().ok_or(Reason::NoQueue)
}

fn auto_mut(plan: &mut CongestionPlan, spot: Spot) -> Result<&mut MeasurementChoice, Reason> {
    port_mut(plan, spot)?.auto.as_mut().ok_or(Reason::NoQueue)
}

/// The period; 0 without one.
const PERIOD: Lens = Lens {
    get: |plan, spot| Some(initiate(plan, spot)?.period.unwrap_or_default().value()),
    set: |plan, spot, value| {
        let mut period = Duration::ZERO;
        period.write(value)?;
        initiate_mut(plan, spot)?.period = (period > Duration::ZERO).then_some(period);
        Ok(())
    },
};

const STATISTIC: Lens = Lens {
    get: |plan, spot| {
        // By its text, as a value is one of the words of the table.
        let name = port(plan, spot)?.auto?.statistic.to_string();
        STATISTICS.iter().find(|word| **word == name).map(|word| ObjectValue::Choice(word))
    },
    set: |plan, spot, value| {
        let ObjectValue::Choice(word) = value else { return Err(Reason::Range) };
        auto_mut(plan, spot)?.statistic = word.parse().map_err(|_| Reason::Range)?;
        Ok(())
    },
};

const METHOD: Lens = Lens {
    get: |plan, spot| word(METHODS, port(plan, spot)?.auto?.methods),
    set: |plan, spot, value| write_word(METHODS, &mut auto_mut(plan, spot)?.methods, value),
};

/// Validates the parameters of a port against each other, as a file does.
pub(super) fn check(port: &PortMeasurement) -> Result<(), Reason> {
    let refuse = |what: String| Err(Reason::Contradicts(what));
    if let Some(p) = &port.initiate {
        let (rounds, requests, least) = (p.rounds, p.requests_max, p.requests_least());
        if requests < least {
            return refuse(format!(
                "{rounds} round trips need {least} to 256 requests (`measurement.requests`), not \
                 {requests}"
            ));
        }
        if p.spacing_min > p.spacing_max {
            let (least, most) = (p.spacing_min, p.spacing_max);
            return refuse(format!("spacing_min of {least} is more than spacing_max, {most}"));
        }
        // 0 is no next measurement; between the two, requests would be a flood.
        let shortest = Duration::from_picos(US.unsigned_abs());
        if let Some(period) = p.period.filter(|period| *period < shortest) {
            return refuse(format!("a period of {period} is less than {shortest}"));
        }
    }
    // A method that the port cannot run would fail with each measurement.
    let missing = port.auto.and_then(|auto| auto.methods.iter().find(|m| !port.can(*m)));
    match missing {
        None => Ok(()),
        Some(Method::RoundTrip) => refuse("the port needs `measurement: {initiate: true}`".into()),
        Some(Method::PeerDelay) => refuse("the port needs `ptp: {}`".into()),
    }
}

/// A field of a port's watchdog.
macro_rules! watchdog {
    ($field:ident) => {
        Lens {
            get: |plan, spot| {
                let watchdog = plan.watchdog.as_ref()?.get(spot.port)?.as_ref()?;
                Some(Field::value(&watchdog.$field))
            },
            set: |plan, spot, value| {
                let ports = plan.watchdog.as_mut().ok_or(Reason::NoSection)?;
                let watchdog = ports.get_mut(spot.port).and_then(Option::as_mut);
                // A port without a watchdog is skipped when all ports are written.
                Field::write(&mut watchdog.ok_or(Reason::NoQueue)?.$field, value)
            },
        }
    };
}

const MILLISECOND: i64 = 1_000_000_000;

/// A time up to an hour.
const HOUR_MAX: Kind =
    Kind::Number { least: 1, most: 3_600_000 * MILLISECOND, unit: Unit::Picoseconds };

pub(super) static WATCHDOG: &[Entry] = &[
    Entry::new(
        Section::Watchdog,
        "watchdog.enabled",
        Kind::Bool,
        watchdog!(enabled),
        "True if the storm watchdog of the port runs; one that is stopped releases its queues.",
    )
    .per(Scope::Port)
    .is(ObjectValue::Bool(WatchdogPlan::DEFAULT.enabled)),
    Entry::new(
        Section::Watchdog,
        "watchdog.detection",
        HOUR_MAX,
        watchdog!(detection),
        "Time that a queue with frames must be paused, without sending any, to be in a storm.",
    )
    .per(Scope::Port)
    .number(WatchdogPlan::DEFAULT.detection.as_picos() as i64),
    Entry::new(
        Section::Watchdog,
        "watchdog.restoration",
        HOUR_MAX,
        watchdog!(restoration),
        "Time without a pause after which a queue in a storm is released.",
    )
    .per(Scope::Port)
    .number(WatchdogPlan::DEFAULT.restoration.as_picos() as i64),
];

const fn mib(name: &'static str, counter: Counter, doc: &'static str) -> Entry {
    Entry::counter(Section::Pfc, name, counter, doc).of(Source::Pfc("17.7.17")).per(Scope::Port)
}

pub(super) static PFC: &[Entry] = &[
    mib(
        "ieee8021PfcLinkDelayAllowance",
        Counter::LinkDelayAllowance,
        "Bits that the headroom of the port's lossless groups allows for, the least of them.",
    ),
    mib("ieee8021PfcRequests", Counter::PfcRequests, "PFC frames sent."),
    mib("ieee8021PfcIndications", Counter::PfcIndications, "PFC frames received."),
];
