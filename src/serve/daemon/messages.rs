//! Messages of the control socket: JSON, one request and one response per line.
//!
//! The response to `{"command":"link","port":"p1","up":false}` is `{"ok":true,"result":...}` or
//! `{"ok":false,"error":"..."}`. Unknown commands and fields are refused. Sizes are in bytes.

use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::socket;
use config::quantity::{Ratio, Size};
use config::raw::HexText;
use ground::printable;
use results::{AgentsSummary, MacsecSummary};

/// A line from a client.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Returns the summary so far.
    Show {},
    /// Returns the version, and the memory in use: [`About`].
    About {},
    /// Returns the drops so far by reason, without zeros.
    Drops {},
    /// Changes thresholds of one priority group; absent fields stay as they are.
    SetGroup(SetGroup),
    /// Changes the marking curve of one traffic class; absent fields stay as they are.
    SetEcn(SetEcn),
    /// Takes a link up or down.
    Link {
        /// The port's name, or its number from 0.
        port: String,
        up: bool,
    },
    /// Returns the neighbours of all ports, and the negotiated settings.
    Neighbours {},
    /// Returns the automatic headroom of ports, the measurements, and the steps so far.
    Headroom {},
    /// Returns the managed objects and tables whose names contain `pattern`; all if it is absent.
    Objects {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pattern: Option<String>,
    },
    /// Returns one managed object or table.
    Get(Place),
    /// Writes a managed object.
    Set(SetObject),
    /// Returns all managed objects as data of YANG modules (RFC 7951).
    Yang {},
    /// Returns the latest measurements of links.
    Measurements {
        /// The port's name, or its number from 0; all if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
        /// True for the single delays of each.
        #[serde(default)]
        samples: bool,
    },
    /// Returns the notifications after a number, 0 for all that are kept.
    Notifications { after: u64 },
    /// Creates the points or the proxy of source flow control, or the point of a port.
    Create {
        /// `sfc` or `sfc_proxy`.
        section: String,
        /// Port whose point is created; the whole section if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
        /// Settings of the section, as in a switch file; the defaults if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        settings: Option<String>,
    },
    /// Deletes the points or the proxy of source flow control, or the point of a port.
    Delete {
        /// `sfc` or `sfc_proxy`.
        section: String,
        /// Port whose point is deleted; the whole section if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        port: Option<String>,
    },
    /// Returns the running configuration as a switch file.
    Save {},
    /// Returns the MACsec counters of all ports that have MACsec.
    Macsec {},
    /// Installs a key for an association.
    MacsecInstall(MacsecInstall),
    /// Selects the association that a port transmits with.
    MacsecUse {
        /// The port's name, or its number from 0.
        port: String,
        /// Association number, 0 to 3.
        an: u8,
    },
    /// Removes an association or a whole receive channel.
    MacsecRemove {
        /// The port's name, or its number from 0.
        port: String,
        /// Receive channel; the port's transmit channel if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        receive: Option<String>,
        /// Association number, 0 to 3; all of a receive channel if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        an: Option<u8>,
    },
    /// Repeats a port's measurement of its link.
    Measure {
        /// The port's name, or its number from 0.
        port: String,
    },
    /// Resets counters and peaks to zero.
    Clear {},
    /// Removes all learnt addresses.
    FlushFdb {},
    /// Stops the switch like a signal: it drains and prints its summary.
    Stop {},
}

/// Version and memory of a running switch.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct About {
    /// Version of the program.
    pub version: String,
    /// Resident memory of its process in bytes; absent if the system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<u64>,
}

/// Bytes reserved for a request: more than a request with a key needs.
const LINE: usize = 8_192;

impl Request {
    /// Sends the request to the switch that serves `path`.
    ///
    /// # Errors
    /// No switch answers, or its answer is no response.
    pub fn send(&self, path: &Path) -> Result<Response> {
        // The request may contain a key; it fits without reallocation.
        let mut line = Zeroizing::new(Vec::with_capacity(LINE));
        serde_json::to_writer(&mut *line, self)?;
        let answer = socket::ask(path, std::str::from_utf8(&line)?).with_context(|| {
            format!(
                "{}: no switch answers; is it running, and as this user?",
                printable::excerpt(&path.display().to_string())
            )
        })?;
        serde_json::from_str(&answer).with_context(|| format!("an odd answer: {answer}"))
    }
}

// Arguments of `sluice ctl` have the names and the documentation of these fields.

