//! V-P02: the device sends PAUSE before it drops.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Port;
use ground::units::{Mac, Quanta};

pub const TEST: Test = Test {
    id: "V-P02",
    aliases: &[],
    title: "PAUSE is sent before a frame is lost",
    purpose: "A port with 802.3x flow control that runs out of buffer pauses its peer in time, with well-formed \
              frames, and not without need.",
    clause: "802.3 31.4.1, 31B.3.1",
    topology: Topology::T3,
    procedure: "Only with `flow_control: pause`. Flows on one priority from A and from B to C: at first each at \
                45 % of the line, then at line rate. The tester obeys.",
    pass: "No frame is lost. A and B receive no MAC control frame at first, then at least one PAUSE each: to \
           01-80-C2-00-00-01, opcode 0001, from one unicast address, of at least 64 bytes, the reserved ones \
           zero.",
    uncertainty: "None: counts and bytes.",
    source: "UNH 802.3 PAUSE transmission; sonic-buildimage issue 2279",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Share of the line of each flow that is no congestion.
const SHARE: f64 = 0.45;

/// Offsets in a PAUSE frame: destination, EtherType and opcode, time, reserved.
const DST: [u8; 6] = [0x01, 0x80, 0xc2, 0, 0, 1];
const OPCODE: usize = 14;
const TIME: usize = 16;
const RESERVED: usize = 18;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let priority = cx.stopped()?;
    for share in [SHARE, 1.0] {
        let trial = congestion::to_one(cx, (&[a, b], c), &[priority], share);
        let seen = cx.observe(&trial)?;
        congestion::arrives(cx, &seen, &trial)?;
        congestion::lossless(cx, &seen, &trial, priority);
        for port in [a, b] {
            let frames: Vec<_> =
                seen.control(port).map(|(r, octets)| (r.len, octets.to_vec())).collect();
            let name = cx.port(port).name.clone();
            if share < 1.0 {
                let what = format!("MAC control frames at {name} without congestion");
                cx.count(what, frames.len() as u64, Limits::exactly(0.0));
                continue;
            }
            let stops = seen.link_pauses(port).filter(|(_, time)| *time > Quanta(0)).count() as u64;
            cx.count(format!("PAUSE frames at {name}"), stops, Limits::at_least(1.0));
            judge(cx, port, &frames);
        }
    }
    Ok(())
}

/// Returns true if the bytes of a PAUSE frame are wrong.
type Wrong<'a> = &'a dyn Fn(&[u8]) -> bool;

/// Judges the form of the MAC control frames at a port.
fn judge(cx: &mut Context<'_>, port: Port, frames: &[(u32, Vec<u8>)]) {
    let name = cx.port(port).name.clone();
    let source = frames.first().map(|(_, octets)| octets[6..12].to_vec());
    let is_from = |octets: &[u8]| {
        let mac = Mac(octets[6..12].try_into().unwrap_or_default());
        mac.0 != [0; 6] && !mac.is_multicast() && source.as_deref() == Some(&octets[6..12])
    };
    let checks: [(&str, Wrong<'_>); 4] = [
        ("another destination", &|o| o[..6] != DST),
        ("no unicast source, or several", &|o| !is_from(o)),
        ("another opcode", &|o| o[OPCODE..TIME] != [0x00, 0x01]),
        ("reserved bytes that are not zero", &|o| o[RESERVED..].iter().any(|octet| *octet != 0)),
    ];
    let short = frames.iter().filter(|(len, _)| *len < 64).count() as u64;
    cx.count(format!("frames at {name} below 64 bytes"), short, Limits::exactly(0.0));
    for (what, is_wrong) in checks {
        let long = frames.iter().filter(|(_, octets)| octets.len() >= RESERVED);
        let wrong = long.filter(|(_, octets)| is_wrong(octets)).count() as u64;
        cx.count(format!("frames at {name} with {what}"), wrong, Limits::exactly(0.0));
    }
}
