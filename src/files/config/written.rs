//! A switch file with the changes of a running switch: written back, and resolved again.
//!
//! The tree is the file's with `defaults` merged into the ports. Objects are written under their
//! keys, groups as profiles and marking curves as fields of their queue, and the result is resolved
//! like any file, so what is saved is what a switch would start with. Values that a client sets have the units of
//! files, too.

use std::collections::BTreeSet;
use std::fmt;

use super::quantity::{Rate, Ratio, Size, Span};
use super::raw::{Centiseconds, Range};
use super::tree::{self, Node};
use super::{ConfigError, Machine, SwitchFile, parse_tree};
use buffer::{BufferPlan, GroupKind, GroupPlan, SharedLimit};
use congestion::EcnPlan;
use congestion::sfc::CENTISECOND;
use ground::units::{Cells, PRIORITIES, PortId, PriorityGroup, TrafficClass, percent_of_parts};
use link::Method;
use switch::managed::{
    self, Access, At, Kind, Object, ObjectError, ObjectValue, Reason, Scope, Section, Unit,
};
use switch::{CongestionPlan, SwitchPlan};

/// A switch file that can be changed.
#[derive(Clone)]
pub struct Written {
    /// The file's name, to which paths in it are relative.
    pub(super) name: String,
    /// Without its keys, each replaced by a number.
    pub(super) root: Node,
    has_keys: bool,
}

impl fmt::Debug for Written {
    /// Without the content, which [`SwitchFile`] has resolved.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Written").finish_non_exhaustive()
    }
}

impl Written {
    pub(super) fn new(name: &str, root: &Node) -> Self {
        let mut root = root.clone();
        // The ports have them already.
        root.take("defaults");
        // Numbers in place of keys keep the tree valid, so that it can be resolved again.
        let has_keys = ["key", "salt"].map(|name| root.replace_below(name)).contains(&true);
        Self { name: name.to_owned(), root, has_keys }
    }

    /// Returns true if the file has keys of MACsec, which are not to be copied.
    pub const fn has_keys(&self) -> bool {
        self.has_keys
    }

    /// Returns the file as YAML.
    pub fn to_yaml(&self) -> String {
        self.root.to_yaml()
    }

    /// Adds a section with the settings in `text`, YAML.
    ///
    /// # Errors
    /// The text is not YAML.
    pub fn add_section(&mut self, section: Section, text: &str) -> Result<(), String> {
        let settings = tree::read(text, "settings are a mapping, such as {}");
        *self.root.enter(section.key()) = settings.map_err(|finding| finding.what)?;
        Ok(())
    }

    /// Removes a section and the settings of ports that belong to it.
    pub fn remove_section(&mut self, section: Section) {
        self.root.take(section.key());
        for port in 0.. {
            let Some(port) = self.port(port) else { break };
            port.take(section.key());
        }
    }

    /// Gives a port a source flow control point, or takes it away.
    pub fn set_point(&mut self, port: PortId, exists: bool) {
        if let Some(port) = self.port(port.index()) {
            *port.enter("sfc").enter("point") = Node::plain(exists.to_string());
        }
    }

    /// Writes the objects whose values in `plan` differ from those in `file`, the file's.
    fn write_changed(&mut self, plan: &CongestionPlan, file: &CongestionPlan, ports: usize) {
        self.write_methods(plan, file);
        let mut queues = BTreeSet::new();
        for object in Object::all().filter(|object| object.access() != Access::ReadOnly) {
            for spot in places(object, ports) {
                let value = |of| managed::get(of, ports, object, spot);
                let given = |of| managed::is_given(of, object);
                // An optional object that is given now and was not in the file is written even where the values are
                // the same.
                let differs =
                    |new: &ObjectValue| value(file) != Some(*new) || given(plan) != given(file);
                let Some(new) = value(plan).filter(differs).filter(|_| given(plan)) else {
                    continue;
                };
                match (object.scope(), spot.port) {
                    (Scope::Queue, Some(port)) => {
                        let class = spot.class.expect("a queue has a class");
                        // Collected in a set, as a queue is written whole and only once.
                        queues.insert((object.section().key(), port.index(), class.index()));
                    }
                    _ => self.write_object(object, spot, new),
                }
            }
        }
        for (section, port, class) in queues {
            let spot = At { port: PortId::new(port as u16), class: Some(TrafficClass::ALL[class]) };
            self.write_queue(plan, ports, section, spot);
        }
    }

