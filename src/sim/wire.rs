//! One direction of a link: the sender's half, with the line and its errors, and the receiver's half,
//! with the frames on the way. A node has both halves at its own port, so that its events need no other
//! node.

use std::collections::VecDeque;

use super::faults::{FaultKind, LineFault, Which};
use super::frame::VirtualFrame;
use super::plan::{Direction, DirectionPlan, End, ErrorPlan, LinkPlan, Place};
use super::queue::Order;
use super::witness::Loss;
use contracts::frame::{FCS_BYTES, Frame};
use ground::memory::{fetch, fetch_lines};
use ground::rand::Rng;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};
use schedule::Line;

/// Bytes on the line before a frame's first: preamble and start delimiter.
const PREAMBLE: u64 = 8;

/// Bytes of a frame that a port needs before it can forward it: those that the switch reads.
const HEADER: u32 = 64;

/// Part of a frame that has to arrive before it is given to its receiver.
#[derive(Clone, Copy, Debug)]
pub(super) enum Delivery {
    /// The whole frame.
    Stored,
    /// Enough that a line of the receiver's fastest port never has to wait for the rest.
    CutThrough(Line),
}

/// Effect of the `SecY`s at the ends on a direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Secured {
    /// Additional bytes of every frame on the line.
    pub(super) overhead: u32,
    /// Additional delay of a protected frame.
    pub(super) shim: Duration,
    /// True if pauses are recorded for replay.
    pub(super) recorded: bool,
    /// True if a `SecY` receives it: it validates a frame when the last bit has arrived, before the
    /// response time of its MAC to a pause.
    pub(super) validated: bool,
}

/// A frame on the way.
#[derive(Debug)]
pub(super) struct Flight {
    pub(super) arrival: Instant,
    /// Time from its start to its arrival.
    pub(super) age: Duration,
    pub(super) frame: VirtualFrame,
}

impl Flight {
    const fn new(start: Instant, arrival: Instant, frame: VirtualFrame) -> Self {
        Self { arrival, age: arrival.since(start), frame }
    }
}

/// The sender's half of a direction.
#[derive(Debug)]
pub(super) struct Outlet {
    pub(super) direction: Direction,
    pub(super) to: End,
    /// Place of the receiver.
    pub(super) place: Place,
    /// Includes the overhead of protection.
    line: Line,
    pub(super) rate: BitsPerSec,
    /// Part of a frame's line time after its last bit: the interpacket gap.
    gap: Duration,
    plan: DirectionPlan,
    /// Additional delay of a protected frame.
    shim: Duration,
    /// True if the receiver's `SecY` validates pauses first.
    validated: bool,
    delivery: Delivery,
    pub(super) up: bool,
    /// Arrival of the last data frame.
    last: Instant,
    rng: Rng,
    /// Remaining frames to lose by faults, per kind.
    lose: [u64; 3],
    /// True if the line is up, loses and damages nothing, and gives whole frames without a shim.
    is_plain: bool,
}

/// The receiver's half of a direction. Each frame needs the first cache line, pauses and protected
/// frames the rest.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Inlet {
    /// Frames on the way, by time of arrival. Pauses are separate, as they are delivered later than
    /// the data behind them.
    data: VecDeque<Flight>,
    /// Time of the last arrival, and its number among those of the node at that time.
    last: (Instant, u32),
    pub(super) direction: Direction,
    /// True if frames are given to the receiver before their ends have arrived.
    cuts_through: bool,
    control: VecDeque<Flight>,
    /// Pauses that the receiver's `SecY` has to validate first, by the time of their last bit.
    unvalidated: VecDeque<Flight>,
    secured: Secured,
    response: Duration,
    /// Latest protected pauses, if they are recorded.
    record: VecDeque<Box<[u8]>>,
}

/// Creates both halves of a direction.
pub(super) fn halves(
    link: &LinkPlan,
    direction: Direction,
    delivery: Delivery,
    secured: Secured,
    seed: u64,
) -> (Outlet, Inlet) {
    let (rate, line, to) = (link.rate, link.line, link.to(direction));
    let plan = link.way(direction);

    // The line's overhead is preamble and gap; a shorter one is taken as preamble.
    let after = u64::from(line.overhead).saturating_sub(PREAMBLE);
    let mut outlet = Outlet {
        direction,
        to,
        place: Place { part: 0, index: to.node.0 },
        line: Line::new(rate, line.and(secured.overhead)),
        rate,
        gap: rate.time_for(Bytes(after)),
        plan,
        shim: secured.shim,
        validated: secured.validated,
        delivery,
        up: true,
        last: Instant::ZERO,
        rng: Rng::new(seed),
        lose: [0; 3],
        is_plain: false,
    };
    outlet.find_plain();
    let inlet = Inlet {
        direction,
        response: plan.response,
        cuts_through: matches!(delivery, Delivery::CutThrough(_)),
        secured,
        record: VecDeque::new(),
        data: VecDeque::new(),
        control: VecDeque::new(),
        last: (Instant::ZERO, 0),
        unvalidated: VecDeque::new(),
    };
    (outlet, inlet)
}

