//! Transmission: the transmit and transmit timer state machines of 802.1AB-2016 9.2.8 and 9.2.9, and
//! the encoding of a port's information in an LLDPDU.
//!
//! The standard counts its timers down in ticks of a second. Here they are points in time; a second
//! begins when the link comes up. The jitter that the standard allows on ticks is omitted, so that
//! a run is reproducible.

use super::plan::{AdminStatus, DcbxPlan, LldpPlan, PfcForm, Role, Topology, TopologyPlan};
use super::recognition;
use ground::time::{Duration, Instant};
use ground::units::PrioritySet;
use wire::WireError;
use wire::dcbx::{self, application, ets, isolation, pfc, source_flow, subtype};
use wire::lldp::{self, Capabilities, Id, Repr, TlvType, Writer};

/// Interval between credits (txTick).
const TICK: Duration = Duration::from_secs(1);
/// Silence of an agent after a shutdown LLDPDU (reinitDelay, 9.2.5.10).
const REINIT: Duration = Duration::from_secs(2);

/// LLDPDU to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pdu {
    /// Normal LLDPDU.
    Normal,
    /// Shutdown LLDPDU.
    Shutdown,
}

/// Transmit state machine.
#[derive(Clone, Debug)]
pub(super) struct Transmitter {
    interval: Duration,
    fast_interval: Duration,
    fast_count: u8,
    credit_max: u8,
    /// adminStatus is not enabledRxOnly.
    enabled: bool,
    running: bool,
    /// A shutdown LLDPDU is pending.
    shutdown: bool,
    /// txNow: an LLDPDU is pending, until there is credit.
    wanted: bool,
    /// Time at which txTTR is 0.
    due: Instant,
    /// txFast: number of LLDPDUs left at the fast interval.
    fast: u8,
    /// Credit as of `ticked`.
    credit: u8,
    /// Last tick processed.
    ticked: Instant,
    /// The end of the silence after a shutdown (txShutdownWhile).
    silent_until: Instant,
}

impl Transmitter {
    pub(super) fn new(plan: &LldpPlan) -> Self {
        Self {
            interval: plan.interval,
            fast_interval: plan.fast_interval,
            fast_count: plan.fast_count,
            credit_max: plan.credit,
            enabled: plan.admin != AdminStatus::RxOnly,
            running: false,
            shutdown: false,
            wanted: false,
            due: Instant::NEVER,
            fast: 0,
            credit: 0,
            ticked: Instant::ZERO,
            silent_until: Instant::ZERO,
        }
    }

    /// Handles link up: the first LLDPDU is due at once, or after the silence.
    pub(super) fn start(&mut self, now: Instant) {
        let from = now.max(self.silent_until);
        self.running = self.enabled;
        self.shutdown = false;
        self.wanted = false;
        self.due = from;
        self.fast = 0;
        // A port whose link comes up may send all of it at once.
        self.credit = self.credit_max;
        self.ticked = from;
    }

    /// Handles link down.
    pub(super) fn stop(&mut self) {
        self.running = false;
        self.shutdown = false;
    }

    /// Starts a shutdown: a shutdown LLDPDU is due at once, and silence follows.
    pub(super) fn say_goodbye(&mut self, now: Instant) {
        if self.running {
            self.shutdown = true;
            self.running = false;
            self.silent_until = now.saturating_add(REINIT);
        }
    }

    /// Handles a new neighbour: LLDPDUs are sent at once and some more at the fast interval.
    pub(super) fn hurry(&mut self, now: Instant) {
        if self.running && now >= self.silent_until {
            // A fast start that is under way is not made longer by another neighbour.
            if self.fast == 0 {
                self.fast = self.fast_count;
            }
            self.expire(now);
        }
    }

    /// Handles changed information: an LLDPDU is due at once.
    pub(super) fn changed(&mut self, now: Instant) {
        if self.running && now >= self.silent_until {
            self.signal(now);
        }
    }

    /// Handles the expiry of txTTR (TX_TIMER_EXPIRES).
    fn expire(&mut self, now: Instant) {
        self.fast = self.fast.saturating_sub(1);
        self.signal(now);
    }

