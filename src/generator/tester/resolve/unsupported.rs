//! Reports unsupported fields of a configuration by name: as errors where they change what is
//! sent or measured, else as warnings.

use super::findings::Findings;
use otg::model::{Config, unsupported};

/// Fields that change neither what is sent nor what is measured, by the end of their path.
const HARMLESS: &[&str] = &[
    "options.protocol_options",
    "options.flow_options",
    "options.port_options.frame_ordering_mode",
];

/// Checks the parts without a type, and those with a type but no implementation.
pub(super) fn check(config: &Config, cx: &mut Findings) {
    for path in unsupported(config) {
        if HARMLESS.contains(&path.as_str()) {
            cx.warn(path, "is not known here and is ignored");
        } else {
            let what = "is not known here, and without it the test would be another; take it out";
            cx.error(path, what);
        }
    }
    let ports = config.options.as_ref().and_then(|o| o.port_options.as_ref());
    if ports.is_some_and(|p| p.location_preemption) {
        let what = "ports belong to this process, so no client is turned out of them";
        cx.warn("options.port_options.location_preemption", what);
    }
    if ports.is_some_and(|p| p.data_integrity) {
        let what = "payloads are not compared, only counted by their sequence; set it to false";
        cx.error("options.port_options.data_integrity", what);
    }
    for (i, device) in config.devices.iter().enumerate() {
        let v6 = device.rocev2.as_ref().is_some_and(|r| !r.ipv6_interfaces.is_empty());
        if v6 {
            let what = "connections of RoCEv2 run over IPv4 alone; move them to ipv4_interfaces";
            cx.error(format!("devices[{i}].rocev2.ipv6_interfaces"), what);
        }
    }
}
