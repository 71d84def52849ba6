//! Defects in the reception of MAC control frames.

use core::fmt;
use std::collections::VecDeque;

use super::frame::{
    CONTROL_LEN, MADE_BY, OPCODE_PAUSE, OPCODE_PFC, PARAMETERS, Pauses, REPEAT, TIMES, VECTOR,
    as_pfc, is_pause, is_pfc, opcode, pause, paused, remove, resumed, scale, set_opcode, set_time,
    shift, time,
};
use super::stage::{Act, Context};
use contracts::frame::Frame;
use ground::time::{Duration, Instant};
use ground::units::{PRIORITIES, PrioritySet, Quanta};

/// A defect in the reception of MAC control frames.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Obeying {
    /// PFC of some priorities is ignored.
    Ignores { priorities: PrioritySet },
    /// PFC is ignored once the link has gone down and come up.
    IgnoresAfterFlap,
    /// PFC of some priorities takes effect late, resumptions as well.
    Late { by: Quanta, priorities: PrioritySet },
    /// Times are multiplied by a ratio: by an eighth, quanta are read as bytes.
    ScaledTimes { numerator: u16, denominator: u16 },
    /// Pauses last until they are resumed.
    NeverExpires,
    /// A time is added to the rest of the pause before it.
    AddsTimes,
    /// Of a time and the rest of the pause before it, the longer one holds.
    KeepsLongest,
    /// The time of a pause is not renewed: a paused priority takes a time of zero alone.
    KeepsFirst,
    /// A time of zero is ignored.
    IgnoresZeroTime,
    /// A time of zero resumes, also where the priority is not enabled.
    ResumesNotEnabled,
    /// All priorities are taken as enabled.
    IgnoresVector,
    /// The enable vector is read from its other end.
    MirrorsVector,
    /// The high octet of the enable vector is read.
    ReadsHighOctet,
    /// A pause of one priority is treated as one of all, for the longest of its times.
    AllPriorities,
    /// A pause is treated as one of the next priority.
    NextPriority,
    /// Only `most` priorities are paused at a time.
    Few { most: u8 },
    /// Frames with an unknown opcode are taken as PFC.
    UnknownOpcodes,
    /// A PFC frame that is cut short is obeyed, as if all that is missing were ones.
    Truncated,
    /// PAUSE is obeyed as PFC of all priorities.
    Pause,
    /// Frames with source address zero are dropped.
    IgnoresZeroSource,
    /// MAC control frames are sent on from all other ports.
    ForwardsControl,
    /// Priorities that are paused when the link goes down are paused permanently once it comes up.
    StuckAfterFlap,
    /// Times of some priorities that are shorter than `below` are ignored.
    IgnoresShort { below: Quanta, priorities: PrioritySet },
    /// A time of zero for one priority resumes all.
    ResumesAll,
    /// A time of zero resumes the priority at all other ports, too.
    ResumesOtherPorts,
    /// A time of zero is taken for one quantum.
    ZeroIsOne,
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct State<F> {
    what: Obeying,
    pauses: Pauses,
    /// Frames that take effect at a later time.
    held: VecDeque<(Instant, F)>,
    /// Priorities that are paused again and again.
    stuck: u8,
    /// Time at which they are.
    again: Instant,
    was_down: bool,
}

impl<F: Frame> State<F> {
    pub(super) const fn new(what: Obeying) -> Self {
        Self {
            what,
            pauses: Pauses::new(),
            held: VecDeque::new(),
            stuck: 0,
            again: Instant::NEVER,
            was_down: false,
        }
    }

    /// Delays the times of some priorities, and returns the frame with the others.
    fn delay(&mut self, mut frame: F, set: u8, due: Instant) -> Option<F> {
        let enabled = frame.head()[VECTOR];
        if enabled & set == 0 {
            return Some(frame);
        }
        // All of its priorities are late, so the frame itself waits and no copy is made.
        if enabled & !set == 0 {
            self.held.push_back((due, frame));
            return None;
        }
        if let Some(mut late) = frame.duplicate() {
            remove(late.head_mut(), !set);
            self.held.push_back((due, late));
        }
        remove(frame.head_mut(), set);
        Some(frame)
    }

