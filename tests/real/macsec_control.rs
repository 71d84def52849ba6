//! Keys of a running switch: installed, used, removed, and never shown.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::os::unix::net::UnixStream;

use crate::run::{Dir, Switch, frame, text, write_pcap};

const PEER: &str = "02:00:00:00:01:01/1";

/// Two ports; frames arrive at `b` without end and are sent protected at `a`.
fn file(dir: &Dir) -> String {
    let frames: Vec<_> =
        (0..16).map(|n| frame([2, 0, 0, 0, 1, 0xb], [2, 0, 0, 0, 1, 0xa], 0, n, 300)).collect();
    write_pcap(&dir.path("b.in"), &frames);
    let d = dir.0.display();
    format!(
        "defaults: {{rate: 100M}}\n\
         ports:\n\
         - {{name: a, device: net_null0, mac: 02:00:00:00:00:01, macsec: {{receive: \
            [{{sci: {{mac: 02:00:00:00:01:01}}}}]}}}}\n\
         - {{name: b, device: 'net_pcap1,rx_pcap={d}/b.in,infinite_rx=1'}}\n"
    )
}

fn key(dir: &Dir, name: &str, digits: &str, mode: u32) -> String {
    let path = dir.write(name, &format!("{digits}\n"));
    std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
    path.display().to_string()
}

fn install<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&["macsec", "install", "a"], more].concat()
}

#[test]
fn keys_are_given_used_and_taken_out_while_frames_flow() {
    let dir = Dir::new("macsec");
    let digits = ["ab".repeat(16), "cd".repeat(16)];
    let (first, second) =
        (key(&dir, "1.key", &digits[0], 0o600), key(&dir, "2.key", &digits[1], 0o400));
    let open = key(&dir, "open.key", &digits[0], 0o644);
    let switch = Switch::start(&dir, "macsec", &file(&dir), &[]);
    // Without a key no frame leaves that requires protection.
    let counters = |s: &serde_json::Value| s["ports"][0]["macsec"]["counters"].clone();
    let dry = switch.wait("no key", |s| counters(s)["out_pkts_no_sa"].as_u64() > Some(100));
    let sent = |s: &serde_json::Value| {
        s["ports"][0]["macsec"]["transmit"]["counters"]["OutPktsEncrypted"].as_u64()
    };
    assert_eq!(sent(&dry), Some(0));

    switch.obey(&install(&["--receive", PEER, "--an", "1", "--key-file", &first]));
    switch.obey(&install(&["--transmit", "--an", "1", "--key-file", &first, "--use"]));
    switch.wait("protected", |s| sent(s) > Some(100));
    switch.obey(&install(&[
        "--transmit",
        "--an",
        "2",
        "--key-file",
        &second,
        "--next-pn",
        "4294967295",
    ]));
    let why = switch.refuse(&install(&["--transmit", "--an", "3", "--key-file", &first]));
    assert!(why.contains("used already"), "{why}");
    let why = switch.refuse(&install(&["--transmit", "--an", "3", "--key-file", &open]));
    assert!(why.contains("open to others") && why.contains("chmod 600"), "{why}");
    let why = switch.refuse(&install(&["--transmit", "--an", "4", "--key-file", &second]));
    assert!(why.contains("an: 0 to 3"), "{why}");
    let why = switch.refuse(&["macsec", "use", "a", "3"]);
    assert!(why.contains("no association 3"), "{why}");
    let why = switch.refuse(&["macsec", "use", "b", "0"]);
    assert!(why.contains("no SecY"), "{why}");

    // Its one packet number is soon used up, which is reported.
    switch.obey(&["macsec", "use", "a", "2"]);
    switch.wait("used up", |s| counters(s)["out_pn_exhausted"].as_u64() > Some(0));
    let table = text(&switch.ctl(&["macsec"]).stdout);
    for part in
        ["used up", "WARNING: a: transmit association 2 has used up", PEER, "OutPktsEncrypted"]
    {
        assert!(table.contains(part), "{part}\nis not in\n{table}");
    }
    switch.obey(&["macsec", "use", "a", "1"]);
    switch.obey(&["macsec", "remove", "a", "--transmit", "--an", "2"]);
    switch.obey(&["macsec", "remove", "a", "--receive", PEER]);
    let json = text(&switch.ctl(&["--format", "json", "macsec", "show"]).stdout);
    assert!(json.contains("\"receive\": []"), "{json}");
    let (all, said) = (switch.show().to_string(), switch.stderr());
    for digits in &digits {
        assert!(![&table, &json, &all, &said].iter().any(|text| text.contains(&digits[..8])));
    }
    let (status, _) = switch.stop();
    assert_eq!(status, Some(0));
}

