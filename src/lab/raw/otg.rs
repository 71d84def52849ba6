//! A traffic generator on hosts of a lab.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A traffic generator: a configuration of the Open Traffic Generator model whose ports are hosts.
/// Its flows start with the lab. Give either `file` or `config`.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Otg {
    /// A generator file as `sluice gen` runs it, found from where the lab file is.
    /// Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// The configuration itself, in OTG's words. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<serde_json::Value>,
    /// Which host each port of the configuration is, by their names, in place of the port's
    /// `location`. Default: the location is the name of a host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, String>,
}
