//! Congestion messages that a switch sends between namespaces when a queue of its fills up: Congestion
//! Isolation, QCN, fast CNP and Source Flow Control, judged by scapy and, for the CNP, by tshark.

use std::process::Command;

use serde_json::{Value, json};

use crate::netns::{
    Host,
    capture::Capture,
    isolated_beside, must, port,
    rack::tshark,
    script::{Script, python},
};
use crate::run::{Dir, Switch};

const TOOLS: [&str; 4] = ["tcpdump", "python3", "scapy", "tshark"];
/// Two senders and a receiver, by number.
const SENDERS: [usize; 2] = [0, 1];
const RECEIVER: usize = 2;
/// Source port and destination queue pair of each sender's flow.
const FLOWS: [(u16, u32); 2] = [(0xc001, 0x11), (0xc002, 0x22)];
/// Queue pair of each sender.
const SOURCE_QP: [u32; 2] = [0x101, 0x102];
/// Start of an IPv4 packet in a quoted frame, with a header of 20 bytes, DSCP 26 and ECT(0).
const QUOTED: &str = "0800456a";

/// Two hosts that send 40 Mb/s together to one behind 10 Mb/s, and captures of the senders' links.
struct Congested {
    hosts: Vec<Host>,
    captures: Vec<Capture>,
}

impl Congested {
    /// Runs a switch with the `sections` of its file, and `more` fields of each port.
    fn run(dir: &Dir, sections: &str, more: [&str; 3]) -> (Self, Value) {
        let hosts: Vec<_> = (0..3).map(Host::new).collect();
        let address = |n: usize| format!("{{mac: '{}', port: p{n}}}", hosts[n].mac_text());
        let ports: String = (0..3).map(|n| port(n, more[usize::from(n)])).collect();
        let file = format!(
            "{sections}\
             defaults: {{rate: 100M}}\n\
             bridge: {{statics: [{}, {}, {}]}}\n\
             ports:\n{ports}",
            address(0),
            address(1),
            address(2),
        );
        let switch = Switch::start(dir, "told", &file, &[]);
        let start = |n: usize| Capture::start(dir, &hosts[n], &format!("sender{n}"));
        let captures = SENDERS.map(start).into();
        let mut senders = SENDERS.map(|n| {
            let (port, qp) = FLOWS[n];
            let [from, to] = [n, RECEIVER].map(|n| hosts[n].mac_text());
            let args = format!("{from} 10.0.0.{n} {to} 10.0.0.2 {port} {qp} 1000 400");
            Script::start(&hosts[n], "congest.py", &args)
        });
        senders.iter_mut().for_each(|script| script.tell_only("go"));
        let sent: Vec<_> = senders.map(Script::end).into();
        assert_eq!(sent, [1000, 1000]);
        let (_, summary) = switch.stop();
        (Self { hosts, captures }, summary)
    }

    /// Messages of a kind that sender `n` received, as scapy reads them. All have right checksums.
    fn told(&self, n: usize, kind: &str) -> Vec<Value> {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/shared/netns/told.py");
        let mut judge = Command::new(python(true).expect("the test has asked for it"));
        let output = must(judge.arg(script).arg(&self.captures[n].path));
        let all: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        let found: Vec<_> = all.into_iter().filter(|m| m["kind"] == kind).collect();
        assert!(!found.is_empty(), "sender {n} received no {kind}");
        for message in &found {
            assert!(
                message["wrong_sums"].is_null() || message["wrong_sums"] == json!([]),
                "{message}"
            );
            assert_eq!(message["to"], self.hosts[n].mac_text(), "{message}");
        }
        println!("sender {n}: {} of {kind}, the first {}", found.len(), found[0]);
        found
    }

    fn receiver(&self) -> String {
        self.hosts[RECEIVER].mac_text()
    }
}

