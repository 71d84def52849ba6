//! Fields that several sections share, and fields that set managed objects: the range, the default and the place in
//! the plan of an object are in the table of objects.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::collections::BTreeMap;

use ipnet::IpNet;

use super::{Context, Cx, Draft, Place};
use crate::quantity::{Size, Span, octets};
use crate::raw::{self, MessageLimit, Range, Settings, out_of_range};
use crate::resolve::cx::by_number;
use crate::resolve::queues::curve;
use congestion::Detect;
use congestion::proxy::Senders;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Mac, PRIORITIES, PortId, TrafficClass};
use switch::CongestionPlan;
use switch::managed::{At, Kind, Object, configure};
use wire::sfcm::PORT_MIN;

/// Default threshold is rate / 1,000,000: 1 KB per Gb/s.
const THRESHOLD_RATE_DIVISOR: u64 = 1_000_000;
/// Lower bound of the default threshold in bytes: a few frames are not congestion at any rate.
const THRESHOLD_MIN: u64 = 10_000;
/// Range of lifetimes. The objects' unit is one centisecond, but runs of the virtual world can be
/// shorter.
const LIFE: (Duration, Duration) = (Duration::from_nanos(1), Duration::from_secs(100 * 86_400));

/// Settings of each traffic class of a port with their places: the port's own, or those for all
/// ports.
pub(super) type ByClass<'m, T> = [Option<(Place<'m>, &'m T)>; PRIORITIES];

/// The `queues` field of a section.
#[derive(Clone, Copy)]
pub(super) struct Queues<'p, 'm, T> {
    /// Place of the section.
    pub place: &'p Place<'m>,
    /// Contents of the field.
    pub map: &'m BTreeMap<Range, T>,
}

impl<'m, T> Queues<'_, 'm, T> {
    /// Resolves the ranges to traffic classes.
    pub fn read(&self, cx: &mut Cx) -> ByClass<'m, T> {
        let place = self.place.key("queues");
        let mut out = [const { None }; PRIORITIES];
        for (n, (range, raw)) in by_number(cx, &place, self.map, 7) {
            out[usize::from(n)] = Some((place.key(&range.to_string()), raw));
        }
        out
    }
}

/// Resolves the `queues` of every port: the port's own settings have precedence over those for all
/// ports.
pub(super) fn queues<'m, T>(
    cx: &mut Cx,
    section: &str,
    all: Queues<'_, 'm, T>,
    drafts: &[Draft<'m>],
    own: impl Fn(&'m raw::Port) -> Option<&'m BTreeMap<Range, T>>,
) -> Vec<ByClass<'m, T>> {
    let all = all.read(cx);
    let mut of_port = |draft: &Draft<'m>| {
        let place = draft.place.key(section);
        let Some(map) = own(draft.raw) else { return all.clone() };
        let mut raw = Queues { place: &place, map }.read(cx);
        for (own, all) in raw.iter_mut().zip(&all) {
            // Class by class: a port's entry replaces the whole entry of the switch.
            *own = own.take().or_else(|| all.clone());
        }
        raw
    };
    drafts.iter().map(&mut of_port).collect()
}

/// Classes that have settings at any port: bit n for class n.
pub(super) fn named<T>(raw: &[ByClass<'_, T>]) -> u8 {
    let classes = raw.iter().flat_map(|port| (0..PRIORITIES).filter(|n| port[*n].is_some()));
    classes.fold(0, |mask, class| mask | 1 << class)
}

/// Default congestion threshold of a queue.
pub(super) fn threshold(rate: BitsPerSec) -> Bytes {
    Bytes((rate.get() / THRESHOLD_RATE_DIVISOR).max(THRESHOLD_MIN))
}

/// The fields of a queue that select congesting frames.
#[derive(Clone, Copy)]
pub(super) struct Selection<'a> {
    pub threshold: Option<Size>,
    pub aqm: Option<&'a raw::Aqm>,
}

