//! The plan of one port of a switch, with the defaults of the standards.

use ::congestion::{EcnPlan, SourceMap, Trusted};
use buffer::SharedLimit;
use ground::units::{
    BitsPerSec, Bytes, Mac, PRIORITIES, Priority, PriorityGroup, Quanta, TrafficClass, Vid,
};
use link::AgentsPlan;
use pfc::{FlowControl, PfcPlan, WatchdogPlans};
use schedule::{ClassPlan, LinePlan, SchedulePlan};
use secure::SecyPlan;

/// One port.
#[derive(Clone, Debug)]
pub struct PortPlan {
    /// Name in results.
    pub name: String,
    /// Source address of frames that the port itself sends, and its router address.
    pub mac: Mac,
    /// Link rate: egress is shaped to it and quanta are converted by it.
    pub rate: BitsPerSec,
    /// True if egress is shaped to `rate`. Off for a NIC, which has its own clock.
    pub shaped: bool,
    /// Frame to priority, priority to group and class.
    pub classify: ClassifyPlan,
    /// PFC or PAUSE.
    pub pfc: PfcPlan,
    /// The storm watchdog, by traffic class.
    pub watchdog: WatchdogPlans,
    /// The egress scheduler.
    pub schedule: SchedulePlan,
    /// ECN, by traffic class.
    pub ecn: [Option<EcnPlan>; PRIORITIES],
    /// Limit of each egress queue on the shared pool.
    pub queue_limits: [SharedLimit; PRIORITIES],
    /// VLAN membership.
    pub vlan: VlanPlan,
    /// Link protocols of the port: measurement, discovery, headroom.
    pub agents: Option<AgentsPlan>,
    /// MACsec protection of sent frames, and requirements on received ones.
    pub secy: Option<Box<SecyPlan>>,
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

    /// Returns the per-frame overhead on the line, MACsec included.
    #[must_use]
    pub fn protected_line(&self) -> LinePlan {
        self.schedule.line.and(self.secy.as_ref().map_or(0, |secy| secy.line_overhead()))
    }
}

/// Field of a frame that decides its priority.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// The PCP of the outer tag, else the port default.
    Pcp,
    /// The DSCP of an IPv4 or IPv6 packet, else the port default.
    Dscp,
    /// The PCP of the outer tag, else the DSCP, else the port default.
    PcpThenDscp,
    /// The DSCP, else the PCP, else the port default.
    DscpThenPcp,
    /// The port default alone.
    Port,
}

/// Classification maps of one port.
#[derive(Clone, Debug)]
pub struct ClassifyPlan {
    pub trust: Trust,
    /// PCP to priority.
    pub pcp: [Priority; 8],
    /// DSCP to priority.
    pub dscp: [Priority; 64],
    /// For frames without the trusted field.
    pub default: Priority,
    /// Priority to ingress priority group.
    pub group: [PriorityGroup; PRIORITIES],
    /// Priority to egress traffic class.
    pub class: [TrafficClass; PRIORITIES],
}

impl ClassifyPlan {
    /// Returns the maps by which source flow control messages find the priority of a flow from this
    /// port.
    #[must_use]
    pub const fn source_map(&self) -> SourceMap {
        let trusted = match self.trust {
            Trust::Pcp => Trusted::Pcp,
            // The flows of messages are of IP, so they all have a DSCP.
            Trust::Dscp | Trust::DscpThenPcp => Trusted::Dscp,
            Trust::PcpThenDscp => Trusted::PcpOrDscp,
            Trust::Port => Trusted::Neither,
        };
        SourceMap { trusted, pcp: self.pcp, dscp: self.dscp }
    }
}

/// The VLANs of one port.
#[derive(Clone, Debug)]
pub struct VlanPlan {
    /// VLAN of untagged and priority-tagged frames; `None` drops them.
    pub pvid: Option<Vid>,
    /// VLANs of the port.
    pub members: Vec<VlanMember>,
}

/// A port's membership of one VLAN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VlanMember {
    pub vid: Vid,
    /// True if frames of the VLAN leave this port tagged.
    pub tagged: bool,
}
