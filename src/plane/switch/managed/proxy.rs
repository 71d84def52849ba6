//! Managed objects of the Source Flow Control proxy. All but the UDP port and the flow life are of
//! this project.

use super::field::{
    Field, in_centiseconds, life, one, word, words, write_centiseconds, write_word,
};
use super::object::{Entry, Lens, Reason, Scope, Section, Source, Spot};
use super::sfc::{BURST, LIFE, SHARE, UNKNOWNS, US, attached, plain, write_udp_port};
use super::value::{Kind, ObjectValue, Unit};
use crate::{AttachedKind, CongestionPlan, SfcProxyPlan};
use congestion::proxy::{CachePlan, Remember, Senders};
use wire::sfcm;

const REMEMBERS: &[(&str, Remember)] = Remember::NAMES;
const WHOSE: Kind = Kind::Choice(&["nobody", "anybody", "listed"]);

/// Times from one nanosecond, the unit of pauses in messages, to `most` seconds.
const fn seconds(most: i64) -> Kind {
    Kind::Number { least: 1_000, most: most * 1_000_000 * US, unit: Unit::Picoseconds }
}

const fn ours(name: &'static str, kind: Kind, lens: Lens, doc: &'static str) -> Entry {
    Entry::new(Section::SfcProxy, name, kind, lens, doc)
}

pub(super) static OBJECTS: &[Entry] = &[
    ours(
        "sfc_proxy.sfcmUDPPort",
        plain(sfcm::PORT_MIN as i64, u16::MAX as i64),
        UDP_PORT,
        "The UDP port that the egress filter looks for; that of sfc, too.",
    )
    .of(Source::Sfc("12.xx"))
    .number(sfcm::PORT_DEFAULT as i64),
    ours(
        "attached",
        Kind::Choice(&["switch", "host", "sfc_host", "auto"]),
        ATTACHED,
        "Kind of the neighbour: the proxy acts for hosts.",
    )
    .per(Scope::Port)
    .is(ObjectValue::Choice("switch")),
    ours(
        "sfc_proxy.accept.switches",
        WHOSE,
        FABRIC,
        "Whose messages are accepted from ports attached to switches.",
    )
    .is(ObjectValue::Choice("anybody")),
    ours(
        "sfc_proxy.accept.hosts",
        WHOSE,
        HOSTS,
        "Whose messages are accepted from ports attached to hosts.",
    )
    .is(ObjectValue::Choice("nobody")),
    ours(
        "sfc_proxy.unknown",
        Kind::Choice(&["drop", "flood"]),
        words!(UNKNOWNS: proxy.unknown),
        "Handling of received messages whose destination is not in the address table.",
    )
    .is(ObjectValue::Choice("drop")),
    ours(
        "sfc_proxy.sfcMaxFlowLife",
        LIFE,
        life!(proxy.max_flow_life),
        "Lifetime of the entry of a flow that received messages named, in centiseconds.",
    )
    .of(Source::Sfc("12.xx"))
    .number(100),
    ours(
        "sfc_proxy.policy.longest",
        seconds(5),
        one!(proxy.policy.longest),
        "The longest pause that one message gets.",
    )
    .number(1_000 * US),
    ours(
        "sfc_proxy.policy.credit",
        seconds(60),
        one!(proxy.policy.credit),
        "Maximum uninterrupted pause of a host's priority after a long time without one.",
    )
    .number(10_000 * US),
    ours(
        "sfc_proxy.policy.share",
        SHARE,
        one!(proxy.policy.share),
        "The part of time that a priority may be paused in the long run.",
    )
    .number(49_152),
    ours(
        "sfc_proxy.policy.spacing",
        seconds(1),
        one!(proxy.policy.spacing),
        "The mean time between two messages that are accepted for a port.",
    )
    .number(10 * US),
    ours(
        "sfc_proxy.policy.burst",
        BURST,
        one!(proxy.policy.burst),
        "Maximum burst of accepted messages after a long silence.",
    )
    .number(64),
    ours(
        "sfc_proxy.cache.entries",
        plain(8, 1 << 20),
        ENTRIES,
        "Maximum pairs of destination and priority in the cache; a power of two.",
    )
    .number(4_096)
    .fixed(),
    ours(
        "sfc_proxy.cache.sfcMaxFlowLife",
        LIFE,
        CACHE_LIFE,
        "Lifetime of an entry after the last message about it, in centiseconds.",
    )
    .of(Source::Sfc("12.xx"))
    .number(100)
    .fixed(),
    ours(
        "sfc_proxy.cache.remember",
        Kind::Choice(&["rest", "whole"]),
        REMEMBER,
        "Part of a cached pause that a later flow gets.",
    )
    .is(ObjectValue::Choice("rest"))
    .fixed(),
];

const UDP_PORT: Lens = Lens {
    get: |plan, _| Some(plan.proxy.as_ref()?.udp_port.value()),
    set: |plan, _, value| write_udp_port(plan, value),
};

const ATTACHED: Lens = Lens {
    get: |plan, spot| {
        word(AttachedKind::NAMES, plan.ports.get(spot.port).copied().unwrap_or_default().kind)
    },
    set: |plan, spot, value| {
        write_word(AttachedKind::NAMES, &mut attached(plan, spot.port).kind, value)
    },
};

const FABRIC: Lens = Lens {
    get: |plan, _| Some(whose(&plan.proxy.as_ref()?.fabric)),
    set: |plan, _, value| write_whose(&mut proxy(plan)?.fabric, value),
};
const HOSTS: Lens = Lens {
    get: |plan, _| Some(whose(&plan.proxy.as_ref()?.hosts)),
    set: |plan, _, value| write_whose(&mut proxy(plan)?.hosts, value),
};

fn proxy(plan: &mut CongestionPlan) -> Result<&mut SfcProxyPlan, Reason> {
    plan.proxy.as_mut().ok_or(Reason::NoSection)
}

const fn whose(senders: &Senders) -> ObjectValue {
    ObjectValue::Choice(match senders {
        Senders::Nobody => "nobody",
        Senders::Anybody => "anybody",
        Senders::Only(_) => "listed",
    })
}

/// Writes the policy for senders. A list of addresses comes from a file only: a word can replace
/// it, but not create it.
fn write_whose(senders: &mut Senders, value: ObjectValue) -> Result<(), Reason> {
    match (value, &*senders) {
        (ObjectValue::Choice("nobody"), _) => *senders = Senders::Nobody,
        (ObjectValue::Choice("anybody"), _) => *senders = Senders::Anybody,
        // The list stays as the file gave it.
        (ObjectValue::Choice("listed"), Senders::Only(_)) => {}
        (ObjectValue::Choice("listed"), _) => {
            return Err(Reason::Needs("addresses are listed in `sfc_proxy.accept` of the file"));
        }
        _ => return Err(Reason::Range),
    }
    Ok(())
}

fn cache(plan: &CongestionPlan) -> Option<&CachePlan> {
    plan.proxy.as_ref()?.cache.as_ref()
}

const ENTRIES: Lens = read_only(|plan, _| Some(cache(plan)?.entries.value()));
const CACHE_LIFE: Lens = read_only(|plan, _| Some(in_centiseconds(cache(plan)?.life)));
const REMEMBER: Lens = read_only(|plan, _| word(REMEMBERS, cache(plan)?.remember));

/// An object that is fixed when a switch starts.
const fn read_only(get: fn(&CongestionPlan, Spot) -> Option<ObjectValue>) -> Lens {
    Lens { get, set: |_, _, _| Err(Reason::Start) }
}
