//! A free number for the fanout group of an af_packet device.
//!
//! DPDK's driver puts its socket into a fanout group of the kernel, alone, whose number is the process's
//! exclusive-ored with the interface's, in 16 bits. Two processes that were started one after the other
//! on interfaces that were made one after the other easily have the same, and the kernel refuses the
//! second. The driver is then tried again with another number in place of the process's.

use std::hash::{BuildHasher, RandomState};

use core::ffi::c_int;
use dpdk_sys as sys;

use super::error::Logged;

/// Numbers that are tried. Each is free unless one process in 65,536 has it.
const TRIES: usize = 8;

/// Attaches a device, with another number where that of its group is taken.
pub(super) fn attach(
    attach: impl Fn() -> Result<(), (c_int, Logged)>,
) -> Result<(), (c_int, Logged)> {
    let mut result = attach();
    for _ in 1..TRIES {
        if !result.as_ref().is_err_and(|(_, logged)| is_taken(logged)) {
            break;
        }
        let _pretended = Pretended::new();
        result = attach();
    }
    result
}

/// Whether a failure is that the group's number is taken: the kernel's EINVAL.
pub(super) fn is_taken(logged: &Logged) -> bool {
    logged.0.iter().any(|line| line.contains("PACKET_FANOUT"))
}

/// Another number of this process, for this thread and as long as this is held.
struct Pretended;

impl Pretended {
    fn new() -> Self {
        let number = RandomState::new().hash_one(0) % 65_535 + 1;
        // SAFETY: it sets a variable of this thread.
        unsafe { sys::sluice_pretend_pid(number as c_int) };
        Self
    }
}

impl Drop for Pretended {
    fn drop(&mut self) {
        // SAFETY: it sets a variable of this thread.
        unsafe { sys::sluice_pretend_pid(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_number_is_tried_where_one_is_taken_and_only_there() {
        let taken = || Logged(vec!["x: could not set PACKET_FANOUT on AF_PACKET socket".into()]);
        let tries = core::cell::Cell::new(0);
        let numbers = core::cell::RefCell::new(vec![]);
        let busy = |until: usize| {
            tries.set(tries.get() + 1);
            numbers.borrow_mut().push(std::process::id());
            if tries.get() < until { Err((-1, taken())) } else { Ok(()) }
        };
        assert!(attach(|| busy(3)).is_ok());
        let own = std::process::id();
        let seen = numbers.borrow().clone();
        assert_eq!(seen[0], own);
        assert!(seen.len() == 3 && seen[1] != seen[2], "{seen:?}");
        tries.set(0);
        assert!(is_taken(&attach(|| busy(usize::MAX)).unwrap_err().1));
        assert_eq!(tries.get(), TRIES);
        tries.set(0);
        let other = || {
            tries.set(tries.get() + 1);
            Err((-1, Logged::default()))
        };
        assert!(attach(other).is_err());
        assert_eq!((tries.get(), std::process::id()), (1, own));
    }
}
