//! LLDP agents of other projects at the ends of veth pairs: lldpd, which sends and receives, and
//! openlldp's lldpad, which reads DCBX. (On a veth lldpad sends no DCBX: the device does not have
//! the kernel's DCB.)

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration as StdDuration, Instant as StdInstant};

use serde_json::{Value, json};
use sluice::discovery::{
    Application, DcbxPfcPlan, DcbxPlan, EtsPlan, EtsTable, Lldp, LldpPlan, Party, PeerState,
    PfcForm, Role, Selector, Topology, TopologyPlan,
};
use sluice::dpdk::{
    DpdkPort, Eal, EalOptions, Memory, Pool, PoolOptions, PortOptions, SourcePort, TscClock,
};
use sluice::host::{Station, StationPlan};
use sluice::link::AgentsPlan;
use sluice::time::Duration;
use sluice::units::{BitsPerSec, Bytes, Mac, PrioritySet};
use sluice::wire::lldp::Capabilities;

use crate::netns::{Host, isolated_beside, must};
use crate::run::{Dir, Switch, text};

/// True if the daemons can run: they drop privileges, which only root can.
fn able() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    let root = text(&id.stdout).trim() == "0";
    if !root {
        crate::run::skipped("lldpd and lldpad need root");
    }
    root
}

/// Time limit of every step: lldpd checks its interfaces every few seconds only.
const PATIENCE: StdDuration = StdDuration::from_secs(60);

/// A program that runs on a host until the test ends.
struct Daemon(Child);

impl Daemon {
    fn start(command: &mut Command, log: PathBuf) -> Self {
        let log = std::fs::File::create(log).unwrap();
        let child = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        Self(child.spawn().unwrap())
    }

