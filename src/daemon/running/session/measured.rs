//! Measurements of links that ended, and notifications for clients: what a running switch
//! remembers of both.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Instant as StdInstant, SystemTime};

use anyhow::Result;
use serde_json::Value;

use super::objects::table;
use super::{Session, lock};
use ground::units::PortId;
use headroom::Samples;
use headroom::measure::State;
use link::{AgentsSnapshot, AutoState, Method, News};
use report::{
    Delays, MeasuredPort, MeasurementRow, Measurements, Notification, Notifications, ObjectTable,
    YangSource, yang_tree,
};
use switch::managed::Listing;
use switch::{StepKind, SwitchPlan};

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
    told: u64,
}

impl Memory {
    pub(super) fn new() -> Self {
        Self {
            started: StdInstant::now(),
            history: VecDeque::new(),
            ended: 0,
            notifications: VecDeque::new(),
            told: 0,
        }
    }

    fn uptime_ns(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Adds a notification.
    pub(super) fn tell(&mut self, notification: Notification) {
        self.told += 1;
        let (number, at_ns) = (self.told, self.uptime_ns());
        if self.notifications.len() == KEPT {
            self.notifications.pop_front();
        }
        self.notifications.push_back(Notification { number, at_ns, ..notification });
    }

    /// Adds the end of a measurement, if `news` is one. `last` are the delays of the port's last one.
    fn ended(&mut self, port: &str, news: &News, last: Option<&Samples>) {
        let (number, at_ns) = (self.ended + 1, self.uptime_ns());
        let row = match news {
            News::Found(found) => MeasurementRow::found(number, at_ns, port, found, last),
            News::Failed(failure) => MeasurementRow::failed(number, at_ns, port, failure),
            _ => return,
        };
        self.ended = number;
        self.tell(Notification::measured(&row));
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(row);
    }

    /// Returns the notifications after number `after`.
    fn after(&self, after: u64) -> Notifications {
        let new = self.notifications.iter().filter(|one| one.number > after);
        let notifications: Vec<_> = new.cloned().collect();
        let first = notifications.first().map_or(self.told + 1, |one| one.number);
        Notifications { notifications, lost: (first - 1).saturating_sub(after), last: self.told }
    }

    /// Returns the measurements of a port, or of all; their single delays if `samples`.
    fn measurements(&self, port: Option<&str>, samples: bool) -> Measurements {
        let of = self.history.iter().filter(|row| port.is_none_or(|port| row.port == port));
        let mut measurements: Vec<_> = of.cloned().collect();
        if !samples {
            measurements.iter_mut().for_each(|row| row.samples_ps.clear());
        }
        Measurements { measurements, before: self.ended - self.history.len() as u64 }
    }
}

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
            Notification::step(port, step).into_iter().for_each(|told| memory.tell(told));
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
            let measure = agents.measure.as_ref()?;
            let headroom = reconciler.as_ref().and_then(|reconciler| {
                let cell = reconciler.plan().buffer.cell_bytes;
                let cells = reconciler.headroom(port)?.required.cells;
                Some(u64::from(cells.0) * u64::from(cell))
            });
            let last = measure.round_trip.map(|spread| {
                let delays = Delays::new(&spread, measure.uncertainty, measure.samples.as_ref());
                (Method::RoundTrip.name(), measure.rounds as u16, delays)
            });
            let counters = measure.counters.iter().collect();
            let state = state(&agents);
            Some(MeasuredPort { port: port.index(), state, last, headroom, counters })
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
        if listing == Listing::MeasurementCounters {
            let rows = measured.iter().flat_map(|measured| {
                let row =
                    |(name, n): &(&str, u64)| vec![port(measured), (*name).into(), (*n).into()];
                measured.counters.iter().map(row).collect::<Vec<_>>()
            });
            return Ok(table(name, &["port", "counter", "value"], rows.collect(), 0));
        }
        let row = |measured: &MeasuredPort| {
            let (method, rounds, delays) = measured.last.map_or((None, None, None), |last| {
                let (method, rounds, delays) = last;
                (Some(method), Some(rounds), Some(delays))
            });
            let time = |figure: fn(&Delays) -> u64| {
                // In nanoseconds, as the times of all objects.
                delays.as_ref().map_or(Value::Null, |d| (figure(d) as f64 / 1e3).into())
            };
            vec![
                port(measured),
                measured.state.into(),
                method.map_or(Value::Null, Value::from),
                rounds.map_or(Value::Null, Value::from),
                time(|d| d.min_ps),
                time(|d| d.max_ps),
                time(|d| d.chosen_ps),
                measured.headroom.map_or(Value::Null, Value::from),
            ]
        };
        Ok(table(name, &STATE, measured.iter().map(row).collect(), 0))
    }

    /// All managed objects as data of YANG modules.
    pub(super) fn yang(&self) -> Result<Value> {
        let plan = lock(&self.plan).clone();
        let snapshot = self.controller.snapshot()?.switch;
        let elapsed = std::time::Duration::from_nanos(self.controller.elapsed().as_nanos());
        let tables = self.objects(None)?.tables;
        let measured = self.measured()?;
        let history = self.measurements(None, false)?.measurements;
        Ok(yang_tree(&YangSource {
            plan: &plan,
            snapshot: &snapshot,
            since: SystemTime::now() - elapsed,
            tables: &tables,
            measured: &measured,
            history: &history,
        }))
    }
}

/// State of a port's automatic headroom, else of its measurement.
fn state(agents: &AgentsSnapshot) -> &'static str {
    match (agents.auto, agents.measure.as_ref().map(|measure| measure.state)) {
        (Some(AutoState::Down), _) | (None, Some(State::Stopped) | None) => "down",
        (Some(AutoState::Waiting(_)), _) => "waiting",
        (Some(AutoState::Measuring), _) => "measuring",
        (Some(AutoState::Found), _) => "found",
        (Some(AutoState::Failed), _) => "failed",
        (None, Some(State::Idle)) => "idle",
        (None, Some(State::Running { .. })) => "running",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::Failure;

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
        let numbers = |told: &Notifications| -> Vec<u64> {
            told.notifications.iter().map(|one| one.number).collect()
        };
        let told = memory.after(0);
        assert_eq!((numbers(&told), told.lost, told.last), (vec![1, 2, 3], 0, 3));
        assert_eq!(numbers(&memory.after(2)), [3]);
        let told = memory.after(3);
        assert_eq!((numbers(&told), told.lost, told.last), (vec![], 0, 3));
        let many = self::memory(KEPT as u64 + 5);
        let told = many.after(2);
        assert_eq!((told.notifications.len(), told.lost), (KEPT, 3));
        assert_eq!((many.after(7).lost, many.after(u64::MAX).lost), (0, 0));
    }
}
