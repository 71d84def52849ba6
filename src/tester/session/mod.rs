//! A test in the real world: its ports opened, a station on each, polled by threads of its own.
//!
//! - **Threads** poll one or several stations each; never more threads than CPUs, because a thread
//!   that waits for its CPU obeys no pause. The two ends of a pair in memory share a thread.
//! - **Orders** go to a thread by a channel that it looks at now and then; whoever orders waits for
//!   the answer, never the thread.
//! - **One epoch** for all flows that start together, a little in the future, so that every thread
//!   has heard of it when it comes.
//! - **A flow has stopped** when its last frame has arrived, or when nothing of it has arrived for
//!   [`GRACE`]: what is still on its way then counts as lost.
//!
//! Time is the processor's counter, except in a test of nothing but memory (see `clock`).

mod board;
mod captures;
mod clock;
mod crew;
mod links;
mod look;
mod neighbours;
mod open;
mod orders;
mod rack;
mod told;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam::channel::Sender;

pub use board::GRACE;
pub use neighbours::Neighbour;
pub use open::{Bench, Prepared};
pub(crate) use rack::interface_device;

use super::capture::Tap;
use super::plan::TestPlan;
use crate::dpdk::SourcePort;
use crate::host::{PlanError, Spares};
use crate::runtime::Disturbance;
use crate::units::BitsPerSec;
use board::Board;
use captures::Captures;
use crew::{Order, Shared};
use links::Link;
use rack::Want;

/// What a station of a test sends and receives by.
pub(super) type Jack = Tap<SourcePort>;

/// A thread that polls; it gives the ports back at its end, each with its place in the test.
type Poller = JoinHandle<Vec<(usize, Jack)>>;

/// Why a test cannot be run, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// DPDK has no such device, no memory, or no rights.
    #[error(transparent)]
    Dpdk(#[from] crate::dpdk::Error),
    /// A station's plan contradicts itself.
    #[error("port {port}: {source}")]
    Plan {
        /// The port's name.
        port: String,
        /// Why.
        source: PlanError,
    },
    /// Layer 1 asks for a rate that the link does not have.
    #[error(
        "port {port}: its link runs at {link} b/s, and layer 1 asks for {asked}; leave the speed \
         out, or set the link to it"
    )]
    Speed {
        /// The port's name.
        port: String,
        /// What is asked for.
        asked: u64,
        /// What there is.
        link: u64,
    },
    /// More than one queue.
    #[error(
        "location {location}: a port is driven by one queue each way; leave out `queues={queues}`"
    )]
    Queues {
        /// The location.
        location: String,
        /// What it asks for.
        queues: u16,
    },
    /// Two ports at one place.
    #[error("ports {0} and {1} are at the same location")]
    SamePlace(String, String),
    /// A neighbour that a flow needs did not answer.
    #[error(
        "flow {flow}: {neighbour} did not answer on {interface}, so its frames have no destination \
         address; check the link and the gateway, or give the flow an address"
    )]
    Unresolved {
        /// The flow.
        flow: String,
        /// Who was asked.
        neighbour: core::net::IpAddr,
        /// Who asked.
        interface: String,
    },
    /// Frames that became longer than the ports were opened for.
    #[error(
        "flow {flow}: frames of {asked} octets are longer than its ports were opened for, \
         {longest}; set the whole configuration again, or a larger mtu in layer1 at first"
    )]
    Longer {
        /// The flow.
        flow: String,
        /// What is asked for.
        asked: u32,
        /// What there is.
        longest: u32,
    },
    /// Nothing was captured.
    #[error("nothing was captured on port {0}; start a capture on it first")]
    NoCapture(String),
    /// A ping that cannot be sent.
    #[error("{0}")]
    Ping(String),
    /// The threads of the test did not run for so long that their counters cannot be read.
    #[error("{0}: the test's threads were not run, so there is no answer from them")]
    Starved(Disturbance),
    /// A thread of the test had its processor and did not answer.
    #[error("a thread of the test has not answered for {} s although it runs", .0.as_secs())]
    Silent(Duration),
    /// A thread of the test ended.
    #[error("a thread of the test ended early; the reason is in the messages before")]
    Gone,
}

/// A test that runs: its stations are polled until its bench ends it. What is asked of it after that
/// is refused.
#[derive(Debug)]
pub struct Session {
    inner: Arc<Inner>,
    threads: Mutex<Vec<Poller>>,
    /// Looks at the flows, and ends when it is told to.
    watcher: Mutex<Option<JoinHandle<()>>>,
}

/// What orders, looks and the watcher need.
#[derive(Debug)]
struct Inner {
    plan: TestPlan,
    wants: Vec<Want>,
    /// Handles on the devices, until the test ends: they keep them open.
    links: Mutex<Vec<Link>>,
    rates: Vec<BitsPerSec>,
    /// Frames that the receive ring of each port holds.
    rx_room: Vec<u64>,
    /// By port: its thread, and its place there.
    places: Vec<(usize, usize)>,
    crews: Vec<Sender<Order>>,
    shared: Arc<Shared>,
    /// The time of day when the test's clock was at zero, since 1970 began.
    zero: Duration,
    board: Mutex<Board>,
    captures: Mutex<Captures>,
    /// The memory that each station's distributions grow by.
    spares: Vec<Spares>,
    /// Tells the watcher that there is something to watch, or that it is over.
    ending: AtomicBool,
    /// What could not be done as asked.
    warnings: Vec<String>,
}

/// What a thread that panicked left locked is whole: everything is changed in one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    fn board(&self) -> MutexGuard<'_, Board> {
        lock(&self.board)
    }
}

impl Session {
    /// The test.
    #[must_use]
    pub fn plan(&self) -> &TestPlan {
        &self.inner.plan
    }
}
