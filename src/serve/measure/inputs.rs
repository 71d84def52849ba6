//! What a measurement starts with: its open ports, the parameters of the headroom calculation, and the plans
//! of the ports' link protocols.

use std::thread;
use std::time::{Duration as StdDuration, Instant};

use anyhow::{Context, Result, ensure};
use contracts::port::{Port, PortCaps};
use discovery::{DcbxPfcPlan, DcbxPlan, LldpPlan, PfcForm, Role};
use dpdk::{
    DpdkPort, Eal, Pool, PoolOptions, PortControl, PortOptions, RingOptions, Started, Stopped,
    TscClock, receive_room, ring_pair,
};
use ground::time::Duration;
use ground::units::{BitsPerSec, Bytes, Cells, Mac, PrioritySet};
use headroom::measure::{InitiatePlan, MeasurePlan};
use headroom::peer_delay::PeerDelayPlan;
use headroom::{DelayInputs, Formula, Frames, Interface, Phy, Shims, SoftwareTerms};
use link::{AgentsPlan, AutoPlan, Method, Preference, Statistic};
use tester::plan::Place;
use tester::session::interface_device;
use wire::headroom::{Adjustment, Dialect};

/// MACsec overhead of a frame, SecTAG with SCI and ICV (802.1AE 9.3, 9.7).
const MACSEC_OCTETS: u64 = 32;

/// Source of the rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateFrom {
    /// The port's own line.
    Line,
    /// `--rate`.
    Argument,
    /// Default.
    Assumed,
}

/// Parameters of the headroom calculation, besides the measured delay.
#[derive(Clone, Debug)]
pub struct Inputs {
    pub rate: BitsPerSec,
    pub rate_from: RateFrom,
    pub frames: Frames,
    /// The peer's reaction, if it says none itself, or `reaction_given`.
    pub reaction: Duration,
    /// True if that was given and counts whatever the peer says.
    pub reaction_given: bool,
    /// This port's reaction, which it tells its peer, with its adjustment.
    pub own_reaction: Adjustment,
    pub invocation: Duration,
    /// Reading of the delay value of round trips.
    pub formula: Formula,
    /// Adjustment of this port.
    pub adjustment: Adjustment,
    pub shims: Option<Shims>,
    pub cell: Option<u32>,
    pub methods: Preference,
    pub statistic: Statistic,
    /// For peer delays: delay of this port's interface outside of the measured path; zero if
    /// timestamps are taken above the MAC.
    pub own_internal: Duration,
    /// For peer delays: delay of the peer's interface and its response time, if given.
    pub peer_internal: Option<Duration>,
    pub measure: InitiatePlan,
    pub ptp: PeerDelayPlan,
    /// Encoding of messages.
    pub dialect: Dialect,
}

impl Inputs {
    /// A measurement by one method of a link with this rate, with the usual settings and no delay of
    /// either end added.
    pub(crate) fn usual(rate: BitsPerSec, rate_from: RateFrom, method: Method) -> Self {
        Self {
            rate,
            rate_from,
            frames: Frames::up_to(DelayInputs::MAX_FRAME),
            reaction: Duration::ZERO,
            reaction_given: true,
            own_reaction: Adjustment::default(),
            invocation: Duration::ZERO,
            formula: Formula::Full,
            adjustment: Adjustment::default(),
            shims: None,
            cell: None,
            methods: Preference::only(method),
            statistic: Statistic::Max,
            own_internal: Duration::ZERO,
            peer_internal: None,
            measure: InitiatePlan::DEFAULT,
            ptp: PeerDelayPlan::DEFAULT,
            dialect: Dialect::default(),
        }
    }

    /// Frames with MACsec protection.
    pub(crate) fn protected(&self) -> Frames {
        Frames { max: Bytes(self.frames.max.0 + MACSEC_OCTETS), ..self.frames }
    }

