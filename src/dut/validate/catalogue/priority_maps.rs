//! The maps from marks of frames, DSCP and PCP, to priorities.

use super::storm;
use crate::bench::TrialError;
use crate::judge::Limits;
use crate::setup::Marking;
use crate::test::{Context, Test};
use crate::trial::{Flow, FlowId, Limit, Mark, Rate, Trial, Version};
use ground::units::{Pcp, Priority, PrioritySet, Vid};

pub(super) const MAPPED_VALUES: Test = describe! {
    id: "V-S06",
    title: "DSCP and PCP are mapped to priorities",
    purpose: "Each value of the DSCP and of the PCP is in the class of its priority: a pause of a lossless \
              priority stops the values that are mapped to it, and no other.",
    clause: "802.1Q 6.9.3; RFC 2474; SAI_QOS_MAP_TYPE_DSCP_TO_TC, DOT1P_TO_TC",
    procedure: "Flows from A to B, one for each DSCP of `expected.dscp_map`, of IPv4 and then of IPv6, and \
                tagged ones for each PCP of `expected.pcp_map`. B pauses one lossless priority at level quick, \
                each at level full.",
    pass: "Each flow whose value is mapped to the paused priority stops, and every other one goes on. Values \
           of two priorities without PFC cannot be told apart.",
    source: "SAI DscpMappingPB, Dot1pToPGMapping",
    run: mapped_values,
    aliases: &["DscpMappingPB", "Dot1pToPG"],
};

/// Frames of each flow without a stimulus.
const REST_FRAMES: u64 = 64;

fn mapped_values(cx: &mut Context<'_>) -> Result<(), TrialError> {
    cx.lossless()?;
    cx.ports::<2>()?;
    let dscp = cx.setup.expected.dscp_map.clone();
    let dscp: Option<Vec<_>> =
        dscp.map(|map| map.into_iter().map(|(d, p)| (Mark::Dscp(d), p)).collect());
    let pcp = tagged_marks(cx);
    let (no_map, no_vlan) = ("expected.dscp_map is missing", "expected.vlan is missing");
    let named = [
        ("DSCP", Version::V4, dscp.clone(), no_map),
        ("DSCP of IPv6", Version::V6, dscp, no_map),
        ("PCP", Version::V4, pcp, no_vlan),
    ];
    // A field without a map is skipped; without any map there is no test.
    if named.iter().all(|(_, _, map, _)| map.is_none()) {
        let what = "expected.dscp_map is missing, and expected.vlan; add one to the file";
        return Err(TrialError::Missing(what.to_owned()));
    }
    for (field, version, map, missing) in named {
        let Some(map) = map else {
            cx.skip(format!("values of the {field}"), &format!("{missing}; add it to the file"));
            continue;
        };
        for priority in cx.each_lossless() {
            judge_field(cx, field, version, &map, priority)?;
        }
    }
    Ok(())
}

/// Returns the marks of tagged frames.
fn tagged_marks(cx: &Context<'_>) -> Option<Vec<(Mark, Priority)>> {
    let vid: Vid = match &cx.setup.marking {
        Marking::Pcp(_, vid) => *vid,
        Marking::Dscp(_) => cx.setup.expected.vlan?,
    };
    let same = || Priority::ALL.map(|p| (Pcp::new(p.get()).expect("both are 0 to 7"), p)).into();
    let map: Vec<_> = cx.setup.expected.pcp_map.clone().unwrap_or_else(same);
    Some(map.into_iter().map(|(pcp, p)| (Mark::Pcp(pcp, vid), p)).collect())
}

/// Pauses a priority while all values are sent.
fn judge_field(
    cx: &mut Context<'_>,
    field: &str,
    version: Version,
    map: &[(Mark, Priority)],
    priority: Priority,
) -> Result<(), TrialError> {
    let [a, b] = cx.ports()?;
    let times = cx.setup.times;
    let share = cx.setup.load / map.len() as f64;
    // At rest each flow has frames, however many of them share the line.
    let each = cx.setup.line_time(storm::SIZE).saturating_mul(REST_FRAMES * map.len() as u64);
    let start = times.baseline.max(each);
    let length = times.hold.min(cx.setup.storm_max());
    let traffic = start + length + times.settle;
    let name = format!("{field} values, priority {priority} is paused");
    let mut trial = Trial::new(name, traffic + times.drain);
    for (mark, mapped) in map {
        let flow = Flow::new((a, b), *mapped, Limit::Time(traffic)).rate(Rate::Line(share));
        trial.flow(flow.mark(*mark).version(version));
    }
    storm::add(cx, &mut trial, b, PrioritySet::of(priority), &(start..start + length));
    let observed = cx.observe(&trial)?;
    cx.at_rest(&observed, &trial, &(start.div(4)..start))?;
    let held = storm::held_for(cx, &observed, b, length)?;
    // Frames within the uncertainty of an end are on neither side of it.
    let span = held.start + observed.uncertainty..held.end.saturating_sub(observed.uncertainty);
    let stopped = |n: usize| observed.began_in(FlowId(n), &span) == 0;
    let (mut missed, mut wrong) = (Vec::new(), Vec::new());
    for (n, (mark, mapped)) in map.iter().enumerate() {
        // A flow that stops though its priority is not paused has another priority than the map says.
        match (*mapped == priority, stopped(n)) {
            (true, false) => missed.push(number(*mark)),
            (false, true) => wrong.push(number(*mark)),
            (true, true) | (false, false) => {}
        }
    }
    let kinds = [
        (format!("{field} values of priority {priority} that its pause does not stop"), missed),
        (format!("{field} values of other priorities that a pause of {priority} stops"), wrong),
    ];
    for (what, values) in kinds {
        let what = if values.is_empty() { what } else { format!("{what} ({})", values.join(", ")) };
        cx.judge(what, values.len() as f64, Limits::exactly(0.0), 0.0, "values");
    }
    Ok(())
}

fn number(mark: Mark) -> String {
    match mark {
        Mark::Dscp(dscp) => dscp.get().to_string(),
        Mark::Pcp(pcp, _) => pcp.get().to_string(),
    }
}
