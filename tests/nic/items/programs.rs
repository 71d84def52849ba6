//! Sluice's commands between the ports of a pair.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::model::Pair;
use crate::outcome::Undecided;
use crate::programs::{Output, Running, run};

/// Folder of files that the commands read.
const FOLDER: &str = "/tmp";

/// Frames of each flow.
const FRAMES: u64 = 1_500;

/// Lines of the self-test whose verdict depends on the time that its threads get: they share a CPU here.
const TIMED: [&str; 3] = ["own_pfc", "nic_pause", "nic_pfc"];

/// Pauses per second: at 10 Gb/s each lasts 3.4 ms.
const PAUSES: u64 = 600;

/// Frames to a switch: more than its buffer has room for.
const OVERLOAD: u64 = 4_000;

/// Checks that a command passed. One that the machine disturbed is not judged.
fn passed(output: &Output) -> Result<Value> {
    if output.status == Some(4) {
        let why = output.json()?;
        return Err(Undecided(why["disturbance"].to_string()).into());
    }
    ensure!(output.status == Some(0), "status {:?}: {}", output.status, output.all);
    output.json()
}

/// The element of a list with this name.
fn named<'a>(list: &'a Value, name: &str) -> Result<&'a Value> {
    let found = list.as_array().and_then(|all| all.iter().find(|one| one["name"] == name));
    found.with_context(|| format!("no {name} in {list}"))
}

fn count(value: &Value) -> Result<u64> {
    value.as_u64().with_context(|| format!("no number: {value}"))
}

/// `sluice doctor` opens the device, finds its link up and its abilities.
pub fn doctor(pair: &Pair) -> Result<String> {
    let output = run("sluice", &["doctor", "--port", &pair.a])?;
    ensure!(output.status == Some(0), "status {:?}: {}", output.status, output.all);
    let of_port = output.stdout.split(&format!("\n{}\n", pair.a)).nth(1).context("no port")?;
    ensure!(of_port.contains(pair.model.dpdk), "its driver is not named: {of_port}");
    let told = |line: &&str| ["flow control", "timestamps"].iter().any(|word| line.contains(word));
    let lines: Vec<_> = of_port.lines().map(str::trim).filter(told).collect();
    Ok(lines.join("; "))
}

/// `sluice doctor --selftest` finds that the lines fail that this emulation fails, and no others. Its report goes to the host, as a file.
pub fn selftest(pair: &Pair) -> Result<String> {
    let path = format!("{FOLDER}/report.json");
    let args = ["doctor", "--selftest", "--port", &pair.a, "--peer", &pair.b, "--json", &path];
    let output = run("sluice", &args)?;
    let text = fs::read_to_string(&path).with_context(|| output.all.clone())?;
    let report: Value = serde_json::from_str(&text)?;
    crate::channel::report(&format!("report {} {}", pair.model.name, text.replace('\n', " ")))?;
    let mut by_verdict = BTreeMap::<_, Vec<_>>::new();
    for line in report["lines"].as_array().context("no lines")? {
        let verdict = line["verdict"].as_str().context("no verdict")?;
        by_verdict.entry(verdict).or_default().push(line["check"].as_str().unwrap_or_default());
    }
    let note: Vec<_> =
        by_verdict.iter().map(|(word, of)| format!("{word}: {}", of.join(" "))).collect();
    let note = note.join("; ");
    let fails = by_verdict.get("fails").map_or(&[][..], Vec::as_slice);
    if fails != pair.model.fails && fails.iter().any(|check| TIMED.contains(check)) {
        return Err(Undecided(note).into());
    }
    ensure!(fails == pair.model.fails, "status {:?}; {note}", output.status);
    ensure!(output.status == Some(u8::from(!fails.is_empty()).into()), "{:?}", output.status);
    Ok(note)
}

/// A generator's file with ports that obey pauses of the priorities 3 and 4; `flows` are the rest.
fn generator_file(pair: &Pair, ports: &[&str], flows: &[String]) -> Result<String> {
    let mut text = String::from("ports:\n");
    for (name, device) in ports.iter().zip([&pair.b, &pair.a]) {
        text += &format!("- {{name: {name}, location: '{device}'}}\n");
    }
    text += &format!(
        "layer1:\n\
         - name: link\n\
         \x20 port_names: [{}]\n\
         \x20 speed: {}\n\
         \x20 flow_control:\n\
         \x20   choice: ieee_802_1qbb\n\
         \x20   ieee_802_1qbb: {{pfc_delay: 0, pfc_class_3: 3, pfc_class_4: 4}}\n",
        ports.join(", "),
        if pair.model.rate == "10G" { "speed_10_gbps" } else { "speed_1_gbps" }
    );
    text += "flows:\n";
    text += &flows.concat();
    let path = format!("{FOLDER}/gen.yaml");
    fs::write(&path, text)?;
    Ok(path)
}

