//! Resolves ports and their layer-1 settings.

use std::collections::HashMap;

use super::findings::Findings;
use super::timing::Line;
use crate::RATE_DEFAULT;
use crate::plan::{Location, Obeys, Place, PortPlan};
use ground::units::{BitsPerSec, Mac, Priority, PrioritySet, Quanta};
use host::plan::FRAME_MAX;
use otg::model::Config;
use otg::model::config::{FlowControl, Ieee8021Qbb, Layer1, PauseKind, Speed};

/// Default MTU in bytes (802.3 3.2.7).
const MTU: u32 = 1500;

/// Maximum number of ports of a test. A choice, far above the capacity of one machine.
const PORTS_MAX: usize = 1024;

/// The least MTU in OTG.
const MTU_MIN: u32 = 64;

/// Bytes of a frame that the MTU does not count: Ethernet header and FCS.
pub(super) const BESIDE_MTU: u32 = 18;

/// Destination address of MAC control frames (802.3 31B.1).
const PAUSE_ADDRESS: Mac = Mac([0x01, 0x80, 0xc2, 0, 0, 1]);

/// The ports of a test, in the order of the configuration.
#[derive(Default)]
pub(super) struct Ports {
    pub(super) plans: Vec<PortPlan>,
    /// The link rate of each port.
    pub(super) lines: Vec<Line>,
    /// Per port, the priority that pauses each queue.
    queues: Vec<[Option<Priority>; 8]>,
    /// The paths of the layer-1 settings of each port.
    layer1: Vec<Option<String>>,
    /// Indices in these lists, by name.
    index: HashMap<String, usize>,
}

impl Ports {
    /// Resolves the ports; `link` returns the link rate of a location.
    pub(super) fn read(
        config: &Config,
        link: &dyn Fn(&Location) -> Option<BitsPerSec>,
        cx: &mut Findings,
    ) -> Self {
        let mut ports = Self::default();
        if config.ports.len() > PORTS_MAX {
            let what = format!("{} ports are more than {PORTS_MAX}", config.ports.len());
            cx.error("ports", what);
            return ports;
        }
        for (i, port) in config.ports.iter().enumerate() {
            let path = format!("ports[{i}].location");
            let location = location(port.location.as_deref(), &path, cx);
            let twin = ports.plans.iter().find(|p| p.location.place == location.place);
            if let Some(twin) = twin.filter(|_| !location.text.is_empty()) {
                let what = format!(
                    "is where port `{}` is already; give each a different place",
                    twin.name
                );
                cx.error(path, what);
            }
            let rate = link(&location).or(match location.place {
                // Rings run at the configured rate, or at this default.
                Place::Ring { .. } => Some(RATE_DEFAULT),
                Place::Interface(_) | Place::Device(_) => None,
            });
            ports.lines.push(Line { rate: rate.unwrap_or(RATE_DEFAULT), known: rate.is_some() });
            // The first of two equal names is used; the duplicate is reported elsewhere.
            ports.index.entry(port.name.clone()).or_insert(i);
            ports.plans.push(plan(&port.name, location, i));
            ports.queues.push(Priority::ALL.map(Some));
            ports.layer1.push(None);
        }
        for (i, layer1) in config.layer1.iter().enumerate() {
            ports.apply(layer1, &format!("layer1[{i}]"), cx);
        }
        ports
    }

    /// Returns the port of this name; reports an unknown name.
    pub(super) fn find(&self, name: &str, path: &str, cx: &mut Findings) -> Option<usize> {
        let found = self.position(name);
        if found.is_none() {
            cx.unknown(path, "port", name, self.plans.iter().map(|p| p.name.as_str()));
        }
        found
    }

    /// Returns the port of this name, if there is one.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.index.get(name).copied()
    }

    /// Returns the priority whose pause stops a queue of a port; `None` if there is none.
    pub(super) fn stopped_by(&self, port: usize, queue: u8) -> Option<Priority> {
        self.queues[port][usize::from(queue & 7)]
    }

    /// Raises the port's MTU until frames of `size` bytes fit, with a warning if layer 1 set less.
    pub(super) fn carry(&mut self, port: usize, size: u32, flow: &str, cx: &mut Findings) {
        let (plan, needed) = (&mut self.plans[port], size.saturating_sub(BESIDE_MTU));
        if plan.mtu < needed {
            if let Some(layer1) = &self.layer1[port] {
                let what = format!(
                    "{} octets are less than flow `{flow}` sends; port `{}` is set to {needed}",
                    plan.mtu, plan.name
                );
                cx.warn(format!("{layer1}.mtu"), what);
            }
            // Raised, as a shorter MTU would drop the frames of the test itself.
            plan.mtu = needed;
        }
    }

    /// Applies layer-1 settings to the ports that they name.
    fn apply(&mut self, layer1: &Layer1, path: &str, cx: &mut Findings) {
        let rate = layer1.speed.and_then(|s| speed(s, path, cx));
        let mtu_max = FRAME_MAX - BESIDE_MTU;
        if !(MTU_MIN..=mtu_max).contains(&layer1.mtu) {
            let what = format!("{} is no MTU here; write {MTU_MIN} to {mtu_max}", layer1.mtu);
            cx.error(format!("{path}.mtu"), what);
        }
        for (name, set) in [
            ("media", layer1.media.is_some()),
            ("ieee_media_defaults", layer1.ieee_media_defaults.is_some()),
            ("auto_negotiate", layer1.auto_negotiate.is_some()),
            ("auto_negotiation", layer1.auto_negotiation.is_some()),
        ] {
            if set {
                cx.warn(format!("{path}.{name}"), "is left to the device as it is set up");
            }
        }
        let flow_control = layer1.flow_control.as_ref();
        let control = flow_control.map(|f| control(f, &format!("{path}.flow_control"), cx));
        for (n, name) in layer1.port_names.iter().enumerate() {
            let name_path = format!("{path}.port_names[{n}]");
            let Some(port) = self.find(name, &name_path, cx) else { continue };
            // With two settings of one port their order would decide.
            if let Some(other) = self.layer1[port].replace(path.to_owned()) {
                let what = format!("port `{name}` is set up by {other} already; name it once");
                cx.error(name_path, what);
            }
            let plan = &mut self.plans[port];
            (plan.mtu, plan.promiscuous) = (layer1.mtu, layer1.promiscuous);
            plan.rate = rate;
            if let Some(rate) = rate {
                self.lines[port] = Line { rate, known: true };
            }
            if let Some(control) = &control {
                plan.obeys = control.obeys;
                plan.pause_delay = control.delay;
                self.queues[port] = control.queues;
            }
            // The location can only take priorities away.
            if let (Obeys::Pfc(set), Some(only)) = (&mut plan.obeys, plan.location.pfc) {
                set.0 &= only.0;
            }
        }
    }
}

