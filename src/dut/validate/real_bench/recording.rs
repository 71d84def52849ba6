//! What a trial left behind: the frames of its captures with their times and their error, and how far the machine
//! disturbed it.
//!
//! Frames that a device still holds at the end of a trial are late, not lost. A device on this machine may have
//! missed CPU time, which explains loss.

use std::fs;

use contracts::frame::FCS_BYTES;
use ground::time::{Duration, Instant};
use ground::units::Bytes;
use runtime::CpuAccount;
use tester::capture::Kept;
use tester::plan::{Location, Place};
use tester::report::{DeviceCpu, Report};
use tester::session::{DEVICE_SPAN, Session};
use text::packets;

use crate::bench::TrialError;
use crate::observation::{Observation, Record, Way, What};
use crate::opened::{Openers, Read};
use crate::otg;
use crate::real_bench::trouble;
use crate::setup::{Setup, line_time};
use crate::trial::{Port, Trial};

/// Returns what the captures of a trial hold.
pub(super) fn records(
    trial: &Trial,
    arrival: Arrival,
    setup: &Setup,
    session: &Session,
    report: &Report,
) -> Result<Observation, TrialError> {
    let epoch = session.epoch().ok_or_else(|| TrialError::Error("no flow was started".into()))?;
    let start = epoch + otg::lead(setup);
    linked(report)?;
    let openers = Openers::new(setup, trial)?;
    let recording = Recording { setup, openers, trial, start, arrival };
    let mut records = Vec::new();
    for (n, port) in report.ports.iter().enumerate() {
        // Frames that the capture had no room for would be taken for lost by the device.
        if port.capture_missed > 0 {
            let what = format!(
                "the capture of port {} is full: {} frames are missing; shorten `times.hold` or lower \
                 `rate`",
                port.name, port.capture_missed
            );
            return Err(TrialError::Error(what));
        }
        let capture = session.recorded(n).map_err(trouble)?;
        records.extend(capture.frames().filter_map(|kept| record(&kept, Port(n), &recording)));
    }
    // Captures are by port; tests read all ports in the order of last bits.
    records.sort_by_key(|record: &Record| record.end);
    let taken_down = |port: usize| trial.links.iter().any(|link| link.port.0 == port);
    let disturbed = disturbed_but(report, taken_down);
    let disturbed = disturbed.or_else(|| late_frames(&records, trial.length));
    Ok(Observation {
        records,
        damaged: Vec::new(),
        uncertainty: uncertainty(report, trial, arrival, setup),
        disturbed,
        unattended: report.unattended(),
        starved: Duration::from_nanos_f64(report.device_waited_ns()),
        acted_late: Duration::ZERO,
        counters: None,
    })
}

/// An error if the link of a port is down.
pub(super) fn linked(report: &Report) -> Result<(), TrialError> {
    match report.ports.iter().find(|port| !port.link_up) {
        Some(port) => {
            let what = format!("the link of port {} is down; check the cable", port.name);
            Err(TrialError::Error(what))
        }
        None => Ok(()),
    }
}

/// True if a port lost frames before the tester saw them.
pub(super) fn missed(port: &tester::report::Port) -> bool {
    port.rx_missed.unwrap_or(0) > 0
}

/// Returns the frames that the machine lost before the tester saw them, in words.
pub(super) fn disturbed(report: &Report) -> Option<String> {
    disturbed_but(report, |_| false)
}

/// Does the same, but not for frames that a port cannot send while the trial takes its link down: they are
/// part of the result.
pub(super) fn disturbed_but(report: &Report, taken_down: impl Fn(usize) -> bool) -> Option<String> {
    let unsent = |n, port: &tester::report::Port| port.tx_dropped > 0 && !taken_down(n);
    let mut ports = report.ports.iter().enumerate();
    ports.find(|(n, port)| missed(port) || unsent(*n, port)).map(|(_, port)| {
        format!(
            "port {} lost {} received frames and dropped {} to send: the machine is too busy, or the \
             rate too high for it",
            port.name,
            port.rx_missed.unwrap_or(0),
            port.tx_dropped
        )
    })
}

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
    trial: &Trial,
    arrival: Arrival,
    setup: &Setup,
) -> Duration {
    if arrival == Arrival::FirstBit {
        return FOUND_LATE;
    }
    // A thread that did not poll finds frames late by up to the gap; excluded spans are no part of the trial.
    let gap = report.machine.filter(|machine| !machine.excluded).map_or(0.0, |m| m.longest_gap_ns);
    let longest = trial.flows.iter().map(|flow| flow.size).max().unwrap_or(64);
    let frame = line_time(setup.slowest(), longest);
    Duration::from_nanos_f64(report.stamps.floor_ns().max(gap)) + frame
}

