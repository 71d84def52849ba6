//! What a client may ask of the server before it is told that it is too much.

use std::time::Duration;

/// The longest body of a request. A flow is about 2 kB of JSON, so this is ten thousand and more.
pub const BODY_MAX: usize = 32 << 20;

/// How much more of a body that is too long is read and thrown away, so that a client that does not
/// listen before it has sent everything still hears why it was refused.
pub(super) const DRAIN_MAX: usize = 256 << 20;

/// From the head of a request to the end of its body.
pub(super) const BODY_TIME: Duration = Duration::from_secs(60);

/// Bodies up to this are read by all connections at once.
pub(super) const BODY_SMALL: usize = 64 << 10;

/// So many longer ones are in memory at a time; others wait.
pub(super) const LARGE_BODIES: usize = 2;

/// How many values a JSON body may have: as many as a configuration file.
pub(super) const VALUES_MAX: usize = 1_000_000;

/// Connections that are served at a time: with as many more that are refused, half of the 1024 open
/// files that a process usually may have.
pub const CONNECTIONS_MAX: usize = 256;

/// Connections beyond those that are told so at a time; others wait for it.
pub(super) const REFUSALS_MAX: usize = 256;

/// How long telling them may take.
pub(super) const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// From a connection to the head of its first request, and for every head.
pub(super) const HEAD_TIME: Duration = Duration::from_secs(10);

/// The longest head of a request, in octets.
pub(super) const HEAD_MAX: usize = 32 << 10;

/// How long a connection may stand without a request and without an octet either way.
pub(super) const IDLE_TIME: Duration = Duration::from_secs(60);

/// Requests that a connection of HTTP/2 may have open at a time.
pub(super) const STREAMS_MAX: u32 = 16;

/// Calls of the engine at a time; more wait.
pub(super) const CALLS_MAX: usize = 16;

/// How long answers may still take once the server is told to stop.
pub(super) const STOP_TIME: Duration = Duration::from_secs(2);

/// The longest text of a gRPC status. It travels in a header, quotes and braces as three octets,
/// and clients take 8 KiB of headers.
pub(super) const STATUS_MAX: usize = 2048;

/// How much of an answer one message of a gRPC stream carries.
pub(super) const CHUNK: usize = 1 << 20;
