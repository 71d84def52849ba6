//! The tests of a DUT, by families. Each describes itself; its page in the manual is made from that.
//!
//! A new test is its description with `describe!` and its function in the file of its family, and its line in
//! [`TESTS`]. A fault in `knobs.yaml` proves that it finds what it is for. Its page is written by
//! `SLUICE_BLESS=1 cargo test -p sluice-validate --lib manual`, and needs a line in the manual's `SUMMARY.md`.

/// Describes a test. The fields up to `run` are required, in this order; the others are those of [`Test::DEFAULT`]
/// where they are not named.
macro_rules! describe {
    (
        id: $id:expr,
        title: $title:expr,
        purpose: $purpose:expr,
        clause: $clause:expr,
        procedure: $procedure:expr,
        pass: $pass:expr,
        source: $source:expr,
        run: $run:expr,
        $($field:ident: $value:expr,)*
    ) => {
        crate::test::Test {
            id: $id,
            title: $title,
            purpose: $purpose,
            clause: $clause,
            procedure: $procedure,
            pass: $pass,
            source: $source,
            run: $run,
            $($field: $value,)*
            // Both are of the place of the description, where a reader of JUnit's results is sent.
            file: file!(),
            line: line!(),
            ..crate::test::Test::DEFAULT
        }
    };
}

mod congestion;
mod dcbx;
mod device_counters;
mod ecn;
mod ecn_scope;
mod emitting;
mod fill;
mod headroom;
mod isolation;
mod mac_control;
mod macsec;
mod macsec_sending;
mod nic;
mod obeying;
mod pause;
mod pause_time;
mod priority_maps;
mod resuming;
mod roce;
mod scheduling;
mod self_check;
mod sent_pauses;
mod sfc;
mod sfc_proxy;
mod storm;
mod storm_traffic;
mod thresholds;
mod watchdog;
mod watchdog_action;

use crate::setup::{FlowControl, Setup};
use crate::test::{Kind, Test, Topology};

pub use self_check::SELF_CHECK;

/// All tests of a DUT, in the order in which they are listed and run.
pub const TESTS: &[Test] = &[
    obeying::ONE_PRIORITY,
    obeying::PRIORITY_SETS,
    obeying::EACH_PORT,
    resuming::ZERO_TIME,
    pause_time::SINGLE_PAUSE,
    pause_time::REACTION_TIME,
    pause_time::REPLACED_TIME,
    storm_traffic::REFRESHED,
    resuming::ZERO_WITHOUT_EFFECT,
    obeying::ENABLE_VECTOR,
    obeying::LOSSY_PRIORITIES,
    pause_time::QUANTUM,
    storm_traffic::PARTIAL,
    storm_traffic::FRAME_SIZES,
    storm_traffic::ORDER,
    storm_traffic::LINK_FAILURE,
    obeying::SOURCE_ADDRESS,
    mac_control::UNKNOWN_OPCODES,
    mac_control::WRONG_SIZES,
    mac_control::RESERVED_BITS,
    mac_control::WRONG_DESTINATIONS,
    mac_control::PAUSE_BESIDE_PFC,
    mac_control::NEVER_FORWARDED,
    pause::ALL_STOP,
    pause::BEFORE_LOSS,
    pause::PAUSED_PORT,
    emitting::BEFORE_LOSS,
    sent_pauses::WELL_FORMED,
    emitting::XON_SENT,
    sent_pauses::RENEWED,
    emitting::ALL_PRIORITIES,
    emitting::NOTHING_ELSE,
    emitting::NO_CONGESTION,
    sent_pauses::AHEAD_OF_DATA,
    sent_pauses::HYSTERESIS,
    emitting::LATE_PEER,
    emitting::IGNORING_PEER,
    emitting::SLOW_PORT,
    thresholds::XOFF_THRESHOLD,
    thresholds::FIRST_DROP,
    thresholds::XON_THRESHOLD,
    headroom::ALL_GROUPS,
    thresholds::SHARED_POOL,
    headroom::LEAKS,
    thresholds::WHOLE_CELLS,
    thresholds::WATERMARKS,
    scheduling::BY_WEIGHT,
    scheduling::LENT_SHARES,
    scheduling::STRICT_FIRST,
    scheduling::IN_BYTES,
    scheduling::CHANGED_WEIGHTS,
    priority_maps::MAPPED_VALUES,
    isolation::HEAD_OF_LINE,
    isolation::OTHER_PRIORITIES,
    isolation::LOSSY_FLOOD,
    isolation::EQUAL_SENDERS,
    isolation::RING,
    ecn::CURVE,
    ecn::AT_DEQUEUE,
    ecn_scope::NOT_ECT,
    ecn_scope::FIELD_ALONE,
    ecn_scope::BEFORE_PAUSES,
    ecn_scope::CONGESTED_ALONE,
    ecn::GROWING_MARKS,
    watchdog::IN_TIME,
    watchdog::SHORT_STORMS,
    watchdog::EMPTY_QUEUE,
    watchdog_action::STORMED_QUEUE,
    watchdog_action::OTHER_QUEUES,
    watchdog_action::RESTORED_QUEUE,
    watchdog_action::ALL_QUEUES,
    watchdog::NO_STORM,
    device_counters::PFC_FRAMES,
    device_counters::NOT_DATA,
    device_counters::PAUSED_TIME,
    device_counters::EVERY_FRAME,
    dcbx::WELL_FORMED,
    dcbx::NEIGHBOUR_MAP,
    dcbx::MALFORMED,
    dcbx::NEIGHBOURS,
    dcbx::ONE_DIALECT,
    macsec::OBEYED_MODE,
    macsec_sending::SENT_PROTECTED,
    macsec::REJECTED,
    macsec_sending::CHANGED_KEYS,
    sfc::MESSAGES,
    sfc_proxy::BOUNDED_PAUSES,
    sfc_proxy::CONVERTED_TIME,
    nic::OBEYS_PFC,
    nic::SLOW_HOST,
    roce::SLOWED_BY_ECN,
    nic::ONE_FLOW,
];

