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
    pub fn of(cx: &mut Cx, at: &Place<'_>, said: &Macsec, suite: CipherSuite) -> Self {
        let salt = salt(cx, &at.key("salt"), said.salt.as_ref(), suite);
        let (key, key_file) = (said.key.as_ref(), said.key_file.as_deref());
        let has = key.is_some() || key_file.is_some();
        // A common key is optional: each association may have its own.
        let key = if has { self::key(cx, at, key, key_file, suite) } else { None };
        let keys = Self { suite, key, is_given: has, salt };
        if has && suite.is_xpn() && said.salt.is_none() {
            cx.error(&at.key("salt"), NO_SALT);
        }
        keys
    }

    /// Checks that no two associations of a channel share a key, that the common key is used, and
    /// that short SCIs are complete.
    pub fn check(&self, cx: &mut Cx, at: &Place<'_>, plan: &SecyPlan) {
        // GCM is broken if a nonce is used twice under one key, and nonces of one channel differ in the packet
        // number alone.
        let at_sas = at.key("transmit").key("associations");
        alike(
            cx,
            &at_sas,
            &plan.transmit,
            "would send two frames with the same number under one key",
        );
        for (i, sc) in plan.receive.iter().enumerate() {
            let at = at.key("receive").index(i).key("associations");
            alike(cx, &at, &sc.associations, "would let frames in twice, once with each number");
        }
        let uses = |sas: &[Option<SaPlan>; 4]| {
            sas.iter().flatten().any(|sa| Some(&sa.key) == self.key.as_ref())
        };
        let used = uses(&plan.transmit) || plan.receive.iter().any(|sc| uses(&sc.associations));
        if self.key.is_some() && !used {
            cx.error(&at.key("key"), "every channel has its associations; leave it out, or them");
        } else if self.key.is_some() && plan.receive.is_empty() {
            let what = "whose frames are received? Write `receive: [{sci: {mac: ...}}]` with the peer's \
                        address";
            cx.error(&at.key("receive"), what);
        }
        short_names(cx, at, plan);
    }
}

const NO_SALT: &str = "XPN suites need a salt: 24 hexadecimal digits, the same at both ends";

/// Checks that either all or none of the short SCIs are configured: a mixture may give two channels
/// the same one.
fn short_names(cx: &mut Cx, at: &Place<'_>, plan: &SecyPlan) {
    if !plan.suite.is_xpn() {
        return;
    }
    let of = |sas: &[Option<SaPlan>; 4]| sas.iter().flatten().map(|sa| sa.ssci).collect::<Vec<_>>();
    // XPN nonces have the short SCI in place of the SCI, so two senders with the same one would share nonces.
    let own = of(&plan.transmit);
    let theirs: Vec<Vec<u32>> = plan.receive.iter().map(|sc| of(&sc.associations)).collect();
    let all = || own.iter().chain(theirs.iter().flatten());
    // 0 stands for one that is assigned later, from 1 on.
    if all().any(|n| *n == 0) && all().any(|n| *n != 0) {
        let what =
            "some associations have an `ssci` and some have none: give it to all, or to none";
        return cx.error(at, what);
    }
    for (i, list) in theirs.iter().enumerate() {
        let before = theirs[..i].iter().flatten().chain(&own);
        if list.iter().any(|n| *n != 0 && before.clone().any(|other| other == n)) {
            let what = "another channel has this `ssci`: each sender needs a different one";
            cx.error(&at.key("receive").index(i).key("associations"), what);
        }
    }
}

/// Reports two associations of one channel that have the same key.
fn alike(cx: &mut Cx, at: &Place<'_>, sas: &[Option<SaPlan>; 4], why: &str) {
    for (n, sa) in sas.iter().enumerate() {
        let Some(sa) = sa else { continue };
        let twin =
            sas[..n].iter().position(|other| other.as_ref().is_some_and(|o| o.key == sa.key));
        if let Some(first) = twin {
            let what = format!("associations {first} and {n} have the same key, which {why}");
            cx.error(&at.key(&n.to_string()), what);
        }
    }
}

/// Resolves the associations of a channel: those in the file, or number 0 with the common key.
pub(super) fn associations(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &BTreeMap<Range, MacsecAssociation>,
    keys: &Keys,
) -> [Option<SaPlan>; 4] {
    let mut out = [const { None }; 4];
    if said.is_empty() {
        // Suites without XPN ignore the salt. For XPN a missing one was reported.
        let salt = keys.salt.unwrap_or_default();
        out[0] = keys.key.clone().map(|key| SaPlan { key, pn: 1, ssci: 0, salt });
        return out;
    }
    for (n, (range, said)) in by_number(cx, at, said, 3) {
        out[usize::from(n)] = association(cx, &at.key(&range.to_string()), said, keys);
    }
    out
}

fn association(
    cx: &mut Cx,
    at: &Place<'_>,
    said: &MacsecAssociation,
    keys: &Keys,
) -> Option<SaPlan> {
    let suite = keys.suite;
    let own = salt(cx, &at.key("salt"), said.salt.as_ref(), suite);
    if suite.is_xpn() && said.salt.is_none() && keys.salt.is_none() {
        cx.error(&at.key("salt"), NO_SALT);
    }
    if said.ssci.is_some() && !suite.is_xpn() {
        cx.error(&at.key("ssci"), "only XPN suites have short names; leave it out");
    }
    if said.ssci == Some(0) {
        cx.error(&at.key("ssci"), "must be above 0");
    }
    let pn = said.next_pn.unwrap_or(1);
    let pn = cx.ranged(&at.key("next_pn"), pn, (1, suite.last_pn()), 1);
    let (text, file) = (said.key.as_ref(), said.key_file.as_deref());
    if text.is_none() && file.is_none() {
        let also = if keys.is_given {
            "; the one at the top is for channels without associations"
        } else {
            ""
        };
        cx.error(at, format!("an association needs `key_file`, or in a lab `key`{also}"));
        return None;
    }
    let key = key(cx, at, text, file, suite)?;
    let salt = own.or(keys.salt).unwrap_or_default();
    Some(SaPlan { key, pn, ssci: said.ssci.unwrap_or(0), salt })
}

/// Resolves a `key` or a `key_file`; its length must be the cipher suite's.
fn key(
    cx: &mut Cx,
    at: &Place<'_>,
    text: Option<&HexText>,
    file: Option<&str>,
    suite: CipherSuite,
) -> Option<Sak> {
    let (here, read) = match (text, file) {
        (Some(text), None) => (at.key("key"), key_of(text.text().as_bytes())),
        (None, Some(file)) => (at.key("key_file"), read_key(&cx.folder.join(file))),
        (Some(_), Some(_)) => {
            cx.error(&at.key("key_file"), "`key` is there too; leave out one of them");
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
    at: &Place<'_>,
    said: Option<&HexText>,
    suite: CipherSuite,
) -> Option<[u8; 12]> {
    let said = said?;
    if !suite.is_xpn() {
        cx.error(at, "only XPN suites have a salt; leave it out");
    }
    let mut salt = [0; 12];
    if let Err(why) = hex_octets(said.text().as_bytes(), &mut salt) {
        cx.error(at, why);
    }
    Some(salt)
}
