//! Searches from the text of a lab file to the value found.

use super::super::Changes;
use super::*;
use crate::LabFile;

/// Six hosts send to one over 400 m, so that a headroom of some 100 KB is needed.
const LAB: &str = "\
name: incast
duration: 60us
topology: {star: {hosts: 7}}
profiles:
  tor:
    headroom_check: warn
    buffer: {total: 4MiB, profiles: {r: {shared: {static_th: 40KB}, lossless: {xoff: 1KB}}}}
    defaults: {pfc: {enable: [3]}, priority_groups: {3: r}}
defaults: {links: {rate: 100G, length: 400m}}
flows: [{from: [h1, h2, h3, h4, h5, h6], to: h7, priority: 3, size: 1500}]
checks: [conservation, lossless, {name: marks, value: {path: marks, expect: 0}}]
";

const HEADROOM: &str = "profiles.tor.buffer.profiles.r.lossless.xoff";

fn study(rest: &str) -> Study {
    let file = LabFile::parse("f.yaml", &format!("{LAB}{rest}")).unwrap_or_else(|e| panic!("{e}"));
    Study::new(file, Changes::default()).unwrap()
}

fn found(rest: &str) -> Searched {
    let study = study(rest);
    let search = study.searches().unwrap().clone();
    study.check_search(&search).unwrap_or_else(|e| panic!("{e}"));
    let all: Vec<u64> = (0..study.len()).collect();
    study.search(&search, &all, 2, &AtomicBool::new(false), |_, _| ()).unwrap()
}

#[test]
fn a_search_of_one_variant_leaves_the_others_out() {
    let study = study(&format!(
        "variants: {{near: {{}}, far: {{defaults: {{links: {{length: 800m}}}}}}}}\n\
         search: {{least: {{{HEADROOM}: 100KB..200KB step 100KB}}, holds: lossless}}\n"
    ));
    let search = study.searches().unwrap().clone();
    let far: Vec<u64> = study.of_variant(Some("far")).unwrap().collect();
    let found = study.search(&search, &far, 1, &AtomicBool::new(false), |_, _| ()).unwrap();
    let variants: Vec<_> = found.found.iter().map(|found| found.variant.as_deref()).collect();
    assert_eq!((variants.as_slice(), found.planned), (&[Some("far")][..], 1));
}

fn refused(search: &str) -> String {
    let file = match LabFile::parse("f.yaml", &format!("{LAB}search: {search}\n")) {
        Ok(file) => file,
        Err(error) => return error.to_string(),
    };
    let study = match Study::new(file, Changes::default()) {
        Ok(study) => study,
        Err(error) => return error.to_string(),
    };
    let search = study.searches().unwrap().clone();
    study.check_search(&search).unwrap_err().to_string()
}

#[test]
fn the_least_headroom_without_a_loss_is_found_for_each_length() {
    let searched = found(&format!(
        "sweep: {{defaults.links.length: [100m, 400m]}}\n\
         search: {{least: {{{HEADROOM}: 1KB..200KB step 1KB}}, holds: [lossless], seed: 1..3}}\n"
    ));
    assert_eq!((searched.verdict(), searched.planned, searched.seeds), (Verdict::Pass, 2, 3));
    assert_eq!(searched.headings, ("xoff".into(), vec!["length".to_owned()]));
    let kilobytes = |found: &Found| -> u64 {
        found.value.as_ref().unwrap().strip_suffix("KB").unwrap().parse().unwrap()
    };
    let [short, long] = &*searched.found else { panic!("{searched:?}") };
    assert_eq!([&short.shown[0], &long.shown[0]], ["100m", "400m"]);
    // 300 m more are 3 us more of the round trip, 37.5 KB at 100 Gb/s with gaps and preambles: 37 KB of frames, of which
    // the output takes a sixth meanwhile.
    let more = kilobytes(long) - kilobytes(short);
    assert!((30..=32).contains(&more), "{short:?}\n{long:?}");
    for one in [short, long] {
        let beside = one.beside.as_ref().unwrap();
        assert_eq!(beside.value, format!("{}KB", kilobytes(one) - 1));
        assert_eq!((beside.verdict, beside.seed), (Verdict::Fail, Some(1)));
        assert_eq!(beside.failed[0].check, "lossless");
    }
    assert!(searched.runs > 20 && searched.runs < 100, "{}", searched.runs);
}

