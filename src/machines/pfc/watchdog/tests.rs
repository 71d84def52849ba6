use super::*;
use proptest::prelude::*;

fn class(n: u8) -> TrafficClass {
    TrafficClass::new(n).unwrap()
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn plan(action: StormAction) -> WatchdogPlan {
    WatchdogPlan { action, ..WatchdogPlan::DEFAULT }
}

fn watchdog(action: StormAction) -> Watchdog {
    let mut plans = [None; PRIORITIES];
    plans[3] = Some(plan(action));
    plans[4] = Some(plan(action));
    Watchdog::new(&plans)
}

#[test]
fn a_storm_is_detected_and_restored_at_its_time() {
    for action in [StormAction::Drop, StormAction::Forward, StormAction::Alert] {
        let mut w = watchdog(action);
        assert!(w.is_configured());
        assert_eq!(w.next_deadline(), Instant::NEVER);
        for ms in (0..=1_000).step_by(10) {
            w.on_pfc(at(ms), class(3));
            // Repeated reports still count from the first time.
            w.on_queue(at(ms), class(3), ms < 200 || action == StormAction::Alert);
            let due = w.on_timeout(at(ms));
            assert_eq!(due.is_some(), ms == 200 && action == StormAction::Alert, "{ms} {due:?}");
        }
        if action != StormAction::Alert {
            assert!(!w.any_stormed(), "it sent a frame at the last moment");
            w.on_queue(at(1_000), class(3), true);
            w.on_pfc(at(1_000), class(3));
            assert_eq!(w.next_deadline(), at(1_200));
            assert_eq!(w.on_timeout(at(1_199)), None);
            let detected = Some((class(3), StormEvent::Detected(action)));
            assert_eq!(w.on_timeout(at(1_200)), detected);
            assert_eq!(w.on_timeout(at(1_200)), None);
            assert_eq!((w.action(class(3)), w.action(class(4))), (Some(action), None));
            // The action empties the queue; that alone does not end the storm.
            w.on_queue(at(1_201), class(3), false);
            w.on_pfc(at(1_300), class(3));
            assert_eq!(w.next_deadline(), at(1_700));
            assert_eq!(w.on_timeout(at(1_699)), None);
            assert_eq!(w.on_timeout(at(1_700)), Some((class(3), StormEvent::Restored)));
        } else {
            w.on_queue(at(1_000), class(3), false);
            assert_eq!(w.on_timeout(at(1_400)), Some((class(3), StormEvent::Restored)));
        }
        assert_eq!((w.any_stormed(), w.action(class(3))), (false, None));
        assert_eq!(w.next_deadline(), Instant::NEVER);
    }
}

#[test]
fn times_that_change_count_from_the_start_of_a_pause_or_a_storm() {
    let mut w = watchdog(StormAction::Drop);
    w.on_queue(at(0), class(3), true);
    let set = |w: &mut Watchdog, detection, restoration| {
        let [detection, restoration] = [detection, restoration].map(Duration::from_millis);
        // The action of a queue stays, whatever the plan of the port says.
        let plan = WatchdogPlan { detection, restoration, ..plan(StormAction::Alert) };
        assert_eq!(w.set_plan(plan).count(), 0);
    };
    set(&mut w, 50, 60);
    assert_eq!(w.next_deadline(), at(50));
    let detected = StormEvent::Detected(StormAction::Drop);
    assert_eq!(w.on_timeout(at(50)), Some((class(3), detected)));
    assert_eq!(w.next_deadline(), at(110));
    set(&mut w, 50, 100);
    assert_eq!(w.on_timeout(at(149)), None);
    assert_eq!(w.on_timeout(at(150)), Some((class(3), StormEvent::Restored)));
}

#[test]
fn a_queue_still_blocked_is_watched_anew() {
    let mut w = watchdog(StormAction::Alert);
    w.on_queue(at(0), class(3), true);
    assert!(w.on_timeout(at(200)).is_some());
    assert_eq!(w.on_timeout(at(600)), Some((class(3), StormEvent::Restored)));
    assert_eq!(w.next_deadline(), at(800));
}

#[test]
fn queues_turn_one_by_one_earliest_first() {
    let mut w = watchdog(StormAction::Drop);
    w.on_queue(at(1), class(3), true);
    w.on_queue(at(0), class(4), true);
    let turned: Vec<_> = core::iter::from_fn(|| w.on_timeout(at(500))).map(|(c, _)| c).collect();
    assert_eq!(turned, [class(4), class(3)]);
    assert!(w.any_stormed());
}

#[test]
fn queues_without_a_plan_are_left_alone() {
    let mut w = watchdog(StormAction::Drop);
    w.on_queue(at(0), class(0), true);
    w.on_pfc(at(0), class(0));
    assert_eq!((w.next_deadline(), w.on_timeout(at(100_000))), (Instant::NEVER, None));
    assert!(!Watchdog::new(&[None; PRIORITIES]).is_configured());
}

proptest! {
    /// The same input, polled at every millisecond or at deadlines alone, gives the same events.
    #[test]
    fn polls_between_deadlines_change_nothing(
        steps in prop::collection::vec((1_u64..300, any::<bool>(), 3_u8..5, any::<bool>()), 1..60),
    ) {
        let (mut lazy, mut busy) = (watchdog(StormAction::Drop), watchdog(StormAction::Drop));
        let (mut lazy_log, mut busy_log) = (Vec::new(), Vec::new());
        let mut now = 0;
        for (gap, is_pfc, n, blocked) in steps {
            for ms in now..now + gap {
                while let Some(e) = busy.on_timeout(at(ms)) {
                    busy_log.push((at(ms), e));
                }
            }
            while lazy.next_deadline() < at(now + gap) {
                let deadline = lazy.next_deadline();
                let e = lazy.on_timeout(deadline);
                prop_assert!(e.is_some(), "a deadline is never in vain");
                lazy_log.extend(e.map(|e| (deadline, e)));
            }
            now += gap;
            for w in [&mut lazy, &mut busy] {
                if is_pfc {
                    w.on_pfc(at(now), class(n));
                } else {
                    w.on_queue(at(now), class(n), blocked);
                }
            }
        }
        prop_assert_eq!(lazy_log, busy_log);
    }
}