/// A flow of tagged frames of a priority.
fn flow(name: &str, ports: [&str; 2], priority: u8, pps: u64, frames: u64) -> String {
    let to = if ports[1].is_empty() { "[]".into() } else { format!("[{}]", ports[1]) };
    let counts_loss = !ports[1].is_empty();
    format!(
        "- name: {name}\n\
         \x20 tx_rx: {{choice: port, port: {{tx_name: {}, rx_names: {to}}}}}\n\
         \x20 packet:\n\
         \x20 - {{choice: ethernet, ethernet: {{src: {{choice: value, value: '02:00:00:00:01:01'}}, \
         dst: {{choice: value, value: '02:00:00:00:01:02'}}, \
         pfc_queue: {{choice: value, value: {priority}}}}}}}\n\
         \x20 - {{choice: vlan, vlan: {{id: {{choice: value, value: 1}}, \
         priority: {{choice: value, value: {priority}}}}}}}\n\
         \x20 size: {{choice: fixed, fixed: 1000}}\n\
         \x20 rate: {{choice: pps, pps: {pps}}}\n\
         \x20 duration: {{choice: fixed_packets, fixed_packets: {{packets: {frames}}}}}\n\
         \x20 metrics: {{enable: true, loss: {counts_loss}}}\n",
        ports[0]
    )
}

/// Pauses of priority 3 from `from` without end.
fn pauses(from: &str, to: &str) -> String {
    format!(
        "- name: storm\n\
         \x20 tx_rx: {{choice: port, port: {{tx_name: {from}, rx_names: [{to}]}}}}\n\
         \x20 packet:\n\
         \x20 - {{choice: pfcpause, pfcpause: {{src: {{choice: value, value: '02:00:00:00:01:02'}}, \
         class_enable_vector: {{choice: value, value: 8}}, \
         pause_class_3: {{choice: value, value: 65535}}}}}}\n\
         \x20 rate: {{choice: pps, pps: {PAUSES}}}\n\
         \x20 duration: {{choice: continuous, continuous: {{delay: \
         {{choice: microseconds, microseconds: 300000}}}}}}\n"
    )
}

fn generate(file: &str) -> Result<Output> {
    run("sluice", &["gen", file, "--format", "json", "--idle", "yield"])
}

/// Flows both ways lose nothing.
pub fn generator(pair: &Pair) -> Result<String> {
    let flows = [
        flow("there", ["p1", "p2"], 3, 2_000, FRAMES),
        flow("back", ["p2", "p1"], 4, 2_000, FRAMES),
    ];
    let result = passed(&generate(&generator_file(pair, &["p1", "p2"], &flows)?)?)?;
    for name in ["there", "back"] {
        let flow = named(&result["flows"], name)?;
        let counts = (count(&flow["frames_tx"])?, count(&flow["frames_rx"])?);
        ensure!(counts == (FRAMES, FRAMES), "{name}: {counts:?} of {FRAMES}");
    }
    Ok(format!("{FRAMES} of {FRAMES} frames each way"))
}

/// A PFC storm stops the flow of its priority and not the other.
pub fn storm(pair: &Pair) -> Result<String> {
    let flows = [
        flow("on3", ["p1", "p2"], 3, 1_000, FRAMES),
        flow("on4", ["p1", "p2"], 4, 1_000, FRAMES),
        pauses("p2", "p1"),
    ];
    let file = generator_file(pair, &["p1", "p2"], &flows)?;
    let args = ["gen", &file, "--format", "json", "--idle", "yield", "--duration", "3s"];
    // The run ends by its duration, with a flow that could not be sent: that is what a storm does.
    let output = run("sluice", &args)?;
    let result = output.json()?;
    let of = |name| -> Result<(u64, u64)> {
        let flow = named(&result["flows"], name)?;
        Ok((count(&flow["frames_tx"])?, count(&flow["frames_rx"])?))
    };
    let (stopped, free) = (of("on3")?, of("on4")?);
    ensure!(stopped.0 == stopped.1, "on3 lost frames: {stopped:?}");
    ensure!(free == (FRAMES, FRAMES), "on4 was disturbed: {free:?} of {FRAMES}: {}", output.all);
    ensure!(stopped.0 < FRAMES * 2 / 3, "on3 went on in the storm: {stopped:?}");
    ensure!(stopped.0 > 0, "on3 did not begin");
    let pfc = &named(&result["ports"], "p1")?["priorities"][3];
    Ok(format!("priority 3 stopped after {} of {FRAMES} frames; {pfc}", stopped.0))
}

