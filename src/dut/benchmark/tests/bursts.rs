//! Bursts of meshes (RFC 2889, 5.1.2) on a virtual switch with four ports at 100 Gb/s.

use ground::time::Duration;
use ground::units::Priority;
use validate::bench::Bench;
use validate::observation::{Way, What};
use validate::trial::{Flow, Limit, Port, Rate, Trial};

use super::{example, written};
use crate::mesh::{Mesh, Pattern};
use crate::plan::Plan;
use crate::trial::Stream;
use crate::{rfc2889, run, table};

const LOSSLESS: &str = "benchmark/lossless.yaml";
const SIZE: u32 = 1024;
const LINE: u64 = 1024 + 20;

/// Returns a trial of these streams.
fn trial(plan: &Plan, streams: &[Stream]) -> Trial {
    let mut trial = Trial::new("bursts", Duration::from_millis(1));
    for stream in streams {
        let flow = Flow::new(stream.ends, plan.priority, stream.limit).size(stream.size);
        trial.flow(flow.rate(Rate::Line(stream.share)).start(stream.start));
    }
    trial
}

/// Returns the first bits of the frames that a port sends, with the numbers of the flows.
fn sent(
    plan: &Plan,
    bench: &mut dyn Bench,
    streams: &[Stream],
    port: usize,
) -> Vec<(Duration, usize)> {
    let seen = bench.run(&trial(plan, streams)).unwrap();
    let of_port = seen.records.iter().filter(|r| r.port == Port(port) && r.way == Way::Sent);
    let mut all: Vec<(Duration, usize)> = of_port
        .filter_map(|record| match record.what {
            What::Data { flow, .. } => Some((record.begin, flow.0)),
            _ => None,
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_burst_is_sent_at_line_rate_to_each_receiver_in_turn() {
    let (plan, mut bench) = example(LOSSLESS);
    let plan = Plan { priority: Priority::ALL[0], ..plan };
    // 10 frames for three receivers become 12; half of the time is rest.
    let streams = Pattern { mesh: Mesh::Full, burst: 10 }.streams(
        &plan,
        SIZE,
        0.5,
        Duration::from_micros(25),
    );
    let sent = sent(&plan, &mut bench, &streams, 1);
    let frame = plan.setup.rate.time_for(ground::units::Bytes(LINE));
    // 25 us are 299 frames: twelve bursts with their rests.
    assert_eq!(sent.len(), 12 * 12);
    for (n, burst) in sent.chunks(12).enumerate() {
        for (k, (begin, _)) in burst.iter().enumerate() {
            let due = sent[0].0 + frame.saturating_mul((24 * n + k) as u64);
            let off = begin.as_picos().abs_diff(due.as_picos());
            assert!(off <= 2_000, "{n} {k}: {begin} {due}");
        }
        let flows: Vec<usize> = burst.iter().map(|(_, flow)| *flow).collect();
        assert_eq!(flows, [3, 4, 5].repeat(4), "{n}");
    }
    // However short a trial is, it has ten bursts.
    let streams = Pattern { mesh: Mesh::Pairs, burst: 10 }.streams(
        &plan,
        SIZE,
        0.5,
        Duration::from_micros(1),
    );
    let bursts = |stream: &Stream| matches!(stream.limit, Limit::Bursts(b) if b.count == 10);
    assert!(streams.iter().all(bursts), "{streams:?}");
}

#[test]
fn a_small_buffer_carries_bursts_at_a_lower_load_than_a_constant_one() {
    let dut = "rate: 100G
lossy: [0]
ports: [{}, {}, {}, {}]
virtual: {profile: {buffer: {total: 64KiB, profiles: {lossy: {shared: {dynamic_th: 0}}}}}}
";
    let (plan, mut bench) =
        written(dut, "sizes: [1024]\ntrial: 500us\nwidth: 1%\nbursts: [1, 90]\n");
    assert_eq!(plan.bursts, [1, 90]);
    let (results, trouble) =
        run::run::<rfc2889::Tables>(&plan, &[rfc2889::Test::Mesh], &mut bench, &mut |_| true);
    assert_eq!(trouble, None);
    let of = |burst: u32| {
        let mut all = results.tables.mesh.iter();
        all.find(|row| row.pattern == "from 3" && row.burst == burst).expect("a row")
    };
    let (constant, bursts) = (of(1).throughput_percent.unwrap(), of(90).throughput_percent);
    // 270 frames arrive at three times the line: 180 of them wait, more than 64 KB at any load.
    assert!((33.0..36.0).contains(&constant), "{constant}");
    assert!(bursts.is_none(), "{bursts:?}");
    let text = table::rfc2889(&results);
    assert!(text.lines().all(|line| line.len() <= 80), "{text}");
}
