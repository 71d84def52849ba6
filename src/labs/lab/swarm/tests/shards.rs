//! Parts of a swarm, and the swarm that they are joined to.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::swarm::{Summary, Swarm, join, run, run_part};
use crate::testfolder::Folder;

#[test]
fn shards_in_any_order_give_the_summary_of_the_whole_swarm() {
    let folder = Folder::new("swarm-shards");
    let swarm = Swarm { count: 20, seed: 3, jobs: 2 };
    let stop = AtomicBool::new(false);
    let whole = run(swarm, |_, _| true);
    let mut files = Vec::new();
    let mut lines = Vec::new();
    for part in (1..=3).rev() {
        let shard = format!("{part}/3").parse().unwrap();
        let mut text = String::new();
        let summary = run_part(swarm, shard, &stop, |row, _, _| {
            text += &(serde_json::to_string(row).unwrap() + "\n");
            true
        });
        assert_eq!((summary.trace_hash, summary.labs), (None, shard.len_of(20)));
        files.push(folder.put(&format!("{part}.jsonl"), text.as_bytes()));
        lines.push(text);
    }
    let flat: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(lines[0].lines().next().unwrap()).unwrap();
    assert!(flat.values().all(|value| !value.is_object() && !value.is_array()), "{flat:?}");
    let (found, joined) = join(&files).unwrap();
    assert_eq!((found.count, found.seed), (20, 3));
    let without_time = |summary: &Summary| {
        let mut json = serde_json::to_value(summary).unwrap();
        for field in ["slowest", "seconds"] {
            json.as_object_mut().unwrap().remove(field);
        }
        json
    };
    assert_eq!(without_time(&joined), without_time(&whole));
    assert!(joined.trace_hash.is_some());
    let refused = |text: &str, files: &[PathBuf]| {
        let other = folder.put("other.jsonl", text.as_bytes());
        join(&[files, &[other]].concat()).unwrap_err().to_string()
    };
    let said = refused("", &files[1..]);
    assert!(said.contains("6 of 20 labs have no row: 2, 5, 8"), "{said}");
    let said = refused(&lines[2], &files);
    assert!(said.contains("other.jsonl: line 1 has run 0 of the 20 of the swarm again"), "{said}");
    for (from, to, words) in [
        ("\"count\":20", "\"count\":21", "line 1 is of count 21, and the others are of count 20"),
        ("\"swarm\":3", "\"swarm\":4", "line 1 is of seed 4, and the others are of seed 3"),
        ("\"version\":\"", "\"version\":\"9", "line 1 is of version 9"),
        ("\"n\":2,", "\"n\":3,", "which no swarm has"),
        ("\"n\":", "\"m\":", "line 1 is no row: missing field `n`"),
    ] {
        let said = refused(&lines[0].replace(from, to), &files[1..]);
        assert!(said.contains("other.jsonl: ") && said.contains(words), "{from}: {said}");
    }
    let said = refused(&lines[0][..lines[0].len() - 9], &files[1..]);
    assert!(said.contains("the last line is cut off"), "{said}");
}
