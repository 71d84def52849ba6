//! Messages of workloads: drawn sizes, random times and random receivers. All are drawn before the
//! run, from streams of the lab's seed.

use std::collections::BTreeMap;

use super::carrier::Batch;
use super::ends::Pairs;
use super::parts::{Bound, Context, KindOf, Sent, Use, stream};
use crate::resolve::graph;
use crate::{OfferedLoad, Side, Workload};
use config::Cx;
use ground::rand::Rng;
use ground::time::Duration;
use ground::units::BitsPerSec;
use host::{ListedMessage, MessageList, StationPlan, Transport};
use schedule::{Line, LinePlan};

/// Most messages that are drawn for a lab.
const MESSAGES_MAX: u64 = 1_000_000;

/// Ends of a flow, host numbers.
type Ends = (usize, usize);

/// Entry of the file whose messages are drawn.
pub(super) struct Drawing<'a, 'r, 'g> {
    pub(super) source: &'a graph::Source<'a>,
    pub(super) kind: &'a KindOf,
    pub(super) batch: &'a Batch,
    pub(super) transport: Transport,
    pub(super) context: &'a Context<'r, 'g>,
    /// Number of the entry.
    pub(super) entry: usize,
    /// Start of the entry's flows.
    pub(super) start: Duration,
    /// Number of messages that may still be drawn.
    pub(super) room: u64,
}

/// Senders or receivers that share a stream of messages.
struct Group {
    /// Number in the entry.
    number: usize,
    pairs: Vec<Ends>,
    /// Mean interval of messages; `None` for those that are due at regular times.
    mean: Option<Duration>,
    line: Line,
}

/// Drawn messages by flow, and the share of a link that they take.
struct Drawn {
    by_flow: BTreeMap<Ends, Vec<ListedMessage>>,
    messages: u64,
    bytes: u64,
    /// Sum over the links of their busy time.
    busy: f64,
    links: usize,
}

/// True if the messages of an entry are listed one by one.
pub(super) fn is_listed(batch: &Batch, pairs: &Pairs) -> bool {
    batch.load.is_some() || batch.sizes.is_drawn() || matches!(pairs, Pairs::Random { .. })
}

