//! Transmit timing: the transmit and transmit timer state machines of 802.1AB-2016 9.2.8 and 9.2.9.
//!
//! The standard counts its timers down in ticks of a second. Here they are points in time; a second
//! begins when the link comes up. The jitter that the standard allows on ticks is omitted, so that
//! a run is reproducible.

use super::plan::{AdminStatus, LldpPlan};
use ground::time::{Duration, Instant};

/// Interval between credits (txTick).
const TICK: Duration = Duration::from_secs(1);
/// Silence of an agent after a shutdown LLDPDU (reinitDelay, 9.2.5.10).
const REINIT: Duration = Duration::from_secs(2);

/// LLDPDU to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pdu {
    /// Normal LLDPDU.
    Normal,
    /// Shutdown LLDPDU.
    Shutdown,
}

/// Transmit state machine.
#[derive(Clone, Debug)]
pub(super) struct Transmitter {
    interval: Duration,
    fast_interval: Duration,
    fast_count: u8,
    credit_max: u8,
    /// adminStatus is not enabledRxOnly.
    enabled: bool,
    running: bool,
    /// A shutdown LLDPDU is pending.
    shutdown: bool,
    /// txNow: an LLDPDU is pending, until there is credit.
    wanted: bool,
    /// Time at which txTTR is 0.
    due: Instant,
    /// txFast: number of LLDPDUs left at the fast interval.
    fast: u8,
    /// Credit as of `ticked`.
    credit: u8,
    /// Last tick processed.
    ticked: Instant,
    /// The end of the silence after a shutdown (txShutdownWhile).
    silent_until: Instant,
}

impl Transmitter {
    pub(super) fn new(plan: &LldpPlan) -> Self {
        Self {
            interval: plan.interval,
            fast_interval: plan.fast_interval,
            fast_count: plan.fast_count,
            credit_max: plan.credit,
            enabled: plan.admin != AdminStatus::RxOnly,
            running: false,
            shutdown: false,
            wanted: false,
            due: Instant::NEVER,
            fast: 0,
            credit: 0,
            ticked: Instant::ZERO,
            silent_until: Instant::ZERO,
        }
    }

    /// Handles link up: the first LLDPDU is due at once, or after the silence.
    pub(super) fn start(&mut self, now: Instant) {
        let from = now.max(self.silent_until);
        self.running = self.enabled;
        self.shutdown = false;
        self.wanted = false;
        self.due = from;
        self.fast = 0;
        self.credit = self.credit_max;
        self.ticked = from;
    }

    /// Handles link down.
    pub(super) fn stop(&mut self) {
        self.running = false;
        self.shutdown = false;
    }

    /// Starts a shutdown: a shutdown LLDPDU is due at once, and silence follows.
    pub(super) fn say_goodbye(&mut self, now: Instant) {
        if self.running {
            self.shutdown = true;
            self.running = false;
            self.silent_until = now.saturating_add(REINIT);
        }
    }

    /// Handles a new neighbour: LLDPDUs are sent at once and some more at the fast interval.
    pub(super) fn hurry(&mut self, now: Instant) {
        if self.running && now >= self.silent_until {
            if self.fast == 0 {
                self.fast = self.fast_count;
            }
            self.expire(now);
        }
    }

    /// Handles changed information: an LLDPDU is due at once.
    pub(super) fn changed(&mut self, now: Instant) {
        if self.running && now >= self.silent_until {
            self.signal(now);
        }
    }

    /// Handles the expiry of txTTR (TX_TIMER_EXPIRES).
    fn expire(&mut self, now: Instant) {
        self.fast = self.fast.saturating_sub(1);
        self.signal(now);
    }

    /// SIGNAL_TX.
    fn signal(&mut self, now: Instant) {
        self.wanted = true;
        let wait = if self.fast > 0 { self.fast_interval } else { self.interval };
        self.due = now.saturating_add(wait);
    }

    /// Advances timers to `now`.
    pub(super) fn advance(&mut self, now: Instant) {
        if !self.running || now < self.ticked {
            return;
        }
        let ticks = now.since(self.ticked).as_picos() / TICK.as_picos();
        self.ticked = self.ticked.saturating_add(TICK.saturating_mul(ticks));
        let earned = u8::try_from(ticks).unwrap_or(u8::MAX);
        self.credit = self.credit.saturating_add(earned).min(self.credit_max);
        if self.due <= now {
            self.expire(now);
        }
    }

    /// Returns true if an LLDPDU is due at `now`.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        let earned = now >= self.ticked.saturating_add(TICK);
        let timer = self.wanted || self.due <= now;
        self.shutdown || self.running && timer && (self.credit > 0 || earned)
    }

    /// Returns the LLDPDU to send at `now`; it counts as sent.
    pub(super) fn take(&mut self, now: Instant) -> Option<Pdu> {
        if self.shutdown {
            self.shutdown = false;
            return Some(Pdu::Shutdown);
        }
        self.advance(now);
        if !(self.running && self.wanted && self.credit > 0) {
            return None;
        }
        self.wanted = false;
        self.credit -= 1;
        Some(Pdu::Normal)
    }

    /// Makes the LLDPDU taken last due again, if it could not be sent.
    pub(super) fn put_back(&mut self, pdu: Pdu) {
        match pdu {
            Pdu::Shutdown => self.shutdown = true,
            Pdu::Normal if self.running => {
                self.wanted = true;
                self.credit = (self.credit + 1).min(self.credit_max);
            }
            Pdu::Normal => {}
        }
    }

    /// Returns the latest time of the next poll.
    pub(super) fn next_deadline(&self) -> Instant {
        match (self.shutdown, self.running) {
            (true, _) => Instant::ZERO,
            (_, false) => Instant::NEVER,
            _ if !self.wanted => self.due,
            _ if self.credit > 0 => Instant::ZERO,
            _ => self.due.min(self.ticked.saturating_add(TICK)),
        }
    }
}
