//! Running the parts of a network at the same time.
//!
//! The engine reads no clock and starts no thread. The crates above give it an [`Executor`], which may
//! run the parts on threads.

/// Work that needs nothing that other work of the same call changes.
pub trait Task {
    /// Does it.
    fn run(&mut self);
}

/// Runs several tasks and returns when all are done.
pub trait Executor<T> {
    /// Runs every task once, in any order or at the same time, and leaves them in their order.
    ///
    /// # Panics
    /// If a task panics.
    fn run(&mut self, tasks: &mut Vec<T>);
}

/// Runs tasks one after the other on the caller's thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct InTurn;

impl<T: Task> Executor<T> for InTurn {
    fn run(&mut self, tasks: &mut Vec<T>) {
        tasks.iter_mut().for_each(Task::run);
    }
}
