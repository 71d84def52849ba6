//! SONiC's use of a group's headroom: validation of a port's total, and the size of the shared
//! pool.

use super::{Inputs, KIB};
use crate::models::ModelError;
use ground::units::Bytes;

/// Groups of a port and ports of a switch, all with the same profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Lossless groups per port. 0 to 8.
    pub groups: u8,
    /// Lossy groups per port with a SONiC profile; each adds a pipeline latency. 0 to 8.
    pub lossy_groups: u8,
    /// Maximum headroom of a port (`max_headroom_size`), if it is to be checked.
    pub max_headroom: Option<Bytes>,
    /// Ports with lossless groups, for the shared pool.
    pub ports: u16,
    /// Over-subscription ratio of the shared pool; 0 without one.
    pub over_subscribe_ratio: u16,
}

impl Switch {
    /// Two lossless groups (3 and 4), SONiC's default, on one port.
    pub const DEFAULT: Self =
        Self { groups: 2, lossy_groups: 0, max_headroom: None, ports: 1, over_subscribe_ratio: 0 };
}

/// Margin for deviations of the model, in bytes.
const DEVIATION: u64 = 4_096;
/// Two longest frames of 10 KiB, for the egress mirror.
const MIRROR: u64 = 20 * 1_024;
/// Private headroom of a lossless port with a shared pool, in bytes.
const PRIVATE: u64 = 10 * 1_024;
/// Size of the shared pool if the sum is zero, in bytes.
const POOL_DEFAULT: u64 = 655_360;

/// Returns the private headroom of a port, whose groups have `size` bytes each.
///
/// # Errors
/// If it exceeds the port's maximum.
pub(super) fn port_headroom(i: &Inputs, of: &Switch, size: u64) -> Result<Bytes, ModelError> {
    let eight = i.lanes == 8;
    let pipeline = if eight { i.asic.pipeline_kib * 2.0 - 1.0 } else { i.asic.pipeline_kib };
    let pipeline = (pipeline * KIB).max(0.0).ceil() as u64;
    let mirror = if eight { 2 * MIRROR } else { MIRROR };
    let groups = size * u64::from(of.groups) + pipeline * u64::from(of.lossy_groups);
    let needed = Bytes(DEVIATION + pipeline + mirror + groups);
    match of.max_headroom {
        Some(max) if needed >= max => Err(ModelError::Port { max, needed }),
        _ => Ok(needed),
    }
}

/// Returns the size of the shared headroom pool, which every group uses with `shared` bytes,
/// limited to `u64::MAX`.
pub(super) fn pool(of: &Switch, shared: u64) -> Option<Bytes> {
    if of.over_subscribe_ratio == 0 {
        return None;
    }
    let ports = u128::from(of.ports);
    let sum = u128::from(shared) * u128::from(of.groups) * ports;
    let pool = sum.saturating_sub(u128::from(PRIVATE) * ports);
    let pool = u64::try_from(pool.div_ceil(of.over_subscribe_ratio.into())).unwrap_or(u64::MAX);
    Some(Bytes(if pool == 0 { POOL_DEFAULT } else { pool }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::sonic::{Asic, estimate};
    use ground::units::BitsPerSec;

    fn port(switch: Switch) -> Inputs {
        let asic = Asic::spectrum(1).unwrap();
        let port = Inputs::new(BitsPerSec::gbps(100), 40_000, asic);
        Inputs { shared_pool: switch.over_subscribe_ratio > 0, switch: Some(switch), ..port }
    }

    fn figure(i: &Inputs, name: &str) -> u64 {
        let figures = estimate(i).unwrap().figures;
        figures.iter().find(|(n, _)| *n == name).unwrap().1.0
    }

    #[test]
    fn a_port_has_to_have_room_for_its_groups() {
        // Size 81,920 + 19,456 twice, pipeline 19,456, mirror 20,480, deviation 4,096.
        let needed = 2 * (81_920 + 19_456) + 19_456 + 20_480 + 4_096;
        assert_eq!(figure(&port(Switch::DEFAULT), "port_headroom"), needed);
        let with =
            |max| estimate(&port(Switch { max_headroom: Some(Bytes(max)), ..Switch::DEFAULT }));
        assert!(with(needed + 1).is_ok());
        assert_eq!(with(needed).unwrap_err().field(), "max-headroom");
    }

    #[test]
    fn a_shared_pool_is_what_groups_lean_on_by_the_ratio() {
        let shared = Switch { ports: 32, over_subscribe_ratio: 3, ..Switch::DEFAULT };
        let i = port(shared);
        let sum: u64 = 32 * (2 * 81_920 - 10_240);
        assert_eq!(figure(&i, "shared_pool"), sum.div_ceil(3));
        assert_eq!(figure(&i, "size"), 19_456);
        let idle = port(Switch { groups: 0, ..shared });
        assert_eq!(figure(&idle, "shared_pool"), 655_360);
    }
}
