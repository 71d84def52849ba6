//! What a station does about messages from switches about its flows.

use super::PlanError;
use crate::congestion::proxy::Senders;
use crate::congestion::qcn::ReactionPlan;
use crate::time::Duration;
use crate::wire::sfcm;

/// Messages that a station obeys. None, by default: it counts them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ReactionsPlan {
    /// Source flow control messages.
    pub sfc: Option<SfcReaction>,
    /// Congestion notification messages of QCN: a reaction point for each flow that has an answer, and
    /// for each that is only paced. Its frames carry no CN-TAG: messages say enough of a frame to find
    /// the flow by.
    pub qcn: Option<ReactionPlan>,
}

impl ReactionsPlan {
    /// Whether all numbers are within their ranges.
    pub(super) fn check(&self) -> Result<(), PlanError> {
        if let Some(sfc) = &self.sfc {
            if sfc.udp_port < sfcm::PORT_MIN {
                return Err(PlanError::SfcPort(sfc.udp_port));
            }
            if sfc.longest == Duration::ZERO {
                return Err(PlanError::SfcPause);
            }
        }
        match &self.qcn {
            Some(qcn) if !qcn.is_sound() => Err(PlanError::Qcn),
            _ => Ok(()),
        }
    }
}

/// How source flow control messages are obeyed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SfcReaction {
    /// sfcmUDPPort, on which they come. 49152 to 65535.
    pub udp_port: u16,
    /// What a message pauses.
    pub pause: SfcPause,
    /// The longest pause that one message gets. Not zero.
    pub longest: Duration,
    /// Whose messages are obeyed.
    pub senders: Senders,
}

/// What a message pauses at its host. The source document names both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SfcPause {
    /// The flow that it is about.
    Flow,
    /// All flows of its priority.
    Priority,
}
