//! Memory of this process outside of DPDK.

/// Returns freed memory to the system. The allocator would keep it, and a test of ten thousand
/// flows uses some hundred megabytes that the next one may not need.
pub fn give_back_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it may be called at any time by any thread, and changes nothing that is allocated.
    unsafe {
        libc::malloc_trim(0)
    };
}
