use super::*;
use crate::setup::{Marking, PfcMode};
use ::file::testgolden;
use config::quantity::Span;
use ground::units::{BitsPerSec, PrioritySet};

const LEAST: &str = "rate: 100G\nports: [{}, {}]\nvirtual: {profile: {}}\n";

fn refused(text: &str) -> String {
    parse("dut.yaml", text).unwrap_err().to_string()
}

#[test]
fn the_least_file_has_the_documented_defaults() {
    let (dut, warnings) = parse("dut.yaml", LEAST).unwrap();
    assert!(warnings.is_empty() && dut.lab.is_some());
    let setup = dut.setup;
    assert_eq!((setup.name.as_str(), setup.rate), ("dut", BitsPerSec::gbps(100)));
    assert_eq!((setup.lossless, setup.lossy), (PrioritySet(0x18), PrioritySet(0xe7)));
    let of = |n: usize| (setup.ports[n].name.as_str(), setup.ports[n].location.as_str());
    assert_eq!((of(0), of(1)), (("A", "h1"), ("B", "h2")));
    assert_eq!(setup.limits.reaction.0, 394);
}

#[test]
fn version_and_calibration_are_those_of_the_file() {
    let fields = "version: SONiC 202505\ncalibration: {cabling: 2 x 3 m DAC, latency: 20ns}\n";
    let setup = parse("dut.yaml", &format!("{LEAST}{fields}")).unwrap().0.setup;
    assert_eq!(setup.version.as_deref(), Some("SONiC 202505"));
    let calibration = setup.calibration.unwrap();
    assert_eq!((calibration.cabling.as_str(), calibration.latency.as_nanos()), ("2 x 3 m DAC", 20));
    let setup = parse("dut.yaml", LEAST).unwrap().0.setup;
    assert_eq!((setup.version, setup.calibration), (None, None));
    let cabling = refused(&format!("{LEAST}calibration: {{latency: 20ns}}\n"));
    assert!(cabling.contains("cabling"), "{cabling}");
    let empty =
        "rate: 10G\nports: [{location: x}, {location: y}]\nadapter: {command: {memory: []}}\n";
    assert!(refused(empty).contains("memory: the command is empty"), "{}", refused(empty));
}

#[test]
fn maps_name_priorities_or_ranges() {
    let text = format!(
        "{LEAST}marking: {{dscp: {{3: 26, 5-6: 40}}}}\nexpected: {{weights: {{0-1: 5}}}}\n"
    );
    let setup = parse("dut.yaml", &text).unwrap().0.setup;
    let Marking::Dscp(map) = setup.marking else { panic!("{:?}", setup.marking) };
    assert_eq!(map.map(|dscp| dscp.get()), [0, 8, 16, 26, 32, 40, 40, 56]);
    assert_eq!(setup.expected.weights, Some([5, 5, 0, 0, 0, 0, 0, 0]));
    assert!(refused(&format!("{LEAST}marking: {{dscp: {{9: 26}}}}")).contains("9 is no priority"));
    assert!(refused(&format!("{LEAST}marking: {{pcp: {{3: 8}}}}")).contains("8 is out of range"));
}

#[test]
fn all_errors_are_reported_with_field_and_remedy() {
    let text = "rate: 10G\nports: [{name: A}, {name: A, location: x}, {name: A, location: x}]\n\
                lossless: [3, 9]\nlossy: [3]\nmarking: {vlan: 5}\n";
    let all = refused(text);
    for part in [
        "location` is missing",
        "`A` is the name",
        "`x` is another",
        "9 is no priority",
        "not both",
        "add `pcp: {}`",
    ] {
        assert!(all.contains(part), "{part}: {all}");
    }
    assert!(refused("rate: 400\nports: [{}]").contains("no unit"));
    let both = format!("{LEAST}flow_control: pause\nlossless: [3]\n");
    assert!(refused(&both).contains("PAUSE stops all priorities"));
    assert!(refused(&format!("{LEAST}expected: {{vlan: 4095}}")).contains("4095 is no VLAN"));
    let ports = |ports: &str| refused(&LEAST.replace("[{}, {}]", ports));
    assert!(ports("[{}, {rate: 25G}]").contains("the first two ports have the file's `rate`"));
    assert!(ports("[{}, {}, {rate: 25G}, {}]").contains("put that one last"));
    let th = |fields| refused(&format!("{LEAST}expected: {{{fields}}}"));
    assert!(th("dynamic_th: 9").contains("9 is out of range; choose -8 to 8"));
    assert!(th("dynamic_th: 0, xoff: 40KiB").contains("`dynamic_th` is there too"));
    assert!(refused("rate: 1G\nports: [{}]\nvirtual: {}").contains("exactly one of"));
}

