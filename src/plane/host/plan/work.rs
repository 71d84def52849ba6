//! Workload of a flow: messages of different sizes at irregular times, messages that wait for
//! another flow, and flows that send in bursts.

use std::sync::Arc;

use super::FlowId;
use ground::time::Duration;

/// Messages of a workload, beside [`super::TransportPlan::message`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Work {
    /// Messages one by one, instead of equal ones.
    pub list: Option<MessageList>,
    /// Flow that the sending station receives: message n + 1 is due when message n of that flow has
    /// arrived there completely. `None` if messages are due by time.
    pub after: Option<FlowId>,
    /// Number of completed messages whose times are kept, the first ones. They take 32 bytes each.
    pub log: usize,
}

/// Messages of one flow, in the order of their due times. A clone shares the same list.
#[derive(Clone, PartialEq, Debug)]
pub struct MessageList(Arc<[ListedMessage]>);

/// One message of a [`MessageList`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListedMessage {
    /// Length in bytes, not 0.
    pub bytes: u64,
    /// Time from the flow's start at which it becomes due. It waits for the messages before it.
    pub due: Duration,
}

/// A flow that sends in periods. It starts with an ON period at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OnOffPlan {
    pub flow: FlowId,
    /// Length of the ON periods, or their mean. Not zero.
    pub on: Duration,
    /// Length of the OFF periods, or their mean. Not zero.
    pub off: Duration,
    /// Seed of exponentially distributed lengths; `None` for fixed ones.
    pub random: Option<u64>,
}

impl MessageList {
    /// Makes a list; `None` if it is empty, if a message has no bytes, or if due times decrease.
    #[must_use]
    pub fn new(messages: Vec<ListedMessage>) -> Option<Self> {
        let sound = !messages.is_empty()
            && messages.iter().all(|m| m.bytes > 0)
            && messages.windows(2).all(|w| w[0].due <= w[1].due);
        sound.then(|| Self(messages.into()))
    }

    /// Returns the messages in order.
    #[must_use]
    pub fn messages(&self) -> &[ListedMessage] {
        &self.0
    }

    /// Returns the sum of all lengths in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|m| m.bytes).fold(0, u64::saturating_add)
    }
}
