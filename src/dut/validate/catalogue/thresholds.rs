//! Thresholds of a priority group, in bytes of whole cells: XOFF, XON, the first drop, and watermarks.

use super::fill::Filling;
use super::{congestion, fill};
use crate::bench::TrialError;
use crate::counters::Counter;
use crate::judge::Limits;
use crate::test::{Context, Level, Scope, Test, Topology};
use crate::trial::{FlowId, Limit, Obeys};
use ground::units::{Bytes, Priority};
use std::collections::BTreeSet;

/// Margin in cells.
const MARGIN: f64 = 2.0;

pub(super) const XOFF_THRESHOLD: Test = describe! {
    id: "V-H01",
    title: "threshold of XOFF",
    purpose: "A lossless priority group sends XOFF at the configured number of bytes.",
    clause: "802.1Q 36.1.3.1; the threshold is the device's configuration",
    procedure: "B pauses one lossless priority all the time. A sends a number of the shortest frames, of \
                64 bytes or with a tag of 68; the least \
                number that causes a pause at A is searched.",
    pass: "It is the configured threshold (`expected.xoff` or `expected.dynamic_th`) within 2 cells \
           (`expected.cell`). The value is what the device does; it is never used to size headroom.",
    source: "SAI PFCtest, margin 2",
    run: xoff_threshold,
    aliases: &["PFCtest"],
    uncertainty: "One frame, which is one cell.",
    level: Level::Quick,
};

fn xoff_threshold(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let xoff = fill::threshold(cx, 1)?;
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let (cell, most) = (f64::from(fill::cell(cx)?), fill::bound(cx, xoff, cx.setup.shortest())?);
    for priority in cx.each_lossless() {
        let filling = Filling { from: &[a], to: b, priority, size: cx.setup.shortest() };
        let found = fill::xoff(cx, filling, most)?;
        let limits = Limits::around(xoff.0 as f64, MARGIN * cell);
        let what = format!("bytes of priority {priority} that cause XOFF");
        match found {
            Some(frames) => cx.judge(what, f64::from(frames) * cell, limits, 0.0, "bytes"),
            // A device that sends no XOFF has no threshold to compare: the missing pause is the failure.
            None => {
                let what = format!("pauses of priority {priority} for {most} frames");
                cx.count(what, 0, Limits::at_least(1.0));
            }
        }
    }
    Ok(())
}

pub(super) const FIRST_DROP: Test = describe! {
    id: "V-H02",
    title: "first drop, and the headroom before it",
    purpose: "A lossless priority group takes its headroom behind XOFF before it drops a frame.",
    clause: "802.1Q 36.1.3.3; the headroom is the device's configuration",
    procedure: "As V-H01, with a tester that ignores pauses: the least number of frames of which one is \
                lost is searched.",
    pass: "The bytes of these frames are at least the threshold and the headroom (`expected.xoff` or \
           `expected.dynamic_th`, `expected.headroom`) less 2 cells. The value is what the device does; it is \
           never used to size headroom.",
    source: "SAI PFCtest",
    run: first_drop,
    aliases: &["PFCtest", "ingress_drop"],
    uncertainty: "One frame, which is one cell.",
    level: Level::Quick,
};

fn first_drop(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let xoff = fill::threshold(cx, 1)?;
    let headroom = cx.setup.expected.headroom.ok_or_else(|| fill::missing("headroom"))?;
    let [a, b] = cx.ports()?;
    cx.lossless()?;
    let all = Bytes(xoff.0 + headroom.0);
    let (cell, most) = (f64::from(fill::cell(cx)?), fill::bound(cx, all, cx.setup.shortest())?);
    for priority in cx.each_lossless() {
        let filling = Filling { from: &[a], to: b, priority, size: cx.setup.shortest() };
        let found = fill::least(most, |frames| {
            let observed = fill::fill(cx, filling, frames)?;
            Ok(observed.tally(FlowId(0)).lost() > 0)
        })?;
        // If no frame was lost, the first drop is at this number of bytes or above.
        let bytes = f64::from(found.unwrap_or(most)) * cell;
        let limits = Limits::at_least(all.0 as f64 - MARGIN * cell);
        cx.judge(format!("bytes of priority {priority} until a drop"), bytes, limits, 0.0, "bytes");
        let clause = "the bytes behind XOFF";
        cx.policy(
            format!("headroom of priority {priority}"),
            bytes - xoff.0 as f64,
            "bytes",
            clause,
        );
    }
    Ok(())
}

