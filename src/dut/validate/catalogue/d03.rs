//! V-D03: malformed TLVs of DCBX change nothing.

use super::dcbx::{self, Heard, Peer};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use ground::time::Duration;
use wire::dcbx::{OUI, subtype};

pub const TEST: Test = Test {
    id: "V-D03",
    aliases: &[],
    title: "malformed TLVs are ignored",
    purpose: "TLVs of DCBX that are too short, shares whose sum is not 100, and LLDPDUs that end within a TLV \
              change no behaviour.",
    clause: "802.1Q 38.4; 802.1AB 9.2.7.7",
    topology: Topology::T2,
    procedure: "B advertises, each alone: a PFC TLV that is cut, ETS shares of 99 and of 101 %, and an \
                LLDPDU with a PFC TLV for one priority that ends within the next TLV. After each, B pauses all \
                lossless priorities under traffic on all.",
    pass: "All lossless priorities stop, as without a neighbour, and no others. No frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "UNH-IOL 38.1.4, 38.2.2",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    dcbx::expected(cx)?;
    let [a, b] = cx.ports::<2>()?;
    let (one, _) = dcbx::maps(cx)?;
    let peer = Peer::LOW;
    let tlv = |kind, value: Vec<u8>| peer.says(&[(OUI, kind, value)]);
    let short = dcbx::pfc(one, false)[..1].to_vec();
    let mut cut = peer.maps(one, false);
    // The header of a TLV of 511 octets in the place of the end of the LLDPDU.
    let end = cut.windows(2).rposition(|octets| octets != [0, 0]).map_or(0, |at| at + 2);
    cut[end..end + 2].copy_from_slice(&[0xff, 0xff]);
    for (what, octets) in [
        ("a PFC TLV of one octet", tlv(subtype::PFC, short)),
        ("ETS shares of 99 %", tlv(subtype::ETS_CONFIGURATION, dcbx::ets(99))),
        ("ETS shares of 101 %", tlv(subtype::ETS_CONFIGURATION, dcbx::ets(101))),
        ("an LLDPDU that is cut", cut),
    ] {
        let said = [(Duration::ZERO, octets)];
        let own = cx.setup.lossless;
        let heard = Heard { said: &said, peers: &[peer], wait: Duration::ZERO };
        dcbx::judge(cx, (a, b), (what, own), &heard)?;
    }
    Ok(())
}
