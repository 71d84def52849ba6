//! Open Traffic Generator's model: its messages as Rust types, by hand from its field names.
//!
//! Types say what a client wrote, with OTG's own defaults filled in where a scalar was left out;
//! whether it makes sense together is `otg::resolve`'s to say. Reading is lenient where OTG's
//! clients differ (64-bit numbers arrive as text, `choice` may be left out, null is nothing) and
//! strict where a slip would change a test: a word that is none of the known ones, a number that
//! does not fit and a missing name are errors that name the field. Nothing is lost on the way:
//! a field that a message does not know is kept in its `extra`, an alternative that a choice does
//! not know becomes its `Other`, and [`unsupported`] lists both.
//!
//! Writing leaves out what is not set; numbers are numbers, nothing is ever null.

#[macro_use]
mod macros;

pub mod capture;
mod choose;
pub mod config;
pub mod control;
pub mod device;
pub mod flow;
pub mod header;
pub mod metrics;
pub mod pattern;
pub mod read;
pub mod rocev2;
pub mod states;

pub use config::Config;
pub use flow::Flow;
pub use pattern::Pattern;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::engine::Refusal;
use read::Known;

/// Reads a message.
///
/// # Errors
/// The first field that does not fit, by its path (`flows[0].rate.pps`), and what is wanted there.
pub fn parse<T: DeserializeOwned>(message: &Value) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(message).map_err(|e| {
        let path = e.path().to_string();
        let why = e.into_inner();
        Refusal::validation(if path == "." { why.to_string() } else { format!("{path}: {why}") })
    })
}

/// The paths of everything in a message that there is no type for (`flows[2].packet[1].gre`).
/// Empty lists and nulls are not worth a word.
pub fn unsupported(message: &impl Known) -> Vec<String> {
    let mut paths = Vec::new();
    message.unknown("", &mut paths);
    paths
}

#[cfg(test)]
mod tests;