impl Outlet {
    /// Returns the line time of a frame, on the sender's clock.
    #[inline]
    pub(super) fn time_for(&self, frame: &VirtualFrame) -> Duration {
        self.line.time_for(frame.wire_len())
    }

    /// Returns the least time from a frame's start to its arrival: that of the cable, and of the line's
    /// preamble on a sender with an exact clock.
    pub(super) fn least_delay(&self, exact: bool) -> Duration {
        let preamble = self.line.time_for(0).saturating_sub(self.gap);
        self.plan.delay + if exact { preamble } else { Duration::ZERO }
    }

    /// Brings it into the caches.
    #[inline]
    pub(super) fn fetch(&self) {
        fetch(&self.line);
        fetch(&self.place);
        fetch(&self.plan);
        fetch(&self.is_plain);
    }

    /// Updates `is_plain`.
    fn find_plain(&mut self) {
        self.is_plain = self.up
            && self.lose == [0; 3]
            && self.plan.errors == ErrorPlan::default()
            && self.shim == Duration::ZERO
            && matches!(self.delivery, Delivery::Stored);
    }

    /// Adds frames to lose, or changes the error probabilities.
    pub(super) fn fail(&mut self, fault: &LineFault) {
        match fault {
            LineFault::Lose { which, frames } => self.lose[*which as usize] += *frames,
            LineFault::Errors(errors) => self.plan.errors = *errors,
            LineFault::Forge(_) | LineFault::Replay { .. } => {}
        }
        self.find_plain();
    }

    /// See [`Inlet::validate_late`].
    #[cfg(any(test, feature = "rig"))]
    pub(super) const fn validate_late(&mut self) {
        self.validated = false;
    }

    /// Takes the link down or up. Frames on the line are lost.
    pub(super) fn set_up(&mut self, up: bool) {
        self.up = up;
        self.last = Instant::ZERO;
        self.find_plain();
    }

    /// Takes a frame that starts now and leaves the line at `end`. Returns it with the time at which its
    /// receiver gets it or has to validate it; the frame if it is lost.
    #[inline]
    pub(super) fn take(
        &mut self,
        time: Instant,
        end: Instant,
        frame: VirtualFrame,
    ) -> Result<Flight, (VirtualFrame, Loss)> {
        if !self.is_plain || frame.refused || frame.sealed.is_some() {
            return self.take_any(time, end, frame);
        }
        let last_bit = end.saturating_sub(self.gap) + self.plan.delay;
        // The MAC responds after the `SecY` has validated the pause, so the inlet adds the response then.
        let responds = frame.is_control() && !self.validated;
        let arrival = if responds { last_bit + self.plan.response } else { last_bit };
        Ok(Flight::new(time, arrival, frame))
    }

    /// As [`Self::take`], on a line of any kind.
    #[inline(never)]
    fn take_any(
        &mut self,
        time: Instant,
        end: Instant,
        mut frame: VirtualFrame,
    ) -> Result<Flight, (VirtualFrame, Loss)> {
        if !self.up {
            return Err((frame, Loss::LinkDown));
        }
        if frame.refused {
            return Err((frame, Loss::Secy));
        }
        let control = frame.is_control();
        // Before random losses, so that a fault takes as many frames as it says.
        if self.lose != [0; 3] && self.loses(control) {
            return Err((frame, Loss::Fault));
        }
        if self.plan.errors != ErrorPlan::default() {
            if self.rng.next_u64() < self.plan.errors.frame {
                return Err((frame, Loss::Fault));
            }
            // Errors hit the bytes on the line, protection included.
            let more = frame.sealed.as_ref().map_or(0, |sealed| sealed.uncounted());
            let bits = u64::from(frame.wire_len() + more) * 8;
            if self.rng.next_u64() < any_of(self.plan.errors.bit, bits) {
                frame.damage();
            }
        }
        let mut last_bit = end.saturating_sub(self.gap) + self.plan.delay;
        let is_sealed = frame.sealed.is_some();
        if is_sealed {
            last_bit += self.shim;
        }
        if control {
            let obeyed = if self.validated { last_bit } else { last_bit + self.plan.response };
            return Ok(Flight::new(time, obeyed, frame));
        }
        let given = match self.delivery {
            Delivery::Stored => last_bit,
            // The check value comes last, and nothing is forwarded before it is validated.
            Delivery::CutThrough(_) if is_sealed => last_bit,
            Delivery::CutThrough(fastest) => {
                let line = end.since(time);
                let header = self.line.time_for(HEADER.min(frame.wire_len()));
                // The part that has to be there so that the fastest line does not run empty before the rest arrives.
                let ahead = line - fastest.time_for(frame.wire_len()).min(line);
                time + header.max(ahead) + self.plan.delay
            }
        };
        let mut given = given.min(last_bit);
        if self.shim > Duration::ZERO {
            // An unprotected frame does not overtake a protected one.
            given = given.max(self.last);
            self.last = given;
        }
        Ok(Flight::new(time, given, frame))
    }

