//! SONiC's dynamic buffer model: the sum that its switches calculate for each lossless group, and their
//! use of it: validation of a port's total, and the size of the shared pool.
//!
//! The sum is a Lua script in SONiC's database, so its numbers are IEEE 754 doubles and its
//! rounding is `math.ceil`. The same operations in the same order on `f64` give the same bits on
//! every machine; do not rearrange them. `bytes` is `xoff`, the data that may arrive after the
//! pause; `xon` and `size` (the group's private buffer) are figures.
//!
//! [`Formula`] has the differences between releases.

use super::{Estimate, Model, ModelError, frame, length};
use crate::delay::Term;
use ground::named;
use ground::units::{BitsPerSec, Bytes};

/// Minimum frame size in bytes.
const MIN_FRAME: f64 = 64.0;
/// Propagation speed in metres per second.
const SPEED_OF_LIGHT: f64 = 198_000_000.0;
/// Unit of rounding.
const KIB: f64 = 1024.0;
/// Addition for a reduced share of small packets, and its minimum distance from the worst case.
const COMPENSATION: f64 = 2.0 * KIB;
/// Addition of Spectrum-6 for the accounting of its packet buffer.
const SPECTRUM_6: f64 = 18.0 * KIB;

named! {
    /// Vendor and release of the sum.
    #[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
    pub enum Formula {
        /// Mellanox (and the virtual switch) since 202605: with the compensation for a reduced share
        /// of small packets, and Spectrum-6's addition.
        #[default]
        Current = "current",
        /// Mellanox from 202405 to 202511: the share of small packets is by bytes, the occupancy of
        /// cells an integer, a kilobyte of cable 1000 bytes, Spectrum-4 and 5 have a tile.
        From202405 = "202405",
        /// Mellanox to 202311: the share of small packets as given, kilobytes of 1024 bytes.
        To202311 = "202311",
        /// Barefoot: as Mellanox to 202311, with twice the peer's response at 400G, and a private
        /// buffer of `xon` only.
        Barefoot = "barefoot",
    }
}

/// Parameters of a switch chip, from SONiC's `ASIC_TABLE`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Asic {
    /// Bytes per cell. 1 to 65536.
    pub cell: u32,
    /// Pipeline latency, in KiB.
    pub pipeline_kib: f64,
    /// Delay of MAC and PHY, in KiB.
    pub mac_phy_kib: f64,
    /// Response of a peer at rates without a figure in 802.3 31B, in KiB.
    pub peer_kib: f64,
    /// Generation of a Spectrum; 0 for other chips.
    pub spectrum: u8,
}

impl Asic {
    /// Barefoot's (Intel's) Tofino 2.
    pub const TOFINO_2: Self =
        Self { cell: 176, pipeline_kib: 68.0, mac_phy_kib: 0.8, peer_kib: 9.0, spectrum: 0 };
    /// The virtual switch.
    pub const VS: Self =
        Self { cell: 128, pipeline_kib: 18.0, mac_phy_kib: 0.8, peer_kib: 3.8, spectrum: 0 };

    /// Returns a Mellanox Spectrum, generation 1 to 6.
    #[must_use]
    pub const fn spectrum(generation: u8) -> Option<Self> {
        let (cell, pipeline_kib) = match generation {
            1 => (96, 19.0),
            2 | 3 => (144, 19.0),
            4 | 5 => (192, 19.0),
            6 => (256, 42.0),
            _ => return None,
        };
        Some(Self { cell, pipeline_kib, mac_phy_kib: 0.8, peer_kib: 3.8, spectrum: generation })
    }
}

/// Inputs of the sum.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Inputs {
    /// Port rate.
    pub rate: BitsPerSec,
    /// Cable length in millimetres. At most 1000 km.
    pub length_mm: u64,
    /// MTU of the port. 64 to 65535 bytes.
    pub port_mtu: Bytes,
    /// Number of lanes of the port; 8 is a special case.
    pub lanes: u8,
    /// Delay of a gearbox, in nanoseconds (SN3800: 400). 0 to 1e6.
    pub gearbox_ns: f64,
    /// MTU of lossless packets. 64 to 65535 bytes.
    pub lossless_mtu: Bytes,
    /// Percentage of small packets. 0 to 100.
    pub small_packets: f64,
    /// True if there is a shared headroom pool.
    pub shared_pool: bool,
    /// Switch chip.
    pub asic: Asic,
    /// Formula to apply.
    pub formula: Formula,
    /// Groups of the port and ports of the switch, to calculate their totals.
    pub switch: Option<Switch>,
}

