//! The virtual world: labs, oracles, swarm, reports, generator files. (Tier 1.)

#[path = "../shared/mem_port.rs"]
mod mem_port;
#[path = "../shared/pages.rs"]
mod pages;
#[path = "../shared/run.rs"]
mod run;

mod auto_headroom;
mod gen_files;
mod lab_compare;
mod lab_memory;
mod lab_run;
mod lab_study;
mod oracles;
mod report;
mod swarm;
mod tester_capture;
