//! Receive channels (802.1AE 10.6).

use super::association::{Age, Associations, Cipher, Live, SaFault, UsedKeys, Window};
use super::{
    An, ChannelSnapshot, ConfidentialityOffset, PfcAccept, ReceiveCounters, ReceiveSaSnapshot,
    ReceiveSnapshot, SaPlan, Sci, SecyCounters, SecyPlan, Validate,
};
use ground::units::Mac;
use wire::macsec::{self, Channel, ICV_LEN, TAG_OFFSET};
use wire::{EtherType, WireError};

/// Bytes to remove from an accepted frame. The addresses were moved behind those removed from the
/// front.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Accepted {
    /// Bytes to remove from the front: 0 of a plain frame, else 8 or 16.
    pub front: usize,
    /// Bytes to remove from the end: 0 of a plain frame, else 16 and the padding behind them.
    pub back: usize,
}

/// Reason for discarding a received frame. Each has a counter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, thiserror::Error)]
pub enum Discard {
    /// No EtherType.
    #[error("too short")]
    Runt,
    /// Plain data that must be protected (InPktsNoTag).
    #[error("not protected")]
    NoTag,
    /// Invalid SecTAG, or a packet number of 0 (InPktsBadTag).
    #[error("bad SecTAG")]
    BadTag,
    /// No channel, or no association of it (InPktsNoSAError).
    #[error("unknown association")]
    NoSa,
    /// Packet number below the lowest acceptable packet number, or for MAC control below the last
    /// (InPktsLate).
    #[error("late")]
    Late,
    /// Packet number accepted before.
    #[error("replayed")]
    Replayed,
    /// Failed validation (InPktsNotValid).
    #[error("not valid")]
    NotValid,
    /// Plain MAC control frame that must be protected.
    #[error("plain MAC control frame")]
    PausePlain,
    /// Protected MAC control frame that must be plain.
    #[error("protected MAC control frame")]
    PauseProtected,
}

impl SecyCounters {
    /// Counts a discarded frame, unless its channel did.
    fn note(&mut self, why: Discard) {
        let counter = match why {
            Discard::Runt => &mut self.in_pkts_runt,
            Discard::NoTag => &mut self.in_pkts_no_tag,
            Discard::BadTag => &mut self.in_pkts_bad_tag,
            Discard::NoSa => &mut self.in_pkts_no_sa_error,
            Discard::PausePlain => &mut self.in_pause_plain,
            Discard::PauseProtected => &mut self.in_pause_protected,
            Discard::Late | Discard::Replayed | Discard::NotValid => return,
        };
        *counter += 1;
    }
}

impl ReceiveCounters {
    /// Counts a frame that is too old, and returns the reason.
    fn discard_old(&mut self, age: Age) -> Result<(), Discard> {
        match age {
            Age::Fresh | Age::Delayed => Ok(()),
            Age::Late => {
                self.in_pkts_late += 1;
                Err(Discard::Late)
            }
            Age::Replayed => {
                self.in_pkts_replayed += 1;
                Err(Discard::Replayed)
            }
        }
    }
}

/// Policy for received frames.
#[derive(Clone, Copy, Debug)]
struct Policy {
    protect_data: bool,
    accept_pfc: PfcAccept,
    validate: Validate,
    xpn: bool,
    /// Bytes after the SecTAG that are not encrypted in encrypted frames.
    offset: usize,
    replay_window: Option<u32>,
}

/// A receive association.
#[derive(Debug)]
pub(super) struct ReceiveSa {
    cipher: Cipher,
    window: Window,
}

impl Live for ReceiveSa {
    fn next_pn(&self) -> Option<u64> {
        self.window.next()
    }
}

/// A receive channel.
#[derive(Debug)]
struct ReceiveSc {
    sci: Sci,
    associations: Associations<ReceiveSa>,
    counters: ReceiveCounters,
}

