//! Link protocols of two ports over a line of known delay.

use std::collections::VecDeque;

use super::*;
use ::headroom::Formula;
use ::headroom::measure::{InitiatePlan, MeasurePlan};
use ::headroom::peer_delay::PeerDelayPlan;
use ::headroom::{DelayInputs, Interface, Phy, SoftwareTerms};
use contracts::port::StampSource;
use ground::statistics::Statistics;
use wire::headroom::{Adjustment, Dialect, TimeUnit};

const RATE: BitsPerSec = BitsPerSec::gbps(100);

const STAMPS: Stamps = Stamps {
    source: StampSource::Exact,
    resolution: Duration::from_picos(1),
    uncertainty: Duration::ZERO,
    serializes: true,
};

fn mac(n: u8) -> Mac {
    Mac([2, 0, 0, 0, 0, n])
}

fn measuring(initiate: bool) -> MeasurePlan {
    let dialect = Dialect { unit: TimeUnit::Picoseconds, ..Dialect::default() };
    let initiate = initiate.then_some(InitiatePlan { rounds: 10, ..InitiatePlan::DEFAULT });
    MeasurePlan { respond: true, initiate, dialect, compensation: None }
}

fn plan(n: u8, initiate: bool) -> AgentsPlan {
    AgentsPlan {
        mac: mac(n),
        rate: RATE,
        lldp: None,
        dcbx: None,
        measure: Some(measuring(initiate)),
        peer_delay: None,
        auto: None,
    }
}

fn auto(method: Method) -> AutoPlan {
    AutoPlan {
        link: DelayInputs::standard(Interface::plain(Phy::Base100R)),
        software: SoftwareTerms::default(),
        cell_bytes: 256,
        methods: Preference::only(method),
        statistic: Statistic::Max,
        formula: Formula::Full,
        adjustment: Adjustment::default(),
        invocation: Duration::ZERO,
        shims: None,
        stated: ground::units::Cells(0),
        limit: ground::units::Cells(u32::MAX),
        wait: Duration::from_secs(3),
    }
}

/// Two ports on a line, and all events that the first reported.
struct Pair {
    ends: [PortAgents; 2],
    line: VecDeque<(Instant, usize, Vec<u8>)>,
    delay: Duration,
    /// Time by which each poll is late.
    late: Duration,
    now: Instant,
    news: Vec<News>,
}

impl Pair {
    fn new(a: &AgentsPlan, b: &AgentsPlan, delay: Duration) -> Self {
        let ends = [PortAgents::new(a, STAMPS), PortAgents::new(b, STAMPS)];
        let (late, now) = (Duration::ZERO, Instant::ZERO);
        Self { ends, line: VecDeque::new(), delay, late, now, news: vec![] }
    }

    /// Runs until nothing is due, or to `until`.
    fn run(&mut self, until: Instant) {
        while self.now <= until {
            while self.line.front().is_some_and(|(at, ..)| *at <= self.now) {
                let (at, to, frame) = self.line.pop_front().unwrap();
                self.ends[to].on_frame(at, at, &frame);
            }
            for from in 0..2 {
                let mut octets = [0; FRAME_MAX];
                while self.ends[from].is_due(self.now) {
                    let Some(len) = self.ends[from].take(self.now, self.now, &mut octets) else {
                        continue;
                    };
                    // The last bit arrives after the frame's transmission and the delay of the
                    // line.
                    let bits = RATE.time_for(Bytes(8 + len as u64 + 4));
                    let frame = octets[..len].to_vec();
                    self.line.push_back((self.now + bits + self.delay, 1 - from, frame));
                }
            }
            while let Some(news) = self.ends[0].next_news() {
                self.news.push(news);
            }
            while self.ends[1].next_news().is_some() {}
            let line = self.line.front().map_or(Instant::NEVER, |(at, ..)| *at);
            let next = self.ends.iter().fold(line, |at, end| at.min(end.next_deadline()));
            if next == Instant::NEVER {
                return;
            }
            self.now = next.max(self.now) + self.late;
        }
    }

    fn found(&self) -> Vec<Found> {
        let found = |news: &News| if let News::Found(found) = news { Some(*found) } else { None };
        self.news.iter().filter_map(found).collect()
    }
}

mod matrix;

