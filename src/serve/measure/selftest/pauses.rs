//! Steps about pauses: a NIC that obeys them itself, and Sluice's own station, which must.

use std::time::Instant as StdInstant;

use contracts::frame::Burst;
use contracts::port::Port;
use dpdk::SourcePort;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Pcp, Priority, PrioritySet, Quanta};
use host::Demand;
use host::plan::{FlowPlan, Headers, PausePlan, Tag};
use host::{FlowId, Rate, Station, StationPlan};
use pfc::FlowControl;

use super::bench::Pair;
use super::frames::{self, Maker};
use super::judge::{self, Obeyed, PauseWatch};
use super::report::Line;
use super::{Context, WINDOW, options};

/// Time between two pauses of the longest time. At 400 Gb/s 65,535 quanta last 84 us.
const REFRESH: Duration = Duration::from_micros(50);

/// Longest pause of the station's test; it is renewed four times within it.
const PAUSE: Duration = Duration::from_millis(2);

/// Window of the station's test.
const PHASE: Duration = Duration::from_millis(60);

/// Start of a window that is not counted: frames that wait in rings leave in it, and pauses end.
const EDGE: Duration = Duration::from_millis(20);

/// Size of the test's frames in bytes.
const SIZE: u32 = 256;

/// Frames per second of each flow of the station: few enough for emulations.
const FRAMES: u64 = 20_000;

