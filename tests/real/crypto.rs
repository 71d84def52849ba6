//! AES-GCM by a crypto device: the same frames as the built-in cipher makes and accepts, byte for
//! byte. EAL starts once per process, so this is one test.

use std::os::unix::fs::FileExt;
use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::TestRunner;
use sluice::dpdk::{CryptoDevice, Eal, EalOptions, Error, Memory};
use sluice::secure::{
    Accepted, An, CipherSuite, Ciphers, ConfidentialityOffset, Direction, Discard, ReceiveScPlan,
    SaPlan, Sak, Sci, SciForm, Secy, SecyChange, SecyPlan,
};
use sluice::units::Mac;
use sluice::wire::macsec::{Channel, Repr, TAG_OFFSET};

use crate::apart::own_process;

/// DPDK's memory in MiB: one mapping, and the only one of this length.
const MIB: u32 = 64;

const SUITES: [CipherSuite; 4] = [
    CipherSuite::GcmAes128,
    CipherSuite::GcmAes256,
    CipherSuite::GcmAesXpn128,
    CipherSuite::GcmAesXpn256,
];

/// A SecY of this suite on `sci`, without associations.
fn plan(suite: CipherSuite, sci: Sci) -> SecyPlan {
    let sci_form = SciForm::Explicit;
    SecyPlan { sci_form, replay_window: None, ..SecyPlan::standard(suite, sci) }
}

/// Receiver of the frames of `sender`.
fn receiver(sender: &SecyPlan) -> SecyPlan {
    let own = Sci { mac: Mac([2, 0, 0, 0, 0, 0xb]), port: 1 };
    let associations = sender.transmit.clone();
    let receive = vec![ReceiveScPlan { sci: sender.sci, associations }];
    let sci_form = SciForm::Explicit;
    SecyPlan { sci: own, sci_form, transmit: [const { None }; 4], receive, ..sender.clone() }
}

/// A SecY with the device's ciphers, all of them.
fn with(device: &CryptoDevice, plan: &SecyPlan) -> Secy {
    let secy = Secy::with_ciphers(plan, Some(Arc::new(device.clone()))).unwrap();
    let shown = secy.snapshot();
    assert_eq!((shown.cipher, shown.declined), (device.driver(), 0));
    secy
}

fn protect(secy: &mut Secy, frame: &[u8]) -> Vec<u8> {
    let mut room = [&vec![0; secy.front()], frame, &[0; Secy::BACK]].concat();
    secy.protect(&mut room).unwrap();
    room
}

/// Verdict, and all bytes of the frame afterwards.
fn accept(secy: &mut Secy, frame: &[u8]) -> (Result<Accepted, Discard>, Vec<u8>) {
    let mut octets = frame.to_vec();
    (secy.accept(&mut octets), octets)
}

