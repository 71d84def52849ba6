//! V-R08: refreshed pauses have no end.

use super::stop;
use crate::bench::Trouble;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Trial, pfc_frame};
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};

pub const TEST: Test = Test {
    id: "V-R08",
    aliases: &["L01"],
    title: "refreshed pauses keep a priority stopped",
    purpose: "A pause that is renewed before it is over leaves no gap in which a frame is sent.",
    clause: "802.3 31B.3.2, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "As V-R01, for six times as long, with the pauses renewed after a half and after \
                nine tenths of their time.",
    pass: "As V-R01.",
    uncertainty: "Time stamps of the tester.",
    source: "sonic-mgmt L01, long",
    level: Level::Full,
    run,
    line: line!(),
};

/// Times after which a pause is renewed, in tenths of its length.
const TENTHS: [u64; 2] = [5, 9];

/// Part of a pause, as one of so many, that a tester whose pauses are late may be off by.
const SPARE: u64 = 50;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let hold = hold(cx)?;
    let window = Quanta::MAX.at(cx.setup.rate);
    for priority in cx.each_lossless() {
        for tenths in TENTHS {
            let set = PrioritySet::of(priority);
            let name = format!("priority {priority} renewed after 0.{tenths} of its time");
            let mut storm = stop::traffic(cx, (a, b), (name, stop::SIZE), hold);
            let octets = pfc_frame(cx.port(b).mac, &[(priority, Quanta::MAX)]);
            let every = window.saturating_mul(tenths).div(10);
            let from = storm.rest.end;
            storm.trial.repeat((b, window), octets, every, (from, from + hold));
            let seen = cx.observe(&storm.trial)?;
            let sent: Vec<Duration> = seen.control_sent(b).map(|(record, _)| record.end).collect();
            gapless(&storm.trial, &sent, window)?;
            stop::judge(cx, &storm, &seen, (b, set))?;
        }
    }
    Ok(())
}

/// Returns the length of the storm. A watchdog of the DUT would end it.
fn hold(cx: &Context<'_>) -> Result<Duration, Trouble> {
    let hold = cx.setup.times.hold.saturating_mul(cx.by_level(2, 6));
    let Some(watchdog) = cx.setup.expected.watchdog else { return Ok(hold) };
    let hold = hold.min(watchdog.detection.saturating_mul(3).div(4));
    if hold < Quanta::MAX.at(cx.setup.rate).saturating_mul(2) {
        let what = "expected.watchdog: it ends a storm before its first pause would be over; switch \
                    it off";
        return Err(Trouble::Missing(what.to_owned()));
    }
    Ok(hold)
}

/// Checks that the tester renewed each pause in time.
fn gapless(trial: &Trial, sent: &[Duration], window: Duration) -> Result<(), Trouble> {
    let gaps = sent.windows(2).map(|pair| pair[1].saturating_sub(pair[0]));
    let largest = gaps.max().unwrap_or_default();
    if largest > window.saturating_sub(window.div(SPARE)) {
        let what = format!(
            "{}: the tester sent nothing for {} ns, and a pause lasts {} ns",
            trial.name,
            largest.as_nanos(),
            window.as_nanos()
        );
        return Err(Trouble::Disturbed(what));
    }
    Ok(())
}
