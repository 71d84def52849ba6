//! From what agents found out to what the switch does about it: headroom that was measured, PFC and
//! ETS that were negotiated, the switch's place in the network and who is around it.
//!
//! A [`Settler`] knows the whole plan as it stands. It is no part of the way of frames: whoever drives
//! the switch hands it the news and a way to change the switch, which is [`Switch::apply`] where one
//! worker has all ports, and an order to all workers where there are several. Every step that it takes
//! is told as a [`Step`], with its numbers.

mod negotiated;
mod step;
mod surroundings;
#[cfg(test)]
mod tests;

pub use step::{Step, StepKind};

use std::collections::VecDeque;

use super::{Change, Switch, SwitchPlan, managed};
use crate::agents::{AutoPlan, Found, Method, News};
use crate::buffer::{GroupKind, GroupPlan};
use crate::discovery::PfcResolved;
use crate::headroom::{
    self, DelayValue, Frames, MeasuredInputs, PeerDelayInputs, Required, Shims, by_peer_delay,
    measured,
};
use crate::time::{Duration, Instant};
use crate::units::{Cells, PortId, PriorityGroup, PrioritySet};
use crate::world::World;
use surroundings::Around;

/// Steps that are kept.
const STEPS: usize = 256;

/// How long after a change was refused for what is held at the moment it is tried again.
const AGAIN: Duration = Duration::from_micros(100);

/// Why a change was not made, as whoever made it says.
#[derive(Debug)]
pub enum Refused {
    /// Because of what is held right now: it may be possible later.
    Now(String),
    /// For good.
    Never(String),
}

/// What a port's headroom came to.
#[derive(Clone, PartialEq, Debug)]
pub struct Headroom {
    /// What was measured.
    pub found: Found,
    /// What a lossless group needs by that.
    pub required: Required,
    /// The same without MACsec, where that is on the way.
    pub without_macsec: Option<Required>,
    /// Whether the groups have it.
    pub set: bool,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Settler {
    /// As the switch is now.
    plan: SwitchPlan,
    /// As it was planned: what a port goes back to.
    planned: SwitchPlan,
    /// By port.
    headroom: Vec<Option<Headroom>>,
    /// By port: the headroom that its lossless groups are to have, and the reason.
    wanted: Vec<Option<(Cells, String)>>,
    /// Ports to which something could not be done for what is held, and when to try again.
    again: Vec<(Instant, PortId)>,
    /// By port: PFC that could not be set for that.
    pfc_again: Vec<Option<PfcResolved>>,
    /// What is known of the other ends.
    around: Around,
    /// Whether objects were written since what follows from them was last done.
    written: bool,
    steps: VecDeque<Step>,
    /// Steps there were in all.
    told: u64,
}

impl Settler {
    /// For a switch as planned; nothing where no port has agents.
    #[must_use]
    pub fn new(plan: &SwitchPlan) -> Option<Self> {
        plan.ports.iter().any(|p| p.agents.is_some()).then(|| Self {
            plan: plan.clone(),
            planned: plan.clone(),
            headroom: vec![None; plan.ports.len()],
            wanted: vec![None; plan.ports.len()],
            again: Vec::new(),
            pfc_again: vec![None; plan.ports.len()],
            around: Around::new(plan),
            written: false,
            steps: VecDeque::new(),
            told: 0,
        })
    }

    /// The switch as it is now.
    #[must_use]
    pub const fn plan(&self) -> &SwitchPlan {
        &self.plan
    }

    /// What a port's headroom came to, if it finds that by itself and has done so.
    #[must_use]
    pub fn headroom(&self, port: PortId) -> Option<&Headroom> {
        self.headroom.get(port.index())?.as_ref()
    }

    /// The latest steps, the oldest first, and how many there were before them.
    pub fn steps(&self) -> (u64, impl Iterator<Item = &Step>) {
        (self.told - self.steps.len() as u64, self.steps.iter())
    }

    /// When to call [`Settler::retry`].
    #[must_use]
    pub fn next_deadline(&self) -> Instant {
        if self.written {
            return Instant::ZERO;
        }
        self.again.iter().map(|(at, _)| *at).min().unwrap_or(Instant::NEVER)
    }

    /// Steps there were in all.
    #[must_use]
    pub const fn told(&self) -> u64 {
        self.told
    }

    /// The switch is like that now: a person has changed it.
    pub fn adopt(&mut self, plan: &SwitchPlan) {
        self.written |= !self.has_told(plan);
        self.plan = plan.clone();
    }

