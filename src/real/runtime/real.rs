//! A switch on real ports: opened devices, allocated memory, and a worker thread for each group of
//! ports. Ports are interfaces of the kernel, DPDK's devices, or both.

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

use super::claims::Claims;
use super::controller::{NicReader, Part, Place, StartError, Workers, start};
use super::device::Device;
#[cfg(feature = "dpdk")]
pub use super::on_dpdk::{launch_on_dpdk, memory_mib};
use super::placement::{CONTROL_CPUS, Pin, Placement};
use super::watch::LossWatch;
use super::worker::Idle;
use super::worker::slack_for;
use super::{Mesh, mesh};
use contracts::port::{CONTROL_FRAME_MAX, HardwarePfc, Port, Secured};
use contracts::world::World;
use ground::time::Duration;
use ground::units::{BitsPerSec, Cells, PortId};
use kernel::{Clock, KernelOptions, KernelPort, Memory, OpenError, Packets, SystemClock, Waiter};
use link::AgentsPlan;
use secure::{Ciphers, Secy, SecyError};
use switch::{Change, ChangeError, PortPlan, Switch, SwitchError, SwitchPlan};

/// The device of a port.
#[derive(Clone, Debug)]
pub struct RealPort {
    /// A DPDK device by its EAL name with its arguments, such as `net_af_packet0,iface=eth1`, or an interface that the
    /// kernel drives, such as `iface:eth1`.
    pub device: String,
    /// Receive descriptors of a device, or packets that an interface's ring holds.
    pub rx_descriptors: u16,
    /// Transmit descriptors of a device.
    pub tx_descriptors: u16,
    /// PFC that the device does itself.
    pub hardware_pfc: Option<HardwarePfc>,
    /// Hands frames of one flow that leave together by an interface over as one large segment.
    pub offload: bool,
    /// Rate for which the port's headroom was calculated; a NIC that negotiates more is refused.
    pub rate_max: BitsPerSec,
    /// Longest gap between polls for which the port's headroom was calculated; none if no group of
    /// it is lossless.
    pub poll_gap: Option<Duration>,
}

impl RealPort {
    /// Name of the kernel's interface that this is, if it is one.
    #[must_use]
    pub fn interface(&self) -> Option<&str> {
        self.device.strip_prefix("iface:")
    }
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
    /// Action of idle workers. Default: wait where they can, else spin if every worker has its own CPU, else yield.
    pub idle: Option<Idle>,
}

impl RealSwitch {
    /// Frames of its pool: all that can be held, plus all that caches can keep out of reach.
    pub(crate) fn frames(&self) -> u32 {
        // As Pool::stranded_max: a cache holds up to one and a half times its size.
        let workers = u32::try_from(self.workers.len()).unwrap_or(u32::MAX);
        self.pool_frames.saturating_add(workers.saturating_mul(CACHE * 3 / 2))
    }

    /// True if a port needs DPDK.
    #[must_use]
    pub fn needs_dpdk(&self) -> bool {
        self.ports.iter().any(|port| port.interface().is_none())
    }

    /// Longest frame of its pool: the longest that is forwarded.
    pub(crate) fn frame_room(&self) -> u32 {
        // On a MACsec link a frame is longer than in the switch, and unprotected frames may be too.
        let is_protected = self.plan.ports.iter().any(|port| port.secy.is_some());
        self.plan.max_frame + if is_protected { Secy::OVERHEAD_MAX as u32 } else { 0 }
    }
}

/// Reason why a real switch cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum RealError {
    /// Error of its memory or of a DPDK device.
    #[cfg(feature = "dpdk")]
    #[error("{what}: {error}")]
    Dpdk {
        /// Port name and number, or the frame pool.
        what: String,
        error: dpdk::Error,
    },
    /// A port that needs DPDK, without it.
    #[cfg(not(feature = "dpdk"))]
    #[error(
        "ports[{index}].device ({name}): `{device}` is a device of DPDK, which this program was built without; name an \
         interface of the kernel, such as `iface:eth1`"
    )]
    NoDpdk {
        /// Index of the port in the file.
        index: usize,
        name: String,
        device: String,
    },
    /// An interface of the kernel cannot be opened.
    #[error("ports[{index}].device ({name}): {error}")]
    Interface {
        /// Index of the port in the file.
        index: usize,
        name: String,
        error: OpenError,
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
    /// Idle workers cannot wait.
    #[error(
        "--idle wait: it is for one worker whose ports are all interfaces of the kernel (`iface:eth1`), without a lossless \
         priority or a measurement; leave it out, or write `--idle yield`"
    )]
    NoWait,
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
    pub devices: Vec<Device>,
    /// Result of each setup: the driver, and its handling of MAC control frames.
    pub notes: Vec<String>,
    /// CPUs of the workers.
    pub placement: Placement,
    /// Keeps them from other processes of Sluice.
    _claims: Claims,
}

