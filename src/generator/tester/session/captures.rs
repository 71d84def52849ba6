//! Captures of a test: started and stopped per port, kept until the next start, written to files.

use std::sync::Arc;

use super::poller::{Host, tapped_port};
use super::{Inner, Session, SessionError, lock};
use crate::capture::{About, CAPTURE_BYTES, Capture, CaptureCounters, write_some};
use host::FlowId;

/// The finished captures of a test, by port.
#[derive(Debug, Default)]
pub(super) struct Captures {
    pub(super) ended: Vec<Option<Arc<Capture>>>,
}

impl Session {
    /// Starts empty captures at ports, or stops them. Ports without a capture in the plan are
    /// ignored.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn capture(&self, ports: &[usize], start: bool) -> Result<(), SessionError> {
        let inner = &*self.inner;
        for port in ports {
            let plan = &inner.plan.ports[*port];
            let Some(wanted) = &plan.capture else { continue };
            let before = if start {
                let both = plan.location.capture_tx;
                let capture = Box::new(Capture::new(wanted, both, CAPTURE_BYTES));
                inner.at(inner.queues.first(*port), move |host, _| {
                    tapped_port(host).tap.start(capture)
                })?;
                None
            } else {
                match inner.at(inner.queues.first(*port), |host, _| tapped_port(host).tap.stop())? {
                    Some(ended) => Some(Arc::from(ended)),
                    // It was stopped before; its capture stays.
                    None => continue,
                }
            };
            lock(&inner.captures).ended[*port] = before;
        }
        Ok(())
    }

    /// Returns the finished capture of a port.
    ///
    /// # Errors
    /// [`SessionError::NoCapture`].
    pub fn recorded(&self, port: usize) -> Result<Arc<Capture>, SessionError> {
        let none = || SessionError::NoCapture(self.inner.plan.ports[port].name.clone());
        lock(&self.inner.captures).ended[port].clone().ok_or_else(none)
    }

    /// Returns the capture of a port as a file: frames from number `first` on, counted from 0,
    /// and at most `count` of them. A running capture is copied, which delays polls of the port,
    /// so it should be stopped first.
    ///
    /// # Errors
    /// [`SessionError::NoCapture`], [`SessionError::Gone`].
    pub fn captured(&self, port: usize, first: u64, count: u64) -> Result<Vec<u8>, SessionError> {
        let inner = &*self.inner;
        let plan = &inner.plan.ports[port];
        let none = || SessionError::NoCapture(plan.name.clone());
        let wanted = plan.capture.as_ref().ok_or_else(none)?;
        let copy = |host: &mut Host, _| tapped_port(host).tap.capture().cloned();
        let capture = match inner.at(inner.queues.first(port), copy)? {
            Some(capture) => Arc::new(capture),
            None => lock(&inner.captures).ended[port].clone().ok_or_else(none)?,
        };
        let stamps = self.stamps()?;
        let stamps = format!(
            "Time stamps are those of the poll that found a frame or handed it over ({}), good to \
             {:.0} ns.",
            stamps.source, stamps.uncertainty_ns
        );
        let name = |id: FlowId| {
            let flow = inner.plan.flows.get(id.0 as usize);
            flow.map(|flow| flow.name.as_str())
        };
        let about = About {
            port: &plan.name,
            location: &plan.location.text,
            rate: Some(inner.rates[port]),
            stamps: &stamps,
            zero: inner.zero,
            flow: &name,
        };
        let mut file = Vec::new();
        write_some(&capture, wanted.format, &about, (first, count), &mut file)
            .expect("memory takes all that is written");
        Ok(file)
    }
}

impl Inner {
    /// Returns for each port if a capture is running, and its counters.
    pub(super) fn capture_counters(&self) -> Result<Vec<(bool, CaptureCounters)>, SessionError> {
        let now = self
            .at_all(self.all_ports().map(|port| self.queues.first(port)), |_, host, _| {
                tapped_port(host).tap.captured()
            })?;
        let captures = lock(&self.captures);
        let of = |(going_on, ended): (Option<CaptureCounters>, &Option<Arc<Capture>>)| {
            let had = ended.as_ref().map(|capture| capture.counters());
            (going_on.is_some(), going_on.or(had).unwrap_or_default())
        };
        Ok(now.into_iter().zip(&captures.ended).map(of).collect())
    }
}
