//! Text and bytes for people and their programs, below everything that has results: tables,
//! numbers, and packet captures.

pub mod captures;
mod column;
pub mod packets;
pub mod table;

#[cfg(test)]
#[path = "../../../tests/shared/testfolder.rs"]
mod testfolder;

pub use column::{Cell, Column, Field, Kind, Shown, Value};
pub use table::{Align, Table, count, decimal, delay, measured, scaled};

use std::net::SocketAddr;

/// Returns a warning if the address can be reached from other machines.
pub fn open_to_network(addr: SocketAddr) -> Option<String> {
    let open = !addr.ip().is_loopback();
    open.then(|| format!("{addr} is open to the network, without a password; 127.0.0.1 is not"))
}
