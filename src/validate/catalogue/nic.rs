//! The part that tests of NICs have in common.

use crate::bench::Trouble;
use crate::test::Context;
use crate::trial::Port;

/// Waits for the traffic of the NIC at a port: of each priority that it sends.
///
/// # Errors
/// It does not come in time.
pub(super) fn wait(cx: &mut Context<'_>, port: Port) -> Result<(), Trouble> {
    match cx.wait_for_nic(port)? {
        None => Ok(()),
        Some(priority) => {
            let what = format!(
                "the NIC sends no frame of priority {priority} to port {}; start its traffic, see \
                 `nic.sends`",
                cx.port(port).name
            );
            Err(Trouble::Missing(what))
        }
    }
}
