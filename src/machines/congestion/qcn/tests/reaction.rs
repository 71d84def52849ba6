//! The reaction point alone.

use proptest::prelude::*;

use super::super::*;
use crate::tests::us;
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};

const LINE: BitsPerSec = BitsPerSec::gbps(10);
const STEADY: ReactionPlan = ReactionPlan { jitter: 0, ..ReactionPlan::standard() };

fn fb(n: u8) -> QuantizedFeedback {
    QuantizedFeedback::new(n).unwrap()
}

#[test]
fn a_cut_recovers_five_times_then_adds_then_adds_faster() {
    let mut point = ReactionPoint::new(STEADY, LINE, 1);
    assert_eq!((point.rate(), point.next_deadline()), (LINE, Instant::NEVER));
    point.on_cnm(us(100), fb(0));
    assert!(point.is_idle());
    point.on_cnm(us(100), fb(32));
    // The rate is decreased by a quarter; a CNM before the first increase leaves the target.
    assert_eq!((point.rate().get(), point.target()), (7_500_000_000, LINE));
    assert_eq!(point.next_deadline(), us(15_100));
    point.on_cnm(us(200), fb(32));
    assert_eq!((point.rate().get(), point.target()), (5_625_000_000, LINE));
    point.on_sent(150_000);
    assert_eq!(point.rate().get(), 7_812_500_000);
    // After an increase by bytes the rate before the cut is the target.
    point.on_cnm(us(300), fb(63));
    assert_eq!(point.target().get(), 7_812_500_000);
    assert_eq!(point.rate().get(), 7_812_500_000 - 7_812_500_000 * 63 / 128);
    for _ in 0..5 {
        point.on_sent(150_000);
        assert_eq!(point.target().get(), 7_812_500_000);
    }
    // From now on twice as often, and 5 Mb/s more each time.
    point.on_sent(75_000);
    assert_eq!(point.target().get(), 7_817_500_000);
    // Then six by time: 15 ms five times, then 7.5 ms, from the last cut on.
    point.on_timeout(us(300 + 75_000));
    assert_eq!(point.target().get(), 7_817_500_000 + 5 * 5_000_000);
    point.on_timeout(us(300 + 82_500));
    assert_eq!(point.target().get(), 7_842_500_000 + 50_000_000);
    point.on_sent(75_000);
    point.on_timeout(us(300 + 90_000));
    // One by bytes with the other cause at six, then one by time with both at seven.
    assert_eq!(point.target().get(), 7_892_500_000 + 50_000_000 + 100_000_000);
}

#[test]
fn no_flood_of_notifications_takes_a_flow_below_its_least_rate() {
    let mut point = ReactionPoint::new(STEADY, LINE, 1);
    (0..100_000).for_each(|n| point.on_cnm(Instant::from_picos(n), fb(63)));
    assert_eq!(point.rate().get(), 5_000_000);
    // It recovers by time alone, and then no timer runs.
    while point.next_deadline() < Instant::NEVER {
        point.on_timeout(point.next_deadline());
    }
    assert!(point.is_idle() && point.rate() == LINE);
    point.on_sent(u32::MAX);
    assert!(point.is_idle());
}

#[test]
fn another_link_rate_bounds_what_was_above_it_and_frees_what_was_at_the_old_one() {
    let mut point = ReactionPoint::new(STEADY, LINE, 1);
    point.set_line(BitsPerSec::gbps(40));
    assert_eq!(point.rate(), BitsPerSec::gbps(40));
    point.on_cnm(us(0), fb(63));
    point.set_line(LINE);
    assert_eq!((point.rate(), point.next_deadline()), (LINE, Instant::NEVER));
    let max_rate = Some(BitsPerSec::gbps(4));
    let slow = ReactionPoint::new(ReactionPlan { max_rate, ..STEADY }, LINE, 1);
    assert_eq!(slow.rate(), BitsPerSec::gbps(4));
}

/// Floating-point model of the reaction point, as a list of stages and of the remainder of each
/// cause. Random numbers are those of the same seed.
struct Model {
    plan: ReactionPlan,
    rng: Rng,
    rate: f64,
    target: f64,
    stages: [u32; 2],
    octets: f64,
    alarm: Option<f64>,
}

impl Model {
    fn drawn(&mut self, base: f64, stage: u32) -> f64 {
        let j = f64::from(self.plan.jitter) / 100.0;
        let base = if stage < self.plan.threshold { base } else { (base / 2.0).floor() };
        (base * (1.0 - j + 2.0 * j * f64::from(self.rng.next_u16()) / 65_536.0) + 1e-6).floor()
    }

    fn octets_at(&mut self, stage: u32) -> f64 {
        self.drawn(self.plan.byte_reset.0 as f64, stage)
    }

