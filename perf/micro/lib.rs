//! The crates that benches use, under the names that the library of the program gives them.

pub use contracts::{frame, memory, port, stats, world};
#[cfg(feature = "dpdk")]
pub use dpdk;
pub use ground::{rand, time, units};
#[cfg(feature = "lab")]
pub use lab;
pub use {
    buffer, congestion, discovery, headroom, host, link, pfc, runtime, schedule, secure, sim,
    switch, wire,
};
