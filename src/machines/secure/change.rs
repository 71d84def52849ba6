//! Changes while frames pass: the interface of key agreement to a SecY (802.1AE 10.7.22, 10.7.28).

use super::association::SaFault;
use super::{An, SaPlan, Sci};

/// One change. Keys in it are wiped when it is dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecyChange {
    /// Installs a transmit association. Not over the one in use.
    InstallTransmit {
        /// Association number.
        an: An,
        /// Key and parameters.
        sa: SaPlan,
    },
    /// Transmits with this association from now on.
    UseTransmit(An),
    /// Removes a transmit association. If it is the one in use, no protected frame is sent until
    /// another is used.
    RemoveTransmit(An),
    /// Installs a receive association, and its channel if it is new.
    InstallReceive {
        /// SCI of its channel.
        sci: Sci,
        /// Association number.
        an: An,
        /// Key and parameters.
        sa: SaPlan,
    },
    /// Removes a receive association.
    RemoveReceive {
        /// SCI of its channel.
        sci: Sci,
        /// Association number.
        an: An,
    },
    /// Removes a channel with all its associations.
    RemoveChannel(Sci),
    /// Raises an association's lowest acceptable packet number; a lower one changes nothing.
    SetLowestPn {
        /// SCI of its channel.
        sci: Sci,
        /// Association number.
        an: An,
        /// New lowest packet number. At least 1, at most the suite's last.
        pn: u64,
    },
}

/// Reason for refusing a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChangeRefused {
    /// The association is invalid.
    #[error(transparent)]
    Sa(#[from] SaFault),
    /// The association is in use for transmission; install the next one and use that.
    #[error("association {0} is in use; install another one, and use that")]
    InUse(An),
    /// The association does not exist.
    #[error("there is no association {0}")]
    NoSa(An),
    /// The channel does not exist.
    #[error("there is no channel {0}")]
    NoChannel(Sci),
    /// The channel is the port's own: its frames would be accepted when they are reflected.
    #[error("channel {0} is the port's own")]
    OwnChannel(Sci),
    /// The SecY has the maximum number of receive channels.
    #[error("no more than {} channels are received", super::SecyPlan::CHANNELS_MAX)]
    Full,
    /// The key and the SSCI are those of an association in the other direction.
    #[error("sender and receiver have the same key and SSCI; give each sender a different SSCI")]
    SharedSsci,
}
