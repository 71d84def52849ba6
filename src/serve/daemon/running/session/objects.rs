//! Managed objects and tables of the running switch, read and written, and its version and memory.

use anyhow::{Context, Result, anyhow, bail};
use config::object_value;
use congestion::FlowKey;
use congestion::isolation::Peer;
use congestion::proxy::Cached;
use ground::units::{PortId, TrafficClass};
use report::{
    CACHE_COLUMNS, Notification, ObjectRow, ObjectTable, Objects, STREAM_COLUMNS, counted,
    object_rows,
};
use runtime::Controller;
use serde_json::Value;
use switch::managed::{
    self, Access, At, Listing, Object, ObjectError, Reason, Scope, StreamRow, Streams,
};
use switch::{Change, SwitchPlan};

use super::saving::with_objects;
use super::{Session, lock};
use crate::messages::{About, Place, SetObject};

/// Largest number of rows shown; the number of further rows is reported.
const ROWS_MAX: usize = 1_000;

impl Session {
    /// Objects and tables of the switch's sections whose names contain `pattern`.
    pub(super) fn objects(&self, pattern: Option<&str>) -> Result<Objects> {
        let pattern = pattern.unwrap_or_default().to_lowercase();
        let wanted = |name: &str| name.to_lowercase().contains(&pattern);
        let plan = lock(&self.plan).clone();
        let mut found = Objects::default();
        for object in Object::all().filter(|object| wanted(object.name())) {
            found.objects.extend(self.rows(&plan, object)?);
        }
        for listing in Listing::ALL {
            let (name, section) = listing.place();
            if wanted(name) && section.is_in(&plan.congestion) {
                found.tables.push(self.table(&plan, listing)?);
            }
        }
        // Three reasons for nothing: an object or a table of a feature that is off, or no such name.
        if !pattern.is_empty() && found.objects.is_empty() && found.tables.is_empty() {
            if let Some(object) = Object::all().find(|object| wanted(object.name())) {
                bail!(ObjectError::new(object, Reason::NoSection));
            }
            if let Some(table) = Listing::ALL.into_iter().find(|of| wanted(of.place().0)) {
                let (name, section) = table.place();
                bail!("{name} is of a feature that is off; see `{}` of the file", section.key());
            }
            Object::named(&pattern)?;
        }
        Ok(found)
    }

    /// One object or table.
    pub(super) fn object(&self, place: &Place) -> Result<Objects> {
        let plan = lock(&self.plan).clone();
        let mut found = Objects::default();
        if let Some(listing) = Listing::named(&place.name) {
            found.tables.push(self.table(&plan, listing)?);
            return Ok(found);
        }
        let object = Object::named(&place.name)?;
        let scope = self.place_of(place.port.as_deref(), place.class)?;
        let name = |port: PortId| plan.ports[port.index()].name.clone();
        let (port, class) = (scope.port.map(name), scope.class.map(TrafficClass::get));
        found.objects = self.rows(&plan, object)?;
        // Without a port or class the sum of all, otherwise the named ones.
        let sums = object.scope() == Scope::Sums;
        found.objects.retain(|row| {
            let is_wanted = |is: bool, all: bool| if sums { is } else { is || all };
            is_wanted(row.port == port, port.is_none())
                && is_wanted(row.class == class, class.is_none())
        });
        if found.objects.is_empty() {
            match object.section().is_in(&plan.congestion) {
                true => bail!("{} has no value there", object.name()),
                false => bail!(ObjectError::new(object, Reason::NoSection)),
            }
        }
        Ok(found)
    }

