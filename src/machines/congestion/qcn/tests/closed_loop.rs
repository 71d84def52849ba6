//! Sources under reaction points into one queue under a congestion point.

use super::super::*;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

const LINE: BitsPerSec = BitsPerSec::gbps(10);
const FRAME: u64 = 1_000;

/// Runs `flows` greedy sources into one link for `ms` milliseconds, in steps of a microsecond.
/// Returns the queue's mean in bytes and the link utilization over the last half.
fn run(flows: usize, ms: u64, delay_us: usize) -> (f64, f64) {
    let mut point = CongestionPoint::new(PointPlan::standard(), 11);
    let mut sources: Vec<_> = (0..flows as u64)
        .map(|n| (ReactionPoint::new(ReactionPlan::standard(), LINE, n), 0_u64))
        .collect();
    let drain = LINE.bytes_in(Duration::from_micros(1)).0;
    let mut on_the_way = std::collections::VecDeque::from(vec![Vec::new(); delay_us]);
    let (mut queue, mut now) = (0_u64, Instant::ZERO);
    let (mut sum, mut sent) = (0.0, 0_u64);
    let steps = ms * 1_000;
    for step in 0..steps {
        now += Duration::from_micros(1);
        for (flow, feedback) in on_the_way.pop_front().unwrap() {
            let (source, _): &mut (ReactionPoint, u64) = &mut sources[flow];
            source.on_cnm(now, feedback);
        }
        let mut told = Vec::new();
        for (n, (source, credit)) in sources.iter_mut().enumerate() {
            source.on_timeout(now);
            *credit += source.rate().bytes_in(Duration::from_micros(1)).0;
            while *credit >= FRAME {
                *credit -= FRAME;
                source.on_sent(FRAME as u32);
                queue += FRAME;
                let seen = point.on_enqueue(Bytes(queue), Bytes(FRAME));
                told.extend(seen.map(|feedback| (n, feedback.quantized)));
            }
        }
        on_the_way.push_back(told);
        let out = queue.min(drain);
        queue -= out;
        if step >= steps / 2 {
            sum += queue as f64;
            sent += out;
        }
    }
    let half = (steps / 2) as f64;
    (sum / half, sent as f64 / (half * drain as f64))
}

#[test]
fn greedy_flows_share_a_link_that_stays_busy_with_a_queue_near_the_set_point() {
    for flows in [2, 8] {
        let (queue, used) = run(flows, 400, 20);
        assert!(used > 0.95, "{flows} flows use {used} of the link");
        assert!((5_000.0..60_000.0).contains(&queue), "{flows} flows hold {queue} octets");
    }
}
