//! The proxy of Source Flow Control between namespaces: messages that scapy writes byte by byte
//! become PFC on the link of the host that they are for, and on no other; forged ones pause no
//! host.

use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::netns::{
    self, Host,
    capture::Capture,
    isolated, port,
    rack::{FABRIC, LYING, OBEYING, PLAIN, QUANTUM_NS, Rack, pause, tshark},
    script::Script,
};
use crate::run::{Dir, Switch};

const TOOLS: [&str; 4] = ["tcpdump", "python3", "scapy", "tshark"];
#[test]
fn a_message_becomes_a_pause_of_the_priority_and_the_quanta_that_it_means() {
    isolated(&TOOLS, || {
        let dir = Dir::new("sfc-quanta");
        let mut rack = Rack::start(&dir, "longest: 1s, credit: 5s, share: 100%");
        // Nanoseconds, their encoding, and quanta: rounded up, from one to the most that a frame
        // can hold.
        let told: [(u64, usize, &str); 7] = [
            (1, 3, ""),
            (5_120, 3, "vlan=7.0"),
            // The DSCP says the priority, by the map of the host's port.
            (5_121, 4, "locator=2 pcp=3 dscp=32"),
            (100_000, 3, "version=0 dscp=0"),
            (2_560_000, 4, "protocol=6 dport=80"),
            (33_000_000, 3, "vlan=0.1"),
            (100_000_000, 4, ""),
        ];
        for (n, (ns, priority, how)) in told.into_iter().enumerate() {
            rack.send(PLAIN, &format!("pause={ns} pcp={priority} {how}"));
            rack.paused(PLAIN, n + 1);
            thread::sleep(Duration::from_nanos(ns) + Duration::from_millis(30));
        }
        // A shorter one during a longer one, and one in IPv6.
        rack.send(PLAIN, "pause=50000000 pcp=3");
        rack.send(PLAIN, "pause=1000000 pcp=3");
        thread::sleep(Duration::from_millis(80));
        let v6 = format!("message {} fd00::1 pause=700000 pcp=3", rack.hosts[PLAIN].mac_text());
        rack.fabric.tell(&v6);
        let mut wanted: Vec<_> =
            told.map(|(ns, priority, _)| pause(priority, ns.div_ceil(QUANTUM_NS))).into();
        wanted.push(pause(3, 50_000_000_u64.div_ceil(QUANTUM_NS)));
        wanted.push(pause(3, 700_000_u64.div_ceil(QUANTUM_NS)));
        let seen = rack.pauses(PLAIN, wanted.len());
        assert_eq!(seen, wanted);
        println!("{} pauses, each of the quanta that its message means", seen.len());
        // The host never receives a message.
        assert!(tshark(&rack.captures[PLAIN], "udp", "frame.number").is_empty());
        assert_eq!(rack.at(PLAIN, "sfc_proxy_accepted"), 10);
        assert_eq!(rack.at(PLAIN, "sfc_proxy_redundant"), 1);
        assert_eq!(rack.at(PLAIN, "sfc_proxy_pauses"), 9);
        let summary = rack.end();
        assert_eq!(summary["ports"][0]["consumed_frames"], 10);
        assert_eq!(summary["drops"]["sfcm_refused"], 0);
    });
}

#[test]
fn a_pause_longer_than_a_frame_can_say_is_renewed_in_time_and_ends_in_time() {
    isolated(&TOOLS, || {
        let dir = Dir::new("sfc-renewed");
        let mut rack = Rack::start(&dir, "longest: 1s, credit: 5s, share: 100%");
        let (asked, longest) = (800_000_000, 65_535 * QUANTUM_NS);
        rack.send(PLAIN, &format!("pause={asked} pcp=3"));
        thread::sleep(Duration::from_nanos(asked));
        let frames = rack.captures[PLAIN].frames();
        let quanta = |octets: &[u8]| u64::from(u16::from_be_bytes([octets[24], octets[25]]));
        let told: Vec<(u64, u64)> = (frames.iter().filter(|f| f.is_mac_control()))
            .map(|f| (f.at, f.at + quanta(&f.octets) * QUANTUM_NS))
            .collect();
        let ms = |ns: u64| ns as f64 / 1e6;
        let start = told[0].0;
        for (at, until) in &told {
            println!("at {:.3} ms until {:.3} ms", ms(at - start), ms(until - start));
        }
        assert_eq!(told[0].1 - start, longest);
        assert!((4..=6).contains(&told.len()), "{told:?}");
        for pair in told.windows(2) {
            let [(_, until), (next, next_until)] = pair else { unreachable!("windows of two") };
            assert!(next < until, "ran out {:.3} ms before it was renewed", ms(next - until));
            assert!(next_until >= until, "a renewal made it shorter");
        }
        // Rounded up by less than a quantum; the rest is the time from the switch's read of its
        // clock to the kernel's timestamp of the frame.
        let whole = told.iter().map(|(_, until)| until - start).max().unwrap();
        let slack = 20_000_000;
        assert!(whole.abs_diff(asked) < slack, "{:.3} of {:.3} ms", ms(whole), ms(asked));
        let seen = rack.pauses(PLAIN, told.len());
        assert!(seen.iter().all(|fields| fields[3] == "0x0008" && fields[5] == "0"), "{seen:?}");
        rack.end();
    });
}

