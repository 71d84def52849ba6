//! Documented defaults equal those of the code: every default that the schema states is written
//! into a file, and that file resolves to the same plan as one without them.

use super::*;
use crate::lab_schema;
use ::file::testfields::{self, Field};

/// A file with the required fields only, in as many sections as there are.
const SILENT: &str = "
name: f
topology: {ring: {switches: 3}}
profiles: {tor: {defaults: {pfc: {enable: [3, 4]}}}}
nodes: {switches: [x], hosts: [{name: y, storms: [{priorities: [3]}], sfc: {}, qcn: {}}]}
links: [{from: s1, to: x}, {from: x, to: y}]
flows:
  - {name: f1}
  - {name: f2, from: h1, to: h2, transport: {roce: {dcqcn: {}, messages: {bytes: 10}}}}
  - {name: f3, from: h1, to: h2, transport: {tcp: {messages: {bytes: 10, every: 1us}}}}
  - {name: f4, from: h1, to: h2, transport: roce}
  - {name: f5, from: {random: 1}, on_off: {on: 1us, off: 1us}}
faults:
  - {at: 1ms, lose: {link: s1-s2}}
  - {at: 1ms, flap: {link: s1-s2, down_for: 1us}}
  - {at: 1ms, errors: {link: s1-s2}}
  - {at: 1ms, forge: {link: s1-s2, octets: '02000000000102000000000288b5'}}
  - {at: 1ms, replay: {link: s1-s2}}
checks: [{fairness: {flows: f1}}, {value: {path: a, expect: 1}}]
";

/// The same file with every default written out; `$Type.field` stands for the default in the
/// schema.
const SPOKEN: &str = "
name: f
seed: $Lab.seed
duration: $Lab.duration
until_done: $Lab.until_done
equal_cost: $Lab.equal_cost
measure: {from: $Measure.from}
topology: {ring: {switches: 3, hosts_per_switch: $Ring.hosts_per_switch}}
profiles:
  tor:
    max_frame: $Profile.max_frame
    headroom_check: $Profile.headroom_check
    defaults:
      trust: $PortDefaults.trust
      default_priority: $PortDefaults.default_priority
      pfc: {enable: [3, 4]}
      headroom: $PortDefaults.headroom
      congestion_locator: $PortDefaults.congestion_locator
defaults:
  switches:
    cut_through: $Switch.cut_through
    control_frame: $Switch.control_frame
    clock: {offset: $Clock.offset, drift: $Clock.drift}
    cpu: {poll: $Cpu.poll, frame: $Cpu.frame, byte: $Cpu.byte}
  hosts:
    obey: $Host.obey
    sfc: $Host.sfc
    qcn: $Host.qcn
  links:
    rate: $Link.rate
    length: $Link.length
    ns_per_m: $Link.ns_per_m
    phy: $Link.phy
    fec: $Link.fec
    errors: {ber: $Errors.ber, loss: $Errors.loss}
    line_overhead: $Link.line_overhead
    time_step: $Link.time_step
  flows:
    rate: $Flow.rate
    size: $Flow.size
    duration: $Flow.duration
    start: $Flow.start
    stagger: $Flow.stagger
    pattern: $Flow.pattern
    victim: $Flow.victim
nodes:
  switches: [x]
  hosts:
    - name: y
      storms: [{priorities: [3], start: $Storm.start, quanta: $Storm.quanta}]
      sfc:
        pause: $HostSfc.pause
        in_network: $HostSfc.in_network
        path_spacing: $HostSfc.path_spacing
        sfcmUDPPort: $HostSfc.sfcmUDPPort
        longest: $HostSfc.longest
        sfcMaxFlowLife: $HostSfc.sfcMaxFlowLife
        accept: $HostSfc.accept
      qcn:
        time_reset: $HostQcn.time_reset
        byte_reset: $HostQcn.byte_reset
        threshold: $HostQcn.threshold
        active: $HostQcn.active
        hyper: $HostQcn.hyper
        gain: $HostQcn.gain
        keep_min: $HostQcn.keep_min
        min_rate: $HostQcn.min_rate
        jitter: $HostQcn.jitter