/// A managed object and the port and class of its value; all values if they are absent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Name of the object, as in its document.
    pub name: String,
    /// Port name or number (from 0). Default: all ports.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Traffic class, 0 to 7. Default: all.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
}

/// See [`Request::Set`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SetObject {
    /// Name of the object, as in its document.
    pub name: String,
    /// Port name or number (from 0). Default: all ports.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
    /// Traffic class, 0 to 7. Default: all.
    #[arg(long)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<u8>,
    /// Value: true, 6, 100KB, 10us, 75%, [3,4], unset ...
    #[allow(rustdoc::broken_intra_doc_links)] // a value, not a link
    #[arg(allow_hyphen_values = true)]
    pub value: String,
}

/// See [`Request::MacsecInstall`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MacsecInstall {
    /// The port's name, or its number from 0.
    pub port: String,
    /// Receive channel, such as `02:00:00:00:00:01/1`; the port's transmit channel if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive: Option<String>,
    /// Association number, 0 to 3.
    pub an: u8,
    /// Key, 32 or 64 hexadecimal digits.
    #[serde(deserialize_with = "HexText::typed")]
    pub key: HexText,
    /// Packet number of the first frame sent, or the lowest accepted; 1 if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_pn: Option<u64>,
    /// Short SCI of the channel's sender; required for XPN suites, refused for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ssci: Option<u32>,
    /// Salt, 24 hexadecimal digits; required for XPN suites, refused for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub salt: Option<HexText>,
    /// True if the port transmits with it from now on.
    #[serde(default)]
    pub using: bool,
}

/// A port with MACsec.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortSecured {
    pub name: String,
    pub macsec: MacsecSummary,
}

/// Ports with link protocols, and the steps that their results caused.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortsFound {
    pub ports: Vec<PortFound>,
    /// Latest steps, the oldest first.
    pub steps: Vec<StepReport>,
    /// Number of earlier steps, which are no longer kept.
    pub steps_before: u64,
}

/// A port with link protocols.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PortFound {
    pub name: String,
    pub agents: AgentsSummary,
}

/// A step of reconciling the switch with the ports' results.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct StepReport {
    /// Time since the switch started.
    pub at_ns: u64,
    pub port: String,
    pub step: String,
}

/// See [`Request::SetGroup`]; names as in a switch file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SetGroup {
    /// Port name or number (from 0).
    pub port: String,
    /// Priority group, 0 to 7.
    pub group: u8,
    /// Reserved space of the group, such as 16KiB.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserved: Option<u64>,
    /// Dynamic threshold: alpha = 2^N times the free part of the shared pool, N = log2(alpha), -8
    /// to 8.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["static_th", "unlimited"])]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dynamic_th: Option<i8>,
    /// Static threshold: this much of the shared pool.
    #[arg(long, value_name = "SIZE", value_parser = size, conflicts_with = "unlimited")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub static_th: Option<u64>,
    /// No threshold: all of the shared pool.
    #[arg(long, action = clap::ArgAction::SetTrue)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlimited: Option<bool>,
    /// Headroom of a lossless group.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xoff: Option<u64>,
    /// XON if the shared use is at most this ...
    #[arg(long, value_name = "SIZE", value_parser = size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xon: Option<u64>,
    /// ... or at most the limit minus this, whichever is higher.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xon_offset: Option<u64>,
}

/// See [`Request::SetEcn`].
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(deny_unknown_fields)]
pub struct SetEcn {
    /// Port name or number (from 0).
    pub port: String,
    /// Traffic class, 0 to 7.
    pub class: u8,
    /// Disable marking.
    #[arg(long, conflicts_with_all = ["kmin", "kmax", "pmax"])]
    #[serde(default)]
    pub off: bool,
    /// Queue length below which no frame is marked.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmin: Option<u64>,
    /// Queue length above which every frame is marked.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kmax: Option<u64>,
    /// Marking probability just below kmax, such as 20%.
    #[arg(long, value_name = "SHARE", value_parser = share)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pmax: Option<f64>,
}

/// Parses an argument, in the form of a configuration file.
fn size(text: &str) -> Result<u64, String> {
    text.parse().map(|Size(octets)| octets)
}

/// Parses a share, in the form of a configuration file, as a fraction of one.
fn share(text: &str) -> Result<f64, String> {
    text.parse().map(|Ratio(millionths)| f64::from(millionths) / 1e6)
}

/// A line to a client.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    pub ok: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
