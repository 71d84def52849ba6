//! A station that counts received frames, and its frames, the same with DPDK's ports and with ports
//! in memory.

use sluice::host::plan::stream::MeterPlan;
use sluice::host::probe::{PROBE_LEN, Probe};
use sluice::host::{FlowId, StationPlan, StationSnapshot};
use sluice::pfc::FlowControl;
use sluice::time::Instant;
use sluice::units::*;

/// Offset of the probe: after Ethernet, IPv4 and UDP.
const PROBE_AT: usize = 42;

/// A traffic generator's port that expects flows 0 to `flows - 1`, and measures their pauses.
pub fn sink(flows: u32) -> StationPlan {
    let ids: Vec<_> = (0..flows).map(FlowId).collect();
    let streams = ids.iter().map(|id| (*id, Priority::ALL[3])).collect();
    let mut plan = StationPlan {
        flow_control: FlowControl::Pfc { send: PrioritySet::ALL, obey: PrioritySet::ALL },
        expects: ids,
        ..StationPlan::new("sink", Mac([2, 0, 0, 0, 1, 0]), BitsPerSec::gbps(100))
    };
    plan.tester.meter = Some(MeterPlan { streams, ..MeterPlan::default() });
    plan
}

/// First frame of a flow: 64 bytes on the wire, FCS included.
pub fn frame(flow: u32) -> [u8; PROBE_AT + PROBE_LEN] {
    let n = flow as u8;
    let mut f = [0; PROBE_AT + PROBE_LEN];
    f[..12].copy_from_slice(&[2, 0, 0, 0, 1, n, 2, 0, 0, 0, 0, n]);
    f[12..14].copy_from_slice(&[8, 0]);
    let ip = [0x45, 2, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, n, 10, 0, 1, n];
    f[14..34].copy_from_slice(&ip);
    f[34..42].copy_from_slice(&[0xc0, n, 0x13, 0x88, 0, 26, 0, 0]);
    stamp(&mut f, flow, 0, Instant::ZERO);
    f
}

/// Makes a frame the `sequence`-th of its flow, sent at `now`.
#[inline]
pub fn stamp(frame: &mut [u8], flow: u32, sequence: u64, now: Instant) {
    let probe = Probe::new(FlowId(flow), sequence, now).octets();
    frame[PROBE_AT..PROBE_AT + PROBE_LEN].copy_from_slice(&probe);
}

/// Flow of the frame.
#[inline]
pub fn flow(frame: &[u8]) -> u32 {
    Probe::parse(&frame[PROBE_AT..]).expect("a probed frame").flow.0
}

/// Number of received frames. Asserts that all arrived in order and once, and have a latency.
pub fn check(snapshot: &StationSnapshot) -> u64 {
    for sink in &snapshot.sinks {
        let odd = sink.duplicates + sink.reordered + sink.stale + sink.old + sink.ahead;
        assert_eq!((odd, sink.latency.count()), (0, sink.frames), "{sink:?}");
    }
    let frames = snapshot.sinks.iter().map(|s| s.frames).sum();
    assert_eq!(snapshot.counters.rx_frames, frames, "{:?}", snapshot.counters);
    frames
}
