//! The path of a frame: DPDK's inline C functions in Rust, so that they are inlined here too.
//!
//! A call through a C shim costs 1.3 times as much to allocate and free an mbuf, and 2.4 times as
//! much for one operation on a ring. Operations once per batch (a cache that is empty or full) and
//! frames that Sluice never makes (chained, attached, shared) go to the shim.

use core::cell::Cell;
use core::ptr::{self, NonNull};

use dpdk_sys as sys;
use dpdk_sys::{rte_mbuf, rte_mempool, rte_mempool_cache};

use super::mbuf::Mbuf;
use contracts::frame::{BURST, Burst};

/// Initial value of [`LCORE`] before DPDK was queried; no lcore and not `LCORE_ID_ANY`.
const UNKNOWN: u32 = u32::MAX - 1;

thread_local! {
    /// Lcore of this thread. DPDK has it in a thread-local variable, which Rust cannot read without
    /// a call.
    static LCORE: Cell<u32> = const { Cell::new(UNKNOWN) };
}

/// Lcore of the calling thread, or `LCORE_ID_ANY`.
#[inline(always)]
pub(super) fn lcore() -> u32 {
    let id = LCORE.get();
    if id == UNKNOWN { refresh_lcore() } else { id }
}

/// Queries DPDK again, which is required after every change of this thread's registration.
#[cold]
pub(super) fn refresh_lcore() -> u32 {
    // SAFETY: reads a thread-local variable.
    let id = unsafe { sys::sluice_lcore_id() };
    LCORE.set(id);
    id
}

/// Cache of the calling thread in front of `pool`, or null.
///
/// # Safety
/// `pool` is alive.
#[inline(always)]
unsafe fn cache(pool: *mut rte_mempool) -> *mut rte_mempool_cache {
    // SAFETY: alive by contract; the fields in use are constant over the pool's life.
    let pool = unsafe { &*pool };
    let lcore = lcore();
    if pool.cache_size == 0 || lcore >= sys::SLUICE_MAX_LCORE {
        return ptr::null_mut();
    }
    // SAFETY: a pool with caches has one for each lcore number.
    unsafe { pool.local_cache.add(lcore as usize) }
}

/// Takes one object from `pool`.
///
/// # Safety
/// `pool` is an alive pool of mbufs.
#[inline(always)]
pub(super) unsafe fn get(pool: *mut rte_mempool) -> Option<NonNull<rte_mbuf>> {
    // SAFETY: alive by contract.
    let cache = unsafe { cache(pool) };
    if !cache.is_null() {
        // SAFETY: a cache belongs to this thread alone.
        let cache = unsafe { &mut *cache };
        if cache.len != 0 {
            cache.len -= 1;
            return NonNull::new(cache.objs[cache.len as usize].cast());
        }
    }
    // SAFETY: passed on.
    unsafe { get_behind(pool, cache) }
}

/// Fills the cache, if there is one, and takes an object.
#[cold]
#[inline(never)]
unsafe fn get_behind(
    pool: *mut rte_mempool,
    cache: *mut rte_mempool_cache,
) -> Option<NonNull<rte_mbuf>> {
    // SAFETY: null, or this thread's own.
    if let Some(cache) = unsafe { cache.as_mut() } {
        let n = cache.size + 1;
        // SAFETY: the empty cache has room for twice its largest size.
        if unsafe { sys::sluice_mempool_dequeue(pool, cache.objs.as_mut_ptr(), n) } == 0 {
            cache.len = n - 1;
            return NonNull::new(cache.objs[n as usize - 1].cast());
        }
    }
    let mut one = ptr::null_mut();
    // SAFETY: `one` has room for one.
    let code = unsafe { sys::sluice_mempool_dequeue(pool, &mut one, 1) };
    if code == 0 { NonNull::new(one.cast()) } else { None }
}

/// Returns `m` to its pool.
///
/// # Safety
/// `m` came from its pool, is in the state in which a pool keeps its objects (one segment, one
/// owner, own data), and the caller has no further use of it.
#[inline(always)]
unsafe fn put(m: NonNull<rte_mbuf>) {
    // SAFETY: alive by contract; the pool outlives its mbufs.
    let pool = unsafe { (*m.as_ptr()).pool };
    let object = m.as_ptr().cast();
    // SAFETY: alive, see above.
    let cache = unsafe { cache(pool) };
    // SAFETY: null, or this thread's own.
    let Some(cache) = (unsafe { cache.as_mut() }) else {
        // SAFETY: one object, given away by contract.
        unsafe { sys::sluice_mempool_enqueue(pool, &object, 1) };
        return;
    };
    if cache.len >= cache.flushthresh {
        // SAFETY: the first `len` objects are in the cache.
        unsafe { sys::sluice_mempool_enqueue(pool, cache.objs.as_ptr(), cache.len) };
        cache.len = 0;
    }
    cache.objs[cache.len as usize] = object;
    cache.len += 1;
}

