//! V-D02: a willing device takes its neighbour's map of PFC.

use super::dcbx::{self, Heard, Peer};
use crate::bench::Trouble;
use crate::setup::{ExpectedDcbx, Precedence};
use crate::test::{Context, Level, Test, Topology};
use ground::time::Duration;
use ground::units::PrioritySet;

pub const TEST: Test = Test {
    id: "V-D02",
    aliases: &[],
    title: "a neighbour's map of PFC holds on the wire, or does not",
    purpose: "A willing device obeys PFC for the priorities that a neighbour advertises which is not willing; \
              if both are willing, the addresses decide. A device that is not willing keeps its map.",
    clause: "802.1Q 38.4",
    topology: Topology::T2,
    procedure: "B advertises PFC for one lossless priority: not willing, willing with the lowest, and willing \
                with the highest address. After each, B pauses all lossless priorities under traffic on all.",
    pass: "The priorities of the map in use stop, and no others. No frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "UNH-IOL 38.1.3; intel/openlldp issue 34",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let expected = dcbx::expected(cx)?;
    let ports = cx.ports::<2>()?;
    let [a, b] = ports;
    let (one, _) = dcbx::maps(cx)?;
    let own = cx.setup.lossless;
    for (peer, willing, what) in [
        (Peer::LOW, false, "a neighbour that is not willing"),
        (Peer::LOW, true, "a willing neighbour with the lowest address"),
        (Peer::HIGH, true, "a willing neighbour with the highest address"),
    ] {
        let said = [(Duration::ZERO, peer.maps(one, willing))];
        let obeyed = in_use(&expected, (peer, willing), (own, one));
        let heard = Heard { said: &said, peers: &[peer], wait: Duration::ZERO };
        dcbx::judge(cx, (a, b), (what, obeyed), &heard)?;
    }
    Ok(())
}

/// Returns the map that the device uses: its own, or that of its neighbour.
fn in_use(
    expected: &ExpectedDcbx,
    (peer, willing): (Peer, bool),
    (own, other): (PrioritySet, PrioritySet),
) -> PrioritySet {
    let higher_wins = expected.precedence == Precedence::Higher;
    let peer_wins = higher_wins == (peer.mac == Peer::HIGH.mac);
    if expected.willing && (!willing || peer_wins) { other } else { own }
}
