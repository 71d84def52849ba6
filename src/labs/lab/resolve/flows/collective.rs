//! Collective operations: ring all-reduce, and all-to-all.

use super::parts::{Bound, KindOf, Sent};
use crate::raw::{self, Pattern};
use crate::resolve::graph;
use crate::{Collective, Workload};
use config::Cx;

/// Returns the flows of a collective of `bytes` of data at each host, and its description.
pub(super) fn collective(
    cx: &mut Cx,
    at: &graph::Source<'_>,
    said: &raw::Flow,
    kind: &KindOf,
    hosts: &[usize],
    bytes: Option<u64>,
) -> (Vec<Sent>, Option<Workload>) {
    let none = (Vec::new(), None);
    let ring = said.pattern == Some(Pattern::Ring);
    let name = if ring { "ring" } else { "exchange" };
    if !kind.carrier.is_answered() {
        let what = format!("`{name}` has to know what has arrived; take `roce` or `tcp`");
        cx.error(&at.key("transport"), what);
        return none;
    }
    if kind.carrier.batch().is_some() {
        let messages = at.key("transport").key(kind.carrier.key()).key("messages");
        cx.error(&messages, format!("`{name}` sets the messages itself; leave these out"));
        return none;
    }
    let Some(bytes) = bytes else {
        let what = format!("`{name}` needs the data of each host: `{{bytes: 1MB}}`");
        cx.error(&at.key("duration"), what);
        return none;
    };
    let n = hosts.len();
    let chunk = bytes.div_ceil(n as u64);
    let steps = if ring { 2 * (n as u64 - 1) } else { 1 };
    let one = |ends| Sent { times: steps, ..Sent::of(ends, Bound::Bytes(chunk)) };
    let flows: Vec<Sent> = if ring {
        let next = |i: usize| (i + 1) % n;
        let before = |i: usize| Some((i + n - 1) % n);
        let flow = |i| Sent { after: before(i), ..one((hosts[i], hosts[next(i)])) };
        (0..n).map(flow).collect()
    } else {
        let pairs = hosts.iter().flat_map(|f| hosts.iter().map(move |t| (*f, *t)));
        pairs.filter(|(f, t)| f != t).map(one).collect()
    };
    let messages = flows.len() as u64 * steps;
    let workload = Workload {
        name: String::new(),
        flows: 0..0,
        sizes: format!("{chunk} bytes"),
        mean_bytes: chunk as f64,
        messages,
        bytes: messages * chunk,
        load: None,
        collective: Some(Collective { pattern: name, hosts: n as u64, bytes, chunk, steps }),
    };
    (flows, Some(workload))
}
