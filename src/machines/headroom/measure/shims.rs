//! Delay of MACsec that a protected request meets and a plain one does not, where only PFC is protected:
//! the transmit layer of the requester, and the receive layer of the responder, which are those that a
//! protected PFC frame meets.
//!
//! Requests of odd number are protected ([`is_protected`]), and the others plain. t1 and t2 are of two
//! clocks that differ, and drift. So `t2 - t1` of a protected request is compared with that of the plain
//! ones before and after it, interpolated to its t1: a constant difference and a linear drift of the
//! clocks cancel.

use wire::headroom::{Dialect, Response, is_protected};

use crate::Samples;

/// A request that was answered.
#[derive(Clone, Copy)]
struct Crossing {
    psn: u8,
    t1: u64,
    /// `t2 - t1`, modulo 2^64.
    offset: u64,
}

/// The requests of a measurement whose neighbours are still missing.
#[derive(Clone, Copy, Default)]
pub(super) struct ShimMeter {
    /// The last plain request, and the protected one after it.
    plain: Option<Crossing>,
    protected: Option<Crossing>,
}

impl ShimMeter {
    /// Takes note of an answered request, and adds the delay of a protected one between two plain ones.
    pub(super) fn on_response(
        &mut self,
        dialect: Dialect,
        response: &Response,
        delays: &mut Samples,
    ) {
        let Response { t1, t2, psn, .. } = *response;
        let this = Crossing { psn, t1, offset: t2.wrapping_sub(t1) };
        let follows =
            |before: Option<Crossing>| before.filter(|before| before.psn.wrapping_add(1) == psn);
        if is_protected(psn) {
            self.protected = follows(self.plain).map(|_| this);
            return;
        }
        if let (Some(before), Some(middle)) = (self.plain, follows(self.protected)) {
            delays.add(dialect.span(delay(before, middle, this)));
        }
        (self.plain, self.protected) = (Some(this), None);
    }
}

/// Returns by how much `middle` took longer than requests of `before` and `after`; 0 if it did not.
fn delay(before: Crossing, middle: Crossing, after: Crossing) -> u64 {
    let since = |time: u64, from: u64| i128::from(time.wrapping_sub(from) as i64);
    let drift = since(after.offset, before.offset);
    let (part, whole) = (since(middle.t1, before.t1), since(after.t1, before.t1).max(1));
    let delay = since(middle.offset, before.offset) - drift * part / whole;
    u64::try_from(delay).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::Duration;
    use wire::headroom::TimeUnit;

    fn ps() -> Dialect {
        Dialect { unit: TimeUnit::Picoseconds, ..Dialect::default() }
    }

    /// Responses to requests 400 us apart over 500 ns of cable. The peer's clock is `ahead` and fast by
    /// 100 ppm, and protected requests take `shim` longer.
    fn measured(numbers: &[u8], ahead: u64, shim: u64) -> Samples {
        let (mut meter, mut delays) = (ShimMeter::default(), Samples::default());
        for (n, psn) in numbers.iter().enumerate() {
            let t1 = 7_000_000_000 + n as u64 * 400_000_000;
            let arrival = t1 + 500_000 + if is_protected(*psn) { shim } else { 0 };
            let t2 = arrival.wrapping_add(arrival / 10_000).wrapping_add(ahead);
            let response = Response { t1, t2, t3: t2, psn: *psn, compensation: None };
            meter.on_response(ps(), &response, &mut delays);
        }
        delays.finish();
        delays
    }

    #[test]
    fn drifting_clocks_do_not_hide_a_delay_of_nanoseconds() {
        for ahead in [0, 1 << 63, u64::MAX - 3_000_000_000] {
            let found = measured(&[254, 255, 0, 1, 2, 3, 4], ahead, 130_000);
            assert_eq!(found.count(), 3);
            // Its time on the other clock is longer by 13 ps.
            let bounds = [found.min(), found.max()].map(Duration::as_picos);
            assert!(bounds.iter().all(|ps| (130_012..=130_015).contains(ps)), "{bounds:?}");
        }
        assert_eq!(measured(&[0, 1, 2], 5, 0).max().as_picos() / 10, 0);
    }

    #[test]
    fn a_protected_request_counts_only_between_its_two_neighbours() {
        // One neighbour is lost, or came in another order.
        for numbers in [&[1, 2, 3][..], &[0, 1, 4], &[0, 3, 4], &[2, 1, 2], &[0, 1], &[1, 1, 1]] {
            assert_eq!(measured(numbers, 0, 9_000).count(), 0, "{numbers:?}");
        }
        assert_eq!(measured(&[0, 2, 3, 4, 6, 8, 9, 10], 0, 9_000).count(), 2);
    }
}
