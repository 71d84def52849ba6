//! Transport of a flow entry: RoCE and TCP settings, without the numbers that differ per flow.

use super::traffic::{Sizes, sizes};
use crate::Side;
use crate::raw::{self, DcqcnName, Load, Messages, Short, TransportLong, TransportWord};
use crate::resolve::graph::Source;
use config::quantity::{Ratio, Span};
use config::{Cx, Place};
use congestion::DcqcnPlan;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Dscp, Priority};
use host::{Marking, Operation, RocePlan, StationPlan, TcpPlan};
use wire::reth::RETH_LEN;
use wire::roce::U24;

/// Transport of a flow. Queue pairs and ports are set for each flow.
pub(super) enum Carrier {
    Udp,
    Ethernet,
    Roce(Box<RocePlan>, Option<Batch>),
    Tcp(TcpPlan, Option<Batch>),
}

/// Messages of a flow entry.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) sizes: Sizes,
    pub(super) every: Duration,
    pub(super) count: Option<u64>,
    /// Offered load: links, and their share as a fraction.
    pub(super) load: Option<(Side, f64)>,
}

impl Carrier {
    /// True if the receiver sends acknowledgements.
    pub const fn is_answered(&self) -> bool {
        matches!(self, Self::Roce(..) | Self::Tcp(..))
    }

    /// Returns the messages, if there are any.
    pub const fn batch(&self) -> Option<&Batch> {
        match self {
            Self::Roce(_, batch) | Self::Tcp(_, batch) => batch.as_ref(),
            Self::Udp | Self::Ethernet => None,
        }
    }

    /// Returns the key of the transport in the file.
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Roce(..) => "roce",
            Self::Tcp(..) => "tcp",
            Self::Udp => "udp",
            Self::Ethernet => "ethernet",
        }
    }

    /// Returns the transport of a flow with acknowledgements, without the numbers of the flow.
    pub fn transport(&self) -> Option<host::Transport> {
        match self {
            Self::Roce(roce, _) => Some(host::Transport::Roce((**roce).clone())),
            Self::Tcp(tcp, _) => Some(host::Transport::TcpLike(tcp.clone())),
            Self::Udp | Self::Ethernet => None,
        }
    }

    /// Returns the most bytes by which a frame may exceed the configured size.
    pub fn longer(&self) -> u32 {
        match self {
            Self::Roce(plan, _) if plan.operation == Operation::Write => RETH_LEN as u32,
            _ => 0,
        }
    }
}

pub(super) fn carrier(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&raw::Transport>,
) -> (TransportWord, Carrier) {
    let name = match raw {
        None => TransportWord::Udp,
        Some(Short::Short(name)) => *name,
        Some(Short::Long(long)) => match (&long.roce, &long.tcp) {
            (Some(_), None) => TransportWord::Roce,
            (None, Some(_)) => TransportWord::Tcp,
            _ => {
                cx.error(place, "needs exactly one of `roce` and `tcp`");
                TransportWord::Udp
            }
        },
    };
    let long = match raw {
        Some(Short::Long(long)) => long.clone(),
        _ => TransportLong::default(),
    };
    let carrier = match name {
        TransportWord::Udp => Carrier::Udp,
        TransportWord::Ethernet => Carrier::Ethernet,
        TransportWord::Roce => {
            let raw = long.roce.unwrap_or_default();
            let place = place.key("roce");
            let batch = batch(cx, &place.key("messages"), raw.messages.as_ref());
            Carrier::Roce(Box::new(roce(cx, &place, &raw)), batch)
        }
        TransportWord::Tcp => {
            let raw = long.tcp.unwrap_or_default();
            let place = place.key("tcp");
            let batch = batch(cx, &place.key("messages"), raw.messages.as_ref());
            Carrier::Tcp(tcp(cx, &place, &raw), batch)
        }
    };
    (name, carrier)
}

/// Returns the timeout of the file; `None` for the default.
pub(super) fn given_timeout(raw: Option<&raw::Transport>) -> Option<Duration> {
    let Some(Short::Long(TransportLong { roce, tcp })) = raw else { return None };
    let roce = roce.as_ref().and_then(|roce| roce.timeout);
    let given = roce.or(tcp.as_ref().and_then(|tcp| tcp.timeout_min)).map(|Span(span)| span);
    // Zero is refused where the field is read.
    given.filter(|span| *span > Duration::ZERO)
}

