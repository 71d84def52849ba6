//! Work without the interpreter lock, which Ctrl-C ends.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

/// Period in which signals are looked for: short for a person, long beside the cost of a look.
const PERIOD: Duration = Duration::from_millis(50);

/// Looks for signals while work runs without the interpreter lock.
pub struct Watch {
    looked: Instant,
    raised: Option<PyErr>,
}

impl Watch {
    /// Handles signals that arrived, at most once in a period. Returns false when the work has to end.
    pub fn look(&mut self) -> bool {
        if self.looked.elapsed() >= PERIOD {
            // Python runs its handlers in the main thread alone; elsewhere this does nothing.
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                self.raised.get_or_insert(error);
            }
            self.looked = Instant::now();
        }
        self.raised.is_none()
    }
}

/// Runs `work` without the interpreter lock.
///
/// # Errors
/// The exception of a signal's handler, such as `KeyboardInterrupt`, and `RuntimeError` for a panic.
pub fn watched<T: Send>(py: Python<'_>, work: impl FnOnce(&mut Watch) -> T + Send) -> PyResult<T> {
    py.detach(|| {
        let mut watch = Watch { looked: Instant::now(), raised: None };
        // State that was unwound over is not read again.
        let done = catch_unwind(AssertUnwindSafe(|| work(&mut watch)));
        match (watch.raised, done) {
            (Some(error), _) => Err(error),
            (None, Ok(done)) => Ok(done),
            (None, Err(panic)) => {
                let text = panic.downcast_ref::<String>().map(String::as_str);
                let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                let text = text.unwrap_or("without a message");
                Err(PyRuntimeError::new_err(format!("a fault of sluice, please report it: {text}")))
            }
        }
    })
}
