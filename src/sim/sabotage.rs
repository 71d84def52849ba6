//! Planted bugs of a port, so that tests can verify that the checkers detect them. They exist in
//! test builds only, between a node and the witnesses of its line.

use super::frame::VirtualFrame;
use contracts::frame::Frame;

/// A planted bug.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sabotage {
    /// Every third resumption is never sent.
    LoseResumptions,
    /// Only one of three refreshes is sent.
    RefreshLate,
    /// Pauses and resumptions wait behind four data frames.
    PausesBehindData,
    /// Pauses enable the next priority instead.
    NextPriority,
    /// No resumption is sent.
    NeverResume,
    /// After every resumption the pause before it is sent once more.
    PauseAgain,
    /// Resumptions enable the next priority instead.
    ResumeNextPriority,
    /// A pause of one priority is treated as one of all.
    ObeyAll,
    /// A pause is treated as one of the next priority.
    ObeyNextPriority,
    /// Every tenth data frame is never sent.
    SwallowData,
    /// Quanta are read as bytes, of which a quantum is 64: a pause lasts an eighth of its time.
    QuantaAsOctets,
    /// Pauses last, as far as observable, until they are resumed.
    NeverExpire,
}

/// A port with a planted bug, and its state.
#[derive(Debug)]
pub(super) struct Saboteur {
    what: Sabotage,
    seen: u64,
    /// Priorities that were last paused.
    last: u8,
    held: Vec<(u8, VirtualFrame)>,
    /// The last pause.
    pause: Option<VirtualFrame>,
}

/// Offsets of PFC's enable vector and times.
const VECTOR: usize = 17;
const TIMES: core::ops::Range<usize> = 18..34;

fn is_pfc(frame: &VirtualFrame) -> bool {
    frame.head().get(12..16) == Some(&[0x88, 0x08, 0x01, 0x01])
}

/// Returns the priorities that a PFC frame pauses.
fn paused(frame: &VirtualFrame) -> u8 {
    let times = frame.head()[TIMES].chunks(2).enumerate();
    let on = times.filter(|(p, time)| frame.head()[VECTOR] >> p & 1 == 1 && **time != [0, 0]);
    on.fold(0, |set, (p, _)| set | 1 << p)
}

/// Shifts a PFC frame to the next priorities.
fn shift(frame: &mut VirtualFrame) {
    let head = frame.head_mut();
    head[VECTOR] = head[VECTOR].rotate_left(1);
    head[TIMES].rotate_right(2);
}

impl Saboteur {
    pub(super) const fn new(what: Sabotage) -> Self {
        Self { what, seen: 0, last: 0, held: vec![], pause: None }
    }

    /// Modifies the frames that a port sends.
    pub(super) fn tx(&mut self, sent: &mut Vec<VirtualFrame>) {
        let mut out = vec![];
        for mut frame in sent.drain(..) {
            match (self.what, is_pfc(&frame)) {
                (Sabotage::LoseResumptions, true) if paused(&frame) == 0 => {
                    if !self.every(3) {
                        out.push(frame);
                    }
                }
                (Sabotage::RefreshLate, true) => {
                    let again = paused(&frame) != 0 && paused(&frame) == self.last;
                    self.last = paused(&frame);
                    self.seen = if again { self.seen + 1 } else { 0 };
                    if self.seen % 3 == 0 {
                        out.push(frame);
                    }
                }
                (Sabotage::PausesBehindData, true) => self.held.push((4, frame)),
                (Sabotage::PausesBehindData, false) => {
                    out.push(frame);
                    for (left, _) in &mut self.held {
                        *left -= 1;
                    }
                    let due = self.held.iter().take_while(|(left, _)| *left == 0).count();
                    out.extend(self.held.drain(..due).map(|(_, pause)| pause));
                }
                (Sabotage::NextPriority, true) => {
                    shift(&mut frame);
                    out.push(frame);
                }
                (Sabotage::ResumeNextPriority, true) => {
                    if paused(&frame) == 0 {
                        shift(&mut frame);
                    }
                    out.push(frame);
                }
                (Sabotage::NeverResume, true) if paused(&frame) == 0 => {}
                (Sabotage::PauseAgain, true) => {
                    let resumes = paused(&frame) == 0;
                    let again = self.pause.take().filter(|_| resumes);
                    self.pause = (!resumes).then(|| frame.clone());
                    out.push(frame);
                    out.extend(again);
                }
                (Sabotage::SwallowData, false) if self.every(10) => {}
                _ => out.push(frame),
            }
        }
        *sent = out;
    }

    /// Modifies a frame that a port receives.
    pub(super) fn rx(&mut self, frame: &mut VirtualFrame) {
        if !is_pfc(frame) {
            return;
        }
        match self.what {
            Sabotage::ObeyNextPriority => shift(frame),
            Sabotage::ObeyAll => {
                let head = frame.head_mut();
                let longest = head[TIMES].chunks_exact(2).max().map(<[u8]>::to_vec);
                let longest = longest.unwrap_or_default();
                head[VECTOR] = u8::MAX;
                head[TIMES].chunks_exact_mut(2).for_each(|time| time.copy_from_slice(&longest));
            }
            _ => {}
        }
        for time in frame.head_mut()[TIMES].chunks_exact_mut(2) {
            let quanta = u16::from_be_bytes([time[0], time[1]]);
            let quanta = match self.what {
                Sabotage::QuantaAsOctets => quanta / 8,
                Sabotage::NeverExpire if quanta > 0 => u16::MAX,
                _ => quanta,
            };
            time.copy_from_slice(&quanta.to_be_bytes());
        }
    }

    fn every(&mut self, n: u64) -> bool {
        self.seen += 1;
        self.seen % n == 0
    }
}