/// Size of each worker's cache of free frames.
pub(crate) const CACHE: u32 = 256;

/// Memory, clock and ports of a switch.
pub(crate) trait Kit {
    type Memory: Memory;
    type Clock: Clock + Copy + Send + 'static;
    type Port: Port<Frame = <Self::Memory as Memory>::Frame>;

    /// The clock of all ports and workers: times of different workers are compared.
    fn clock(&self) -> Self::Clock;

    /// Ciphers of devices, if there are any.
    fn ciphers(&self) -> Option<Arc<dyn Ciphers>>;

    /// Opens the port with this index; returns it with its handle and the result of its setup.
    fn open(
        &self,
        index: usize,
        port: &RealPort,
        plan: &SwitchPlan,
    ) -> Result<Open<Self::Port>, RealError>;

    /// Prepares the calling thread for polling, until the result is dropped.
    fn prepare(&self) -> impl Fn() -> Result<Self::Prepared, String> + Clone + Send + 'static;

    type Prepared: 'static;
}

/// An open port, its handle, and the result of its setup.
pub(crate) struct Open<P> {
    pub(crate) port: P,
    pub(crate) device: Device,
    pub(crate) note: String,
}

/// The world of a kit.
pub(crate) struct Real<K>(PhantomData<K>);

impl<K: Kit> World for Real<K> {
    type Frame = <K::Memory as Memory>::Frame;
    type Port = Secured<K::Port>;
    type Events = LossWatch;
    type Handoff = Mesh<Self::Frame>;
}

/// Frames of one port's memory for MAC control frames. A choice: more than a poll sends, and those that wait.
const CONTROL_FRAMES: usize = 256;

/// A port on an interface of the kernel. Its data frames are from `memory`, those of MAC control from `control`.
pub(crate) fn open_interface<M: Memory, C: Clock>(
    index: usize,
    port: &RealPort,
    plan: &SwitchPlan,
    memory: M,
    control: M,
    clock: C,
) -> Result<Open<KernelPort<M, C>>, RealError> {
    let (interface, name) = (port.interface().unwrap_or_default(), &plan.ports[index].name);
    let options = KernelOptions {
        max_frame: plan.max_frame
            + if plan.ports[index].secy.is_some() { Secy::OVERHEAD_MAX as u32 } else { 0 },
        slots: port.rx_descriptors.into(),
        promiscuous: true,
        merges: port.offload,
    };
    let failed = |error| RealError::Interface { index, name: name.clone(), error };
    let port = KernelPort::open(interface, &options, memory, control, clock).map_err(failed)?;
    let device = Device::Kernel(port.control());
    let note = format!("{name}: interface {interface}: {}", port.info());
    Ok(Open { port, device, note })
}

/// Memory and clock of the process itself: all ports are interfaces that the kernel drives.
struct OfKernel {
    memory: Packets,
    clock: SystemClock,
}

impl Kit for OfKernel {
    type Memory = Packets;
    type Clock = SystemClock;
    type Port = KernelPort<Packets, SystemClock>;
    type Prepared = ();

    fn clock(&self) -> SystemClock {
        self.clock
    }

    fn ciphers(&self) -> Option<Arc<dyn Ciphers>> {
        None
    }

    fn open(
        &self,
        index: usize,
        port: &RealPort,
        plan: &SwitchPlan,
    ) -> Result<Open<Self::Port>, RealError> {
        let control = Packets::new(CONTROL_FRAMES, CONTROL_FRAME_MAX);
        open_interface(index, port, plan, self.memory.clone(), control, self.clock)
    }

    fn prepare(&self) -> impl Fn() -> Result<(), String> + Clone + Send + 'static {
        || Ok(())
    }
}

