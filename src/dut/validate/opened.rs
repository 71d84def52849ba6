//! Frames at the tester's ports as they are recorded: read with the keys of both ends if they are protected, and
//! sorted to the flows of the trial.
//!
//! Protected frames are read without state: a replayed frame is read as its first copy was. A frame that is valid
//! by no key is recorded as it was on the line.

use contracts::frame::FCS_BYTES;
use ground::units::{Mac, Priority};
use secure::{An, Inspected, Inspector, SaPlan, Sci, SecyChange};
use wire::{EtherType, ip, vlan};

use crate::bench::TrialError;
use crate::observation::{Secured, Way, What, ecn_of};
use crate::setup::{Marking, PortMacsec, Setup};
use crate::trial::{FlowId, KeyChange, Port, Trial};

/// The keys of the tester's ports in a trial, and what distinguishes its frames.
#[derive(Debug)]
pub(crate) struct Openers {
    keys: Vec<Option<Inspector>>,
    sorter: Sorter,
}

/// A frame as it is recorded.
pub(crate) struct Read {
    pub(crate) what: What,
    /// Length of the plain frame in bytes, FCS included.
    pub(crate) len: u32,
    /// First bytes of the plain frame.
    pub(crate) head: Box<[u8]>,
    pub(crate) secured: Option<Box<Secured>>,
}

impl Openers {
    /// Returns the keys of the file, and those of the trial.
    ///
    /// # Errors
    /// A key of the trial is not one of its suite.
    pub(crate) fn new(setup: &Setup, trial: &Trial) -> Result<Self, TrialError> {
        let ports = setup.ports.iter().enumerate();
        let opener = |(n, port): (usize, &crate::setup::TesterPort)| {
            let macsec = port.macsec.as_ref();
            let keys = trial.keys.iter().filter(|key| key.port == Port(n));
            macsec.map(|macsec| opener(macsec, keys)).transpose()
        };
        let keys = ports.map(opener).collect::<Result<_, _>>()?;
        Ok(Self { keys, sorter: Sorter::new(trial, setup) })
    }

    /// Returns true if a port has MACsec.
    pub(crate) fn has(&self, port: Port) -> bool {
        self.keys.get(port.0).is_some_and(Option::is_some)
    }

    /// Reads a frame of `len` bytes on the line, FCS included, that begins with `line`.
    pub(crate) fn read(&self, port: Port, way: Way, line: &[u8], len: u32) -> Read {
        let opener = self.keys.get(port.0).and_then(Option::as_ref);
        let Some(inspected) = opener.and_then(|opener| opener.open(line)) else {
            let what = self.sorter.what(line, port, way);
            return Read { what, len, head: line.into(), secured: None };
        };
        let Inspected { octets, sci, an, pn, encrypted, overhead } = inspected;
        let what = self.sorter.what(&octets, port, way);
        let is_data = matches!(what, What::Data { .. });
        // Data frames are many, and no test asks for their protected bytes.
        let kept = if is_data { Box::default() } else { line.into() };
        let secured = Some(Box::new(Secured { sci, an, pn, encrypted, len, line: kept }));
        // A short frame has no padding within its protection.
        let plain = len.saturating_sub(overhead as u32).max(octets.len() as u32 + FCS_BYTES);
        Read { what, len: plain.min(len), head: octets.into(), secured }
    }
}

/// Returns the keys of a port: those of both ends, and those that it gets in a trial.
fn opener<'a>(
    macsec: &PortMacsec,
    changes: impl Iterator<Item = &'a KeyChange>,
) -> Result<Inspector, TrialError> {
    let plan = &macsec.plan;
    let mut opener = Inspector::new(plan.suite, plan.confidentiality);
    let theirs = plan.receive.iter().map(|sc| (sc.sci, &sc.associations));
    // Both ends: the frames that the tester sent are read as well.
    let all = theirs.chain([(plan.sci, &plan.transmit)]);
    let mut keys: Vec<(Sci, An, &SaPlan)> = Vec::new();
    for (sci, associations) in all {
        let numbered = An::ALL.into_iter().zip(associations);
        keys.extend(numbered.filter_map(|(an, sa)| Some((sci, an, sa.as_ref()?))));
    }
    // The DUT transmits in its own channel.
    let channel = theirs_of(macsec);
    for KeyChange { change, .. } in changes {
        match change {
            SecyChange::InstallTransmit { an, sa } => {
                keys.extend(channel.map(|sci| (sci, *an, sa)));
            }
            SecyChange::InstallReceive { sci, an, sa } => keys.push((*sci, *an, sa)),
            SecyChange::UseTransmit(_)
            | SecyChange::RemoveTransmit(_)
            | SecyChange::RemoveReceive { .. }
            | SecyChange::RemoveChannel(_)
            | SecyChange::SetLowestPn { .. } => {}
        }
    }
    for (sci, an, sa) in keys {
        opener.add(sci, an, sa).map_err(|why| TrialError::Error(why.to_string()))?;
    }
    Ok(opener)
}

/// Returns the channel of the DUT.
pub(crate) fn theirs_of(macsec: &PortMacsec) -> Option<Sci> {
    macsec.plan.receive.first().map(|sc| sc.sci)
}

/// What distinguishes the frames of a trial.
#[derive(Debug)]
struct Sorter {
    /// Number of flows that the tester sends.
    own: usize,
    /// Flows of NICs under test.
    awaited: Vec<(Port, Priority, FlowId)>,
    /// Addresses of the tester if NICs are under test, whose frames may look like those of a flow.
    macs: Vec<Mac>,
    marking: Marking,
}

impl Sorter {
    fn new(trial: &Trial, setup: &Setup) -> Self {
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
    fn what(&self, octets: &[u8], port: Port, way: Way) -> What {
        let ecn = ecn_of(octets);
        let what = What::of(octets, self.own, ecn);
        let is_of_nic = way == Way::Received && !self.macs.is_empty() && !self.is_own(octets);
        if !is_of_nic || matches!(what, What::Control(_)) {
            return what;
        }
        let priority = self.priority(octets);
        let flow = self.awaited.iter().find(|(at, of, _)| (*at, Some(*of)) == (port, priority));
        match flow {
            // Its frames have no numbers of the tester's.
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
        // The first priority with the value: a map may give several priorities the same one.
        let first = |is_it: &dyn Fn(usize) -> bool| {
            Priority::ALL.into_iter().find(|priority| is_it(priority.index()))
        };
        match &self.marking {
            Marking::Pcp(map, _) => {
                let tag = walk.outer?;
                first(&|n| map[n] == tag.pcp)
            }
            Marking::Dscp(map) => {
                let ip = ip::View::new(walk.ethertype, octets.get(walk.l3..)?).ok()?;
                let dscp = ip.dscp();
                first(&|n| map[n] == dscp)
            }
        }
    }
}