/// Resolves the selection of congesting frames; `kmin` is the default of its lower threshold.
pub(super) fn detect(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Selection<'_>,
    kmin: Bytes,
    context: &Context<'_, '_>,
) -> Detect {
    let Selection { threshold, aqm } = raw;
    let detect = match (threshold, aqm) {
        (None, None) => Detect::Length(kmin),
        (Some(size), None) => Detect::Length(Bytes(size.0)),
        (None, Some(aqm)) => Detect::Aqm(curve(cx, &place.key("aqm"), aqm, kmin)),
        (Some(_), Some(_)) => {
            cx.error(place, "a queue has either a `threshold` or an `aqm`; take one out");
            Detect::Length(kmin)
        }
    };
    // Only what the author wrote is refused: a default may be above a very small buffer.
    let from = detect.floor().0;
    if from >= context.buffer && (threshold.is_some() || aqm.is_some()) {
        let what = format!(
            "congestion never begins at {}: the whole buffer has {}; write less than that",
            octets(from),
            octets(context.buffer)
        );
        let place =
            if aqm.is_some() { place.key("aqm").key("kmin") } else { place.key("threshold") };
        cx.error(&place, what);
    }
    detect
}

/// Resolves a lifetime, which is not zero.
pub fn life(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<raw::Centiseconds>,
    default: Duration,
) -> Duration {
    let span = raw.map_or(default, |s| s.0);
    // Below the range as well, but its message would not say what is wrong with 0.
    if span == Duration::ZERO {
        cx.error(place, "entries would expire at once; write centiseconds, such as 100, or a span");
        return default;
    }
    cx.ranged(place, span, LIFE, default)
}

/// Resolves the UDP port of source flow control messages.
pub fn udp_port(cx: &mut Cx, place: &Place<'_>, raw: Option<u16>, default: u16) -> u16 {
    let port = raw.unwrap_or(default);
    // Any other port could be in use by a protocol whose packets would be taken for messages.
    if port < PORT_MIN {
        let what = format!(
            "{port} may be in use by another protocol; choose a dynamic port, {PORT_MIN} to 65535, the same in \
             the whole network"
        );
        cx.error(place, what);
        return default;
    }
    port
}

/// Resolves the accepted senders of messages.
pub fn senders(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&raw::Senders>,
    default: Senders,
) -> Senders {
    let list = match raw {
        None => return default,
        Some(raw::Senders::Nobody) => return Senders::Nobody,
        Some(raw::Senders::Anybody) => return Senders::Anybody,
        Some(raw::Senders::Only(list)) => list,
    };
    let mut networks = Vec::with_capacity(list.len());
    for (i, text) in list.iter().enumerate() {
        // An address alone is the network of that one host.
        let address = text.parse::<IpAddr>().map(IpNet::from);
        match text.parse::<IpNet>().or(address) {
            Ok(net) if net != net.trunc() => {
                let what = format!("{net} has host bits; the network is {}", net.trunc());
                cx.error(&place.index(i), what);
            }
            Ok(net) => networks.push(net),
            Err(_) => {
                let what = format!("`{text}` is no network; write 10.2.0.0/16, or an address");
                cx.error(&place.index(i), what);
            }
        }
    }
    if list.is_empty() {
        cx.error(place, "an empty list accepts no sender; write `nobody`");
    }
    Senders::Only(networks)
}

/// Resolves the longest pause that one message can cause.
pub fn longest(cx: &mut Cx, place: &Place<'_>, raw: Option<Span>, default: Duration) -> Duration {
    cx.ranged(place, raw.map_or(default, |s| s.0), times("sfc_proxy.policy.longest"), default)
}

pub(super) fn mac(cx: &mut Cx, place: &Place<'_>, raw: Option<&String>) -> Option<Mac> {
    cx.mac(place, raw?).filter(|mac| {
        let is_zero = *mac == Mac::default();
        if is_zero {
            cx.error(place, format!("{mac} is no station's address"));
        }
        !is_zero
    })
}

