//! Resolves associations and their keys.

use std::collections::BTreeMap;

use super::cx::by_number;
use super::{Cx, Place};
use crate::raw::{HexText, Macsec, MacsecAssociation, Range};
use file::{hex_octets, key_of, read_key};
use secure::{CipherSuite, SaPlan, Sak, SecyPlan};

/// Settings common to all associations: the cipher suite, and the key for associations without one.
pub(super) struct Keys {
    suite: CipherSuite,
    key: Option<Sak>,
    /// True if the file has a common key, valid or not.
    is_given: bool,
    salt: Option<[u8; 12]>,
}

impl Keys {
    pub fn of(cx: &mut Cx, place: &Place<'_>, raw: &Macsec, suite: CipherSuite) -> Self {
        let salt = salt(cx, &place.key("salt"), raw.salt.as_ref(), suite);
        let (key, key_file) = (raw.key.as_ref(), raw.key_file.as_deref());
        let has = key.is_some() || key_file.is_some();
        // A common key is optional: each association may have its own.
        let key = if has { self::key(cx, place, key, key_file, suite) } else { None };
        let keys = Self { suite, key, is_given: has, salt };
        if has && suite.is_xpn() && raw.salt.is_none() {
            cx.error(&place.key("salt"), NO_SALT);
        }
        keys
    }

    /// Checks that no two associations of a channel share a key, that the common key is used, and
    /// that short SCIs are complete.
    pub fn check(&self, cx: &mut Cx, place: &Place<'_>, plan: &SecyPlan) {
        // GCM is broken if a nonce is used twice under one key, and nonces of one channel differ in the packet
        // number alone.
        let at_sas = place.key("transmit").key("associations");
        alike(
            cx,
            &at_sas,
            &plan.transmit,
            "would send two frames with the same number under one key",
        );
        for (i, sc) in plan.receive.iter().enumerate() {
            let place = place.key("receive").index(i).key("associations");
            alike(cx, &place, &sc.associations, "would let frames in twice, once with each number");
        }
        let uses = |sas: &[Option<SaPlan>; 4]| {
            sas.iter().flatten().any(|sa| Some(&sa.key) == self.key.as_ref())
        };
        let used = uses(&plan.transmit) || plan.receive.iter().any(|sc| uses(&sc.associations));
        if self.key.is_some() && !used {
            cx.error(
                &place.key("key"),
                "every channel has its associations; leave it out, or them",
            );
        } else if self.key.is_some() && plan.receive.is_empty() {
            let what = "whose frames are received? Write `receive: [{sci: {mac: ...}}]` with the peer's \
                        address";
            cx.error(&place.key("receive"), what);
        }
        short_names(cx, place, plan);
    }
}

const NO_SALT: &str = "XPN suites need a salt: 24 hexadecimal digits, the same at both ends";

/// Checks that either all or none of the short SCIs are configured: a mixture may give two channels
/// the same one.
fn short_names(cx: &mut Cx, place: &Place<'_>, plan: &SecyPlan) {
    if !plan.suite.is_xpn() {
        return;
    }
    let sscis =
        |sas: &[Option<SaPlan>; 4]| sas.iter().flatten().map(|sa| sa.ssci).collect::<Vec<_>>();
    // XPN nonces have the short SCI in place of the SCI, so two senders with the same one would share nonces.
    let own = sscis(&plan.transmit);
    let theirs: Vec<Vec<u32>> = plan.receive.iter().map(|sc| sscis(&sc.associations)).collect();
    let all = || own.iter().chain(theirs.iter().flatten());
    // 0 stands for one that is assigned later, from 1 on.
    if all().any(|n| *n == 0) && all().any(|n| *n != 0) {
        let what =
            "some associations have an `ssci` and some have none: give it to all, or to none";
        return cx.error(place, what);
    }
    for (i, list) in theirs.iter().enumerate() {
        let before = theirs[..i].iter().flatten().chain(&own);
        if list.iter().any(|n| *n != 0 && before.clone().any(|other| other == n)) {
            let what = "another channel has this `ssci`: each sender needs a different one";
            cx.error(&place.key("receive").index(i).key("associations"), what);
        }
    }
}