/// Bytes that a path carries before its frames are taken for lost by default. A choice: 1 ms at 1 Gb/s, and several of
/// the longest frames and their acknowledgements at any rate.
const UNANSWERED: Bytes = Bytes(125_000);

/// Returns the default timeout of a path, by that of fast links and the rate of its slowest one.
pub(super) fn default_timeout(fast: Duration, slowest: BitsPerSec) -> Duration {
    fast.max(slowest.time_for(UNANSWERED))
}

fn roce(cx: &mut Cx, place: &Place<'_>, raw: &raw::Roce) -> RocePlan {
    let default = RocePlan::new(U24::default(), U24::default());
    let cnp_interval = match raw.cnp_interval {
        None => default.cnp_interval,
        // An interval of zero sends a CNP for every marked packet; `None` is the plan's word for it.
        Some(Span(Duration::ZERO)) => None,
        Some(Span(span)) => Some(span),
    };
    RocePlan {
        operation: raw.operation.unwrap_or_default(),
        recovery: raw.recovery.unwrap_or_default(),
        window: raw.window.map(|s| Bytes(s.0)),
        ack_every: at_least_one(cx, &place.key("ack_every"), raw.ack_every, default.ack_every),
        timeout: above_zero(cx, &place.key("timeout"), raw.timeout, default.timeout),
        dcqcn: raw.dcqcn.as_ref().and_then(|d| dcqcn(cx, &place.key("dcqcn"), d)),
        cnp_interval,
        ack: raw.ack_priority.and_then(|n| priority(cx, &place.key("ack_priority"), n)),
        cnp: raw
            .cnp_priority
            .and_then(|n| priority(cx, &place.key("cnp_priority"), n))
            .unwrap_or(default.cnp),
        ..default
    }
}

fn tcp(cx: &mut Cx, place: &Place<'_>, raw: &raw::Tcp) -> TcpPlan {
    let default = TcpPlan::new(0, 0);
    let window_at = place.key("initial_window");
    TcpPlan {
        initial_window: at_least_one(cx, &window_at, raw.initial_window, default.initial_window),
        window: raw.window.map(|s| Bytes(s.0)),
        timeout_min: above_zero(
            cx,
            &place.key("timeout_min"),
            raw.timeout_min,
            default.timeout_min,
        ),
        ack: raw.ack_priority.and_then(|n| priority(cx, &place.key("ack_priority"), n)),
        ..default
    }
}

/// Resolves messages.
fn batch(cx: &mut Cx, place: &Place<'_>, raw: Option<&Messages>) -> Option<Batch> {
    let raw = raw?;
    if raw.count == Some(0) {
        cx.error(&place.key("count"), "must be at least 1");
    }
    if raw.load.is_some() && raw.every.is_some() {
        cx.error(&place.key("load"), "`every` is there too; leave out one of them");
    }
    Some(Batch {
        sizes: sizes(cx, &place.key("bytes"), &raw.bytes),
        every: raw.every.map_or(Duration::ZERO, |s| s.0),
        count: raw.count,
        load: raw.load.as_ref().and_then(|load| self::load(cx, &place.key("load"), load)),
    })
}

fn load(cx: &mut Cx, place: &Place<'_>, raw: &Load) -> Option<(Side, f64)> {
    let (side, Ratio(share)) = match raw {
        Short::Short(share) => (Side::Sender, *share),
        Short::Long(long) => match (long.sender, long.receiver) {
            (Some(share), None) => (Side::Sender, share),
            (None, Some(share)) => (Side::Receiver, share),
            _ => {
                cx.error(place, "needs exactly one of `sender` and `receiver`");
                return None;
            }
        },
    };
    if share == 0 {
        cx.error(place, "is out of range; choose above 0% up to 100%");
        return None;
    }
    Some((side, f64::from(share) / 1e6))
}

fn at_least_one(cx: &mut Cx, place: &Place<'_>, raw: Option<u32>, default: u32) -> u32 {
    cx.ranged(place, raw.unwrap_or(default), (1, u32::MAX), default)
}

fn above_zero(cx: &mut Cx, place: &Place<'_>, raw: Option<Span>, default: Duration) -> Duration {
    let span = raw.map_or(default, |s| s.0);
    if span == Duration::ZERO {
        cx.error(place, format!("must be above zero, such as {default}"));
        return default;
    }
    span
}