    /// Returns true if a scheduled loss applies to this frame.
    fn loses(&mut self, control: bool) -> bool {
        let which = if control { Which::Control } else { Which::Data };
        // Losses of the frame's own kind are used up first.
        for which in [which, Which::Any] {
            let left = &mut self.lose[which as usize];
            if *left > 0 {
                *left -= 1;
                return true;
            }
        }
        false
    }
}

impl Inlet {
    /// Brings what each frame needs into the caches.
    #[inline]
    pub(super) fn fetch(&self) {
        fetch_lines(&self.last.1, 2);
        fetch(&self.data);
    }

    /// Brings the places of the frames on the way into the caches.
    #[inline]
    pub(super) fn fetch_flights(&self) {
        self.data.front().into_iter().chain(self.data.back()).for_each(fetch);
    }

    /// The frames that arrive before `end`, pauses left out.
    #[inline]
    pub(super) fn due(&self, end: Instant) -> impl Iterator<Item = &VirtualFrame> {
        self.data.iter().take_while(move |flight| flight.arrival < end).map(|flight| &flight.frame)
    }

    /// Adds a frame that has started, a pause if `is_control`. Returns true if it may be the next event of the
    /// line: most frames follow another one.
    #[inline]
    pub(super) fn push(&mut self, flight: Flight, is_control: bool) -> bool {
        if !is_control {
            let is_behind = self.data.front().is_some_and(|first| first.arrival <= flight.arrival);
            // No frame overtakes another on the line, so the queue is in the order of arrivals.
            self.data.push_back(flight);
            return !is_behind;
        }
        if self.secured.validated {
            self.unvalidated.push_back(flight);
        } else {
            self.control.push_back(flight);
        }
        true
    }

    /// Order of an event at the end of the line among those of its time: of a frame that started while
    /// another was on the way it is decided when that one arrives. The receiver may have handled that
    /// already, or not yet, when it starts.
    #[inline]
    pub(super) fn order(&self, arrival: Instant, age: Duration) -> Order {
        let (last, turn) = self.last;
        let behind = arrival.since(last);
        if behind < age { Order::behind(behind, turn) } else { Order::sent(age) }
    }

    /// Records that the receiver handles an event of this line at `at`, its `turn`th of that time.
    #[inline]
    pub(super) const fn handled(&mut self, time: Instant, turn: u32) {
        self.last = (time, turn);
    }

    /// Time and order of the next event at the end of the line: a frame is to be given to the receiver, or
    /// to be validated.
    #[inline]
    pub(super) fn next(&self) -> (Instant, Order) {
        if !(self.control.is_empty() && self.unvalidated.is_empty()) {
            return self.next_of_all();
        }
        match self.data.front() {
            Some(flight) => (flight.arrival, self.order(flight.arrival, flight.age)),
            None => (Instant::NEVER, Order::LAST),
        }
    }

    /// As [`Self::next`], with pauses on the way.
    #[inline(never)]
    fn next_of_all(&self) -> (Instant, Order) {
        let all = [&self.control, &self.unvalidated, &self.data];
        // Of equal times the first of the list counts: pauses go before data.
        let firsts = all.into_iter().filter_map(VecDeque::front);
        let flight = firsts.min_by_key(|flight| flight.arrival).expect("a pause is on the way");
        (flight.arrival, self.order(flight.arrival, flight.age))
    }

