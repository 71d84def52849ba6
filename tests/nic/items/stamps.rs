//! Time stamps by the device: with DPDK as Debian builds it, and with IEEE 1588 built in.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use anyhow::{Context, Result, bail, ensure};
use sluice::dpdk::{DpdkPort, PortOptions, Started, TscClock};
use sluice::frame::Burst;
use sluice::port::Port;
use sluice::time::{Duration, Instant};

use super::programs::{described, measure};
use crate::ends::{Ends, LOCAL};
use crate::model::Pair;
use crate::outcome::Skip;

/// Folder of the two builds of the driver; the link to one of them is among DPDK's plugins.
const BUILDS: &str = "/builds";

/// Time in which a stamp comes if it comes at all.
const STAMP_WAIT: StdDuration = StdDuration::from_millis(50);

/// EtherType of PTP; a frame of it is a Sync, or with [`PDELAY`] a Pdelay_Req.
const PTP: [u8; 2] = [0x88, 0xf7];

/// Stands for a Pdelay_Req in this test.
const PDELAY: [u8; 2] = [0, 2];

/// Lets DPDK load one of the builds of its driver of igb.
fn choose(build: &str) -> Result<()> {
    let folder = PathBuf::from(BUILDS).join(build);
    let mut found = fs::read_dir(&folder).with_context(|| format!("{}", folder.display()))?;
    let plugin = found.next().context("no plugin")??.path();
    let link = fs::read_to_string(format!("{BUILDS}/link"))?;
    fs::remove_file(link.trim())?;
    Ok(symlink(plugin, link.trim())?)
}

/// Runs `test` with the build that stamps, and goes back to Debian's.
fn with_stamping<T>(test: impl FnOnce() -> Result<T>) -> Result<T> {
    choose("stamping")?;
    let result = test();
    choose("plain")?;
    result
}

fn options(clock: TscClock) -> PortOptions {
    PortOptions {
        rx_stamps: Some(clock),
        tx_stamps: Some(clock),
        clock: Some(clock),
        ..PortOptions::default()
    }
}

/// Reads the stamp of a sent frame, if it comes.
fn stamp(port: &mut DpdkPort<Started>) -> Option<Instant> {
    let started = StdInstant::now();
    while started.elapsed() < STAMP_WAIT {
        if let Some(at) = port.sent_stamp() {
            return Some(at);
        }
    }
    None
}

/// A frame of this EtherType.
fn octets(ethertype: [u8; 2]) -> Vec<u8> {
    let mut octets = vec![1, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 0, 0xa0];
    octets.extend(if ethertype == PDELAY { PTP } else { ethertype });
    octets.extend(match ethertype {
        PTP => [0, 2, 0, 44],
        PDELAY => [2, 2, 0, 54],
        _ => [0; 4],
    });
    octets.resize(68, 0);
    octets
}

/// Sends a frame; `flagged`: with the request for a stamp. Returns the time of the hand-over.
fn hand_over(
    port: &mut DpdkPort<Started>,
    clock: &TscClock,
    ethertype: [u8; 2],
    flagged: bool,
) -> Result<Instant> {
    let mut frame = port.control_frame(&octets(ethertype)).context("no memory")?;
    if flagged {
        ensure!(port.stamp_when_sent(&mut frame), "a stamp cannot be requested");
    }
    let mut burst: Burst<_> = [frame].into_iter().collect();
    let at = clock.now();
    port.tx_burst(&mut burst);
    ensure!(burst.is_empty(), "the frame was not taken");
    Ok(at)
}

/// The plain build: a driver has no stamps and says so, or takes the request and gives none.
pub fn plain(pair: &Pair) -> Result<String> {
    let clock = TscClock::new();
    let mut ends = Ends::start(pair, &options(clock))?;
    let info = ends.a.info().clone();
    let received = match info.rx_stamps.context("not requested")? {
        Ok(()) => bail!("a driver with stamps of all received frames: this is not expected"),
        Err(why) => why,
    };
    match info.tx_stamps.context("not requested")? {
        Err(why) => {
            let mut frame = ends.a.control_frame(&octets(LOCAL)).context("no memory")?;
            ensure!(!ends.a.stamp_when_sent(&mut frame), "it stamps, but says {why}");
            Ok(format!("sent: {why}; received: {received}"))
        }
        Ok(()) => {
            hand_over(&mut ends.a, &clock, LOCAL, true)?;
            let came = stamp(&mut ends.a);
            ensure!(came.is_none(), "a stamp came from a build without them");
            Ok(format!("sent: the request is taken and no stamp comes; received: {received}"))
        }
    }
}

/// The build with IEEE 1588: stamps of sent frames of any type, of received ones of PTP.
pub fn stamping(pair: &Pair) -> Result<String> {
    if pair.model.name != "igb" {
        return Err(Skip("only igb's driver differs between the builds".into()).into());
    }
    with_stamping(|| try_stamps(pair))
}

