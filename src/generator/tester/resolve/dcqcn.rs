//! Converts OTG's DCQCN settings to those of the reaction point.

use super::findings::Findings;
use congestion::DcqcnPlan;
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes};
use otg::model::rocev2::Dcqcn;

/// The denominator of OTG's alpha and g.
const ONE: u64 = 1024;

/// Bytes per unit of the byte counter, as in the firmware from which OTG took its numbers.
const COUNTED: u64 = 64;

/// Returns the reaction point of flows on a link of rate `line`, or `None` if DCQCN is disabled.
pub(super) fn plan(
    said: &Dcqcn,
    line: BitsPerSec,
    path: &str,
    cx: &mut Findings,
) -> Option<DcqcnPlan> {
    if !said.enable_dcqcn {
        return None;
    }
    let before = cx.errors();
    for (name, value, range) in [
        ("alpha_g", said.alpha_g, 1..=1023),
        ("initial_alpha", said.initial_alpha, 1..=1023),
        ("alpha_update_period", said.alpha_update_period, 1..=u64::from(u32::MAX)),
        ("rate_reduction_time_period", said.rate_reduction_time_period, 0..=u64::from(u32::MAX)),
        ("maximum_rate_decrement_at_time", said.maximum_rate_decrement_at_time.into(), 1..=100),
        ("rate_increment_time", said.rate_increment_time, 1..=u64::from(u32::MAX)),
        ("rate_increment_byte_counter", said.rate_increment_byte_counter, 1..=32767),
        ("rate_increment_threshold", said.rate_increment_threshold.into(), 1..=31),
    ] {
        if !range.contains(&value) {
            let what =
                format!("{value} is out of range; write {} to {}", range.start(), range.end());
            cx.error(format!("{path}.{name}"), what);
        }
    }
    let mut share = |name: &str, per_cent: f64| {
        if !(0.0..=100.0).contains(&per_cent) {
            let what = format!("{per_cent} is no share of a line; write 0 to 100 per cent");
            cx.error(format!("{path}.{name}"), what);
        }
        BitsPerSec::new((line.get() as f64 * per_cent / 100.0) as u64)
    };
    let least = BitsPerSec::new(1).expect("one is not zero");
    let first_rate = share("initial_rate_after_first_cnp", said.initial_rate_after_first_cnp);
    let min_rate = share("minimum_rate_limmit", said.minimum_rate_limmit).unwrap_or(least);
    let additive = share("additive_increment_rate", said.additive_increment_rate).unwrap_or(least);
    let hyper = share("hyper_increment_rate", said.hyper_increment_rate);
    if cx.errors() > before {
        return None;
    }
    // Exact, because GAIN_ONE is a multiple of OTG's denominator.
    let part = |n: u64| DcqcnPlan::GAIN_ONE / ONE as u32 * n as u32;
    Some(DcqcnPlan {
        // OTG gives the weight of the old alpha, the plan that of the new one.
        gain: part(ONE - said.alpha_g),
        initial_alpha: part(said.initial_alpha),
        alpha_period: Duration::from_micros(said.alpha_update_period),
        increase_period: Duration::from_micros(said.rate_increment_time),
        increase_bytes: Bytes(said.rate_increment_byte_counter * COUNTED),
        recoveries: said.rate_increment_threshold,
        additive,
        hyper,
        min_rate,
        decrease_period: Duration::from_micros(said.rate_reduction_time_period),
        decrease_max: said.maximum_rate_decrement_at_time as u8,
        clamp_target: said.clamp_target_rate,
        first_rate,
    })
}
