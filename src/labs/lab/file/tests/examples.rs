//! Examples of configs/labs: each is valid, runs, and is the same after serialisation.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::study::{Changes, Row, Studied, Study};
use crate::{Options, World, run};
use sim::Network;

fn raw_of(text: &str) -> raw::Lab {
    config::de::from_tree(&config::tree::read(text, EMPTY).unwrap()).unwrap()
}

#[test]
fn every_example_is_good_and_warns_of_nothing_but_a_capture_and_measured_hosts() {
    for (name, text) in example_labs() {
        let (lab, warnings) = good_at(&name, &text);
        let told = match () {
            // Its generator's file has a capture, which a lab does not write.
            () if name.ends_with("otg-storm.yaml") => Some("port p1: nothing is captured"),
            () if name.ends_with("auto-headroom.yaml") => Some("port to_h20 of s1 leads to a host"),
            () => None,
        };
        assert_eq!(warnings.len(), usize::from(told.is_some()), "{name}: {warnings:?}");
        assert!(warnings.iter().all(|w| told.is_some_and(|told| w.contains(told))), "{name}");
        assert!(Network::new(&lab.plan.network, ()).is_ok(), "{name}");
        assert!(is_lab(&text), "{name}");
    }
}

#[test]
fn what_is_written_back_is_the_same_lab() {
    for (name, text) in example_labs() {
        let mut lab = raw_of(&text);
        // The serialised text is not in the example's folder.
        if let Some(file) = lab.otg.as_mut().and_then(|otg| otg.file.as_mut()) {
            *file = Path::new(&name).parent().unwrap().join(&*file);
        }
        let json = format!("{:#}", config::sparse(&lab));
        assert_eq!(raw_of(&json), lab, "{name}\n{json}");
        let (a, b) = (resolve_raw(&lab).unwrap().0, parse("lab.json", &json).unwrap().0);
        assert_eq!(format!("{:?}", a.network), format!("{:?}", b.network), "{name}");
    }
}

#[test]
fn an_incast_runs_and_loses_nothing() {
    let (_, text) = example_labs().into_iter().find(|(n, _)| n.ends_with("incast.yaml")).unwrap();
    let (lab, _) = good(&text);
    let mut network = Network::new(&lab.plan.network, ()).unwrap();
    network.run_until(ground::time::Instant::ZERO + lab.plan.duration);
    assert!(network.is_quiet());
    assert_eq!(lab.plan.flows.len(), 8);
    assert!(lab.plan.flows.iter().all(|f| f.lossless && f.name.starts_with("incast_h")));
}

#[test]
fn every_example_runs_to_good_verdicts() {
    for (name, text) in example_labs() {
        let (lab, _) = good_at(&name, &text);
        let run = run(&lab.plan, World::Virtual, Options::default(), |_| ()).unwrap();
        let outcome = run.outcome;
        assert!(outcome.verdict.is_pass(), "{name}: {:#?}", outcome.checks);
        let generated = outcome.tester.iter().flat_map(|t| &t.flows).map(|f| f.frames_rx);
        let received: u64 = outcome.flows.iter().map(|f| f.rx_frames).chain(generated).sum();
        assert!(received > 0 && (!lab.plan.until_done || outcome.done), "{name}");
    }
}

/// What the variants of a study compare acts: each reaction is seen, and takes pauses away.
#[test]
fn the_variants_of_the_example_studies_differ_by_what_they_compare() {
    for (name, text) in example_labs() {
        let study = Study::new(LabFile::parse(&name, &text).unwrap(), Changes::default()).unwrap();
        if study.sweep().is_none() || study.file().variants().len() == 0 {
            continue;
        }
        // Alpha 1/64, and 100 m where the length is an axis.
        let points = study.sweep().unwrap().len();
        let place = (0..points)
            .find(|n| !study.run(*n).point_name().contains("length=5m"))
            .expect("a point with long cables");
        let mut rows = Vec::new();
        let numbers = (0..study.len()).step_by(points as usize).map(|first| first + place);
        let take = |row| {
            rows.push(row);
            ControlFlow::Continue(())
        };
        study.rows(numbers, 2, &AtomicBool::new(false), take).unwrap();
        let figure = |variant: &str, figure: &str| {
            let row = rows.iter().find(|row: &&Row| row.variant.as_deref() == Some(variant));
            row.and_then(|row| row.figure(figure)).unwrap_or_else(|| panic!("{name}: {variant}"))
        };
        let pauses = |variant: &str| figure(variant, "pauses.xoffs");
        assert!(figure("pfc", "marks") == 0.0 && pauses("pfc") > 100.0, "{name}");
        assert!(
            figure("dcqcn", "marks") > 100.0 && figure("dcqcn", "signals.cnps") > 5.0,
            "{name}"
        );
        assert!(figure("sfc", "signals.sfcms") > 100.0, "{name}");
        assert!(pauses("dcqcn") < pauses("pfc") / 2.0, "{name}: {} pauses", pauses("dcqcn"));
        let mut studied = Studied::new(Vec::new(), rows.len() as u64);
        rows.iter().cloned().for_each(|row| studied.add(row));
        assert_eq!(studied.close().same_traces, [], "{name}");
    }
}
