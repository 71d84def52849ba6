//! The sending end of a flow: its machine, its frames, its pace, its counters.

use super::cut::{Completion, Completions};
use super::pace::Pace;
use super::{roce, roce_frames, tcp, tcp_frames};
use crate::histogram::Spares;
use crate::latency::Latency;
use crate::plan::{FlowId, Transport, TransportPlan};
use congestion::Dcqcn;
use congestion::qcn::{QuantizedFeedback, ReactionPoint};
use ground::memory::fetch;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Priority};
use wire::aeth::{self, Syndrome};
use wire::roce::U24;

/// Counters of a flow's sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderCounters {
    pub id: FlowId,
    /// Priority that pauses it.
    pub priority: Priority,
    /// Data frames given to the port, retransmissions included.
    pub frames: u64,
    /// Bytes given to the port, FCS included.
    pub bytes: u64,
    /// Number of due frames for which there was no memory. They are sent later.
    pub dry: u64,
    /// Retransmitted frames.
    pub retransmitted: u64,
    /// Expired timeouts.
    pub timeouts: u64,
    /// Acknowledgements received.
    pub acks: u64,
    /// Negative acknowledgements received.
    pub naks: u64,
    /// Congestion notifications received.
    pub cnps: u64,
    /// Acknowledged bytes of its messages.
    pub acknowledged: u64,
    /// Current rate limit, in bits of frames per second: the minimum of its reaction points', its
    /// plan's and its link's.
    pub rate: BitsPerSec,
    /// Current congestion window of a TCP-like sender in bytes; `None` for RoCEv2.
    pub window: Option<u64>,
    /// Completely acknowledged messages.
    pub completions: Completions,
    /// True if it has nothing more to send: all is acknowledged, or its time is over.
    pub done: bool,
}

/// A reply to a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// A RoCEv2 acknowledgement or NAK.
    Roce { psn: U24, aeth: aeth::Repr },
    /// A congestion notification.
    Cnp,
    /// A TCP acknowledgement.
    Tcp(u32),
}

/// State by transport.
#[derive(Clone, Debug)]
enum Kind {
    Roce(roce::Sender, Box<roce_frames::DataFrames>),
    Tcp(tcp::Sender, Box<tcp_frames::DataFrames>),
}

/// The sending end of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    kind: Kind,
    pace: Pace,
    stop: Instant,
    ended: bool,
    /// Bytes of payload in a full frame.
    full: u32,
    counters: SenderCounters,
}

impl Sender {
    /// Brings what the next frame needs into the caches.
    pub(crate) fn fetch(&self) {
        fetch(&self.pace);
        fetch(&self.stop);
        fetch(&self.ended);
        fetch(&self.counters.frames);
        match &self.kind {
            Kind::Roce(sender, frames) => {
                fetch(sender);
                fetch(&**frames);
            }
            Kind::Tcp(sender, frames) => {
                fetch(sender);
                fetch(&**frames);
            }
        }
    }

    /// Creates the sender of a validated plan on a link of `line`, with or without a QCN reaction
    /// point. Its distributions take their memory from `spares`.
    pub(crate) fn new(
        plan: &TransportPlan,
        line: BitsPerSec,
        qcn: Option<ReactionPoint>,
        spares: &Spares,
    ) -> Self {
        // DCQCN is RoCEv2's; a TCP-like sender has its window.
        let (kind, dcqcn) = match &plan.kind {
            Transport::Roce(r) => {
                let frames = Box::new(roce_frames::DataFrames::new(plan, r));
                (Kind::Roce(roce::Sender::new(plan, r, spares), frames), r.dcqcn)
            }
            Transport::TcpLike(t) => {
                let frames = Box::new(tcp_frames::DataFrames::new(plan, t));
                (Kind::Tcp(tcp::Sender::new(plan, t, spares), frames), None)
            }
        };
        let dcqcn = dcqcn.map(|d| Dcqcn::new(d, line));
        Self {
            kind,
            pace: Pace::new(plan.rate, dcqcn, line, plan.size, plan.start).with_reaction(qcn),
            stop: plan.stop,
            ended: false,
            full: plan.payload(),
            counters: SenderCounters {
                id: plan.id,
                priority: plan.priority,
                frames: 0,
                bytes: 0,
                dry: 0,
                retransmitted: 0,
                timeouts: 0,
                acks: 0,
                naks: 0,
                cnps: 0,
                acknowledged: 0,
                rate: line,
                window: None,
                completions: Completions::default(),
                done: false,
            },
        }
    }

    /// Returns the time at which its next frame is due; NEVER while it waits for acknowledgements,
    /// and when it is done.
    #[inline]
    pub(crate) fn next_at(&self) -> Instant {
        let ready = match &self.kind {
            Kind::Roce(machine, _) => machine.ready_at(),
            Kind::Tcp(machine, _) => machine.ready_at(),
        };
        // The window, or an acknowledgement, and the rate must both permit it.
        let at = ready.max(self.pace.due());
        if at < self.stop && !self.ended { at } else { Instant::NEVER }
    }