#[test]
fn sources_of_congesting_flows_receive_sfcms_cnms_and_cnps() {
    isolated_beside(&TOOLS, || {
        let dir = Dir::new("told-sources");
        let known = SENDERS.map(|n| {
            let (qp, own) = (FLOWS[n].1, SOURCE_QP[n]);
            format!("{{destination: 10.0.0.2, destination_qp: {qp}, source_qp: {own}}}")
        });
        let sections = format!(
            "sfc: {{queues: {{3: {{threshold: 20KB, target: 5KB}}}}}}\n\
             qcn: {{queues: {{3: {{set_point: 20KB, sample_base: 30KB}}}}}}\n\
             fast_cnp: {{queues: {{3: {{threshold: 20KB}}}}, source_qp: [{}]}}\n",
            known.join(", ")
        );
        let more = [", attached: sfc_host", ", attached: sfc_host", ", rate: 10M, attached: host"];
        let (congested, summary) = Congested::run(&dir, &sections, more);
        for n in SENDERS {
            let (src_port, _) = FLOWS[n];
            let ip = format!("10.0.0.{n}");
            for sfcm in congested.told(n, "SFCM") {
                let flow = ["src", "dst", "protocol", "sport", "dport"].map(|f| &sfcm[f]);
                assert_eq!(json!(flow), json!([ip, "10.0.0.2", 17, src_port, 4791]), "{sfcm}");
                let zero = ["version", "form", "reserved", "reserved2", "reserved3", "level"];
                assert!(zero.iter().all(|field| sfcm[*field] == 0), "{sfcm}");
                assert_eq!((&sfcm["priority"], &sfcm["dscp"]), (&json!(3), &json!(26)), "{sfcm}");
                assert_eq!((&sfcm["locator"], &sfcm["length"]), (&json!(1), &json!(14)), "{sfcm}");
                assert_eq!(sfcm["ip"], json!(["10.0.0.2", ip, 56, 58_622, 58_622]));
                // From 20 kB down to 5 kB at 10 Mb/s take 12 ms; the whole flow would take 1.6 s.
                let pause = sfcm["pause"].as_u64().unwrap();
                assert!((12_000_000..1_600_000_000).contains(&pause), "{sfcm}");
            }
            for cnm in congested.told(n, "CNM") {
                let zero = ["version", "reserved", "unused"];
                assert!(zero.iter().all(|field| cnm[*field] == 0), "{cnm}");
                assert_eq!(cnm["destination_address"], congested.receiver(), "{cnm}");
                assert_eq!((&cnm["priority"], &cnm["length"]), (&json!(3), &json!(64)), "{cnm}");
                let quoted = cnm["msdu"].as_str().unwrap();
                let addresses = format!("0a00000{n}0a000002{src_port:04x}12b7");
                assert!(
                    quoted.starts_with(QUOTED) && quoted[28..].starts_with(&addresses),
                    "{cnm}"
                );
                let feedback = cnm["feedback"].as_u64().unwrap();
                // Fb = -(Qoff + w Qdelta) is negative with w = 2 (802.1Q 30.2.1): the queue is above the
                // set point, where the offset is negative, or grows towards it.
                let [offset, delta] = ["q_offset", "q_delta"].map(|of| cnm[of].as_i64().unwrap());
                assert!((1..=63).contains(&feedback) && 2 * delta > offset, "{cnm}");
            }
            for cnp in congested.told(n, "CNP") {
                let fields = ["opcode", "becn", "dqpn", "pkey", "psn"].map(|field| &cnp[field]);
                assert_eq!(json!(fields), json!([0x81, 1, SOURCE_QP[n], 0xffff, 0]), "{cnp}");
                assert_eq!(cnp["ip"][0], "10.0.0.2", "{cnp}");
                assert_eq!((&cnp["ip"][1], &cnp["ip"][4]), (&json!(ip), &json!(4791)), "{cnp}");
            }
            let fields = "infiniband.bth.destqp infiniband.bth.p_key infiniband.bth.psn";
            let cnps = tshark(&congested.captures[n], "infiniband.bth.opcode == 129", fields);
            let expected = [format!("{:#08x}", SOURCE_QP[n]), "65535".into(), "0".into()];
            let other = cnps.iter().find(|cnp| **cnp != expected);
            assert!(!cnps.is_empty() && other.is_none(), "{other:?}");
            let faults = "_ws.malformed || udp.checksum.status == 0 || ip.checksum.status == 0";
            let faults = tshark(&congested.captures[n], faults, "frame.number");
            assert_eq!(faults, [[""; 0]; 0]);
        }
        assert!(
            summary["congestion"]["switch"]["sfcTransmittedSFCMs"].as_u64() > Some(1),
            "{summary:#}"
        );
    });
}

#[test]
fn switches_upstream_receive_cims_in_ethernet_or_ip() {
    isolated_beside(&TOOLS, || {
        let dir = Dir::new("told-upstream");
        let sections = "congestion_isolation:\n\
                        \x20 isolate: {3: 2}\n\
                        \x20 queues: {3: {threshold: 20KB, low: 2KB, cim_above: 20KB}}\n";
        let mac = |n: u8| format!("02:00:00:00:10:{n:02x}");
        let peers = [
            format!(", congestion_isolation: {{peer: {{peer-mac-address: '{}'}}}}", mac(0)),
            format!(
                ", congestion_isolation: {{cip-ipv4-address: 10.0.9.1, cip-cim-port: 50000, \
                 peer: {{peer-mac-address: '{}', peer-ipv4-address: 10.0.9.2, \
                 peer-udp-port: 50000}}}}",
                mac(1)
            ),
        ];
        let more = [&peers[0][..], &peers[1], ", rate: 10M, vlan: {pvid: 1, tagged: [1]}"];
        let (congested, _) = Congested::run(&dir, sections, more);
        for n in SENDERS {
            let cims = congested.told(n, "CIM");
            for cim in &cims {
                assert_eq!((&cim["version"], &cim["reserved"]), (&json!(0), &json!(0)), "{cim}");
                let addresses = (&cim["destination_address"], &cim["source_address"]);
                let expected =
                    (&json!(congested.receiver()), &json!(congested.hosts[n].mac_text()));
                assert_eq!(addresses, expected, "{cim}");
                assert_eq!(
                    (&cim["vlan_identifier"], &cim["unstated"]),
                    (&json!(1), &json!(0)),
                    "{cim}"
                );
                assert!((48..=512).contains(&cim["length"].as_u64().unwrap()), "{cim}");
                let (quoted, src_port) = (cim["msdu"].as_str().unwrap(), FLOWS[n].0);
                let addresses = format!("0a00000{n}0a000002{src_port:04x}12b7");
                assert!(
                    quoted.starts_with(QUOTED) && quoted[28..].starts_with(&addresses),
                    "{cim}"
                );
            }
            assert_eq!(cims[0]["add"], 1, "the first isolates the flow");
        }
        let ethernet = &congested.told(0, "CIM")[0];
        assert_eq!((&ethernet["shared"], &ethernet["ip"]), (&json!([0, 0]), &Value::Null));
        let over_ip = &congested.told(1, "CIM")[0];
        assert_eq!(over_ip["ip"], json!(["10.0.9.1", "10.0.9.2", 48, 50_000, 50_000]), "{over_ip}");
        assert_eq!(over_ip["shared"], Value::Null);
    });
}
