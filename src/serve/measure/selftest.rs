//! Self-test of a port, and of the cable to its peer: tries by sending frames what Sluice needs of
//! a NIC, and reports each ability as claimed and as tried.
//!
//! The ports are opened once; steps start and stop them. A step that cannot be made says why and is
//! never `ok`. `judge` has the verdicts as functions of what was observed.

mod bench;
mod frames;
mod judge;
mod nature;
mod passes;
mod pauses;
mod rates;
mod report;
mod stamps;
mod starts;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as StdDuration;

use anyhow::{Result, anyhow};

use dpdk::{
    Abilities, DpdkPort, Eal, PortControl, PortOptions, Stopped, TscClock, built_against,
    dpdk_version,
};
use ground::units::BitsPerSec;
use tester::RATE_DEFAULT;
use tester::plan::Place;

use bench::{Bench, End, Pair, Refused};
use judge::LinkUp;
pub use report::{Device, FORM, Found, Line, Machine, Nature, Pci, Report, SizeRate, text};

/// Longest tagged frame: what every port passes.
const FRAME_USUAL: u32 = 1_522;

/// Time for which frames are sent in steps that compare rates.
const WINDOW: StdDuration = StdDuration::from_millis(100);

/// State of a self-test.
struct Context<'a> {
    eal: &'a Eal,
    bench: Bench<'a>,
    abilities: Abilities,
    peer_abilities: Option<Abilities>,
    /// Interfaces of the kernel that the ends work on.
    interface: Option<String>,
    peer_interface: Option<String>,
    /// Negotiated rate in b/s.
    link_rate: Option<u64>,
    /// True if frames to any address are received.
    promiscuous: bool,
    /// Claim about MAC control frames.
    forwards: Option<String>,
    /// True for a pair of rings.
    in_memory: bool,
    /// True if a virtual machine makes the port.
    is_emulated: bool,
}

impl Context<'_> {
    /// Rate of the link, or an assumed one.
    fn rate(&self) -> BitsPerSec {
        self.link_rate.and_then(BitsPerSec::new).unwrap_or(RATE_DEFAULT)
    }
}

/// Usual settings of both ends.
fn options(clock: TscClock) -> PortOptions {
    PortOptions { max_frame: Some(FRAME_USUAL), clock: Some(clock), ..PortOptions::default() }
}

/// Tests the first of one or two ports. Tells the name of each step; ends early if `stop` is set.
///
/// # Errors
/// A port that cannot be opened or started.
pub fn selftest(
    eal: &Eal,
    sluice: &str,
    places: &[Place],
    stop: &AtomicBool,
    mut tell: impl FnMut(&str),
) -> Result<Report> {
    let machine = nature::machine(Path::new("/"));
    tell("open");
    let bench = Bench::open(eal, places).map_err(|refused| error(places, &refused))?;
    let controls = bench.controls();
    let abilities: Vec<_> = controls.iter().map(PortControl::abilities).collect();
    let found =
        |n: usize, port: &DpdkPort<Stopped>| identity(places, n, port, &abilities[n], &machine);
    let mut devices: Vec<Device> =
        bench.all_stopped().iter().enumerate().map(|(n, port)| found(n, port)).collect();
    let interface = |n: usize| {
        let found: Option<&PortControl> = controls.get(n);
        found.and_then(PortControl::interface).map(|interface| interface.name)
    };
    // As the driver claims them before any start: a start changes what it says of flow control.
    let mut abilities = abilities.into_iter();
    let mut context = Context {
        eal,
        interface: interface(0),
        peer_interface: interface(1),
        abilities: abilities.next().ok_or_else(|| anyhow!("no port is named"))?,
        peer_abilities: abilities.next(),
        link_rate: None,
        promiscuous: false,
        forwards: None,
        in_memory: matches!(places.first(), Some(Place::Ring { .. })),
        is_emulated: matches!(devices[0].nature, Nature::Emulated | Nature::Paravirtual),
        bench,
    };
    // A device stays open while a handle on it exists.
    drop(controls);
    let usual = options(context.bench.clock);
    let pair = context.bench.start(&usual, &usual).map_err(|refused| error(places, &refused))?;
    context.link_rate = passes::link_rate(&pair.port);
    context.promiscuous = pair.port.info().promiscuous;
    context.forwards = Some(pair.port.info().mac_control.to_string());
    note_rates(&mut devices, &pair);
    let mut lines = vec![link(&pair), offloads(&context.abilities), flow_control(&context, &pair)];
    // Without a link no frame passes, and a failure of a step would say nothing about the NIC.
    let is_up = pair.up_after.is_some();
    let mut run = Run { stop, tell: &mut tell, lines: &mut lines, is_up };
    run.all(&mut context, pair);
    let mut rates = Vec::new();
    // Long frames have a rate only if they pass.
    let jumbo = run.is_ok("jumbo");
    if context.bench.has_peer() && is_up && !stop.load(Ordering::Relaxed) {
        tell("rates");
        rates = rates::rates(&mut context, jumbo).unwrap_or_default();
    }
    let mut devices = devices.into_iter();
    Ok(Report {
        form: FORM.into(),
        sluice: sluice.into(),
        dpdk: dpdk_version(),
        built_against: built_against().into(),
        machine,
        port: devices.next().ok_or_else(|| anyhow!("no port is named"))?,
        peer: devices.next(),
        verdict: report::verdict_of(&lines, stop.load(Ordering::Relaxed)),
        lines,
        rates,
    })
}

