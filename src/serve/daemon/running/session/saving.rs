//! Points and proxies of Source Flow Control created and deleted by clients, and the running
//! configuration as a switch file.
//!
//! Both change the switch file and resolve it again, so that a client can create only what a file
//! could have.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail, ensure};
use config::{ConfigError, Finding, Machine, SwitchFile, Written};
use ground::units::{PRIORITIES, PortId, TrafficClass};
use switch::managed::Section;
use switch::{CongestionPlan, SwitchPlan};

use super::{Session, lock};

impl Session {
    /// Creates a section with its settings, or the point of a port.
    pub(super) fn create(
        &self,
        section: &str,
        port: Option<&str>,
        settings: Option<&str>,
    ) -> Result<()> {
        let section = named(section)?;
        let port = port.map(|name| self.port(name)).transpose()?;
        self.change(
            |plan, written| {
                let exists = section.is_in(&plan.congestion);
                let Some(port) = port else {
                    ensure!(
                        !exists,
                        "{} exists; delete it first, or set its objects",
                        section.key()
                    );
                    return written
                        .add_section(section, settings.unwrap_or("{}"))
                        .map_err(|why| anyhow!("settings: {why}"));
                };
                ensure!(
                    settings.is_none(),
                    "a point has the settings of the file; set its objects"
                );
                point_of(plan, section, port, false)?;
                written.set_point(port, true);
                Ok(())
            },
            section,
            port,
            settings.map(|_| section),
        )
    }

    /// Deletes a section, or the point of a port.
    pub(super) fn delete(&self, section: &str, port: Option<&str>) -> Result<()> {
        let section = named(section)?;
        let port = port.map(|name| self.port(name)).transpose()?;
        self.change(
            |plan, written| {
                ensure!(section.is_in(&plan.congestion), "there is no {}", section.key());
                match port {
                    None => written.remove_section(section),
                    Some(port) => {
                        point_of(plan, section, port, true)?;
                        written.set_point(port, false);
                    }
                }
                Ok(())
            },
            section,
            port,
            None,
        )
    }

    /// Changes the file, and gives the switch the section that results, or the point of a port. `settings` is
    /// the section whose text a client gave.
    fn change(
        &self,
        change: impl FnOnce(&SwitchPlan, &mut Written) -> Result<()>,
        section: Section,
        port: Option<PortId>,
        settings: Option<Section>,
    ) -> Result<()> {
        // In this order everywhere: plan, then file.
        let mut plan = lock(&self.plan);
        let mut saved = lock(&self.saved);
        // With the objects as they are now, so that the new section agrees with them.
        let mut written = with_objects(&saved, &plan.congestion, plan.ports.len())?;
        change(&plan, &mut written)?;
        let file = written.resolve(&Machine::any()).map_err(|error| located(&error, settings))?;
        let mut new = plan.clone();
        let (own, other) = (&mut new.congestion, file.plan.congestion);
        match (port, section) {
            (Some(port), _) => {
                let (own, other) = (own.sfc.as_mut(), other.sfc);
                let (Some(own), Some(other)) = (own, other) else { bail!("there is no sfc") };
                own.monitors[port.index()] = other.monitors[port.index()];
            }
            (None, Section::SfcProxy) => own.proxy = other.proxy,
            (None, _) => own.sfc = other.sfc,
        }
        // As at the start: the new section gets the seed of the running switch.
        config::seed_congestion(&mut new.congestion, new.seed);
        self.controller.set_sections(&Arc::new(new.clone()))?;
        // Only after the workers have it: a change that they refuse leaves plan and file as they were.
        *plan = new;
        saved.written = written;
        Ok(())
    }

