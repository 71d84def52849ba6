//! Changes of a configuration: updates of running flows, added and removed flows.

use super::{TesterEngine, lock, refusal};
use crate::resolve::resolve;
use otg::engine::{Refusal, RefusalKind, Warnings};
use otg::model::control::{
    AppendResources, ConfigAppend, ConfigDelete, ConfigUpdate, DeleteResources, FlowProperty,
};
use otg::model::{Config, Flow};

impl TesterEngine {
    /// Updates rates and sizes of flows, running or not.
    pub(super) fn update(&self, update: &ConfigUpdate) -> Result<Warnings, Refusal> {
        let update = match update {
            ConfigUpdate::Flows(flows) => flows,
            ConfigUpdate::Other { name, .. } => return Err(unknown("", name)),
        };
        let session = self.session()?;
        let mut config = lock(&self.now).config.clone();
        let mut changed = Vec::new();
        for (n, new) in update.flows.iter().enumerate() {
            let place = config.flows.iter().position(|flow| flow.name == new.name);
            let place = place.ok_or_else(|| absent(&format!("flows.flows[{n}]"), &new.name))?;
            for property in &update.property_names {
                let flow = &mut config.flows[place];
                match property {
                    FlowProperty::Rate => flow.rate.clone_from(&new.rate),
                    FlowProperty::Size => flow.size.clone_from(&new.size),
                }
            }
            changed.push(new.name.clone());
        }
        // Resolved as a whole before any flow is changed, so an error changes none.
        let (plan, warnings) = resolve(&config)?;
        for flow in plan.flows.iter().filter(|flow| changed.contains(&flow.name)) {
            session.update(flow).map_err(|error| refusal(&error))?;
        }
        lock(&self.now).config = config;
        Ok(warnings)
    }

    /// Returns the configuration with added flows.
    pub(super) fn appended(&self, append: &ConfigAppend) -> Result<Config, Refusal> {
        self.is_idle()?;
        let mut config = lock(&self.now).config.clone();
        for (n, resources) in append.config_append_list.iter().enumerate() {
            match resources {
                AppendResources::Flows(flows) => config.flows.extend(flows.iter().cloned()),
                AppendResources::Other { name, .. } => {
                    return Err(unknown(&format!("config_append_list[{n}]."), name));
                }
            }
        }
        Ok(config)
    }

    /// Returns the configuration without the removed flows.
    pub(super) fn deleted(&self, delete: &ConfigDelete) -> Result<Config, Refusal> {
        self.is_idle()?;
        let mut config = lock(&self.now).config.clone();
        for (n, resources) in delete.config_delete_list.iter().enumerate() {
            let names = match resources {
                DeleteResources::Flows(names) => names,
                DeleteResources::Other { name, .. } => {
                    return Err(unknown(&format!("config_delete_list[{n}]."), name));
                }
            };
            for (m, name) in names.iter().enumerate() {
                if !config.flows.iter().any(|flow: &Flow| flow.name == *name) {
                    return Err(absent(&format!("config_delete_list[{n}].flows[{m}]"), name));
                }
                // Checked name by name: a name that is listed twice is an error the second time.
                config.flows.retain(|flow| flow.name != *name);
            }
        }
        Ok(config)
    }

    /// Refuses to add or remove flows while the test sends, because that would end it.
    fn is_idle(&self) -> Result<(), Refusal> {
        let sends = self.report()?.flows.iter().any(|flow| flow.transmit != "stopped");
        if !sends {
            return Ok(());
        }
        Err(Refusal::validation(
            "flows cannot be added or deleted while flows are sent; stop them and wait for \
             `transmit` to be `stopped`",
        ))
    }
}

fn absent(field: &str, name: &str) -> Refusal {
    Refusal::validation(format!("{field}: there is no flow {name}"))
}

/// The refusal of an unsupported part.
pub(super) fn unknown(path: &str, name: &str) -> Refusal {
    let error = format!("{path}{name} is not supported");
    Refusal { kind: RefusalKind::Validation, errors: vec![error] }
}
