//! A traffic generator on hosts of a lab.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A traffic generator: a configuration of the Open Traffic Generator model whose ports are hosts.
/// Its flows start with the lab. Exactly one of `file` and `config` is given.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Otg {
    /// Generator file of `sluice gen`; a relative path starts at the lab file's folder. Default:
    /// none.
    pub file: Option<PathBuf>,
    /// OTG configuration. Default: none.
    pub config: Option<serde_json::Value>,
    /// Host of each port of the configuration, by port name, instead of the port's `location`.
    /// Default: the location is the name of a host.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ports: BTreeMap<String, String>,
}
