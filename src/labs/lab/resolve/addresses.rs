//! Addresses of nodes by their numbers.

use core::net::Ipv4Addr;

use ground::units::Mac;

/// Returns the MAC address of a host by its number, from `02:00:00:00:00:01` on.
pub(super) fn mac(number: usize) -> Mac {
    let [a, b, c, d] = (number as u32 + 1).to_be_bytes();
    Mac([0x02, 0x00, a, b, c, d])
}

/// Returns the IPv4 address of a host by its number, from 10.0.0.1 on.
pub(super) fn ip(number: usize) -> Ipv4Addr {
    let [_, b, c, d] = (number as u32 + 1).to_be_bytes();
    Ipv4Addr::new(10, b, c, d)
}

/// Returns the MAC address of a switch port.
pub(super) fn switch_port_mac(node: usize, port: usize) -> Mac {
    let [_, _, a, b] = (node as u32).to_be_bytes();
    let [c, d] = (port as u16).to_be_bytes();
    Mac([0x02, 0x01, a, b, c, d])
}
