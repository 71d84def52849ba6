//! The extension module of the Python package `sluicegate`.
//!
//! It passes text and JSON across the border and nothing else: the package's Python has the types that
//! users see. Every function that may take longer than a moment releases the interpreter lock, and
//! ends soon after Ctrl-C. Errors of files and arguments are `ValueError`, with line and remedy.

mod calls;
mod study;
mod watch;

use pyo3::prelude::*;

/// The extension module, `sluicegate._native`.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::calls::{find, headroom, swarm, verdict_of_all};
    #[pymodule_export]
    use super::study::{Run, Study};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        ground::program::set_version(sluice::VERSION);
        module.add("VERSION", sluice::VERSION)
    }
}