#[test]
fn a_round_trip_is_twice_the_line_to_the_picosecond() {
    let delay = Duration::from_picos(3_211_680);
    let mut pair = Pair::new(&plan(1, true), &plan(2, false), delay);
    pair.run(Instant::from_picos(1_000_000_000_000));
    assert_eq!(pair.news[0], News::Measuring(Method::RoundTrip));
    let [found] = pair.found()[..] else { panic!("{:?}", pair.news) };
    let twice = delay.saturating_mul(2);
    let all = Statistics::of(&[twice; 10], twice).unwrap();
    assert_eq!((found.delay, found.chosen, found.rounds), (all, twice, 10));
    assert_eq!(found.sources.t4, StampSource::Exact);
    // Two steps of each clock.
    assert_eq!(found.uncertainty, Duration::from_picos(4));
}

#[test]
fn the_link_s_coming_up_begins_anew_and_its_going_down_ends_it() {
    let mut pair = Pair::new(&plan(1, true), &plan(2, false), Duration::from_nanos(500));
    pair.run(Instant::from_picos(1_000_000_000_000));
    let now = pair.now + Duration::from_micros(1);
    pair.ends[0].set_link(now, false, None);
    assert_eq!(pair.ends[0].next_deadline(), Instant::NEVER);
    assert!(!pair.ends[0].measure_now(now));
    pair.ends[0].set_link(now, true, None);
    // Setting the same state again changes nothing.
    pair.ends[0].set_link(now, true, Some(RATE));
    (pair.now, pair.delay) = (now, Duration::from_nanos(700));
    pair.run(now + Duration::from_secs(1));
    let trips: Vec<_> = pair.found().iter().map(|f| f.delay.max.as_nanos()).collect();
    assert_eq!(trips, [1_000, 1_400]);
}

#[test]
fn a_peer_that_does_not_answer_is_told_of() {
    let mut deaf = plan(2, false);
    deaf.measure = None;
    let mut a = plan(1, true);
    a.auto = Some(auto(Method::RoundTrip));
    let mut pair = Pair::new(&a, &deaf, Duration::from_nanos(500));
    pair.run(Instant::from_picos(1_000_000_000_000));
    let failed = News::Failed(Failure::NoAnswer { rounds: 0, requests: 200 });
    let again = News::Again(Duration::from_secs(1));
    assert_eq!(pair.news, [News::Measuring(Method::RoundTrip), failed, again]);
    assert_eq!(pair.ends[0].snapshot(pair.now).auto, Some((AutoState::Failed, Method::RoundTrip)));
    assert_eq!(pair.ends[1].counters.unwanted, 200);

    // Also if this end was late with its requests: not one of them was answered.
    let mut pair = Pair::new(&a, &deaf, Duration::from_nanos(500));
    pair.late = Duration::from_millis(1);
    pair.run(Instant::from_picos(1_000_000_000_000));
    let Some(News::Failed(failure)) = pair.news.get(1) else { panic!("{:?}", pair.news) };
    let Failure::NoAnswer { rounds: 0, requests } = *failure else { panic!("{failure:?}") };
    assert!(requests < 200, "{requests}");
}

/// Times in milliseconds at which a port with automatic headroom began to measure a link to a deaf peer, in
/// `seconds`, and the waits that it told.
fn attempts(mut a: AgentsPlan, methods: Preference, seconds: u64) -> (Vec<u64>, Vec<Duration>) {
    a.auto = Some(AutoPlan { methods, ..auto(Method::RoundTrip) });
    let deaf = AgentsPlan { measure: None, ..plan(2, false) };
    let mut pair = Pair::new(&a, &deaf, Duration::from_nanos(500));
    let (mut began, mut waits) = (vec![], vec![]);
    while pair.now < Instant::ZERO + Duration::from_secs(seconds) {
        let next = pair.ends.iter().map(PortAgents::next_deadline).min().unwrap();
        pair.run(next);
        for news in pair.news.drain(..) {
            match news {
                News::Measuring(Method::RoundTrip) => began.push(next.as_picos() / 1_000_000_000),
                News::Again(wait) => waits.push(wait),
                _ => {}
            }
        }
        if next == Instant::NEVER {
            break;
        }
    }
    (began.into_iter().map(|ms| ms as u64).collect(), waits)
}