/// All receive channels and the policy.
#[derive(Debug)]
pub(super) struct Receive {
    policy: Policy,
    /// Never grows: the maximum is reserved at the start.
    channels: Vec<ReceiveSc>,
    /// A channel that returns must not accept again what it received before.
    used: UsedKeys,
}

impl Receive {
    /// Creates a receiver without channels.
    pub(super) fn new(plan: &SecyPlan) -> Self {
        let policy = Policy {
            protect_data: plan.protect_data,
            accept_pfc: plan.accept_pfc,
            validate: plan.validate,
            xpn: plan.suite.is_xpn(),
            offset: plan.confidentiality.map_or(0, ConfidentialityOffset::octets),
            replay_window: plan.replay_window,
        };
        let channels = Vec::with_capacity(SecyPlan::CHANNELS_MAX);
        Self { policy, channels, used: UsedKeys::new() }
    }

    /// Accepts or discards a frame without a SecTAG.
    #[inline]
    pub(super) fn plain(
        &self,
        ethertype: EtherType,
        uncontrolled: bool,
        counters: &mut SecyCounters,
    ) -> Result<Accepted, Discard> {
        let policy = &self.policy;
        let verdict = if ethertype == EtherType::MAC_CONTROL {
            match policy.accept_pfc {
                PfcAccept::Protected => Err(Discard::PausePlain),
                PfcAccept::Both | PfcAccept::Plain => Ok(()),
            }
        } else if uncontrolled || !policy.protect_data {
            // EAPOL and the like pass beside the SecY, and so does data where MAC control alone is protected.
            Ok(())
        } else if policy.validate == Validate::Strict {
            Err(Discard::NoTag)
        } else {
            counters.in_pkts_untagged += 1;
            Ok(())
        };
        verdict.map(|()| Accepted::default()).inspect_err(|&why| counters.note(why))
    }

    /// Accepts or discards a frame with a SecTAG, decrypts it, and moves its addresses behind the
    /// SecTAG.
    #[inline]
    pub(super) fn protected(
        &mut self,
        frame: &mut [u8],
        counters: &mut SecyCounters,
    ) -> Result<Accepted, Discard> {
        let verdict = self.validate(frame, counters).inspect_err(|&why| counters.note(why))?;
        let addresses: [u8; TAG_OFFSET] =
            *frame.first_chunk().expect("the SecTAG was behind the addresses");
        // The addresses move over the SecTAG, so that the payload can stay where it is.
        frame[verdict.front..][..TAG_OFFSET].copy_from_slice(&addresses);
        Ok(verdict)
    }

    #[inline]
    fn validate(
        &mut self,
        frame: &mut [u8],
        counters: &mut SecyCounters,
    ) -> Result<Accepted, Discard> {
        let policy = self.policy;
        let tag = Tag::read(frame, policy.xpn).map_err(|_| Discard::BadTag)?;
        let accepted = Accepted { front: tag.front, back: tag.back };
        // An unreadable frame is useless unless it is valid, and an invalid MAC control frame may
        // be forged (10.6.3, and beyond it).
        let strict = policy.validate == Validate::Strict
            || tag.encrypted
            || tag.inner(frame) == EtherType::MAC_CONTROL;
        let Some(sc) = find(&mut self.channels, tag.channel, frame) else {
            return without_sa(strict, accepted, counters);
        };
        let Some(sa) = sc.associations.get_mut(tag.an) else {
            return without_sa(strict, accepted, counters);
        };
        if policy.validate == Validate::Disabled && !strict {
            sc.counters.in_pkts_unchecked += 1;
            return Ok(accepted);
        }
        let pn = if policy.xpn { sa.window.recover(tag.pn) } else { u64::from(tag.pn) };
        // Before decryption: a replayed frame costs no work of the cipher.
        let age = sa.window.age(pn);
        sc.counters.discard_old(age)?;
        let octets = if tag.encrypted {
            &mut sc.counters.in_octets_decrypted
        } else {
            &mut sc.counters.in_octets_validated
        };
        *octets += tag.secure_len as u64;
        let end = tag.end();
        let readable =
            if tag.encrypted { policy.offset.min(tag.secure_len) } else { tag.secure_len };
        if !sa.cipher.open(pn, &mut frame[..end], TAG_OFFSET + tag.front + readable) {
            if strict {
                sc.counters.in_pkts_not_valid += 1;
                return Err(Discard::NotValid);
            }
            sc.counters.in_pkts_invalid += 1;
            return Ok(accepted);
        }
        if tag.inner(frame) == EtherType::MAC_CONTROL {
            sc.counters.discard_old(sa.window.control_age(pn))?;
            // Only here is the frame known to be authentic; a forged number must not move the window.
            sa.window.take_control(pn);
            if policy.accept_pfc == PfcAccept::Plain {
                return Err(Discard::PauseProtected);
            }
        } else {
            sa.window.take(pn);
        }
        match age {
            Age::Delayed => sc.counters.in_pkts_delayed += 1,
            _ => sc.counters.in_pkts_ok += 1,
        }
        Ok(accepted)
    }

