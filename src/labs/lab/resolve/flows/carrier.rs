//! Transport of a flow entry: RoCE and TCP settings, without the numbers that differ per flow.

use super::traffic::{Sizes, sizes};
use crate::Side;
use crate::raw::{self, DcqcnName, Load, Messages, Short, TransportLong, TransportName};
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
    at: &Place<'_>,
    said: Option<&raw::Transport>,
) -> (TransportName, Carrier) {
    let name = match said {
        None => TransportName::Udp,
        Some(Short::Short(name)) => *name,
        Some(Short::Long(long)) => match (&long.roce, &long.tcp) {
            (Some(_), None) => TransportName::Roce,
            (None, Some(_)) => TransportName::Tcp,
            _ => {
                cx.error(at, "needs exactly one of `roce` and `tcp`");
                TransportName::Udp
            }
        },
    };
    let long = match said {
        Some(Short::Long(long)) => long.clone(),
        _ => TransportLong::default(),
    };
    let carrier = match name {
        TransportName::Udp => Carrier::Udp,
        TransportName::Ethernet => Carrier::Ethernet,
        TransportName::Roce => {
            let said = long.roce.unwrap_or_default();
            let at = at.key("roce");
            let batch = batch(cx, &at.key("messages"), said.messages.as_ref());
            Carrier::Roce(Box::new(roce(cx, &at, &said)), batch)
        }
        TransportName::Tcp => {
            let said = long.tcp.unwrap_or_default();
            let at = at.key("tcp");
            let batch = batch(cx, &at.key("messages"), said.messages.as_ref());
            Carrier::Tcp(tcp(cx, &at, &said), batch)
        }
    };
    (name, carrier)
}

fn roce(cx: &mut Cx, at: &Place<'_>, said: &raw::Roce) -> RocePlan {
    let default = RocePlan::new(U24::default(), U24::default());
    let cnp_interval = match said.cnp_interval {
        None => default.cnp_interval,
        // An interval of zero sends a CNP for every marked packet; `None` is the plan's word for it.
        Some(Span(Duration::ZERO)) => None,
        Some(Span(span)) => Some(span),
    };
    RocePlan {
        operation: said.operation.unwrap_or_default(),
        recovery: said.recovery.unwrap_or_default(),
        window: said.window.map(|s| Bytes(s.0)),
        ack_every: at_least_one(cx, &at.key("ack_every"), said.ack_every, default.ack_every),
        timeout: above_zero(cx, &at.key("timeout"), said.timeout, default.timeout),
        dcqcn: said.dcqcn.as_ref().and_then(|d| dcqcn(cx, &at.key("dcqcn"), d)),
        cnp_interval,
        ack: said.ack_priority.and_then(|n| priority(cx, &at.key("ack_priority"), n)),
        cnp: said
            .cnp_priority
            .and_then(|n| priority(cx, &at.key("cnp_priority"), n))
            .unwrap_or(default.cnp),
        ..default
    }
}

fn tcp(cx: &mut Cx, at: &Place<'_>, said: &raw::Tcp) -> TcpPlan {
    let default = TcpPlan::new(0, 0);
    let window_at = at.key("initial_window");
    TcpPlan {
        initial_window: at_least_one(cx, &window_at, said.initial_window, default.initial_window),
        window: said.window.map(|s| Bytes(s.0)),
        timeout_min: above_zero(cx, &at.key("timeout_min"), said.timeout_min, default.timeout_min),
        ack: said.ack_priority.and_then(|n| priority(cx, &at.key("ack_priority"), n)),
        ..default
    }
}

/// Resolves messages.
fn batch(cx: &mut Cx, at: &Place<'_>, said: Option<&Messages>) -> Option<Batch> {
    let said = said?;
    if said.count == Some(0) {
        cx.error(&at.key("count"), "must be at least 1");
    }
    if said.load.is_some() && said.every.is_some() {
        cx.error(&at.key("load"), "`every` is there too; leave out one of them");
    }
    Some(Batch {
        sizes: sizes(cx, &at.key("bytes"), &said.bytes),
        every: said.every.map_or(Duration::ZERO, |s| s.0),
        count: said.count,
        load: said.load.as_ref().and_then(|load| self::load(cx, &at.key("load"), load)),
    })
}

fn load(cx: &mut Cx, at: &Place<'_>, said: &Load) -> Option<(Side, f64)> {
    let (side, Ratio(share)) = match said {
        Short::Short(share) => (Side::Sender, *share),
        Short::Long(long) => match (long.sender, long.receiver) {
            (Some(share), None) => (Side::Sender, share),
            (None, Some(share)) => (Side::Receiver, share),
            _ => {
                cx.error(at, "needs exactly one of `sender` and `receiver`");
                return None;
            }
        },
    };
    if share == 0 {
        cx.error(at, "is out of range; choose above 0% up to 100%");
        return None;
    }
    Some((side, f64::from(share) / 1e6))
}