/// Returns the marking of acknowledgements of a priority.
fn priority(cx: &mut Cx, place: &Place<'_>, n: u8) -> Option<Marking> {
    // Class selectors (RFC 2474), as for data; 8 times a priority above 7 is no DSCP or no priority.
    let found = Priority::new(n).zip(Dscp::new(n.saturating_mul(8)));
    if found.is_none() {
        cx.error(place, format!("there is no priority {n}; choose 0 to 7"));
    }
    found.map(|(priority, dscp)| Marking { priority, dscp })
}

/// Warns of a preset that was made for another link rate than the sender's. The additive step is
/// the parameter that matters most, so there is no warning if the file sets `additive`.
pub(super) fn check_preset(cx: &mut Cx, source: &Source<'_>, raw: &raw::Flow, host: &StationPlan) {
    let Some(Short::Long(transport)) = &raw.transport else { return };
    let Some(dcqcn) = transport.roce.as_ref().and_then(|roce| roce.dcqcn.as_ref()) else { return };
    let (preset, additive) = match dcqcn {
        Short::Short(name) => (*name, None),
        Short::Long(raw) => (raw.preset.unwrap_or_default(), raw.additive),
    };
    let (name, set) = match preset {
        DcqcnName::Sigcomm15 => ("sigcomm15", DcqcnPlan::sigcomm15()),
        DcqcnName::Ns3 => ("ns3", DcqcnPlan::ns3()),
        // The firmware has one set for all its rates.
        DcqcnName::None | DcqcnName::Mellanox => return,
    };
    if host.rate == PRESET_RATE || additive.is_some() {
        return;
    }
    // The additive step is per period, so at another rate it takes another share of the link.
    let scaled = u128::from(set.additive.get()) * u128::from(host.rate.get());
    let scaled = BitsPerSec::new((scaled / u128::from(PRESET_RATE.get())) as u64);
    let what = format!(
        "`{name}` was made for {PRESET_RATE}, and {} sends at {}, so {} more in each step may be too much or \
         too little: say `additive`; in proportion it would be {}",
        host.name,
        host.rate,
        set.additive,
        scaled.unwrap_or(set.additive)
    );
    cx.warn(&source.key("transport").key("roce").key("dcqcn"), what);
}

/// Link rate of the presets from DCQCN's paper and its authors' simulator.
const PRESET_RATE: BitsPerSec = BitsPerSec::gbps(40);

/// Resolves the reaction point.
fn dcqcn(cx: &mut Cx, place: &Place<'_>, raw: &Short<DcqcnName, raw::Dcqcn>) -> Option<DcqcnPlan> {
    let (preset, raw) = match raw {
        Short::Short(name) => (*name, raw::Dcqcn::default()),
        Short::Long(raw) => (raw.preset.unwrap_or_default(), raw.clone()),
    };
    let mut plan = match preset {
        DcqcnName::None => return None,
        DcqcnName::Sigcomm15 => DcqcnPlan::sigcomm15(),
        DcqcnName::Ns3 => DcqcnPlan::ns3(),
        DcqcnName::Mellanox => DcqcnPlan::mellanox(),
    };
    let one = f64::from(DcqcnPlan::GAIN_ONE);
    // Ratios are in millionths, and alpha in units of GAIN_ONE.
    let alpha = |r: Ratio| (f64::from(r.0) / 1e6 * one).round() as u32;
    plan.gain = raw.gain.map_or(plan.gain, |g| (g * one).round() as u32);
    plan.initial_alpha = raw.initial_alpha.map_or(plan.initial_alpha, alpha);
    plan.hyper = raw.hyper.map(|r| r.0).or(plan.hyper);
    plan.decrease_max = raw.decrease_max.map_or(plan.decrease_max, |r| (r.0 / 10_000) as u8);
    raw.change(cx, place, &mut plan);
    // A NaN is neither above 0 nor at most 1, hence the negation.
    if raw.gain.is_some_and(|g| !(g > 0.0 && g <= 1.0)) || !plan.is_sound() {
        let what = "is out of range: gain above 0 up to 1, periods and octets above 0, \
                    decrease_max 1% to 100%";
        cx.error(place, what);
        return None;
    }
    Some(plan)
}
