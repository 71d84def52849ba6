//! Profiles of a lab's switches, and the plans made from them.

use super::graph::Node;
use crate::raw;
use config::raw::Port;
use config::{Cx, HeadroomCheck, Place, unknown_name};
use switch::SwitchPlan;

/// A profile, and its place in the file.
pub(super) struct Profile<'a> {
    pub raw: raw::Profile,
    pub ports: Port,
    pub at: Place<'a>,
}

pub(super) struct Profiles<'a> {
    pub list: Vec<Profile<'a>>,
    names: Vec<String>,
    /// Profile of switches that name none.
    default: usize,
}

#[derive(Default)]
pub(super) struct Switches {
    /// By node; `None` for hosts.
    pub plans: Vec<Option<SwitchPlan>>,
    /// Headroom of each shape, and the shape of each node.
    pub headroom: Vec<Vec<HeadroomCheck>>,
    pub shape_of: Vec<Option<usize>>,
    /// Profile of each node.
    pub profile_of: Vec<Option<usize>>,
    /// True for switches that learn addresses.
    pub learns: Vec<bool>,
}

impl<'a> Profiles<'a> {
    pub fn new(at: &Place<'a>, lab: &raw::Lab) -> Self {
        let at = at.key("profiles");
        let profile = |raw: raw::Profile, at| Profile { ports: raw.defaults.as_port(), raw, at };
        let mut list: Vec<_> =
            lab.profiles.iter().map(|(name, raw)| profile(raw.clone(), at.key(name))).collect();
        let names: Vec<String> = lab.profiles.keys().cloned().collect();
        let default = if list.len() == 1 { 0 } else { list.len() };
        // The built-in profile comes last. If the file has several, it is never used.
        let mut built_in = raw::Profile::default();
        built_in.defaults.pfc = Some(config::raw::Pfc::default());
        list.push(profile(built_in, at));
        Self { list, names, default }
    }

    /// Returns the profile of a switch.
    pub fn of(&self, cx: &mut Cx, node: &Node<'_>, said: Option<&String>) -> usize {
        let at = node.at.key("profile");
        match said {
            Some(name) => self.names.iter().position(|n| n == name).unwrap_or_else(|| {
                let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
                cx.error(&at, unknown_name("profile", name, &names));
                self.list.len() - 1
            }),
            None => {
                if self.names.len() > 1 {
                    let what = format!(
                        "the file has several profiles; say which one `{}` has, in `profile` or in \
                         `defaults.switches`: {}",
                        node.name,
                        self.names.join(", ")
                    );
                    cx.error(&node.at.own, what);
                }
                self.default
            }
        }
    }

    /// True each if a profile does not configure the measurement, and PTP.
    pub fn silent(&self, profile: usize) -> (bool, bool) {
        let ports = &self.list[profile].ports;
        (ports.measurement.is_none(), ports.ptp.is_none())
    }

    /// Returns the buffer section of a profile, and the place of the profile.
    pub fn buffer(&self, profile: usize) -> (&config::raw::Buffer, &Place<'a>) {
        (&self.list[profile].raw.buffer, &self.list[profile].at)
    }
}
