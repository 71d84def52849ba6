//! V-R12: the unit of a quantum.

use super::r05::{self, Before};
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};

pub const TEST: Test = Test {
    id: "V-R12",
    aliases: &[],
    title: "a quantum is 512 bit times of the link",
    purpose: "A port counts pauses in bit times of the rate that its link has, not of another one.",
    clause: "802.3 31B.2, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "As V-R05, with 10000 quanta, at the rate of the DUT file, and again after the link of B \
                has gone down and come up. Run it with a file for each rate of the port, and after \
                each change of the rate, of FEC and of the medium: these changes are not made by \
                the test.",
    pass: "As V-R05.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-swss 1586, sonic-mgmt 21360, sonic-buildimage 24180",
    level: Level::Full,
    run,
    line: line!(),
};

/// Pause time.
const QUANTA: [u16; 1] = [10_000];

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let times = cx.by_level(3, 20);
    r05::pauses(cx, &QUANTA, times, Before::Nothing)?;
    match r05::pauses(cx, &QUANTA, times, Before::LinkFailure) {
        Err(Trouble::Missing(why)) => cx.skip("pauses after a link failure", &why),
        other => return other,
    }
    Ok(())
}
