//! Tests of the reaction point against the paper's figures and a floating-point model that counts
//! every period.

use proptest::prelude::*;

use super::*;
use crate::tests::us;
use ground::time::Duration;
use ground::units::Bytes;

const LINE: BitsPerSec = BitsPerSec::gbps(40);

/// Returns the rates after each of the next `n` timed increases.
fn increases(dcqcn: &mut Dcqcn, n: usize) -> Vec<u64> {
    let step = |dcqcn: &mut Dcqcn| {
        dcqcn.on_timeout(dcqcn.next_deadline());
        dcqcn.rate().get()
    };
    (0..n).map(|_| step(dcqcn)).collect()
}

#[test]
fn the_papers_flow_halves_recovers_five_times_and_goes_on_by_forty_megabits() {
    let mut dcqcn = Dcqcn::new(DcqcnPlan::sigcomm15(), LINE);
    assert_eq!((dcqcn.rate(), dcqcn.next_deadline()), (LINE, Instant::NEVER));
    dcqcn.on_cnp(us(100));
    // Alpha is one and stays one.
    assert_eq!((dcqcn.rate().get(), dcqcn.alpha()), (20_000_000_000, 1.0));
    dcqcn.on_cnp(us(150));
    assert_eq!((dcqcn.rate().get(), dcqcn.next_deadline()), (10_000_000_000, us(205)));
    let recovery = [15_000_000_000, 17_500_000_000, 18_750_000_000, 19_375_000_000, 19_687_500_000];
    assert_eq!(increases(&mut dcqcn, 5), recovery);
    // Then the target moves as well: 20.04, 20.08, 20.12 Gb/s.
    assert_eq!(increases(&mut dcqcn, 3), [19_863_750_000, 19_971_875_000, 20_045_937_500]);
    // Eight periods without a notification: alpha is (255/256)^8, and the next cut is half of it.
    let alpha = (255.0_f64 / 256.0).powi(8);
    dcqcn.on_cnp(us(150 + 8 * 55 + 20));
    let want = 20_045_937_500.0 * (1.0 - alpha / 2.0);
    assert!((dcqcn.rate().get() as f64 - want).abs() < 10.0, "{} {want}", dcqcn.rate());
    assert!((dcqcn.alpha() - (alpha * 255.0 + 1.0) / 256.0).abs() < 1e-8);
}

#[test]
fn octets_count_beside_time_and_both_past_f_are_hyper() {
    let plan = DcqcnPlan { increase_bytes: Bytes(150_000), ..DcqcnPlan::ns3() };
    let mut dcqcn = Dcqcn::new(plan, LINE);
    dcqcn.on_cnp(us(0));
    (0..449).for_each(|_| dcqcn.on_sent(1_000));
    // Two increases by bytes, each halfway back to the line rate.
    assert_eq!(dcqcn.rate().get(), 35_000_000_000);
    dcqcn.on_sent(1_000);
    assert_eq!(dcqcn.rate().get(), 37_500_000_000);
    dcqcn.on_cnp(us(1));
    let target = dcqcn.target;
    increases(&mut dcqcn, 6);
    assert_eq!(dcqcn.target, target + 40_000_000);
    (0..6).for_each(|_| dcqcn.on_sent(150_000));
    // The other count exceeds F only at its seventh.
    assert_eq!(dcqcn.target, target + 7 * 40_000_000);
    dcqcn.on_sent(150_000);
    assert_eq!(dcqcn.target, target + 7 * 40_000_000 + 200_000_000);
}

#[test]
fn a_flow_at_the_full_rate_needs_no_timer_and_forgets_as_time_passes() {
    let mut dcqcn = Dcqcn::new(DcqcnPlan::ns3(), LINE);
    dcqcn.on_cnp(us(0));
    let mut n = 0;
    while dcqcn.next_deadline() < Instant::NEVER {
        increases(&mut dcqcn, 1);
        n += 1;
    }
    assert!(dcqcn.is_idle() && (30..60).contains(&n), "{n}");
    dcqcn.on_sent(u32::MAX);
    dcqcn.on_cnp(Instant::ZERO + Duration::from_secs(10));
    // Alpha is zero by then, so the rate is not cut, but the notification is recorded.
    assert_eq!(dcqcn.rate(), LINE);
    assert_eq!(dcqcn.alpha(), 1.0 / 256.0);
}

#[test]
fn another_link_rate_bounds_what_was_above_it_and_frees_what_was_at_the_old_one() {
    let mut dcqcn = Dcqcn::new(DcqcnPlan::ns3(), LINE);
    dcqcn.set_line(BitsPerSec::gbps(100));
    assert_eq!(dcqcn.rate(), BitsPerSec::gbps(100));
    dcqcn.on_cnp(us(0));
    assert_eq!(dcqcn.rate(), BitsPerSec::gbps(50));
    dcqcn.set_line(BitsPerSec::gbps(10));
    assert_eq!((dcqcn.rate(), dcqcn.next_deadline()), (BitsPerSec::gbps(10), Instant::NEVER));
}

/// Floating-point model of the reaction point: a list of timed events without deferred updates.
struct Model {
    plan: DcqcnPlan,
    rate: f64,
    target: f64,
    alpha: f64,
    seen: bool,
    next_decay: Instant,
    next_increase: Instant,
    decreased: Option<Instant>,
    counts: (u32, u32),
    octets: u64,
}

impl Model {
    fn new(plan: DcqcnPlan) -> Self {
        let line = LINE.get() as f64;
        Self {
            plan,
            rate: line,
            target: line,
            alpha: f64::from(plan.initial_alpha) / f64::from(DcqcnPlan::GAIN_ONE),
            seen: false,
            next_decay: Instant::NEVER,
            next_increase: Instant::NEVER,
            decreased: None,
            counts: (0, 0),
            octets: 0,
        }
    }