/// The file of a switch whose second port is slow, so that the first one has to pause its peer.
fn switch_file(pair: &Pair) -> Result<String> {
    let path = format!("{FOLDER}/switch.yaml");
    // The switch and its peer share a CPU.
    let (gap, total) = if pair.model.rate == "10G" { ("500us", "6MiB") } else { ("2ms", "3MiB") };
    let text = format!(
        "defaults: {{pfc: {{enable: [3]}}, link: {{poll_gap: {gap}, peer_response: {gap}}}}}\n\
         buffer: {{total: {total}}}\n\
         ports:\n\
         - {{name: left, device: '{}', rate: {}}}\n\
         - {{name: right, device: 'net_null1,no-rx=1', rate: 20M}}\n",
        pair.a, pair.model.rate
    );
    fs::write(&path, text)?;
    Ok(path)
}

/// A switch on one port pauses a generator on the other, and loses nothing.
pub fn switch(pair: &Pair) -> Result<String> {
    let socket = format!("{FOLDER}/switch.sock");
    let file = switch_file(pair)?;
    let args = ["switch", &file, "--format", "json", "--idle", "yield", "--ignore-late-polls"];
    let switch = Running::start("sluice", &[&args[..], &["--control", &socket]].concat())?;
    let started = Instant::now();
    while !Path::new(&socket).exists() {
        if started.elapsed() > Duration::from_secs(20) {
            switch.stop()?;
            bail!("the switch does not start: {}", switch.end()?.all);
        }
        thread::sleep(Duration::from_millis(50));
    }
    let flows = [flow("f", ["p1", ""], 3, 5_000, OVERLOAD)];
    let generated = generate(&generator_file(pair, &["p1"], &flows)?);
    // Queued frames have to leave by the slow port.
    thread::sleep(Duration::from_secs(2));
    switch.stop()?;
    let summary = switch.end()?;
    let generated = generated?;
    let result = generated.json()?;
    let sent = count(&named(&result["flows"], "f")?["frames_tx"])?;
    ensure!(sent == OVERLOAD, "{sent} of {OVERLOAD} frames were sent: {}", generated.all);
    let of_switch = passed(&summary)?;
    let left = &of_switch["ports"][0]["priorities"][3];
    let received = count(&left["rx_frames"])?;
    ensure!(received == sent, "{received} of {sent} frames came: {left}: {}", summary.all);
    ensure!(of_switch["lossless_lost_frames"] == 0, "lost: {}", summary.all);
    let left_pauses = count(&left["pfc_tx_frames"])?;
    ensure!(left_pauses > 0, "the switch sent no PFC: {left}");
    let at_peer = &named(&result["ports"], "p1")?["priorities"][3];
    Ok(format!("{received} of {sent} frames, {left_pauses} PFC frames sent; at the peer {at_peer}"))
}

/// Measures the pair by a method, and returns the result of the measurement.
pub fn measure(pair: &Pair, more: &[&str]) -> Result<Value> {
    let args = ["headroom", "measure", "--port", &pair.a, "--port", &pair.b, "--format", "json"];
    let result = passed(&run("sluice", &[&args[..], more].concat())?)?;
    ensure!(result["state"] == "measured", "{result}");
    Ok(result["measurements"][0].clone())
}

/// A measurement as text: its figures, sources and uncertainty.
pub fn described(m: &Value) -> String {
    let (delay, sources) = (&m["delay_ns"], &m["sources"]);
    format!(
        "{} rounds, {} to {} ns, mean {}, uncertainty {} ns; t1 {}, t2 {}, t3 {}, t4 {}",
        m["rounds"],
        delay["min"],
        delay["max"],
        delay["mean"],
        m["uncertainty_ns"],
        sources["t1"],
        sources["t2"],
        sources["t3"],
        sources["t4"]
    )
    .replace('"', "")
}

/// The headroom is measured by requests and responses.
pub fn round_trip(pair: &Pair) -> Result<String> {
    Ok(described(&measure(pair, &[])?))
}

/// The headroom is measured by PTP's peer delay.
pub fn ptp(pair: &Pair) -> Result<String> {
    Ok(described(&measure(pair, &["--method", "ptp", "--interval", "2ms"])?))
}
