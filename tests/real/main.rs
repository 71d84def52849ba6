//! DPDK, on rings and null devices: see `apart` for the processes. (Tier 3.)

#[path = "../shared/apart.rs"]
mod apart;
#[path = "../shared/calls.rs"]
mod calls;
#[path = "../shared/netns.rs"]
mod netns;
#[path = "../shared/overload.rs"]
mod overload;
#[allow(dead_code)] // the benches use more of it
#[path = "../../perf/micro/shared/plan.rs"]
mod plan;
#[path = "../shared/run.rs"]
mod run;
#[path = "../shared/secys.rs"]
mod secys;
#[path = "../shared/tester.rs"]
mod tester;
#[path = "../shared/worlds.rs"]
mod worlds;

mod crypto;
mod defects;
mod demo;
mod devices;
mod doctor;
mod errors;
mod gen_contract;
mod gen_engine;
mod gen_files;
mod gen_memory;
mod gen_ring;
mod headroom_measure;
mod lab_run;
mod lab_secured;
mod lab_worlds;
mod leftovers;
mod macsec_control;
mod mbuf;
mod no_syscall;
mod ring;
mod secured;
mod selftest;
mod sockets;
mod stamps;
mod switch_control;
mod switch_run;
mod telemetry;
mod uptime;
mod validate_ring;
