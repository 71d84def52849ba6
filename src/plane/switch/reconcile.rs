//! Reconciliation: applies the findings of link protocols to the switch, such as measured headroom,
//! negotiated PFC and ETS, the switch's place in the network and the kinds of its neighbours.
//!
//! A [`Reconciler`] holds the complete current plan. It is not part of the data path: the driver
//! passes it each event and a function that changes the switch, which is [`Switch::apply`] if one
//! worker has all ports, and an order to all workers otherwise. Every action is recorded as a
//! [`Step`], with its numbers.

mod negotiated;
mod step;
mod surroundings;
#[cfg(test)]
mod tests;

pub use step::{Step, StepKind};

use std::collections::VecDeque;

use super::{Change, Refused, Switch, SwitchPlan, managed};
use buffer::{GroupKind, GroupPlan};
use contracts::world::World;
use discovery::PfcResolved;
use ground::time::{Duration, Instant};
use ground::units::{Cells, PortId, PriorityGroup};
use headroom::{
    self, DelayValue, Frames, LinkEnds, MeasuredInputs, PeerDelayInputs, Reaction, Required, Shims,
    by_peer_delay, measured,
};
use link::{AutoPlan, Found, Method, News, PeerReaction};
use surroundings::NeighbourInfo;

/// Steps kept in the log.
const STEPS: usize = 256;

/// Delay before retrying a change that was refused because of held frames.
const AGAIN: Duration = Duration::from_micros(100);

/// Repetitions of a measurement in a row that must need less headroom before a port gives it back, and the
/// part of it that each must need less. What is measured by software varies from one measurement to the
/// next, and a change takes from or gives to the pool that all ports share. Choices.
const LESS_AFTER: u8 = 8;
const LESS_BY: u32 = 8;

/// Headroom found for a port.
#[derive(Clone, PartialEq, Debug)]
pub struct Headroom {
    pub found: Found,
    /// Headroom that a lossless group needs for that delay.
    pub required: Required,
    /// The same without MACsec, if MACsec is in the path.
    pub without_macsec: Option<Required>,
    /// True if the groups have it.
    pub set: bool,
}

/// See the module's head.
#[derive(Clone, Debug)]
pub struct Reconciler {
    /// The current plan.
    plan: SwitchPlan,
    /// The configured plan, to which a port reverts.
    planned: SwitchPlan,
    /// By port.
    headroom: Vec<Option<Headroom>>,
    /// By port: the required headroom of its lossless groups, and its derivation.
    wanted: Vec<Option<(Cells, String)>>,
    /// By port: number of last measurements that needed less than it has, and the most of them.
    less: Vec<Option<(u8, Headroom)>>,
    /// Ports with a change refused because of held frames, and the time to retry it.
    again: Vec<(Instant, PortId)>,
    /// By port: PFC settings to retry.
    pfc_again: Vec<Option<PfcResolved>>,
    /// Knowledge of the other ends of the links.
    neighbours: NeighbourInfo,
    /// True if objects were written and their consequences are pending.
    written: bool,
    steps: VecDeque<Step>,
    /// Total number of steps.
    steps_total: u64,
}

impl Reconciler {
    /// Creates a reconciler for a switch; `None` if no port has link protocols.
    pub fn new(plan: &SwitchPlan) -> Option<Self> {
        plan.ports.iter().any(|p| p.agents.is_some()).then(|| Self {
            plan: plan.clone(),
            planned: plan.clone(),
            headroom: vec![None; plan.ports.len()],
            wanted: vec![None; plan.ports.len()],
            less: vec![None; plan.ports.len()],
            again: Vec::new(),
            pfc_again: vec![None; plan.ports.len()],
            neighbours: NeighbourInfo::new(plan),
            written: false,
            steps: VecDeque::new(),
            steps_total: 0,
        })
    }

    /// Returns the current plan of the switch.
    pub const fn plan(&self) -> &SwitchPlan {
        &self.plan
    }

    /// Returns a port's measured headroom, if there is one.
    pub fn headroom(&self, port: PortId) -> Option<&Headroom> {
        self.headroom.get(port.index())?.as_ref()
    }

    /// Returns the latest steps, oldest first, and the number of earlier ones.
    pub fn steps(&self) -> (u64, impl Iterator<Item = &Step>) {
        (self.steps_total - self.steps.len() as u64, self.steps.iter())
    }

    /// Returns the time for the next [`Reconciler::retry`].
    pub fn next_deadline(&self) -> Instant {
        // Consequences of written objects are due at once, whenever they were written.
        if self.written {
            return Instant::ZERO;
        }
        self.again.iter().map(|(time, _)| *time).min().unwrap_or(Instant::NEVER)
    }

    /// Returns the total number of steps.
    pub const fn steps_total(&self) -> u64 {
        self.steps_total
    }

    /// Replaces the current plan after a manual change of the switch.
    pub fn adopt(&mut self, plan: &SwitchPlan) {
        // Neighbours are told only if something that they see has changed.
        self.written |= !self.has_advertised(plan);
        self.plan = plan.clone();
    }