fn at_least_one(cx: &mut Cx, at: &Place<'_>, said: Option<u32>, default: u32) -> u32 {
    cx.ranged(at, said.unwrap_or(default), (1, u32::MAX), default)
}

fn above_zero(cx: &mut Cx, at: &Place<'_>, said: Option<Span>, default: Duration) -> Duration {
    let span = said.map_or(default, |s| s.0);
    if span == Duration::ZERO {
        cx.error(at, format!("must be above zero, such as {default}"));
        return default;
    }
    span
}

/// Returns the marking of acknowledgements of a priority.
fn priority(cx: &mut Cx, at: &Place<'_>, n: u8) -> Option<Marking> {
    // Class selectors (RFC 2474), as for data; 8 times a priority above 7 is no DSCP or no priority.
    let found = Priority::new(n).zip(Dscp::new(n.saturating_mul(8)));
    if found.is_none() {
        cx.error(at, format!("there is no priority {n}; choose 0 to 7"));
    }
    found.map(|(priority, dscp)| Marking { priority, dscp })
}

/// Warns of a preset that was made for another link rate than the sender's. The additive step is
/// the parameter that matters most, so there is no warning if the file sets `additive`.
pub(super) fn check_preset(cx: &mut Cx, at: &Source<'_>, said: &raw::Flow, host: &StationPlan) {
    let Some(Short::Long(transport)) = &said.transport else { return };
    let Some(dcqcn) = transport.roce.as_ref().and_then(|roce| roce.dcqcn.as_ref()) else { return };
    let (preset, additive) = match dcqcn {
        Short::Short(name) => (*name, None),
        Short::Long(said) => (said.preset.unwrap_or_default(), said.additive),
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
    cx.warn(&at.key("transport").key("roce").key("dcqcn"), what);
}

/// Link rate of the presets from DCQCN's paper and its authors' simulator.
const PRESET_RATE: BitsPerSec = BitsPerSec::gbps(40);

/// Resolves the reaction point.
fn dcqcn(cx: &mut Cx, at: &Place<'_>, said: &Short<DcqcnName, raw::Dcqcn>) -> Option<DcqcnPlan> {
    let (preset, said) = match said {
        Short::Short(name) => (*name, raw::Dcqcn::default()),
        Short::Long(said) => (said.preset.unwrap_or_default(), said.clone()),
    };
    let set = match preset {
        DcqcnName::None => return None,
        DcqcnName::Sigcomm15 => DcqcnPlan::sigcomm15(),
        DcqcnName::Ns3 => DcqcnPlan::ns3(),
        DcqcnName::Mellanox => DcqcnPlan::mellanox(),
    };
    let one = f64::from(DcqcnPlan::GAIN_ONE);
    // Ratios are in millionths, and alpha in units of GAIN_ONE.
    let alpha = |r: Ratio| (f64::from(r.0) / 1e6 * one).round() as u32;
    let span = |s: Option<Span>, set: Duration| s.map_or(set, |s| s.0);
    let plan = DcqcnPlan {
        gain: said.gain.map_or(set.gain, |g| (g * one).round() as u32),
        initial_alpha: said.initial_alpha.map_or(set.initial_alpha, alpha),
        alpha_period: span(said.alpha_period, set.alpha_period),
        increase_period: span(said.increase_period, set.increase_period),
        increase_bytes: said.increase_bytes.map_or(set.increase_bytes, |s| Bytes(s.0)),
        recoveries: said.recoveries.unwrap_or(set.recoveries),
        additive: said.additive.map_or(set.additive, |r| r.0),
        hyper: said.hyper.map(|r| r.0).or(set.hyper),
        min_rate: said.min_rate.map_or(set.min_rate, |r| r.0),
        decrease_period: span(said.decrease_period, set.decrease_period),
        decrease_max: said.decrease_max.map_or(set.decrease_max, |r| (r.0 / 10_000) as u8),
        clamp_target: said.clamp_target.unwrap_or(set.clamp_target),
        first_rate: set.first_rate,
    };
    // A NaN is neither above 0 nor at most 1, hence the negation.
    if said.gain.is_some_and(|g| !(g > 0.0 && g <= 1.0)) || !plan.is_sound() {
        let what = "is out of range: gain above 0 up to 1, periods and octets above 0, \
                    decrease_max 1% to 100%";
        cx.error(at, what);
        return None;
    }
    Some(plan)
}
