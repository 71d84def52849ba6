//! Bugs of marks.

use super::*;
use ::host::Udp;

/// A network that marks, with a host whose packets do not support marks.
pub(super) fn marking_some() -> NetworkPlan {
    let mut plan = marking();
    ecn(&mut plan, 0, Ecn::NotEct);
    plan
}

/// A network that marks packets of IPv6.
pub(super) fn marking_v6() -> NetworkPlan {
    let mut plan = marking();
    for n in 0..4 {
        for flow in &mut host(&mut plan, n).flows {
            let Headers::Udp4(udp) = flow.headers else { panic!("flows are of UDP over IPv4") };
            let ip = |octets: core::net::Ipv4Addr| octets.to_ipv6_mapped();
            flow.headers = Headers::Udp6(Udp {
                src: ip(udp.src),
                dst: ip(udp.dst),
                src_port: udp.src_port,
                dst_port: udp.dst_port,
                dscp: udp.dscp,
                ecn: udp.ecn,
            });
        }
    }
    plan
}

pub(super) fn bugs() -> Vec<Bug> {
    /// Sets the ECN field of a frame of IPv4 at one side of a line, and leaves its checksum.
    fn changed(mut event: Event, is_there: impl Fn(bool, Direction) -> bool, ecn: u8) -> Event {
        if let Event::Sent(_, d, frame, _) | Event::Arrived(_, d, frame) = &event
            && frame.wire_len() > 500
            && is_there(matches!(event, Event::Sent(..)), *d)
        {
            let mut frame = frame.clone();
            frame.head_mut()[15] = frame.head()[15] & !3 | ecn;
            match &mut event {
                Event::Sent(.., to, _) | Event::Arrived(.., to) => *to = frame,
                _ => {}
            }
        }
        event
    }
    vec![
        Bug::built("a mark on packets that do not support it", |n| {
            defect(n, 0, 4, Forwarding::MarksNotEct { every: 10 });
        })
        .says(&["s sent", "and it marked"]),
        Bug::built("a host that marks", |n| {
            defect(n, 1, 0, Forwarding::MarksNotEct { every: 10 });
        })
        .says(&["h0 sent a frame with CE, which none of its flows has"]),
        Bug::built("a host that does not see marks", |n| defect(n, 5, 0, Forwarding::ClearsCe))
            .says(&["frames of flows came to h4 with CE, and it counted 0"]),
        Bug::built("the checksum before the mark", |n| defect(n, 0, 4, Forwarding::StaleChecksum))
            .says(&["s:p4 sent a frame with CE whose IPv4 checksum is wrong"]),
        Bug::seen("marks that are lost on the way out", |_, event| {
            vec![changed(event, |sent, d| sent && d == OUT.ab(), 2)]
        })
        .says(&["and 0 left with it"]),
        Bug::seen("marks that are lost on the way in", |_, event| {
            vec![changed(event, |sent, d| !sent && d == LinkId(1).ba(), 3)]
        }),
        Bug::seen("marks that no switch made", |_, event| match event {
            Event::Noted(_, _, Note::Marked { .. }) => vec![],
            event => vec![event],
        }),
    ]
}
