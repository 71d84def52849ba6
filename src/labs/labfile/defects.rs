//! Defects of devices: a kind and its parameters.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use config::quantity::Span;

/// A device that breaks the rules of flow control at some of its ports. Checks that judge the device
/// then report it.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DefectFault {
    /// Name of the switch or host.
    pub on: String,
    /// Port of a switch: node at its other end, name of its link, or number from 0. Default: all
    /// ports.
    #[schemars(schema_with = "scalar")]
    #[serde(default)]
    pub port: Option<String>,
    /// Kind of the defect.
    pub kind: DefectKind,
    /// Priorities that it concerns. Default: all, but for kinds that need some.
    pub priorities: Option<Vec<u8>>,
    /// Pause time in quanta, 0 to 65535. Default: none; kinds with a pause time need it.
    pub quanta: Option<u16>,
    /// Ratio by which times are multiplied, or share of the line's rate, such as `1/8`. Default: none;
    /// `scaled-times`, `pauses-scaled-times` and `limits-rate` need it.
    pub ratio: Option<String>,
    /// Interval in frames: one frame in `every` is concerned. Default: none; kinds with an interval need
    /// it.
    pub every: Option<u32>,
    /// Number of data frames. Default: none; kinds with a number need it.
    pub frames: Option<u32>,
    /// Number of buffer cells. Default: none; `leaks-headroom` needs it.
    pub cells: Option<u32>,
    /// Number of priorities, 0 to 7. Default: none; kinds with a limit need it.
    pub most: Option<u8>,
    /// Time after which it begins. Default: none; kinds of a watchdog need it.
    pub after: Option<Span>,
}

/// Makes the names of the kinds in a file and the list of them.
macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $Kind:ident,)*) => {
        /// Kinds of defects.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum DefectKind {
            $($(#[doc = $doc])+ $Kind,)*
        }

        impl DefectKind {
            /// All of them.
            // Made by the macro, so that no kind is missing where kinds are drawn at random.
            pub const ALL: &[Self] = &[$(Self::$Kind),*];
        }
    };
}

