//! Scapy decrypts frames of a SecY, a SecY those of scapy, and tshark reads the SecTAG.
//!
//! If a judge is not installed the test reports that and passes, except in CI (`CI=true`), where a
//! missing judge is a failure.

use std::process::{Command, Stdio};

use sluice::secure::{
    Accepted, An, CipherSuite, ConfidentialityOffset, ReceiveScPlan, SaPlan, Sak, Sci, SciForm,
    Secy, SecyPlan,
};
use sluice::units::{Mac, Priority, Quanta};
use sluice::validate::bench::{Bench, Capability, TrialError};
use sluice::validate::observation::{Observation, Record, Way, What};
use sluice::validate::suite::{self, Selection};
use sluice::validate::test::Level;
use sluice::validate::trial::{Port, Trial};
use sluice::validate::virtual_bench::VirtualBench;
use sluice::wire::pfc;

use crate::judges::{self, faulted, hex, missing, scapy, tshark, unhex};

const OTHER: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 0xb]), port: 1 };

/// A Python whose scapy can encrypt.
fn python() -> Option<&'static str> {
    judges::python().filter(|python| {
        let mut probe = Command::new(python);
        probe.args(["-c", "import cryptography, scapy.contrib.macsec"]).stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    })
}

/// One association, and a frame that is sent with it.
struct Case {
    suite: CipherSuite,
    confidentiality: Option<ConfidentialityOffset>,
    form: SciForm,
    sci: Sci,
    an: An,
    key: Vec<u8>,
    sa: SaPlan,
    frame: Vec<u8>,
}

/// Every suite with every offset it has and every form that scapy supports, frames short and long,
/// and packet numbers at both ends and in the middle.
fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let offsets = [
        None,
        Some(ConfidentialityOffset::Zero),
        Some(ConfidentialityOffset::Thirty),
        Some(ConfidentialityOffset::Fifty),
    ];
    for suite in [
        CipherSuite::GcmAes128,
        CipherSuite::GcmAes256,
        CipherSuite::GcmAesXpn128,
        CipherSuite::GcmAesXpn256,
    ] {
        for confidentiality in offsets {
            if suite.is_xpn() && confidentiality.is_some_and(|offset| offset.octets() != 0) {
                continue;
            }
            for form in [SciForm::Explicit, SciForm::Implied] {
                for (n, frame) in frames().into_iter().enumerate() {
                    let turn = cases.len() as u8;
                    let sci = Sci { mac: Mac([2, 0, 0, 0, turn, 0xa]), port: 0x100 + n as u16 };
                    let key: Vec<u8> =
                        (0..suite.key_len() as u8).map(|at| at.wrapping_mul(7) ^ turn).collect();
                    let pn = [1, suite.last_pn() / 3, suite.last_pn()][n % 3];
                    let (ssci, salt) = (0x7a30_c118 ^ u32::from(turn), [turn ^ 0x5c; 12]);
                    let sa = SaPlan { key: Sak::new(&key).unwrap(), pn, ssci, salt };
                    let an = An::ALL[n % 4];
                    cases.push(Case { suite, confidentiality, form, sci, an, key, sa, frame });
                }
            }
        }
    }
    cases
}

/// A PFC frame, and data of lengths around those where the result changes.
fn frames() -> Vec<Vec<u8>> {
    let mut repr = pfc::Repr::new(Mac([2, 0, 0, 0, 0, 0xa]));
    repr.set(Priority::new(3).unwrap(), Quanta::MAX);
    let mut pause = vec![0; repr.buffer_len()];
    repr.emit(&mut pause).unwrap();
    let data = |len: usize| {
        let front = [2, 0, 0, 0, 0, 0xb, 2, 0, 0, 0, 0, 0xa, 0x88, 0xb5];
        front.into_iter().chain((0..=u8::MAX).cycle()).take(len).collect()
    };
    let mut all: Vec<Vec<u8>> = [16, 42, 59, 60, 61, 1514].map(data).into();
    all.push(pause);
    all
}

