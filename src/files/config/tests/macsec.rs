//! Tests of MACsec in configurations, and of its effects on other sections.

use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::testfolder::Folder;
use discovery::PfcForm;
use ground::units::Mac;
use secure::{An, CipherSuite, ConfidentialityOffset, PfcAccept, Sci, SciForm, SecyPlan, Validate};

const KEY: &str = "000102030405060708090a0b0c0d0e0f";
const LONG: &str = "000102030405060708090a0b0c0d0e0f000102030405060708090a0b0c0d0e0f";
const SALT: &str = "e630e81a48de86a21c66fa6d";

/// A file with one port that has this MACsec section and other fields.
fn with(more: &str, macsec: &str) -> String {
    format!(
        "ports:\n  - device: net_null0\n    mac: 02:00:00:00:00:01\n    pfc: {{enable: [3]}}\n    \
         {more}\n    macsec: {macsec}\n"
    )
}

fn plan(macsec: &str) -> (SecyPlan, Vec<String>) {
    let (file, warnings) = good(&with("", macsec));
    (*file.plan.ports[0].secy.clone().unwrap(), warnings)
}

fn peer(port: u16) -> Sci {
    Sci { mac: Mac([2, 0, 0, 0, 0, 9]), port }
}

#[test]
fn the_shortest_protects_all_with_one_key() {
    let (plan, warnings) =
        plan(&format!("{{key: '{KEY}', receive: [{{sci: {{mac: 02:00:00:00:00:09}}}}]}}"));
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(plan.sci, Sci { mac: Mac([2, 0, 0, 0, 0, 1]), port: 1 });
    assert_eq!((plan.suite, plan.sci_form), (CipherSuite::GcmAes128, SciForm::Implied));
    assert_eq!(plan.confidentiality, Some(ConfidentialityOffset::Zero));
    assert!(plan.protect_data && plan.protect_pfc);
    assert_eq!((plan.accept_pfc, plan.validate), (PfcAccept::Protected, Validate::Strict));
    assert_eq!((plan.replay_window, plan.rollover_at), (Some(0), None));
    assert_eq!((plan.uncontrolled.len(), plan.encoding), (0, An::ALL[0]));
    let sent = plan.transmit[0].as_ref().unwrap();
    assert_eq!((sent.key.octets(), sent.pn), (&(0..16).collect::<Vec<u8>>()[..], 1));
    assert!(plan.transmit[1..].iter().all(Option::is_none));
    assert_eq!(plan.receive[0].sci, peer(1));
    assert_eq!(plan.receive[0].associations, plan.transmit);
    assert_eq!(plan.overhead(), 24);
}

#[test]
fn everything_can_be_said() {
    let text = format!(
        "
      cipher_suite: gcm-aes-xpn-256
      sci: {{mac: 02:00:00:00:00:05, port: 7}}
      include_sci: true
      confidentiality: false
      protect: {{data: false}}
      accept_pfc: both
      validate: check
      replay: {{window: 1073741824}}
      uncontrolled: [lldp, 0x88f7, eapol, lldp]
      rollover_at: 0x100000000
      delay: {{tx: 500ns, rx: 400ns}}
      transmit:
        using: 3
        associations:
          0: {{key: '{}', next_pn: 5, ssci: 1, salt: '{SALT}'}}
          3: {{key: '{LONG}', next_pn: 7, ssci: 1, salt: '{SALT}'}}
      receive:
        - sci: {{mac: 02:00:00:00:00:09, port: 2}}
          associations: {{1: {{key: '{LONG}', ssci: 2, salt: '{SALT}'}}}}
        - sci: {{mac: 02:00:00:00:00:09, port: 3}}
          associations: {{1: {{key: '{LONG}', ssci: 3, salt: '{SALT}'}}}}",
        LONG.replace('0', "f")
    );
    let (plan, warnings) = plan(&text);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(plan.sci, Sci { mac: Mac([2, 0, 0, 0, 0, 5]), port: 7 });
    assert_eq!((plan.sci_form, plan.overhead()), (SciForm::Explicit, 32));
    assert_eq!((plan.confidentiality, plan.replay_window), (None, Some(1 << 30)));
    assert!(!plan.protect_data && plan.protect_pfc && plan.accept_pfc == PfcAccept::Both);
    assert_eq!(plan.uncontrolled, [0x88cc, 0x88f7]);
    assert_eq!((plan.encoding.get(), plan.rollover_at), (3, Some(1 << 32)));
    assert_eq!((plan.tx_delay.as_nanos(), plan.rx_delay.as_nanos()), (500, 400));
    let sa = plan.transmit[3].as_ref().unwrap();
    assert_eq!((sa.pn, sa.ssci, sa.salt[0], sa.key.len()), (7, 1, 0xe6, 32));
    assert_eq!(plan.receive[1].sci, peer(3));
    assert_eq!(plan.receive[1].associations[1].as_ref().unwrap().ssci, 3);
}

