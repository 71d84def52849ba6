//! A DPDK port as the data plane's [`Port`].
//!
//! A port is opened stopped, and started with its options and the pool it receives into; only a
//! started port has bursts. A started port is polled by one thread: it has one queue in each direction,
//! or queues by priority. A device may be started as several ports of one queue each, which share it.
//! Received frames have no FCS; the device adds it to sent frames.

use std::sync::Arc;

use dpdk_sys as sys;

use super::clock::TscClock;
use super::control::{MacControl, PortControl, PortInfo};
use super::device::{self, Device};
use super::eal::Eal;
use super::error::Error;
use super::gate::Gate;
use super::hot;
use super::life::{Limits, Setup, control_pool, set_up};
use super::mbuf::Mbuf;
use super::pool::Pool;
use super::queues::{
    self, CONTROL_QUEUE, Classes, QUEUES_MAX, TX_QUEUES, check_buffers, check_hardware_pfc,
    check_number, queues_behind,
};
use super::spec::Spec;
use super::stamps::{DeviceClock, SentStamps, StampField};
use contracts::frame::{Burst, FCS_BYTES, Frame};
use contracts::port::{CONTROL_FRAME_MAX, HardwarePfc, Link, Port, PortCaps, StampSource, Stamps};
use contracts::stats::PortStats;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Mac, PrioritySet};

/// Settings of a port.
#[derive(Clone, Debug)]
pub struct PortOptions {
    /// Receive descriptors; adjusted to the device's limits. Default: 1024.
    pub rx_descriptors: u16,
    /// Transmit descriptors; adjusted to the device's limits. Frames in them no longer obey PFC, so
    /// fewer mean less headroom at the peer. Default: 512.
    pub tx_descriptors: u16,
    /// Longest frame in bytes, FCS and tags included. Default: the pool's.
    pub max_frame: Option<u32>,
    /// Receive frames to any address. Default: yes, as a switch must.
    pub promiscuous: bool,
    /// Leaves PFC to the device for these priorities. Default: none; Sluice does it in software.
    pub hardware_pfc: Option<HardwarePfc>,
    /// Transmits by a queue for each priority and one for control frames, and receives by a queue for
    /// each of these priorities and one for all others. Default: one queue each way; with hardware
    /// PFC those of its priorities.
    pub queues: Option<PrioritySet>,
    /// Lets the device timestamp received frames, in the time of this clock. Default: no. A device
    /// that cannot is started without, and [`PortInfo::rx_stamps`] gives the reason.
    pub rx_stamps: Option<TscClock>,
    /// Likewise, control frames when they are sent, by its PTP clock; [`PortInfo::tx_stamps`].
    pub tx_stamps: Option<TscClock>,
    /// Clock of the polling thread, for [`Port::clock`]. Default: none.
    pub clock: Option<TscClock>,
}

impl Default for PortOptions {
    fn default() -> Self {
        Self {
            rx_descriptors: 1_024,
            tx_descriptors: 512,
            max_frame: None,
            promiscuous: true,
            hardware_pfc: None,
            queues: None,
            rx_stamps: None,
            tx_stamps: None,
            clock: None,
        }
    }
}

/// State of a stopped port, which only holds its device.
#[derive(Debug)]
pub struct Stopped(());

/// State of a port that sends and receives.
#[derive(Debug)]
pub struct Started {
    pub(super) id: u16,
    /// Number of its queue in each direction.
    queue: u16,
    caps: PortCaps,
    control: Pool,
    /// Memory pool for received frames.
    data: Pool,
    info: PortInfo,
    /// Decoding of receive timestamps, if the device provides them.
    pub(super) stamps: Option<(StampField, DeviceClock)>,
    /// The device's PTP clock, if it can timestamp sent frames.
    pub(super) sent: Option<SentStamps>,
    /// Clock of the polling thread.
    clock: Option<TscClock>,
    /// Queues by priority, if it has them.
    classes: Option<Box<Classes>>,
    /// Stops the port with its last queue; the last field, so that nothing above is in use.
    stop: Arc<StopOnDrop>,
}

/// A port on a device. See the module documentation.
#[derive(Debug)]
pub struct DpdkPort<State = Started> {
    pub(super) state: State,
    device: Arc<Device>,
}

#[derive(Debug)]
struct StopOnDrop(Arc<Device>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        // The setting must not remain where the interface outlives the port.
        let _ = self.0.kernel.set_promiscuous(false);
        // SAFETY: while its device is held the port exists, or its number is refused.
        unsafe { sys::rte_eth_promiscuous_disable(self.0.id) };
        let mut life = self.0.life_mut();
        life.setup = None;
        if !life.is_detached {
            self.0.stop();
        }
    }
}

