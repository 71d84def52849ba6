//! DPDK's client reads Sluice's counters.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use sluice::dpdk::{Eal, EalOptions, Error, Memory, register_telemetry};

use crate::apart::own_process;

#[test]
fn the_telemetry_client_gets_our_answers() {
    own_process!();
    let prefix = format!("sluice-test-{}", std::process::id());
    let options = EalOptions {
        memory: Memory::NoHuge,
        telemetry: true,
        file_prefix: prefix.clone(),
        ..EalOptions::default()
    };
    let eal = Eal::start(&options).unwrap();
    let ports = json!({
        "rx_frames": u64::MAX,
        "drops": {"no-buffer": 3, "bad opcode": 0},
        "priorities": [{"priority": 0, "pauses": 1}, {"priority": 3, "pauses": 9}],
        "lossless": [3, 4],
        "share": 0.5,
        "up": true,
    });
    let _ports = register_telemetry(&eal, "/sluice/ports", "Counters of a port", move |name| {
        if name.is_empty() { json!(["p0", "p1"]) } else { ports.clone() }
    });
    let many: serde_json::Map<_, _> = (0..300).map(|n| (format!("k{n:03}"), n.into())).collect();
    let _many = register_telemetry(&eal, "/sluice/many", "Many", move |_| many.clone().into());
    let _dies = register_telemetry(&eal, "/sluice/dies", "Panics", |_| panic!("on purpose"));
    let gone = register_telemetry(&eal, "/sluice/gone", "Dropped", |_| json!({}));
    drop(gone);
    for bad in ["no_slash", "/sluice ports", "/sluice/ports"] {
        let err = register_telemetry(&eal, bad, "", |_| json!({}));
        assert!(matches!(err, Err(Error::Option { .. })), "{bad}");
    }

    let Some(answers) = ask(
        &prefix,
        "/sluice/ports\n/sluice/ports,p0\n/sluice/dies\n/sluice/gone\n/sluice/many\n/\n",
    ) else {
        crate::run::skipped("dpdk-telemetry.py is not installed");
        return;
    };
    let _ = std::fs::remove_dir_all(eal.runtime_dir());
    let answer = |n: usize| answers[n].as_object().unwrap().values().next().unwrap();
    assert_eq!(answer(0), &json!(["p0", "p1"]));
    let expected = json!({
        "rx_frames": u64::MAX,
        "drops": {"no_buffer": 3, "bad_opcode": 0},
        "priorities": {"0": {"priority": 0, "pauses": 1}, "1": {"priority": 3, "pauses": 9}},
        "lossless": [3, 4],
        "share": "0.5",
        "up": "true",
    });
    assert_eq!(answer(1), &expected);
    assert_eq!((answer(2), answer(3)), (&Value::Null, &Value::Null));
    assert_eq!((answer(4).as_object().unwrap().len(), &answer(4)["_more"]), (256, &json!(45)));
    let commands = answer(5).as_array().unwrap();
    assert!(commands.contains(&json!("/sluice/ports")), "{commands:?}");
}

/// Answers of DPDK's client to these lines, or none if it is not installed.
fn ask(prefix: &str, lines: &str) -> Option<Vec<Value>> {
    let mut client = Command::new("dpdk-telemetry.py")
        .args(["-f", prefix])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    client.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = client.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let values = serde_json::Deserializer::from_str(&text).into_iter();
    Some(values.map(|value| value.unwrap_or_else(|err| panic!("{err}: {text}"))).collect())
}
