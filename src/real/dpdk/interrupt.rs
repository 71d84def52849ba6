//! EAL's interrupt thread, on which drivers handle the peers of their sockets.
//!
//! DPDK 22.11's memif driver frees a connection's memory when the peer disconnects (on the
//! interrupt thread) and when the device is stopped (on the caller's), without mutual exclusion:
//! two ends that stop at the same time free it twice. So a device is stopped and closed on the
//! interrupt thread, where no other callback runs meanwhile.

use core::ffi::c_void;
use std::sync::mpsc::{SyncSender, sync_channel};

use dpdk_sys as sys;

/// Work to do, and the channel that reports its end.
struct Errand<F> {
    work: F,
    done: SyncSender<()>,
}

/// Runs `work` on the interrupt thread and waits for its end. If EAL accepts no alarm, it runs on
/// the calling thread.
///
/// The calling thread must not be the interrupt thread, which would wait for itself.
pub(super) fn run<F: FnOnce() + Send>(work: F) {
    let (done, ended) = sync_channel(1);
    let errand = Box::into_raw(Box::new(Errand { work, done }));
    // SAFETY: `errand` is a box of this type, which the callback takes over, and it is called once.
    let code = unsafe { sys::rte_eal_alarm_set(1, Some(callback::<F>), errand.cast()) };
    if code == 0 {
        // The borrows of `work` live until here. A panic in it ends the process, as the callback is
        // C's.
        ended.recv().expect("the callback tells of its end");
        return;
    }
    // SAFETY: EAL did not take the callback, so the box is still ours.
    let Errand { work, .. } = *unsafe { Box::from_raw(errand) };
    work();
}

unsafe extern "C" fn callback<F: FnOnce() + Send>(argument: *mut c_void) {
    // SAFETY: `argument` is the box that `run` made for this call.
    let Errand { work, done } = *unsafe { Box::from_raw(argument.cast::<Errand<F>>()) };
    work();
    // `run` waits for this, so there is a receiver.
    let _ = done.send(());
}
