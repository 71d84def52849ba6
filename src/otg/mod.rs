//! The Open Traffic Generator's model, and the server that speaks it.
//!
//! [`model`] is what clients write and are answered, [`proto`] the same as gRPC carries it, and
//! [`resolve`] makes a test of a configuration, be it from a client or from a [`mod@file`], or says
//! what is wrong with it. [`server`] is the clients' door; [`engine`] is what it needs of whoever
//! runs the tests.

pub mod engine;
pub mod file;
pub mod model;
pub mod proto;
pub mod resolve;
pub mod server;

#[cfg(test)]
mod tests;
