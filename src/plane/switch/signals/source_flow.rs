//! Source Flow Control in the forwarding path: the source of a congesting flow is told to pause, by
//! a message that enters forwarding in the same poll (P802.1Qdw, 8.6.6 as proposed).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::message::{Cause, Draft, TTL};
use crate::{SfcmForm, SfcmFrom, SourceFlowControlPlan, SwitchPlan, UnknownHost};
use congestion::Queue;
use congestion::sfc::{Joined, SfcPoint, Signal};
use contracts::stats::{SfcCounters, SfcSnapshot};
use ground::time::Instant;
use ground::units::{BitsPerSec, Bytes, Dscp, Mac, Priority, TrafficClass};
use wire::flow::FiveTuple;
use wire::ip::Ecn;
use wire::sfcm::{self, Form, Level, Sfcm};
use wire::{WireError, datagram, msdu};

/// Source flow control points of one worker, with the format of their messages.
pub(crate) struct SourceFlow {
    pub(super) point: SfcPoint,
    pub(super) transmit_priority: Priority,
    dscp: Dscp,
    form: SfcmForm,
    min_header_octets: u16,
    pub(super) unknown: UnknownHost,
    from: SfcmFrom,
    mac: Option<Mac>,
    ipv4: Option<Ipv4Addr>,
    ipv6: Option<Ipv6Addr>,
    /// Level of the switch, if discovery knows it.
    pub(super) level: Option<Level>,
    /// Congesting frames that were messages of other kinds.
    messages: u64,
}

impl SourceFlow {
    pub(super) fn new(plan: &SwitchPlan) -> Option<Box<Self>> {
        let sfc = plan.congestion.sfc.as_ref()?;
        let ports = plan.ports.len() as u16;
        let point = SfcPoint::new(sfc.point, ports).expect("a plan that was checked");
        let mut made = Self {
            point,
            transmit_priority: sfc.transmit_priority,
            dscp: sfc.dscp(),
            form: sfc.form,
            min_header_octets: sfc.min_header_octets,
            unknown: sfc.unknown,
            from: sfc.from,
            mac: sfc.mac,
            ipv4: sfc.ipv4,
            ipv6: sfc.ipv6,
            level: None,
            messages: 0,
        };
        // The monitors of the queues are set as on any later change.
        made.adopt(sfc);
        Some(Box::new(made))
    }

    /// Applies another plan; known flows are kept.
    pub(super) fn adopt(&mut self, plan: &SourceFlowControlPlan) {
        self.point.set_plan(plan.point).expect("a plan that was checked");
        for (n, monitors) in plan.monitors.iter().enumerate() {
            for (class, monitor) in TrafficClass::ALL.into_iter().zip(monitors) {
                let queue = Queue::of(n, class);
                self.point.set_monitor(queue, *monitor).expect("a plan that was checked");
            }
        }
        (self.transmit_priority, self.dscp) = (plan.transmit_priority, plan.dscp());
        (self.form, self.from) = (plan.form, plan.from);
        (self.min_header_octets, self.unknown) = (plan.min_header_octets, plan.unknown);
        (self.mac, self.ipv4, self.ipv6) = (plan.mac, plan.ipv4, plan.ipv6);
    }

    /// Reports that a frame joined `queue`; returns the signal to send to its source, if any.
    pub(super) fn on_enqueue(
        &mut self,
        now: Instant,
        queue: Queue,
        length: Bytes,
        drain: BitsPerSec,
        octets: Bytes,
        cause: &Cause<'_>,
    ) -> Option<Signal> {
        if !self.point.concerns(queue, length) {
            return None;
        }
        // Counted as such, because to pause the sender of a message would delay what relieves the queue.
        if cause.is_message {
            self.messages += 1;
            return None;
        }
        self.point.on_enqueue(now, &Joined { queue, length, drain, octets, key: cause.key })
    }

    pub(super) fn message(
        &self,
        cause: &Cause<'_>,
        signal: &Signal,
        priority: Priority,
        port: Mac,
    ) -> Result<Draft, WireError> {
        // A message identifies its flow by IP addresses; other frames have no source to tell.
        let flow = *cause.flow().ok_or(WireError::Unsupported)?;
        let dscp = cause.dscp()?;
        let udp_port = self.point.plan().udp_port;
        let headers = datagram::Repr {
            src: self.sender(&flow),
            dst: flow.src,
            dscp: self.dscp,
            ecn: Ecn::NotEct,
            ttl: TTL,
            src_port: udp_port,
            dst_port: udp_port,
        };
        let mac = self.mac.unwrap_or(port);
        let mut draft = Draft::answer(cause.head, &cause.walk()?, mac, self.transmit_priority);
        let mut emit = |form: Form<'_>| {
            let Signal { pause, locator, .. } = *signal;
            let message = Sfcm { form, priority, dscp, pause, locator, level: self.level };
            let repr = sfcm::Repr { headers, message };
            draft.fill(repr.ethertype(), repr.buffer_len(), |body| repr.emit(body))
        };
        match self.form {
            SfcmForm::Simplified => emit(Form::Simplified(flow))?,
            SfcmForm::Encapsulated => {
                let (_, all) = msdu::of_frame(cause.head)?;
                let mut padded = [0; sfcm::MSDU_MIN];
                let start = msdu::bounded(all, self.min_header_octets.into(), &mut padded);
                // The headers are too long for the quoted bytes to contain the flow.
                emit(Form::Encapsulated(start)).or_else(|_| emit(Form::Simplified(flow)))?;
            }
        }
        Ok(draft)
    }

    /// Returns the source address of a message about `flow`.
    fn sender(&self, flow: &FiveTuple) -> IpAddr {
        let own = match flow.dst {
            IpAddr::V4(_) => self.ipv4.map(IpAddr::V4),
            IpAddr::V6(_) => self.ipv6.map(IpAddr::V6),
        };
        match self.from {
            SfcmFrom::Swapped => flow.dst,
            // A switch need not have an address of each IP version.
            SfcmFrom::Own => own.unwrap_or(flow.dst),
        }
    }

    pub(super) fn snapshot(&self, ports: usize) -> SfcSnapshot {
        let counters = self.point.counters();
        let counters =
            SfcCounters { about_itself: counters.about_itself + self.messages, ..counters };
        let queue =
            |n, class: usize| self.point.queue_counters(Queue::of(n, TrafficClass::ALL[class]));
        let queues = (0..ports).map(|n| core::array::from_fn(|class| queue(n, class))).collect();
        SfcSnapshot { counters, streams: self.point.streams() as u64, queues }
    }
}