fn octets(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

/// Every public vector, protected and accepted to the bit.
fn vectors(device: &CryptoDevice) {
    let text = include_str!("../../src/machines/secure/tests/vectors.txt");
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut tried = 0;
    while let Some(line) = lines.next() {
        let (name, more) = line.split_once(':').unwrap();
        let more: Vec<&str> = more.split_whitespace().collect();
        let xpn = more.len() == 3;
        let number =
            |at: usize| more.get(at).map_or(0, |hex| u32::from_str_radix(hex, 16).unwrap());
        let [key, plain, sealed] = [0; 3].map(|_| octets(lines.next().unwrap()));
        let suite = SUITES.into_iter().find(|s| s.key_len() == key.len() && s.is_xpn() == xpn);
        let tag = Repr::parse(&sealed).unwrap();
        let (sci, sci_form) = match tag.channel {
            Channel::Sci([mac @ .., high, low]) => {
                (Sci { mac: Mac(mac), port: u16::from_be_bytes([high, low]) }, SciForm::Explicit)
            }
            _ => {
                let mac = Mac(sealed[6..TAG_OFFSET].try_into().unwrap());
                (Sci { mac, port: 1 }, SciForm::EndStation)
            }
        };
        let salt = more.get(2).map_or([0; 12], |hex| octets(hex).try_into().unwrap());
        let pn = u64::from(number(1)) << 32 | u64::from(tag.pn);
        let an = An::new(tag.an).unwrap();
        let zero = ConfidentialityOffset::Zero;
        let mut sender = SecyPlan {
            sci_form,
            confidentiality: tag.encrypted.then_some(zero),
            encoding: an,
            ..plan(suite.unwrap(), sci)
        };
        let key = Sak::new(&key).unwrap();
        sender.transmit[an.index()] = Some(SaPlan { key, pn, ssci: number(0), salt });
        assert_eq!(protect(&mut with(device, &sender), &plain), sealed, "{name}");
        let (verdict, read) = accept(&mut with(device, &receiver(&sender)), &sealed);
        let Accepted { front, back } = verdict.unwrap();
        assert_eq!(read[front..read.len() - back], plain, "{name}");
        tried += 1;
    }
    assert_eq!(tried, 33);
}

prop_compose! {
    /// Sender with one association, with any settings.
    fn senders()(
        suite in select(&SUITES[..]),
        (sci_form, port) in select(&[
            (SciForm::Implied, 7), (SciForm::Explicit, 9), (SciForm::EndStation, 1),
        ][..]),
        offset in select(&[
            None, Some(ConfidentialityOffset::Zero), Some(ConfidentialityOffset::Thirty),
            Some(ConfidentialityOffset::Fifty),
        ][..]),
        number in 0_u8..4,
        key in any::<[u8; 32]>(),
        pn in 1..u32::MAX - 32,
        ssci: u32,
        salt: [u8; 12],
    ) -> SecyPlan {
        let sci = Sci { mac: Mac([2, 0, 0, 0, 0, 0xa]), port };
        let an = An::new(number).unwrap();
        let offset = match offset {
            Some(_) if suite.is_xpn() => Some(ConfidentialityOffset::Zero),
            other => other,
        };
        let mut plan = SecyPlan { sci_form, confidentiality: offset, encoding: an, ..plan(suite, sci) };
        let key = Sak::new(&key[..suite.key_len()]).unwrap();
        plan.transmit[an.index()] = Some(SaPlan { key, pn: pn.into(), ssci, salt });
        plan
    }
}

/// Frames of all lengths, with an error in any of their bits, compared with the built-in cipher.
fn compared(device: &CryptoDevice) {
    let lengths = prop_oneof![14_usize..160, 160_usize..9_600];
    let frames = lengths.prop_flat_map(|n| proptest::collection::vec(any::<u8>(), n));
    let flips = any::<proptest::sample::Index>();
    let tried =
        TestRunner::default().run(&(senders(), frames, flips), |(sender, mut frame, flip)| {
            frame[6..14].copy_from_slice(&[2, 0, 0, 0, 0, 0xa, 8, 0]);
            let receiver = receiver(&sender);
            let sealed = protect(&mut with(device, &sender), &frame);
            prop_assert_eq!(&sealed, &protect(&mut Secy::new(&sender).unwrap(), &frame));
            let mut theirs = with(device, &receiver);
            let mut ours = Secy::new(&receiver).unwrap();
            let mut flipped = sealed.clone();
            // After the SecTAG, which this cipher does not check.
            let at = flip.index((sealed.len() - 28) * 8);
            flipped[28 + at / 8] ^= 1 << (at % 8);
            let (verdict, left) = accept(&mut theirs, &flipped);
            prop_assert_eq!(verdict, Err(Discard::NotValid));
            let (_, also_left) = accept(&mut ours, &flipped);
            let text = sealed.len() - Secy::BACK;
            prop_assert_eq!(
                &left[..text],
                &also_left[..text],
                "nothing that was decrypted is left"
            );
            let (verdict, read) = accept(&mut theirs, &sealed);
            let Accepted { front, back } = verdict.unwrap();
            prop_assert_eq!(&read[front..read.len() - back], &frame[..]);
            prop_assert_eq!(accept(&mut ours, &sealed).0, verdict);
            prop_assert_eq!(theirs.snapshot().receive, ours.snapshot().receive);
            Ok(())
        });
    tried.unwrap();
}

/// Bursts of frames of any lengths, compared with the built-in cipher's frames one by one.
fn at_once(device: &CryptoDevice) {
    let frames =
        proptest::collection::vec(proptest::collection::vec(any::<u8>(), 14..2_000), 0..=32);
    let tried = TestRunner::default().run(&(senders(), frames), |(sender, frames)| {
        let (mut theirs, mut ours) = (with(device, &sender), Secy::new(&sender).unwrap());
        let front = theirs.front();
        let room = |frame: &Vec<u8>| [&vec![0; front], &frame[..], &[0; Secy::BACK]].concat();
        let mut rooms: Vec<_> = frames.iter().map(room).collect();
        let mut slices: Vec<_> = rooms.iter_mut().map(Vec::as_mut_slice).collect();
        prop_assert_eq!(theirs.protect_all(&mut slices), 0);
        for (room, frame) in rooms.iter().zip(&frames) {
            prop_assert_eq!(room, &protect(&mut ours, frame));
        }
        Ok(())
    });
    tried.unwrap();
}

/// A device without room for another key leaves it to the built-in cipher, which is reported; it
/// has room again after keys are removed.
fn room_for_keys(device: &CryptoDevice) {
    let sci = Sci { mac: Mac([2, 0, 0, 0, 0, 0xa]), port: 1 };
    let sa = |n: u32| {
        let key = [&[7; 28][..], &n.to_be_bytes()].concat();
        SaPlan { key: Sak::new(&key).unwrap(), pn: 1, ssci: 1, salt: [0; 12] }
    };
    let mut sender = plan(CipherSuite::GcmAes256, sci);
    sender.transmit = [Some(sa(0)), Some(sa(1)), Some(sa(2)), Some(sa(3))];
    let ciphers: Arc<dyn Ciphers> = Arc::new(device.clone());
    let make = || Secy::with_ciphers(&sender, Some(ciphers.clone())).unwrap();
    let mut full = vec![];
    while full.last().is_none_or(|secy: &Secy| secy.snapshot().declined == 0) {
        assert!(full.len() < 1_000, "a device's memory is bounded");
        full.push(make());
    }
    assert!(full.len() > 64, "{} ports are too few", full.len());
    let mut last = make();
    assert_eq!((last.snapshot().cipher, last.snapshot().declined), (device.driver(), 4));
    let frame: Vec<u8> = (0..100).collect();
    assert_eq!(protect(&mut last, &frame), protect(&mut full[0], &frame));
    full.clear();
    // Later keys use the same memory.
    for n in 1..4 {
        let an = An::ALL[n];
        last.change(&SecyChange::RemoveTransmit(an)).unwrap();
        let sa = sa(n as u32 + 10);
        last.change(&SecyChange::InstallTransmit { an, sa }).unwrap();
    }
    assert_eq!(last.snapshot().declined, 1);
    with(device, &sender);
}

/// Number of copies of this key in DPDK's memory. The key is passed as its complement, so that the
/// search does not copy it.
fn copies(complement: &[u8; 32]) -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let memory = std::fs::File::open("/proc/self/mem").unwrap();
    let mut found = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (range, _) = line.split_once(' ').unwrap();
        let (from, to) = range.split_once('-').unwrap();
        let [from, to] = [from, to].map(|hex| u64::from_str_radix(hex, 16).unwrap());
        // Stacks and heaps are shorter; copies of a key there are not the device's.
        if to - from < u64::from(MIB) << 19 {
            continue;
        }
        let mut page = vec![0; 1 << 16];
        for at in (from..to).step_by(page.len()) {
            let read = memory.read_at(&mut page, at).unwrap();
            // Key schedules begin with the key, at even addresses.
            let is_key = |part: &[u8]| part.iter().zip(complement).all(|(a, b)| *a == !b);
            found += (0..read - 31).step_by(8).filter(|n| is_key(&page[*n..n + 32])).count();
        }
    }
    found
}

