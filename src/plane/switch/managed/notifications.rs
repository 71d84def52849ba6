//! Managed objects of CNPs from the switch, which are of this project, and of QCN
//! (IEEE8021-CN-MIB).

use super::field::{
    Curve, Field, curve, curves, dscp, one, queue, threshold, write_curve, write_threshold,
};
use super::object::{Entry, Lens, Reason, Scope, Section, Source, Spot};
use super::sfc::{BURST, DSCP, OCTETS, PRIORITY, SECOND, SHARE, STREAMS, US, plain};
use super::value::{Counter, Kind, Unit};
use crate::CongestionPlan;
use congestion::Detect;

/// Range in which QCN's arithmetic fits into 64 bits: see `PointPlan`.
const POINT_OCTETS: Kind = Kind::Number { least: 1, most: 1 << 40, unit: Unit::Octets };

const fn cnp(name: &'static str, kind: Kind, lens: Lens, doc: &'static str) -> Entry {
    Entry::new(Section::FastCnp, name, kind, lens, doc)
}

const fn qcn(
    clause: &'static str,
    name: &'static str,
    kind: Kind,
    lens: Lens,
    doc: &'static str,
) -> Entry {
    Entry::new(Section::Qcn, name, kind, lens, doc).of(Source::Cn(clause))
}

pub(super) static FAST_CNP: &[Entry] = &[
    cnp("fast_cnp.priority", PRIORITY, one!(fast_cnp.priority), "The priority of notifications.")
        .number(6),
    cnp("fast_cnp.dscp", DSCP, dscp!(fast_cnp), "The DSCP of notifications.").number(48),
    cnp(
        "fast_cnp.spacing",
        SECOND,
        one!(fast_cnp.spacing),
        "The least time between two notifications about one flow.",
    )
    .number(50 * US),
    cnp(
        "fast_cnp.budget.interval",
        SECOND,
        one!(fast_cnp.budget.interval),
        "From one notification to the next in the long run, of all flows; 0 is no limit.",
    )
    .number(US),
    cnp(
        "fast_cnp.budget.burst",
        BURST,
        one!(fast_cnp.budget.burst),
        "Maximum burst of notifications after a long silence.",
    )
    .number(64),
    cnp("fast_cnp.flows", STREAMS, one!(fast_cnp.flows), "The most flows that are kept in mind.")
        .number(4_096)
        .fixed(),
    cnp(
        "fast_cnp.queues.threshold",
        OCTETS,
        THRESHOLD,
        "The queue length above which every flow's source is notified.",
    )
    .per(Scope::Queue),
    cnp("fast_cnp.queues.aqm.kmin", OCTETS, KMIN, "Below this length no frame is picked.")
        .per(Scope::Queue),
    cnp("fast_cnp.queues.aqm.kmax", OCTETS, KMAX, "Above this length every frame is picked.")
        .per(Scope::Queue),
    cnp(
        "fast_cnp.queues.aqm.pmax",
        SHARE,
        PMAX,
        "The part of frames that is picked just below kmax.",
    )
    .per(Scope::Queue),
];

fn detect(plan: &CongestionPlan, spot: Spot) -> Option<Detect> {
    // `None` for a queue that the section does not watch, which a write reports.
    plan.fast_cnp.as_ref()?.detect.get(spot.port)?[spot.class]
}

fn detect_mut(plan: &mut CongestionPlan, spot: Spot) -> Option<&mut Detect> {
    plan.fast_cnp.as_mut()?.detect.get_mut(spot.port)?[spot.class].as_mut()
}

curves!(detect, detect_mut);

pub(super) static QCN: &[Entry] = &[
    qcn(
        "12.21.1",
        "ieee8021CnGlobalCnmTransmitPriority",
        PRIORITY,
        one!(qcn.transmit_priority),
        "The priority of CNMs.",
    )
    .number(6),
    qcn(
        "12.21.4",
        "ieee8021CnCpMinHeaderOctets",
        Kind::Number { least: 0, most: 64, unit: Unit::Octets },
        one!(qcn.msdu_octets),
        "Octets of the sampled frame in a CNM; the MIB's default is 0.",
    )
    .number(64),
    qcn(
        "12.21.4",
        "ieee8021CnCpQueueSizeSetPoint",
        POINT_OCTETS,
        queue!(qcn.points: set_point),
        "The queue length that is aimed at.",
    )
    .per(Scope::Queue)
    .number(26_000),
    qcn(
        "12.21.4",
        "ieee8021CnCpFeedbackWeight",
        plain(-10, 10),
        queue!(qcn.points: weight),
        "The weight of the queue's growth against its length, as a power of two.",
    )
    .per(Scope::Queue)
    .number(1),
    qcn(
        "12.21.4",
        "ieee8021CnCpMinSampleBase",
        POINT_OCTETS,
        queue!(qcn.points: sample_base),
        "Octets between two looks at a queue that is not congested.",
    )
    .per(Scope::Queue)
    .number(150_000),
    Entry::counter(
        Section::Qcn,
        "ieee8021CnCpTransmittedCnms",
        Counter::TransmittedCnms,
        "CNMs sent: of the switch, of one port, of one queue.",
    )
    .of(Source::Cn("12.21.4")),
    Entry::new(
        Section::Qcn,
        "qcn.queues.jitter",
        Kind::Number { least: 0, most: 99, unit: Unit::Percent },
        queue!(qcn.points: jitter),
        "Random variation of the sampling distance around its base, in percent.",
    )
    .per(Scope::Queue)
    .number(15),
];
