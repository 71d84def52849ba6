//! The location of a port: `ring:NAME.a`, `iface:eth1`, or a device's EAL name, with options
//! after a question mark (`?pfc=3,4&queues=2&sfc=flow`). In a lab, a host's name.
//!
//! Which locations a configuration may name depends on its origin. The arguments of a DPDK device can name files,
//! sockets and programs, which DPDK opens as the user of this process, often root. So a device is opened only by
//! arguments that the operator wrote: in a file, on the command line, or in the list of locations allowed for
//! clients.

use core::fmt;
use core::str::FromStr;

use super::plan::{Location, Place};
use ground::units::{Priority, PrioritySet};
use host::SfcPause;

/// Maximum number of transmit queues of a port: a choice, more than there are cores to serve
/// them.
pub const QUEUES_MAX: u16 = 16;

/// The options after the question mark.
const OPTIONS: &str = "`pfc=3,4` (the priorities whose pauses are obeyed), `queues=2` \
                       (queues to send by), `sfc=flow` or `sfc=priority` (the scope of pauses by source \
                       flow control messages), `capture=both` (captures have what is sent, too)";

impl Location {
    /// Parses a location.
    ///
    /// # Errors
    /// The error and the remedy, as one sentence.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (place, options) = text.split_once('?').unwrap_or((text, ""));
        let mut location = Self {
            text: text.to_owned(),
            place: place_of(place)?,
            pfc: None,
            queues: 1,
            sfc: None,
            capture_tx: false,
        };
        // A `&` at the end leaves an empty one.
        for option in options.split('&').filter(|o| !o.is_empty()) {
            location.option(option)?;
        }
        if location.sfc.is_some() && location.queues > 1 {
            // The thread of one queue receives the messages, and could not pause the others' flows.
            return Err("`sfc` and several `queues` exclude each other; take one out".into());
        }
        Ok(location)
    }

    /// Parses one option.
    fn option(&mut self, option: &str) -> Result<(), String> {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "pfc" => self.pfc = Some(priorities(value)?),
            "queues" => {
                let queues = value.parse().ok().filter(|n| (1..=QUEUES_MAX).contains(n));
                self.queues = queues
                    .ok_or_else(|| format!("`queues={value}`: write 1 to {QUEUES_MAX} queues"))?;
            }
            "sfc" => {
                self.sfc = match value {
                    "flow" => Some(SfcPause::Flow),
                    "priority" => Some(SfcPause::Priority),
                    _ => return Err(format!("`sfc={value}`: write `flow` or `priority`")),
                };
            }
            "capture" => {
                self.capture_tx = match value {
                    "rx" => false,
                    "both" => true,
                    _ => return Err(format!("`capture={value}`: write `rx` or `both`")),
                };
            }
            _ => return Err(format!("`{name}` is no option of a location; there are {OPTIONS}")),
        }
        Ok(())
    }
}

/// The name of a kernel interface, safe in the arguments of a DPDK device: it contains no
/// character that ends the argument or starts another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InterfaceName(String);

impl InterfaceName {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InterfaceName {
    type Err = String;

