//! Two ports back to back in memory: each receives the frames that the other sends, without a copy.
//!
//! The demo and the labs in one process run on these. Each direction is a ring of frames. A full ring
//! refuses frames, as a full link does.

use core::ptr::NonNull;
use std::ffi::CString;
use std::sync::Arc;

use dpdk_sys as sys;
use dpdk_sys::rte_ring;

use super::device::{Adopted, Device, Pools};
use super::eal::Eal;
use super::error::{self, Error, errno, strerror};
use super::kernel_side::KernelSide;
use super::pool::memory_remedy;
use super::port::{DpdkPort, Stopped};
use super::queues::QUEUES_MAX;
use super::spec::{Claim, Spec};

/// Most frames that one direction can hold.
const ENTRIES_MAX: u32 = 1 << 20;

/// Most pairs of a process without other ports, by DPDK's limit of ports (`RTE_MAX_ETHPORTS`, 32 as
/// distributed).
pub const RING_PAIRS_MAX: usize = sys::SLUICE_MAX_PORTS as usize / 2;

/// Name and size of a pair.
#[derive(Clone, Debug)]
pub struct RingOptions {
    /// Name of the pair, 1 to 16 characters, unique in the process; its ports are `<name>.a` and
    /// `<name>.b`.
    pub name: String,
    /// Capacity of each direction in frames (1 to 1048576). Default: 256.
    pub entries: u32,
    /// Queues of each port, 1 to [`QUEUES_MAX`]; each is a direction of its own, to the queue with
    /// the same number. Default: 1.
    pub queues: u16,
}

impl Default for RingOptions {
    fn default() -> Self {
        Self { name: "link".into(), entries: 256, queues: 1 }
    }
}

/// Makes two ports, back to back. They share nothing else, so each may be polled by its own thread.
///
/// # Errors
/// [`Error::Option`] for a value out of its range or a name that is taken, [`Error::NoMemory`].
pub fn ring_pair(
    eal: &Eal,
    options: &RingOptions,
) -> Result<(DpdkPort<Stopped>, DpdkPort<Stopped>), Error> {
    let RingOptions { ref name, entries, queues } = *options;
    let fail = |what: String, why: &str| Err(Error::Option { what, why: why.into() });
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 16 || !name.chars().all(good) {
        let why = "1 to 16 letters, digits, dashes or underscores";
        return fail(format!("ring pair `{name}`"), why);
    }
    if !(1..=ENTRIES_MAX).contains(&entries) {
        return fail(format!("ring pair {name}: {entries} entries"), "1 to 1048576");
    }
    if queues == 0 || usize::from(queues) > QUEUES_MAX {
        return fail(format!("ring pair {name}: {queues} queues"), "1 to 16");
    }
    let pools = Pools::default();
    let rings = |way: &str| -> Result<Vec<Arc<Ring>>, Error> {
        let ring = |queue| Ring::new(eal, &format!("{name}.{way}{queue}"), entries).map(Arc::new);
        (0..queues).map(ring).collect()
    };
    let (there, back) = (rings("ab")?, rings("ba")?);
    let a = port(eal, &format!("{name}.a"), &back, &there, &pools)?;
    let b = port(eal, &format!("{name}.b"), &there, &back, &pools)?;
    Ok((a, b))
}

fn port(
    eal: &Eal,
    name: &str,
    rx: &[Arc<Ring>],
    tx: &[Arc<Ring>],
    pools: &Pools,
) -> Result<DpdkPort<Stopped>, Error> {
    let c_name = CString::new(name).expect("checked to be letters and digits");
    // DPDK prepends its driver's name.
    let spec = Spec::parse(&format!("net_ring_{name},entries={}", rx[0].entries))?;
    let (claim, kernel) = (Claim::take(&spec)?, KernelSide::new(&spec));
    let made = error::capture(|| {
        let all = |rings: &[Arc<Ring>]| rings.iter().map(|r| r.ring.as_ptr()).collect::<Vec<_>>();
        let (rx, tx) = (all(rx), all(tx));
        let n = rx.len() as u32;
        // SAFETY: EAL runs; the arrays have `n` rings each, which the device keeps alive below, and
        // are copied, as is the name, which ends with a zero.
        let id =
            unsafe { sys::rte_eth_from_rings(c_name.as_ptr(), rx.as_ptr(), n, tx.as_ptr(), n, 0) };
        u16::try_from(id).map_err(|_| errno())
    });
    let step = "make a port of its rings";
    let id = made.map_err(|(code, logged)| spec.failed(step, strerror(code), logged))?;
    // Either port may be gone while frames of its pools are still in the ring to the other.
    let rings = [rx, tx].concat();
    let parts = Adopted { spec, kernel, claim, rings, pools: pools.clone() };
    Ok(DpdkPort::of(Device::adopt(eal, id, parts)?))
}

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
        let made = error::capture(|| {
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