kinds! {
    /// PFC of `priorities` is ignored.
    IgnoresPfc,
    /// PFC is ignored once the link has gone down and come up.
    IgnoresPfcAfterFlap,
    /// PFC of `priorities` takes effect `quanta` late.
    ObeysLate,
    /// Times are multiplied by `ratio`.
    ScaledTimes,
    /// Pauses last until they are resumed.
    NeverExpires,
    /// A time is added to the rest of the pause before it.
    AddsTimes,
    /// The time of a pause is not renewed.
    KeepsFirstTime,
    /// Of a time and the rest of the pause before it, the longer one holds.
    KeepsLongestTime,
    /// A time of zero is ignored.
    IgnoresZeroTime,
    /// A time of zero resumes, also where the priority is not enabled.
    ResumesNotEnabled,
    /// All priorities are taken as enabled.
    IgnoresVector,
    /// The enable vector is read from its other end.
    MirrorsVector,
    /// The high octet of the enable vector is read.
    ReadsHighOctet,
    /// A pause of one priority is treated as one of all.
    ObeysForAll,
    /// A pause is treated as one of the next priority.
    ObeysNextPriority,
    /// Only `most` priorities are paused at a time.
    ObeysFew,
    /// MAC control frames with an unknown opcode are taken as PFC.
    ObeysUnknownOpcodes,
    /// PFC frames that are cut short are obeyed, as if all that is missing were ones.
    ObeysTruncated,
    /// PAUSE is obeyed as PFC of all priorities.
    ObeysPause,
    /// MAC control frames with source address zero are dropped.
    IgnoresZeroSource,
    /// MAC control frames are sent on from all other ports.
    ForwardsMacControl,
    /// Priorities that are paused when the link goes down stay paused once it comes up.
    StuckAfterFlap,
    /// Times of `priorities` that are shorter than `quanta` are ignored.
    IgnoresShortTimes,
    /// A time of zero for one priority resumes all.
    ResumesAll,
    /// A time of zero resumes the priority at all other ports, too.
    ResumesOtherPorts,
    /// A time of zero is taken for one quantum.
    TakesZeroForOne,
    /// `priorities` without PFC are paused, too.
    ObeysLossy,
    /// Frames of `priorities` that are paused are dropped, not held.
    DropsWhilePaused,
    /// Pauses are ignored for `frames` data frames after the link has gone down in a pause.
    ReleasesAfterFlap,
    /// The first two frames of a priority after a pause leave in the wrong order.
    ReordersAfterPause,
    /// No PFC is sent while a priority is paused.
    NoPfcWhilePaused,
    /// Frames of `priorities` are dropped once another one has been paused for `after`.
    DropsOthers,
    /// A paused priority is held and dropped by turns, each for `after`.
    DropsByTurns,
    /// The frames of a priority that has been paused for `after` are dropped until the pause ends, also
    /// if its queue was empty.
    WatchesEmpty,
    /// Once a priority has been paused for `after`, its pauses are sent from all other ports.
    PausesUpstream,
    /// No pause of `priorities` is sent.
    NeverPauses,
    /// One resumption in `every` is never sent.
    LosesResumptions,
    /// Only one refresh in `every` is sent.
    RefreshesLate,
    /// No refresh is sent.
    NeverRefreshes,
    /// PFC is sent behind `frames` data frames.
    PausesBehindData,
    /// PFC that is sent enables the next priority instead.
    PausesNextPriority,
    /// No resumption is sent.
    NeverResumes,
    /// After every resumption the pause before it is sent once more.
    PausesAgain,
    /// Resumptions that are sent enable the next priority instead.
    ResumesNextPriority,
    /// A frame by which a pause begins or ends does not name the pauses that go on.
    NamesChangesOnly,
    /// Only `most` priorities of the peer are paused at a time.
    PausesFew,
    /// `priorities` are paused and resumed along with others.
    PausesAlso,
    /// PFC is also sent from all other ports.
    PausesAllPorts,
    /// A pause of `priorities` for `quanta` is sent for every `every` data frames that arrive.
    PausesWithoutCongestion,
    /// Times of PFC that is sent are multiplied by `ratio`.
    PausesScaledTimes,
    /// `priorities` are paused permanently.
    PausesForEver,
    /// The source address of PFC that is sent is zero.
    PfcZeroSource,
    /// The source address of PFC that is sent is that of the next port: higher by one.
    PfcNextSource,
    /// The destination of PFC that is sent is 01-80-C2-00-00-00.
    PfcWrongDestination,
    /// PFC that is sent is not padded to 64 bytes.
    PfcUnpadded,
    /// The FCS of PFC that is sent does not match.
    PfcBadFcs,
    /// One data frame in `every` is never sent.
    LosesData,
    /// One data frame in `every` is sent twice.
    DuplicatesData,
    /// One data frame in `every` is sent with a wrong FCS.
    DamagesData,
    /// One packet in `every` that does not support ECN is marked.
    MarksNotEct,
    /// Marks of packets that arrive are lost.
    ClearsCe,
    /// The checksum of a marked IPv4 header is that of the header without the mark.
    StaleChecksum,
    /// IPv6 packets leave without a mark.
    Ipv6Unmarked,
    /// Congestion notification packets that arrive are ignored.
    IgnoresCnp,
    /// Frames of `priorities` together above `ratio` of the line's rate are dropped.
    LimitsRate,
    /// A PFC TLV of LLDP that is an octet too short is read beyond its end.
    ReadsBeyondTlv,
    /// LLDPDUs that are sent have the TLV of CEE's DCBX beside those of IEEE 802.1.
    TellsBothDialects,
    /// The sum of the shares in the ETS configuration that is sent is 101 %.
    TellsWrongShares,
    /// Messages of Source Flow Control that are sent name another destination of the flow.
    TellsOtherFlow,
    /// A message of Source Flow Control that arrives is taken for one about the host that it is sent to.
    BelievesOtherFlow,
    /// A protected PFC frame is obeyed once more when it is replayed.
    ObeysReplays,
    /// A protected PFC frame is obeyed whatever its check value is.
    ObeysForged,
    /// A protected PFC frame of an association that is not there, or of a replaced key, is obeyed.
    ObeysOldKeys,
    /// A protected PFC frame of another channel is obeyed.
    ObeysAnyChannel,
    /// Protected frames are ignored once the lower half of packet numbers has begun again.
    IgnoresAfterRoll,
    /// All pauses end when a MACsec key changes.
    ResumesAtRekey,
    /// The next `frames` data frames after a change of a MACsec key are lost.
    LosesAtRekey,
    /// A priority group loses `cells` of its headroom with each pause that it has resumed.
    LeaksHeadroom,
}

/// Schema of a scalar of any type, which is read as text.
pub(super) fn scalar(_: &mut SchemaGenerator) -> Schema {
    // YAML reads `0` as a number, and the field is text all the same.
    json_schema!({ "type": ["string", "number", "boolean"] })
}
