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
                then with the longest frames of a lossy priority from C to A at line rate.",
    pass: "The first pause at A comes later with the other traffic than without it by one of its frames \
           and 1 us at most.",
    uncertainty: "Time stamps of the tester, twice; behind real ports also a frame, as those of two senders mix \
                  otherwise in each trial.",
    source: "own",
    level: Level::Full,
    run,
    line: line!(),
};

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b, c] = cx.ports()?;
    let (lossless, lossy) = (cx.lossless()?, cx.lossy()?);
    let plain = congestion::to_one(cx, (&[a, b], c), &[lossless], 1.0);
    let mut loaded: Trial = plain.clone();
    let hold = cx.setup.times.hold;
    let back = Flow::new((c, a), lossy, Limit::Time(hold)).size(cx.setup.max_frame);
    loaded.flow(back);
    let mut first = [Duration::ZERO; 2];
    let mut uncertainty = Duration::ZERO;
    for (trial, first) in [&plain, &loaded].into_iter().zip(&mut first) {
        let seen = cx.observe(trial)?;
        congestion::arrives(cx, &seen, trial)?;
        let Some(at) = first_pause(&seen, a, lossless) else {
            let name = cx.port(a).name.clone();
            cx.count(format!("pauses of priority {lossless} at {name}"), 0, Limits::at_least(1.0));
            return Ok(());
        };
        *first = at;
        uncertainty += seen.uncertainty;
    }
    // The threshold is crossed by a frame of either sender, whose phases only a virtual tester repeats.
    if uncertainty > Duration::ZERO {
        uncertainty += cx.setup.line_time(plain.flows[0].size);
    }
    let [alone, behind] = first;
    let most = cx.setup.line_time(cx.setup.max_frame) + Duration::from_micros(1);
    let limits = Limits::at_most(most.as_nanos_f64());
    let later = behind.as_nanos_f64() - alone.as_nanos_f64();
    cx.judge("delay of the pause by data", later, limits, uncertainty.as_nanos_f64(), "ns");
    Ok(())
}

fn first_pause(seen: &Observation, port: Port, priority: Priority) -> Option<Duration> {
    seen.pauses(port).find(|pause| pause.stops(priority)).map(|pause| pause.at)
}
