//! Identification of congesting flows.

use core::net::IpAddr;

use super::detect::Queue;
use ground::rand::Rng;
use ground::units::{Mac, Vid};
use wire::flow::FiveTuple;

/// Key of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlowKey {
    /// IP flow, by its 5-tuple.
    Ip(FiveTuple),
    /// Non-IP flow, by its addresses and VLAN.
    L2 {
        /// Destination address.
        dst: Mac,
        /// Source address.
        src: Mac,
        /// VLAN of the tag, if any.
        vid: Option<Vid>,
    },
}

/// A flow and its queue in two words. Of a flow in IPv4 they say all; of others the first word is a
/// keyed hash of the addresses, so that the key has to be compared, too. The second is never 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Packed(u64, u64);

/// Kinds of flows in the second word of [`Packed`].
const KIND_SHIFT: u32 = 61;
const IPV4: u64 = 1;
const IPV6: u64 = 2;
const L2: u64 = 3;

impl Packed {
    /// No flow.
    pub(super) const NONE: Self = Self(0, 0);

    /// Packs a flow in IPv4.
    #[inline(always)]
    pub(super) fn ipv4(
        queue: Queue,
        addresses: (u32, u32),
        protocol: u8,
        ports: (u16, u16),
    ) -> Self {
        let ((src, dst), (src_port, dst_port)) = (addresses, ports);
        let ports = u64::from(src_port) << 16 | u64::from(dst_port);
        // From the top: kind (3 bits), class (3), port (10), 8 bits free, protocol (8), ports (32).
        let rest = IPV4 << KIND_SHIFT | of_queue(queue) | u64::from(protocol) << 32 | ports;
        Self(u64::from(src) << 32 | u64::from(dst), rest)
    }

    /// Returns true if equal words mean equal flows.
    #[inline(always)]
    pub(super) const fn is_whole(self) -> bool {
        self.1 >> KIND_SHIFT == IPV4
    }

    /// Returns true if an IP flow has this protocol and destination port.
    #[inline(always)]
    pub(super) fn goes_to(self, protocol: u8, dst_port: u16) -> bool {
        // The protocol and the lower of the ports, as `ipv4` packs them.
        self.1 & 0xff_0000_ffff == u64::from(protocol) << 32 | u64::from(dst_port)
    }
}

const QUEUE_SHIFT: u32 = 48;

/// Returns the bits of a queue: ten of its port and three of its class.
#[inline(always)]
fn of_queue(queue: Queue) -> u64 {
    u64::from(queue.port.get()) << QUEUE_SHIFT | u64::from(queue.class.get()) << 58
}

/// Keyed hash of flows; collisions cannot be constructed without the seed. Words are multiplied by
/// secret ones, and both halves of the products are used (as in wyhash).
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash([u64; 5]);

impl FlowHash {
    /// Creates the hash of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        Self([(); 5].map(|()| rng.next_u64()))
    }

    /// Packs a flow in a queue.
    #[inline]
    pub(super) fn pack(&self, queue: Queue, key: &FlowKey) -> Packed {
        match key {
            FlowKey::Ip(flow) => {
                let ports = (flow.src_port, flow.dst_port);
                if let (IpAddr::V4(src), IpAddr::V4(dst)) = (flow.src, flow.dst) {
                    let addresses = (src.to_bits(), dst.to_bits());
                    return Packed::ipv4(queue, addresses, flow.protocol.0, ports);
                }
                let address = |address: IpAddr| match address {
                    IpAddr::V4(a) => u128::from(a.to_bits()),
                    IpAddr::V6(a) => a.to_bits(),
                };
                let Packed(_, rest) = Packed::ipv4(queue, (0, 0), flow.protocol.0, ports);
                // Exclusive or turns the one kind into the other.
                let kind = (IPV4 ^ IPV6) << KIND_SHIFT;
                Packed(self.fold_all(address(flow.src), address(flow.dst)), rest ^ kind)
            }
            FlowKey::L2 { dst, src, vid } => {
                let vid = u64::from(vid.map_or(0, Vid::get));
                let addresses = self.fold_all(src.to_u64().into(), dst.to_u64().into());
                Packed(addresses, L2 << KIND_SHIFT | of_queue(queue) | vid)
            }
        }
    }

    /// Returns the hash of a packed flow.
    #[inline(always)]
    pub(super) fn of(&self, Packed(first, second): Packed) -> u64 {
        let [a, b, c, d, _] = self.0;
        // After one round alone, a word that equals its secret would give 0 whatever the other word is.
        fold(fold(first ^ a, second ^ b) ^ c, d)
    }

    fn fold_all(&self, src: u128, dst: u128) -> u64 {
        let [a, b, c, d, e] = self.0;
        let src = fold(src as u64 ^ a, (src >> 64) as u64 ^ b);
        let dst = fold(dst as u64 ^ c, (dst >> 64) as u64 ^ d);
        // Rotated, so that source and destination cannot be exchanged.
        fold(src ^ dst.rotate_left(32) ^ a, dst ^ e)
    }
}

