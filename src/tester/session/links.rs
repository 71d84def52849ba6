//! The links of a test's ports: what their devices say of them, and what clients want.

use super::rack::Facts;
use super::{Inner, Session, SessionError, lock};
use crate::dpdk::PortControl;

/// The link of a port.
#[derive(Debug)]
pub(super) struct Link {
    control: PortControl,
    is_virtual: bool,
    /// Whether a client wants it up.
    wanted: bool,
    /// Whether the station was told that it is up.
    told: bool,
}

impl Link {
    /// A link that is wanted, and that the station takes for up.
    pub(super) fn new(facts: Facts) -> Self {
        let Facts { control, is_virtual, .. } = facts;
        Self { control, is_virtual, wanted: true, told: true }
    }

    /// Whether it is up. The driver of the kernel's interfaces says so of all of them, so the
    /// kernel is asked.
    pub(super) fn is_up(&self) -> bool {
        self.wanted && self.control.carrier().unwrap_or_else(|| self.control.link().up)
    }
}

impl Session {
    /// Takes the links of ports down, or up again: the station sends nothing by a link that is
    /// down. A NIC takes its own down with it, if it can.
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
        }
        self.inner.follow_links()
    }
}

impl Inner {
    /// Tells stations whose links went down or came up.
    pub(super) fn follow_links(&self) -> Result<(), SessionError> {
        for port in self.all_ports() {
            let (up, rate) = {
                let mut links = lock(&self.links);
                let Some(link) = links.get_mut(port) else { return Ok(()) };
                let up = link.is_up();
                if core::mem::replace(&mut link.told, up) == up {
                    continue;
                }
                (up, if link.is_virtual { None } else { link.control.link().rate })
            };
            self.at(port, move |host, now| host.set_link(now, up, rate))?;
        }
        Ok(())
    }
}
