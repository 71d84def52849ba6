//! Two ports that measure over a link which delays, loses, duplicates and reorders messages, with
//! independent clocks.

use proptest::prelude::*;

use super::*;
use ground::units::Mac;
use wire::headroom::{DESTINATION, KindCodes, LengthField, Piggyback, Repr, TimeUnit};

/// Treatment of one message.
#[derive(Clone, Copy, Debug)]
struct Fate {
    delay: Duration,
    lost: bool,
    /// Delay of a duplicate after the first copy.
    doubled: Option<Duration>,
    /// Delay from a message's deadline to its transmission.
    held: Duration,
}

/// A clock with an offset and a drift.
#[derive(Clone, Copy, Debug)]
struct Clock {
    offset: u64,
    ppm: i64,
}

impl Clock {
    fn at(self, true_ps: u64) -> Instant {
        let drift = i128::from(true_ps) * i128::from(self.ppm) / 1_000_000;
        let ps = i128::from(self.offset) + i128::from(true_ps) + drift;
        Instant::from_picos(u64::try_from(ps).unwrap().into())
    }
}

#[derive(Clone, Debug)]
struct World {
    plan: InitiatePlan,
    dialect: Dialect,
    clocks: [Clock; 2],
    /// True if the second port measures too.
    both: bool,
    fates: Vec<Fate>,
    /// Times of extra polls, in picoseconds.
    looks: Vec<u64>,
}

/// Messages sent or received: time, port, and message.
type Trace = Vec<(u64, usize, Message)>;

struct Run {
    ports: [Measurer; 2],
    events: [Option<(u64, Event)>; 2],
    sent: Trace,
    /// One-way delays of messages that arrived.
    delays: Vec<Duration>,
}

impl World {
    /// Runs for slightly longer than a measurement may take. True time steps from event to event;
    /// ports see their own clocks.
    fn run(&self) -> Run {
        let plan = |initiates: bool| MeasurePlan {
            respond: true,
            initiate: initiates.then_some(self.plan),
            dialect: self.dialect,
            compensation: None,
        };
        let mut ports = [Measurer::new(&plan(true)), Measurer::new(&plan(self.both))];
        for (port, clock) in ports.iter_mut().zip(self.clocks) {
            port.start(clock.at(0));
        }
        let mut run = Run { ports, events: [None; 2], sent: vec![], delays: vec![] };
        let mut air: Vec<(u64, usize, [u8; 60])> = vec![];
        let mut fates = self.fates.iter().cycle();
        let most = self.plan.spacing_max.saturating_mul(u64::from(self.plan.requests_max) + 1);
        let mut now = 0;
        while now <= most.as_picos() {
            air.sort_by_key(|a| a.0);
            while air.first().is_some_and(|a| a.0 <= now) {
                let (_, to, octets) = air.remove(0);
                let message = Repr::parse(&octets, &self.dialect).unwrap().message;
                let at = self.clocks[to].at(now);
                run.ports[to].on_message(at, &message, at);
            }
            for from in [0, 1] {
                let at = self.clocks[from].at(now);
                while run.ports[from].is_due(at) {
                    let fate = fates.next().unwrap();
                    let leaves = now + fate.held.as_picos();
                    if let Some(message) = run.ports[from].take(at, self.clocks[from].at(leaves)) {
                        run.sent.push((now, from, message));
                        self.fly(fate, leaves, 1 - from, message, &mut air, &mut run.delays);
                    }
                }
                if let Some(event) = run.ports[from].next_event() {
                    run.events[from] = Some((now, event));
                }
            }
            now = self.next(now, &run.ports, &air);
        }
        run
    }

    fn fly(
        &self,
        fate: &Fate,
        leaves: u64,
        to: usize,
        message: Message,
        air: &mut Vec<(u64, usize, [u8; 60])>,
        delays: &mut Vec<Duration>,
    ) {
        if fate.lost {
            return;
        }
        let mut octets = [0; 60];
        let repr = Repr { src: Mac::default(), dst: DESTINATION, message };
        repr.emit(&mut octets, &self.dialect).unwrap();
        let arrives = leaves + fate.delay.as_picos();
        delays.push(fate.delay);
        air.push((arrives, to, octets));
        if let Some(behind) = fate.doubled {
            delays.push(fate.delay + behind);
            air.push((arrives + behind.as_picos(), to, octets));
        }
    }

