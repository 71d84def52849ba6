//! Memory for frames, reserved at the start and never grown.
//!
//! Each worker keeps a cache of free frames, so that allocating and freeing one touches no shared
//! memory. Frames in another worker's cache are out of reach, so a pool that must not run dry
//! before a ledger of N frames does holds N plus [`Pool::stranded_max`].

use core::ptr::NonNull;
use std::ffi::CString;
use std::sync::Arc;

use contracts::frame::{BURST, Burst, FCS_BYTES};
use dpdk_sys as sys;
use dpdk_sys::{rte_mbuf, rte_mempool};

use super::eal::Eal;
use super::error::{self, Error, errno, strerror};
use super::hot;
use super::mbuf::{self, Mbuf};

/// Bytes of a frame besides its room: DPDK's header (128) and the pool's (64).
const OVERHEAD_BYTES: u64 = 192;

/// Longest frame of a pool, FCS included: the limit of a 16-bit length.
const FRAME_BYTES_MAX: u32 = 64_512;

/// Size of a pool and its frames.
#[derive(Clone, Debug)]
pub struct PoolOptions {
    /// Name, 1 to 24 characters, unique in the process.
    pub name: String,
    /// Number of frames: 1 or more.
    pub frames: u32,
    /// Longest frame with its FCS, in bytes (64 to 64512). Default: 1522, an 802.1Q frame.
    pub max_frame: u32,
    /// Size of each worker's cache in frames (0 to 512), at most a third of all. Default: 256.
    pub cache: u32,
}

impl Default for PoolOptions {
    fn default() -> Self {
        Self { name: "frames".into(), frames: 8_191, max_frame: 1_522, cache: 256 }
    }
}

/// A handle on a pool; clones are handles on the same one. The pool is freed when the last handle
/// is dropped and every frame was returned; if a frame is missing, the memory stays until the
/// process ends.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    pool: NonNull<rte_mempool>,
    name: String,
    frames: u32,
    max_frame: u32,
    room: u32,
    cache: u32,
    eal: Eal,
}

// SAFETY: DPDK's pools support any number of threads: a cache is used by its lcore alone, and the
// ring behind the caches is multi-producer and multi-consumer.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

impl Pool {
    /// Allocates a pool.
    ///
    /// # Errors
    /// [`Error::Option`] for a value out of its range or a name that is taken, [`Error::NoMemory`].
    pub fn new(eal: &Eal, options: &PoolOptions) -> Result<Self, Error> {
        let fail = |what: String, why: &str| Err(Error::Option { what, why: why.into() });
        if options.name.is_empty() || options.name.len() > 24 {
            return fail(format!("pool name `{}`", options.name), "1 to 24 characters");
        }
        if options.frames == 0 {
            return fail(format!("pool {}: 0 frames", options.name), "1 or more");
        }
        if !(64..=FRAME_BYTES_MAX).contains(&options.max_frame) {
            return fail(
                format!("pool {}: frames of {} octets", options.name, options.max_frame),
                "64 to 64512",
            );
        }
        if options.cache > sys::SLUICE_MEMPOOL_CACHE_MAX {
            return fail(
                format!("pool {}: a cache of {}", options.name, options.cache),
                "0 to 512 frames per worker",
            );
        }
        // Many NICs count their buffers in KiB, rounding down; a buffer that is short by a few
        // bytes would make them chain two for every long frame.
        let room = options.max_frame.next_multiple_of(1_024);
        Self::with_room(eal, options, room)
    }

    /// Pool for frames of exactly `max_frame` bytes, for ports that only send from it.
    pub(super) fn for_sending(eal: &Eal, options: &PoolOptions) -> Result<Self, Error> {
        Self::with_room(eal, options, (options.max_frame - FCS_BYTES).next_multiple_of(64))
    }

    fn with_room(eal: &Eal, options: &PoolOptions, room: u32) -> Result<Self, Error> {
        let PoolOptions { ref name, frames, max_frame, .. } = *options;
        // DPDK refuses a pool that its caches could empty.
        let cache = options.cache.min(frames / 3);
        let c_name = CString::new(name.as_str()).map_err(|_| Error::Option {
            what: "pool name".into(),
            why: "a zero byte cannot stand in it".into(),
        })?;
        // With 4 KiB pages, buffers that do not cross pages all begin at the same few page offsets,
        // and a burst of them contends for the same cache sets: 2.4 times slower, measured.
        let flags = if eal.hugepages() { 0 } else { sys::RTE_MEMPOOL_F_NO_IOVA_CONTIG };
        let data_room = (sys::SLUICE_HEADROOM + room) as u16;
        let any_socket = sys::SLUICE_SOCKET_ID_ANY_BITS as i32;
        let made = error::capture(|| {
            // SAFETY: EAL runs while `eal` is alive; the name ends with a zero and is copied.
            let pool = unsafe {
                sys::sluice_mbuf_pool_create(
                    c_name.as_ptr(),
                    frames,
                    cache,
                    data_room,
                    any_socket,
                    flags,
                )
            };
            NonNull::new(pool).ok_or_else(errno)
        });
        let pool = made.map_err(|(code, logged)| match code {
            libc::EEXIST => Error::Option {
                what: format!("pool name `{name}`"),
                why: "a pool of this name exists".into(),
            },
            // ENOBUFS: there is memory, but no contiguous piece that is long enough.
            libc::ENOMEM | libc::ENOBUFS => Error::NoMemory {
                what: format!("pool {name} of {frames} frames"),
                need_kib: u64::from(frames) * (u64::from(data_room) + OVERHEAD_BYTES) / 1_024,
                remedy: memory_remedy(eal),
                logged,
            },
            _ => Error::Option { what: format!("pool {name}"), why: strerror(code) },
        })?;
        let (name, eal) = (name.clone(), eal.clone());
        Ok(Self(Arc::new(Inner { pool, name, frames, max_frame, room, cache, eal })))
    }

