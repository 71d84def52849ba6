//! Results of RFC 7640, RFC 8239 and the lossless profile as text.

use text::{Table, columns};

use crate::rfc7640::{self, HuntRow};
use crate::run::Run;
use crate::table::{ending, micros, titled};
use crate::{lossless, rfc8239};

/// Returns the tables of RFC 7640's results.
#[must_use]
pub fn rfc7640(results: &Run<rfc7640::Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.burst_hunt.is_empty() {
        let title = "Burst hunt (RFC 7640): longest burst of one queue without loss and pause;\n\
                     latency and variation (PDV, 99 %) in us";
        sections.push(titled(title, hunt(&tables.burst_hunt)));
    }
    if !tables.queues.is_empty() {
        let title = "All queues at once: longest burst of each";
        sections.push(titled(title, hunt(&tables.queues)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

fn hunt(rows: &[HuntRow]) -> Table {
    Table::of(
        rows,
        &columns! { row =>
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
        },
    )
}

/// Returns the tables of RFC 8239's results.
#[must_use]
pub fn rfc8239(results: &Run<rfc8239::Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.line_rate.is_empty() {
        let title = "Line rate of all ports (RFC 8239, section 2); latency FILO and jitter in us";
        sections.push(titled(title, line_rate(tables)));
    }
    if !tables.buffer.is_empty() {
        let title = "Buffer of a port by an oversubscription of 1 % (3); \"or more\" than fills in the\n\
                     longest `trial`";
        sections.push(titled(title, buffer(tables)));
    }
    if !tables.microburst.is_empty() {
        let title = "Microburst (4): longest burst per sender without loss and pause";
        sections.push(titled(title, microburst(tables)));
    }
    if !tables.holb.is_empty() {
        sections.push(titled("Head-of-line blocking (5), %", holb(tables)));
    }
    if !tables.incast.is_empty() {
        let title = "Incast (6): goodput of connections (TCP NewReno window) in Gb/s, alone and with\n\
                     bursts; latency of the bursts in us";
        sections.push(titled(title, incast(tables)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

fn line_rate(tables: &rfc8239::Tables) -> Table {
    Table::of(
        &tables.line_rate,
        &columns! { row =>
            Text ["pattern"] = &*row.pattern;
            Printed ["size"] = row.size.to_string();
            Printed ["% of line"] = format!("{:.3}", row.forwarded_percent);
            Whole ["lost"] = row.lost;
            Whole ["held back"] = row.held_back;
            Printed ["min"] = row.latency.as_ref().map(|l| micros(l.min_ns));
            Printed ["mean"] = row.latency.as_ref().map(|l| micros(l.mean_ns));
            Printed ["max"] = row.latency.as_ref().map(|l| micros(l.max_ns));
            Printed ["jitter"] = row.jitter_ns.map(micros);
        },
    )
}

fn buffer(tables: &rfc8239::Tables) -> Table {
    Table::of(
        &tables.buffer,
        &columns! { row =>
            Text ["pattern"] = row.pattern;
            Text ["egress"] = &*row.egress;
            Text ["tester"] = row.tester;
            Printed ["size"] = row.size.to_string();
            Printed ["frames"] = format!("{:.1}", row.frames);
            Whole ["bytes"] = row.bytes as u64;
            Printed ["latency us"] = row.latency_ns.map(micros);
            Text [""] = if row.at_limit { "or more" } else { "" };
        },
    )
}

fn microburst(tables: &rfc8239::Tables) -> Table {
    Table::of(
        &tables.microburst,
        &columns! { row =>
            Printed ["senders"] = row.senders.to_string();
            Printed ["receivers"] = row.receivers.to_string();
            Printed ["size"] = row.size.to_string();
            Whole ["frames"] = u64::from(row.frames);
            Whole ["bytes"] = row.bytes;
            Text [""] = if row.at_limit { "the longest burst passed" } else { "" };
        },
    )
}

fn holb(tables: &rfc8239::Tables) -> Table {
    Table::of(
        &tables.holb,
        &columns! { row =>
            Text ["parts"] = row.pattern.name();
            Printed ["size"] = row.size.to_string();
            Printed ["shift"] = row.shift.to_string();
            Printed ["uncongested loss"] = optional(row.uncongested_loss_percent, 4);
            Printed ["its rate"] = optional(row.uncongested_rate_percent, 3);
            Printed ["congested loss"] = optional(row.congested_loss_percent, 4);
            Text [""] = if row.back_pressure { "back-pressure" } else { "" };
        },
    )
}

fn incast(tables: &rfc8239::Tables) -> Table {
    Table::of(
        &tables.incast,
        &columns! { row =>
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
        },
    )
}

/// Returns the tables of the profile's results.
#[must_use]
pub fn lossless(results: &Run<lossless::Tables>) -> String {
    let tables = &results.tables;
    let mut sections = Vec::new();
    if !tables.rows.is_empty() {
        let title = "Lossless profile: all ports but one send to the last; loads in % of the line";
        sections.push(titled(title, rates(tables)));
        sections.push(titled("All senders at the largest load", overload(tables)));
        let title = "Buffered bytes before the first pause, and before the first loss if the tester\n\
                     ignores pauses; a flow to a free port beside one to the congested port, %";
        sections.push(titled(title, buffers(tables)));
        let title = "Longest response of senders to a pause without loss; completion of messages of\n\
                     1 MB; return to 98 % of the rate after the largest load; us";
        sections.push(titled(title, times(tables)));
    }
    if !tables.pauses.is_empty() {
        let title = "Pauses at the largest load";
        sections.push(titled(title, pauses(tables)));
    }
    ending(&mut sections, results);
    sections.join("\n")
}

pub(super) fn optional(value: Option<f64>, decimals: usize) -> Option<String> {
    value.map(|value| format!("{value:.decimals$}"))
}

fn rates(tables: &lossless::Tables) -> Table {
    Table::of(
        &tables.rows,
        &columns! { row =>
            Made ["size"] = row.size.to_string();
            Printed ["senders"] = row.senders.to_string();
            Printed ["no-loss rate"] = optional(row.no_loss_percent, 3);
            Printed ["no-pause rate"] = optional(row.no_pause_percent, 3);
            Printed ["goodput"] = format!("{:.3}", row.overload.goodput_percent);
        },
    )
}

fn overload(tables: &lossless::Tables) -> Table {
    Table::of(
        &tables.rows,
        &columns! { row =>
            Made ["size"] = row.size.to_string();
            Text ["worst"] = &*row.overload.worst_sender;
            Whole ["intended"] = row.overload.intended;
            Whole ["held back"] = row.overload.held_back;
            Whole ["lost"] = row.overload.lost;
            Whole ["pauses"] = row.overload.pauses;
            Printed ["paused %"] = format!("{:.2}", row.overload.worst_paused_percent);
            Printed ["p99 us"] = row.overload.latency.as_ref().map(|l| micros(l.p99_ns));
            Printed ["max us"] = row.overload.latency.as_ref().map(|l| micros(l.max_ns));
        },
    )
}

fn buffers(tables: &lossless::Tables) -> Table {
    Table::of(
        &tables.rows,
        &columns! { row =>
            Made ["size"] = row.size.to_string();
            Whole ["XOFF"] = row.xoff_bytes.map(|n| n as u64);
            Whole ["loss"] = row.loss_bytes.map(|n| n as u64);
            // What the device takes after its first pause: its headroom in use.
            Whole ["difference"] = row.loss_bytes.zip(row.xoff_bytes).map(|(loss, xoff)| (loss - xoff) as u64);
            Printed ["free flow"] = optional(row.uncongested_rate_percent, 3);
            Printed ["its loss"] = optional(row.uncongested_loss_percent, 4);
        },
    )
}

fn times(tables: &lossless::Tables) -> Table {
    Table::of(
        &tables.rows,
        &columns! { row =>
            Made ["size"] = row.size.to_string();
            Printed ["response"] = row.response_ns.map(micros);
            Printed ["message"] = optional(row.message.completion_us, 3);
            Printed ["least"] = format!("{:.3}", row.message.least_us);
            Printed ["recovery"] = optional(row.recovery.mean_us, 3);
            Printed ["last lost"] = optional(row.recovery.to_last_lost_us, 3);
            Printed ["+-"] = format!("{:.3}", row.recovery.uncertainty_us);
        },
    )
}

fn pauses(tables: &lossless::Tables) -> Table {
    Table::of(
        &tables.pauses,
        &columns! { row =>
            Made ["size"] = row.size.to_string();
            Text ["port"] = &*row.port;
            Printed ["priority"] = row.priority.to_string();
            Whole ["received"] = row.received;
            Whole ["XON"] = row.resumes;
            Whole ["pauses"] = row.pauses;
            Printed ["paused %"] = format!("{:.2}", row.paused_percent);
        },
    )
}
