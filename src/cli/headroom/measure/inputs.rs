//! From the arguments of a measurement to its parameters.

use anyhow::{Result, ensure};

use super::args::MeasureArgs;
use crate::config::quantity::{Size, Span};
use crate::headroom::measure::InitiatePlan;
use crate::headroom::peer_delay::PeerDelayPlan;
use crate::headroom::{DelayInputs, Frames, Shims};
use crate::link::{Method, Preference, Statistic};
use crate::time::Duration;
use crate::units::{BitsPerSec, Bytes};
use crate::wire::headroom::{Adjustment, Readings};
use ::measure::{Inputs, RateFrom};
use tester::RATE_DEFAULT;

/// Longest time that the formulas accept.
const SPAN_MAX: Duration = Duration::from_secs(1);

/// Time between peer delay requests. A choice: eight of them take less than a second, and the
/// peer's PTP daemon tolerates them.
const PTP_INTERVAL: Duration = Duration::from_millis(100);

impl MeasureArgs {
    /// Parameters, for a line of this rate if the port has one.
    ///
    /// # Errors
    /// A number out of its range.
    pub(super) fn inputs(&self, line: Option<BitsPerSec>) -> Result<Inputs> {
        let given = self.rate.map(|rate| (rate.0, RateFrom::Argument));
        let (rate, rate_from) = given
            .or(line.map(|rate| (rate, RateFrom::Line)))
            .unwrap_or((RATE_DEFAULT, RateFrom::Assumed));
        let max_frame = self.max_frame.map_or(DelayInputs::MAX_FRAME, |Size(n)| Bytes(n));
        ensure!((64..=65_535).contains(&max_frame.0), "--max-frame: must be 64 to 65535 octets");
        let cell = self.cell.map(|Size(octets)| octets);
        ensure!(
            cell.is_none_or(|n| (1..=65_536).contains(&n)),
            "--cell: must be 1 to 65536 octets"
        );
        let span = |name, span: Option<Span>, default| {
            let time = span.map_or(default, |Span(time)| time);
            ensure!(time <= SPAN_MAX, "--{name}: is longer than a second");
            Ok(time)
        };
        let own = span("own-reaction", self.own_reaction, DelayInputs::HIGHER_LAYER)?;
        let own_reaction = Adjustment::at_least(own);
        let internal = self.internal;
        let longest = [internal, self.macsec].into_iter().flatten().map(|(a, b)| a.max(b)).max();
        ensure!(longest.unwrap_or_default() <= SPAN_MAX, "--internal, --macsec: at most a second");
        Ok(Inputs {
            rate,
            rate_from,
            frames: Frames::up_to(max_frame),
            reaction: span("reaction", self.reaction, DelayInputs::HIGHER_LAYER)?,
            reaction_given: self.reaction.is_some(),
            own_reaction: own_reaction.unwrap_or_default(),
            invocation: span("invocation", self.invocation, Duration::ZERO)?,
            formula: self.formula,
            adjustment: Adjustment::from_nanos(self.adjustment.0).unwrap_or_default(),
            shims: self.macsec.map(|(local, remote)| Shims { local, remote }),
            cell: cell.map(|octets| octets as u32),
            methods: self.method,
            statistic: self.statistic.unwrap_or(match self.protocol.dialect {
                Readings::Sluice => Statistic::Max,
                Readings::Letter => Statistic::Mean,
            }),
            own_internal: internal.map_or(Duration::ZERO, |(own, _)| own),
            peer_internal: internal.map(|(_, peer)| peer),
            measure: measure(self)?,
            ptp: ptp(self)?,
            dialect: self.protocol.dialect()?,
        })
    }
}

fn measure(args: &MeasureArgs) -> Result<InitiatePlan> {
    let rounds = args.protocol.rounds.unwrap_or(InitiatePlan::DEFAULT.rounds);
    ensure!((1..=256).contains(&rounds), "--rounds: must be 1 to 256");
    let requests = args.protocol.requests.unwrap_or(rounds.saturating_mul(2).min(256));
    ensure!(
        (rounds..=256).contains(&requests),
        "--requests: must be {rounds} (the rounds) to 256, because messages have numbers of 8 bits"
    );
    let (spacing_min, spacing_max) = args.protocol.spacing;
    let piggyback = !args.protocol.no_piggyback;
    Ok(InitiatePlan {
        rounds,
        spacing_min,
        spacing_max,
        requests_max: requests,
        period: None,
        piggyback,
        shims: false,
    })
}

fn ptp(args: &MeasureArgs) -> Result<PeerDelayPlan> {
    let only = args.method == Preference::only(Method::PeerDelay);
    let rounds = args.protocol.rounds.filter(|_| only).unwrap_or(PeerDelayPlan::DEFAULT.rounds);
    ensure!((1..=256).contains(&rounds), "--rounds: must be 1 to 256");
    let interval = args.protocol.interval.map_or(PTP_INTERVAL, |Span(time)| time);
    ensure!(interval > Duration::ZERO, "--interval: must be above zero");
    Ok(PeerDelayPlan {
        interval: Some(interval),
        domain: args.protocol.domain,
        major_sdo_id: u8::from(args.protocol.gptp),
        rounds,
        ..PeerDelayPlan::DEFAULT
    })
}
