//! The links of a test's ports: the state of the device, and the state that clients set.

use std::thread;
use std::time::{Duration, Instant};

use super::devices::Facts;
use super::orders::SAMPLE_INTERVAL;
use super::poller::Host;
use super::{Inner, Session, SessionError, lock};
use contracts::stats::NicCounters;
use dpdk::PortControl;

/// Time for the kernel to make an interface operational that has a carrier: it defers that by up to a
/// second, and a busy machine by more.
const ACTIVATION_MAX: Duration = Duration::from_secs(3);

/// The link of a port.
#[derive(Debug)]
pub(super) struct Link {
    control: PortControl,
    is_virtual: bool,
    /// True if a client has set it to up.
    wanted: bool,
    /// True if the station was told that it is up.
    announced: bool,
    /// The device's counters at the start of the test, as it may have been open before.
    base: NicCounters,
}

impl Link {
    /// A link that is set to up, and up for the station.
    pub(super) fn new(facts: Facts) -> Self {
        let Facts { control, is_virtual, .. } = facts;
        let base = control.stats().nic;
        Self { control, is_virtual, wanted: true, announced: true, base }
    }

    /// Returns the frames that the device has lost since the test began.
    pub(super) fn lost(&self) -> NicCounters {
        self.control.stats().nic.since(self.base)
    }

    /// Returns true if the link is up. The driver of kernel interfaces always reports up, so the
    /// kernel is asked.
    pub(super) fn is_up(&self) -> bool {
        self.wanted && self.control.interface_link().unwrap_or_else(|| self.control.link().up)
    }
}

impl Session {
    /// Sets the links of ports down or up: the station sends nothing over a link that is down. A
    /// NIC's link is set as well, if the NIC supports it.
    ///
    /// # Errors
    /// [`SessionError::Gone`].
    pub fn set_link(&self, ports: &[usize], up: bool) -> Result<(), SessionError> {
        for port in ports {
            let failed = {
                let mut links = lock(&self.inner.links);
                let link = links.get_mut(*port).ok_or(SessionError::Gone)?;
                link.wanted = up;
                if link.is_virtual { None } else { link.control.set_link(up).err() }
            };
            if let Some(error) = failed {
                self.inner.board().warn(error.to_string());
            }
            self.inner.tell_device(*port, up)?;
        }
        self.inner.follow_links()
    }

    /// Sets the link of a port down or up, at both of its ends: an interface of the kernel is taken down,
    /// too, so that its peer loses the carrier.
    ///
    /// # Errors
    /// [`SessionError::Gone`]; inside, the reason why the device of the port has no way to do it. Nothing is
    /// changed then.
    pub fn change_link(&self, port: usize, up: bool) -> Result<Result<(), String>, SessionError> {
        {
            let mut links = lock(&self.inner.links);
            let link = links.get_mut(port).ok_or(SessionError::Gone)?;
            // Rings have no link that a driver could take down; the station and the device are told.
            if !link.is_virtual || link.control.interface().is_some() {
                if let Err(error) = link.control.set_link(up) {
                    return Ok(Err(error.to_string()));
                }
            }
            link.wanted = up;
        }
        self.inner.tell_device(port, up)?;
        self.inner.follow_links().map(Ok)
    }
}

impl Session {
    /// Returns a sentence for each port whose device has lost frames since the test began.
    #[must_use]
    pub fn device_losses(&self) -> Vec<String> {
        let links = lock(&self.inner.links);
        let mut sentences = Vec::new();
        for (port, link) in self.inner.plan.ports.iter().zip(links.iter()) {
            let (name, lost) = (&port.name, link.lost());
            if let Some(n) = lost.missed().filter(|n| *n > 0) {
                sentences.push(format!(
                    "port {name}: its device missed {n} frames, which count as lost"
                ));
            }
            if lost.unsent() > 0 {
                sentences.push(format!(
                    "port {name}: its device dropped {} frames that it was to send, which count as lost",
                    lost.unsent()
                ));
            }
        }
        sentences
    }
}

impl Inner {
    /// Waits for interfaces that have a carrier and are not operational yet, and tells the stations
    /// of their links: a flow that starts sends nothing that the kernel drops uncounted. One that
    /// stays in that state, such as a dormant one, is a link that is down.
    pub(super) fn ready_links(&self) -> Result<(), SessionError> {
        let since = Instant::now();
        let is_activating = || lock(&self.links).iter().any(|link| link.control.is_activating());
        while is_activating() && since.elapsed() < ACTIVATION_MAX {
            thread::sleep(SAMPLE_INTERVAL);
        }
        self.follow_links()
    }

    /// Tells stations about links that went down or up.
    pub(super) fn follow_links(&self) -> Result<(), SessionError> {
        // Held until the stations know: of two threads that look at once, the one that looked first
        // must not be the one that tells last.
        let mut links = lock(&self.links);
        for (port, link) in links.iter_mut().enumerate() {
            let up = link.is_up();
            if core::mem::replace(&mut link.announced, up) != up {
                let rate = if link.is_virtual { None } else { link.control.link().rate };
                let tell = move |_, host: &mut Host, now| host.set_link(now, up, rate);
                self.at_all(self.queues.of_port(port), tell)?;
            }
        }
        Ok(())
    }
}
