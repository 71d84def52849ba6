//! Sender and receiver at the two ends of a link.

use super::*;
use ground::time::{Duration, Instant};
use ground::units::{BitsPerSec, Priority, PrioritySet};
use proptest::prelude::*;

pub(crate) const RATE: BitsPerSec = BitsPerSec::gbps(100);

pub(crate) fn p(n: u8) -> Priority {
    Priority::new(n).unwrap()
}

pub(crate) fn at(ns: u64) -> Instant {
    Instant::ZERO + Duration::from_nanos(ns)
}

fn mode() -> impl Strategy<Value = FlowControl> {
    let sets = (any::<u8>(), any::<u8>());
    let pfc = sets.prop_map(|(send, more)| {
        // The peer obeys all priorities that are sent, and possibly more.
        FlowControl::Pfc { send: PrioritySet(send), obey: PrioritySet(send | more | 1) }
    });
    prop_oneof![pfc, Just(FlowControl::Pause { send: true, obey: true })]
}

/// The link and its requested pauses.
struct Link {
    sender: Sender,
    peer: Receiver,
    frames: usize,
}

impl Link {
    /// Returns the priorities that the peer should have paused.
    fn target(&self, mode: FlowControl) -> PrioritySet {
        let wanted = self.sender.wanted();
        let pause = matches!(mode, FlowControl::Pause { .. });
        if pause && !wanted.is_empty() { PrioritySet::ALL } else { wanted }
    }

    fn send(&mut self, now: Instant) {
        let Some(demand) = self.sender.due(now) else { return };
        self.sender.on_sent(now, &demand);
        assert!(match &demand {
            Demand::Pfc(v) => self.peer.on_pfc(now, v),
            Demand::Pause(time) => self.peer.on_pause(now, *time),
        });
        self.frames += 1;
    }
}

proptest! {
    /// A peer that obeys is paused exactly as long as the groups require it: from the first poll
    /// after an XOFF, without a gap, to the first poll after the XON. And no redundant frame is
    /// sent.
    #[test]
    fn the_peer_is_paused_exactly_while_it_is_wanted(
        mode in mode(),
        quanta in 2_u16..=u16::MAX,
        part in 1_u64..100,
        steps in prop::collection::vec((0_u64..200_000, 0_u8..8, any::<bool>(), any::<bool>()), 1..80),
    ) {
        let quanta = Quanta(quanta);
        let refresh = Duration::from_picos(quanta.at(RATE).as_picos() * part / 100);
        let plan = PfcPlan { mode, quanta, refresh };
        let (sender, peer) = (Sender::new(plan, RATE), Receiver::new(mode, RATE));
        let mut link = Link { sender, peer, frames: 0 };
        let (mut now, mut refreshes) = (0, 0);
        for (gap, n, paused, poll) in steps {
            // At deadlines the sender is always polled, and the peer is still paused.
            while link.sender.next_deadline() < at(now + gap) && refreshes < 10_000 {
                let deadline = link.sender.next_deadline();
                prop_assert!(link.sender.due(deadline).is_some(), "a deadline is never in vain");
                let held = link.target(mode);
                link.send(deadline);
                prop_assert_eq!(link.peer.paused(deadline), held);
                refreshes += 1;
            }
            if refreshes >= 10_000 {
                break; // A short pause is refreshed often; this suffices.
            }
            now += gap;
            let before = link.peer.paused(at(now));
            link.sender.want(at(now), Priority::new(n).unwrap(), paused);
            prop_assert_eq!(link.peer.paused(at(now)), before);
            if poll {
                let frames = link.frames;
                link.send(at(now));
                let after = link.peer.paused(at(now));
                prop_assert_eq!(after, link.target(mode));
                prop_assert!(link.sender.due(at(now)).is_none(), "it was said");
                prop_assert!(before == after || link.frames > frames);
            }
        }
        for p in Priority::ALL {
            link.sender.want(at(now), p, false);
        }
        link.send(at(now));
        prop_assert_eq!(link.peer.paused(at(now)), PrioritySet::EMPTY);
        prop_assert_eq!(link.sender.next_deadline(), Instant::NEVER);
    }
}
