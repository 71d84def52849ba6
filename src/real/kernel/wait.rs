//! Waiting for frames of several ports in the kernel, for threads that have nothing to do.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use crate::control::KernelControl;
use crate::sys;

/// Waits for a frame at one of its ports.
#[derive(Debug)]
pub struct Waiter {
    ports: Vec<KernelControl>,
    sockets: Vec<Arc<OwnedFd>>,
}

impl Waiter {
    /// A waiter for these ports.
    pub fn new(ports: Vec<KernelControl>) -> Self {
        Self { ports, sockets: Vec::new() }
    }

    /// Waits until a frame is in a ring, for at most `patience`; it may return early.
    pub fn wait(&mut self, patience: Duration) {
        // Anew each time: an interface that was created again has another socket.
        self.sockets.clear();
        self.sockets.extend(self.ports.iter().map(KernelControl::socket));
        sys::wait_readable(&self.sockets, patience);
    }
}
