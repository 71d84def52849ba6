//! A switch with ports of DPDK: its frames are DPDK's, and those of the kernel's interfaces beside them, too.

use std::sync::Arc;

use super::device::Device;
use super::real::{
    CACHE, Kit, Open, RealError, RealPort, RealSwitch, Running, launch_with, open_interface,
};
use contracts::frame::Burst;
use contracts::port::{CONTROL_FRAME_MAX, Port, PortCaps, Stamps};
use dpdk::{DpdkPort, Eal, Mbuf, Pool, PoolOptions, PortOptions, TscClock, Worker};
use ground::time::Instant;
use ground::units::PrioritySet;
use kernel::KernelPort;
use link::AgentsPlan;
use secure::Ciphers;
use switch::SwitchPlan;

/// Frames of one port's memory for MAC control frames, as of DPDK's own ports.
const CONTROL_FRAMES: u32 = 255;

/// A port of DPDK, or an interface of the kernel beside such ports.
#[derive(Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "there is one per port, and a box would be one more read for each poll"
)]
pub(crate) enum DevicePort {
    Dpdk(DpdkPort),
    Kernel(KernelPort<Pool, TscClock>),
}

/// Calls a method of the port.
macro_rules! of_port {
    ($port:expr, $name:ident ( $($argument:expr),* )) => {
        match $port {
            DevicePort::Dpdk(port) => port.$name($($argument),*),
            DevicePort::Kernel(port) => port.$name($($argument),*),
        }
    };
}

impl Port for DevicePort {
    type Frame = Mbuf;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<Mbuf>) {
        of_port!(self, rx_burst(out));
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<Mbuf>) {
        of_port!(self, tx_burst(out));
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<Mbuf> {
        of_port!(self, control_frame(octets))
    }

    fn message_frame(&mut self, octets: &[u8]) -> Option<Mbuf> {
        of_port!(self, message_frame(octets))
    }

    #[inline]
    fn caps(&self) -> &PortCaps {
        of_port!(self, caps())
    }

    #[inline]
    fn rx_stamp(&self, frame: &Mbuf) -> Option<Instant> {
        of_port!(self, rx_stamp(frame))
    }

    fn stamp_when_sent(&mut self, frame: &mut Mbuf) -> bool {
        of_port!(self, stamp_when_sent(frame))
    }

    fn sent_stamp(&mut self) -> Option<Instant> {
        of_port!(self, sent_stamp())
    }

    #[inline]
    fn clock(&self, now: Instant) -> Instant {
        of_port!(self, clock(now))
    }

    fn refresh_clock(&mut self) {
        of_port!(self, refresh_clock());
    }

    #[inline]
    fn pass_on(&mut self) {
        of_port!(self, pass_on());
    }

    #[inline]
    fn has_queues(&self) -> bool {
        of_port!(self, has_queues())
    }

    #[inline]
    fn held(&self) -> PrioritySet {
        of_port!(self, held())
    }

    fn stamps(&self) -> Stamps {
        of_port!(self, stamps())
    }
}

struct OnDpdk {
    eal: Eal,
    pool: Pool,
    clock: TscClock,
}

impl Kit for OnDpdk {
    type Memory = Pool;
    type Clock = TscClock;
    type Port = DevicePort;
    type Prepared = Worker;

    fn clock(&self) -> TscClock {
        self.clock
    }

    fn ciphers(&self) -> Option<Arc<dyn Ciphers>> {
        dpdk::ciphers(&self.eal)
    }

    fn open(
        &self,
        index: usize,
        port: &RealPort,
        plan: &SwitchPlan,
    ) -> Result<Open<DevicePort>, RealError> {
        let name = &plan.ports[index].name;
        let named =
            |error| RealError::Dpdk { what: format!("ports[{index}].device ({name})"), error };
        let Self { eal, pool, clock } = self;
        if port.interface().is_some() {
            let control = PoolOptions {
                name: format!("control{index}"),
                frames: CONTROL_FRAMES,
                max_frame: CONTROL_FRAME_MAX,
                cache: 0,
            };
            let control = Pool::new(eal, &control).map_err(named)?;
            let open = open_interface(index, port, plan, pool.clone(), control, *clock)?;
            return Ok(Open {
                port: DevicePort::Kernel(open.port),
                device: open.device,
                note: open.note,
            });
        }
        let mut options = PortOptions {
            rx_descriptors: port.rx_descriptors,
            tx_descriptors: port.tx_descriptors,
            max_frame: Some(plan.max_frame),
            hardware_pfc: port.hardware_pfc,
            clock: Some(*clock),
            ..PortOptions::default()
        };
        // Only ports that measure need stamps.
        if plan.ports[index].agents.as_ref().is_some_and(AgentsPlan::measures) {
            (options.rx_stamps, options.tx_stamps) = (Some(*clock), Some(*clock));
        }
        let open = DpdkPort::open(eal, &port.device).map_err(named)?;
        let open = open.start(&options, pool).map_err(named)?;
        let note = format!("{name}: {} ({}): {}", port.device, open.driver(), open.info());
        let device = Device::Dpdk(open.control());
        Ok(Open { port: DevicePort::Dpdk(open), device, note })
    }

    fn prepare(&self) -> impl Fn() -> Result<Worker, String> + Clone + Send + 'static {
        let eal = self.eal.clone();
        // In the worker's own thread: the registration is that of the calling thread.
        move || eal.register_worker().map_err(|error| error.to_string())
    }
}

/// Longest frame of a switch's pool, or a larger one for which a device demands room.
fn frame_room(what: &RealSwitch) -> u32 {
    what.ports.iter().map(|port| dpdk::receive_room(&port.device)).fold(what.frame_room(), u32::max)
}

/// Memory in MiB that a switch's pool and ports need, to start DPDK with.
#[must_use]
pub fn memory_mib(what: &RealSwitch) -> u32 {
    // A frame takes room in whole KiB, DPDK's headroom, and the overhead of DPDK and the pool;
    // rings, control frames and DPDK's tables are small in comparison.
    let frame = u64::from(frame_room(what)).next_multiple_of(1_024) + 128 + 256;
    let mib = (u64::from(what.frames()) * frame).div_ceil(1 << 20);
    let ports = what.ports.len() as u64;
    // A sixteenth, 64 MiB, and 4 MiB for each port in reserve: choices, for what is small in comparison.
    u32::try_from(mib + mib / 16 + 64 + 4 * ports).unwrap_or(u32::MAX)
}

/// As [`launch`](super::real::launch), for a switch with DPDK's devices.
///
/// # Errors
/// [`RealError`], naming the port; everything that was opened is closed again then.
///
/// # Panics
/// If `what` has no worker, or a port in none or in two.
pub fn launch_on_dpdk(eal: &Eal, what: RealSwitch) -> Result<Running, RealError> {
    let options = PoolOptions {
        name: "frames".into(),
        frames: what.frames(),
        max_frame: frame_room(&what),
        cache: CACHE,
    };
    let failed =
        |error| RealError::Dpdk { what: "eal.memory, buffer.total: the frame pool".into(), error };
    let pool = Pool::new(eal, &options).map_err(failed)?;
    launch_with(&OnDpdk { eal: eal.clone(), pool, clock: TscClock::new() }, what)
}
