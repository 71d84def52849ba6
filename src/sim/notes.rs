//! Losses on lines, and what a switch does that is not visible on its lines.

use contracts::stats::DropReason;
use contracts::world::Events;
use ground::time::Instant;
use ground::units::{
    Cells, PRIORITIES, PortId, Priority, PriorityGroup, PrioritySet, TrafficClass,
};

/// Reason for losing a frame on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loss {
    /// The frame check sequence did not match, because of a bit error; or the frame is a fragment that
    /// a switch's MAC discards.
    Damaged,
    /// The frame check sequence did not match, because of a defect of the sender.
    Defect,
    /// Lost by the link's error probability, or by a scheduled fault.
    Fault,
    /// The link is down, or went down while the frame was on it; or the device at its end is being
    /// reset.
    LinkDown,
    /// The sender's `SecY` could not protect it, or the receiver's did not accept it.
    Secy,
}

/// Action of a switch that is not visible on its lines.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// It dropped a frame.
    Dropped {
        /// Port that counts it.
        port: PortId,
        /// Priority of the frame, if it was classified.
        priority: Option<Priority>,
        reason: DropReason,
    },
    /// It set CE on a frame and sent it.
    Marked {
        /// Egress port.
        port: PortId,
        class: TrafficClass,
    },
    /// An ingress group crossed its limit.
    Crossed {
        port: PortId,
        group: PriorityGroup,
        /// True for XOFF, false for XON.
        xoff: bool,
    },
    /// An ingress group has new thresholds.
    Regrouped {
        port: PortId,
        group: PriorityGroup,
        /// Its headroom; `None` if it is lossy.
        headroom: Option<Cells>,
    },
    /// PFC runs for other priorities from now on.
    PfcChanged {
        /// Port of the switch.
        port: PortId,
        /// The priorities that it pauses its peer for.
        send: PrioritySet,
        /// The priorities that its peer may pause.
        obey: PrioritySet,
    },
    /// Frames that arrive from now on are queued in other traffic classes.
    ClassesChanged {
        /// Egress port.
        port: PortId,
        /// Priority to traffic class.
        map: [TrafficClass; PRIORITIES],
    },
    /// It made a PFC or PAUSE frame.
    PauseSent {
        /// Egress port.
        port: PortId,
        /// Enabled priorities.
        named: PrioritySet,
        /// Priorities among these that it pauses.
        paused: PrioritySet,
    },
    /// It obeyed a PFC or PAUSE frame.
    PauseObeyed {
        /// Ingress port.
        port: PortId,
        /// Priorities that may not be sent there now.
        paused: PrioritySet,
    },
    /// Its watchdog detected a storm, or restored a queue.
    Storm {
        port: PortId,
        class: TrafficClass,
        /// True if detected, false if restored.
        detected: bool,
    },
}

/// The observer in every switch of the virtual world: keeps events until they are taken.
#[derive(Debug, Default)]
pub struct Notes {
    pub(super) taken: Vec<Note>,
    pub(super) enabled: bool,
}

impl Notes {
    #[inline]
    fn note(&mut self, note: Note) {
        if self.enabled {
            self.taken.push(note);
        }
    }
}

impl Events for Notes {
    fn dropped(
        &mut self,
        _: Instant,
        port: PortId,
        priority: Option<Priority>,
        reason: DropReason,
    ) {
        self.note(Note::Dropped { port, priority, reason });
    }
    fn marked(&mut self, _: Instant, port: PortId, class: TrafficClass) {
        self.note(Note::Marked { port, class });
    }
    fn crossed(&mut self, _: Instant, port: PortId, group: PriorityGroup, xoff: bool) {
        self.note(Note::Crossed { port, group, xoff });
    }
    fn regrouped(
        &mut self,
        _: Instant,
        port: PortId,
        group: PriorityGroup,
        headroom: Option<Cells>,
    ) {
        self.note(Note::Regrouped { port, group, headroom });
    }
    fn pfc_changed(&mut self, _: Instant, port: PortId, send: PrioritySet, obey: PrioritySet) {
        self.note(Note::PfcChanged { port, send, obey });
    }
    fn classes_changed(&mut self, _: Instant, port: PortId, map: [TrafficClass; PRIORITIES]) {
        self.note(Note::ClassesChanged { port, map });
    }
    fn pause_sent(&mut self, _: Instant, port: PortId, named: PrioritySet, paused: PrioritySet) {
        self.note(Note::PauseSent { port, named, paused });
    }
    fn pause_obeyed(&mut self, _: Instant, port: PortId, paused: PrioritySet) {
        self.note(Note::PauseObeyed { port, paused });
    }
    fn storm(&mut self, _: Instant, port: PortId, class: TrafficClass, detected: bool) {
        self.note(Note::Storm { port, class, detected });
    }
}