/// Parses the address of one host.
pub(super) fn ip<T>(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&String>,
    example: &str,
) -> Option<T>
where
    T: std::str::FromStr + Into<IpAddr> + Copy,
{
    let text = raw?;
    let Ok(address) = text.parse::<T>() else {
        cx.error(place, format!("`{text}` is no address; write one such as {example}"));
        return None;
    };
    if !is_host(address.into()) {
        cx.error(place, format!("{} is no address of a single station", address.into()));
        return None;
    }
    Some(address)
}

fn is_host(address: IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(a) if a.is_broadcast());
    !(address.is_unspecified() || address.is_multicast() || address.is_loopback() || broadcast)
}

pub(super) fn ipv4(cx: &mut Cx, place: &Place<'_>, raw: Option<&String>) -> Option<Ipv4Addr> {
    ip(cx, place, raw, "10.0.0.1")
}

pub(super) fn ipv6(cx: &mut Cx, place: &Place<'_>, raw: Option<&String>) -> Option<Ipv6Addr> {
    ip(cx, place, raw, "fd00::1")
}

/// Resolves the fields of the queues in the file.
pub(super) fn settings_of_queues(
    cx: &mut Cx,
    section: &str,
    raw: &[ByClass<'_, impl Settings>],
    plan: &mut CongestionPlan,
) {
    for (port, queues) in raw.iter().enumerate() {
        for (class, queue) in TrafficClass::ALL.into_iter().zip(queues) {
            let Some((place, raw)) = queue else { continue };
            let spot = At { port: PortId::new(port as u16), class: Some(class) };
            settings(cx, Section { place, name: section }, *raw, plan, spot);
        }
    }
}

/// A section whose fields set managed objects.
#[derive(Clone, Copy)]
pub struct Section<'p, 'm> {
    pub place: &'p Place<'m>,
    /// Beginning of the names of this project's objects, such as `sfc.meter`.
    pub name: &'p str,
}

/// Writes the objects that the fields of `raw` set, to their defaults where the file has no valid
/// value. An object without a default stays as it is in the plan.
pub fn settings(
    cx: &mut Cx,
    section: Section<'_, '_>,
    raw: &impl Settings,
    plan: &mut CongestionPlan,
    spot: At,
) {
    raw.visit(|key, name, raw| {
        // Objects of this project begin with their section; those of standards have their full names.
        let own = Object::named(&format!("{}.{name}", section.name));
        let object = own.or_else(|_| Object::named(name)).expect("a name of the table");
        let kind = object.kind();
        let read = |raw: &dyn crate::raw::Setting| {
            let value = raw.value(kind)?;
            kind.takes(&value).then_some(value).ok_or_else(|| out_of_range(kind, value))
        };
        let valid = raw
            .and_then(|raw| read(raw).map_err(|what| cx.error(&section.place.key(key), what)).ok());
        // After an error the default is set, so that later checks see a whole plan.
        if let Some(value) = valid.or(object.default()) {
            configure(plan, object, spot, value).expect("the plan has the section and the queue");
        }
    });
}

/// Returns the range of an object, a number, in its unit.
pub(super) fn range(name: &str) -> (i64, i64) {
    match Object::named(name).map(Object::kind) {
        Ok(Kind::Number { least, most, .. }) => (least, most),
        _ => unreachable!("{name} is no number of the table"),
    }
}

/// Returns the range of an object that is a time.
pub(super) fn times(name: &str) -> (Duration, Duration) {
    let (least, most) = range(name);
    (Duration::from_picos(least.unsigned_abs()), Duration::from_picos(most.unsigned_abs()))
}

/// Resolves a rate limit of messages; without one the defaults of its objects.
pub(super) fn limit(
    cx: &mut Cx,
    section: Section<'_, '_>,
    key: &str,
    raw: Option<&MessageLimit>,
    plan: &mut CongestionPlan,
) {
    let (usual, name) = (MessageLimit::default(), format!("{}.{key}", section.name));
    settings(
        cx,
        Section { place: &section.place.key(key), name: &name },
        raw.unwrap_or(&usual),
        plan,
        At::default(),
    );
}
