//! Cost of MACsec compared with the cipher alone.
//!
//! `cargo bench -p sluice-perf --bench secure -- SLICES`
//!
//! protects frames and accepts them with a SecY, and has the library seal and open the same bytes
//! with the same key, alternating slice by slice. Prints one line of JSON for each case: the
//! medians of both in nanoseconds per frame, of the ratios of neighbouring slices, with quartiles,
//! and the resulting rates in Gb/s of frames on the line before protection. Lengths count the FCS,
//! which these frames do not have.

extern crate perf as sluice;

use std::hint::black_box;
use std::time::Instant as Wall;

use aws_lc_rs::aead::{AES_128_GCM, AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use sluice::secure::{
    CipherSuite, ConfidentialityOffset, ReceiveScPlan, SaPlan, Sak, Sci, SciForm, Secy, SecyPlan,
};
use sluice::units::Mac;

/// Frames in a slice: enough to make the clock's cost negligible, few enough for the caches.
const BATCH: usize = 64;

/// Bytes of a SecTAG with its SCI, and of the check value.
const FRONT: usize = 16;
const BACK: usize = 16;

/// Bytes that are authenticated in front of the encrypted part: addresses and SecTAG.
const HEADER: usize = 12 + FRONT;

const SENDER: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 1]), port: 1 };
const RECEIVER: Sci = Sci { mac: Mac([2, 0, 0, 0, 0, 2]), port: 1 };
const KEY: [u8; 32] = [0x42; 32];

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let [slices] = args.as_slice() else {
        // `cargo bench` without arguments runs every bench: nothing is measured here.
        println!("usage: secure SLICES");
        return;
    };
    let slices: usize = slices.parse().expect("a number of slices");
    for suite in [CipherSuite::GcmAes128, CipherSuite::GcmAes256, CipherSuite::GcmAesXpn256] {
        for encrypted in [true, false] {
            for octets in [64, 1500, 9000] {
                let case = Case { suite, encrypted, len: octets - 4 };
                case.show("protect", octets, case.protect(slices));
                case.show("accept", octets, case.accept(slices));
            }
        }
    }
}

/// Nanoseconds per frame, Sluice's and the library's, of each slice.
type Samples = Vec<(f64, f64)>;

struct Case {
    suite: CipherSuite,
    encrypted: bool,
    /// Bytes of the plain frame.
    len: usize,
}

impl Case {
    fn secy(&self, own: Sci, peer: Sci) -> Secy {
        let key = Sak::new(&KEY[..self.suite.key_len()]).expect("16 or 32 octets");
        let association = |sci: Sci| {
            let ssci = u32::from(sci.mac.0[5]);
            let sa = SaPlan { key: key.clone(), pn: 1, ssci, salt: [7; 12] };
            [Some(sa), None, None, None]
        };
        let plan = SecyPlan {
            sci_form: SciForm::Explicit,
            confidentiality: self.encrypted.then_some(ConfidentialityOffset::Zero),
            transmit: association(own),
            receive: vec![ReceiveScPlan { sci: peer, associations: association(peer) }],
            ..SecyPlan::standard(self.suite, own)
        };
        Secy::new(&plan).expect("a plan that holds")
    }

    fn library(&self) -> Library {
        let key = &KEY[..self.suite.key_len()];
        let algorithm = if key.len() == 16 { &AES_128_GCM } else { &AES_256_GCM };
        let key = LessSafeKey::new(UnboundKey::new(algorithm, key).expect("its length is right"));
        let len = FRONT + self.len;
        Library { key, readable: if self.encrypted { HEADER } else { len }, pn: 0 }
    }

