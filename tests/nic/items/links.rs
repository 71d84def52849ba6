//! Links, rings and counters.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sluice::dpdk::{DpdkPort, PortOptions};
use sluice::frame::BURST;

use crate::channel::set_carrier;
use crate::ends::{self, Ends, frame, receive, send, wait_for_link};
use crate::model::{FullRing, Pair};

fn some(n: usize) -> Vec<Vec<u8>> {
    (0..n).map(|n| frame(n, 60 + n % 1_400)).collect()
}

/// A cable that is unplugged and plugged in is seen at both ends, which then work as before.
pub fn link(pair: &Pair) -> Result<String> {
    let mut ends = Ends::start(pair, &PortOptions::default())?;
    ends.exchange(&some(10))?;
    let model = pair.model.name;
    let mut took = Vec::new();
    for _ in 0..2 {
        for up in [false, true] {
            set_carrier(model, 'a', up)?;
            set_carrier(model, 'b', up)?;
            took.push(wait_for_link(&ends.a, up)?.max(wait_for_link(&ends.b, up)?));
        }
        ends.exchange(&some(100))?;
    }
    // One end alone, as after a fault of one transmitter.
    set_carrier(model, 'b', false)?;
    wait_for_link(&ends.b, false)?;
    set_carrier(model, 'b', true)?;
    wait_for_link(&ends.b, true)?;
    ends.exchange(&some(100))?;
    // By the driver: many have no such call.
    let word = |result: std::result::Result<(), sluice::dpdk::Error>| match result {
        Ok(()) => "yes".to_owned(),
        Err(error) => error.to_string(),
    };
    let down = word(ends.a.control().set_link(false));
    let up = word(ends.a.control().set_link(true));
    wait_for_link(&ends.a, true)?;
    ends.exchange(&some(100))?;
    let down = if down == up { String::new() } else { format!("down: {down}, up: ") };
    let slowest = took.iter().max().map_or(0, Duration::as_millis);
    Ok(format!("seen within {slowest} ms; set by the driver: {down}{up}"))
}

/// Rings of several sizes, as the driver adjusts them, carry more frames than they hold.
pub fn rings(pair: &Pair) -> Result<String> {
    let pool = ends::large_pool(&ends::eal(pair)?)?;
    let mut adjusted = Vec::new();
    for (rx, tx) in [(1, 1), (64, 64), (256, 128), (333, 77), (2_048, 1_024), (4_096, 4_096)] {
        let options =
            PortOptions { rx_descriptors: rx, tx_descriptors: tx, ..PortOptions::default() };
        let mut ends = Ends::with_pool(pair, &options, pool.clone())
            .with_context(|| format!("rings of {rx} and {tx}"))?;
        ends.exchange(&some(600)).with_context(|| format!("rings of {rx} and {tx}"))?;
        let info = ends.a.info();
        adjusted.push(format!("{rx}/{tx}={}/{}", info.rx_descriptors, info.tx_descriptors));
    }
    Ok(adjusted.join(" "))
}

/// Counters of the driver: frames sent and received, and frames that found a full ring, as far as it
/// counts them. Each frame is somewhere.
pub fn statistics(pair: &Pair) -> Result<String> {
    const FRAMES: usize = 2_000;
    let options = PortOptions { rx_descriptors: 256, ..PortOptions::default() };
    let mut ends = Ends::start(pair, &options)?;
    ends.exchange(&some(300))?;
    let Ends { a, b, pool } = &mut ends;
    for (port, name) in [(&*a, "a"), (&*b, "b")] {
        let stats = settled(port);
        let counted = (stats.rx_frames, stats.tx_frames, stats.nic.rx_missed);
        ensure!(counted == (300, 300, Some(0)), "{name} counts {counted:?}, not 300 each way");
        let errors = stats.nic.rx_errors + stats.nic.tx_errors + stats.nic.rx_no_memory;
        ensure!(errors == 0, "{name} counts {errors} errors");
    }
    // Nothing is received while these are sent, so the ring fills.
    let frames = some(FRAMES);
    let (mut next, started) = (0, Instant::now());
    while next < FRAMES && started.elapsed() < Duration::from_secs(5) {
        next = send(pool, b, &frames, next, BURST)?;
    }
    let before = a.stats().nic.rx_missed;
    let (mut got, mut last) = (0, Instant::now());
    while last.elapsed() < Duration::from_millis(500) {
        let n = receive(a).len();
        got += n as u64;
        if n > 0 {
            last = Instant::now();
        }
        if next < FRAMES {
            next = send(pool, b, &frames, next, BURST)?;
        }
    }
    ensure!(next == FRAMES, "only {next} of {FRAMES} frames could be sent");
    let stats = settled(a);
    let missed = stats.nic.rx_missed.context("missed frames are not counted")?;
    let kept = stats.rx_frames - 300;
    let detail = format!("{got} received, {missed} missed ({before:?} at once)");
    let lost = FRAMES as u64 - got;
    ensure!(missed <= lost, "{detail}, of {FRAMES}");
    ensure!(kept == got || kept == got + missed, "{detail}, but {kept} counted as received");
    let found = match (missed, lost) {
        (_, 0) => FullRing::Waits,
        (0, _) => FullRing::DropsUncounted,
        (missed, lost) if missed == lost => FullRing::Counts,
        _ => bail!("{detail}, of {FRAMES}"),
    };
    ensure!(found == pair.model.full_ring, "{detail}, of {FRAMES}: {found:?} is not its way");
    Ok(format!("full ring of {}: {found:?}: {detail}, of {FRAMES}", a.info().rx_descriptors))
}

/// Reads counters when they have stopped changing: some devices copy them now and then.
fn settled(port: &DpdkPort<sluice::dpdk::Started>) -> sluice::dpdk::PortStats {
    let mut last = port.stats();
    loop {
        thread::sleep(Duration::from_millis(200));
        let now = port.stats();
        if now == last {
            return now;
        }
        last = now;
    }
}

/// Ports stop and start again, close and open again, and no frame's memory is lost.
pub fn restart(pair: &Pair) -> Result<String> {
    let eal = ends::eal(pair)?;
    let pool = ends::pool(&eal, 1_522)?;
    let (options, whole) = (PortOptions::default(), pool.frames());
    for _ in 0..2 {
        let mut ends = Ends::with_pool(pair, &options, pool.clone())?;
        ends.exchange(&some(100))?;
        for round in 0..2 {
            let Ends { a, b, .. } = ends;
            let (a, b) = (a.stop(), b.stop());
            let pool = pool.clone();
            ends = Ends { a: a.start(&options, &pool)?, b: b.start(&options, &pool)?, pool };
            wait_for_link(&ends.a, true)?;
            wait_for_link(&ends.b, true)?;
            ends.exchange(&some(100)).with_context(|| format!("after restart {round}"))?;
        }
        drop(ends);
        ensure!(pool.in_use() == 0, "{} of {whole} frames are not returned", pool.in_use());
    }
    Ok("stopped, started, closed and opened again; all frames returned".into())
}
