//! Axes, fronts and whole explorations.

use super::*;
use crate::study::Sweep;
use config::tree::{self, Kind, Node};

const LAB: &str = "\
name: explored
seed: 5
duration: 2ms
until_done: true
profiles:
  tor:
    buffer:
      cell: 256
      total: 4MiB
      profiles: {roce: {shared: {dynamic_th: -3}, lossless: {xoff: auto, xon_offset: 18KiB}}}
    defaults:
      pfc: {enable: [3]}
      priority_groups: {3: roce}
      queues: {3: {ecn: {kmin: 100KB, kmax: 400KB, pmax: 20%}}}
topology: {star: {hosts: 3}}
defaults: {links: {rate: 100G, length: 5m}}
flows: [{name: f, from: [h1, h2], to: h3, priority: 3, size: 1500, duration: {bytes: 200KB}}]
checks: [conservation, lossless]
";

fn axis(path: &str, values: &[&str]) -> Axis {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    Axis::new(path, &values).unwrap()
}

fn short(short: Short, values: &[&str]) -> Result<Axis, String> {
    let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
    short.axis(&values)
}

fn exploration(axes: Vec<Axis>) -> Exploration {
    Exploration { axes, objectives: Objective::standard(), runs: 64, jobs: 2, seed: None }
}

fn run_all(exploration: &Exploration) -> Result<Explored, ExploreError> {
    let file = LabFile::parse("lab.yaml", LAB).unwrap();
    explore(&file, exploration, None, &AtomicBool::new(false), |_, _| ())
}

/// Returns the text at a plain path of a tree.
fn at<'a>(root: &'a Node, path: &str) -> &'a str {
    let node = path.split('.').fold(root, |node, part| node.get(part).expect("a field"));
    let Kind::Scalar { text, .. } = &node.kind else { panic!("{path} is no value") };
    text
}

#[test]
fn short_names_write_every_field_of_their_kind() {
    let mut root = tree::read(LAB, "empty").unwrap();
    short(Short::Kmin, &["50KB"]).unwrap().write(&mut root, 0).unwrap();
    short(Short::Alpha, &["1/4"]).unwrap().write(&mut root, 0).unwrap();
    short(Short::Xon, &["9KiB"]).unwrap().write(&mut root, 0).unwrap();
    assert_eq!(at(&root, "profiles.tor.defaults.queues.3.ecn.kmin"), "50KB");
    let roce = "profiles.tor.buffer.profiles.roce";
    assert_eq!(at(&root, &format!("{roce}.shared.dynamic_th")), "-2");
    assert_eq!(at(&root, &format!("{roce}.lossless.xon")), "9KiB", "created");
    let mut other = tree::read("topology: {star: {hosts: 2}}", "empty").unwrap();
    let why = short(Short::Kmin, &["1KB"]).unwrap().write(&mut other, 0).unwrap_err();
    assert_eq!(why, "the lab has no kmin: nothing in it is at `**.ecn.kmin`");
    for bad in ["3", "0", "1/3", "x", "512"] {
        assert!(short(Short::Alpha, &[bad]).unwrap_err().contains("power of two"), "{bad}");
    }
}

#[test]
fn paths_lead_by_key_name_and_place_and_say_where_they_end() {
    let mut root = tree::read(LAB, "empty").unwrap();
    axis("flows.f.size", &["900"]).write(&mut root, 0).unwrap();
    axis("flows.0.from", &["[h1]"]).write(&mut root, 0).unwrap();
    let Kind::Seq(flows) = &root.get("flows").unwrap().kind else { panic!("flows") };
    assert_eq!(at(&flows[0], "size"), "900");
    assert!(matches!(&flows[0].get("from").unwrap().kind, Kind::Seq(hosts) if hosts.len() == 1));
    assert_eq!(split_values("[3], [3, 4],{a: 1, b: 2}"), ["[3]", "[3, 4]", "{a: 1, b: 2}"]);
    let why = axis("profiles.spine.buffer.total", &["1MiB"]).write(&mut root, 0).unwrap_err();
    assert_eq!(
        why,
        "the lab has no `profiles.spine.buffer.total`: no `spine` there; there are tor"
    );
    for bad in ["", "a..b", "a.*", "**"] {
        assert!(Axis::new(bad, &["1".into()]).is_err(), "{bad}");
    }
    assert!(Axis::new("a", &[]).is_err());
    assert!(Axis::new("a", &["1".into(), "1".into()]).unwrap_err().contains("twice"));
}