/// Watches frames that the port sends while its peer sends pauses.
pub(super) fn by_nic(pair: &mut Pair, claimed: Option<String>) -> Vec<Line> {
    if pair.peer.is_none() {
        let untried = |check| Line::not_tried(check, claimed.clone(), "needs a peer");
        return vec![untried("nic_pause"), untried("nic_pfc")];
    }
    let long = Quanta(0xffff);
    /// A check, its pauses, and the frames that end them.
    type Kind = (&'static str, Vec<Vec<u8>>, fn(u8) -> Vec<u8>);
    let kinds: [Kind; 2] = [
        ("nic_pause", (0..8).map(|n| frames::pause(n, long)).collect(), |n| {
            frames::pause(n, Quanta(0))
        }),
        ("nic_pfc", (0..8).map(|n| frames::pfc_of_all(n, long)).collect(), |n| {
            frames::pfc_of_all(n, Quanta(0))
        }),
    ];
    let mut lines = Vec::new();
    for (check, pauses, resume) in kinds {
        // The share without pauses is the scale: a slow machine sends less in either window.
        let mut watch = PauseWatch::default();
        window(pair, &mut watch, 0, &[]);
        // Pauses, and frames that were sent before, may take their time to arrive.
        window(pair, &mut PauseWatch::default(), 1, &pauses);
        window(pair, &mut watch, 1, &pauses);
        // The next step begins without a pause.
        window(pair, &mut PauseWatch::default(), 0, &[resume(9)]);
        lines.push(judge::left_to_software(check, claimed.clone(), &watch));
    }
    lines
}

/// Sends frames from the port for a window, and pauses to it.
fn window(pair: &mut Pair, watch: &mut PauseWatch, n: usize, pauses: &[Vec<u8>]) {
    let (port_mac, peer_mac) = pair.macs();
    let octets = Maker::new(peer_mac, port_mac).plain(SIZE, 1).remove(0);
    let Some(peer) = &mut pair.peer else { return };
    let (mut out, mut found, mut control) = (Burst::new(), Burst::new(), Burst::new());
    let started = StdInstant::now();
    let (mut turn, mut due) = (0, started);
    while started.elapsed() < WINDOW {
        // By the schedule and not from now on, so that a late turn does not stretch the interval.
        if !pauses.is_empty() && StdInstant::now() >= due {
            due += std::time::Duration::from_nanos(REFRESH.as_nanos());
            turn = (turn + 1) % pauses.len();
            control.extend(peer.control_frame(&pauses[turn]));
            let made = control.len();
            peer.tx_burst(&mut control);
            watch.pauses_sent += (made - control.len()) as u64;
            control.clear();
        }
        // Frames that the port does not take count as offered: it is stopped.
        pair.pool.fill(&mut out, 4, &octets);
        watch.offered[n] += out.len() as u64;
        pair.port.tx_burst(&mut out);
        out.clear();
        peer.rx_burst(&mut found);
        watch.arrived[n] += found.drain(..).filter(|frame| is_ours(frame, &octets)).count() as u64;
        pair.port.rx_burst(&mut found);
        let pauses_found = found.drain(..).filter(is_control).count();
        watch.pauses_seen += pauses_found as u64;
    }
    // Frames that are on the way belong to this window.
    let settled = StdInstant::now();
    while settled.elapsed() < WINDOW / 10 {
        peer.rx_burst(&mut found);
        watch.arrived[n] += found.drain(..).filter(|frame| is_ours(frame, &octets)).count() as u64;
        pair.port.rx_burst(&mut found);
        watch.pauses_seen += found.drain(..).filter(is_control).count() as u64;
    }
}

fn is_ours(frame: &impl contracts::frame::Frame, octets: &[u8]) -> bool {
    octets.starts_with(frame.head())
}

fn is_control(frame: &impl contracts::frame::Frame) -> bool {
    frame.head().get(12..14) == Some(&[0x88, 0x08])
}

/// Lets a station at the port send two priorities while a station at the peer pauses one.
pub(super) fn by_station(context: &mut Context<'_>) -> Line {
    const CHECK: &str = "own_pfc";
    if !context.bench.has_peer() {
        return Line::not_tried(CHECK, None, "needs a peer");
    }
    let usual = options(context.bench.clock);
    let pair = match context.bench.start(&usual, &usual) {
        Ok(pair) => pair,
        Err(refused) => return Line::unknown(CHECK, None, None, refused.why),
    };
    let line = match stations(pair, context.rate(), context.bench.clock) {
        Ok(observed) => judge::obeyed(CHECK, &observed),
        Err(why) => Line::unknown(CHECK, None, None, why),
    };
    // The stations have taken the ports.
    context.bench.close();
    line
}

/// A pause of up to 2 ms at this rate, and the time to the next one.
fn pause_of(rate: BitsPerSec) -> (Quanta, Duration) {
    // A quantum is 512 bit times of the link (802.3 31B), here in picoseconds.
    let quantum = (512 * 1_000_000_000_000 / rate.get().max(1)).max(1);
    let quanta = (PAUSE.as_picos() / quantum).clamp(1, 0xffff);
    // Sent again after a quarter of it, so that one that is late does not let the pause expire.
    (Quanta(quanta as u16), Duration::from_picos((quanta * quantum / 4).max(1_000_000)))
}

/// Polls both stations, and returns the frames of each flow that arrived until each of these times.
fn counts_at(
    edges: &[Instant],
    sender: &mut Station<SourcePort>,
    receiver: &mut Station<SourcePort>,
    clock: dpdk::TscClock,
) -> Vec<(u64, u64)> {
    let mut marks = Vec::new();
    while marks.len() < edges.len() {
        let now = clock.now();
        sender.poll(now);
        receiver.poll(now);
        // A poll may be late for several edges; they have the same counts then.
        while edges.get(marks.len()).is_some_and(|edge| *edge <= now) {
            let frames_of = |id| receiver.sink(FlowId(id)).map_or(0, |sink| sink.frames);
            marks.push((frames_of(1), frames_of(2)));
        }
    }
    marks
}

/// Sends two flows to a station that pauses one of them in the second of four phases.
fn stations(pair: Pair, rate: BitsPerSec, clock: dpdk::TscClock) -> Result<Obeyed, String> {
    let (port_mac, peer_mac) = pair.macs();
    let Pair { port, peer, pool, .. } = pair;
    let peer = peer.ok_or("needs a peer")?;
    let begin = clock.now() + Duration::from_millis(5);
    let at = |phase: u64| begin + PHASE.saturating_mul(phase);
    let paused = Priority::new(3).ok_or("priority 3")?;
    let other = Priority::new(4).ok_or("priority 4")?;
    let flow = |id: u32, priority: Priority| FlowPlan {
        id: FlowId(id),
        src: port_mac,
        dst: peer_mac,
        tag: Pcp::new(priority.get()).map(|pcp| Tag { vid: None, pcp }),
        priority,
        headers: Headers::Ethernet,
        size: SIZE,
        rate: Rate::Frames(FRAMES),
        start: begin,
        stop: at(4),
        frames: None,
    };
    let sender = StationPlan {
        flow_control: FlowControl::Pfc {
            send: PrioritySet::EMPTY,
            // Only one of the two is obeyed, so the other shows whether something else stops the port.
            obey: [paused].into_iter().collect(),
        },
        flows: vec![flow(1, paused), flow(2, other)],
        ..StationPlan::new("port", port_mac, rate)
    };
    let (time, every) = pause_of(rate);
    let pauses = PausePlan {
        ask: Demand::pfc([paused].into_iter().collect(), time),
        start: at(1),
        every,
        frames: PHASE.as_picos() / every.as_picos(),
    };
    let receiver = StationPlan {
        expects: vec![FlowId(1), FlowId(2)],
        pauses: vec![pauses],
        ..StationPlan::new("peer", peer_mac, rate)
    };
    let failed = |error: host::PlanError| error.to_string();
    let mut sender = Station::new(&sender, SourcePort::new(port, pool.clone())).map_err(failed)?;
    let mut receiver = Station::new(&receiver, SourcePort::new(peer, pool)).map_err(failed)?;
    // The edges of the windows: after the edge of each phase, and at its end.
    let edges: Vec<Instant> = (0..4).flat_map(|phase| [at(phase) + EDGE, at(phase + 1)]).collect();
    let marks = counts_at(&edges, &mut sender, &mut receiver, clock);
    // Two marks for each phase: the frames of the first part of a phase are in no window.
    let window = |phase: usize| {
        let (from, to) = (marks[2 * phase], marks[2 * phase + 1]);
        (to.0 - from.0, to.1 - from.1)
    };
    let now = clock.now();
    Ok(Obeyed {
        before: window(0),
        during: window(1),
        // The pauses may have been late on a busy machine; the phase after them is a reserve.
        after: window(3),
        pauses_sent: receiver.counters_at(now).pauses_sent,
        pauses_seen: sender.counters_at(now).pauses_received,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_is_renewed_before_it_ends() {
        for (rate, quanta) in
            [(100_000_000, 390), (10_000_000_000, 39_062), (400_000_000_000, 0xffff)]
        {
            let rate = BitsPerSec::new(rate).unwrap();
            let (time, every) = pause_of(rate);
            assert_eq!(time, Quanta(quanta), "{rate}");
            let lasts = u128::from(time.0) * 512 * 1_000_000_000_000 / u128::from(rate.get());
            assert!(lasts >= 3 * u128::from(every.as_picos()), "{rate}: {lasts} ps, {every}");
        }
    }
}