impl Case {
    /// Command for the judge with the association and `frame`.
    fn told(&self, what: &str, frame: &[u8]) -> String {
        let encrypted = u8::from(self.confidentiality.is_some());
        let explicit = u8::from(self.form == SciForm::Explicit);
        // After the EtherType and to the end, if nothing is encrypted.
        let readable = self.confidentiality.map_or(9000, ConfidentialityOffset::octets);
        let extended = if self.suite.is_xpn() {
            format!("{:08x} {}", self.sa.ssci, hex(&self.sa.salt))
        } else {
            "- -".into()
        };
        format!(
            "{what} {} {} {} {} {encrypted} {explicit} {readable} {extended} {}\n",
            hex(&self.key),
            hex(&self.sci.octets()),
            self.an,
            self.sa.pn,
            hex(frame)
        )
    }

    /// A SecY that sends as `own`, or receives from it.
    fn secy(&self, sends: bool) -> Secy {
        let none = [const { None }; 4];
        let mut associations = none.clone();
        associations[self.an.index()] = Some(self.sa.clone());
        let (sci, transmit, receive) = if sends {
            (self.sci, associations, vec![])
        } else {
            (OTHER, none, vec![ReceiveScPlan { sci: self.sci, associations }])
        };
        let plan = SecyPlan {
            sci_form: self.form,
            confidentiality: self.confidentiality,
            encoding: self.an,
            transmit,
            receive,
            ..SecyPlan::standard(self.suite, sci)
        };
        Secy::new(&plan).unwrap()
    }

    fn sealed(&self) -> Vec<u8> {
        let mut secy = self.secy(true);
        let mut room = [&vec![0; secy.front()], &self.frame[..], &[0; Secy::BACK]].concat();
        secy.protect(&mut room).unwrap();
        room
    }
}

#[test]
fn scapy_decrypts_what_we_send() {
    let Some(python) = python() else { return missing("scapy") };
    let cases = cases();
    let asked: String = cases.iter().map(|case| case.told("open", &case.sealed())).collect();
    let answers = scapy(python, "macsec_judge.py", &[], &asked);
    assert_eq!(answers.len(), cases.len());
    for (case, answer) in cases.iter().zip(&answers) {
        assert_eq!(answer, &hex(&case.frame), "{}", case.told("open", &case.sealed()));
    }
}

#[test]
fn we_decrypt_what_scapy_sends() {
    let Some(python) = python() else { return missing("scapy") };
    let cases = cases();
    let asked: String = cases.iter().map(|case| case.told("seal", &case.frame)).collect();
    let answers = scapy(python, "macsec_judge.py", &[], &asked);
    assert_eq!(answers.len(), cases.len());
    for (case, answer) in cases.iter().zip(&answers) {
        let mut theirs = unhex(answer);
        assert_eq!(theirs, case.sealed(), "and it is what we send");
        let Accepted { front, back } = case.secy(false).accept(&mut theirs).unwrap();
        assert_eq!(theirs[front..theirs.len() - back], case.frame);
    }
}

#[test]
fn scapy_refuses_what_we_refuse() {
    let Some(python) = python() else { return missing("scapy") };
    let mut case = cases().into_iter().next().unwrap();
    let sealed = case.sealed();
    case.key[3] ^= 1;
    case.sa.key = Sak::new(&case.key).unwrap();
    assert!(case.secy(false).accept(&mut sealed.clone()).is_err());
    let answers = scapy(python, "macsec_judge.py", &[], &case.told("open", &sealed));
    assert_eq!(answers, ["not valid"]);
}

