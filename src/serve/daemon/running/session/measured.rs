//! Measurements of links that ended, and notifications for clients: what a running switch
//! remembers of both.

use std::collections::BTreeMap;
use std::time::SystemTime;

use anyhow::Result;
use serde_json::Value;

use super::objects::table;
use super::{Session, lock};
use ground::units::PortId;
use headroom::{Samples, measure, peer_delay};
use link::{AgentsSnapshot, AutoState, Found, Method, News};
use report::{
    Delays, MeasuredBy, MeasuredPort, Measurements, Notification, Notifications, ObjectTable,
    YangSource, yang_tree,
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
    let of = |method, state, found: Option<Found>, samples: Option<&Samples>, counters| {
        let used = agents.auto.filter(|(_, used)| *used == method);
        let delays = |found: Found| Delays::new(&found.delay, found.uncertainty, samples);
        MeasuredBy {
            method: Method::name(method),
            state: used.map_or(state, |(state, _)| auto_state(state)),
            last: found.map(|found| (found.rounds, delays(found))),
            headroom: headroom.filter(|(by, _)| *by == method).map(|(_, octets)| octets),
            counters,
        }
    };
    let round_trip = agents.measure.as_ref().map(|m| {
        let counters = m.counters.iter().collect();
        of(Method::RoundTrip, round_trip_state(m.state), m.found, m.samples.as_ref(), counters)
    });
    let path = agents.path_delay.as_ref().map(|p| {
        let counters = p.counters.iter().collect();
        of(Method::PeerDelay, path_state(p.state), p.found, p.samples.as_ref(), counters)
    });
    let mut all: Vec<_> = [round_trip, path].into_iter().flatten().collect();
    let used = agents.auto.map_or(Method::RoundTrip, |(_, method)| method).name();
    all.sort_by_key(|by| by.method != used);
    all
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

const fn round_trip_state(state: measure::State) -> &'static str {
    match state {
        measure::State::Stopped => "down",
        measure::State::Idle => "idle",
        measure::State::Failed => "failed",
        measure::State::Running { .. } => "running",
    }
}

const fn path_state(state: peer_delay::State) -> &'static str {
    match state {
        peer_delay::State::Stopped => "down",
        peer_delay::State::Idle => "idle",
        peer_delay::State::Failed => "failed",
        peer_delay::State::Running(_) => "running",
    }
}
