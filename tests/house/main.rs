//! The sources and pages of this project: rules that a compiler does not check. (Tier 0.)

#[path = "../shared/pages.rs"]
mod pages;
#[path = "../shared/sources.rs"]
mod sources;
#[path = "../shared/tokens.rs"]
mod tokens;

mod dependencies;
mod layering;
mod no_lock;
mod rules;
