//! What switches did about congesting flows, as counters: of Source Flow Control, of its proxy, of fast
//! congestion notifications and of quantized ones. Names are those of managed objects where there are
//! any.

use std::collections::BTreeMap;

use super::IsolationSnapshot;
use crate::units::PRIORITIES;

/// Declares counters once: what each means, its field, and its name in results.
macro_rules! counters {
    ($(#[$meta:meta])* $set:ident { $($(#[$doc:meta])+ $field:ident = $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
        pub struct $set {
            $($(#[$doc])+ pub $field: u64,)+
        }

        impl $set {
            /// Each counter's name and value.
            pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
                [$(($name, self.$field),)+].into_iter()
            }

            /// Adds another's counts to these.
            pub fn add(&mut self, other: &Self) {
                $(self.$field += other.$field;)+
            }

            /// What was counted since `base`.
            #[must_use]
            pub const fn since(&self, base: &Self) -> Self {
                Self { $($field: self.$field.saturating_sub(base.$field),)+ }
            }
        }
    };
}

counters! {
    /// What became of frames that Source Flow Control picked as congesting, each under the first that
    /// applies; and of the flows in its table.
    SfcCounters {
        /// Messages sent.
        transmitted_sfcms = "sfcTransmittedSFCMs",
        /// Not of IP, so there is no address to answer to.
        not_ip = "sfc_not_ip",
        /// A message itself.
        about_itself = "sfc_about_itself",
        /// From an address that is no host's.
        unanswerable = "sfc_unanswerable",
        /// Of a flow that the table has no room for.
        no_room = "sfc_no_room",
        /// Of a flow that has not congested for long enough, or not brought enough.
        not_yet = "sfc_not_yet",
        /// Of a flow that had sfcMaxSFCM messages.
        had_all = "sfc_had_all",
        /// Too soon after the last message about its flow.
        too_soon = "sfc_too_soon",
        /// For a pause too short to be worth a message.
        too_short = "sfc_too_short",
        /// Beyond what all flows together may cause.
        over_budget = "sfc_over_budget",
        /// The message could not be made: no memory, or headers that it cannot say.
        unsent = "sfc_unsent",
        /// Flows taken into the table.
        streams_created = "sfc_streams_created",
        /// Flows taken out of it.
        streams_removed = "sfc_streams_removed",
        /// Flows refused because the table was full.
        streams_full = "sfc_streams_full",
        /// Flows refused because their part of the table was full of others.
        streams_crowded = "sfc_streams_crowded",
    }
}

counters! {
    /// What Source Flow Control did in one queue.
    SfcQueueCounters {
        /// Frames that were picked as congesting.
        congesting = "sfc_congesting",
        /// Messages sent.
        transmitted_sfcms = "sfcTransmittedSFCMs",
    }
}

counters! {
    /// What became of Source Flow Control messages that met the proxy.
    ProxyCounters {
        /// They went on, to a switch or to a host that obeys them itself.
        forwarded = "sfc_proxy_forwarded",
        /// Octets that are no message: dropped as `sfcm_malformed`.
        malformed = "sfc_proxy_malformed",
        /// From a port or address that the policy does not accept.
        sender = "sfc_proxy_sender",
        /// To an address that the switch knows no way to.
        not_routed = "sfc_proxy_not_routed",
        /// They would leave by the port that they came in by.
        reflected = "sfc_proxy_reflected",
        /// About a flow of another host.
        other_host = "sfc_proxy_other_host",
        /// For a priority that PFC does not run for.
        not_protected = "sfc_proxy_not_protected",
        /// They ask for no pause.
        no_pause = "sfc_proxy_no_pause",
        /// More than the policy lets through.
        too_many = "sfc_proxy_too_many",
        /// The host's priority had used up what it may be paused.
        no_credit = "sfc_proxy_no_credit",
        /// Destinations remembered.
        cache_created = "sfc_cache_created",
        /// Messages about destinations that were remembered.
        cache_updated = "sfc_cache_updated",
        /// Destinations for which there was no room.
        cache_full = "sfc_cache_full",
        /// Frames whose destination was remembered as congested.
        cache_hits = "sfc_cache_hits",
    }
}

counters! {
    /// What the proxy did for the host of one port.
    ProxyPortCounters {
        /// Messages that paused it, or would have if it were not paused that long already.
        accepted = "sfc_proxy_accepted",
        /// Those of them that asked for nothing more.
        redundant = "sfc_proxy_redundant",
        /// Messages that asked for more than the longest pause, and got that.
        cut_to_longest = "sfc_proxy_cut_to_longest",
        /// Messages and flows that got less than they asked for, for want of credit.
        cut_to_credit = "sfc_proxy_cut_to_credit",
        /// Flows paused because their destination was remembered as congested.
        by_cache = "sfc_proxy_by_cache",
        /// Nanoseconds that its priorities were granted to be paused, summed over them.
        granted_ns = "sfc_proxy_granted_ns",
        /// Pauses that were over before a frame could be sent.
        missed = "sfc_proxy_missed",
        /// PFC frames sent for the proxy alone.
        pauses = "sfc_proxy_pauses",
    }
}

counters! {
    /// What became of RoCEv2 frames that were picked to be answered with a notification.
    FastCnpCounters {
        /// Notifications sent.
        sent = "fast_cnp_sent",
        /// Too soon after the last one about the flow.
        too_soon = "fast_cnp_too_soon",
        /// Beyond what all flows together may cause.
        over_budget = "fast_cnp_over_budget",
        /// The queue pair of the source is neither configured nor learnt.
        not_learnt = "fast_cnp_not_learnt",
        /// Queue pairs of several flows were learnt under the same addresses and port.
        ambiguous = "fast_cnp_ambiguous",
        /// Of a flow that the table has no room for.
        no_room = "fast_cnp_no_room",
        /// The notification could not be made for want of memory.
        unsent = "fast_cnp_unsent",
        /// Queue pairs learnt.
        learnt = "fast_cnp_learnt",
        /// Queue pairs not learnt for want of room.
        unlearnt = "fast_cnp_unlearnt",
    }
}

counters! {
    /// What the congestion point of a queue did.
    QcnCounters {
        /// Frames that were looked at.
        samples = "qcn_samples",
        /// Messages sent (cpTransmittedCnms of IEEE8021-CN-MIB).
        transmitted_cnms = "cpTransmittedCnms",
        /// Messages that could not be made for want of memory.
        unsent = "qcn_unsent",
    }
}

/// Source Flow Control of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SfcSnapshot {
    /// Of all queues.
    pub counters: SfcCounters,
    /// Flows in the table now, those among them that are over and not yet taken out.
    pub streams: u64,
    /// By port, then traffic class.
    pub queues: Vec<[SfcQueueCounters; PRIORITIES]>,
}

/// The proxy of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProxySnapshot {
    /// Of all ports.
    pub counters: ProxyCounters,
    /// By port.
    pub ports: Vec<ProxyPortCounters>,
}

