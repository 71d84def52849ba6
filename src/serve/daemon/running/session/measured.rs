//! Measurements of links that ended, and notifications for clients: what a running switch
//! remembers of both.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Instant as StdInstant, SystemTime};

use anyhow::Result;
use ground::units::PortId;
use headroom::Samples;
use headroom::measure::State;
use link::{AgentsSnapshot, AutoState, Found, MeasureSnapshot, Method, News};
use report::{
    Delays, MeasuredBy, MeasuredPort, MeasurementRow, Measurements, Notification, Notifications,
    ObjectTable, YangSource, yang_tree,
};
use serde_json::Value;
use switch::managed::Listing;
use switch::{StepKind, SwitchPlan};

use super::objects::table;
use super::{Session, lock};

/// Delays of the last measurement by a method.
fn samples(agents: &AgentsSnapshot, method: Method) -> Option<&Samples> {
    match method {
        Method::RoundTrip => agents.measure.as_ref()?.samples.as_ref(),
        Method::PeerDelay => agents.path_delay.as_ref()?.samples.as_ref(),
    }
}

impl Session {
    /// Remembers the news of ports, and the steps that followed from them.
    pub(super) fn remember(
        &self,
        plan: &SwitchPlan,
        news: &[(PortId, News)],
        steps: &[(String, StepKind)],
    ) {
        let found = news.iter().any(|(_, news)| matches!(news, News::Found(_)));
        // Without an answer of the workers the single delays are unknown.
        let agents =
            if found { self.controller.agents().unwrap_or_default() } else { BTreeMap::new() };
        let mut memory = lock(&self.memory);
        for (port, step) in steps {
            Notification::step(port, step)
                .into_iter()
                .for_each(|notification| memory.tell(notification));
        }
        for (port, news) in news {
            let last = match news {
                News::Found(found) => agents.get(port).and_then(|of| samples(of, found.method)),
                _ => None,
            };
            memory.ended(&plan.ports[port.index()].name, news, last);
        }
    }

    /// Returns the measurements of a port, or of all.
    pub(super) fn measurements(&self, port: Option<&str>, samples: bool) -> Result<Measurements> {
        let port = port.map(|name| self.port(name)).transpose()?;
        let name = port.map(|port| lock(&self.plan).ports[port.index()].name.clone());
        Ok(lock(&self.memory).measurements(name.as_deref(), samples))
    }

    pub(super) fn notifications(&self, after: u64) -> Notifications {
        lock(&self.memory).after(after)
    }

    /// State, last result and counters of the measurement of each link.
    pub(super) fn measured(&self) -> Result<Vec<MeasuredPort>> {
        let agents = self.controller.agents()?;
        let reconciler = self.reconciler.as_ref().map(lock);
        let port = |(port, agents): (PortId, AgentsSnapshot)| {
            let headroom = reconciler.as_ref().and_then(|reconciler| {
                let cell = reconciler.plan().buffer.cell_bytes;
                let headroom = reconciler.headroom(port)?;
                let octets = u64::from(headroom.required.cells.0) * u64::from(cell);
                Some((headroom.found.method, octets))
            });
            let methods = methods(&agents, headroom);
            (!methods.is_empty()).then_some(MeasuredPort { port: port.index(), methods })
        };
        Ok(agents.into_iter().filter_map(port).collect())
    }

