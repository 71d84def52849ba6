//! The defect of each kind, and the parameters that it takes.

use crate::raw::DefectKind as Kind;
use ground::time::Duration;
use ground::units::{PrioritySet, Quanta};
use sim::defect::Defect::{
    self, Forwarding as F, Holding as H, Obeying as O, Securing as M, Sending as S, Storing as B,
    Telling as T,
};
use sim::defect::{Forwarding, Holding, Obeying, Part, Securing, Sending, Storing, Telling};

/// True for a kind that is about single priorities, or about the form of PFC: 802.3x PAUSE names no
/// priority.
pub(super) const fn needs_pfc(kind: Kind) -> bool {
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
pub(super) enum Takes {
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
    pub(super) const fn names(&self) -> &'static [&'static str] {
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
    pub(super) const fn is_of_pauses(&self) -> bool {
        matches!(self, Self::Priorities(_) | Self::Quanta(_) | Self::Unasked(_))
    }

    #[rustfmt::skip] // a row for each kind
    pub(super) fn of(kind: Kind) -> Self {
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
