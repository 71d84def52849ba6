//! The part that tests of NICs have in common: the traffic that they send by themselves, and what it tells.

use core::net::IpAddr;

use crate::bench::Trouble;
use crate::observation::{Observation, Way};
use crate::setup::Nic;
use crate::test::Context;
use crate::trial::Port;
use ground::units::Mac;
use wire::{ip, vlan};

/// Returns what the file tells of the NICs.
pub(super) fn told<'a>(cx: &Context<'a>) -> Result<&'a Nic, Trouble> {
    cx.setup.nic.as_ref().ok_or_else(|| Trouble::Missing("nic is missing".to_owned()))
}

/// Waits for the traffic of the NIC at a port, of each priority that it sends, and returns it with the first
/// bytes of its frames.
///
/// # Errors
/// It does not come in time.
pub(super) fn wait(cx: &mut Context<'_>, port: Port) -> Result<Observation, Trouble> {
    cx.wait_for_nic(port)?.map_err(|priority| {
        let what = format!(
            "the NIC sends no frame of priority {priority} to port {}; start its traffic, see \
             `nic.sends`",
            cx.port(port).name
        );
        Trouble::Missing(what)
    })
}

/// Addresses of a NIC.
pub(super) struct Station {
    pub(super) mac: Mac,
    pub(super) ip: IpAddr,
}

/// Returns the addresses in the frames that a NIC sent.
pub(super) fn station(
    cx: &Context<'_>,
    seen: &Observation,
    port: Port,
) -> Result<Station, Trouble> {
    let frames = seen.records.iter().filter(|r| r.way == Way::Received && r.port == port);
    let found = frames.filter_map(|record| {
        let walk = vlan::walk(&record.head).ok()?;
        let ip = ip::View::new(walk.ethertype, record.head.get(walk.l3..)?).ok()?;
        Some(Station { mac: walk.src, ip: ip.src() })
    });
    found.into_iter().next().ok_or_else(|| {
        let what = format!("the traffic to port {} has no address of IP", cx.port(port).name);
        Trouble::Missing(what)
    })
}
