//! A test in the real world: its ports are opened, and a station on each is polled by dedicated
//! threads.
//!
//! - **Stations**: one for each queue of each port (see `queues`).
//! - **Threads** poll one or several stations each; there are never more threads than CPUs,
//!   because a thread that waits for its CPU obeys no pause. The two ends of a pair in memory
//!   share a thread.
//! - **Orders** are sent to a thread over a channel that it checks at intervals; the sender waits
//!   for the reply, never the thread.
//! - **One epoch** for all flows that start together, slightly in the future, so that every
//!   thread knows it before it comes.
//! - **A flow has stopped** when its last frame has arrived, or when no frame of it has arrived
//!   for [`GRACE`]: frames still in flight then count as lost.
//!
//! Time is the processor's counter, except in a test with all ports in memory (see `poller`).

mod board;
mod devices;
mod in_process;
mod links;
mod neighbours;
mod open;
mod orders;
mod poller;
mod queues;
mod reports;
mod sampling;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

pub use board::GRACE;
pub use devices::interface_device;
pub use in_process::{Device, DevicePlan, DeviceSwitch};
pub use neighbours::Neighbour;
pub use open::{Bench, Prepared};
pub use poller::DEVICE_SPAN;

use super::capture::Tap;
use super::plan::TestPlan;
use board::Board;
use devices::Want;
use dpdk::SourcePort;
use ground::time::Instant;
use ground::units::BitsPerSec;
use host::{PlanError, Spares};
use links::Link;
use orders::Captures;
use poller::{Order, Shared};
use queues::Queues;
use runtime::Disturbance;
use runtime::poll_threads::{NoAnswer, NotStarted, Orders, PollThreads};
use secure::SecyError;

/// The port of a station.
pub(super) type TappedPort = Tap<SourcePort>;

/// The polling threads; at its end each returns its queues, each with its number in the test.
type PollerThreads = PollThreads<Vec<(usize, TappedPort)>>;

/// The reason why a test cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A missing device, missing memory or missing rights.
    #[error(transparent)]
    Dpdk(#[from] dpdk::Error),
    /// A station's plan is inconsistent.
    #[error("port {port}: {source}")]
    Plan { port: String, source: PlanError },
    /// The MACsec of a port is inconsistent.
    #[error("port {port}: {source}")]
    Secy { port: String, source: SecyError },
    /// The rate of layer 1 is not that of the link.
    #[error(
        "port {port}: its link runs at {link} b/s, and layer 1 asks for {asked}; leave the speed \
         out, or set the link to it"
    )]
    Speed {
        port: String,
        /// The configured rate.
        asked: u64,
        /// The rate of the link.
        link: u64,
    },
    /// A part of the test needs a port with one queue.
    #[error("location {location}: {why}; leave out `queues={queues}`")]
    Queues {
        location: String,
        /// The configured number of queues.
        queues: u16,
        why: &'static str,
    },
    /// Two ports have the same location.
    #[error("ports {0} and {1} are at the same location")]
    SamePlace(String, String),
    /// A neighbour that a flow needs did not answer.
    #[error(
        "flow {flow}: {neighbour} did not answer on {interface}, so its frames have no destination \
         address; check the link and the gateway, or give the flow an address"
    )]
    Unresolved {
        flow: String,
        /// The IP address to resolve.
        neighbour: core::net::IpAddr,
        /// The interface that sent the requests.
        interface: String,
    },
    /// Frames that became longer than the ports were opened for.
    #[error(
        "flow {flow}: frames of {asked} octets are longer than its ports were opened for, \
         {longest}; set the whole configuration again, or a larger mtu in layer1 at first"
    )]
    Longer {
        flow: String,
        /// The configured length.
        asked: u32,
        /// The maximum length.
        longest: u32,
    },
    /// The device in the process of the test is inconsistent.
    #[error("device: {0}")]
    Device(String),
    #[error("nothing was captured on port {0}; start a capture on it first")]
    NoCapture(String),
    #[error("{0}")]
    Ping(String),
    /// The threads of the test did not run for so long that their counters cannot be read.
    #[error("{0}: the test's threads were not run, so there is no answer from them")]
    Starved(Disturbance),
    /// A thread of the test was not preempted and did not reply.
    #[error("a thread of the test has not answered for {} s although it runs", .0.as_secs())]
    Silent(Duration),
    #[error("a thread of the test ended early; the reason is in the messages before")]
    Gone,
    /// A polling thread cannot be created.
    #[error(transparent)]
    Threads(#[from] NotStarted),
}

impl From<NoAnswer> for SessionError {
    fn from(error: NoAnswer) -> Self {
        match error {
            NoAnswer::Ended { .. } => Self::Gone,
            NoAnswer::Silent { waited, .. } => Self::Silent(waited),
            NoAnswer::Starved { disturbance, .. } => Self::Starved(disturbance),
        }
    }
}

/// A running test: its stations are polled until its bench ends it. Later calls are refused.
#[derive(Debug)]
pub struct Session {
    inner: Arc<Inner>,
    /// `None` after the end.
    threads: Mutex<Option<PollerThreads>>,
    /// Samples the flows until it is told to end.
    watcher: Mutex<Option<JoinHandle<()>>>,
}

/// State that orders, samples and the watcher share.
#[derive(Debug)]
struct Inner {
    plan: TestPlan,
    wants: Vec<Want>,
    /// True if the device under test is in this process.
    has_device: bool,
    /// Handles on the devices until the test ends, which keep them open.
    links: Mutex<Vec<Link>>,
    rates: Vec<BitsPerSec>,
    /// Capacity of the receive ring of each port in frames.
    rx_room: Vec<u64>,
    /// Numbers of all queues.
    queues: Queues,
    /// By queue: its thread, and its index there.
    places: Vec<(usize, usize)>,
    pollers: Orders<Order>,
    shared: Arc<Shared>,
    /// The time of day at zero of the test's clock, since 1970.
    zero: Duration,
    board: Mutex<Board>,
    captures: Mutex<Captures>,
    /// By queue: the spare memory by which each station's distributions grow.
    spares: Vec<Spares>,
    /// Tells the watcher that the test is over.
    ending: AtomicBool,
    /// Deviations from the configuration.
    warnings: Vec<String>,
}

/// Locks a mutex, poisoned or not: every change is a single step, so a panic leaves consistent
/// data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn board(&self) -> MutexGuard<'_, Board> {
        lock(&self.board)
    }
}

impl Session {
    #[must_use]
    pub fn plan(&self) -> &TestPlan {
        &self.inner.plan
    }

    /// Returns the time of the last start of flows, on the clock of the captures.
    #[must_use]
    pub fn epoch(&self) -> Option<Instant> {
        self.inner.board().epoch
    }
}
