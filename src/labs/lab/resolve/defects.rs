//! Resolves defects: the ports that have them, the defect of each kind, and the parameters that it takes.

use super::faults::Context;
use crate::raw::{DefectFault, DefectKind, DefectKind as Kind};
use config::{Cx, Place};
use ground::time::Duration;
use ground::units::{PortId, Priority, PrioritySet, Quanta};
use sim::defect::Defect::{
    Forwarding as F, Holding as H, Obeying as O, Securing as M, Sending as S, Storing as B,
    Telling as T,
};
use sim::defect::{
    Defect, Forwarding, Holding, Obeying, Part, Securing, Sending, Storing, Telling,
};
use sim::{End, FaultKind, NodeId};

/// Most frames of a parameter.
const FRAMES_MAX: u32 = 1_000_000;

/// Returns the names of the parameters that a kind of defect takes.
pub(crate) fn parameters(kind: DefectKind) -> &'static [&'static str] {
    Takes::of(kind).names()
}

/// Returns the names of the parameters that a kind of defect takes at a port with 802.3x PAUSE. `None` if the
/// kind is about PFC alone.
pub(crate) fn parameters_with_pause(kind: DefectKind) -> Option<Vec<&'static str>> {
    let takes = Takes::of(kind);
    let fits = |name: &&str| *name != "priorities" || !takes.is_of_pauses();
    (!needs_pfc(kind)).then(|| takes.names().iter().copied().filter(fits).collect())
}

/// Resolves a defect at each port that has it.
pub(super) fn defect(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &DefectFault,
    context: &Context<'_, '_>,
    mut push: impl FnMut(FaultKind),
) {
    let ports = ports(cx, place, raw, context);
    let ports = ports.and_then(|(node, ports)| {
        let is_link_wide = |port| context.is_link_wide(node, port);
        Some((node, with_flow_control(cx, place, raw, ports, is_link_wide)?))
    });
    // Parameters are validated even if no port was found, so that all errors of the entry are reported at once.
    let made = Parameters { cx, place, raw }.defect();
    let (Some((node, ports)), Some(defect)) = (ports, made) else { return };
    for port in ports.into_iter().filter_map(|port| PortId::new(port as u16)) {
        push(FaultKind::Defect { end: End { node: NodeId(node as u32), port }, defect });
    }
}

/// Returns the node and those of its ports that have the defect.
fn ports(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &DefectFault,
    context: &Context<'_, '_>,
) -> Option<(usize, Vec<usize>)> {
    let node = context.graph.find(cx, &place.key("on"), &raw.on)?;
    let count = context.graph.nodes[node].ports.len();
    let Some(name) = &raw.port else { return Some((node, (0..count).collect())) };
    let mut ports = context.graph.ports_to(node, name);
    // A name has precedence over a number: nodes may be called `1`.
    let number = name.parse::<usize>().ok().filter(|n| *n < count);
    if ports.is_empty() {
        ports.extend(number);
    }
    if ports.is_empty() {
        let what = format!(
            "`{}` has no port `{name}`; name the node at its other end or its link, or give its \
             number, 0 to {}",
            raw.on,
            count.saturating_sub(1)
        );
        cx.error(&place.key("port"), what);
        return None;
    }
    Some((node, ports))
}

/// Returns those of the ports where the defect acts. One about priorities does not act on PAUSE, which names
/// none.
fn with_flow_control(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &DefectFault,
    mut ports: Vec<usize>,
    is_link_wide: impl Fn(usize) -> bool,
) -> Option<Vec<usize>> {
    let with_pause = parameters_with_pause(raw.kind);
    let field = match &with_pause {
        None => "kind",
        Some(names) if raw.priorities.is_some() && !names.contains(&"priorities") => "priorities",
        Some(_) => return Some(ports),
    };
    // On a switch with both kinds of ports the defect acts at those with PFC; it is an error only if none is left.
    ports.retain(|port| !is_link_wide(*port));
    if ports.is_empty() {
        let on = &raw.on;
        let what = match field {
            "kind" => format!(
                "is about priorities, and `{on}` has 802.3x PAUSE there, which names none; take \
                 another kind, or PFC"
            ),
            _ => format!("802.3x PAUSE of `{on}` stops all priorities; leave this out"),
        };
        cx.error(&place.key(field), what);
        return None;
    }
    Some(ports)
}