    /// Writes an object: at all workers, or at none.
    pub(super) fn set_object(&self, set: &SetObject) -> Result<()> {
        let object = Object::named(&set.name)?;
        let at = self.place_of(set.port.as_deref(), set.class)?;
        let value = object_value(object, &set.value).map_err(|why| anyhow!(why))?;
        let mut plan = lock(&self.plan);
        let ports = plan.ports.len();
        // Workers refuse the same values, because they have the same plan.
        let mut new = plan.congestion.clone();
        managed::set(&mut new, ports, object, at, value)?;
        // A threshold above the whole buffer would be accepted and never reached.
        managed::reaches(object, value, plan.buffer.octets())?;
        // What a file could not have is refused here as well, so that the running switch can be saved.
        let file_with = |objects| with_objects(&lock(&self.saved), objects, ports);
        if let Err(why) = file_with(&new) {
            // A file that cannot be read without the change, as its key file is gone, says nothing about it.
            if file_with(&plan.congestion).is_ok() {
                return Err(why);
            }
        }
        self.controller.apply(Change::Object { object, at, value })?;
        // After the workers: if they refuse it, the plan does not say that they have it.
        plan.congestion = new;
        let port = at.port.map(|port| plan.ports[port.index()].name.as_str());
        let notification =
            Notification::set(object.name(), port, set.class, &object.kind().show(value));
        lock(&self.memory).tell(notification);
        Ok(())
    }

    fn place_of(&self, port: Option<&str>, class: Option<u8>) -> Result<At> {
        let port = port.map(|name| self.port(name)).transpose()?;
        let traffic_class = |n| TrafficClass::new(n).context("class: 0 to 7");
        Ok(At { port, class: class.map(traffic_class).transpose()? })
    }

    fn rows(&self, plan: &SwitchPlan, object: Object) -> Result<Vec<ObjectRow>> {
        let names: Vec<&str> = plan.ports.iter().map(|port| port.name.as_str()).collect();
        // Only counters need the workers; settings are in the plan.
        let snapshot = match object.access() {
            Access::ReadOnly => Some(self.controller.snapshot()?.switch),
            Access::ReadWrite | Access::Start => None,
        };
        let counted = counted(plan, snapshot.as_ref(), &self.hardware_pfc);
        Ok(object_rows(&plan.congestion, &names, object, counted))
    }

    fn table(&self, plan: &SwitchPlan, listing: Listing) -> Result<ObjectTable> {
        let port = |port: PortId| plan.ports[port.index()].name.clone();
        match listing {
            Listing::Peers => {
                let peers = self.controller.peers()?;
                Ok(peer_table(peers.into_iter().map(|(id, peer)| (port(id), peer))))
            }
            Listing::Measurements | Listing::MeasurementCounters => {
                self.measured_table(plan, listing)
            }
            Listing::ProxyCache => cache_table(&self.controller, listing.place().0),
            Listing::Streams(of) => stream_table(&self.controller, of, listing.place().0, port),
        }
    }
}

pub(super) fn table(name: &str, columns: &[&str], rows: Vec<Vec<Value>>, more: u64) -> ObjectTable {
    let columns = columns.iter().map(|column| column.to_string()).collect();
    ObjectTable { name: name.into(), columns, rows, more }
}

fn peer_table(peers: impl Iterator<Item = (String, Peer)>) -> ObjectTable {
    const COLUMNS: [&str; 7] = [
        "reception-port",
        "cim-type",
        "peer-mac-address",
        "peer-ipv4-address",
        "peer-ipv6-address",
        "peer-udp-port",
        "peer-cim-encap-len",
    ];
    let row = |(port, peer): (String, Peer)| {
        let text = |text: Option<String>| text.map_or(Value::Null, Value::String);
        vec![
            port.into(),
            peer.cim_type.name().into(),
            peer.mac.to_string().replace(':', "-").to_uppercase().into(),
            text(peer.ipv4.map(|address| address.to_string())),
            text(peer.ipv6.map(|address| address.to_string())),
            peer.udp_port.into(),
            peer.encap_len.into(),
        ]
    };
    table("ci-peer-table", &COLUMNS, peers.map(row).collect(), 0)
}