    /// Returns true if `plan` changes nothing that is advertised to neighbours.
    pub fn has_advertised(&self, plan: &SwitchPlan) -> bool {
        self.plan.congestion == plan.congestion
    }

    /// Amends a configured change: a group whose port measures its headroom keeps the measured
    /// value. Consequences for neighbours become due at once.
    #[must_use]
    pub fn amend(&mut self, change: Change) -> Change {
        if let Change::Object { object, at, value } = change {
            let ports = self.plan.ports.len();
            // The switch refuses whatever the plan refuses.
            self.written |=
                managed::set(&mut self.plan.congestion, ports, object, at, value).is_ok();
        }
        let Change::Group { port, group, mut plan } = change else { return change };
        let was = self.plan.buffer.groups[port.index()][group.index()].kind;
        // A file states headroom for the configured length of the link; the measured one is what the link needs.
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

    /// Applies the consequences of an event of a port.
    pub fn reconcile(
        &mut self,
        now: Instant,
        port: PortId,
        news: &News,
        mut apply: impl FnMut(Change) -> Result<(), Refused>,
    ) {
        let kind = match news {
            News::Measuring(method) => StepKind::Measuring(*method),
            // Shown by the link protocols themselves: nothing follows for the switch.
            News::Neighbours => return,
            News::Again(wait) => StepKind::Again(*wait),
            News::Surroundings(heard) => {
                return self.surrounded(now, port, heard, &mut apply);
            }
            News::Failed(failure) => {
                self.record(now, port, StepKind::Failed(*failure));
                return self.fall_back(now, port, &mut apply);
            }
            News::Switched { from, to, why } => {
                let (from, to, why) = (*from, *to, *why);
                StepKind::Switched { from, to, why }
            }
            News::Negotiated(resolved) => {
                return self.negotiated(now, port, resolved, &mut apply);
            }
            News::Found(found) => {
                self.record(now, port, StepKind::Found(*found));
                if let Some(auto) = self.auto(port) {
                    let headroom = calculate_headroom(&auto, found);
                    // A repetition may find less by chance. The step is in the log all the same.
                    let Some(headroom) = self.follows(port, headroom) else { return };
                    let (need, cell) = (headroom.required.cells, auto.cell_bytes);
                    // A peer that answers late would otherwise take the buffer of all ports.
                    if need > auto.limit {
                        self.record(now, port, StepKind::Limited { need, limit: auto.limit, cell });
                    }
                    let sum = headroom.required.sum.to_string();
                    self.wanted[port.index()] = Some((need.min(auto.limit), sum));
                    self.headroom[port.index()] = Some(headroom);
                    self.set_headroom(now, port, &mut apply);
                }
                return;
            }
        };
        self.record(now, port, kind);
    }

    /// Returns the headroom that a port gets after a measurement that `found` this one: at once if it is
    /// more, or the link or a user asked for the measurement, or it is by another method. A measurement that
    /// repeats itself must find less [`LESS_AFTER`] times in a row.
    fn follows(&mut self, port: PortId, found: Headroom) -> Option<Headroom> {
        let before = self.less[port.index()].take();
        let has = self.headroom[port.index()].as_ref().filter(|has| {
            found.found.repeated && has.set && has.found.method == found.found.method
        });
        let Some(has) = has.map(|has| has.required.cells) else { return Some(found) };
        let need = found.required.cells;
        // Within an eighth it is the same delay, by timestamps of software.
        if need.0 >= has.0 - has.0 / LESS_BY {
            return (need > has).then_some(found);
        }
        let (times, most) = match before {
            // The largest of the series counts, or one short measurement would decide.
            Some((times, most)) if most.required.cells > need => (times + 1, most),
            Some((times, _)) => (times + 1, found),
            None => (1, found),
        };
        if times >= LESS_AFTER {
            return Some(most);
        }
        self.less[port.index()] = Some((times, most));
        None
    }

    /// Retries changes that were refused because of held frames, and applies the consequences of
    /// written objects.
    pub fn retry(&mut self, now: Instant, mut apply: impl FnMut(Change) -> Result<(), Refused>) {
        if core::mem::take(&mut self.written) {
            self.announce(now, &mut apply);
        }
        let due: Vec<_> = extract_if_due(&mut self.again, now);
        for port in due {
            // PFC first, which sets the headroom of the groups, too.
            match self.pfc_again[port.index()] {
                Some(pfc) => self.set_pfc(now, port, &pfc, &mut apply),
                None => self.set_headroom(now, port, &mut apply),
            }
        }
    }

    /// Handles a failed measurement: headroom beyond that for the stated length of the link is
    /// given back to the pool, as no measurement supports it any more.
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
        // Without an earlier measurement the groups have what the file states.
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

    /// Returns the groups of a port that are lossless now.
    fn lossless(&self, port: PortId) -> impl Iterator<Item = PriorityGroup> + use<> {
        let groups = self.plan.buffer.groups[port.index()];
        PriorityGroup::ALL.into_iter().filter(move |g| groups[g.index()].kind != GroupKind::Lossy)
    }

    /// Gives the lossless groups of a port their required headroom.
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
            // The thresholds for XON are configured and stay.
            let GroupKind::Lossless { headroom, xon, xon_offset } = was.kind else { continue };
            let kind = GroupKind::Lossless { headroom: need, xon, xon_offset };
            let plan = GroupPlan { kind, ..was };
            match apply(Change::Group { port, group, plan }) {
                Ok(()) => {
                    self.note_group(port, group, plan);
                    let (to, sum) = (need, sum.clone());
                    self.record(now, port, StepKind::Set { group, from: headroom, to, cell, sum });
                }
                // Frames still hold the cells; all groups of the port are tried again.
                Err(Refused::Now(_)) => {
                    self.again.push((now.saturating_add(AGAIN), port));
                    return;
                }
                Err(Refused::Never(why)) => {
                    let has = headroom;
                    self.record(now, port, StepKind::TooLittle { group, need, has, cell, why });
                    if let Some(headroom) = &mut self.headroom[port.index()] {
                        headroom.set = false;
                    }
                    return;
                }
            }
        }
        if let Some(headroom) = &mut self.headroom[port.index()] {
            // Not set if the limit cut it.
            headroom.set = need >= headroom.required.cells;
        }
    }

    fn record(&mut self, now: Instant, port: PortId, kind: StepKind) {
        if self.steps.len() == STEPS {
            self.steps.pop_front();
        }
        self.steps_total += 1;
        self.steps.push_back(Step { at: now, port, kind });
    }
}