/// The parameters of a defect in the file.
struct Parameters<'c, 'p, 's> {
    cx: &'c mut Cx,
    place: &'c Place<'p>,
    raw: &'s DefectFault,
}

impl Parameters<'_, '_, '_> {
    /// Returns the defect; `None` after an error.
    fn defect(&mut self) -> Option<Defect> {
        let takes = Takes::of(self.raw.kind);
        self.refuse_others(takes.names());
        Some(match takes {
            Takes::Nothing(defect) => defect,
            Takes::Every(make) => make(self.number("every", self.raw.every, "10")?),
            Takes::Frames(make) => make(self.number("frames", self.raw.frames, "4")?),
            Takes::Cells(make) => {
                let cells = self.number("cells", self.raw.cells, "1")?;
                make(cells, self.priorities(PrioritySet::ALL)?)
            }
            Takes::Ratio(make) => make(self.ratio()?),
            Takes::NamedRatio(make) => make(self.named()?, self.ratio()?),
            Takes::Most(make) => make(self.most()?),
            Takes::After(make) => make(self.after()?),
            Takes::Priorities(make) => make(self.priorities(PrioritySet::ALL)?),
            Takes::Named(make) => make(self.named()?),
            Takes::NamedAfter(make) => make(self.named()?, self.after()?),
            Takes::Quanta(make) => make(self.quanta()?, self.priorities(PrioritySet::ALL)?),
            Takes::Unasked(make) => {
                let every = self.number("every", self.raw.every, "10")?;
                make(every, self.priorities(PrioritySet::ALL)?, self.quanta()?)
            }
        })
    }

    fn needs<T>(&mut self, name: &str, value: Option<T>, example: &str) -> Option<T> {
        if value.is_none() {
            let what = format!("is needed by this kind of defect; write `{name}: {example}`");
            self.cx.error(&self.place.key(name), what);
        }
        value
    }

    fn number(&mut self, name: &str, raw: Option<u32>, example: &str) -> Option<u32> {
        let number = self.needs(name, raw, example)?;
        Some(self.cx.ranged(&self.place.key(name), number, (1, FRAMES_MAX), 1))
    }

    fn most(&mut self) -> Option<u8> {
        let most = self.needs("most", self.raw.most, "1")?;
        Some(self.cx.ranged(&self.place.key("most"), most, (0, 7), 1))
    }

    fn quanta(&mut self) -> Option<Quanta> {
        self.needs("quanta", self.raw.quanta, "20").map(Quanta)
    }

    fn after(&mut self) -> Option<Duration> {
        let after = self.needs("after", self.raw.after, "200us")?.0;
        if after == Duration::ZERO {
            self.cx.error(&self.place.key("after"), "must be above zero");
            return None;
        }
        Some(after)
    }

    fn named(&mut self) -> Option<PrioritySet> {
        self.needs("priorities", self.raw.priorities.as_ref(), "[4]")?;
        self.priorities(PrioritySet::EMPTY)
    }

    /// Returns the priorities, or `all` if none are given.
    fn priorities(&mut self, all: PrioritySet) -> Option<PrioritySet> {
        let Some(raw) = &self.raw.priorities else { return Some(all) };
        let mut set = PrioritySet::EMPTY;
        for (i, n) in raw.iter().enumerate() {
            let Some(priority) = Priority::new(*n) else {
                let place = self.place.key("priorities").index(i);
                self.cx.error(&place, format!("there is no priority {n}; 0 to 7"));
                return None;
            };
            set.insert(priority);
        }
        Some(set)
    }

    fn ratio(&mut self) -> Option<(u16, u16)> {
        let text = self.needs("ratio", self.raw.ratio.as_deref(), "1/8")?;
        let number = |text: &str| text.trim().parse::<u16>().ok().filter(|n| *n > 0);
        let ratio = match text.split_once('/') {
            Some((numerator, denominator)) => number(numerator).zip(number(denominator)),
            None => number(text).map(|numerator| (numerator, 1)),
        };
        if ratio.is_none() {
            let what = format!("`{text}` is no ratio; write two numbers, 1 to 65535, as in `1/8`");
            self.cx.error(&self.place.key("ratio"), what);
        }
        ratio
    }

    /// Refuses parameters that the kind does not take.
    fn refuse_others(&mut self, names: &[&str]) {
        let raw = self.raw;
        let all = [
            ("priorities", raw.priorities.is_some()),
            ("quanta", raw.quanta.is_some()),
            ("ratio", raw.ratio.is_some()),
            ("every", raw.every.is_some()),
            ("frames", raw.frames.is_some()),
            ("cells", raw.cells.is_some()),
            ("most", raw.most.is_some()),
            ("after", raw.after.is_some()),
        ];
        for (name, is_given) in all {
            if is_given && !names.contains(&name) {
                let what = "has no effect on this kind of defect; remove it";
                self.cx.error(&self.place.key(name), what);
            }
        }
    }
}

