//! Connections with acknowledgements between the tester's ports, in either world.

use ground::time::{Duration, Instant};
use ground::units::{Dscp, Pcp};
use host::plan::Tag;
use host::{FlowId, SenderCounters, TcpPlan, Transport, TransportPlan};
use wire::ip::Ecn;

use crate::bench::Acknowledged;
use crate::setup::{Marking, Setup};
use crate::trial::Stateful;

/// Port of the receivers (iperf's); senders have a port each, from the first dynamic one on (RFC 6335).
const RECEIVER: u16 = 5_001;
const SENDERS: u16 = 0xc000;

/// Returns the plan of connection `n` of a trial, which begins at `start`. `timeout` is the shortest of
/// its sender.
pub(crate) fn transport(
    wanted: &Stateful,
    setup: &Setup,
    (n, id): (usize, FlowId),
    (start, timeout): (Instant, Duration),
) -> TransportPlan {
    let [src, dst] = [wanted.ends.0, wanted.ends.1].map(|port| setup.port(port));
    let (dscp, tag) = match &setup.marking {
        Marking::Dscp(map) => (map[wanted.priority.index()], None),
        Marking::Pcp(map, vid) => {
            let pcp: Pcp = map[wanted.priority.index()];
            (Dscp::MIN, Some(Tag { vid: Some(*vid), pcp }))
        }
    };
    let tcp = TcpPlan::new(SENDERS + n as u16, RECEIVER);
    TransportPlan {
        id,
        src: src.mac,
        dst: dst.mac,
        src_ip: src.ip,
        dst_ip: dst.ip,
        tag,
        priority: wanted.priority,
        dscp,
        ecn: Ecn::NotEct,
        size: wanted.size,
        rate: None,
        start,
        stop: start + wanted.length,
        message: None,
        work: host::Work::default(),
        kind: Transport::TcpLike(TcpPlan { timeout_min: timeout, ..tcp }),
    }
}

/// Returns the result of a connection from the counters of its sender.
pub(crate) const fn result(sender: &SenderCounters) -> Acknowledged {
    Acknowledged {
        bytes: sender.acknowledged,
        frames: sender.frames,
        retransmitted: sender.retransmitted,
        timeouts: sender.timeouts,
    }
}