impl Inputs {
    /// Returns a port with SONiC's defaults.
    #[must_use]
    pub const fn new(rate: BitsPerSec, length_mm: u64, asic: Asic) -> Self {
        Self {
            rate,
            length_mm,
            port_mtu: Bytes(9_100),
            lanes: 4,
            gearbox_ns: 0.0,
            lossless_mtu: Bytes(1_500),
            small_packets: 100.0,
            shared_pool: false,
            asic,
            formula: Formula::Current,
            switch: None,
        }
    }

    fn check(&self) -> Result<(), ModelError> {
        let within = |field, range, fits| {
            if fits { Ok(()) } else { Err(ModelError::Range { field, range }) }
        };
        let kib = |n: f64| (0.0..=1e6).contains(&n);
        let a = &self.asic;
        frame("max-frame", self.port_mtu)?;
        frame("lossless-mtu", self.lossless_mtu)?;
        length(self.length_mm)?;
        within("cell", "1 to 65536 octets", (1..=65_536).contains(&a.cell))?;
        within("pipeline-latency", "0 to 1 GiB", kib(a.pipeline_kib))?;
        within("mac-phy-delay", "0 to 1 GiB", kib(a.mac_phy_kib))?;
        within("peer-response", "0 to 1 GiB", kib(a.peer_kib))?;
        within("gearbox-delay", "0 to 1 ms", (0.0..=1e6).contains(&self.gearbox_ns))?;
        within("small-packets", "0 to 100 %", (0.0..=100.0).contains(&self.small_packets))?;
        let groups = |switch: Switch| switch.groups <= 8 && switch.lossy_groups <= 8;
        within("groups", "0 to 8 of each kind", self.switch.is_none_or(groups))?;
        within("lanes", "1 to 16", (1..=16).contains(&self.lanes))
    }
}

/// Returns the quanta of a peer's response by rate, from 802.3 31B.3.7 as quoted by SONiC.
const fn peer_quanta(rate: BitsPerSec, formula: Formula) -> Option<u16> {
    Some(match rate.get() {
        800_000_000_000 if !matches!(formula, Formula::Barefoot) => 905,
        400_000_000_000 => 905,
        200_000_000_000 => 453,
        100_000_000_000 => 394,
        50_000_000_000 => 147,
        40_000_000_000 => 118,
        25_000_000_000 => 80,
        10_000_000_000 => 67,
        1_000_000_000 => 2,
        100_000_000 => 1,
        _ => return None,
    })
}

/// Rounds up to whole KiB, in bytes.
fn ceil_kib(octets: f64) -> f64 {
    (octets / KIB).ceil() * KIB
}

/// Bytes in flight, by part in the script's order.
fn on_the_way(i: &Inputs) -> [(&'static str, f64, &'static str); 6] {
    let newer = matches!(i.formula, Formula::Current | Formula::From202405);
    let speed = i.rate.get() as f64 / 1e6;
    let metres = i.length_mm as f64 / 1000.0;
    let mtu = i.port_mtu.0 as f64;
    // The newer scripts of Mellanox divide by 1000; the older ones, and Barefoot's, by 1024.
    let kilobyte = if newer { 1000.0 } else { 1024.0 };
    let cable = 2.0 * metres * speed * 1_000_000_000.0 / SPEED_OF_LIGHT / (8.0 * kilobyte);
    let gearbox = speed * i.gearbox_ns / (8.0 * 1024.0);
    let mac_phy = i.asic.mac_phy_kib * KIB;
    let (peer, peer_source) = match peer_quanta(i.rate, i.formula) {
        Some(quanta) => (f64::from(quanta) * 512.0 / 8.0, "802.3 31B.3.7, by the rate"),
        None => (i.asic.peer_kib * KIB, "chip"),
    };
    // Barefoot's script doubles the response of the peer at 400G.
    let twice = i.formula == Formula::Barefoot && i.rate == BitsPerSec::gbps(400);
    let peer = if twice { 2.0 * peer } else { peer };
    // 120 ns at the rate of the port, for Spectrum-4 and 5 (kb_on_tile).
    let tile =
        if newer && matches!(i.asic.spectrum, 4 | 5) { speed / 1000.0 * 120.0 / 8.0 } else { 0.0 };
    [
        ("port MTU", mtu, "port"),
        ("cable both ways", cable, "198,000 km/s"),
        ("gearbox, both ways", 2.0 * gearbox, "gearbox"),
        ("MAC and PHY", mac_phy, "chip"),
        ("response of the peer", peer, peer_source),
        ("tile", tile, "Spectrum-4 and 5"),
    ]
}