    /// Asks it to end, and waits for that.
    fn stop(mut self) {
        must(Command::new("kill").args(["-TERM", &self.0.id().to_string()]));
        self.0.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A host with lldpd, which sends every second.
struct Lldpd {
    host: Host,
    socket: PathBuf,
    daemon: Daemon,
}

impl Lldpd {
    fn start(dir: &Dir, number: u8) -> Self {
        let host = Host::new(number);
        let socket = dir.path("lldpd.sock");
        let mut lldpd = host.command("lldpd");
        // Without the kernel's version, inventory and files of the machine.
        lldpd.args(["-d", "-k", "-i", "-I", "eth0", "-C", "eth0", "-S", "a host with lldpd"]);
        lldpd.args(["-O", "/nonexistent", "-u"]).arg(&socket);
        let daemon = Daemon::start(&mut lldpd, dir.path("lldpd.log"));
        let lldpd = Self { host, socket, daemon };
        let start = StdInstant::now();
        while !lldpd.ask(&["show", "interfaces"]).status.success() {
            let log = || std::fs::read_to_string(dir.path("lldpd.log")).unwrap();
            assert!(start.elapsed() < PATIENCE, "lldpd does not answer: {}", log());
            thread::sleep(StdDuration::from_millis(50));
        }
        lldpd.tell("lldp tx-interval 1");
        lldpd
    }

    fn ask(&self, args: &[&str]) -> std::process::Output {
        let mut lldpcli = self.host.command("lldpcli");
        lldpcli.arg("-u").arg(&self.socket).args(["-f", "json0"]).args(args).output().unwrap()
    }

    /// Configures it, with arguments separated by spaces.
    fn tell(&self, what: &str) {
        let words: Vec<_> = ["configure"].into_iter().chain(what.split(' ')).collect();
        let output = self.ask(&words);
        assert!(output.status.success(), "{what}: {}", text(&output.stderr));
    }

    /// Neighbours that it knows.
    fn neighbours(&self) -> Vec<Value> {
        let output = self.ask(&["show", "neighbors", "details"]);
        let shown: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        shown["lldp"][0]["interface"].as_array().cloned().unwrap_or_default()
    }

    /// Waits for its only neighbour to satisfy `wanted`.
    fn neighbour(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let start = StdInstant::now();
        loop {
            let known = self.neighbours();
            if let [only] = &known[..] {
                if wanted(only) {
                    return only.clone();
                }
            }
            assert!(start.elapsed() < PATIENCE, "never {what}: {known:#?}");
            thread::sleep(StdDuration::from_millis(100));
        }
    }
}

/// TLVs that it does not read: subtype of 802.1, and octets.
fn unknown(neighbour: &Value) -> Vec<(String, String)> {
    let tlvs = neighbour["unknown-tlvs"][0]["unknown-tlv"].as_array().cloned().unwrap_or_default();
    let of = |tlv: &Value, name: &str| tlv[name].as_str().unwrap().to_owned();
    let ours = tlvs.iter().filter(|tlv| tlv["oui"] == "00,80,C2");
    ours.map(|tlv| (of(tlv, "subtype"), of(tlv, "value"))).collect()
}

/// PFC for priorities 3 and 4, by a neighbour that is not willing.
const PFC_3_4: &str = "lldp custom-tlv oui 00,80,c2 subtype 11 oui-info 08,18";

const FILE: &str = r#"
switch: {name: leaf-7}
buffer: {total: 16MiB}
defaults:
  rate: 1G
  pfc: {enable: [3]}
ports:
  - name: left
    device: "net_af_packet0,iface=s0"
    lldp: {system_description: a switch under test}
    dcbx:
      pfc: {willing: true, form: proposed}
      applications: [{priority: 3, udp: 4791}]
  - {name: right, device: "net_af_packet1,iface=s1"}
"#;

#[test]
fn lldpd_knows_a_port_of_a_switch_which_takes_its_pfc() {
    if !able() {
        return;
    }
    isolated_beside(&["lldpd"], || {
        let dir = Dir::new("lldpd-switch");
        let lldpd = Lldpd::start(&dir, 0);
        let _other = Host::new(1);
        let switch = Switch::start(&dir, "switch", FILE, &["-v"]);
        let seen = lldpd.neighbour("a neighbour", |_| true);
        let value = |part: &str, name: &str, field: &str| seen[part][0][name][0][field].clone();
        assert_eq!(value("chassis", "id", "type"), "mac");
        assert_eq!(value("chassis", "name", "value"), "leaf-7");
        assert_eq!(value("chassis", "descr", "value"), "a switch under test");
        assert_eq!(value("chassis", "capability", "type"), "Bridge");
        assert_eq!(value("chassis", "capability", "enabled"), true);
        assert_eq!(value("port", "id", "type"), "ifname");
        assert_eq!(value("port", "id", "value"), "left");
        assert_eq!(value("port", "ttl", "value"), "121");
        let tlvs = unknown(&seen);
        let of = |subtype: &str| tlvs.iter().find(|(s, _)| s == subtype).map(|(_, v)| v.as_str());
        // Willing, eight classes, priority 3, and no measurement by any method.
        assert_eq!(of("11"), Some("88,08,00"));
        assert_eq!(of("12"), Some("00,63,12,B7"));

        lldpd.tell(PFC_3_4);
        let start = StdInstant::now();
        while !switch.stderr().contains("left: PFC for priorities 3, 4, the peer's") {
            assert!(start.elapsed() < PATIENCE, "never negotiated: {}", switch.stderr());
            thread::sleep(StdDuration::from_millis(50));
        }
        let shown = switch.wait("the peer's PFC", |shown| {
            let dcbx = &shown["ports"][0]["agents"]["dcbx"];
            dcbx["pfc"] == json!({"enable": [3, 4], "from": "peer"})
        });
        let known = &shown["ports"][0]["agents"]["neighbours"][0];
        assert_eq!(known["chassis"], lldpd.host.mac_text());
        assert_eq!(known["system_description"], "a host with lldpd");
        assert_eq!(known["dcbx"], true);

        assert_eq!(switch.stop().0, Some(0));
        // Less than its time to live, so the neighbour withdrew it.
        let start = StdInstant::now();
        while !lldpd.neighbours().is_empty() {
            assert!(start.elapsed() < PATIENCE, "no goodbye: {:#?}", lldpd.neighbours());
            thread::sleep(StdDuration::from_millis(100));
        }
    });
}

/// A station at `s0` that sends all TLVs and is willing.
fn station(port: SourcePort) -> Station<SourcePort> {
    let mac = Mac([2, 0, 0, 0, 0x30, 0]);
    let mut lldp = LldpPlan::new(mac, mac, "port 7");
    lldp.system_name = "station".into();
    lldp.system_description = "a station under test".into();
    lldp.role = Role::Station;
    let local = EtsTable {
        class: [0, 0, 0, 3, 0, 0, 0, 7],
        bandwidth: [40, 0, 0, 60, 0, 0, 0, 0],
        algorithm: [2, 0, 0, 2, 0, 0, 0, 0],
    };
    let (willing, macsec_bound, capability) = (true, false, 6);
    let form = PfcForm::Proposed { round_trip: true, ptp: true, macsec: true };
    let enable = PrioritySet(1 << 3);
    let dcbx = DcbxPlan {
        ets: Some(EtsPlan { willing, cbs: false, classes: 8, local, recommended: Some(local) }),
        pfc: Some(DcbxPfcPlan { willing, macsec_bound, capability, enable, form }),
        applications: vec![Application { priority: 3, selector: Selector::Udp, protocol: 4791 }],
        internal_delay: Some(Duration::from_nanos(615)),
        topology: Some(TopologyPlan::Fixed(Topology::default())),
        ..DcbxPlan::new(mac)
    };
    let rate = BitsPerSec::gbps(1);
    let (lldp, dcbx) = (Some(lldp), Some(dcbx));
    let agents = AgentsPlan { mac, rate, lldp, dcbx, measure: None, peer_delay: None, auto: None };
    let plan = StationPlan {
        shaper_burst: Bytes(3_000),
        agents: Some(agents),
        ..StationPlan::new("station", mac, rate)
    };
    Station::new(&plan, port).unwrap()
}

/// A station on the veth of host 0, polled by this thread.
struct Polled {
    clock: TscClock,
    station: Station<SourcePort>,
    _eal: Eal,
}

impl Polled {
    fn start() -> Self {
        let eal = Eal::start(&EalOptions { memory: Memory::NoHuge, ..Default::default() }).unwrap();
        let pool = Pool::new(&eal, &PoolOptions { frames: 4_000, ..Default::default() }).unwrap();
        let port = DpdkPort::open(&eal, "net_af_packet0,iface=s0").unwrap();
        let port = port.start(&PortOptions::default(), &pool).unwrap();
        Self { clock: TscClock::new(), station: station(SourcePort::new(port, pool)), _eal: eal }
    }

    fn lldp(&self) -> &Lldp {
        self.station.agents().unwrap().lldp().unwrap()
    }

    /// Polls until `wanted` holds.
    fn wait(&mut self, what: &str, mut wanted: impl FnMut(&Lldp) -> bool) {
        let start = StdInstant::now();
        while !wanted(self.lldp()) {
            self.station.poll(self.clock.now());
            assert!(start.elapsed() < PATIENCE, "never {what}: {:#?}", self.lldp());
            thread::yield_now();
        }
    }

    /// Its PFC configuration, and the party that it is from.
    fn pfc(lldp: &Lldp) -> (PrioritySet, Party) {
        let pfc = lldp.resolved().unwrap().pfc.unwrap();
        (pfc.enable, pfc.from)
    }
}

#[test]
fn a_station_knows_lldpd_takes_its_pfc_and_notices_that_it_goes() {
    if !able() {
        return;
    }
    isolated_beside(&["lldpd"], || {
        let dir = Dir::new("lldpd-station");
        let lldpd = Lldpd::start(&dir, 0);
        let mut polled = Polled::start();
        polled.wait("a neighbour", |lldp| lldp.neighbours().len() == 1);
        let mac = Mac(lldpd.host.mac);
        let neighbour = polled.lldp().neighbours().next().unwrap().clone();
        let said = neighbour.received;
        assert_eq!(said.mac, mac);
        assert_eq!((said.chassis.subtype, &said.chassis.octets[..]), (4, &mac.0[..]));
        assert_eq!((said.port.subtype, &said.port.octets[..]), (3, &mac.0[..]));
        assert_eq!(&said.port_description[..], b"eth0");
        assert_eq!(&said.system_description[..], b"a host with lldpd");
        assert!(!said.system_name.is_empty());
        assert_eq!(said.capabilities.unwrap().enabled, Capabilities::STATION);
        assert_eq!(polled.lldp().resolved().unwrap().state, PeerState::Absent);

        lldpd.tell(PFC_3_4);
        let taken = (PrioritySet(0x18), Party::Peer);
        polled.wait("its PFC", |lldp| Polled::pfc(lldp) == taken);
        assert_eq!(polled.lldp().resolved().unwrap().methods, None, "it says none");
        // The seventh octet of the proposal: it measures by both methods.
        lldpd.tell("lldp custom-tlv replace oui 00,80,c2 subtype 11 oui-info 08,18,c0");
        polled.wait("its methods", |lldp| lldp.resolved().unwrap().methods.is_some());
        lldpd.tell("lldp custom-tlv replace oui 00,80,c2 subtype 11 oui-info 08,00");
        polled.wait("other PFC", |lldp| Polled::pfc(lldp) == (PrioritySet(0), Party::Peer));

        lldpd.daemon.stop();
        polled.wait("a goodbye", |lldp| lldp.neighbours().len() == 0);
        assert_eq!(Polled::pfc(polled.lldp()), (PrioritySet(1 << 3), Party::Local));
        let c = polled.lldp().counters();
        println!("{c:?}");
        assert_eq!((c.frames_in_errors, c.frames_discarded, c.tlvs_discarded), (0, 0, 0));
        assert_eq!((c.inserts, c.deletes, c.ageouts), (1, 1, 0));
    });
}

/// Runs lldptool on a host, with arguments separated by spaces; returns its output if lldpad
/// accepts the command.
fn lldptool(host: &Host, words: &str) -> Option<String> {
    let output = host.command("lldptool").args(words.split(' ')).output().unwrap();
    output.status.success().then(|| text(&output.stdout))
}

#[test]
fn openlldp_reads_what_a_station_says_of_dcbx() {
    if !able() {
        return;
    }
    isolated_beside(&["lldpad"], || {
        let dir = Dir::new("lldpad");
        let host = Host::new(0);
        // It searches for other instances in System V's memory, which the machine shares.
        let mut lldpad = host.command("unshare");
        lldpad.args(["--ipc", "--", "lldpad", "-p", "-f"]).arg(dir.path("lldpad.conf"));
        let _daemon = Daemon::start(&mut lldpad, dir.path("lldpad.log"));
        let start = StdInstant::now();
        while lldptool(&host, "set-lldp -i eth0 adminStatus=rxtx").is_none() {
            let log = || std::fs::read_to_string(dir.path("lldpad.log")).unwrap();
            assert!(start.elapsed() < PATIENCE, "lldpad does not answer: {}", log());
            thread::sleep(StdDuration::from_millis(50));
        }
        let mut polled = Polled::start();
        let mut heard = String::new();
        polled.wait("heard", |lldp| {
            heard = lldptool(&host, "-t -n -i eth0").unwrap_or_default();
            heard.contains("PFC TLV") && lldp.neighbours().len() == 1
        });
        let said = &polled.lldp().neighbours().next().unwrap().received;
        assert_eq!((said.mac, &said.chassis.octets[..]), (Mac(host.mac), &host.mac[..]));
        let mut lines = heard.lines().map(str::trim);
        for want in [
            "MAC: 02:00:00:00:30:00",
            "Ifname: port 7",
            "121",
            "station",
            "a station under test",
            "Enabled capabilities: Station Only",
            "IEEE 8021QAZ ETS Configuration TLV",
            "Willing: yes",
            "CBS: not supported",
            "MAX_TCS: 8",
            "PRIO_MAP: 0:0 1:0 2:0 3:3 4:0 5:0 6:0 7:7",
            "TC Bandwidth: 40% 0% 0% 60% 0% 0% 0% 0%",
            "TSA_MAP: 0:ets 1:strict 2:strict 3:ets 4:strict 5:strict 6:strict 7:strict",
            "IEEE 8021QAZ ETS Recommendation TLV",
            "IEEE 8021QAZ PFC TLV",
            "Willing: yes",
            "PFC capable traffic classes: 6",
            "PFC enabled: 3",
            "IEEE 8021QAZ APP TLV",
            "End of LLDPDU TLV",
        ] {
            assert!(lines.any(|line| line == want), "{want}: {heard}");
        }
        assert!(heard.contains("UDP or DCCP Port: 4791"), "{heard}");
        let counted = lldptool(&host, "-S -i eth0").unwrap();
        for want in ["Total Error Frames Received     = 0", "Total Discarded TLVs            = 0"] {
            assert!(counted.contains(want), "{counted}");
        }
    });
}