/// Allocates an empty frame from `pool`, with the usual headroom in front.
///
/// # Safety
/// `pool` is an alive pool of mbufs.
#[inline(always)]
pub(super) unsafe fn alloc(pool: *mut rte_mempool) -> Option<NonNull<rte_mbuf>> {
    // SAFETY: passed on.
    let m = unsafe { get(pool) }?;
    // SAFETY: just taken from the pool; it has room for nothing.
    unsafe { reset(m, 0) };
    Some(m)
}

/// Takes up to `n` objects from `pool` to `out`, each to be [`reset`], and returns their number.
///
/// # Safety
/// `pool` is an alive pool of mbufs, and `out` has room for `n` pointers.
#[inline(always)]
pub(super) unsafe fn get_many(pool: *mut rte_mempool, out: *mut *mut rte_mbuf, n: usize) -> usize {
    // SAFETY: alive by contract.
    let cache = unsafe { cache(pool) };
    // SAFETY: null, or this thread's own.
    if let Some(cache) = unsafe { cache.as_mut() } {
        let len = cache.len as usize;
        if len >= n {
            let from = &cache.objs[len - n..len];
            // SAFETY: both have `n` pointers; a cache is no memory of the caller's.
            unsafe { ptr::copy_nonoverlapping(from.as_ptr().cast(), out, n) };
            cache.len = (len - n) as u32;
            return n;
        }
    }
    for made in 0..n {
        // SAFETY: passed on.
        let Some(m) = (unsafe { get(pool) }) else { return made };
        // SAFETY: there is room for `n`.
        let to = unsafe { out.add(made) };
        // SAFETY: see above.
        unsafe { to.write(m.as_ptr()) };
    }
    n
}

/// Resets an mbuf from its pool to a frame of `len` bytes of unset content, and returns the place of
/// the first.
///
/// # Safety
/// It was just taken from a [`Pool`](super::Pool), whose buffers have the headroom and room for `len`
/// bytes behind it.
#[inline(always)]
pub(super) unsafe fn reset(m: NonNull<rte_mbuf>, len: u16) -> *mut u8 {
    // SAFETY: alive and the caller's alone, by contract.
    let h = unsafe { &mut *m.as_ptr() };
    debug_assert!(h.refcnt == 1 && h.nb_segs == 1 && h.next.is_null());
    // A pool's buffers have the headroom. The four members together are one store.
    debug_assert!(sys::SLUICE_HEADROOM as u16 <= h.buf_len);
    let front = sys::SLUICE_HEADROOM as u16;
    (h.data_off, h.refcnt, h.nb_segs, h.port) = (front, 1, 1, u16::MAX);
    h.ol_flags = 0;
    h.packet_type = 0;
    h.pkt_len = len.into();
    h.data_len = len;
    h.vlan_tci = 0;
    h.vlan_tci_outer = 0;
    h.tx_offload = 0;
    // SAFETY: the headroom is within the buffer.
    unsafe { h.buf_addr.cast::<u8>().add(front.into()) }
}

/// True if a buffer is in the state in which a pool keeps its objects: one owner, one segment, own
/// data.
#[inline(always)]
fn is_as_kept(h: &rte_mbuf) -> bool {
    let direct = h.ol_flags & sys::SLUICE_MBUF_NOT_DIRECT == 0;
    (h.refcnt, h.nb_segs) == (1, 1) && direct && h.next.is_null()
}

/// Frees a frame of any kind.
///
/// # Safety
/// `m` is alive and owned by the caller, who has no further use of it.
#[inline(always)]
pub(super) unsafe fn free(m: NonNull<rte_mbuf>) {
    // SAFETY: alive by contract.
    if is_as_kept(unsafe { m.as_ref() }) {
        // SAFETY: just checked to be as a pool keeps its objects.
        unsafe { put(m) };
    } else {
        // SAFETY: passed on.
        unsafe { sys::sluice_mbuf_free(m.as_ptr()) };
    }
}

/// Frees up to 64 frames of any kind, those of the first one's pool together.
///
/// # Safety
/// As [`free`] for each.
#[inline(always)]
pub(super) unsafe fn free_many(frames: &[NonNull<rte_mbuf>]) {
    let Some(first) = frames.first() else { return };
    // SAFETY: alive by contract.
    let pool = unsafe { first.as_ref() }.pool;
    // SAFETY: a pool outlives its mbufs.
    let cache = unsafe { cache(pool) };
    // SAFETY: null, or this thread's own.
    let Some(cache) = (unsafe { cache.as_mut() }) else {
        for m in frames {
            // SAFETY: passed on.
            unsafe { free(*m) };
        }
        return;
    };
    if cache.len >= cache.flushthresh {
        // SAFETY: the first `len` objects are in the cache.
        unsafe { sys::sluice_mempool_enqueue(pool, cache.objs.as_ptr(), cache.len) };
        cache.len = 0;
    }
    // A cache has room for a burst above its threshold.
    let len = cache.len as usize;
    let room = &mut cache.objs[len..len + frames.len()];
    let returns = |h: &rte_mbuf| h.pool == pool && is_as_kept(h);
    // By bit: the frames that are not put into the cache. To free one may change another, whose data it has.
    let (mut put, mut others) = (0, 0_u64);
    for (n, m) in frames.iter().enumerate() {
        // SAFETY: alive by contract.
        if returns(unsafe { m.as_ref() }) {
            room[put] = m.as_ptr().cast();
            put += 1;
        } else {
            others |= 1 << n;
        }
    }
    cache.len = (len + put) as u32;
    while others != 0 {
        // SAFETY: passed on.
        unsafe { free(frames[others.trailing_zeros() as usize]) };
        others &= others - 1;
    }
}

