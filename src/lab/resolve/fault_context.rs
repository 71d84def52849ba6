//! Surroundings of faults in a lab.

use super::graph::Graph;
use super::profiles::{Profiles, Switches};

/// Context of all faults.
pub(super) struct Context<'r, 'g> {
    pub graph: &'r Graph<'g>,
    pub switches: &'r Switches,
    pub profiles: &'r Profiles<'g>,
}
