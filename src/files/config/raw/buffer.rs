//! Shared buffer and its profiles, with the names of SAI and SONiC.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::quantity::Size;
use ::file::word_or;

/// Buffer that all ports share.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Bytes per cell, 64 to 16384; a frame takes whole cells. Default: `256`, as in current switch
    /// chips. At least 64, so that the shortest frame fills a cell and the frame pool, one frame
    /// per cell, cannot run out before the buffer is full.
    pub cell: Option<Size>,
    /// Size of the whole buffer in bytes, up to 4 GiB. Default: the reserved space and headroom of
    /// the ports, plus 4 MiB of shared space.
    pub total: Option<Size>,
    /// Profiles by name, which ports assign to their priority groups. Two are predefined and may be
    /// redefined: `lossless` (`{shared: {dynamic_th: 0}, lossless: {}}`) and `lossy` (`{shared:
    /// {dynamic_th: 0}}`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub profiles: BTreeMap<String, Profile>,
}

/// Use of the buffer by one priority group.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Bytes reserved for each group of this profile. Default: `0`; reserved space is lost to other
    /// groups.
    pub reserved: Option<Size>,
    /// Limit of a group's use of the shared pool. Default: `{dynamic_th: 0}`, as much as is still
    /// free, so that one congested group never takes more than half of the pool.
    pub shared: Option<Shared>,
    /// Makes the group lossless: above its limit the sender is paused, and frames in flight use the
    /// headroom. Default: absent; a frame above the limit is dropped.
    pub lossless: Option<Lossless>,
}

/// Additional settings of a lossless group.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Lossless {
    /// Private headroom for frames that arrive after XOFF, in bytes, or `auto` for the round trip
    /// of each port's link. Default: `auto`. A size below the round trip is refused; in labs
    /// `headroom_check` of the profile sets the reaction.
    #[serde(default, skip_serializing_if = "Xoff::is_auto")]
    pub xoff: Xoff,
    /// XON when the group's shared use is at most this, in bytes ... Default: `0`.
    pub xon: Option<Size>,
    /// ... or at most its limit minus this, in bytes, whichever is higher. Default: two frames of
    /// the longest length, so that XOFF and XON do not alternate frame by frame.
    pub xon_offset: Option<Size>,
}

/// Limit of a group's or queue's use of the shared pool: exactly one of the three.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Dynamic threshold n = log2(alpha), -8 to 8. The limit is alpha = 2^n times the free part of
    /// the pool, so `-1` is alpha 1/2, `0` alpha 1, `3` alpha 8. The name of SAI and SONiC;
    /// Broadcom and papers use alpha itself.
    pub dynamic_th: Option<i8>,
    /// Static threshold in bytes.
    pub static_th: Option<Size>,
    /// No limit except the pool's size. Only `true` is allowed.
    pub unlimited: Option<bool>,
}

/// Headroom: a size or `auto`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Xoff {
    /// Calculated from the round trip of the port's link.
    #[default]
    Auto,
    /// A configured size.
    Size(Size),
}

impl Xoff {
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

word_or! {
    Xoff "Xoff" const "auto" Auto or whole Size as Size: "`auto` or a size such as 40KiB";
}
