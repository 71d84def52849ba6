//! Results of RFC 2544 and RFC 2889 as text.

use text::{Column, columns, count};

use crate::mlrsearch::Irregular;
use crate::run::Run;
use crate::table::fabric::optional;
use crate::table::{Sections, irregular, micros, percent, rate};
use crate::trial::Latency;
use crate::{rfc2544, rfc2889};

/// Returns the tables of RFC 2544's results.
#[must_use]
pub fn rfc2544(results: &Run<rfc2544::Tables>) -> String {
    let tables = &results.tables;
    let losses = tables.loss.iter().flat_map(|row| {
        let points = row.points.iter().enumerate();
        points.map(|(n, point)| ((n == 0).then_some(row.size), *point))
    });
    Sections::default()
        .rows("Throughput (RFC 2544, 26.1)", &tables.throughput, THROUGHPUT)
        .rows(
            "Latency at the throughput (26.2), us, first bit in to last bit out (FILO).\n\
                 S&F: last bit in to first out; bit: first in to first out (RFC 1242)",
            &tables.latency,
            LATENCY,
        )
        .rows(
            "Latency (FILO) by load, us; load in % of the throughput",
            &tables.latency_by_load,
            LATENCY_BY_LOAD,
        )
        .rows("Frame loss rate by load (26.3), %", &losses.collect::<Vec<_>>(), LOSS)
        .rows("Back-to-back frames (RFC 9004)", &tables.back_to_back, BACK_TO_BACK)
        .rows("System recovery (26.5)", &tables.recovery, RECOVERY)
        .rows("Reset: time without forwarding (26.6, RFC 6201), ms", &tables.reset, RESET)
        .end(results)
}

const THROUGHPUT: &[Column<rfc2544::ThroughputRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Printed ["frames/s"] = row.frames_per_second.map(rate);
    Printed ["line"] = rate(row.line_frames_per_second);
    Printed ["% of line"] =
        row.frames_per_second.map(|rate| percent(rate / row.line_frames_per_second));
    Printed ["loss at"] = row.loss_at.map(rate);
    Printed ["trials"] = row.trials.to_string();
    Made [""] = irregular(row.irregular) + if row.paused { " paused the tester" } else { "" };
};

const LATENCY: &[Column<rfc2544::LatencyRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Printed ["min"] = stamped(&row.filo, row.filo.min_ns);
    Printed ["mean"] = stamped(&row.filo, row.filo.mean_ns);
    Printed ["p50"] = stamped(&row.filo, row.filo.p50_ns);
    Printed ["p99"] = stamped(&row.filo, row.filo.p99_ns);
    Printed ["max"] = stamped(&row.filo, row.filo.max_ns);
    Printed ["S&F mean"] = row.store_and_forward_ns.map(micros);
    Printed ["bit mean"] = row.bit_forwarding_ns.map(micros);
    Whole ["lost"] = row.lost;
};

/// Formats a latency.
fn stamped(filo: &Latency, ns: f64) -> String {
    // A time at the resolution of the stamps is an upper limit, and may be anything down to 0.
    let below = if ns <= filo.resolution_ns { "<" } else { "" };
    format!("{below}{}", micros(ns))
}

const LATENCY_BY_LOAD: &[Column<rfc2544::LoadRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Printed ["load %"] = row.share_percent.to_string();
    Printed ["min"] = stamped(&row.filo, row.filo.min_ns);
    Printed ["mean"] = stamped(&row.filo, row.filo.mean_ns);
    Printed ["p50"] = stamped(&row.filo, row.filo.p50_ns);
    Printed ["p99"] = stamped(&row.filo, row.filo.p99_ns);
    Printed ["max"] = stamped(&row.filo, row.filo.max_ns);
    Whole ["lost"] = row.lost;
};

/// The points of loss curves; the first of each has its size.
const LOSS: &[Column<(Option<u32>, rfc2544::LossPoint)>] = &columns! { (size, point) =>
    Made ["size"] = size.map_or_else(String::new, |size| size.to_string());
    Printed ["load %"] = format!("{:.2}", point.load_percent);
    Printed ["loss %"] = format!("{:.4}", point.loss_percent);
    Whole ["lost"] = point.lost;
    Whole ["held back"] = point.held_back;
};

const BACK_TO_BACK: &[Column<rfc2544::BurstRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Printed ["mean frames"] = format!("{:.1}", row.mean);
    Whole ["min"] = u64::from(row.min);
    Whole ["max"] = u64::from(row.max);
    Printed ["deviation"] = format!("{:.2}", row.deviation);
    Printed ["implied us"] = format!("{:.3}", row.implied_us);
    Printed ["corrected us"] = format!("{:.3}", row.corrected_us);
    Text [""] = if row.at_limit { "the longest burst passed" } else { "" };
};

const RECOVERY: &[Column<rfc2544::RecoveryRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Printed ["overload %"] = format!("{:.2}", row.overload_percent);
    // Without an overload there is nothing to recover from, whatever the time says.
    Printed ["recovery us"] =
        row.mean_us.filter(|_| row.overloaded).map(|time| format!("{time:.3}"));
    Printed ["+-"] = format!("{:.3}", row.uncertainty_us);
    Text [""] = match row.mean_us {
        _ if !row.overloaded => "no loss in the overload",
        Some(_) => "",
        None => "loss until the end",
    };
};

