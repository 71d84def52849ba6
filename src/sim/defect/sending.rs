//! Defects in the transmission of PFC.

use core::fmt;

use super::frame::{
    MADE_BY, Pauses, REPEAT, TIMES, VECTOR, is_pfc, opcode, pause, paused, remove, scale, set_time,
    shift, time,
};
use super::stage::{Act, Context};
use contracts::frame::Frame;
use ground::time::Instant;
use ground::units::{PRIORITIES, PrioritySet, Quanta};

/// A defect in the transmission of PFC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sending {
    /// No pause of some priorities is sent.
    NeverPauses { priorities: PrioritySet },
    /// One resumption in `every` is never sent.
    LosesResumptions { every: u32 },
    /// Only one refresh in `every` is sent.
    RefreshesLate { every: u32 },
    /// No refresh is sent.
    NeverRefreshes,
    /// Pauses and resumptions wait behind `frames` data frames.
    BehindData { frames: u32 },
    /// Pauses and resumptions enable the next priority instead.
    NextPriority,
    /// No resumption is sent.
    NeverResumes,
    /// After every resumption the pause before it is sent once more.
    PausesAgain,
    /// Resumptions enable the next priority instead.
    ResumesNextPriority,
    /// A frame by which a pause begins or ends does not name the pauses that go on.
    NamesChanges,
    /// Only `most` priorities are paused at a time.
    Few { most: u8 },
    /// Other priorities are paused and resumed along.
    Also { priorities: PrioritySet },
    /// PFC is also sent from all other ports.
    OtherPorts,
    /// A pause is sent for every `every` data frames that arrive.
    WithoutCongestion { every: u32, priorities: PrioritySet, quanta: Quanta },
    /// Priorities are paused permanently.
    ForEver { priorities: PrioritySet },
    /// Times are multiplied by `numerator / denominator`.
    ScaledTimes { numerator: u16, denominator: u16 },
    /// A part of PFC frames is wrong.
    Malformed(Part),
}

/// The part of a frame that is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// The source address is zero.
    Source,
    /// The source address is that of the next port: higher by one.
    NextSource,
    /// The destination is the address of bridges, 01-80-C2-00-00-00.
    Destination,
    /// The frame is not padded to 64 bytes.
    Padding,
    /// The FCS does not match.
    Fcs,
}

/// The state of such a defect.
#[derive(Debug)]
pub(super) struct State<F> {
    what: Sending,
    count: u64,
    /// Priorities that were last paused.
    last: u8,
    /// Frames that wait for a number of data frames.
    waiting: Vec<(u32, F)>,
    /// The last pause.
    pause: Option<F>,
    /// Pauses of the peer.
    pauses: Pauses,
    /// Source address of the port's last MAC control frame.
    source: [u8; 6],
    /// Time of the next pause that no frame causes.
    next: Instant,
}

impl<F: Frame> State<F> {
    pub(super) const fn new(what: Sending) -> Self {
        let next = match what {
            Sending::ForEver { .. } => Instant::ZERO,
            _ => Instant::NEVER,
        };
        Self {
            what,
            count: 0,
            last: 0,
            waiting: Vec::new(),
            pause: None,
            pauses: Pauses::new(),
            source: MADE_BY,
            next,
        }
    }

    fn every(&mut self, n: u32) -> bool {
        self.count += 1;
        self.count % u64::from(n) == 0
    }

    /// Counts the refreshes since the first pause of the same priorities.
    fn refreshes(&mut self, set: u8) -> u64 {
        let again = set != 0 && set == self.last;
        self.last = set;
        // A change of the set is a new pause and always sent: it is number 0.
        self.count = if again { self.count + 1 } else { 0 };
        self.count
    }

    /// Counts a data frame, and sends the frames that have waited for it.
    fn data(&mut self, cx: &mut Context<'_, F>, frame: F) {
        cx.out.line.push(frame);
        self.waiting.iter_mut().for_each(|(left, _)| *left -= 1);
        // All wait for the same number of frames, so those that are due are the first.
        let due = self.waiting.iter().take_while(|(left, _)| *left == 0).count();
        cx.out.line.extend(self.waiting.drain(..due).map(|(_, pause)| pause));
    }

    /// Returns the priorities whose pause begins or ends with a frame that pauses a set.
    fn changes(&mut self, set: u8) -> u8 {
        set ^ core::mem::replace(&mut self.last, set)
    }