impl<State> DpdkPort<State> {
    /// EAL name with which it was opened.
    pub fn device(&self) -> &str {
        &self.device.spec.full
    }

    pub(super) fn spec(&self) -> &Spec {
        &self.device.spec
    }

    /// Longest frame that the device's arguments allow, for drivers that report no valid limit
    /// (`u32::MAX`: any).
    pub(super) fn frame_limit(&self) -> Option<u32> {
        queues_behind(self.driver(), self.spec(), 0, 0).2
    }

    /// Driver name, such as `net_af_packet`.
    pub fn driver(&self) -> &str {
        &self.device.driver
    }

    /// DPDK's port number.
    pub fn id(&self) -> u16 {
        self.device.id
    }

    /// True for a virtual device: no MAC, no wire and no line rate.
    pub fn is_virtual(&self) -> bool {
        self.device.is_virtual
    }

    /// MAC address of the device, if it has one.
    pub fn mac(&self) -> Option<Mac> {
        self.control().mac()
    }

    /// Current state of the link.
    pub fn link(&self) -> Link {
        self.control().link()
    }

    /// Counters of the device.
    pub fn stats(&self) -> PortStats {
        self.control().stats()
    }

    /// Returns a handle for another thread: counters, link and address, but no frames.
    pub fn control(&self) -> PortControl {
        PortControl::new(&self.device)
    }
}

impl DpdkPort<Stopped> {
    /// Attaches the device with this EAL name.
    ///
    /// # Errors
    /// [`Error::Absent`], [`Error::NoDriver`], [`Error::InUse`], [`Error::Permission`],
    /// [`Error::NoMemory`], or [`Error::Device`] with the driver's text.
    pub fn open(eal: &Eal, device: &str) -> Result<Self, Error> {
        Ok(Self::of(Device::open(eal, device)?))
    }

    pub(super) fn of(device: Arc<Device>) -> Self {
        Self { state: Stopped(()), device }
    }

    /// Sets the port up and starts it; received frames come from `pool`.
    ///
    /// # Errors
    /// [`Error::Option`] when the pool or the device has no room for the longest frame,
    /// [`Error::NoHardwarePfc`], [`Error::NoMemory`], or [`Error::Device`].
    pub fn start(self, options: &PortOptions, pool: &Pool) -> Result<DpdkPort<Started>, Error> {
        let mut queues = self.start_queues(options, pool, 1)?;
        Ok(queues.swap_remove(0))
    }

    /// Starts the device with several queues in each direction, as a port for each, which different
    /// threads may poll. Received frames of a flow stay in order in one queue, which the device
    /// chooses by addresses and ports; a pause may arrive in any of them.
    ///
    /// # Errors
    /// As [`Self::start`], and [`Error::Option`] where the device has fewer queues.
    pub fn start_queues(
        self,
        options: &PortOptions,
        pool: &Pool,
        queues: u16,
    ) -> Result<Vec<DpdkPort<Started>>, Error> {
        check_number(&self.device, queues)?;
        let offload = u64::from(sys::RTE_ETH_RX_OFFLOAD_TIMESTAMP);
        let offered = options.rx_stamps.is_some()
            && device::info(self.id()).is_ok_and(|i| i.rx_offload_capa & offload != 0);
        let offloads = if offered { offload } else { 0 };
        let mut ports = self.start_with(options, pool, queues, offloads)?;
        if let Some(tsc) = &options.rx_stamps {
            for port in &mut ports {
                let stamps = match offered {
                    true => port.device_stamps(pool.eal(), tsc),
                    false => Err("the driver does not offer it".into()),
                };
                port.state.info.rx_stamps = Some(stamps);
            }
        }
        // A device has one timestamp of sent frames, which the first queue's port reads.
        if let (Some(tsc), Some(port)) = (&options.tx_stamps, ports.first_mut()) {
            port.state.info.tx_stamps = Some(port.sent_stamps(tsc));
        }
        Ok(ports)
    }

