//! The headroom models against published numbers, in the library and through the command.

mod identify;
mod polled;

use std::process::Output;

use serde_json::Value;
use sluice::headroom::models::sonic::{Asic, Formula};
use sluice::headroom::models::{Estimate, cisco, ieee, mlx5, sonic};
use sluice::headroom::{Extender, Fec, Phy};
use sluice::units::{BitsPerSec, Bytes};

use crate::run;

fn gbps(n: u64) -> BitsPerSec {
    BitsPerSec::gbps(n)
}

fn adds_up(e: &Estimate) {
    assert_eq!(e.terms.iter().map(|t| t.bits).sum::<i64>(), e.bits() as i64);
    assert!(e.terms.iter().all(|t| !t.name.is_empty() && !t.source.is_empty()), "{e:?}");
}

/// The table of the 802.1Qdt proposals and of 802.3's delay tables: 2000-byte frames, 5 ns/m.
#[test]
fn the_delay_values_of_the_standard() {
    for (rate, metres, fec, bytes) in [
        (100, 20, Fec::None, 32_096),
        (100, 100, Fec::None, 42_096),
        (100, 500, Fec::None, 92_096),
        (100, 100, Fec::Rs, 52_336),
        (10, 100, Fec::None, 9_214),
        (25, 100, Fec::None, 13_265),
        (25, 100, Fec::Rs, 19_409),
        (40, 100, Fec::None, 20_388),
        (200, 100, Fec::None, 102_468),
        (400, 100, Fec::None, 200_684),
    ] {
        let link = ieee::Inputs::new(gbps(rate), metres * 1_000);
        let link = link.on(None, fec, Extender::None).unwrap();
        let e = ieee::estimate(&link).unwrap();
        assert_eq!(e.bytes(), Bytes(bytes), "{rate}G {metres} m {fec}");
        adds_up(&e);
    }
    let xaui = ieee::Inputs::new(gbps(10), 100_000);
    let xaui = xaui.on(Some(Phy::Base10T), Fec::None, Extender::Xaui).unwrap();
    assert_eq!(ieee::estimate(&xaui).unwrap().bytes(), Bytes(15_614));
}

#[test]
fn ciscos_five_factors_as_printed_and_complete() {
    let link = cisco::Inputs::new(gbps(10), 300_000);
    let printed = cisco::estimate(&link).unwrap();
    assert_eq!(printed.bytes(), Bytes(21_635));
    let complete = cisco::Inputs { sum: cisco::Sum::Complete, ..link };
    let complete = cisco::estimate(&complete).unwrap();
    assert_eq!(complete.bytes(), Bytes(25_475));
    assert_eq!(printed.figures, complete.figures);
    adds_up(&printed);
    adds_up(&complete);
    // The factors one by one: 9216 twice, 641 per 100 m, 640 twice.
    let short = cisco::estimate(&cisco::Inputs { length_mm: 100_000, ..link }).unwrap();
    assert_eq!(short.bytes(), Bytes(9_216 * 2 + 641 + 640 * 2));
    let both = cisco::estimate(&cisco::Inputs { both_ways: true, ..link }).unwrap();
    assert_eq!(both.bytes(), Bytes(21_635 + 3 * 641));
    // 476 ns for 100 m of copper are 595 bytes.
    let copper = cisco::estimate(&cisco::Inputs { ps_per_metre: 4_760, ..link }).unwrap();
    assert_eq!(copper.bytes(), Bytes(21_635 - 3 * (641 - 595)));
}

#[test]
fn the_nic_drivers_formula() {
    for (rate, mtu, metres, bytes) in
        [(100, 1_500, 7, 35_692), (100, 1_500, 100, 55_780), (400, 9_000, 100, 231_280)]
    {
        let link =
            mlx5::Inputs { mtu: Bytes(mtu), ..mlx5::Inputs::new(gbps(rate), metres * 1_000) };
        let e = mlx5::estimate(&link).unwrap();
        assert_eq!(e.bytes(), Bytes(bytes), "{rate}G {mtu} B {metres} m");
        adds_up(&e);
    }
}

/// One row of the table, by column.
struct Row<'a> {
    names: Vec<&'a str>,
    cells: Vec<&'a str>,
}

