//! Sweeps from text to points, and studies from points to rows.

use std::fs;
use std::sync::atomic::Ordering;

use super::*;
use crate::explore::Axis as Explored;
use crate::testfolder::Folder;
use serde_json::json;

const LAB: &str = "\
name: two
duration: 100us
topology: {star: {hosts: 3}}
profiles: {tor: {buffer: {total: 4MiB, profiles: {r: {shared: {dynamic_th: -3}, lossless: {xoff: auto}}}},
                 defaults: {pfc: {enable: [3]}, priority_groups: {3: r}}}}
defaults: {links: {rate: 100G, length: 10m}, flows: {priority: 3}}
flows: [{name: f, from: [h1, h2], to: h3, size: 1500}]
checks: [conservation, lossless]
";

fn study(sweep: &str) -> Study {
    let file = LabFile::parse("f.yaml", &format!("{LAB}{sweep}")).unwrap_or_else(|e| panic!("{e}"));
    Study::new(file, Changes::default()).unwrap()
}

fn refused(sweep: &str) -> String {
    match LabFile::parse("f.yaml", &format!("{LAB}sweep: {sweep}\n")) {
        Ok(file) => {
            let study = Study::new(file, Changes::default()).unwrap();
            study.check(1_000, 2, |_| Ok(())).unwrap_err().to_string()
        }
        Err(error) => error.to_string(),
    }
}

fn names(study: &Study) -> Vec<String> {
    (0..study.len()).map(|n| study.run(n).name()).collect()
}

#[test]
fn axes_are_crossed_zipped_and_named_with_variants_outermost() {
    let study = study(
        "variants: {a: {}, b: {duration: 50us}}\n\
         sweep:\n\
         \x20 zip: {defaults.links.rate: [100G, 400G], defaults.links.length: [5m, 100m]}\n\
         \x20 points: {plain: {}, small: {profiles.tor.buffer.total: 2MiB, flows.f.size: 900}}\n\
         \x20 seed: 7..8\n",
    );
    let names = names(&study);
    assert_eq!(names.len(), 16);
    assert_eq!(names[0], "a rate=100G,length=5m,plain,seed=7");
    assert_eq!(names[1], "a rate=100G,length=5m,plain,seed=8");
    assert_eq!(names[15], "b rate=400G,length=100m,small,seed=8");
    let fields = study.run(15).point.unwrap().fields();
    let fields: serde_json::Map<String, serde_json::Value> = fields.into_iter().collect();
    assert_eq!(
        serde_json::Value::from(fields),
        json!({
            "defaults.links.rate": "400G", "defaults.links.length": "100m", "points": "small",
            "profiles.tor.buffer.total": "2MiB", "flows.f.size": 900, "seed": 8
        })
    );
    let plan = study.resolve(15).unwrap().0.plan;
    assert_eq!((plan.network.seed, plan.variant.as_deref()), (8, Some("b")));
    assert_eq!(plan.network.links[0].rate, ground::units::BitsPerSec::gbps(400));
    assert!(plan.flows.iter().all(|flow| flow.frame_len == 900));
    let keys: Vec<_> =
        study.sweep().unwrap().columns().iter().map(|c| (c.name.to_owned(), c.len)).collect();
    assert_eq!(
        keys,
        [("rate", 2), ("length", 2), ("point", 2), ("seed", 2)].map(|(n, l)| (n.into(), l))
    );
}

#[test]
fn short_names_and_wildcards_are_those_of_explore_and_headings_are_told_apart() {
    let study = study(
        "sweep: {alpha: [1/8, 2], '**.lossless.xon_offset': [9KiB], defaults.flows.size: [500], \
         flows.f.size: {from: 64, to: 1_500, count: 3}}\n",
    );
    assert_eq!(names(&study)[3], "alpha=2,xon_offset=9KiB,flows.size=500,f.size=64");
    let row = study.run(3).point.unwrap().fields();
    assert_eq!(row[0], ("alpha".to_owned(), json!(2.0)));
    assert_eq!(row[3], ("flows.f.size".to_owned(), json!(64)));
    let text = study.lab_file(4).unwrap();
    assert!(text.contains("dynamic_th: 1") && text.contains("xon_offset: 9KiB"), "{text}");
    assert!(text.contains("size: \"782\""), "half-way, rounded: {text}");
    let exploring = Explored::new("flows.f.size", &["64".into()]).unwrap();
    assert_eq!(exploring.key(), "flows.f.size");
}

