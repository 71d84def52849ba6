//! DCBX: the LLDPDUs of the device, and what those of the tester, as a neighbour, make it do.

use super::storm;
use super::storm::Storm;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::observation::{Observation, Record, Way, What};
use crate::setup::Setup;
use crate::setup::{ExpectedDcbx, Precedence};
use crate::test::{Context, Scope, Test};
use crate::trial::{Port, Trial};
use core::ops::Range;
use ground::time::Duration;
use ground::units::{Mac, PrioritySet};
use wire::dcbx::ets::{EtsTable, algorithm};
use wire::dcbx::{OUI, ets, pfc, subtype};
use wire::lldp::{CHASSIS_MAC, DESTINATION, Id, PORT_MAC, Repr, View, Writer};
use wire::{ethernet, lldp};

/// Longest LLDPDU that the tester sends, in bytes.
const LLDPDU_MAX: usize = 512;

/// Time for the device to take what it heard into use. A choice: far more than its software needs.
const APPLY: Duration = Duration::from_millis(500);

/// Lifetime of what the tester says, unless a test is about that, in seconds.
const LIFETIME: u16 = 120;

/// Returns true if the file says how the device speaks DCBX.
const fn is_described(setup: &Setup) -> bool {
    setup.expected.dcbx.is_some()
}

/// Returns the expectation, or the reason why a test is skipped.
fn expected(cx: &Context<'_>) -> Result<ExpectedDcbx, TrialError> {
    let missing = "expected.dcbx is missing; add whether the device is willing";
    cx.setup.expected.dcbx.ok_or_else(|| TrialError::Missing(missing.to_owned()))
}

/// Returns one lossless priority, and the others.
///
/// # Errors
/// The set-up has fewer than two: a map that differs could not be seen.
fn maps(cx: &Context<'_>) -> Result<(PrioritySet, PrioritySet), TrialError> {
    let all = cx.setup.lossless;
    let one = PrioritySet::of(cx.lossless()?);
    let others = PrioritySet(all.0 & !one.0);
    match others == PrioritySet::EMPTY {
        true => Err(TrialError::Missing("lossless: two priorities are needed".to_owned())),
        false => Ok((one, others)),
    }
}

/// A neighbour of the device, played by the tester.
#[derive(Clone, Copy)]
struct Peer {
    /// Address of its port, which is its chassis ID, too.
    mac: Mac,
    /// Lifetime in seconds; 0 ends what it said before.
    lifetime: u16,
}

impl Peer {
    /// The neighbour with an address that is lower than any other.
    const LOW: Self = Self { mac: Mac([2, 0, 0, 0, 0, 1]), lifetime: LIFETIME };
    /// The neighbour with an address that is higher than any other.
    const HIGH: Self = Self { mac: Mac([0xfe; 6]), lifetime: LIFETIME };