/// True for a kind that is about single priorities, or about the form of PFC: 802.3x PAUSE names no
/// priority.
const fn needs_pfc(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ResumesNotEnabled
            | Kind::IgnoresVector
            | Kind::MirrorsVector
            | Kind::ReadsHighOctet
            | Kind::ObeysForAll
            | Kind::ObeysNextPriority
            | Kind::ObeysFew
            | Kind::ObeysUnknownOpcodes
            | Kind::ObeysTruncated
            | Kind::ObeysPause
            | Kind::ResumesAll
            | Kind::ObeysLossy
            | Kind::DropsOthers
            | Kind::PausesNextPriority
            | Kind::ResumesNextPriority
            | Kind::NamesChangesOnly
            | Kind::PausesFew
            | Kind::PausesAlso
    )
}

/// The parameters of a kind, and the defect that they give.
enum Takes {
    Nothing(Defect),
    Every(fn(u32) -> Defect),
    Frames(fn(u32) -> Defect),
    Cells(fn(u32, PrioritySet) -> Defect),
    Ratio(fn((u16, u16)) -> Defect),
    NamedRatio(fn(PrioritySet, (u16, u16)) -> Defect),
    Most(fn(u8) -> Defect),
    After(fn(Duration) -> Defect),
    /// Priorities, by default all.
    Priorities(fn(PrioritySet) -> Defect),
    /// Priorities that have to be given.
    Named(fn(PrioritySet) -> Defect),
    NamedAfter(fn(PrioritySet, Duration) -> Defect),
    Quanta(fn(Quanta, PrioritySet) -> Defect),
    Unasked(fn(u32, PrioritySet, Quanta) -> Defect),
}

