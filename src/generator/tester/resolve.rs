//! Resolves a configuration of a client or a file to a test plan that both worlds may trust.
//!
//! [`resolve`] reports all errors at once, each with the path of its field and a remedy. Every
//! unsupported field of the configuration is reported: as an error where it would change what is
//! sent or measured, as a warning elsewhere. In a [`TestPlan`] from here every name is resolved,
//! every frame is at least as long as its headers, and every rate is within the line rate if that
//! is known.

mod captures;
mod devices;
mod findings;
mod flows;
mod headers;
mod ports;
mod queue_pairs;
mod rocev2;
mod timing;
mod ways;

use findings::{Findings, refusal, sentences};

use crate::plan::{Location, TestPlan};
use config::Finding;
use ground::units::BitsPerSec;
use host::FLOW_ID_MAX;
use otg::engine::{Refusal, Warnings};
use otg::model::Config;

/// Resolves a configuration to a test plan. Link rates are those of layer 1; without one, rates
/// are not compared with the link's.
///
/// # Errors
/// All errors of the configuration.
pub fn resolve(config: &Config) -> Result<(TestPlan, Warnings), Refusal> {
    resolve_on(config, &|_| None)
}

/// As [`resolve`], with `link` to return the link rate of a location.
///
/// # Errors
/// All errors of the configuration.
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

/// Returns the test plan or all errors, and the warnings.
pub(super) fn find(
    config: &Config,
    link: &dyn Fn(&Location) -> Option<BitsPerSec>,
) -> (Result<TestPlan, Vec<Finding>>, Vec<Finding>) {
    let mut cx = Findings::default();
    // Before anything is made of them. The streams that they become are counted at the end.
    if config.flows.len() > FLOW_ID_MAX as usize + 1 {
        let what = format!("{} flows are more than {}", config.flows.len(), FLOW_ID_MAX + 1);
        cx.error("flows", what);
        return cx.settle(TestPlan::default());
    }
    findings::check_supported(config, &mut cx);
    findings::check_names(config, &mut cx);
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

#[cfg(test)]
mod tests;