#[test]
fn what_is_forged_pauses_nobody_and_is_counted_under_its_name() {
    isolated(&TOOLS, || {
        let dir = Dir::new("sfc-forged");
        let mut rack = Rack::start(&dir, "longest: 1s, credit: 5s, share: 100%");
        let to = rack.hosts[PLAIN].mac_text();
        let good = "pause=100000000 pcp=3";
        let mut refused = 0;
        // Truncated messages. 24 octets are the message, 42 the headers before it.
        let cut = (42..66).step_by(3).map(|n| format!("cut={n}"));
        let keep = (0..24).map(|n| format!("keep={n}"));
        let octets = ["udp_sum=1", "ip_sum=1", "version=1", "form=7", "length=13", "length=600"];
        let flows = ["from=10.0.0.2", "from=224.0.0.1", "dport=58622", "form=1 length=14"];
        let whole = octets.iter().chain(&flows).map(|s| s.to_string());
        let all: Vec<_> = keep.chain(whole).chain(cut).collect();
        all.iter().for_each(|fields| rack.send(PLAIN, &format!("{good} {fields}")));
        let malformed = all.len() as u64;
        rack.counted("sfc_proxy_malformed", malformed);
        // Messages that the policy or the switch's tables refuse.
        let mut expect = |rack: &mut Rack, name: &str, said: &str| {
            rack.fabric.tell(said);
            rack.counted(name, 1);
            refused += 1;
        };
        let of = |fields: &str| format!("message {to} 10.0.0.1 {fields}");
        expect(&mut rack, "sfc_proxy_not_protected", &of("pause=100000000 pcp=5"));
        let nowhere = format!("message 02:00:00:00:77:77 10.0.0.1 {good}");
        expect(&mut rack, "sfc_proxy_not_routed", &nowhere);
        let back = format!("message {} 10.0.0.0 {good}", rack.hosts[FABRIC].mac_text());
        expect(&mut rack, "sfc_proxy_reflected", &back);
        // From a host, and from an address that is not one of the network's.
        let mut lying = Rack::script(&rack.hosts[LYING]);
        lying.tell(&of(good));
        rack.counted("sfc_proxy_sender", 1);
        let other = format!("{} 192.0.2.1", rack.hosts[FABRIC].mac_text());
        Script::start(&rack.hosts[FABRIC], "sfcm.py", &other).tell(&of(good));
        rack.counted("sfc_proxy_sender", 2);
        refused += 2;
        thread::sleep(Duration::from_millis(100));
        assert_eq!(rack.at(PLAIN, "sfc_proxy_accepted"), 0);
        assert_eq!(rack.at(PLAIN, "sfc_proxy_pauses"), 0);
        for host in [PLAIN, OBEYING, LYING] {
            let got = |f: &netns::capture::Seen| f.src() != rack.hosts[host].mac;
            assert!(!rack.captures[host].frames().iter().any(got), "host {host} got something");
        }
        let summary = rack.end();
        assert_eq!(summary["drops"]["sfcm_refused"], refused);
        assert_eq!(summary["drops"]["sfcm_malformed"], malformed);
        println!("{malformed} malformed, {refused} refused: {:#}", summary["congestion"]["switch"]);
    });
}

