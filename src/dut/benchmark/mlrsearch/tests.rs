//! Tests of the search: the draft's example, known devices, and properties.

use ground::time::Duration;
use proptest::prelude::*;

use super::goal::{Target, Tried, classify, conditional};
use super::*;

fn seconds(n: u64) -> Duration {
    Duration::from_millis(1000 * n)
}

fn goal(final_: u64, sum: u64, loss_ratio: f64, exceed_ratio: f64) -> Goal {
    Goal {
        loss_ratio,
        exceed_ratio,
        width: 0.005,
        initial_duration: seconds(1),
        final_duration: seconds(final_),
        duration_sum: seconds(sum),
    }
}

fn target(goal: &Goal) -> Target {
    Target::chain(goal, 1, 0)[0]
}

/// The example of the draft: trials at one load of 1 Mframe/s and four goals. Two cells of its last
/// lines (20 % exceed ratio) say `Lower` in revision 15; by its own formula they are `Upper`, as
/// 42.9 % and 27.3 % of the time exceed the loss ratio.
#[test]
fn the_example_of_the_draft_is_classified_as_printed() {
    use Class::{Lower, Undecided, Upper};
    let goals = [
        goal(60, 60, 0.0, 0.0),
        goal(60, 120, 0.0, 0.5),
        goal(1, 120, 0.005, 0.5),
        goal(60, 60, 0.005, 0.2),
    ];
    let lines = [
        (59, 1, 0.0, [Undecided, Undecided, Undecided, Undecided]),
        (1, 1, 0.01, [Upper, Undecided, Undecided, Undecided]),
        (59, 1, 0.01, [Upper, Undecided, Undecided, Upper]),
        (1, 1, 0.0, [Upper, Undecided, Lower, Upper]),
        (1, 60, 0.001, [Upper, Undecided, Lower, Upper]),
        (1, 60, 0.0, [Upper, Lower, Lower, Upper]),
    ];
    let mut trials = Vec::new();
    for (n, (times, length, loss_ratio, classes)) in lines.into_iter().enumerate() {
        let trial = Tried { duration: seconds(length), loss_ratio };
        trials.extend(std::iter::repeat_n(trial, times));
        assert_eq!(goals.map(|g| classify(&target(&g), &trials)), classes, "line {n}");
    }
    let throughput = |g: &Goal| 1e6 * conditional(&target(g), &trials);
    assert_eq!(throughput(&goals[1]), 1_000_000.0);
    assert_eq!(throughput(&goals[2]), 1_000_000.0);
    assert_eq!(throughput(&goals[3]), 999_000.0);
}

#[test]
fn too_little_trial_time_gives_no_conditional_throughput() {
    let trials = [Tried { duration: seconds(60), loss_ratio: 0.0 }];
    assert_eq!(conditional(&target(&goal(60, 120, 0.0, 0.0)), &trials), 0.0);
    assert_eq!(conditional(&target(&goal(60, 60, 0.0, 0.0)), &trials), 1.0);
}

/// CSIT's goals: no drop rate and partial drop rate.
fn csit() -> Config {
    let goals = vec![goal(1, 21, 0.0, 0.5), goal(1, 21, 0.005, 0.5)];
    Config {
        goals,
        min_load: 9001.0,
        max_load: 14_880_952.0,
        preceding_targets: 2,
        search_duration: None,
        warmup: None,
    }
}

fn rfc2544(width: f64) -> Config {
    Config { goals: vec![Goal::rfc2544(seconds(60), width)], ..csit() }
}

/// Runs a search on a device whose loss ratio depends on the load.
fn run(config: &Config, loss: impl FnMut(f64) -> f64) -> Search {
    let mut search = Search::new(config).unwrap();
    go_on(&mut search, loss);
    search
}

fn go_on(search: &mut Search, mut loss: impl FnMut(f64) -> f64) {
    while let Some(trial) = search.next() {
        assert!(search.trials() < 1000, "the search does not end");
        let seconds = trial.duration.as_picos() as f64 / 1e12;
        let expected = (trial.load * seconds) as u64;
        let lost = (expected as f64 * loss(trial.load)).round() as u64;
        let measured = Measured { duration: trial.duration, expected, forwarded: expected - lost };
        search.record(measured).unwrap();
    }
}

/// A device that forwards at most `rate` frames/s.
fn limited(rate: f64) -> impl Fn(f64) -> f64 {
    move |load| (1.0 - rate / load).max(0.0)
}

