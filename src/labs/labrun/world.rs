//! The two worlds in which labs are run.

use core::fmt;

use clap::ValueEnum;

/// World in which a lab is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum World {
    /// Discrete-event simulation in exact time, with the real data plane.
    #[default]
    Virtual,
    /// DPDK ports and real frames.
    Real,
}

impl World {
    /// Returns the name in results and on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Virtual => "virtual",
            Self::Real => "real",
        }
    }
}

impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
