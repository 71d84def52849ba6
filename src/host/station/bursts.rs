//! Reception of whole bursts: common frames of expected flows, in stages.
//!
//! One pass parses the frames, one checks their order, one counts them. In each pass the frames'
//! memory accesses are independent of each other, so the processor overlaps them; frame by frame
//! each flow's state would be waited for. Frames of one flow with equal latency, as a generator's
//! bursts have, are counted together. The result is that of one frame after the other.

use arrayvec::ArrayVec;

use super::Station;
use crate::arrived;
use crate::probe::Arrival;
use contracts::frame::{BURST, Burst, Frame};
use contracts::port::Source;
use ground::time::Instant;
use ground::units::Mac;

/// A common frame of an expected flow.
struct Found {
    /// Index of its sink.
    sink: u32,
    wire_len: u32,
    /// Its arrival time.
    at: Instant,
    arrival: Arrival,
    /// True unless it is a duplicate or from before the last reset.
    is_new: bool,
}

impl<P: Source> Station<P> {
    /// Processes the frames of a burst in order.
    #[inline]
    pub(super) fn take_burst(&mut self, now: Instant, inbox: &mut Burst<P::Frame>) {
        self.counters.rx_frames += inbox.len() as u64;
        self.counters.rx_bytes += inbox.iter().map(|f| u64::from(f.wire_len())).sum::<u64>();
        let mut found = ArrayVec::new();
        let other = self.find(now, inbox, &mut found);
        if let Some(usual) = other {
            return self.take_mixed(now, inbox, found, usual);
        }
        self.count(now, &mut found);
        inbox.clear();
    }

    /// Processes a burst whose first frames are in `found`, and whose next one is `usual` or less
    /// than that.
    #[inline(never)]
    fn take_mixed(
        &mut self,
        now: Instant,
        inbox: &mut Burst<P::Frame>,
        mut found: ArrayVec<Found, BURST>,
        mut usual: Option<(Mac, Arrival)>,
    ) {
        if inbox.len() == 1 {
            let frame = inbox.pop().expect("there is one");
            return self.take(now, frame, usual);
        }
        let mut frames = core::mem::take(inbox).into_iter();
        loop {
            self.count(now, &mut found);
            frames.by_ref().take(found.len()).for_each(drop);
            let Some(frame) = frames.next() else { return };
            self.take(now, frame, usual);
            found.clear();
            usual = self.find(now, frames.as_slice(), &mut found).flatten();
        }
    }

    /// Parses frames to `found` up to the first that is not a common one of an expected flow.
    /// Returns what that was parsed as.
    #[inline]
    fn find(
        &self,
        now: Instant,
        frames: &[P::Frame],
        found: &mut ArrayVec<Found, BURST>,
    ) -> Option<Option<(Mac, Arrival)>> {
        for frame in frames {
            let Some((dst, arrival)) = arrived::usual(frame.head()) else { return Some(None) };
            let ours = self.meter.is_some() || dst == self.mac || dst.is_multicast();
            let place = self.lookup.get(arrival.probe.flow.0 as usize).copied().unwrap_or(0);
            let sink = place.wrapping_sub(1);
            if !ours || arrival.probe.run != self.run || sink as usize >= self.expects {
                return Some(Some((dst, arrival)));
            }
            let at = self.arrived_at(now, frame);
            found.push(Found { sink, wire_len: frame.wire_len(), at, arrival, is_new: true });
        }
        None
    }

    /// Counts the frames in `found`.
    #[inline]
    fn count(&mut self, now: Instant, found: &mut ArrayVec<Found, BURST>) {
        for frame in &mut *found {
            let sink = &mut self.sinks[frame.sink as usize];
            frame.is_new = sink.is_new(frame.arrival.probe.sequence);
        }
        let mut rest = &found[..];
        while let Some((first, others)) = rest.split_first() {
            let sent = first.arrival.probe.sent;
            let alike = |other: &Found| {
                let with = (other.sink, other.arrival.probe.sent, other.at);
                with == (first.sink, sent, first.at) && other.is_new && first.is_new
            };
            let n = 1 + others.iter().take_while(|other| alike(other)).count();
            if first.is_new {
                let of = rest[..n].iter().map(|f| (f.arrival.ecn, f.wire_len));
                self.sinks[first.sink as usize].take(first.at, sent, of);
            }
            rest = &rest[n..];
        }
        if let Some(meter) = &mut self.meter {
            for frame in &*found {
                if let Some(p) = self.sinks[frame.sink as usize].priority() {
                    meter.on_data(now, p, frame.wire_len);
                }
            }
        }
    }
}
