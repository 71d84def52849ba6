//! Everything that one worker keeps of one of its ports.

use super::congested::Placed;
use super::plan::PortPlan;
use super::shortcut::Shortcuts;
use super::staging::Staging;
use crate::agents::PortAgents;
use crate::buffer::{Charge, SharedLimit};
use crate::congestion::EcnPlan;
use crate::congestion::isolation::Hold;
use crate::frame::Burst;
use crate::pfc::{FlowControl, Receiver, Sender, StormAction, Watchdog};
use crate::port::Port;
use crate::schedule::{Scheduler, Shaper};
use crate::stats::PortCounters;
use crate::time::Instant;
use crate::units::{BitsPerSec, Bytes, PRIORITIES, PortId, Priority, PrioritySet, TrafficClass};
use crate::wire::mac_control;
use crate::world::World;

/// A frame in an egress queue with what it holds.
#[derive(Debug)]
pub(super) struct Queued<F> {
    pub(super) frame: F,
    pub(super) charge: Charge,
    pub(super) ingress: PortId,
    /// Whether CE was set on it here.
    pub(super) marked: bool,
    /// What it waits for at the head of its queue.
    pub(super) hold: Hold,
}

impl<F> Queued<F> {
    #[inline]
    pub(super) fn new(frame: F, charge: Charge, ingress: PortId, placed: Placed) -> Self {
        let Placed { hold, marked, .. } = placed;
        Self { frame, charge, ingress, marked, hold }
    }
}

/// The state of one port.
pub(super) struct PortState<W: World> {
    pub(super) id: PortId,
    pub(super) port: W::Port,
    pub(super) up: bool,
    pub(super) rate: BitsPerSec,
    pub(super) scheduler: Scheduler,
    pub(super) shaper: Option<Shaper>,
    pub(super) limits: [SharedLimit; PRIORITIES],
    /// Control frames that the port has not taken yet; they go before everything else.
    pub(super) control: Burst<W::Frame>,
    /// Frames that left the queues, or never joined one, and that the port has not taken yet.
    pub(super) staged: Staging<W::Frame>,
    /// The priorities whose frames need not join an empty queue: nothing there looks at it.
    pub(super) direct: PrioritySet,
    /// The priorities whose pauses stop congesting classes: frames of whichever flow join a queue then.
    pub(super) guards: PrioritySet,
    /// Whether frames that never wait go uncharged too: the port obeys no pauses either.
    pub(super) straight: bool,
    /// What was decided for the last frames that came in here.
    pub(super) shortcuts: Shortcuts,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// The pause that the last poll received: it arrived some time after that poll's `now`, so it
    /// is dated again by the next one, and never ends before its time.
    pub(super) undated: Option<mac_control::Repr>,
    pub(super) watchdog: Watchdog,
    pub(super) agents: Option<Box<PortAgents>>,
    /// When they have something to do, as of when they last did something: never where there are
    /// none. What it is found from lies in so many places that a poll should not look there.
    pub(super) agents_due: Instant,
    /// When the proxy has a pause to send here: never where there is none.
    pub(super) proxy_due: Instant,
    /// When the last burst was found, where that matters to agents.
    pub(super) found_at: Instant,
    /// When a driver that polls ports by their deadlines was told to look at this one again.
    pub(super) deadline: Instant,
    pub(super) counters: PortCounters,
}

impl<W: World> PortState<W> {
    pub(super) fn new(id: PortId, port: W::Port, plan: &PortPlan, shortcuts: usize) -> Self {
        let agents = plan.agents.as_ref();
        let agents = agents.map(|agents| Box::new(PortAgents::new(agents, port.stamps())));
        let agents_due = agents.as_ref().map_or(Instant::NEVER, |agents| agents.next_deadline());
        Self {
            id,
            port,
            up: true,
            rate: plan.rate,
            scheduler: Scheduler::new(&plan.schedule),
            shaper: plan
                .shaped
                .then(|| Shaper::new(plan.rate, plan.schedule.shaper_burst, plan.protected_line())),
            limits: plan.queue_limits,
            control: Burst::new(),
            staged: Staging::new(),
            direct: direct(plan),
            guards: PrioritySet::EMPTY,
            straight: obeys_nothing(plan.pfc.mode),
            shortcuts: Shortcuts::new(shortcuts),
            sender: Sender::new(plan.pfc, plan.rate),
            receiver: Receiver::new(plan.pfc.mode, plan.rate),
            undated: None,
            watchdog: Watchdog::new(&plan.watchdog),
            agents,
            agents_due,
            proxy_due: Instant::NEVER,
            found_at: Instant::ZERO,
            deadline: Instant::ZERO,
            counters: PortCounters::default(),
        }
    }

