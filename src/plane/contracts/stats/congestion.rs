//! Counters of congestion control in switches: of Source Flow Control, of its proxy, of fast and of
//! quantized congestion notifications, and of Congestion Isolation (802.1Qcz). Names are those of managed
//! objects where there are any. Sets that one machine counts are the machine's.

pub use congestion::fast_cnp::FastCnpCounters;
pub use congestion::isolation::IsolationCounters;
pub use congestion::sfc::{SfcCounters, SfcQueueCounters};

use std::collections::BTreeMap;

use ground::counters;
use ground::units::PRIORITIES;

counters! {
    /// Source Flow Control messages at the proxy, by result.
    ProxyCounters {
        /// Messages forwarded, to a switch or to a host that obeys them itself.
        forwarded = "sfc_proxy_forwarded",
        /// Malformed messages: dropped as `sfcm_malformed`.
        malformed = "sfc_proxy_malformed",
        /// Messages that paused a host with PFC alone whose locator says incast.
        incast = "sfc_proxy_incast",
        /// Messages that paused a host with PFC alone whose locator says in-network.
        in_network = "sfc_proxy_in_network",
        /// Messages to hosts whose port maps the flow to another priority than the message has.
        disagreed = "sfc_proxy_disagreed",
        /// Messages from a port or address that the policy does not accept.
        sender = "sfc_proxy_sender",
        /// Messages to an address without a route.
        not_routed = "sfc_proxy_not_routed",
        /// Messages whose egress port is their ingress port.
        reflected = "sfc_proxy_reflected",
        /// Messages about a flow of another host.
        other_host = "sfc_proxy_other_host",
        /// Messages for a priority without PFC.
        not_protected = "sfc_proxy_not_protected",
        /// Messages over the policy's rate.
        too_many = "sfc_proxy_too_many",
        /// Messages for a priority of a host without pause credit.
        no_credit = "sfc_proxy_no_credit",
        /// Destinations added to the cache.
        cache_created = "sfc_cache_created",
        /// Messages about destinations in the cache.
        cache_updated = "sfc_cache_updated",
        /// Destinations for which the cache had no room.
        cache_full = "sfc_cache_full",
        /// Frames whose destination is in the cache as congested.
        cache_hits = "sfc_cache_hits",
    }
}

counters! {
    /// Proxy for the host of one port.
    ProxyPortCounters {
        /// Messages that paused or resumed it, or would have if that were not its state already.
        accepted = "sfc_proxy_accepted",
        /// Accepted messages that ended or shortened a granted pause.
        resumed = "sfc_proxy_resumed",
        /// Accepted messages that did not change the granted pause.
        redundant = "sfc_proxy_redundant",
        /// Messages whose pause was shortened to the policy's maximum.
        cut_to_longest = "sfc_proxy_cut_to_longest",
        /// Messages and flows whose pause was shortened for lack of credit.
        cut_to_credit = "sfc_proxy_cut_to_credit",
        /// Flows paused because their destination is in the cache as congested.
        by_cache = "sfc_proxy_by_cache",
        /// Sum of granted pause times of all its priorities, without what ended early, in nanoseconds.
        granted_ns = "sfc_proxy_granted_ns",
        /// Pauses that ended before a frame could be sent.
        missed = "sfc_proxy_missed",
        /// PFC frames sent for the proxy alone.
        pauses = "sfc_proxy_pauses",
    }
}

counters! {
    /// Congestion point of a queue.
    QcnCounters {
        /// Frames sampled.
        samples = "qcn_samples",
        /// Messages sent (cpTransmittedCnms of IEEE8021-CN-MIB).
        transmitted_cnms = "cpTransmittedCnms",
        /// Messages not sent for lack of memory.
        unsent = "qcn_unsent",
    }
}

/// Snapshot of Source Flow Control of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SfcSnapshot {
    /// Counters of all queues.
    pub counters: SfcCounters,
    /// Flows in the table now, including expired ones that are not yet removed.
    pub streams: u64,
    /// Counters by port, then traffic class.
    pub queues: Vec<[SfcQueueCounters; PRIORITIES]>,
}

/// Snapshot of the proxy of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProxySnapshot {
    /// Counters of all ports.
    pub counters: ProxyCounters,
    /// Counters by port.
    pub ports: Vec<ProxyPortCounters>,
}

/// Snapshot of Quantized Congestion Notification of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QcnSnapshot {
    /// Counters by port, then traffic class.
    pub queues: Vec<[QcnCounters; PRIORITIES]>,
}

/// Snapshot of congestion control; `None` for functions that are not configured.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CongestionSnapshot {
    /// Source Flow Control.
    pub sfc: Option<SfcSnapshot>,
    /// Proxy of Source Flow Control.
    pub proxy: Option<ProxySnapshot>,
    /// Fast notifications to the sources of RoCEv2 flows.
    pub fast_cnp: Option<FastCnpCounters>,
    /// Quantized Congestion Notification.
    pub qcn: Option<QcnSnapshot>,
    /// Congestion Isolation, since its counters were last cleared.
    pub isolation: Option<IsolationSnapshot>,
}

