//! Counters of an agent, by the names of 802.1AB-2016 9.2.6 and of its remote systems' tables.

use ground::counters;

counters! {
    /// Counters of one port's agent.
    Counters {
        /// statsFramesOutTotal: LLDPDUs sent, shutdowns included.
        frames_out,
        /// statsFramesInTotal: LLDPDUs received.
        frames_in,
        /// statsFramesInErrorsTotal: LLDPDUs received with at least one error.
        frames_in_errors,
        /// statsFramesDiscardedTotal: LLDPDUs discarded.
        frames_discarded,
        /// LLDPDUs to another destination than the nearest bridge: for an agent that does not run
        /// here.
        frames_elsewhere,
        /// statsTLVsDiscardedTotal: TLVs that are malformed or duplicates.
        tlvs_discarded,
        /// statsTLVsUnrecognizedTotal: TLVs of reserved types, and of unknown organizations and
        /// subtypes.
        tlvs_unrecognized,
        /// statsAgeoutsTotal: neighbours whose time to live ran out.
        ageouts,
        /// lldpStatsRemTablesInserts: neighbours added.
        inserts,
        /// lldpStatsRemTablesDeletes: neighbours deleted, for any reason.
        deletes,
        /// lldpStatsRemTablesDrops: LLDPDUs of new neighbours while the table was full
        /// (tooManyNeighbors).
        drops,
        /// Events lost because too many were pending.
        events_lost,
    }
}