/// A trial on the clock of its captures.
pub(super) struct Recording<'a> {
    setup: &'a Setup,
    openers: Openers,
    trial: &'a Trial,
    /// Start of the trial's own traffic.
    start: Instant,
    arrival: Arrival,
}

/// Returns the record of a captured frame; `None` before the trial's own traffic.
pub(super) fn record(
    kept: &Kept,
    port: Port,
    Recording { setup, openers, trial, start, arrival }: &Recording<'_>,
) -> Option<Record> {
    if kept.at < *start {
        return None;
    }
    let len = kept.len + FCS_BYTES;
    let time = setup.port(port).rate.time_for(Bytes(len.into()));
    let time_seen = kept.at.since(*start);
    // A received frame was found after its last bit; a sent one was handed over before its first.
    let (way, begin, end) = match kept.way {
        packets::Way::In if *arrival == Arrival::FirstBit => {
            let begin = time_seen.saturating_sub(FOUND_LATE);
            (Way::Received, begin, begin + time)
        }
        packets::Way::In => (Way::Received, time_seen.saturating_sub(time), time_seen),
        packets::Way::Out => (Way::Sent, time_seen, time_seen + time),
    };
    let read = openers.read(port, way, &kept.octets, len);
    let Read { what, len, head, secured } = read;
    let head = if trial.keep { head } else { Box::default() };
    Some(Record { port, way, begin, end, len, what, head, secured })
}

/// Shortest time after the last sent frame in which a device is expected to send all that it holds.
const TIME_MIN: Duration = Duration::from_millis(50);

/// Returns the reason, in words, why the frames that are missing at the end of a trial may still come: others
/// still arrive. A device in software that has too little of its CPU sends below the rate of its line.
fn late_frames(records: &[Record], length: Duration) -> Option<String> {
    let ends = |way: Way| {
        let is_data = |r: &&Record| r.way == way && matches!(r.what, What::Data { .. });
        let all = records.iter().filter(is_data).map(|record| record.end);
        all.fold((0_u64, Duration::ZERO), |(n, last), end| (n + 1, last.max(end)))
    };
    let ((sent, last_sent), (received, last)) = (ends(Way::Sent), ends(Way::Received));
    let silence = length.saturating_sub(last_sent);
    // Traffic up to the end leaves no time to drain.
    let is_over = silence >= TIME_MIN;
    // In the last eighth of the silence, so up to its end as far as can be told.
    let still_arrive = last + silence.div(8) >= length;
    (received < sent && is_over && still_arrive).then(|| {
        format!(
            "frames still arrive at the end of {} ms without traffic, and {} are missing: the device sends \
             below the rate of its line, or the machine is too busy for it; lengthen `times.drain`",
            silence.as_nanos() / 1_000_000,
            sent - received
        )
    })
}

/// An account of a trial that began.
pub(super) struct Watch(Option<CpuAccount>);

impl Watch {
    /// Begins for a trial, at the far end of whose ports there is something other than the tester.
    pub(super) fn begin(setup: &Setup) -> Self {
        let is_here = setup.ports.iter().any(|port| leads_to_this_machine(&port.location));
        Self(is_here.then(CpuAccount::read))
    }

    /// Watches nothing.
    pub(super) const fn none() -> Self {
        Self(None)
    }

    /// Returns the CPU time that the device may have missed since the begin.
    pub(super) fn end(&self) -> DeviceCpu {
        let Self(Some(begin)) = self else { return DeviceCpu::Elsewhere };
        let waited = CpuAccount::read().since(begin);
        waited.map_or(DeviceCpu::Unknown, |time| DeviceCpu::Waited(time.as_nanos() as f64))
    }
}