#[test]
fn an_error_has_the_line_of_its_value_or_of_its_path() {
    for (sweep, words) in [
        ("3", "f.yaml:9:1: sweep: needs axes by path"),
        ("{}", "f.yaml:9:1: sweep: needs axes by path"),
        ("{seed: 3}", "f.yaml:9:15: sweep.seed: needs a list of values"),
        ("{seed: []}", "f.yaml:9:9: sweep.seed: no values"),
        ("{seed: [1, 1]}", "sweep.seed: 1 is there twice"),
        ("{seed: 1..5 by 2}", "f.yaml:9:15: sweep.seed: `by`: write `step`"),
        (
            "{seed: {from: 1, to: 5, stp: 2}}",
            "f.yaml:9:32: sweep.seed: there is no field of a range",
        ),
        ("{seed: {from: 1, to: 5, step: 2, count: 3}}", "give one of `step`, `factor` and `count`"),
        ("{alpha: [1/3]}", "sweep.alpha: alpha: `1/3` is no power of two"),
        ("{name: [a, b]}", "sweep.name: a sweep cannot set `name`"),
        ("{a..b: [1]}", "`a..b` is no path"),
        ("{zip: {seed: [1, 2], duration: [1ms]}}", "sweep.zip.duration: 1 values, and seed has 2"),
        ("{zip: 3}", "f.yaml:9:9: sweep.zip: needs axes of the same length"),
        ("{points: {a b: {}}}", "sweep.points.a b: a name is letters"),
        ("{points: {a: 3}}", "f.yaml:9:21: sweep.points.a: needs values by path"),
        ("{points: {a: {seed: 1}}, seed: 1..2}", "sweep.seed: another part of the sweep sets"),
        (
            "{seed: 1..4000, duration: 1us..4000us count 4000}",
            "16000000 points; a sweep has 10000000",
        ),
        (
            "{defaults.links.length: [5m, 5x]}",
            "f.yaml:9:37: defaults.links.length: `5x`: `x` is no unit",
        ),
        (
            "{profiles.spine.max_frame: [900]}",
            "f.yaml:9:9: sweep.profiles.spine.max_frame: the lab has \
          no `profiles.spine.max_frame`: no `spine` there; there are tor (run 0: max_frame=900)",
        ),
        ("{profiles.tor.max_farme: [900]}", "did you mean `max_frame`?"),
        ("{defaults.links.length: 5m..2000km step 500km}", "in the same unit"),
        ("{defaults.links.length: 0km..2000km step 500km}", "(run 3: length=1500km)"),
    ] {
        let said = refused(sweep);
        assert!(said.contains(words), "{sweep}: {said}");
    }
    let text = format!("{LAB}variants: {{a: {{sweep: {{}}}}}}\n");
    let said = LabFile::parse("f.yaml", &text).unwrap_err().to_string();
    assert!(said.contains("variants.a.sweep: a variant cannot have one"), "{said}");
    let file = LabFile::parse("f.yaml", &format!("{LAB}sweep: {{seed: 1..3}}\n")).unwrap();
    let changes = Changes { seed: Some(1), ..Changes::default() };
    let said = Study::new(file, changes).unwrap_err().to_string();
    assert!(said.contains("sweep.seed: the command sets the same field by `seed`"), "{said}");
}

#[test]
fn the_check_of_a_large_sweep_finds_every_bad_value_of_an_axis() {
    let study = study(
        "sweep: {seed: 1..10000, defaults.links.length: [5m, 6m, 7m, 8m, 9x], duration: 1us..100us step 1us}\n",
    );
    assert_eq!(study.len(), 5_000_000);
    let said = study.check(200, 2, |_| Ok(())).unwrap_err().to_string();
    assert!(said.contains("`9x`") && said.lines().count() == 1, "{said}");
    let good = self::study("sweep: {seed: 1..10000, duration: 1us..100us step 1us}\n");
    let (resolved, warnings) = good.check(200, 2, |_| Ok(())).unwrap();
    assert!((100..=250).contains(&resolved) && warnings.is_empty(), "{resolved}: {warnings:?}");
    let said = good.check(200, 2, |_| {
        Err(ConfigError::one("f.yaml", Finding::new(None, "nodes", "too much")))
    });
    let said = said.unwrap_err().to_string();
    assert_eq!(said, "f.yaml: nodes: too much (run 0: seed=1,duration=1us)", "once");
}

