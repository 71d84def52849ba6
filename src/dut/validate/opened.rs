//! Protected frames at the tester's ports, read with the keys of both ends.
//!
//! They are read without state: a replayed frame is read as its first copy was. A frame that is valid
//! by no key is recorded as it was on the line.

use crate::bench::Trouble;
use crate::observation::{Secured, Sorter, Way, What};
use crate::setup::{PortMacsec, Setup};
use crate::trial::{KeyChange, Port, Trial};
use contracts::frame::FCS_BYTES;
use secure::{An, Inspected, Inspector, SaPlan, Sci, SecyChange};

/// The keys of the tester's ports in a trial, and what its frames are told apart by.
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
    pub(crate) fn new(setup: &Setup, trial: &Trial) -> Result<Self, Trouble> {
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
    pub(crate) fn read(&self, (port, way): (Port, Way), (line, len): (&[u8], u32)) -> Read {
        let opener = self.keys.get(port.0).and_then(Option::as_ref);
        let Some(inspected) = opener.and_then(|opener| opener.open(line)) else {
            let what = self.sorter.what(line, (port, way));
            return Read { what, len, head: line.into(), secured: None };
        };
        let Inspected { octets, sci, an, pn, encrypted, overhead } = inspected;
        let what = self.sorter.what(&octets, (port, way));
        let is_data = matches!(what, What::Data { .. });
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
) -> Result<Inspector, Trouble> {
    let plan = &macsec.plan;
    let mut opener = Inspector::new(plan.suite, plan.confidentiality);
    let theirs = plan.receive.iter().map(|sc| (sc.sci, &sc.associations));
    let all = theirs.chain([(plan.sci, &plan.transmit)]);
    let mut keys: Vec<(Sci, An, &SaPlan)> = Vec::new();
    for (sci, associations) in all {
        let numbered = An::ALL.into_iter().zip(associations);
        keys.extend(numbered.filter_map(|(an, sa)| Some((sci, an, sa.as_ref()?))));
    }
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
        opener.add(sci, an, sa).map_err(|why| Trouble::Error(why.to_string()))?;
    }
    Ok(opener)
}

/// Returns the channel of the DUT.
pub(crate) fn theirs_of(macsec: &PortMacsec) -> Option<Sci> {
    macsec.plan.receive.first().map(|sc| sc.sci)
}