#[test]
fn a_flood_of_messages_pauses_a_host_for_no_longer_than_the_policy_has_it() {
    isolated(&TOOLS, || {
        let dir = Dir::new("sfc-flood");
        let policy = "longest: 50ms, credit: 200ms, share: 25%, spacing: 20ms, burst: 8";
        let mut rack = Rack::start(&dir, policy);
        let to = rack.hosts[PLAIN].mac_text();
        for gap_us in [5_000, 0] {
            let said = format!("repeat 300 {gap_us} {to} 10.0.0.1 pause=4000000000 pcp=3");
            assert_eq!(rack.fabric.tell(&said), 300);
        }
        let all = |s: &Value| s["ports"][FABRIC]["rx_frames"] == 600;
        let shown = rack.switch.wait("all came", all);
        thread::sleep(Duration::from_millis(200));
        let of = |name: &str| shown["congestion"]["switch"][name].as_u64().unwrap();
        assert!(of("sfc_proxy_too_many") > 0, "{:#}", shown["congestion"]);
        assert!(rack.at(PLAIN, "sfc_proxy_cut_to_credit") > 0, "{:#}", shown["congestion"]);
        let accepted = rack.at(PLAIN, "sfc_proxy_accepted");
        assert_eq!(rack.at(PLAIN, "sfc_proxy_cut_to_longest"), accepted);
        // Total time for which the host was paused, and the span.
        let (mut start, mut until, mut still, mut frames) = (None, 0, 0, 0);
        for seen in rack.captures[PLAIN].frames().iter().filter(|f| f.is_mac_control()) {
            let quanta = u16::from_be_bytes([seen.octets[24], seen.octets[25]]);
            let over = seen.at + u64::from(quanta) * QUANTUM_NS;
            start.get_or_insert(seen.at);
            still += over.saturating_sub(seen.at.max(until));
            until = until.max(over);
            frames += 1;
        }
        let span = until - start.expect("some of the flood is obeyed");
        let most = 200_000_000 + span / 4 + frames * QUANTUM_NS;
        let [still, most, span] = [still, most, span].map(|ns| ns as f64 / 1e6);
        println!("paused {still:.1} of {most:.1} ms that the policy allows in {span:.1} ms");
        assert!(still <= most + 20.0, "{still:.1} ms paused, {most:.1} ms allowed");
        assert!(still > 200.0, "the credit was not even used");
        rack.end();
    });
}

/// Start of a frame as a message quotes it: EtherType, IPv4 and UDP headers from `from` on.
fn msdu(from: &str) -> String {
    format!("0800450000320000000040110000{from}0a000909c00012b7001e0000{}", "00".repeat(34))
}

#[test]
fn a_host_that_obeys_messages_gets_each_as_it_was_sent() {
    isolated(&TOOLS, || {
        let dir = Dir::new("sfc-forwarded");
        let mut rack = Rack::start(&dir, "longest: 1s, credit: 5s, share: 100%");
        rack.send(OBEYING, "pause=123456789 pcp=3 dscp=26 locator=2");
        let quoted = format!("form=1 msdu={} pause=5000000 pcp=4", msdu("0a000002"));
        rack.send(OBEYING, &quoted);
        // A message that quotes another host's frame is malformed and not forwarded.
        rack.send(OBEYING, &quoted.replace("0a000002", "0a000001"));
        rack.counted("sfc_proxy_malformed", 1);
        rack.send(PLAIN, &format!("form=1 msdu={} pause=5000000 pcp=4", msdu("0a000001")));
        rack.counted("sfc_proxy_forwarded", 2);
        let sent = |seen: &[netns::capture::Seen]| seen.len() >= 2;
        rack.captures[OBEYING].wait("both", sent);
        let fields = "eth.src ip.src ip.dst udp.srcport udp.dstport udp.checksum.status \
            sfcm.form sfcm.locator sfcm.priority sfcm.dscp sfcm.pause sfcm.flow.src sfcm.flow.dst \
            sfcm.flow.dstport";
        let got = tshark(&rack.captures[OBEYING], "sfcm", fields);
        let fabric = rack.hosts[FABRIC].mac_text();
        let line = |said: &str| -> Vec<String> {
            let head = format!("{fabric};10.0.9.9;10.0.0.2;58622;58622;1;{said}");
            head.split(';').map(str::to_owned).collect()
        };
        let flow = "10.0.0.2;10.0.9.9;4791";
        let wanted = [format!("0;2;3;26;123456789;{flow}"), format!("1;1;4;32;5000000;{flow}")];
        assert_eq!(got, wanted.map(|said| line(&said)));
        let quanta = 5_000_000_u64.div_ceil(QUANTUM_NS);
        assert_eq!(rack.pauses(PLAIN, 1), [pause(4, quanta)]);
        rack.end();
    });
}