/// Writable memory of a process, mapping by mapping.
fn memory(pid: u32) -> Vec<Vec<u8>> {
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let memory = fs::File::open(format!("/proc/{pid}/mem")).unwrap();
    let mut found = Vec::new();
    for map in
        maps.lines().filter(|line| line.split(' ').nth(1).is_some_and(|r| r.starts_with("rw")))
    {
        let (start, end) = map.split(' ').next().unwrap().split_once('-').unwrap();
        let address = |text| u64::from_str_radix(text, 16).unwrap();
        let (start, end) = (address(start), address(end));
        // Packet memory has no text.
        if end - start <= 64 << 20 {
            let mut bytes = vec![0; (end - start) as usize];
            if memory.read_exact_at(&mut bytes, start).is_ok() {
                found.push(bytes);
            }
        }
    }
    found
}

/// Occurrences of a text in the memory of a process.
fn times(memory: &[Vec<u8>], text: &str) -> usize {
    memory.iter().map(|m| m.windows(text.len()).filter(|w| *w == text.as_bytes()).count()).sum()
}

/// Sends an unchanged line to the control socket.
fn ask(switch: &Switch, line: &str) -> String {
    let mut stream = UnixStream::connect(switch.socket()).unwrap();
    stream.write_all(line.as_bytes()).unwrap();
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).unwrap();
    answer
}

#[test]
fn a_running_switch_keeps_no_digits_of_keys_and_dumps_no_core() {
    let dir = Dir::new("macsec-wiped");
    // Keys from the file, from a key file, and refused for their length, number and port.
    let [own, given, short, used, stray] =
        ["71d3c95a", "82e4da6b", "93f5eb7c", "a406fc8d", "b5170d9e"].map(|part| part.repeat(4));
    let file = file(&dir).replace("macsec: {", &format!("macsec: {{key: '{own}', "));
    let switch = Switch::start(&dir, "wiped", &file, &[]);
    let key_file = key(&dir, "given.key", &given, 0o600);
    switch.obey(&install(&["--transmit", "--an", "2", "--key-file", &key_file]));
    for (key, more) in [(&short[1..], ""), (&used[..], r#","ssci":5"#), (&stray[..], r#","x":1"#)] {
        let line =
            format!(r#"{{"command":"macsec_install","port":"a","an":1,"key":"{key}"{more}}}"#);
        let answer = ask(&switch, &format!("{line}\n"));
        assert!(answer.contains(r#""ok":false"#) && !answer.contains(&key[..12]), "{answer}");
    }
    let memory = memory(switch.pid());
    assert!(times(&memory, "net_null0") > 0, "the search finds what is there");
    for key in [&own, &given, &short, &used, &stray] {
        assert_eq!(times(&memory, &key[1..25]), 0, "{key}");
    }
    let limits = fs::read_to_string(format!("/proc/{}/limits", switch.pid())).unwrap();
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).unwrap();
    assert_eq!(core.split_whitespace().filter(|word| *word == "0").count(), 2, "{core}");
    assert_eq!(switch.stop().0, Some(0));
}