links: [{from: s1, to: x}, {from: x, to: y}]
flows:
  - {name: f1, from: $Flow.from, to: $Flow.to, transport: $Flow.transport, ecn: $Flow.ecn}
  - name: f2
    from: h1
    to: h2
    ecn: ect0
    transport:
      roce:
        operation: $Roce.operation
        recovery: $Roce.recovery
        ack_every: $Roce.ack_every
        timeout: $Roce.timeout
        dcqcn: {preset: $Dcqcn.preset}
        cnp_interval: $Roce.cnp_interval
        cnp_priority: $Roce.cnp_priority
        messages: {bytes: 10, every: $Messages.every}
  - name: f3
    from: h1
    to: h2
    transport:
      tcp:
        initial_window: $Tcp.initial_window
        timeout_min: $Tcp.timeout_min
        messages: {bytes: 10, every: 1us}
  - {name: f4, from: h1, to: h2, transport: {roce: {dcqcn: $Roce.dcqcn}}}
  - name: f5
    from: {random: 1, of: $RandomNames.of}
    on_off: {on: 1us, off: 1us, times: $OnOff.times}
record: {messages: $Record.messages}
faults:
  - {at: 1ms, lose: {link: s1-s2, frames: $LoseFault.frames, which: $LoseFault.which}}
  - {at: 1ms, flap: {link: s1-s2, down_for: 1us, times: $Flap.times}}
  - {at: 1ms, errors: {link: s1-s2, ber: $ErrorsFault.ber, loss: $ErrorsFault.loss}}
  - at: 1ms
    forge: {link: s1-s2, octets: '02000000000102000000000288b5', times: $Forge.times, every: $Forge.every}
  - {at: 1ms, replay: {link: s1-s2, back: $Replay.back, times: $Replay.times, every: $Replay.every}}
checks:
  - fairness: {flows: f1, tolerance: $Fairness.tolerance}
  - value: {path: a, expect: 1, tolerance: $Value.tolerance}
";

/// Returns the fields of labs alone: types of switch files have a test of their own.
fn fields() -> Vec<Field> {
    let (labs, switches) = (lab_schema(), config::switch_schema());
    let shared: Vec<_> = switches["$defs"].as_object().unwrap().values().collect();
    let mut fields = testfields::fields(&labs, "Lab");
    fields.retain(|field| {
        let name = field.name.split('.').next().unwrap();
        // A buffer has the profiles of switch files, by another name of their type.
        name != "Buffer" && !shared.contains(&&labs["$defs"][name])
    });
    fields
}

#[test]
fn every_documented_default_is_the_one_of_the_code() {
    let mut stated = testfields::stated(&fields());
    // Names derived from other names.
    for field in ["CheckLong.name", "Flow.name", "Link.name"] {
        stated.remove(field).unwrap();
    }
    // Defaults that would replace other parts of the file are tested in separate files.
    let checks = stated.remove("Lab.checks").unwrap();
    let star = |more: &str| good(&format!("topology: {{star: {{hosts: 2}}}}\n{more}")).0;
    // A check of the file counts even where it has nothing to judge; priorities 3 and 4 are lossless here.
    let named = format!("{:?}", star(&format!("checks: {checks}")));
    let by_default = named.replace("by_default: false", "by_default: true");
    assert_ne!(named, by_default);
    assert_eq!(format!("{:?}", star("")), by_default);
    let hosts = stated.remove("ParkingLot.hosts_per_switch").unwrap();
    let row = |more: &str| good(&format!("topology: {{parking_lot: {{switches: 3{more}}}}}")).0;
    let said = row(&format!(", hosts_per_switch: {hosts}"));
    assert_eq!(format!("{:?}", row("")), format!("{said:?}"));
    // A lab of several switches has no learning bridge.
    let bridge = |more: &str| {
        let lab = "topology: {star: {hosts: 2}}\nprofiles: {p: {bridge: {MORE}}}\n";
        format!("{:?}", good(&lab.replace("MORE", more)).0)
    };
    let [table, ageing] =
        ["Learning.table_size", "Learning.ageing"].map(|f| stated.remove(f).unwrap());
    assert_eq!(bridge(""), bridge(&format!("table_size: {table}, ageing: {ageing}")));
    let (silent, spoken) = (good(SILENT).0, good(&testfields::spoken(SPOKEN, &stated)).0);
    assert_eq!(format!("{silent:?}"), format!("{spoken:?}"));
}