#[test]
fn a_failed_measurement_is_tried_again_less_and_less_often_and_not_for_ever() {
    let only = Preference::only(Method::RoundTrip);
    let (began, waits) = attempts(plan(1, true), only, 1_000_000);
    let seconds = |n: u32| Duration::from_secs(1 << n);
    assert_eq!(waits, (0..10).map(seconds).collect::<Vec<_>>());
    // Each attempt takes 200 requests of 500 us.
    let expected = (0..11_u64).map(|n| ((1 << n) - 1) * 1_000 + n * 100);
    assert_eq!(began, expected.collect::<Vec<_>>());
    // A period that is shorter than the next wait does the same.
    let mut periodic = plan(1, true);
    let initiate = periodic.measure.as_mut().unwrap().initiate.as_mut().unwrap();
    initiate.period = Some(Duration::from_secs(3));
    let (_, waits) = attempts(periodic, only, 20);
    assert_eq!(waits[..5], [1, 2, 3, 3, 3].map(Duration::from_secs));
    // With PTP as the second method the first one is tried again, too.
    let mut both = plan(1, true);
    both.peer_delay =
        Some(PeerDelayPlan { interval: Some(Duration::from_millis(10)), ..PeerDelayPlan::DEFAULT });
    let (began, waits) = attempts(both.clone(), Preference::AUTO, 20);
    assert!(began.len() >= 4 && waits[..2] == [1, 2].map(Duration::from_secs), "{began:?}");
    // PTP repeats itself.
    assert_eq!(attempts(both, Preference::only(Method::PeerDelay), 20).1, []);
}

#[test]
fn a_peer_that_answers_later_is_measured_and_a_link_that_went_down_is_not() {
    let mut a = plan(1, true);
    a.auto = Some(auto(Method::RoundTrip));
    let deaf = AgentsPlan { measure: None, ..plan(2, false) };
    for answers in [true, false] {
        let mut pair = Pair::new(&a, &deaf, Duration::from_nanos(500));
        pair.run(Instant::ZERO + Duration::from_millis(2_000));
        assert_eq!(pair.found(), []);
        pair.ends[1] = PortAgents::new(&plan(2, false), STAMPS);
        if !answers {
            let now = pair.now;
            pair.ends[0].set_link(now, false, None);
        }
        pair.run(Instant::ZERO + Duration::from_secs(4));
        let state = pair.ends[0].snapshot(pair.now).auto.unwrap().0;
        let found = pair.found();
        if answers {
            assert_eq!((found.len(), state), (1, AutoState::Found));
            assert!(!found[0].repeated, "it is asked for, and applies at once");
        } else {
            assert_eq!((found.len(), state), (0, AutoState::Down));
        }
    }
}

#[test]
fn an_end_that_was_late_itself_does_not_blame_its_peer() {
    let mut a = plan(1, true);
    a.auto = Some(auto(Method::RoundTrip));
    a.measure.as_mut().unwrap().initiate.as_mut().unwrap().rounds = 200;
    let mut pair = Pair::new(&a, &plan(2, false), Duration::from_nanos(500));
    pair.late = Duration::from_millis(1);
    pair.run(Instant::from_picos(1_000_000_000_000));
    let failure = pair.news.iter().find_map(|news| match news {
        News::Failed(failure) => Some(*failure),
        _ => None,
    });
    let Some(Failure::Late { rounds, requests }) = failure else { panic!("{:?}", pair.news) };
    assert!(u32::from(rounds) <= requests && requests < 200, "{rounds} of {requests}");
}

#[test]
fn rounds_and_statistic_can_be_set_and_all_samples_are_read() {
    let mut a = plan(1, true);
    a.auto = Some(AutoPlan { statistic: Statistic::Percentile(50), ..auto(Method::RoundTrip) });
    let mut pair = Pair::new(&a, &plan(2, false), Duration::from_nanos(500));
    pair.run(Instant::from_picos(1_000_000_000_000));
    let initiate = InitiatePlan { rounds: 7, ..InitiatePlan::DEFAULT };
    let methods = Preference::only(Method::RoundTrip);
    let now = pair.now + Duration::from_micros(1);
    pair.ends[0].set_measurement(now, Some(initiate), Some((methods, Statistic::Mean)));
    assert!(pair.ends[0].measure_now(now));
    (pair.now, pair.delay) = (now, Duration::from_nanos(700));
    pair.run(now + Duration::from_secs(1));
    let rounds: Vec<_> = pair.found().iter().map(|found| found.rounds).collect();
    assert_eq!(rounds, [10, 7]);
    let snapshot = pair.ends[0].snapshot(pair.now).measure.unwrap();
    assert_eq!(snapshot.samples.unwrap().sorted(), [Duration::from_nanos(1_400); 7]);
    // A port that initiates nothing does not begin to.
    pair.ends[1].set_measurement(now, Some(initiate), None);
    assert!(!pair.ends[1].measure_now(pair.now));
}

