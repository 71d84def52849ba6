//! LLDPDUs with DCBX: those that the tester sends as a neighbour, and those of the device.

use core::ops::Range;

use super::stop::{self, Storm};
use crate::bench::Trouble;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::ExpectedDcbx;
use crate::test::Context;
use crate::trial::{Port, Trial};
use ground::time::Duration;
use ground::units::{Mac, PrioritySet};
use wire::dcbx::ets::{self, EtsTable, algorithm};
use wire::dcbx::{OUI, pfc, subtype};
use wire::ethernet;
use wire::lldp::{self, CHASSIS_MAC, DESTINATION, Id, PORT_MAC, Repr, Writer};

/// Longest LLDPDU that the tester sends, in bytes.
const LLDPDU_MAX: usize = 512;

/// Time for the device to take what it heard into use. A choice: far more than its software needs.
const APPLY: Duration = Duration::from_millis(500);

/// Lifetime of what the tester says, unless a test is about that, in seconds.
pub(super) const LIFETIME: u16 = 120;

/// Returns the expectation, or the reason why a test is skipped.
pub(super) fn expected(cx: &Context<'_>) -> Result<ExpectedDcbx, Trouble> {
    let missing = "expected.dcbx is missing; add whether the device is willing";
    cx.setup.expected.dcbx.ok_or_else(|| Trouble::Missing(missing.to_owned()))
}

/// Returns one lossless priority, and the others.
///
/// # Errors
/// The set-up has fewer than two: a map that differs could not be seen.
pub(super) fn maps(cx: &Context<'_>) -> Result<(PrioritySet, PrioritySet), Trouble> {
    let all = cx.setup.lossless;
    let one = PrioritySet::of(cx.lossless()?);
    let others = PrioritySet(all.0 & !one.0);
    match others == PrioritySet::EMPTY {
        true => Err(Trouble::Missing("lossless: two priorities are needed".to_owned())),
        false => Ok((one, others)),
    }
}

/// A neighbour of the device, played by the tester.
#[derive(Clone, Copy)]
pub(super) struct Peer {
    /// Address of its port, which is its chassis ID, too.
    pub(super) mac: Mac,
    /// Lifetime in seconds; 0 ends what it said before.
    pub(super) lifetime: u16,
}

impl Peer {
    /// The neighbour with an address that is lower than any other.
    pub(super) const LOW: Self = Self { mac: Mac([2, 0, 0, 0, 0, 1]), lifetime: LIFETIME };
    /// The neighbour with an address that is higher than any other.
    pub(super) const HIGH: Self = Self { mac: Mac([0xfe; 6]), lifetime: LIFETIME };

    /// Returns an LLDPDU with these TLVs of IEEE 802.1, or of others.
    pub(super) fn says(self, tlvs: &[([u8; 3], u8, Vec<u8>)]) -> Vec<u8> {
        let id = |subtype| Id { subtype, octets: &self.mac.0 };
        let head = Repr {
            dst: DESTINATION,
            src: self.mac,
            chassis: id(CHASSIS_MAC),
            port: id(PORT_MAC),
            ttl: self.lifetime,
        };
        let mut buffer = [0; LLDPDU_MAX];
        let fits = "an LLDPDU of the tester fits";
        let mut writer = Writer::new(&mut buffer, &head).expect(fits);
        for (oui, subtype, value) in tlvs {
            writer.organizational(*oui, *subtype, value).expect(fits);
        }
        let len = writer.finish().expect(fits);
        buffer[..len].to_vec()
    }

    /// Returns an LLDPDU with the PFC configuration of these priorities.
    pub(super) fn maps(self, enable: PrioritySet, willing: bool) -> Vec<u8> {
        self.says(&[(OUI, subtype::PFC, pfc(enable, willing))])
    }

    /// Returns the LLDPDU that ends what it said before.
    pub(super) fn leaves(self) -> Vec<u8> {
        Self { lifetime: 0, ..self }.says(&[])
    }
}