#[test]
fn what_a_virtual_device_has_by_itself_is_not_for_the_file_to_say() {
    let with = |fields: &str| format!("{LEAST}{fields}\n");
    let cable = refused(&with("cable: 10us"));
    assert!(cable.contains("cable") && cable.contains("have their own delay"), "{cable}");
    let longest = refused(&with("max_frame: 9216"));
    assert!(longest.contains("forwards frames of up to 1526 octets"), "{longest}");
    assert!(parse("dut.yaml", &with("max_frame: 1500")).is_ok());
    let short = LEAST.replace("profile: {}", "profile: {max_frame: 1500}");
    assert_eq!(parse("dut.yaml", &short).unwrap().0.setup.max_frame, 1500);
    // A device behind real ports has what the file says.
    let real = "rate: 10G\nports: [{location: x}, {location: y}]\ncable: 10us\nmax_frame: 9216\n";
    assert!(parse("dut.yaml", real).is_ok());
}

#[test]
fn times_and_loads_of_which_nothing_can_be_said_are_refused() {
    let with = |fields: &str| format!("{LEAST}{fields}\n");
    for (fields, parts) in [
        ("times: {hold: 1ps}", ["times.hold", "no room for 8 frames of each priority"]),
        ("times: {baseline: 5us}", ["times.baseline", "give 5.3"]),
        ("load: 1%", ["load", "fewer than 8 frames each in `times.baseline`"]),
        ("load: 0%", ["load", "nothing would be sent"]),
    ] {
        let all = refused(&with(fields));
        assert!(parts.iter().all(|part| all.contains(part)), "{fields}: {all}");
    }
    for fields in
        ["load: 7%", "load: 1%\ntimes: {baseline: 600us, hold: 1ms}", "times: {hold: 6us}"]
    {
        assert!(parse("dut.yaml", &with(fields)).is_ok(), "{fields}");
    }
}

#[test]
fn what_is_expected_of_a_proxy_must_be_possible() {
    let sfc = |sfc: &str| refused(&format!("{LEAST}expected: {{sfc: {sfc}}}\n"));
    let proxy = |of: &str| sfc(&format!("{{proxy: {{trusted: 198.18.0.1, {of}}}}}"));
    assert!(sfc("{udp_port: 80}").contains("49152"), "{}", sfc("{udp_port: 80}"));
    assert!(proxy("longest: 0us, credit: 1us, share: 50%").contains("above 0"));
    assert!(proxy("longest: 3s, credit: 3s, share: 50%").contains("up to 2 s"));
    assert!(proxy("longest: 9us, credit: 8us, share: 50%").contains("below `longest`"));
    assert!(proxy("longest: 9us, credit: 9us, share: 100%").contains("choose less"));
    let other = sfc("{proxy: {trusted: 10.0.0.1, longest: 9us, credit: 9us, share: 50%}}");
    assert!(other.contains("no port of this file has the `ip` 10.0.0.1"), "{other}");
}

/// A device behind real ports with MACsec at B; `macsec` are further fields of the tester's end.
fn with_macsec(macsec: &str, expected: &str) -> String {
    format!(
        "rate: 10G\nports:\n- {{location: 'iface:a'}}\n- location: 'iface:b'\n  macsec: {{{macsec}}}\n\
         expected: {{macsec: {{{expected}}}}}\n"
    )
}

const KEY: &str = "key: 000102030405060708090a0b0c0d0e0f";
const RECEIVE: &str = "receive: [{sci: {mac: 02:00:00:00:00:01}}]";

#[test]
fn a_port_with_macsec_has_keys_of_both_ends_and_the_mode_of_the_device() {
    let text = with_macsec(&format!("{KEY}, {RECEIVE}"), "B: encrypt");
    let setup = parse("dut.yaml", &text).unwrap().0.setup;
    assert_eq!(setup.ports[0].macsec, None);
    let macsec = setup.ports[1].macsec.as_ref().unwrap();
    assert_eq!((macsec.mode, macsec.first_pn()), (Some(PfcMode::Encrypt), 1));
    let (own, theirs) = (macsec.plan.sci, macsec.plan.receive[0].sci);
    assert_eq!(own.to_string(), "02:53:4c:00:00:02/1");
    assert_eq!(theirs.to_string(), "02:00:00:00:00:01/1");
    assert_eq!((setup.ports[1].overhead(), setup.overhead()), (24, 24));
    // Frames that a test makes leave as they are, and all others are sent as the device sends its own.
    let protects = |is_made| macsec.secy(is_made).protect_pfc;
    assert!(protects(false) && !protects(true));
    let text = with_macsec(&format!("{KEY}, {RECEIVE}"), "B: bypass");
    let setup = parse("dut.yaml", &text).unwrap().0.setup;
    assert!(!setup.ports[1].macsec.as_ref().unwrap().secy(false).protect_pfc);
}