    /// The measurement of each link as tables among the managed objects.
    pub(super) fn measured_table(
        &self,
        plan: &SwitchPlan,
        listing: Listing,
    ) -> Result<ObjectTable> {
        const STATE: [&str; 8] =
            ["port", "state", "method", "rounds", "min", "max", "chosen", "headroom"];
        let name = listing.place().0;
        let port = |measured: &MeasuredPort| Value::from(plan.ports[measured.port].name.as_str());
        let measured = self.measured()?;
        let all = measured.iter().flat_map(|port| port.methods.iter().map(move |of| (port, of)));
        // Counters have a row each, since the methods have different ones.
        if listing == Listing::MeasurementCounters {
            let rows = all.flat_map(|(measured, of)| {
                let row = |(name, n): &(&str, u64)| {
                    vec![port(measured), of.method.into(), (*name).into(), (*n).into()]
                };
                of.counters.iter().map(row).collect::<Vec<_>>()
            });
            let columns = ["port", "method", "counter", "value"];
            return Ok(table(name, &columns, rows.collect(), 0));
        }
        let row = |(measured, of): (&MeasuredPort, &MeasuredBy)| {
            let time = |figure: fn(&Delays) -> u64| {
                // In nanoseconds, as the times of all objects.
                let delays = of.last.as_ref();
                delays.map_or(Value::Null, |(_, delays)| (figure(delays) as f64 / 1e3).into())
            };
            vec![
                port(measured),
                of.state.into(),
                of.method.into(),
                of.last.map_or(Value::Null, |(rounds, _)| rounds.into()),
                time(|d| d.min_ps),
                time(|d| d.max_ps),
                time(|d| d.chosen_ps),
                of.headroom.map_or(Value::Null, Value::from),
            ]
        };
        Ok(table(name, &STATE, all.map(row).collect(), 0))
    }

    /// All managed objects as data of YANG modules.
    pub(super) fn yang(&self) -> Result<Value> {
        let plan = lock(&self.plan).clone();
        let snapshot = self.controller.snapshot()?.switch;
        // Counters are from the start, or from the last clear.
        let elapsed = std::time::Duration::from_nanos(self.controller.elapsed().as_nanos());
        let tables = self.objects(None)?.tables;
        let measured = self.measured()?;
        let history = self.measurements(None, false)?.measurements;
        Ok(yang_tree(&YangSource {
            plan: &plan,
            snapshot: &snapshot,
            since: SystemTime::now() - elapsed,
            hardware_pfc: &self.hardware_pfc,
            tables: &tables,
            measured: &measured,
            history: &history,
        }))
    }
}

/// State, last result and counters of each method that a port measures or answers by, the one that headroom
/// uses first. `headroom` is what a lossless group needs by the method that found it.
fn methods(agents: &AgentsSnapshot, headroom: Option<(Method, u64)>) -> Vec<MeasuredBy> {
    let round_trip = agents
        .measure
        .as_ref()
        .map(|m| measured_by(agents, headroom, Method::RoundTrip, m, m.counters.iter().collect()));
    let path = agents
        .path_delay
        .as_ref()
        .map(|p| measured_by(agents, headroom, Method::PeerDelay, p, p.counters.iter().collect()));
    let mut all: Vec<_> = [round_trip, path].into_iter().flatten().collect();
    let used = agents.auto.map_or(Method::RoundTrip, |(_, method)| method).name();
    // A stable sort: `false` comes first.
    all.sort_by_key(|by| by.method != used);
    all
}

fn measured_by<C>(
    agents: &AgentsSnapshot,
    headroom: Option<(Method, u64)>,
    method: Method,
    snapshot: &MeasureSnapshot<C>,
    counters: Vec<(&'static str, u64)>,
) -> MeasuredBy {
    // The state of the method in use includes waits and failures that the machine itself does not know.
    let used = agents.auto.filter(|(_, used)| *used == method);
    let delays = |found: Found| Delays::new(&found, snapshot.samples.is_some());
    MeasuredBy {
        method: Method::name(method),
        state: used.map_or_else(|| state(snapshot.state), |(state, _)| auto_state(state)),
        last: snapshot.found.map(|found| (found.rounds, delays(found))),
        headroom: headroom.filter(|(by, _)| *by == method).map(|(_, octets)| octets),
        counters,
    }
}

const fn auto_state(state: AutoState) -> &'static str {
    match state {
        AutoState::Down => "down",
        AutoState::Waiting(_) => "waiting",
        AutoState::Measuring => "measuring",
        AutoState::Found => "found",
        AutoState::Failed => "failed",
    }
}

const fn state(state: State) -> &'static str {
    match state {
        State::Stopped => "down",
        State::Idle => "idle",
        State::Failed => "failed",
        State::Running { .. } => "running",
    }
}

/// Measurements that are kept of all ports.
const HISTORY: usize = 256;

/// Notifications that are kept for clients that ask later.
const KEPT: usize = 1_024;