    /// Returns the next picosecond of true time at which an event may happen.
    fn next(&self, now: u64, ports: &[Measurer; 2], air: &[(u64, usize, [u8; 60])]) -> u64 {
        let deadlines = ports.iter().zip(self.clocks).filter_map(|(port, clock)| {
            let due = port.next_deadline();
            (due != Instant::NEVER).then(|| {
                // The clock's rate is within 1 part in 10,000 of true, so this converges to it.
                let mut at = now + 1;
                while clock.at(at) < due {
                    let left = due.since(clock.at(at)).as_picos();
                    at += (left - left / 5_000).max(1);
                }
                while at > now + 1 && clock.at(at - 1) >= due {
                    at -= 1;
                }
                at
            })
        });
        let arrivals = air.iter().map(|a| a.0.max(now + 1));
        let looks = self.looks.iter().copied().filter(|at| *at > now);
        deadlines.chain(arrivals).chain(looks).min().unwrap_or(u64::MAX)
    }
}

fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = (0_u64..30_000, 0..8, 0..8, 0_u64..20_000, 0_u64..3_000).prop_map(
        |(jitter, lost, doubled, behind, held)| Fate {
            delay: Duration::from_nanos(1_000 + jitter),
            lost: lost == 0,
            doubled: (doubled == 0).then(|| Duration::from_nanos(behind)),
            held: Duration::from_nanos(held),
        },
    );
    prop::collection::vec(fate, 1..100)
}

fn dialects() -> impl Strategy<Value = Dialect> {
    any::<(bool, bool, bool, bool)>().prop_map(|(kind, length, unit, piggyback)| Dialect {
        kind: if kind { KindCodes::Flags } else { KindCodes::Numbers },
        length: if length { LengthField::Whole } else { LengthField::Rest },
        unit: if unit { TimeUnit::Nanoseconds } else { TimeUnit::Picoseconds },
        piggyback: if piggyback { Piggyback::Request } else { Piggyback::Response },
        ..Dialect::default()
    })
}

fn worlds() -> impl Strategy<Value = World> {
    let clock = || {
        (0_u64..10_000_000_000_000, -100_i64..=100).prop_map(|(offset, ppm)| Clock { offset, ppm })
    };
    let plan = (1_u16..=40, 0_u16..=40, 0_u64..40_000, 0_u64..40_000, any::<bool>()).prop_map(
        |(rounds, spare, least, more, piggyback)| InitiatePlan {
            rounds,
            requests_max: rounds + spare,
            spacing_min: Duration::from_nanos(least),
            spacing_max: Duration::from_nanos(least + more + 1),
            period: None,
            piggyback,
            shims: false,
        },
    );
    let looks = prop::collection::vec(0_u64..2_000_000_000, 0..200);
    (plan, dialects(), [clock(), clock()], any::<bool>(), fates(), looks).prop_map(
        |(plan, dialect, clocks, both, fates, looks)| World {
            plan,
            dialect,
            clocks,
            both,
            fates,
            looks,
        },
    )
}

/// 100 ppm of a span, and a picosecond for rounding.
fn drift(span: Duration) -> u64 {
    span.as_picos() / 10_000 + 1
}

