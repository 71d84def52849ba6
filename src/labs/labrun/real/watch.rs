//! Observer of a switch in the real world: feeds the recorder of the virtual world, and logs
//! pauses.

use super::log::{Happening, Log};
use crate::record::Recorder;
use contracts::stats::DropReason;
use contracts::world::Events;
use ground::time::Instant;
use ground::units::{PortId, Priority, PriorityGroup, PrioritySet, TrafficClass};
use sim::{NodeId, Note, Witness};

#[derive(Debug)]
pub(super) struct Watch {
    node: NodeId,
    /// Recorder of this switch only; removed at the end of the run.
    pub(super) recorder: Option<Recorder>,
    pub(super) log: Log,
}

impl Watch {
    pub(super) fn new(node: NodeId, recorder: Recorder) -> Self {
        Self { node, recorder: Some(recorder), log: Log::default() }
    }

    /// Records a frequent event, one per frame in a congested switch, without a log entry.
    fn count(&mut self, at: Instant, note: Note) {
        if let Some(recorder) = &mut self.recorder {
            recorder.noted(at, self.node, &note);
        }
    }

    fn note(&mut self, at: Instant, note: Note) {
        self.log.push(at, Happening::Noted(note));
        self.count(at, note);
    }
}

impl Events for Watch {
    #[inline]
    fn received(&mut self, _: Instant, port: PortId, priority: Priority, _: u32) {
        if let Some(recorder) = &mut self.recorder {
            recorder.received(self.node, port, priority);
        }
    }
    fn dropped(
        &mut self,
        at: Instant,
        port: PortId,
        priority: Option<Priority>,
        reason: DropReason,
    ) {
        self.count(at, Note::Dropped { port, priority, reason });
    }
    fn marked(&mut self, at: Instant, port: PortId, class: TrafficClass) {
        self.count(at, Note::Marked { port, class });
    }
    fn crossed(&mut self, at: Instant, port: PortId, group: PriorityGroup, xoff: bool) {
        self.note(at, Note::Crossed { port, group, xoff });
    }
    fn pause_sent(&mut self, at: Instant, port: PortId, named: PrioritySet, paused: PrioritySet) {
        self.note(at, Note::PauseSent { port, named, paused });
    }
    fn pause_obeyed(&mut self, at: Instant, port: PortId, paused: PrioritySet) {
        self.note(at, Note::PauseObeyed { port, paused });
    }
    fn storm(&mut self, at: Instant, port: PortId, class: TrafficClass, detected: bool) {
        self.note(at, Note::Storm { port, class, detected });
    }
}