    fn time_at(&mut self, stage: u32) -> f64 {
        self.drawn(self.plan.time_reset.as_picos() as f64, stage)
    }

    fn raise(&mut self) {
        let stages = self.stages.map(f64::from);
        let over = stages.map(|s| s - f64::from(self.plan.threshold));
        if self.stages.contains(&1) && self.target > 10.0 * self.rate {
            self.target /= 8.0;
        } else if over[0] > 0.0 && over[1] > 0.0 {
            self.target += self.plan.hyper.get() as f64 * over[0].min(over[1]);
        } else if over[0] > 0.0 || over[1] > 0.0 {
            self.target += self.plan.active.get() as f64;
        }
        self.target = self.target.min(LINE.get() as f64);
        self.rate = (self.rate + self.target) / 2.0;
    }

    fn to(&mut self, now: f64) {
        while let Some(at) = self.alarm.filter(|&at| at <= now) {
            self.stages[1] += 1;
            self.alarm = Some(at + self.time_at(self.stages[1]));
            self.raise();
        }
    }

    fn cnm(&mut self, now: f64, feedback: u8) {
        if feedback == 0 {
            return;
        }
        if self.alarm.is_none() || self.stages[0] > 0 {
            self.target = self.rate;
            self.octets = self.octets_at(0);
        }
        self.stages = [0, 0];
        let kept = 1.0 - f64::from(feedback) / f64::from(self.plan.gain).exp2();
        self.rate *= kept.max(f64::from(self.plan.keep_min) / 100.0);
        self.rate = self.rate.max(self.plan.min_rate.get() as f64);
        self.alarm = Some(now + self.time_at(0));
    }

    fn sent(&mut self, octets: u32) {
        self.octets -= if self.alarm.is_some() { f64::from(octets) } else { 0.0 };
        while self.octets <= 0.0 {
            self.stages[0] += 1;
            self.octets += self.octets_at(self.stages[0]);
            self.raise();
        }
    }
}

proptest! {
    #[test]
    fn rates_are_those_of_floating_point_to_a_millionth(
        seed in any::<u64>(), jitter in 0_u8..30, gain in 6_u8..9, keep_min in 30_u8..80,
        reset in (50_u64..5_000, 5_000_u64..300_000), threshold in 0_u32..7,
        steps in prop::collection::vec((0_u64..3_000, 0_u32..30_000, 0_u8..200), 1..150),
    ) {
        let plan = ReactionPlan {
            time_reset: Duration::from_micros(reset.0), byte_reset: Bytes(reset.1),
            threshold, gain, keep_min, jitter, ..ReactionPlan::standard()
        };
        let mut ours = ReactionPoint::new(plan, LINE, seed);
        let line = LINE.get() as f64;
        let mut model = Model {
            plan, rng: Rng::new(seed), rate: line, target: line,
            stages: [0, 0], octets: reset.1 as f64, alarm: None,
        };
        let mut now = Instant::ZERO;
        for (gap, octets, feedback) in steps {
            now += Duration::from_micros(gap);
            ours.on_timeout(now);
            model.to(now.as_picos() as f64);
            if model.alarm.is_some() && ours.is_idle() {
                return Ok(()); // The model approaches the line rate without reaching it.
            }
            // Most steps have no CNM.
            let feedback = if feedback < 64 { feedback } else { 0 };
            ours.on_cnm(now, fb(feedback));
            model.cnm(now.as_picos() as f64, feedback);
            ours.on_sent(octets);
            model.sent(octets);
            if model.alarm.is_some() && ours.is_idle() {
                return Ok(());
            }
            let (a, b) = (ours.rate().get() as f64, model.rate);
            prop_assert!((a / b - 1.0).abs() < 1e-6, "{a} {b} at {now:?}");
            prop_assert!((ours.target().get() as f64 / model.target - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn how_late_a_timeout_comes_changes_no_rate(
        seed in any::<u64>(),
        steps in prop::collection::vec((0_u64..500, 0_u8..200), 1..60)
    ) {
        let plan = ReactionPlan { time_reset: Duration::from_micros(37), ..ReactionPlan::standard() };
        let mut often = ReactionPoint::new(plan, LINE, seed);
        let mut seldom = often.clone();
        let mut now = Instant::ZERO;
        for (gap, feedback) in steps {
            for _ in 0..gap {
                now += Duration::from_micros(1);
                often.on_timeout(now);
            }
            if let Some(feedback) = QuantizedFeedback::new(feedback) {
                often.on_cnm(now, feedback);
                seldom.on_cnm(now, feedback);
            } else {
                seldom.on_timeout(now);
            }
            prop_assert_eq!(often.rate(), seldom.rate());
            prop_assert_eq!(often.next_deadline(), seldom.next_deadline());
        }
    }
}
