//! The Open Traffic Generator's model, and the server that speaks it.
//!
//! [`model`] is what clients write and are answered, [`resolve`] makes a test of it, be it from a
//! client or from a [`file`]. [`engine`] is what the server needs of whoever runs the tests.

pub mod engine;
pub mod file;
pub mod model;
pub mod resolve;

#[cfg(test)]
mod tests;
