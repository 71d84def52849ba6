//! Resolves the request/response measurement of a port.

use super::{Context, DELAY_MAX, adjustment};
use crate::quantity::Span;
use crate::raw::Measurement;
use crate::resolve::{Cx, Place};
use ground::time::Duration;
use headroom::measure::{InitiatePlan, MeasurePlan};
use wire::headroom::{Adjustment, Dialect, PduLength, Readings};

/// Least number of rounds by which the delay of MACsec is measured: a protected request between two plain
/// ones.
const SHIM_ROUNDS: u16 = 2;
/// Sequence numbers have eight bits.
const REQUESTS_MAX: u16 = 256;
/// Range of the time between requests: shorter is a flood, longer is no measurement.
const SPACING: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(10));
const PERIOD: (Duration, Duration) = (Duration::from_micros(1), Duration::from_secs(864_000));

/// Resolves delay measurement: if it is configured, or if automatic headroom uses it.
pub(super) fn resolve(
    cx: &mut Cx,
    at: &Place<'_>,
    said: Option<&Measurement>,
    needed: bool,
    (compensation, shims): (Adjustment, bool),
) -> Option<MeasurePlan> {
    let silent = Measurement::default();
    let said = match said {
        None if !needed => return None,
        said => said.unwrap_or(&silent),
    };
    let initiates = said.initiate.unwrap_or(needed);
    if needed && !initiates {
        let what = "headroom is found by this measurement (`headroom: auto`), so it cannot be off: \
                    take `initiate` out, or write `headroom: computed`";
        cx.error(&at.key("initiate"), what);
    }
    let respond = said.respond.unwrap_or(true);
    let initiate = initiate(cx, at, said, shims);
    if initiates && shims && initiate.rounds < SHIM_ROUNDS {
        let what = format!(
            "`macsec.measure` compares protected messages with plain ones: choose at least {SHIM_ROUNDS}"
        );
        cx.error(&at.key("rounds"), what);
    }
    let dialect = dialect(cx, at, said);
    (respond || initiates).then(|| MeasurePlan {
        respond,
        initiate: initiates.then_some(initiate),
        dialect,
        compensation: Some(compensation),
    })
}

/// Resolves the encoding of messages.
fn dialect(cx: &mut Cx, at: &Place<'_>, said: &Measurement) -> Dialect {
    let (least, most) = PduLength::RANGE;
    let pdu = said.pdu.map(|octets| cx.ranged(&at.key("pdu"), octets, (least, most), least));
    let pdu = match (pdu.and_then(PduLength::padded), said.dialect.unwrap_or_default()) {
        (Some(pdu), _) => pdu,
        (None, Readings::Letter) => PduLength::SHORTEST,
        (None, Readings::Sluice) => PduLength::NONE,
    };
    let dialect = Dialect {
        kind: said.kinds.unwrap_or_default(),
        length: said.length.unwrap_or_default(),
        unit: said.times.unwrap_or_default(),
        piggyback: said.rides.unwrap_or_default(),
        pdu,
        compensation: said.compensation.unwrap_or_default(),
    };
    if !dialect.is_consistent() {
        let what = "the length field has one byte, which cannot state so long a PDU: write `length: \
                    fields`, or a PDU of at most 255 bytes";
        cx.error(&at.key("pdu"), what);
    }
    dialect
}

/// Resolves the time that the port tells its peer: its reaction to a pause, with the adjustment.
pub(super) fn compensation(
    cx: &mut Cx,
    at: &Place<'_>,
    said: Option<&Measurement>,
    port: &Context<'_>,
) -> Adjustment {
    let range = (Duration::ZERO, DELAY_MAX);
    let reaction = match said.and_then(|said| said.reaction) {
        Some(Span(time)) => cx.ranged(&at.key("reaction"), time, range, Duration::ZERO),
        // A poll gap that is out of range is reported where it stands.
        None => port.reaction.min(DELAY_MAX),
    };
    let reaction = Adjustment::at_least(reaction).unwrap_or_default();
    reaction.plus(adjustment(said.and_then(|said| said.adjustment)))
}

/// Resolves the number of rounds and their spacing.
fn initiate(cx: &mut Cx, at: &Place<'_>, said: &Measurement, shims: bool) -> InitiatePlan {
    let default = InitiatePlan { shims, ..InitiatePlan::DEFAULT };
    let rounds = said.rounds.unwrap_or(default.rounds);
    // Where each round trip takes two requests, no more than this many have numbers of their own.
    let most = if shims { REQUESTS_MAX / 2 } else { REQUESTS_MAX };
    let rounds = cx.ranged(&at.key("rounds"), rounds, (1, most), default.rounds);
    let least = InitiatePlan { rounds, ..default }.requests_least();
    let enough = if least >= default.requests_max { REQUESTS_MAX } else { default.requests_max };
    let requests = said.requests.unwrap_or(enough);
    if requests < least || requests > REQUESTS_MAX {
        let what = format!(
            "{requests} requests cannot bring {rounds} round trips and keep their sequence numbers \
             apart: choose {least} to {REQUESTS_MAX}"
        );
        cx.error(&at.key("requests"), what);
    }
    let spacing_max = said.spacing_max.map_or(default.spacing_max, |s| s.0);
    let max_at = at.key("spacing_max");
    let spacing_max = cx.ranged(&max_at, spacing_max, SPACING, default.spacing_max);
    let spacing_min = said.spacing_min.map_or(default.spacing_min.min(spacing_max), |s| s.0);
    if spacing_min > spacing_max {
        let what = format!(
            "{spacing_min} is more than spacing_max ({spacing_max}), after which a request is sent \
             in any case; choose less"
        );
        cx.error(&at.key("spacing_min"), what);
    }
    let period_at = at.key("period");
    let period = said.period.map(|s| cx.ranged(&period_at, s.0, PERIOD, PERIOD.1));
    InitiatePlan {
        rounds,
        spacing_min,
        spacing_max,
        requests_max: requests,
        period,
        piggyback: said.piggyback.unwrap_or(default.piggyback),
        shims,
    }
}
