//! Resolves congestion control of a switch, across all its ports.

mod isolation;
mod notifications;
mod parts;
mod sfc;

pub use parts::{Section, life, longest, senders, settings, udp_port};

use super::protocols::late_host;
use super::{Cx, Draft, Place};
use crate::raw;
use buffer::BufferPlan;
use congestion::isolation::QueueMap;
use ground::time::Duration;
use ground::units::PRIORITIES;
use pfc::{FlowControl, WatchdogPlan};
use switch::{Attached, AttachedKind, CongestionPlan, PortMeasurement};
use wire::sfcm::Locator;

/// Sections of the file for the whole switch.
#[derive(Clone, Copy, Default)]
pub struct Congestion<'a> {
    pub sfc: Option<&'a raw::Sfc>,
    pub isolation: Option<&'a raw::CongestionIsolation>,
    pub proxy: Option<&'a raw::SfcProxy>,
    pub fast_cnp: Option<&'a raw::FastCnp>,
    pub qcn: Option<&'a raw::Qcn>,
}

/// Context that the sections need besides their own fields.
struct Context<'d, 'a> {
    drafts: &'d [Draft<'a>],
    /// Buffer size in bytes.
    buffer: u64,
    /// Traffic classes of the priorities that PFC protects at any port: bit n for class n.
    protected: u8,
    /// Map from a class to the class that takes its congesting flows, if isolation is on.
    moves: Option<QueueMap>,
}

/// Resolves the plan from the sections of `place`. [`seed`] sets the seeds.
pub(super) fn congestion(
    cx: &mut Cx,
    place: &Place<'_>,
    sections: &Congestion<'_>,
    drafts: &[Draft<'_>],
    buffer: &BufferPlan,
) -> CongestionPlan {
    check_ports(cx, sections, drafts);
    let mut context =
        Context { drafts, buffer: buffer.octets().0, protected: protected(drafts), moves: None };
    let mut plan = CongestionPlan {
        watchdog: watchdogs(drafts),
        measurement: measurements(drafts),
        ports: drafts.iter().map(|draft| attached(draft.raw)).collect(),
        ..CongestionPlan::default()
    };
    if let Some(raw) = sections.isolation {
        isolation::isolation(cx, &place.key("congestion_isolation"), raw, &context, &mut plan);
    }
    // SFC asks where flows are moved, so isolation is resolved before it.
    context.moves = plan.isolation.as_ref().filter(|i| i.machine.enabled).map(|i| i.machine.map);
    if let Some(raw) = sections.sfc {
        sfc::sfc(cx, &place.key("sfc"), raw, &context, &mut plan);
    }
    if let Some(raw) = sections.proxy {
        sfc::proxy(cx, &place.key("sfc_proxy"), raw, sections.sfc, &mut plan);
    }
    if let Some(raw) = sections.fast_cnp {
        notifications::fast_cnp(cx, &place.key("fast_cnp"), raw, &context, &mut plan);
    }
    if let Some(raw) = sections.qcn {
        notifications::qcn(cx, &place.key("qcn"), raw, &context, &mut plan);
    }
    plan
}

/// Watchdog of each port that watches a queue; None if no port does.
fn watchdogs(drafts: &[Draft<'_>]) -> Option<Vec<Option<WatchdogPlan>>> {
    let watchdog_of = |draft: &Draft<'_>| {
        // All queues of a port have the same plan.
        let plan = draft.plan.watchdog.iter().flatten().next();
        // A time of zero was reported; no watchdog can have it.
        let is_valid = |plan: &&WatchdogPlan| plan.detection.min(plan.restoration) > Duration::ZERO;
        plan.filter(is_valid).copied()
    };
    let ports: Vec<_> = drafts.iter().map(watchdog_of).collect();
    ports.iter().any(Option::is_some).then_some(ports)
}

/// Link measurement of each port that initiates one; None if no port does.
fn measurements(drafts: &[Draft<'_>]) -> Option<Vec<Option<PortMeasurement>>> {
    let measurement_of = |draft: &Draft<'_>| PortMeasurement::of(draft.plan.agents.as_ref()?);
    let ports: Vec<_> = drafts.iter().map(measurement_of).collect();
    ports.iter().any(Option::is_some).then_some(ports)
}

/// Gives each state machine a different seed.
pub fn seed(plan: &mut CongestionPlan, seed: u64) {
    // Different constants, so that the machines draw different numbers from one seed.
    const SFC: u64 = 0x5fc0_c0de_5fc0_c0de;
    const ISOLATION: u64 = 0x1c01_a7ed_1c01_a7ed;
    if let Some(sfc) = &mut plan.sfc {
        sfc.point.seed = seed ^ SFC;
    }
    if let Some(isolation) = &mut plan.isolation {
        isolation.machine.seed = seed ^ ISOLATION;
    }
}

/// Checks that a port's settings that override a section of the switch have such a section.
fn check_ports(cx: &mut Cx, sections: &Congestion<'_>, drafts: &[Draft<'_>]) {
    for Draft { raw, place, .. } in drafts {
        for (field, given, whole) in [
            ("sfc", raw.sfc.is_some(), sections.sfc.is_some()),
            (
                "congestion_isolation",
                raw.congestion_isolation.is_some(),
                sections.isolation.is_some(),
            ),
            ("fast_cnp", raw.fast_cnp.is_some(), sections.fast_cnp.is_some()),
            ("qcn", raw.qcn.is_some(), sections.qcn.is_some()),
        ] {
            if given && !whole {
                let what =
                    format!("the switch has no `{field}`; add `{field}: {{}}` to turn it on");
                cx.error(&place.key(field), what);
            }
        }
    }
}

/// Reports where the proxy of a switch file has no effect.
pub(super) fn check_proxy(cx: &mut Cx, raw: &Congestion<'_>, drafts: &[Draft<'_>]) {
    if raw.proxy.is_none() {
        return;
    }
    for draft @ Draft { place, .. } in drafts.iter().filter(|draft| is_host(draft.raw)) {
        if !sends_pfc(draft) {
            let what = "the proxy can pause this host for no priority, as the port sends no PFC: add \
                        `pfc`, or `attached: sfc_host` if the host obeys messages by itself";
            cx.warn(&place.key("attached"), what);
        }
    }
    if let Some(first) = drafts.first().filter(|_| !drafts.iter().any(|d| is_host(d.raw))) {
        let what = "no port has a host that the proxy can pause: say `attached: host` at the ports of hosts";
        cx.warn(&first.place.key("attached"), what);
    }
}

