//! Runtime directories of DPDK: a killed switch leaves one, which the next start of any switch
//! removes, and no other.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::run::{Dir, Switch};

/// Runtime directory of the switch of that name.
fn runtime(dir: &Dir, name: &str) -> PathBuf {
    let is_root = fs::metadata("/proc/self").is_ok_and(|of| of.uid() == 0);
    let above = if is_root { Path::new("/var/run") } else { &*dir.0 };
    above.join("dpdk").join(name)
}

#[test]
fn the_directory_of_a_killed_switch_goes_at_the_next_start_and_that_of_a_living_one_stays() {
    let dir = Dir::new("leftovers");
    let names = ["killed", "living", "next"].map(|what| format!("{what}-{}", std::process::id()));
    let start = |name: &str| {
        let file = format!(
            "switch: {{name: {name}}}\nobserve: {{telemetry: true}}\n\
             ports: [{{device: net_null0}}, {{device: net_null1}}]\n"
        );
        Switch::start(&dir, name, &file, &["--quiet"])
    };
    let [killed, living] = [&names[0], &names[1]].map(|name| start(name));
    let folders = names.clone().map(|name| runtime(&dir, &name));
    // Directory of another program, whose process is gone.
    let other = runtime(&dir, &format!("other-{}", std::process::id()));
    fs::create_dir(&other).unwrap();
    killed.signal("-KILL");
    assert_eq!(killed.end().0, None);
    assert!(folders[0].join("dpdk_telemetry.v2").exists(), "nothing is left to be removed");

    let next = start(&names[2]);
    let there = || folders.clone().map(|folder| folder.exists());
    assert_eq!(there(), [false, true, true]);
    assert!(folders[1].join("dpdk_telemetry.v2").exists() && other.exists());
    assert_eq!((living.stop().0, next.stop().0), (Some(0), Some(0)));
    assert_eq!(there(), [false; 3]);
    fs::remove_dir(other).unwrap();
}
