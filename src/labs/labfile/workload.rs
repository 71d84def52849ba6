//! Workloads: sizes of messages, offered load, ON and OFF periods, and random choices of hosts.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Many, Short, Wanted};
use config::forms;
use config::quantity::{Ratio, Size, Span};

/// A length in bytes, or a distribution from which each length is drawn.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Bytes {
    /// The same for all.
    Fixed(Size),
    /// A published distribution.
    Published(Published),
    /// A distribution of the user.
    Own(Distribution),
}

/// Published distributions of the sizes of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Published {
    /// Web search (DCTCP, SIGCOMM 2010): mean 1.71 MB, half of the messages above 70 KB.
    Websearch,
    /// Hadoop cluster (Facebook, SIGCOMM 2015): mean 120 KB, half of the messages up to 700 bytes.
    Hadoop,
}

/// A distribution of the user: exactly one of `cdf` and `points`. Between two points it is linear.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Text file with a size in bytes and its cumulative probability, 0 to 1, on each line. Both
    /// rise from line to line, the last probability is 1; `#` starts a comment. A relative path
    /// starts at the lab's folder. Default: none, `points` are given.
    pub cdf: Option<PathBuf>,
    /// The same as a list: `[[1KB, 0], [10KB, 0.5], [1MB, 1]]`. Default: none, `cdf` is given.
    pub points: Option<Vec<(Size, f64)>>,
}

/// Offered load.
pub type Load = Short<Ratio, LoadLong>;

/// Offered load: exactly one of these.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadLong {
    /// Share of each sender's link, above 0% up to 100%.
    pub sender: Option<Ratio>,
    /// Share of each receiver's link, above 0% up to 100%.
    pub receiver: Option<Ratio>,
}

impl Wanted for LoadLong {
    const WANTED: &'static str = "a load; write 60%, {sender: 60%} or {receiver: 60%}";
}

/// Periods in which a flow sends, and in which it does not. The first ON period begins at the
/// flow's start. Frames that were due in an ON period and that a pause held are sent later.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Length of the ON periods, above 0.
    pub on: Span,
    /// Length of the OFF periods, above 0.
    pub off: Span,
    /// Lengths of periods: `fixed`, or `exponential` with `on` and `off` as means, drawn by the
    /// lab's seed. Default: `fixed`.
    pub times: Option<OnOffTimes>,
}

/// Lengths of ON and OFF periods.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnOffTimes {
    /// All the same.
    #[default]
    Fixed,
    /// Exponentially distributed.
    Exponential,
}

/// Hosts: one, a list, a range of names, or some of these at random.
#[derive(Clone, PartialEq, Debug, Serialize)]
#[serde(untagged)]
pub enum Chosen {
    /// Names and ranges of names.
    Listed(Many<String>),
    /// Some of several at random.
    Random(RandomNames),
}

/// Some of several hosts, chosen at random by the lab's seed.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RandomNames {
    /// Number of hosts, at least 1.
    pub random: u32,
    /// Hosts to choose from: a list, a range (`h1..h64`) or `all`. Default: `all`.
    pub of: Option<Many<String>>,
}

impl Chosen {
    /// Returns the names of a list; `None` for a random choice.
    pub fn names(&self) -> Option<&[String]> {
        match self {
            Self::Listed(Many(list)) => Some(list),
            Self::Random(_) => None,
        }
    }

    /// Returns the names of a list, to be changed.
    pub fn names_mut(&mut self) -> Option<&mut Vec<String>> {
        match self {
            Self::Listed(Many(list)) => Some(list),
            Self::Random(_) => None,
        }
    }
}

impl From<Vec<String>> for Chosen {
    fn from(names: Vec<String>) -> Self {
        Self::Listed(Many(names))
    }
}

impl From<String> for Chosen {
    fn from(name: String) -> Self {
        Self::Listed(Many(vec![name]))
    }
}

impl From<Size> for Bytes {
    fn from(size: Size) -> Self {
        Self::Fixed(size)
    }
}

impl Default for Bytes {
    fn default() -> Self {
        // No size at all: the resolution takes it for a field that is not set.
        Self::Fixed(Size(0))
    }
}

forms! {
    Bytes as "Bytes", "a size (64KB), `websearch`, `hadoop`, {cdf: FILE} or {points: [...]}" =>
        word => |text| match text {
            "websearch" => Some(Ok(Bytes::Published(Published::Websearch))),
            "hadoop" => Some(Ok(Bytes::Published(Published::Hadoop))),
            // A word is a misspelt name of a distribution, and a size begins with a digit.
            _ if text.starts_with(|c: char| c.is_ascii_alphabetic()) => None,
            _ => Some(text.parse().map(Bytes::Fixed)),
        },
        number, map Distribution => Bytes::Own;
        |generator| {
            "anyOf": [
                generator.subschema_for::<Size>(),
                generator.subschema_for::<Published>(),
                generator.subschema_for::<Distribution>()
            ]
        }

    Chosen as "Chosen",
        "a host, a range such as `h1..h16`, a list of both, or {random: 8, of: h1..h64}" =>
        scalar String => Chosen::from, list Vec<String> => Chosen::from,
        map RandomNames => Chosen::Random;
        inline |generator| {
            "anyOf": [
                generator.subschema_for::<Many<String>>(),
                generator.subschema_for::<RandomNames>()
            ]
        }
}
