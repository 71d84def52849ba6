//! Validation of what a DUT file says of the device's configuration: buffers, queues, ECN, watchdog, DCBX, Source
//! Flow Control, and what a NIC under test sends.

use std::collections::BTreeMap;

use config::quantity::{Ratio, Size, Span};
use config::raw::Range;
use config::{Cx, Place};
use ground::time::Duration;
use ground::units::{Bytes, Dscp, PRIORITIES, Pcp, Priority, PrioritySet, Vid};
use wire::roce::U24;
use wire::sfcm::{PAUSE_MAX, PORT_DEFAULT, PORT_MIN};

use crate::file::raw::{self, DutFile};
use crate::file::resolve::{by_priority, letter, set, span};
use crate::setup::{
    Expected, ExpectedDcbx, ExpectedEcn, ExpectedProxy, ExpectedSfc, ExpectedWatchdog, FlowControl,
    Nic, QueuePair, Setup,
};

/// Largest exponent of a dynamic threshold, as in SAI.
const ALPHA_MAX: i8 = 8;

/// Returns the priorities of the values of a field.
fn priorities<T>(
    cx: &mut Cx,
    place: &Place<'_>,
    map: Option<&BTreeMap<Range, u8>>,
    new: impl Fn(u8) -> Option<T>,
) -> Option<Vec<(T, Priority)>> {
    let mut values = Vec::new();
    for (range, given) in map? {
        let priority = Priority::new(*given);
        if priority.is_none() {
            cx.error(place, format!("{given} is no priority; choose 0 to 7"));
        }
        for n in range.iter() {
            match u8::try_from(n).ok().and_then(&new) {
                Some(value) => values.extend(priority.map(|priority| (value, priority))),
                None => cx.error(place, format!("{n} is out of range")),
            }
        }
    }
    // A map without values says no more than none.
    Some(values).filter(|values| !values.is_empty())
}

/// Returns the weights of the traffic classes, and the strict ones.
fn scheduling(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Expected,
) -> (Option<[u32; PRIORITIES]>, Option<PrioritySet>) {
    let weights = raw.weights.as_ref().map(|map| {
        let mut weights = [0; PRIORITIES];
        for (priority, weight) in by_priority(cx, &place.key("weights"), map) {
            weights[priority.index()] = weight;
        }
        weights
    });
    // A strict class is served before all weights, so that a weight of it would mean nothing (802.1Q 8.6.8.1).
    let none = PrioritySet::EMPTY;
    let strict =
        raw.strict.as_deref().map(|given| set(cx, &place.key("strict"), Some(given), none));
    let both = |p: &Priority| weights.is_some_and(|all: [u32; PRIORITIES]| all[p.index()] > 0);
    if let Some(priority) = strict.unwrap_or(none).iter().find(both) {
        let what = format!("priority {priority} has a weight, too; a class is strict or weighted");
        cx.error(&place.key("strict"), what);
    }
    (weights, strict)
}

/// Returns the ECN curve.
fn ecn(cx: &mut Cx, place: &Place<'_>, raw: &raw::Expected) -> Option<ExpectedEcn> {
    let ecn = raw.ecn.as_ref()?;
    if ecn.kmin > ecn.kmax {
        cx.error(&place.key("ecn"), "`kmin` is above `kmax`; swap them");
    }
    let pmax = f64::from(ecn.pmax.0) / 1e6;
    let given = ecn.priorities.as_deref();
    let priorities = given.map(|given| set(cx, &place.key("ecn"), Some(given), PrioritySet::EMPTY));
    Some(ExpectedEcn { kmin: Bytes(ecn.kmin.0), kmax: Bytes(ecn.kmax.0), pmax, priorities })
}

/// Refuses priorities with the ECN curve that no test can judge: each fills a queue while PFC holds it.
pub(super) fn check_ecn(cx: &mut Cx, place: &Place<'_>, setup: &Setup) {
    // With PAUSE the tests of ECN are of another kind of device.
    let ecn = setup.expected.ecn.filter(|_| setup.flow_control == FlowControl::Pfc);
    let marked = ecn.and_then(|ecn| ecn.priorities).unwrap_or(PrioritySet::EMPTY);
    for priority in marked.iter().filter(|priority| !setup.lossless.contains(*priority)) {
        let what = format!(
            "priority {priority} is not `lossless`, and the tests of ECN fill a queue while PFC holds it; leave it out"
        );
        cx.error(&place.key("priorities"), what);
    }
}

