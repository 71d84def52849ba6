//! V-M02: PFC of a wrong size.

use super::mac_control::{self, Wanted};
use super::stop;
use crate::bench::{Faculty, Trouble};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::Damage;

pub const TEST: Test = Test {
    id: "V-M02",
    aliases: &["Y02"],
    title: "short, damaged and long PFC frames",
    purpose: "PFC frames that are cut or damaged are not obeyed; bytes behind a whole one are \
              ignored.",
    clause: "802.3 31.4.1, 4.2.4.1",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B, an equal share of the line each. B sends \
                PFC frames of 20, 22, 30 and 63 bytes, PFC with a wrong FCS, and PFC with more \
                bytes behind it, of 65 to 1518 bytes.",
    pass: "Short and damaged frames stop nothing; long ones stop their priority alone. No frame \
           is lost, and no port receives one of the frames.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt Y02; UNH-IOL incorrect size of PAUSE",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [_, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let first = cx.by_level(2, 0);
    if !cx.has(Faculty::ShortFrames) {
        cx.skip("frames below 64 bytes", "the ports of the tester pad them");
    }
    for case in mac_control::short(cx, b).iter().skip(first) {
        mac_control::judge(cx, case, Wanted::Ignored)?;
    }
    damaged(cx)?;
    for case in mac_control::long(cx, b, priority).iter().rev().take(cx.by_level(1, usize::MAX)) {
        mac_control::judge(cx, case, Wanted::Obeyed(priority))?;
    }
    Ok(())
}

/// Judges the reaction to PFC with a wrong FCS.
fn damaged(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    if !cx.has(Faculty::WrongFcs) {
        cx.skip("PFC with a wrong FCS", "the ports of the tester calculate it");
        return Ok(());
    }
    let octets = mac_control::for_one(cx, cx.port(b).mac, cx.lossless()?);
    let mut storm = stop::repeated(cx, (a, b), "PFC with a wrong FCS", octets, false);
    let (from, until) = (storm.rest.end, storm.rest.end + cx.setup.times.hold);
    let from = from.saturating_sub(cx.setup.line_time(64));
    storm.trial.damage.push(Damage { port: b, from, until });
    let seen = cx.observe(&storm.trial)?;
    mac_control::judge_seen(cx, &storm, &seen, (b, Wanted::Ignored))
}
