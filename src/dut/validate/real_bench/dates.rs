//! Times of captured frames, and their error.

use crate::observation::{Record, Way};
use crate::opened::{Openers, Read};
use crate::setup::{Setup, line_time};
use crate::trial::{Port, Trial};
use contracts::frame::FCS_BYTES;
use ground::time::{Duration, Instant};
use ground::units::Bytes;
use tester::capture::Kept;
use tester::report::Report;
use tester::session::DEVICE_SPAN;
use text::packets;

/// The bit of a received frame at whose time on the line the tester sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrival {
    /// A device in this process hands a frame over when it begins to send it.
    FirstBit,
    /// Other devices in software do that, too; ports of hardware deliver a frame after its last bit.
    Unknown,
}

/// Time by which a frame of a device in this process is found late, with an error of as much in either direction. Its
/// switches are polled at the times of the tester's ports, after them, so the frames that they send at one poll are
/// found by the next, and between two polls the clock goes on by [`DEVICE_SPAN`] at most. A frame that the tester
/// sends is there at the same time.
const FOUND_LATE: Duration = DEVICE_SPAN.div(2);

/// Returns the largest error of a time stamp: [`FOUND_LATE`], or else that of the stamps, or the longest time in
/// which a thread did not poll; and a frame, as the bit is unknown at which a frame is seen.
pub(super) fn uncertainty(
    report: &Report,
    (trial, arrival): (&Trial, Arrival),
    setup: &Setup,
) -> Duration {
    if arrival == Arrival::FirstBit {
        return FOUND_LATE;
    }
    let gap = report.machine.filter(|machine| !machine.excluded).map_or(0.0, |m| m.longest_gap_ns);
    let longest = trial.flows.iter().map(|flow| flow.size).max().unwrap_or(64);
    let frame = line_time(setup.slowest(), longest);
    Duration::from_nanos_f64(report.stamps.floor_ns().max(gap)) + frame
}

/// Returns the record of a captured frame; `None` before the trial's own traffic.
pub(super) fn record(
    kept: &Kept,
    (port, setup, openers): (Port, &Setup, &Openers),
    (start, trial, arrival): (Instant, &Trial, Arrival),
) -> Option<Record> {
    if kept.at < start {
        return None;
    }
    let len = kept.len + FCS_BYTES;
    let time = setup.port(port).rate.time_for(Bytes(len.into()));
    let at = kept.at.since(start);
    // A received frame was found after its last bit; a sent one was handed over before its first.
    let (way, begin, end) = match kept.way {
        packets::Way::In if arrival == Arrival::FirstBit => {
            let begin = at.saturating_sub(FOUND_LATE);
            (Way::Received, begin, begin + time)
        }
        packets::Way::In => (Way::Received, at.saturating_sub(time), at),
        packets::Way::Out => (Way::Sent, at, at + time),
    };
    let read = openers.read((port, way), (&kept.octets, len));
    let Read { what, len, head, secured } = read;
    let head = if trial.keep { head } else { Box::default() };
    Some(Record { port, way, begin, end, len, what, head, secured })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame that a device on rings sent at one poll and that is found by the next has its time in between.
    #[test]
    fn a_frame_of_a_device_in_this_process_is_dated_within_its_uncertainty() {
        let (dut, _) = crate::file::parse(
            "dut.yaml",
            "rate: 1G\nports: [{}, {}]\nvirtual: {profile: {buffer: {total: 2MiB}}}\n",
        )
        .unwrap();
        let trial = Trial::new("dates", Duration::from_millis(1));
        let openers = Openers::new(&dut.setup, &trial).unwrap();
        let start = Instant::ZERO + Duration::from_secs(1);
        let sent = Duration::from_micros(100);
        for late in [0, 1, 500, 999, 1_000].map(Duration::from_nanos) {
            assert!(late <= DEVICE_SPAN);
            let kept = Kept {
                at: start + sent + late,
                way: packets::Way::In,
                len: 1_020,
                octets: vec![0; 64],
            };
            let at = (Port(0), &dut.setup, &openers);
            let of = |arrival| record(&kept, at, (start, &trial, arrival)).unwrap();
            let found = of(Arrival::FirstBit);
            let error = found.begin.as_picos().abs_diff(sent.as_picos());
            assert!(error <= FOUND_LATE.as_picos(), "{late:?}: {found:?}");
            assert_eq!(found.end - found.begin, Duration::from_nanos(8_192));
        }
    }
}