    /// Starts the device as a number of ports with receive offloads (`RTE_ETH_RX_OFFLOAD_*`).
    pub(super) fn start_with(
        self,
        options: &PortOptions,
        pool: &Pool,
        ports: u16,
        rx_offloads: u64,
    ) -> Result<Vec<DpdkPort<Started>>, Error> {
        let device = self.device;
        let max_frame = longest_frame(&device, options, pool)?;
        let lossless = options.queues.or(options.hardware_pfc.map(|pfc| pfc.priorities));
        let queues = queues_each_way(&device, options, lossless, ports)?;
        let limits = Limits::of(&device, options)?;
        let mtu = limits.mtu(&device, max_frame)?;
        check_buffers(&device, pool.room(), max_frame)?;
        let control = control_pool(&device, &limits, ports)?;
        // From here on frames of both pools may be in the device's rings, even if a later step fails.
        device.hold(pool);
        device.hold(&control);
        let setup = Setup {
            ports,
            rx_descriptors: limits.rx_descriptors,
            tx_descriptors: limits.tx_descriptors,
            queues,
            hardware_pfc: options.hardware_pfc,
            mtu,
            rx_offloads,
            pool: pool.clone(),
            promiscuous: options.promiscuous,
        };
        let promiscuous = set_up(&device, &setup)?;
        let started = Arc::new(StopOnDrop(device.clone()));
        device.life_mut().setup = Some(setup);
        let mac_control = MacControl::ask_for(&device);
        let info = PortInfo {
            rx_descriptors: limits.rx_descriptors,
            tx_descriptors: limits.tx_descriptors,
            max_frame,
            mtu,
            promiscuous,
            mac_control,
            rx_stamps: None,
            tx_stamps: None,
        };
        let caps = PortCaps {
            link_rate: link_rate(&device),
            rx_backlog_max: Bytes(u64::from(limits.rx_backlog) * u64::from(max_frame)),
            tx_committed_max: Bytes(u64::from(limits.tx_committed) * u64::from(max_frame)),
        };
        let port = |queue| {
            let state = Started {
                id: device.id,
                queue,
                caps,
                control: control.clone(),
                data: pool.clone(),
                info: info.clone(),
                stamps: None,
                sent: None,
                clock: options.clock,
                classes: lossless.map(|set| Box::new(Classes::new(set))),
                stop: started.clone(),
            };
            DpdkPort { state, device: device.clone() }
        };
        Ok((0..ports).map(port).collect())
    }
}

impl DpdkPort<Started> {
    /// Result of the setup.
    pub fn info(&self) -> &PortInfo {
        &self.state.info
    }

    /// Stops the port; frames in its queues are lost. Its device stays attached.
    ///
    /// # Panics
    /// Another queue of its device is still in use.
    pub fn stop(self) -> DpdkPort<Stopped> {
        assert_eq!(Arc::strong_count(&self.state.stop), 1, "no other queue is in use");
        drop(self.state);
        DpdkPort::of(self.device)
    }

    /// Returns the gate between its thread and the driver.
    #[inline]
    fn gate(&self) -> &Gate {
        &self.device.gates[usize::from(self.state.queue) % QUEUES_MAX]
    }

    /// Returns DPDK's number, and that of its queue.
    #[inline]
    const fn place(&self) -> (u16, u16) {
        (self.state.id, self.state.queue)
    }

    /// Reads the link's rate again, after it came up.
    pub fn refresh_link_rate(&mut self) {
        self.state.caps.link_rate = link_rate(&self.device);
    }
}

impl Port for DpdkPort<Started> {
    type Frame = Mbuf;

    #[inline]
    fn rx_burst(&mut self, out: &mut Burst<Mbuf>) {
        if !self.gate().may_pass() {
            return;
        }
        let (id, place) = (self.state.id, self.place());
        match &mut self.state.classes {
            None => {
                // SAFETY: the port is started and this borrow of it unique.
                unsafe { hot::receive(place, out) };
            }
            Some(classes) => {
                // SAFETY: as above; it was started with these queues.
                unsafe { classes.pass_on(id) };
                // SAFETY: as above.
                unsafe { classes.rx_burst(id, out) };
            }
        }
        if let Some(sent) = &mut self.state.sent {
            sent.take_received(out.iter());
        }
    }

    #[inline]
    fn tx_burst(&mut self, out: &mut Burst<Mbuf>) {
        if !self.gate().may_pass() {
            return;
        }
        let (id, place) = (self.state.id, self.place());
        match &mut self.state.classes {
            None => {
                // SAFETY: the port is started and this borrow of it unique.
                unsafe { hot::send(place, out) };
            }
            Some(classes) => {
                // SAFETY: as above; it was started with these queues.
                unsafe { classes.tx_burst(id, out) };
            }
        }
    }

    #[inline]
    fn has_queues(&self) -> bool {
        self.state.classes.is_some()
    }

    #[inline]
    fn held(&self) -> PrioritySet {
        self.state.classes.as_ref().map_or(PrioritySet::EMPTY, |classes| classes.held())
    }

