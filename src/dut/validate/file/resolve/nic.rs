//! Validation of what a NIC under test sends.

use super::super::raw::{self, DutFile};
use super::{letter, set};
use crate::setup::{FlowControl, Nic, QueuePair};
use config::{Cx, Place};
use ground::time::Duration;
use ground::units::PrioritySet;
use wire::roce::U24;

/// Default and maximum of the time to wait for its traffic.
const WAIT: Duration = Duration::from_secs(30);
const WAIT_MAX: Duration = Duration::from_secs(3600);

pub(super) fn resolve(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::Nic,
    (file, lossless, lossy): (&DutFile, PrioritySet, PrioritySet),
) -> Nic {
    let sends_at = at.key("sends");
    let sends = set(cx, &sends_at, Some(&said.sends), PrioritySet::EMPTY);
    if sends.0 & !(lossless.0 | lossy.0) != 0 {
        cx.error(&sends_at, "a priority is neither `lossless` nor `lossy`; add it to one of them");
    }
    if file.flow_control == FlowControl::Pause {
        cx.error(at, "NICs are tested with PFC alone; leave `flow_control` out");
    } else if sends.0 & lossless.0 == 0 {
        cx.error(&sends_at, "none of them is lossless, and pauses stop no others; add one");
    }
    let default = if file.device.is_some() { Duration::ZERO } else { WAIT };
    let wait = said.wait.map_or(default, |span| span.0);
    if wait > WAIT_MAX {
        cx.error(&at.key("wait"), "a test waits for up to 1h; choose less");
    }
    Nic {
        sends,
        wait,
        queue_pairs: queue_pairs(cx, &at.key("queue_pairs"), said, file),
        paused: said.paused.map(|share| f64::from(share.0) / 1e6),
    }
}

/// Returns the queue pairs of each port.
fn queue_pairs(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &raw::Nic,
    file: &DutFile,
) -> Vec<Vec<QueuePair>> {
    let names = file.ports.iter().enumerate();
    let names = names.map(|(n, port)| port.name.clone().unwrap_or_else(|| letter(n)));
    let names: Vec<String> = names.collect();
    let mut pairs = vec![Vec::new(); names.len()];
    for (n, pair) in said.queue_pairs.iter().enumerate() {
        let at = at.index(n);
        let port = match &pair.port {
            Some(name) => names.iter().position(|known| known == name),
            None => (n < names.len()).then_some(n),
        };
        let resolved = queue_pair(cx, &at, pair);
        match (port, &pair.port) {
            (Some(port), _) => pairs[port].push(resolved),
            (None, Some(name)) => {
                let what = format!("there is no port `{name}`; choose one of {}", names.join(", "));
                cx.error(&at.key("port"), what);
            }
            (None, None) => cx.error(&at, "there are more than ports; add its `port`"),
        }
    }
    pairs
}

/// Queue pairs 0 and 1 are those of management.
fn queue_pair(cx: &mut Cx, at: &Place<'_>, said: &raw::QueuePair) -> QueuePair {
    let mut number = |n: u32| {
        U24::new(n).filter(|_| n > 1).unwrap_or_else(|| {
            cx.error(at, format!("{n} is out of range; choose 2 to {}", U24::MAX.get()));
            U24::MAX
        })
    };
    let sends = number(said.sends);
    QueuePair { sends, receives: said.receives.map_or(sends, number) }
}
