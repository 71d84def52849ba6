//! Messages of link protocols in bursts of data.

use proptest::prelude::*;

use crate::rig::*;
use ::link::AgentsPlan;
use ground::time::Duration;
use ground::units::BitsPerSec;
use headroom::measure::MeasurePlan;
use wire::headroom::{DESTINATION, Dialect, Message, Repr, Request};

/// A request of a measurement.
fn request(psn: u8) -> Vec<u8> {
    let message = Message::Request(Request { t1: 7, psn });
    let mut octets = vec![0; Dialect::default().frame_len()];
    let repr = Repr { src: host(9), dst: DESTINATION, message };
    repr.emit(&mut octets, &Dialect::default()).expect("room for the message");
    octets
}

fn is_message(octets: &[u8]) -> bool {
    Repr::parse(octets, &Dialect::default()).is_ok()
}

/// A learnt switch of two ports that answer measurements.
fn answering() -> Lab {
    let mut p = plan(2);
    for port in &mut p.ports {
        let dialect = Dialect::default();
        let measure = MeasurePlan { respond: true, initiate: None, dialect, compensation: None };
        let agents = agents(port.mac, BitsPerSec::gbps(100));
        port.agents = Some(AgentsPlan { measure: Some(measure), ..agents });
    }
    let mut lab = Lab::new(&p);
    for (n, from, to) in [(0, 1, 2), (1, 2, 1), (0, 1, 2)] {
        lab.deliver(n, &frame(host(to), host(from), None, 60));
    }
    lab.clear();
    lab
}

proptest! {
    /// Wherever messages are in a burst, each is answered once, and the data around them leave in their
    /// order and are counted as one by one.
    #[test]
    fn messages_part_no_burst(kinds in prop::collection::vec(0_u8..4, 1..90)) {
        let (mut together, mut apart) = (answering(), answering());
        apart.switch.one_by_one = true;
        let (mut messages, mut expected) = (0, Vec::new());
        for (n, kind) in kinds.iter().enumerate() {
            // Few messages, and data of two lengths.
            let octets = match kind {
                0 => request(n as u8),
                _ => frame(host(2), host(1), None, if *kind == 1 { 61 } else { 90 + n }),
            };
            match kind {
                0 => messages += 1,
                _ => expected.push(octets.clone()),
            }
            for lab in [&mut together, &mut apart] {
                lab.inject(0, &octets);
            }
        }
        for lab in [&mut together, &mut apart] {
            for _ in 0..200 {
                lab.poll_until_idle();
                lab.now += Duration::from_nanos(700);
            }
        }
        let (data, answers) = (together.sent(1), together.sent(0));
        prop_assert_eq!(&data, &expected);
        prop_assert_eq!(&apart.sent(1), &expected);
        prop_assert_eq!((answers.len(), apart.sent(0).len()), (messages, messages));
        prop_assert!(answers.iter().all(|octets| is_message(octets)));
        let told = |lab: &mut Lab| format!("{:?}", lab.switch.snapshot(lab.now).ports[0].counters);
        prop_assert_eq!(told(&mut together), told(&mut apart));
        together.check();
        apart.check();
    }
}