impl Row<'_> {
    fn get(&self, name: &str) -> u64 {
        let at = self.names.iter().position(|n| *n == name).expect("a column");
        self.cells[at].parse().expect("a number")
    }
}

fn rows() -> Vec<Row<'static>> {
    let mut lines = include_str!("headroom_models/sonic_dynamic.csv").lines();
    let split = |line: &'static str| line.trim().split(',').collect::<Vec<_>>();
    let names = split(lines.next().expect("a head"));
    lines.map(|line| Row { names: names.clone(), cells: split(line) }).collect()
}

#[test]
fn every_row_of_sonics_dynamic_model() {
    let rows = rows();
    assert_eq!(rows.len(), 210);
    for (n, row) in rows.iter().enumerate() {
        let generation = row.get("spectrum") as u8;
        let known = Asic::spectrum(generation).unwrap();
        let asic = Asic {
            cell: row.get("cell_B") as u32,
            pipeline_kib: row.get("pipeline_KB") as f64,
            ..known
        };
        assert_eq!(asic, known, "the chip's own figures are those of the table");
        let rate = BitsPerSec::new(row.get("speed_mbps") * 1_000_000).unwrap();
        let e = sonic::estimate(&sonic::Inputs {
            port_mtu: Bytes(row.get("port_mtu")),
            lanes: row.get("lanes") as u8,
            lossless_mtu: Bytes(row.get("lossless_mtu")),
            small_packets: row.get("small_pkt_pct") as f64,
            shared_pool: row.get("shp") == 1,
            formula: Formula::Current,
            ..sonic::Inputs::new(rate, row.get("cable_m") * 1_000, asic)
        })
        .unwrap();
        let expected = ["xon", "xoff", "size"].map(|name| (name, Bytes(row.get(name))));
        assert_eq!(e.figures, expected, "row {}", n + 2);
        assert_eq!(e.bytes(), expected[1].1);
        adds_up(&e);
    }
}

fn sluice(args: &str) -> Output {
    let args = args.split_whitespace();
    run::sluice().arg("headroom").args(args).output().unwrap()
}