/// Returns the bytes of cells per byte: on average, and if all packets were small.
fn occupancy(i: &Inputs) -> (f64, f64) {
    let cell = f64::from(i.asic.cell);
    // A smallest packet alone in a cell, or two cells for a packet that is a byte longer than one.
    let worst = if cell > 2.0 * MIN_FRAME { cell / MIN_FRAME } else { (2.0 * cell) / (1.0 + cell) };
    let small = i.small_packets;
    let average = |share: f64, worst: f64| (100.0 - share + share * worst) / 100.0;
    match i.formula {
        Formula::Current | Formula::From202405 => {
            let worst = worst.ceil();
            let lossless = i.lossless_mtu.0 as f64;
            // The share counts packets, and is converted to a share of bytes.
            let by_octets =
                100.0 * MIN_FRAME / ((small * MIN_FRAME + (100.0 - small) * lossless) / 100.0);
            (average(by_octets, worst), worst)
        }
        Formula::To202311 | Formula::Barefoot => (average(small, worst), worst),
    }
}

/// Calculates the headroom of a lossless group: `xoff` as the estimate, `xon`, `xoff` and `size` as
/// figures.
///
/// # Errors
/// If an input is out of its range.
pub fn estimate(inputs: &Inputs) -> Result<Estimate, ModelError> {
    inputs.check()?;
    let i = inputs;
    let current = i.formula == Formula::Current;
    let on_the_way = on_the_way(i);
    let in_flight: f64 = on_the_way.iter().map(|(_, octets, _)| octets).sum();
    let (occupancy, worst) = occupancy(i);
    let lossless = i.lossless_mtu.0 as f64;
    let exact = lossless + in_flight * occupancy;
    let mut xoff = ceil_kib(exact);
    let rounded = xoff;
    let spectrum_6 = if current && i.asic.spectrum == 6 { SPECTRUM_6 } else { 0.0 };
    xoff += spectrum_6;
    let mut compensation = 0.0;
    if current && !i.shared_pool && i.small_packets != 100.0 {
        let full = ceil_kib(lossless + in_flight * worst);
        // Only where the reduced share saves more than 2 KiB of the full worst case.
        if xoff + COMPENSATION < full {
            compensation = COMPENSATION;
        }
    }
    xoff += compensation;
    let (xon, size) = thresholds(i, xoff);

    let mut terms = vec![];
    let mut add = |name, octets: f64, source| {
        // Truncated to whole bits; the rounding adds the remainder.
        let bits = (octets * 8.0) as u64;
        if bits > 0 {
            terms.push(Term::new(name, bits, source));
        }
        bits
    };
    let mut sum = add("lossless MTU", lossless, "traffic pattern");
    for (name, octets, source) in on_the_way {
        sum += add(name, octets, source);
    }
    sum += add("cells that short packets waste", in_flight * (occupancy - 1.0), "cell, share");
    let rounding = (rounded * 8.0) as u64 - sum;
    add("rounding up to 1 KiB", rounding as f64 / 8.0, "math.ceil");
    add("accounting of the packet buffer", spectrum_6, "Spectrum-6");
    add("compensation for a reduced share", compensation, "2 KiB, small packets below 100 %");
    let figure = |name, octets: f64| (name, Bytes(octets as u64));
    let mut figures = vec![figure("xon", xon), figure("xoff", xoff), figure("size", size)];
    if let Some(switch) = &i.switch {
        let shared = (xon + xoff - size).max(0.0) as u64;
        figures.push(("port_headroom", port_headroom(i, switch, size as u64)?));
        figures.extend(pool(switch, shared).map(|pool| ("shared_pool", pool)));
    }
    Ok(Estimate {
        model: Model::Sonic,
        formula: "ceil to 1 KiB of lossless MTU + (port MTU + 2 x cable + 2 x gearbox + MAC and \
                  PHY + peer + tile) x occupancy of cells",
        terms,
        figures,
    })
}