fn try_stamps(pair: &Pair) -> Result<String> {
    let clock = TscClock::new();
    let Ends { mut a, mut b, pool: _pool } = Ends::start(pair, &options(clock))?;
    let result = a.info().tx_stamps.clone().context("not requested")?;
    ensure!(result.is_ok(), "{result:?}");
    let stamps = a.stamps();
    let open = stamps.uncertainty + stamps.resolution.saturating_mul(2) + Duration::from_micros(1);
    let before = |at: Instant, stamp: Instant| stamp.saturating_add(open) < at;

    // A stamp on any type of frame: MAC control, the measurement's, PTP, local.
    for ethertype in [[0x88, 0x08], [0x89, 0xa2], PTP, LOCAL] {
        let handed = hand_over(&mut a, &clock, ethertype, true)?;
        let at = stamp(&mut a).with_context(|| format!("no stamp of {ethertype:02x?}"))?;
        let now = clock.now();
        ensure!(!before(handed, at), "{ethertype:02x?}: {at:?} is before {handed:?} +- {open:?}");
        ensure!(!before(at, now.saturating_add(open)), "{ethertype:02x?}: {at:?} is after {now:?}");
        ensure!(a.sent_stamp().is_none(), "a stamp is read twice");
    }
    // A frame without the request has none.
    hand_over(&mut a, &clock, LOCAL, false)?;
    ensure!(stamp(&mut a).is_none(), "a stamp that was not requested");

    // There is room for one: while it is not read, that of a second frame is lost.
    let frames = [0, 1].map(|_| a.control_frame(&octets(LOCAL)));
    let [Some(mut first), Some(mut second)] = frames else { bail!("no memory") };
    ensure!(a.stamp_when_sent(&mut first) && a.stamp_when_sent(&mut second), "no request");
    let mut burst: Burst<_> = [first].into_iter().collect();
    a.tx_burst(&mut burst);
    thread::sleep(StdDuration::from_millis(5));
    let between = clock.now();
    burst.push(second);
    a.tx_burst(&mut burst);
    let at = stamp(&mut a).context("no stamp of two")?;
    ensure!(before(between, at) || at < between, "it is that of the second: {at:?} {between:?}");
    ensure!(stamp(&mut a).is_none(), "two stamps of a latch of one");

    // One that was never read does not become that of a later frame.
    hand_over(&mut a, &clock, LOCAL, true)?;
    thread::sleep(StdDuration::from_millis(5));
    let handed = hand_over(&mut a, &clock, LOCAL, true)?;
    let at = stamp(&mut a).context("no stamp after one that was not read")?;
    ensure!(!before(handed, at), "{at:?} is that of the frame before {handed:?}");

    // In the other direction, in which no message of PTP has come yet.
    let received = received(&mut b, &mut a, &clock)?;
    Ok(format!("sent: any type, {stamps:?}; received: {received}"))
}

/// Stamps of received frames: of PTP's messages, where the device has a place for one.
fn received(
    from: &mut DpdkPort<Started>,
    to: &mut DpdkPort<Started>,
    clock: &TscClock,
) -> Result<String> {
    let mut burst = Burst::new();
    let mut found = Vec::new();
    // Frames that were sent before.
    for _ in 0..100 {
        to.rx_burst(&mut burst);
        burst.clear();
    }
    for ethertype in [LOCAL, PDELAY, PTP, LOCAL] {
        let handed = hand_over(from, clock, ethertype, false)?;
        let started = StdInstant::now();
        while burst.is_empty() && started.elapsed() < StdDuration::from_secs(1) {
            to.rx_burst(&mut burst);
        }
        let now = clock.now();
        ensure!(!burst.is_empty(), "the frame did not arrive");
        let at = burst.iter().next().and_then(|frame| to.rx_stamp(frame));
        let open = to.stamps().uncertainty + Duration::from_micros(2);
        if let Some(at) = at {
            let late = at > now.saturating_add(open);
            ensure!(at.saturating_add(open) >= handed && !late, "{handed:?} {at:?} {now:?}");
        }
        found.push(at.is_some());
        burst.clear();
    }
    match found[..] {
        // DPDK's driver leaves the message that is timestamped at 0, so that others have no stamp.
        // The emulation gives one stamp: it makes room for the next when a register is read that the
        // driver does not read (RXSATRH).
        [false, false, true, false] => Ok("PTP's Sync, and no other message of it".into()),
        _ => bail!("stamps of another frame, Pdelay_Req, Sync and another: {found:?}"),
    }
}

/// Sources and uncertainty of measurements by both builds.
pub fn measured(pair: &Pair) -> Result<String> {
    if pair.model.name != "igb" {
        return Err(Skip("only igb's driver differs between the builds".into()).into());
    }
    let mut notes = Vec::new();
    for method in ["round-trip", "ptp"] {
        let args = ["--method", method, "--interval", "2ms"];
        let plain = measure(pair, &args).context("plain")?;
        let stamped = with_stamping(|| measure(pair, &args)).context("with IEEE 1588")?;
        let source = |m: &serde_json::Value, of: &str| m["sources"][of].clone();
        ensure!(source(&plain, "t1") == "software", "{method}: {}", described(&plain));
        ensure!(source(&plain, "t4") == "software", "{method}: {}", described(&plain));
        ensure!(source(&stamped, "t1") == "nic", "{method}: {}", described(&stamped));
        // The clock of the device is known better than the time that a hand-over takes.
        let open = |m: &serde_json::Value| m["uncertainty_ns"].as_f64().context("no uncertainty");
        let (plain_open, open) = (open(&plain)?, open(&stamped)?);
        ensure!(
            plain_open > open,
            "{method}: uncertainty {plain_open} by software, {open} by stamps"
        );
        notes.push(format!(
            "{method}: plain {}; with IEEE 1588 {}",
            described(&plain),
            described(&stamped)
        ));
    }
    Ok(notes.join("; "))
}
