//! V-D05: one dialect of DCBX at a time.

use super::dcbx::{self, Peer, organizational};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Port, Trial};
use ground::time::Duration;
use ground::units::PrioritySet;
use wire::dcbx::{OUI, subtype};
use wire::lldp::View;

pub const TEST: Test = Test {
    id: "V-D05",
    aliases: &[],
    title: "one dialect of DCBX at a time",
    purpose: "A device that knows CEE's DCBX beside that of IEEE 802.1 speaks one of them to a neighbour.",
    clause: "802.1Q 38.4, Annex D",
    topology: Topology::T2,
    procedure: "B advertises CEE's TLV alone, and after an interval the TLVs of IEEE 802.1 alone. The \
                device's LLDPDUs at B are read from half of an interval after each on.",
    pass: "No LLDPDU has TLVs of both. Once the neighbour speaks IEEE 802.1, the device does. Its dialect \
           before is recorded.",
    uncertainty: "None: octets.",
    source: "Azure/AzureLocal-Supportability issue 297",
    level: Level::Full,
    run,
    line: line!(),
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

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let interval = dcbx::expected(cx)?.interval;
    let [_, b] = cx.ports::<2>()?;
    let (one, _) = dcbx::maps(cx)?;
    let peer = Peer::LOW;
    let second = interval.saturating_mul(2) + Duration::from_secs(1);
    let end = second.saturating_mul(2);
    let mut trial = Trial::new("CEE, then IEEE 802.1", end + Duration::from_millis(1));
    trial.whole = true;
    trial.frame(b, peer.says(&[(CEE.0, CEE.1, cee(one))]), Duration::ZERO);
    let ieee = [
        (OUI, subtype::PFC, dcbx::pfc(one, false)),
        (OUI, subtype::ETS_CONFIGURATION, dcbx::ets(100)),
    ];
    trial.frame(b, peer.says(&ieee), second);
    trial.frame(b, peer.leaves(), end);
    let seen = cx.observe(&trial)?;
    let half = interval.div(2);
    let before = dialects(&seen, b, (half, second));
    let after = dialects(&seen, b, (second + half, end));
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

fn dialects(seen: &Observation, port: Port, (from, until): (Duration, Duration)) -> Dialects {
    let mut found = Dialects::default();
    for (record, octets) in dcbx::lldpdus(seen, port) {
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
