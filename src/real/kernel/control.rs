//! A port on an interface seen from other threads: its link, its counters, and its life when the interface goes and
//! comes back.

use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use contracts::port::Link;
use contracts::stats::{NicCounters, PortStats};
use ground::units::Mac;

use crate::interface::Interface;
use crate::lock::InterfaceLock;
use crate::socket::{self, Opened, SocketOptions, StepError};
use crate::sys;

/// Reason why an interface cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is none of this name.
    #[error("there is no interface {name}; `ip link` lists those of this network namespace")]
    Absent { name: String },
    /// Another process has it.
    #[error("interface {name} is in use by {by}")]
    Taken { name: String, by: String },
    /// The process has not the capability.
    #[error(
        "interface {name}: {error}; it takes the capability CAP_NET_RAW (and CAP_NET_ADMIN to take its link up or \
         down): run as root, or `setcap cap_net_raw,cap_net_admin+ep` the program"
    )]
    Permission { name: String, error: StepError },
    /// A step failed.
    #[error("interface {name}: {error}")]
    Step { name: String, error: StepError },
    /// The kernel does not tell of the interface.
    #[error("interface {name}: {error}")]
    Unknown { name: String, error: io::Error },
}

/// Counts of one port, by the thread that polls it.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) rx_frames: AtomicU64,
    pub(super) tx_frames: AtomicU64,
    /// Packets that gave no frames: too long, or with a contradiction.
    pub(super) unusable: AtomicU64,
    /// Frames that the kernel refused for good.
    pub(super) refused: AtomicU64,
}

/// What the polling thread and others share of a port.
#[derive(Debug)]
pub(super) struct Shared {
    name: String,
    options: SocketOptions,
    pub(super) counts: Counts,
    /// Index of the interface.
    index: AtomicU32,
    state: Mutex<State>,
    /// True if there is a socket in `State::renewed`.
    is_renewed: AtomicBool,
    /// True once the log has told of an unusable packet, and of a refused frame.
    told: [AtomicBool; 2],
}

#[derive(Debug)]
struct State {
    socket: Arc<OwnedFd>,
    lock: Option<InterfaceLock>,
    /// A socket on an interface that was created again, until the polling thread takes it.
    renewed: Option<Opened>,
    /// Packets that found the ring full, as far as they were read; nothing once a socket has not told.
    ring_full: Option<u64>,
    /// Frames lost by the hardware of the interface: at the start, last read, and of earlier interfaces.
    lost_base: u64,
    lost_last: u64,
    lost_past: u64,
}

/// Opens an interface.
pub(super) fn open(name: &str, options: SocketOptions) -> Result<(Arc<Shared>, Opened), OpenError> {
    let found = Interface::named(name);
    let found = found.map_err(|error| OpenError::Unknown { name: name.into(), error })?;
    let interface = found.ok_or_else(|| OpenError::Absent { name: name.into() })?;
    let (opened, lock) = open_on(&interface, &options)?;
    let state = State {
        socket: opened.socket.clone(),
        lock,
        renewed: None,
        ring_full: Some(0),
        lost_base: interface.rx_lost,
        lost_last: interface.rx_lost,
        lost_past: 0,
    };
    let shared = Shared {
        name: name.to_owned(),
        options,
        counts: Counts::default(),
        index: AtomicU32::new(interface.index),
        state: Mutex::new(state),
        is_renewed: AtomicBool::new(false),
        told: [AtomicBool::new(false), AtomicBool::new(false)],
    };
    Ok((Arc::new(shared), opened))
}

fn open_on(
    interface: &Interface,
    options: &SocketOptions,
) -> Result<(Opened, Option<InterfaceLock>), OpenError> {
    let name = || interface.name.clone();
    let taken = |by| OpenError::Taken { name: name(), by };
    let lock = InterfaceLock::take(interface).map_err(taken)?;
    let failed = |error: StepError| match error.error.kind() {
        io::ErrorKind::PermissionDenied => OpenError::Permission { name: name(), error },
        _ => OpenError::Step { name: name(), error },
    };
    Ok((socket::open(interface.index, options).map_err(failed)?, lock))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Current state of the interface; nothing if it is gone.
    fn interface(&self) -> Option<Interface> {
        Interface::numbered(self.index.load(Ordering::Relaxed)).ok().flatten()
    }

    /// True if there is a new socket for the polling thread.
    #[inline]
    pub(super) fn is_renewed(&self) -> bool {
        self.is_renewed.load(Ordering::Relaxed)
    }

    pub(super) fn take_renewed(&self) -> Option<Opened> {
        let renewed = self.state().renewed.take();
        self.is_renewed.store(false, Ordering::Relaxed);
        renewed
    }

    /// Counts a packet that gave no frames; the log has the first one's reason.
    #[cold]
    pub(super) fn unusable(&self, why: &str) {
        self.counts.unusable.fetch_add(1, Ordering::Relaxed);
        if !self.told[0].swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "sluice::kernel",
                "interface {}: a packet was dropped: {why}; more are counted as missed and as receive errors, and not told",
                self.name
            );
        }
    }

    /// Counts a frame that the kernel refused; the log has the first one's reason.
    #[cold]
    pub(super) fn refused(&self, error: &io::Error) {
        self.counts.refused.fetch_add(1, Ordering::Relaxed);
        if !self.told[1].swap(true, Ordering::Relaxed) {
            tracing::warn!(
                target: "sluice::kernel",
                "interface {}: the kernel refused to send a frame: {error} (is the interface's MTU less than that of \
                 other ports?); more are counted as transmit errors, and not told",
                self.name
            );
        }
    }
}

