//! Encoding of a port's information in an LLDPDU.

use super::plan::{DcbxPlan, LldpPlan, PfcForm, Role, Topology, TopologyPlan};
use super::recognition;
use ground::units::PrioritySet;
use wire::WireError;
use wire::dcbx::{self, application, ets, isolation, pfc, source_flow, subtype};
use wire::lldp::{self, Capabilities, Id, Repr, TlvType, Writer};

/// Maximum frame size that an agent sends, in bytes without FCS.
pub const FRAME_MAX: usize = 640;

/// Buffer size for the string of any one TLV.
const SCRATCH: usize = application::ENTRIES_MAX * 3 + 1;

/// Returns the bytes, without FCS, of the frame that a port with this plan sends.
///
/// # Errors
/// [`WireError::OutOfRange`] for a value that does not fit its field, [`WireError::NoRoom`] for more
/// than [`FRAME_MAX`] bytes.
pub fn frame_len(lldp: &LldpPlan, dcbx: Option<&DcbxPlan>) -> Result<usize, WireError> {
    compose(lldp, dcbx.map(Own::planned), u16::MAX, &mut [0; FRAME_MAX])
}

/// DCBX information of a port: its plan, and the parts that change at run time.
#[derive(Clone, Copy)]
pub(super) struct Own<'a> {
    pub(super) plan: &'a DcbxPlan,
    /// Priorities with PFC.
    pub(super) enable: PrioritySet,
    /// Advertised topology.
    pub(super) topology: Option<Topology>,
}

impl<'a> Own<'a> {
    /// Returns the initial state.
    pub(super) fn planned(plan: &'a DcbxPlan) -> Self {
        let topology = plan.topology.map(|topology| match topology {
            TopologyPlan::Fixed(topology) => topology,
            TopologyPlan::Recognized(device) => recognition::silent(device),
        });
        Self { plan, enable: plan.pfc.map_or(PrioritySet::EMPTY, |pfc| pfc.enable), topology }
    }
}

/// Writes a complete frame with the given TTL in seconds, and returns its length. A TTL of 0 makes
/// a shutdown LLDPDU, which has no other contents (9.1.2).
pub(super) fn compose(
    lldp: &LldpPlan,
    dcbx: Option<Own<'_>>,
    ttl: u16,
    out: &mut [u8],
) -> Result<usize, WireError> {
    let head = Repr {
        dst: lldp::DESTINATION,
        src: lldp.mac,
        chassis: Id { subtype: lldp::CHASSIS_MAC, octets: &lldp.chassis.0 },
        port: Id { subtype: lldp::PORT_INTERFACE_NAME, octets: lldp.port_id.as_bytes() },
        ttl,
    };
    let mut writer = Writer::new(out, &head)?;
    if ttl == 0 {
        return writer.finish();
    }
    for (kind, text) in [
        (TlvType::SYSTEM_NAME, &lldp.system_name),
        (TlvType::SYSTEM_DESCRIPTION, &lldp.system_description),
    ] {
        if text.len() > lldp::TEXT_MAX {
            return Err(WireError::OutOfRange);
        }
        if !text.is_empty() {
            writer.tlv(kind, text.as_bytes())?;
        }
    }
    writer.tlv(TlvType::CAPABILITIES, &capabilities(lldp.role).octets())?;
    if let Some(own) = dcbx {
        compose_dcbx(own, &mut writer)?;
    }
    writer.finish()
}

const fn capabilities(role: Role) -> Capabilities {
    let supported = match role {
        Role::Bridge => Capabilities::BRIDGE,
        Role::Router => Capabilities::BRIDGE | Capabilities::ROUTER,
        Role::Station => Capabilities::STATION,
    };
    Capabilities { supported, enabled: supported }
}

fn compose_dcbx(own: Own<'_>, writer: &mut Writer<'_>) -> Result<(), WireError> {
    let Own { plan, enable, topology } = own;
    let mut value = [0; SCRATCH];
    let mut add = |subtype, value: &[u8]| writer.organizational(dcbx::OUI, subtype, value);
    if let Some(plan) = plan.ets {
        let (willing, cbs, classes, table) = (plan.willing, plan.cbs, plan.classes, plan.local);
        let len = ets::Configuration { willing, cbs, classes, table }.emit(&mut value)?;
        add(subtype::ETS_CONFIGURATION, &value[..len])?;
        if let Some(table) = plan.recommended {
            let len = ets::Recommendation { table }.emit(&mut value)?;
            add(subtype::ETS_RECOMMENDATION, &value[..len])?;
        }
    }
    if let Some(plan) = plan.pfc {
        let proposed = match plan.form {
            PfcForm::Published => None,
            PfcForm::Proposed { round_trip, ptp, macsec } => {
                Some(pfc::Proposed { round_trip, ptp, macsec })
            }
        };
        let (willing, macsec_bound, capability) =
            (plan.willing, plan.macsec_bound, plan.capability);
        let repr = pfc::Configuration { willing, macsec_bound, capability, enable, proposed };
        let len = repr.emit(&mut value)?;
        add(subtype::PFC, &value[..len])?;
    }
    if !plan.applications.is_empty() {
        let len = application::emit(&plan.applications, &mut value)?;
        add(subtype::APPLICATION, &value[..len])?;
    }
    if let Some(internal_delay) = plan.internal_delay {
        let compensation = plan.compensation;
        let len = pfc::Information { internal_delay, compensation }.emit(&mut value)?;
        add(plan.subtypes.pfc_information, &value[..len])?;
    }
    if let Some(repr) = plan.isolation {
        let len = repr.emit(&mut value)?;
        add(plan.subtypes.congestion_isolation, &value[..len])?;
    }
    if let Some(repr) = topology {
        let len = repr.emit(&mut value)?;
        add(plan.subtypes.topology, &value[..len])?;
    }
    if let Some(repr) = plan.sfc {
        let len = repr.emit(&mut value)?;
        writer.organizational(source_flow::OUI, source_flow::SUBTYPE, &value[..len])?;
    }
    Ok(())
}

const _: () = assert!(SCRATCH >= ets::LEN && SCRATCH >= isolation::LEN_MAX);