#[test]
fn short_names_go_by_the_greatness_of_channels() {
    let text = |mac: &str| {
        format!(
            "{{cipher_suite: gcm-aes-xpn-128, key: '{KEY}', salt: '{SALT}', \
             receive: [{{sci: {{mac: {mac}}}}}]}}"
        )
    };
    for (mac, own, theirs) in [("02:00:00:00:00:09", 2, 1), ("00:00:00:00:00:09", 1, 2)] {
        let (plan, _) = plan(&text(mac));
        let of = |sas: &[Option<secure::SaPlan>; 4]| sas[0].as_ref().unwrap().ssci;
        assert_eq!((of(&plan.transmit), of(&plan.receive[0].associations)), (own, theirs));
    }
}

#[test]
fn keys_come_from_files_that_are_closed_to_others() {
    let folder = Folder::new("macsec");
    let text = with("", "{key_file: tx.key, receive: [{sci: {mac: 02:00:00:00:00:09}}]}");
    let yaml = folder.put("switch.yaml", text.as_bytes());
    let key = folder.put("tx.key", format!("{KEY}\n").as_bytes());
    let mode = |mode| std::fs::set_permissions(&key, PermissionsExt::from_mode(mode)).unwrap();
    mode(0o600);
    let (file, _) = load(&yaml, &Machine::any()).unwrap();
    let secy = file.plan.ports[0].secy.as_ref().unwrap();
    assert_eq!(secy.transmit[0].as_ref().unwrap().key.octets()[15], 15);
    mode(0o640);
    let said = load(&yaml, &Machine::any()).unwrap_err().to_string();
    assert!(said.contains("ports[0].macsec.key_file: `"), "{said}");
    assert!(said.contains("mode 0640") && said.contains("chmod 600"), "{said}");
}

#[test]
fn nothing_shows_a_key() {
    let secret = "abcdef0123456789abcdef0123456789";
    let text =
        with("", &format!("{{key: {secret}, receive: [{{sci: {{mac: 02:00:00:00:00:09}}}}]}}"));
    let tree = tree::read(&text, "").unwrap();
    let raw: raw::File = de::from_tree(&tree).unwrap();
    let shown = format!("{raw:?} {:?}", good(&text).0);
    assert!(!shown.contains("abcdef") && !shown.contains("171, 205"), "{shown}");
    // An invalid key is not quoted either.
    for wrong in [&secret[1..], "{a: abcdef0123456789}", "[abcdef]", "g0abcdef", "''"] {
        for field in ["key", "key_file", "salt"] {
            let said = bad(&with("", &format!("{{{field}: {wrong}}}"))).join("\n");
            let file = field == "key_file" && wrong != &secret[1..];
            assert!(file || !said.contains("abcdef"), "{said}");
        }
    }
}

#[test]
fn the_policy_is_what_dcbx_says() {
    let of = |more: &str, macsec: &str| {
        let macsec =
            format!("{{{macsec}receive: [{{sci: {{mac: 02:00:00:00:00:09}}}}], key: '{KEY}'}}");
        let file = good(&with(more, &macsec)).0;
        let pfc = file.plan.ports[0].agents.as_ref().unwrap().dcbx.as_ref().unwrap().pfc.unwrap();
        let PfcForm::Proposed { macsec, .. } = pfc.form else { panic!() };
        (pfc.macsec_bound, macsec)
    };
    let proposed = "dcbx: {pfc: {form: proposed}}";
    assert_eq!(of(proposed, ""), (true, true));
    assert_eq!(of(proposed, "accept_pfc: both, "), (false, true));
    assert_eq!(of(proposed, "accept_pfc: plain, "), (false, false));
    assert_eq!(of(proposed, "protect: {pfc: false}, "), (false, false));
    // Fields in the file's DCBX section have precedence.
    assert_eq!(
        of("dcbx: {pfc: {form: proposed, macsec_bypass: true, macsec: false}}", ""),
        (false, false)
    );
}

