//! A switch of the ports on the command line, and what interfaces say that a file cannot know.

use serde_json::{Value, json};

use crate::kernel::{Interface, rate_of};

/// Source of the configuration in messages.
pub(super) const NAME: &str = "--port";

/// Octets of a frame around the packet that an interface's MTU bounds: addresses and type, FCS, and two tags.
const AROUND: u32 = 14 + 4 + 8;

/// The switch file of these ports: interfaces, or devices of DPDK by their whole names. The longest frame is that of the
/// largest MTU, and a port has the rate of its interface, without a shaper.
pub(super) fn file_of(ports: &[String]) -> Value {
    let interface = |port: &String| {
        let name = port.strip_prefix("iface:").unwrap_or(port);
        let is_device = name.contains([':', ',']) || name.starts_with("net_");
        (!is_device).then(|| name.to_owned())
    };
    let found = |name: &String| Interface::named(name).ok().flatten();
    let mtus = ports.iter().filter_map(interface).filter_map(|name| Some(found(&name)?.mtu));
    let mut switch = json!({"name": "sluice"});
    if let Some(mtu) = mtus.max() {
        // As the default where the MTU is less than Ethernet's.
        switch["max_frame"] = (mtu.max(1_500) + AROUND).min(contracts::port::FRAME_MAX).into();
    }
    let port = |port: &String| match interface(port) {
        None => json!({"device": port}),
        Some(name) => {
            let mut made = json!({"device": format!("iface:{name}"), "shaped": "off"});
            if let Some(rate) = rate_of(&name) {
                made["rate"] = format!("{}bps", rate.get()).into();
            }
            made
        }
    };
    json!({"switch": switch, "ports": ports.iter().map(port).collect::<Value>()})
}

/// Warning that an interface may receive longer frames than the switch forwards.
pub(super) fn too_long(interface: &Interface, max_frame: u32) -> Option<String> {
    let needed = interface.mtu.saturating_add(AROUND - 4);
    (needed > max_frame).then(|| {
        format!(
            "interface {} has an MTU of {}, and frames of more than {max_frame} octets are dropped: write \
             `switch: {{max_frame: {}}}`",
            interface.name,
            interface.mtu,
            interface.mtu.saturating_add(AROUND).min(contracts::port::FRAME_MAX),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Machine};

    fn interface(mtu: u32) -> Interface {
        let lo = Interface::named("lo").unwrap().expect("every namespace has a loopback");
        Interface { name: "eth1".into(), mtu, ..lo }
    }

    #[test]
    fn ports_are_interfaces_or_devices() {
        let ports = ["nosuch1", "iface:nosuch2", "net_null0", "0000:3b:00.0"].map(String::from);
        let file = file_of(&ports).to_string();
        let (file, _) = config::parse(NAME, &file, &Machine::any()).unwrap();
        let devices: Vec<_> = file.devices.iter().map(|device| device.device.as_str()).collect();
        assert_eq!(devices, ["iface:nosuch1", "iface:nosuch2", "net_null0", "0000:3b:00.0"]);
        let names: Vec<_> = file.plan.ports.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names[..2], ["nosuch1", "nosuch2"]);
    }

    #[test]
    fn the_rate_of_an_interface_is_a_rate_of_files() {
        // The loopback has none; a file with the rate of another interface is read.
        assert_eq!(file_of(&["lo".into()])["ports"][0].get("rate"), None);
        let file =
            json!({"ports": [{"device": "iface:a", "rate": "25000000000bps", "shaped": "off"}]});
        let (file, _) = config::parse(NAME, &file.to_string(), &Machine::any()).unwrap();
        assert_eq!(file.plan.ports[0].rate.get(), 25_000_000_000);
    }

    #[test]
    fn an_mtu_beyond_the_longest_frame_is_told_with_the_remedy() {
        assert_eq!(too_long(&interface(1_500), 1_526), None);
        assert_eq!(too_long(&interface(1_504), 1_526), None);
        let told = too_long(&interface(9_000), 1_526).unwrap();
        assert!(told.contains("`switch: {max_frame: 9026}`"), "{told}");
    }
}
