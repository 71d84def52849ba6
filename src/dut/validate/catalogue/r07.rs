//! V-R07: a new time replaces the old one.

use super::{end, stop};
use crate::bench::Trouble;
use crate::observation::Observation;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Trial};
use ground::time::Duration;
use ground::units::{Priority, Quanta};

pub const TEST: Test = Test {
    id: "V-R07",
    aliases: &[],
    title: "a new pause time replaces the old one",
    purpose: "A PFC frame for a priority that is paused sets its time anew: the times are \
              neither added, nor does the longest win. One for other priorities leaves it as it is.",
    clause: "802.3 31B.3.2, 802.1Q 36.1.3.2",
    topology: Topology::T2,
    procedure: "A flow on one lossless priority at line rate from A to B. B sends a long pause \
                and in the middle of it a short one; a short and then a long one; three \
                short ones in a row; and a short one, in the middle of it a long one for all other priorities.",
    pass: "The first frame begins when the last pause of the priority is over, within {pause}, or 3 quanta and a \
           frame if that is more, and the limit.",
    uncertainty: "Time stamps of the tester.",
    source: "Intel LL 10G MAC guide 4.6.1.1; UNH-IOL 31B",
    level: Level::Full,
    run,
    line: line!(),
};

/// Pauses in a row: the time of each, its distance from the one before as a share of the first, and the
/// priorities that it names.
type Row = [(Quanta, f64, Named)];

/// The priorities that a pause names.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    /// The one of the test.
    Own,
    /// All but that.
    Others,
}

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    cx.lossless()?;
    // So long that the time within which a port reacts does not hide a wrong end.
    let short = Quanta(end::limit_quanta(cx).saturating_mul(4).clamp(1000, 16_000) as u16);
    let (long, own) = (Quanta::MAX, Named::Own);
    let rows: [(&str, &Row); 4] = [
        ("a long pause, then a short one", &[(long, 0.0, own), (short, 0.5, own)]),
        ("a short pause, then a long one", &[(short, 0.0, own), (long, 0.5, own)]),
        ("three short pauses", &[(short, 0.0, own), (short, 0.3, own), (short, 0.3, own)]),
        ("a short pause, then one of others", &[(short, 0.0, own), (long, 0.5, Named::Others)]),
    ];
    for priority in cx.each_lossless() {
        for (name, row) in rows {
            judge(cx, priority, (name, row))?;
        }
    }
    Ok(())
}

fn judge(
    cx: &mut Context<'_>,
    priority: Priority,
    (name, row): (&str, &Row),
) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let (baseline, times) = (cx.setup.times.baseline, cx.by_level(1, 10));
    let first = row[0].0.at(cx.setup.rate);
    let step = |share: f64| Duration::from_nanos_f64(first.as_nanos_f64() * share);
    let longest = row.iter().map(|(time, share, _)| time.at(cx.setup.rate) + step(*share));
    // The sum of all: a DUT that adds them is over by then, too.
    let every = longest.fold(cx.setup.stop_limit(), |sum, one| sum + one).saturating_mul(2);
    let traffic = baseline + every.saturating_mul(times);
    let mut trial = Trial::new(name, traffic + cx.setup.times.drain);
    let flow = trial.flow(Flow::new((a, b), priority, Limit::Time(traffic)));
    for n in 0..times {
        let mut at = baseline + every.saturating_mul(n);
        for (time, share, named) in row {
            at += step(*share);
            let is_named = |p: &Priority| (*p == priority) == (*named == Named::Own);
            let times = Priority::ALL.into_iter().filter(is_named).map(|p| (p, *time));
            trial.pfc(b, cx.port(b).mac, &times.collect::<Vec<_>>(), at);
        }
    }
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(baseline.div(4)..baseline))?;
    ends(cx, &seen, (flow, name), row);
    Ok(())
}

/// Judges the end of each row of pauses.
fn ends(cx: &mut Context<'_>, seen: &Observation, (flow, name): (FlowId, &str), row: &Row) {
    let last = row.iter().rposition(|(_, _, named)| *named == Named::Own).unwrap_or(0);
    let [_, b] = cx.ports().expect("the test has checked it");
    let begins = seen.begins(flow);
    let sent: Vec<Duration> = seen.control_sent(b).map(|(record, _)| record.end).collect();
    let rows = sent.chunks_exact(row.len());
    let after = |row: &[Duration]| {
        let resumed = end::resumed(cx, &begins, row[0]);
        let last = row[last].as_nanos_f64();
        resumed.map_or(f64::INFINITY, |resumed| resumed.as_nanos_f64() - last)
    };
    let times: Vec<f64> = rows.map(after).collect();
    let limits = end::limits(cx, row[last].0, stop::SIZE);
    let u = seen.uncertainty.saturating_mul(2).as_nanos_f64();
    let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (which, value) in [("shortest", shortest), ("longest", longest)] {
        let what = format!("{which} silence after the last of {name}");
        cx.judge(what, value.min(never(cx)), limits, u, "ns");
    }
}

/// Time in nanoseconds of a pause that did not end.
fn never(cx: &Context<'_>) -> f64 {
    Quanta::MAX.at(cx.setup.rate).as_nanos_f64() * 1e3
}
