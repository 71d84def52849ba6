//! V-X02: pauses are well formed.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Record;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Port;
use ground::units::{Mac, PRIORITIES, PrioritySet};

pub const TEST: Test = Test {
    id: "V-X02",
    aliases: &["valid_src_mac"],
    title: "sent pauses are well formed",
    purpose: "PFC frames have the address, the opcode and the length of the standard, a source address \
              of the sending port, and name only priorities with PFC.",
    clause: "802.1Q 36.1.3.1, 802.3 31.4, 31D.3",
    topology: Topology::T3,
    procedure: "Flows on all lossless priorities from A and from B overload C.",
    pass: "Each MAC control frame that A and B receive is PFC to 01-80-C2-00-00-01 of at least 64 bytes \
           from one unicast address; its vector has an empty high octet and only lossless priorities; \
           times of priorities that are not enabled are zero.",
    uncertainty: "None: bytes.",
    source: "sonic-mgmt validate_pfc_frame, valid_src_mac",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Offsets in a PFC frame: destination, source, opcode, vector, times.
const DST: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];
const OPCODE: usize = 14;
const VECTOR: usize = 16;
const TIMES: usize = 18;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    cx.lossless()?;
    let priorities: Vec<_> = cx.setup.lossless.iter().collect();
    let share = 1.0 / priorities.len() as f64;
    let trial = congestion::to_one(cx, (&[a, b], c), &priorities, share);
    let seen = cx.observe(&trial)?;
    congestion::arrives(cx, &seen, &trial)?;
    for port in [a, b] {
        let frames: Vec<_> = seen.control(port).collect();
        let name = cx.port(port).name.clone();
        cx.count(format!("pauses at {name}"), frames.len() as u64, Limits::at_least(1.0));
        judge(cx, port, &frames);
    }
    Ok(())
}

/// Returns true if the bytes of a pause are wrong.
type Wrong<'a> = &'a dyn Fn(&[u8]) -> bool;

fn judge(cx: &mut Context<'_>, port: Port, frames: &[(&Record, &[u8])]) {
    let lossless = cx.setup.lossless;
    let name = cx.port(port).name.clone();
    let source = frames.first().map(|(_, octets)| octets[6..12].to_vec());
    let checks: [(&str, Wrong<'_>); 6] = [
        ("another destination", &|o| o[..6] != DST),
        ("no unicast source, or several", &|o| {
            let mac = Mac(o[6..12].try_into().unwrap_or_default());
            mac.0 == [0; 6] || mac.is_multicast() || source.as_deref() != Some(&o[6..12])
        }),
        ("another opcode", &|o| o[OPCODE..VECTOR] != [0x01, 0x01]),
        ("a vector with a high octet", &|o| o[VECTOR] != 0),
        ("priorities without PFC", &|o| o[VECTOR + 1] & !lossless.0 != 0),
        ("a time of a priority that is not enabled", &|o| {
            let enabled = PrioritySet(o[VECTOR + 1]);
            (0..PRIORITIES).any(|n| {
                let at = TIMES + 2 * n;
                enabled.0 >> n & 1 == 0 && o[at..at + 2] != [0, 0]
            })
        }),
    ];
    let short: Vec<_> = frames.iter().filter(|(record, _)| record.len < 64).collect();
    short.iter().for_each(|(record, _)| cx.mark(record, "is below 64 bytes"));
    let what = format!("pauses at {name} below 64 bytes");
    cx.count(what, short.len() as u64, Limits::exactly(0.0));
    for (what, is_wrong) in checks {
        let long = frames.iter().filter(|(_, octets)| octets.len() >= TIMES + 2 * PRIORITIES);
        let wrong: Vec<_> = long.filter(|(_, octets)| is_wrong(octets)).collect();
        wrong.iter().for_each(|(record, _)| cx.mark(record, what));
        let what = format!("pauses at {name} with {what}");
        cx.count(what, wrong.len() as u64, Limits::exactly(0.0));
    }
}
