use super::*;
use crate::trial::{DETECTION, Port};
use config::quantity::Span;
use ground::units::Priority;

fn line(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn commands() -> Commands {
    Commands { settle: Some(Span(Duration::ZERO)), ..Commands::default() }
}

/// A device whose counters of priority 3 are read one by one.
fn adapter(commands: Commands) -> Command {
    Command::new(commands, PrioritySet(0b1000))
}

fn read(commands: Commands) -> Result<Counters, String> {
    adapter(commands).read(&["Ethernet0", "Ethernet4"]).map_err(|trouble| trouble.to_string())
}

fn printed(text: &str) -> Result<Counters, String> {
    read(Commands { counters: Some(line(&["printf", "%s", text])), ..commands() })
}

#[test]
fn json_of_all_ports_is_read() {
    let text = r#"{"Ethernet0": {"rx_ok": 5, "rx_drop": "1,234", "drops": {"full": 2},
        "priorities": {"3": {"pfc_rx": 7, "pfc_tx": null, "paused_us": 3}}},
        "Ethernet4": {}, "Ethernet8": {"unknown": 1}}"#;
    let all = printed(text).unwrap();
    let of = |counter| all.get(Port(0), Priority::new(3), counter);
    assert_eq!((of(Counter::RxOk), of(Counter::RxDrop)), (Some(5), Some(1234)));
    assert_eq!((of(Counter::PfcRx), of(Counter::PfcTx)), (Some(7), None));
    assert_eq!(of(Counter::Paused), Some(3000));
    assert_eq!(all.get(Port(1), None, Counter::RxOk), None);
    assert_eq!(all.dropped(), None, "Ethernet4 has no drops");
}

#[test]
fn one_command_reads_one_port_or_one_number() {
    let counters = Some(line(&["echo", r#"{"rx_ok": 5, "drops": {"of {port}": 1}}"#]));
    let all = read(Commands { counters, ..commands() }).unwrap();
    assert_eq!(all.0[1].drops, Some([("of Ethernet4".to_owned(), 1)].into()));
    let numbers = BTreeMap::from([
        (Counter::PfcRx, line(&["printf", "1,{priority}00\n"])),
        (Counter::TxOk, line(&["echo", "N/A"])),
    ]);
    let all = read(Commands { numbers, ..commands() }).unwrap();
    assert_eq!(all.get(Port(1), Priority::new(3), Counter::PfcRx), Some(1300));
    assert_eq!(all.get(Port(1), Priority::new(4), Counter::PfcRx), None);
    assert_eq!(all.get(Port(1), None, Counter::TxOk), None);
}

#[test]
fn what_is_no_counter_is_an_error_that_names_it() {
    for (text, part) in [
        ("rx_ok 5", "adapter.command.counters: its output is no JSON"),
        ("[]", "there is no port `Ethernet0`"),
        (r#"{"Ethernet0": 5}"#, "port Ethernet0: a JSON object is needed"),
        (r#"{"Ethernet0": {"rx": 5}}"#, "`rx` is no counter here; there are rx_ok, rx_drop"),
        (r#"{"Ethernet0": {"pfc_rx": 5}}"#, "`pfc_rx` is no counter here"),
        (r#"{"Ethernet0": {"rx_ok": -5}}"#, "rx_ok: -5 is no count"),
        (r#"{"Ethernet0": {"priorities": {"8": {}}}}"#, "`8` is none of 8 priorities"),
    ] {
        let why = printed(text).unwrap_err();
        assert!(why.contains(part), "{part}: {why}");
    }
    let numbers = BTreeMap::from([(Counter::TxOk, line(&["echo", "many"]))]);
    let why = read(Commands { numbers, ..commands() }).unwrap_err();
    assert_eq!(why, "adapter.command.numbers.tx_ok: `many` is no number");
}

#[test]
fn counters_are_current_after_two_seconds_by_default() {
    assert_eq!(adapter(Commands::default()).settle(), Duration::from_secs(2));
}

#[test]
fn a_command_that_fails_or_never_ends_is_an_error() {
    let counters = |words: &[&str]| Commands { counters: Some(line(words)), ..commands() };
    let why = read(counters(&["cat", "/nowhere/counters"])).unwrap_err();
    assert!(why.starts_with("adapter.command.counters: `cat`: exit status: 1: "), "{why}");
    assert!(why.contains("/nowhere/counters"), "{why}");
    let why = read(counters(&["a-program-that-is-not-there"])).unwrap_err();
    assert!(why.contains("cannot be started"), "{why}");
    let timeout = Some(Span(Duration::from_millis(100)));
    let why = read(Commands { timeout, ..counters(&["sleep", "60"]) }).unwrap_err();
    assert!(why.contains("`sleep` does not end within 100 ms"), "{why}");
    let why = read(counters(&["head", "-c", "1100000", "/dev/zero"])).unwrap_err();
    assert!(why.contains("prints more than 1048576 bytes"), "{why}");
}

#[test]
fn a_reset_is_a_command_of_its_kind() {
    let with = |words: &[&str]| {
        let resets = [(ResetKind::Software, line(words))].into();
        adapter(Commands { resets, ..commands() })
    };
    let reset = |words: &[&str]| with(words).reset(ResetKind::Software).expect("it is there")();
    assert_eq!(reset(&["true"]), Ok(()));
    let Err(TrialError::Error(why)) = reset(&["false"]) else { panic!("it fails") };
    assert!(why.starts_with("adapter.command.resets.software: `false`: exit status: 1"), "{why}");
    let device = with(&["true"]);
    assert!(device.reset(ResetKind::Power).is_none() && !device.can_read());
}

#[test]
fn version_and_memory_are_those_that_commands_print() {
    let with = |version: &[&str], memory: &[&str]| {
        let (version, memory) = (Some(line(version)), Some(line(memory)));
        adapter(Commands { version, memory, ..commands() })
    };
    let mut device = with(&["printf", "\\n SONiC 202505\\t1 \\nmore\\n"], &["echo", "1,048,576"]);
    assert_eq!(device.version(), Ok(Some("SONiC 2025051".to_owned())));
    assert_eq!((device.can_read_memory(), device.memory()), (true, Ok(Some(1 << 20))));
    let mut device = with(&["true"], &["echo", "N/A"]);
    assert_eq!((device.version(), device.memory()), (Ok(None), Ok(None)));
    let Err(TrialError::Error(why)) = with(&["true"], &["echo", "much"]).memory() else {
        panic!("it is no number")
    };
    assert_eq!(why, "adapter.command.memory: `much` is no number");
    let mut device = adapter(commands());
    assert_eq!((device.version(), device.memory()), (Ok(None), Ok(None)));
    assert!(!device.can_read_memory());
}

#[test]
fn a_setting_is_an_argument_and_no_shell_sees_it() {
    let run = |words: &[&str]| {
        let mut command = adapter(Commands { set: Some(line(words)), ..commands() });
        command.set("Ethernet0", DETECTION, "500us; echo $HOME")
    };
    let expected =
        ["test", "{port} {name}={value}", "=", "Ethernet0 watchdog.detection=500us; echo $HOME"];
    assert_eq!(run(&expected), Ok(()));
    assert!(matches!(run(&["false"]), Err(TrialError::Error(_))));
    let mut none = adapter(commands());
    assert!(
        !none.can_set()
            && matches!(none.set("Ethernet0", DETECTION, "1ms"), Err(TrialError::Missing(_)))
    );
}
