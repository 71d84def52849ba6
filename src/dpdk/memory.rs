//! Memory of this process that is not DPDK's.

/// Gives memory that was freed back to the system. The allocator keeps it for later, and a test of ten
/// thousand flows is some hundred megabytes that the next one may not need.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time by any thread, and changes nothing that is allocated.
    unsafe {
        libc::malloc_trim(0)
    };
}
