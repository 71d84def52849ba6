//! Labs: one file that says which nodes, links, flows, faults and checks there are, run in the
//! virtual or in the real world.

mod plan;

pub use plan::*;
