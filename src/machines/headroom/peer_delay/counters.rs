//! Counters of the peer delay messages of a port.

use ground::counters;

counters! {
    /// Counters of messages, each counted under the first that applies.
    Counters {
        /// Requests sent.
        requests_sent,
        /// Responses sent.
        responses_sent,
        /// Follow_Ups sent.
        follow_ups_sent,
        /// Requests received.
        requests_received,
        /// Requests not answered because responding is disabled.
        requests_unanswered,
        /// Requests not answered because the queue was full.
        requests_refused,
        /// Other PTP messages, those of unknown profiles, the port's own, and messages received while
        /// the link was down.
        ignored,
        /// Messages of another domain.
        other_domain,
        /// Messages of IEEE 802.1AS (`majorSdoId` 1) at a port that speaks another profile.
        messages_of_802_1as,
        /// Messages of IEEE 1588 (`majorSdoId` 0) at a port that speaks another profile.
        messages_of_1588,
        /// Responses and Follow_Ups received.
        answers_received,
        /// Responses and Follow_Ups to requests of other ports.
        for_others,
        /// Responses and Follow_Ups to another request than the last.
        late,
        /// Duplicate responses and Follow_Ups.
        duplicate,
        /// Responses and Follow_Ups from another port than the first that answered.
        other_responder,
        /// Responses and Follow_Ups with impossible times.
        impossible,
        /// Exchanges that gave a delay.
        exchanges,
        /// Requests without a response.
        lost,
        /// Requests with a response but without the announced Follow_Up.
        follow_ups_lost,
        /// Sets of exchanges completed.
        done,
        /// Sets of exchanges failed.
        failed,
    }
}