impl Drawing<'_, '_, '_> {
    /// Draws the messages of the entry. Returns its flows, those that have messages, and its
    /// description, whose range of flows the caller sets.
    pub(super) fn draw(
        &self,
        cx: &mut Cx,
        pairs: &Pairs,
        stations: &dyn Fn(usize) -> Option<StationLine>,
    ) -> (Vec<Sent>, Option<Workload>) {
        let none = (Vec::new(), None);
        let Some(span) = self.span(cx) else { return none };
        let mut drawn =
            Drawn { by_flow: BTreeMap::new(), messages: 0, bytes: 0, busy: 0.0, links: 0 };
        let groups = self.groups(pairs, stations);
        if !self.check_room(cx, &groups, span) {
            return none;
        }
        for group in &groups {
            // The mean fits, as was checked, but exponential intervals may draw more than the mean says.
            if !self.fill(group, span, &mut drawn) {
                cx.error(&self.messages_key("count"), too_many(self.room + 1));
                return none;
            }
        }
        let load = self.batch.load.map(|(purpose, share)| OfferedLoad {
            share,
            of: purpose,
            drawn: drawn.busy / (span.as_secs_f64() * drawn.links.max(1) as f64),
            links: drawn.links,
            span,
        });
        let workload = Workload {
            name: String::new(),
            flows: 0..0,
            sizes: self.batch.sizes.name(),
            mean_bytes: self.batch.sizes.mean(),
            messages: drawn.messages,
            bytes: drawn.bytes,
            load,
            collective: None,
        };
        if drawn.messages == 0 {
            cx.warn(&self.source.own, format!("draws no message in {span}; have a longer run"));
        }
        let flow = |(ends, messages): (Ends, Vec<ListedMessage>)| {
            let list = MessageList::new(messages)?;
            Some(Sent { list: Some(list), ..Sent::of(ends, Bound::None) })
        };
        (drawn.by_flow.into_iter().filter_map(flow).collect(), Some(workload))
    }

    /// Returns the time from the start in which messages become due; reports a wrong one.
    fn span(&self, cx: &mut Cx) -> Option<Duration> {
        let rest = self.context.end.saturating_sub(self.start);
        match self.kind.bound {
            Bound::Time(span) => Some(span.min(rest)),
            Bound::None => Some(rest),
            Bound::Bytes(_) | Bound::Frames(_) => {
                let what = "messages of a workload end by time or number: write `seconds`, or \
                            `count` of the messages";
                cx.error(&self.source.key("duration"), what);
                None
            }
        }
        // A load has intervals that follow from it; regular messages need `every` or `count` to end.
        .filter(|span| {
            let endless = self.batch.every == Duration::ZERO && self.batch.count.is_none();
            if endless && self.batch.load.is_none() {
                let what = "there is no end to these messages; say `load`, `every` or `count`";
                cx.error(&self.messages_key("count"), what);
                return false;
            }
            if *span == Duration::ZERO {
                cx.error(
                    &self.source.key("start"),
                    "is not before the end of the run (`duration`)",
                );
            }
            *span > Duration::ZERO
        })
    }

    /// Returns the place of a field of the messages.
    fn messages_key(&self, field: &str) -> config::Place<'_> {
        self.source.key("transport").key(self.kind.carrier.key()).key("messages").key(field)
    }

    /// Returns the groups of pairs: by receiver if the load is that of the receivers' links, by
    /// flow if every flow has its own messages, else by sender.
    fn groups(&self, pairs: &Pairs, stations: &dyn Fn(usize) -> Option<StationLine>) -> Vec<Group> {
        let side = self.batch.load.map(|(side, _)| side);
        let mut grouped: BTreeMap<usize, Vec<Ends>> = BTreeMap::new();
        match (pairs, side) {
            (Pairs::Given(pairs), None) => {
                grouped.extend(pairs.iter().map(|pair| vec![*pair]).enumerate());
            }
            (Pairs::Given(pairs), Some(side)) => {
                for pair in pairs {
                    let host = if side == Side::Sender { pair.0 } else { pair.1 };
                    grouped.entry(host).or_default().push(*pair);
                }
            }
            (Pairs::Random { from, to }, side) => {
                let receiver = side == Some(Side::Receiver);
                // The hosts whose links have the load draw the messages, so each of these links gets the configured
                // share.
                let (own, others) = if receiver { (to, from) } else { (from, to) };
                for host in own {
                    let others = others.iter().filter(|other| *other != host);
                    let pair = |other: &usize| {
                        if receiver { (*other, *host) } else { (*host, *other) }
                    };
                    grouped.insert(*host, others.map(pair).collect());
                }
            }
            (Pairs::Collective(_), _) => {}
        }
        let group = |(number, pairs): (usize, Vec<Ends>)| {
            let first = pairs.first()?;
            let host = if side == Some(Side::Receiver) { first.1 } else { first.0 };
            let StationLine { rate, line } = stations(host)?;
            let mean = self.batch.load.map(|(_, share)| self.mean_interval(rate, line, share));
            Some(Group { number, pairs, mean, line: Line::new(rate, line) })
        };
        grouped.into_iter().filter_map(group).collect()
    }

    /// Returns the bytes of payload in a full frame.
    fn payload(&self) -> u32 {
        self.kind.size.saturating_sub(self.transport.overhead()).max(1)
    }

    /// Returns the mean interval of messages that take a share of a link.
    fn mean_interval(&self, rate: BitsPerSec, line: LinePlan, share: f64) -> Duration {
        let sizes = &self.batch.sizes;
        // Load counts all bits on the line: headers, preamble and gap of each packet, too.
        let each = f64::from(self.transport.overhead() + line.overhead);
        let octets = sizes.mean()
            + sizes.mean_packets(self.payload()) * each
            + f64::from(self.transport.first_longer());
        let picos = octets * 8.0 / share * (1e12 / rate.get() as f64);
        Duration::from_picos(picos as u64).max(Duration::from_picos(1))
    }

    /// Returns the bytes on the line of a message.
    fn octets(&self, bytes: u64, line: &Line) -> u64 {
        let packets = bytes.div_ceil(self.payload().into());
        let each = line.octets(self.transport.overhead());
        bytes + packets * each + u64::from(self.transport.first_longer())
    }

    /// True if about as many messages as will be drawn fit; else reports it.
    fn check_room(&self, cx: &mut Cx, groups: &[Group], span: Duration) -> bool {
        let number = |group: &Group| {
            let by_time = match (group.mean, self.batch.every) {
                (Some(mean), _) => span.as_picos().div_ceil(mean.as_picos()),
                // All messages at once: only `count` ends them.
                (None, Duration::ZERO) => u64::MAX,
                (None, every) => span.as_picos().div_ceil(every.as_picos()),
            };
            by_time.min(self.batch.count.unwrap_or(u64::MAX))
        };
        let all = groups.iter().map(number).fold(0, u64::saturating_add);
        if all > self.room {
            let field = if self.batch.load.is_some() { "load" } else { "count" };
            cx.error(&self.messages_key(field), too_many(all));
        }
        all <= self.room
    }

    /// Draws the messages of a group; false if there are more than a lab may have.
    fn fill(&self, group: &Group, span: Duration, drawn: &mut Drawn) -> bool {
        let seed = |purpose| stream(self.context.seed, purpose, self.entry, group.number);
        // Three streams: another distribution of sizes keeps times and receivers, so that two runs compare.
        let mut times = Rng::new(seed(Use::Messages));
        let mut receivers = Rng::new(seed(Use::Receivers));
        let mut sizes = Rng::new(seed(Use::Amounts));
        let (mut due, mut busy) = (Duration::ZERO, 0u128);
        drawn.links += 1;
        for n in 0..self.batch.count.unwrap_or(u64::MAX) {
            due = match group.mean {
                Some(mean) => {
                    // Exponential intervals make a Poisson process; messages of several groups stay one when merged.
                    let gap = times.exponential(mean).as_picos();
                    Duration::from_picos(due.as_picos().saturating_add(gap))
                }
                None => self.batch.every.saturating_mul(n),
            };
            if due >= span {
                break;
            }
            if drawn.messages == self.room {
                return false;
            }
            let pair = group.pairs[receivers.below(group.pairs.len() as u64) as usize];
            let bytes = self.batch.sizes.next(&mut sizes);
            busy += u128::from(self.octets(bytes, &group.line));
            drawn.messages += 1;
            drawn.bytes = drawn.bytes.saturating_add(bytes);
            drawn.by_flow.entry(pair).or_default().push(ListedMessage { bytes, due });
        }
        // The load that was drawn is reported beside the one that was configured.
        let rate = group.line.rate().get() as f64;
        drawn.busy += busy as f64 * 8.0 / rate;
        true
    }
}

/// Rate and line of a host's link.
#[derive(Clone, Copy)]
pub(super) struct StationLine {
    rate: BitsPerSec,
    line: LinePlan,
}

impl StationLine {
    pub(super) fn of(station: &StationPlan) -> Self {
        // With MACsec each frame is longer on the line by tag and ICV.
        Self { rate: station.rate, line: station.protected_line() }
    }
}

fn too_many(messages: u64) -> String {
    format!(
        "would be about {messages} messages; a lab has up to {MESSAGES_MAX}: have a shorter time, \
         or fewer or larger messages"
    )
}

/// Returns the number of messages that may be drawn beside those of earlier entries.
pub(super) fn room(workloads: &[Workload]) -> u64 {
    MESSAGES_MAX.saturating_sub(workloads.iter().map(|w| w.messages).sum())
}