proptest! {
    #[test]
    fn what_is_found_lies_between_the_shortest_and_the_longest_way(world in worlds()) {
        let run = world.run();
        let (_, event) = run.events[0].expect("it ends in T times M");
        if event != Event::Done {
            return Ok(());
        }
        let found = run.ports[0].round_trips().unwrap();
        prop_assert_eq!(found.round_trip().count(), usize::from(world.plan.rounds));
        let longest = run.delays.iter().max().unwrap().saturating_mul(2);
        let shortest = run.delays.iter().min().unwrap().saturating_mul(2);
        let slack = drift(found.turnaround().max()) * 2 + world.dialect.resolution().as_picos();
        let (min, max) = (found.round_trip().min().as_picos(), found.round_trip().max().as_picos());
        prop_assert!(min + drift(shortest) + slack >= shortest.as_picos(), "{min} {shortest}");
        prop_assert!(max <= longest.as_picos() + drift(longest) + slack, "{max} {longest}");
        let mean = found.round_trip().mean();
        prop_assert!(found.round_trip().min() <= mean && mean <= found.round_trip().max());
    }

    #[test]
    fn requests_keep_their_spacing_and_their_limits(world in worlds()) {
        let run = world.run();
        let (ended, event) = run.events[0].expect("it ends in T times M");
        let clock = world.clocks[0];
        let own: Vec<_> = run.sent.iter().filter(|s| s.1 == 0 && s.2.request().is_some()).collect();
        let limit = usize::from(world.plan.requests_max);
        prop_assert!(own.len() <= limit, "no more than M");
        for (n, pair) in own.windows(2).enumerate() {
            let [a, b] = [pair[0].0, pair[1].0].map(|ps| clock.at(ps));
            prop_assert!(b.since(a) >= world.plan.spacing_min, "{n}");
            // A deadline between two picoseconds of a fast clock is met at the later one.
            prop_assert!(b.since(a) <= world.plan.spacing_max + Duration::from_picos(2), "{n}");
            prop_assert_eq!(pair[1].2.request().map(|r| usize::from(r.psn)), Some(n + 1));
        }
        let most = world.plan.spacing_max.saturating_mul(limit as u64).as_picos();
        prop_assert!(clock.at(ended).since(clock.at(0)).as_picos() <= most + 2 * limit as u64);
        if let Event::Failed { rounds, requests } = event {
            prop_assert_eq!(requests as usize, limit);
            prop_assert!(rounds < world.plan.rounds);
        }
    }

    #[test]
    fn every_response_received_is_counted_under_one_name(world in worlds()) {
        let run = world.run();
        for port in &run.ports {
            let c = port.counters();
            let named = c.round_trips + c.redundant + c.late + c.duplicate
                + c.unknown + c.mismatched + c.impossible;
            prop_assert_eq!(named, c.responses_received, "{:?}", c);
            // No message is forged here.
            prop_assert_eq!((c.unknown, c.mismatched, c.impossible), (0, 0, 0));
            let answered = c.responses_sent + c.requests_refused;
            prop_assert_eq!(answered, c.requests_received);
        }
    }

    #[test]
    fn looking_more_often_changes_nothing(world in worlds()) {
        let seldom = World { looks: vec![], ..world.clone() }.run();
        let often = world.run();
        prop_assert_eq!(seldom.sent, often.sent);
        prop_assert_eq!(seldom.events, often.events);
        for (a, b) in seldom.ports.iter().zip(&often.ports) {
            prop_assert_eq!(a.counters(), b.counters());
            prop_assert_eq!(a.round_trips(), b.round_trips());
        }
    }

    /// Without loss, a port whose peer measures too finishes sooner with piggybacking, unless all
    /// its requests are sent before the first can be answered.
    #[test]
    fn piggybacking_is_never_slower(world in worlds()) {
        let calm = |piggyback| {
            let fate = Fate {
                delay: Duration::from_micros(2),
                lost: false,
                doubled: None,
                held: Duration::ZERO,
            };
            let plan = InitiatePlan { piggyback, ..world.plan };
            let world = World { plan, fates: vec![fate], both: true, ..world.clone() };
            world.run().events[0].unwrap()
        };
        prop_assume!(world.plan.spacing_max > Duration::from_micros(4));
        let (with, without) = (calm(true), calm(false));
        if without.1 == Event::Done {
            prop_assert_eq!(with.1, Event::Done);
            prop_assert!(with.0 <= without.0 + 2 * 256, "{} {}", with.0, without.0);
        }
    }
}

/// The link of the proposal's table, 100 m at 100G: 2 x 500 ns of cable and 2 x 711.68 ns of
/// interfaces. It is measured to less than a quantum (5.12 ns) with any clocks, and to the
/// picosecond with equal ones.
#[test]
fn clocks_of_any_offset_and_drift_change_the_result_by_less_than_a_quantum() {
    let one_way = Duration::from_picos(500_000 + 711_680);
    for (ppm, offset) in [(0, 0), (100, 7_000_000_000_000), (-100, 123_456_789)] {
        let fate =
            Fate { delay: one_way, lost: false, doubled: None, held: Duration::from_nanos(900) };
        let clocks = [Clock { offset: 5, ppm: -ppm }, Clock { offset, ppm }];
        let plan = InitiatePlan::DEFAULT;
        let world =
            World { plan, dialect: EXACT, clocks, both: true, fates: vec![fate], looks: vec![] };
        let run = world.run();
        let found = &run.ports[0].round_trips().unwrap().round_trip();
        let off = found.max().as_picos().abs_diff(2 * one_way.as_picos());
        let jitter = found.max().as_picos() - found.min().as_picos();
        assert!(off < 5_120, "{ppm} ppm: off by {off} ps");
        assert!(if ppm == 0 { off + jitter == 0 } else { jitter <= 4 }, "{ppm}: {jitter} ps");
    }
}