/// A port with default settings.
fn plan(name: &str, location: Location, index: usize) -> PortPlan {
    let [high, low] = (index as u16).to_be_bytes();
    PortPlan {
        name: name.to_owned(),
        location,
        rate: None,
        mtu: MTU,
        obeys: Obeys::Nothing,
        pause_delay: Quanta(0),
        promiscuous: true,
        // Locally administered (802 8.2.2).
        mac: Mac([0x02, 0x4f, 0x54, 0x47, high, low]),
        interfaces: Vec::new(),
        capture: None,
        secy: None,
    }
}

/// Parses the location of a port and reports errors.
fn location(text: Option<&str>, path: &str, cx: &mut Findings) -> Location {
    Location::parse(text.unwrap_or_default()).unwrap_or_else(|what| {
        cx.error(path, what);
        let place = Place::Device(String::new());
        Location { text: String::new(), place, pfc: None, queues: 1, sfc: None, capture_tx: false }
    })
}

/// Returns the rate of an OTG speed.
fn speed(speed: Speed, path: &str, cx: &mut Findings) -> Option<BitsPerSec> {
    let mbps = match speed {
        Speed::Speed10HdMbps | Speed::Speed100HdMbps => {
            let what = "half duplex knows no pauses of a priority and no separate rate; choose \
                        full duplex";
            cx.error(format!("{path}.speed"), what);
            return None;
        }
        Speed::Speed10FdMbps => 10,
        Speed::Speed100FdMbps => 100,
        Speed::Speed1Gbps => 1_000,
        Speed::Speed10Gbps => 10_000,
        Speed::Speed25Gbps => 25_000,
        Speed::Speed40Gbps => 40_000,
        Speed::Speed50Gbps => 50_000,
        Speed::Speed100Gbps => 100_000,
        Speed::Speed200Gbps => 200_000,
        Speed::Speed400Gbps => 400_000,
        Speed::Speed800Gbps => 800_000,
    };
    BitsPerSec::new(mbps * 1_000_000)
}

/// The resolved flow control of a port.
struct Control {
    obeys: Obeys,
    delay: Quanta,
    queues: [Option<Priority>; 8],
}

fn control(control: &FlowControl, path: &str, cx: &mut Findings) -> Control {
    let address = control.directed_address.map_or(PAUSE_ADDRESS, |a| a.0);
    if address != PAUSE_ADDRESS {
        let what = format!(
            "pauses to {address} are not obeyed, only those to {PAUSE_ADDRESS} and to the port's \
             own address, as 802.3 has it"
        );
        cx.warn(format!("{path}.directed_address"), what);
    }
    let own = Priority::ALL.map(Some);
    match control.kind() {
        PauseKind::Ieee8023x => Control { obeys: Obeys::Pause, delay: Quanta(0), queues: own },
        PauseKind::Ieee8021qbb => {
            let default = Ieee8021Qbb::default();
            let pfc = control.ieee_802_1qbb.as_ref().unwrap_or(&default);
            priorities(pfc, &format!("{path}.ieee_802_1qbb"), cx)
        }
    }
}

/// Returns the priorities that pause queues. OTG: `pfc_class_n` is the priority for queue n, and
/// an omitted one means none. A client that omits all of them gets the defaults, 0 to 7.
fn priorities(pfc: &Ieee8021Qbb, path: &str, cx: &mut Findings) -> Control {
    let delay = u16::try_from(pfc.pfc_delay).unwrap_or_else(|_| {
        let what =
            format!("{} quanta are more than a pause can last; write 0 to 65535", pfc.pfc_delay);
        cx.error(format!("{path}.pfc_delay"), what);
        0
    });
    let classes = pfc.classes();
    let mut queues = Priority::ALL.map(Some);
    if classes.iter().any(Option::is_some) {
        for (n, class) in classes.iter().enumerate() {
            queues[n] = class.and_then(|c| {
                let priority = u8::try_from(c).ok().and_then(Priority::new);
                if priority.is_none() {
                    let what = format!("{c} is no priority; write 0 to 7");
                    cx.error(format!("{path}.pfc_class_{n}"), what);
                }
                priority
            });
        }
    }
    let obeyed: PrioritySet = queues.iter().flatten().copied().collect();
    Control { obeys: Obeys::Pfc(obeyed), delay: Quanta(delay), queues }
}