#[test]
fn a_run_is_the_same_by_any_number_of_threads_and_by_its_lab_file() {
    let study = study(
        "variants: {a: {}, b: {until_done: true}}\n\
         sweep: {defaults.links.length: [5m, 500m], seed: 1..3}\n",
    );
    let rows = |jobs| {
        let mut all = Vec::new();
        let stop = AtomicBool::new(false);
        let done = |row| {
            all.push(Row { wall_ms: 0.0, ..row });
            ControlFlow::Continue(())
        };
        study.rows(0..study.len(), jobs, &stop, done).unwrap();
        all
    };
    let (alone, together) = (rows(1), rows(3));
    assert_eq!(alone, together);
    assert_eq!(alone.iter().map(|row| row.n).collect::<Vec<_>>(), (0..12).collect::<Vec<_>>());
    for row in alone {
        let text = study.lab_file(row.n).unwrap();
        let (plan, _) = crate::parse("other.yaml", &text).unwrap();
        let run = crate::run(&plan, World::Virtual, Options::default(), |_| ()).unwrap();
        assert_eq!(run.outcome.trace_hash, row.trace_hash, "{}\n{text}", row.point);
        assert_eq!((run.outcome.lab, run.outcome.seed), (row.lab, row.seed));
    }
}

#[test]
fn a_file_of_rows_goes_on_where_it_ended_and_refuses_rows_of_others() {
    let folder = Folder::new("study-rows");
    let path = folder.at("rows.jsonl");
    let study = study("sweep: {defaults.links.length: [5m, 500m], seed: 1..3}\n");
    let stop = AtomicBool::new(false);
    let mut file = RowFile::begin(&path).unwrap();
    let mut rows = Vec::new();
    let done = |row: Row| {
        file.add(&row).unwrap();
        rows.push(row);
        ControlFlow::Continue(())
    };
    study.rows([0, 4].into_iter(), 1, &stop, done).unwrap();
    drop(file);
    let whole = fs::read_to_string(&path).unwrap();
    // A line that a kill cut off.
    fs::write(&path, format!("{whole}{}", &whole[..30])).unwrap();
    let studies = [study.clone()];
    let resume = |text: &str| {
        fs::write(&path, text).unwrap();
        RowFile::resume(&path, &studies, |_, _| ()).unwrap_err().to_string()
    };
    let mut found = Vec::new();
    let mut file = RowFile::resume(&path, &studies, |n, row| found.push((n, row))).unwrap();
    // Rows of a file are those that were written, with the seed among their axes.
    assert_eq!(found, [(0, rows[0].clone()), (0, rows[1].clone())]);
    assert_eq!(found[1].1.axis("seed"), Some(&json!(2)));
    file.add(&Row { n: 5, ..rows[0].clone() }).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&whole) && text.lines().count() == 3, "{text}");
    let there = RowFile::begin(&path).unwrap_err();
    // Commands that cannot go on with rows have no `--resume`.
    assert!(matches!(there, RowError::There) && !there.to_string().contains("--"), "{there}");
    assert!(resume(&format!("{whole}{whole}")).contains("line 3 has run 0 of two again"));
    assert!(resume("{}\n").starts_with("line 1 is no row"));
    assert!(
        resume(&whole.replace("\"version\":\"", "\"version\":\"9"))
            .contains("line 1 is of version 9")
    );
    let other = self::study("sweep: {defaults.links.length: [5m, 500m], seed: 1..4}\n");
    assert_ne!(other.digest(), study.digest());
    assert!(resume(&whole.replace(study.digest(), other.digest())).contains("with another text"));
    assert!(resume(&whole.replace("\"n\":4", "\"n\":3")).contains("which the lab does not have"));
    for changes in [
        Changes { shuffle: Some(1), ..Changes::default() },
        Changes { world: World::Real, ..Changes::default() },
        Changes { slow_down: Some(2), ..Changes::default() },
    ] {
        let changed = Study::new(study.file().clone(), changes).unwrap();
        assert_ne!(changed.digest(), study.digest(), "{changes:?}");
    }
}

#[test]
fn a_stop_leaves_the_rows_of_the_runs_that_ended() {
    let study = study("sweep: {seed: 1..1000}\n");
    let stop = AtomicBool::new(false);
    let mut rows = Vec::new();
    let done = |row: Row| {
        rows.push(row.n);
        stop.store(true, Ordering::SeqCst);
        ControlFlow::Continue(())
    };
    study.rows(0..study.len(), 2, &stop, done).unwrap();
    assert!((1..=4).contains(&rows.len()), "{rows:?}");
}

