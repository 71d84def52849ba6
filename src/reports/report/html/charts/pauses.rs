//! Pauses of a lab: every pause of the ports that were paused longest, and a map of all of them.

use super::{end_ns, marks, ns, port_name};
use crate::html::Report;
use crate::html::heat::{self, COLUMNS, Heat, HeatRow};
use crate::html::pauses::{PauseFrame, PauseRow, Pauses, Span};
use crate::html::scale::Unit;
use crate::html::shared::ROWS_MAX;
use ground::units::Priority;
use lab::record::{FrameAt, Piece, Timeline};
use sim::{Direction, LinkId};

/// Pauses of a priority at the end of a line.
type Paused<'a> = (Direction, Priority, &'a Timeline);

/// Returns all pauses, the longest in total first.
fn paused<'a>(r: &Report<'a>) -> Vec<Paused<'a>> {
    let links = 0..r.plan.network.links.len() as u32;
    let directions = links.flat_map(|n| [LinkId(n).ab(), LinkId(n).ba()]);
    let recording = r.recording;
    let of = |d: Direction| recording.events.pauses(d).map(move |(p, line)| (d, p, line));
    let mut paused: Vec<Paused<'a>> = directions.flat_map(of).collect();
    paused.sort_by_key(|(d, p, line)| (core::cmp::Reverse(line.total), *d, *p));
    paused
}

fn name(r: &Report<'_>, (d, p, _): &Paused<'_>) -> String {
    let at = r.plan.network.links[d.link().index()].to(*d);
    format!("{} p{p}", port_name(r, at.node, at.port))
}

/// Draws the pauses of ports over time, longest paused first.
pub(super) fn pauses(r: &Report<'_>) -> Pauses {
    let paused = paused(r);
    let shown = paused.len().min(ROWS_MAX);
    let left = paused.len() - shown;
    let more = if left > 0 { format!(", {left} more had shorter pauses") } else { String::new() };
    let row = |one: &Paused<'_>| {
        let (d, p, line) = one;
        let frames = r.recording.events.pause_frames(*d);
        let of = |all: &[FrameAt]| -> Vec<PauseFrame> {
            let frame = |f: &FrameAt| {
                let xoff = f.xoff.contains(*p);
                let named = xoff || f.xon.contains(*p);
                named.then(|| PauseFrame { at: f.at.since_start(), xoff })
            };
            all.iter().filter_map(frame).collect()
        };
        PauseRow {
            name: name(r, one),
            spans: line.pieces().iter().map(span).collect(),
            sent: frames.map_or_else(Vec::new, |frames| of(&frames.sent)),
            obeyed: frames.map_or_else(Vec::new, |frames| of(&frames.obeyed)),
        }
    };
    Pauses {
        about: format!("Pauses over time, a row for each of {shown} ports and priorities{more}"),
        end: r.outcome.elapsed_ns,
        group: super::GROUP.into(),
        rows: paused.iter().take(ROWS_MAX).map(row).collect(),
        marks: marks(r),
    }
}

fn span(piece: &Piece) -> Span {
    Span {
        from: piece.from.since_start(),
        to: piece.to.since_start(),
        paused: piece.paused,
        pauses: Some(piece.pauses),
    }
}

/// Maps the share of time that ports were paused, if there are more than can be drawn one by one.
pub(super) fn map(r: &Report<'_>) -> Option<Heat> {
    let paused = paused(r);
    if paused.len() <= ROWS_MAX {
        return None;
    }
    let end = end_ns(r);
    let mut shown: Vec<&Paused<'_>> = paused.iter().take(heat::ROWS_MAX).collect();
    shown.sort_by_key(|(d, p, _)| (*d, *p));
    let row = |one: &&Paused<'_>| HeatRow { name: name(r, one), cells: shares(one.2, end) };
    Some(Heat {
        about: format!("Map of {} of {} paused ports over time", shown.len(), paused.len()),
        unit: Unit { name: "%", size: 1.0 },
        shade: "--pause",
        end,
        group: super::GROUP.into(),
        rows: shown.iter().map(row).collect(),
        marks: marks(r),
    })
}

/// Returns the percentage of each interval that was paused.
fn shares(line: &Timeline, end: f64) -> Vec<f64> {
    let width = end / COLUMNS as f64;
    let mut cells = vec![0.0; COLUMNS];
    for piece in line.pieces() {
        let (from, to) = (ns(piece.from), ns(piece.to));
        let dense = piece.paused.as_nanos_f64() / (to - from).max(1e-3);
        for (n, cell) in cells.iter_mut().enumerate().skip(heat::column(from, end)) {
            let (start, stop) = (n as f64 * width, (n + 1) as f64 * width);
            if start >= to {
                break;
            }
            *cell += 100.0 * dense * (to.min(stop) - from.max(start)).max(0.0) / width;
        }
    }
    cells.into_iter().map(|share: f64| share.min(100.0)).collect()
}
