//! Selects a free number for the fanout group of an af_packet device.
//!
//! DPDK's driver joins its socket to a fanout group of the kernel, alone. The group's number is the
//! process id exclusive-ored with the interface's index, in 16 bits. Two processes that were
//! started in sequence on interfaces that were created in sequence easily have the same number, and
//! the kernel refuses the second. The driver has no argument for it, so the shim replaces the
//! number in the `setsockopt` call (`dpdk-sys/csrc/shim.c`, which changes no other call), and the
//! device is attached again.

use std::hash::{BuildHasher, RandomState};

use core::ffi::c_int;
use dpdk_sys as sys;

use super::error::Logged;

/// Numbers to try, out of 65,535 of which a machine uses a few.
const TRIES: usize = 8;

/// Attaches a device, with another group number if the first is taken.
pub(super) fn attach(
    attach: impl Fn() -> Result<(), (c_int, Logged)>,
) -> Result<(), (c_int, Logged)> {
    let mut result = attach();
    for _ in 1..TRIES {
        if !result.as_ref().is_err_and(|(_, logged)| is_taken(logged)) {
            break;
        }
        let _group = Group::new();
        result = attach();
    }
    result
}

/// True if the failure is the kernel's EINVAL for a group number that is taken.
pub(super) fn is_taken(logged: &Logged) -> bool {
    logged.0.iter().any(|line| line.contains("PACKET_FANOUT"))
}

/// Replacement number for the groups that this thread joins while it is held.
struct Group;

impl Group {
    fn new() -> Self {
        let number = RandomState::new().hash_one(0) % 65_535 + 1;
        // SAFETY: it sets a variable of this thread.
        unsafe { sys::sluice_fanout_group(number as u16) };
        Self
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // SAFETY: it sets a variable of this thread.
        unsafe { sys::sluice_fanout_group(0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags of a group and the driver's number for it.
    const DRIVERS: u32 = 0x9000_0000 | 0x1234;

    fn argument() -> u32 {
        // SAFETY: it reads a variable of this thread.
        unsafe { sys::sluice_fanout_argument(DRIVERS) }
    }

    #[test]
    fn another_number_is_tried_where_one_is_taken_and_only_there() {
        let taken = || Logged(vec!["x: could not set PACKET_FANOUT on AF_PACKET socket".into()]);
        let seen = core::cell::RefCell::new(vec![]);
        let busy = |until: usize| {
            seen.borrow_mut().push(argument());
            let elsewhere = std::thread::spawn(argument).join().unwrap();
            assert_eq!(elsewhere, DRIVERS, "of another thread");
            if seen.borrow().len() < until { Err((-1, taken())) } else { Ok(()) }
        };
        assert!(attach(|| busy(3)).is_ok());
        let tried = seen.take();
        assert_eq!(tried[0], DRIVERS);
        assert!(tried.len() == 3 && tried[1] != tried[2], "{tried:x?}");
        assert!(tried.iter().all(|one| one >> 16 == DRIVERS >> 16), "{tried:x?}");
        assert!(is_taken(&attach(|| busy(usize::MAX)).unwrap_err().1));
        assert_eq!((seen.take().len(), argument()), (TRIES, DRIVERS));
        let other = || {
            seen.borrow_mut().push(argument());
            Err((-1, Logged::default()))
        };
        assert!(attach(other).is_err());
        assert_eq!(seen.take(), [DRIVERS]);
    }

    /// Other calls of `setsockopt` work unchanged, with a replacement number and without.
    #[test]
    fn other_options_of_sockets_are_set_as_ever() {
        let set_and_get = |seconds| {
            let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
            socket.set_ttl(seconds).unwrap();
            socket.set_nonblocking(true).unwrap();
            assert!(socket.set_ttl(256).is_err(), "the kernel's answer");
            socket.ttl().unwrap()
        };
        assert_eq!(set_and_get(17), 17);
        let _group = Group::new();
        assert_eq!(set_and_get(18), 18);
    }
}
