//! V-D04: two neighbours at once, and a neighbour that is gone.

use super::dcbx::{self, Heard, Peer};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use ground::time::Duration;

pub const TEST: Test = Test {
    id: "V-D04",
    aliases: &[],
    title: "two neighbours, and neighbours that are gone",
    purpose: "DCBX is for two ports: with two neighbours, after a lifetime of zero, and after the lifetime, the \
              device uses its own map of PFC again.",
    clause: "802.1Q 38.3, 38.4; 802.1AB 9.2.7.7",
    topology: Topology::T2,
    procedure: "B advertises PFC for one lossless priority, which is not willing: alone; as two neighbours \
                with the same map; followed by a lifetime of zero; with a lifetime of 2 s, which passes. After \
                each, B pauses all lossless priorities under traffic on all.",
    pass: "The one priority stops at first; in the other cases all lossless ones do. No frame is lost.",
    uncertainty: "Time stamps of the tester.",
    source: "UNH-IOL's sample report; intel/openlldp issue 125",
    level: Level::Full,
    run,
    line: line!(),
};

/// Lifetime that passes, in seconds.
const SHORT: u16 = 2;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    if !dcbx::expected(cx)?.willing {
        let what = "expected.dcbx.willing: false, so the device takes no map that it could give up";
        return Err(Trouble::Missing(what.to_owned()));
    }
    let [a, b] = cx.ports::<2>()?;
    let (one, _) = dcbx::maps(cx)?;
    let own = cx.setup.lossless;
    let (low, high) = (Peer::LOW, Peer::HIGH);
    let second = Duration::from_secs(1);
    let said = |peer: Peer, at| (at, peer.maps(one, false));
    let brief = Peer { lifetime: SHORT, ..low };
    let none = Duration::ZERO;
    for (what, obeyed, said, peers, wait) in [
        ("one neighbour", one, vec![said(low, none)], vec![low], none),
        ("two neighbours", own, vec![said(low, none), said(high, none)], vec![low, high], none),
        ("a neighbour that left", own, vec![said(low, none), (second, low.leaves())], vec![], none),
        (
            "a neighbour whose lifetime has passed",
            own,
            vec![said(brief, none)],
            vec![],
            second.saturating_mul(u64::from(SHORT) + 1),
        ),
    ] {
        let heard = Heard { said: &said, peers: &peers, wait };
        dcbx::judge(cx, (a, b), (what, obeyed), &heard)?;
    }
    Ok(())
}
