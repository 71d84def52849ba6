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

/// Keyed hash of flows; collisions cannot be constructed without the seed. Words are multiplied by
/// secret ones, and both halves of the products are used (as in wyhash). Three products for 41
/// bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHash([u64; 5]);

impl FlowHash {
    /// Creates the hash of a seed.
    pub(super) fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        Self([(); 5].map(|()| rng.next_u64()))
    }

    /// Returns the hash of a flow in a queue.
    #[inline]
    pub(super) fn of(&self, queue: Queue, key: &FlowKey) -> u64 {
        let (src, dst, rest) = words(queue, key);
        let [a, b, c, d, e] = self.0;
        let src = fold(src as u64 ^ a, (src >> 64) as u64 ^ b);
        let dst = fold(dst as u64 ^ c, (dst >> 64) as u64 ^ d);
        fold(src ^ dst.rotate_left(32) ^ a, rest ^ dst ^ e)
    }
}

/// Returns both halves of the product, combined by XOR.
#[inline]
const fn fold(a: u64, b: u64) -> u64 {
    let product = a as u128 * b as u128;
    product as u64 ^ (product >> 64) as u64
}

/// Returns the flow and its queue as words: source, destination, and the rest. The mapping is
/// injective.
#[inline]
fn words(queue: Queue, key: &FlowKey) -> (u128, u128, u64) {
    let queue = u64::from(queue.port.get()) << 48 | u64::from(queue.class.get()) << 58;
    match key {
        FlowKey::Ip(flow) => {
            let address = |address: IpAddr| match address {
                IpAddr::V4(a) => u128::from(a.to_bits()),
                IpAddr::V6(a) => a.to_bits(),
            };
            let kind = 1 + u64::from(flow.src.is_ipv6());
            let ports = u64::from(flow.src_port) << 16 | u64::from(flow.dst_port);
            let rest = queue | kind << 61 | u64::from(flow.protocol.0) << 32 | ports;
            (address(flow.src), address(flow.dst), rest)
        }
        FlowKey::L2 { dst, src, vid } => {
            let vid = u64::from(vid.map_or(0, Vid::get));
            (u128::from(src.to_u64()), u128::from(dst.to_u64()), queue | vid)
        }
    }
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
        let words: HashSet<_> = all.clone().map(|(queue, key)| words(queue, key)).collect();
        let hash = FlowHash::new(1);
        let hashes: HashSet<_> = all.map(|(queue, key)| hash.of(queue, key)).collect();
        assert_eq!((words.len(), hashes.len()), (60, 60));
    }

    #[test]
    fn another_seed_puts_flows_elsewhere() {
        let queue = Queue { port: PortId::MIN, class: TrafficClass::MIN };
        let key = |n| FlowKey::Ip(FiveTuple { src: IpAddr::V4(Ipv4Addr::from_bits(n)), ..FLOW });
        // Flows of the same bucket (of 256) under one seed are spread under another.
        let bucket = |seed, n| FlowHash::new(seed).of(queue, &key(n)) >> 16 & 255;
        let together: Vec<u32> = (0..60_000).filter(|n| bucket(1, *n) == 7).collect();
        assert!((150..350).contains(&together.len()));
        let spread: HashSet<_> = together.iter().map(|n| bucket(2, *n)).collect();
        assert!(spread.len() > 120, "{}", spread.len());
    }
}
