//! V-E01: the ECN curve.

use super::marks::{self, is_marked};
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::{Way, What};
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, FlowId, Limit};
use wire::ip::Ecn;

pub const TEST: Test = Test {
    id: "V-E01",
    aliases: &["ECN_ACCURACY"],
    title: "frames are marked by the ECN curve",
    purpose: "A queue marks nothing below Kmin, everything above Kmax, and linearly between.",
    clause: "RFC 3168 5; the curve is the device's configuration",
    topology: Topology::T2,
    procedure: "B pauses one lossless priority, A fills its queue beyond Kmax with ECT(0) frames, and B lets \
                them out; as often as 20 times, at level full 200 times. A frame was marked by the queue at \
                its enqueuing or at its dequeuing, which the device's marks tell.",
    pass: "No frame is marked below Kmin, each above Kmax, and between them as many as the line says, within \
           3 standard deviations.",
    uncertainty: "Binomial.",
    source: "sonic-mgmt ECN_ACCURACY",
    level: Level::Full,
    run,
    line: line!(),
};

/// Length of the frames in bytes.
const SIZE: u32 = 1024;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let ecn = marks::expected(cx)?;
    let [a, b] = cx.ports()?;
    let priority = cx.lossless()?;
    let frames = marks::frames(ecn, SIZE);
    let runs = cx.by_level(20, 200);
    // By the number of bytes in the queue, from the front: marked frames, and all.
    let mut marks = vec![(0_u64, 0_u64); frames as usize];
    for n in 0..runs {
        let flow = Flow::new((a, b), priority, Limit::Frames(1)).size(SIZE).ecn(Ecn::Ect0);
        let mut trial = marks::held(cx, (a, b), [flow], frames)?;
        trial.round = n;
        let seen = marks::observe(cx, &trial)?;
        for record in seen.of(FlowId(0), Way::Received) {
            let What::Data { sequence, .. } = record.what else { continue };
            if let Some((marked, all)) = marks.get_mut(sequence as usize) {
                *marked += u64::from(is_marked(record));
                *all += 1;
            }
        }
    }
    judge(cx, &marks);
    Ok(())
}

/// Judges the marks of the frames, by their place in the queue. At enqueuing frame `n` saw the `n`
/// before it, at dequeuing the rest behind it: the last frames are marked, or the first.
fn judge(cx: &mut Context<'_>, marks: &[(u64, u64)]) {
    let Some(ecn) = cx.setup.expected.ecn else { return };
    let half = marks.len() / 2;
    let sum = |part: &[(u64, u64)]| part.iter().map(|(marked, _)| marked).sum::<u64>();
    let at_dequeue = sum(&marks[..half]) > sum(&marks[half..]);
    let queue = |n: usize| {
        let frames = if at_dequeue { marks.len() - 1 - n } else { n + 1 };
        frames as f64 * f64::from(SIZE)
    };
    let (kmin, kmax) = (ecn.kmin.0 as f64, ecn.kmax.0 as f64);
    let size = f64::from(SIZE);
    let (mut below, mut above, mut between, mut mean, mut variance) = (0, 0, 0, 0.0, 0.0);
    for (n, (marked, all)) in marks.iter().enumerate() {
        let at = queue(n);
        // A frame at either end of the curve may be counted with or without itself.
        if at <= kmin - size {
            below += marked;
        } else if at > kmax + size {
            above += all - marked;
        } else if at > kmin + size && at < kmax - size {
            let p = ecn.pmax * (at - kmin) / (kmax - kmin);
            between += marked;
            mean += p * *all as f64;
            variance += p * (1.0 - p) * *all as f64;
        }
    }
    let place = if at_dequeue { "dequeuing" } else { "enqueuing" };
    cx.count(format!("marks below Kmin (at {place})"), below, Limits::exactly(0.0));
    cx.count("unmarked frames above Kmax", above, Limits::exactly(0.0));
    let limits = Limits::around(mean, 3.0 * variance.sqrt() + mean * 0.02 + 1.0);
    cx.judge("marks between Kmin and Kmax", between as f64, limits, 0.0, "frames");
}
