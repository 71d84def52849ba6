//! Resolves priority groups and limits on the shared pool: converts sizes to cells, compares headroom with the
//! round trip, and checks that everything fits into the buffer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cx::by_number;
use super::{Cx, Draft, Place};
use crate::plan::HeadroomCheck;
use crate::quantity::{Size, octets};
use crate::raw::{self, Xoff};
use crate::unknown_name;
use buffer::{Alpha, BufferPlan, GroupKind, GroupPlan, Ledger, SharedLimit};
use ground::named;
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup, PrioritySet};
use headroom::required;

/// Smallest cell of a switch with real ports. The shortest frame, 64 bytes, then takes at least one
/// cell, so that the mbuf pool cannot run out before the buffer.
pub const CELL_MIN: u64 = 64;
const CELL_MAX: u64 = 16_384;
const CELL_DEFAULT: u64 = 256;
/// Largest buffer in bytes.
const TOTAL_MAX: u64 = 4 << 30;
/// Default size of the shared pool in bytes, if the file has no buffer size.
const SHARED_DEFAULT: u64 = 4 << 20;

named! {
    /// Action if the headroom is too small.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum HeadroomRule {
        /// Refuse the file.
        #[default]
        Refuse = "refuse",
        /// Report a warning.
        Warn = "warn",
        /// No check. (YAML 1.1 reads `off` as a boolean.)
        #[serde(alias = "false")]
        Off = "off",
    }
}

/// Parameters that apply to the whole buffer.
#[derive(Clone, Copy)]
pub struct Rules {
    /// Longest frame in bytes.
    pub max_frame: u32,
    /// Bytes per cell.
    pub cell: u32,
    /// Number of workers; each learns of the others' buffer use one poll late.
    pub workers: usize,
    /// Largest number of frames that a worker charges in one poll, copies of flooded frames
    /// included.
    pub frames_per_poll: usize,
    pub headroom: HeadroomRule,
    /// True if the file has a `headroom_check`, which the error then mentions.
    pub waivable: bool,
}

/// Resolves the cell size in bytes.
pub fn cell(cx: &mut Cx, place: &Place<'_>, raw: &raw::Buffer, min: u64) -> u32 {
    let cell = raw.cell.map_or(CELL_DEFAULT, |s| s.0);
    cx.ranged(&place.key("cell"), cell, (min, CELL_MAX), CELL_DEFAULT) as u32
}

/// Priorities in each group of a port for which the port sends PFC or PAUSE.
pub fn protected(draft: &Draft<'_>) -> [PrioritySet; PRIORITIES] {
    let mut groups = [PrioritySet::EMPTY; PRIORITIES];
    for p in draft.plan.pfc.mode.sends().iter() {
        groups[draft.plan.classify.group[p.index()].index()].insert(p);
    }
    groups
}

/// Another profile for a group at run time.
#[derive(Clone, Copy, Debug)]
pub struct ProfileChange<'a> {
    /// The section with the profiles.
    pub buffer: &'a raw::Buffer,
    /// Name of the profile.
    pub name: &'a str,
    /// The current plan of the group.
    pub was: GroupPlan,
}

/// Resolves a group that is assigned another profile. Headroom that is `auto` keeps its current value.
pub fn group_plan(
    cx: &mut Cx,
    place: &Place<'_>,
    change: ProfileChange<'_>,
    max_frame: u32,
    cell: u32,
) -> Option<GroupPlan> {
    let ProfileChange { buffer, name, was } = change;
    let profiles = Profiles::new(place.clone(), &buffer.profiles);
    let Some(profile) = profiles.get(name) else {
        cx.error(place, unknown_name("buffer profile", name, &profiles.names()));
        return None;
    };
    let mut plan = group(profile, max_frame, cell);
    let auto = profile.lossless.as_ref().is_some_and(|l| l.xoff == Xoff::Auto);
    if let (GroupKind::Lossless { headroom, .. }, GroupKind::Lossless { headroom: old, .. }) =
        (&mut plan.kind, was.kind)
    {
        if auto {
            // Found by measurement or calculated for this port's link, and right for any profile.
            *headroom = old;
        }
    }
    Some(plan)
}

/// Settings of profiles that do not depend on the port.
struct Profiles<'a> {
    place: Place<'a>,
    raw: &'a BTreeMap<String, raw::Profile>,
    lossless: raw::Profile,
    lossy: raw::Profile,
}

const LOSSLESS: &str = "lossless";
const LOSSY: &str = "lossy";

impl<'a> Profiles<'a> {
    fn new(place: Place<'a>, raw: &'a BTreeMap<String, raw::Profile>) -> Self {
        let lossless = Some(raw::Lossless::default());
        Profiles {
            place,
            raw,
            lossless: raw::Profile { lossless, ..Default::default() },
            lossy: raw::Profile::default(),
        }
    }