#[test]
fn rows_that_differ_in_the_seed_alone_are_one_group() {
    let study = study("sweep: {defaults.links.length: [5m, 500m], seed: 1..3}\n");
    let (stop, mut rows) = (AtomicBool::new(false), Vec::new());
    let done = |row| {
        rows.push(row);
        ControlFlow::Continue(())
    };
    study.rows((0..study.len()).rev(), 1, &stop, done).unwrap();
    rows[0].verdict = ground::verdict::Verdict::Fail;
    let axes = ["defaults.links.length", "seed"];
    let axes = axes.map(|path| AxisName { path: path.into(), name: path.into() });
    let mut studied = Studied::new(axes.to_vec(), 6);
    rows.into_iter().for_each(|row| studied.add(row));
    let studied = studied.close();
    assert_eq!(
        studied.rows.iter().map(|row| row.n).collect::<Vec<_>>(),
        (0..6).collect::<Vec<_>>()
    );
    let groups: Vec<_> =
        studied.groups.iter().map(|g| (g.axes.clone(), g.runs, g.failed)).collect();
    let length = |m: &str| vec![("defaults.links.length".to_owned(), json!(m))];
    assert_eq!(groups, [(length("5m"), 3, 0), (length("500m"), 3, 1)]);
    assert!(studied.verdict.is_fail());
    let mut missing = Studied::new(vec![], 3);
    studied.rows[..2].iter().for_each(|row| missing.add(row.clone()));
    let missing = missing.close();
    assert_eq!(missing.verdict, ground::verdict::Verdict::Inconclusive);
    assert_eq!(
        (missing.verdicts.count(ground::verdict::Verdict::Pass), missing.groups.len()),
        (2, 0)
    );
}

/// What an axis takes, a field of a command takes: short names, and an alpha as a fraction.
#[test]
fn a_field_of_a_command_may_have_a_short_name() {
    let with = |name: &str, value: &str| {
        let file = LabFile::parse("f.yaml", LAB).unwrap();
        file.with_fields(&[(name.to_owned(), value.to_owned())]).map_err(|e| e.to_string())
    };
    let study = Study::new(with("alpha", "1/4").unwrap(), Changes::default()).unwrap();
    let text = study.lab_file(0).unwrap();
    assert!(text.contains("dynamic_th: -2"), "{text}");
    assert!(with("alpha", "1/3").unwrap_err().contains("no power of two"));
}

/// A limit is dynamic, static or none: one that is set replaces the other.
#[test]
fn a_field_that_excludes_another_takes_its_place() {
    let with = |lab: &str, name: &str, value: &str| {
        let file = LabFile::parse("f.yaml", lab).unwrap();
        let file = file.with_fields(&[(name.to_owned(), value.to_owned())]).unwrap();
        Study::new(file, Changes::default()).unwrap().lab_file(0).unwrap()
    };
    let fixed = LAB.replace("dynamic_th: -3", "static_th: 60KB");
    for lab in [&fixed, &LAB.replace("dynamic_th: -3", "unlimited: true")] {
        let text = with(lab, "alpha", "1/4");
        assert!(text.contains("dynamic_th: -2"), "{text}");
        assert!(!text.contains("static_th") && !text.contains("unlimited"), "{text}");
    }
    let text = with(LAB, "profiles.tor.buffer.profiles.r.shared.static_th", "70KB");
    assert!(text.contains("static_th: 70KB") && !text.contains("dynamic_th"), "{text}");
    // Two axes of which one replaces the other are one too many.
    for sweep in [
        "{alpha: [1/4], '**.shared.static_th': [70KB]}",
        "{'profiles.tor.buffer.profiles.r.shared.static_th': [70KB], alpha: [1/4]}",
    ] {
        for lab in [&fixed, LAB] {
            let file = LabFile::parse("f.yaml", &format!("{lab}sweep: {sweep}\n")).unwrap();
            let refused = Study::new(file, Changes::default()).unwrap_err().to_string();
            assert!(refused.contains("sets the same field"), "{sweep}: {refused}");
        }
    }
}