/// Returns XON and the private buffer.
fn thresholds(i: &Inputs, xoff: f64) -> (f64, f64) {
    let barefoot = i.formula == Formula::Barefoot;
    let eight = i.lanes == 8 && !barefoot;
    let pipeline = i.asic.pipeline_kib * KIB;
    let pipeline = match i.formula {
        _ if !eight => pipeline,
        Formula::To202311 => pipeline * 2.0 - 1024.0,
        _ => pipeline * 2.0,
    };
    let xon = ceil_kib(pipeline);
    // Ports of eight lanes have a port MTU more, and twice the latency of the pipeline.
    let overhead = if eight { i.port_mtu.0 as f64 } else { 0.0 };
    let size = if i.shared_pool || barefoot { xon } else { xoff + xon + overhead };
    (xon, ceil_kib(size))
}

/// Groups of a port and ports of a switch, all with the same profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Switch {
    /// Lossless groups per port. 0 to 8.
    pub groups: u8,
    /// Lossy groups per port with a SONiC profile; each adds a pipeline latency. 0 to 8.
    pub lossy_groups: u8,
    /// Maximum headroom of a port (`max_headroom_size`), if it is to be checked.
    pub max_headroom: Option<Bytes>,
    /// Ports with lossless groups, for the shared pool.
    pub ports: u16,
    /// Over-subscription ratio of the shared pool; 0 without one.
    pub over_subscribe_ratio: u16,
}

impl Switch {
    /// Two lossless groups (3 and 4), SONiC's default, on one port.
    pub const DEFAULT: Self =
        Self { groups: 2, lossy_groups: 0, max_headroom: None, ports: 1, over_subscribe_ratio: 0 };
}

/// Margin for deviations of the model, in bytes.
const DEVIATION: u64 = 4_096;
/// Two longest frames of 10 KiB, for the egress mirror.
const MIRROR: u64 = 20 * 1_024;
/// Private headroom of a lossless port with a shared pool, in bytes.
const PRIVATE: u64 = 10 * 1_024;
/// Size of the shared pool if the sum is zero, in bytes.
const POOL_DEFAULT: u64 = 655_360;

/// Returns the private headroom of a port, whose groups have `size` bytes each.
///
/// # Errors
/// If it exceeds the port's maximum.
fn port_headroom(i: &Inputs, switch: &Switch, size: u64) -> Result<Bytes, ModelError> {
    let eight = i.lanes == 8;
    let pipeline = if eight { i.asic.pipeline_kib * 2.0 - 1.0 } else { i.asic.pipeline_kib };
    let pipeline = (pipeline * KIB).max(0.0).ceil() as u64;
    let mirror = if eight { 2 * MIRROR } else { MIRROR };
    let groups = size * u64::from(switch.groups) + pipeline * u64::from(switch.lossy_groups);
    // The script compares this sum with max_headroom_size, which it has to stay below.
    let needed = Bytes(DEVIATION + pipeline + mirror + groups);
    match switch.max_headroom {
        Some(max) if needed >= max => Err(ModelError::Port { max, needed }),
        _ => Ok(needed),
    }
}