    /// Buffers for a batch of frames, with a data frame in each.
    fn rooms(&self) -> Vec<Vec<u8>> {
        let mut room = vec![0x5a; FRONT + self.len + BACK];
        room[FRONT..][..12].copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1]);
        room[HEADER..][..2].copy_from_slice(&[0x08, 0x00]);
        vec![room; BATCH]
    }

    fn protect(&self, slices: usize) -> Samples {
        let (mut secy, mut library) = (self.secy(SENDER, RECEIVER), self.library());
        // Protected frames are protected again, which takes the same time for any content.
        let (mut ours, mut theirs) = (self.rooms(), self.rooms());
        in_turn(slices, |ours_next| {
            if ours_next {
                timed(&mut ours, |room| secy.protect(room).expect("a number is left"))
            } else {
                timed(&mut theirs, |room| library.seal(room))
            }
        })
    }

    fn accept(&self, slices: usize) -> Samples {
        let mut sender = self.secy(SENDER, RECEIVER);
        let (mut secy, mut library) = (self.secy(RECEIVER, SENDER), self.library());
        in_turn(slices, |ours_next| {
            let mut rooms = self.rooms();
            if ours_next {
                rooms.iter_mut().for_each(|room| sender.protect(room).expect("a number is left"));
                timed(&mut rooms, |room| {
                    black_box(secy.accept(room).expect("what was protected"));
                })
            } else {
                let first = library.pn;
                rooms.iter_mut().for_each(|room| library.seal(room));
                library.pn = first;
                timed(&mut rooms, |room| library.open(room))
            }
        })
    }

    fn show(&self, what: &str, octets: usize, mut samples: Samples) {
        let mut ratios: Vec<f64> = samples.iter().map(|(ours, theirs)| ours / theirs).collect();
        ratios.sort_by(f64::total_cmp);
        let [low, ratio, high] = [1, 2, 3].map(|quarter| ratios[(ratios.len() - 1) * quarter / 4]);
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ours = samples[samples.len() / 2].0;
        samples.sort_by(|a, b| a.1.total_cmp(&b.1));
        let theirs = samples[samples.len() / 2].1;
        let (suite, kind) = (self.suite, if self.encrypted { "encrypted" } else { "integrity" });
        let rate = |ns: f64| 8.0 * octets as f64 / ns;
        println!(
            "{{\"suite\": \"{suite:?}\", \"kind\": \"{kind}\", \"what\": \"{what}\", \
             \"octets\": {octets}, \"ns\": {ours:.1}, \"library_ns\": {theirs:.1}, \
             \"ratio\": {ratio:.3}, \"low\": {low:.3}, \"high\": {high:.3}, \
             \"gbps\": {:.2}, \"library_gbps\": {:.2}, \"slices\": {}}}",
            rate(ours),
            rate(theirs),
            ratios.len()
        );
    }
}

/// The minimal use of the library: a nonce by counting, and the call.
struct Library {
    key: LessSafeKey,
    readable: usize,
    pn: u32,
}

impl Library {
    fn nonce(&mut self) -> Nonce {
        self.pn += 1;
        let mut nonce = [0x17; 12];
        nonce[8..].copy_from_slice(&self.pn.to_be_bytes());
        Nonce::assume_unique_for_key(nonce)
    }

    fn seal(&mut self, room: &mut [u8]) {
        let nonce = self.nonce();
        let (readable, text) = room.split_at_mut(self.readable);
        let (text, icv) = text.split_at_mut(text.len() - BACK);
        let tag = self.key.seal_in_place_separate_tag(nonce, Aad::from(&*readable), text);
        icv.copy_from_slice(tag.expect("it takes any length").as_ref());
    }

    fn open(&mut self, room: &mut [u8]) {
        let nonce = self.nonce();
        let (readable, text) = room.split_at_mut(self.readable);
        black_box(self.key.open_in_place(nonce, Aad::from(&*readable), text).expect("was sealed"));
    }
}

/// Alternates slices of both, each first equally often; the first slices warm up the caches.
fn in_turn(slices: usize, mut slice: impl FnMut(bool) -> f64) -> Samples {
    let both = |n: usize| {
        let ours_first = n % 2 == 0;
        let (first, second) = (slice(ours_first), slice(!ours_first));
        if ours_first { (first, second) } else { (second, first) }
    };
    (0..slices + 8).map(both).skip(8).collect()
}

/// Nanoseconds per frame of `step`.
fn timed(rooms: &mut [Vec<u8>], mut step: impl FnMut(&mut [u8])) -> f64 {
    let start = Wall::now();
    for room in &mut *rooms {
        step(black_box(room));
    }
    start.elapsed().as_nanos() as f64 / rooms.len() as f64
}