    /// SIGNAL_TX.
    fn signal(&mut self, now: Instant) {
        self.wanted = true;
        let wait = if self.fast > 0 { self.fast_interval } else { self.interval };
        self.due = now.saturating_add(wait);
    }

    /// Advances timers to `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        if !self.running || now < self.ticked {
            return;
        }
        let ticks = now.since(self.ticked).as_picos() / TICK.as_picos();
        self.ticked = self.ticked.saturating_add(TICK.saturating_mul(ticks));
        // A credit per second up to txCreditMax, so changes in a row cause no flood.
        let earned = u8::try_from(ticks).unwrap_or(u8::MAX);
        self.credit = self.credit.saturating_add(earned).min(self.credit_max);
        if self.due <= now {
            self.expire(now);
        }
    }

    /// Returns true if an LLDPDU is due at `now`.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        // The tick may be due and not yet processed.
        let earned = now >= self.ticked.saturating_add(TICK);
        let timer = self.wanted || self.due <= now;
        // A shutdown LLDPDU needs no credit.
        self.shutdown || self.running && timer && (self.credit > 0 || earned)
    }

    /// Returns the LLDPDU to send at `now`; it counts as sent.
    pub(super) fn take(&mut self, now: Instant) -> Option<Pdu> {
        if self.shutdown {
            self.shutdown = false;
            return Some(Pdu::Shutdown);
        }
        self.advance(now);
        if !(self.running && self.wanted && self.credit > 0) {
            return None;
        }
        self.wanted = false;
        self.credit -= 1;
        Some(Pdu::Normal)
    }

    /// Makes the LLDPDU taken last due again, if it could not be sent.
    pub(super) fn put_back(&mut self, pdu: Pdu) {
        match pdu {
            Pdu::Shutdown => self.shutdown = true,
            Pdu::Normal if self.running => {
                self.wanted = true;
                self.credit = (self.credit + 1).min(self.credit_max);
            }
            Pdu::Normal => {}
        }
    }

    /// Returns the latest time of the next poll.
    pub(super) fn next_deadline(&self) -> Instant {
        match (self.shutdown, self.running) {
            (true, _) => Instant::ZERO,
            (_, false) => Instant::NEVER,
            _ if !self.wanted => self.due,
            _ if self.credit > 0 => Instant::ZERO,
            _ => self.due.min(self.ticked.saturating_add(TICK)),
        }
    }
}

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
    /// True if PFC is advertised, if it is in the plan.
    pub(super) pfc: bool,
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
        let enable = plan.pfc.map_or(PrioritySet::EMPTY, |pfc| pfc.enable);
        Self { plan, pfc: true, enable, topology }
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
        // Chassis and port identify this port to its neighbours (MSAP), so neither changes while the link is up.
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
        // A string may have 511 bytes, but names and descriptions have 255 (8.5.6, 8.5.7).
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
    let Own { plan, pfc, enable, topology } = own;
    let mut value = [0; SCRATCH];
    // One buffer serves all TLVs: each is in the frame before the next is written.
    let mut add = |subtype, value: &[u8]| writer.organizational(dcbx::OUI, subtype, value);
    if let Some(plan) = plan.ets {
        let (willing, cbs, classes, table) = (plan.willing, plan.cbs, plan.classes, plan.local);
        let len = ets::Configuration { willing, cbs, classes, table }.emit(&mut value)?;
        add(subtype::ETS_CONFIGURATION, &value[..len])?;
        // The recommendation is a separate TLV (D.2.9) beside the configuration (D.2.8).
        if let Some(table) = plan.recommended {
            let len = ets::Recommendation { table }.emit(&mut value)?;
            add(subtype::ETS_RECOMMENDATION, &value[..len])?;
        }
    }
    if let Some(plan) = plan.pfc.filter(|_| pfc) {
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
        // The second half of the same TLV, so it is not sent without the internal delay.
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
        // Not under the OUI of 802.1, which defines no such TLV.
        writer.organizational(source_flow::OUI, source_flow::SUBTYPE, &value[..len])?;
    }
    Ok(())
}

const _: () = assert!(SCRATCH >= ets::LEN && SCRATCH >= isolation::LEN_MAX);
