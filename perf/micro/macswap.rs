//! Cost of a port alone: receive, swap the MAC addresses, send, between two devices.
//!
//! Counterpart of `dpdk-testpmd --forward-mode=macswap` on the same devices; the work of the switch
//! is added to this. Prints one line per round: nanoseconds per frame.
//!
//! `macswap [--no-huge] [--cpu N] [--seconds S] [--rounds R] [DEVICE [DEVICE]]`

extern crate perf as sluice;

use std::time::{Duration, Instant};

use sluice::dpdk::{DpdkPort, Eal, EalOptions, Memory, Pool, PoolOptions, PortOptions};
use sluice::frame::{Burst, Frame};
use sluice::port::Port;

struct Args {
    memory: Memory,
    cpu: Option<usize>,
    seconds: f64,
    rounds: u32,
    devices: Vec<String>,
}

fn main() -> anyhow::Result<()> {
    let args = arguments()?;
    if let Some(id) = args.cpu {
        anyhow::ensure!(core_affinity::set_for_current(core_affinity::CoreId { id }), "CPU {id}");
    }
    let eal = Eal::start(&EalOptions { memory: args.memory, ..EalOptions::default() })?;
    let _worker = eal.register_worker()?;
    let pool = Pool::new(&eal, &PoolOptions { frames: 2_047, ..PoolOptions::default() })?;
    let mut ports = Vec::new();
    for device in &args.devices {
        ports.push(DpdkPort::open(&eal, device)?.start(&PortOptions::default(), &pool)?);
    }
    if ports.len() == 1 {
        let [only] = ports.as_mut_slice() else { unreachable!() };
        return rounds(&args, |out| only_once(only, out));
    }
    let [a, b] = ports.as_mut_slice() else { anyhow::bail!("one or two devices") };
    rounds(&args, |out| forward(a, b, out) + forward(b, a, out))
}

fn rounds(args: &Args, mut poll: impl FnMut(&mut Burst<Frames>) -> u64) -> anyhow::Result<()> {
    let mut out = Burst::new();
    for _ in 0..args.rounds {
        let (start, mut frames) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_secs_f64(args.seconds) {
            for _ in 0..10_000 {
                frames += poll(&mut out);
            }
        }
        println!("{:.3}", start.elapsed().as_nanos() as f64 / frames as f64);
    }
    Ok(())
}

type Frames = <DpdkPort as Port>::Frame;

fn only_once(port: &mut DpdkPort, out: &mut Burst<Frames>) -> u64 {
    port.rx_burst(out);
    swap(out);
    send(port, out)
}

#[inline(never)]
fn forward(from: &mut DpdkPort, to: &mut DpdkPort, out: &mut Burst<Frames>) -> u64 {
    from.rx_burst(out);
    swap(out);
    send(to, out)
}

#[inline(always)]
fn swap(frames: &mut Burst<Frames>) {
    for frame in frames {
        let Some(head) = frame.head_mut().first_chunk_mut::<12>() else { continue };
        let old = *head;
        head[..6].copy_from_slice(&old[6..]);
        head[6..].copy_from_slice(&old[..6]);
    }
}

#[inline(always)]
fn send(to: &mut DpdkPort, frames: &mut Burst<Frames>) -> u64 {
    let n = frames.len() as u64;
    to.tx_burst(frames);
    let refused = frames.len() as u64;
    frames.clear();
    n - refused
}

fn arguments() -> anyhow::Result<Args> {
    let mut args =
        Args { memory: Memory::Auto, cpu: None, seconds: 1.0, rounds: 1, devices: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| anyhow::anyhow!("{word} takes a value"));
        match word.as_str() {
            "--no-huge" => args.memory = Memory::NoHuge,
            "--cpu" => args.cpu = Some(value()?.parse()?),
            "--seconds" => args.seconds = value()?.parse()?,
            "--rounds" => args.rounds = value()?.parse()?,
            _ => args.devices.push(word),
        }
    }
    if args.devices.is_empty() {
        args.devices = vec!["net_null0".into(), "net_null1".into()];
    }
    Ok(args)
}