#[test]
fn headroom_counts_what_macsec_adds() {
    let needs = |macsec: &str| {
        let receive = "receive: [{sci: {mac: 02:00:00:00:00:09}}]";
        let text = match macsec {
            "" => with("", "~"),
            more => with("", &format!("{{{more}, key: '{KEY}', {receive}}}")),
        };
        let file = good(&text).0;
        let required = &file.headroom[0].required;
        // The last term is the part of cells that short frames leave unused.
        let terms = &required.sum.terms;
        let line = headroom::Term::sum(&terms[..terms.len() - 1]).div_ceil(8);
        (line, required.cells.0)
    };
    let (plain, cells) = needs("");
    let data = "protect: {pfc: false}, accept_pfc: both";
    let pfc = "protect: {data: false}";
    assert_eq!(needs(pfc).0, plain + 24);
    assert_eq!(needs(data).0, plain + 2 * 24);
    assert_eq!(needs("include_sci: true").0, plain + 3 * 32);
    // A microsecond at 10 Gb/s is 1250 bytes: there and back for the PFC frame, and for data.
    assert_eq!(needs("delay: {tx: 600ns, rx: 400ns}").0, plain + 3 * 24 + 2 * 1_250);
    // Longer frames on the link than in the buffer use the link less efficiently.
    assert!(needs(pfc).1 >= cells && needs("validate: strict").1 < cells);
}

#[test]
fn found_headroom_adds_what_measured_messages_do_not_meet() {
    let of = |protect: &str| {
        let macsec = format!(
            "{{protect: {protect}, delay: {{tx: 600ns, rx: 400ns}}, key: '{KEY}', \
             receive: [{{sci: {{mac: 02:00:00:00:00:09}}}}]}}"
        );
        let file = good(&with("headroom: auto", &macsec)).0;
        let auto = file.plan.ports[0].agents.as_ref().unwrap().auto.clone().unwrap();
        let shims = auto.shims.unwrap();
        (shims.local.as_nanos(), shims.remote.as_nanos(), auto.link.frames().data_octets)
    };
    assert_eq!(of("{data: false}"), (600, 400, 0));
    assert_eq!(of("{}"), (0, 0, 24));
}

#[test]
fn what_works_and_is_rarely_meant_is_said() {
    let receive = "receive: [{sci: {mac: 02:00:00:00:00:09}}]";
    for (macsec, parts) in [
        (
            format!("{{{receive}}}"),
            ["macsec.transmit: there is no transmit key yet", "macsec.receive: there is no key"],
        ),
        (
            format!("{{validate: disabled, rollover_at: 9, key: '{KEY}', {receive}}}"),
            ["nothing is validated", "macsec.rollover_at: association 1 has no key"],
        ),
    ] {
        let (_, warnings) = plan(&macsec);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        for part in parts {
            assert!(warnings.iter().any(|w| w.contains(part)), "{part}\nis not in\n{warnings:?}");
        }
    }
}

#[test]
fn a_device_that_has_no_room_for_what_macsec_adds_is_named() {
    let text = |device: &str, max: u32, protect: &str| {
        format!(
            "switch: {{max_frame: {max}}}\nports: [{{device: \"{device}\", macsec: {{key: '{KEY}', \
             protect: {protect}, receive: [{{sci: {{mac: 02:00:00:00:00:09}}}}]}}}}]"
        )
    };
    let warned = |device: &str, max, protect| good(&text(device, max, protect)).1.len();
    let socket = "net_af_packet0,iface=v0";
    assert_eq!(warned(socket, 1_948, "{}"), 0);
    assert_eq!(warned(socket, 1_949, "{}"), 1);
    assert_eq!(warned(socket, 1_972, "{data: false}"), 0);
    assert_eq!(warned("net_af_packet0,iface=v0,framesz=4096", 1_949, "{}"), 0);
    assert!(bad(&text(socket, 1_973, "{}"))[0].contains("`framesz=4096,blocksz=4096`"));
    assert_eq!(warned("net_null0", 9_000, "{}"), 0);
    assert!(bad(&text("net_null0", 16_384, "{}"))[0].contains("max_frame` can be 16360"));
}