pub(super) const XON_THRESHOLD: Test = describe! {
    id: "V-H03",
    title: "threshold of XON",
    purpose: "A lossless priority group sends XON at the configured number of bytes below XOFF, and at no \
              other.",
    clause: "802.1Q 36.1.3.1; the threshold is the device's configuration",
    procedure: "B and C pause one lossless priority. A sends shortest frames to both until two more than cause \
                XOFF are buffered. C is resumed, so that the frames to C leave, and B later. The least number \
                of frames to C that causes XON before B is resumed is searched, and tried again 10 times \
                (level full: 100 times) with and without its last frame. At level full it is searched again with \
                frames in half of the headroom (`expected.headroom`).",
    pass: "XON is sent at the configured number of bytes (`expected.xon_offset`) below XOFF within 1 cell \
           (`expected.cell`), for a dynamic threshold at that number / (1 + alpha); in all runs at the same \
           number of frames. The value is what the device does; it is never used to size headroom.",
    source: "SAI PFCXonTest; sonic-mgmt probe pfc_xon",
    run: xon_threshold,
    aliases: &["pfc_xon"],
    topology: Topology::T3,
    uncertainty: "One frame, which is one cell. XON within the tester's time stamps of the time at which B is \
                  resumed counts as none.",
};

/// Margin in cells.
const XON_MARGIN: f64 = 1.0;

fn xon_threshold(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let offset = cx.setup.expected.xon_offset.ok_or_else(|| fill::missing("xon_offset"))?;
    let ports = cx.ports()?;
    cx.lossless()?;
    let cell = f64::from(fill::cell(cx)?);
    // A dynamic threshold rises by alpha for each byte that leaves.
    let rise = cx.setup.expected.alpha().unwrap_or(0.0);
    for priority in cx.each_lossless() {
        let Some(point) = fill::xon_point(cx, ports, priority)? else { continue };
        let limits = Limits::around(offset.0 as f64 / (1.0 + rise), XON_MARGIN * cell);
        let what = format!("bytes of priority {priority} from XOFF down to XON");
        cx.judge(what, point.offset() * cell, limits, 0.0, "bytes");
        let runs = cx.by_level(10, 100);
        let deviations = fill::xon_deviations(cx, ports, priority, point, runs)?;
        let what = format!("runs of {runs} with XON of priority {priority} at another number");
        cx.judge(what, deviations as f64, Limits::exactly(0.0), 0.0, "runs");
        let what = format!("bytes of priority {priority} from XOFF down to XON, after headroom");
        let Some(headroom) = cx.by_level(None, Some(cx.setup.expected.headroom)) else { continue };
        let Some(headroom) = headroom else {
            cx.skip(what, "expected.headroom is missing; add it to the file");
            continue;
        };
        let behind = (headroom.0 as f64 / cell / 2.0) as u32;
        match fill::xon_behind(cx, ports, priority, point.xoff, behind) {
            Ok(Some(point)) => cx.judge(what, point.offset() * cell, limits, 0.0, "bytes"),
            Ok(None) => {}
            // This part fills more, which a watchdog may not allow; the other part has been judged.
            Err(TrialError::Missing(why)) => cx.skip(what, &why),
            Err(trouble) => return Err(trouble),
        }
    }
    Ok(())
}

pub(super) const SHARED_POOL: Test = describe! {
    id: "V-H05",
    title: "dynamic thresholds share the pool",
    purpose: "A group with a dynamic threshold sends XOFF at alpha times the free part of the shared pool.",
    clause: "802.1Q 36.1.3.1; the threshold is the device's configuration",
    procedure: "The last port pauses one lossless priority. The first k ports send it the same number of \
                shortest frames; the least number that causes a pause of any of them is searched, for k from \
                one to all.",
    pass: "It is shared alpha / (1 + k alpha) bytes within 2 cells (`expected.shared`, `expected.cell`), where \
           alpha is 2 to the power of `expected.dynamic_th`. The value is what the device does; it is never \
           used to size headroom.",
    source: "SAI SharedResSizeTest",
    run: shared_pool,
    aliases: &["SharedResSize"],
    topology: Topology::Tn,
    uncertainty: "One frame, which is one cell.",
    scope: Scope::Device,
};