    fn get(&self, name: &str) -> Option<&raw::Profile> {
        self.raw.get(name).or(match name {
            LOSSLESS => Some(&self.lossless),
            LOSSY => Some(&self.lossy),
            _ => None,
        })
    }

    fn names(&self) -> Vec<&str> {
        let built_in = [LOSSLESS, LOSSY].into_iter().filter(|n| !self.raw.contains_key(*n));
        self.raw.keys().map(String::as_str).chain(built_in).collect()
    }
}

/// Resolves the buffer of the whole switch, and the required and configured headroom of each
/// lossless group.
pub fn buffer(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &raw::Buffer,
    drafts: &[Draft<'_>],
    rules: Rules,
) -> (BufferPlan, Vec<HeadroomCheck>) {
    let place = place.key("buffer");
    let (max_frame, cell) = (rules.max_frame, rules.cell);
    let profiles = Profiles::new(place.key("profiles"), &raw.profiles);
    check_profiles(cx, &profiles, max_frame, cell);
    let mut plan =
        BufferPlan { cell_bytes: cell, total: Cells(0), groups: Vec::new(), slack: Cells(0) };
    let mut checks = Vec::new();
    for (draft, port) in drafts.iter().zip((0..).map_while(PortId::new)) {
        let (groups, of_port) = port_groups(cx, draft, port, &profiles, rules);
        plan.groups.push(groups);
        checks.extend(of_port);
    }
    let frame = u64::from(plan.cells_for(max_frame).0);
    // Each other worker may have charged a poll of the longest frames that this one does not know of yet.
    let slack = rules.workers.saturating_sub(1) as u64 * rules.frames_per_poll as u64 * frame;
    plan.slack = Cells(u32::try_from(slack).unwrap_or(u32::MAX));
    total(cx, &place, raw, &mut plan, frame);
    check_xon(cx, &profiles, &plan);
    (plan, checks)
}

/// Resolves the groups of one port, and the headroom of its lossless groups.
fn port_groups(
    cx: &mut Cx,
    draft: &Draft<'_>,
    port: PortId,
    profiles: &Profiles<'_>,
    rules: Rules,
) -> ([GroupPlan; PRIORITIES], Vec<HeadroomCheck>) {
    let (max_frame, cell) = (rules.max_frame, rules.cell);
    let place = draft.place.key("priority_groups");
    let raw = by_number(cx, &place, &draft.raw.priority_groups, 7);
    let protected = protected(draft);
    // Equal for all groups of a port, and expensive to calculate with long frames.
    let mut needs = None;
    let mut checks = Vec::new();
    let groups = std::array::from_fn(|g| {
        // Groups for which the port sends pauses are lossless unless the file says otherwise.
        let default = if protected[g].is_empty() { LOSSY } else { LOSSLESS };
        let (here, name) = match raw.get(&(g as u16)) {
            Some((range, name)) => (place.key(&range.to_string()), name.as_str()),
            None => (place.clone(), default),
        };
        let profile = profiles.get(name).unwrap_or_else(|| {
            cx.error(&here, unknown_name("buffer profile", name, &profiles.names()));
            &profiles.lossy
        });
        let mut plan = group(profile, max_frame, cell);
        if let (GroupKind::Lossless { headroom, .. }, Some(lossless)) =
            (&mut plan.kind, &profile.lossless)
        {
            let (link, software) = &draft.link;
            let needs = needs.get_or_insert_with(|| Arc::new(required(link, software, cell)));
            let needs = Arc::clone(needs);
            match lossless.xoff {
                Xoff::Auto => *headroom = needs.cells,
                // A measurement would overwrite the size when the link comes up.
                Xoff::Size(_) if draft.finds_headroom() => {
                    let what = format!(
                        "port {} finds the headroom of group {g} by itself (`headroom: auto`), so \
                         no size can stand here: write `xoff: auto`, or `headroom: computed` there",
                        draft.plan.name
                    );
                    cx.error(&profiles.place.key(name).key("lossless").key("xoff"), what);
                }
                Xoff::Size(_) if *headroom < needs.cells => {
                    let place = profiles.place.key(name).key("lossless").key("xoff");
                    let what = || too_little(draft, g, *headroom, &needs, rules);
                    match rules.headroom {
                        HeadroomRule::Refuse => cx.error(&place, what()),
                        HeadroomRule::Warn => cx.warn(&place, what()),
                        HeadroomRule::Off => {}
                    }
                }
                Xoff::Size(_) => {}
            }
            let (group, given) = (PriorityGroup::ALL[g], *headroom);
            let (link, software) = (*link, *software);
            let poll_gap = software.poll_gap;
            let required = needs;
            checks.push(HeadroomCheck { port, group, required, link, software, given, poll_gap });
        }
        plan
    });
    (groups, checks)
}

fn too_little(
    draft: &Draft<'_>,
    group: usize,
    has: Cells,
    needs: &headroom::Required,
    rules: Rules,
) -> String {
    let cell = rules.cell;
    let bytes = |c: Cells| u64::from(c.0) * u64::from(cell);
    // Labs can measure the loss instead; switch files cannot.
    let waive =
        if rules.waivable { ", or `headroom_check: warn` (or `off`) to see the loss" } else { "" };
    format!(
        "port {} group {group} would lose frames: it has {} ({} cells) of headroom, and {} ({} \
         cells of {cell} B) can arrive after XOFF: {}; raise xoff to {} or write `xoff: auto`{waive}",
        draft.plan.name,
        octets(bytes(has)),
        has.0,
        octets(bytes(needs.cells)),
        needs.cells.0,
        needs.sum,
        bytes(needs.cells),
    )
}

/// Converts a profile to cells; `check_profiles` reports errors of its limit. Headroom that is
/// `auto` is still 0.
fn group(profile: &raw::Profile, max_frame: u32, cell: u32) -> GroupPlan {
    let below = |s: super::Size| cells_below(s.0, cell);
    // Limits are rounded down and what has to have room is rounded up, so that the plan holds what it says.
    let reserved = cells_above(profile.reserved.map_or(0, |s| s.0), cell);
    let limit = shared(&mut Cx::default(), &Place::nowhere(), profile.shared.as_ref(), below);
    let limit = limit.unwrap_or_else(half_of_the_pool);
    let kind = match &profile.lossless {
        None => GroupKind::Lossy,
        Some(l) => {
            let two_frames = 2 * max_frame.div_ceil(cell);
            GroupKind::Lossless {
                headroom: match l.xoff {
                    Xoff::Auto => Cells(0),
                    Xoff::Size(size) => cells_above(size.0, cell),
                },
                xon: l.xon.map_or(Cells(0), below),
                // Less than a frame would let XOFF and XON alternate frame by frame.
                xon_offset: l.xon_offset.map_or(Cells(two_frames), below),
            }
        }
    };
    GroupPlan { reserved, limit, kind }
}

/// `dynamic_th: 0`, alpha 1: a group may use as much as is still free.
fn half_of_the_pool() -> SharedLimit {
    SharedLimit::Dynamic(Alpha::new(0).expect("0 is in range"))
}

/// Reports errors of profiles that do not depend on the port.
fn check_profiles(cx: &mut Cx, profiles: &Profiles<'_>, max_frame: u32, cell: u32) {
    let frame = max_frame.div_ceil(cell);
    for (name, profile) in profiles.raw {
        let place = profiles.place.key(name);
        let below = |s: super::Size| cells_below(s.0, cell);
        let limit = shared(cx, &place.key("shared"), profile.shared.as_ref(), below);
        let reserved = cells_above(profile.reserved.map_or(0, |s| s.0), cell);
        if let Some(SharedLimit::Static(Cells(limit))) = limit {
            // A lossless group has headroom for the frame above its limit.
            if limit + reserved.0 < frame && profile.lossless.is_none() {
                let what = format!(
                    "{limit} cells of {cell} B and {} reserved never hold a frame of {max_frame} B, \
                     which takes {frame}: make it at least {}",
                    reserved.0,
                    u64::from(frame) * u64::from(cell)
                );
                cx.error(&place.key("shared").key("static_th"), what);
            }
        }
        let (Some(xon), Some(SharedLimit::Static(limit))) =
            (profile.lossless.as_ref().and_then(|l| l.xon), limit)
        else {
            continue;
        };
        if below(xon) > limit {
            let what = format!(
                "xon ({}) is above static_th ({}), where XOFF is sent; choose less",
                octets(xon.0),
                octets(u64::from(limit.0) * u64::from(cell))
            );
            cx.error(&place.key("lossless").key("xon"), what);
        }
    }
}

/// Reports an XON threshold above the largest use of the pool that a group can reach before XOFF.
fn check_xon(cx: &mut Cx, profiles: &Profiles<'_>, plan: &BufferPlan) {
    let (private, slack) = private(plan);
    // A buffer that is too small was reported with its size.
    let Some(pool) = u64::from(plan.total.0).checked_sub(private + slack) else { return };
    let cell = u64::from(plan.cell_bytes);
    for (name, profile) in profiles.raw {
        let Some(xon) = profile.lossless.as_ref().and_then(|l| l.xon) else { continue };
        // The frame length does not matter here: it is in the default of `xon_offset` alone.
        let most = match group(profile, 0, plan.cell_bytes).limit {
            // With alpha, a group alone in the pool stops at alpha / (1 + alpha) of it.
            SharedLimit::Dynamic(alpha) => {
                let n = f64::from(alpha.exponent()).exp2();
                (pool as f64 * n / (1.0 + n)) as u64
            }
            SharedLimit::Unlimited => pool,
            SharedLimit::Static(_) => continue,
        };
        if xon.0 / cell > most {
            let what = format!(
                "xon ({}) is above the most that a group can use before XOFF ({} of a pool of \
                 {}); choose less",
                octets(xon.0),
                octets(most * cell),
                octets(pool * cell)
            );
            cx.error(&profiles.place.key(name).key("lossless").key("xon"), what);
        }
    }
}

/// Cells that are not shared: reserved and headroom, and the slack.
fn private(plan: &BufferPlan) -> (u64, u64) {
    let private = plan.groups.iter().flatten().map(|g| {
        let headroom = match g.kind {
            GroupKind::Lossless { headroom, .. } => headroom.0,
            GroupKind::Lossy => 0,
        };
        u64::from(g.reserved.0) + u64::from(headroom)
    });
    (private.sum(), u64::from(plan.slack.0))
}

/// Sets the buffer's size and checks that the private cells, the slack and a frame of `frame` cells fit into it.
fn total(cx: &mut Cx, place: &Place<'_>, raw: &raw::Buffer, plan: &mut BufferPlan, frame: u64) {
    let cell = u64::from(plan.cell_bytes);
    let (private, slack) = private(plan);
    let needs = private + slack;
    // The default grows with headroom and reserved space, so that as much as ever is left to share.
    let total = raw.total.map_or((needs * cell).saturating_add(SHARED_DEFAULT), |s| s.0);
    let place = place.key("total");
    let mut sums = format!(
        "headroom and reserved space of all groups take {} ({private} cells of {cell} B)",
        octets(private * cell),
    );
    if slack > 0 {
        sums += &format!(
            ", and {} ({slack} cells) is kept free for frames that other workers have charged and \
             not reported yet",
            octets(slack * cell)
        );
    }
    if total > TOTAL_MAX {
        let (total, most) = (octets(total), octets(TOTAL_MAX));
        let what = if raw.total.is_some() {
            format!("a buffer of {total} is more than a switch can have; choose up to {most}")
        } else {
            format!(
                "this takes a buffer of {total}, more than {most}: {sums}; shorten links, rings or \
                 poll_gap, or have fewer lossless priorities"
            )
        };
        return cx.error(&place, what);
    }
    plan.total = cells_below(total, plan.cell_bytes);
    // A pool that holds no frame stops every group without reserved space for good.
    if u64::from(plan.total.0) < needs + frame {
        let what = format!(
            "a buffer of {} ({} cells) cannot be lossless: {sums}, and at least one frame \
             ({frame} cells) must be left to share; raise it to {} or more, or leave it out",
            octets(total),
            plan.total.0,
            (needs + frame) * cell
        );
        return cx.error(&place, what);
    }
    // The ledger checks the plan again; errors above were reported with their fields.
    if let (true, Err(e)) = (cx.errors.is_empty(), Ledger::new(plan)) {
        cx.error(&place, e.to_string());
    }
}

/// Converts bytes to whole cells, rounded down, at most `u32::MAX`.
pub fn cells_below(size: u64, cell: u32) -> Cells {
    Cells(u32::try_from(size / u64::from(cell)).unwrap_or(u32::MAX))
}

/// Converts bytes to whole cells, rounded up, at most `u32::MAX`.
fn cells_above(size: u64, cell: u32) -> Cells {
    Cells(u32::try_from(size.div_ceil(u64::from(cell))).unwrap_or(u32::MAX))
}

/// Resolves a limit on the shared pool, in cells; None if it is absent or invalid.
pub fn shared(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&raw::Shared>,
    cells: impl Fn(Size) -> Cells,
) -> Option<SharedLimit> {
    let raw = raw?;
    match (raw.dynamic_th, raw.static_th, raw.unlimited) {
        (Some(n), None, None) => {
            let alpha = Alpha::new(n);
            if alpha.is_none() {
                let what = format!("{n} is out of range; alpha is 2^n with n from -8 to 8");
                cx.error(&place.key("dynamic_th"), what);
            }
            alpha.map(SharedLimit::Dynamic)
        }
        (None, Some(size), None) => Some(SharedLimit::Static(cells(size))),
        (None, None, Some(true)) => Some(SharedLimit::Unlimited),
        _ => {
            let what = "needs exactly one of `dynamic_th: n`, `static_th: size` and \
                        `unlimited: true`";
            cx.error(place, what);
            None
        }
    }
}
