//! A switch on DPDK ports: opened devices, allocated memory, and a worker thread for each group of
//! ports.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::claims::Claims;
use super::controller::{NicReader, Part, Place, StartError, Workers, start};
use super::placement::{CONTROL_CPUS, Pin, Placement};
use super::watch::LossWatch;
use super::worker::Idle;
use super::worker::slack_for;
use super::{Mesh, mesh};
use contracts::port::{Port, Secured};
use contracts::world::World;
use dpdk::{self, DpdkPort, Eal, Mbuf, Pool, PoolOptions, PortControl, PortOptions};
use ground::time::Duration;
use ground::units::{BitsPerSec, Cells, PortId};
use link::AgentsPlan;
use secure::{Secy, SecyError};
use switch::{Change, ChangeError, Switch, SwitchError, SwitchPlan};

/// The real world: DPDK's ports and frames.
pub struct Real;

impl World for Real {
    type Frame = Mbuf;
    type Port = Secured<DpdkPort>;
    type Events = LossWatch;
    type Handoff = Mesh<Mbuf>;
}

/// The device of a port.
#[derive(Clone, Debug)]
pub struct RealPort {
    /// EAL name with its arguments, such as `net_af_packet0,iface=eth1`.
    pub device: String,
    pub options: PortOptions,
    /// Rate for which the port's headroom was calculated; a NIC that negotiates more is refused.
    pub rate_max: BitsPerSec,
    /// Longest gap between polls for which the port's headroom was calculated; none if no group of
    /// it is lossless.
    pub poll_gap: Option<Duration>,
}

/// A worker and its ports.
#[derive(Clone, Debug)]
pub struct RealWorker {
    /// CPU that it is pinned to.
    pub pin: Pin,
    /// At least one port.
    pub ports: Vec<PortId>,
}

/// Parts of a real switch.
#[derive(Clone, Debug)]
pub struct RealSwitch {
    /// Plan of the data plane.
    pub plan: SwitchPlan,
    /// Devices, by [`PortId`].
    pub ports: Vec<RealPort>,
    /// Workers; every port belongs to exactly one.
    pub workers: Vec<RealWorker>,
    /// Frames that the ledger, the rings and the workers can hold at once. Frames that the workers'
    /// caches keep out of reach are added.
    pub pool_frames: u32,
    /// Action of idle workers. Default: spin if every worker has its own CPU, else yield.
    pub idle: Option<Idle>,
}

impl RealSwitch {
    /// Frames of its pool: all that can be held, plus all that caches can keep out of reach.
    fn frames(&self) -> u32 {
        // As Pool::stranded_max: a cache holds up to one and a half times its size.
        let workers = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        self.pool_frames.saturating_add(workers.saturating_mul(CACHE * 3 / 2))
    }

    /// Longest frame of its pool: the longest that is forwarded, or a larger one for which a device
    /// demands room.
    fn frame_room(&self) -> u32 {
        // On a MACsec link a frame is longer than in the switch, and unprotected frames may be too.
        let is_protected = self.plan.ports.iter().any(|port| port.secy.is_some());
        let protection = if is_protected { Secy::OVERHEAD_MAX as u32 } else { 0 };
        let wanted = self.ports.iter().map(|port| dpdk::receive_room(&port.device));
        wanted.fold(self.plan.max_frame + protection, u32::max)
    }

    /// Memory in MiB that its pool and its ports need, to start DPDK with.
    #[must_use]
    pub fn memory_mib(&self) -> u32 {
        // A frame takes room in whole KiB, DPDK's headroom, and the overhead of DPDK and the pool;
        // rings, control frames and DPDK's tables are small in comparison.
        let frame = u64::from(self.frame_room()).next_multiple_of(1_024) + 128 + 256;
        let mib = (u64::from(self.frames()) * frame).div_ceil(1 << 20);
        let ports = self.ports.len() as u64;
        // A sixteenth, 64 MiB, and 4 MiB for each port in reserve: choices, for what is small in comparison.
        u32::try_from(mib + mib / 16 + 64 + 4 * ports).unwrap_or(u32::MAX)
    }
}