    /// Turns on the measurements that a file has by default only for the methods of automatic
    /// headroom, which may be others now.
    fn write_methods(&mut self, plan: &CongestionPlan, file: &CongestionPlan) {
        for (n, new) in plan.measurement.iter().flatten().enumerate() {
            let old = PortId::new(n as u16).and_then(|port| file.port_measurement(port));
            // A measurement that the file has on by default would be off when the file is resolved without its method.
            let lost = |method| {
                new.is_some_and(|new| new.can(method)) && !old.is_some_and(|old| old.can(method))
            };
            for (method, key) in [(Method::RoundTrip, "measurement"), (Method::PeerDelay, "ptp")] {
                if let (true, Some(port)) = (lost(method), self.port(n)) {
                    *port.enter(key).enter("initiate") = Node::plain("true");
                }
            }
        }
    }

    /// Writes an object of the switch or of a port.
    fn write_object(&mut self, object: Object, spot: At, value: ObjectValue) {
        let path = path(object);
        let root = match spot.port {
            Some(port) => self.port(port.index()),
            None => Some(&mut self.root),
        };
        let Some(root) = root else { return };
        // The parents are created where the file does not have them.
        let (last, parents) = path.split_last().expect("a path has a name");
        let parent = parents.iter().fold(root, |node, name| node.enter(name));
        match (value, object.kind()) {
            // Files have no rate of 0.
            (ObjectValue::Unset, _)
            | (ObjectValue::Number(0), Kind::Number { unit: Unit::BitsPerSecond, .. }) => {
                parent.take(last);
            }
            // Nor a period of 0.
            (ObjectValue::Number(0), _) if object.name() == "measurement.period" => {
                parent.take(last);
            }
            _ => *parent.enter(last) = written(object, value),
        }
        if object.name() == "queue-map" {
            // Other keys of the same map, and how the file's own numbers were meant.
            parent.take("isolate");
            parent.take("map_reading");
        }
    }

    /// Writes all settings of a queue of a section at one port: settings of a port replace those of
    /// the switch for the class.
    fn write_queue(&mut self, plan: &CongestionPlan, ports: usize, section: &str, spot: At) {
        let (Some(port), Some(class)) = (spot.port, spot.class) else { return };
        let of_queues =
            |object: &Object| object.section().key() == section && object.scope() == Scope::Queue;
        let mut queue = Node::mapping();
        for object in Object::all().filter(of_queues) {
            // Settings that this queue does not have stay at their defaults.
            let Some(value) = managed::get(plan, ports, object, spot) else { continue };
            // Behind the section and `queues`.
            let path = path(object);
            let (last, parents) = path[2..].split_last().expect("a queue's object has a name");
            let parent = parents.iter().fold(&mut queue, |node, name| node.enter(name));
            *parent.enter(last) = written(object, value);
        }
        if section == Section::Sfc.key() {
            // Its default depends on the queues that the file names.
            let mask = plan.sfc.as_ref().map_or(0, |sfc| sfc.point.monitored_queues);
            let monitored = Node::plain(mask.to_string());
            *self.root.enter(section).enter("sfcMonitoredQueues") = monitored;
        }
        if let Some(port) = self.port(port.index()) {
            let queues = port.enter(section).enter("queues");
            split_ranges(queues);
            *queues.enter(&class.get().to_string()) = queue;
        }
    }

    /// Writes the thresholds of all groups of a port, each as a separate profile.
    pub fn write_groups(&mut self, plan: &SwitchPlan, port: PortId) {
        let groups = &plan.buffer.groups[port.index()];
        let finds_headroom = plan.finds_headroom(port);
        // A profile for each group: those of the file may serve other ports, too.
        let mut names = Node::mapping();
        for group in PriorityGroup::ALL {
            let name = format!("port{}-group{}", port.index(), group.get());
            *names.enter(&group.get().to_string()) = Node::plain(name.clone());
            let mut profile = profile(&groups[group.index()], &plan.buffer);
            if finds_headroom && profile.get("lossless").is_some() {
                // The size that the port has found is none that a file could give it.
                *profile.enter("lossless").enter("xoff") = Node::plain("auto");
            }
            *self.root.enter("buffer").enter("profiles").enter(&name) = profile;
        }
        if let Some(port) = self.port(port.index()) {
            *port.enter("priority_groups") = names;
        }
    }