    fn run_to(&mut self, now: Instant) {
        loop {
            let next = self.next_decay.min(self.next_increase);
            if next > now {
                return;
            }
            if self.next_decay == next {
                self.alpha *= 1.0 - self.gain();
                self.next_decay += self.plan.alpha_period;
            }
            if self.next_increase == next {
                self.increase();
                self.counts.0 += 1;
                self.next_increase += self.plan.increase_period;
            }
        }
    }

    fn gain(&self) -> f64 {
        f64::from(self.plan.gain) / f64::from(DcqcnPlan::GAIN_ONE)
    }

    fn increase(&mut self) {
        let (t, b, f) = (self.counts.0, self.counts.1, self.plan.recoveries);
        if t >= f || b >= f {
            let hyper = t > f && b > f;
            let step = if hyper { self.plan.hyper } else { None }.unwrap_or(self.plan.additive);
            self.target = (self.target + step.get() as f64).min(LINE.get() as f64);
        }
        self.rate = (self.rate + self.target) / 2.0;
    }

    fn cnp(&mut self, now: Instant) {
        self.run_to(now);
        if self.decreased.is_none_or(|at| now.since(at) >= self.plan.decrease_period) {
            if self.plan.clamp_target || self.counts != (0, 0) {
                self.target = self.rate;
            }
            let keep = 1.0 - f64::from(self.plan.decrease_max) / 100.0;
            self.rate *= (1.0 - self.alpha / 2.0).max(keep);
            self.rate = self.rate.max(self.plan.min_rate.get() as f64);
            (self.counts, self.octets, self.decreased) = ((0, 0), 0, Some(now));
            self.next_increase = now + self.plan.increase_period;
        }
        self.alpha = (1.0 - self.gain()) * self.alpha + self.gain();
        self.seen = true;
        self.next_decay = now + self.plan.alpha_period;
    }

    fn sent(&mut self, octets: u32) {
        self.octets += u64::from(octets);
        while self.seen && self.octets >= self.plan.increase_bytes.0 {
            self.octets -= self.plan.increase_bytes.0;
            self.increase();
            self.counts.1 += 1;
        }
    }
}

proptest! {
    #[test]
    fn rates_are_those_of_floating_point_to_a_millionth(
        kind in 0_usize..3, octets in 20_000_u64..400_000,
        steps in prop::collection::vec((0_u64..120, 0_u32..30_000, any::<bool>()), 1..150),
    ) {
        let plan = [DcqcnPlan::sigcomm15(), DcqcnPlan::ns3(), DcqcnPlan::mellanox()][kind];
        let plan = DcqcnPlan { increase_bytes: Bytes(octets), ..plan };
        let (mut ours, mut model) = (Dcqcn::new(plan, LINE), Model::new(plan));
        let mut now = Instant::ZERO;
        for (gap, octets, notified) in steps {
            now += Duration::from_micros(gap);
            // Polls at every deadline and sometimes in between, as a driver does.
            while ours.next_deadline() <= now {
                ours.on_timeout(ours.next_deadline());
            }
            model.run_to(now);
            if notified {
                ours.on_cnp(now);
                model.cnp(now);
            }
            ours.on_sent(octets);
            model.sent(octets);
            if ours.is_idle() {
                return Ok(()); // The model approaches the line rate without reaching it.
            }
            let (a, b) = (ours.rate().get() as f64, model.rate);
            prop_assert!((a / b - 1.0).abs() < 1e-6, "{a} {b} at {now:?}");
            prop_assert!((ours.target as f64 / model.target - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn how_late_a_timeout_comes_changes_no_rate(
        steps in prop::collection::vec((0_u64..500, any::<bool>()), 1..60)
    ) {
        let mut often = Dcqcn::new(DcqcnPlan::ns3(), LINE);
        let mut seldom = often.clone();
        let mut now = Instant::ZERO;
        for (gap, notified) in steps {
            for _ in 0..gap {
                now += Duration::from_micros(1);
                often.on_timeout(now);
            }
            if notified {
                often.on_cnp(now);
                seldom.on_cnp(now);
            } else {
                seldom.on_timeout(now);
            }
            prop_assert_eq!(often.rate(), seldom.rate());
            prop_assert_eq!(often.alpha.min(1), seldom.alpha.min(1));
        }
    }
}

#[test]
fn a_first_rate_is_for_flows_that_use_the_whole_link_alone() {
    let first_rate = BitsPerSec::new(800_000_000);
    let mut dcqcn = Dcqcn::new(DcqcnPlan { first_rate, ..DcqcnPlan::sigcomm15() }, LINE);
    dcqcn.on_cnp(us(100));
    assert_eq!(dcqcn.rate().get(), 800_000_000);
    // The next one uses alpha as usual.
    dcqcn.on_cnp(us(150));
    assert_eq!(dcqcn.rate().get(), 400_000_000);
}

proptest! {
    #[test]
    fn one_passes_per_interval_and_the_first_after_it_always_does(
        gaps in prop::collection::vec(0_u64..60, 1..200), interval in 0_u64..100
    ) {
        let mut gate = CnpGate::new(Duration::from_micros(interval));
        let (mut now, mut last) = (Instant::ZERO, None::<Instant>);
        for gap in gaps {
            now += Duration::from_micros(gap);
            let due = last.is_none_or(|t| now.since(t) >= Duration::from_micros(interval));
            prop_assert_eq!(gate.on_marked(now), due);
            last = if due { Some(now) } else { last };
        }
    }
}