#[test]
fn the_throughput_of_a_device_with_a_known_rate_is_found() {
    for rate in [9_500.0, 123_456.0, 1e6, 14_000_000.0] {
        let search = run(&csit(), limited(rate));
        for (result, capacity) in search.results().iter().zip([rate, rate / 0.995]) {
            assert_eq!(result.irregular, None);
            let (lower, upper) = (result.lower.unwrap(), result.upper.unwrap());
            assert!(lower.load <= capacity && capacity < upper.load, "{rate}: {result:?}");
            assert!(1.0 - lower.load / upper.load <= 0.005 + 1e-9);
            assert!(lower.conditional_throughput > lower.load * 0.994);
        }
        assert!(search.trials() < 60, "{} trials for {rate}", search.trials());
    }
}

#[test]
fn rfc_2544_is_a_search_with_one_goal() {
    let search = run(&rfc2544(0.001), limited(5e6));
    let [result] = &search.results()[..] else { panic!("one goal") };
    let (lower, upper) = (result.lower.unwrap(), result.upper.unwrap());
    assert!(lower.load <= 5e6 && 5e6 < upper.load && lower.load > 0.998_99 * upper.load);
    assert_eq!((lower.trials, lower.conditional_throughput), (1, lower.load));
    assert!(search.trials() <= 8, "{} trials", search.trials());
}

#[test]
fn a_device_that_loses_nothing_ends_the_search_at_the_largest_load() {
    let search = run(&rfc2544(0.001), |_| 0.0);
    assert_eq!(search.trials(), 1);
    let results = search.results();
    assert_eq!(results[0].irregular, Some(Irregular::AtMaximum));
    assert_eq!(results[0].lower.unwrap().load, 14_880_952.0);
    assert_eq!(results[0].upper, None);
}

#[test]
fn a_device_that_always_loses_ends_the_search_at_the_smallest_load() {
    let search = run(&csit(), |_| 0.3);
    for result in search.results() {
        assert_eq!(result.irregular, Some(Irregular::AtMinimum));
        assert_eq!((result.lower, result.upper.unwrap().load), (None, 9001.0));
    }
}

/// Single trials promise every load to the easier targets, and none keeps it: without leaving those
/// targets out the search tries load by load, 6,500 times.
#[test]
fn a_device_that_loses_now_and_then_is_not_searched_load_by_load() {
    let goals = vec![Goal { width: 0.001, ..goal(1, 11, 0.017, 0.0) }];
    let mut trials = 0;
    let search = run(&Config { goals, ..csit() }, |_| {
        trials += 1;
        if trials % 7 == 2 { 0.02 } else { 0.0 }
    });
    assert_eq!(search.results()[0].irregular, Some(Irregular::AtMinimum));
    assert!(search.trials() < 200, "{} trials", search.trials());
}

#[test]
fn a_search_ends_with_its_time_and_says_so() {
    let config = Config { search_duration: Some(seconds(5)), ..csit() };
    let search = run(&config, limited(1e6));
    assert_eq!(search.trials(), 5);
    assert_eq!(search.results()[0].irregular, Some(Irregular::OutOfTime));
}

#[test]
fn a_warm_up_trial_is_run_first_and_not_counted() {
    let mut search = Search::new(&Config { warmup: Some(seconds(3)), ..csit() }).unwrap();
    let first = search.next().unwrap();
    assert_eq!((first.load, first.duration), (14_880_952.0, seconds(3)));
    // A device that loses everything before it knows the flow.
    search.record(Measured { duration: first.duration, expected: 1000, forwarded: 0 }).unwrap();
    assert_eq!(search.trials(), 0);
    let rate = 1e6;
    go_on(&mut search, limited(rate));
    let cold = run(&csit(), limited(rate));
    assert_eq!(search.trials(), cold.trials());
    assert_eq!(search.results(), cold.results());
    // Its time is in that of the search.
    let config = Config { warmup: Some(seconds(3)), search_duration: Some(seconds(5)), ..csit() };
    assert_eq!(run(&config, limited(rate)).trials(), 2);
}

#[test]
fn results_before_the_end_are_those_of_an_interrupted_search() {
    let mut search = Search::new(&csit()).unwrap();
    assert_eq!(search.results()[0].irregular, Some(Irregular::Interrupted));
    let trial = search.next().unwrap();
    let measured = Measured { duration: trial.duration, expected: 100, forwarded: 50 };
    search.record(measured).unwrap();
    let result = &search.results()[0];
    assert_eq!((result.irregular, result.lower), (Some(Irregular::Interrupted), None));
}