    /// Whether nothing has changed in `plan` that neighbours are told.
    #[must_use]
    pub fn has_told(&self, plan: &SwitchPlan) -> bool {
        self.plan.congestion == plan.congestion
    }

    /// A planned change, as it is to be made: a group whose port finds its headroom by itself keeps
    /// what that came to. What else follows from it is due at once.
    #[must_use]
    pub fn amend(&mut self, change: Change) -> Change {
        if let Change::Object { object, at, value } = change {
            let ports = self.plan.ports.len();
            // What the plan refuses the switch refuses, too.
            self.written |=
                managed::set(&mut self.plan.congestion, ports, object, at, value).is_ok();
        }
        let Change::Group { port, group, mut plan } = change else { return change };
        let was = self.plan.buffer.groups[port.index()][group.index()].kind;
        if let (GroupKind::Lossless { headroom, .. }, GroupKind::Lossless { headroom: found, .. }) =
            (&mut plan.kind, was)
        {
            if self.auto(port).is_some() {
                *headroom = found;
            }
        }
        self.note_group(port, group, plan);
        Change::Group { port, group, plan }
    }

    fn note_group(&mut self, port: PortId, group: PriorityGroup, plan: GroupPlan) {
        self.plan.buffer.groups[port.index()][group.index()] = plan;
    }

    /// Does what follows from news of a port.
    pub fn settle(
        &mut self,
        now: Instant,
        port: PortId,
        news: &News,
        mut apply: impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let kind = match news {
            News::Measuring(method) => StepKind::Measuring(*method),
            News::Neighbours => return,
            News::Surroundings(heard) => {
                return self.surrounded(now, port, heard, &mut apply);
            }
            News::Failed(failure) => {
                self.tell(now, port, StepKind::Failed(*failure));
                return self.fall_back(now, port, &mut apply);
            }
            News::Negotiated(resolved) => {
                return self.negotiated(now, port, resolved, &mut apply);
            }
            News::Found(found) => {
                self.tell(now, port, StepKind::Found(*found));
                if let Some(auto) = self.auto(port) {
                    let headroom = reckon(&auto, found);
                    let (need, cell) = (headroom.required.cells, auto.cell_bytes);
                    if need > auto.limit {
                        self.tell(now, port, StepKind::Limited { need, limit: auto.limit, cell });
                    }
                    let sum = headroom.required.sum.to_string();
                    self.wanted[port.index()] = Some((need.min(auto.limit), sum));
                    self.headroom[port.index()] = Some(headroom);
                    self.set_headroom(now, port, &mut apply);
                }
                return;
            }
        };
        self.tell(now, port, kind);
    }

    /// Tries again what could not be done for what was held, and does what follows from objects that
    /// were written.
    pub fn retry(&mut self, now: Instant, mut apply: impl FnMut(Change) -> Result<(), Refused>) {
        if core::mem::take(&mut self.written) {
            self.announce(now, &mut apply);
        }
        let due: Vec<_> = self.again.extract_if_due(now);
        for port in due {
            match self.pfc_again[port.index()] {
                Some(pfc) => self.set_pfc(now, port, &pfc, &mut apply),
                None => self.set_headroom(now, port, &mut apply),
            }
        }
    }

    /// A measurement failed: what an earlier one gave beyond the stated length of the link is given back,
    /// as nothing says any more that the link is so long.
    fn fall_back(
        &mut self,
        now: Instant,
        port: PortId,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let Some(auto) = self.auto(port) else { return };
        let groups = &self.plan.buffer.groups[port.index()];
        let has_more = |group: &GroupPlan| match group.kind {
            GroupKind::Lossless { headroom, .. } => headroom > auto.stated,
            GroupKind::Lossy => false,
        };
        if self.wanted[port.index()].is_none() || !groups.iter().any(has_more) {
            return;
        }
        let why = "the stated length of the link, as it could not be measured again";
        self.wanted[port.index()] = Some((auto.stated, why.to_owned()));
        self.set_headroom(now, port, apply);
    }

    fn auto(&self, port: PortId) -> Option<AutoPlan> {
        self.plan.ports[port.index()].agents.as_ref()?.auto.clone()
    }

    /// The groups of a port that are lossless now.
    fn lossless(&self, port: PortId) -> impl Iterator<Item = PriorityGroup> + use<> {
        let groups = self.plan.buffer.groups[port.index()];
        PriorityGroup::ALL.into_iter().filter(move |g| groups[g.index()].kind != GroupKind::Lossy)
    }

