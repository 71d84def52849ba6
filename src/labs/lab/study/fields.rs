//! Names, units and meanings of the fields of a row.

/// A field of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Name; `*` stands for a number, or for `hosts` or `switches`.
    pub name: &'static str,
    /// Unit; empty for text, counts and truth values.
    pub unit: &'static str,
    pub meaning: &'static str,
}

const fn f(name: &'static str, unit: &'static str, meaning: &'static str) -> Field {
    Field { name, unit, meaning }
}

/// Fields of every row, in their order. The values of axes follow `variant`, under the axes' paths.
pub const FIELDS: &[Field] = &[
    f("n", "", "number of the run in its lab, from 0"),
    f("runs", "", "number of runs of the lab"),
    f("point", "", "name of the point; empty without a sweep"),
    f("lab", "", "name of the lab"),
    f("variant", "", "name of the variant, or null"),
    f("seed", "", "seed of everything random"),
    f("world", "", "`virtual` or `real`"),
    f("trace_hash", "", "hash of all events; null in the real world"),
    f("verdict", "", "`pass`, `not_judged`, `inconclusive` or `fail`"),
    f("failed", "", "checks that are inconclusive or FAIL, separated by commas"),
    f("elapsed_ns", "ns", "time of the run on the network's clock"),
    f("done", "", "true if all traffic was sent, and had arrived or was lost"),
    f("rx_bps", "bit/s", "received bits of all flows over the whole run, FCS included"),
    f("latency_p99_ns", "ns", "largest 99th percentile of the frame latency of a flow"),
    f("fct.messages", "", "completed messages"),
    f("fct.min_ns", "ns", "shortest completion time of a message"),
    f("fct.p50_ns", "ns", "median of completion times"),
    f("fct.p99_ns", "ns", "99th percentile of completion times"),
    f("fct.max_ns", "ns", "longest completion time"),
    f("victim_bps", "bit/s", "goodput of the victim flows in the measurement interval"),
    f("fairness", "", "Jain's index of the throughput of the flows that are not victims"),
    f("lost_frames", "", "lost frames of flows, retransmitted or not"),
    f("lossless_drops", "", "frames of lossless groups dropped because of congestion"),
    f("headroom_bytes", "B", "largest configured headroom of a group of a port"),
    f("headroom_peak_bytes", "B", "largest use of headroom by a group of a port"),
    f("buffer_peak_bytes", "B", "largest use of a switch's buffer, an upper bound"),
    f("queue_peak_bytes", "B", "longest egress queue of a switch"),
    f("pauses.first_ns", "ns", "time at which a group first crossed its XOFF threshold"),
    f("pauses.xoffs", "", "XOFF crossings of groups of switches"),
    f("pauses.frames_sent", "", "PFC and PAUSE frames that switches sent"),
    f(
        "pauses.paused_ns",
        "ns",
        "sum of the pause times of all priorities of hosts; with PAUSE, of their lines",
    ),
    f("pauses.longest_ns", "ns", "longest uninterrupted pause of a priority"),
    f("marks", "", "frames that switches marked CE"),
    f("deadlocks", "", "cyclic buffer dependencies found"),
    f("signals.cnps", "", "RoCEv2 congestion notification packets sent"),
    f("signals.cnms", "", "congestion notification messages of QCN sent"),
    f("signals.sfcms", "", "source flow control messages sent"),
    f("signals.cims", "", "congestion isolation messages sent"),
    f("slowdown.messages", "", "completed messages of which the slowdown is known"),
    f("slowdown.unfinished", "", "messages that were due and not complete at the end"),
    f("slowdown.left_out", "", "completed messages whose times were not kept"),
    f("slowdown.mean", "", "mean of completion time over that on an idle path"),
    f("slowdown.p50", "", "median of the same"),
    f("slowdown.p99", "", "99th percentile of the same"),
    f("slowdown.max", "", "maximum of the same"),
    f("steady.rule", "", "rule that gave the steady state: `mser_5` or `measure`"),
    f("steady.from_ns", "ns", "start of the steady state; null if there is none"),
    f("steady.to_ns", "ns", "end of the steady state"),
    f("steady.flows", "", "flows without an end, and those with an offered load"),
    f(
        "steady.throughput_bps",
        "bit/s",
        "sum of their mean payload rates in the steady state, without headers",
    ),
    f("steady.fairness", "", "Jain's index of the flows without an end that are not victims"),
    f("steady.queue_mean_bytes", "B", "mean of the bytes in the buffers of all switches"),
    f("hops.*.*.lines", "", "lines *n* lines before the destination, at hosts or switches"),
    f("hops.*.*.pauses", "", "pauses of these lines"),
    f(
        "hops.*.*.paused_ns",
        "ns",
        "sum of the pause times of their priorities; with PAUSE, of the lines",
    ),
    f("hops.*.*.longest_ns", "ns", "longest uninterrupted pause of a priority of them"),
    f("wall_ms", "ms", "duration of the run in real time"),
    f("version", "", "version of Sluice, with the commit of its sources"),
    f(
        "study",
        "",
        "digest of the lab's text, of the files that it names, and of options that change the results",
    ),
];

/// Fields that are neither axes nor figures.
pub(super) const FIXED: [&str; 13] = [
    "n",
    "runs",
    "point",
    "lab",
    "variant",
    "seed",
    "world",
    "trace_hash",
    "verdict",
    "failed",
    "wall_ms",
    "version",
    "study",
];

/// Returns the field of a name, such as `hops.2.hosts.pauses`.
#[must_use]
pub fn field(name: &str) -> Option<&'static Field> {
    let parts = || name.split('.');
    FIELDS.iter().find(|field| {
        let own = || field.name.split('.');
        own().count() == parts().count() && own().zip(parts()).all(|(a, b)| a == "*" || a == b)
    })
}

/// True for a number of the results: its first part is not the name of an axis, which is a field of a lab.
pub(super) fn is_figure(name: &str) -> bool {
    let first = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    !FIXED.contains(&name) && FIELDS.iter().any(|field| first(field.name) == first(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manual_has_every_field_with_its_unit_and_no_other() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/src/studies.md");
        let page = std::fs::read_to_string(page).unwrap();
        let head = "| field | unit | meaning |\n| --- | --- | --- |\n";
        let (_, found) = page.split_once(head).expect("the page has the table");
        let line = |f: &Field| format!("| `{}` | {} | {} |", f.name, f.unit, f.meaning);
        let wanted: Vec<String> = FIELDS.iter().map(line).collect();
        let found: Vec<&str> = found.lines().take_while(|line| line.starts_with("| ")).collect();
        assert_eq!(found, wanted, "the table of docs/src/studies.md");
    }

    #[test]
    fn figures_are_told_from_axes_by_the_first_part_of_their_names() {
        for figure in ["fct.p99_ns", "hops.3.hosts.pauses", "marks", "fct.new"] {
            assert!(is_figure(figure), "{figure}");
        }
        let schema = crate::lab_schema();
        let lab = schema["properties"].as_object().unwrap().keys().map(String::as_str);
        let shorts = crate::study::Short::ALL.map(crate::study::Short::name);
        for axis in lab.chain(shorts).chain(["points", "*", "**"]) {
            assert!(!is_figure(axis), "{axis} is an axis, so no figure may begin with it");
        }
        assert_eq!(field("hops.2.switches.paused_ns").map(|field| field.unit), Some("ns"));
        assert_eq!(field("hops.2.paused_ns"), None);
    }
}
