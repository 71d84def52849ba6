//! DPDK's packet buffer, with the fields that the hot path uses.
//!
//! bindgen's nested unions of `rte_mbuf` differ in every release, while the binary layout has been
//! the same since 21.11. So the fields are laid out here by hand, the C compiler checks the numbers
//! in `csrc/shim.h` against the real structure, and this file checks itself against them.

use core::ffi::c_void;
use core::mem::{offset_of, size_of};

use crate::bindings::{self, rte_mempool};

/// `struct rte_mbuf`: the header in front of a frame's memory.
#[repr(C, align(64))]
#[allow(non_camel_case_types)]
pub struct rte_mbuf {
    /// Start of this buffer's memory.
    pub buf_addr: *mut c_void,
    _iova: u64,
    /// Offset in bytes from `buf_addr` to the first byte of the frame.
    pub data_off: u16,
    /// Reference count. Always 1 where Sluice owns the buffer.
    pub refcnt: u16,
    /// Number of segments of the frame.
    pub nb_segs: u16,
    /// Port that received it.
    pub port: u16,
    /// `RTE_MBUF_F_*`.
    pub ol_flags: u64,
    /// Header types found by the receiving device.
    pub packet_type: u32,
    /// Length in bytes of the whole frame.
    pub pkt_len: u32,
    /// Length in bytes of the frame in this buffer.
    pub data_len: u16,
    /// VLAN tag that the device stripped, if any.
    pub vlan_tci: u16,
    /// Hash of a received frame, or what a sender leaves there for its port.
    pub hash: [u32; 2],
    /// Outer VLAN tag that the device stripped, if any.
    pub vlan_tci_outer: u16,
    /// Bytes of memory at `buf_addr`.
    pub buf_len: u16,
    /// Pool to which the buffer returns.
    pub pool: *mut rte_mempool,
    /// Next segment of this frame.
    pub next: *mut rte_mbuf,
    /// Header lengths for transmit offloads.
    pub tx_offload: u64,
    _rest: [u64; 6],
}

const _: () = {
    const fn at(offset: usize, want: u32) {
        assert!(offset == want as usize);
    }
    at(size_of::<rte_mbuf>(), bindings::SLUICE_MBUF_SIZE);
    at(offset_of!(rte_mbuf, buf_addr), bindings::SLUICE_MBUF_BUF_ADDR);
    at(offset_of!(rte_mbuf, data_off), bindings::SLUICE_MBUF_DATA_OFF);
    at(offset_of!(rte_mbuf, refcnt), bindings::SLUICE_MBUF_REFCNT);
    at(offset_of!(rte_mbuf, nb_segs), bindings::SLUICE_MBUF_NB_SEGS);
    at(offset_of!(rte_mbuf, port), bindings::SLUICE_MBUF_PORT);
    at(offset_of!(rte_mbuf, ol_flags), bindings::SLUICE_MBUF_OL_FLAGS);
    at(offset_of!(rte_mbuf, packet_type), bindings::SLUICE_MBUF_PACKET_TYPE);
    at(offset_of!(rte_mbuf, pkt_len), bindings::SLUICE_MBUF_PKT_LEN);
    at(offset_of!(rte_mbuf, data_len), bindings::SLUICE_MBUF_DATA_LEN);
    at(offset_of!(rte_mbuf, vlan_tci), bindings::SLUICE_MBUF_VLAN_TCI);
    at(offset_of!(rte_mbuf, vlan_tci_outer), bindings::SLUICE_MBUF_VLAN_TCI_OUTER);
    at(offset_of!(rte_mbuf, buf_len), bindings::SLUICE_MBUF_BUF_LEN);
    at(offset_of!(rte_mbuf, pool), bindings::SLUICE_MBUF_POOL);
    at(offset_of!(rte_mbuf, next), bindings::SLUICE_MBUF_NEXT);
    at(offset_of!(rte_mbuf, tx_offload), bindings::SLUICE_MBUF_TX_OFFLOAD);
};