    /// Plan of a port's link protocols, which answer, and measure if `measures`.
    pub(crate) fn plan(&self, opened: &Opened, measures: bool) -> AgentsPlan {
        // Every port answers both methods; only the first one asks, by the methods that were chosen.
        let by = |method| measures && self.methods.has(method);
        let ptp = PeerDelayPlan {
            interval: self.ptp.interval.filter(|_| by(Method::PeerDelay)),
            ..self.ptp
        };
        let measure = MeasurePlan {
            respond: true,
            initiate: by(Method::RoundTrip).then_some(self.measure),
            dialect: self.dialect,
            compensation: Some(self.own_reaction),
        };
        // Both ends say their reaction and internal delay in DCBX, unless they are given here.
        let given = (self.reaction_given || !self.methods.has(Method::RoundTrip))
            && (self.peer_internal.is_some() || !self.methods.has(Method::PeerDelay));
        // A port that answers always advertises, because its peer may need the values.
        let speaks = !measures || !given;
        AgentsPlan {
            mac: opened.mac,
            rate: self.rate,
            lldp: speaks.then(|| lldp(opened)),
            dcbx: speaks.then(|| self.dcbx(opened)),
            measure: Some(measure),
            peer_delay: Some(ptp),
            auto: measures.then(|| self.auto()),
        }
    }

    /// Advertisement of this port: its delays, and both methods, which it answers.
    fn dcbx(&self, opened: &Opened) -> DcbxPlan {
        // A duration cannot be negative; the compensation below carries the sign.
        let own = Duration::from_nanos(self.own_reaction.nanos().max(0).unsigned_abs().into());
        let form = PfcForm::Proposed { round_trip: true, ptp: true, macsec: false };
        DcbxPlan {
            internal_delay: Some(self.own_internal + own),
            compensation: Some(self.own_reaction),
            // The TLV is here for its form, which says that this port answers both methods. A willing peer of lower
            // address adopts what is in it, so this is the peer's own setting as soon as that is known.
            follows_pfc: true,
            pfc: Some(DcbxPfcPlan {
                willing: true,
                macsec_bound: false,
                capability: 8,
                enable: PrioritySet::default(),
                form,
            }),
            ..DcbxPlan::new(opened.mac)
        }
    }

    /// Assumed delay of a peer that advertises none: one that takes timestamps at the medium.
    pub(crate) fn usual_peer(&self) -> Duration {
        Interface::plain(Phy::of_rate(self.rate)).delay() + self.reaction
    }

    fn auto(&self) -> AutoPlan {
        // The plan only selects methods and statistic: a measurement calculates its own sum and limits no group.
        let link = DelayInputs::standard(Interface::plain(Phy::of_rate(self.rate)));
        AutoPlan {
            link: DelayInputs { higher_layer: self.reaction, max_frame: self.frames.max, ..link },
            software: SoftwareTerms::default(),
            cell_bytes: self.cell.unwrap_or(1),
            methods: self.methods,
            statistic: self.statistic,
            formula: self.formula,
            adjustment: self.adjustment,
            invocation: self.invocation,
            shims: None,
            stated: Cells(0),
            limit: Cells(u32::MAX),
            wait: Duration::from_secs(1),
        }
    }
}

/// LLDP settings that make the peer transmit at once; its advertisement is what counts.
fn lldp(opened: &Opened) -> LldpPlan {
    LldpPlan {
        system_name: "sluice".into(),
        role: Role::Station,
        // The port is closed soon.
        hold: 1,
        ..LldpPlan::new(opened.mac, opened.mac, opened.name.chars().take(63).collect::<String>())
    }
}

/// Frames of a pool: the queues of a device, and a reserve.
const POOL_FRAMES: u32 = 4_095;

/// Free frames that the thread of a port caches.
const POOL_CACHE: u32 = 64;

/// Time for a link to come up.
const LINK_WAIT: StdDuration = StdDuration::from_secs(3);

/// Longest frame that is received, FCS included: frames of link protocols are not longer.
const FRAME_ROOM: u32 = 1_518;