/// Checks the dynamic threshold, which excludes a static one.
fn check_threshold(cx: &mut Cx, place: &Place<'_>, raw: &raw::Expected) {
    let Some(n) = raw.dynamic_th else { return };
    if !(-ALPHA_MAX..=ALPHA_MAX).contains(&n) {
        let what = format!("{n} is out of range; choose -{ALPHA_MAX} to {ALPHA_MAX}");
        cx.error(&place.key("dynamic_th"), what);
    }
    if raw.xoff.is_some() {
        cx.error(&place.key("xoff"), "`dynamic_th` is there too; leave out one of them");
    }
}

pub(super) fn expected(cx: &mut Cx, place: &Place<'_>, raw: &raw::Expected) -> Expected {
    // Errors are reported in the order of these calls.
    let (weights, strict) = scheduling(cx, place, raw);
    let vlan = raw.vlan.and_then(|vlan| {
        let vid = Vid::new(vlan);
        if vid.is_none() {
            cx.error(&place.key("vlan"), format!("{vlan} is no VLAN; choose 1 to 4094"));
        }
        vid
    });
    let ecn = ecn(cx, place, raw);
    let sfc = raw.sfc.map(|raw| sfc(cx, &place.key("sfc"), &raw));
    let watchdog = raw.watchdog.map(|watchdog| ExpectedWatchdog {
        detection: watchdog.detection.0,
        restoration: watchdog.restoration.0,
        poll: watchdog.poll.0,
        action: watchdog.action,
        idle: watchdog.idle,
    });
    let dcbx = raw.dcbx.map(|dcbx| ExpectedDcbx {
        willing: dcbx.willing,
        precedence: dcbx.precedence,
        // 802.1AB 9.2.5.7.
        interval: span(dcbx.interval, Duration::from_secs(30)),
    });
    check_threshold(cx, place, raw);
    let bytes = |size: Option<Size>| size.map(|size| Bytes(size.0));
    Expected {
        xoff: bytes(raw.xoff),
        headroom: bytes(raw.headroom),
        xon_offset: bytes(raw.xon_offset),
        dynamic_th: raw.dynamic_th,
        shared: bytes(raw.shared),
        cell: bytes(raw.cell),
        weights,
        strict,
        dscp_map: priorities(cx, &place.key("dscp_map"), raw.dscp_map.as_ref(), Dscp::new),
        pcp_map: priorities(cx, &place.key("pcp_map"), raw.pcp_map.as_ref(), Pcp::new),
        ring: raw.ring,
        expiry_only: raw.expiry_only,
        vlan,
        ecn,
        watchdog,
        dcbx,
        sfc,
        xon: raw.xon,
    }
}

fn sfc(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &ExpectedSfc<Option<u16>, Size, Span, Ratio>,
) -> ExpectedSfc {
    let given = raw.udp_port.unwrap_or(PORT_DEFAULT);
    let port_place = place.key("udp_port");
    let udp_port = cx.ranged(&port_place, given, (PORT_MIN, u16::MAX), PORT_DEFAULT);
    ExpectedSfc {
        udp_port,
        target: raw.target.map(|size| Bytes(size.0)),
        proxy: raw.proxy.map(|raw| proxy(cx, &place.key("proxy"), &raw)),
    }
}

fn proxy(cx: &mut Cx, place: &Place<'_>, raw: &ExpectedProxy<Span, Ratio>) -> ExpectedProxy {
    let ExpectedProxy { trusted, longest, credit, share } = *raw;
    let zero = ground::time::Duration::ZERO;
    // A message of twice the longest pause shows that the proxy limits it.
    if longest.0 == zero || longest.0.saturating_mul(2) > PAUSE_MAX {
        let what = "a test asks for twice this pause, and messages have up to 4.29 s; choose above 0 and \
                    up to 2 s";
        cx.error(&place.key("longest"), what);
    }
    if credit.0 < longest.0 {
        cx.error(&place.key("credit"), "it is below `longest`; raise it");
    }
    let share = f64::from(share.0) / 1e6;
    if share >= 1.0 {
        cx.error(&place.key("share"), "with 100% pauses need not end; choose less");
    }
    ExpectedProxy { trusted, longest: longest.0, credit: credit.0, share }
}

