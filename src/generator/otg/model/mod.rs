//! Open Traffic Generator's model: its messages as Rust types.
//!
//! The messages are described in `src/generator/otg/proto` alone: their fields, types, defaults and comments.
//! The build script (`src/generator/otg/build`) makes the types of a file `flow.proto` into module [`flow`];
//! the modules here add methods, and [`pattern`] the type that OTG's many patterns share.
//!
//! The types hold the client's message, with OTG's defaults where a scalar was omitted;
//! `tester::resolve` validates it as a whole. The parser is lenient where OTG's clients differ
//! (64-bit numbers arrive as text, `choice` may be omitted, null means absent) and strict where
//! an error would change a test: an unknown word, a number out of range and a missing name are
//! errors that name the field. No field is lost: a message keeps unknown fields in `extra`, a
//! choice keeps an unknown alternative as `Other`, and [`unsupported`] lists both.
//!
//! Writing omits fields that are not set; numbers are numbers, and there are no nulls.

#[macro_use]
mod macros;

mod choose;
pub mod config;
pub mod device;
pub mod flow;
pub mod header;
pub mod pattern;
pub mod read;
pub mod rocev2;

pub mod capture {
    //! Captures and capture requests.

    types_of!("capture");
}

pub mod control {
    //! Control of a running test: updates of flows, start and stop, single actions.

    types_of!("control");
}

pub mod metrics {
    //! Requests for counters and their responses.

    types_of!("metrics");
}

pub mod states {
    //! Requests for neighbours and their responses; versions, warnings and errors.

    types_of!("states");
}

pub use config::Config;
pub use flow::Flow;
pub use pattern::Pattern;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::engine::Refusal;
use file::tree::Node;
use file::{Finding, de};
use read::Known;

/// The fields of a message by name.
pub trait Fields {
    /// The field names in the order of the message.
    const FIELDS: &'static [&'static str];

    /// Sets the fields that `keeps` does not name to their defaults.
    fn keep(&mut self, keeps: impl Fn(&str) -> bool);
}

/// A message that clients send. Reading it is code of this crate, once for each message, and not of each
/// crate that reads it: the readers of all messages are as large as the rest of the generator.
pub trait Message: Sized {
    /// Reads the message.
    ///
    /// # Errors
    /// The path of the first invalid field (`flows[0].rate.pps`) and its expected value.
    fn parse(message: &Value) -> Result<Self, Refusal>;
}

macro_rules! messages {
    ($($name:path),+ $(,)?) => {
        $(impl Message for $name {
            fn parse(message: &Value) -> Result<Self, Refusal> {
                read_message(message)
            }
        })+
    };
}

messages!(
    Config,
    capture::CaptureRequest,
    control::ConfigAppend,
    control::ConfigDelete,
    control::ConfigUpdate,
    control::ControlAction,
    control::ControlState,
    metrics::MetricsRequest,
    states::StatesRequest,
);

/// Reads a message: see [`Message::parse`].
///
/// # Errors
/// As of [`Message::parse`].
pub fn parse<T: Message>(message: &Value) -> Result<T, Refusal> {
    T::parse(message)
}

fn read_message<T: DeserializeOwned>(message: &Value) -> Result<T, Refusal> {
    // As files are read, so that there is one reader of each type in the program.
    de::from_tree(&Node::from(message)).map_err(|Finding { path, what, .. }| {
        Refusal::validation(if path.is_empty() { what } else { format!("{path}: {what}") })
    })
}

/// Returns the paths of all unsupported parts of a message (`flows[2].packet[1].gre`). Empty
/// lists and nulls are not reported.
pub fn unsupported(message: &impl Known) -> Vec<String> {
    let mut paths = Vec::new();
    message.unknown("", &mut paths);
    paths
}

#[cfg(test)]
mod tests;