/// Driver functions of a port.
///
/// # Safety
/// The port is started, and stays so while the reference is used.
#[inline(always)]
unsafe fn ops(port: u16) -> &'static sys::rte_eth_fp_ops {
    let all = (&raw const sys::rte_eth_fp_ops).cast::<sys::rte_eth_fp_ops>();
    // SAFETY: the table has an entry for every number that a port can have.
    let entry = unsafe { all.add(port.into()) };
    // SAFETY: the entry is constant while the port is started.
    unsafe { &*entry }
}

/// Receives up to `n` frames at `place`, a port and its receive queue.
///
/// # Safety
/// The port is started with this queue, `out` has room for `n` pointers, and no other thread
/// receives on the queue.
#[inline(always)]
pub(super) unsafe fn rx_burst(place: (u16, u16), out: *mut *mut rte_mbuf, n: u16) -> u16 {
    let (port, queue) = place;
    // SAFETY: started, by contract.
    let ops = unsafe { ops(port) };
    let burst = ops.rx_pkt_burst.expect("a started port receives");
    // SAFETY: the table has an entry for every queue that a port can have.
    let entry = unsafe { ops.rxq.data.add(queue.into()) };
    // SAFETY: this queue is set up, by contract.
    let queue = unsafe { *entry };
    // SAFETY: by contract.
    unsafe { burst(queue, out, n) }
}

/// Hands up to `n` frames to `place`, a port and its transmit queue. Returns the number of frames, from the
/// front, that belong to the driver then.
///
/// # Safety
/// The port is started with this queue, `frames` has `n` mbufs of the caller's own, and no other
/// thread sends on the queue.
#[inline(always)]
pub(super) unsafe fn tx_burst(place: (u16, u16), frames: *mut *mut rte_mbuf, n: u16) -> u16 {
    let (port, queue) = place;
    // SAFETY: started, by contract.
    let ops = unsafe { ops(port) };
    let burst = ops.tx_pkt_burst.expect("a started port sends");
    // SAFETY: the table has an entry for every queue that a port can have.
    let entry = unsafe { ops.txq.data.add(queue.into()) };
    // SAFETY: this queue is set up, by contract.
    let queue = unsafe { *entry };
    // SAFETY: by contract.
    unsafe { burst(queue, frames, n) }
}

/// Receives as many frames into `out` as it has room for.
///
/// # Safety
/// The port is started and has the queue, and no other thread receives on the queue.
#[inline(always)]
pub(super) unsafe fn receive(place: (u16, u16), out: &mut Burst<Mbuf>) {
    let len = out.len();
    // SAFETY: `len` is within the array.
    let free = unsafe { out.as_mut_ptr().add(len) };
    // SAFETY: by contract; behind `len` there is room for the rest of a burst, and an `Mbuf` is a
    // pointer to a buffer.
    let n = unsafe { rx_burst(place, free.cast(), (BURST - len) as u16) };
    // SAFETY: the driver wrote `n` buffers there, which Sluice owns now.
    unsafe { out.set_len(len + usize::from(n)) };
    for frame in &out[len..] {
        frame.prefetch();
    }
}

/// Sends frames from the front of `out`; those that the driver refuses stay, in order.
///
/// # Safety
/// The port is started and has the queue, and no other thread sends on the queue.
#[inline(always)]
pub(super) unsafe fn send(place: (u16, u16), out: &mut Burst<Mbuf>) {
    let len = out.len();
    let frames = out.as_mut_ptr();
    // SAFETY: by contract; the array has `len` buffers that Sluice owns, and an `Mbuf` is a pointer
    // to one.
    let sent = usize::from(unsafe { tx_burst(place, frames.cast(), len as u16) });
    if sent < len {
        // SAFETY: `sent` is within the array.
        let rest = unsafe { frames.add(sent) };
        // SAFETY: so is the rest behind it; the driver owns the frames before.
        unsafe { rest.copy_to(frames, len - sent) };
    }
    // SAFETY: the first `len - sent` are the frames that were refused.
    unsafe { out.set_len(len - sent) };
}

/// The processor's timestamp counter.
#[inline(always)]
pub(super) fn rdtsc() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 has the instruction.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    // SAFETY: DPDK runs on no machine without a counter.
    unsafe {
        sys::sluice_rdtsc()
    }
}