/// Quantized Congestion Notification of a switch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct QcnSnapshot {
    /// By port, then traffic class.
    pub queues: Vec<[QcnCounters; PRIORITIES]>,
}

/// All of it; nothing for what a switch does not run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CongestionSnapshot {
    /// Source Flow Control.
    pub sfc: Option<SfcSnapshot>,
    /// Its proxy.
    pub proxy: Option<ProxySnapshot>,
    /// Notifications to the sources of RoCEv2 flows.
    pub fast_cnp: Option<FastCnpCounters>,
    /// Quantized Congestion Notification.
    pub qcn: Option<QcnSnapshot>,
    /// Congestion isolation, since its counters were last cleared.
    pub isolation: Option<IsolationSnapshot>,
}

impl SfcSnapshot {
    /// What happened in the queues of one port, by its number.
    #[must_use]
    pub fn of_port(&self, port: usize) -> SfcQueueCounters {
        let mut sum = SfcQueueCounters::default();
        self.queues.get(port).into_iter().flatten().for_each(|queue| sum.add(queue));
        sum
    }
}

impl QcnSnapshot {
    /// What happened in all queues.
    #[must_use]
    pub fn total(&self) -> QcnCounters {
        let mut sum = QcnCounters::default();
        self.queues.iter().flatten().for_each(|queue| sum.add(queue));
        sum
    }
}

/// Counters of one name as one.
fn summed(
    all: impl Iterator<Item = (&'static str, u64)>,
) -> impl Iterator<Item = (&'static str, u64)> {
    let mut sums = BTreeMap::new();
    all.for_each(|(name, n)| *sums.entry(name).or_insert(0) += n);
    sums.into_iter()
}

impl CongestionSnapshot {
    /// Each counter of the whole switch, by its name: what is counted by queue or port alone is summed up.
    /// Those of what is not run are not there.
    pub fn of_switch(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        let sfc = self.sfc.iter().flat_map(|sfc| sfc.counters.iter());
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

    /// As [`Self::of_switch`], of one port by its number.
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

    /// How many flows each table has now, by its name.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let sfc = self.sfc.as_ref().map(|sfc| ("sfc_streams", sfc.streams));
        let isolation = self.isolation.as_ref().map(|of| ("ci_streams", of.streams));
        sfc.into_iter().chain(isolation)
    }

    /// Adds what another worker of the same switch counted.
    pub fn add(&mut self, other: &Self) {
        if let (Some(a), Some(b)) = (&mut self.sfc, &other.sfc) {
            a.counters.add(&b.counters);
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

    /// What was counted since `base`; what is there now stays.
    #[must_use]
    pub fn since(mut self, base: &Self) -> Self {
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

#[cfg(test)]
mod tests {
    use super::super::{CimCounters, IsolationCounters};
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
        names.extend(super::super::IsolationCounters::default().iter().map(|(name, _)| name));
        names.extend(super::super::CimCounters::default().iter().map(|(name, _)| name));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
