//! The contracts between the data plane and a world: frames, ports, the way to the other workers
//! of a switch, what a switch counts; and ports in memory, on which the data plane runs in tests, benches and programs
//! without a network.

#![warn(missing_docs)]

pub mod frame;
pub mod memory;
pub mod mesh;
pub mod port;
pub mod stats;
pub mod world;
