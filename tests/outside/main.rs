//! Frames and searches of the program, judged by programs that nobody here wrote.

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/judges.rs"]
mod judges;
#[allow(dead_code)] // hosts' tests use more of it
#[path = "../support/link.rs"]
mod link;
#[cfg(feature = "dpdk")]
#[path = "../run/mod.rs"]
mod run;
#[path = "../support/snappi.rs"]
mod snappi;
#[path = "../support/wire_frames.rs"]
mod wire_frames;

mod dissector;
mod frames;
mod generated;
mod links;
mod macsec;
mod mlrsearch;
#[cfg(feature = "dpdk")]
mod yang;
