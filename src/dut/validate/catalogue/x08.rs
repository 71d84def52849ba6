//! V-X08: a pause is not held behind data.

use super::congestion;
use crate::bench::Trouble;
use crate::judge::Limits;
use crate::observation::Observation;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{Flow, Limit, Port, Trial};
use ground::time::Duration;
use ground::units::Priority;

pub const TEST: Test = Test {
    id: "V-X08",
    aliases: &[],
    title: "a pause is not held behind data",
    purpose: "A port sends a pause ahead of the frames that wait there, so that it comes within the time \
              that the headroom is made for.",
    clause: "802.1Q 36.1.3.3",
    topology: Topology::T3,
    procedure: "Flows on a lossless priority from A and from B overload C, at first with nothing else, \
                then with the longest frames of a lossy priority from C to A at line rate. Behind real ports \
                five times each.",
    pass: "The first pause at A comes later with the other traffic than without it by one of its frames \
           and 1 us at most; of five times each, in the median.",
    uncertainty: "Time stamps of the tester, twice; behind real ports also the range of the times without \
                  other traffic, as the frames of two senders mix otherwise in each trial.",
    source: "own",
    level: Level::Full,
    run,
    line: line!(),
};

/// Trials of each kind behind real ports. A choice: a pause waits for any part of a frame on the line, so one trial
/// may find the longest wait, which is as close to the limit as the time stamps are good.
const ROUNDS: u32 = 5;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let plain = congestion::to_one(cx, (&[a, b], c), &[lossless], 1.0);
    let mut loaded: Trial = plain.clone();
    let hold = cx.setup.times.hold;
    let back = Flow::new((c, a), lossy, Limit::Time(hold)).size(cx.setup.max_frame);
    loaded.flow(back);
    let mut times = [Vec::new(), Vec::new()];
    let mut uncertainty = Duration::ZERO;
    for round in 0..ROUNDS {
        for (trial, times) in [&plain, &loaded].into_iter().zip(&mut times) {
            let trial = Trial { round, ..trial.clone() };
            let seen = cx.observe(&trial)?;
            congestion::arrives(cx, &seen, &trial)?;
            let Some(at) = first_pause(&seen, a, lossless) else {
                let name = cx.port(a).name.clone();
                let what = format!("pauses of priority {lossless} at {name}");
                cx.count(what, 0, Limits::at_least(1.0));
                return Ok(());
            };
            times.push(at);
            uncertainty = uncertainty.max(seen.uncertainty);
        }
        // The threshold is crossed by a frame of either sender, whose phases a virtual tester repeats.
        if uncertainty == Duration::ZERO {
            break;
        }
    }
    let most = cx.setup.line_time(cx.setup.max_frame) + Duration::from_micros(1);
    let limits = Limits::at_most(most.as_nanos_f64());
    let (later, uncertainty) = delay(times, uncertainty);
    cx.judge("delay of the pause by data", later, limits, uncertainty, "ns");
    Ok(())
}

/// Returns the difference of the medians of times with other traffic and without it, and its uncertainty by
/// that of each time, in nanoseconds.
fn delay([alone, behind]: [Vec<Duration>; 2], each: Duration) -> (f64, f64) {
    let sorted = |mut times: Vec<Duration>| {
        times.sort_unstable();
        times
    };
    let (alone, behind) = (sorted(alone), sorted(behind));
    let median = |times: &[Duration]| times[times.len() / 2].as_nanos_f64();
    let range = alone[alone.len() - 1].saturating_sub(alone[0]);
    (median(&behind) - median(&alone), (each.saturating_mul(2) + range).as_nanos_f64())
}

fn first_pause(seen: &Observation, port: Port, priority: Priority) -> Option<Duration> {
    seen.pauses(port).find(|pause| pause.stops(priority)).map(|pause| pause.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::{Measurement, Outcome};

    /// Judges times in microseconds by a limit of 13.3 us.
    fn judged(alone: [u64; 5], behind: [u64; 5]) -> Outcome {
        let times = [alone, behind].map(|times| times.map(Duration::from_micros).to_vec());
        let (later, u) = delay(times, Duration::from_micros(1));
        Measurement::judge("delay", later, Limits::at_most(13_300.0), u, "ns").outcome
    }

    #[test]
    fn waits_for_a_part_of_a_frame_pass_and_those_for_whole_frames_fail() {
        let even = [100, 101, 100, 101, 101];
        assert_eq!(judged(even, [101, 113, 105, 107, 110]), Outcome::Pass);
        assert_eq!(judged(even, [113, 125, 117, 119, 122]), Outcome::Fail);
        assert_eq!(judged(even, [101, 113, 111, 112, 113]), Outcome::Inconclusive);
    }

    #[test]
    fn times_that_differ_by_themselves_judge_nothing() {
        let uneven = [100, 104, 108, 112, 100];
        assert_eq!(judged(uneven, [101, 113, 105, 107, 110]), Outcome::Inconclusive);
        assert_eq!(judged(uneven, [113, 125, 117, 119, 122]), Outcome::Inconclusive);
    }
}
