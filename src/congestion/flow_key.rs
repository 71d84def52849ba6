//! What a congesting flow is known by.

use core::net::IpAddr;

use super::detect::Queue;
use crate::units::{Mac, Vid};
use crate::wire::flow::FiveTuple;

/// What identifies a flow.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FlowKey {
    /// An IP flow, by its 5-tuple.
    Ip(FiveTuple),
    /// Anything else, by its addresses and VLAN.
    L2 {
        /// Destination address.
        dst: Mac,
        /// Source address.
        src: Mac,
        /// The VLAN, where there is one.
        vid: Option<Vid>,
    },
}

/// Octets of a flow and its queue that are hashed.
const HASHED: usize = 1 + 16 + 16 + 1 + 4 + 3;

impl FlowKey {
    /// The flow and its queue, in one row. Unlike flows have unlike rows.
    pub(super) fn row(&self, queue: Queue) -> [u8; HASHED] {
        let mut row = [0; HASHED];
        let mut at = 0;
        let mut put = |octets: &[u8]| {
            row[at..at + octets.len()].copy_from_slice(octets);
            at += octets.len();
        };
        put(&queue.port.get().to_be_bytes());
        put(&[queue.class.get()]);
        match self {
            Self::Ip(flow) => {
                put(&[if flow.src.is_ipv4() { 4 } else { 6 }]);
                for address in [flow.src, flow.dst] {
                    match address {
                        IpAddr::V4(a) => put(&a.octets()),
                        IpAddr::V6(a) => put(&a.octets()),
                    }
                }
                put(&[flow.protocol.0]);
                put(&flow.src_port.to_be_bytes());
                put(&flow.dst_port.to_be_bytes());
            }
            Self::L2 { dst, src, vid } => {
                put(&[2]);
                put(&dst.0);
                put(&src.0);
                put(&vid.map_or(0, Vid::get).to_be_bytes());
            }
        }
        row
    }
}