#[test]
fn the_largest_value_is_found_and_where_none_holds_the_verdict_is_fail() {
    let largest = found("search: {largest: {defaults.links.length: 10m..400m step 10m}}\n");
    let found_value = largest.found[0].value.clone();
    assert_eq!((largest.verdict(), found_value), (Verdict::Fail, None));
    assert_eq!(largest.found[0].beside.as_ref().unwrap().value, "10m");
    let enough = format!("{HEADROOM}: 60KB");
    let wide = found(&format!(
        "search: {{largest: {{defaults.links.length: 1m..400m step 1m}}, holds: lossless}}\n\
         sweep: {{points: {{a: {{{enough}}}}}}}\n"
    ));
    let metres: u64 =
        wide.found[0].value.as_ref().unwrap().strip_suffix('m').unwrap().parse().unwrap();
    assert!((100..400).contains(&metres), "{wide:?}");
    assert_eq!(wide.found[0].beside.as_ref().unwrap().value, format!("{}m", metres + 1));
}

#[test]
fn the_first_of_all_values_may_hold() {
    let all = found(&format!("search: {{least: {{{HEADROOM}: 180KB..200KB step 1KB}}}}\n"));
    assert_eq!((all.found[0].value.as_deref(), &all.found[0].beside), (Some("180KB"), &None));
    assert_eq!(all.verdict(), Verdict::Pass);
}

#[test]
fn what_is_not_judged_neither_holds_nor_fails() {
    // Without a frame nothing says whether the headroom is enough.
    let idle = LAB.replace("flows: [{", "flows: [{start: 1ms, ");
    let text =
        format!("{idle}search: {{least: {{{HEADROOM}: 1KB..9KB step 1KB}}, holds: lossless}}\n");
    let file = LabFile::parse("f.yaml", &text).unwrap_or_else(|e| panic!("{e}"));
    let study = Study::new(file, Changes::default()).unwrap();
    let search = study.searches().unwrap().clone();
    let found = study.search(&search, &[0], 1, &AtomicBool::new(false), |_, _| ()).unwrap();
    assert_eq!((found.verdict(), &found.found[0].value), (Verdict::NotJudged, &None));
}

#[test]
fn an_interrupted_search_is_not_judged() {
    let study = study(&format!("search: {{least: {{{HEADROOM}: 1KB..200KB step 1KB}}}}\n"));
    let search = study.searches().unwrap().clone();
    let stop = AtomicBool::new(false);
    let found = study
        .search(&search, &[0], 1, &stop, |_, runs| stop.store(runs >= 3, Ordering::Relaxed))
        .unwrap();
    assert_eq!((found.verdict(), found.found.len(), found.runs), (Verdict::NotJudged, 0, 3));
}