/// Number of the first device that is created for an interface: far above those that users choose.
const INTERFACE_NUMBER: u32 = 1_000;

pub struct Opened {
    /// Name as given.
    pub name: String,
    pub(crate) port: DpdkPort<Started>,
    pub(crate) control: PortControl,
    pub(crate) mac: Mac,
    /// Rate of its line, if it has one.
    pub rate: Option<BitsPerSec>,
    pub(crate) clock: TscClock,
    /// True if it is an end of a pair in memory.
    pub(crate) in_memory: bool,
}

/// Opens ports and waits for their links.
///
/// # Errors
/// A port that cannot be opened, or a link that is down.
pub fn open(eal: &Eal, places: &[Place]) -> Result<Vec<Opened>> {
    let clock = TscClock::new();
    // Both ends of a ring are made at once; the first place says which of them measures.
    if let [Place::Ring { pair, end }, _] = places {
        let options = RingOptions { name: pair.clone(), ..RingOptions::default() };
        let (a, b) = ring_pair(eal, &options)?;
        let ports = if *end == 0 { [a, b] } else { [b, a] };
        let both = (0..).zip(places).zip(ports);
        return both.map(|((n, place), port)| start(eal, n, place, port, clock)).collect();
    }
    let one = |(n, place): (u32, &Place)| {
        let device = match place {
            Place::Interface(name) => interface_device(INTERFACE_NUMBER + n, name, FRAME_ROOM, 1),
            other => other.to_string(),
        };
        let port = DpdkPort::open(eal, &device)?;
        start(eal, n, place, port, clock)
    };
    (0..).zip(places).map(one).collect()
}

fn start(
    eal: &Eal,
    n: u32,
    place: &Place,
    port: DpdkPort<Stopped>,
    clock: TscClock,
) -> Result<Opened> {
    let options = PoolOptions {
        name: format!("measure{n}"),
        frames: POOL_FRAMES,
        // Some devices need more room than the longest frame.
        max_frame: FRAME_ROOM.max(receive_room(port.device())),
        cache: POOL_CACHE,
    };
    let pool = Pool::new(eal, &options)?;
    let is_virtual = port.is_virtual();
    let options = PortOptions {
        max_frame: Some(FRAME_ROOM),
        rx_stamps: (!is_virtual).then_some(clock),
        tx_stamps: (!is_virtual).then_some(clock),
        clock: Some(clock),
        ..PortOptions::default()
    };
    let mut port = port.start(&options, &pool).with_context(|| format!("port {place}"))?;
    let control = port.control();
    // The rate is negotiated with the link, so it is read after the wait.
    let up = comes_up(&control);
    if !is_virtual {
        port.refresh_link_rate();
    }
    ensure!(
        up,
        "the link of {place} is down; plug it in or take its other end up, and if it is an \
         interface of the kernel: ip link set dev NAME up"
    );
    // Locally administered, and different for each port.
    let made_up = Mac([0x02, 0x51, 0x64, 0x74, 0, n as u8]);
    let PortCaps { link_rate, .. } = *port.caps();
    Ok(Opened {
        name: place.to_string(),
        mac: control.mac().unwrap_or(made_up),
        rate: link_rate.filter(|_| !is_virtual),
        control,
        port,
        clock,
        in_memory: matches!(place, Place::Ring { .. }),
    })
}

/// Waits for a port's link; it takes a moment after the start.
fn comes_up(control: &PortControl) -> bool {
    let started = Instant::now();
    // Negotiation takes up to some seconds, in which the port is neither up nor broken.
    while !is_up(control) && started.elapsed() < LINK_WAIT {
        thread::sleep(StdDuration::from_millis(20));
    }
    is_up(control)
}

/// True if a port has a link; the kernel's carrier has precedence for its interfaces.
pub(crate) fn is_up(control: &PortControl) -> bool {
    control.interface_link().unwrap_or_else(|| control.link().up)
}
