//! Defects: a device that breaks the rules of flow control at one of its ports.
//!
//! A [`Defect`] is between a node and the line of a port. It changes, delays, drops or adds frames
//! in both directions, so that the device behaves on the line as one with this fault inside. It
//! works on the bytes of frames and on the time that it is given, so it serves the ports of any
//! world. A frame that it adds or delays takes no time of the port's shaper: it leaves beside the
//! frame that the node sends at that time.
//!
//! In the virtual world it stands in the port, by [`crate::FaultKind::Defect`]; over any other port as
//! [`Broken`].
//!
//! A port without a defect pays for one comparison per burst.

mod broken;
mod forwarding;
mod frame;
mod holding;
mod obeying;
mod protocols;
mod sending;
mod stage;
#[cfg(test)]
mod tests;

pub use broken::{Broken, NotHere};
pub use forwarding::{Forwarding, Storing};
pub use holding::Holding;
pub use obeying::Obeying;
pub use protocols::{Securing, Telling};
pub use sending::{Part, Sending};
pub use stage::{Leak, Lines, Make, Stage};

use core::fmt;

/// A defect, by the part of the device's behavior that it breaks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Defect {
    /// Reception of MAC control frames.
    Obeying(Obeying),
    /// Transmission of PFC frames.
    Sending(Sending),
    /// Holding of frames while the port is paused.
    Holding(Holding),
    /// Forwarding of data frames.
    Forwarding(Forwarding),
    /// LLDP.
    Telling(Telling),
    /// MACsec.
    Securing(Securing),
    /// Loss of buffer memory.
    Storing(Storing),
}

impl Defect {
    /// Returns the name of its kind in words, such as `loses data`.
    pub fn name(&self) -> String {
        let kind: &dyn fmt::Debug = match self {
            Self::Obeying(kind) => kind,
            Self::Sending(kind) => kind,
            Self::Holding(kind) => kind,
            Self::Forwarding(kind) => kind,
            Self::Telling(kind) => kind,
            Self::Securing(kind) => kind,
            Self::Storing(kind) => kind,
        };
        let mut words = String::new();
        // `LosesData { every: 3 }` becomes `loses data`: a word begins at each capital letter.
        for c in format!("{kind:?}").chars().take_while(|c| c.is_alphanumeric()) {
            if c.is_uppercase() && !words.is_empty() {
                words.push(' ');
            }
            words.extend(c.to_lowercase());
        }
        words
    }
}

/// Makes a defect of one of a part.
macro_rules! defects_of {
    ($($Part:ident,)*) => {
        $(impl From<$Part> for Defect {
            fn from(what: $Part) -> Self {
                Self::$Part(what)
            }
        })*
    };
}

defects_of!(Obeying, Sending, Holding, Forwarding, Telling, Securing, Storing,);
