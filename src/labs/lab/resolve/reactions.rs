//! Resolves a host's reactions to the congestion messages of switches.

use super::graph::Source;
use crate::raw::{self, HostQcn, HostSfc, InNetworkName, QcnWord, SfcWord, Short};
use config::quantity::Ratio;
use config::{Cx, Place, life, longest, senders, udp_port};
use congestion::SourceMap;
use congestion::proxy::{PausePolicy, Senders};
use congestion::qcn::ReactionPlan;
use congestion::sfc::SfcPlan;
use ground::time::Duration;
use ground::units::Bytes;
use host::{InNetwork, PATH_SPACING, ReactionsPlan, SfcPause, SfcReaction};

/// Range of the time between two paths of a flow.
const SPACING: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(10));
/// Range of the timed increase interval. A longer one would never expire.
const TIME_RESET: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(10));
const BYTE_RESET: (u64, u64) = (2, 1 << 40);
const THRESHOLD: (u32, u32) = (1, 1_000);
/// Below 6 the strongest feedback would cut the rate to zero.
const GAIN: (u8, u8) = (6, 31);
const KEEP_MIN: (u8, u8) = (1, 100);
const JITTER: (u8, u8) = (0, 99);

/// True if a host obeys source flow control messages.
pub(super) fn obeys_sfc(said: &raw::Host) -> bool {
    !matches!(said.sfc, None | Some(Short::Short(SfcWord::None)))
}

/// Resolves the reactions of a host whose port has these maps.
pub(super) fn reactions(
    cx: &mut Cx,
    at: &Source<'_>,
    said: &raw::Host,
    map: Option<SourceMap>,
) -> ReactionsPlan {
    let sfc = match &said.sfc {
        None | Some(Short::Short(SfcWord::None)) => None,
        Some(Short::Short(SfcWord::Flow)) => Some(HostSfc::default()),
        Some(Short::Short(SfcWord::Priority)) => {
            Some(HostSfc { pause: Some(SfcPause::Priority), ..HostSfc::default() })
        }
        Some(Short::Long(long)) => Some(long.clone()),
    };
    let qcn = match &said.qcn {
        None | Some(Short::Short(QcnWord::None)) => None,
        Some(Short::Short(QcnWord::Standard)) => Some(HostQcn::default()),
        Some(Short::Long(long)) => Some(long.clone()),
    };
    ReactionsPlan {
        sfc: sfc.map(|said| sfc_reaction(cx, &at.key("sfc"), &said, map)),
        qcn: qcn.map(|said| reaction_point(cx, &at.key("qcn"), &said)),
    }
}

fn sfc_reaction(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &HostSfc,
    map: Option<SourceMap>,
) -> SfcReaction {
    let longest_default = PausePolicy::standard().longest;
    SfcReaction {
        udp_port: udp_port(cx, &at.key("sfcmUDPPort"), said.udp_port, SfcPlan::new().udp_port),
        pause: said.pause.unwrap_or_default(),
        in_network: match said.in_network.unwrap_or_default() {
            InNetworkName::Pause => InNetwork::Pause,
            InNetworkName::Path => {
                let spacing = said.path_spacing.map_or(PATH_SPACING, |span| span.0);
                let at = at.key("path_spacing");
                InNetwork::Path { spacing: cx.ranged(&at, spacing, SPACING, PATH_SPACING) }
            }
        },
        longest: longest(cx, &at.key("longest"), said.longest, longest_default),
        max_flow_life: life(
            cx,
            &at.key("sfcMaxFlowLife"),
            said.max_flow_life,
            SfcPlan::new().max_flow_life,
        ),
        senders: senders(cx, &at.key("accept"), said.accept.as_ref(), Senders::Anybody),
        map,
    }
}

fn reaction_point(cx: &mut Cx, at: &Place<'_>, said: &HostQcn) -> ReactionPlan {
    let default = ReactionPlan::standard();
    let time = said.time_reset.map_or(default.time_reset, |s| s.0);
    let bytes = said.byte_reset.map_or(default.byte_reset.0, |s| s.0);
    let threshold = said.threshold.unwrap_or(default.threshold);
    let gain = said.gain.unwrap_or(default.gain);
    let plan = ReactionPlan {
        time_reset: cx.ranged(&at.key("time_reset"), time, TIME_RESET, default.time_reset),
        byte_reset: Bytes(cx.ranged(
            &at.key("byte_reset"),
            bytes,
            BYTE_RESET,
            default.byte_reset.0,
        )),
        threshold: cx.ranged(&at.key("threshold"), threshold, THRESHOLD, default.threshold),
        max_rate: said.max_rate.map(|r| r.0),
        active: said.active.map_or(default.active, |r| r.0),
        hyper: said.hyper.map_or(default.hyper, |r| r.0),
        gain: cx.ranged(&at.key("gain"), gain, GAIN, default.gain),
        keep_min: percent(cx, &at.key("keep_min"), said.keep_min, KEEP_MIN, default.keep_min),
        min_rate: said.min_rate.map_or(default.min_rate, |r| r.0),
        jitter: percent(cx, &at.key("jitter"), said.jitter, JITTER, default.jitter),
    };
    if let Some(max) = plan.max_rate.filter(|max| *max < plan.min_rate) {
        let what = format!("{max} is below `min_rate` ({}); raise it", plan.min_rate);
        cx.error(&at.key("max_rate"), what);
    }
    plan
}

/// Resolves a ratio in whole percent.
fn percent(cx: &mut Cx, at: &Place<'_>, said: Option<Ratio>, range: (u8, u8), default: u8) -> u8 {
    let Some(said) = said else { return default };
    let percent = (said.0 / 10_000) as u8;
    if said.0 % 10_000 != 0 || percent < range.0 || percent > range.1 {
        cx.error(at, format!("needs whole percent, {}% to {}%", range.0, range.1));
        return default;
    }
    percent
}
