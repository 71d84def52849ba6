//! The whole command line: a row for each form of a command, with its exit statuses and output.

/// One call of a command.
pub struct Row {
    /// The command, as clap knows it, such as `headroom calc`.
    pub command: &'static str,
    /// Arguments. `{tmp}` is a folder of the test.
    pub args: &'static str,
    /// Exit statuses that it may end with, for every kind of output.
    pub statuses: &'static [i32],
    /// True if it prints a result.
    pub prints: bool,
}

const fn row(command: &'static str, args: &'static str, statuses: &'static [i32]) -> Row {
    Row { command, args, statuses, prints: true }
}

const fn silent(command: &'static str, args: &'static str, statuses: &'static [i32]) -> Row {
    Row { command, args, statuses, prints: false }
}

/// A verdict that depends on the machine's load.
const ANY_VERDICT: &[i32] = &[0, 1, 4];

/// Every command at least once. Those of `ctl` send requests to a switch at `{tmp}/switch.sock`.
pub const ROWS: &[Row] = &[
    row("demo", "--seconds 1 --rate 100M", ANY_VERDICT),
    row("doctor", "--no-huge", &[0]),
    row("doctor", "--no-huge --format json", &[0]),
    row("doctor", "--selftest --port net_null0,no-rx=1 --no-huge", ANY_VERDICT),
    row("doctor", "--selftest --port ring:x.a --peer ring:x.b --no-huge", ANY_VERDICT),
    row(
        "switch",
        "{tmp}/null.yaml --no-huge --idle yield --duration 0.2s --control none",
        ANY_VERDICT,
    ),
    row("check", "configs/switch/tor4.yaml configs/labs/incast.yaml --elsewhere", &[0]),
    row("check", "configs/switch/tor4.yaml --elsewhere --format json", &[0]),
    row("check", "--schema lab", &[0]),
    silent("check", "{tmp}/none.yaml --format json -v", &[2]),
    row("headroom calc", "--model ieee --rate 100G --length 100m --explain", &[0]),
    row("headroom compare", "--rate 100G --length 100m --format json", &[0]),
    row("headroom reach", "--headroom 42096B --rate 100G", &[0]),
    row("headroom sensitivity", "--rate 100G", &[0]),
    row("headroom identify", "{tmp}/silent.pcap", &[4]),
    row("headroom measure", "--ring --no-huge --idle yield --rounds 3", ANY_VERDICT),
    row("pics", "pfc", &[0]),
    row("pics", "readings --format json", &[0]),
    row("gen", "configs/gen/pfc-storm.yaml --dry-run", &[0]),
    row("gen", "configs/gen/pfc-storm.yaml --dry-run --format json", &[0]),
    row("gen", "configs/gen/imix.yaml --world virtual --duration 1ms --quiet", ANY_VERDICT),
    row("gen", "configs/gen/imix.yaml --duration 0.2s --no-huge --idle yield", ANY_VERDICT),
    row("gen", "--self-test --no-huge", ANY_VERDICT),
    row("run", "configs/labs/incast.yaml", &[0]),
    row("run", "configs/labs/incast.yaml --format json", &[0]),
    row("run", "configs/labs/incast.yaml --set defaults.links.length=20m", &[0]),
    row("run", "configs/labs/incast.yaml --threads 2 --format json", &[0]),
    row("run", "{tmp}/small.yaml --world real --no-huge --idle yield", ANY_VERDICT),
    row("run", "configs/labs/incast.yaml {tmp}/small.yaml", ANY_VERDICT),
    row("run", "{tmp}/sweep.yaml", &[0]),
    row("run", "{tmp}/sweep.yaml --shard 1/2 --format json", &[0]),
    row("check", "{tmp}/sweep.yaml", &[0]),
    row("run", "{tmp}/search.yaml", &[0]),
    row("run", "{tmp}/search.yaml --format json", &[0]),
    row("check", "{tmp}/search.yaml", &[0]),
    row("explore", "{tmp}/small.yaml --axis flows.0.size=64,1518", &[0]),
    row("explore", "{tmp}/small.yaml --axis flows.0.size=64,1518 --all --format json", &[0]),
    row("validate", "--list", &[0]),
    row("validate", "--describe V-R01", &[0]),
    row("validate", "configs/validate/pause.yaml --only V-P01", &[0]),
    row("validate", "configs/validate/virtual.yaml --only V-R01", &[0]),
    row("validate", "configs/validate/virtual.yaml --only L01 --format json", &[0]),
    row("benchmark rfc2544", "{tmp}/benchmark.yaml", &[0]),
    row("benchmark rfc2544", "{tmp}/dut.yaml --only loss --format json", &[0]),
    row("benchmark mlrsearch", "{tmp}/benchmark.yaml", &[0]),
    row("benchmark rfc2889", "{tmp}/benchmark.yaml --only mesh", &[0]),
    row("benchmark rfc7640", "{tmp}/benchmark.yaml", &[4]),
    row("benchmark rfc8239", "{tmp}/benchmark.yaml", &[0]),
    row("benchmark lossless", "{tmp}/three.yaml --format json", &[0]),
    row("benchmark soak", "{tmp}/benchmark.yaml", &[0]),
    row("swarm", "--count 2", &[0]),
    row("swarm", "--replay {tmp}/small.yaml", &[0, 1]),
    row("swarm", "--join {tmp}/swarm.jsonl", &[0]),
    row("ctl show", "", &[0]),
    row("ctl show", "--format json", &[0]),
    row("ctl about", "", &[0]),
    row("ctl drops", "", &[0]),
    silent("ctl set-group", "a 0 --dynamic-th -1", &[0]),
    silent("ctl set-ecn", "a 0 --off", &[0]),
    silent("ctl link", "a up", &[0]),
    row("ctl neighbours", "", &[0]),
    row("ctl headroom", "", &[0]),
    row("ctl objects", "", &[0]),
    row("ctl objects", "--describe", &[0]),
    silent("ctl get", "sfcmTransmitPriority", &[0, 2]),
    silent("ctl set", "sfcmTransmitPriority 6", &[0, 2]),
    silent("ctl create", "sfc", &[0, 2]),
    silent("ctl delete", "sfc", &[0, 2]),
    row("ctl save", "", &[0]),
    row("ctl yang", "", &[0]),
    silent("ctl yang", "--modules {tmp}", &[0]),
    row("ctl measurements", "", &[0]),
    silent("ctl measurements", "a --hgrm {tmp}/a.hgrm", &[2]),
    silent("ctl watch", "--all --duration 0.2s", &[0]),
    row("ctl macsec show", "", &[0]),
    silent("ctl macsec install", "a --transmit --an 1 --key-file {tmp}/none", &[2]),
    silent("ctl macsec use", "a 1", &[2]),
    silent("ctl macsec remove", "a --transmit --an 1", &[2]),
    silent("ctl measure", "a", &[2]),
    silent("ctl clear", "", &[0]),
    silent("ctl flush-fdb", "", &[0]),
    silent("ctl stop", "", &[0]),
];