    /// Returns the number of associations with the built-in cipher.
    pub(super) fn built_in(&self) -> u32 {
        let built_in = |sa: &ReceiveSa| sa.cipher.is_built_in();
        self.channels.iter().map(|sc| sc.associations.count(built_in)).sum()
    }

    /// Installs an association, in a channel that is created if it is new. Returns false if there
    /// is no room for another channel.
    pub(super) fn install(
        &mut self,
        sci: Sci,
        an: An,
        plan: &SaPlan,
        cipher: Cipher,
    ) -> Result<bool, SaFault> {
        // Before the channel is created: a refused change leaves the state as it was.
        match self.channels.iter().find(|sc| sc.sci == sci) {
            Some(sc) => sc.associations.check(an, plan, &self.used)?,
            None => Associations::<ReceiveSa>::new(sci).check(an, plan, &self.used)?,
        }
        let Some(slot) = self.open_channel(sci) else { return Ok(false) };
        let associations = &mut self.channels[slot].associations;
        let window = Window::new(self.policy.replay_window, plan.pn);
        associations.install(an, plan, ReceiveSa { cipher, window }, &mut self.used);
        Ok(true)
    }

    /// Returns the index of a channel, which is created if it is new; `None` if there is no room.
    pub(super) fn open_channel(&mut self, sci: Sci) -> Option<usize> {
        let known = self.channels.iter().position(|sc| sc.sci == sci);
        if known.is_none() && self.channels.len() < SecyPlan::CHANNELS_MAX {
            let associations = Associations::new(sci);
            let counters = ReceiveCounters::default();
            self.channels.push(ReceiveSc { sci, associations, counters });
            return Some(self.channels.len() - 1);
        }
        known
    }

    /// Returns true if a receive association has this key and this SSCI.
    pub(super) fn shares(&self, plan: &SaPlan) -> bool {
        self.channels.iter().any(|sc| sc.associations.shares(plan))
    }

    /// Removes an association. Returns false if there is none.
    pub(super) fn remove(&mut self, sci: Sci, an: An) -> bool {
        let sc = self.channels.iter_mut().find(|sc| sc.sci == sci);
        sc.is_some_and(|sc| sc.associations.remove(an, &mut self.used))
    }

    /// Removes a channel with its associations. Returns false if there is none.
    pub(super) fn close_channel(&mut self, sci: Sci) -> bool {
        let Some(slot) = self.channels.iter().position(|sc| sc.sci == sci) else { return false };
        let ReceiveSc { mut associations, .. } = self.channels.remove(slot);
        An::ALL.into_iter().for_each(|an| _ = associations.remove(an, &mut self.used));
        true
    }

