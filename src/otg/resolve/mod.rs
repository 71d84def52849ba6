//! From a configuration, as a client or a file has it, to a test that either world may trust.
//!
//! [`resolve`] finds everything that is wrong at once, each with the path of its field and what
//! would help. What a configuration says and Sluice does not do is never passed over in silence: it
//! is refused where it would change what is sent or measured, and warned about where it would not.
//! Whoever holds a [`TestPlan`] that was made here has every name resolved, every frame as long as
//! its headers and every rate within its line, as far as the line's rate is known.

mod captures;
mod dcqcn;
mod devices;
mod findings;
mod flows;
mod headers;
mod names;
mod ports;
mod queue_pairs;
mod rocev2;
mod sizes;
mod timing;
mod unsupported;
mod ways;

use findings::{Findings, refusal, sentences};

use super::engine::{Refusal, Warnings};
use super::model::Config;
use crate::config::Finding;
use crate::host::FLOW_ID_MAX;
use crate::tester::plan::{Location, TestPlan};
use crate::units::BitsPerSec;

/// Makes a test of a configuration. Lines have the rates that layer 1 asks for; where it asks for
/// none, rates are not held against the line's.
///
/// # Errors
/// Everything that is wrong with it.
pub fn resolve(config: &Config) -> Result<(TestPlan, Warnings), Refusal> {
    resolve_on(config, &|_| None)
}

/// As [`resolve`], where `link` knows the rate of what is at a location.
///
/// # Errors
/// Everything that is wrong with it.
pub fn resolve_on(
    config: &Config,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> Result<(TestPlan, Warnings), Refusal> {
    let (plan, warnings) = find(config, link);
    match plan {
        Ok(plan) => Ok((plan, sentences(&warnings))),
        Err(errors) => Err(refusal(&errors)),
    }
}

/// The test, or all that is wrong; and what is worth a word.
pub(super) fn find(
    config: &Config,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> (Result<TestPlan, Vec<Finding>>, Vec<Finding>) {
    let mut cx = Findings::default();
    if config.flows.len() > FLOW_ID_MAX as usize + 1 {
        let what = format!("{} flows are more than {}", config.flows.len(), FLOW_ID_MAX + 1);
        cx.error("flows", what);
        return cx.settle(TestPlan::default());
    }
    unsupported::check(config, &mut cx);
    names::check(config, &mut cx);
    let mut ports = ports::Ports::read(config, link, &mut cx);
    let devices = devices::Devices::read(config, &mut ports, &mut cx);
    captures::captures(&config.captures, &mut ports, &mut cx);
    let mut flows = flows::flows(&config.flows, &mut ports, &devices, &mut cx);
    rocev2::flows(config, &mut ports, &devices, &mut flows, &mut cx);
    if flows.len() > FLOW_ID_MAX as usize + 1 {
        let what = format!("{} streams are more than {}", flows.len(), FLOW_ID_MAX + 1);
        cx.error("flows", what);
    }
    cx.settle(TestPlan { ports: ports.plans, flows, run: 0 })
}