/// A device's copies of a key are wiped with the cipher.
fn keys_are_wiped(device: &CryptoDevice) {
    let complement: [u8; 32] = core::array::from_fn(|n| n as u8 ^ device.driver().len() as u8);
    let key = Sak::new(&complement.map(|octet| !octet)).unwrap();
    for direction in [Direction::Seal, Direction::Open] {
        let cipher = device.make(direction, &key, [20, 28]).unwrap();
        assert!(copies(&complement) >= 3, "one in each session");
        drop(cipher);
        assert_eq!(copies(&complement), 0);
    }
}

#[test]
fn a_device_makes_and_accepts_what_the_built_in_cipher_does() {
    own_process!();
    let options =
        EalOptions { memory: Memory::NoHuge, memory_mib: Some(MIB), ..EalOptions::default() };
    let eal = Eal::start(&options).unwrap();
    for driver in CryptoDevice::DRIVERS {
        let device = match CryptoDevice::open(&eal, driver) {
            Ok(device) => device,
            Err(why @ Error::NoDriver { .. }) => {
                crate::run::skipped(why);
                continue;
            }
            Err(why) => panic!("{why}"),
        };
        let again = CryptoDevice::open(&eal, driver).unwrap();
        assert_eq!(again.driver(), driver, "there is one for all");
        drop(again);
        vectors(&device);
        compared(&device);
        at_once(&device);
        room_for_keys(&device);
        keys_are_wiped(&device);
    }
    // An attached device is detached with its last user, and can be attached again.
    if let Ok(device) = CryptoDevice::any(&eal) {
        assert_eq!(device.driver(), CryptoDevice::DRIVERS[0]);
        let (again, zero) = (device.clone(), [0; 16]);
        let key = Sak::new(&zero).unwrap();
        let cipher = again.make(Direction::Seal, &key, [20, 28]).unwrap();
        drop((device, again));
        let mut frame = [0; 60];
        assert!(cipher.apply(([0; 12], &mut frame), Some(20)), "a cipher keeps its device");
    }
}
