//! Equal-cost paths (ECMP): the egress port of a frame to an address that several ports lead to, by a
//! hash of its flow, so that the frames of a flow stay in order.
//!
//! The hash is of the addresses, the protocol and the ports of an IP packet, and of the MAC addresses
//! of other frames. It has a seed per switch: with the same hash everywhere, the flows that one switch
//! sends to the next would all have one remainder there, and take one path.

use std::collections::HashMap;
use std::net::IpAddr;

use super::classify::Meta;
use super::plan::BridgePlan;
use ground::rand::Rng;
use ground::units::{Mac, PortId, Vid};
use wire::flow::FiveTuple;

/// Separates the seed of the hash from others derived from a switch's seed.
const SEED: u64 = 0x6563_6d70_0000_0000;

/// The paths of equal cost of a switch; empty where frames to an address leave by one port.
#[derive(Debug)]
pub(super) struct Spread {
    ports: HashMap<(Vid, Mac), Box<[PortId]>>,
    seed: u64,
}

impl Spread {
    pub(super) fn new(plan: &BridgePlan, seed: u64) -> Self {
        let entry = |e: &super::plan::SpreadEntry| ((e.vid, e.mac), e.ports.clone().into());
        Self { ports: plan.spread.iter().map(entry).collect(), seed: seed ^ SEED }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// Returns the port of this frame among those that are up; `None` if its address has no paths of
    /// equal cost, or none of them is up.
    pub(super) fn port(
        &self,
        meta: &Meta,
        head: &[u8],
        is_up: impl Fn(PortId) -> bool,
    ) -> Option<PortId> {
        let ports = self.ports.get(&(meta.vid, meta.dst()))?;
        let up = || ports.iter().copied().filter(|port| is_up(*port));
        let count = up().count() as u64;
        let hash = self.hash(meta, head) >> 32;
        up().nth(hash.checked_rem(count)? as usize)
    }

    fn hash(&self, meta: &Meta, head: &[u8]) -> u64 {
        let mix = |hash, value| Rng::nth(hash ^ value, 1);
        let of = |address| match address {
            IpAddr::V4(address) => [0, u32::from(address).into()],
            IpAddr::V6(address) => {
                let bits = u128::from(address);
                [(bits >> 64) as u64, bits as u64]
            }
        };
        let Some(flow) = FiveTuple::of_frame(head) else {
            return [meta.src, meta.dst].into_iter().fold(self.seed, mix);
        };
        let ports = u64::from(flow.src_port) << 16 | u64::from(flow.dst_port);
        let rest = u64::from(flow.protocol.0) << 32 | ports;
        [of(flow.src), of(flow.dst), [rest, 0]].into_iter().flatten().fold(self.seed, mix)
    }
}
