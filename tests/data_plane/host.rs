//! Hosts of the virtual world, and stations on ports in memory.

mod meter;
mod neighbours;
mod qcn;
mod reactions;
mod station;
mod streams;
mod transport;