/// Returns the contents of the PFC TLV.
pub(super) fn pfc(enable: PrioritySet, willing: bool) -> Vec<u8> {
    let configuration =
        pfc::Configuration { willing, macsec_bound: false, capability: 8, enable, proposed: None };
    let mut buffer = vec![0; configuration.buffer_len()];
    configuration.emit(&mut buffer).expect("the buffer has its length");
    buffer
}

/// Returns the contents of the ETS configuration TLV whose shares have this sum.
pub(super) fn ets(sum: u8) -> Vec<u8> {
    let mut table = EtsTable {
        class: [0, 1, 2, 3, 4, 5, 6, 7],
        bandwidth: [0; 8],
        algorithm: [algorithm::STRICT; 8],
    };
    table.algorithm[..2].fill(algorithm::ETS);
    table.bandwidth[..2].copy_from_slice(&[50, sum - 50]);
    let configuration = ets::Configuration { willing: false, cbs: false, classes: 8, table };
    let mut buffer = vec![0; configuration.buffer_len()];
    configuration.emit(&mut buffer).expect("the buffer has its length");
    buffer
}

/// LLDPDUs that the device hears before a storm, and the neighbours that send them.
pub(super) struct Heard<'a> {
    /// LLDPDUs and their times.
    pub(super) said: &'a [(Duration, Vec<u8>)],
    /// The neighbours that said them: they leave at the end of the trial.
    pub(super) peers: &'a [Peer],
    /// Shortest time from the last LLDPDU to the storm; at least [`APPLY`] passes.
    pub(super) wait: Duration,
}

/// Returns a storm for all lossless priorities at `b` after LLDPDUs.
fn storm(cx: &Context<'_>, (a, b): (Port, Port), heard: &Heard<'_>) -> Storm {
    let mut storm = stop::storm(cx, (a, b), cx.setup.lossless, stop::SIZE);
    let last = heard.said.iter().map(|(at, _)| *at).max().unwrap_or(Duration::ZERO);
    later(&mut storm, last + APPLY.max(heard.wait));
    for (at, octets) in heard.said {
        storm.trial.frame(b, octets.clone(), *at);
    }
    let end = storm.trial.length;
    for peer in heard.peers {
        storm.trial.frame(b, peer.leaves(), end);
    }
    storm.trial.length = end + Duration::from_millis(1);
    storm
}

/// Moves all of a storm to a later time.
fn later(storm: &mut Storm, by: Duration) {
    let Trial { flows, control, length, .. } = &mut storm.trial;
    flows.iter_mut().for_each(|flow| flow.start += by);
    control.iter_mut().for_each(|control| control.start += by);
    *length += by;
    let Range { start, end } = storm.rest;
    storm.rest = start + by..end + by;
}

/// Runs a storm for all lossless priorities after LLDPDUs, and judges that those of `obeyed` stop and
/// the others do not.
pub(super) fn judge(
    cx: &mut Context<'_>,
    ports: (Port, Port),
    (what, obeyed): (&str, PrioritySet),
    heard: &Heard<'_>,
) -> Result<(), Trouble> {
    let mut storm = storm(cx, ports, heard);
    storm.trial.name = what.to_owned();
    let seen = cx.observe(&storm.trial)?;
    stop::judge(cx, &storm, &seen, (ports.1, obeyed))
}

/// Returns the LLDPDUs that a port received.
pub(super) fn lldpdus(seen: &Observation, port: Port) -> impl Iterator<Item = (&Record, &[u8])> {
    seen.records.iter().filter_map(move |record| match &record.what {
        What::Other(octets) if record.port == port && record.way == Way::Received => {
            let is_lldp = ethernet::View::new(octets)
                .is_ok_and(|view| view.ethertype() == wire::EtherType::LLDP);
            is_lldp.then_some((record, &octets[..]))
        }
        _ => None,
    })
}

/// Returns the TLVs of an organization in an LLDPDU.
pub(super) fn organizational<'a>(
    view: &lldp::View<'a>,
    oui: [u8; 3],
) -> Vec<lldp::Organizational<'a>> {
    let of = |tlv: lldp::Tlv<'a>| tlv.organizational().filter(|org| org.oui == oui);
    view.optional().filter_map(of).collect()
}
