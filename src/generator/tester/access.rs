//! Access control for ports that a configuration names, by the configuration's origin.
//!
//! The arguments of a DPDK device can name files, sockets and programs, which DPDK opens as the
//! user of this process, often root. So a device is opened only by arguments that the operator
//! wrote: in a file, on the command line, or in the list of locations allowed for clients.

use super::plan::{Location, Place};

/// The locations that a configuration may name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Access {
    /// Any: the configuration is the operator's.
    Operator,
    /// Pairs in memory and exactly these places. No other interface either: every user of the machine
    /// reaches the loopback, and the interfaces are the operator's.
    Listed(Vec<Place>),
}

impl Default for Access {
    fn default() -> Self {
        Self::Listed(Vec::new())
    }
}

impl Access {
    /// The access of clients, where the operator allows these locations.
    #[must_use]
    pub fn of_clients(allowed: &[Location]) -> Self {
        Self::Listed(allowed.iter().map(|location| location.place.clone()).collect())
    }

    /// Checks a location that a configuration names.
    ///
    /// # Errors
    /// The reason of the refusal and the remedy, as one sentence.
    pub fn check(&self, location: &Location) -> Result<(), String> {
        let place = &location.place;
        let allowed = match (self, place) {
            (Self::Operator, _) | (_, Place::Ring { .. }) => true,
            (Self::Listed(places), place) => places.contains(place),
        };
        if allowed {
            return Ok(());
        }
        Err(format!(
            "clients of this server may name `ring:` pairs and what its operator allows; start it \
             with `--allow {place}` to allow it"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn location(text: &str) -> Location {
        Location::parse(text).unwrap()
    }

    /// Devices whose arguments name a file, a socket, a program or another device.
    const HOSTILE: [&str; 8] = [
        "net_pcap0,tx_pcap=/etc/cron.d/x",
        "net_pcap0,iface=eth0",
        "net_af_packet0,iface=eth0",
        "net_af_xdp0,iface=eth0,xdp_prog=/tmp/x.o",
        "net_memif0,socket=/tmp/x,socket-abstract=no",
        "net_vhost0,iface=/tmp/x",
        "net_tap0,iface=x",
        "0000:3b:00.0,fw=/tmp/x",
    ];

    #[test]
    fn clients_name_no_device_that_the_operator_did_not_write() {
        let allowed: Vec<_> = ["iface:h0", "0000:3b:00.0"].map(location).into();
        for access in [Access::of_clients(&[]), Access::of_clients(&allowed)] {
            for text in HOSTILE {
                let refused = access.check(&location(text)).unwrap_err();
                assert!(refused.contains("--allow"), "{text}: {refused}");
                // The port options of Sluice behind it change nothing.
                access.check(&location(&format!("{text}?pfc=3"))).unwrap_err();
                Access::Operator.check(&location(text)).unwrap();
            }
            access.check(&location("ring:a.b?capture=both")).unwrap();
        }
    }

    #[test]
    fn interfaces_and_devices_are_those_of_the_list() {
        let listed: Vec<_> = ["iface:h0", "0000:3b:00.0"].map(location).into();
        let (none, listed) = (Access::default(), Access::of_clients(&listed));
        for (text, by_list) in [
            ("iface:h0", true),
            ("iface:h0?pfc=3", true),
            ("iface:h1", false),
            ("0000:3b:00.0", true),
            ("0000:3b:00.1", false),
        ] {
            assert!(none.check(&location(text)).is_err(), "{text}");
            assert_eq!(listed.check(&location(text)).is_ok(), by_list, "{text}");
        }
    }
}