#[test]
fn a_queue_that_congests_tells_its_sources_and_those_who_cannot_hear_are_paused() {
    isolated(&TOOLS, || {
        let dir = Dir::new("sfc-point");
        let hosts: Vec<_> = (0..3).map(Host::new).collect();
        // The buffer holds all frames of both, so that no port of the switch pauses by itself. The queue
        // grows however slowly a busy machine sends them.
        let file = format!(
            "sfc: {{queues: {{3: {{threshold: 20KB, target: 10KB}}}}}}\n\
             sfc_proxy: {{policy: {{longest: 1s, credit: 5s, share: 100%}}}}\n\
             defaults: {{rate: 100M, pfc: {{enable: [3]}}, \
             link: {{poll_gap: 50ms, peer_response: 10ms}}}}\n\
             buffer: {{cell: 2KiB, profiles: {{lossless: {{shared: {{static_th: 16MiB}}, \
             lossless: {{}}}}}}}}\n\
             bridge: {{statics: [{{mac: '{}', port: p2}}]}}\n\
             ports:\n{}{}{}",
            hosts[2].mac_text(),
            port(0, ", attached: sfc_host"),
            port(1, ", attached: host"),
            port(2, ", attached: host, rate: 1M"),
        );
        let switch = Switch::start(&dir, "point", &file, &[]);
        let captures: Vec<_> = (hosts.iter().zip(["obeying", "plain", "slow"]))
            .map(|(host, name)| Capture::start(&dir, host, name))
            .collect();
        for (n, host) in hosts[..2].iter().enumerate() {
            let to = hosts[2].mac_text();
            let said = format!("flow {to} 10.0.0.{n} 10.0.0.2 3 120 1000 0");
            assert_eq!(Rack::script(host).tell(&said), 120);
        }
        let shown = switch.wait("all sent", |s| s["ports"][2]["tx_frames"] == 240);
        let peak = shown["ports"][2]["priorities"][3]["queue_peak_bytes"].as_u64().unwrap();
        let counter = |port: &str, name: &str| {
            shown["congestion"]["ports"][port][name].as_u64().expect("a counter")
        };
        let fields = "ip.src ip.dst udp.srcport udp.dstport udp.checksum.status sfcm.locator \
            sfcm.priority sfcm.dscp sfcm.flow.src sfcm.flow.dst sfcm.flow.dstport sfcm.pause";
        let told = tshark(&captures[0], "sfcm", fields);
        assert!(!told.is_empty(), "{:#}", shown["congestion"]);
        // Never longer than the queue takes to drain.
        let longest = peak * 8 * 1_000_000_000 / 1_000_000;
        for message in &told {
            let (pause, rest) = message.split_last().unwrap();
            let wanted = "10.0.0.2;10.0.0.0;58622;58622;1;1;3;26;10.0.0.0;10.0.0.2;4791";
            assert_eq!(rest.join(";"), wanted);
            assert!((1..=longest).contains(&pause.parse().unwrap()), "{pause} of {longest} ns");
        }
        let paused = tshark(&captures[1], "macc", "macc.cbfc.enbv macc.cbfc.pause_time.c3");
        assert_eq!(paused.len() as u64, counter("p1", "sfc_proxy_pauses"));
        assert!(!paused.is_empty() && paused.iter().all(|f| f[0] == "0x0008" && f[1] != "0"));
        assert!(tshark(&captures[1], "sfcm", "frame.number").is_empty());
        assert!(tshark(&captures[0], "macc", "frame.number").is_empty());
        assert!(tshark(&captures[2], "macc || sfcm", "frame.number").is_empty());
        let sent = counter("p2", "sfcTransmittedSFCMs");
        assert_eq!(sent, told.len() as u64 + counter("p1", "sfc_proxy_accepted"));
        println!("{peak} octets in the queue: {} messages, {} pauses", told.len(), paused.len());
        assert_eq!(switch.stop().0, Some(0));
    });
}