    /// Changes a PFC frame in place.
    fn change(&mut self, head: &mut [u8], cx: &Context<'_, F>) {
        let zero = |head: &[u8]| {
            let zero = (0..PRIORITIES).filter(|p| time(head, *p) == 0);
            zero.fold(0, |set: u8, p| set | 1 << p)
        };
        match self.what {
            Obeying::Ignores { priorities } => remove(head, priorities.0),
            Obeying::IgnoresAfterFlap => remove(head, if self.was_down { u8::MAX } else { 0 }),
            Obeying::ScaledTimes { numerator, denominator } => scale(head, numerator, denominator),
            Obeying::NeverExpires => self.keep(head, cx),
            Obeying::AddsTimes => self.prolong(head, cx, |rest, time| rest + time),
            Obeying::KeepsLongest => self.prolong(head, cx, u64::max),
            Obeying::KeepsFirst => {
                let set = paused(head) & self.pauses.set_of(cx.now);
                remove(head, set);
                self.pauses.take(head, cx.now, cx.quantum);
            }
            Obeying::IgnoresZeroTime => remove(head, zero(head)),
            Obeying::ResumesNotEnabled => head[VECTOR] |= zero(head),
            Obeying::IgnoresVector => head[VECTOR] = u8::MAX,
            Obeying::MirrorsVector => head[VECTOR] = head[VECTOR].reverse_bits(),
            Obeying::ReadsHighOctet => head[VECTOR] = head[PARAMETERS],
            Obeying::AllPriorities => {
                let longest = (0..PRIORITIES).map(|p| time(head, p)).max().unwrap_or(0);
                head[VECTOR] = u8::MAX;
                (0..PRIORITIES).for_each(|p| set_time(head, p, longest));
            }
            Obeying::NextPriority => shift(head),
            Obeying::Few { most } => self.pauses.admit(head, most, cx.now, cx.quantum),
            Obeying::StuckAfterFlap => {
                self.pauses.take(head, cx.now, cx.quantum);
                remove(head, self.stuck);
            }
            Obeying::IgnoresShort { below, priorities } => {
                let of = paused(head) & priorities.0;
                let short = (0..PRIORITIES).filter(|p| time(head, *p) < below.0);
                remove(head, of & short.fold(0, |set: u8, p| set | 1 << p));
            }
            // Priorities that the same frame pauses stay paused.
            Obeying::ResumesAll if resumed(head) != 0 => {
                let set = paused(head);
                remove(head, !set);
                head[VECTOR] = u8::MAX;
            }
            Obeying::ZeroIsOne => {
                let set = resumed(head);
                let zero = (0..PRIORITIES).filter(|p| set >> p & 1 == 1);
                zero.for_each(|p| set_time(head, p, 1));
            }
            // These do not change PFC frames that are whole.
            Obeying::ResumesAll
            | Obeying::ResumesOtherPorts
            | Obeying::Late { .. }
            | Obeying::UnknownOpcodes
            | Obeying::Truncated
            | Obeying::Pause
            | Obeying::IgnoresZeroSource
            | Obeying::ForwardsControl => {}
        }
    }

    /// Keeps the priorities paused that a frame pauses, until a frame resumes them.
    fn keep(&mut self, head: &mut [u8], cx: &Context<'_, F>) {
        let set = paused(head);
        // A frame decides about the priorities that it names, and the others stay.
        self.stuck = self.stuck & !head[VECTOR] | set;
        for p in (0..PRIORITIES).filter(|p| set >> p & 1 == 1) {
            set_time(head, p, u16::MAX);
        }
        let next = cx.now.saturating_add(cx.quantum.saturating_mul(REPEAT));
        self.again = if self.stuck == 0 { Instant::NEVER } else { next };
    }

