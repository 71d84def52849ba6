//! The two ports of a pair, opened by Sluice, and frames between them.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Memory, Pool, PoolOptions, PortOptions, Started, own_prefix,
};
use sluice::frame::{BURST, Burst, Frame};
use sluice::port::Port;

use crate::model::Pair;

/// Time for a link to come up. Time in the guest is that of its instructions, so a busy machine does not
/// shorten it.
pub const LINK_WAIT: Duration = Duration::from_secs(10);

/// Time for frames to cross the cable.
const CROSSING: Duration = Duration::from_secs(5);

/// EtherType of test frames (IEEE 802, local experimental).
pub const LOCAL: [u8; 2] = [0x88, 0xb5];

/// Starts DPDK with the devices of a pair.
pub fn eal(pair: &Pair) -> Result<Eal> {
    let options = EalOptions {
        memory: Memory::Hugepages,
        file_prefix: own_prefix("nic"),
        ..EalOptions::default()
    };
    Ok(Eal::start(&options.for_devices([&pair.a, &pair.b]))?)
}

/// Makes a pool for both ports.
pub fn pool(eal: &Eal, max_frame: u32) -> Result<Pool> {
    let options =
        PoolOptions { name: "nic".into(), frames: 8_191, max_frame, ..PoolOptions::default() };
    Ok(Pool::new(eal, &options)?)
}

/// Makes a pool for both ports with the longest rings of this test.
pub fn large_pool(eal: &Eal) -> Result<Pool> {
    let options = PoolOptions { name: "nic".into(), frames: 40_959, ..PoolOptions::default() };
    Ok(Pool::new(eal, &options)?)
}

/// Both ports, started, with their links up.
pub struct Ends {
    pub a: DpdkPort<Started>,
    pub b: DpdkPort<Started>,
    pub pool: Pool,
}

impl Ends {
    /// Opens and starts both ports with the same options.
    pub fn start(pair: &Pair, options: &PortOptions) -> Result<Self> {
        let pool = pool(&eal(pair)?, options.max_frame.unwrap_or(1_522))?;
        Self::with_pool(pair, options, pool)
    }

    /// Likewise, with this pool.
    pub fn with_pool(pair: &Pair, options: &PortOptions, pool: Pool) -> Result<Self> {
        let start = |device: &str| {
            let port = DpdkPort::open(pool.eal(), device)?.start(options, &pool)?;
            anyhow::Ok(port)
        };
        let ends = Self { a: start(&pair.a)?, b: start(&pair.b)?, pool };
        for port in [&ends.a, &ends.b] {
            wait_for_link(port, true)?;
        }
        Ok(ends)
    }

    /// Sends frames from `a` to `b`, and back, and checks that all arrive as they were, in order.
    pub fn exchange(&mut self, frames: &[Vec<u8>]) -> Result<()> {
        cross(&self.pool, &mut self.a, &mut self.b, frames).context("from a to b")?;
        cross(&self.pool, &mut self.b, &mut self.a, frames).context("from b to a")
    }
}

/// Waits until a link is up, or down.
pub fn wait_for_link(port: &DpdkPort<Started>, up: bool) -> Result<Duration> {
    let started = Instant::now();
    while port.link().up != up {
        let state = if up { "up" } else { "down" };
        ensure!(started.elapsed() < LINK_WAIT, "the link of {} is not {state}", port.device());
        thread::sleep(Duration::from_millis(10));
    }
    Ok(started.elapsed())
}

/// A frame of `len` bytes without FCS, with its number in its data.
pub fn frame(number: usize, len: usize) -> Vec<u8> {
    let mut octets = vec![0x02, 0, 0, 0, 0, 0xb0, 0x02, 0, 0, 0, 0, 0xa0];
    octets.extend(LOCAL);
    octets.extend((number as u32).to_be_bytes());
    while octets.len() < len {
        octets.push((octets.len() * 7 + number) as u8);
    }
    octets.truncate(len);
    octets
}

/// Sends up to `most` of `frames` from number `next` on; returns the number after the last one sent.
pub fn send(
    pool: &Pool,
    port: &mut DpdkPort<Started>,
    frames: &[Vec<u8>],
    next: usize,
    most: usize,
) -> Result<usize> {
    let mut burst = Burst::new();
    for octets in frames[next..].iter().take(most.min(BURST)) {
        burst.push(pool.frame(octets).context("no memory for a frame")?);
    }
    let tried = burst.len();
    port.tx_burst(&mut burst);
    Ok(next + tried - burst.len())
}

/// Receives a burst as bytes.
pub fn receive(port: &mut DpdkPort<Started>) -> Vec<Vec<u8>> {
    let mut burst = Burst::new();
    port.rx_burst(&mut burst);
    // A frame of several buffers would show only its first one.
    let whole = |frame: &_| {
        assert_eq!(sluice::dpdk::Mbuf::segments(frame), 1, "a frame in several buffers");
        frame.head().to_vec()
    };
    burst.iter().map(whole).collect()
}

/// Sends frames and checks that they arrive; a NIC pads short ones.
pub fn cross(
    pool: &Pool,
    from: &mut DpdkPort<Started>,
    to: &mut DpdkPort<Started>,
    frames: &[Vec<u8>],
) -> Result<()> {
    // The ring has to have room for all that are on their way: QEMU delivers those that found no room
    // behind later ones.
    let most = usize::from(to.info().rx_descriptors / 2).max(1);
    let (mut next, mut got) = (0, Vec::new());
    let started = Instant::now();
    while got.len() < frames.len() {
        let waited = started.elapsed() < CROSSING;
        ensure!(waited, "{} of {} frames arrived, {next} were sent", got.len(), frames.len());
        if next < frames.len() {
            let on_the_way = next.saturating_sub(got.len());
            next = send(pool, from, frames, next, most.saturating_sub(on_the_way))?;
        }
        got.extend(receive(to));
    }
    for (n, (sent, got)) in frames.iter().zip(&got).enumerate() {
        let is_same = got.starts_with(sent) && got.len() == sent.len().max(60);
        ensure!(
            is_same,
            "frame {n} of {} bytes arrived as {} bytes, which begin with {:02x?}; {:?}, {:?}",
            sent.len(),
            got.len(),
            &got[..got.len().min(24)],
            from.stats(),
            to.stats()
        );
    }
    Ok(())
}
