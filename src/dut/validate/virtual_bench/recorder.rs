//! Records the frames at the tester's ports of a virtual network.

use super::network::link_of;
use crate::bench::TrialError;
use crate::observation::{Record, Way};
use crate::opened::{Openers, Read};
use crate::setup::Setup;
use crate::trial::{Port, Trial};
use contracts::frame::Frame;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes};
use sim::{Direction, FrameObserver, Loss, NetworkPlan, NodeId, VirtualFrame};

/// Bytes on the line before a frame's first: preamble and start delimiter.
const PREAMBLE: Bytes = Bytes(8);

/// A direction of a link at a port of the tester.
#[derive(Clone, Copy)]
struct Line {
    port: Port,
    rate: BitsPerSec,
    /// Response time of the receiver to a pause, after which it is given to it.
    response: Duration,
}

/// The directions of a network that are lines of the tester, by their numbers.
struct Lines(Vec<Option<Line>>);

impl Lines {
    /// Lines of a network with this number of links, none of which is the tester's yet.
    fn new(links: usize) -> Self {
        Self(vec![None; 2 * links])
    }

    fn insert(&mut self, direction: Direction, line: Line) {
        self.0[direction.0 as usize] = Some(line);
    }

    fn get(&self, direction: Direction) -> Option<Line> {
        self.0[direction.0 as usize]
    }
}

/// Records the frames at the tester's ports.
pub(super) struct Recorder {
    /// Directions in which a port sends. On a cable the same direction is one in which the other
    /// port receives.
    sends: Lines,
    /// Directions in which a port receives.
    receives: Lines,
    /// True if the bytes of data frames are recorded.
    keep: bool,
    openers: Openers,
    lead: Duration,
    records: Vec<Record>,
    damaged: Vec<Record>,
}

impl Recorder {
    pub(super) fn new(
        network: &NetworkPlan,
        hosts: &[NodeId],
        setup: &Setup,
        trial: &Trial,
        lead: Duration,
    ) -> Result<Self, TrialError> {
        let [mut sends, mut receives] = [(); 2].map(|()| Lines::new(network.links.len()));
        for (n, host) in hosts.iter().enumerate() {
            let id = link_of(network, *host);
            let link = &network.links[id.index()];
            let is_a = link.a.node == *host;
            // Pauses from the device reach the host its response time late, which the record takes off again.
            let (out, back, response) = match is_a {
                true => (id.ab(), id.ba(), link.ba.response),
                false => (id.ba(), id.ab(), link.ab.response),
            };
            let line = Line { port: Port(n), rate: link.rate, response };
            sends.insert(out, line);
            receives.insert(back, line);
        }
        let (keep, openers) = (trial.keep, Openers::new(setup, trial)?);
        let (records, damaged) = (Vec::new(), Vec::new());
        Ok(Self { sends, receives, keep, openers, lead, records, damaged })
    }

    /// Returns the whole and the damaged frames, in the order of their last bits.
    pub(super) fn into_records(self) -> [Vec<Record>; 2] {
        [self.records, self.damaged].map(in_order)
    }

    /// Records a frame whose last bit passes the port at `end`.
    fn record(&mut self, line: Line, way: Way, end: Instant, frame: &VirtualFrame) {
        let record = self.record_of(line, way, end, frame);
        self.records.extend(record);
    }

    /// Returns the record of a frame; `None` before the trial's own traffic.
    fn record_of(
        &self,
        line: Line,
        way: Way,
        end: Instant,
        frame: &VirtualFrame,
    ) -> Option<Record> {
        let start = Instant::ZERO + self.lead;
        if end < start {
            return None;
        }
        let end = end.since(start);
        let on_line = frame.on_line().1;
        let begin = end.saturating_sub(line.rate.time_for(Bytes(on_line.into())));
        // Of a long frame the first bytes are protected as a whole frame.
        let protected = frame.protected().filter(|_| self.openers.has(line.port));
        let octets = protected.unwrap_or_else(|| frame.head());
        let read = self.openers.read(line.port, way, octets, on_line);
        let Read { what, len, head, secured } = read;
        let head = if self.keep { head } else { Box::default() };
        Some(Record { port: line.port, way, begin, end, len, what, head, secured })
    }
}

/// Sorts records by their ends: small keys, as records are large.
fn in_order(records: Vec<Record>) -> Vec<Record> {
    let mut order: Vec<_> = records.iter().map(|record| record.end).enumerate().collect();
    order.sort_by_key(|(_, end)| *end);
    let mut records: Vec<_> = records.into_iter().map(Some).collect();
    order.into_iter().filter_map(|(n, _)| records[n].take()).collect()
}

impl FrameObserver for Recorder {
    fn sent(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, _: Instant) {
        let Some(line) = self.sends.get(direction) else { return };
        let len = Bytes(frame.on_line().1.into());
        // `at` is the first bit of the preamble.
        let end = at + line.rate.time_for(PREAMBLE) + line.rate.time_for(len);
        self.record(line, Way::Sent, end, frame);
    }

    fn arrived(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame) {
        let Some(line) = self.receives.get(direction) else { return };
        // Control frames are given to the receiver after its response time; on the line they were earlier.
        let response = if frame.is_control() { line.response } else { Duration::ZERO };
        self.record(line, Way::Received, at.saturating_sub(response), frame);
    }

    /// A frame that the tester's end rejects was on the line all the same.
    fn lost(&mut self, at: Instant, direction: Direction, frame: &VirtualFrame, cause: Loss) {
        let Some(line) = self.receives.get(direction) else { return };
        match cause {
            Loss::Damaged | Loss::Defect => {
                let record = self.record_of(line, Way::Received, at, frame);
                self.damaged.extend(record);
            }
            Loss::Secy if !frame.is_refused() => self.record(line, Way::Received, at, frame),
            Loss::Secy | Loss::Fault | Loss::LinkDown => {}
        }
    }
}
