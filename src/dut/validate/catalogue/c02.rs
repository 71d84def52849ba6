//! V-C02: PFC frames are no data frames.

use super::counted;
use crate::bench::Trouble;
use crate::counters::Counter;
use crate::judge::Limits;
use crate::test::{Context, Level, Test, Topology};
use crate::trial::{FlowId, LEARNING, pfc_frame};
use ground::units::{Priority, Quanta};

pub const TEST: Test = Test {
    id: "V-C02",
    aliases: &["pfc_not_in_rx_ok"],
    title: "PFC frames are not counted as data or as drops",
    purpose: "PFC frames that a port has obeyed are neither in its count of received data frames nor in that of \
              dropped ones.",
    clause: "802.3 31.3: MAC control frames are not passed to the MAC client",
    topology: Topology::T2,
    procedure: "B sends 500 pauses of each of the eight priorities, then 100 frames that resume all; at level \
                full 5,000 and 1,000. Before them it sends 100 data frames to A.",
    pass: "The device's count of received data frames is the number of data frames sent, and that of dropped \
           frames at most 10.",
    uncertainty: "None: counts.",
    source: "sonic-mgmt issues 6638, 9775, 21223, 25741; sonic-buildimage issue 28764",
    level: Level::Quick,
    run,
    line: line!(),
};

/// Time of the pauses.
const SHORT: Quanta = Quanta(16);

/// Maximum number of dropped frames, of any other protocol.
const DROPPED_MAX: f64 = 10.0;

fn run(cx: &mut Context<'_>) -> Result<(), Trouble> {
    let [a, b] = cx.ports()?;
    let mac = cx.port(b).mac;
    let (pauses, resumes) = cx.by_level((500, 100), (5_000, 1_000));
    let each = Priority::ALL.map(|p| (pfc_frame(mac, &[(p, SHORT)]), pauses));
    let xon = (pfc_frame(mac, &Priority::ALL.map(|p| (p, Quanta(0)))), resumes);
    let frames = each.into_iter().chain([xon]);
    let trial = counted::control(
        cx,
        (b, a),
        ("PFC frames beside data", cx.lossy()?),
        frames,
        counted::EVERY,
    );
    let (seen, counters) = cx.count_over(trial)?;
    let data = seen.tally(FlowId(0)).sent + u64::from(LEARNING);
    let limits = Limits::exactly(data as f64);
    let at = (b, None);
    cx.judge_counter("counted data frames at B", &counters, (at, Counter::RxOk), limits);
    let limits = Limits::at_most(DROPPED_MAX);
    cx.judge_counter("counted drops at B", &counters, (at, Counter::RxDrop), limits);
    Ok(())
}
