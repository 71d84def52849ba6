//! Resolves a changed switch file again.

use super::{ConfigError, Machine, SwitchFile, Written, parse_tree};
use switch::CongestionPlan;

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

    /// Writes the objects whose values in `plan` differ from those in the file.
    ///
    /// # Errors
    /// All problems of the file.
    pub fn write_objects(
        &mut self,
        plan: &CongestionPlan,
        ports: usize,
        machine: &Machine,
    ) -> Result<(), ConfigError> {
        for _ in 0..PASSES {
            let file = self.resolve(machine)?.plan.congestion;
            self.write_changed(plan, &file, ports);
        }
        Ok(())
    }
}