    /// Parses a name.
    ///
    /// # Errors
    /// The error and the remedy, as one sentence.
    fn from_str(name: &str) -> Result<Self, String> {
        /// The kernel's bound (IFNAMSIZ less the terminating zero).
        const LEN_MAX: usize = 15;
        // No comma and no equals sign, which would end the argument of a DPDK device.
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.@+~".contains(c);
        let special = matches!(name, "" | "." | "..");
        if special || name.len() > LEN_MAX || !name.chars().all(fits) {
            return Err(
                "after `iface:` comes the name of an interface, such as `eth1`: at most 15 \
                        letters, digits and `_-.@+~`"
                    .into(),
            );
        }
        Ok(Self(name.to_owned()))
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Parses a list of priorities: `3,4`; none for an empty text.
fn priorities(text: &str) -> Result<PrioritySet, String> {
    text.split(',')
        .filter(|p| !p.is_empty())
        .map(|p| p.trim().parse().ok().and_then(Priority::new))
        .collect::<Option<_>>()
        .ok_or_else(|| format!("`pfc={text}`: write priorities from 0 to 7, such as `pfc=3,4`"))
}

/// Parses a location without its options.
fn place_of(text: &str) -> Result<Place, String> {
    const RING: &str = "the two ends of a pair of rings are `ring:NAME.a` and `ring:NAME.b`";
    if let Some(ring) = text.strip_prefix("ring:") {
        let (pair, end) = ring.rsplit_once('.').ok_or(RING)?;
        let end = match end {
            "a" => 0,
            "b" => 1,
            _ => return Err(RING.into()),
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if pair.is_empty() || pair.len() > 16 || !pair.chars().all(fits) {
            return Err(format!("{RING}, NAME being 1 to 16 letters, digits, `_` and `-`"));
        }
        return Ok(Place::Ring { pair: pair.to_owned(), end });
    }
    if let Some(name) = text.strip_prefix("iface:") {
        return name.parse().map(Place::Interface);
    }
    if text.trim().is_empty() {
        return Err("a location is `ring:NAME.a`, `iface:eth1` or a device's EAL name, such as \
                    `0000:3b:00.0`"
            .into());
    }
    Ok(Place::Device(text.to_owned()))
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ring { pair, end } => write!(f, "ring:{pair}.{}", ["a", "b"][usize::from(*end)]),
            Self::Interface(name) => write!(f, "iface:{name}"),
            Self::Device(name) => f.write_str(name),
        }
    }
}

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
            // A pair in memory opens nothing of this machine.
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

    #[test]
    fn places_are_told_apart_by_their_beginning() {
        let place = |text: &str| Location::parse(text).unwrap().place;
        assert_eq!(place("ring:x-1.b"), Place::Ring { pair: "x-1".into(), end: 1 });
        assert_eq!(place("iface:eth1"), Place::Interface("eth1".parse().unwrap()));
        for device in ["0000:3b:00.0", "net_null0,size=64", "h1"] {
            assert_eq!(place(device), Place::Device(device.into()));
            assert_eq!(place(device).to_string(), device);
        }
    }

    #[test]
    fn options_follow_a_question_mark() {
        let all = Location::parse("ring:p.a?pfc=3,4&queues=2&capture=both").unwrap();
        assert_eq!(all.pfc, Some(PrioritySet(0x18)));
        assert_eq!((all.queues, all.capture_tx), (2, true));
        assert_eq!(all.place.to_string(), "ring:p.a");
        let none = Location::parse("ring:p.a").unwrap();
        assert_eq!((none.pfc, none.queues, none.capture_tx), (None, 1, false));
        assert_eq!(Location::parse("h1?pfc=").unwrap().pfc, Some(PrioritySet::EMPTY));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_would_help() {
        for (text, part) in [
            ("", "such as"),
            ("ring:x", "ring:NAME.a"),
            ("ring:x.c", "ring:NAME.b"),
            ("ring:.a", "letters"),
            ("ring:a b.a", "letters"),
            ("iface:", "interface"),
            ("iface:a_name_that_is_too_long", "interface"),
            ("iface:a,tx_pcap=/x", "interface"),
            ("iface:a=b", "interface"),
            ("iface:[a", "interface"),
            ("iface:a/b", "interface"),
            ("iface:..", "interface"),
            ("iface:a\nb", "interface"),
            ("iface:a\0", "interface"),
            ("ring:a,b.a", "letters"),
            ("x?pfc=8", "0 to 7"),
            ("x?queues=0", "1 to 16"),
            ("x?capture=tx", "`both`"),
            ("x?speed=10G", "no option"),
        ] {
            let e = Location::parse(text).unwrap_err();
            assert!(e.contains(part), "{text:?} gave {e:?}");
        }
    }

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
