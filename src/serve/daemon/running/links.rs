//! Follows the links of a switch's devices in a thread: kernel interfaces go down, lose their
//! carrier, are removed and created again while a switch runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Error, Result};

use super::session::Session;
use crate::LOG;
use config::SwitchFile;
use ground::units::{BitsPerSec, PortId};
use kernel::LinkEvents;
use runtime::Device;

/// Period at which link states are read without events: the kernel reports a lost carrier up to a
/// second late.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// The thread that follows the links; dropping it ends the thread.
pub(crate) struct Links {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Links {
    /// Follows the links of `devices`, which are those of `file`, and informs `session`.
    pub(crate) fn follow(
        file: &SwitchFile,
        devices: &[Device],
        session: &Arc<Session>,
    ) -> Result<Self> {
        let stop = Arc::new(AtomicBool::new(false));
        let one = |(n, device): (usize, &Device)| Followed {
            id: PortId::new(n as u16).expect("a plan's ports have identifiers"),
            name: file.plan.ports[n].name.clone(),
            planned: file.plan.ports[n].rate,
            is_virtual: file.devices[n].is_virtual,
            device: device.clone(),
            is_gone: false,
            reported: None,
        };
        let mut followed: Vec<_> = devices.iter().enumerate().map(one).collect();
        let (session, ended) = (Arc::clone(session), Arc::clone(&stop));
        let body = move || {
            // Without events, the periodic reads alone find changes.
            let events = LinkEvents::listen().ok();
            while !ended.load(Ordering::Acquire) {
                followed.iter_mut().for_each(|one| one.update(&session));
                match &events {
                    Some(events) => events.wait(CHECK_EVERY),
                    None => thread::sleep(CHECK_EVERY),
                }
            }
        };
        let thread = thread::Builder::new().name("links".into()).spawn(body);
        Ok(Self { stop, thread: Some(thread.context("no thread for the links")?) })
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been reported, and the switch has ended already.
            let _ = thread.join();
        }
    }
}

/// The link of one device.
struct Followed {
    id: PortId,
    name: String,
    /// Rate for which the headroom of its port was calculated.
    planned: BitsPerSec,
    is_virtual: bool,
    device: Device,
    /// True if its interface was removed.
    is_gone: bool,
    /// Last reported error, so that a persistent error is reported once.
    reported: Option<String>,
}

impl Followed {
    fn update(&mut self, session: &Session) {
        let result = self.restore(session).and_then(|()| self.tell(session));
        let error = result.err().map(|error| format!("{error:#}"));
        // The same error in a row is one line, not twenty in a second.
        if let Some(error) = error.as_ref().filter(|error| self.reported.as_ref() != Some(error)) {
            tracing::error!(target: LOG, "{}: {error}", self.name);
        }
        self.reported = error;
    }

    /// Reopens an interface that was removed and created again.
    fn restore(&mut self, session: &Session) -> Result<()> {
        if !self.is_gone && !self.device.has_lost_interface() {
            return Ok(());
        }
        if !self.is_gone {
            self.is_gone = true;
            tracing::warn!(target: LOG, "{}: its network interface is gone", self.name);
        }
        // The device gets no frames while it has no interface or is being reopened.
        session.link_is(self.id, false, None)?;
        // The link state follows with the next reading, by `tell`.
        if self.device.reopen().map_err(Error::msg)? {
            self.is_gone = false;
            tracing::warn!(target: LOG, "{}: its network interface is back, and in use", self.name);
        }
        Ok(())
    }

    /// Informs the switch of a link that went up or down or has a new rate.
    fn tell(&self, session: &Session) -> Result<()> {
        let link = self.device.link();
        // The rate of a virtual device is meaningless.
        let rate = link.rate.filter(|_| !self.is_virtual);
        // Headroom was calculated for the planned rate: at a higher one the link's frames would overflow it.
        let too_fast = rate.is_some_and(|rate| rate > self.planned);
        match session.link_is(self.id, link.up && !too_fast, rate)? {
            false => {}
            true if too_fast => tracing::error!(
                target: LOG,
                "{}: the link came up faster than {}, the rate of its headroom; it is not used \
                 until it is slower, or the file has its rate",
                self.name,
                self.planned
            ),
            true => {
                let state = if link.up { "up" } else { "down" };
                tracing::warn!(target: LOG, "{}: the link went {state}", self.name);
            }
        }
        Ok(())
    }
}
