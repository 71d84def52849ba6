//! External ciphers: identical frames, individually and in batches, without loss.

use std::sync::Arc;

use proptest::prelude::*;

use super::cross::seal;
use super::*;

/// AES-128-GCM of another library; other suites and opening are declined.
#[derive(Debug)]
struct Sealers;

struct Sealer {
    key: Vec<u8>,
    readable: [usize; 2],
}

impl Ciphers for Sealers {
    fn name(&self) -> &'static str {
        "sealers"
    }

    fn make(&self, direction: Direction, key: &Sak, readable: [usize; 2]) -> Option<Box<dyn Aead>> {
        let fits = direction == Direction::Seal && key.len() == 16;
        fits.then(|| Box::new(Sealer { key: key.octets().to_vec(), readable }) as _)
    }
}

impl Aead for Sealer {
    fn apply(&self, (nonce, frame): Job<'_>, readable: Option<usize>) -> bool {
        assert!(readable.is_none_or(|n| self.readable.contains(&n)));
        let end = frame.len() - 16;
        let (readable, text) = frame.split_at_mut(readable.unwrap_or(end));
        let (text, icv) = text.split_at_mut(text.len() - 16);
        icv.copy_from_slice(&seal(&self.key, nonce, readable, text));
        true
    }

    fn apply_all(&self, jobs: &mut [Job<'_>], readable: Option<usize>) -> u32 {
        assert!((1..=BATCH).contains(&jobs.len()), "nothing is asked for nothing");
        let mut done = 0;
        for (n, (nonce, frame)) in jobs.iter_mut().enumerate() {
            done |= u32::from(self.apply((*nonce, frame), readable)) << n;
        }
        done
    }
}

fn rooms(secy: &Secy, lengths: &[usize]) -> Vec<Vec<u8>> {
    let room = |&len: &usize| [&vec![0; secy.front()], &data(len)[..], &[0; Secy::BACK]].concat();
    lengths.iter().map(room).collect()
}

proptest! {
    #[test]
    fn several_at_once_are_the_frames_of_one_after_another(
        lengths in proptest::collection::vec(12_usize..90, 0..=BATCH),
        suite in proptest::sample::select(&SUITES[..]),
        offset in proptest::sample::select(&[
            None, Some(ConfidentialityOffset::Zero), Some(ConfidentialityOffset::Thirty),
        ][..]),
        foreign: bool, rollover in proptest::option::of(1..40_u64), left in 0..40_u64,
    ) {
        let mut plan = plan(suite, ALICE, BOB);
        plan.confidentiality = match offset {
            Some(_) if suite.is_xpn() => Some(ConfidentialityOffset::Zero),
            other => other,
        };
        // Packet numbers end within the burst, or roll over to the next association.
        plan.rollover_at = rollover;
        plan.transmit[1] = Some(sa(suite, 11, suite.last_pn() - left));
        let ciphers = || foreign.then(|| Arc::new(Sealers) as Arc<dyn Ciphers>);
        let mut one = Secy::new(&plan).unwrap();
        let mut several = Secy::with_ciphers(&plan, ciphers()).unwrap();
        let (mut expected, mut made) = (rooms(&one, &lengths), rooms(&one, &lengths));
        let mut refused = 0;
        for (n, room) in expected.iter_mut().enumerate() {
            refused |= u32::from(one.protect(room).is_err()) << n;
        }
        let mut slices: Vec<&mut [u8]> = made.iter_mut().map(Vec::as_mut_slice).collect();
        prop_assert_eq!(several.protect_all(&mut slices), refused);
        prop_assert_eq!(made, expected);
        let (one, several) = (one.snapshot(), several.snapshot());
        prop_assert_eq!((one.counters, one.transmit), (several.counters, several.transmit));
    }
}

#[test]
fn a_snapshot_says_whose_cipher_it_is() {
    for suite in SUITES {
        let plan = plan(suite, ALICE, BOB);
        let built_in = Secy::new(&plan).unwrap().snapshot();
        let name = if cfg!(feature = "aws-lc") { "aws-lc-rs" } else { "aes-gcm" };
        assert_eq!((built_in.cipher, built_in.declined), (name, 0));
        // The receive association is declined, and with longer keys the transmit one too.
        let mut secy = Secy::with_ciphers(&plan, Some(Arc::new(Sealers))).unwrap();
        let declined = if suite.key_len() == 16 { 1 } else { 2 };
        assert_eq!((secy.snapshot().cipher, secy.snapshot().declined), ("sealers", declined));
        assert!(!format!("{secy:?}").contains("10, 10"), "keys are not shown");
        secy.change(&SecyChange::RemoveReceive { sci: BOB, an: an(0) }).unwrap();
        assert_eq!(secy.snapshot().declined, declined - 1);
    }
}