    /// The next pause whose last bit has arrived by `at` and that has to be validated.
    #[inline]
    pub(super) fn next_unvalidated(&mut self, time: Instant) -> Option<Flight> {
        if self.unvalidated.front()?.arrival > time {
            return None;
        }
        let next = self.unvalidated.pop_front();
        if let Some(flight) = next.as_ref().filter(|_| self.secured.recorded) {
            note(&mut self.record, &flight.frame);
        }
        next
    }

    /// A pause has been validated, and its receiver responds to it later.
    pub(super) fn validated(&mut self, pause: Flight) {
        let (start, last_bit) = (pause.arrival.saturating_sub(pause.age), pause.arrival);
        self.control.push_back(Flight::new(start, last_bit + self.response, pause.frame));
    }

    /// True if the receiver's `SecY` sees pauses before they are given to the receiver.
    pub(super) const fn validates(&self) -> bool {
        self.secured.validated
    }

    /// Has the receiver's `SecY` see pauses when they are given to the receiver, after the data
    /// behind them.
    #[cfg(any(test, feature = "rig"))]
    pub(super) const fn validate_late(&mut self) {
        self.secured.validated = false;
    }

    /// The next frame that has arrived by `at`; pauses first.
    #[inline]
    pub(super) fn arrival(&mut self, time: Instant) -> Option<VirtualFrame> {
        if !self.control.is_empty() {
            if let Some(pause) = self.pause(time) {
                return Some(pause);
            }
        }
        if self.data.front()?.arrival > time {
            return None;
        }
        self.data.pop_front().map(|flight| flight.frame)
    }

    /// The next pause that is obeyed by `at`.
    #[inline(never)]
    fn pause(&mut self, time: Instant) -> Option<VirtualFrame> {
        if self.control.front()?.arrival > time {
            return None;
        }
        let pause = self.control.pop_front()?.frame;
        if self.secured.recorded && !self.secured.validated {
            note(&mut self.record, &pause);
        }
        Some(pause)
    }

    /// Returns true if this port detects a damaged frame: a cut-through port has forwarded it by
    /// then, and leaves it to the next port that waits for the end.
    pub(super) fn notices_damage(&self, frame: &VirtualFrame) -> bool {
        !self.cuts_through || frame.is_control() || frame.sealed.is_some()
    }

    /// Removes and returns all frames on the line.
    pub(super) fn clear(&mut self) -> Vec<VirtualFrame> {
        let pauses = self.control.drain(..).chain(self.unvalidated.drain(..));
        let all = self.data.drain(..).chain(pauses);
        all.map(|flight| flight.frame).collect()
    }

    /// The data frames on the line.
    pub(super) fn data(&self) -> impl Iterator<Item = &VirtualFrame> {
        self.data.iter().map(|flight| &flight.frame)
    }

    /// The recorded pause that is `back` pauses old. One still on its way is not recorded, so no copy
    /// overtakes it.
    pub(super) fn recorded(&self, back: u32) -> Option<Box<[u8]>> {
        self.record.get(back as usize).cloned()
    }
}

/// Records a frame if it is a protected pause.
#[cold]
fn note(record: &mut VecDeque<Box<[u8]>>, frame: &VirtualFrame) {
    if let Some(octets) = frame.protected().filter(|_| frame.is_control()) {
        record.push_front(octets.into());
        record.truncate(FaultKind::RECORDED as usize);
    }
}

const _: () = assert!(HEADER > FCS_BYTES);

/// Returns the probability of any of `n` independent events of probability `each`, in units of
/// 2^-64: by squaring, in integers, so that it is the same on every machine.
fn any_of(each: u64, mut n: u64) -> u64 {
    // Probabilities that nothing happens; all ones stand for certainty.
    let (mut none, mut power) = (u64::MAX, u64::MAX - each);
    let product = |a: u64, b: u64| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    while each > 0 && n > 0 {
        if n & 1 == 1 {
            none = product(none, power);
        }
        power = product(power, power);
        n >>= 1;
    }
    u64::MAX - none
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Converts a probability to units of 2^-64.
    fn flight(p: f64) -> u64 {
        (p * 2f64.powi(64)) as u64
    }

    #[test]
    fn frames_are_as_likely_damaged_as_any_of_their_bits() {
        assert_eq!(any_of(0, 12_000), 0);
        for (ber, bits) in [(1e-12, 12_000), (1e-5, 12_144), (1e-3, 512), (0.5, 1)] {
            let exact = -f64::exp_m1(f64::from(bits) * f64::ln_1p(-ber));
            let found = any_of(flight(ber), bits as u64) as f64 / 2f64.powi(64);
            assert!((found - exact).abs() < exact * 1e-4 + 1e-15, "{ber} {bits}: {found} {exact}");
        }
    }
}