/// A handle on a port for threads that do not poll it.
#[derive(Clone)]
pub struct KernelControl(Arc<Shared>);

impl fmt::Debug for KernelControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KernelControl({})", self.0.name)
    }
}

impl KernelControl {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self(shared.clone())
    }

    /// Name of the interface.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub(super) fn socket(&self) -> Arc<OwnedFd> {
        self.0.state().socket.clone()
    }

    /// Address of the interface, if it has one.
    pub fn mac(&self) -> Option<Mac> {
        self.0.interface()?.mac
    }

    /// The interface as it is now; nothing while it is gone.
    pub fn interface(&self) -> Option<Interface> {
        self.0.interface()
    }

    /// The link as it is now; down while the interface is gone or not operational.
    pub fn link(&self) -> Link {
        let up = self.0.interface().is_some_and(|now| now.link);
        if up {
            // That the interface was down is an error of the next call, which the kernel would do all the same.
            sys::clear_error(&self.0.state().socket);
        }
        Link { up, rate: None, full_duplex: true }
    }

    /// Sets the interface administratively up or down, so that its peer loses the carrier.
    ///
    /// # Errors
    /// The kernel's: no such interface, or no right to.
    pub fn set_link(&self, up: bool) -> io::Result<()> {
        Interface::set_up(self.0.index.load(Ordering::Relaxed), up)
    }

    /// True if the interface is gone.
    pub fn has_lost_interface(&self) -> bool {
        self.0.interface().is_none()
    }

    /// Opens the interface of this name again, if there is one; returns whether there is. The thread that polls it
    /// goes on meanwhile.
    ///
    /// # Errors
    /// [`OpenError`]; it may be tried again.
    pub fn reopen(&self) -> Result<bool, OpenError> {
        let Some(interface) = Interface::named(&self.0.name).ok().flatten() else {
            return Ok(false);
        };
        // The lock of the interface that is gone is of another name.
        let (opened, lock) = open_on(&interface, &self.0.options)?;
        let mut state = self.0.state();
        state.read_ring();
        state.socket = opened.socket.clone();
        state.lock = lock;
        state.lost_past += state.lost_last - state.lost_base;
        (state.lost_base, state.lost_last) = (interface.rx_lost, interface.rx_lost);
        state.renewed = Some(opened);
        self.0.index.store(interface.index, Ordering::Relaxed);
        self.0.is_renewed.store(true, Ordering::Relaxed);
        Ok(true)
    }

    /// Counters since the port was opened.
    pub fn stats(&self) -> PortStats {
        let interface = self.0.interface();
        let mut state = self.0.state();
        state.read_ring();
        if let Some(interface) = interface {
            state.lost_last = interface.rx_lost.max(state.lost_base);
        }
        let by_interface = state.lost_past + state.lost_last - state.lost_base;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let Counts { rx_frames, tx_frames, unusable, refused } = &self.0.counts;
        let unusable = read(unusable);
        PortStats {
            rx_frames: read(rx_frames),
            tx_frames: read(tx_frames),
            nic: NicCounters {
                // A packet that gave no frames is lost before the switch, too: it may have been a lossless one.
                rx_missed: state.ring_full.map(|full| full + by_interface + unusable),
                rx_errors: unusable,
                // Frames without memory wait in the ring; they are lost only where it is full.
                rx_no_memory: 0,
                tx_errors: read(refused),
                tx_dropped: 0,
            },
        }
    }
}

impl State {
    fn read_ring(&mut self) {
        let full = sys::take_ring_full(&self.socket);
        self.ring_full = self.ring_full.zip(full).map(|(before, full)| before + u64::from(full));
    }
}
