//! Isolation combined with messages to the source of a congesting flow: Source Flow Control
//! monitors the congesting class and has patience.

use super::*;
use crate::SourceFlowControlPlan;
use ::congestion::LimitPlan;
use ::congestion::sfc::{Monitor, SfcPlan};
use ground::time::Duration;
use wire::flow::FiveTuple;
use wire::sfcm::{self, Form};

const PATIENCE: Duration = Duration::from_micros(20);

/// Isolates from class 3 to 5, and sends source flow control messages for class 5 only.
fn both() -> SwitchPlan {
    let mut plan = isolating_switch();
    let monitor = Monitor { detect: Detect::Length(Bytes(1_500)), target: Bytes(500) };
    let mut monitors = [None; 8];
    monitors[CONGESTING.index()] = Some(monitor);
    plan.congestion.sfc = Some(SourceFlowControlPlan {
        point: SfcPlan {
            enabled: true,
            monitored_queues: 1 << CONGESTING.get(),
            patience: PATIENCE,
            budget: LimitPlan { interval: Duration::ZERO, burst: 1 },
            ..SfcPlan::new()
        },
        monitors: vec![monitors; 4],
        ..congestion().sfc.unwrap()
    });
    plan
}

#[test]
fn congestion_that_outlasts_isolation_is_told_to_its_source_and_other_flows_are_left_in_peace() {
    let mut lab = learnt(&both());
    congest(&mut lab, 5);
    assert!(lab.switch.queue_bytes(port(3), CONGESTING) > 1_500, "isolated");
    assert!(lab.sent(0).is_empty(), "and not told of yet");
    lab.advance(PATIENCE);
    // It is forwarded; so is one that is not isolated, as its queue is short enough.
    lab.inject(1, &packet(2, 6, 1, 64));
    lab.inject(0, &packet(1, 5, 43, 1_000));
    lab.switch.poll(lab.now);
    let told = lab.sent(0);
    assert_eq!(told.len(), 1, "in the same poll");
    assert!(lab.sent(1).is_empty());
    let ethertype = EtherType(u16::from_be_bytes([told[0][12], told[0][13]]));
    let message = sfcm::Repr::parse(ethertype, &told[0][14..]).unwrap().message;
    assert_eq!(told[0][..6], host(1).0);
    assert_eq!(message.priority, Priority::ALL[3], "what the source is to pause");
    let about = packet(1, 5, 0, 64);
    let flow = FiveTuple::of_frame(&about).unwrap();
    assert_eq!(message.form, Form::Simplified(flow));
    assert!(message.pause > Duration::ZERO);
    lab.open(3);
    lab.check();
}
