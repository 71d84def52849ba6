//! Timestamps of received frames: written by a device's driver (here by the test, on a ring, as no
//! device that stamps was available), converted to the TSC. EAL starts once per process, so this is
//! one test.

use sluice::dpdk::{
    DeviceClock, DpdkPort, Eal, EalOptions, Memory, Pool, PoolOptions, PortOptions, RingOptions,
    SourcePort, StampField, TscClock, ring_pair,
};
use sluice::frame::{BURST, Burst};
use sluice::host::probe::Probe;
use sluice::host::{FlowId, Station, StationPlan};
use sluice::port::Port;
use sluice::tester::capture::{CAPTURE_BYTES, Capture, tapped};
use sluice::tester::plan::{CaptureFormat, CapturePlan};
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Mac};

use crate::apart::own_process;

/// Ticks of the device's clock per second: 3.103 ns each, as MACs of 10 Gb/s have.
const HZ: u128 = 322_265_625;

/// Reading of the device's clock at this TSC time.
fn ticks(at: Instant) -> u64 {
    (at.as_picos() * HZ / 1_000_000_000_000) as u64 ^ 1 << 63
}

/// Sends frames, every second of which has a timestamp of its arrival, and returns those.
fn send(pool: &Pool, from: &mut DpdkPort, clock: &TscClock, field: &StampField) -> Vec<Instant> {
    let mut burst = Burst::new();
    let mut stamped = Vec::new();
    for n in 0..BURST {
        let mut frame = pool.frame(&[n as u8; 60]).unwrap();
        if n % 2 == 0 {
            let at = clock.now();
            frame.set_rx_stamp(field, ticks(at));
            stamped.push(at);
        }
        burst.push(frame);
    }
    from.tx_burst(&mut burst);
    assert!(burst.is_empty());
    stamped
}

#[test]
fn a_stamp_is_the_time_at_which_the_device_saw_the_frame() {
    own_process!();
    let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..EalOptions::default() }).unwrap();
    let pool = Pool::new(&eal, &PoolOptions { frames: 1_000, ..PoolOptions::default() }).unwrap();
    let (a, b) = ring_pair(
        &eal,
        &RingOptions { name: "wire".into(), entries: 256, ..RingOptions::default() },
    )
    .unwrap();
    let clock = TscClock::new();

    // A device without timestamps starts without them, and reports that.
    let mut a = a.start(&PortOptions::default(), &pool).unwrap();
    assert_eq!(a.info().rx_stamps, None);
    let asked =
        PortOptions { rx_stamps: Some(clock), tx_stamps: Some(clock), ..PortOptions::default() };
    let mut b = b.start(&asked, &pool).unwrap();
    assert_eq!(b.info().rx_stamps, Some(Err("the driver does not offer it".into())));
    assert!(b.stamp_quality().is_none() && b.refresh_stamps().is_ok());
    let sent = b.info().tx_stamps.clone().expect("it was asked for").unwrap_err();
    assert!(sent.starts_with("the driver does not offer it"), "{sent}");
    let mut frame = b.control_frame(&[0; 60]).unwrap();
    assert!(!b.stamp_when_sent(&mut frame) && b.sent_stamp().is_none());
    drop(frame);

    let field = StampField::register(&eal).unwrap();
    assert_eq!(StampField::register(&eal), Ok(field), "there is one field for all");
    let mut burst = Burst::new();
    send(&pool, &mut a, &clock, &field);
    b.rx_burst(&mut burst);
    assert!(burst.drain(..).all(|frame| b.rx_stamp(&frame).is_none()), "nobody asked for stamps");

    let device = DeviceClock::calibrate(&clock, || Ok(ticks(clock.now()))).unwrap();
    b.stamp_by(field, device);
    let quality = b.stamp_quality().unwrap();
    let open = quality.uncertainty.as_picos() + 2 * quality.resolution.as_picos();
    assert!(open < 1_000_000_000, "a millisecond tells nothing: {quality:?}");

    let stamped = send(&pool, &mut a, &clock, &field);
    let found = clock.now();
    b.rx_burst(&mut burst);
    assert_eq!(burst.len(), BURST);
    let read: Vec<_> = burst.iter().map(|frame| b.rx_stamp(frame)).collect();
    for (n, stamp) in read.iter().enumerate() {
        assert_eq!(stamp.is_some(), n % 2 == 0, "only frames that have one");
    }
    for (got, want) in read.into_iter().flatten().zip(&stamped) {
        assert!(
            got.as_picos().abs_diff(want.as_picos()) <= open.into(),
            "{got:?} {want:?} {quality:?}"
        );
        assert!(got < found);
    }
    assert!(b.refresh_stamps().unwrap_err().contains("cannot be read"), "a ring has no clock");

    // Captures have the port's timestamps, if there are any.
    burst.clear();
    let stamped = send(&pool, &mut a, &clock, &field);
    let plan = CapturePlan {
        name: "c".into(),
        filters: vec![],
        overwrite: false,
        snap: None,
        format: CaptureFormat::Pcap,
    };
    let pool_of_a = pool.clone();
    let mut tap = tapped(SourcePort::new(b, pool));
    tap.tap.start(Box::new(Capture::new(&plan, false, CAPTURE_BYTES)));
    let now = clock.now();
    tap.tap.at(now);
    tap.rx_burst(&mut burst);
    let kept: Vec<_> = tap.tap.stop().unwrap().frames().map(|kept| kept.at).collect();
    let quality = tap.port.port_mut().stamp_quality().unwrap();
    let open = quality.uncertainty.as_picos() + 2 * quality.resolution.as_picos();
    for (n, at) in kept.iter().enumerate() {
        let want = if n % 2 == 0 { stamped[n / 2] } else { now };
        assert!(at.as_picos().abs_diff(want.as_picos()) <= open.into(), "{n}: {at:?} {want:?}");
    }
    // The latencies of a station have them too: these frames took 5 us, and waited a millisecond
    // more.
    let mut station = Station::new(&station(), tap).unwrap();
    let sent = clock.now();
    let arrived = sent + Duration::from_micros(5);
    let mut octets = [&MAC.0[..], &[2; 6], &[0x88, 0xb5]].concat();
    octets.extend(Probe::new(FlowId(1), 0, sent).octets());
    octets.resize(60, 0);
    let mut frame = pool_of_a.frame(&octets).unwrap();
    frame.set_rx_stamp(&field, ticks(arrived));
    let mut burst: Burst<_> = [frame].into_iter().collect();
    a.tx_burst(&mut burst);
    station.poll(sent + Duration::from_micros(1_000));
    let latency = &station.sinks().next().unwrap().latency;
    let took = latency.max().as_picos();
    assert!(took.abs_diff(5_000_000) <= open + 1_000, "{took} ps: {quality:?}");
}

const MAC: Mac = Mac([2, 0, 0, 0, 0, 1]);

/// A station that counts flow 1.
fn station() -> StationPlan {
    StationPlan {
        expects: vec![FlowId(1)],
        ..StationPlan::new("station", MAC, BitsPerSec::gbps(10))
    }
}