/// One place by two names: the second value would have replaced the first.
#[test]
fn a_field_that_two_axes_set_is_refused_by_any_of_its_names() {
    let what = "another part of the sweep sets the same field";
    for (sweep, words) in [
        (
            "{flows.f.size: [64, 1500], flows.0.size: [100, 200]}",
            "sweep.flows.0.size: ANOTHER by `flows.f.size`",
        ),
        (
            "{defaults.links.length: [5m], '**.length': [1m]}",
            "sweep.**.length: ANOTHER by `defaults.links.length`",
        ),
        ("{'**.dynamic_th': [-1], alpha: [2]}", "sweep.alpha: ANOTHER by `**.dynamic_th`"),
        // A value above, which writes over the one below, and a value below that is in the one above.
        (
            "{flows.f.size: [64], flows.0: [{name: f, to: h3, size: 1500}]}",
            "sweep.flows.0: ANOTHER",
        ),
        (
            "{flows.0: [{name: f, to: h3, size: 1500}], flows.f.size: [64]}",
            "sweep.flows.f.size: ANOTHER",
        ),
        // In the second of two points alone, and within one point.
        (
            "{points: {a: {}, b: {flows.0.size: 64}}, flows.f.size: [65]}",
            "sweep.flows.f.size: ANOTHER",
        ),
        (
            "{points: {a: {}, b: {flows.0.size: 64, flows.f.size: 65}}}",
            "sweep.flows.f.size: ANOTHER",
        ),
        ("{zip: {flows.0.size: [64], flows.f.size: [65]}}", "sweep.flows.f.size: ANOTHER"),
    ] {
        let file = LabFile::parse("f.yaml", &format!("{LAB}sweep: {sweep}\n"));
        let said = Study::new(file.unwrap(), Changes::default()).unwrap_err().to_string();
        assert!(said.contains(&words.replace("ANOTHER", what)), "{sweep}: {said}");
    }
    for good in [
        "{defaults.flows.size: [64], flows.f.size: [65]}",
        // What is not in the mapping of the first is added by the second.
        "{flows.0: [{name: f, to: h3}], flows.f.size: [64, 65]}",
        "{points: {a: {flows.0.size: 64}, b: {flows.f.size: 65}}}",
    ] {
        let study = study(&format!("sweep: {good}\n"));
        study.check(100, 1, |_| Ok(())).unwrap_or_else(|e| panic!("{good}: {e}"));
    }
    let size = |path: &str, values: &[&str]| {
        Explored::new(path, &values.iter().map(ToString::to_string).collect::<Vec<_>>()).unwrap()
    };
    for other in ["flows.f.size", "flows.0.size", "flows.*.size"] {
        let axes = [size("flows.f.size", &["64", "1500"]), size(other, &["100"])];
        let file = LabFile::parse("f.yaml", LAB).unwrap().with_axes(&axes);
        let said = Study::new(file, Changes::default()).unwrap_err().to_string();
        let words = format!("{other}: another axis sets the same field by `flows.f.size`");
        assert!(said.contains(&words), "{said}");
    }
}

/// A value of the command under which no run was made, or that no run has.
#[test]
fn a_field_that_an_option_sets_is_set_by_nothing_else() {
    let refused = |sweep: &str, set: &[(&str, &str)], changes: Changes| {
        let file = LabFile::parse("f.yaml", &format!("{LAB}{sweep}")).unwrap();
        let set: Vec<_> = set.iter().map(|(p, v)| ((*p).into(), (*v).into())).collect();
        Study::new(file.with_fields(&set).unwrap(), changes).map(|_| ()).map_err(|e| e.to_string())
    };
    let seed = Changes { seed: Some(5), ..Changes::default() };
    let duration = Changes { duration: "1us".parse().ok(), ..Changes::default() };
    let shuffle = Changes { shuffle: Some(5), ..Changes::default() };
    let none = Changes::default();
    let long = "sweep: {duration: [100us, 200us]}\n";
    let one_of = "leave out one of them";
    for (sweep, set, changes, words) in [
        (long, &[][..], duration, "sweep.duration: the command sets the same field by `duration`"),
        (
            long,
            &[("duration", "1us")],
            none,
            "sweep.duration: the command sets the same field by `duration`",
        ),
        ("sweep: {shuffle: [1, 2]}\n", &[], shuffle, "sweep.shuffle: the command sets"),
        ("sweep: {seed: 1..2}\n", &[], seed, "sweep.seed: the command sets"),
        ("sweep: {seed: 1..2}\n", &[("seed", "9")], none, "sweep.seed: the command sets"),
        (
            "sweep: {flows.f.size: [64]}\n",
            &[("flows.0.size", "65")],
            none,
            "the command sets the same field by `flows.0.size`",
        ),
        ("", &[("seed", "7")], seed, "--seed: the command sets the same field by `seed`"),
        (
            "",
            &[("duration", "7us")],
            duration,
            "--duration: the command sets the same field by `duration`",
        ),
        (
            "",
            &[("flows.f.size", "64"), ("flows.0.size", "65")],
            none,
            "flows.0.size: the command sets the same field by `flows.f.size`",
        ),
        (
            "",
            &[("flows.f.size", "64"), ("flows.f.size", "65")],
            none,
            "flows.f.size: the command sets the same field",
        ),
    ] {
        let said = refused(sweep, set, changes).unwrap_err();
        assert!(said.contains(words) && said.contains(one_of), "{sweep}{set:?}: {said}");
    }
    assert_eq!(refused(long, &[("flows.f.size", "65")], seed), Ok(()));
}
