//! Checks of the machine that `sluice doctor` makes before those of ports.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::Verdict::{Fail, Note, Ok as Good, Warn};
use super::{Findings, Verdict};
use crate::dpdk::{TscClock, built_against, dpdk_version, is_pci_address};
use crate::time::Duration as Span;

/// Time for which the clock is observed.
const WATCH: Duration = Duration::from_millis(500);

/// Drift between the counter and the system's clock above which results are less exact than the
/// clocks of NICs may be (100 ppm, IEEE 802.3).
const DRIFT_PPM_MAX: f64 = 100.0;

/// Gap in a polling loop above which it affects a latency measurement.
const GAP_NOTABLE: Span = Span::from_micros(100);

/// Memory in KiB that a small switch needs.
const MEMORY_KIB: u64 = 64 * 1024;

/// Number of the capability in `linux/capability.h`.
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;

pub(super) fn examine(findings: &mut Findings<'_>, devices: &[String]) {
    version(findings);
    processors(findings);
    isolation(findings);
    governor(findings);
    counter(findings);
    clock(findings);
    hugepages(findings);
    let name = |device: &String| device.split(',').next().unwrap_or_default().to_string();
    iommu(findings, devices.iter().any(|device| is_pci_address(&name(device))));
    permissions(findings);
    memlock(findings);
}

fn version(findings: &mut Findings<'_>) {
    let (built, loaded) = (built_against(), dpdk_version());
    // Year and month: patch releases have the same ABI.
    let release = |text: &str| text.split('.').take(2).collect::<Vec<_>>().join(".");
    let same = release(loaded.trim_start_matches("DPDK ")) == release(built);
    let found = format!("{loaded}, built against {built}");
    if same {
        findings.add("version", Good, found);
    } else {
        findings.advise("version", Warn, found, "build Sluice against the DPDK it runs with");
    }
}

fn processors(findings: &mut Findings<'_>) {
    let n = thread::available_parallelism().map_or(1, usize::from);
    let found = format!("{n} for this process");
    match n {
        1 => findings.advise(
            "processors",
            Warn,
            found,
            "a worker polls without end: give it a core that nothing else needs",
        ),
        2 | 3 => findings.advise(
            "processors",
            Note,
            found,
            "one for the system and one per worker: a second worker shares with the system",
        ),
        _ => findings.add("processors", Good, found),
    }
}

fn isolation(findings: &mut Findings<'_>) {
    match read("/sys/devices/system/cpu/isolated").filter(|list| !list.is_empty()) {
        Some(list) => findings.add("isolated cores", Good, list),
        None => findings.advise(
            "isolated cores",
            Note,
            "none: the system may interrupt any worker",
            "for latency measurements boot with isolcpus=, nohz_full= and rcu_nocbs= for the \
             workers' cores",
        ),
    }
}

fn governor(findings: &mut Findings<'_>) {
    let path = |cpu| format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_governor");
    // CPUs have numbers without gaps, as a rule; the first one without the file ends the search.
    let mut governors: Vec<String> = (0..1_024).map_while(|cpu| read(&path(cpu))).collect();
    governors.sort_unstable();
    governors.dedup();
    let found = governors.join(", ");
    match governors.as_slice() {
        [] => findings.add("governor", Good, "the kernel does not set frequencies here"),
        [one] if one == "performance" => findings.add("governor", Good, found),
        _ => findings.advise(
            "governor",
            Warn,
            found,
            "variable CPU frequency changes rates and latencies: cpupower frequency-set -g \
             performance",
        ),
    }
}