    /// Changes a PFC frame in place, and returns true if it is sent.
    fn change(&mut self, head: &mut [u8], cx: &Context<'_, F>) -> bool {
        let set = paused(head);
        let resumes = set == 0;
        match self.what {
            Sending::NeverPauses { priorities } => remove(head, set & priorities.0),
            Sending::LosesResumptions { every } => return !resumes || !self.every(every),
            Sending::RefreshesLate { every } => return self.refreshes(set) % u64::from(every) == 0,
            Sending::NeverRefreshes => return self.refreshes(set) == 0,
            Sending::NextPriority => shift(head),
            Sending::ResumesNextPriority => {
                if resumes {
                    shift(head);
                }
            }
            Sending::NeverResumes => return !resumes,
            Sending::NamesChanges => match self.changes(set) {
                0 => {}
                changed => remove(head, set & !changed),
            },
            Sending::Few { most } => self.pauses.admit(head, most, cx.now, cx.quantum),
            Sending::Also { priorities } => {
                let longest = (0..PRIORITIES).map(|p| time(head, p)).max().unwrap_or(0);
                head[VECTOR] |= priorities.0;
                priorities.iter().for_each(|p| set_time(head, p.index(), longest));
            }
            Sending::ScaledTimes { numerator, denominator } => scale(head, numerator, denominator),
            Sending::Malformed(Part::Source) => head[6..12].fill(0),
            Sending::Malformed(Part::NextSource) => head[11] = head[11].wrapping_add(1),
            Sending::Malformed(Part::Destination) => head[5] = 0,
            // These act on whole frames, or add frames.
            Sending::Malformed(Part::Padding | Part::Fcs)
            | Sending::BehindData { .. }
            | Sending::PausesAgain
            | Sending::OtherPorts
            | Sending::WithoutCongestion { .. }
            | Sending::ForEver { .. } => {}
        }
        // A frame that names no priority any more is not sent.
        head[VECTOR] != 0
    }
}

impl<F: Frame + fmt::Debug + Send> Act<F> for State<F> {
    fn tx(&mut self, cx: &mut Context<'_, F>, mut frame: F) {
        if opcode(frame.head()).is_some() {
            // Pauses that the defect makes later come from the port's own address.
            self.source = frame.head()[6..12].try_into().unwrap_or(MADE_BY);
        }
        if !is_pfc(frame.head()) {
            return self.data(cx, frame);
        }
        if !self.change(frame.head_mut(), cx) {
            return;
        }
        match self.what {
            Sending::BehindData { frames } => self.waiting.push((frames, frame)),
            Sending::PausesAgain => {
                let resumes = paused(frame.head()) == 0;
                // Only a resumption ends the pause that is repeated.
                let again = self.pause.take().filter(|_| resumes);
                self.pause = if resumes { None } else { frame.duplicate() };
                cx.out.line.push(frame);
                cx.out.line.extend(again);
            }
            Sending::OtherPorts => {
                cx.out.others.extend(frame.duplicate());
                cx.out.line.push(frame);
            }
            Sending::Malformed(Part::Padding) => {
                cx.out.line.extend(cx.make.control(&frame.head()[..TIMES.end]));
            }
            Sending::Malformed(Part::Fcs) => {
                cx.make.damage(&mut frame);
                cx.out.line.push(frame);
            }
            _ => cx.out.line.push(frame),
        }
    }

    fn rx(&mut self, cx: &mut Context<'_, F>, frame: F) {
        if let Sending::WithoutCongestion { every, priorities, quanta } = self.what {
            if opcode(frame.head()).is_none() && self.every(every) {
                let octets = pause(self.source, priorities.0, quanta.0);
                cx.out.line.extend(cx.make.control(&octets));
            }
        }
        cx.out.node.push(frame);
    }

    fn due(&mut self, cx: &mut Context<'_, F>) {
        if let Sending::ForEver { priorities } = self.what {
            let octets = pause(self.source, priorities.0, u16::MAX);
            cx.out.line.extend(cx.make.control(&octets));
            // Before the longest pause runs out at the peer.
            self.next = cx.now.saturating_add(cx.quantum.saturating_mul(REPEAT));
        }
    }

    fn next_at(&self) -> Instant {
        self.next
    }
}
