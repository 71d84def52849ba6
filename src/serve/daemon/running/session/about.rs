//! Version and memory of the switch.

use crate::messages::About;

/// Returns the version of the program, and the memory of its process.
pub(super) fn about() -> About {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    About { version: ground::program::version().to_owned(), memory: resident(&status) }
}

/// Returns the resident memory in bytes in the form of `/proc/PID/status` (proc(5)), which is in KiB; `None`
/// if there is none. Hugepages, whose number does not change while a switch runs, are not in it.
fn resident(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_this_process_or_unknown() {
        assert_eq!(resident("Name:\tsluice\nVmRSS:\t    1234 kB\nThreads:\t1\n"), Some(1_263_616));
        for other in ["", "VmRSS:\t12", "VmRSS: many kB", "VmRSS: 18446744073709551615 kB"] {
            assert_eq!(resident(other), None, "{other}");
        }
        assert!(about().memory.is_some_and(|bytes| bytes > 100_000));
    }
}
