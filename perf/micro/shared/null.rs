//! DPDK ports for benches, mainly those that generate frames without end.

use std::process::exit;

use sluice::dpdk::{DpdkPort, Eal, Pool, PoolOptions, PortOptions};

use super::plan::template;

/// Flows each way between two null ports; it divides the length of a burst.
pub const FLOWS: u8 = 16;

/// Frames of a port's pool and its worker's cache. Frames freed last are received next.
pub const HOT: (u32, u32) = (2048, 256);

/// Null port `n`, whose pool holds frames from its side's hosts to those behind port `peer`, in
/// VLAN `vid`: `frames` of them, `cache` in the worker's cache. Without a cache they are received in
/// turn.
pub fn null_port(eal: &Eal, (n, peer): (u8, u8), vid: u8, (frames, cache): (u32, u32)) -> DpdkPort {
    let name = format!("null{n}");
    let pool = Pool::new(eal, &PoolOptions { name, frames, cache, ..PoolOptions::default() })
        .expect("a pool");
    let mut all = Vec::new();
    let mut flow = 0;
    loop {
        let mut octets = template(n, peer, flow);
        octets[15] = vid;
        let Some(frame) = pool.frame(&octets) else { break };
        all.push(frame);
        flow = (flow + 1) % FLOWS;
    }
    drop(all);
    open(eal, &format!("net_null{n},size=60"), &pool)
}

/// Opens and starts a device.
pub fn open(eal: &Eal, device: &str, pool: &Pool) -> DpdkPort {
    DpdkPort::open(eal, device)
        .and_then(|port| port.start(&PortOptions::default(), pool))
        .unwrap_or_else(|error| refuse(&error.to_string()))
}

/// Ends the bench.
pub fn refuse(why: &str) -> ! {
    eprintln!("{why}");
    exit(3)
}