fn shared_pool(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.setup.expected.dynamic_th.ok_or_else(|| fill::missing("dynamic_th"))?;
    cx.lossless()?;
    let cell = f64::from(fill::cell(cx)?);
    let (to, from) = cx.to_last()?;
    for priority in cx.each_lossless() {
        // Each further group leaves less of the pool to all, and so lowers their threshold.
        for groups in 1..=from.len() {
            let threshold = fill::threshold(cx, groups)?;
            let most = fill::bound(cx, threshold, cx.setup.shortest())?;
            let size = cx.setup.shortest();
            let filling = Filling { from: &from[..groups], to, priority, size };
            let found = fill::xoff(cx, filling, most)?;
            let what =
                format!("bytes of priority {priority} that cause XOFF, from {groups} ports each");
            let limits = Limits::around(threshold.0 as f64, MARGIN * cell);
            match found {
                Some(frames) => cx.judge(what, f64::from(frames) * cell, limits, 0.0, "bytes"),
                None => {
                    let what = format!("pauses for {most} frames from {groups} ports each");
                    cx.count(what, 0, Limits::at_least(1.0));
                }
            }
        }
    }
    Ok(())
}

pub(super) const WHOLE_CELLS: Test = describe! {
    id: "V-H07",
    title: "frames of all sizes use whole cells",
    purpose: "The threshold of XOFF is the same in cells for frames of all sizes, and the headroom is enough \
              for the size that uses most cells.",
    clause: "802.1Q 36.1.3.3; cells are the device's configuration",
    procedure: "V-H01 with the shortest frames and those a byte longer, with frames of a cell and of a byte more, \
                of 1,518 bytes, and with the longest. Then A and B overload C with the size that uses most cells \
                in its time on the line, and stop at the limit after a pause.",
    pass: "The cells of the frames that cause XOFF, in bytes of `expected.cell`, are the configured threshold \
           within 2 cells and the rest of a frame. No frame is lost, and A and B are paused.",
    source: "SAI PFCtest; sizes of HPCC and SimAI, whose headroom has no term for the longest frame",
    run: whole_cells,
    topology: Topology::T3,
    uncertainty: "One frame.",
    scope: Scope::Device,
};

/// Length of the shortest frame without a tag.
const UNTAGGED: u32 = 64;

fn whole_cells(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let threshold = fill::threshold(cx, 1)?;
    let [a, b, _] = cx.ports()?;
    cx.lossless()?;
    let sizes = cell_sizes(cx)?;
    let cell = fill::used(cx, 1)?;
    for priority in cx.each_lossless() {
        for size in &sizes {
            let (used, most) = (fill::used(cx, *size)?, fill::bound(cx, threshold, *size)?);
            let filling = Filling { from: &[a], to: b, priority, size: *size };
            let found = fill::xoff(cx, filling, most)?;
            let what =
                format!("bytes of cells of {size}-byte frames of priority {priority} until XOFF");
            let Some(frames) = found else {
                cx.count(
                    format!("pauses for {most} frames of {size} bytes"),
                    0,
                    Limits::at_least(1.0),
                );
                continue;
            };
            let (xoff, margin) = (threshold.0 as f64, MARGIN * f64::from(cell));
            // Any cell of the last frame may be the one that crosses XOFF.
            let limits = Limits {
                at_least: Some(xoff - margin),
                at_most: Some(xoff + margin + f64::from(used - cell)),
            };
            cx.judge(what, f64::from(frames) * f64::from(used), limits, 0.0, "bytes");
        }
        judge_densest(cx, priority, &sizes)?;
    }
    Ok(())
}

/// Returns the sizes to try that the device takes, once each. A device may remove a tag before or after
/// it stores a frame, so only those that use the same number of cells with and without it.
fn cell_sizes(cx: &Context<'_>) -> Result<BTreeSet<u32>, TrialError> {
    let (cell, shortest) = (fill::used(cx, 1)?, cx.setup.shortest());
    let tag = shortest - UNTAGGED;
    // Sizes at which a frame begins to use another cell, and the extremes.
    let all = [shortest, shortest + 1, cell, cell + tag + 1, 1518, cx.setup.max_frame];
    let mut sizes = BTreeSet::new();
    for size in all {
        let is_taken = (shortest..=cx.setup.max_frame).contains(&size);
        if is_taken && fill::used(cx, size)? == fill::used(cx, size - tag)? {
            sizes.insert(size);
        }
    }
    Ok(sizes)
}