    /// Writes the marking curve of a class of a port.
    pub fn write_ecn(&mut self, plan: &SwitchPlan, port: PortId, class: TrafficClass) {
        let curve = plan.ports[port.index()].ecn[class.index()];
        let Some(port) = self.port(port.index()) else { return };
        let queues = port.enter("queues");
        split_ranges(queues);
        let queue = queues.enter(&class.get().to_string());
        match curve {
            None => {
                queue.take("ecn");
            }
            Some(curve) => *queue.enter("ecn") = ecn(&curve),
        }
    }

    fn port(&mut self, n: usize) -> Option<&mut Node> {
        self.root.enter("ports").item(n)
    }
}

/// Returns the places of an object's values.
fn places(object: Object, ports: usize) -> Vec<At> {
    let ids = || (0..ports as u16).filter_map(PortId::new);
    match object.scope() {
        Scope::Bridge | Scope::Sums => vec![At::default()],
        Scope::Port => ids().map(|port| At { port: Some(port), class: None }).collect(),
        Scope::Queue => ids()
            .flat_map(|port| {
                let classes = TrafficClass::ALL.into_iter();
                classes.map(move |class| At { port: Some(port), class: Some(class) })
            })
            .collect(),
    }
}

/// Returns the path of an object in a file: from the port for an object with one value per port,
/// else from the root.
fn path(object: Object) -> Vec<&'static str> {
    let (name, section) = (object.name(), object.section().key());
    match name {
        "attached" | "congestion_locator" => vec![name],
        "ieee8021CnGlobalCnmTransmitPriority" => vec![section, "transmit_priority"],
        "ieee8021CnCpMinHeaderOctets" => vec![section, "msdu_octets"],
        "ieee8021CnCpQueueSizeSetPoint" => vec![section, "queues", "set_point"],
        "ieee8021CnCpFeedbackWeight" => vec![section, "queues", "weight"],
        "ieee8021CnCpMinSampleBase" => vec![section, "queues", "sample_base"],
        _ if name.contains('.') => name.split('.').collect(),
        _ => vec![section, name],
    }
}

/// Returns a value as a file has it.
fn written(object: Object, value: ObjectValue) -> Node {
    match (object.kind(), value) {
        (Kind::Number { unit: Unit::Share, .. }, ObjectValue::Number(n)) => {
            Node::plain(percent_of_parts(n.unsigned_abs() as u32))
        }
        (Kind::Number { unit: Unit::Percent, .. }, ObjectValue::Number(n)) => {
            Node::plain(format!("{n}%"))
        }
        (Kind::Number { unit: Unit::BitsPerSecond, .. }, ObjectValue::Number(n)) => {
            Node::plain(format!("{n}bps"))
        }
        (_, ObjectValue::QueueMap(map)) => {
            Node::sequence(map.map(|n| Node::plain(n.to_string())).to_vec())
        }
        (_, ObjectValue::Classes(mask)) => Node::plain(mask.to_string()),
        // In quotes: YAML 1.1 reads some addresses as numbers to the base of 60.
        (_, ObjectValue::Mac(_) | ObjectValue::Ipv4(_) | ObjectValue::Ipv6(_)) => {
            Node::text(value.to_string())
        }
        // Several words are a list in files.
        (_, ObjectValue::Choice(words)) if words.contains(", ") => {
            Node::sequence(words.split(", ").map(Node::plain).collect())
        }
        (kind, value) => Node::plain(kind.show(value)),
    }
}

fn profile(group: &GroupPlan, buffer: &BufferPlan) -> Node {
    let octets =
        |cells: Cells| Node::plain((u64::from(cells.0) * u64::from(buffer.cell_bytes)).to_string());
    let mut profile = Node::mapping();
    *profile.enter("reserved") = octets(group.reserved);
    let shared = profile.enter("shared");
    match group.limit {
        SharedLimit::Dynamic(alpha) => {
            *shared.enter("dynamic_th") = Node::plain(alpha.exponent().to_string());
        }
        SharedLimit::Static(cells) => *shared.enter("static_th") = octets(cells),
        SharedLimit::Unlimited => *shared.enter("unlimited") = Node::plain("true"),
    }
    if let GroupKind::Lossless { headroom, xon, xon_offset } = group.kind {
        let lossless = profile.enter("lossless");
        *lossless.enter("xoff") = octets(headroom);
        *lossless.enter("xon") = octets(xon);
        *lossless.enter("xon_offset") = octets(xon_offset);
    }
    profile
}

