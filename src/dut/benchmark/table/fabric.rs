//! Results of RFC 7640, RFC 8239 and the lossless profile as text.

use text::{Column, columns};

use crate::run::Run;
use crate::table::{Sections, micros};
use crate::{lossless, rfc7640, rfc8239};

/// Returns the tables of RFC 7640's results.
#[must_use]
pub fn rfc7640(results: &Run<rfc7640::Tables>) -> String {
    let tables = &results.tables;
    Sections::default()
        .rows(
            "Burst hunt (RFC 7640): longest burst of one queue without loss and pause;\n\
                 latency and variation (PDV, 99 %) in us",
            &tables.burst_hunt,
            HUNT,
        )
        .rows("All queues at once: longest burst of each", &tables.queues, HUNT)
        .end(results)
}

const HUNT: &[Column<rfc7640::HuntRow>] = &columns! { row =>
    Made ["priority"] = row.priority.to_string();
    Printed ["size"] = row.size.to_string();
    Whole ["bytes"] = row.bytes;
    Whole ["target"] = row.target;
    Whole ["lost above"] = row.lost_above;
    Printed ["mean"] = row.latency.map(|latency| micros(latency.mean_ns));
    Printed ["PDV"] = row.pdv_p99_ns.map(micros);
    Text [""] = match (row.at_limit, row.target_accepted) {
        (true, _) => "all that were tried",
        (false, false) => "below target",
        (false, true) => "",
    };
};

/// Returns the tables of RFC 8239's results.
#[must_use]
pub fn rfc8239(results: &Run<rfc8239::Tables>) -> String {
    let tables = &results.tables;
    Sections::default()
        .rows(
            "Line rate of all ports (RFC 8239, section 2); latency FILO and jitter in us",
            &tables.line_rate,
            LINE_RATE,
        )
        .rows(
            "Buffer of a port by an oversubscription of 1 % (3); \"or more\" than fills in the\n\
                 longest `trial`",
            &tables.buffer,
            BUFFER,
        )
        .rows(
            "Microburst (4): longest burst per sender without loss and pause",
            &tables.microburst,
            MICROBURST,
        )
        .rows("Head-of-line blocking (5), %", &tables.holb, HOLB)
        .rows(
            "Incast (6): goodput of connections (TCP NewReno window) in Gb/s, alone and with\n\
                 bursts; latency of the bursts in us",
            &tables.incast,
            INCAST,
        )
        .end(results)
}

const LINE_RATE: &[Column<rfc8239::LineRateRow>] = &columns! { row =>
    Text ["pattern"] = &*row.pattern;
    Printed ["size"] = row.size.to_string();
    Printed ["% of line"] = format!("{:.3}", row.forwarded_percent);
    Whole ["lost"] = row.lost;
    Whole ["held back"] = row.held_back;
    Printed ["min"] = row.latency.as_ref().map(|l| micros(l.min_ns));
    Printed ["mean"] = row.latency.as_ref().map(|l| micros(l.mean_ns));
    Printed ["max"] = row.latency.as_ref().map(|l| micros(l.max_ns));
    Printed ["jitter"] = row.jitter_ns.map(micros);
};

const BUFFER: &[Column<rfc8239::BufferRow>] = &columns! { row =>
    Text ["pattern"] = row.pattern;
    Text ["egress"] = &*row.egress;
    Text ["tester"] = row.tester;
    Printed ["size"] = row.size.to_string();
    Printed ["frames"] = format!("{:.1}", row.frames);
    Whole ["bytes"] = row.bytes as u64;
    Printed ["latency us"] = row.latency_ns.map(micros);
    Text ["end"] = end(row.loses_above);
};

/// Returns what ends a search for a buffer or a burst.
const fn end(loses_above: Option<bool>) -> &'static str {
    match loses_above {
        None => "or more",
        Some(true) => "loss",
        Some(false) => "pause",
    }
}

const MICROBURST: &[Column<rfc8239::MicroburstRow>] = &columns! { row =>
    Printed ["senders"] = row.senders.to_string();
    Printed ["receivers"] = row.receivers.to_string();
    Printed ["size"] = row.size.to_string();
    Whole ["frames"] = u64::from(row.frames);
    Whole ["bytes"] = row.bytes;
    Text ["end"] = end(row.loses_above);
};

