//! Counters of an agent, by the names of 802.1AB-2016 9.2.6 and of its remote systems' tables.

/// Counters of one port's agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// statsFramesOutTotal: LLDPDUs sent, shutdowns included.
    pub frames_out: u64,
    /// statsFramesInTotal: LLDPDUs received.
    pub frames_in: u64,
    /// statsFramesInErrorsTotal: LLDPDUs received with at least one error.
    pub frames_in_errors: u64,
    /// statsFramesDiscardedTotal: LLDPDUs discarded.
    pub frames_discarded: u64,
    /// LLDPDUs to another destination than the nearest bridge: for an agent that does not run here.
    pub frames_elsewhere: u64,
    /// statsTLVsDiscardedTotal: TLVs that are malformed or duplicates.
    pub tlvs_discarded: u64,
    /// statsTLVsUnrecognizedTotal: TLVs of reserved types, and of unknown organizations and
    /// subtypes.
    pub tlvs_unrecognized: u64,
    /// statsAgeoutsTotal: neighbours whose time to live ran out.
    pub ageouts: u64,
    /// lldpStatsRemTablesInserts: neighbours added.
    pub inserts: u64,
    /// lldpStatsRemTablesDeletes: neighbours deleted, for any reason.
    pub deletes: u64,
    /// lldpStatsRemTablesDrops: LLDPDUs of new neighbours while the table was full
    /// (tooManyNeighbors).
    pub drops: u64,
    /// Events lost because too many were pending.
    pub events_lost: u64,
}
