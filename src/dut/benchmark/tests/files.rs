//! Benchmark files: their errors, and their schema.

use std::collections::BTreeSet;

use ::file::testgolden;
use ground::time::Duration;

use super::configs;
use crate::plan::{Repeated, Soak};
use crate::{file, testfolder};

#[test]
fn errors_of_a_file_name_the_field_and_the_remedy() {
    let folder = testfolder::Folder::new("benchmark-file");
    let path = folder.at("b.yaml");
    let dut = configs("validate/rates.yaml");
    let says = |fields: &str| {
        std::fs::write(&path, format!("dut: {}\n{fields}\n", dut.display())).unwrap();
        file::load(&path).unwrap_err().to_string()
    };
    for (fields, part) in [
        ("flows: [{from: A, to: D}]", "flows[0].to: there is no port `D`"),
        ("flows: [{from: A, to: A}]", "flows[0]: it leads back to its sender"),
        ("flows: []", "flows: there is no flow"),
        ("sizes: [9000]", "sizes[0]: 9000 is out of range; choose 64 to 1526"),
        ("sizes: []", "sizes: there is none"),
        ("max_load: 0%", "max_load: give a share above 0%"),
        ("width: 100%", "width: give a share above 0% and below 100%"),
        ("loss_step: 20%", "loss_step: give a step above 0% and up to 10%"),
        ("trial: 0s", "trial: it is 0"),
        ("latency: {repeats: 0}", "latency.repeats: "),
        ("priority: 8", "priority: 8 is no priority"),
        ("goals: {a: {loss_ratio: 100%}}", "goals.a: loss_ratio: "),
        ("goals: {}", "goals: there is none"),
        ("soak: {duration: 1ms, interval: 2ms}", "soak.duration: it is shorter"),
        ("bursts: [1, 931]", "bursts[1]: "),
        ("bursts: []", "bursts: there is none"),
        ("search: {longest: 0s}", "search.longest: it is 0"),
        ("snake: 3", "snake: a snake has two tester ports, the DUT file has 3"),
        ("snake: 0", "snake: "),
        ("soak: {load: 0%}", "soak.load: give a share above 0%"),
        ("speed: 3", "speed"),
    ] {
        let said = says(fields);
        assert!(said.contains(part), "{fields}: {said}");
    }
    std::fs::write(&path, "dut: nowhere.yaml\n").unwrap();
    assert!(file::load(&path).unwrap_err().to_string().contains("cannot be opened"));
}

#[test]
fn defaults_are_those_of_the_device_and_of_the_fields_in_the_file() {
    let folder = testfolder::Folder::new("benchmark-defaults");
    let path = folder.at("b.yaml");
    let dut = configs("validate/rates.yaml");
    let plan = |fields: &str| {
        std::fs::write(&path, format!("dut: {}\n{fields}\n", dut.display())).unwrap();
        file::load(&path).unwrap().0
    };
    // A file that says nothing else has the plan of its device.
    assert_eq!(plan(""), file::load(&dut).unwrap().0);
    let millis = Duration::from_millis;
    let own = plan("trial: 3ms\nsoak: {interval: 6ms}\ngoals: {a: {final_duration: 2s}}");
    let once = Repeated { duration: millis(3), repeats: 1 };
    assert_eq!((own.latency, own.back_to_back, own.recovery), (once, once, once));
    assert_eq!((own.reset.steady, own.search.warmup), (millis(3), Duration::ZERO));
    assert_eq!(own.soak, Soak { load: 0.8, duration: millis(60), interval: millis(6) });
    let [(name, goal)] = &own.goals[..] else { panic!("one goal: {:?}", own.goals) };
    assert_eq!((name.as_str(), goal.duration_sum), ("a", millis(42_000)));
    assert_eq!((goal.loss_ratio, goal.exceed_ratio, goal.width), (0.0, 0.5, 0.005));
    assert!(goal.initial_duration < goal.final_duration);
}

#[test]
fn every_procedure_has_an_example_that_says_how_to_run_it() {
    let mut run = BTreeSet::new();
    for entry in std::fs::read_dir(configs("benchmark")).unwrap() {
        let path = entry.unwrap().path();
        let (_, _, warnings) = file::load(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(warnings, [], "{}", path.display());
        let text = std::fs::read_to_string(&path).unwrap();
        let own = format!(" configs/benchmark/{}", path.file_name().unwrap().to_string_lossy());
        let commands = text.lines().filter_map(|line| line.strip_prefix("#   sluice benchmark "));
        let procedures: Vec<_> = commands.filter_map(|line| line.strip_suffix(&own)).collect();
        assert!(!procedures.is_empty(), "{} has no command", path.display());
        run.extend(procedures.into_iter().map(str::to_owned));
    }
    let all = ["lossless", "mlrsearch", "rfc2544", "rfc2889", "rfc7640", "rfc8239", "soak"];
    assert_eq!(run, all.map(str::to_owned).into());
}

#[test]
fn the_published_schema_is_the_current_one() {
    let schema = serde_json::to_string_pretty(&file::schema()).unwrap() + "\n";
    testgolden::hold("configs/schema/benchmark.schema.json", &schema);
}
