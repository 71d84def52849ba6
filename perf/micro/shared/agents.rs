//! Link protocols of the benches' ports.

use sluice::discovery::LldpPlan;
use sluice::headroom::measure::{InitiatePlan, MeasurePlan};
use sluice::link::AgentsPlan;
use sluice::time::Duration;
use sluice::units::{BitsPerSec, Mac};
use sluice::wire::headroom::Dialect;

/// A port that advertises itself and answers measurements.
pub fn responder(mac: Mac, name: &str) -> AgentsPlan {
    AgentsPlan {
        mac,
        rate: BitsPerSec::gbps(100),
        lldp: Some(LldpPlan::new(mac, mac, name)),
        dcbx: None,
        measure: Some(MeasurePlan {
            respond: true,
            initiate: None,
            dialect: Dialect::default(),
            compensation: None,
        }),
        peer_delay: None,
        auto: None,
    }
}

/// A port that also measures by default: 100 rounds, of which the next 100 follow at once.
pub fn initiator(mac: Mac, name: &str) -> AgentsPlan {
    measuring(mac, name, InitiatePlan::DEFAULT)
}

/// As [`initiator`], with 400 to 800 us between two requests.
#[allow(dead_code)] // the bench of the responder has one port that measures
pub fn spaced(mac: Mac, name: &str) -> AgentsPlan {
    let (least, most) = (Duration::from_micros(400), Duration::from_micros(800));
    let plan = InitiatePlan { spacing_min: least, spacing_max: most, ..InitiatePlan::DEFAULT };
    measuring(mac, name, plan)
}

/// As [`initiator`], with 4 to 5 us between two requests: hundreds of messages in a run of some thousand polls.
#[allow(dead_code)] // for counts of instructions
pub fn often(mac: Mac, name: &str) -> AgentsPlan {
    let (least, most) = (Duration::from_micros(4), Duration::from_micros(5));
    let plan = InitiatePlan { spacing_min: least, spacing_max: most, ..InitiatePlan::DEFAULT };
    measuring(mac, name, plan)
}

fn measuring(mac: Mac, name: &str, initiate: InitiatePlan) -> AgentsPlan {
    let mut plan = responder(mac, name);
    let initiate = Some(InitiatePlan { period: Some(Duration::from_micros(1)), ..initiate });
    plan.measure = plan.measure.map(|measure| MeasurePlan { initiate, ..measure });
    plan
}