#[test]
fn tshark_reads_the_sectag() {
    let cases = cases();
    let frames: Vec<_> = cases.iter().map(|case| ("macsec", case.sealed())).collect();
    let fields = "eth.type macsec.TCI.V macsec.TCI.ES macsec.TCI.SC macsec.TCI.SCB macsec.TCI.E \
        macsec.TCI.C macsec.AN macsec.SL macsec.PN macsec.SCI.system_identifier \
        macsec.SCI.port_identifier macsec.ICV";
    let mut args = vec!["-T", "fields", "-E", "separator=;", "-E", "occurrence=f"];
    args.extend(fields.split_whitespace().flat_map(|field| ["-e", field]));
    let Some(rows) = tshark("macsec.pcap", &frames, &args) else { return missing("tshark") };
    assert_eq!(rows.len(), cases.len());
    for ((case, (_, sealed)), row) in cases.iter().zip(&frames).zip(&rows) {
        let encrypted = u8::from(case.confidentiality.is_some());
        let explicit = case.form == SciForm::Explicit;
        let user = case.frame.len() - 12;
        let short = if user < 48 { user } else { 0 };
        let sci = if explicit { format!("{};{}", case.sci.mac, case.sci.port) } else { ";".into() };
        // In integrity-only frames tshark 4.0 shows no check value: it continues with their
        // payload.
        let icv = if encrypted == 1 { hex(&sealed[sealed.len() - 16..]) } else { String::new() };
        let expected = format!(
            "0x88e5;0x00;0;{};0;{encrypted};{encrypted};0x{:02x};{short};{};{sci};{icv}",
            u8::from(explicit),
            case.an.get(),
            case.sa.pn as u32,
        );
        assert_eq!(row, &expected);
    }
    let faulted = faulted("macsec_faults.pcap", &frames).expect("it was there a moment ago");
    assert!(faulted.is_empty(), "{faulted:?}");
}

/// The device of a file, with what the tester's ports sent.
struct Watched {
    device: VirtualBench,
    sent: Vec<Record>,
}

impl Bench for Watched {
    fn run(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        let seen = self.device.run(trial)?;
        let is_sent = |record: &&Record| record.way == Way::Sent && record.secured.is_some();
        let is_pfc = |record: &&Record| matches!(record.what, What::Control(_));
        self.sent.extend(seen.records.iter().filter(is_sent).filter(is_pfc).cloned());
        Ok(seen)
    }

    fn run_on_cable(&mut self, trial: &Trial) -> Result<Observation, TrialError> {
        self.device.run_on_cable(trial)
    }

    fn has(&self, capability: Capability) -> bool {
        self.device.has(capability)
    }

    fn packet_numbers(&mut self, port: Port, frames: u32) -> u64 {
        self.device.packet_numbers(port, frames)
    }

    fn world(&self) -> &'static str {
        self.device.world()
    }
}

/// The frames by which `sluice validate` pauses a device are read by scapy as the PFC that the test says.
#[test]
fn scapy_reads_the_pfc_of_a_validation() {
    let Some(python) = python() else { return missing("scapy") };
    let text = include_str!("../../configs/validate/macsec.yaml");
    let (dut, _) = sluice::validate::file::parse("macsec.yaml", text).unwrap();
    let device = VirtualBench::new(dut.setup.clone(), dut.lab.unwrap());
    let mut bench = Watched { device, sent: Vec::new() };
    let selection = Selection { level: Level::Full, only: vec!["V-K01".to_owned()], retry: 0 };
    suite::run(&dut.setup, &selection, &mut bench, |_, _, _| true);
    let (mut asked, mut expected) = (String::new(), Vec::new());
    for record in &bench.sent {
        let (Some(secured), What::Control(plain)) = (&record.secured, &record.what) else {
            unreachable!("they were selected");
        };
        let plan = &dut.setup.port(record.port).macsec.as_ref().unwrap().plan;
        let sa = plan.transmit[secured.an.index()].clone().unwrap();
        let case = Case {
            suite: plan.suite,
            confidentiality: plan.confidentiality,
            form: plan.sci_form,
            sci: secured.sci,
            an: secured.an,
            key: sa.key.octets().to_vec(),
            sa: SaPlan { pn: secured.pn, ..sa },
            frame: plain.to_vec(),
        };
        asked += &case.told("open", &secured.line);
        expected.push(hex(plain));
    }
    assert!(expected.len() >= 9, "three ports with a storm each: {}", expected.len());
    assert_eq!(scapy(python, "macsec_judge.py", &[], &asked), expected);
}
