//! An overloaded switch of three ports and the hosts around it, in any world: two hosts send twice
//! the rate of the third, obey the switch's PFC, and sometimes pause it. Nothing here allocates or
//! makes a system call after [`Overload::new`], so those found in [`Overload::step`] are the
//! switch's or its ports'.

use sluice::frame::{Burst, Frame};
use sluice::port::Port;
use sluice::stats::{DropReason, SwitchSnapshot};
use sluice::switch::Switch;
use sluice::time::Instant;
use sluice::units::{Mac, Priority, Quanta};
use sluice::wire::pfc;
use sluice::world::World;

use crate::plan::template;

/// The one lossless priority of the plan.
const LOSSLESS: Priority = Priority::ALL[3];

/// Frames of each priority that a host sends in a step.
const SHARE: usize = 16;

/// A switch under load and its hosts.
pub struct Overload<W: World, M> {
    switch: Switch<W>,
    hosts: [Host<W::Port>; 3],
    /// Makes a frame with these bytes, or none if its memory is used up.
    make: M,
    burst: Burst<W::Frame>,
    steps: u32,
}

struct Host<P> {
    port: P,
    paused: bool,
    pauses: u64,
}

impl<W: World, M: FnMut(&[u8]) -> Option<W::Frame>> Overload<W, M> {
    /// `ports` are the other ends of the switch's three, whose plan is `plan(3, Lossless, 1)`.
    pub fn new(switch: Switch<W>, ports: [W::Port; 3], make: M) -> Self {
        let hosts = ports.map(|port| Host { port, paused: false, pauses: 0 });
        Self { switch, hosts, make, burst: Burst::new(), steps: 0 }
    }

    /// The hosts send, the switch is polled once, the hosts receive.
    pub fn step(&mut self, now: Instant) {
        for from in 0..2 {
            self.send_data(from);
        }
        match self.steps % 1_024 {
            // The switch learns the third host's addresses.
            0 => self.send_answers(),
            // During this pause the rings and the buffer fill up and the switch sends XOFF.
            100 => self.send_pause(Quanta::MAX),
            300 => self.send_pause(Quanta(0)),
            500 => self.send_junk(),
            _ => {}
        }
        self.steps += 1;
        self.switch.poll(now);
        for host in &mut self.hosts {
            host.port.rx_burst(&mut self.burst);
            for pause in self.burst.drain(..).filter_map(|f| pfc::Repr::parse(f.head()).ok()) {
                let Some(time) = pause.time(LOSSLESS) else { continue };
                host.paused = time != Quanta(0);
                host.pauses += u64::from(host.paused);
            }
        }
    }

    /// A burst to the third host, half of it lossless unless that is paused. One in some hundred
    /// frames is from a new host, and one, which is lossy, is broadcast: headroom is for received
    /// frames and not for their copies by flooding.
    fn send_data(&mut self, from: u8) {
        let lossless = if self.hosts[usize::from(from)].paused { 0 } else { SHARE };
        for n in 0..lossless + SHARE {
            let mut octets = template(from, 2, n as u8);
            if n >= lossless {
                octets[14] = 0;
            }
            if n == lossless && self.steps % 8 == 0 {
                octets[..6].copy_from_slice(&Mac::BROADCAST.0);
            }
            if n == 0 && self.steps % 8 == 1 {
                octets[7..11].copy_from_slice(&self.steps.to_be_bytes());
            }
            self.burst.extend((self.make)(&octets));
        }
        self.send(from.into());
    }

    fn send_answers(&mut self) {
        for n in 0..2 * SHARE {
            self.burst.extend((self.make)(&template(2, 0, n as u8)));
        }
        self.send(2);
    }

    fn send_pause(&mut self, time: Quanta) {
        let mut pause = pfc::Repr::new(Mac([2, 0, 0, 2, 0, 0]));
        pause.set(LOSSLESS, time);
        let mut octets = [0; 60];
        pause.emit(&mut octets).expect("it has 60 octets");
        self.burst.extend((self.make)(&octets));
        self.send(2);
    }

    /// Frames that are dropped for separate reasons: a short one, one to a reserved address, a MAC
    /// control frame with an opcode that does not exist, one with a tag of VLAN 4095.
    fn send_junk(&mut self) {
        let good = template(2, 0, 0);
        let mut reserved = good;
        reserved[..6].copy_from_slice(&[0x01, 0x80, 0xc2, 0, 0, 0x03]);
        let mut opcode = good;
        opcode[12..16].copy_from_slice(&[0x88, 0x08, 0xff, 0xff]);
        let mut vid = good;
        vid[14..16].copy_from_slice(&[0x0f, 0xff]);
        for octets in [&good[..10], &reserved, &opcode, &vid] {
            self.burst.extend((self.make)(octets));
        }
        self.send(2);
    }

    /// Frames that the switch does not take are lost before it.
    fn send(&mut self, from: usize) {
        self.hosts[from].port.tx_burst(&mut self.burst);
        self.burst.clear();
    }

    /// Current counters. This allocates.
    pub fn snapshot(&mut self, now: Instant) -> SwitchSnapshot {
        self.switch.snapshot(now)
    }

    /// Checks that the load had all its intended effects.
    pub fn check(&mut self, now: Instant) {
        let snapshot = self.snapshot(now);
        let (balance, drops) = (snapshot.balance(), snapshot.drops());
        assert!(balance.holds(), "{balance:?} {drops:?}");
        for reason in [
            DropReason::SharedLimit,
            DropReason::Runt,
            DropReason::ReservedAddress,
            DropReason::MacControlOpcode,
            DropReason::ReservedVid,
        ] {
            assert!(drops.get(reason) > 0, "no {}: {drops:?}", reason.name());
        }
        let all = |count: fn(&sluice::stats::PriorityCounters) -> u64| -> u64 {
            let ports = snapshot.ports.iter();
            ports.flat_map(|p| &p.counters.priorities).map(count).sum()
        };
        assert!(all(|p| p.ecn_marked) > 0, "no ECN marks");
        assert!(all(|p| p.headroom_peak_bytes) > 0, "headroom was never used");
        assert!(all(|p| p.pfc_rx_transitions) > 0, "no pause was obeyed");
        let copied: u64 = snapshot.ports.iter().map(|p| p.counters.copied).sum();
        assert!(copied > 0, "nothing was flooded");
        assert!(self.hosts[..2].iter().all(|host| host.pauses > 0), "no pause was sent");
        let lossless_lost: u64 = snapshot.ports[..2]
            .iter()
            .map(|p| p.counters.priorities[LOSSLESS.index()].dropped)
            .sum();
        assert_eq!(lossless_lost, 0, "{drops:?}");
    }
}
