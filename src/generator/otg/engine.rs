//! The interface between the server of the Open Traffic Generator API and the test engine.
//!
//! Bodies are JSON in the shape of OTG's model over both transports: gRPC messages are converted
//! to it. The server has checked that they are JSON and bounded in length; the engine validates
//! their meaning. Calls may block: the server makes them on threads that may block, several at a
//! time.

use serde_json::Value;

/// Warnings for the client, one sentence each.
pub type Warnings = Vec<String>;

/// The reason for which a request is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", errors.join("; "))]
pub struct Refusal {
    pub kind: RefusalKind,
    /// One text per error, with the field and the remedy.
    pub errors: Vec<String>,
}

/// The class of a refusal, which determines the status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalKind {
    /// An error in the request (HTTP 400, gRPC INVALID_ARGUMENT).
    Validation,
    /// An error on this machine (HTTP 500, gRPC INTERNAL).
    Internal,
    /// The machine is too busy to answer; the client may retry.
    Starved,
}

/// A response as JSON text without nulls, because clients print nulls as text or fail on them. It
/// is serialised directly: for ten thousand flows, a tree takes ten times the time and memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonText(pub Vec<u8>);

impl JsonText {
    /// Serialises a message.
    pub fn of(message: &impl serde::Serialize) -> Self {
        Self(serde_json::to_vec(message).expect("a message has nothing that JSON has not"))
    }
}

/// The test engine.
pub trait Engine: Send + Sync + 'static {
    /// Replaces the configuration (`Config`) and stops the running test first. If the new
    /// configuration is refused, the old one stays and runs on.
    ///
    /// # Errors
    /// All errors of the configuration.
    fn set_config(&self, config: &Value) -> Result<Warnings, Refusal>;

    /// Returns the configuration as it was set; empty before the first.
    fn config(&self) -> Value;

    /// Changes rates and sizes of running flows (`ConfigUpdate`).
    ///
    /// # Errors
    /// Invalid values, and fields that cannot be changed.
    fn update_config(&self, update: &Value) -> Result<Warnings, Refusal>;

    /// Adds flows (`ConfigAppend`).
    ///
    /// # Errors
    /// As [`Engine::set_config`].
    fn append_config(&self, append: &Value) -> Result<Warnings, Refusal>;

    /// Removes flows (`ConfigDelete`).
    ///
    /// # Errors
    /// Unknown flows.
    fn delete_config(&self, delete: &Value) -> Result<Warnings, Refusal>;

    /// Starts, stops or pauses traffic, captures, links and protocols (`ControlState`).
    ///
    /// # Errors
    /// Unknown names and unsupported operations.
    fn control_state(&self, state: &Value) -> Result<Warnings, Refusal>;

    /// Executes a single action, such as a ping, and returns a `ControlActionResponse`.
    ///
    /// # Errors
    /// Unknown names and unsupported actions.
    fn control_action(&self, action: &Value) -> Result<Value, Refusal>;

    /// Returns counters (`MetricsRequest` to `MetricsResponse`). The server removes fields that
    /// OTG does not define where the transport cannot carry them.
    ///
    /// # Errors
    /// Unknown names and unsupported kinds of metrics.
    fn metrics(&self, request: &Value) -> Result<JsonText, Refusal>;

    /// Returns neighbours (`StatesRequest` to `StatesResponse`).
    ///
    /// # Errors
    /// Unknown names and unsupported kinds of states.
    fn states(&self, request: &Value) -> Result<Value, Refusal>;

    /// Called after a large request was answered and its memory was freed.
    fn settle(&self) {}

    /// Returns the capture of a port (`CaptureRequest`).
    ///
    /// # Errors
    /// Unknown ports and ports without a capture.
    fn capture(&self, request: &Value) -> Result<Vec<u8>, Refusal>;
}

impl Refusal {
    /// A refusal for one error in the request.
    pub fn validation(error: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Validation, errors: vec![error.into()] }
    }

    /// A refusal for one error on this machine.
    pub fn internal(error: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Internal, errors: vec![error.into()] }
    }
}