/// Returns both halves of the product, combined by XOR.
#[inline(always)]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::Ipv4Addr;

    use super::*;
    use ground::units::{PortId, TrafficClass};
    use wire::ip::Protocol;

    const FLOW: FiveTuple = FiveTuple {
        src: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        dst: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        protocol: Protocol(0),
        src_port: 0,
        dst_port: 0,
    };

    #[test]
    fn flows_that_differ_in_anything_have_other_words_and_hashes() {
        let v6 = |n: u128| IpAddr::V6(n.into());
        let v4 = |n: u32| IpAddr::V4(n.into());
        let l2 = |dst, src, vid| FlowKey::L2 { dst: Mac([dst; 6]), src: Mac([src; 6]), vid };
        let keys = [
            FlowKey::Ip(FLOW),
            FlowKey::Ip(FiveTuple { src: v4(1), ..FLOW }),
            FlowKey::Ip(FiveTuple { dst: v4(1), ..FLOW }),
            FlowKey::Ip(FiveTuple { src: v6(0), dst: v6(0), ..FLOW }),
            FlowKey::Ip(FiveTuple { src: v6(1 << 64), dst: v6(0), ..FLOW }),
            FlowKey::Ip(FiveTuple { protocol: Protocol(255), ..FLOW }),
            FlowKey::Ip(FiveTuple { src_port: u16::MAX, ..FLOW }),
            FlowKey::Ip(FiveTuple { dst_port: u16::MAX, ..FLOW }),
            l2(0, 0, None),
            l2(0, 0, Some(Vid::MAX)),
            l2(2, 0, None),
            l2(0, 2, None),
        ];
        let queues = [(0, 0), (0, 7), (1, 0), (1023, 0), (1023, 7)].map(|(port, class)| Queue {
            port: PortId::new(port).unwrap(),
            class: TrafficClass::new(class).unwrap(),
        });
        let all = keys.iter().flat_map(|key| queues.map(|queue| (queue, key)));
        let hash = FlowHash::new(1);
        let words = |(queue, key)| hash.pack(queue, key);
        let hashes: HashSet<_> = all.clone().map(|one| hash.of(words(one))).collect();
        let words: HashSet<_> = all.clone().map(words).map(|Packed(a, b)| (a, b)).collect();
        assert_eq!((words.len(), hashes.len()), (60, 60));
        assert!(!words.iter().any(|(_, second)| *second == 0));
        for (queue, key) in all {
            let packed = hash.pack(queue, key);
            let v4 = |flow: &FiveTuple| flow.src.is_ipv4();
            assert_eq!(packed.is_whole(), matches!(key, FlowKey::Ip(flow) if v4(flow)));
        }
    }

    #[test]
    fn another_seed_puts_flows_elsewhere() {
        let queue = Queue { port: PortId::MIN, class: TrafficClass::MIN };
        let key = |n| FlowKey::Ip(FiveTuple { src: IpAddr::V4(Ipv4Addr::from_bits(n)), ..FLOW });
        // Flows of the same bucket (of 256) under one seed are spread under another.
        let bucket = |seed, n| {
            let hash = FlowHash::new(seed);
            hash.of(hash.pack(queue, &key(n))) >> 16 & 255
        };
        let together: Vec<u32> = (0..60_000).filter(|n| bucket(1, *n) == 7).collect();
        assert!((150..350).contains(&together.len()));
        let spread: HashSet<_> = together.iter().map(|n| bucket(2, *n)).collect();
        assert!(spread.len() > 120, "{}", spread.len());
    }
}