impl SfcSnapshot {
    /// Returns the counters of all queues of one port, by its number.
    #[must_use]
    pub fn of_port(&self, port: usize) -> SfcQueueCounters {
        let mut sum = SfcQueueCounters::default();
        self.queues.get(port).into_iter().flatten().for_each(|queue| sum.add(queue));
        sum
    }
}

impl QcnSnapshot {
    /// Returns the counters of all queues.
    #[must_use]
    pub fn total(&self) -> QcnCounters {
        let mut sum = QcnCounters::default();
        self.queues.iter().flatten().for_each(|queue| sum.add(queue));
        sum
    }
}

/// Sums counters of the same name.
fn summed(
    all: impl Iterator<Item = (&'static str, u64)>,
) -> impl Iterator<Item = (&'static str, u64)> {
    // Sorted by name, so that tables and JSON have one order.
    let mut sums = BTreeMap::new();
    all.for_each(|(name, n)| *sums.entry(name).or_insert(0) += n);
    sums.into_iter()
}

impl CongestionSnapshot {
    /// Returns each counter of the whole switch, by its name; counters per queue or port are summed
    /// up. Functions that are not configured have none.
    pub fn of_switch(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let sfc = self.sfc.iter().flat_map(|sfc| sfc.counters.iter());
        // Counters of the whole proxy, and those of its ports added up.
        let proxy = self.proxy.iter().flat_map(|proxy| {
            proxy.counters.iter().chain(proxy.ports.iter().flat_map(|port| port.iter()))
        });
        let cnp = self.fast_cnp.iter().flat_map(|cnp| cnp.iter());
        let qcn = self.qcn.iter().flat_map(|of| of.queues.iter().flatten());
        let qcn = qcn.flat_map(|queue| queue.iter());
        let isolation = self
            .isolation
            .iter()
            .flat_map(|of| of.counters.iter().chain(of.ports.iter().flat_map(|port| port.iter())));
        summed(sfc.chain(proxy).chain(cnp).chain(qcn).chain(isolation))
    }

    /// Returns each counter of one port, by its number, as [`Self::of_switch`] does.
    pub fn of_port(&self, port: usize) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let sfc = self.sfc.iter().filter_map(move |sfc| sfc.queues.get(port)).flatten();
        let proxy = self.proxy.iter().filter_map(move |proxy| proxy.ports.get(port));
        let qcn = self.qcn.iter().filter_map(move |qcn| qcn.queues.get(port)).flatten();
        let isolation = self.isolation.iter().filter_map(move |of| of.ports.get(port));
        let sfc = sfc.flat_map(|queue| queue.iter());
        let proxy = proxy.flat_map(|port| port.iter());
        let qcn = qcn.flat_map(|queue| queue.iter());
        summed(sfc.chain(proxy).chain(qcn).chain(isolation.flat_map(|port| port.iter())))
    }

    /// Returns the present number of flows in each table, by its name.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let sfc = self.sfc.as_ref().map(|sfc| ("sfc_streams", sfc.streams));
        let isolation = self.isolation.as_ref().map(|of| ("ci_streams", of.streams));
        sfc.into_iter().chain(isolation)
    }

    /// Adds the counts of another worker of the same switch.
    pub fn add(&mut self, other: &Self) {
        if let (Some(a), Some(b)) = (&mut self.sfc, &other.sfc) {
            a.counters.add(&b.counters);
            // A flow is in the table of one worker, that of its queue.
            a.streams += b.streams;
            a.queues
                .iter_mut()
                .flatten()
                .zip(b.queues.iter().flatten())
                .for_each(|(a, b)| a.add(b));
        }
        if let (Some(a), Some(b)) = (&mut self.proxy, &other.proxy) {
            a.counters.add(&b.counters);
            a.ports.iter_mut().zip(&b.ports).for_each(|(a, b)| a.add(b));
        }
        if let (Some(a), Some(b)) = (&mut self.fast_cnp, &other.fast_cnp) {
            a.add(b);
        }
        if let (Some(a), Some(b)) = (&mut self.isolation, &other.isolation) {
            a.add(b);
        }
        if let (Some(a), Some(b)) = (&mut self.qcn, &other.qcn) {
            a.queues
                .iter_mut()
                .flatten()
                .zip(b.queues.iter().flatten())
                .for_each(|(a, b)| a.add(b));
        }
    }

    /// Returns the counts since `base`; present numbers are unchanged.
    #[must_use]
    pub fn since(mut self, base: &Self) -> Self {
        // A section that was created after the reset has no base.
        if let (Some(a), Some(b)) = (&mut self.sfc, &base.sfc) {
            a.counters = a.counters.since(&b.counters);
            let queues = a.queues.iter_mut().flatten().zip(b.queues.iter().flatten());
            queues.for_each(|(a, b)| *a = a.since(b));
        }
        if let (Some(a), Some(b)) = (&mut self.proxy, &base.proxy) {
            a.counters = a.counters.since(&b.counters);
            a.ports.iter_mut().zip(&b.ports).for_each(|(a, b)| *a = a.since(b));
        }
        if let (Some(a), Some(b)) = (&mut self.fast_cnp, &base.fast_cnp) {
            *a = a.since(b);
        }
        if let (Some(a), Some(b)) = (&mut self.qcn, &base.qcn) {
            let queues = a.queues.iter_mut().flatten().zip(b.queues.iter().flatten());
            queues.for_each(|(a, b)| *a = a.since(b));
        }
        self
    }
}