#[test]
fn a_field_that_no_lab_has_is_refused_by_name_before_the_first_run() {
    let unknown = exploration(vec![axis("profiles.tor.defaults.queues.3.ecn.kmn", &["1KB"])]);
    let why = run_all(&unknown).unwrap_err().to_string();
    assert!(why.contains("kmn") && why.contains("kmin"), "{why}");
    let wrong = exploration(vec![axis("flows.f.size", &["900", "a lot"])]);
    let why = run_all(&wrong).unwrap_err().to_string();
    assert!(why.starts_with("lab.yaml:17:62: flows[0].size: `a lot` is not a size"), "{why}");
    assert!(why.ends_with("(run 1: size=a lot)"), "{why}");
}

#[test]
fn an_impossible_corner_of_the_grid_is_named_and_the_rest_runs() {
    let corner = exploration(vec![
        short(Short::Kmin, &["50KB", "200KB"]).unwrap(),
        short(Short::Kmax, &["100KB", "400KB"]).unwrap(),
    ]);
    let explored = run_all(&corner).unwrap();
    let ran: Vec<_> = explored.points.iter().map(|point| point.values.join(" ")).collect();
    assert_eq!(ran, ["50KB 100KB", "50KB 400KB", "200KB 400KB"]);
    let [refused] = &explored.refused[..] else { panic!("{:?}", explored.refused) };
    assert_eq!((refused.values.join(" ").as_str(), explored.planned), ("200KB 100KB", 3));
    assert!(refused.why.contains("kmin"), "{}", refused.why);
    // A value that no run can have is an error of the command.
    let never = exploration(vec![
        short(Short::Kmin, &["50KB", "500KB"]).unwrap(),
        short(Short::Kmax, &["100KB", "400KB"]).unwrap(),
    ]);
    assert!(run_all(&never).unwrap_err().to_string().contains("kmin=500KB"));
}

#[test]
fn the_front_has_no_dominated_point_and_leaves_a_planted_one_out() {
    let senses = [Sense::Minimize, Sense::Maximize, Sense::Minimize];
    let mut rng = Rng::new(7);
    for seed in 0..50 {
        let mut all: Vec<Option<Vec<f64>>> =
            (0..40).map(|_| Some((0..3).map(|_| (rng.next_u64() % 10) as f64).collect())).collect();
        // Nowhere better than the first one and once worse.
        let mut planted = all[0].clone().unwrap();
        planted[2] += 1.0;
        all.push(Some(planted));
        all.push(None);
        let on = front(&all, &senses);
        assert!(!on[40] && !on[41], "seed {seed}: a dominated point, or none");
        let beats = |a: &[f64], b: &[f64]| {
            let no_worse = a[0] <= b[0] && a[1] >= b[1] && a[2] <= b[2];
            no_worse && a != b
        };
        for (n, own) in all.iter().enumerate() {
            let Some(own) = own else { continue };
            let beaten = all.iter().flatten().any(|other| beats(other, own));
            assert_eq!(on[n], !beaten, "seed {seed}: {own:?}");
        }
    }
    let twice = [Some(vec![1.0]), Some(vec![1.0])];
    assert_eq!(front(&twice, &[Sense::Minimize]), [true, true], "equal points beat none");
}

#[test]
fn results_follow_from_file_axes_and_seed_alone() {
    let axes = vec![
        short(Short::Kmin, &["20KB", "100KB"]).unwrap(),
        short(Short::Alpha, &["1/64", "1"]).unwrap(),
    ];
    let alone = run_all(&Exploration { jobs: 1, ..exploration(axes.clone()) }).unwrap();
    let together = run_all(&Exploration { jobs: 3, ..exploration(axes.clone()) }).unwrap();
    assert_eq!(alone, together);
    let values: Vec<_> = alone.points.iter().map(|point| point.values.join(" ")).collect();
    assert_eq!(values, ["20KB 1/64", "20KB 1", "100KB 1/64", "100KB 1"]);
    assert!(alone.points.iter().any(|point| point.front));
    assert_eq!((alone.of, alone.planned, alone.seed), (4, 4, 5));
    let other = run_all(&Exploration { seed: Some(6), ..exploration(axes) }).unwrap();
    assert_eq!((other.seed, other.points.len()), (6, 4));
}

