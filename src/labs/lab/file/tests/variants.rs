//! Variants: the fields that they change, invalid variants, and the lines in errors. The digest of a lab file, which
//! covers the files that it and its variants name.

use std::fs;

use super::*;
use crate::LabFile;
use crate::testfolder::Folder;

const LAB: &str = "\
name: two
topology: {star: {hosts: 3}}
profiles: {tor: {buffer: {total: 4MiB}, defaults: {pfc: {enable: [3]}}}}
flows: [{from: h1, to: h3, priority: 3}]
variants:
  short: {duration: 1ms}
  plain:
  small: {profiles: {tor: {buffer: {total: 2MiB}}}, flows: [{from: h2, to: h3, priority: 3}]}
";

fn file(text: &str) -> LabFile {
    LabFile::parse("f.yaml", text).unwrap()
}

fn plan(variant: Option<&str>) -> LabPlan {
    file(LAB).plan(variant, |_| {}).unwrap().0
}

#[test]
fn a_variant_is_laid_over_the_rest_key_by_key() {
    let names: Vec<String> = file(LAB).variants().map(Into::into).collect();
    assert_eq!(names, ["short", "plain", "small"], "in the order of the file");
    let (whole, plain, short) = (plan(None), plan(Some("plain")), plan(Some("short")));
    assert_eq!(format!("{:?}", whole.network), format!("{:?}", plain.network));
    assert_eq!(whole.duration, Duration::from_millis(10));
    assert_eq!(short.duration, Duration::from_millis(1));
    assert_eq!((whole.variant, short.variant.as_deref()), (None, Some("short")));
    let small = plan(Some("small"));
    let sim::NodeKind::Switch(switch) = &small.network.nodes[0].kind else { panic!() };
    let cells = u64::from(switch.buffer.total.0) * u64::from(switch.buffer.cell_bytes);
    assert!(cells <= 2 << 20, "{cells}");
    assert!(
        switch.ports[0].pfc.mode != pfc::FlowControl::Off,
        "what it does not name it has from the rest"
    );
    assert_eq!(small.flows.len(), 1, "a list is replaced as a whole");
}

#[test]
fn an_error_has_the_line_of_whoever_said_it() {
    let text = LAB.replace("short: {duration: 1ms}", "short: {duration: 0s}");
    let said = |variant| file(&text).plan(Some(variant), |_| {}).unwrap_err().to_string();
    assert_eq!(said("short"), "f.yaml:6:21: duration: must be above zero");
    let text = LAB.replace("small: {profiles: {tor:", "small: {profiles: {tor: {buffre: {}}, tro:");
    let said = file(&text).plan(Some("small"), |_| {}).unwrap_err().to_string();
    assert!(said.starts_with("f.yaml:8:28: profiles.tor.buffre: unknown field"), "{said}");
    let said = file(LAB).plan(Some("shrot"), |_| {}).unwrap_err().to_string();
    assert!(said.contains("there is no variant `shrot`; did you mean `short`?"), "{said}");
    let none =
        file("topology: {star: {hosts: 2}}").plan(Some("a"), |_| {}).unwrap_err().to_string();
    assert_eq!(none, "f.yaml: there is no variant `a`; the file has no `variants`");
}

#[test]
fn what_is_no_variant_is_refused_with_its_place() {
    let cases = [
        ("variants: 3", "f.yaml:1:1: variants: needs names of variants"),
        ("variants: {}", "f.yaml:1:1: variants: needs names of variants"),
        ("variants: {a: 3}", "f.yaml:1:15: variants.a: needs the part of a lab that differs"),
        ("variants: {a b: {}}", "f.yaml:1:12: variants.a b: a name is letters, digits"),
        (
            "variants: {a: {variants: {b: {}}}}",
            "f.yaml:1:26: variants.a.variants: a variant cannot",
        ),
        ("variants: {a: {name: b}}", "f.yaml:1:22: variants.a.name: a variant cannot have one"),
        (
            "variants: {a: {search: {}}}",
            "f.yaml:1:24: variants.a.search: a variant cannot have one",
        ),
    ];
    for (text, words) in cases {
        let said = LabFile::parse("f.yaml", text).unwrap_err().to_string();
        assert!(said.starts_with(words), "{said}");
    }
    let many: String = (0..65).map(|n| format!("v{n}: {{}}, ")).collect();
    let said = LabFile::parse("f.yaml", &format!("variants: {{{many}}}")).unwrap_err().to_string();
    assert!(said.contains("65 variants; 64 is as many as a file has"), "{said}");
}

#[test]
fn fields_of_a_command_are_written_after_the_variant() {
    let text = "\
topology: {star: {hosts: 3}}
flows: [{name: f, to: h3, priority: 3, rate: 10G}]
variants: {slow: {duration: 1us}, fast: {}}
";
    let fields = |all: &[(&str, &str)]| {
        let all: Vec<_> = all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        crate::LabFile::parse("f.yaml", text).and_then(|file| file.with_fields(&all))
    };
    let plain = fields(&[]).unwrap();
    let file = fields(&[("duration", "7us"), ("seed", "9")]).unwrap();
    assert_ne!(plain.digest(), file.digest());
    for variant in ["slow", "fast"] {
        let (plan, _) = file.plan(Some(variant), |_| ()).unwrap();
        assert_eq!((plan.duration, plan.network.seed), (ground::time::Duration::from_micros(7), 9));
    }
    let wrong = |all: &[(&str, &str)]| {
        let error = fields(all).and_then(|file| file.plan(None, |_| ()).map(|_| ())).unwrap_err();
        error.to_string()
    };
    assert!(wrong(&[("flow.f.rate", "1G")]).contains("no `flow` there; there are"));
    assert!(wrong(&[("flows.f.rate", "fast")]).starts_with("f.yaml:2:"));
    assert!(wrong(&[("flows..rate", "1G")]).contains("is no path"));
}

