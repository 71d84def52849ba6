//! Opens the ports of a measurement.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use contracts::port::{Port, PortCaps};
use dpdk::{
    DpdkPort, Eal, Pool, PoolOptions, PortControl, PortOptions, RingOptions, Started, Stopped,
    TscClock, receive_room, ring_pair,
};
use ground::units::{BitsPerSec, Mac};
use tester::plan::Place;
use tester::session::interface_device;

/// Frames of a pool: the queues of a device, and a reserve.
const POOL_FRAMES: u32 = 4_095;

/// Free frames that the thread of a port caches.
const POOL_CACHE: u32 = 64;

/// Time for a link to come up.
const LINK_WAIT: Duration = Duration::from_secs(3);

/// Longest frame that is received, FCS included: frames of link protocols are not longer.
const FRAME_ROOM: u32 = 1_518;

/// Number of the first device that is created for an interface: far above those that users choose.
const INTERFACE_NUMBER: u32 = 1_000;

/// An open port.
pub struct Opened {
    /// Name as given.
    pub name: String,
    pub(crate) port: DpdkPort<Started>,
    pub(crate) control: PortControl,
    pub(crate) mac: Mac,
    /// Rate of its line, if it has one.
    pub rate: Option<BitsPerSec>,
    pub(crate) clock: TscClock,
    /// True if it is an end of a pair in memory.
    pub(crate) in_memory: bool,
}

/// Opens ports and waits for their links.
///
/// # Errors
/// A port that cannot be opened, or a link that is down.
pub fn open(eal: &Eal, places: &[Place]) -> Result<Vec<Opened>> {
    let clock = TscClock::new();
    if let [Place::Ring { pair, end }, _] = places {
        let options = RingOptions { name: pair.clone(), ..RingOptions::default() };
        let (a, b) = ring_pair(eal, &options)?;
        let ports = if *end == 0 { [a, b] } else { [b, a] };
        let both = (0..).zip(places).zip(ports);
        return both.map(|((n, place), port)| start(eal, n, place, port, 0, clock)).collect();
    }
    let one = |(n, place): (u32, &Place)| {
        let device = match place {
            Place::Interface(name) => interface_device(INTERFACE_NUMBER + n, name, FRAME_ROOM, 1),
            other => other.to_string(),
        };
        let port = DpdkPort::open(eal, &device)?;
        start(eal, n, place, port, receive_room(&device), clock)
    };
    (0..).zip(places).map(one).collect()
}

fn start(
    eal: &Eal,
    n: u32,
    place: &Place,
    port: DpdkPort<Stopped>,
    room: u32,
    clock: TscClock,
) -> Result<Opened> {
    let options = PoolOptions {
        name: format!("measure{n}"),
        frames: POOL_FRAMES,
        max_frame: FRAME_ROOM.max(room),
        cache: POOL_CACHE,
    };
    let pool = Pool::new(eal, &options)?;
    let is_virtual = port.is_virtual();
    let options = PortOptions {
        max_frame: Some(FRAME_ROOM),
        rx_stamps: (!is_virtual).then_some(clock),
        tx_stamps: (!is_virtual).then_some(clock),
        clock: Some(clock),
        ..PortOptions::default()
    };
    let mut port = port.start(&options, &pool).with_context(|| format!("port {place}"))?;
    let control = port.control();
    let up = comes_up(&control);
    if !is_virtual {
        port.refresh_link_rate();
    }
    ensure!(
        up,
        "the link of {place} is down; plug it in or take its other end up, and if it is an \
         interface of the kernel: ip link set dev NAME up"
    );
    // Locally administered, and different for each port.
    let made_up = Mac([0x02, 0x51, 0x64, 0x74, 0, n as u8]);
    let PortCaps { link_rate, .. } = *port.caps();
    Ok(Opened {
        name: place.to_string(),
        mac: control.mac().unwrap_or(made_up),
        rate: link_rate.filter(|_| !is_virtual),
        control,
        port,
        clock,
        in_memory: matches!(place, Place::Ring { .. }),
    })
}

/// Waits for a port's link; it takes a moment after the start.
fn comes_up(control: &PortControl) -> bool {
    let started = Instant::now();
    while !is_up(control) && started.elapsed() < LINK_WAIT {
        thread::sleep(Duration::from_millis(20));
    }
    is_up(control)
}

/// True if a port has a link; the kernel's carrier has precedence for its interfaces.
pub(crate) fn is_up(control: &PortControl) -> bool {
    control.interface_link().unwrap_or_else(|| control.link().up)
}