#[test]
fn macsec_that_is_not_the_testers_to_choose_is_refused() {
    for (more, expected, part) in [
        ("accept_pfc: both", "B: strict", "ports[1].macsec.accept_pfc"),
        ("validate: check", "B: strict", "ports[1].macsec.validate"),
        ("replay: {window: 5}", "B: strict", "ports[1].macsec.replay"),
        ("uncontrolled: [lldp]", "B: strict", "ports[1].macsec.uncontrolled"),
        ("rollover_at: 5", "B: strict", "ports[1].macsec.rollover_at"),
        ("protect: {pfc: false}", "B: strict", "`expected.macsec` says what becomes of PFC"),
        ("include_sci: true", "A: strict", "no port `A` has `macsec`"),
        ("include_sci: true", "X: strict", "no port `X` has `macsec`"),
        ("include_sci: true", "B: loose", "loose"),
    ] {
        let all = refused(&with_macsec(&format!("{KEY}, {RECEIVE}, {more}"), expected));
        assert!(all.contains(part), "{more}: {all}");
    }
    let unnamed = refused(&with_macsec(KEY, "B: strict"));
    assert!(unnamed.contains("whose frames are received?"), "{unnamed}");
    let plain = LEAST.replace("[{}, {}]", &format!("[{{}}, {{macsec: {{{KEY}}}}}]"));
    assert!(
        refused(&plain).contains("port `B` has `macsec`, and the virtual device has none there")
    );
}

/// A device behind real ports, with an adapter.
fn with_adapter(adapter: &str) -> String {
    format!(
        "rate: 10G\nports: [{{location: 'iface:a', dut: Ethernet0}}, {{location: 'iface:b', dut: 'a;b'}}]\n\
         adapter: {adapter}\n"
    )
}

#[test]
fn an_adapter_is_a_socket_or_commands() {
    let access = |text: &str| parse("dut.yaml", &with_adapter(text)).unwrap().0.access;
    assert_eq!(
        access("{ctl: /run/sluice/tor.sock}"),
        Some(Access::Ctl("/run/sluice/tor.sock".into()))
    );
    let Some(Access::Command(commands)) =
        access("{command: {counters: [show], timeout: 3s, clear: [clear]}}")
    else {
        panic!("no commands")
    };
    assert_eq!(commands.counters, Some(vec!["show".to_owned()]));
    assert_eq!(commands.timeout, Some(Span(ground::time::Duration::from_secs(3))));
}

/// Its storms would be more pauses than the line carries.
#[test]
fn a_watchdog_too_fast_for_a_storm_is_refused_by_its_field() {
    for (name, other) in [("detection", "restoration"), ("restoration", "detection")] {
        let text =
            format!("{LEAST}expected: {{watchdog: {{{name}: 1ps, {other}: 1ms, poll: 10us}}}}\n");
        let all = refused(&text);
        for part in ["expected.watchdog.", name, "give ", "leave out `watchdog`"] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(!all.contains(other), "{all}");
    }
}

#[test]
fn an_adapter_that_cannot_work_is_refused() {
    for (adapter, part) in [
        ("{}", "exactly one of `ctl` and `command`"),
        ("{ctl: a, command: {counters: [b]}}", "exactly one of `ctl` and `command`"),
        ("{command: {}}", "add `counters` or `numbers`"),
        ("{command: {counters: []}}", "the command is empty"),
        ("{command: {numbers: {pfc_rx: [show, '{port}']}}}", "`{priority}` is in no argument"),
        ("{command: {numbers: {rx_ok: [show]}}}", "`{port}` is in no argument"),
        (
            "{command: {counters: [show], set: [set, '{port} {name}']}}",
            "`{value}` is in no argument",
        ),
        ("{command: {counters: [show, '{port}']}}", "port `a;b` replaces `{port}`"),
        ("{command: {numbers: {rx: [show]}}}", "rx"),
    ] {
        let all = refused(&with_adapter(adapter));
        assert!(all.contains(part), "{adapter}: {all}");
    }
    let both = refused(&format!("{LEAST}adapter: {{ctl: a}}\n"));
    assert!(both.contains("a virtual device needs none"), "{both}");
}

/// The tests of ECN fill queues that PFC holds, so nothing could be said about these.
#[test]
fn a_priority_with_the_curve_that_is_not_lossless_is_refused() {
    let file = |priorities: &str, more: &str| {
        let ecn = format!("{{kmin: 20KB, kmax: 60KB, pmax: 20%, priorities: {priorities}}}");
        format!("{LEAST}expected: {{ecn: {ecn}}}\n{more}")
    };
    for (priorities, more) in
        [("[0]", ""), ("[3, 7]", ""), ("[4]", "lossless: [3]\n"), ("[5]", "lossy: [0]\n")]
    {
        let all = refused(&file(priorities, more));
        assert!(
            all.contains("expected.ecn.priorities") && all.contains("is not `lossless`"),
            "{all}"
        );
    }
    for priorities in ["[3]", "[4]", "[4, 3]"] {
        assert!(parse("dut.yaml", &file(priorities, "")).is_ok(), "{priorities}");
    }
}

#[test]
fn the_published_schema_is_the_current_one() {
    let schema = serde_json::to_string_pretty(&schema()).unwrap() + "\n";
    testgolden::hold("configs/schema/dut.schema.json", &schema);
}
