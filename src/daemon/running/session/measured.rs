//! Measurements of links that ended, and notifications for clients: what a running switch
//! remembers of both.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anyhow::Result;
use serde_json::Value;

use super::objects::table;
use super::{Session, lock};
use ground::units::PortId;
use headroom::Samples;
use headroom::measure::State;
use link::{AgentsSnapshot, AutoState, Method, News};
use report::{
    Delays, MeasuredPort, Measurements, Notification, Notifications, ObjectTable, YangSource,
    yang_tree,
};
use switch::managed::Listing;
use switch::{StepKind, SwitchPlan};

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
