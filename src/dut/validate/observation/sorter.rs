//! The flow of a trial that a frame at a port of the tester belongs to.

use super::{Way, What, ecn_of};
use crate::setup::{Marking, Setup};
use crate::trial::{FlowId, Port, Trial};
use ground::units::{Mac, Priority};
use wire::{EtherType, ip, vlan};

/// Knowledge about a trial by which its frames are told apart.
#[derive(Debug)]
pub(crate) struct Sorter {
    /// Number of flows that the tester sends.
    own: usize,
    /// Flows of NICs under test.
    awaited: Vec<(Port, Priority, FlowId)>,
    /// Addresses of the tester if NICs are under test, whose frames may look like those of a flow.
    macs: Vec<Mac>,
    marking: Marking,
}

impl Sorter {
    pub(crate) fn new(trial: &Trial, setup: &Setup) -> Self {
        let own = trial.own_flows();
        let awaited = trial.flows.iter().enumerate().skip(own);
        let is_nic = setup.nic.is_some();
        let macs = setup.ports.iter().filter(|_| is_nic).map(|port| port.mac);
        Self {
            own,
            awaited: awaited.map(|(n, flow)| (flow.from, flow.priority, FlowId(n))).collect(),
            macs: macs.collect(),
            marking: setup.marking.clone(),
        }
    }

    /// Returns the contents of a frame at a port, by its bytes from the destination address on.
    pub(crate) fn what(&self, octets: &[u8], (port, way): (Port, Way)) -> What {
        let ecn = ecn_of(octets);
        let what = What::of(octets, self.own, ecn);
        let is_of_nic = way == Way::Received && !self.macs.is_empty() && !self.is_own(octets);
        if !is_of_nic || matches!(what, What::Control(_)) {
            return what;
        }
        let priority = self.priority(octets);
        let flow = self.awaited.iter().find(|(at, of, _)| (*at, Some(*of)) == (port, priority));
        match flow {
            Some((_, _, flow)) => What::Data { flow: *flow, sequence: 0, ecn },
            None => What::Other(octets.into()),
        }
    }

    fn is_own(&self, octets: &[u8]) -> bool {
        self.macs.iter().any(|mac| octets.get(6..12) == Some(&mac.0))
    }

    /// Returns the priority of an IP packet by the field that carries it.
    fn priority(&self, octets: &[u8]) -> Option<Priority> {
        let walk = vlan::walk(octets).ok()?;
        if !matches!(walk.ethertype, EtherType::IPV4 | EtherType::IPV6) {
            return None;
        }
        let of = |is_it: &dyn Fn(usize) -> bool| {
            Priority::ALL.into_iter().find(|priority| is_it(priority.index()))
        };
        match &self.marking {
            Marking::Pcp(map, _) => {
                let tag = walk.outer?;
                of(&|n| map[n] == tag.pcp)
            }
            Marking::Dscp(map) => {
                let ip = ip::View::new(walk.ethertype, octets.get(walk.l3..)?).ok()?;
                let dscp = ip.dscp();
                of(&|n| map[n] == dscp)
            }
        }
    }
}
