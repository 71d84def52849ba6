//! The doctor probes ports and judges them.

use sluice::cli::doctor::{DoctorArgs, Finding, Format, Verdict, diagnose};

use crate::apart::own_process;

#[test]
fn the_doctor_finds_what_works_and_what_does_not() {
    own_process!();
    let ports = ["net_ring0", "net_null0", "net_af_packet0,iface=dpdknosuch"];
    let args = DoctorArgs {
        ports: ports.map(String::from).into(),
        format: Format::Json,
        machine: sluice::cli::machine::MachineArgs::ordinary_pages(),
        ..DoctorArgs::default()
    };
    let diagnosis = diagnose(&args);
    let of = |subject: &str, check: &str| -> &Finding {
        let found = diagnosis.findings.iter().find(|f| f.subject == subject && f.check == check);
        found.unwrap_or_else(|| panic!("{subject} {check}: {:#?}", diagnosis.findings))
    };
    assert!(diagnosis.dpdk_runs);
    for check in ["version", "clock", "hugepages", "permissions", "start"] {
        assert!(of("machine", check).verdict < Verdict::Fail, "{:?}", of("machine", check));
    }
    // A ring returns a PFC frame; null does not, which is not a fault of it.
    assert_eq!(of("net_ring0", "PFC arrives").verdict, Verdict::Ok);
    assert_eq!(of("net_null0", "PFC arrives").verdict, Verdict::Note);
    let absent = of(ports[2], "open");
    assert!(absent.verdict == Verdict::Fail && absent.found.contains("ip link"), "{absent:?}");
    assert_eq!(diagnosis.status(), 1);
    // Every finding has a remedy, unless it is information only.
    for finding in &diagnosis.findings {
        assert!(
            finding.verdict != Verdict::Warn || finding.advice.is_some(),
            "a warning without advice: {finding:?}"
        );
    }
}
