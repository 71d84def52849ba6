//! Open Traffic Generator's model: its messages as Rust types.
//!
//! The messages are described in `src/generator/otg/proto` alone: their fields, types, defaults and comments.
//! The build script (`src/generator/otg/build.rs`) makes the types of a file `flow.proto` into module [`flow`];
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

pub mod pattern;
pub mod read;

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

pub mod capture {
    //! Captures and capture requests.

    types_of!("capture");
}

pub mod config {
    //! The configuration: ports and their settings.

    types_of!("config");

    use file::tree::Node;
    use file::{Finding, de};

    impl Config {
        /// Reads the configuration of a generator file.
        ///
        /// # Errors
        /// The first field that does not fit, and all unknown fields, each with its place in the file.
        pub fn read(root: &Node) -> Result<Self, Vec<Finding>> {
            de::from_tree_all(root)
        }
    }

    impl FlowControl {
        /// Returns the flow control standard, with OTG's default.
        pub fn kind(&self) -> PauseKind {
            match (self.choice, &self.ieee_802_1qbb, &self.ieee_802_3x) {
                (Some(kind), _, _) => kind,
                // A client may leave `choice` out, and then the only one that is set counts.
                (None, None, Some(_)) => PauseKind::Ieee8023x,
                (None, _, _) => PauseKind::Ieee8021qbb,
            }
        }
    }

    impl Ieee8021Qbb {
        /// Returns the configured queues of classes 0 to 7.
        pub const fn classes(&self) -> [Option<u32>; 8] {
            [
                self.pfc_class_0,
                self.pfc_class_1,
                self.pfc_class_2,
                self.pfc_class_3,
                self.pfc_class_4,
                self.pfc_class_5,
                self.pfc_class_6,
                self.pfc_class_7,
            ]
        }
    }
}

pub mod control {
    //! Control of a running test: updates of flows, start and stop, single actions.

    types_of!("control");
}

pub mod device {
    //! Emulated hosts.

    types_of!("device");

    impl Tpid {
        /// Returns the value on the wire.
        pub const fn ether_type(self) -> u16 {
            match self {
                Self::X8100 => 0x8100,
                Self::X88A8 => 0x88a8,
                Self::X9100 => 0x9100,
                Self::X9200 => 0x9200,
                Self::X9300 => 0x9300,
            }
        }
    }
}

pub mod flow {
    //! Flows.

    use super::read::Extra;

    types_of!("flow");

    impl FlowPort {
        /// Returns the receiving ports, from either field.
        pub fn receivers(&self) -> impl Iterator<Item = &str> {
            // Older clients know only `rx_name`.
            self.rx_names.iter().chain(&self.rx_name).map(String::as_str)
        }
    }

    impl Flow {
        /// A flow with only a name and its ports.
        pub fn between(name: &str, tx: &str, rx: &[&str]) -> Self {
            let port = FlowPort {
                tx_name: tx.into(),
                rx_name: None,
                rx_names: rx.iter().map(|name| (*name).into()).collect(),
                extra: Extra::new(),
            };
            Self { name: name.into(), tx_rx: FlowTxRx::Port(port), ..Self::default() }
        }
    }
}

pub mod header {
    //! The headers of a flow's frames.

    use super::pattern::Pattern;
    use super::read::MacText;

    /// A number in a header.
    pub type Number = Option<Pattern<u32>>;
    /// A MAC address in a header.
    pub type HardwareAddress = Option<Pattern<MacText>>;

    types_of!("header");

    impl FlowPfcPause {
        /// Returns the pause times of classes 0 to 7.
        pub const fn times(&self) -> [&Number; 8] {
            [
                &self.pause_class_0,
                &self.pause_class_1,
                &self.pause_class_2,
                &self.pause_class_3,
                &self.pause_class_4,
                &self.pause_class_5,
                &self.pause_class_6,
                &self.pause_class_7,
            ]
        }
    }
}

pub mod metrics {
    //! Requests for counters and their responses.

    types_of!("metrics");
}

pub mod rocev2 {
    //! RoCEv2 connections: endpoints of devices, their flows, and the RoCEv2 settings of ports.

    types_of!("rocev2");

    impl Ecn {
        /// Returns the codepoint on the wire.
        pub const fn bits(self) -> u8 {
            match self {
                Self::NonEct => 0,
                Self::Ect1 => 1,
                Self::Ect0 => 2,
                Self::Ce => 3,
            }
        }
    }
}

pub mod states {
    //! Requests for neighbours and their responses; versions, warnings and errors.

    types_of!("states");
}

#[cfg(test)]
mod tests;
