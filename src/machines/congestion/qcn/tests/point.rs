//! The congestion point alone.

use proptest::prelude::*;

use super::super::*;
use ground::units::Bytes;

const STEADY: PointPlan = PointPlan { jitter: 0, ..PointPlan::standard() };

#[test]
fn feedback_is_length_and_growth_against_the_set_point() {
    let mut point = CongestionPoint::new(STEADY, 1);
    // 150,000 bytes later: 39,000 in the queue, all of it growth. -Fb = 13,000 + 2 x 39,000 =
    // 91,000 of at most 5 x 26,000.
    assert_eq!(point.on_enqueue(Bytes(39_000), Bytes(149_999)), None);
    let seen = point.on_enqueue(Bytes(39_000), Bytes(1_000)).unwrap();
    assert_eq!((seen.quantized.get(), seen.offset, seen.delta), (44, -13_000, 39_000));
    assert_eq!((seen.offset_units(), seen.delta_units()), (-203, 609));
    // 44 / 8 is 5: the next sample is a sixth of the base away, 25,000 bytes.
    assert_eq!(point.on_enqueue(Bytes(80_000), Bytes(24_999)), None);
    // The length is unchanged: 13,000 of 130,000 is a tenth, which leaves the base.
    let seen = point.on_enqueue(Bytes(39_000), Bytes(1)).unwrap();
    assert_eq!((seen.quantized.get(), seen.delta), (6, 0));
    assert_eq!(point.on_enqueue(Bytes(39_000), Bytes(149_999)), None);
    // A queue that drains fast enough is not congested although it is long.
    assert_eq!(point.on_enqueue(Bytes(32_000), Bytes(1_500)), None);
    assert_eq!((point.samples(), point.answered()), (3, 2));
}

#[test]
fn the_strongest_feedback_looks_eight_times_as_often() {
    let mut point = CongestionPoint::new(STEADY, 1);
    let seen = point.on_enqueue(Bytes(u64::MAX), Bytes(150_000)).unwrap();
    assert_eq!(seen.quantized, QuantizedFeedback::MAX);
    assert_eq!((seen.offset_units(), seen.delta_units()), (i16::MIN, i16::MAX));
    assert_eq!(point.on_enqueue(Bytes(0), Bytes(150_000 / 8 - 1)), None);
    assert_eq!(point.samples(), 1);
    point.on_enqueue(Bytes(0), Bytes(1));
    assert_eq!(point.samples(), 2);
}

proptest! {
    #[test]
    fn feedback_is_that_of_floating_point(
        set_point in 1_u64..1_000_000, weight in -10_i8..=10,
        queues in prop::collection::vec(0_u64..4_000_000, 1..40),
    ) {
        let plan = PointPlan {
            set_point: Bytes(set_point), weight, sample_base: Bytes(1), jitter: 0,
        };
        let mut point = CongestionPoint::new(plan, 7);
        let mut before = 0.0;
        for queue in queues {
            let (q, w, sp) = (queue as f64, f64::from(weight).exp2(), set_point as f64);
            let fb = (sp - q) - w * (q - before);
            let exact = (-fb / (sp * (2.0 * w + 1.0))).clamp(0.0, 1.0) * 63.0;
            let got = point.on_enqueue(Bytes(queue), Bytes(1));
            let got = got.map_or(0, |f| f.quantized.get());
            // An exact value that is an integer may be rounded to either side by floating point.
            prop_assert!((f64::from(got) - exact.floor()).abs() < 0.5
                || (exact - exact.round()).abs() < 1e-9, "{got} {exact}");
            before = q;
        }
    }

    #[test]
    fn looks_lie_as_far_apart_as_the_jitter_allows(
        seed in any::<u64>(), jitter in 0_u8..=99, frame in 64_u64..1_600
    ) {
        let plan = PointPlan { jitter, ..PointPlan::standard() };
        let mut point = CongestionPoint::new(plan, seed);
        let (mut octets, mut last) = (0_u64, 0);
        while point.samples() < 20 {
            octets += frame;
            let samples = point.samples();
            prop_assert_eq!(point.on_enqueue(Bytes(0), Bytes(frame)), None);
            if point.samples() > samples {
                let (apart, j) = (octets - last, u64::from(jitter));
                prop_assert!(apart >= 150_000 * (100 - j) / 100, "{apart}");
                prop_assert!(apart <= 150_000 * (100 + j) / 100 + frame, "{apart}");
                last = octets;
            }
        }
    }
}