/// Judges that no frame is lost of the size that uses most cells in its time on the line.
fn judge_densest(
    cx: &mut Context<'_>,
    priority: Priority,
    sizes: &BTreeSet<u32>,
) -> Result<(), TrialError> {
    let [a, b, c] = cx.ports()?;
    let mut size = cx.setup.shortest();
    let density = |size: u32, used: u32| f64::from(used) / f64::from(size + 20);
    for next in sizes {
        if density(*next, fill::used(cx, *next)?) > density(size, fill::used(cx, size)?) {
            size = *next;
        }
    }
    let frames = fill::bound(cx, fill::threshold(cx, 2)?, size)?.saturating_mul(4);
    // Peers that use the time which they may take to stop need most headroom.
    let late = Obeys::Pfc(cx.setup.limits.reaction);
    let mut trial = congestion::to_one(cx, &[a, b], c, &[priority], 1.0);
    trial.name = format!("overload with {size}-byte frames");
    for flow in &mut trial.flows {
        flow.size = size;
        flow.limit = Limit::Frames(frames);
    }
    trial.obeys.extend([(a, late), (b, late)]);
    let observed = cx.observe(&trial)?;
    congestion::arrives(cx, &observed, &trial)?;
    for (n, port) in [a, b].into_iter().enumerate() {
        let name = cx.port(port).name.clone();
        let stops = observed.pauses(port).filter(|pause| pause.stops(priority)).count() as u64;
        let what = format!("pauses of priority {priority} at {name} for {size}-byte frames");
        cx.count(what, stops, Limits::at_least(1.0));
        let what = format!("lost {size}-byte frames of priority {priority} from {name}");
        cx.count(what, observed.tally(FlowId(n)).lost(), Limits::exactly(0.0));
    }
    Ok(())
}

pub(super) const WATERMARKS: Test = describe! {
    id: "V-H08",
    title: "watermarks are true",
    purpose: "The highest fill of a priority group that a device reports is the one that it had.",
    clause: "none: the counters are SAI's watermarks of priority groups",
    procedure: "As V-H01 with numbers of frames that fill 25, 50, 75 and 100 % of the threshold \
                (`expected.xoff`), then with 25, 50, 75 and 100 % of the headroom (`expected.headroom`) as well. \
                The tester ignores pauses.",
    pass: "The device's maximum of the buffer, or of its shared part, and that of the headroom are the bytes of \
           the frames held, in cells (`expected.cell`), within 2 cells.",
    source: "SAI PGSharedWatermark, PGHeadroomWatermark, margin 2",
    run: watermarks,
    aliases: &["PGSharedWatermark", "PGHeadroomWatermark"],
    uncertainty: "None: counts.",
    scope: Scope::Device,
};

/// Parts of a space in percent.
const PARTS: [u64; 4] = [25, 50, 75, 100];

fn watermarks(cx: &mut Context<'_>) -> Result<(), TrialError> {
    let xoff = cx.setup.expected.xoff.ok_or_else(|| fill::missing("xoff"))?;
    let headroom = cx.setup.expected.headroom.ok_or_else(|| fill::missing("headroom"))?;
    cx.lossless()?;
    for priority in cx.each_lossless() {
        for part in PARTS {
            judge_fill(cx, priority, Bytes(xoff.0 * part / 100), xoff)?;
        }
        for part in PARTS {
            judge_fill(cx, priority, Bytes(xoff.0 + headroom.0 * part / 100), xoff)?;
        }
    }
    Ok(())
}

/// Fills a group with some bytes, and judges the maxima.
fn judge_fill(
    cx: &mut Context<'_>,
    priority: Priority,
    bytes: Bytes,
    xoff: Bytes,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let cell = u64::from(fill::cell(cx)?);
    fill::bound(cx, bytes, cx.setup.shortest())?;
    let frames = (bytes.0 / cell).max(1) as u32;
    let filling = Filling { from: &[a], to: b, priority, size: cx.setup.shortest() };
    let trial = fill::trial(cx, filling, frames)?;
    let (observed, counters) = cx.count_over(trial)?;
    // The storm lasts longer than the frames, so all that arrive were held at once.
    let held = observed.tally(FlowId(0)).received * cell;
    let shared = held.min(xoff.0 / cell * cell);
    let known = |counter| counters.get(a, Some(priority), counter).is_some();
    // Devices report the whole buffer of a group, or its shared part.
    let (counter, wanted) = match known(Counter::SharedPeak) && !known(Counter::BufferPeak) {
        true => (Counter::SharedPeak, shared),
        false => (Counter::BufferPeak, held),
    };
    let margin = MARGIN * cx.setup.expected.cell.map_or(0.0, |cell| cell.0 as f64);
    for (counter, wanted) in [(counter, wanted), (Counter::HeadroomPeak, held - shared)] {
        let limits = Limits::around(wanted as f64, margin);
        let what = format!("{} of priority {priority} with {held} bytes held", counter.name());
        cx.judge_counter(what, &counters, counter.of(a, priority), limits);
    }
    Ok(())
}