/// Opens the interfaces of a switch whose ports are all of the kernel, allocates memory, and starts the workers.
///
/// # Errors
/// [`RealError`], naming the port; everything that was opened is closed again then.
///
/// # Panics
/// If `what` has no worker, or a port in none or in two.
pub fn launch(what: RealSwitch) -> Result<Running, RealError> {
    #[cfg(not(feature = "dpdk"))]
    if let Some(index) = what.ports.iter().position(|port| port.interface().is_none()) {
        let (name, device) =
            (what.plan.ports[index].name.clone(), what.ports[index].device.clone());
        return Err(RealError::NoDpdk { index, name, device });
    }
    let memory = Packets::new(what.frames() as usize, what.frame_room());
    launch_with(&OfKernel { memory, clock: SystemClock::start() }, what)
}

pub(crate) fn launch_with<K: Kit + 'static>(kit: &K, what: RealSwitch) -> Result<Running, RealError>
where
    Switch<Real<K>>: Send,
{
    let RealSwitch { plan, ports, workers, idle, .. } = what;
    let owners = owners(ports.len(), &workers);
    // Before anything is opened: it is an error of the file and needs no device.
    let need = slack_for(&plan, &owners);
    if plan.buffer.slack < need {
        return Err(RealError::Slack { workers: workers.len(), need, has: plan.buffer.slack });
    }
    let clock = kit.clock();
    let is_protected = plan.ports.iter().any(|port| port.secy.is_some());
    let ciphers = is_protected.then(|| kit.ciphers()).flatten();
    let (mut opened, mut devices, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for (index, (port, real)) in plan.ports.iter().zip(&ports).enumerate() {
        let name = &port.name;
        let Open { port: open, device, note } = kit.open(index, real, &plan)?;
        // More frames would arrive after a pause than the headroom has room for. A slower link is no problem.
        if let Some(link) = open.caps().link_rate.filter(|link| *link > real.rate_max) {
            return Err(RealError::TooFast {
                index,
                name: name.clone(),
                link,
                plan: real.rate_max,
            });
        }
        notes.push(note);
        devices.push(device);
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
    let all: Option<Vec<_>> = devices.iter().map(Device::kernel).collect();
    let has_headroom = ports.iter().any(|port| port.poll_gap.is_some());
    let measures = |port: &PortPlan| port.agents.as_ref().is_some_and(AgentsPlan::measures);
    let times_arrivals = has_headroom || plan.ports.iter().any(measures);
    // A worker that waits is woken by frames of its own ports, and not by other workers.
    let can_wait = all.filter(|_| workers.len() == 1 && !times_arrivals);
    let idle = match (idle, &can_wait) {
        (Some(Idle::Wait), None) => return Err(RealError::NoWait),
        (Some(idle), _) => idle,
        (None, Some(_)) => Idle::Wait,
        (None, None) => idle_for(&placement.cpus),
    };
    let mut waiter = can_wait.filter(|_| idle == Idle::Wait).map(Waiter::new);
    let mut parts = Vec::new();
    let meshed = mesh(&owners, workers.len(), ring(&plan));
    for ((worker, cpu), handoff) in workers.iter().zip(&placement.cpus).zip(meshed) {
        let mine = worker.ports.iter().map(|id| {
            (*id, opened[id.index()].take().expect("owners() has checked that it is in one worker"))
        });
        let watch = LossWatch::new(&plan);
        let switch: Switch<Real<K>> = Switch::new(&plan, mine.collect(), handoff, watch)?;
        let place = Place { cpu: *cpu, idle };
        // The smallest planned gap of the worker's ports decides.
        let gaps = worker.ports.iter().filter_map(|id| ports[id.index()].poll_gap);
        let waiter = waiter.take();
        parts.push(Part {
            switch,
            clock: move || clock.now(),
            place,
            waiter,
            poll_gap: gaps.min(),
        });
    }
    take_links_down(&mut parts, &owners, &devices, clock)?;
    let readers = devices.clone();
    let nics: NicReader = Arc::new(move || readers.iter().map(|d| d.stats().nic).collect());
    let workers = start(parts, owners, nics, kit.prepare())?;
    Ok(Running { workers, devices, notes, placement, _claims: claims })
}

/// Tells each worker which of its links are down: a switch begins with all links up. Links that come up later are
/// reported by the daemon.
fn take_links_down<K: Kit, C>(
    parts: &mut [Part<Real<K>, C>],
    owners: &[usize],
    devices: &[Device],
    clock: impl Clock,
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