    /// Returns the running configuration as a switch file that resolves to it.
    pub(super) fn save(&self) -> Result<String> {
        let (plan, saved) = (lock(&self.plan), lock(&self.saved));
        ensure!(
            !saved.written.has_keys(),
            "the file has MACsec keys, which are not copied; put them into files (`key_file`)"
        );
        let resolve = |written: &Written| {
            written.resolve(&Machine::any()).map_err(|error| anyhow!("not saved: {error}"))
        };
        let mut written = with_objects(&saved, &plan.congestion, plan.ports.len())
            .map_err(|error| anyhow!("not saved: {error}"))?;
        // Only changed groups are written, so that the file keeps its profiles for the others.
        saved.groups.iter().for_each(|port| written.write_groups(&plan, *port));
        for (port, class) in &saved.curves {
            written.write_ecn(&plan, *port, TrafficClass::ALL[usize::from(*class)]);
        }
        // The text is resolved again: a file that another start would read differently is not written.
        let again = resolve(&written)?;
        // A file with seed 0 has a random one at each start.
        let mut congestion = again.plan.congestion;
        config::seed_congestion(&mut congestion, plan.seed);
        ensure!(congestion == plan.congestion, "not saved: an object has no key in a file");
        for port in &saved.groups {
            let n = port.index();
            let same = again.plan.buffer.groups[n] == plan.buffer.groups[n];
            ensure!(same, "not saved: the groups of {} have no form in a file", plan.ports[n].name);
        }
        let text = written.to_yaml();
        Ok(format!(
            "# The running configuration of {}, written by `sluice ctl save`.\n{text}",
            plan.name
        ))
    }
}

/// Returns the file with the objects of `plan`, if a switch could be started with it.
pub(super) fn with_objects(saved: &Saved, plan: &CongestionPlan, ports: usize) -> Result<Written> {
    saved.written.with_objects(plan, ports, &Machine::any()).map_err(|error| located(&error, None))
}

/// Returns the errors of a changed file with their places: those in a section whose `settings` a client gave
/// are in its text.
fn located(error: &ConfigError, settings: Option<Section>) -> anyhow::Error {
    let line = |finding: &Finding| {
        // The first key of the path is the section.
        let key = finding.path.split(['.', '[']).next().unwrap_or_default();
        let is_given = settings.is_some_and(|section| section.key() == key);
        finding.line(if is_given { "settings" } else { &error.file })
    };
    anyhow!(error.findings.iter().map(line).collect::<Vec<_>>().join("\n"))
}

/// Returns the section with a name, of those that clients create and delete.
fn named(section: &str) -> Result<Section> {
    [Section::Sfc, Section::SfcProxy]
        .into_iter()
        .find(|known| known.key() == section)
        .ok_or_else(|| anyhow!("section: sfc or sfc_proxy"))
}

/// Checks that a port has a point, or that it has none.
fn point_of(plan: &SwitchPlan, section: Section, port: PortId, exists: bool) -> Result<()> {
    ensure!(section == Section::Sfc, "only sfc has one point per port");
    let Some(sfc) = &plan.congestion.sfc else { bail!("there is no sfc; create it first") };
    let has = sfc.monitors[port.index()] != [None; PRIORITIES];
    let name = &plan.ports[port.index()].name;
    ensure!(has || !exists, "port {name} has no point");
    ensure!(!has || exists, "port {name} has a point");
    Ok(())
}

/// The file of a running switch, and the changes of clients that are no managed objects.
pub(super) struct Saved {
    pub(super) written: Written,
    /// Ports whose groups were changed.
    pub(super) groups: BTreeSet<PortId>,
    /// Queues whose marking curves were changed.
    pub(super) curves: BTreeSet<(PortId, u8)>,
}

impl Saved {
    pub(super) fn new(file: &SwitchFile) -> Self {
        let written = file.written.clone();
        Self { written, groups: BTreeSet::new(), curves: BTreeSet::new() }
    }

    /// Records that a client changed a group of a port.
    pub(super) fn group(&mut self, port: PortId) {
        self.groups.insert(port);
    }

    /// Records that a client changed a marking curve.
    pub(super) fn curve(&mut self, port: PortId, class: TrafficClass) {
        self.curves.insert((port, class.get()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_in_settings_is_located_in_them_and_not_in_the_file() {
        let start = "ports: [{device: net_null0, name: a}, {device: net_null1, name: b}]\n";
        let (file, _) = config::parse("switch.yaml", start, &Machine::any()).unwrap();
        let mut written = file.written.clone();
        written.add_section(Section::Sfc, "{sfcMaxSFCM: 2,\n spacing: 1h}").unwrap();
        let error = written.resolve(&Machine::any()).unwrap_err();
        let told = located(&error, Some(Section::Sfc)).to_string();
        assert!(told.starts_with("settings:2:11: sfc.spacing: "), "{told}");
        assert!(located(&error, None).to_string().starts_with("switch.yaml:"));
    }
}