    /// Replaces times by those that the rest of the pause before and the time give.
    fn prolong(&mut self, head: &mut [u8], cx: &Context<'_, F>, both: impl Fn(u64, u64) -> u64) {
        let quantum = cx.quantum.as_picos();
        let enabled = head[VECTOR];
        for p in (0..PRIORITIES).filter(|p| enabled >> p & 1 == 1) {
            let asked = time(head, p);
            // Zero where the pause is over.
            let rest = self.pauses.until(p).since(cx.now.min(self.pauses.until(p)));
            let span = match asked {
                0 => Duration::ZERO,
                asked => {
                    let asked = cx.quantum.saturating_mul(asked.into());
                    Duration::from_picos(both(rest.as_picos(), asked.as_picos()))
                }
            };
            self.pauses.set(p, cx.now, span);
            // Rounded up, so that the pause is not shorter than calculated.
            let quanta = span.as_picos().div_ceil(quantum);
            set_time(head, p, u16::try_from(quanta).unwrap_or(u16::MAX));
        }
    }
}

impl<F: Frame + fmt::Debug + Send> Act<F> for State<F> {
    fn rx(&mut self, cx: &mut Context<'_, F>, mut frame: F) {
        let head = frame.head();
        let Some(opcode) = opcode(head) else { return cx.out.node.push(frame) };
        let is_whole = head.len() >= TIMES.end;
        let received = match self.what {
            Obeying::Truncated if opcode == OPCODE_PFC && head.len() < CONTROL_LEN => {
                let mut octets = head.to_vec();
                // Missing times are ones, and what is behind them is padding.
                octets.resize(TIMES.end.max(octets.len()), u8::MAX);
                octets.resize(CONTROL_LEN, 0);
                cx.make.control(&octets)
            }
            Obeying::IgnoresZeroSource => Some(frame).filter(|f| f.head()[6..12] != [0; 6]),
            Obeying::ForwardsControl => {
                cx.out.others.extend(frame.duplicate());
                Some(frame)
            }
            Obeying::Pause if is_pause(head) => {
                as_pfc(frame.head_mut());
                Some(frame)
            }
            Obeying::UnknownOpcodes
                if ![OPCODE_PAUSE, OPCODE_PFC].contains(&opcode) && is_whole =>
            {
                set_opcode(frame.head_mut(), OPCODE_PFC);
                Some(frame)
            }
            Obeying::ResumesOtherPorts if is_pfc(head) && resumed(head) != 0 => {
                // The other ports get the resumption alone, without the pauses of the same frame.
                let mut resumption = frame.duplicate();
                if let Some(copy) = &mut resumption {
                    let set = paused(copy.head());
                    remove(copy.head_mut(), set);
                }
                cx.out.inward.extend(resumption);
                Some(frame)
            }
            Obeying::Late { by, priorities } if is_pfc(head) => {
                let due = cx.now.saturating_add(cx.quantum.saturating_mul(by.0.into()));
                self.delay(frame, priorities.0, due)
            }
            _ if is_pfc(head) => {
                self.change(frame.head_mut(), cx);
                Some(frame)
            }
            _ => Some(frame),
        };
        cx.out.node.extend(received);
    }

    fn link(&mut self, cx: &mut Context<'_, F>, up: bool) {
        if self.what == Obeying::StuckAfterFlap {
            // The pause is made once the link is up: what the node received before is forgotten.
            if up && self.stuck != 0 {
                self.again = cx.now;
            } else if !up {
                self.stuck |= self.pauses.set_of(cx.now);
            }
        } else {
            // The port forgets its pauses.
            (self.stuck, self.again, self.pauses) = (0, Instant::NEVER, Pauses::new());
        }
        self.was_down |= !up;
    }

    fn due(&mut self, cx: &mut Context<'_, F>) {
        while self.held.front().is_some_and(|(due, _)| *due <= cx.now) {
            cx.out.node.extend(self.held.pop_front().map(|(_, frame)| frame));
        }
        if self.again <= cx.now {
            cx.out.node.extend(cx.make.control(&pause(MADE_BY, self.stuck, u16::MAX)));
            self.again = cx.now.saturating_add(cx.quantum.saturating_mul(REPEAT));
        }
    }

    fn next_at(&self) -> Instant {
        self.held.front().map_or(self.again, |(due, _)| self.again.min(*due))
    }

    fn held(&self) -> usize {
        self.held.len()
    }
}