/// Commands that run until Ctrl-C, with the status and the expected content of their JSON then.
pub const LONG: &[(&str, &[i32], &str)] = &[
    ("demo --seconds 600 --rate 100M --format json", &[4], "runs"),
    (
        "switch {tmp}/null.yaml --no-huge --idle yield --control none --format json",
        ANY_VERDICT,
        "balance",
    ),
    (
        "headroom measure --ring --no-huge --count 10000 --period 10s --format json",
        &[4],
        "measurements",
    ),
    ("doctor --selftest --port ring:x.a --peer ring:x.b --no-huge --format json", &[4], "lines"),
    ("gen {tmp}/endless.yaml --no-huge --idle yield --format json", ANY_VERDICT, "flows"),
    ("gen {tmp}/endless.yaml --world virtual --format json", ANY_VERDICT, "flows"),
    ("run {tmp}/endless-lab.yaml --format json", &[4], "interrupted"),
    ("run {tmp}/endless-lab.yaml --world real --no-huge --format json", &[4], "interrupted"),
    ("run {tmp}/endless-lab.yaml {tmp}/small.yaml --format json", &[4], "verdict"),
    ("run {tmp}/endless-sweep.yaml --format json", &[4], "verdicts"),
    ("explore {tmp}/endless-lab.yaml --axis flows.0.size=100,200 --format json", &[4], "points"),
    ("validate configs/validate/virtual.yaml --level full --format json", &[4], "interrupted"),
    ("benchmark rfc2544 configs/validate/virtual.yaml --format json", &[4], "runs"),
    ("swarm --count 100000000 --format json", &[4], "labs"),
    ("gen --listen 127.0.0.1:0 --no-huge", &[0], ""),
];

