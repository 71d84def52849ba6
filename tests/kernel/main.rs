//! Hosts and interfaces of the kernel around the program and its ports, in network namespaces of their own. (Tier 4.)

#[path = "../shared/apart.rs"]
mod apart;
#[path = "../shared/netns.rs"]
mod netns;
#[path = "../shared/run.rs"]
mod run;
#[path = "../shared/tester.rs"]
mod tester;

mod af_packet;
mod benchmark;
mod gen_veth;
mod headroom;
mod hosts;
mod interfaces;
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