fn ecn(curve: &EcnPlan) -> Node {
    let mut ecn = Node::mapping();
    *ecn.enter("kmin") = Node::plain(curve.kmin.0.to_string());
    *ecn.enter("kmax") = Node::plain(curve.kmax.0.to_string());
    *ecn.enter("pmax") = Node::plain(percent_of_parts(curve.pmax));
    *ecn.enter("at") = Node::plain(curve.at.name());
    *ecn.enter("not_ect") = Node::plain(curve.not_ect.name());
    ecn
}

/// Splits the keys of a mapping that are ranges into one key per number.
fn split_ranges(map: &mut Node) {
    for n in 0..PRIORITIES as u16 {
        let holds = |key: &str| key.parse::<Range>().is_ok_and(|r| r.iter().any(|m| m == n));
        let tree::Kind::Map(entries) = &map.kind else { return };
        let found = entries.iter().find(|(key, _)| holds(&key.name));
        let Some((name, node)) = found.map(|(key, node)| (key.name.clone(), node.clone())) else {
            continue;
        };
        // A single number is a key that can stay; a range has to make room for the numbers in it.
        let range: Range = name.parse().expect("it was parsed");
        if range.is_single() {
            continue;
        }
        map.take(&name);
        for single in range.iter() {
            *map.enter(&single.to_string()) = node.clone();
        }
    }
}

/// Passes after which the defaults of what was written no longer change what else has to be written:
/// a default depends on other fields, which depend on none.
const PASSES: usize = 3;

impl Written {
    /// Resolves the file again.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn resolve(&self, machine: &Machine) -> Result<SwitchFile, ConfigError> {
        Ok(parse_tree(&self.name, self.root.clone(), machine)?.0)
    }

    /// Returns the file with the objects whose values in `plan` differ from those in the file.
    ///
    /// # Errors
    /// All problems of either file: a switch with these values could not be started again.
    pub fn with_objects(
        &self,
        plan: &CongestionPlan,
        ports: usize,
        machine: &Machine,
    ) -> Result<Self, ConfigError> {
        let mut written = self.clone();
        // What was written in one pass may change the defaults of other objects in the next.
        for _ in 0..PASSES {
            let file = written.resolve(machine)?.plan.congestion;
            written.write_changed(plan, &file, ports);
        }
        written.resolve(machine)?;
        Ok(written)
    }
}

/// Parses a value of `object`: `true`, `6`, `100KB`, `10us`, `75%`, `[3,4]`, an address, a word.
///
/// # Errors
/// The text is not a value of this object; lists the valid ones, or names the wrong unit.
pub fn object_value(object: Object, text: &str) -> Result<ObjectValue, String> {
    let kind = object.kind();
    let out = || ObjectError::new(object, Reason::Range).to_string();
    let number =
        |n: Option<u64>| n.and_then(|n| n.try_into().ok()).map(ObjectValue::Number).ok_or_else(out);
    let named = |why| format!("{}: {why}", object.name());
    let value = match kind {
        Kind::Counter(_) => return Err(ObjectError::new(object, Reason::ReadOnly).to_string()),
        Kind::Number { unit: Unit::Octets, .. } => {
            number(Some(text.parse::<Size>().map_err(named)?.0))?
        }
        Kind::Number { unit: Unit::Picoseconds, .. } => {
            number(Some(text.parse::<Span>().map_err(named)?.0.as_picos()))?
        }
        // A bare number is in the object's unit, although files refuse it for rates.
        Kind::Number { unit: Unit::BitsPerSecond, .. } if text.trim().parse::<u64>().is_err() => {
            number(Some(text.parse::<Rate>().map_err(named)?.0.get()))?
        }
        Kind::Number { unit: Unit::Share, .. } => {
            number(Some(text.parse::<Ratio>().map_err(named)?.parts().into()))?
        }
        // A plain number in the object's unit, or a time with its unit.
        Kind::Number { unit: Unit::Centiseconds, .. } if text.trim().parse::<u64>().is_err() => {
            let Centiseconds(span) = text.parse().map_err(named)?;
            let (picos, unit) = (span.as_picos(), CENTISECOND.as_picos());
            if picos % unit != 0 {
                return Err(named("not a whole number of centiseconds (10ms)".into()));
            }
            number(Some(picos / unit))?
        }
        _ => kind.read(text).ok_or_else(out)?,
    };
    if kind.takes(&value) { Ok(value) } else { Err(out()) }
}

#[cfg(test)]
mod tests;