/// Returns the size of the shared headroom pool, which every group uses with `shared` bytes,
/// limited to `u64::MAX`.
fn pool(switch: &Switch, shared: u64) -> Option<Bytes> {
    if switch.over_subscribe_ratio == 0 {
        return None;
    }
    let ports = u128::from(switch.ports);
    let sum = u128::from(shared) * u128::from(switch.groups) * ports;
    // Each lossless port has some of it for itself; the ratio divides the rest.
    let pool = sum.saturating_sub(u128::from(PRIVATE) * ports);
    let pool = u64::try_from(pool.div_ceil(switch.over_subscribe_ratio.into())).unwrap_or(u64::MAX);
    Some(Bytes(if pool == 0 { POOL_DEFAULT } else { pool }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::sonic::{Asic, estimate};
    use ground::units::BitsPerSec;
    use proptest::prelude::*;

    fn bytes(gbps: u64, metres: u64, formula: Formula, asic: Asic) -> u64 {
        let port = Inputs::new(BitsPerSec::gbps(gbps), metres * 1_000, asic);
        estimate(&Inputs { formula, ..port }).unwrap().bytes().0
    }

    /// SONiC's design document: Spectrum-1, all packets small, 1500-byte lossless packets.
    #[test]
    fn the_published_examples_come_out() {
        let spectrum = Asic::spectrum(1).unwrap();
        for (gbps, at) in [
            (10, [30_720, 31_744, 37_888]),
            (25, [32_768, 34_816, 51_200]),
            (40, [37_888, 40_960, 67_584]),
            (100, [73_728, 81_920, 148_480]),
        ] {
            for (metres, expected) in [5, 40, 300].into_iter().zip(at) {
                let got = bytes(gbps, metres, Formula::Current, spectrum);
                assert_eq!(got, expected, "{gbps}G {metres} m");
            }
        }
    }

    #[test]
    fn barefoot_doubles_the_peer_at_400g_and_keeps_xon_alone() {
        let port = Inputs::new(BitsPerSec::gbps(400), 0, Asic::TOFINO_2);
        let formula = Formula::Barefoot;
        let of = |formula| estimate(&Inputs { formula, ..port }).unwrap();
        // 905 quanta are 57,920 bytes, which 176-byte cells make 2.75 times as much.
        let more = of(formula).bytes().0 - of(Formula::To202311).bytes().0;
        assert!(more.abs_diff(57_920 * 11 / 4) <= 1_024, "{more}");
        let xon = Bytes(68 * 1_024);
        assert_eq!(of(formula).figures[0], ("xon", xon));
        assert_eq!(of(formula).figures[2], ("size", xon));
    }

    proptest! {
        /// The terms add up to `xoff`, a shared pool leaves only `xon` private, and no valid input
        /// panics.
        #[test]
        fn terms_add_up(
            mbps in prop::sample::select(vec![1_000_u64, 10_000, 50_000, 100_000, 400_000, 123_456]),
            mm in 0_u64..=2_000_000,
            generation in 1_u8..=6,
            small in 0_u8..=100,
            (mtu, lossless) in (64_u64..10_000, 64_u64..10_000),
            (shared_pool, lanes) in (any::<bool>(), 1_u8..=8),
            which in 0_usize..4,
        ) {
            let asic = Asic::spectrum(generation).unwrap();
            let formulas =
                [Formula::Current, Formula::From202405, Formula::To202311, Formula::Barefoot];
            let port = Inputs::new(BitsPerSec::new(mbps * 1_000_000).unwrap(), mm, asic);
            let e = estimate(&Inputs {
                port_mtu: Bytes(mtu),
                lossless_mtu: Bytes(lossless),
                lanes,
                shared_pool,
                small_packets: f64::from(small),
                formula: formulas[which],
                ..port
            })
            .unwrap();
            let figure = |n: usize| e.figures[n].1.0;
            prop_assert_eq!(e.bits(), figure(1) * 8, "{:?}", e);
            prop_assert!(figure(0) % 1_024 == 0 && figure(2) % 1_024 == 0);
            prop_assert!(!shared_pool || figure(2) == figure(0));
        }
    }

    fn port(switch: Switch) -> Inputs {
        let asic = Asic::spectrum(1).unwrap();
        let port = Inputs::new(BitsPerSec::gbps(100), 40_000, asic);
        Inputs { shared_pool: switch.over_subscribe_ratio > 0, switch: Some(switch), ..port }
    }

    fn figure(i: &Inputs, name: &str) -> u64 {
        let figures = estimate(i).unwrap().figures;
        figures.iter().find(|(n, _)| *n == name).unwrap().1.0
    }

    #[test]
    fn a_port_has_to_have_room_for_its_groups() {
        // Size 81,920 + 19,456 twice, pipeline 19,456, mirror 20,480, deviation 4,096.
        let needed = 2 * (81_920 + 19_456) + 19_456 + 20_480 + 4_096;
        assert_eq!(figure(&port(Switch::DEFAULT), "port_headroom"), needed);
        let with =
            |max| estimate(&port(Switch { max_headroom: Some(Bytes(max)), ..Switch::DEFAULT }));
        assert!(with(needed + 1).is_ok());
        assert_eq!(with(needed).unwrap_err().field(), "max-headroom");
    }

    #[test]
    fn a_shared_pool_is_what_groups_lean_on_by_the_ratio() {
        let shared = Switch { ports: 32, over_subscribe_ratio: 3, ..Switch::DEFAULT };
        let i = port(shared);
        let sum: u64 = 32 * (2 * 81_920 - 10_240);
        assert_eq!(figure(&i, "shared_pool"), sum.div_ceil(3));
        assert_eq!(figure(&i, "size"), 19_456);
        let idle = port(Switch { groups: 0, ..shared });
        assert_eq!(figure(&idle, "shared_pool"), 655_360);
    }
}