impl Takes {
    /// Returns the names of the parameters.
    const fn names(&self) -> &'static [&'static str] {
        match self {
            Self::Nothing(_) => &[],
            Self::Every(_) => &["every"],
            Self::Frames(_) => &["frames"],
            Self::Cells(_) => &["cells", "priorities"],
            Self::Ratio(_) => &["ratio"],
            Self::NamedRatio(_) => &["priorities", "ratio"],
            Self::Most(_) => &["most"],
            Self::After(_) => &["after"],
            Self::Priorities(_) | Self::Named(_) => &["priorities"],
            Self::NamedAfter(_) => &["priorities", "after"],
            Self::Quanta(_) => &["quanta", "priorities"],
            Self::Unasked(_) => &["every", "priorities", "quanta"],
        }
    }

    /// True if the priorities are those of pauses.
    const fn is_of_pauses(&self) -> bool {
        matches!(self, Self::Priorities(_) | Self::Quanta(_) | Self::Unasked(_))
    }

    // One table for all kinds, longer than a function should be: the compiler finds the kind without a row.
    #[rustfmt::skip]
    fn of(kind: Kind) -> Self {
        // A letter is a part of the device, as imported at the head of this file.
        use Takes::*;
        match kind {
            Kind::IgnoresPfc => Priorities(|priorities| O(Obeying::Ignores { priorities })),
            Kind::IgnoresPfcAfterFlap => Nothing(O(Obeying::IgnoresAfterFlap)),
            Kind::ObeysLate => Quanta(|by, priorities| O(Obeying::Late { by, priorities })),
            Kind::ScaledTimes => Ratio(|(numerator, denominator)| O(Obeying::ScaledTimes { numerator, denominator })),
            Kind::NeverExpires => Nothing(O(Obeying::NeverExpires)),
            Kind::AddsTimes => Nothing(O(Obeying::AddsTimes)),
            Kind::KeepsFirstTime => Nothing(O(Obeying::KeepsFirst)),
            Kind::KeepsLongestTime => Nothing(O(Obeying::KeepsLongest)),
            Kind::IgnoresZeroTime => Nothing(O(Obeying::IgnoresZeroTime)),
            Kind::ResumesNotEnabled => Nothing(O(Obeying::ResumesNotEnabled)),
            Kind::IgnoresVector => Nothing(O(Obeying::IgnoresVector)),
            Kind::MirrorsVector => Nothing(O(Obeying::MirrorsVector)),
            Kind::ReadsHighOctet => Nothing(O(Obeying::ReadsHighOctet)),
            Kind::ObeysForAll => Nothing(O(Obeying::AllPriorities)),
            Kind::ObeysNextPriority => Nothing(O(Obeying::NextPriority)),
            Kind::ObeysFew => Most(|most| O(Obeying::Few { most })),
            Kind::ObeysUnknownOpcodes => Nothing(O(Obeying::UnknownOpcodes)),
            Kind::ObeysTruncated => Nothing(O(Obeying::Truncated)),
            Kind::ObeysPause => Nothing(O(Obeying::Pause)),
            Kind::IgnoresZeroSource => Nothing(O(Obeying::IgnoresZeroSource)),
            Kind::ForwardsMacControl => Nothing(O(Obeying::ForwardsControl)),
            Kind::StuckAfterFlap => Nothing(O(Obeying::StuckAfterFlap)),
            Kind::IgnoresShortTimes => Quanta(|below, priorities| O(Obeying::IgnoresShort { below, priorities })),
            Kind::ResumesAll => Nothing(O(Obeying::ResumesAll)),
            Kind::ResumesOtherPorts => Nothing(O(Obeying::ResumesOtherPorts)),
            Kind::TakesZeroForOne => Nothing(O(Obeying::ZeroIsOne)),
            Kind::ObeysLossy => Named(|priorities| H(Holding::ObeysAlso { priorities })),
            Kind::DropsWhilePaused => Priorities(|priorities| H(Holding::Drops { priorities })),
            Kind::ReleasesAfterFlap => Frames(|frames| H(Holding::ReleasesAfterFlap { frames })),
            Kind::ReordersAfterPause => Nothing(H(Holding::Reorders)),
            Kind::NoPfcWhilePaused => Nothing(H(Holding::PausesWait)),
            Kind::DropsOthers => NamedAfter(|priorities, after| H(Holding::DropsOthers { priorities, after })),
            Kind::DropsByTurns => After(|period| H(Holding::DropsByTurns { period })),
            Kind::WatchesEmpty => After(|after| H(Holding::WatchesEmpty { after })),
            Kind::PausesUpstream => After(|after| H(Holding::PausesUpstream { after })),
            Kind::NeverPauses => Priorities(|priorities| S(Sending::NeverPauses { priorities })),
            Kind::LosesResumptions => Every(|every| S(Sending::LosesResumptions { every })),
            Kind::RefreshesLate => Every(|every| S(Sending::RefreshesLate { every })),
            Kind::NeverRefreshes => Nothing(S(Sending::NeverRefreshes)),
            Kind::PausesBehindData => Frames(|frames| S(Sending::BehindData { frames })),
            Kind::PausesNextPriority => Nothing(S(Sending::NextPriority)),
            Kind::NeverResumes => Nothing(S(Sending::NeverResumes)),
            Kind::PausesAgain => Nothing(S(Sending::PausesAgain)),
            Kind::ResumesNextPriority => Nothing(S(Sending::ResumesNextPriority)),
            Kind::NamesChangesOnly => Nothing(S(Sending::NamesChanges)),
            Kind::PausesFew => Most(|most| S(Sending::Few { most })),
            Kind::PausesAlso => Named(|priorities| S(Sending::Also { priorities })),
            Kind::PausesAllPorts => Nothing(S(Sending::OtherPorts)),
            Kind::PausesWithoutCongestion => Unasked(|every, priorities, quanta| S(Sending::WithoutCongestion { every, priorities, quanta })),
            Kind::PausesScaledTimes => Ratio(|(numerator, denominator)| S(Sending::ScaledTimes { numerator, denominator })),
            Kind::PausesForEver => Priorities(|priorities| S(Sending::ForEver { priorities })),
            Kind::PfcZeroSource => Nothing(S(Sending::Malformed(Part::Source))),
            Kind::PfcNextSource => Nothing(S(Sending::Malformed(Part::NextSource))),
            Kind::PfcWrongDestination => Nothing(S(Sending::Malformed(Part::Destination))),
            Kind::PfcUnpadded => Nothing(S(Sending::Malformed(Part::Padding))),
            Kind::PfcBadFcs => Nothing(S(Sending::Malformed(Part::Fcs))),
            Kind::LosesData => Every(|every| F(Forwarding::LosesData { every })),
            Kind::DuplicatesData => Every(|every| F(Forwarding::DuplicatesData { every })),
            Kind::DamagesData => Every(|every| F(Forwarding::DamagesData { every })),
            Kind::MarksNotEct => Every(|every| F(Forwarding::MarksNotEct { every })),
            Kind::ClearsCe => Nothing(F(Forwarding::ClearsCe)),
            Kind::StaleChecksum => Nothing(F(Forwarding::StaleChecksum)),
            Kind::Ipv6Unmarked => Nothing(F(Forwarding::Ipv6Unmarked)),
            Kind::IgnoresCnp => Nothing(F(Forwarding::IgnoresCnp)),
            Kind::ReadsBeyondTlv => Nothing(T(Telling::ReadsBeyondTlv)),
            Kind::TellsBothDialects => Nothing(T(Telling::BothDialects)),
            Kind::TellsWrongShares => Nothing(T(Telling::WrongShares)),
            Kind::TellsOtherFlow => Nothing(T(Telling::OtherFlow)),
            Kind::BelievesOtherFlow => Nothing(T(Telling::AnyFlow)),
            Kind::ObeysReplays => Nothing(M(Securing::ObeysReplays)),
            Kind::ObeysForged => Nothing(M(Securing::ObeysForged)),
            Kind::ObeysOldKeys => Nothing(M(Securing::ObeysOldKeys)),
            Kind::ObeysAnyChannel => Nothing(M(Securing::ObeysAnyChannel)),
            Kind::IgnoresAfterRoll => Nothing(M(Securing::IgnoresAfterRoll)),
            Kind::ResumesAtRekey => Nothing(M(Securing::ResumesAtRekey)),
            Kind::LosesAtRekey => Frames(|frames| M(Securing::LosesAtRekey { frames })),
            Kind::LeaksHeadroom => Cells(|cells, priorities| B(Storing::LeaksHeadroom { cells, priorities })),
            Kind::LimitsRate => NamedRatio(|priorities, (numerator, denominator)| F(Forwarding::LimitsRate { priorities, numerator, denominator })),
        }
    }
}
