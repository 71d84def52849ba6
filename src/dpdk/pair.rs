//! Two ports back to back in memory: each receives the frames that the other sends, without a copy.
//!
//! The demo and the labs in one process run on these. A full ring refuses frames, as a full link
//! does.

use std::ffi::CString;
use std::sync::Arc;

use dpdk_sys as sys;

use super::device::{Device, Pools};
use super::eal::Eal;
use super::error::{Error, errno, strerror};
use super::kernel::KernelSide;
use super::log;
use super::port::{DpdkPort, Stopped};
use super::ring::Ring;
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
}

impl Default for RingOptions {
    fn default() -> Self {
        Self { name: "link".into(), entries: 256 }
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
    ring_pair_of_queues(eal, options, 1)
}

/// Makes two ports with this many queues each way, each queue back to back with the same of the
/// other port, and with as many entries.
///
/// # Errors
/// As [`ring_pair`].
pub fn ring_pair_of_queues(
    eal: &Eal,
    options: &RingOptions,
    queues: u16,
) -> Result<(DpdkPort<Stopped>, DpdkPort<Stopped>), Error> {
    let RingOptions { ref name, entries } = *options;
    let fail = |what: String, why: &str| Err(Error::Option { what, why: why.into() });
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 16 || !name.chars().all(good) {
        let why = "1 to 16 letters, digits, dashes or underscores";
        return fail(format!("ring pair `{name}`"), why);
    }
    if !(1..=ENTRIES_MAX).contains(&entries) {
        return fail(format!("ring pair {name}: {entries} entries"), "1 to 1048576");
    }
    let pools = Pools::default();
    let rings = |way: &str| -> Result<Vec<_>, Error> {
        let name = |queue| match queue {
            0 => format!("{name}.{way}"),
            _ => format!("{name}.{way}{queue}"),
        };
        (0..queues).map(|queue| Ring::new(eal, &name(queue), entries).map(Arc::new)).collect()
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
    let made = log::capture(|| {
        let all =
            |rings: &[Arc<Ring>]| -> Vec<_> { rings.iter().map(|r| r.ring.as_ptr()).collect() };
        let (rx, tx) = (all(rx), all(tx));
        let n = rx.len() as u32;
        // SAFETY: EAL runs; the arrays have `n` rings each, which the device keeps alive below; the
        // name ends with a zero and is copied.
        let id =
            unsafe { sys::rte_eth_from_rings(c_name.as_ptr(), rx.as_ptr(), n, tx.as_ptr(), n, 0) };
        u16::try_from(id).map_err(|_| errno())
    });
    let step = "make a port of its rings";
    let id = made.map_err(|(code, logged)| spec.failed(step, strerror(code), logged))?;
    // Either port may be gone while frames of its pools are still in the ring to the other.
    let rings = rx.iter().chain(tx).cloned().collect();
    Ok(DpdkPort::of(Device::adopt(eal, id, (spec, kernel), claim, rings, pools.clone())?))
}
