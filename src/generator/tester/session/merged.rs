//! The counters of a port, from those of its queues.

use ground::units::PRIORITIES;
use host::meter::{MessageCounters, Reactions};
use host::{ControlCounters, MeterCounters, PauseTimes, StationCounters, StationSnapshot};

/// Returns the counters of a port, without those of single flows. A pause is counted in the queue in
/// which it arrived, and held all of them; its times are those of the queue in which they are longest.
/// Reactions of the peer to pauses of a port with several queues are not measured.
///
/// # Panics
/// There is no queue.
pub(super) fn merged(mut queues: Vec<StationSnapshot>) -> StationSnapshot {
    let mut port = queues.remove(0);
    if queues.is_empty() {
        return port;
    }
    for queue in &queues {
        add(&mut port.counters, &queue.counters);
    }
    port.meter = port.meter.take().map(|first| {
        let others = queues.iter().filter_map(|queue| queue.meter.as_ref());
        meter(first, &others.collect::<Vec<_>>())
    });
    port
}

fn add(port: &mut StationCounters, queue: &StationCounters) {
    port.rx_frames += queue.rx_frames;
    port.tx_frames += queue.tx_frames;
    port.rx_bytes += queue.rx_bytes;
    port.tx_bytes += queue.tx_bytes;
    port.rx_own_frames += queue.rx_own_frames;
    port.rx_own_bytes += queue.rx_own_bytes;
    port.tx_own_frames += queue.tx_own_frames;
    port.tx_own_bytes += queue.tx_own_bytes;
    port.pauses_received += queue.pauses_received;
    port.pauses_sent += queue.pauses_sent;
    port.malformed += queue.malformed;
    port.foreign += queue.foreign;
    port.unexpected += queue.unexpected;
    port.other_runs += queue.other_runs;
    port.flushed += queue.flushed;
    for (all, own) in port.priorities.iter_mut().zip(&queue.priorities) {
        all.received += own.received;
        all.obeyed += own.obeyed;
        all.is_paused |= own.is_paused;
        all.transitions = all.transitions.max(own.transitions);
        all.paused = all.paused.max(own.paused);
        all.sent += own.sent;
    }
}

fn meter(mut port: MeterCounters, others: &[&MeterCounters]) -> MeterCounters {
    for queue in others {
        for p in 0..PRIORITIES {
            times(&mut port.received[p], &queue.received[p]);
            times(&mut port.sent[p], &queue.sent[p]);
        }
        port.malformed_sent += queue.malformed_sent;
        messages(&mut port.messages, &queue.messages);
        for (all, own) in port.control.iter_mut().zip(&queue.control) {
            control(all, own);
        }
    }
    for p in 0..PRIORITIES {
        port.reactions[p] = Reactions::default();
        port.messages.reactions = Reactions::default();
        (port.sent[p].last_frame, port.sent[p].first_frame) = (None, None);
    }
    port
}

/// Adds the messages that a queue sent. Ports with several queues obey none.
fn messages(port: &mut MessageCounters, queue: &MessageCounters) {
    port.sent += queue.sent;
    port.requested += queue.requested;
    port.told.extend(&queue.told);
    port.told.sort_by_key(|told| told.at);
    port.begun.extend(&queue.begun);
    port.begun.sort_by_key(|begun| begun.at);
}

/// Adds the pauses of a queue. What is about their sequence is that of the queue with most of them.
fn times(port: &mut PauseTimes, queue: &PauseTimes) {
    let frames = |of: &PauseTimes| of.pauses + of.resumes;
    let most = if frames(queue) > frames(port) { *queue } else { *port };
    *port = PauseTimes {
        pauses: port.pauses + queue.pauses,
        resumes: port.resumes + queue.resumes,
        requested: port.requested.max(queue.requested),
        last: port.last.max(queue.last),
        last_frame: port.last_frame.max(queue.last_frame),
        // The first frame of all queues is no later than that of one.
        first_frame: [port.first_frame, queue.first_frame].into_iter().flatten().min(),
        ..most
    };
}

fn control(port: &mut ControlCounters, queue: &ControlCounters) {
    port.frames += queue.frames;
    port.bytes += queue.bytes;
    let first = [port.first_arrival, queue.first_arrival];
    port.first_arrival = first.into_iter().flatten().min();
    port.last_arrival = port.last_arrival.max(queue.last_arrival);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ground::time::{Duration, Instant, Total};
    use host::FlowId;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Duration::from_micros(us)
    }

    /// A queue's counters: frames, and pauses that arrived in it.
    fn queue(
        frames: u64,
        pauses: u64,
        paused_us: u64,
        last_us: u64,
    ) -> (StationCounters, MeterCounters) {
        let mut counters =
            StationCounters { rx_frames: frames, tx_frames: 2 * frames, ..Default::default() };
        let own = &mut counters.priorities[3];
        (own.received, own.transitions, own.paused) =
            (pauses, 1, Total::from_nanos(1_000 * paused_us));
        let mut meter = MeterCounters::default();
        meter.received[3] = PauseTimes {
            pauses,
            gap_max: Some(Duration::from_micros(10 - pauses)),
            last_frame: Some(Duration::from_micros(last_us)),
            ..PauseTimes::default()
        };
        meter.sent[3].first_frame = Some(Duration::ZERO);
        meter.control = vec![ControlCounters {
            id: FlowId(1),
            frames,
            bytes: 64 * frames,
            first_arrival: Some(at(frames)),
            last_arrival: Some(at(100 + frames)),
        }];
        (counters, meter)
    }

    #[test]
    fn frames_are_added_and_the_longest_pause_is_the_ports() {
        let ((mut sum, first), (second, other)) = (queue(5, 0, 40, 3), queue(7, 2, 39, 4));
        add(&mut sum, &second);
        assert_eq!((sum.rx_frames, sum.tx_frames), (12, 24));
        let three = &sum.priorities[3];
        assert_eq!(
            (three.received, three.transitions, three.paused.as_nanos_f64()),
            (2, 1, 40_000.0)
        );
        let port = meter(first, &[&other]);
        let received = &port.received[3];
        // Both queues obeyed the pauses, one of which got them.
        assert_eq!((received.pauses, received.gap_max), (2, Some(Duration::from_micros(8))));
        assert_eq!(received.last_frame, Some(Duration::from_micros(4)));
        assert_eq!((port.sent[3].first_frame, port.reactions[3]), (None, Reactions::default()));
        let control = port.control[0];
        assert_eq!((control.frames, control.bytes), (12, 768));
        assert_eq!((control.first_arrival, control.last_arrival), (Some(at(5)), Some(at(107))));
    }
}