#[test]
fn a_sweep_from_outside_has_the_places_of_the_fields() {
    let text = "topology: {star: {hosts: 3}}\nflows: [{name: f, to: h3, priority: 3, rate: 10G}]\n";
    let file = || crate::LabFile::parse("f.yaml", text).unwrap();
    let swept = file()
        .with_sweep("{seed: 1..3, zip: {flows.f.rate: [1G, fast], duration: [1us, 2us]}}")
        .unwrap();
    assert_ne!(swept.digest(), file().digest());
    let study = crate::study::Study::new(swept, crate::study::Changes::default()).unwrap();
    assert_eq!(study.len(), 6);
    assert!(study.resolve(4).is_ok());
    let wrong = study.resolve(5).unwrap_err().to_string();
    assert!(wrong.starts_with("f.yaml:2:") && wrong.contains("(run 5: "), "{wrong}");
    let wrong = file().with_sweep("{seed: 3..x}").unwrap_err().to_string();
    assert!(wrong.starts_with("f.yaml: sweep.seed: "), "{wrong}");
}

/// A lab that names files in each way that it can.
const INPUTS: &str = "\
topology: {star: {hosts: 3}}
flows: [{to: h3, priority: 3, transport: {roce: {messages: {bytes: {cdf: sizes.txt}}}}}]
otg: {file: otg/gen.yaml}
variants: {a: {note: a.key}, b: {}}
sweep: {flows.0.transport.roce.messages.bytes.cdf: [sizes.txt, sweep.txt]}
";

/// Every file that is reached from the lab changes the digest when it changes, and no other does.
#[test]
fn the_digest_covers_every_file_that_is_named_and_no_other() {
    let folder = Folder::new("lab-inputs");
    fs::create_dir_all(folder.at("otg")).unwrap();
    let names = ["sizes.txt", "a.key", "sweep.txt", "otg/gen.yaml", "otg/packets.pcap", "set.txt"];
    for name in names.iter().chain(&["other.txt"]) {
        folder.put(name, b"1");
    }
    folder.put("otg/gen.yaml", b"flows: [{replay: packets.pcap}]");
    let lab = folder.put("lab.yaml", INPUTS.as_bytes());
    let digest = || {
        let set = ("flows.0.x".to_owned(), "{cdf: set.txt}".to_owned());
        let file = LabFile::read(&lab).unwrap().with_fields(&[set]).unwrap();
        file.digest().to_owned()
    };
    for name in names {
        let (before, old) = (digest(), fs::read(folder.at(name)).unwrap());
        folder.put(name, &[&old[..], b" # changed"].concat());
        assert_ne!(digest(), before, "{name}");
        folder.put(name, &old);
        assert_eq!(digest(), before, "{name}");
    }
    let before = digest();
    folder.put("other.txt", b"2");
    assert_eq!(digest(), before);
}

/// Its axes would be left out without a word.
#[test]
fn a_lab_with_a_sweep_or_a_search_is_refused_where_a_command_has_its_own_axes() {
    let lab = "topology: {star: {hosts: 2}}\nvariants: {a: {}}\n";
    let of = |more: &str, variant| {
        let file = LabFile::parse("f.yaml", &format!("{lab}{more}\n")).unwrap();
        file.without_study(variant).map(|_| ()).map_err(|error| error.to_string())
    };
    for variant in [None, Some("a")] {
        assert_eq!(of("", variant), Ok(()));
        for (field, more) in [
            ("sweep", "sweep: {seed: 1..2}"),
            ("search", "search: {least: {defaults.links.length: [5m, 500m]}}"),
        ] {
            let error = of(more, variant).unwrap_err();
            assert!(error.contains(field) && error.contains("take it out"), "{error}");
        }
    }
    assert!(of("", Some("b")).unwrap_err().contains('b'));
}

#[test]
fn a_lab_that_is_one_run_is_read_with_its_generator_and_one_of_several_is_refused() {
    let folder = Folder::new("load-raw");
    folder
        .put("g.yaml", b"ports: [{name: p1, location: h1}, {name: p2, location: h2}]\nflows: []\n");
    let lab = "topology: {star: {hosts: 2}}\notg: {file: g.yaml}\n";
    let path = folder.put("f.yaml", lab.as_bytes());
    let otg = crate::load_raw(&path).unwrap().otg.unwrap();
    assert!(otg.config.is_some() && otg.file.is_none());
    for several in ["variants: {a: {}}", "sweep: {seed: 1..2}", "search: {least: {seed: [1, 2]}}"] {
        folder.put("f.yaml", format!("{lab}{several}\n").as_bytes());
        let error = crate::load_raw(&path).unwrap_err().to_string();
        assert!(error.contains("the file has several runs"), "{several}: {error}");
    }
}
