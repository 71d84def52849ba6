//! Link kinds: delay, response time, errors, and the headroom terms at both ends.

use super::graph::{LinkKind, Source};
use crate::raw;
use config::quantity::Length;
use config::raw::PhyName;
use config::{Cx, NamedPhy, named_interface};
use ground::time::Duration;
use ground::units::BitsPerSec;
use headroom::{DelayInputs, Interface, Phy};
use schedule::LinePlan;
use sim::{DirectionPlan, ErrorPlan};

const RATE_DEFAULT: BitsPerSec = BitsPerSec::gbps(100);
/// Longest delay and response time: no buffer holds more.
const DELAY_MAX: Duration = Duration::from_secs(1);
const OVERHEAD_MAX: u64 = 64;
const STEP: (Duration, Duration) = (Duration::from_picos(1), Duration::from_micros(1));

/// A resolved link kind. `a` and `b` are its `from` and `to`.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkSpec {
    pub rate: BitsPerSec,
    pub line: LinePlan,
    pub ab: DirectionPlan,
    pub ba: DirectionPlan,
    /// Round trip as seen by the port at `a` and the port at `b`.
    pub round_trip: [DelayInputs; 2],
}

pub(super) fn spec(cx: &mut Cx, kind: &LinkKind<'_>) -> LinkSpec {
    let (at, said) = (&kind.at, &kind.raw);
    let rate = said.rate.map_or(RATE_DEFAULT, |r| r.0);
    let interface = interface(cx, at, said, rate);
    let cable = cable(cx, at, said);
    let there = cable + interface.delay();
    let back = said.back.clone().unwrap_or_default();
    let back_at = at.key("back");
    let real = !matches!(interface.phy(), Phy::Virtual(_));
    let default = if real { DelayInputs::HIGHER_LAYER } else { Duration::ZERO };
    let response = said.response.map_or(default, |s| s.0);
    let response_back = back.response.map_or(response, |s| s.0);
    let delay_back = back.delay.map_or(there, |s| s.0);
    for (at, span) in [
        (at.key("response"), response),
        (back_at.key("response"), response_back),
        (back_at.key("delay"), delay_back),
    ] {
        cx.ranged(&at, span, (Duration::ZERO, DELAY_MAX), DELAY_MAX);
    }
    let errors = said.errors.map_or(ErrorPlan::default(), errors);
    let errors_back = back.errors.map_or(errors, self::errors);
    let line = line(cx, at, said);
    // Delay beyond that of the interfaces is cable; one way is half of both.
    let both = there.as_picos().saturating_add(delay_back.as_picos());
    let cables = both.saturating_sub(2 * interface.delay().as_picos());
    let round_trip = |higher_layer| {
        let (cable_m, cable_ps_per_m) = metres(cables.div_ceil(2));
        DelayInputs {
            cable_m,
            cable_ps_per_m,
            higher_layer,
            line_overhead: line.overhead,
            ..DelayInputs::standard(interface)
        }
    };
    LinkSpec {
        rate,
        line,
        ab: DirectionPlan { delay: there, response, errors },
        ba: DirectionPlan { delay: delay_back, response: response_back, errors: errors_back },
        round_trip: [round_trip(response), round_trip(response_back)],
    }
}

/// Resolves the interface at both ends.
fn interface(cx: &mut Cx, at: &Source<'_>, said: &raw::Link, rate: BitsPerSec) -> Interface {
    // A FEC that the PHY does not have is reported at its place in the file.
    let stands = if at.own.has("phy") || at.own.has("fec") || at.own.has("rate") {
        &at.own
    } else {
        &at.defaults
    };
    let phy = said.phy.unwrap_or(PhyName::Auto);
    let named = NamedPhy { phy, fec: said.fec.unwrap_or_default() };
    named_interface(cx, stands, named, rate, said.delay.is_some())
}

/// Returns the cable delay of one direction.
fn cable(cx: &mut Cx, at: &Source<'_>, said: &raw::Link) -> Duration {
    if let Some(delay) = said.delay {
        if said.length.is_some() && at.own.has("length") && at.own.has("delay") {
            cx.error(&at.own.key("delay"), "a link has a length or a delay, not both");
        }
        let delay_at = at.key("delay");
        return cx.ranged(&delay_at, delay.0, (Duration::ZERO, DELAY_MAX), Duration::ZERO);
    }
    let Length(mm) = said.length.unwrap_or(Length(u64::from(DelayInputs::CABLE_M) * 1_000));
    let ps = said.ns_per_m.map_or(DelayInputs::PS_PER_METRE, |n| n.0);
    Duration::from_picos((mm * u64::from(ps)).div_ceil(1_000))
}

/// Returns a cable delay as metres and picoseconds per metre, whose product is not less.
fn metres(ps: u64) -> (u32, u32) {
    let most = u64::from(u32::MAX);
    let metres = ps.div_ceil(most).max(1);
    (metres.min(most) as u32, ps.div_ceil(metres) as u32)
}

fn line(cx: &mut Cx, at: &Source<'_>, said: &raw::Link) -> LinePlan {
    let ethernet = LinePlan::ETHERNET;
    let overhead = said.line_overhead.map_or(u64::from(ethernet.overhead), |s| s.0);
    let overhead = cx.ranged(&at.key("line_overhead"), overhead, (0, OVERHEAD_MAX), 20) as u32;
    let step = said.time_step.map_or(ethernet.step, |s| s.0);
    let step = cx.ranged(&at.key("time_step"), step, STEP, ethernet.step);
    LinePlan { overhead, step }
}

/// Resolves error rates.
pub(super) fn errors(said: raw::Errors) -> ErrorPlan {
    ErrorPlan {
        bit: said.ber.map_or(0, raw::Chance::in_2_64ths),
        frame: said.loss.map_or(0, raw::Chance::in_2_64ths),
    }
}