/// The procedures of `benchmark`, each with a device file of which a run would take long.
const PROCEDURES: [(&str, &str); 7] = [
    ("rfc2544", "configs/validate/virtual.yaml"),
    ("rfc2889", "{tmp}/dut.yaml"),
    ("rfc7640", "{tmp}/dut.yaml"),
    ("rfc8239", "{tmp}/dut.yaml"),
    ("lossless", "{tmp}/dut.yaml"),
    ("soak", "{tmp}/dut.yaml"),
    ("mlrsearch", "{tmp}/dut.yaml"),
];

/// All of [`WRITTEN`], and the outputs that every procedure of `benchmark` has.
pub fn written() -> Vec<(String, &'static str, String)> {
    let own = WRITTEN
        .iter()
        .map(|(command, option, line)| ((*command).to_owned(), *option, (*line).to_owned()));
    let benchmarks = PROCEDURES.iter().flat_map(|(procedure, file)| {
        ["json", "jsonl", "csv", "report", "junit"].map(|option| {
            let command = format!("benchmark {procedure}");
            let line = format!("{command} {file} --{option} {{path}}");
            (command, option, line)
        })
    });
    own.chain(benchmarks).collect()
}

/// True if an argument names a path that is read, or that is no file.
pub fn is_read(command: &str, argument: &str) -> bool {
    let group = command.split(' ').next().unwrap_or_default();
    let is_it = |(of, arg): &(&str, &str)| *arg == argument && (*of == command || *of == group);
    READ.iter().any(is_it)
}

/// Arguments that name files to be written, and a call with each; `{path}` is the file, and the
/// call would otherwise run for long.
const WRITTEN: &[(&str, &str, &str)] = &[
    ("doctor", "json", "doctor --selftest --port ring:x.a --peer ring:x.b --no-huge --json {path}"),
    ("run", "report", "run {tmp}/endless-lab.yaml --report {path}"),
    ("run", "report", "run {tmp}/endless-lab.yaml {tmp}/small.yaml --report {path}"),
    ("run", "rows", "run {tmp}/endless-sweep.yaml --rows {path}"),
    ("run", "rows", "run {tmp}/endless-lab.yaml --rows {path}"),
    ("run", "keep", "run {tmp}/endless-sweep.yaml --keep {path}"),
    ("run", "pcapng", "run {tmp}/endless-lab.yaml --pcapng h1-s1={path}"),
    ("gen", "report", "gen {tmp}/endless.yaml --world virtual --report {path}"),
    ("gen", "csv", "gen {tmp}/endless.yaml --world virtual --csv {path}"),
    ("gen", "hgrm", "gen {tmp}/endless.yaml --world virtual --hgrm {path}"),
    ("gen", "captures", "gen {tmp}/endless.yaml --no-huge --captures {path}"),
    ("validate", "jsonl", "validate configs/validate/virtual.yaml --jsonl {path}"),
    ("validate", "junit", "validate configs/validate/virtual.yaml --junit {path}"),
    ("validate", "report", "validate configs/validate/virtual.yaml --report {path}"),
    ("validate", "captures", "validate configs/validate/virtual.yaml --captures {path}"),
    ("validate", "ctrf", "validate configs/validate/virtual.yaml --ctrf {path}"),
    ("validate", "prometheus", "validate configs/validate/virtual.yaml --prometheus {path}"),
    ("explore", "report", "explore {tmp}/small.yaml --axis flows.0.size=64,1518 --report {path}"),
    ("run", "csv", "run {tmp}/endless-lab.yaml --csv {path}"),
    #[cfg(feature = "parquet")]
    ("run", "parquet", "run {tmp}/endless-lab.yaml --parquet {path}"),
    ("swarm", "keep", "swarm --count 100000000 --keep {path}"),
    ("swarm", "rows", "swarm --count 100000000 --rows {path}"),
];

/// Arguments with paths that are read, or are not files.
const READ: &[(&str, &str)] = &[
    ("run", "files"),
    ("explore", "file"),
    ("gen", "file"),
    ("gen", "client_ca"),
    ("check", "files"),
    ("switch", "file"),
    ("switch", "control"),
    ("ctl", "control"),
    ("ctl macsec install", "key_file"),
    // Written with the answer of a switch: see tests/real/switch_control.rs.
    ("ctl save", "file"),
    // The same: see tests/outside/yang.rs.
    ("ctl measurements", "hgrm"),
    // A folder.
    ("ctl yang", "modules"),
    ("swarm", "replay"),
    ("swarm", "join"),
    ("validate", "file"),
    ("benchmark", "file"),
    ("benchmark", "baseline"),
    ("benchmark", "resume"),
    ("headroom compare", "measured_from"),
    ("headroom sensitivity", "from"),
    ("headroom identify", "capture"),
];