#[test]
fn a_result_stays_as_it_was_when_its_measurement_ended() {
    for method in [Method::RoundTrip, Method::PeerDelay] {
        let ptp = |mut plan: AgentsPlan| {
            plan.peer_delay = Some(PeerDelayPlan {
                interval: Some(Duration::from_millis(10)),
                ..PeerDelayPlan::DEFAULT
            });
            plan
        };
        let mut a = ptp(plan(1, true));
        a.auto = Some(auto(method));
        let mut pair = Pair::new(&a, &ptp(plan(2, false)), Duration::from_nanos(500));
        let result = |pair: &Pair| {
            let snapshot = pair.ends[0].snapshot(pair.now);
            match method {
                Method::RoundTrip => snapshot.measure.unwrap().found,
                Method::PeerDelay => snapshot.path_delay.unwrap().found,
            }
        };
        pair.run(Instant::from_picos(99_000_000_000));
        let found = result(&pair).unwrap();
        assert_eq!(Some(&found), pair.found().last(), "{method}");
        // A later frame takes long to hand over, another statistic is chosen, the clock is worse.
        pair.ends[0].handed_over(Duration::from_millis(10));
        let methods = Preference::only(method);
        pair.ends[0].set_measurement(pair.now, None, Some((methods, Statistic::Percentile(1))));
        pair.ends[0].stamps.uncertainty = Duration::from_millis(1);
        assert_eq!(result(&pair), Some(found), "{method}");
    }
}

#[test]
fn the_first_result_was_asked_for_and_its_repetitions_were_not() {
    let mut a = plan(1, true);
    a.peer_delay =
        Some(PeerDelayPlan { interval: Some(Duration::from_millis(1)), ..PeerDelayPlan::DEFAULT });
    a.auto = Some(auto(Method::PeerDelay));
    let mut b = plan(2, false);
    b.peer_delay = Some(PeerDelayPlan::DEFAULT);
    let mut pair = Pair::new(&a, &b, Duration::from_nanos(500));
    pair.run(Instant::from_picos(100_000_000_000));
    assert!(pair.ends[0].measure_now(pair.now));
    pair.run(Instant::from_picos(200_000_000_000));
    let repeated: Vec<_> = pair.found().iter().map(|found| found.repeated).collect();
    assert_eq!(repeated.iter().filter(|repeated| !**repeated).count(), 2, "{repeated:?}");
    assert!(!repeated[0] && repeated[1] && repeated.len() > 4, "{repeated:?}");
}

#[test]
fn peer_delay_is_one_way_and_only_told_where_headroom_goes_by_it() {
    let delay = Duration::from_nanos(2_500);
    let ptp = |mut plan: AgentsPlan| {
        let interval = Some(Duration::from_millis(10));
        plan.peer_delay = Some(PeerDelayPlan { interval, ..PeerDelayPlan::DEFAULT });
        plan
    };
    let mut a = ptp(plan(1, false));
    a.auto = Some(auto(Method::PeerDelay));
    let mut pair = Pair::new(&a, &ptp(plan(2, false)), delay);
    pair.run(Instant::from_picos(200_000_000_000));
    let found = pair.found();
    assert!(!found.is_empty(), "{:?}", pair.news);
    assert!(found.iter().all(|f| f.method == Method::PeerDelay));
    // PTP's times are whole nanoseconds.
    assert!(found.iter().all(|f| f.delay.max.as_picos().abs_diff(delay.as_picos()) <= 1_000));
    let mut pair = Pair::new(&ptp(plan(1, false)), &ptp(plan(2, false)), delay);
    pair.run(Instant::from_picos(200_000_000_000));
    assert_eq!(pair.found(), []);
    assert!(pair.ends[0].snapshot(pair.now).path_delay.unwrap().found.is_some());
}

#[test]
fn octets_of_any_kind_are_counted_and_nothing_more() {
    let mut agents = PortAgents::new(&plan(1, false), STAMPS);
    let mut frame = [0; 60];
    frame[12..14].copy_from_slice(&EtherType::CIM.0.to_be_bytes());
    for len in 0..60 {
        agents.on_frame(Instant::ZERO, Instant::ZERO, &frame[..len]);
    }
    frame[12..14].copy_from_slice(&EtherType::LLDP.0.to_be_bytes());
    assert!(!agents.on_frame(Instant::ZERO, Instant::ZERO, &frame));
    assert_eq!((agents.counters.malformed, agents.counters.unwanted), (46, 1));
}
