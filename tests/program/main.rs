//! The program as a user starts it: commands, files, manual pages, servers. (Tier 2.)

#[path = "../shared/apart.rs"]
mod apart;
#[path = "../shared/netns.rs"]
mod netns;
#[path = "../shared/pages.rs"]
mod pages;
#[path = "../shared/rehearsal.rs"]
mod rehearsal;
#[path = "../shared/run.rs"]
mod run;

mod command_line;
mod headroom_models;
mod hostile_names;
mod otg_server;
mod readme_commands;
