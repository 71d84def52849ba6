//! The digest of a lab file covers the files that it names.

use std::fs;

use crate::LabFile;
use crate::testfolder::Folder;

const LAB: &str = "\
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
    let lab = folder.put("lab.yaml", LAB.as_bytes());
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