/// Reports two associations of one channel that have the same key.
fn alike(cx: &mut Cx, place: &Place<'_>, sas: &[Option<SaPlan>; 4], why: &str) {
    for (n, sa) in sas.iter().enumerate() {
        let Some(sa) = sa else { continue };
        let twin =
            sas[..n].iter().position(|other| other.as_ref().is_some_and(|o| o.key == sa.key));
        if let Some(first) = twin {
            let what = format!("associations {first} and {n} have the same key, which {why}");
            cx.error(&place.key(&n.to_string()), what);
        }
    }
}

/// Resolves the associations of a channel: those in the file, or number 0 with the common key.
pub(super) fn associations(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &BTreeMap<Range, MacsecAssociation>,
    keys: &Keys,
) -> [Option<SaPlan>; 4] {
    let mut out = [const { None }; 4];
    if raw.is_empty() {
        // Suites without XPN ignore the salt. For XPN a missing one was reported.
        let salt = keys.salt.unwrap_or_default();
        out[0] = keys.key.clone().map(|key| SaPlan { key, pn: 1, ssci: 0, salt });
        return out;
    }
    for (n, (range, raw)) in by_number(cx, place, raw, 3) {
        out[usize::from(n)] = association(cx, &place.key(&range.to_string()), raw, keys);
    }
    out
}

fn association(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: &MacsecAssociation,
    keys: &Keys,
) -> Option<SaPlan> {
    let suite = keys.suite;
    let own = salt(cx, &place.key("salt"), raw.salt.as_ref(), suite);
    if suite.is_xpn() && raw.salt.is_none() && keys.salt.is_none() {
        cx.error(&place.key("salt"), NO_SALT);
    }
    if raw.ssci.is_some() && !suite.is_xpn() {
        cx.error(&place.key("ssci"), "only XPN suites have short names; leave it out");
    }
    if raw.ssci == Some(0) {
        cx.error(&place.key("ssci"), "must be above 0");
    }
    let pn = raw.next_pn.unwrap_or(1);
    let pn = cx.ranged(&place.key("next_pn"), pn, (1, suite.last_pn()), 1);
    let (text, file) = (raw.key.as_ref(), raw.key_file.as_deref());
    if text.is_none() && file.is_none() {
        let also = if keys.is_given {
            "; the one at the top is for channels without associations"
        } else {
            ""
        };
        cx.error(place, format!("an association needs `key_file`, or in a lab `key`{also}"));
        return None;
    }
    let key = key(cx, place, text, file, suite)?;
    let salt = own.or(keys.salt).unwrap_or_default();
    Some(SaPlan { key, pn, ssci: raw.ssci.unwrap_or(0), salt })
}

/// Resolves a `key` or a `key_file`; its length must be the cipher suite's.
fn key(
    cx: &mut Cx,
    place: &Place<'_>,
    text: Option<&HexText>,
    file: Option<&str>,
    suite: CipherSuite,
) -> Option<Sak> {
    let (here, read) = match (text, file) {
        (Some(text), None) => (place.key("key"), key_of(text.text().as_bytes())),
        (None, Some(file)) => (place.key("key_file"), read_key(&cx.folder.join(file))),
        (Some(_), Some(_)) => {
            cx.error(&place.key("key_file"), "`key` is there too; leave out one of them");
            return None;
        }
        (None, None) => return None,
    };
    match read {
        // The key is never part of a message, only its length.
        Ok(key) if key.len() == suite.key_len() => Some(key),
        Ok(key) => {
            let what = format!(
                "the key has {} octets, and the cipher suite takes {}: {} hexadecimal digits",
                key.len(),
                suite.key_len(),
                2 * suite.key_len()
            );
            cx.error(&here, what);
            None
        }
        Err(why) => {
            cx.error(&here, why);
            None
        }
    }
}

fn salt(
    cx: &mut Cx,
    place: &Place<'_>,
    raw: Option<&HexText>,
    suite: CipherSuite,
) -> Option<[u8; 12]> {
    let raw = raw?;
    if !suite.is_xpn() {
        cx.error(place, "only XPN suites have a salt; leave it out");
    }
    let mut salt = [0; 12];
    if let Err(why) = hex_octets(raw.text().as_bytes(), &mut salt) {
        cx.error(place, why);
    }
    Some(salt)
}
