//! Frames that wait in a receive ring for the poll of a software switch.

use super::json;

/// Frames that wait for a poll: what is given alone counts by itself, and of both the smaller one.
#[test]
fn a_gap_between_polls_and_a_ring_count_without_each_other() {
    let line = "--model ieee --rate 100G --length 100m --cell 208";
    let waiting = |more: &str| {
        let out = json(&format!("calc {line} {more}"));
        let term = out["terms"].as_array().unwrap().iter();
        let mut term = term.filter(|term| term["name"] == "frames in the receive ring");
        (term.next().unwrap()["bits"].as_u64().unwrap() / 8, out["bytes"].as_u64().unwrap())
    };
    let (none, bare) = waiting("");
    assert_eq!(none, 0);
    for (more, bytes) in [
        ("--poll-gap 10us", 125_000),
        ("--rx-backlog 64KB", 64_000),
        ("--rx-backlog 64KB --poll-gap 1us", 12_500),
        ("--rx-backlog 64KB --poll-gap 100us", 64_000),
        ("--rx-backlog 0B --poll-gap 100us", 0),
        ("--poll-gap 0s", 0),
    ] {
        let (found, sum) = waiting(more);
        assert_eq!((found, sum > bare), (bytes, bytes > 0), "{more}");
    }
    // A cable of that headroom is shorter by as much.
    let metres = |more: &str| {
        let args = format!("reach --headroom 400KB --rate 100G --phy 100GBASE-R --cell 208 {more}");
        json(&args)[0]["needed_without_cable"].as_u64().unwrap()
    };
    for option in ["--poll-gap 10us", "--rx-backlog 64KB"] {
        assert!(metres(option) > metres("") + 64_000, "{option}");
    }
}
