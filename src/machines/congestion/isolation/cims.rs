//! CIMs sent to peers, and handling of CIMs received.

use core::net::IpAddr;

use super::plan::CimRepeat;
use super::{Arrival, Heard, Isolation, Labels};
use crate::detect::Queue;
use crate::flow_key::FlowKey;
use crate::streams::{CreateMask, Place};
use ground::time::Instant;
use ground::units::{Mac, PortId, TrafficClass};

/// A CIM that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CimOrder {
    /// True to isolate the flow, false to stop.
    pub add: bool,
    /// Port of the peer; [`Isolation::peer`] has its addresses.
    pub to: PortId,
}

/// A received CIM.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Ingress port: the port whose queues hold the flow.
    pub port: PortId,
    /// Source MAC address.
    pub mac: Mac,
    /// Source IP address, if the CIM was an IP packet.
    pub address: Option<IpAddr>,
    /// True to isolate the flow, false to stop.
    pub add: bool,
    /// Flow key, from the encapsulated frame.
    pub key: FlowKey,
    /// Other fields of the encapsulated frame.
    pub labels: Labels,
    /// Bit mask of the traffic classes that this bridge may use for the flow's frames, because a
    /// CIM does not carry their priority. The flow counts as a separate one in each class.
    pub classes: u8,
}

impl Isolation {
    /// Returns the CIM to send to the upstream peer about a flow now, if any.
    pub(super) fn tell(&mut self, now: Instant, place: Place, ingress: PortId) -> Option<CimOrder> {
        let again = self.plan.max_flow_life.div(2);
        let stream = self.streams.get_mut(place);
        let state = &mut stream.state;
        let ago = state.cim_sent.map(|(at, _)| now.since(at));
        if self.plan.dialect.repeat == CimRepeat::BeforeItsLifeEnds
            && ago.is_some_and(|ago| ago >= again)
        {
            state.counted = 0;
        }
        let cim = &mut self.counters;
        let refused = if state.counted >= self.plan.max_cim_tx {
            &mut cim.had_all
        } else if ago.is_some_and(|ago| ago < self.plan.spacing) {
            &mut cim.too_soon
        } else if self.peers.get(ingress).is_none() {
            &mut cim.no_peer
        } else if !self.budget.pass(now) {
            &mut cim.over_budget
        } else {
            state.counted += 1;
            state.cim_sent = Some((now, ingress));
            stream.messages = stream.messages.saturating_add(1);
            cim.sent_add += 1;
            return Some(CimOrder { add: true, to: ingress });
        };
        *refused += 1;
        None
    }

    /// Returns the CIM that tells a peer that the flow has ended.
    pub(super) fn tell_end(
        &mut self,
        now: Instant,
        cim_sent: Option<(Instant, PortId)>,
    ) -> Option<CimOrder> {
        let (_, to) = cim_sent.filter(|(_, port)| self.peers.get(*port).is_some())?;
        if !self.budget.pass(now) {
            self.counters.over_budget += 1;
            return None;
        }
        self.counters.sent_del += 1;
        Some(CimOrder { add: false, to })
    }

    /// Handles a received CIM.
    pub fn on_cim(&mut self, now: Instant, received: &Received) -> Heard {
        let heard = self.hear(now, received);
        *heard.counter(&mut self.counters) += 1;
        heard
    }

    fn hear(&mut self, now: Instant, received: &Received) -> Heard {
        if !self.plan.enabled {
            return Heard::Disabled;
        }
        let Some(peer) = self.peers.get(received.port) else {
            return Heard::UnknownPeer;
        };
        if !peer.is_from(received.mac, received.address) {
            return Heard::ForeignSource;
        }
        if !self.heard[received.port.index()].pass(now) {
            return Heard::TooMany;
        }
        let map = self.plan.map;
        let named = TrafficClass::ALL.into_iter().filter(|c| received.classes >> c.get() & 1 == 1);
        let monitored = named.filter(|class| map.congesting(*class).is_some());
        monitored.map(|class| self.obey(now, received, class)).min().unwrap_or(Heard::NotMonitored)
    }

    /// Applies a valid CIM to frames of one monitored class.
    fn obey(&mut self, now: Instant, received: &Received, class: TrafficClass) -> Heard {
        let queue = Queue { port: received.port, class };
        match (self.streams.find(queue, &received.key), received.add) {
            (Some(place), true) => {
                self.streams.get_mut(place).mask.insert(CreateMask::CIM);
                self.streams.touch(now, place);
                Heard::Renewed
            }
            (Some(place), false) => {
                let mask = &mut self.streams.get_mut(place).mask;
                let named = mask.has(CreateMask::CIM);
                mask.remove(CreateMask::CIM);
                if named { Heard::Released } else { Heard::NothingToRelease }
            }
            (None, false) => Heard::NothingToRelease,
            (None, true) => {
                let arrival = Arrival {
                    ingress: received.port,
                    queue,
                    key: received.key,
                    labels: received.labels,
                };
                let taken = self.isolate(now, &arrival, CreateMask::CIM);
                if taken.is_some() { Heard::Isolated } else { Heard::NoRoom }
            }
        }
    }
}
