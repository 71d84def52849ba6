//! Tests of NICs, in the guest that `./dev nic` starts: emulated PCI NICs of four models, each a pair
//! that is cabled back to back. They prove code paths, and nothing about precision or speed.
//!
//! DPDK starts once in a process, so each item of the list is a process: `nic item NAME ..`. `nic
//! guest` runs all of them, and without arguments, as by `cargo test`, there is nothing to do.

mod channel;
mod ends;
mod guest;
mod items;
mod model;
mod outcome;
mod programs;

use std::process::ExitCode;

use outcome::Outcome;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args().skip(1).collect();
    let args: Vec<_> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["guest", ref only @ ..] => guest::run(only),
        ["item", name, pair] => {
            let outcome = items::run(name, pair);
            println!("{outcome}");
            ExitCode::from(outcome.status())
        }
        _ => {
            println!(
                "nic: {}",
                Outcome::Skipped("its items run in the guest of `./dev nic`".into())
            );
            ExitCode::SUCCESS
        }
    }
}
