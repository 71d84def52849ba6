//! Judges from outside (browser, scapy, tshark, yanglint, snappi, MLRsearch), and soak. (Tier 4.)

#[path = "../shared/judges.rs"]
mod judges;
#[path = "../shared/link.rs"]
#[allow(dead_code, reason = "hosts' tests use more of it")]
mod link;
#[path = "../shared/mem_port.rs"]
mod mem_port;
#[path = "../shared/rehearsal.rs"]
mod rehearsal;
#[path = "../shared/run.rs"]
mod run;
#[path = "../shared/snappi.rs"]
mod snappi;
#[path = "../shared/wire_frames.rs"]
mod wire_frames;

mod browser;
mod dissector;
mod exchange_soak;
mod frames;
mod generated;
mod links;
mod macsec;
mod mlrsearch;
mod otg_clients;
mod snappi_generator;
mod yang;
