//! Files are read to recordings, and replays of generator files become flows.

use super::*;
use crate::plan::{Location, Obeys, Place, PortPlan};
use crate::testfolder::Folder;
use config::tree;
use ground::units::{Mac, Quanta};
use std::time::Duration as StdDuration;
use text::packets::{self, Interface, Notes, Pcap, Pcapng};

/// Three frames, 1 us and 3 us apart, the second of which is truncated.
fn frames() -> Vec<packets::Packet<'static>> {
    let frame = |ns: u64, octets, len| packets::Packet {
        at: StdDuration::from_nanos(1_600_000_000_000_000_000 + ns),
        octets,
        len,
    };
    vec![frame(5, &[1; 60], 60), frame(1_005, &[2; 30], 1_514), frame(4_005, &[3; 100], 100)]
}

fn as_pcap() -> Vec<u8> {
    let mut out = Vec::new();
    let mut file = Pcap::new(&mut out, false).unwrap();
    frames().iter().for_each(|frame| file.packet(frame).unwrap());
    out
}

fn as_pcapng() -> Vec<u8> {
    let mut out = Vec::new();
    let interface = Interface { name: "i", description: "d", rate: None, fcs: false };
    let mut file = Pcapng::new(&mut out, None, &[interface]).unwrap();
    frames().iter().for_each(|frame| file.packet(frame, &Notes::default()).unwrap());
    out
}

#[test]
fn both_formats_give_the_same_recording_at_any_scale() {
    let folder = Folder::new("replay-formats");
    let (pcap, pcapng) = (folder.put("a", &as_pcap()), folder.put("b", &as_pcapng()));
    for scale in [1.0, 0.5, 10.0] {
        let recording = load(&pcap, scale, true).unwrap();
        assert_eq!(load(&pcapng, scale, true).unwrap(), recording);
        let us = |n: f64| Instant::from_picos(((n * scale * 1e6).round() as u64).into());
        let want = [
            (us(0.0), vec![1; 60], 60),
            (us(1.0), vec![2; 30], 1_514),
            (us(4.0), vec![3; 100], 100),
        ];
        assert_eq!(recording, Recording::new(want, true).unwrap());
    }
}

/// Frames of one octet each at these seconds, as a file of `folder`.
fn at_seconds(folder: &Folder, seconds: &[u64]) -> PathBuf {
    let mut out = Vec::new();
    let mut file = Pcap::new(&mut out, false).unwrap();
    for s in seconds {
        let at = StdDuration::from_secs(*s);
        file.packet(&packets::Packet { at, octets: &[1; 60], len: 60 }).unwrap();
    }
    folder.put("times", &out)
}

#[test]
fn a_wrong_stamp_is_refused_by_its_frame_unless_there_is_a_rate() {
    let folder = Folder::new("replay-stamps");
    let ends = [0, 1, 1_700_000_000, u64::from(u32::MAX)];
    for (a, b, c) in ends.iter().flat_map(|a| ends.map(|b| (*a, b, 5))) {
        let file = at_seconds(&folder, &[a, b, c, c + 1]);
        for scale in [1.0, 1e-6, 1e6] {
            let far = b.saturating_sub(a).max(c.saturating_sub(a)) as f64 * scale > 18.4e6;
            let goes_back = b < a || c < b;
            match load(&file, scale, true) {
                Ok(_) => assert!(!far && !goes_back, "{a} {b} {scale}"),
                Err(error) if goes_back => {
                    let error = error.to_string();
                    let packet = if b < a { "packet 2 was" } else { "packet 3 was" };
                    assert!(error.contains(packet) && error.contains("`reordercap "), "{error}");
                }
                Err(error) => assert!(error.to_string().contains("to the next; give"), "{error}"),
            }
        }
        assert_eq!(load(&file, 1.0, false).unwrap().len(), 4);
    }
}

