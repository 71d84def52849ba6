//! The Open Traffic Generator's model, and the server that speaks it.
//!
//! [`engine`] is what the server needs of whoever runs the tests.

pub mod engine;
