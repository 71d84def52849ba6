//! The demo's lab: `configs/labs/demo.yaml`, with the numbers of the arguments.

use anyhow::Result;

use super::DemoArgs;
use crate::config::ConfigError;
use crate::config::quantity::{LinkRate, Ratio, Size, Span};
use crate::lab::raw::{Amount, Check, FlowDuration, FlowRate, FlowRateText, Lab};
use crate::lab::{LabFile, LabPlan};
use crate::time::Duration;

const TEXT: &str = include_str!("../../../configs/labs/demo.yaml");

/// Shared buffer, as the time in which a link carries as much ...
const SHARED: Duration = Duration::from_millis(4);
/// ... limited to this range, in bytes.
const SHARED_BYTES: [u64; 2] = [256 << 10, 4 << 20];
/// Buffer for reserved space and headroom of a port, in frames.
const PER_PORT: u64 = 16;
/// Load of all senders on the priority that is not protected, in percent of the receiver's link: more
/// than the half that it gets there, so that frames are lost.
const UNPROTECTED: u32 = 60;
/// Time after the last frame in which the buffer drains.
const DRAIN: Duration = Duration::from_secs(10);
/// One percent, as [`Ratio`] counts.
const PERCENT: u32 = 10_000;

/// Returns the plans of both variants, in the order of the file.
pub(super) fn plans(args: &DemoArgs) -> Result<Vec<LabPlan>, ConfigError> {
    let file = LabFile::parse("demo", TEXT)?;
    let plan = |variant| Ok(file.plan(Some(variant), |lab| set(lab, args))?.0);
    file.variants().map(plan).collect()
}

/// Sets the fields that arguments choose.
fn set(lab: &mut Lab, args: &DemoArgs) {
    let (senders, size) = (u32::from(args.senders), Size(args.size.into()));
    lab.duration = Some(Span(Duration::from_secs(args.seconds) + DRAIN));
    lab.defaults.links.rate = Some(LinkRate(args.rate));
    lab.defaults.flows.size = Some(size);
    lab.defaults.flows.duration = Some(FlowDuration::Amount(Amount {
        seconds: Some(Span(Duration::from_secs(args.seconds))),
        ..Amount::default()
    }));
    let star = lab.topology.iter_mut().find_map(|topology| topology.star.as_mut());
    star.expect("the demo's lab is a star").hosts = senders + 1;
    let unprotected = UNPROTECTED * PERCENT / senders;
    for (flow, share) in lab.flows.iter_mut().zip([100 * PERCENT - unprotected, unprotected]) {
        flow.rate = Some(FlowRate::Short(FlowRateText::Share(Ratio(share))));
    }
    for profile in lab.profiles.values_mut() {
        profile.max_frame = Some(size);
        let shared = args.rate.bytes_in(SHARED).0.clamp(SHARED_BYTES[0], SHARED_BYTES[1]);
        profile.buffer.total = Some(Size(shared + u64::from(senders + 1) * PER_PORT * size.0));
        for group in profile.buffer.profiles.values_mut() {
            group.reserved = Some(Size(2 * size.0));
        }
    }
    // Half of what one flow gets of the receiver's link.
    let half = args.rate.get() as f64 / f64::from(senders) / 4.0;
    for check in lab.checks.iter_mut().flatten() {
        if let Check::Long(check) = check
            && let Some(value) = check.value.as_mut().filter(|v| v.path.ends_with("rx_bps"))
        {
            value.at_least = Some(half);
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use proptest::prelude::*;

    use super::*;
    use crate::lab::{self, Options, World};
    use crate::verdict::Verdict;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: DemoArgs,
    }

    fn args(senders: u16, rate_mbps: u64, size: u32) -> DemoArgs {
        let rate = format!("{rate_mbps}M");
        let (senders, size) = (senders.to_string(), size.to_string());
        let line = ["demo", "--senders", &senders, "--rate", &rate, "--size", &size];
        Line::parse_from(line).args
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn every_choice_of_arguments_is_a_lab(
            senders in 2_u16..=7, size in 74_u32..=9216, mbps in 1_u64..=100_000
        ) {
            let plans = plans(&args(senders, mbps, size)).unwrap();
            prop_assert_eq!(plans.len(), 2);
            for plan in plans {
                prop_assert_eq!(plan.network.links.len(), usize::from(senders) + 1);
                prop_assert_eq!(plan.network.links[0].rate.get(), mbps * 1_000_000);
                prop_assert!(plan.network.check().is_ok());
            }
        }
    }

    #[test]
    fn both_variants_pass_in_the_virtual_world_whatever_the_arguments() {
        for (senders, mbps, size) in [(2, 1_000, 1_024), (7, 100, 9_216), (3, 10, 74)] {
            let mut args = args(senders, mbps, size);
            args.seconds = 1;
            for plan in plans(&args).unwrap() {
                let run = lab::run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
                assert_eq!(run.outcome.verdict, Verdict::Pass, "{:?}", run.outcome.checks);
            }
        }
    }

    #[test]
    fn pfc_that_does_not_work_fails() {
        let mut args = args(2, 1_000, 1_024);
        args.seconds = 1;
        let file = LabFile::parse("demo", TEXT).unwrap();
        let deaf = |lab: &mut Lab| {
            set(lab, &args);
            lab.defaults.hosts.obey = Some(crate::lab::raw::Obey::None);
        };
        let (plan, _) = file.plan(Some("pfc-on"), deaf).unwrap();
        let run = lab::run(&plan, World::Virtual, Options::default(), |_| {}).unwrap();
        assert_eq!(run.outcome.verdict, Verdict::Fail, "{:?}", run.outcome.checks);
    }
}
