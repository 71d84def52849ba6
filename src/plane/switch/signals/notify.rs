//! Notifications to the sources of RoCEv2 flows (CNP), and Quantized Congestion Notification (CNM,
//! 802.1Q Clauses 30 to 33), with the switch as congestion point.

use super::message::{Cause, Draft, TTL};
use crate::{FastCnpPlan, QuantizedPlan, SourceQp, SwitchPlan};
use congestion::Queue;
use congestion::fast_cnp::{CnpPlan, FastCnp};
use congestion::qcn::{CongestionPoint, Feedback};
use contracts::stats::{FastCnpCounters, QcnCounters, QcnSnapshot};
use ground::time::Instant;
use ground::units::{Bytes, Dscp, Mac, PRIORITIES, Priority, TrafficClass};
use wire::cnm::{self, CpId};
use wire::flow::FiveTuple;
use wire::ip::{self, Ecn, Fragment};
use wire::roce::{self, Opcode, U24};
use wire::{EtherType, WireError, cnp, msdu, udp, vlan};

/// RoCEv2 notifications of one worker.
pub(crate) struct Notifier {
    pub(super) machine: FastCnp,
    pub(super) priority: Priority,
    dscp: Dscp,
    /// Notifications that could not be made.
    pub(super) unsent: u64,
}

impl Notifier {
    pub(super) fn new(plan: &SwitchPlan) -> Option<Box<Self>> {
        let section = plan.congestion.fast_cnp.as_ref()?;
        let pairs = match &section.source_qp {
            SourceQp::Learnt => vec![],
            SourceQp::Configured(pairs) => {
                let pair = |p: &crate::QueuePairs| (p.destination, p.destination_qp, p.source_qp);
                pairs.iter().map(pair).collect()
            }
        };
        let (spacing, budget, flows, seed) =
            (section.spacing, section.budget, section.flows, plan.seed);
        let machine = CnpPlan { spacing, budget, flows, seed, pairs };
        let machine = FastCnp::new(&machine, plan.ports.len() as u16);
        let mut made =
            Self { machine, priority: section.priority, dscp: section.dscp(), unsent: 0 };
        made.adopt(section);
        Some(Box::new(made))
    }

    /// Applies another plan; known flows and queue pairs are kept.
    pub(super) fn adopt(&mut self, plan: &FastCnpPlan) {
        self.machine.set_limits(plan.spacing, plan.budget);
        for (n, detect) in plan.detect.iter().enumerate() {
            for (class, detect) in TrafficClass::ALL.into_iter().zip(detect) {
                self.machine.set_detect(Queue::of(n, class), *detect);
            }
        }
        (self.priority, self.dscp) = (plan.priority, plan.dscp());
    }

    /// Learns the queue pair of a flow's source, if the frame names one.
    pub(super) fn learn(&mut self, now: Instant, head: &[u8], l3: usize, ethertype: EtherType) {
        if let Some((flow, qp)) = answer_of(head, l3, ethertype) {
            self.machine.on_answer(now, &flow, qp);
        }
    }

    pub(super) const fn snapshot(&self) -> FastCnpCounters {
        let counters = self.machine.counters();
        // The machine counts what it decided on; what could not be made is taken off.
        let (sent, unsent) = (counters.sent.saturating_sub(self.unsent), self.unsent);
        FastCnpCounters { sent, unsent, ..counters }
    }

    /// Builds the notification about a frame of `flow` to queue pair `qp` of its source.
    pub(super) fn notification(
        &self,
        cause: &Cause<'_>,
        flow: &FiveTuple,
        qp: U24,
        port: Mac,
    ) -> Result<Draft, WireError> {
        let repr = cnp::Repr {
            src: flow.dst,
            dst: flow.src,
            dscp: self.dscp,
            ecn: Ecn::NotEct,
            ttl: TTL,
            identification: 0,
            src_port: flow.src_port,
            p_key: roce::DEFAULT_P_KEY,
            dest_qp: qp,
        };
        let mut draft = Draft::answer(cause.head, &cause.walk()?, port, self.priority);
        draft.fill(repr.ethertype(), repr.buffer_len(), |body| repr.emit(body))?;
        Ok(draft)
    }
}

/// Returns the flow and its source's queue pair from a packet of the reverse direction that names
/// it.
fn answer_of(head: &[u8], l3: usize, ethertype: EtherType) -> Option<(FiveTuple, U24)> {
    let packet = ip::View::new(ethertype, &head[l3..]).ok()?;
    let upper = packet.upper().ok().filter(|upper| upper.fragment == Fragment::Whole)?;
    let udp = udp::View::new(upper.payload).ok()?;
    let bth = roce::View::new(udp.payload()).ok()?;
    // Data names the queue pair of its destination, which packets of the flow show anyway.
    if !matches!(bth.opcode(), Opcode::RC_ACKNOWLEDGE | Opcode::CNP) {
        return None;
    }
    let answer = FiveTuple::of(&packet);
    // RoCEv2 answers from the same source port to the same destination port, so only the addresses swap.
    Some((FiveTuple { src: answer.dst, dst: answer.src, ..answer }, bth.dest_qp()))
}

