//! Objects of the PFC MIB (IEEE8021-PFC-MIB). They are read from a running switch, not from a plan.

use super::entry::{Entry, Scope, Section, Source};
use super::value::Counter;

const fn mib(name: &'static str, counter: Counter, doc: &'static str) -> Entry {
    Entry::counter(Section::Pfc, name, counter, doc).of(Source::Pfc("17.7.17")).per(Scope::Port)
}

pub(super) static OBJECTS: &[Entry] = &[
    mib(
        "ieee8021PfcLinkDelayAllowance",
        Counter::LinkDelayAllowance,
        "Bits that the headroom of the port's lossless groups allows for, the least of them.",
    ),
    mib("ieee8021PfcRequests", Counter::PfcRequests, "PFC frames sent."),
    mib("ieee8021PfcIndications", Counter::PfcIndications, "PFC frames received."),
];