/// Reason why a real switch cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// Error of its memory or of a device.
    #[error("{what}: {error}")]
    Dpdk {
        /// Port name and number, or the frame pool.
        what: String,
        error: dpdk::Error,
    },
    /// A link is faster than the rate for which its headroom was calculated.
    #[error(
        "ports[{index}] ({name}): its link runs at {link}, and its headroom is for {plan}; \
         set its rate to {link}"
    )]
    TooFast {
        /// Index of the port in the file.
        index: usize,
        name: String,
        /// Negotiated rate.
        link: BitsPerSec,
        /// Planned rate.
        plan: BitsPerSec,
    },
    /// The use that workers do not yet know of each other could take headroom.
    #[error(
        "buffer: {workers} workers need {need} cells of slack and the plan has {has}", need = need.0,
        has = has.0
    )]
    Slack {
        workers: usize,
        /// Required slack.
        need: Cells,
        /// Slack of the plan.
        has: Cells,
    },
    /// Error in the plan of a port's SecY.
    #[error("ports[{index}].macsec ({name}): {error}")]
    Secy {
        /// Index of the port in the file.
        index: usize,
        name: String,
        error: SecyError,
    },
    /// The plan contradicts itself.
    #[error(transparent)]
    Switch(#[from] SwitchError),
    /// A link's state at the start was refused.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A worker thread cannot be started.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// A running switch.
pub struct Running {
    pub workers: Workers,
    /// Devices, by [`PortId`].
    pub devices: Vec<PortControl>,
    /// Result of each setup: the driver, and its handling of MAC control frames.
    pub notes: Vec<String>,
    /// CPUs of the workers.
    pub placement: Placement,
    /// Keeps them from other processes of Sluice.
    _claims: Claims,
}

/// Size of each worker's cache, in frames.
const CACHE: u32 = 256;

/// Opens the devices, allocates memory, and starts the workers.
///
/// # Errors
/// [`RealError`], naming the port; everything that was opened is closed again then.
///
/// # Panics
/// If `what` has no worker, or a port in none or in two.
pub fn launch(eal: &Eal, what: RealSwitch) -> Result<Running, RealError> {
    let (frames, room) = (what.frames(), what.frame_room());
    let RealSwitch { plan, ports, workers, idle, .. } = what;
    let owners = owners(ports.len(), &workers);
    // Before anything is opened: it is an error of the file and needs no device.
    let need = slack_for(&plan, &owners);
    if plan.buffer.slack < need {
        return Err(RealError::Slack { workers: workers.len(), need, has: plan.buffer.slack });
    }
    let pool = pool(eal, frames, room)?;
    // One clock for all ports and workers: times of different workers are compared.
    let clock = dpdk::TscClock::new();
    let is_protected = plan.ports.iter().any(|port| port.secy.is_some());
    let ciphers = is_protected.then(|| dpdk::ciphers(eal)).flatten();
    let (mut opened, mut devices, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (port, RealPort { device, options, rate_max, .. })) in
        plan.ports.iter().zip(&ports).enumerate()
    {
        let name = &port.name;
        let named =
            |error| RealError::Dpdk { what: format!("ports[{index}].device ({name})"), error };
        let mut options = PortOptions { clock: Some(clock), ..options.clone() };
        // Only ports that measure need stamps.
        if port.agents.as_ref().is_some_and(AgentsPlan::measures) {
            (options.rx_stamps, options.tx_stamps) = (Some(clock), Some(clock));
        }
        let open =
            DpdkPort::open(eal, device).map_err(named)?.start(&options, &pool).map_err(named)?;
        // More frames would arrive after a pause than the headroom has room for. A slower link is no problem.
        if let Some(link) = open.caps().link_rate.filter(|link| link > rate_max) {
            let plan = *rate_max;
            return Err(RealError::TooFast { index, name: name.clone(), link, plan });
        }
        notes.push(format!("{name}: {device} ({}): {}", open.driver(), open.info()));
        devices.push(open.control());
        let secured = Secured::with_ciphers(open, port.secy.as_deref(), ciphers.as_ref());
        let refused = |error| RealError::Secy { index, name: name.clone(), error };
        let secured = secured.map_err(refused)?;
        if let Some(secy) = secured.secy() {
            notes.push(format!("{name}: MACsec by {}", secy.snapshot().cipher));
        }
        opened.push(Some(secured));
    }
    let pins: Vec<Pin> = workers.iter().map(|worker| worker.pin).collect();
    // After the devices are open: another process keeps its CPUs if this one cannot start.
    let (placement, claims) = Claims::take(&pins, CONTROL_CPUS);
    let idle = idle.unwrap_or_else(|| idle_for(&placement.cpus));
    let mut parts = Vec::new();
    let meshed = mesh(&owners, workers.len(), ring(&plan));
    for ((worker, cpu), handoff) in workers.iter().zip(&placement.cpus).zip(meshed) {
        let mine = worker.ports.iter().map(|id| {
            (*id, opened[id.index()].take().expect("owners() has checked that it is in one worker"))
        });
        let watch = LossWatch::new(&plan);
        let switch: Switch<Real> = Switch::new(&plan, mine.collect(), handoff, watch)?;
        let place = Place { cpu: *cpu, idle };
        // The smallest planned gap of the worker's ports decides.
        let gaps = worker.ports.iter().filter_map(|id| ports[id.index()].poll_gap);
        parts.push(Part { switch, clock: move || clock.now(), place, poll_gap: gaps.min() });
    }
    take_links_down(&mut parts, &owners, &devices, clock)?;
    let readers = devices.clone();
    let nics: NicReader = Arc::new(move || readers.iter().map(|d| d.stats().nic).collect());
    let eal = eal.clone();
    // In the worker's own thread: the registration is that of the calling thread.
    let prepare = move || eal.register_worker().map_err(|error| error.to_string());
    let workers = start(parts, owners, nics, prepare)?;
    Ok(Running { workers, devices, notes, placement, _claims: claims })
}

/// Tells each worker which of its links are down: a switch begins with all links up. Links that come up later are
/// reported by the daemon.
fn take_links_down<C>(
    parts: &mut [Part<Real, C>],
    owners: &[usize],
    devices: &[PortControl],
    clock: dpdk::TscClock,
) -> Result<(), ChangeError> {
    for (id, device) in (0..).filter_map(PortId::new).zip(devices) {
        if !device.link().up {
            let part = &mut parts[owners[id.index()]];
            let change = Change::Link { port: id, up: false, rate: None };
            part.switch.apply(clock.now(), change)?;
        }
    }
    Ok(())
}

/// Worker of each port.
fn owners(ports: usize, workers: &[RealWorker]) -> Vec<usize> {
    let mut owners = vec![None; ports];
    for (n, worker) in workers.iter().enumerate() {
        for port in &worker.ports {
            let before = owners[port.index()].replace(n);
            assert!(before.is_none(), "port {port} belongs to two workers");
        }
    }
    owners.into_iter().map(|o| o.expect("every port belongs to a worker")).collect()
}

fn pool(eal: &Eal, frames: u32, max_frame: u32) -> Result<Pool, RealError> {
    let options = PoolOptions { name: "frames".into(), frames, max_frame, cache: CACHE };
    let what = || "eal.memory, buffer.total: the frame pool".into();
    Pool::new(eal, &options).map_err(|error| RealError::Dpdk { what: what(), error })
}

/// Capacity in frames of a ring between two workers: all that the ledger can have admitted at once,
/// so that it is never full and no lossless frame is lost in between.
fn ring(plan: &SwitchPlan) -> usize {
    // The most frames are the shortest ones.
    (plan.buffer.total.0 / plan.buffer.cells_for(64).0) as usize + 1
}

fn idle_for(workers: &[Option<usize>]) -> Idle {
    // Workers with the same CPU count once, so they are not apart.
    let cpus: BTreeSet<_> = workers.iter().flatten().collect();
    let pinned_apart = cpus.len() == workers.len();
    let there = std::thread::available_parallelism().map_or(1, usize::from);
    // The threads for display, service and control need some CPU time as well.
    if pinned_apart || workers.len() + CONTROL_CPUS <= there { Idle::Spin } else { Idle::Yield }
}
