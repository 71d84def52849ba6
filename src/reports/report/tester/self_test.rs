//! Prints the measurement floor of a machine.

use super::text::time;
use ::text::count;
use ground::verdict::Verdict;
use tester::report::Pacing;
use tester::self_test::SelfTest;

/// Prints the self-test. Times below the floor are not given as numbers.
#[must_use]
pub fn self_test_text(s: &SelfTest) -> String {
    let resolved = |ns: f64| s.resolved(ns).map_or_else(|| format!("< {}", time(s.floor_ns)), time);
    let l = &s.latency;
    let mut out = format!(
        "clock    {:.3} MHz, steps of {}, {:+.1} ppm off the system's clock, longest gap {}\n",
        s.clock_hz as f64 / 1e6,
        time(s.clock_step_ns),
        s.clock_drift_ppm,
        time(s.clock_gap_max_ns),
    );
    out += &format!(
        "nothing  takes p50 {}, p99 {}, p99.9 {}, max {} through memory, of {} frames\n",
        resolved(l.p50_ns.ns()),
        l.p99_ns,
        resolved(l.p999_ns.ns()),
        resolved(l.max_ns.ns()),
        count(l.frames),
    );
    if let Some(Pacing { asked_fps, error_ppm, gap_p50_ns, gap_p99_ns, gap_max_ns, .. }) = &s.pacing
    {
        out += &format!(
            "pace     {} fps kept within {error_ppm:+.1} ppm, gaps p50 {}, p99 {}, max {}\n",
            count(asked_fps.round() as u64),
            gap_p50_ns,
            gap_p99_ns,
            gap_max_ns,
        );
    }
    out += &format!(
        "floor    {}: no shorter latency can be measured here; stamps may be off by {}\n",
        time(s.floor_ns),
        time(s.uncertainty_ns),
    );
    s.warnings.iter().for_each(|warning| out += &format!("warning: {warning}\n"));
    let (sent, received) = s.frames;
    let busy = match s.verdict() {
        Verdict::Inconclusive => format!("; {}", s.machine),
        _ => String::new(),
    };
    out + &format!("{}: {} of {} frames arrived{busy}\n", s.verdict(), count(received), count(sent))
}
