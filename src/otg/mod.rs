//! The Open Traffic Generator model and its server.
//!
//! [`model`] holds the messages of clients and of responses, [`proto`] their gRPC encoding.
//! [`resolve`] converts a configuration of a client or of a [`mod@file`] to a test plan, or
//! returns its errors. [`server`] accepts the clients' requests; [`engine`] is its interface to
//! the test engine.

pub mod engine;
pub mod file;
pub mod model;
pub mod proto;
pub mod resolve;
pub mod server;

#[cfg(test)]
mod tests;
