//! What an agent counts, by the names of 802.1AB-2016 9.2.6 and of its remote systems' tables.

/// The counters of one port's agent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counters {
    /// statsFramesOutTotal: LLDPDUs sent, shutdowns included.
    pub frames_out: u64,
    /// statsFramesInTotal: LLDPDUs received.
    pub frames_in: u64,
    /// statsFramesInErrorsTotal: received with at least one fault.
    pub frames_in_errors: u64,
    /// statsFramesDiscardedTotal: received and left out as a whole.
    pub frames_discarded: u64,
    /// Of another destination than the nearest bridge's: for an agent that is not here.
    pub frames_elsewhere: u64,
    /// statsTLVsDiscardedTotal: TLVs that are malformed, or come a second time.
    pub tlvs_discarded: u64,
    /// statsTLVsUnrecognizedTotal: TLVs of reserved types, and of organizations and subtypes that
    /// are not known here.
    pub tlvs_unrecognized: u64,
    /// statsAgeoutsTotal: neighbours whose time to live ran out.
    pub ageouts: u64,
    /// lldpStatsRemTablesInserts: neighbours that came.
    pub inserts: u64,
    /// lldpStatsRemTablesDeletes: neighbours that went, for whatever reason.
    pub deletes: u64,
    /// lldpStatsRemTablesDrops: LLDPDUs of neighbours for which there was no place
    /// (tooManyNeighbors).
    pub drops: u64,
    /// Events that nobody fetched in time.
    pub events_lost: u64,
}