/// QCN congestion points of one worker.
pub(crate) struct Quantizer {
    /// By port, then traffic class.
    points: Box<[[Option<CongestionPoint>; PRIORITIES]]>,
    pub(super) unsent: Box<[[u64; PRIORITIES]]>,
    pub(super) priority: Priority,
    msdu_octets: usize,
}

impl Quantizer {
    pub(super) fn new(plan: &SwitchPlan) -> Option<Box<Self>> {
        let section = plan.congestion.qcn.as_ref()?;
        // A seed for each point: with one for all they would sample in step.
        let seed = |n: usize, class: usize| plan.seed ^ ((n * PRIORITIES + class) as u64) << 32;
        let points = section.points.iter().enumerate().map(|(n, points)| {
            core::array::from_fn(|class| {
                points[class].map(|point| CongestionPoint::new(point, seed(n, class)))
            })
        });
        let points: Box<[_]> = points.collect();
        let unsent = vec![[0; PRIORITIES]; points.len()].into_boxed_slice();
        let msdu_octets = usize::from(section.msdu_octets).min(cnm::MSDU_MAX);
        Some(Box::new(Self { points, unsent, priority: section.transmit_priority, msdu_octets }))
    }

    /// Applies another plan.
    pub(super) fn adopt(&mut self, plan: &QuantizedPlan) {
        let points = self.points.iter_mut().flatten().zip(plan.points.iter().flatten());
        for (point, plan) in points {
            // Points are neither created nor removed while the switch runs.
            if let (Some(point), Some(plan)) = (point, plan) {
                point.set_plan(*plan);
            }
        }
        self.priority = plan.transmit_priority;
        self.msdu_octets = usize::from(plan.msdu_octets).min(cnm::MSDU_MAX);
    }

    /// Returns true if a queue has a congestion point.
    pub(super) fn has(&self, queue: Queue) -> bool {
        self.points
            .get(queue.port.index())
            .is_some_and(|classes| classes[queue.class.index()].is_some())
    }

    /// Reports that a frame joined a queue; returns the feedback to send, if any.
    pub(super) fn on_enqueue(
        &mut self,
        queue: Queue,
        length: Bytes,
        octets: Bytes,
    ) -> Option<Feedback> {
        // A plan may leave out the last ports.
        let classes = self.points.get_mut(queue.port.index())?;
        classes[queue.class.index()].as_mut()?.on_enqueue(length, octets)
    }

    pub(super) fn message(
        &self,
        cause: &Cause<'_>,
        feedback: &Feedback,
        queue: Queue,
        priority: Priority,
        port: Mac,
    ) -> Result<Draft, WireError> {
        let (_, all) = msdu::of_frame(cause.head)?;
        let walk = cause.walk()?;
        let behind_tag = cn_tag(cause.head, &walk);
        let repr = cnm::Repr {
            flow_id: behind_tag,
            feedback: feedback.quantized.get(),
            cpid: CpId::of(port, queue.class.index() as u16),
            q_offset: feedback.offset_units(),
            q_delta: feedback.delta_units(),
            priority,
            dst: walk.dst,
            msdu: &all[..all.len().min(self.msdu_octets)],
        };
        let mut draft = Draft::answer(cause.head, &walk, port, self.priority);
        draft.fill(repr.ethertype(), repr.buffer_len(), |body| repr.emit(body))?;
        Ok(draft)
    }

    pub(super) fn snapshot(&self, ports: usize) -> QcnSnapshot {
        let queue = |n: usize, class: usize| {
            let Some(point) = self.points.get(n).and_then(|classes| classes[class].as_ref()) else {
                return QcnCounters::default();
            };
            let unsent = self.unsent[n][class];
            let transmitted_cnms = point.answered().saturating_sub(unsent);
            QcnCounters { samples: point.samples(), transmitted_cnms, unsent }
        };
        let queues = (0..ports).map(|n| core::array::from_fn(|class| queue(n, class)));
        QcnSnapshot { queues: queues.collect() }
    }
}

/// Returns the flow identifier of a frame's CN-TAG (802.1Q 33.1), by which its source knows the
/// flow.
fn cn_tag(head: &[u8], walk: &vlan::Walk) -> Option<u16> {
    // Without a CN-TAG the source finds its flow by the quoted frame.
    let flow = head.get(walk.l3..)?.first_chunk::<2>()?;
    (walk.ethertype == EtherType::CN_TAG).then(|| u16::from_be_bytes(*flow))
}
