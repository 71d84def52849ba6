//! Generates random loads.

use super::chance::Chance;
use super::profile::Drawn;
use crate::raw::{
    Amount, DcqcnName, EcnName, Flow, FlowDuration, FlowRateText, Pattern, Roce, Short, Storm, Tcp,
    Transport, TransportLong,
};
use config::quantity::{Ratio, Size, Span};
use host::Operation;
use host::Recovery;

/// Approximate limits of the frames that all hosts together send.
const FRAMES: (u64, u64) = (1_000, 32_000);

/// Generates the flows of a lab.
pub(super) fn flows(chance: &mut Chance, hosts: &[String], drawn: &Drawn) -> Vec<Flow> {
    let kinds = chance.between(1, 4);
    let each = chance.scale(FRAMES.0, FRAMES.1) / kinds;
    (0..kinds).map(|_| flow(chance, hosts, drawn, each)).collect()
}

fn flow(chance: &mut Chance, hosts: &[String], drawn: &Drawn, frames: u64) -> Flow {
    let (pattern, from, to) = ends(chance, hosts);
    let pairs = match pattern {
        Pattern::AllToAll => from.len() * to.len(),
        // The other patterns are not generated.
        _ => from.len(),
    };
    let lossy = !drawn.lossy.is_empty() && chance.percent(30);
    let priority = chance.pick(if lossy { &drawn.lossy } else { &drawn.lossless });
    let most = (frames / pairs as u64).max(1);
    let sizes = [70, 128, 257, 512, 1_000, 1_048, 1_518, drawn.max_frame, drawn.max_frame];
    let transport = transport(chance, priority, lossy, drawn);
    // A connection's headers are longer, and its first frame can be longer than the others.
    let (least, more) = if transport.is_some() { (128, 16) } else { (0, 0) };
    let fits = |size: &u64| *size >= least && *size + more <= drawn.max_frame;
    let sizes: Vec<u64> = sizes.into_iter().filter(fits).collect();
    let rate = match chance.between(0, 3) {
        0..=2 => Ratio(1_000_000),
        _ => Ratio(chance.between(50_000, 1_000_000) as u32),
    };
    // A burst is short and at line rate.
    let burst = chance.percent(25);
    let frames = if burst { chance.between(1, 20) } else { chance.scale((most / 16).max(1), most) };
    Flow {
        from: Some(from.into()),
        to: Some(to.into()),
        pattern: Some(pattern),
        rate: Some(Short::Short(FlowRateText::Share(if burst { Ratio(1_000_000) } else { rate }))),
        size: Some(Size(chance.pick(&sizes))),
        duration: Some(FlowDuration::Amount(Amount {
            frames: Some(frames.min(most)),
            ..Amount::default()
        })),
        start: chance.percent(60).then(|| Span(chance.span(1, 50_000))),
        stagger: chance.percent(30).then(|| Span(chance.span(1, 10_000))),
        priority: Some(priority),
        ecn: chance.percent(50).then_some(EcnName::Ect0),
        transport,
        ..Flow::default()
    }
}

/// Selects a transport with acknowledgements for some flows: RoCE for lossless priorities, else
/// TCP.
///
/// Strict-priority data and link-wide pauses must not starve acknowledgements: data that is
/// retransmitted because no acknowledgement arrives, and starves the acknowledgements, would never
/// end.
fn transport(chance: &mut Chance, priority: u8, lossy: bool, drawn: &Drawn) -> Option<Transport> {
    let link_wide = drawn.profile.defaults.pause.is_some();
    if link_wide || !chance.percent(35) {
        return None;
    }
    let weighted = drawn.profile.defaults.queues.values().any(|queue| queue.weight.is_some());
    let marked = chance.percent(30) && !weighted;
    let ack_priority = marked.then(|| chance.between(priority.into(), 7) as u8);
    let window = chance.percent(40).then(|| Size(chance.scale(1, 200) * drawn.max_frame));
    let timeout = Some(Span(chance.span(200_000, 2_000_000)));
    if lossy {
        let initial_window = chance.percent(30).then(|| chance.scale(1, 50) as u32);
        let tcp =
            Tcp { ack_priority, window, initial_window, timeout_min: timeout, messages: None };
        return Some(Short::Long(TransportLong { tcp: Some(tcp), roce: None }));
    }
    let presets = [DcqcnName::None, DcqcnName::Sigcomm15, DcqcnName::Ns3, DcqcnName::Mellanox];
    let roce = Roce {
        operation: Some(chance.pick(&[Operation::Send, Operation::Write])),
        recovery: Some(chance.pick(&[Recovery::GoBackN, Recovery::SelectiveRepeat])),
        window,
        ack_every: chance.percent(50).then(|| chance.scale(1, 16) as u32),
        timeout,
        dcqcn: Some(Short::Short(chance.pick(&presets))),
        ack_priority,
        ..Roce::default()
    };
    Some(Short::Long(TransportLong { roce: Some(roce), tcp: None }))
}

/// Selects senders and receivers: an incast, a permutation, or some to some.
fn ends(chance: &mut Chance, hosts: &[String]) -> (Pattern, Vec<String>, Vec<String>) {
    let others = |of: &str| hosts.iter().filter(|h| *h != of).cloned().collect::<Vec<_>>();
    match chance.between(0, 5) {
        0..=2 => {
            let to = chance.pick(hosts);
            (Pattern::AllToAll, chance.some(&others(&to)), vec![to])
        }
        3..=4 if hosts.len() > 2 => (Pattern::Permutation, hosts.to_vec(), hosts.to_vec()),
        _ => {
            let from = chance.pick(hosts);
            let to = chance.some(&others(&from));
            (Pattern::AllToAll, vec![from], to)
        }
    }
}

/// Generates a pause storm.
pub(super) fn storm(chance: &mut Chance, drawn: &Drawn, link_wide: bool) -> Storm {
    Storm {
        priorities: if link_wide { vec![] } else { chance.some(&drawn.lossless) },
        quanta: Some(chance.scale(10, 65_535) as u16),
        start: Some(Span(chance.span(1, 100_000))),
        every: Some(Span(chance.span(500, 100_000))),
        frames: Some(chance.scale(1, 20)),
    }
}
