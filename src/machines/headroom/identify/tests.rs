use super::*;
use crate::measure::{InitiatePlan, MeasurePlan, Measurer};
use proptest::prelude::*;

const PEER: Mac = Mac([2, 0, 0, 0, 0, 1]);
const OWN: Mac = Mac([2, 0, 0, 0, 0, 2]);
/// Time of a frame from one end to the other.
const DELAY: Duration = Duration::from_nanos(500);

/// Runs a measurement of both ends in one dialect for 10 ms, and shows all frames to an observer.
/// The clock of the peer began at another time.
fn after(dialect: Dialect, measures: [bool; 2]) -> Identifier {
    // With different intervals some requests leave on responses.
    let mut ends = [0, 1].map(|n| {
        let spacing_min = Duration::from_micros(100);
        let spacing_max = Duration::from_micros([500, 330][n]);
        let plan = InitiatePlan { spacing_min, spacing_max, ..InitiatePlan::DEFAULT };
        let initiate = measures[n].then_some(plan);
        Measurer::new(&MeasurePlan { respond: true, initiate, dialect, compensation: None })
    });
    let clock = [Duration::from_secs(86_400), Duration::from_secs(7)];
    let mut identifier = Identifier::new(PEER);
    let mut now = Instant::from_picos(1_000_000);
    ends.iter_mut().for_each(|end| end.start(now));
    let end = now + Duration::from_millis(10);
    while now < end {
        for n in [0, 1] {
            while let Some(message) = ends[n].take(now, now + clock[n]) {
                let src = [PEER, OWN][n];
                let repr = Repr { src, dst: wire::headroom::DESTINATION, message };
                let mut frame = [0; 600];
                repr.emit(&mut frame, &dialect).unwrap();
                identifier.observe(now, &frame[..128], dialect.frame_len());
                let arrives = now + DELAY;
                ends[1 - n].on_message(arrives, &message, arrives + clock[1 - n]);
            }
        }
        now += DELAY;
    }
    identifier
}

fn dialects() -> impl Strategy<Value = Dialect> {
    let pdu = prop::option::of(65_u16..=253);
    (any::<[bool; 4]>(), 0..3_usize, pdu).prop_map(
        |([kind, unit, piggyback, more], length, pdu)| Dialect {
            kind: if kind { KindCodes::Flags } else { KindCodes::Numbers },
            length: [LengthField::Whole, LengthField::Rest, LengthField::Fields][length],
            unit: if unit { TimeUnit::Nanoseconds } else { TimeUnit::Picoseconds },
            piggyback: if piggyback { Piggyback::Request } else { Piggyback::Response },
            pdu: pdu.and_then(PduLength::padded).unwrap_or_default(),
            compensation: if more { Compensation::InResponse } else { Compensation::Absent },
        },
    )
}

fn known<T: PartialEq>(reading: Reading<T>, value: T) -> bool {
    reading == Reading::Known(value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Every reading that messages differ by is found when both ends measure.
    #[test]
    fn every_dialect_is_found(dialect in dialects()) {
        let identifier = after(dialect, [true, true]);
        let found = identifier.readings();
        prop_assert_eq!(identifier.messages().1, 0);
        prop_assert!(known(found.kind, dialect.kind), "{:?}", found);
        prop_assert!(known(found.unit, dialect.unit), "{:?}", found);
        prop_assert!(known(found.piggyback, dialect.piggyback), "{:?}", found);
        // Padding may be a compensation of zero, where the length does not tell.
        let padded = dialect.pdu != PduLength::NONE && dialect.length != LengthField::Fields;
        if padded && dialect.compensation == Compensation::Absent {
            prop_assert_eq!(found.compensation, Reading::Open(Compensation::Absent));
        } else {
            prop_assert!(known(found.compensation, dialect.compensation), "{:?}", found);
        }
        prop_assert_eq!(found.pdu, Some(dialect.pdu));
        // Without padding, two readings of the length are one.
        let same = dialect.pdu == PduLength::NONE && dialect.length != LengthField::Rest;
        let length = if same { Reading::Open(LengthField::Whole) } else { Reading::Known(dialect.length) };
        prop_assert_eq!(found.length, length);
        let length = if same { LengthField::Whole } else { dialect.length };
        prop_assert_eq!(identifier.dialect(), Some(Dialect { length, ..dialect }));
    }

    /// One that only answers, or only asks, refutes no reading of its own.
    #[test]
    fn the_true_reading_is_never_refuted(dialect in dialects(), asks in any::<bool>()) {
        let identifier = after(dialect, [asks, !asks]);
        let found = identifier.readings();
        prop_assert!(known(found.kind, dialect.kind) && known(found.unit, dialect.unit));
        prop_assert_eq!(identifier.messages().1, 0);
        // Nothing was piggybacked.
        prop_assert_eq!(found.piggyback, Reading::Open(Piggyback::Request));
    }
}

#[test]
fn nothing_is_known_before_the_first_message() {
    let identifier = Identifier::new(PEER);
    assert_eq!(identifier.readings().kind, Reading::Open(KindCodes::Flags));
    assert_eq!((identifier.dialect(), identifier.messages()), (None, (0, 0)));
}

#[test]
fn messages_that_fit_no_reading_are_counted_and_change_nothing() {
    let mut identifier = after(Dialect::default(), [true, true]);
    let before = identifier.readings();
    let mut frame = [0; 60];
    let message = Message::Request(wire::headroom::Request { t1: 1, psn: 1 });
    let repr = Repr { src: PEER, dst: wire::headroom::DESTINATION, message };
    repr.emit(&mut frame, &Dialect::default()).unwrap();
    frame[16] = 99;
    let (now, (all, _)) = (Instant::from_picos(1), identifier.messages());
    identifier.observe(now, &frame, 60);
    assert_eq!((identifier.readings(), identifier.messages()), (before, (all + 1, 1)));
    // A congestion isolation message is of another protocol.
    frame[14] = 0;
    identifier.observe(now, &frame, 60);
    assert_eq!((source(&frame), identifier.messages().0), (None, all + 1));
    let mut other = Identifier::new(PEER);
    frame[14] = 1;
    other.observe(now, &frame, 60);
    assert_eq!((other.readings().kind, other.dialect()), (Reading::None, None));
}