    /// Allocates an empty frame; none if all are in use.
    #[inline]
    pub fn alloc(&self) -> Option<Mbuf> {
        // SAFETY: alive while this handle is.
        let m = unsafe { hot::alloc(self.0.pool.as_ptr()) }?;
        // SAFETY: just taken from the pool, which is not freed while a frame is in use.
        Some(unsafe { Mbuf::from_raw(m) })
    }

    /// Appends up to `n` frames of `len` bytes (without FCS) to `out`, which has room for them, and
    /// returns their number. Each begins with `head`, followed by zeroes, and is then changed by
    /// `edit`, which gets the whole frame.
    #[inline]
    pub(super) fn frames_like(
        &self,
        n: usize,
        head: &[u8],
        len: usize,
        out: &mut Burst<Mbuf>,
        mut edit: impl FnMut(&mut [u8]),
    ) -> usize {
        assert!(head.len() <= len && len <= (self.0.max_frame - FCS_BYTES) as usize);
        let before = out.len();
        let n = n.min(out.remaining_capacity());
        // SAFETY: `before` is within the array.
        let raw: *mut *mut rte_mbuf = unsafe { out.as_mut_ptr().add(before) }.cast();
        // SAFETY: the pool is alive while this handle is; there is room for `n`, and an `Mbuf` is a
        // pointer to a buffer.
        let made = unsafe { hot::get_many(self.0.pool.as_ptr(), raw, n) };
        for i in 0..made {
            // SAFETY: `made` is not more than there is room for.
            let from = unsafe { raw.add(i) };
            // SAFETY: `made` pointers were written.
            let m = unsafe { from.read() };
            // SAFETY: the pool has no null pointers.
            let m = unsafe { NonNull::new_unchecked(m) };
            // SAFETY: just taken from the pool, whose frames may be that long.
            let first = unsafe { hot::reset(m, len as u16) };
            // SAFETY: `len` bytes from there on are in the buffer, which is this function's alone.
            let frame = unsafe { core::slice::from_raw_parts_mut(first, len) };
            mbuf::fill(frame, head);
            edit(frame);
        }
        // SAFETY: the pool is not freed while a frame is in use, and these frames are complete.
        unsafe { out.set_len(before + made) };
        made
    }

    /// Allocates a frame with these bytes (without FCS); none if all are in use or this is longer
    /// than a frame of this pool.
    #[inline]
    pub fn frame(&self, octets: &[u8]) -> Option<Mbuf> {
        let mut frame = self.alloc()?;
        frame.append(octets.len())?.copy_from_slice(octets);
        Some(frame)
    }

    /// Fills `out` up to `n` frames (at most a burst), each with these bytes. Returns false if the
    /// pool ran out first.
    pub fn fill(&self, out: &mut Burst<Mbuf>, n: usize, octets: &[u8]) -> bool {
        while out.len() < n.min(BURST) {
            match self.frame(octets) {
                Some(frame) => out.push(frame),
                None => return false,
            }
        }
        true
    }

    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Total number of frames.
    pub fn frames(&self) -> u32 {
        self.0.frames
    }

    /// Bytes of a received frame that one buffer has room for.
    pub(super) fn room(&self) -> u32 {
        self.0.room
    }

    /// Longest frame, FCS included.
    pub fn max_frame(&self) -> u32 {
        self.0.max_frame
    }

    /// Most free frames that `workers` workers can hold in their caches, out of reach of another: a
    /// cache is flushed when it reaches one and a half times its size.
    pub fn stranded_max(&self, workers: u32) -> u32 {
        workers * (self.0.cache * 3 / 2)
    }

    /// Number of free frames, in caches or behind them. Exact while no other thread allocates or
    /// frees any. Not for the path of a frame: it walks all caches.
    pub fn available(&self) -> u32 {
        // SAFETY: alive while this handle is.
        unsafe { sys::rte_mempool_avail_count(self.0.pool.as_ptr()) }
    }

    /// Number of frames in use. Exact while no other thread allocates or frees any.
    pub fn in_use(&self) -> u32 {
        self.0.frames.saturating_sub(self.available())
    }

    /// DPDK handle of the pool.
    pub fn eal(&self) -> &Eal {
        &self.0.eal
    }

    pub(super) fn as_ptr(&self) -> *mut rte_mempool {
        self.0.pool.as_ptr()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let pool = self.pool.as_ptr();
        // SAFETY: alive until this function frees it.
        let available = unsafe { sys::rte_mempool_avail_count(pool) };
        if available < self.frames {
            self.eal.pin();
            return;
        }
        // SAFETY: every frame was returned, so nothing points into the pool any more.
        unsafe { sys::rte_mempool_free(pool) };
    }
}

/// Remedy for a lack of DPDK memory.
pub(super) fn memory_remedy(eal: &Eal) -> &'static str {
    if eal.hugepages() {
        "free or add hugepages (as root: echo 512 > /proc/sys/vm/nr_hugepages), take fewer or \
         shorter frames, or start without hugepages"
    } else {
        "start with more memory, or take fewer or shorter frames"
    }
}

/// Returns freed memory to the system. The allocator would keep it, and a test of ten thousand
/// flows uses some hundred megabytes that the next one may not need.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time by any thread, and changes nothing that is allocated.
    unsafe {
        libc::malloc_trim(0)
    };
}
