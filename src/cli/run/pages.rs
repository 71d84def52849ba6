//! Huge pages for the memory of large networks.
//!
//! The nodes of a large network are spread over hundreds of megabytes. On pages of 4 KiB, the processor
//! looks up the address of nearly every cache line that a frame needs, which takes a quarter of a run and
//! more. The C library allocates huge pages only if a tunable says so when a process starts, so a run
//! of a large network starts the program again with that tunable.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use crate::lab::{LabPlan, World};

/// Nodes of a network whose memory fits what processors keep of the addresses of small pages. A choice.
const NODES_FEW: usize = 256;

/// Environment variable of the C library, and its tunable for transparent huge pages.
const VARIABLE: &str = "GLIBC_TUNABLES";
const TUNABLE: &str = "glibc.malloc.hugetlb";

/// Starts the program again on huge pages if a lab of these is large, unless the environment says
/// something about them. Returns if it goes on as it is.
pub(super) fn ensure<'a>(world: World, files: &[PathBuf], labs: impl Iterator<Item = &'a LabPlan>) {
    let nodes = labs.map(|plan| plan.network.nodes.len()).max().unwrap_or(0);
    // A pipe cannot be read a second time.
    let is_file = |path: &PathBuf| fs::metadata(path).is_ok_and(|meta| meta.is_file());
    if world != World::Virtual || nodes < NODES_FEW || !files.iter().all(is_file) {
        return;
    }
    let before = env::var(VARIABLE).ok();
    let (Some(tunables), Ok(program)) = (with_huge_pages(before.as_deref()), env::current_exe())
    else {
        return;
    };
    let mut arguments = env::args_os();
    let mut command = Command::new(program);
    if let Some(name) = arguments.next() {
        command.arg0(name);
    }
    tracing::debug!("{nodes} nodes: the program starts again on huge pages");
    // It returns only if it fails, and then ordinary pages have to do.
    let _ = command.args(arguments).env(VARIABLE, tunables).exec();
}

/// Returns the tunables with huge pages; `None` if they say something about those already, or if this is
/// not the C library that has them.
fn with_huge_pages(before: Option<&str>) -> Option<String> {
    if !cfg!(all(target_os = "linux", target_env = "gnu")) {
        return None;
    }
    match before {
        Some(before) if before.contains(TUNABLE) => None,
        Some(before) if !before.is_empty() => Some(format!("{before}:{TUNABLE}=1")),
        _ => Some(format!("{TUNABLE}=1")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn other_tunables_stay_and_a_choice_of_the_user_is_kept() {
        assert_eq!(with_huge_pages(None).as_deref(), Some("glibc.malloc.hugetlb=1"));
        assert_eq!(with_huge_pages(Some("")).as_deref(), Some("glibc.malloc.hugetlb=1"));
        let both = with_huge_pages(Some("glibc.malloc.check=1"));
        assert_eq!(both.as_deref(), Some("glibc.malloc.check=1:glibc.malloc.hugetlb=1"));
        // The program that was started again goes on.
        for before in [both.as_deref(), Some("glibc.malloc.hugetlb=0")] {
            assert_eq!(with_huge_pages(before), None);
        }
    }
}