/// Removes the entries that are due from a list of ports.
fn extract_if_due(list: &mut Vec<(Instant, PortId)>, now: Instant) -> Vec<PortId> {
    // A port may be refused again at once: its new entry must not be among those of this call.
    let due = list.iter().filter(|(at, _)| *at <= now).map(|(_, port)| *port).collect();
    list.retain(|(at, _)| *at > now);
    due
}

/// Returns the measured delay value of a port's link, with or without MACsec in the path.
pub fn delay_found(auto: &AutoPlan, found: &Found, shims: Option<Shims>) -> DelayValue {
    let ends = LinkEnds {
        rate: auto.link.rate(),
        adjustment: auto.adjustment,
        invocation: auto.invocation,
        shims,
        frames: frames_of(auto, shims),
    };
    match found.method {
        Method::RoundTrip => measured(&MeasuredInputs {
            ends,
            formula: auto.formula,
            round_trip: found.chosen,
            reaction: reaction(found, auto.link.higher_layer),
            shims_measured: found.shims,
        }),
        Method::PeerDelay => by_peer_delay(&PeerDelayInputs {
            ends,
            path: found.chosen,
            // Timestamps are taken above the MAC here, so this port's interface delay is in the
            // path.
            own_internal: Duration::ZERO,
            // A peer that does not advertise it is assumed to take timestamps at the medium.
            peer_internal: found
                .peer_internal
                .unwrap_or_else(|| auto.link.interface.delay() + auto.link.higher_layer),
        }),
    }
}

/// Returns the peer's reaction to a pause: what it says itself, or else what is `configured`.
pub fn reaction(found: &Found, configured: Duration) -> Reaction {
    match found.peer_reaction {
        Some(PeerReaction { time, from }) => Reaction::told(time, from.describe(), configured),
        None => Reaction::configured(configured),
    }
}

/// Returns the frame sizes of a port's link, with or without MACsec in the path.
const fn frames_of(auto: &AutoPlan, shims: Option<Shims>) -> Frames {
    let frames = auto.link.frames();
    if shims.is_some() { frames } else { frames.plain() }
}

/// Calculates the headroom of lossless groups of a port from a measurement.
pub fn calculate_headroom(auto: &AutoPlan, found: &Found) -> Headroom {
    let rate = auto.link.rate();
    let with = |shims: Option<Shims>| {
        let (sum, frames) = (delay_found(auto, found, shims), frames_of(auto, shims));
        headroom::required_of(sum, rate, frames, &auto.software, auto.cell_bytes)
    };
    let without_macsec = auto.shims.is_some().then(|| with(None));
    Headroom { found: *found, required: with(auto.shims), without_macsec, set: false }
}

impl<W: World> Switch<W> {
    /// Applies the findings of this switch's link protocols, if one worker has all ports.
    pub fn reconcile(&mut self, now: Instant, reconciler: &mut Reconciler) {
        if reconciler.next_deadline() <= now {
            reconciler.retry(now, |change| self.try_apply(now, change));
        }
        while let Some((port, news)) = self.next_news() {
            reconciler.reconcile(now, port, &news, |change| self.try_apply(now, change));
        }
    }

    fn try_apply(&mut self, now: Instant, change: Change) -> Result<(), Refused> {
        self.apply(now, change).map_err(|error| error.as_refused())
    }
}
