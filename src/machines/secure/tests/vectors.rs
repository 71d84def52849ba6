//! The public test vectors, bit by bit in both directions.

use super::*;
use wire::macsec::{Channel, Repr, TAG_OFFSET};

struct Vector {
    name: String,
    suite: CipherSuite,
    encrypted: bool,
    key: Sak,
    /// SSCI, upper half of the packet number, salt.
    extended: (u32, u32, [u8; 12]),
    plain: Vec<u8>,
    sealed: Vec<u8>,
}

fn octets(hex: &str) -> Vec<u8> {
    let digits = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digits).collect()
}

fn vectors() -> Vec<Vector> {
    let text = include_str!("vectors.txt");
    let mut lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let mut vectors = Vec::new();
    while let Some(line) = lines.next() {
        let (name, more) = line.split_once(':').unwrap();
        let suite = match name.split(' ').next().unwrap() {
            "gcm-128" => CipherSuite::GcmAes128,
            "gcm-256" => CipherSuite::GcmAes256,
            "gcm-xpn-128" => CipherSuite::GcmAesXpn128,
            "gcm-xpn-256" => CipherSuite::GcmAesXpn256,
            other => panic!("{other}"),
        };
        let more: Vec<&str> = more.split_whitespace().collect();
        let number = |hex: &str| u32::from_str_radix(hex, 16).unwrap();
        let extended = match more[..] {
            [ssci, upper, salt] => (number(ssci), number(upper), octets(salt).try_into().unwrap()),
            _ => Default::default(),
        };
        assert_eq!(suite.is_xpn(), !more.is_empty(), "{name}");
        let [key, plain, sealed] = [0; 3].map(|_| octets(lines.next().unwrap()));
        let (name, encrypted) = (name.into(), name.contains("encrypt"));
        let key = Sak::new(&key).unwrap();
        vectors.push(Vector { name, suite, encrypted, key, extended, plain, sealed });
    }
    assert_eq!(vectors.len(), 33);
    vectors
}

/// Returns the channel, its identification in frames, and the association of the protected frame.
fn channel(vector: &Vector) -> (Sci, SciForm, An, SaPlan) {
    let tag = Repr::parse(&vector.sealed).unwrap();
    assert_eq!(tag.encrypted, vector.encrypted, "{}", vector.name);
    let (sci, form) = match tag.channel {
        Channel::Sci([a, b, c, d, e, f, port @ ..]) => {
            let mac = Mac([a, b, c, d, e, f]);
            (Sci { mac, port: u16::from_be_bytes(port) }, SciForm::Explicit)
        }
        Channel::EndStation => {
            let mac = Mac(vector.sealed[6..TAG_OFFSET].try_into().unwrap());
            (Sci { mac, port: 1 }, SciForm::EndStation)
        }
        other => panic!("{other:?}"),
    };
    let (ssci, upper, salt) = vector.extended;
    let pn = u64::from(upper) << 32 | u64::from(tag.pn);
    (sci, form, an(tag.an), SaPlan { key: vector.key.clone(), pn, ssci, salt })
}

#[test]
fn every_public_vector_is_made_and_read_to_the_bit() {
    for vector in vectors() {
        let (sci, form, number, association) = channel(&vector);
        let zero = ConfidentialityOffset::Zero;
        let none = [const { None }; 4];
        let mut sender = SecyPlan {
            sci,
            sci_form: form,
            confidentiality: vector.encrypted.then_some(zero),
            encoding: number,
            transmit: none.clone(),
            receive: vec![],
            ..plan(vector.suite, ALICE, BOB)
        };
        sender.transmit[number.index()] = Some(association.clone());
        let mut receiver = plan(vector.suite, BOB, sci);
        receiver.transmit = none.clone();
        receiver.receive[0].associations = none;
        receiver.receive[0].associations[number.index()] = Some(association);

        let sealed = protect(&mut Secy::new(&sender).unwrap(), &vector.plain);
        assert_eq!(sealed.as_ref(), Ok(&vector.sealed), "{}", vector.name);
        let opened = accept(&mut Secy::new(&receiver).unwrap(), &vector.sealed);
        assert_eq!(opened.as_ref(), Ok(&vector.plain), "{}", vector.name);
    }
}
