//! The Open Traffic Generator model and its server.
//!
//! [`model`] holds the messages of clients and of responses, [`proto`] their gRPC encoding.
//! [`server`] accepts the clients' requests; [`engine`] is its interface to the test engine. The
//! crate `tester` converts a configuration to a test plan.

pub mod engine;
pub mod model;
#[cfg(feature = "server")]
pub mod proto;
#[cfg(feature = "server")]
pub mod server;