    /// Whether a frame of `priority` that comes now would be sent at the end of this poll: nothing
    /// is queued before it, the port is not shaped, and the peer has not paused it.
    #[inline]
    pub(super) fn is_idle_for(&mut self, now: Instant, priority: Priority) -> bool {
        self.direct.contains(priority)
            && self.up
            && self.scheduler.is_empty()
            && !self.staged.is_full()
            && !self.watchdog.any_stormed()
            && self.receiver.paused(now).0 & (PrioritySet::of(priority).0 | self.guards.0) == 0
    }

    /// Frames that left the queues but have not been taken by the port.
    pub(super) fn in_hand(&self) -> usize {
        self.control.len() + self.staged.len()
    }

    /// Whether the link is free for a frame to start.
    #[inline]
    pub(super) fn link_free(&self, now: Instant) -> bool {
        self.shaper.as_ref().is_none_or(|s| s.ready(now))
    }

    /// Takes note that a frame starts on the line now.
    #[inline]
    pub(super) fn occupy_link(&mut self, now: Instant, wire_len: u32) {
        if let Some(shaper) = &mut self.shaper {
            shaper.charge(now, wire_len);
        }
    }

    /// Its agents were told something, or did something.
    pub(super) fn note_agents(&mut self) {
        let agents = self.agents.as_ref();
        self.agents_due = agents.map_or(Instant::NEVER, |agents| agents.next_deadline());
    }

    /// The priorities that may not send now: those the peer paused, less those whose queue is
    /// stormed and whose watchdog ignores pauses.
    #[inline]
    pub(super) fn held_back(
        &mut self,
        now: Instant,
        of_class: impl Fn(TrafficClass) -> PrioritySet,
    ) -> PrioritySet {
        let mut paused = self.receiver.paused(now);
        if !paused.is_empty() && self.watchdog.any_stormed() {
            for class in TrafficClass::ALL {
                if self.watchdog.action(class) == Some(StormAction::Forward) {
                    paused = PrioritySet(paused.0 & !of_class(class).0);
                }
            }
        }
        paused
    }

    /// When this port has something to do though no frame arrives.
    pub(super) fn next_deadline(&self, now: Instant) -> Instant {
        let mut at = self.watchdog.next_deadline();
        let pause = self.sender.due(now).is_some();
        let busy = !self.link_free(now);
        if busy && (pause || !self.scheduler.is_empty()) {
            at = at.min(self.shaper.as_ref().map_or(Instant::NEVER, Shaper::free_at));
        }
        // A pause that is due waits for the line, and not for the time at which it was due.
        if !(busy && pause) {
            at = at.min(self.sender.next_deadline());
        }
        // So do a frame of an agent and a pause of the proxy.
        let free = self.shaper.as_ref().map_or(Instant::ZERO, Shaper::free_at);
        // It waits for the link, too, and for what stands before it.
        let says = self.up && self.control.is_empty();
        let due = self.agents_due.min(if says { self.proxy_due } else { Instant::NEVER });
        at = at.min(if busy { due.max(free) } else { due });
        // The end of a pause lets a frame go that waits. Where none does nothing happens then, and
        // nobody asks the receiver, which would go on to name a time that has passed.
        if self.scheduler.is_empty() { at } else { at.min(self.receiver.next_deadline()) }
    }
}

pub(super) fn obeys_nothing(mode: FlowControl) -> bool {
    match mode {
        FlowControl::Off => true,
        FlowControl::Pfc { obey, .. } => obey.is_empty(),
        FlowControl::Pause { obey, .. } => !obey,
    }
}

/// See [`PortState::direct`].
fn direct(plan: &PortPlan) -> PrioritySet {
    let of = |p: &Priority| {
        let class = plan.classify.class[p.index()].index();
        plan.queue_limits[class] == SharedLimit::Unlimited
            && plan.ecn[class].is_none_or(|ecn| passes_empty_queues(&ecn))
    };
    if plan.shaped { PrioritySet::EMPTY } else { Priority::ALL.into_iter().filter(of).collect() }
}

/// Whether a marking curve lets every frame pass that meets an empty queue.
pub(super) fn passes_empty_queues(plan: &EcnPlan) -> bool {
    plan.kmin > Bytes(0)
}
