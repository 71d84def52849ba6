//! Cost of a SecY with the AES-GCM of DPDK's crypto devices, compared with aws-lc-rs.
//!
//! `cargo bench -p sluice-perf --bench cryptodev -- SLICES`
//!
//! protects and accepts the same frames with a SecY of each cipher, alternating slice by slice, one
//! frame per call and, for protection, also 32 per call. Prints one line of JSON for each case and
//! device: the medians of the device and of aws-lc-rs in nanoseconds per frame, and of the ratios
//! of neighbouring slices, with quartiles. Lengths count the FCS, which these frames do not have.
//! Then, for each device, the median time in microseconds to set up and wipe a key.

extern crate perf as sluice;

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant as Wall;

use sluice::dpdk::{CryptoDevice, Eal, EalOptions};
use sluice::secure::{
    BATCH, CipherSuite, Ciphers, ConfidentialityOffset, Direction, ReceiveScPlan, SaPlan, Sak, Sci,
    SciForm, Secy, SecyPlan,
};
use sluice::units::Mac;

const SENDER: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 1]), port: 1 };
const RECEIVER: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 2]), port: 1 };

/// Bytes of a SecTAG with its SCI.
const FRONT: usize = 16;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [slices] = args.as_slice() else {
        // `cargo bench` without arguments runs every bench: nothing is measured here.
        println!("usage: cryptodev SLICES");
        return;
    };
    let slices: usize = slices.parse().expect("a number of slices");
    let eal = Eal::start(&EalOptions::default()).expect("DPDK starts");
    let mut devices = Vec::new();
    for driver in CryptoDevice::DRIVERS {
        match CryptoDevice::open(&eal, driver) {
            Ok(device) => devices.push(device),
            Err(why) => eprintln!("without {driver}: {why}"),
        }
    }
    for suite in [CipherSuite::GcmAes128, CipherSuite::GcmAes256] {
        for encrypted in [true, false] {
            for octets in [64, 1500, 9000] {
                Case { suite, encrypted, octets }.run(&devices, slices);
            }
        }
    }
    for device in &devices {
        let key = Sak::new(&[0x42; 32]).expect("32 octets");
        let mut samples: Vec<f64> = (0..slices).map(|_| readying(device, &key)).collect();
        let [_, ns, _] = quartiles(&mut samples);
        let us = ns / 1e3;
        println!("{{\"cipher\": \"{}\", \"what\": \"key\", \"us\": {us:.1}}}", device.driver());
    }
}

/// Nanoseconds to set up and wipe a key.
fn readying(device: &CryptoDevice, key: &Sak) -> f64 {
    let start = Wall::now();
    black_box(device.make(Direction::Seal, key, [20, 28])).expect("there is room");
    start.elapsed().as_nanos() as f64
}

struct Case {
    suite: CipherSuite,
    encrypted: bool,
    /// Length of a frame, FCS included.
    octets: usize,
}

/// One cipher's SecYs, and their times per frame in each slice.
struct Contestant {
    name: &'static str,
    sender: Secy,
    receiver: Secy,
    /// Protection one by one, 32 per call; acceptance.
    samples: [Vec<f64>; 3],
}

impl Case {
    fn run(&self, devices: &[CryptoDevice], slices: usize) {
        let foreign = devices.iter().map(|device| Some(Arc::new(device.clone()) as _));
        let mut all: Vec<_> =
            core::iter::once(None).chain(foreign).map(|ciphers| self.contestant(ciphers)).collect();
        for slice in 0..slices + 8 {
            let first = slice % all.len();
            all.rotate_left(first);
            all.iter_mut().for_each(|contestant| self.slice(contestant));
            all.rotate_right(first);
            // The first slices warm up the caches.
            if slice < 8 {
                all.iter_mut().flat_map(|contestant| &mut contestant.samples).for_each(Vec::clear);
            }
        }
        let [built_in, devices @ ..] = all.as_slice() else { return };
        for device in devices {
            self.show(built_in, device);
        }
    }

