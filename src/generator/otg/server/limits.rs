//! Limits for clients of the server.

use std::time::Duration;

/// Maximum body of a request. A flow is about 2 kB of JSON, so this holds ten thousand flows.
pub const BODY_MAX: usize = 32 << 20;

/// Maximum bytes that are read and discarded after a body that is too long, so that a client that
/// reads only after it has sent everything still gets the error.
pub(super) const DRAIN_MAX: usize = 256 << 20;

/// Maximum time from the head of a request to the end of its body.
pub(super) const BODY_TIME: Duration = Duration::from_secs(60);

/// Bodies up to this length are read by all connections at once.
pub(super) const BODY_SMALL: usize = 64 << 10;

/// Maximum number of longer bodies in memory; further requests wait.
pub(super) const LARGE_BODIES: usize = 2;

/// Maximum number of values in a JSON body, as in a configuration file.
pub(super) const VALUES_MAX: usize = 1_000_000;

/// Maximum number of connections in service: together with as many that are being refused, half
/// of the usual limit of 1024 open files per process.
pub const CONNECTIONS_MAX: usize = 256;

/// Maximum number of connections that are being refused at a time; further ones wait.
pub(super) const REFUSALS_MAX: usize = 256;

/// Maximum time to refuse a connection.
pub(super) const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// Maximum time from a connection to the head of its first request, and for every head.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(10);

/// Maximum head of a request in bytes.
pub(super) const HEAD_MAX: usize = 32 << 10;

/// Maximum time of a connection without a request and without traffic.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(60);

/// Maximum number of open requests on an HTTP/2 connection.
pub(super) const STREAMS_MAX: u32 = 16;

/// Maximum number of concurrent calls of the engine; further ones wait.
pub(super) const CALLS_MAX: usize = 16;

/// Maximum time to finish responses after the server was told to stop.
pub(super) const STOP_TIME: Duration = Duration::from_secs(2);

/// Maximum text of a gRPC status. It is sent in a header, where quotes and braces take three
/// bytes each, and clients accept 8 KiB of headers.
pub(super) const STATUS_MAX: usize = 2048;

/// Maximum size of one message of a gRPC stream.
pub(super) const CHUNK: usize = 1 << 20;
