//! Plans with the defaults of the standards, to be changed where a switch differs.

use super::{BridgePlan, ClassifyPlan, CongestionPlan, PortPlan, RoutingPlan, SwitchPlan};
use super::{Trust, VlanMember, VlanPlan};
use buffer::{BufferPlan, SharedLimit};
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Mac, Priority, PriorityGroup, Quanta, TrafficClass, Vid};
use pfc::{FlowControl, PfcPlan};
use schedule::{ClassPlan, LinePlan, SchedulePlan};

impl SwitchPlan {
    /// Creates the plan of a switch that bridges frames of up to 1,522 bytes between `ports` (802.3
    /// 3.2.7, with a C-tag) and does neither routing nor congestion functions. `buffer` has the
    /// groups of each port. Seed 1.
    #[must_use]
    pub fn new(name: impl Into<String>, ports: Vec<PortPlan>, buffer: BufferPlan) -> Self {
        Self {
            name: name.into(),
            ports,
            buffer,
            bridge: BridgePlan::default(),
            routing: RoutingPlan::default(),
            congestion: CongestionPlan::default(),
            max_frame: 1522,
            seed: 1,
        }
    }
}

impl PortPlan {
    /// Creates the plan of a port at `rate` that is an untagged member of VLAN 1, without flow
    /// control, watchdog, ECN, link protocols and MACsec. The PCP is the priority, else the upper
    /// three bits of the DSCP (RFC 2474 4.2.2), else 0; each priority has its group and its class,
    /// of equal weights.
    #[must_use]
    pub fn new(name: impl Into<String>, mac: Mac, rate: BitsPerSec) -> Self {
        let vid = Vid::MIN;
        Self {
            name: name.into(),
            mac,
            rate,
            shaped: false,
            classify: ClassifyPlan {
                trust: Trust::PcpThenDscp,
                pcp: Priority::ALL,
                dscp: core::array::from_fn(|d| Priority::ALL[d / 8]),
                default: Priority::MIN,
                group: PriorityGroup::ALL,
                class: TrafficClass::ALL,
            },
            pfc: PfcPlan {
                mode: FlowControl::Off,
                quanta: Quanta::MAX,
                refresh: Quanta::MAX.at(rate).div(2),
            },
            watchdog: [None; 8],
            schedule: SchedulePlan {
                classes: [ClassPlan::Dwrr { weight: 10 }; 8],
                shaper_burst: Bytes(0),
                line: LinePlan::ETHERNET,
            },
            ecn: [None; 8],
            queue_limits: [SharedLimit::Unlimited; 8],
            vlan: VlanPlan { pvid: Some(vid), members: vec![VlanMember { vid, tagged: false }] },
            agents: None,
            secy: None,
        }
    }
}

impl Default for BridgePlan {
    /// A table of 4,096 addresses that age after 300 s (802.1Q 8.8.3).
    fn default() -> Self {
        Self {
            table_size: 4096,
            port_limit: Self::NO_LIMIT,
            ageing: Duration::from_secs(300),
            shortcuts: Self::SHORTCUTS,
            statics: vec![],
        }
    }
}