/// Steps and their lines.
struct Run<'a> {
    stop: &'a AtomicBool,
    tell: &'a mut dyn FnMut(&str),
    lines: &'a mut Vec<Line>,
    /// True if the links are up.
    is_up: bool,
}

impl Run<'_> {
    /// Makes a step, unless the test was interrupted or no frame can pass.
    fn step(&mut self, checks: &[&str], step: impl FnOnce() -> Vec<Line>) {
        let why = match (self.stop.load(Ordering::Relaxed), self.is_up) {
            (true, _) => "interrupted",
            (false, false) => "the link is down",
            (false, true) => {
                (self.tell)(checks[0]);
                return self.lines.extend(step());
            }
        };
        self.lines.extend(checks.iter().map(|check| Line::not_tried(check, None, why)));
    }

    /// Makes all steps. Those before the pair is given back use the ports as they are; the others start them with
    /// options of their own.
    fn all(&mut self, context: &mut Context<'_>, mut pair: Pair) {
        let stop = self.stop;
        self.step(passes::CHECKS, || passes::usual(context, &mut pair));
        let claimed = context.forwards.clone();
        self.step(&["nic_pause", "nic_pfc"], || pauses::by_nic(&mut pair, claimed));
        let in_memory = context.in_memory;
        self.step(&["link_change"], || vec![starts::link_change(&mut pair, in_memory)]);
        context.bench.give_back(pair);
        self.step(&["jumbo"], || vec![passes::jumbo(context)]);
        self.step(&["own_pfc"], || vec![pauses::by_station(context)]);
        self.step(&["hardware_pfc"], || vec![starts::hardware_pfc(context)]);
        self.step(&["ring_sizes"], || vec![starts::rings(context)]);
        self.step(&["restart"], || vec![starts::restarts(context)]);
        self.step(&["rx_stamps", "tx_stamps", "jitter"], || stamps::stamps(context));
        self.step(&["round_trip", "round_trip_ptp"], || stamps::round_trips(context, stop));
    }

    fn is_ok(&self, check: &str) -> bool {
        self.lines.iter().any(|line| line.check == check && line.verdict == Found::Ok)
    }
}

/// Adds the rates that both ends have negotiated.
fn note_rates(devices: &mut [Device], pair: &Pair) {
    devices[0].link_rate_bps = passes::link_rate(&pair.port);
    if let (Some(device), Some(peer)) = (devices.get_mut(1), &pair.peer) {
        device.link_rate_bps = passes::link_rate(peer);
    }
}

fn error(places: &[Place], refused: &Refused) -> anyhow::Error {
    let n = usize::from(refused.end == End::Peer);
    match places.get(n) {
        Some(place) => anyhow!("port {place}: {}", refused.why),
        None => anyhow!("{}", refused.why),
    }
}

/// Identity of the device at a place.
fn identity(
    places: &[Place],
    n: usize,
    port: &DpdkPort<Stopped>,
    abilities: &Abilities,
    machine: &Machine,
) -> Device {
    // A device may have arguments behind its address.
    let address = port.device().split(',').next().unwrap_or_default();
    let pci = nature::pci(Path::new("/"), address);
    let interface = port.control().interface().map(|interface| interface.name);
    let (nature, evidence) = nature::nature(
        port.driver(),
        port.is_virtual(),
        interface.as_deref(),
        pci.as_ref(),
        machine,
    );
    let (firmware, firmware_unknown) = match &abilities.firmware {
        Ok(text) if text.is_empty() => (None, Some("the driver names none".into())),
        Ok(text) => (Some(text.clone()), None),
        Err(code) => (None, Some(code.to_string())),
    };
    Device {
        port: places[n].to_string(),
        driver: port.driver().into(),
        nature,
        evidence,
        pci,
        firmware,
        firmware_unknown,
        link_rate_bps: None,
    }
}

fn link(pair: &Pair) -> Line {
    let link = pair.port.link();
    let duplex = if link.full_duplex { "full duplex" } else { "half duplex" };
    let rate = match (pair.port.is_virtual(), link.rate) {
        // The rate of a virtual device is fictitious.
        (false, Some(rate)) => rate.to_string(),
        _ => "no rate".into(),
    };
    let claimed = Some(format!("{rate}, {duplex}"));
    let found = LinkUp {
        after_ms: pair.up_after.map(|after| after.as_millis() as u64),
        full_duplex: link.full_duplex,
        is_virtual: pair.port.is_virtual(),
    };
    judge::link_up("link", claimed, found)
}

fn offloads(abilities: &Abilities) -> Line {
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        some => some.join(" "),
    };
    let claimed = format!(
        "receive {}; transmit {}; queues {} and {}",
        list(&abilities.rx_offloads),
        list(&abilities.tx_offloads),
        abilities.queues_max.0,
        abilities.queues_max.1
    );
    Line::not_tried("offloads", Some(claimed), "Sluice uses none but the time stamps")
}

/// Judges the setting of the device's own flow control.
fn flow_control(context: &Context<'_>, pair: &Pair) -> Line {
    let after = pair.port.control().abilities().flow_control;
    judge::off("flow_control", &context.abilities.flow_control, &after, pair.port.is_virtual())
}

#[cfg(test)]
mod tests;