    fn contestant(&self, ciphers: Option<Arc<dyn Ciphers>>) -> Contestant {
        let make = |own, peer| {
            Secy::with_ciphers(&self.plan(own, peer), ciphers.clone()).expect("a plan that holds")
        };
        let (sender, receiver) = (make(SENDER, RECEIVER), make(RECEIVER, SENDER));
        let name = sender.snapshot().cipher;
        Contestant { name, sender, receiver, samples: Default::default() }
    }

    fn plan(&self, own: Sci, peer: Sci) -> SecyPlan {
        let association = |sci: Sci| {
            let key = vec![sci.mac.0[5]; self.suite.key_len()];
            let key = Sak::new(&key).expect("16 or 32 octets");
            [Some(SaPlan { key, pn: 1, ssci: 0, salt: [0; 12] }), None, None, None]
        };
        SecyPlan {
            sci_form: SciForm::Explicit,
            confidentiality: self.encrypted.then_some(ConfidentialityOffset::Zero),
            transmit: association(own),
            receive: vec![ReceiveScPlan { sci: peer, associations: association(peer) }],
            ..SecyPlan::standard(self.suite, own)
        }
    }

    /// Protects the frames of a call one by one and accepts them, then protects them in one call
    /// and accepts them.
    fn slice(&self, contestant: &mut Contestant) {
        let Contestant { sender, receiver, samples: [one, several, accepted], .. } = contestant;
        let mut room = vec![0x5a; FRONT + self.octets - 4 + Secy::BACK];
        room[FRONT..][..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
        room[FRONT + 12..][..2].copy_from_slice(&[0x08, 0x00]);
        let mut rooms = vec![room; BATCH];
        let mut again = rooms.clone();
        one.push(timed(|| {
            for room in &mut rooms {
                sender.protect(black_box(room)).expect("a number is left");
            }
        }));
        accepted.push(timed(|| {
            for room in &mut rooms {
                black_box(receiver.accept(black_box(room))).expect("what was protected");
            }
        }));
        several.push(timed(|| {
            let mut slices: [&mut [u8]; BATCH] = {
                let mut rooms = again.iter_mut();
                core::array::from_fn(|_| rooms.next().expect("as many").as_mut_slice())
            };
            assert_eq!(sender.protect_all(black_box(&mut slices)), 0, "a number is left");
        }));
        again.iter_mut().for_each(|room| {
            receiver.accept(room).expect("what was protected");
        });
    }

    fn show(&self, built_in: &Contestant, device: &Contestant) {
        let kind = if self.encrypted { "encrypted" } else { "integrity" };
        let samples = built_in.samples.iter().zip(&device.samples);
        for (what, (theirs, ours)) in ["protect", "protect 32", "accept"].iter().zip(samples) {
            let mut ratios: Vec<f64> = ours.iter().zip(theirs).map(|(a, b)| a / b).collect();
            let [low, ratio, high] = quartiles(&mut ratios);
            let [_, ns, _] = quartiles(&mut ours.clone());
            let [_, built_in_ns, _] = quartiles(&mut theirs.clone());
            println!(
                "{{\"suite\": \"{:?}\", \"kind\": \"{kind}\", \"octets\": {}, \"what\": \"{what}\", \
                 \"cipher\": \"{}\", \"ns\": {ns:.1}, \"built_in_ns\": {built_in_ns:.1}, \
                 \"ratio\": {ratio:.3}, \"low\": {low:.3}, \"high\": {high:.3}, \"slices\": {}}}",
                self.suite,
                self.octets,
                device.name,
                ours.len()
            );
        }
    }
}

/// Nanoseconds per frame of a call.
fn timed(step: impl FnOnce()) -> f64 {
    let start = Wall::now();
    step();
    start.elapsed().as_nanos() as f64 / BATCH as f64
}

fn quartiles(samples: &mut [f64]) -> [f64; 3] {
    samples.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| samples[(samples.len() - 1) * quarter / 4])
}