const HOLB: &[Column<rfc8239::HolbRow>] = &columns! { row =>
    Text ["parts"] = row.pattern.name();
    Printed ["size"] = row.size.to_string();
    Printed ["shift"] = row.shift.to_string();
    Printed ["uncongested loss"] = optional(row.uncongested_loss_percent, 4);
    Printed ["its rate"] = optional(row.uncongested_rate_percent, 3);
    Printed ["congested loss"] = optional(row.congested_loss_percent, 4);
    Text [""] = if row.back_pressure { "back-pressure" } else { "" };
};

const INCAST: &[Column<rfc8239::IncastRow>] = &columns! { row =>
    Made ["stateful"] = row.stateful.to_string();
    Printed ["bursts"] = row.stateless.to_string();
    Printed ["size"] = row.size.to_string();
    Printed ["alone"] = format!("{:.3}", row.alone_bps / 1e9);
    Printed ["goodput"] = format!("{:.3}", row.goodput_bps / 1e9);
    Printed ["% of G"] = format!("{:.2}", row.goodput_percent);
    Whole ["again"] = row.retransmitted;
    Whole ["lost"] = row.burst_lost;
    Printed ["mean"] = row.latency.as_ref().map(|l| micros(l.mean_ns));
    Printed ["max"] = row.latency.as_ref().map(|l| micros(l.max_ns));
};

/// Returns the tables of the profile's results.
#[must_use]
pub fn lossless(results: &Run<lossless::Tables>) -> String {
    let tables = &results.tables;
    Sections::default()
        .rows(
            "Lossless profile: all ports but one send to the last; loads in % of the line",
            &tables.rows,
            RATES,
        )
        .rows("All senders at the largest load", &tables.rows, OVERLOAD)
        .rows(
            "Buffered bytes before the first pause, and before the first loss if the tester\n\
                 ignores pauses; a flow to a free port beside one to the congested port, %",
            &tables.rows,
            BUFFERS,
        )
        .rows(
            "Longest response of senders to a pause without loss; completion of messages of\n\
                 1 MB; return to 98 % of the rate after the largest load; us",
            &tables.rows,
            TIMES,
        )
        .rows("Pauses at the largest load", &tables.pauses, PAUSES)
        .end(results)
}

pub(super) fn optional(value: Option<f64>, decimals: usize) -> Option<String> {
    value.map(|value| format!("{value:.decimals$}"))
}

const RATES: &[Column<lossless::LosslessRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Printed ["senders"] = row.senders.to_string();
    Printed ["no-loss rate"] = optional(row.no_loss_percent, 3);
    Printed ["no-pause rate"] = optional(row.no_pause_percent, 3);
    Printed ["goodput"] = format!("{:.3}", row.overload.goodput_percent);
};

const OVERLOAD: &[Column<lossless::LosslessRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Text ["worst"] = &*row.overload.worst_sender;
    Whole ["intended"] = row.overload.intended;
    Whole ["held back"] = row.overload.held_back;
    Whole ["lost"] = row.overload.lost;
    Whole ["pauses"] = row.overload.pauses;
    Printed ["paused %"] = format!("{:.2}", row.overload.worst_paused_percent);
    Printed ["p99 us"] = row.overload.latency.as_ref().map(|l| micros(l.p99_ns));
    Printed ["max us"] = row.overload.latency.as_ref().map(|l| micros(l.max_ns));
};

const BUFFERS: &[Column<lossless::LosslessRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Whole ["XOFF"] = row.xoff_bytes.map(|n| n as u64);
    Whole ["loss"] = row.loss_bytes.map(|n| n as u64);
    // What the device takes after its first pause: its headroom in use.
    Whole ["difference"] = row.loss_bytes.zip(row.xoff_bytes).map(|(loss, xoff)| (loss - xoff) as u64);
    Printed ["free flow"] = optional(row.uncongested_rate_percent, 3);
    Printed ["its loss"] = optional(row.uncongested_loss_percent, 4);
};

const TIMES: &[Column<lossless::LosslessRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Printed ["response"] = row.response_ns.map(micros);
    Printed ["message"] = optional(row.message.completion_us, 3);
    Printed ["least"] = format!("{:.3}", row.message.least_us);
    Printed ["recovery"] = optional(row.recovery.mean_us, 3);
    Printed ["last lost"] = optional(row.recovery.to_last_lost_us, 3);
    Printed ["+-"] = format!("{:.3}", row.recovery.uncertainty_us);
};

const PAUSES: &[Column<lossless::PauseRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Text ["port"] = &*row.port;
    Printed ["priority"] = row.priority.to_string();
    Whole ["received"] = row.received;
    Whole ["XON"] = row.resumes;
    Whole ["pauses"] = row.pauses;
    Printed ["paused %"] = format!("{:.2}", row.paused_percent);
};