/// True if the other side of a port is the kernel or a program of this machine: a ring, an interface without
/// hardware, a device of DPDK in software.
fn leads_to_this_machine(location: &str) -> bool {
    let Ok(location) = Location::parse(location) else { return false };
    match location.place {
        Place::Ring { .. } => true,
        Place::Interface(name) => !has_hardware(&name.to_string()),
        Place::Device(device) => {
            let mut arguments = device.split(',');
            let is_software = arguments.next().is_some_and(|name| name.starts_with("net_"));
            let interface = arguments.find_map(|argument| argument.strip_prefix("iface="));
            is_software && interface.is_none_or(|name| !has_hardware(name))
        }
    }
}

/// True if an interface of the kernel is a device with a driver.
fn has_hardware(interface: &str) -> bool {
    let mut parts = std::path::Path::new(interface).components();
    // A name with a separator would lead out of the folder of interfaces.
    let is_name = parts.next().is_some() && parts.next().is_none();
    is_name && fs::exists(format!("/sys/class/net/{interface}/device")).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use wire::ip::Ecn;

    use super::*;
    use crate::trial::{FlowId, Port};

    /// A frame that a device on rings sent at one poll and that is found by the next has its time in between.
    #[test]
    fn a_frame_of_a_device_in_this_process_is_dated_within_its_uncertainty() {
        let (dut, _) = crate::file::parse(
            "dut.yaml",
            "rate: 1G\nports: [{}, {}]\nvirtual: {profile: {buffer: {total: 2MiB}}}\n",
        )
        .unwrap();
        let trial = Trial::new("dates", Duration::from_millis(1));
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
            let openers = Openers::new(&dut.setup, &trial).unwrap();
            let (setup, trial, arrival) = (&dut.setup, &trial, Arrival::FirstBit);
            let recording = Recording { setup, openers, trial, start, arrival };
            let found = record(&kept, Port(0), &recording).unwrap();
            let error = found.begin.as_picos().abs_diff(sent.as_picos());
            assert!(error <= FOUND_LATE.as_picos(), "{late:?}: {found:?}");
            assert_eq!(found.end - found.begin, Duration::from_nanos(8_192));
        }
    }

    fn frame(way: Way, sequence: u64, ms: u64) -> Record {
        let end = Duration::from_millis(ms);
        let what = What::Data { flow: FlowId(0), sequence, ecn: Ecn::NotEct };
        let (port, head) = (Port(0), Box::default());
        Record { port, way, begin: end, end, len: 1024, what, head, secured: None }
    }

    /// Four frames that are sent within 100 ms, and those that arrive at these times.
    fn of(arrivals: &[u64], length_ms: u64) -> Option<String> {
        let sent = (1..=4).map(|n| frame(Way::Sent, n, 25 * n));
        let received = (1..).zip(arrivals).map(|(n, ms)| frame(Way::Received, n, *ms));
        late_frames(&sent.chain(received).collect::<Vec<_>>(), Duration::from_millis(length_ms))
    }

    #[test]
    fn frames_that_are_missing_while_others_still_arrive_are_late() {
        let why = of(&[100, 1000], 1050).unwrap();
        assert!(why.contains("of 950 ms without traffic, and 2 are missing"), "{why}");
    }

    #[test]
    fn frames_that_are_missing_in_silence_are_lost() {
        assert_eq!(of(&[100, 900], 1050), None);
        assert_eq!(of(&[], 1050), None, "none arrives");
    }

    #[test]
    fn a_trial_without_losses_or_without_a_drain_is_judged() {
        assert_eq!(of(&[100, 1000, 1010, 1049], 1050), None, "all are there");
        assert_eq!(of(&[100, 140], 145), None, "there is no time to drain");
    }

    #[test]
    fn devices_on_this_machine_are_told_by_their_ports() {
        let here = ["ring:x.a", "iface:nothere0", "net_memif0,socket=x", "net_null0"];
        assert!(here.into_iter().all(leads_to_this_machine));
        assert!(!leads_to_this_machine("0000:3b:00.0"));
        assert!(!leads_to_this_machine("0000:3b:00.0?queues=2"));
    }
}