const RESET: &[Column<rfc2544::ResetRow>] = &columns! { row =>
    Text ["reset"] = row.kind.name();
    Made ["size"] = row.size.to_string();
    Whole ["lost"] = row.lost;
    Printed ["ms"] = row.mean_ms.map(|ms| format!("{ms:.6}"));
    Printed ["+-"] = format!("{:.6}", row.uncertainty_ms);
    Printed ["by stamps"] = row.stamps_ms.map(|ms| format!("{ms:.6}"));
    Text [""] = if row.not_judged.is_some() { "not judged" } else { "" };
};

/// Returns the tables of RFC 2889's results.
#[must_use]
pub fn rfc2889(results: &Run<rfc2889::Tables>) -> String {
    let tables = &results.tables;
    Sections::default()
        .rows(
            "Throughput (% line), forwarding rates (frames/s) (RFC 2889, 5.1 to 5.3).\n\
                 FRMOL: at the maximum offered load; MFR: the maximum of all loads; /N: bursts",
            &tables.mesh,
            MESH,
        )
        .rows("Congestion control (5.5), loss in %", &tables.congestion, CONGESTION)
        .rows(
            "Address caching capacity (5.7), and address learning rate (5.8), frames/s",
            &tables.addresses,
            ADDRESSES,
        )
        .rows(
            "Broadcast frames from one port to all others (5.10); latency FILO, us",
            &tables.broadcast,
            BROADCAST,
        )
        .rows(
            "Forward pressure: gaps of 88 bits instead of 96 (5.6), frames/s",
            &tables.pressure,
            PRESSURE,
        )
        .rows("Errored frames (5.9)", &tables.errors, ERRORS)
        .end(results)
}

const MESH: &[Column<rfc2889::ForwardingRow>] = &columns! { row =>
    Made ["pattern"] = match row.burst {
        1 => row.pattern.clone(),
        burst => format!("{} /{burst}", row.pattern),
    };
    Printed ["size"] = row.size.to_string();
    Printed ["% line"] = row.throughput_percent.map(|n| format!("{n:.3}"));
    Printed ["offered"] = rate(row.frmol.offered);
    Printed ["FRMOL"] = rate(row.frmol.forwarded);
    Printed ["MFR"] = rate(row.mfr.forwarded);
    Made [""] = irregular(row.irregular);
};

const CONGESTION: &[Column<rfc2889::CongestionRow>] = &columns! { row =>
    Printed ["size"] = row.size.to_string();
    Printed ["uncongested"] = optional(row.uncongested_loss_percent, 4);
    Printed ["congested"] = optional(row.congested_loss_percent, 4);
    Text [""] = match (row.head_of_line_blocking.unwrap_or_default(), row.back_pressure.unwrap_or_default()) {
        (true, true) => "head-of-line blocking, back-pressure",
        (true, false) => "head-of-line blocking",
        (false, true) => "back-pressure",
        (false, false) => "",
    };
};

const ADDRESSES: &[Column<rfc2889::AddressRow>] = &columns! { row =>
    Printed ["addresses"] = count(row.addresses.into());
    Printed ["learning rate"] = row.learning_per_second.map(rate);
    Made [""] = {
        let all = if row.addresses_at_limit { "all that were tried; " } else { "" };
        let remark = match row.irregular {
            Some(Irregular::AtMaximum) => "at the line rate, too".to_owned(),
            other => irregular(other),
        };
        format!("{all}{remark}").trim_end_matches("; ").to_owned()
    };
};

const BROADCAST: &[Column<rfc2889::BroadcastRow>] = &columns! { row =>
    Printed ["size"] = row.size.to_string();
    Printed ["throughput %"] = row.throughput_percent.map(|n| format!("{n:.3}"));
    Printed ["min"] = row.latency.as_ref().map(|l| micros(l.min_ns));
    Printed ["mean"] = row.latency.as_ref().map(|l| micros(l.mean_ns));
    Printed ["p99"] = row.latency.as_ref().map(|l| micros(l.p99_ns));
    Printed ["max"] = row.latency.as_ref().map(|l| micros(l.max_ns));
    Made [""] = irregular(row.irregular);
};

const PRESSURE: &[Column<rfc2889::PressureRow>] = &columns! { row =>
    Made ["size"] = row.size.to_string();
    Printed ["line"] = rate(row.line_frames_per_second);
    Printed ["offered"] = rate(row.offered);
    Printed ["forwarded"] = rate(row.forwarded);
    Whole ["lost"] = row.lost;
    Text [""] = if row.faster { "FASTER THAN THE LINE" } else { "not faster" };
};

const ERRORS: &[Column<rfc2889::ErrorRow>] = &columns! { row =>
    Text ["error"] = row.kind;
    Printed ["size"] = row.size.map(|size| size.to_string());
    // Counts of a kind that was not tested are no zeros.
    Whole ["sent"] = row.filtered.map(|_| row.sent);
    Whole ["forwarded"] = row.filtered.map(|_| row.forwarded);
    Made [""] = match (row.filtered, &row.not_tested) {
        (Some(true), _) => "filtered".to_owned(),
        (Some(false), _) => "FORWARDED".to_owned(),
        (None, why) => format!("not tested: {}", why.as_deref().unwrap_or("unknown")),
    };
};