fn json(args: &str) -> Value {
    let out = sluice(&format!("{args} --format json"));
    assert!(out.status.success(), "{args}: {}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

/// Asserts that what a command prints has these parts.
#[track_caller]
fn prints(args: &str, parts: &[&str]) {
    let out = sluice(args);
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success(), "{args}: {text}");
    for part in parts {
        assert!(text.contains(part), "{args}: {part} in\n{text}");
    }
}

/// Asserts that a command is refused as bad input, by a message with these parts.
#[track_caller]
fn refused(args: &str, parts: &[&str]) {
    let out = sluice(args);
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{args}: {text}");
    for part in parts {
        assert!(text.contains(part), "{args}: {part} in {text}");
    }
}

/// Writes a file for a command, and returns its path.
fn file(name: &str, text: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

fn calc(args: &str) -> u64 {
    let out = json(&format!("calc {args}"));
    let bits: i64 =
        out["terms"].as_array().unwrap().iter().map(|t| t["bits"].as_i64().unwrap()).sum();
    assert_eq!(out["bits"].as_i64(), Some(bits), "{out}");
    assert_eq!(out["model"].as_str(), args.split_whitespace().nth(1), "{out}");
    out["bytes"].as_u64().unwrap()
}

#[test]
fn the_command_gives_the_same_numbers() {
    assert_eq!(calc("--model ieee --rate 100G --length 100m"), 42_096);
    assert_eq!(calc("--model ieee --rate 100G --length 0.5km --max-frame 2000B"), 92_096);
    assert_eq!(calc("--model ieee --rate 100G --length 100m --fec rs"), 52_336);
    assert_eq!(
        calc("--model ieee --rate 10G --length 100m --phy 10GBASE-T --extender xaui"),
        15_614
    );
    assert_eq!(calc("--model ieee --rate 100G --length 100m --macsec 32 --macsec-pfc"), 42_192);
    assert_eq!(calc("--model cisco --rate 10G --length 300m --mtu 9216"), 21_635);
    assert_eq!(calc("--model cisco --rate 10G --length 300m --complete"), 25_475);
    assert_eq!(calc("--model mlx5 --rate 100G --length 7m"), 35_692);
    assert_eq!(calc("--model mlx5 --rate 400Gbps --length 100m --mtu 9000"), 231_280);
    let row = "--model sonic --asic spectrum6 --rate 400G --length 100m --lanes 8 \
               --lossless-mtu 1024 --small-packets 50%";
    assert_eq!(calc(row), 182_272);
    let all = json(&format!("calc {row}"));
    assert_eq!((all["xon"].as_u64(), all["size"].as_u64()), (Some(86_016), Some(277_504)));
}

/// A rate that no link has gives absurd sums, so every model refuses it, and names the option.
#[test]
fn a_rate_below_any_link_is_refused_by_every_verb() {
    let calc = ["ieee", "cisco", "sonic", "mlx5"].map(|model| format!("calc --model {model}"));
    for verb in calc.iter().map(String::as_str).chain(["compare"]) {
        let args = format!("{verb} --length 100m --rate");
        refused(&format!("{args} 400bps"), &["--rate", "400bps", "1 Mb/s", "write M or G"]);
        // The slowest link that the model covers.
        let slow = sluice(&format!("{args} 1M"));
        assert!(!String::from_utf8_lossy(&slow.stderr).contains("is below"), "{verb}");
    }
}

/// With cells of 208 bytes, frames of 64 fill one for every 84 bytes of the line. The frame that
/// triggers XOFF has 10 cells in the switch's buffer.
#[test]
fn with_a_cell_the_sum_has_what_short_frames_waste() {
    let waste = |out: &Value| out["terms"].as_array().unwrap().last().unwrap().clone();
    for (model, delay, own) in [("ieee", 42_096_u64, 10), ("cisco", 37_644, 0), ("mlx5", 55_780, 0)]
    {
        let line = format!("calc --model {model} --rate 100G --length 100m");
        assert_eq!(json(&line)["bytes"], delay, "{model}");
        let out = json(&format!("{line} --cell 208"));
        let cells = delay.div_ceil(84) + own;
        assert_eq!((&out["cells"], &out["bytes"]), (&cells.into(), &(cells * 208).into()), "{out}");
        assert_eq!(out["cell"], 208);
        assert_eq!(waste(&out)["name"], "cells that short frames waste");
    }
    // A cell of one byte wastes nothing, and the gaps between frames need no room: the term is
    // negative.
    let out = json("calc --model ieee --rate 100G --length 100m --cell 1");
    assert!(waste(&out)["bits"].as_i64().unwrap() < 0, "{out}");
    assert_eq!(out["bytes"], (42_096_u64 * 2_000).div_ceil(2_020) + 2_000);
}

/// Groups of all switches of a `check --format json`: the need, its sum, and the command for it.
fn groups<'a>(value: &'a Value, out: &mut Vec<(&'a Value, &'a Value, &'a Value)>) {
    match value {
        Value::Object(fields) => {
            if value["headroom_required_bytes"].as_u64().is_some_and(|n| n > 0) {
                let of = |name: &str| &value[name];
                out.push((of("headroom_required_bytes"), of("headroom_sum"), of("headroom_calc")));
            }
            fields.values().for_each(|v| groups(v, out));
        }
        Value::Array(items) => items.iter().for_each(|v| groups(v, out)),
        _ => {}
    }
}

fn check(file: &std::path::Path) -> Output {
    let mut command = run::sluice();
    command.arg("check").arg(file).args(["--elsewhere", "--format", "json"]).output().unwrap()
}

/// The need of a group by `check`, by `calc` for the same link, and by the sum of the terms are one
/// number, to the byte, in every example file.
#[test]
fn check_and_calc_and_the_sum_are_one_number() {
    let configs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("configs");
    let files = ["switch", "labs", "labs/oracles", "labs/compare"].map(|dir| configs.join(dir));
    let files = files.iter().flat_map(|dir| dir.read_dir().unwrap()).map(|e| e.unwrap().path());
    let mut compared = std::collections::BTreeSet::new();
    for file in files.filter(|f| f.extension().is_some_and(|e| e == "yaml")) {
        let out = check(&file);
        assert!(
            out.status.success(),
            "{}: {}",
            file.display(),
            String::from_utf8_lossy(&out.stderr)
        );
        let value: Value = serde_json::from_slice(&out.stdout).unwrap();
        let mut all = vec![];
        groups(&value, &mut all);
        for (needed, sum, command) in all {
            let sum = sum.as_str().unwrap();
            assert!(
                sum.starts_with(&format!("{needed} B = ")),
                "{}: {needed}: {sum}",
                file.display()
            );
            assert!(sum.contains("cells that short frames waste"), "{sum}");
            let Some(command) = command.as_str() else { continue };
            if compared.insert((command.to_owned(), needed.as_u64())) {
                let arguments = command.strip_prefix("sluice headroom ").expect(command);
                assert_eq!(&json(arguments)["bytes"], needed, "{}: {command}", file.display());
            }
        }
    }
    assert!(compared.len() > 10, "{compared:?}");
}

/// A refusal has the same number, and a lab's names the setting that makes it a warning.
#[test]
fn a_refusal_has_the_number_of_calc_and_names_its_remedies() {
    let refused = |name: &str, text: &str| {
        let out = check(file(name, text).as_ref());
        assert_eq!(out.status.code(), Some(2));
        String::from_utf8([out.stderr, out.stdout].concat()).unwrap()
    };
    let lab = "duration: 1ms\nprofiles: {tor: {max_frame: 2000, buffer: {cell: 208, profiles: {lossless: \
               {lossless: {xoff: 100KB}}}}, defaults: {pfc: {enable: [3]}}}}\n\
               topology: {star: {hosts: 2}}\ndefaults: {links: {rate: 100G, length: 100m}}\n";
    let said = refused("short-headroom-lab.yaml", lab);
    let needed = calc("--model ieee --rate 100G --length 100m --cell 208");
    for part in
        [format!("raise xoff to {needed}"), format!("{needed} B = "), "headroom_check".into()]
    {
        assert!(said.contains(&part), "{part} is not in {said}");
    }
    // A switch file has no such setting.
    let ports = "defaults: {rate: 1G, pfc: {enable: [3]}}\n\
                 buffer: {profiles: {lossless: {lossless: {xoff: 2KB}}}}\n\
                 ports: [{device: net_null0}, {device: net_null1}]\n";
    let said = refused("short-headroom-switch.yaml", ports);
    assert!(said.contains("raise xoff to") && !said.contains("headroom_check"), "{said}");
}

#[test]
fn rates_above_400g_have_answers_that_say_what_is_assumed() {
    for rate in ["800G", "1600G"] {
        let out = json(&format!("calc --model ieee --rate {rate} --length 100m"));
        let terms = out["terms"].as_array().unwrap();
        let assumed = terms.iter().filter(|t| t["source"].as_str().unwrap().starts_with("assumed"));
        assert_eq!(assumed.count(), 4, "{out}");
        let rows = json(&format!("compare --rate {rate} --length 100m"));
        assert!(rows.as_array().unwrap().iter().all(|r| r["bytes"].as_u64() > Some(0)), "{rows}");
        assert!(rows[0]["assumed"][0].as_str().unwrap().starts_with("assumed: "), "{rows}");
        // Tables say so without --explain.
        let assumed = "assumed: the times of 400GBASE-R";
        prints(
            &format!("calc --model ieee --rate {rate} --length 100m"),
            &["\nassumed: the times"],
        );
        prints(&format!("compare --rate {rate} --length 100m"), &[&format!("ieee: {assumed}")]);
        prints(&format!("reach --headroom 1MB --rate {rate}"), &[&format!("BASE-R: {assumed}")]);
    }
    for verb in ["calc --model ieee --length 1m", "compare --length 1m", "reach --headroom 1MB"] {
        let out = sluice(&format!("{verb} --rate 400G"));
        assert!(!String::from_utf8_lossy(&out.stdout).contains("assumed"), "{verb}");
    }
    // 400G for comparison: nothing is assumed, and times are the same, so bits are twice as many.
    let delay = |rate: u64| {
        let e = ieee::estimate(&ieee::Inputs::new(gbps(rate), 0)).unwrap();
        e.bits() - 32_992
    };
    assert_eq!(delay(800), 2 * delay(400));
}

#[test]
fn the_explanation_has_every_term() {
    let parts = ["42,096", "100,000", "cable both ways", "PCS", "802.1Q Annex N", "2 x interface"];
    prints("calc --model ieee --rate 100G --length 100m --explain", &parts);
}

#[test]
fn models_stand_side_by_side_with_a_measurement() {
    let out = json("compare --rate 100G --length 100m --measured 41000");
    let rows = out.as_array().unwrap();
    let of = |name: &str| rows.iter().find(|r| r["model"] == name).expect(name)["bytes"].as_u64();
    assert_eq!(of("ieee"), Some(42_096));
    assert_eq!(of("mlx5"), Some(55_780));
    assert_eq!(of("measured"), Some(41_000));
    assert!(of("cisco") < of("cisco complete") && of("sonic").is_some());
    // A model without a result gives the reason, and the others still give theirs.
    prints("compare --rate 50G --length 100m", &["no delay table"]);
}

#[test]
fn a_measurement_is_read_from_its_file() {
    let from = |name: &str, text: &str| {
        format!("compare --rate 100G --length 100m --measured-from {}", file(name, text))
    };
    let good =
        r#"{"rate_bps": 100000000000, "headroom": {"bytes": 41000, "bits": 328000}, "n": 1}"#;
    let good = from("measured.json", good);
    let out = json(&good);
    assert_eq!((&out[0]["model"], &out[0]["bytes"]), (&"measured".into(), &41_000.into()));
    assert_eq!(out[0]["percent"], 100.0);
    for (name, text) in
        [("empty.json", ""), ("none.json", "{}"), ("null.json", r#"{"headroom": null}"#)]
    {
        refused(&from(name, text), &[name, "headroom measure"]);
    }
    let failed =
        r#"{"rate_bps": 100000000000, "failure": "0 answers to 9 requests", "measurements": []}"#;
    let part = "has no measurement that succeeded: 0 answers to 9 requests";
    refused(&from("failed.json", failed), &[part]);
    // A link of another rate has another headroom.
    let slower = good.replace("--rate 100G", "--rate 40G");
    refused(&slower, &["of a link of 100 Gb/s, and --rate is 40 Gb/s"]);
    refused("compare --rate 100G --length 100m --measured-from nowhere.json", &[]);
    for line in [&format!("{good} --measured 1KB"), "compare --rate 100G --measured 0B"] {
        refused(line, &[]);
    }
}

#[test]
fn every_sum_is_explained_side_by_side() {
    let parts =
        ["ieee = 2 x cable", "cisco complete = ", "mlx5 = (301", "cable both ways", "42,096"];
    prints("compare --rate 100G --length 100m --explain", &parts);
    let rows = json("compare --rate 100G --length 100m --explain");
    for row in rows.as_array().unwrap() {
        let bits = |v: &Value| v["bits"].as_i64().unwrap();
        let sum: i64 = row["terms"].as_array().unwrap().iter().map(bits).sum();
        assert_eq!(sum, bits(row), "{row}");
    }
}

#[test]
fn refusals_name_the_option_and_the_remedy() {
    for (args, parts) in [
        ("calc --model ieee --rate 50G --length 1m", ["--rate", "phy none"]),
        ("calc --model ieee --rate 40G --length 1m --fec rs", ["--fec", "base_r"]),
        ("calc --model ieee --rate 25G --length 1m --phy 100GBASE-R", ["--phy", "25GBASE-R"]),
        ("calc --model ieee --rate 25G --length 1m --phy 25GBASE-X", ["--phy", "25GBASE-R"]),
        ("calc --model cisco --rate 50G --length 1m --complete", ["--rate", "reaction delay"]),
        ("calc --model sonic --rate 10G --length 1m --fec rs", ["--fec", "ieee"]),
        ("calc --model sonic --rate 10G --length 1m --lossless-mtu 20", ["--lossless-mtu", "64"]),
        ("calc --model mlx5 --rate 10G --length 1m --buffer 1KiB", ["--buffer", "too small"]),
        ("calc --model ieee --rate 10GB --length 1m", ["--rate", "bits"]),
        ("calc --model sonic --rate 10G --length 1m --groups 0", ["--groups", "0 is not in 1.."]),
        (
            "calc --model sonic --rate 10G --length 1m --ports 2",
            ["--over-subscribe-ratio", "required"],
        ),
        (
            "calc --model sonic --rate 10G --length 1m --over-subscribe-ratio 2 --ports 0",
            ["--ports", "0 is not in 1.."],
        ),
        ("calc --model ieee --rate 10G --length 1m --macsec-pfc", ["--macsec", "required"]),
    ] {
        refused(args, &parts);
    }
}

/// The rows of the JSON of `reach`, by PHY, FEC, MACsec and its bytes.
fn reached(args: &str) -> Vec<(String, Option<f64>)> {
    let rows = json(&format!("reach {args}"));
    let name = |row: &Value| {
        let octets = row["macsec_octets"].as_u64().unwrap_or(0);
        let [phy, fec, macsec] = ["phy", "fec", "macsec"].map(|name| row[name].as_str().unwrap());
        format!("{phy} {fec} {macsec} {octets}")
    };
    rows.as_array().unwrap().iter().map(|row| (name(row), row["metres"].as_f64())).collect()
}

/// `reach` is `calc` backwards: the length that it gives needs the headroom, and no byte more.
#[test]
fn the_longest_cable_is_that_of_which_the_headroom_was_calculated() {
    for args in [
        "--rate 100G --fec rs",
        "--rate 100G --fec none --macsec 32 --macsec-pfc --shim-delay 120ns",
        "--rate 25G --fec rs --max-frame 9216",
        "--rate 10G --phy 10GBASE-R --extender xaui --fec none",
        "--rate 50G --phy none --interface-delay 1us --fec none",
    ] {
        let bytes = calc(&format!("--model ieee --length 123m {args}"));
        let rows = reached(&format!("--headroom {bytes}B {args}"));
        let plain = if args.contains("--macsec") { "data and PFC 32" } else { "none 0" };
        let (name, metres) = rows.iter().find(|(name, _)| name.ends_with(plain)).expect(args);
        let metres = metres.unwrap();
        // A byte is as long as 0.8 m at 10G.
        assert!((123.0..123.8).contains(&metres), "{args}: {name}: {metres} m");
    }
    let cell = calc("--model ieee --rate 100G --length 100m --cell 208");
    let rows = reached(&format!("--headroom {cell}B --rate 100G --fec none --cell 208"));
    assert!(rows[0].1 >= Some(100.0), "{rows:?}");
}

#[test]
fn a_cable_has_a_length_by_phy_fec_and_macsec() {
    let rows = reached("--headroom 42096B --rate 100G");
    // BASE-R FEC alone is more than the headroom has room for.
    let of = |name: &str| rows.iter().find(|(row, _)| row == name).expect(name).1;
    assert_eq!(of("100GBASE-R none none 0"), Some(100.0));
    assert_eq!(of("100GBASE-R base_r none 0"), None);
    // Two RS-FECs are 81920 bits, and a metre of cable both ways is 1000.
    assert_eq!(of("100GBASE-R rs none 0"), Some(18.08));
    // 24 bytes on two frames, 32 on two, and 32 on the PFC frame too.
    assert_eq!(of("100GBASE-R none data 24"), Some(99.616));
    assert_eq!(of("100GBASE-R none data 32"), Some(99.488));
    assert_eq!(of("100GBASE-R none data and PFC 32"), Some(99.232));
    // 100GBASE-R has three FECs and 100GBASE-CR10 two.
    assert_eq!(rows.len(), 5 * 4, "{rows:?}");
    let all = reached("--headroom 42096B");
    assert!(all.len() > rows.len() && rows.iter().all(|row| all.contains(row)));
    let parts = ["headroom 42,096 B", "100.000 m", "none", "data and PFC, 32 B", "100GBASE-CR10"];
    prints("reach --headroom 42096B --rate 100G", &parts);
    // No cable is longer than the PHY's own: twinaxial copper, twisted pairs, ER optics.
    let of = |args: &str, name: &str| {
        let rows = reached(args);
        rows.iter().find(|(row, _)| row == name).expect(name).1
    };
    assert_eq!(of("--headroom 42096B --rate 100G", "100GBASE-CR10 none none 0"), Some(7.0));
    let much = "--headroom 1GB --rate 10G --fec none";
    assert_eq!(of(much, "10GBASE-T none none 0"), Some(100.0));
    assert_eq!(of(much, "10GBASE-R none none 0"), Some(40_000.0));
    assert_eq!(reached("--headroom 1GB --rate 10G --phy none --fec none")[0].1, Some(1e6));
    for (args, parts) in [
        ("reach --headroom 1KB --rate 50G", ["--rate", "phy none"]),
        ("reach --headroom 1KB --phy none", ["--phy", "--rate"]),
        ("reach --headroom 1KB --rate 40G --fec rs", ["--fec", "base_r"]),
        ("reach --headroom 1KB --rate 100G --cell 70000", ["--cell", "65536"]),
        ("reach --rate 100G", ["--headroom", "required"]),
    ] {
        refused(args, &parts);
    }
}

/// The table of the P802.1Qdt proposal, with its fixed, internal and medium delays in bits.
#[test]
fn errors_of_the_stamps_have_the_published_effect() {
    let rows = json("sensitivity --rate 100G");
    let rows = rows.as_array().unwrap();
    let of = |row: &Value, name: &str| row[name].as_u64().unwrap();
    let published = [
        (500_000, 92_096, 125, "0.14", 1),
        (500_000, 92_096, 1_250, "1.36", 8),
        (100_000, 42_096, 125, "0.30", 0),
        (100_000, 42_096, 1_250, "2.97", 7),
        (20_000, 32_096, 125, "0.39", 1),
        (20_000, 32_096, 1_250, "3.89", 8),
    ];
    assert_eq!(rows.len(), published.len());
    for (row, (medium, headroom, bytes, percent, cells)) in rows.iter().zip(published) {
        assert_eq!((of(row, "fixed_bits"), of(row, "internal_bits")), (32_992, 203_776));
        assert_eq!((of(row, "medium_bits"), of(row, "headroom_bytes")), (medium, headroom));
        assert_eq!((of(row, "bytes"), of(row, "cells")), (bytes, cells), "{row}");
        assert_eq!(format!("{:.2}", row["percent"].as_f64().unwrap()), percent);
    }
    assert_eq!(rows[1]["quanta"], 19.53125);
    let more = json("sensitivity --rate 10G --length 1m --error 1us --cell 1000 --fec none");
    assert_eq!((&more[0]["bytes"], &more[0]["cell"]), (&1_250.into(), &1_000.into()));
    let parts = ["100G, 500m", "32,992", "203,776", "42,096 B", "2.969 %", "cells of 160 B"];
    prints("sensitivity --rate 100G", &parts);
}

#[test]
fn errors_of_a_measurement_are_those_that_it_had() {
    let from = |name: &str, text: &str| format!("sensitivity --from {}", file(name, text));
    let measured = |method: &str| {
        format!(
            r#"{{"method": "{method}", "rate_bps": 100000000000, "max_frame": 2000, "measurements": [
            {{"uncertainty_ns": 4, "headroom": {{"bits": 336768, "bytes": 42096}}, "delay_ns":
            {{"min": 100, "mean": 110, "p50": 105, "p90": 120, "p99": 125, "max": 200}}}}]}}"#
        )
    };
    let rows = json(&from("spread.json", &measured("round_trip")));
    let bytes = |rows: &Value| {
        let all = rows.as_array().unwrap().iter();
        all.map(|row| (row["error"].to_string(), row["bytes"].as_u64().unwrap()))
            .collect::<Vec<_>>()
    };
    let expected =
        [("uncertainty", 50), ("max - min", 1_250), ("max - mean", 1_125), ("p99 - p50", 250)];
    assert_eq!(bytes(&rows), expected.map(|(name, n)| (format!("\"{name}\""), n)));
    // The mean path delay of PTP counts in both directions.
    let rows = json(&from("spread-ptp.json", &measured("ptp")));
    assert_eq!(bytes(&rows), expected.map(|(name, n)| (format!("\"{name}\""), 2 * n)));
    for (name, text) in [
        ("sensitivity-empty.json", "{}"),
        (
            "sensitivity-none.json",
            r#"{"method": "ptp", "rate_bps": 1, "max_frame": 64, "measurements": []}"#,
        ),
        ("sensitivity-zero.json", &measured("ptp").replace("336768", "0")),
        ("sensitivity-back.json", &measured("ptp").replace("\"max\": 200", "\"max\": 1")),
    ] {
        refused(&from(name, text), &[name]);
    }
    refused("sensitivity", &[]);
    refused("sensitivity --rate 100G --from x.json", &[]);
}
