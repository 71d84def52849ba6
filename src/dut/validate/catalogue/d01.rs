//! V-D01: the device's own LLDPDUs.

use super::dcbx::{self, organizational};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Trial;
use ground::time::Duration;
use wire::dcbx::{OUI, ets, pfc, subtype};
use wire::lldp::View;

pub const TEST: Test = Test {
    id: "V-D01",
    aliases: &[],
    title: "TLVs of DCBX are well formed",
    purpose: "The device's LLDPDUs have the TLVs of ETS and PFC with the right lengths, reserved bits of \
              zero, shares whose sum is 100, and the configured map of PFC.",
    clause: "802.1Q 38.4, Annex D; 802.1AB 8, 9.2.5.7",
    topology: Topology::T2,
    procedure: "Two intervals of LLDP without traffic; every LLDPDU at each port is read.",
    pass: "Each port receives an LLDPDU per interval, and each has the TLVs of ETS configuration and PFC. \
           Lengths, reserved bits and sums are those of the standard; the PFC map is `lossless`.",
    uncertainty: "None: octets.",
    source: "UNH-IOL 38.1.1, 38.1.2, 38.2.1",
    level: Level::Full,
    run,
    line: line!(),
};

/// Length of the PFC TLV's contents.
const PFC_LEN: usize = 2;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let expected = dcbx::expected(cx)?;
    let ports = cx.ports::<2>()?;
    let mut trial = Trial::new("LLDP at rest", expected.interval.saturating_mul(2) + MARGIN);
    trial.whole = true;
    let seen = cx.observe(&trial)?;
    for port in ports {
        let octets: Vec<Vec<u8>> = dcbx::lldpdus(&seen, port).map(|(_, o)| o.to_vec()).collect();
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
    let of = |kind: u8| all.iter().filter(move |tlv| tlv.subtype == kind);
    let mut faults = Vec::new();
    for (kind, name) in [(subtype::ETS_CONFIGURATION, "ETS configuration"), (subtype::PFC, "PFC")] {
        match of(kind).count() {
            1 => {}
            n => faults.push(format!("{n} TLVs of {name}")),
        }
    }
    for tlv in of(subtype::PFC) {
        faults.extend(pfc_faults(cx, tlv.value));
    }
    for tlv in of(subtype::ETS_CONFIGURATION) {
        faults.extend(ets_faults("configuration", tlv.value));
        let reserved = tlv.value.first().is_some_and(|flags| flags & 0x38 != 0);
        faults.extend(reserved.then(|| "reserved bits of ETS configuration".to_owned()));
    }
    for tlv in of(subtype::ETS_RECOMMENDATION) {
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
