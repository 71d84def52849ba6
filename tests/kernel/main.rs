//! The program between hosts and interfaces of the kernel, in network namespaces of their own.
#![cfg(feature = "dpdk")]

#[path = "../netns/mod.rs"]
mod netns;
#[path = "../run/mod.rs"]
mod run;

mod benchmark;
mod headroom;
mod hosts;
mod leftovers;
mod links;
mod lldp;
mod messages;
mod missed;
mod neighbours;
mod pause;
mod pfc_in;
mod pfc_out;
mod ptp;
mod routing;
mod sfc;
mod told;
mod validate;
mod vlan;
