//! What can be changed while frames pass: what key agreement asks of a SecY (802.1AE 10.7.22, 10.7.28).

use super::association::SaFault;
use super::{An, SaPlan, Sci};

/// One change. It carries keys, which are wiped when it is dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SecyChange {
    /// Installs an association for sending. Not over the one that is in use.
    InstallTransmit {
        /// Its number.
        an: An,
        /// What it is.
        sa: SaPlan,
    },
    /// Sends with this association from now on.
    UseTransmit(An),
    /// Takes an association for sending out. When it is the one in use, nothing protected leaves until
    /// there is another.
    RemoveTransmit(An),
    /// Installs an association that is received, and its channel where that is new.
    InstallReceive {
        /// Its channel's name.
        sci: Sci,
        /// Its number.
        an: An,
        /// What it is.
        sa: SaPlan,
    },
    /// Takes an association that is received out.
    RemoveReceive {
        /// Its channel's name.
        sci: Sci,
        /// Its number.
        an: An,
    },
    /// Takes a channel out with all its associations.
    RemoveChannel(Sci),
    /// Lifts an association's lowest acceptable packet number; a lower one changes nothing.
    SetLowestPn {
        /// Its channel's name.
        sci: Sci,
        /// Its number.
        an: An,
        /// The packet number. At least 1, at most the suite's last.
        pn: u64,
    },
}

/// Why nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ChangeRefused {
    /// The association cannot be made.
    #[error(transparent)]
    Sa(#[from] SaFault),
    /// The association is the one that is sent with; install the next and use that.
    #[error("association {0} is in use; install another one, and use that")]
    InUse(An),
    /// There is no such association.
    #[error("there is no association {0}")]
    NoSa(An),
    /// There is no such channel.
    #[error("there is no channel {0}")]
    NoChannel(Sci),
    /// The channel is the port's own: its frames would be accepted when they are thrown back.
    #[error("channel {0} is the port's own")]
    OwnChannel(Sci),
    /// There are as many channels as a SecY receives.
    #[error("no more than {} channels are received", super::SecyPlan::CHANNELS_MAX)]
    Full,
    /// The key and the short name are those of an association in the other direction.
    #[error("sender and receiver have the same key and SSCI; give each sender an SSCI of its own")]
    SharedSsci,
}