/// The proxy's cache of congested destinations. Times are in nanoseconds, ends since the switch
/// started; each worker caches for the hosts of its ports.
fn cache_table(controller: &Controller, name: &str) -> Result<ObjectTable> {
    let (rows, more) = controller.cached(ROWS_MAX)?;
    let row = |(worker, row): (usize, Cached)| {
        let Cached { destination, priority, pause, until, dies } = row;
        vec![
            worker.into(),
            destination.to_string().into(),
            priority.get().into(),
            pause.as_nanos().into(),
            until.as_nanos().into(),
            dies.as_nanos().into(),
        ]
    };
    Ok(table(name, &CACHE_COLUMNS, rows.into_iter().map(row).collect(), more))
}

/// A table of flows. `create-time` is in nanoseconds since the switch started; `queue-key` is the
/// YANG module's, (class + 1) * port with ports counted from 1. Several queues may have the same
/// key, so port and class have their own columns.
fn stream_table(
    controller: &Controller,
    of: Streams,
    name: &str,
    port: impl Fn(PortId) -> String,
) -> Result<ObjectTable> {
    let row = |(handle, row): (u64, StreamRow)| {
        // A flow by addresses of IP has the MAC addresses of its first frame as labels, if they are kept.
        let (dst, src, vid) = match (row.key, row.labels) {
            (_, Some(labels)) => (Some(labels.dst), Some(labels.src), labels.vid),
            (FlowKey::L2 { dst, src, vid }, None) => (Some(dst), Some(src), vid),
            (FlowKey::Ip(_), None) => (None, None, None),
        };
        let mac = |mac: Option<ground::units::Mac>| {
            mac.map_or(Value::Null, |mac| mac.to_string().replace(':', "-").to_uppercase().into())
        };
        let ip = match row.key {
            FlowKey::Ip(flow) => [
                flow.src.to_string().into(),
                flow.dst.to_string().into(),
                flow.protocol.0.into(),
                flow.src_port.into(),
                flow.dst_port.into(),
            ],
            FlowKey::L2 { .. } => [const { Value::Null }; 5],
        };
        // Ports count from 1 in the YANG module.
        let (class, number) = (row.queue.class.get(), u32::from(row.queue.port.get()) + 1);
        let mut cells = vec![
            handle.into(),
            port(row.queue.port).into(),
            class.into(),
            ((u32::from(class) + 1) * number).into(),
            row.congesting.map_or(Value::Null, |class| class.get().into()),
            mac(dst),
            mac(src),
            vid.map_or(Value::Null, |vid| vid.get().into()),
        ];
        cells.extend(ip);
        let created = row.created.as_nanos();
        cells.extend([row.messages.into(), created.into(), row.mask.0.into()]);
        let number = |n: Option<u64>| n.map_or(Value::Null, Value::from);
        cells.extend([number(row.octets), number(row.rate)]);
        cells.push(row.paused.map_or(Value::Null, |(priority, _)| priority.get().into()));
        cells.push(row.paused.map_or(Value::Null, |(_, until)| until.as_nanos().into()));
        cells
    };
    let (rows, more) = controller.streams(of, ROWS_MAX)?;
    let mut made = table(name, &STREAM_COLUMNS, rows.into_iter().map(row).collect(), more);
    if of == Streams::Isolation {
        // Name in the YANG module.
        made.columns[13] = "cim-count".into();
    }
    Ok(made)
}

/// Returns the version of the program, and the memory of its process.
pub(super) fn about() -> About {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    About { version: ground::program::version().to_owned(), memory: resident(&status) }
}

/// Returns the resident memory in bytes in the form of `/proc/PID/status` (proc(5)), which is in KiB; `None`
/// if there is none. Hugepages, whose number does not change while a switch runs, are not in it.
fn resident(status: &str) -> Option<u64> {
    let value = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_that_of_this_process_or_unknown() {
        assert_eq!(resident("Name:\tsluice\nVmRSS:\t    1234 kB\nThreads:\t1\n"), Some(1_263_616));
        for other in ["", "VmRSS:\t12", "VmRSS: many kB", "VmRSS: 18446744073709551615 kB"] {
            assert_eq!(resident(other), None, "{other}");
        }
        assert!(about().memory.is_some_and(|bytes| bytes > 100_000));
    }
}
