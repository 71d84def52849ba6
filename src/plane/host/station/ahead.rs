//! Memory of a station that is polled soon, for drivers that know it.
//!
//! Each function brings into the caches what the one before leads to. None waits, and no result depends on them.

use super::Station;
use contracts::port::Source;
use ground::memory::fetch;

/// Flows that are received of which the counters are brought. A choice: few stations have more at a time.
const SINKS: usize = 2;

impl<P: Source> Station<P> {
    /// The state of the whole station.
    pub fn fetch(&self) {
        fetch(&self.port);
        fetch(&self.up);
        fetch(&self.mac);
        fetch(&self.slot);
        fetch(&self.shaper);
        fetch(&self.hand);
        fetch(&self.retry);
        fetch(&self.leading);
        fetch(&self.sinks);
        fetch(&self.lookup);
        fetch(&self.expects);
        fetch(&self.meter);
        fetch(&self.paused);
        fetch(&self.counters.rx_frames);
        fetch(&self.counters.tx_bytes);
        fetch(&self.calm);
        fetch(&self.read);
        self.sources.fetch();
    }

    /// The orders of its senders, and the counters of flows that it receives.
    pub fn fetch_flows(&self) {
        self.lookup.first().into_iter().for_each(fetch);
        for sink in self.sinks.iter().take(SINKS) {
            sink.fetch();
        }
        self.sources.fetch_lanes();
    }

    /// The flows that send next.
    pub fn fetch_senders(&self) {
        self.sources.fetch_flows();
    }

    /// The frames that they send next.
    pub fn fetch_heads(&self) {
        self.sources.fetch_heads();
    }
}