    fn control_frame(&mut self, octets: &[u8]) -> Option<Mbuf> {
        assert!(octets.len() + FCS_BYTES as usize <= CONTROL_FRAME_MAX as usize);
        let queued = |mut frame: Mbuf| {
            frame.set_queue(CONTROL_QUEUE);
            frame
        };
        if let Some(frame) = self.state.control.frame(octets) {
            return Some(queued(frame));
        }
        // A NIC returns sent buffers when it needs descriptors, which on a quiet port may be never;
        // this call returns them now. Drivers that do not support it keep none.
        if self.gate().may_pass() {
            // SAFETY: the port is started and this borrow of it unique.
            unsafe { sys::rte_eth_tx_done_cleanup(self.state.id, self.state.queue, 0) };
        }
        self.state.control.frame(octets).map(queued)
    }

    fn message_frame(&mut self, octets: &[u8]) -> Option<Mbuf> {
        // From the pool of received frames: congestion messages are unbounded in number, and pauses
        // must never wait for their memory.
        self.state.data.frame(octets)
    }

    #[inline]
    fn caps(&self) -> &PortCaps {
        &self.state.caps
    }

    #[inline]
    fn rx_stamp(&self, frame: &Mbuf) -> Option<Instant> {
        let of_all = self.state.stamps.as_ref();
        let of_all = of_all.and_then(|(field, clock)| Some(clock.at(frame.rx_stamp(field)?)));
        of_all.or_else(|| self.state.sent.as_ref()?.received(frame))
    }

    #[inline]
    fn clock(&self, now: Instant) -> Instant {
        self.state.clock.as_ref().map_or(now, TscClock::now)
    }

    fn stamp_when_sent(&mut self, frame: &mut Mbuf) -> bool {
        let Some(sent) = self.state.sent.as_ref().filter(|_| self.gate().may_pass()) else {
            return false;
        };
        // One that was not read would keep the place.
        let _ = sent.read();
        frame.set_flags(sys::RTE_MBUF_F_TX_IEEE1588_TMST);
        true
    }

    fn sent_stamp(&mut self) -> Option<Instant> {
        self.state.sent.as_ref().filter(|_| self.gate().may_pass())?.read()
    }

    fn stamps(&self) -> Stamps {
        let step = self.state.clock.map_or(Duration::ZERO, |clock| clock.resolution());
        let tick = Duration::from_picos(1);
        let by_clock = match self.state.clock {
            Some(_) => (StampSource::Software, step, Duration::ZERO),
            None => (StampSource::Poll, tick, Duration::ZERO),
        };
        let (source, resolution, uncertainty) = match self.stamp_quality() {
            Some(q) => (StampSource::Nic, q.resolution.max(step), q.uncertainty),
            None => by_clock,
        };
        // The longer of both clocks' errors, as times of either may be those of a message.
        let sent = self.state.sent.as_ref().map(SentStamps::quality);
        let (resolution, uncertainty) = sent.map_or((resolution, uncertainty), |sent| {
            (resolution.max(sent.resolution), uncertainty.max(sent.uncertainty))
        });
        // A device with a line rate reports it.
        let serializes = self.state.caps.link_rate.is_some();
        Stamps { source, resolution, uncertainty, serializes }
    }

    fn refresh_clock(&mut self) {
        if self.state.stamps.as_ref().is_some_and(|(_, clock)| clock.is_stale()) {
            // A clock that cannot be read any more shows as growing uncertainty.
            let _ = self.refresh_stamps();
        }
        if let Some(sent) = &mut self.state.sent {
            sent.refresh();
        }
    }
}

/// Returns the longest frame of the options, by default that of the pool, which must have room for it.
fn longest_frame(device: &Device, options: &PortOptions, pool: &Pool) -> Result<u32, Error> {
    let max_frame = options.max_frame.unwrap_or(pool.max_frame());
    if max_frame > pool.max_frame() {
        return Err(Error::Option {
            what: format!("{}: frames of {max_frame} octets", device.spec.full),
            why: format!("the pool has room for {} octets", pool.max_frame()),
        });
    }
    Ok(max_frame)
}

/// Returns the number of receive and of transmit queues of a device that is started as `ports` ports.
fn queues_each_way(
    device: &Device,
    options: &PortOptions,
    lossless: Option<PrioritySet>,
    ports: u16,
) -> Result<(u16, u16), Error> {
    if lossless.is_some() && ports > 1 {
        let what = format!("{}: {ports} ports", device.spec.full);
        let why = "with queues by priority it is one port".into();
        return Err(Error::Option { what, why });
    }
    let (rx, tx) = lossless.map_or((ports, ports), |set| (queues::rx_queues(set), TX_QUEUES));
    if let Some(pfc) = &options.hardware_pfc {
        check_hardware_pfc(device, pfc, rx, tx)?;
    }
    Ok((rx, tx))
}

/// Negotiated rate of a device with a wire; virtual devices report a fictitious one.
fn link_rate(device: &Arc<Device>) -> Option<BitsPerSec> {
    if device.is_virtual {
        return None;
    }
    PortControl::new(device).link().rate
}
