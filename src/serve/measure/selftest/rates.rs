//! Rates by frame size: short bursts of a station at the port to a station at the peer, by one
//! thread. An observation about this machine; it has no verdict.

use contracts::frame::LINE_OVERHEAD_BYTES;
use dpdk::{PortOptions, SourcePort, TscClock};
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Bytes, Priority};
use host::plan::{FlowPlan, Headers};
use host::{FlowId, Rate, Station, StationPlan};

use super::bench::{FRAME_LONGEST, Pair};
use super::report::SizeRate;
use super::{Context, options};

/// Sizes in bytes, FCS included. The last one is jumbo.
const SIZES: [u32; 8] = [64, 128, 256, 512, 1_024, 1_280, 1_518, 9_000];

/// Time for which each size is sent.
const BURST: Duration = Duration::from_millis(60);

/// Time from the end of one size to the next, for frames in rings.
const REST: Duration = Duration::from_millis(20);

/// Rate of devices without a link rate: more than a thread sends.
const UNLIMITED: BitsPerSec = BitsPerSec::gbps(400);

/// Measures the rates; `jumbo` if the ports pass such frames.
///
/// # Errors
/// The reason why the ports do not start.
pub(super) fn rates(context: &mut Context<'_>, jumbo: bool) -> Result<Vec<SizeRate>, String> {
    let usual = options(context.bench.clock);
    let options = match jumbo {
        true => PortOptions { max_frame: Some(FRAME_LONGEST), ..usual },
        false => usual,
    };
    let pair = context.bench.start(&options, &options).map_err(|refused| refused.why)?;
    let sizes: Vec<_> = SIZES.into_iter().filter(|size| *size <= 1_518 || jumbo).collect();
    // Without a line the CPU alone limits the rate.
    let rate = context.link_rate.and_then(BitsPerSec::new).unwrap_or(UNLIMITED);
    let result = run(pair, rate, &sizes, context.bench.clock);
    // The stations have taken the ports.
    context.bench.close();
    result
}

fn run(
    pair: Pair,
    rate: BitsPerSec,
    sizes: &[u32],
    clock: TscClock,
) -> Result<Vec<SizeRate>, String> {
    let (port_mac, peer_mac) = pair.macs();
    let Pair { port, peer, pool, .. } = pair;
    let peer = peer.ok_or("needs a peer")?;
    let begin = clock.now() + Duration::from_millis(5);
    // A rest after each size lets the rings drain, so that no frame counts for the next size.
    let start = |n: u64| begin + (BURST + REST).saturating_mul(n);
    let flow = |(n, size): (u32, &u32)| FlowPlan {
        id: FlowId(n),
        src: port_mac,
        dst: peer_mac,
        tag: None,
        priority: Priority::MIN,
        headers: Headers::Ethernet,
        size: *size,
        // In millionths: the whole line.
        rate: Rate::LineShare(1_000_000),
        start: start(n.into()),
        stop: start(n.into()) + BURST,
        frames: None,
    };
    let sender = StationPlan {
        flows: (0..).zip(sizes).map(flow).collect(),
        // A thread that was late may catch up: the device has a rate of its own.
        shaper_burst: Bytes(64 * 1_024),
        backlog: Duration::from_micros(100),
        ..StationPlan::new("port", port_mac, rate)
    };
    let receiver = StationPlan {
        expects: (0..).take(sizes.len()).map(FlowId).collect(),
        ..StationPlan::new("peer", peer_mac, rate)
    };
    let failed = |error: host::PlanError| error.to_string();
    let mut sender = Station::new(&sender, SourcePort::new(port, pool.clone())).map_err(failed)?;
    let mut receiver = Station::new(&receiver, SourcePort::new(peer, pool)).map_err(failed)?;
    let end: Instant = start(sizes.len() as u64);
    loop {
        let now = clock.now();
        sender.poll(now);
        receiver.poll(now);
        // After the last rest, so that the frames of the last burst have arrived.
        if now >= end {
            break;
        }
    }
    let sent: Vec<_> = sender.sources().map(|source| source.frames).collect();
    let rate_of = |(n, size): (u32, &u32)| {
        let received = receiver.sink(FlowId(n)).map_or(0, |sink| sink.frames) as f64;
        let seconds = BURST.as_secs_f64();
        SizeRate {
            frame_bytes: *size,
            sent_per_second: (sent[n as usize] as f64 / seconds).round(),
            received_per_second: (received / seconds).round(),
            // With preamble and gap, as the line counts.
            line_bps: (received * f64::from((size + LINE_OVERHEAD_BYTES) * 8) / seconds).round(),
        }
    };
    Ok((0..).zip(sizes).map(rate_of).collect())
}