/// Checks that the timestamp counter has one rate, independent of the core's frequency.
fn counter(findings: &mut Findings<'_>) {
    // The flags below are those of x86.
    if cfg!(not(target_arch = "x86_64")) {
        return findings.add("counter", Good, "the architecture's generic timer");
    }
    let info = read("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag| flags.split_whitespace().any(|word| word == flag);
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .unwrap_or_else(|| "unknown".into());
    // Both: one rate at any frequency, and none lost in sleep states.
    if has("constant_tsc") && has("nonstop_tsc") {
        findings.add("counter", Good, format!("invariant TSC; the kernel's clock is {source}"));
    } else {
        findings.advise(
            "counter",
            Warn,
            format!("the TSC is not said to be invariant; the kernel's clock is {source}"),
            "times may be wrong where cores sleep or change frequency; in a virtual machine let \
             the host pass the flags constant_tsc and nonstop_tsc (CPU model `host`)",
        );
    }
}

fn clock(findings: &mut Findings<'_>) {
    let quality = TscClock::new().quality(WATCH);
    let found = format!(
        "{:.3} MHz; {:+.1} ppm against the system's clock over {} ms (known to {:.1} ppm); reads \
         {} apart at least",
        quality.hz as f64 / 1e6,
        quality.drift_ppm,
        WATCH.as_millis(),
        quality.drift_ppm_uncertain,
        quality.step
    );
    if quality.went_back {
        let advice = "the counter cannot be used: check the machine's firmware or hypervisor";
        findings.advise("clock", Fail, format!("went back; {found}"), advice);
    // Only beyond the uncertainty of the measurement itself.
    } else if quality.drift_ppm.abs() > DRIFT_PPM_MAX + quality.drift_ppm_uncertain {
        let advice = "pauses would be off by as much: run it again when the machine is idle, then \
                      look at time synchronisation and the hypervisor";
        findings.advise("clock", Warn, found, advice);
    } else {
        findings.add("clock", Good, found);
    }
    let gap = format!("a polling loop was held up for {} at most", quality.gap_max);
    if quality.gap_max > GAP_NOTABLE {
        let advice = "above p99, latencies in real time are those of the machine; isolate the \
            workers' cores, or use the virtual world";
        findings.advise("interruptions", Note, gap, advice);
    } else {
        findings.add("interruptions", Good, gap);
    }
}

fn hugepages(findings: &mut Findings<'_>) {
    let mut sizes = Vec::new();
    let mut free_kib = 0;
    for entry in fs::read_dir("/sys/kernel/mm/hugepages").into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let page = name.trim_start_matches("hugepages-").trim_end_matches("kB").parse::<u64>();
        let number = |file: &str| {
            read(&format!("{}/{file}", entry.path().display())).and_then(|n| n.parse::<u64>().ok())
        };
        let counts = (page, number("nr_hugepages"), number("free_hugepages"));
        if let (Ok(page), Some(all), Some(free)) = counts {
            free_kib += page * free;
            sizes.push(format!("{free} of {all} of {page} KiB free"));
        }
    }
    // Pages of all sizes together: DPDK takes what there is.
    if free_kib >= MEMORY_KIB {
        return findings.add("hugepages", Good, sizes.join(", "));
    }
    let found = if sizes.is_empty() { "none".into() } else { sizes.join(", ") };
    findings.advise(
        "hugepages",
        Note,
        found,
        "Sluice runs without, up to 1.2 times slower; for 1 GiB, as root: echo 512 > \
         /proc/sys/vm/nr_hugepages",
    );
}

/// Checks what a NIC needs to be assigned to a process; virtual devices need none of it.
fn iommu(findings: &mut Findings<'_>, physical: bool) {
    let verdict = |there: bool| match (there, physical) {
        (true, _) => Good,
        // Only a NIC among the ports makes its absence a problem.
        (false, true) => Warn,
        (false, false) => Note,
    };
    let groups = fs::read_dir("/sys/kernel/iommu_groups").map_or(0, Iterator::count);
    if groups > 0 {
        findings.add("IOMMU", Good, format!("{groups} groups"));
    } else {
        findings.advise(
            "IOMMU",
            verdict(false),
            "none in use",
            "needed for NICs alone: switch it on in the firmware and boot with intel_iommu=on or \
             amd_iommu=on",
        );
    }
    if Path::new("/dev/vfio/vfio").exists() {
        findings.add("vfio", Good, "/dev/vfio/vfio is there");
    } else {
        findings.advise(
            "vfio",
            verdict(false),
            "not loaded",
            "needed for NICs alone: modprobe vfio-pci, then dpdk-devbind.py --bind=vfio-pci \
             <address>",
        );
    }
}

fn permissions(findings: &mut Findings<'_>) {
    let status = read("/proc/self/status").unwrap_or_default();
    let field = |name| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.split_whitespace().next()).map(String::from)
    };
    let root = field("Uid:").is_some_and(|uid| uid == "0");
    let effective = field("CapEff:").and_then(|hex| u64::from_str_radix(&hex, 16).ok());
    // By capability and not by user: root in a container may lack them.
    let can = |capability: u32| effective.is_some_and(|set| set >> capability & 1 == 1);
    let user = if root { "root" } else { "not root" };
    if can(CAP_NET_RAW) && can(CAP_NET_ADMIN) {
        findings.add("permissions", Good, format!("{user}, with CAP_NET_RAW and CAP_NET_ADMIN"));
    } else {
        findings.advise(
            "permissions",
            Note,
            format!("{user}, without CAP_NET_RAW or CAP_NET_ADMIN"),
            "rings, null, pcap files, memif and vhost work without; af_packet, af_xdp, tap and \
             NICs need root, or the capabilities on the program (setcap)",
        );
    }
}

fn memlock(findings: &mut Findings<'_>) {
    let limits = read("/proc/self/limits").unwrap_or_default();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max locked memory"));
    let soft = line.and_then(|rest| rest.split_whitespace().next()).unwrap_or("unknown");
    // A number is in bytes (proc(5)).
    let enough = match soft.parse::<u64>() {
        Ok(bytes) => bytes / 1_024 >= MEMORY_KIB,
        Err(_) => soft == "unlimited",
    };
    if enough {
        findings.add("locked memory", Good, soft);
    } else {
        findings.advise(
            "locked memory",
            Verdict::Note,
            format!("{soft} bytes"),
            "NICs through vfio and af_xdp lock their memory: `ulimit -l unlimited`, or memlock in \
             /etc/security/limits.conf",
        );
    }
}

/// Reads a small file's text without surrounding white space.
fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}