#[test]
fn a_run_that_loses_frames_or_was_disturbed_is_no_candidate() {
    let objectives = Objective::standard();
    let point = |verdict, results: &[Option<f64>]| Point {
        values: vec![],
        front: false,
        verdict,
        failed: vec![],
        not_judged: vec![],
        results: results.to_vec(),
        trace_hash: None,
    };
    let good = [Some(5.0), Some(1.0), Some(1.0), Some(1.0)];
    let mut points = [
        point(Verdict::Fail, &[Some(1.0), Some(9.0), Some(0.0), Some(0.0)]),
        point(Verdict::Pass, &good),
        point(Verdict::Pass, &[None, Some(9.0), Some(0.0), Some(0.0)]),
        point(Verdict::Inconclusive, &[Some(1.0), Some(9.0), Some(0.0), Some(0.0)]),
    ];
    mark(&mut points, &objectives);
    assert_eq!(points.map(|point| point.front), [false, true, false, false]);
}

#[test]
fn too_many_points_are_drawn_without_repetition_by_the_seed() {
    let tens: Vec<String> = (0..10).map(|n| n.to_string()).collect();
    let axes: Vec<Axis> = (0..6).map(|_| Axis::new("a", &tens).unwrap()).collect();
    let all = Sweep::product(&axes).len();
    let drawn = chosen(all, 100, 1);
    assert_eq!((drawn.len(), all), (100, 1_000_000));
    assert!(drawn.windows(2).all(|two| two[0] < two[1]) && drawn[99] < all);
    assert_eq!(chosen(all, 100, 1), drawn);
    assert_ne!(chosen(all, 100, 2), drawn);
    assert_eq!(chosen(10, 100, 1), (0..10).collect::<Vec<_>>());
    assert_eq!(Sweep::product(&axes[..3]).point(789).shown(), ["7", "8", "9"]);
    let many: Vec<String> = (0..100_000).map(|n| n.to_string()).collect();
    let huge: Vec<Axis> = (0..5).map(|_| Axis::new("a", &many).unwrap()).collect();
    let huge = Sweep::product(&huge);
    assert_eq!((huge.len(), &*huge.point(7).shown()[4]), (u64::MAX, "7"));
}

#[test]
fn objectives_are_numbers_of_the_results() {
    let path = |path| {
        let objectives = vec![Objective::at(path, Sense::Minimize)];
        run_all(&Exploration { objectives, ..exploration(vec![axis("flows.f.size", &["1500"])]) })
    };
    let found = path("figures.queue_peak_bytes").unwrap();
    assert!(found.points[0].results[0] > Some(0.0));
    assert_eq!(found.objectives[0].unit, "B");
    let why = path("figures.queue_peek").unwrap_err().to_string();
    assert!(why.contains("there is no `queue_peek`"), "{why}");
    assert!(path("lab").unwrap_err().to_string().contains("is no number"));
    // Unknown is never 0: this lab has no messages.
    assert_eq!(path("figures.fct").unwrap().points[0].results, [None]);
}

/// A signal, a missing number or a check that is not judged leaves no PASS.
#[test]
fn the_verdict_is_that_of_the_best_run() {
    use Verdict::{Fail, Inconclusive, NotJudged, Pass};
    let mut explored = run_all(&exploration(vec![axis("seed", &["1", "2"])])).unwrap();
    assert_eq!(explored.verdict(), Pass);
    let mut of = |verdicts: [Verdict; 2], front: bool| {
        for (point, verdict) in explored.points.iter_mut().zip(verdicts) {
            (point.verdict, point.front) = (verdict, front && verdict == Pass);
        }
        explored.verdict()
    };
    assert_eq!(of([Fail, Pass], true), Pass);
    assert_eq!(of([Fail, Pass], false), NotJudged);
    assert_eq!(of([Fail, NotJudged], false), NotJudged);
    assert_eq!(of([Fail, Inconclusive], false), Inconclusive);
    assert_eq!(of([Fail, Fail], false), Fail);
    explored.planned += 1;
    assert_eq!(explored.verdict(), Inconclusive);
}