/// Returns the reason why a test is not about a device of this kind; `None` if it is.
pub fn other_kind(test: &Test, setup: &Setup) -> Option<String> {
    // The tester is checked on a cable, whatever the device is.
    if test.id == SELF_CHECK.id {
        return None;
    }
    if setup.expected.ring && test.kind != Kind::Ring {
        let why = "expected.ring is there, so the ports share the ring's links; the test is about one switch";
        return Some(why.to_owned());
    }
    match (test.kind == Kind::Nic, &setup.nic) {
        (true, Some(_)) => return None,
        (true, None) => return Some("nic is missing; the test is about NICs".to_owned()),
        (false, Some(_)) => return Some("nic is there; the test is about switches".to_owned()),
        (false, None) => {}
    }
    let given = setup.flow_control;
    let fits =
        test.kind == Kind::Either || (test.kind == Kind::Pause) == (given == FlowControl::Pause);
    (!fits).then(|| format!("flow_control: {given}; the test is about the other kind"))
}

/// Returns the page of a test in the manual, made from its description, in Markdown.
pub fn page(test: &Test) -> String {
    let aliases = if test.aliases.is_empty() { "-".into() } else { test.aliases.join(", ") };
    let Test { id, title, clause, level, source, purpose, procedure, uncertainty, .. } = test;
    let pass = test.criterion(None);
    format!(
        "# {id}: {title}\n\n\
         | | |\n| --- | --- |\n\
         | also known as | {aliases} |\n\
         | clause | {clause} |\n\
         | ports | {} |\n\
         | level | {level} |\n\
         | source | {source} |\n\n\
         **Purpose.** {purpose}\n\n\
         **Procedure.** {procedure}\n\n\
         **Pass.** {pass}\n\n\
         **Uncertainty.** {uncertainty}\n\n\
         **Command.** `sluice validate DUT.yaml --only {id}`\n",
        ports(test.topology)
    )
}

const fn ports(topology: Topology) -> &'static str {
    match topology {
        Topology::T1 => "1: A",
        Topology::Pair => "2: A and B, with a NIC at each",
        Topology::T2 => "2: A sends to B, and the tester pauses the device at B",
        Topology::T3 => "3: A and B send to C",
        Topology::Th => "4: A sends to C and D, B sends to D",
        Topology::Tm => "2: A sends to B, whose link has MACsec; at level full to each such port",
        Topology::Ts => "2 of different rates: the fastest sends to the slowest",
        Topology::Tn => "3 or more: all others send to the last one",
        Topology::Tr => "3 at the switches of a ring, in the direction of its frames",
    }
}

#[cfg(test)]
mod tests;
