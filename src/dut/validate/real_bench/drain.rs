//! Frames that a device still holds at the end of a trial: they are late, not lost.

use crate::observation::{Record, Way, What};
use ground::time::Duration;

/// Shortest time after the last sent frame in which a device is expected to send all that it holds.
const TIME_MIN: Duration = Duration::from_millis(50);

/// Returns the reason, in words, why the frames that are missing at the end of a trial may still come: others
/// still arrive. A device in software that has too little of its CPU sends below the rate of its line.
pub(super) fn missing(records: &[Record], length: Duration) -> Option<String> {
    let of = |way: Way| {
        let is_data = |r: &&Record| r.way == way && matches!(r.what, What::Data { .. });
        let ends = records.iter().filter(is_data).map(|record| record.end);
        ends.fold((0_u64, Duration::ZERO), |(n, last), end| (n + 1, last.max(end)))
    };
    let ((sent, last_sent), (received, last)) = (of(Way::Sent), of(Way::Received));
    let silence = length.saturating_sub(last_sent);
    // Traffic up to the end leaves no time to drain.
    let is_over = silence >= TIME_MIN;
    let still_arrive = last + silence.div(8) >= length;
    (received < sent && is_over && still_arrive).then(|| {
        format!(
            "frames still arrive at the end of {} ms without traffic, and {} are missing: the device sends \
             below the rate of its line, or the machine is too busy for it; lengthen `times.drain`",
            silence.as_nanos() / 1_000_000,
            sent - received
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::{FlowId, Port};
    use wire::ip::Ecn;

    fn record(way: Way, sequence: u64, ms: u64) -> Record {
        let end = Duration::from_millis(ms);
        let what = What::Data { flow: FlowId(0), sequence, ecn: Ecn::NotEct };
        let (port, head) = (Port(0), Box::default());
        Record { port, way, begin: end, end, len: 1024, what, head, secured: None }
    }

    /// Four frames that are sent within 100 ms, and those that arrive at these times.
    fn of(arrivals: &[u64], length_ms: u64) -> Option<String> {
        let sent = (1..=4).map(|n| record(Way::Sent, n, 25 * n));
        let received = (1..).zip(arrivals).map(|(n, ms)| record(Way::Received, n, *ms));
        missing(&sent.chain(received).collect::<Vec<_>>(), Duration::from_millis(length_ms))
    }

    #[test]
    fn frames_that_are_missing_while_others_still_arrive_are_late() {
        let why = of(&[100, 1000], 1050).unwrap();
        assert!(why.contains("of 950 ms without traffic, and 2 are missing"), "{why}");
    }

    #[test]
    fn frames_that_are_missing_in_silence_are_lost() {
        assert_eq!(of(&[100, 900], 1050), None);
        assert_eq!(of(&[], 1050), None, "none arrives");
    }

    #[test]
    fn a_trial_without_losses_or_without_a_drain_is_judged() {
        assert_eq!(of(&[100, 1000, 1010, 1049], 1050), None, "all are there");
        assert_eq!(of(&[100, 140], 145), None, "there is no time to drain");
    }
}