#[test]
fn what_is_no_recording_is_refused_by_name_with_a_remedy() {
    let folder = Folder::new("replay-refused");
    let said = |name: &str, octets: &[u8]| {
        let error = load(&folder.put(name, octets), 1.0, true).unwrap_err().to_string();
        assert!(error.contains(name), "{error}");
        error
    };
    assert!(
        load(&folder.0.join("none"), 1.0, true).unwrap_err().to_string().contains("name a pcap")
    );
    assert!(said("text", b"no capture at all").contains("starts like no pcap or pcapng"));
    assert!(said("empty", &as_pcap()[..24]).contains("no frames"));
    // Nothing can be kept of a file without a whole packet.
    for (name, octets) in
        [("no", &b"no capture at all"[..]), ("ten", &as_pcap()[..10]), ("none", &as_pcap()[..24])]
    {
        let said = said(name, octets);
        assert!(!said.contains("editcap") && said.contains("file with packets"), "{said}");
    }
    let mut cut = as_pcap();
    cut.truncate(cut.len() - 5);
    assert!(said("cut", &cut).contains("after 2 whole packets; `editcap"));
    let mut wlan = as_pcap();
    wlan[20] = 105;
    assert!(said("wlan", &wlan).contains("not captured on Ethernet"));
    let mut short = as_pcapng();
    let at = short.windows(60).position(|w| w == [1; 60]).unwrap();
    short[at - 8] = 9;
    assert!(said("short", &short).contains("frame 1 has 9 octets"));
}

fn port(name: &str) -> PortPlan {
    PortPlan {
        name: name.into(),
        location: Location {
            text: format!("ring:x.{name}"),
            place: Place::Ring { pair: "x".into(), end: 0 },
            pfc: None,
            queues: 1,
            sfc: None,
            capture_tx: false,
        },
        rate: None,
        mtu: 1_500,
        obeys: Obeys::Nothing,
        pause_delay: Quanta(0),
        promiscuous: true,
        mac: Mac([2, 0, 0, 0, 0, 1]),
        interfaces: vec![],
        capture: None,
        secy: None,
    }
}

/// The test of a generator file with this `replay`.
fn added(text: &str, folder: &Path) -> Result<TestPlan, Vec<Finding>> {
    let mut root = tree::read(text, "empty").map_err(|f| vec![f])?;
    let replays = take(&mut root, folder).map_err(|f| vec![f])?;
    assert!(root.get(KEY).is_none());
    let mut plan = TestPlan { ports: vec![port("a"), port("b")], flows: vec![], run: 0 };
    add(&mut plan, &replays).map(|()| plan)
}

#[test]
fn a_generator_file_names_recordings_beside_its_flows() {
    let folder = Folder::new("replay-file");
    folder.put("x.pcap", &as_pcap());
    let text = "\
flows: []
replay:
  - {name: r, port: b, file: x.pcap, scale: 0.5, loop: 3, priority: 5}
  - {name: s, port: a, file: x.pcap, pps: 1000, loop: 0}
";
    let plan = added(text, &folder.0).unwrap();
    let [r, s] = &plan.flows[..] else { panic!("{plan:?}") };
    assert_eq!((r.name.as_str(), r.id, r.tx, s.id), ("r", FlowId(0), 1, FlowId(1)));
    let FlowKind::Stream(stream) = &r.kind else { panic!() };
    assert_eq!(stream.limit.frames, Some(9));
    assert_eq!(stream.path, Way::Data(Priority::new(5).unwrap()));
    assert!(stream.recording.as_ref().unwrap().timed);
    let FlowKind::Stream(stream) = &s.kind else { panic!() };
    assert_eq!((stream.limit.frames, stream.pace.rate), (None, Rate::Frames(1_000)));
    assert!(!stream.recording.as_ref().unwrap().timed);
}

#[test]
fn what_is_wrong_with_a_replay_is_said_with_its_field() {
    let folder = Folder::new("replay-fields");
    folder.put("x.pcap", &as_pcap());
    for (replay, path, what) in [
        ("{name: r, port: c, file: x.pcap}", "replay[0].port", "no port c; there are a, b"),
        ("{name: r, port: a, file: y.pcap}", "replay[0].file", "y.pcap"),
        ("{name: r, port: a, file: x.pcap, scale: 0}", "replay[0].scale", "0.000001"),
        ("{name: r, port: a, file: x.pcap, scale: 2, pps: 1}", "replay[0].pps", "leave `scale`"),
        ("{name: r, port: a, file: x.pcap, priority: 8}", "replay[0].priority", "0 to 7"),
        ("{name: r, port: a, file: x.pcap, speed: 8}", "replay[0].speed", ""),
        ("{name: r, port: a}", "replay[0]", "file"),
    ] {
        let findings = added(&format!("replay:\n  - {replay}\n"), &folder.0).unwrap_err();
        assert_eq!((findings.len(), findings[0].path.as_str()), (1, path), "{findings:?}");
        assert!(findings[0].what.contains(what), "{findings:?}");
    }
    let twice = "replay:\n  - &r {name: r, port: a, file: x.pcap}\n  - *r\n";
    assert_eq!(added(twice, &folder.0).unwrap_err()[0].path, "replay[1].name");
}
