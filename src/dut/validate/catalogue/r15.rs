//! V-R15: order and integrity after pauses.

use super::stop;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Record, Way};
use crate::setup::Marking;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit, Rate, Trial};
use ground::rand::Rng;
use ground::units::{Priority, Quanta};
use wire::vlan::TAG_LEN;

pub const TEST: Test = Test {
    id: "V-R15",
    aliases: &[],
    title: "frames keep their order over pauses",
    purpose: "Frames that a pause holds are sent once, whole and in their order.",
    clause: "802.1Q 6.5.3, 8.6.6",
    topology: Topology::T2,
    procedure: "A flow on each priority from A to B: the lossless ones together 40 % of the \
                line, the lossy ones 20 %. B sends 1000 pauses of random length to lossless \
                priorities at random times, 100 at level quick.",
    pass: "No frame of any flow is lost, is there twice, is behind one that was sent later, or \
           has another length.",
    uncertainty: "None: counts.",
    source: "own",
    level: Level::Full,
    run,
    line: line!(),
};

/// Longest pause in quanta.
const LONGEST: u64 = 2000;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let baseline = cx.setup.times.baseline;
    let quantum = Quanta(1).at(cx.setup.rate);
    let lossless: Vec<Priority> = cx.setup.lossless.iter().collect();
    let mut rng = Rng::new(cx.setup.seed);
    let mut pauses = Vec::new();
    let mut at = baseline;
    for _ in 0..cx.by_level(100, 1000) {
        let quanta = 1 + rng.next_u64() % LONGEST;
        let priority = lossless[(rng.next_u64() % lossless.len() as u64) as usize];
        pauses.push((at, priority, Quanta(quanta as u16)));
        // Half to one and a half of its length after it is over.
        let rest = quanta / 2 + rng.next_u64() % (quanta + 1);
        at += quantum.saturating_mul(quanta + rest);
    }
    let traffic = at + cx.setup.stop_limit();
    let mut trial = Trial::new("random pauses", traffic + cx.setup.times.drain);
    let priorities: Vec<Priority> = cx.priorities().iter().collect();
    for priority in &priorities {
        let (share, of) = match cx.setup.lossless.contains(*priority) {
            true => (0.4, lossless.len()),
            false => (0.2, priorities.len() - lossless.len()),
        };
        let flow = Flow::new((a, b), *priority, Limit::Time(traffic));
        trial.flow(flow.rate(Rate::Line(share / of as f64)));
    }
    for (at, priority, quanta) in pauses {
        trial.pfc(b, cx.port(b).mac, &[(priority, quanta)], at);
    }
    let seen = cx.observe(&trial)?;
    cx.at_rest(&seen, &trial, &(baseline.div(4)..baseline))?;
    // A DUT may remove the tags.
    let lengths = match &cx.setup.marking {
        Marking::Dscp(_) => [stop::SIZE; 2],
        Marking::Pcp(..) => [stop::SIZE, stop::SIZE - TAG_LEN as u32],
    };
    for (n, priority) in priorities.iter().enumerate() {
        let tally = seen.tally(FlowId(n));
        let is_other = |record: &&Record| !lengths.contains(&record.len);
        let other = seen.of(FlowId(n), Way::Received).filter(is_other).count();
        let counts = [
            ("lost", tally.lost()),
            ("duplicate", tally.duplicates),
            ("reordered", tally.reordered),
            ("cut or grown", other as u64),
        ];
        for (what, count) in counts {
            cx.count(format!("{what} frames of priority {priority}"), count, Limits::exactly(0.0));
        }
    }
    Ok(())
}