    /// Gives the lossless groups of a port the headroom that was found for it.
    fn set_headroom(
        &mut self,
        now: Instant,
        port: PortId,
        apply: &mut impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let Some((need, sum)) = self.wanted[port.index()].clone() else { return };
        let cell = self.plan.buffer.cell_bytes;
        for group in self.lossless(port) {
            let was = self.plan.buffer.groups[port.index()][group.index()];
            let GroupKind::Lossless { headroom, xon, xon_offset } = was.kind else { continue };
            let kind = GroupKind::Lossless { headroom: need, xon, xon_offset };
            let plan = GroupPlan { kind, ..was };
            match apply(Change::Group { port, group, plan }) {
                Ok(()) => {
                    self.note_group(port, group, plan);
                    let (to, sum) = (need, sum.clone());
                    self.tell(now, port, StepKind::Set { group, from: headroom, to, cell, sum });
                }
                Err(Refused::Now(_)) => {
                    self.again.push((now.saturating_add(AGAIN), port));
                    return;
                }
                Err(Refused::Never(why)) => {
                    let has = headroom;
                    self.tell(now, port, StepKind::TooLittle { group, need, has, cell, why });
                    if let Some(headroom) = &mut self.headroom[port.index()] {
                        headroom.set = false;
                    }
                    return;
                }
            }
        }
        if let Some(headroom) = &mut self.headroom[port.index()] {
            headroom.set = need >= headroom.required.cells;
        }
    }

    fn tell(&mut self, now: Instant, port: PortId, kind: StepKind) {
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.told += 1;
        self.steps.push_back(Step { at: now, port, kind });
    }
}

/// What is due of a list of ports, taken out of it.
trait Due {
    fn extract_if_due(&mut self, now: Instant) -> Vec<PortId>;
}

impl Due for Vec<(Instant, PortId)> {
    fn extract_if_due(&mut self, now: Instant) -> Vec<PortId> {
        let due = self.iter().filter(|(at, _)| *at <= now).map(|(_, port)| *port).collect();
        self.retain(|(at, _)| *at > now);
        due
    }
}

/// The delay value of a port's link by a measurement, with MACsec on the way or without.
#[must_use]
pub fn delay_found(auto: &AutoPlan, found: &Found, shims: Option<Shims>) -> DelayValue {
    let rate = auto.link.rate();
    let frames = frames_of(auto, shims);
    match found.method {
        Method::RoundTrip => measured(&MeasuredInputs {
            rate,
            round_trip: found.delay.chosen,
            reaction: auto.link.higher_layer,
            invocation: auto.invocation,
            shims,
            frames,
        }),
        Method::PeerDelay => by_peer_delay(&PeerDelayInputs {
            rate,
            path: found.delay.chosen,
            // Stamps are above the MAC here, so what this port's interface adds is in the path.
            own_internal: shims.map_or(Duration::ZERO, |s| s.local),
            // A peer that does not say is taken for one that stamps at the medium.
            peer_internal: found
                .peer_internal
                .unwrap_or_else(|| auto.link.interface.delay() + auto.link.higher_layer)
                + shims.map_or(Duration::ZERO, |s| s.remote),
            frames,
        }),
    }
}

/// The frames of a port's link, with MACsec on the way or without.
const fn frames_of(auto: &AutoPlan, shims: Option<Shims>) -> Frames {
    let frames = auto.link.frames();
    if shims.is_some() { frames } else { frames.plain() }
}

/// What lossless groups of a port need by a measurement.
#[must_use]
pub fn reckon(auto: &AutoPlan, found: &Found) -> Headroom {
    let rate = auto.link.rate();
    let with = |shims: Option<Shims>| {
        let (sum, frames) = (delay_found(auto, found, shims), frames_of(auto, shims));
        headroom::required_of(sum, rate, frames, &auto.software, auto.cell_bytes)
    };
    let without_macsec = auto.shims.is_some().then(|| with(None));
    Headroom { found: *found, required: with(auto.shims), without_macsec, set: false }
}

impl<W: World> Switch<W> {
    /// Does what follows from what this switch's agents found out, where one worker has all ports.
    pub fn settle(&mut self, now: Instant, settler: &mut Settler) {
        if settler.next_deadline() <= now {
            settler.retry(now, |change| self.try_apply(now, change));
        }
        while let Some((port, news)) = self.next_news() {
            settler.settle(now, port, &news, |change| self.try_apply(now, change));
        }
    }

    fn try_apply(&mut self, now: Instant, change: Change) -> Result<(), Refused> {
        self.apply(now, change).map_err(|error| error.as_refused())
    }
}

/// The priorities as a list, for people.
pub(super) fn listed(set: PrioritySet) -> String {
    let names: Vec<_> = set.iter().map(|p| p.get().to_string()).collect();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}