    /// Returns an LLDPDU with these TLVs of IEEE 802.1, or of others.
    fn lldpdu(self, tlvs: &[([u8; 3], u8, Vec<u8>)]) -> Vec<u8> {
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
    fn maps(self, enable: PrioritySet, willing: bool) -> Vec<u8> {
        self.lldpdu(&[(OUI, subtype::PFC, pfc(enable, willing))])
    }

    /// Returns the LLDPDU that ends what it said before.
    fn leaves(self) -> Vec<u8> {
        Self { lifetime: 0, ..self }.lldpdu(&[])
    }
}

/// Returns the contents of the PFC TLV.
fn pfc(enable: PrioritySet, willing: bool) -> Vec<u8> {
    let configuration =
        pfc::Configuration { willing, macsec_bound: false, capability: 8, enable, proposed: None };
    let mut buffer = vec![0; configuration.buffer_len()];
    configuration.emit(&mut buffer).expect("the buffer has its length");
    buffer
}

/// Returns the contents of the ETS configuration TLV whose shares have this sum.
fn ets(sum: u8) -> Vec<u8> {
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
struct Advertised<'a> {
    /// LLDPDUs and their times.
    lldpdus: &'a [(Duration, Vec<u8>)],
    /// The neighbours that said them: they leave at the end of the trial.
    peers: &'a [Peer],
    /// Shortest time from the last LLDPDU to the storm; at least [`APPLY`] passes.
    wait: Duration,
}

/// Returns a storm for all lossless priorities at `b` after LLDPDUs.
fn storm(cx: &Context<'_>, ends: (Port, Port), advertised: &Advertised<'_>) -> Storm {
    let (_, b) = ends;
    let mut storm = storm::for_set(cx, ends, cx.setup.lossless, storm::SIZE);
    let last = advertised.lldpdus.iter().map(|(at, _)| *at).max().unwrap_or(Duration::ZERO);
    // The device has its map before the traffic begins.
    later(&mut storm, last + APPLY.max(advertised.wait));
    for (at, octets) in advertised.lldpdus {
        storm.trial.frame(b, octets.clone(), *at);
    }
    let end = storm.trial.length;
    // The next trial begins without neighbours.
    for peer in advertised.peers {
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
fn judge(
    cx: &mut Context<'_>,
    ports: (Port, Port),
    what: &str,
    obeyed: PrioritySet,
    advertised: &Advertised<'_>,
) -> Result<(), TrialError> {
    let mut storm = storm(cx, ports, advertised);
    storm.trial.name = what.to_owned();
    let observed = cx.observe(&storm.trial)?;
    storm::judge(cx, &storm, &observed, ports.1, obeyed)
}

/// Returns the LLDPDUs that a port received.
fn lldpdus(observed: &Observation, port: Port) -> impl Iterator<Item = (&Record, &[u8])> {
    observed.records.iter().filter_map(move |record| match &record.what {
        What::Other(octets) if record.port == port && record.way == Way::Received => {
            let is_lldp = ethernet::View::new(octets)
                .is_ok_and(|view| view.ethertype() == wire::EtherType::LLDP);
            is_lldp.then_some((record, &octets[..]))
        }
        _ => None,
    })
}

/// Returns the TLVs of an organization in an LLDPDU.
fn organizational<'a>(view: &lldp::View<'a>, oui: [u8; 3]) -> Vec<lldp::Organizational<'a>> {
    let of_oui = |tlv: lldp::Tlv<'a>| tlv.organizational().filter(|org| org.oui == oui);
    view.optional().filter_map(of_oui).collect()
}

pub(super) const WELL_FORMED: Test = describe! {
    id: "V-D01",
    title: "TLVs of DCBX are well formed",
    purpose: "The device's LLDPDUs have the TLVs of ETS and PFC with the right lengths, reserved bits of \
              zero, shares whose sum is 100, and the configured map of PFC.",
    clause: "802.1Q 38.4, Annex D; 802.1AB 8, 9.2.5.7",
    procedure: "Two intervals of LLDP without traffic; every LLDPDU at each port is read.",
    pass: "Each port receives an LLDPDU per interval, and each has the TLVs of ETS configuration and PFC. \
           Lengths, reserved bits and sums are those of the standard; the PFC map is `lossless`.",
    source: "UNH-IOL 38.1.1, 38.1.2, 38.2.1",
    run: well_formed,
    uncertainty: "None: octets.",
    scope: Scope::Device,
    described: is_described,
};

/// Length of the PFC TLV's contents.
const PFC_LEN: usize = 2;

fn well_formed(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let expected = expected(cx)?;
    let ports = cx.ports::<2>()?;
    let mut trial = Trial::new("LLDP at rest", expected.interval.saturating_mul(2) + MARGIN);
    trial.whole = true;
    let observed = cx.observe(&trial)?;
    for port in ports {
        let octets: Vec<Vec<u8>> = lldpdus(&observed, port).map(|(_, o)| o.to_vec()).collect();
        let name = cx.port(port).name.clone();
        let count = octets.len() as u64;
        cx.count(format!("LLDPDUs at port {name}"), count, Limits::at_least(1.0));
        let mut faults = Vec::new();
        for lldpdu in &octets {
            faults.extend(examine(cx, lldpdu));
        }
        faults.sort_unstable();
        faults.dedup();
        let text =
            if faults.is_empty() { String::new() } else { format!(" ({})", faults.join("; ")) };
        let what = format!("faults of the LLDPDUs at port {name}{text}");
        cx.count(what, faults.len() as u64, Limits::exactly(0.0));
    }
    Ok(())
}

/// Time for an LLDPDU that is late. A choice.
const MARGIN: Duration = Duration::from_secs(1);

/// Returns what is wrong with an LLDPDU.
fn examine(cx: &Context<'_>, lldpdu: &[u8]) -> Vec<String> {
    let view = match View::new(lldpdu) {
        Ok(view) => view,
        Err(error) => return vec![format!("it cannot be read: {error}")],
    };
    let all = organizational(&view, OUI);
    let of_kind = |kind: u8| all.iter().filter(move |tlv| tlv.subtype == kind);
    let mut faults = Vec::new();
    for (kind, name) in [(subtype::ETS_CONFIGURATION, "ETS configuration"), (subtype::PFC, "PFC")] {
        match of_kind(kind).count() {
            1 => {}
            n => faults.push(format!("{n} TLVs of {name}")),
        }
    }
    for tlv in of_kind(subtype::PFC) {
        faults.extend(pfc_faults(cx, tlv.value));
    }
    for tlv in of_kind(subtype::ETS_CONFIGURATION) {
        faults.extend(ets_faults("configuration", tlv.value));
        // Behind willing and CBS are three reserved bits, then the number of classes.
        let reserved = tlv.value.first().is_some_and(|flags| flags & 0x38 != 0);
        faults.extend(reserved.then(|| "reserved bits of ETS configuration".to_owned()));
    }
    for tlv in of_kind(subtype::ETS_RECOMMENDATION) {
        faults.extend(ets_faults("recommendation", tlv.value));
        let reserved = tlv.value.first().is_some_and(|octet| *octet != 0);
        faults.extend(reserved.then(|| "reserved octet of ETS recommendation".to_owned()));
    }
    faults
}

fn pfc_faults(cx: &Context<'_>, value: &[u8]) -> Vec<String> {
    let mut faults = Vec::new();
    if value.len() != PFC_LEN {
        faults.push(format!("PFC has {} octets, not {PFC_LEN}", value.len()));
    }
    // Behind willing and MBC are two reserved bits, then the number of classes.
    if value.first().is_some_and(|flags| flags & 0x30 != 0) {
        faults.push("reserved bits of PFC".to_owned());
    }
    match pfc::Configuration::parse(value) {
        Ok(pfc) if pfc.enable != cx.setup.lossless => {
            faults.push(format!("PFC map {:#04x}, not {:#04x}", pfc.enable.0, cx.setup.lossless.0));
        }
        Ok(_) => {}
        Err(error) => faults.push(format!("PFC: {error}")),
    }
    faults
}

/// Faults of an ETS table, which both TLVs have behind their first octet.
fn ets_faults(name: &str, value: &[u8]) -> Vec<String> {
    if value.len() != ets::LEN {
        return vec![format!("ETS {name} has {} octets, not {}", value.len(), ets::LEN)];
    }
    match ets::Recommendation::parse(value) {
        Ok(ets) if !ets.table.is_consistent() => {
            vec![format!("shares of ETS {name} have a sum other than 100")]
        }
        Ok(_) => Vec::new(),
        Err(error) => vec![format!("ETS {name}: {error}")],
    }
}

pub(super) const NEIGHBOUR_MAP: Test = describe! {
    id: "V-D02",
    title: "a neighbour's map of PFC holds on the wire, or does not",
    purpose: "A willing device obeys PFC for the priorities that a neighbour advertises which is not willing; \
              if both are willing, the addresses decide. A device that is not willing keeps its map.",
    clause: "802.1Q 38.4",
    procedure: "B advertises PFC for one lossless priority: not willing, willing with the lowest, and willing \
                with the highest address. After each, B pauses all lossless priorities under traffic on all.",
    pass: "The priorities of the map in use stop, and no others. No frame is lost.",
    source: "UNH-IOL 38.1.3; intel/openlldp issue 34",
    run: neighbour_map,
    scope: Scope::Device,
    described: is_described,
};

fn neighbour_map(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let expected = expected(cx)?;
    let ports = cx.ports::<2>()?;
    let [a, b] = ports;
    let (one, _) = maps(cx)?;
    let own = cx.setup.lossless;
    for (peer, willing, what) in [
        (Peer::LOW, false, "a neighbour that is not willing"),
        (Peer::LOW, true, "a willing neighbour with the lowest address"),
        (Peer::HIGH, true, "a willing neighbour with the highest address"),
    ] {
        let lldpdus = [(Duration::ZERO, peer.maps(one, willing))];
        let obeyed = in_use(&expected, peer, willing, own, one);
        let advertised = Advertised { lldpdus: &lldpdus, peers: &[peer], wait: Duration::ZERO };
        judge(cx, (a, b), what, obeyed, &advertised)?;
    }
    Ok(())
}

/// Returns the map that the device uses: its own, or that of its neighbour.
fn in_use(
    expected: &ExpectedDcbx,
    peer: Peer,
    willing: bool,
    own: PrioritySet,
    other: PrioritySet,
) -> PrioritySet {
    // If both are willing the addresses decide, and devices differ in which of them wins.
    let higher_wins = expected.precedence == Precedence::Higher;
    let peer_wins = higher_wins == (peer.mac == Peer::HIGH.mac);
    if expected.willing && (!willing || peer_wins) { other } else { own }
}

pub(super) const MALFORMED: Test = describe! {
    id: "V-D03",
    title: "malformed TLVs are ignored",
    purpose: "TLVs of DCBX that are too short, shares whose sum is not 100, and LLDPDUs that end within a TLV \
              change no behaviour.",
    clause: "802.1Q 38.4; 802.1AB 9.2.7.7",
    procedure: "B advertises, each alone: a PFC TLV that is cut, ETS shares of 99 and of 101 %, and an \
                LLDPDU with a PFC TLV for one priority that ends within the next TLV. After each, B pauses all \
                lossless priorities under traffic on all.",
    pass: "All lossless priorities stop, as without a neighbour, and no others. No frame is lost.",
    source: "UNH-IOL 38.1.4, 38.2.2",
    run: malformed,
    scope: Scope::Device,
    described: is_described,
};

fn malformed(cx: &mut Context<'_>) -> Result<(), TrialError> {
    expected(cx)?;
    let [a, b] = cx.ports::<2>()?;
    let (one, _) = maps(cx)?;
    let peer = Peer::LOW;
    let tlv = |kind, value: Vec<u8>| peer.lldpdu(&[(OUI, kind, value)]);
    let short = pfc(one, false)[..1].to_vec();
    let mut cut = peer.maps(one, false);
    // The header of a TLV of 511 octets in the place of the end of the LLDPDU.
    let end = cut.windows(2).rposition(|octets| octets != [0, 0]).map_or(0, |at| at + 2);
    cut[end..end + 2].copy_from_slice(&[0xff, 0xff]);
    for (what, octets) in [
        ("a PFC TLV of one octet", tlv(subtype::PFC, short)),
        ("ETS shares of 99 %", tlv(subtype::ETS_CONFIGURATION, ets(99))),
        ("ETS shares of 101 %", tlv(subtype::ETS_CONFIGURATION, ets(101))),
        ("an LLDPDU that is cut", cut),
    ] {
        let lldpdus = [(Duration::ZERO, octets)];
        let own = cx.setup.lossless;
        let advertised = Advertised { lldpdus: &lldpdus, peers: &[peer], wait: Duration::ZERO };
        judge(cx, (a, b), what, own, &advertised)?;
    }
    Ok(())
}

pub(super) const NEIGHBOURS: Test = describe! {
    id: "V-D04",
    title: "two neighbours, and neighbours that are gone",
    purpose: "DCBX is for two ports: with two neighbours, after a lifetime of zero, and after the lifetime, the \
              device uses its own map of PFC again.",
    clause: "802.1Q 38.3, 38.4; 802.1AB 9.2.7.7",
    procedure: "B advertises PFC for one lossless priority, which is not willing: alone; as two neighbours \
                with the same map; followed by a lifetime of zero; with a lifetime of 2 s, which passes. After \
                each, B pauses all lossless priorities under traffic on all.",
    pass: "The one priority stops at first; in the other cases all lossless ones do. No frame is lost.",
    source: "UNH-IOL's sample report; intel/openlldp issue 125",
    run: neighbours,
    scope: Scope::Device,
    described: is_described,
};

/// Lifetime that passes, in seconds.
const BRIEF_LIFETIME: u16 = 2;

fn neighbours(cx: &mut Context<'_>) -> Result<(), TrialError> {
    if !expected(cx)?.willing {
        let what = "expected.dcbx.willing: false, so the device takes no map that it could give up";
        return Err(TrialError::Missing(what.to_owned()));
    }
    let [a, b] = cx.ports::<2>()?;
    let (one, _) = maps(cx)?;
    let own = cx.setup.lossless;
    let (low, high) = (Peer::LOW, Peer::HIGH);
    let second = Duration::from_secs(1);
    let advertises = |peer: Peer, at| (at, peer.maps(one, false));
    let brief = Peer { lifetime: BRIEF_LIFETIME, ..low };
    let none = Duration::ZERO;
    for (what, obeyed, lldpdus, peers, wait) in [
        ("one neighbour", one, vec![advertises(low, none)], vec![low], none),
        (
            "two neighbours",
            own,
            vec![advertises(low, none), advertises(high, none)],
            vec![low, high],
            none,
        ),
        (
            "a neighbour that left",
            own,
            vec![advertises(low, none), (second, low.leaves())],
            vec![],
            none,
        ),
        (
            "a neighbour whose lifetime has passed",
            own,
            vec![advertises(brief, none)],
            vec![],
            // A second more than the lifetime, in which the device notices that it has passed.
            second.saturating_mul(u64::from(BRIEF_LIFETIME) + 1),
        ),
    ] {
        let advertised = Advertised { lldpdus: &lldpdus, peers: &peers, wait };
        judge(cx, (a, b), what, obeyed, &advertised)?;
    }
    Ok(())
}

pub(super) const ONE_DIALECT: Test = describe! {
    id: "V-D05",
    title: "one dialect of DCBX at a time",
    purpose: "A device that knows CEE's DCBX beside that of IEEE 802.1 speaks one of them to a neighbour.",
    clause: "802.1Q 38.4, Annex D",
    procedure: "B advertises CEE's TLV alone, and after an interval the TLVs of IEEE 802.1 alone. The \
                device's LLDPDUs at B are read from half of an interval after each on.",
    pass: "No LLDPDU has TLVs of both. Once the neighbour speaks IEEE 802.1, the device does. Its dialect \
           before is recorded.",
    source: "Azure/AzureLocal-Supportability issue 297",
    run: one_dialect,
    uncertainty: "None: octets.",
    scope: Scope::Device,
    described: is_described,
};

/// OUI of CEE's DCBX, and the subtype of its version 1.01.
const CEE: ([u8; 3], u8) = ([0x00, 0x1b, 0x21], 2);

/// Returns the contents of CEE's TLV: the control TLV, and PFC for a set of priorities.
fn cee(enable: PrioritySet) -> Vec<u8> {
    // Each TLV has 7 bits of type and 9 of length; versions, sequence and acknowledgement in the
    // control TLV; operating and highest version, flags, subtype, map and number of classes in PFC's.
    let mut octets = vec![1 << 1, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    octets.extend([3 << 1, 6, 0, 0, 0x80, 0, enable.0, 8]);
    octets
}

fn one_dialect(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let interval = expected(cx)?.interval;
    let [_, b] = cx.ports::<2>()?;
    let (one, _) = maps(cx)?;
    let peer = Peer::LOW;
    let second = interval.saturating_mul(2) + Duration::from_secs(1);
    let end = second.saturating_mul(2);
    let mut trial = Trial::new("CEE, then IEEE 802.1", end + Duration::from_millis(1));
    trial.whole = true;
    trial.frame(b, peer.lldpdu(&[(CEE.0, CEE.1, cee(one))]), Duration::ZERO);
    let ieee = [(OUI, subtype::PFC, pfc(one, false)), (OUI, subtype::ETS_CONFIGURATION, ets(100))];
    trial.frame(b, peer.lldpdu(&ieee), second);
    // The next trial begins without this neighbour.
    trial.frame(b, peer.leaves(), end);
    let observed = cx.observe(&trial)?;
    // The device may still speak its old dialect for a while.
    let half = interval.div(2);
    let before = dialects(&observed, b, half, second);
    let after = dialects(&observed, b, second + half, end);
    let count = (before.total + after.total) as u64;
    cx.count("LLDPDUs of the device", count, Limits::at_least(2.0));
    let both = (before.both + after.both) as u64;
    cx.count("LLDPDUs with both dialects", both, Limits::exactly(0.0));
    let what = "LLDPDUs without TLVs of IEEE 802.1 to a neighbour that has them";
    cx.count(what, (after.total - after.ieee) as u64, Limits::exactly(0.0));
    let what = "LLDPDUs with CEE's TLV to a neighbour that has only this";
    cx.policy(what, before.cee as f64, "LLDPDUs", "802.1Q does not know CEE's DCBX");
    Ok(())
}

/// Numbers of LLDPDUs by dialect.
#[derive(Default)]
struct Dialects {
    total: usize,
    ieee: usize,
    cee: usize,
    both: usize,
}

fn dialects(observed: &Observation, port: Port, from: Duration, until: Duration) -> Dialects {
    let mut found = Dialects::default();
    for (record, octets) in lldpdus(observed, port) {
        let Ok(view) = View::new(octets) else { continue };
        if record.end < from || record.end > until {
            continue;
        }
        let is_dcbx = |kind: u8| (subtype::ETS_CONFIGURATION..=subtype::PFC).contains(&kind);
        let ieee = organizational(&view, OUI).iter().any(|tlv| is_dcbx(tlv.subtype));
        let cee = !organizational(&view, CEE.0).is_empty();
        found.total += 1;
        found.ieee += usize::from(ieee);
        found.cee += usize::from(cee);
        found.both += usize::from(ieee && cee);
    }
    found
}
