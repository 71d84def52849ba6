//! Neighbours of a test's interfaces: resolution for flows, queries and pings.

use core::net::IpAddr;
use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use super::orders::SAMPLE_INTERVAL;
use super::{Inner, Session, SessionError};
use crate::plan::{FlowKind, FlowPlan};
use crate::stations::in_run;
use ground::units::Mac;
use host::FlowId;
use host::neighbours::PingState;
use host::plan::stream::StreamPlan;

/// Maximum time for a neighbour to answer before a flow that needs its address is refused. A
/// choice: three requests, a second apart.
const RESOLVE_MAX: StdDuration = StdDuration::from_millis(3_500);

/// Maximum time of a ping. The station gives up earlier.
const PING_MAX: StdDuration = StdDuration::from_secs(5);

/// The interface, the IP address and, once it is resolved, the MAC address of a neighbour.
pub type Neighbour = (String, IpAddr, Option<Mac>);

impl Session {
    /// Returns the neighbours of all interfaces.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn neighbours(&self) -> Result<Vec<Neighbour>, SessionError> {
        self.inner.neighbours()
    }

    /// Sends a ping from an interface and returns true if it was answered.
    ///
    /// # Errors
    /// [`SessionError::Ping`] if it cannot be sent, [`SessionError::Gone`].
    pub fn ping(&self, interface: &str, dst: IpAddr) -> Result<bool, SessionError> {
        let inner = &*self.inner;
        let has = |n: &usize| inner.plan.ports[*n].interfaces.iter().any(|i| i.name == interface);
        let port = inner.all_ports().find(has);
        let port = port.ok_or_else(|| SessionError::Ping(format!("no interface {interface}")))?;
        if inner.queues.of_port(port).len() > 1 {
            let why = format!("the reply to {interface} may arrive in any queue of its port");
            return Err(SessionError::Ping(why));
        }
        let port = inner.queues.first(port);
        let name = interface.to_owned();
        let number = inner.at(port, move |host, _| host.ping(&name, dst))?;
        let number = number.map_err(|error| SessionError::Ping(error.to_string()))?;
        let since = StdInstant::now();
        while since.elapsed() < PING_MAX {
            let state = move |host: &mut super::poller::Host, _| {
                host.pings().find(|ping| ping.number == number).map(|ping| ping.state)
            };
            match inner.at(port, state)? {
                Some(PingState::Waiting) => thread::sleep(SAMPLE_INTERVAL),
                Some(PingState::Answered(_)) => return Ok(true),
                Some(PingState::Lost) | None => return Ok(false),
            }
        }
        Ok(false)
    }
}

impl Inner {
    fn neighbours(&self) -> Result<Vec<Neighbour>, SessionError> {
        let all = self.at_all(self.all_queues(), |_, host, _| {
            let known = host.neighbours().map(|(name, ip, mac)| (name.to_owned(), ip, mac));
            known.collect::<Vec<_>>()
        })?;
        // The reply to a port with several queues arrives in one of them.
        let any = |queues: Vec<Vec<Neighbour>>| {
            let mut all = queues.into_iter();
            let mut port = all.next().unwrap_or_default();
            for (name, ip, mac) in all.flatten() {
                match port.iter_mut().find(|known| (&known.0, known.1) == (&name, ip)) {
                    Some(known) => known.2 = known.2.or(mac),
                    None => port.push((name, ip, mac)),
                }
            }
            port
        };
        Ok(self.queues.by_port(all, any).into_iter().flatten().collect())
    }

    /// Resolves the addresses that flows need, and writes them into their frames.
    pub(super) fn resolve(&self, which: &[FlowId]) -> Result<(), SessionError> {
        let asks = |flow: &&FlowPlan| !flow.resolve.is_empty() && which.contains(&flow.id);
        let flows = || self.plan.flows.iter().filter(asks);
        if flows().next().is_none() {
            return Ok(());
        }
        let since = StdInstant::now();
        let known = loop {
            let known: BTreeMap<_, _> = self
                .neighbours()?
                .into_iter()
                .filter_map(|(name, ip, mac)| Some(((name, ip), mac?)))
                .collect();
            let unknown = flows().find_map(|flow| {
                let is = |r: &&crate::plan::Resolve| {
                    !known.contains_key(&(r.interface.clone(), r.neighbour))
                };
                flow.resolve.iter().find(is).map(|r| (flow.name.clone(), r.clone()))
            });
            match unknown {
                None => break known,
                Some((flow, wanted)) if since.elapsed() > RESOLVE_MAX => {
                    let (neighbour, interface) = (wanted.neighbour, wanted.interface);
                    return Err(SessionError::Unresolved { flow, neighbour, interface });
                }
                // The stations repeat their requests by themselves.
                Some(_) => thread::sleep(SAMPLE_INTERVAL),
            }
        };
        for flow in flows() {
            let mut flow = flow.clone();
            for n in 0..flow.resolve.len() {
                let wanted = &flow.resolve[n];
                // The loop above ends only once all of them are known, so this index cannot fail.
                let mac = known[&(wanted.interface.clone(), wanted.neighbour)];
                flow.found(n, mac);
            }
            if let FlowKind::Stream(stream) = flow.kind {
                self.set_stream(flow.tx, &flow.rx, *stream)?;
            }
        }
        Ok(())
    }

    /// Replaces the plan of a stream from port `port` to ports `to`.
    pub(super) fn set_stream(
        &self,
        port: usize,
        to: &[usize],
        stream: StreamPlan,
    ) -> Result<(), SessionError> {
        let stream = in_run(&stream, &self.plan);
        // Receivers first: they accept frames of both plans.
        for port in to {
            let name = || self.plan.ports[*port].name.clone();
            let queues = self.queues.of_port(*port);
            let own = stream.clone();
            let done = self.at_all(queues, move |_, host, _| host.set_compared(&own))?;
            let done: Result<(), _> = done.into_iter().collect();
            done.map_err(|source| SessionError::Plan { port: name(), source })?;
        }
        let name = || self.plan.ports[port].name.clone();
        let queue = self.queues.sender(stream.id.0 as usize);
        let done = self.at(queue, move |host, _| host.set_stream(&stream))?;
        done.map_err(|source| SessionError::Plan { port: name(), source })
    }
}