#[test]
fn results_that_cannot_be_are_refused() {
    let mut search = Search::new(&csit()).unwrap();
    let told = |expected, forwarded| Measured { duration: seconds(1), expected, forwarded };
    assert_eq!(search.record(told(0, 0)), Err(BadTrial::Nothing));
    let more = BadTrial::TooMany { expected: 5, forwarded: 6 };
    assert_eq!(search.record(told(5, 6)), Err(more));
    let mut ended = run(&rfc2544(0.1), |_| 0.0);
    assert_eq!(ended.record(told(1, 1)), Err(BadTrial::Ended));
}

#[test]
fn configurations_out_of_range_are_refused_by_field() {
    let says = |config: Config| Search::new(&config).unwrap_err().to_string();
    assert!(says(Config { goals: vec![], ..csit() }).starts_with("goals: "));
    let wide = Goal { width: 1.0, ..goal(1, 1, 0.0, 0.0) };
    assert!(says(Config { goals: vec![wide], ..csit() }).starts_with("goals[0].width: "));
    let short = Goal { duration_sum: seconds(1), ..goal(2, 2, 0.0, 0.0) };
    assert!(says(Config { goals: vec![short], ..csit() }).starts_with("goals[0].duration_sum: "));
    assert!(says(Config { min_load: 0.0, ..csit() }).starts_with("min_load, max_load: "));
    assert!(says(Config { min_load: 2.0, max_load: 1.0, ..csit() }).contains("2 and 1"));
    assert!(says(Config { preceding_targets: 9, ..csit() }).starts_with("preceding_targets: "));
}

#[test]
fn a_proposal_depends_on_the_results_alone() {
    let loss = limited(2e6);
    let mut first = Search::new(&csit()).unwrap();
    let mut told = Vec::new();
    for _ in 0..20 {
        let trial = first.next().unwrap();
        let lost = (1e6 * loss(trial.load)) as u64;
        let measured =
            Measured { duration: trial.duration, expected: 1_000_000, forwarded: 1_000_000 - lost };
        told.push(measured);
        first.record(measured).unwrap();
    }
    let mut second = Search::new(&csit()).unwrap();
    told.into_iter().for_each(|measured| second.record(measured).unwrap());
    assert_eq!(first.next(), second.next());
    assert_eq!(first.results(), second.results());
}

proptest! {
    /// Whatever a device does, the search ends, and its bounds are what their trials say.
    #[test]
    fn every_search_ends(
        exceed in prop_oneof![Just(0.0), 0.0..0.9],
        (loss_a, loss_b) in (0.0..0.1, 0.0..0.1),
        (width_a, width_b) in (0.001..0.5, 0.001..0.5),
        sum in 1_u64..30,
        rate in 1e3..2e7,
        noise in prop::collection::vec(0.0..0.2, 1..50),
    ) {
        let a = Goal { width: width_a, ..goal(1, sum, loss_a, exceed) };
        let b = Goal { width: width_b, ..goal(1, sum, loss_b, exceed) };
        let config = Config { goals: vec![a, b], ..csit() };
        let mut n = 0;
        let search = run(&config, |load| {
            n += 1;
            f64::min(limited(rate)(load) + noise[n % noise.len()] * 0.1, 1.0)
        });
        for (result, goal) in search.results().iter().zip(&config.goals) {
            match result.irregular {
                None => {
                    let (lower, upper) = (result.lower.unwrap(), result.upper.unwrap());
                    prop_assert!(lower.load < upper.load);
                    prop_assert!(1.0 - lower.load / upper.load <= goal.width + 1e-9);
                    prop_assert!(lower.conditional_throughput > 0.0);
                }
                Some(Irregular::AtMinimum) => {
                    prop_assert_eq!(result.upper.unwrap().load, config.min_load);
                }
                Some(Irregular::AtMaximum) => {
                    prop_assert_eq!(result.lower.unwrap().load, config.max_load);
                }
                Some(other) => prop_assert!(false, "{:?}", other),
            }
        }
    }

    /// One goal without tolerated trials never tries a load twice for the same length.
    #[test]
    fn a_binary_search_is_as_short_as_one(rate in 1e4..1.4e7) {
        let search = run(&rfc2544(0.005), limited(rate));
        prop_assert!(search.trials() <= 8, "{} trials", search.trials());
    }
}