    /// Raises an association's lowest acceptable packet number. Returns false if there is no such
    /// association.
    pub(super) fn raise(&mut self, sci: Sci, an: An, pn: u64) -> bool {
        let sc = self.channels.iter_mut().find(|sc| sc.sci == sci);
        let sa = sc.and_then(|sc| sc.associations.get_mut(an));
        sa.map(|sa| sa.window.raise(pn)).is_some()
    }

    pub(super) fn snapshot(&self) -> [Option<ReceiveSnapshot>; SecyPlan::CHANNELS_MAX] {
        let mut all = [None; SecyPlan::CHANNELS_MAX];
        for (shown, sc) in all.iter_mut().zip(&self.channels) {
            let show = |an: An| {
                let ReceiveSa { window, .. } = sc.associations.get(an)?;
                let (next_pn, lowest_pn) = (window.next(), window.lowest());
                Some(ReceiveSaSnapshot { an: an.get(), next_pn, lowest_pn })
            };
            let associations = An::ALL.map(show);
            *shown = Some(ChannelSnapshot { sci: sc.sci, counters: sc.counters, associations });
        }
        all
    }
}

/// Contents of a frame's SecTAG, copied because the frame is modified.
#[derive(Clone, Copy)]
pub(super) struct Tag {
    pub(super) channel: Channel,
    pub(super) an: An,
    pub(super) pn: u32,
    pub(super) encrypted: bool,
    pub(super) front: usize,
    pub(super) secure_len: usize,
    pub(super) back: usize,
}

impl Tag {
    #[inline]
    pub(super) fn read(frame: &[u8], xpn: bool) -> Result<Self, WireError> {
        let v = macsec::View::new(frame)?;
        // Numbers begin at 1. With XPN the lower half of a later number may be 0.
        if v.pn() == 0 && !xpn {
            return Err(WireError::OutOfRange);
        }
        Ok(Self {
            channel: v.channel(),
            an: An::new(v.an()).expect("two bits"),
            pn: v.pn(),
            encrypted: v.encrypted(),
            front: v.front(),
            secure_len: v.secure_len(),
            back: v.back(),
        })
    }

    /// Returns the end of the ICV.
    #[inline]
    pub(super) const fn end(&self) -> usize {
        TAG_OFFSET + self.front + self.secure_len + ICV_LEN
    }

    /// Returns the original EtherType, if it is readable.
    #[inline]
    fn inner(&self, frame: &[u8]) -> EtherType {
        let offset = TAG_OFFSET + self.front;
        EtherType(u16::from_be_bytes([frame[offset], frame[offset + 1]]))
    }
}

/// Returns the channel of a frame (10.6.1). A frame without identification belongs to the only one.
#[inline]
fn find<'a>(
    channels: &'a mut [ReceiveSc],
    channel: Channel,
    frame: &[u8],
) -> Option<&'a mut ReceiveSc> {
    let source = Mac(*frame[6..].first_chunk().expect("the SecTAG was behind the addresses"));
    let sci = match channel {
        // With several channels nothing tells whose frame it is.
        Channel::Implied => return if let [only] = channels { Some(only) } else { None },
        Channel::Sci([a, b, c, d, e, f, port @ ..]) => {
            Sci { mac: Mac([a, b, c, d, e, f]), port: u16::from_be_bytes(port) }
        }
        Channel::EndStation => Sci { mac: source, port: 1 },
        Channel::SingleCopy => Sci { mac: source, port: 0 },
    };
    channels.iter_mut().find(|sc| sc.sci == sci)
}

/// Decides about a frame without an association (10.6.1): it is delivered if it need not be valid.
#[cold]
fn without_sa(
    strict: bool,
    accepted: Accepted,
    counters: &mut SecyCounters,
) -> Result<Accepted, Discard> {
    if strict {
        return Err(Discard::NoSa);
    }
    counters.in_pkts_no_sa += 1;
    Ok(accepted)
}
