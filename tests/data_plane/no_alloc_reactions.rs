//! Messages of switches cause no allocation at a station, obeyed or in a flood of invalid ones,
//! while it sends flows of every kind.

use sluice::congestion::proxy::Senders;
use sluice::congestion::qcn::ReactionPlan;
use sluice::frame::Burst;
use sluice::host::plan::stream::StreamPlan;
use sluice::host::{
    FlowPlan, Rate, ReactionsPlan, RocePlan, SfcPause, SfcReaction, Station, StationPlan, TcpPlan,
    TesterPlan, Transport, TransportPlan,
};
use sluice::port::Port;
use sluice::time::{Duration, Instant};
use sluice::units::{BitsPerSec, Bytes, Dscp, Priority};
use sluice::wire::flow::FiveTuple;
use sluice::wire::ip::Protocol;
use sluice::wire::roce::U24;
use sluice::wire::{EtherType, cnm, msdu};

use crate::bench::{self, HOST, PEER};
use crate::link;
use crate::memory::{self, MemFrame, MemPort};
use crate::messages::{Message, frame, udp};

fn tuple(port: u16) -> FiveTuple {
    udp("10.0.0.1", port, "10.0.0.2", 9)
}

/// A tenth of the link.
const TENTH: Rate = Rate::LineShare(100_000);

fn flow(id: u32) -> FlowPlan {
    FlowPlan { size: 200, rate: TENTH, ..bench::flow(id, bench::udp(false, id as u16, 9)) }
}

fn answered(id: u32, kind: Transport) -> TransportPlan {
    TransportPlan { tag: None, dscp: Dscp::MIN, size: 200, ..link::flow(id, kind) }
}

fn stream(id: u32) -> StreamPlan {
    let mut headers = [PEER.0, HOST.0].concat();
    headers.extend([8, 0, 0x45, 0, 0, 186, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    headers.extend([0, id as u8, 0, 9, 0, 166, 0, 0]);
    bench::stream(id, headers, 42, 204, TENTH)
}

fn plan(pause: SfcPause) -> StationPlan {
    let qp = |n| U24::new(n).unwrap();
    let sfc = SfcReaction {
        pause,
        longest: Duration::from_micros(2),
        senders: Senders::Only(vec!["10.0.0.0/24".parse().unwrap()]),
        ..SfcReaction::default()
    };
    let qcn = ReactionPlan {
        time_reset: Duration::from_micros(20),
        byte_reset: Bytes(5_000),
        ..ReactionPlan::standard()
    };
    StationPlan {
        backlog: Duration::from_micros(1),
        flows: vec![flow(1), flow(2)],
        senders: vec![
            answered(3, Transport::Roce(RocePlan::new(qp(2), qp(3)))),
            answered(4, Transport::TcpLike(TcpPlan::new(77, 9))),
        ],
        tester: TesterPlan {
            streams: vec![stream(5)],
            start: Some(Instant::ZERO),
            ..TesterPlan::default()
        },
        reactions: ReactionsPlan { sfc: Some(sfc), qcn: Some(qcn) },
        ..StationPlan::new("host", HOST, BitsPerSec::gbps(100))
    }
}

/// A message of QCN about the flow that `msdu` quotes.
fn slow(msdu: &[u8], flow_id: Option<u16>) -> Vec<u8> {
    let repr = cnm::Repr {
        flow_id,
        feedback: 40,
        cpid: cnm::CpId::default(),
        q_offset: 0,
        q_delta: 0,
        priority: Priority::ALL[3],
        dst: PEER,
        msdu,
    };
    let mut octets = vec![0; repr.buffer_len()];
    repr.emit(&mut octets).unwrap();
    frame(HOST, &[], repr.ethertype(), &octets)
}

/// Messages of every kind, valid and invalid.
fn all_messages() -> Vec<Vec<u8>> {
    let about = |flow| Message::about(flow, 3, Duration::from_nanos(500));
    let roce = udp("10.0.0.1", 0xc002, "10.0.0.2", 4791);
    let tcp = FiveTuple { protocol: Protocol::TCP, ..tuple(77) };
    let stranger = Message { from: "10.0.9.9".parse().unwrap(), ..about(tuple(1)) };
    let data = frame(PEER, &[], EtherType::IPV4, &about(tuple(9)).packet());
    let unknown = msdu::of_frame(&data).unwrap().1;
    let mut all: Vec<_> = [tuple(1), tuple(2), roce, tcp, tuple(5), tuple(6)]
        .map(|flow| about(flow).frame(HOST, &[]))
        .into();
    all.push(Message { pause: Duration::ZERO, ..about(tuple(2)) }.frame(HOST, &[]));
    all.push(Message { pause: Duration::from_millis(9), ..about(tuple(1)) }.frame(HOST, &[3]));
    all.push(stranger.frame(HOST, &[]));
    all.push(Message { priority: Priority::MIN, ..about(tuple(6)) }.frame(HOST, &[]));
    all.extend([1, 2, 3, 4, 5, 6].map(|id| slow(&[], Some(id))));
    all.push(slow(&unknown[..42], None));
    let whole = all.clone();
    all.extend(whole.iter().map(|octets| octets[..octets.len() - 20].to_vec()));
    all
}

#[test]
fn no_message_costs_an_allocation() {
    for pause in [SfcPause::Flow, SfcPause::Priority] {
        memory::stock(1_024);
        let (near, mut far) = MemPort::pair(256);
        let mut station = Station::new(&plan(pause), near).unwrap();
        station.spares().fill();
        let messages = all_messages();
        let (mut now, mut burst) = (Instant::ZERO, Burst::new());
        let counted = allocation_counter::measure(|| {
            for n in 0..100_000 {
                // Bursts of messages, then none, so that every pause expires and every increase
                // happens.
                if n % 20 == 0 && n % 5_000 < 3_000 {
                    let octets = &messages[n / 20 % messages.len()];
                    burst.push(MemFrame::new(octets).expect("in stock"));
                    far.tx_burst(&mut burst);
                }
                now += Duration::from_nanos(30);
                station.poll(now);
                far.rx_burst(&mut burst);
                burst.clear();
            }
        });
        assert_eq!((counted.count_total, counted.count_current), (0, 0), "{counted:?}");
        let c = station.reactions_at(now).unwrap();
        let (sfcm, cnm) = (c.sfcm.unwrap(), c.cnm.unwrap());
        assert!(sfcm.paused > 100 && sfcm.malformed > 100 && sfcm.sender > 10, "{sfcm:?}");
        let refused = sfcm.foreign_flow + sfcm.no_flow_of_priority;
        assert!(refused > 10 && sfcm.cut_to_longest > 10, "{sfcm:?}");
        assert!(cnm.obeyed > 100 && cnm.foreign_flow > 10 && cnm.malformed > 100, "{cnm:?}");
        assert!(station.sources().all(|s| s.frames > 1_000));
        assert!(station.streams().all(|s| s.frames > 1_000));
    }
}