#[test]
fn refusals_name_the_place_and_the_remedy() {
    let range = format!("{HEADROOM}: 1KB..9KB step 1KB");
    for (search, words) in [
        ("3", "search: needs a field with its values"),
        ("{holds: lossless}", "search: needs either `least` or `largest`"),
        (&*format!("{{least: {{{range}}}, largest: {{{range}}}}}"), "needs either `least` or"),
        ("{least: {}}", "search.least: needs one field"),
        ("{least: {a: 1..3, b: 1..3}}", "search.least: needs one field"),
        ("{least: {seed: 1..3}}", "`seed` has no order"),
        (
            "{least: {flows.0.size: [1500, 64]}}",
            "f.yaml:12:39: search.least.flows.0.size: `64` is not above `1500`, which is before it; \
             write the values in ascending order, each once",
        ),
        ("{largest: {flows.0.size: [64, 1KB, 900]}}", "`900` is not above `1KB`"),
        ("{least: {flows.0.size: [1000, 1KB]}}", "`1KB` is not above `1000`"),
        ("{least: {defaults.links.length: [5m, 1km, 500m]}}", "`500m` is not above `1km`"),
        (
            "{least: {defaults.links.rate: [400G, 1Tbps, 100000M]}}",
            "`100000M` is not above `1Tbps`",
        ),
        ("{least: {duration: [10us, 1ms, 0.5ms]}}", "`0.5ms` is not above `1ms`"),
        ("{least: {alpha: [1/8, 2, 1/2]}}", "`1/2` is not above `2`"),
        ("{least: {pmax: [5%, 0.04]}}", "`0.04` is not above `5%`"),
        (
            "{least: {profiles.tor.buffer.profiles.r.shared.dynamic_th: [-2, -3]}}",
            "`-3` is not above",
        ),
        ("{least: {sweep.a: 1..3}}", "cannot set `sweep`"),
        (&format!("{{least: {{{range}}}, hold: lossless}}"), "did you mean `holds`"),
        (&format!("{{least: {{{range}}}, holds: loss}}"), "there is no check `loss`"),
        (&format!("{{least: {{{range}}}, holds: []}}"), "search.holds: needs names of checks"),
        (&format!("{{least: {{{range}}}, confidence: 100%}}"), "search.confidence: needs a share"),
        (&format!("{{least: {{{range}}}, seed: 7}}"), "search.seed: needs a list"),
        ("{least: {profiles.tor.buffer.lost: 1..3}}", "lost"),
        ("{least: {profiles.tor.buffer.total: 1..3}}", "(with profiles.tor.buffer.total = 1)"),
    ] {
        let said = refused(search);
        assert!(said.contains(words), "{search}\n{said}");
    }
    let both = format!("{LAB}sweep: {{seed: 1..2}}\nsearch: {{least: {{{range}}}, seed: 1..2}}\n");
    let file = LabFile::parse("f.yaml", &both).unwrap();
    let refused = |file, changes| {
        let study = Study::new(file, changes).unwrap();
        let search = study.searches().unwrap();
        study.check_search(search).unwrap_err().to_string()
    };
    let error = refused(file, Changes::default());
    let words = "search.seed: the sweep sets the same field by `seed`; leave out one of them";
    assert!(error.contains(words), "{error}");
    let file = LabFile::parse("f.yaml", &both.replace("sweep: {seed: 1..2}\n", "")).unwrap();
    let changes = Changes { seed: Some(1), ..Changes::default() };
    let error = refused(file, changes);
    let words = "search.seed: the command sets the same field by `seed`; leave out one of them";
    assert!(error.contains(words), "{error}");
    // The field that is searched, by its other name.
    let both = format!(
        "{LAB}sweep: {{flows.0.size: [64]}}\nsearch: {{least: {{flows.*.size: 64..66}}}}\n"
    );
    let error = refused(LabFile::parse("f.yaml", &both).unwrap(), Changes::default());
    assert!(error.contains("the sweep sets the same field by `flows.0.size`"), "{error}");
}

/// Words have the order in which they are written, and quantities that of their sizes and not their texts.
#[test]
fn values_in_ascending_order_are_taken_whatever_their_units() {
    for values in [
        "flows.0.size: [64, 900, 1KB, 1.5KB]",
        "defaults.links.length: [500m, 1km, 1500m]",
        "duration: [900ns, 1us, 0.5ms]",
        "alpha: [1/8, 1/4, 2]",
        "flows.0.priority: [low, high, any]",
    ] {
        let text = format!("{LAB}search: {{least: {{{values}}}}}\n");
        LabFile::parse("f.yaml", &text).unwrap_or_else(|e| panic!("{values}: {e}"));
    }
}

#[test]
fn the_share_of_seeds_follows_from_their_number() {
    let percent = |seeds| (share_at_least(seeds, 0.95) * 1e3).round() / 10.0;
    // The 95 % lower bound of n successes of n (Clopper-Pearson, one-sided).
    assert_eq!([percent(1), percent(20), percent(59)], [5.0, 86.1, 95.0]);
}
