//! Raw bindings to the parts of DPDK that Sluice uses: an allow-list in `build.rs`, read by bindgen
//! from the headers that are installed, and a small C shim for what is inline in them.
//!
//! Everything is as DPDK has it, names included, and as unsafe; `sluice::dpdk` is its safe face.
//! Built against 22.11 LTS and later; where a release differs, `csrc/shim.c` hides it.

mod mbuf;

#[allow(
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    clippy::all,
    clippy::pedantic,
    // Rust 1.85 does not know the next one yet.
    unknown_lints,
    unnecessary_transmutes
)]
mod bindings {
    use crate::mbuf::rte_mbuf;

    include!(concat!(env!("OUT_DIR"), "/bindings.rs"));
}

pub use bindings::*;
pub use mbuf::rte_mbuf;

/// The release of DPDK this was built against, such as `22.11.11`.
pub const BUILT_AGAINST: &str = env!("SLUICE_DPDK_VERSION");