#[test]
fn every_field_is_documented_with_its_default() {
    // Fields without a default: sections, and alternatives of which one is required.
    let exempt = "LoadLong. Topology. Defaults. Fault. Route. Amount. FlowRateLong. TransportLong. CheckLong. \
                  Profile. Lab.measure Lab.defaults Lab.nodes Lab.record Switch.name Host.name Switch.clock \
                  Host.clock Link.from Link.to Value.expect Value.at_least Value.at_most PortDefaults.maps";
    testfields::hold_documented(&fields(), 8, exempt);
}

/// The reaction of the defaults reaches senders that have a transport of their own, and a default that reaches
/// nobody is told: a comparison may rely on it.
#[test]
fn defaults_are_merged_key_by_key_and_one_that_no_flow_takes_is_told() {
    let lab = |flow: &str| {
        good(&format!(
            "topology: {{star: {{hosts: 3}}}}\n\
             defaults: {{flows: {{priority: 3, transport: {{roce: {{dcqcn: sigcomm15}}}}}}}}\n\
             flows: [{{name: f, from: h1, to: h3, {flow}}}]\n"
        ))
    };
    for (flow, has_dcqcn, untaken) in [
        ("transport: {roce: {ack_every: 8}}", true, None),
        ("transport: roce", true, None),
        ("size: 1000", true, None),
        ("transport: {roce: {dcqcn: none}}", false, Some("transport.roce.dcqcn")),
        ("transport: udp", false, Some("transport.roce.dcqcn")),
        ("transport: {tcp: {}}", false, Some("transport.roce.dcqcn")),
    ] {
        let (lab, warnings) = lab(flow);
        assert_eq!(lab.plan.flows[0].signals.dcqcn, has_dcqcn, "{flow}");
        let untaken =
            untaken.map(|path| format!("defaults.flows.{path}: no flow takes it: each has"));
        let told = warnings.iter().filter(|line| line.contains("no flow takes it")).count();
        assert_eq!(told, usize::from(untaken.is_some()), "{flow}: {warnings:?}");
        let is_told = |part: &String| warnings.iter().any(|line| line.contains(part.as_str()));
        assert!(untaken.as_ref().is_none_or(is_told), "{flow}: {warnings:?}");
    }
    let (_, warnings) = good("topology: {star: {hosts: 3}}\ndefaults: {flows: {priority: 3}}\n");
    assert!(warnings.iter().any(|line| line.contains("`flows` has none")), "{warnings:?}");
}

/// A timeout that is shorter than the time of a frame and its acknowledgement sends every frame several times.
#[test]
fn timeouts_of_slow_links_are_longer_than_their_frames() {
    use host::Transport;
    use sim::NodeKind;
    let timeout = |rate: &str, transport: &str| {
        let lab = good(&format!(
            "topology: {{star: {{hosts: 2}}}}\n\
             nodes: {{hosts: [h3]}}\n\
             links: [{{from: h3, to: s1, rate: {rate}}}]\n\
             flows: [{{from: h1, to: h3, transport: {transport}, duration: {{bytes: 9KB}}}}]\n"
        ));
        let sender = |node: &sim::NodePlan| match &node.kind {
            NodeKind::Host(host) => host.senders.first().cloned(),
            NodeKind::Switch(_) => None,
        };
        let timeout = match &lab.0.plan.network.nodes.iter().find_map(sender).unwrap().kind {
            Transport::Roce(roce) => roce.timeout,
            Transport::TcpLike(tcp) => tcp.timeout_min,
        };
        timeout.as_nanos() / 1_000_000
    };
    for transport in ["roce", "tcp"] {
        let times = ["100G", "1G", "100M", "1M"].map(|rate| timeout(rate, transport));
        assert_eq!(times, [1, 1, 10, 1_000], "{transport}");
    }
    assert_eq!(timeout("1M", "{roce: {timeout: 3ms}}"), 3);
    assert_eq!(timeout("1M", "{tcp: {timeout_min: 4ms}}"), 4);
}