/// Memory of a running switch.
pub(super) struct Memory {
    started: StdInstant,
    history: VecDeque<MeasurementRow>,
    /// Measurements that ended.
    ended: u64,
    notifications: VecDeque<Notification>,
    /// Notifications so far.
    total: u64,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self {
            started: StdInstant::now(),
            history: VecDeque::new(),
            ended: 0,
            notifications: VecDeque::new(),
            total: 0,
        }
    }

    fn uptime_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub(super) fn tell(&mut self, notification: Notification) {
        self.total += 1;
        let (number, at_ns) = (self.total, self.uptime_ns());
        if self.notifications.len() == KEPT {
            self.notifications.pop_front();
        }
        self.notifications.push_back(Notification { number, at_ns, ..notification });
    }

    /// Adds the end of a measurement, if `news` is one. `last` are the delays of the port's last one.
    pub(super) fn ended(&mut self, port: &str, news: &News, last: Option<&Samples>) {
        let (number, at_ns) = (self.ended + 1, self.uptime_ns());
        let row = match news {
            News::Found(found) => MeasurementRow::found(number, at_ns, port, found, last),
            News::Failed(failure) => MeasurementRow::failed(number, at_ns, port, failure),
            _ => return,
        };
        // Only events that end a measurement have a number.
        self.ended = number;
        self.tell(Notification::measured(&row));
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(row);
    }

    /// Returns the notifications after number `after`.
    pub(super) fn after(&self, after: u64) -> Notifications {
        let new = self.notifications.iter().filter(|one| one.number > after);
        let notifications: Vec<_> = new.cloned().collect();
        // Numbers have no gaps: what is missing before the first kept one is lost.
        let first = notifications.first().map_or(self.total + 1, |one| one.number);
        Notifications { notifications, lost: (first - 1).saturating_sub(after), last: self.total }
    }

    /// Returns the measurements of a port, or of all; their single delays if `samples`.
    pub(super) fn measurements(&self, port: Option<&str>, samples: bool) -> Measurements {
        let of_port = self.history.iter().filter(|row| port.is_none_or(|port| row.port == port));
        let mut measurements: Vec<_> = of_port.cloned().collect();
        // Single delays may be thousands; clients ask for them explicitly.
        if !samples {
            measurements.iter_mut().for_each(|row| row.samples_ps.clear());
        }
        Measurements { measurements, before: self.ended - self.history.len() as u64 }
    }
}

#[cfg(test)]
mod tests {
    use link::Failure;

    use super::*;

    fn memory(ended: u64) -> Memory {
        let mut memory = Memory::new();
        for n in 0..ended {
            let port = if n % 2 == 0 { "a" } else { "b" };
            memory.ended(port, &News::Failed(Failure::PeerCannot), None);
        }
        memory
    }

    #[test]
    fn the_latest_measurements_are_kept_and_the_others_counted() {
        let memory = memory(HISTORY as u64 + 10);
        let all = memory.measurements(None, false);
        assert_eq!((all.measurements.len(), all.before), (HISTORY, 10));
        assert_eq!(all.measurements[0].number, 11);
        let of_a = memory.measurements(Some("a"), false).measurements;
        assert!(of_a.len() == HISTORY / 2 && of_a.iter().all(|row| row.port == "a"));
    }

    #[test]
    fn a_client_gets_each_notification_once_and_is_told_of_lost_ones() {
        let mut memory = memory(3);
        memory.ended("a", &News::Neighbours, None);
        let numbers = |found: &Notifications| -> Vec<u64> {
            found.notifications.iter().map(|one| one.number).collect()
        };
        let found = memory.after(0);
        assert_eq!((numbers(&found), found.lost, found.last), (vec![1, 2, 3], 0, 3));
        assert_eq!(numbers(&memory.after(2)), [3]);
        let found = memory.after(3);
        assert_eq!((numbers(&found), found.lost, found.last), (vec![], 0, 3));
        let many = self::memory(KEPT as u64 + 5);
        let found = many.after(2);
        assert_eq!((found.notifications.len(), found.lost), (KEPT, 3));
        assert_eq!((many.after(7).lost, many.after(u64::MAX).lost), (0, 0));
    }
}
