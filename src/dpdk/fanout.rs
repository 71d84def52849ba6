//! A free number for the fanout group of an af_packet device.
//!
//! DPDK's driver puts its socket into a fanout group of the kernel, alone, whose number is the process's
//! exclusive-ored with the interface's, in 16 bits. Two processes that were started one after the other
//! on interfaces that were made one after the other easily have the same, and the kernel refuses the
//! second. The driver takes no number as an argument, so the shim puts another in its place where it is
//! set (`setsockopt` in `dpdk-sys/csrc/shim.c`, which changes no other call), and the device is attached
//! again.

use std::hash::{BuildHasher, RandomState};

use core::ffi::c_int;
use dpdk_sys as sys;

use super::error::Logged;

/// Numbers that are tried. Of 65,535, of which a machine has a few in use.
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
        let _group = Group::new();
        result = attach();
    }
    result
}

/// True if a failure is that the group's number is taken: the kernel's EINVAL.
pub(super) fn is_taken(logged: &Logged) -> bool {
    logged.0.iter().any(|line| line.contains("PACKET_FANOUT"))
}

/// Another number for the groups that this thread joins, as long as this is held.
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

    /// Flags of a group and the number that the driver has for it.
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

    /// The one call that others make too stays what it is, while a number is set and otherwise.
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