/// Warns of a proxy at the section of a switch in a lab, if it can pause no host.
pub(super) fn warn_of_proxy(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &Congestion<'_>,
    drafts: &[Draft<'_>],
) {
    // A lab says elsewhere what its ports lead to, so only PFC is checked.
    if raw.proxy.is_some() && !drafts.iter().any(sends_pfc) {
        let what = "the proxy pauses hosts by PFC, and no port sends it: add `pfc`";
        cx.warn(&place.key("sfc_proxy"), what);
    }
}

/// Warns of automatic headroom on ports that the file declares to be hosts'.
pub fn warn_of_hosts(cx: &mut Cx, drafts: &[Draft<'_>]) {
    use AttachedKind::{Host, SfcHost};
    for d in drafts.iter().filter(|d| matches!(d.raw.attached, Some(Host | SfcHost))) {
        if let Some(auto) = d.plan.agents.as_ref().and_then(|agents| agents.auto.as_ref()) {
            cx.warn(&d.place.key("headroom"), late_host(auto, &format!("port {}", d.plan.name)));
        }
    }
}

/// True if a port pauses its peer for some priority by PFC.
fn sends_pfc(draft: &Draft<'_>) -> bool {
    matches!(draft.plan.pfc.mode, FlowControl::Pfc { send, .. } if !send.is_empty())
}

const fn is_host(raw: &raw::Port) -> bool {
    matches!(raw.attached, Some(AttachedKind::Host | AttachedKind::Discovered))
}

/// Traffic classes of all priorities for which a port sends PFC or PAUSE.
fn protected(drafts: &[Draft<'_>]) -> u8 {
    // A priority may have another class at each port; all of them carry what PFC protects somewhere.
    let classes = drafts.iter().flat_map(|d| {
        let map = &d.plan.classify.class;
        d.plan.pfc.mode.sends().iter().map(|p| map[p.index()].get()).collect::<Vec<_>>()
    });
    classes.fold(0, |mask, class| mask | 1 << class)
}

fn attached(raw: &raw::Port) -> Attached {
    Attached {
        kind: raw.attached.unwrap_or_default(),
        locator: match raw.congestion_locator.unwrap_or_default() {
            raw::CongestionLocator::Incast => Some(Locator::Incast),
            raw::CongestionLocator::InNetwork => Some(Locator::InNetwork),
            raw::CongestionLocator::Auto => None,
        },
    }
}

/// Indexed by port, then by traffic class.
type ByQueue<T> = Vec<[T; PRIORITIES]>;