    /// Makes its next frame: `give` receives the first bytes and the length and returns true if it
    /// accepted them. The flow then advances.
    #[inline]
    pub(crate) fn send(
        &mut self,
        now: Instant,
        backlog: Duration,
        give: impl FnOnce(&[u8], u32) -> bool,
    ) -> bool {
        let c = &mut self.counters;
        let (wire_len, repeated) = match &mut self.kind {
            Kind::Roce(machine, frames) => {
                let packet = machine.next();
                // The probe counts transmissions, so a retransmission is a frame of its own at the sink.
                let (head, wire_len) = frames.stamp(&packet, c.frames, now, self.full);
                if !give(head, wire_len) {
                    c.dry += 1;
                    return false;
                }
                machine.on_sent(now, &packet);
                (wire_len, packet.repeated)
            }
            Kind::Tcp(machine, frames) => {
                let segment = machine.next();
                let (head, wire_len) = frames.stamp(&segment, c.frames, now);
                if !give(head, wire_len) {
                    c.dry += 1;
                    return false;
                }
                machine.on_sent(now, &segment);
                (wire_len, segment.repeated)
            }
        };
        c.frames += 1;
        c.bytes += u64::from(wire_len);
        c.retransmitted += u64::from(repeated);
        self.pace.on_sent(now, wire_len, backlog);
        true
    }

    /// Processes a reply. Returns false for one of another transport.
    #[inline]
    pub(crate) fn on_answer(&mut self, now: Instant, answer: &Answer) -> bool {
        let c = &mut self.counters;
        match (&mut self.kind, answer) {
            (Kind::Roce(machine, _), Answer::Roce { psn, aeth }) => {
                match aeth.syndrome {
                    Syndrome::Ack { .. } => c.acks += 1,
                    // Receivers here send no RNR NAK; another implementation may.
                    Syndrome::Nak(_) | Syndrome::NotReady { .. } => c.naks += 1,
                }
                machine.on_answer(now, *psn, aeth.syndrome, aeth.msn);
            }
            (Kind::Roce(..), Answer::Cnp) => {
                c.cnps += 1;
                self.pace.on_cnp(now);
            }
            (Kind::Tcp(machine, _), Answer::Tcp(number)) => {
                c.acks += 1;
                machine.on_ack(now, *number);
            }
            (Kind::Roce(..), Answer::Tcp(_)) | (Kind::Tcp(..), _) => return false,
        }
        true
    }

    /// Makes the first `upto` messages due now, if they wait for another flow.
    pub(crate) fn release(&mut self, now: Instant, upto: u64) {
        match &mut self.kind {
            Kind::Roce(machine, _) => machine.release(now, upto),
            Kind::Tcp(machine, _) => machine.release(now, upto),
        }
    }

    /// Sends nothing before `at`.
    pub(crate) fn defer(&mut self, time: Instant) {
        self.pace.defer(time);
    }

    /// Takes another UDP source port from the next frame on and returns it; `None` without RoCEv2.
    pub(crate) fn reroute(&mut self) -> Option<u16> {
        match &mut self.kind {
            Kind::Roce(_, frames) => Some(frames.reroute()),
            Kind::Tcp(..) => None,
        }
    }

    /// Processes feedback of a congestion point. Returns false without a reaction point.
    pub(crate) fn on_cnm(&mut self, now: Instant, feedback: QuantizedFeedback) -> bool {
        self.pace.on_cnm(now, feedback)
    }

    /// Returns the time for [`Self::on_timeout`].
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        let machine = match &self.kind {
            Kind::Roce(machine, _) => machine.timer,
            Kind::Tcp(machine, _) => machine.timer,
        };
        let at = machine.min(self.pace.deadline());
        if at < self.stop && !self.ended { at } else { Instant::NEVER }
    }

    /// Handles the deadline; may be called early.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        let ran_out = match &mut self.kind {
            Kind::Roce(machine, _) => machine.on_timeout(now),
            Kind::Tcp(machine, _) => machine.on_timeout(now),
        };
        self.counters.timeouts += u64::from(ran_out);
        self.pace.on_timeout(now);
    }

    /// Sets another link rate.
    pub(crate) fn set_line(&mut self, line: BitsPerSec) {
        self.pace.set_line(line);
    }

    /// Stops sending.
    pub(crate) fn end(&mut self) {
        self.ended = true;
    }

    /// Returns the time at which it ends, done or not.
    pub(crate) const fn stop(&self) -> Instant {
        self.stop
    }

    /// Returns true if it has nothing more to send.
    pub(crate) fn is_done(&self) -> bool {
        let done = match &self.kind {
            Kind::Roce(machine, _) => machine.is_done(),
            Kind::Tcp(machine, _) => machine.is_done(),
        };
        done || self.ended
    }

    /// Returns the distribution of its message completion times, if it has more than one message.
    pub(crate) fn completion_times(&self) -> Option<&Latency> {
        match &self.kind {
            Kind::Roce(machine, _) => machine.completions.times(),
            Kind::Tcp(machine, _) => machine.completions.times(),
        }
    }

    /// Returns its first completed messages, in order, as many as its plan says.
    pub(crate) fn log(&self) -> &[Completion] {
        match &self.kind {
            Kind::Roce(machine, _) => machine.completions.log(),
            Kind::Tcp(machine, _) => machine.completions.log(),
        }
    }

    pub(crate) fn counters(&self) -> SenderCounters {
        let (acknowledged, completions, window) = match &self.kind {
            Kind::Roce(machine, _) => (machine.acknowledged(), &machine.completions, None),
            Kind::Tcp(machine, _) => {
                (machine.acknowledged(), &machine.completions, Some(machine.window()))
            }
        };
        let (rate, done) = (self.pace.rate(), self.is_done());
        SenderCounters {
            acknowledged,
            completions: *completions.counts(),
            window,
            rate,
            done,
            ..self.counters
        }
    }
}
