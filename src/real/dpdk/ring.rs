//! A ring of frames in memory: one direction between two ports that are back to back.

use core::ptr::NonNull;
use std::ffi::CString;

use dpdk_sys as sys;
use dpdk_sys::rte_ring;

use super::eal::Eal;
use super::error::{Error, errno, strerror};
use super::log;
use super::pool::memory_remedy;

/// One direction.
#[derive(Debug)]
pub(super) struct Ring {
    pub(super) ring: NonNull<rte_ring>,
    pub(super) entries: u32,
    _eal: Eal,
}

// SAFETY: the ring has one producer and one consumer, which are its two ports, and it is freed when
// neither exists any more.
unsafe impl Send for Ring {}
// SAFETY: a shared handle does nothing to it.
unsafe impl Sync for Ring {}

impl Ring {
    pub(super) fn new(eal: &Eal, name: &str, entries: u32) -> Result<Self, Error> {
        let c_name = CString::new(name).expect("checked to be letters and digits");
        let any_socket = sys::SLUICE_SOCKET_ID_ANY_BITS as i32;
        let flags = sys::RING_F_SP_ENQ | sys::RING_F_SC_DEQ | sys::RING_F_EXACT_SZ;
        let made = log::capture(|| {
            // SAFETY: EAL runs while `eal` is alive; the name ends with a zero and is copied.
            let ring = unsafe { sys::rte_ring_create(c_name.as_ptr(), entries, any_socket, flags) };
            NonNull::new(ring).ok_or_else(errno)
        });
        let ring = made.map_err(|(code, logged)| match code {
            libc::ENOMEM => Error::NoMemory {
                what: format!("ring {name} of {entries} entries"),
                need_kib: u64::from(entries.next_power_of_two()) * 8 / 1_024,
                remedy: memory_remedy(eal),
                logged,
            },
            libc::EEXIST => Error::Option {
                what: format!("ring pair `{name}`"),
                why: "a ring of this name exists".into(),
            },
            _ => Error::Option { what: format!("ring {name}"), why: strerror(code) },
        })?;
        Ok(Self { ring, entries, _eal: eal.clone() })
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the ports at both ends are gone; the ring is alive, and owns the frames left in
        // it.
        unsafe { sys::sluice_ring_drain(self.ring.as_ptr()) };
        // SAFETY: as above, and it is empty.
        unsafe { sys::rte_ring_free(self.ring.as_ptr()) };
    }
}
