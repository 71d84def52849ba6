//! RED-like marking: none below Kmin, rising to Pmax at Kmax, all above (the curve of DCQCN's
//! switches; RFC 3168 for the frames that may be marked).

use super::plan::EcnPlan;
use ground::rand::Rng;

/// Result of the curve for one frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The frame is forwarded unchanged.
    Pass,
    /// The frame is to be marked, or handled as the plan says if it is not ECN-capable.
    Congested,
}

/// Decides whether a frame that finds a queue of `queue_bytes` is marked. Draws only on the slope.
#[inline]
pub fn marks(plan: &EcnPlan, queue_bytes: u64, rng: &mut Rng) -> Verdict {
    let (kmin, kmax) = (plan.kmin.0, plan.kmax.0);
    if queue_bytes < kmin {
        return Verdict::Pass;
    }
    if queue_bytes > kmax {
        return Verdict::Congested;
    }
    let span = (kmax - kmin).max(1);
    let chance = u64::from(plan.pmax) * (queue_bytes - kmin) / span;
    if u64::from(rng.next_u16()) < chance { Verdict::Congested } else { Verdict::Pass }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MarkAt, NotEct};
    use ground::units::Bytes;

    const PLAN: EcnPlan = EcnPlan {
        kmin: Bytes(10_000),
        kmax: Bytes(30_000),
        pmax: 6554,
        at: MarkAt::Enqueue,
        not_ect: NotEct::Pass,
    };

    fn rate(queue: u64) -> f64 {
        let mut rng = Rng::new(7);
        let n = 200_000;
        let hits = (0..n).filter(|_| marks(&PLAN, queue, &mut rng) == Verdict::Congested).count();
        hits as f64 / f64::from(n)
    }

    #[test]
    fn the_curve_has_its_three_parts() {
        assert_eq!(rate(0), 0.0);
        assert_eq!(rate(10_000), 0.0);
        assert!((rate(20_000) - 0.05).abs() < 0.002, "half of Pmax half way: {}", rate(20_000));
        assert!((rate(30_000) - 0.10).abs() < 0.003, "Pmax at Kmax: {}", rate(30_000));
        assert_eq!(rate(30_001), 1.0);
    }

    #[test]
    fn a_step_marks_all_above_and_none_at_or_below_and_certainty_is_certain() {
        let step = EcnPlan { kmax: Bytes(10_000), pmax: 65_536, ..PLAN };
        let mut rng = Rng::new(1);
        assert_eq!(marks(&step, 10_000, &mut rng), Verdict::Pass);
        assert_eq!(marks(&step, 10_001, &mut rng), Verdict::Congested);
        let sure = EcnPlan { pmax: 65_536, ..PLAN };
        assert!((0..100_000).all(|_| marks(&sure, 30_000, &mut rng) == Verdict::Congested));
    }
}
