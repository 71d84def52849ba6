//! What a server of the Open Traffic Generator's API needs of whoever runs the tests.
//!
//! Bodies are JSON in the shape of OTG's model, whichever door they came by: gRPC messages are turned
//! into it. The server has checked that they are JSON and bounded in length; whether they make sense
//! is the engine's to say. Calls may block; the server makes them where that does no harm, several
//! at a time.

use serde_json::Value;

/// What a client is told that may be of interest, one sentence each.
pub type Warnings = Vec<String>;

/// Why a request is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}", errors.join("; "))]
pub struct Refusal {
    /// Whose fault it is.
    pub kind: RefusalKind,
    /// Each names the field and the remedy.
    pub errors: Vec<String>,
}

/// Whose fault a refusal is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefusalKind {
    /// The request's (HTTP 400, gRPC INVALID_ARGUMENT).
    Validation,
    /// This machine's (HTTP 500, gRPC INTERNAL).
    Internal,
    /// The machine is too busy to answer. Trying again may help.
    Starved,
}

/// A message of an answer as JSON, without nulls, which clients read as text or fail over: written at
/// once, as an answer about ten thousand flows takes ten times the time and memory as a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JsonText(pub Vec<u8>);

impl JsonText {
    /// Writes a message.
    #[must_use]
    pub fn of(message: &impl serde::Serialize) -> Self {
        Self(serde_json::to_vec(message).expect("a message has nothing that JSON has not"))
    }
}

/// The frames of a capture, as a file.
pub struct CaptureFile(pub Vec<u8>);

/// Whoever runs the tests.
pub trait Engine: Send + Sync + 'static {
    /// Replaces the configuration (`Config`). What runs is stopped first; if the new one is
    /// refused, the old one stays, running.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    fn set_config(&self, config: &Value) -> Result<Warnings, Refusal>;

    /// The configuration as it was set, an empty one before that.
    fn config(&self) -> Value;

    /// Changes flows while they run (`ConfigUpdate`): rates and sizes.
    ///
    /// # Errors
    /// What cannot be changed, or is wrong.
    fn update_config(&self, update: &Value) -> Result<Warnings, Refusal>;

    /// Adds flows (`ConfigAppend`).
    ///
    /// # Errors
    /// As [`Engine::set_config`].
    fn append_config(&self, append: &Value) -> Result<Warnings, Refusal>;

    /// Takes flows away (`ConfigDelete`).
    ///
    /// # Errors
    /// Flows that are not there.
    fn delete_config(&self, delete: &Value) -> Result<Warnings, Refusal>;

    /// Starts, stops, pauses: traffic, captures, links, protocols (`ControlState`).
    ///
    /// # Errors
    /// Names that are not there, what cannot be done.
    fn control_state(&self, state: &Value) -> Result<Warnings, Refusal>;

    /// Does something once (`ControlAction`): ping. Answers a `ControlActionResponse`.
    ///
    /// # Errors
    /// Names that are not there, what cannot be done.
    fn control_action(&self, action: &Value) -> Result<Value, Refusal>;

    /// Counters (`MetricsRequest` to `MetricsResponse`). Fields beyond OTG's are for clients that
    /// know them; the server leaves them out where the door cannot carry them.
    ///
    /// # Errors
    /// Names that are not there, kinds of metrics that there are not.
    fn metrics(&self, request: &Value) -> Result<JsonText, Refusal>;

    /// Neighbours (`StatesRequest` to `StatesResponse`).
    ///
    /// # Errors
    /// Names that are not there, kinds of states that there are not.
    fn states(&self, request: &Value) -> Result<Value, Refusal>;

    /// Called when a long request has been answered, and what it took is free again.
    fn settle(&self) {}

    /// What a port has captured (`CaptureRequest`).
    ///
    /// # Errors
    /// Ports that are not there or have no capture.
    fn capture(&self, request: &Value) -> Result<CaptureFile, Refusal>;
}

impl Refusal {
    /// A refusal for one reason, which is the request's fault.
    pub fn validation(error: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Validation, errors: vec![error.into()] }
    }

    /// A refusal for one reason, which is this machine's fault.
    pub fn internal(error: impl Into<String>) -> Self {
        Self { kind: RefusalKind::Internal, errors: vec![error.into()] }
    }
}
