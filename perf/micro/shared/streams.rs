//! The stream that benches send: frames of 64 bytes, each with a number, a time, a port number that
//! changes, and valid checksums.

use sluice::host::plan::stream::{
    Checksum, Covered, Edit, Limit, Pace, Path, Payload, Sizes, StreamPlan, TemplatePlan, Values,
};
use sluice::host::{FlowId, Rate, StationPlan, TesterPlan};
use sluice::time::Duration;
use sluice::units::{BitsPerSec, Bytes, Mac, Priority};

/// Identifier of its flow.
pub const ID: FlowId = FlowId(1);

/// A station that sends the stream on a link faster than any processor.
pub fn station(rate: Rate) -> StationPlan {
    StationPlan {
        // It may catch up 2.6 microseconds, which is more than a burst of the shortest frames.
        shaper_burst: Bytes(131_072),
        backlog: Duration::from_millis(5),
        tester: TesterPlan { streams: vec![stream(rate)], ..TesterPlan::default() },
        ..StationPlan::new("generator", Mac([2, 0, 0, 0, 0, 1]), BitsPerSec::gbps(400))
    }
}

fn stream(rate: Rate) -> StreamPlan {
    let mut headers = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    headers.extend([0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    headers.extend([0x13, 0x88, 0x12, 0xb8, 0, 26, 0, 0]);
    let udp = Covered::Payload4 { ip: 14, from: 34, udp: true };
    StreamPlan {
        id: ID,
        path: Path::Data(Priority::MIN),
        template: TemplatePlan {
            headers,
            payload: Payload::Zero,
            edits: vec![Edit {
                at: 34,
                skip: 0,
                bits: 16,
                values: Values::Increment { start: 5_000, step: 1, count: 1_000 },
            }],
            lengths: vec![],
            checksums: vec![
                Checksum { at: 24, over: Covered::Header(14, 34), bad: false },
                Checksum { at: 40, over: udp, bad: false },
            ],
            probe_at: Some(42),
            run: 0,
        },
        recording: None,
        sizes: Sizes::Fixed(64),
        pace: Pace { rate, gap: 12, burst: None },
        limit: Limit::default(),
        delay: Duration::ZERO,
        seed: 1,
    }
}