counters! {
    /// CIMs of one port.
    CimCounters {
        /// CIMs sent to its peer.
        sent = "ci_cim_sent",
        /// CIMs received, of any sender.
        received = "ci_cim_received",
    }
}

/// Present state of a congesting queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CongestingQueue {
    /// Port number.
    pub port: u16,
    /// Traffic class.
    pub class: u8,
    /// Bytes in the queue.
    pub bytes: u64,
    /// Maximum of bytes ever in the queue.
    pub peak_bytes: u64,
}

/// Snapshot of Congestion Isolation of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IsolationSnapshot {
    /// Counters of all queues.
    pub counters: IsolationCounters,
    /// Flows in the stream table now, including expired ones that are not yet removed.
    pub streams: u64,
    /// CIMs by port.
    pub ports: Vec<CimCounters>,
    /// Queues of the congesting classes.
    pub queues: Vec<CongestingQueue>,
}

impl IsolationSnapshot {
    /// Adds the counts of another worker of the same switch.
    pub fn add(&mut self, other: &Self) {
        self.counters.add(&other.counters);
        self.streams += other.streams;
        self.ports.iter_mut().zip(&other.ports).for_each(|(a, b)| a.add(b));
        // Each worker has the queues of its own ports.
        self.queues.extend(&other.queues);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(n: u64) -> CongestionSnapshot {
        let queue = SfcQueueCounters { congesting: n, transmitted_sfcms: n };
        let counters = SfcCounters { transmitted_sfcms: 8 * n, ..SfcCounters::default() };
        let sfc = SfcSnapshot { counters, streams: n, queues: vec![[queue; PRIORITIES]] };
        CongestionSnapshot { sfc: Some(sfc), ..CongestionSnapshot::default() }
    }

    #[test]
    fn workers_add_up_and_what_was_before_is_taken_off() {
        let mut sum = snapshot(3);
        sum.add(&snapshot(4));
        let of_port: Vec<_> = sum.of_port(0).collect();
        assert_eq!(of_port, [("sfcTransmittedSFCMs", 56), ("sfc_congesting", 56)]);
        assert_eq!(sum.of_port(1).count(), 0);
        let since = sum.since(&snapshot(5)).sfc.unwrap();
        assert_eq!((since.counters.transmitted_sfcms, since.streams), (16, 7));
    }

    #[test]
    fn a_switch_has_what_its_ports_counted_and_what_it_isolated() {
        let ports = |n| vec![CimCounters { sent: n, received: 1 }; 2];
        let counters = IsolationCounters { isolated_frames: 5, ..IsolationCounters::default() };
        let isolation =
            IsolationSnapshot { counters, streams: 9, ports: ports(3), queues: Vec::new() };
        let proxied = ProxyPortCounters { accepted: 2, ..ProxyPortCounters::default() };
        let proxy = ProxySnapshot { ports: vec![proxied; 2], ..ProxySnapshot::default() };
        let queue = QcnCounters { transmitted_cnms: 1, ..QcnCounters::default() };
        let qcn = QcnSnapshot { queues: vec![[queue; PRIORITIES]; 2] };
        let (isolation, proxy, qcn) = (Some(isolation), Some(proxy), Some(qcn));
        let all = CongestionSnapshot { isolation, proxy, qcn, ..CongestionSnapshot::default() };
        let of: BTreeMap<_, _> = all.of_switch().collect();
        assert_eq!((of["ci_isolated_frames"], of["ci_cim_sent"], of["ci_cim_received"]), (5, 6, 2));
        assert_eq!((of["sfc_proxy_accepted"], of["cpTransmittedCnms"]), (4, 16));
        let of: BTreeMap<_, _> = all.of_port(1).collect();
        assert_eq!((of["ci_cim_sent"], of["sfc_proxy_accepted"], of["qcn_samples"]), (3, 2, 0));
        assert_eq!(all.tables().collect::<Vec<_>>(), [("ci_streams", 9)]);
    }

    #[test]
    fn no_two_counters_have_one_name() {
        let mut names: Vec<_> = SfcCounters::default().iter().map(|(name, _)| name).collect();
        names.extend(ProxyCounters::default().iter().map(|(name, _)| name));
        names.extend(ProxyPortCounters::default().iter().map(|(name, _)| name));
        names.extend(FastCnpCounters::default().iter().map(|(name, _)| name));
        names.extend(QcnCounters::default().iter().map(|(name, _)| name));
        names.extend(IsolationCounters::default().iter().map(|(name, _)| name));
        names.extend(CimCounters::default().iter().map(|(name, _)| name));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