/// Checks that the trusted sender is a port of the tester.
pub(super) fn check_sfc(cx: &mut Cx, place: &Place<'_>, setup: &Setup) {
    let Some(proxy) = setup.expected.sfc.and_then(|sfc| sfc.proxy) else { return };
    if !setup.ports.iter().any(|port| port.ip == proxy.trusted) {
        let what = format!("no port of this file has the `ip` {}; name one of them", proxy.trusted);
        cx.error(&place.key("proxy").key("trusted"), what);
    }
}

/// Default and maximum of the time to wait for its traffic.
const WAIT: Duration = Duration::from_secs(30);
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Priorities of a file, by the kind of their classes.
#[derive(Clone, Copy)]
pub(super) struct Classes {
    pub(super) lossless: PrioritySet,
    pub(super) lossy: PrioritySet,
}

pub(super) fn nic(
    cx: &mut Cx,
    place: &Place<'_>,
    given: &raw::Nic,
    file: &DutFile,
    Classes { lossless, lossy }: Classes,
) -> Nic {
    let sends_place = place.key("sends");
    let sends = set(cx, &sends_place, Some(&given.sends), PrioritySet::EMPTY);
    if sends.0 & !(lossless.0 | lossy.0) != 0 {
        cx.error(
            &sends_place,
            "a priority is neither `lossless` nor `lossy`; add it to one of them",
        );
    }
    // Tests of NICs pause single priorities, which PAUSE cannot.
    if file.flow_control == FlowControl::Pause {
        cx.error(place, "NICs are tested with PFC alone; leave `flow_control` out");
    } else if sends.0 & lossless.0 == 0 {
        cx.error(&sends_place, "none of them is lossless, and pauses stop no others; add one");
    }
    let default = if file.device.is_some() { Duration::ZERO } else { WAIT };
    let wait = given.wait.map_or(default, |span| span.0);
    if wait > WAIT_MAX {
        cx.error(&place.key("wait"), "a test waits for up to 1h; choose less");
    }
    Nic {
        sends,
        wait,
        queue_pairs: queue_pairs(cx, &place.key("queue_pairs"), given, file),
        paused: given.paused.map(|share| f64::from(share.0) / 1e6),
    }
}

/// Returns the queue pairs of each port.
fn queue_pairs(
    cx: &mut Cx,
    place: &Place<'_>,
    given: &raw::Nic,
    file: &DutFile,
) -> Vec<Vec<QueuePair>> {
    let names = file.ports.iter().enumerate();
    let names = names.map(|(n, port)| port.name.clone().unwrap_or_else(|| letter(n)));
    let names: Vec<String> = names.collect();
    let mut pairs = vec![Vec::new(); names.len()];
    for (n, pair) in given.queue_pairs.iter().enumerate() {
        let place = place.index(n);
        let port = match &pair.port {
            Some(name) => names.iter().position(|known| known == name),
            // Without a name the queue pairs belong to the ports in their order.
            None => (n < names.len()).then_some(n),
        };
        let resolved = queue_pair(cx, &place, pair);
        match (port, &pair.port) {
            (Some(port), _) => pairs[port].push(resolved),
            (None, Some(name)) => {
                let what = format!("there is no port `{name}`; choose one of {}", names.join(", "));
                cx.error(&place.key("port"), what);
            }
            (None, None) => cx.error(&place, "there are more than ports; add its `port`"),
        }
    }
    pairs
}

/// Queue pairs 0 and 1 are those of management.
fn queue_pair(cx: &mut Cx, place: &Place<'_>, given: &raw::QueuePair) -> QueuePair {
    let mut number = |n: u32| {
        U24::new(n).filter(|_| n > 1).unwrap_or_else(|| {
            cx.error(place, format!("{n} is out of range; choose 2 to {}", U24::MAX.get()));
            U24::MAX
        })
    };
    let sends = number(given.sends);
    QueuePair { sends, receives: given.receives.map_or(sends, number) }
}
