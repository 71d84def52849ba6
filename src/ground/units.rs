//! Units and identifiers of all layers.
//!
//! A value of one of these types is always in range: the constructors check, so that no other
//! module has to. Only `Display` allocates.

use core::fmt;
use core::ops::{Add, AddAssign};
use core::str::FromStr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::time::Duration;

/// Number of 802.1Q priorities, and so of queues per port, PFC bits and priority groups.
pub const PRIORITIES: usize = 8;

/// Number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Bytes(pub u64);

/// Number of buffer cells; the buffer plan has the bytes per cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Cells(pub u32);

/// Pause time: 1 quantum is 512 bit times of the link it is received on (IEEE 802.3 31B.2, 31D.2).
/// Range 0 to 65535; 0 means resume.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Quanta(pub u16);

/// Link rate in bit/s, never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitsPerSec(u64);

impl Add for Bytes {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self(self.0 + o.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, o: Self) {
        self.0 += o.0;
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl BitsPerSec {
    /// Creates a rate of `n` bit/s; `None` for 0.
    #[must_use]
    pub const fn new(n: u64) -> Option<Self> {
        if n == 0 { None } else { Some(Self(n)) }
    }

    /// Creates a rate of `n` Gbit/s. Panics for 0.
    #[must_use]
    pub const fn gbps(n: u64) -> Self {
        assert!(n > 0);
        Self(n * 1_000_000_000)
    }

    /// Returns the rate in bit/s.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Returns the time of `bits` at this rate, rounded up to the picosecond, so that no sequence
    /// of frames exceeds the line rate.
    ///
    /// # Panics
    /// If it is more than a [`Duration`] has room for (213 days).
    #[must_use]
    pub const fn time_for_bits(self, bits: u64) -> Duration {
        // 64 bits would hold 18 million bits times 10^12.
        let ps = (bits as u128 * 1_000_000_000_000).div_ceil(self.0 as u128);
        assert!(ps <= u64::MAX as u128, "a span passed 213 days");
        Duration::from_picos(ps as u64)
    }

    /// Returns the time of `bytes` at this rate, rounded up to the picosecond.
    ///
    /// # Panics
    /// As [`BitsPerSec::time_for_bits`].
    #[must_use]
    pub const fn time_for(self, bytes: Bytes) -> Duration {
        assert!(bytes.0 <= u64::MAX / 8, "a span passed 213 days");
        self.time_for_bits(bytes.0 * 8)
    }

    /// Returns the whole bytes in `d`, rounded down.
    #[must_use]
    pub const fn bytes_in(self, d: Duration) -> Bytes {
        Bytes((self.0 as u128 * d.as_picos() as u128 / 8_000_000_000_000) as u64)
    }
}

impl fmt::Display for BitsPerSec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (scale, unit) in [(1_000_000_000, "Gb/s"), (1_000_000, "Mb/s"), (1_000, "kb/s")] {
            if self.0 >= scale {
                return write!(f, "{} {unit}", self.0 as f64 / scale as f64);
            }
        }
        write!(f, "{} b/s", self.0)
    }
}

impl Quanta {
    /// Maximum pause time of one frame.
    pub const MAX: Self = Self(u16::MAX);

    /// Returns the duration of this pause on a link of `rate`.
    #[must_use]
    pub const fn at(self, rate: BitsPerSec) -> Duration {
        // A quantum is 512 bit times (802.3 31B.2).
        rate.time_for_bits(self.0 as u64 * 512)
    }
}

/// Declares an integer newtype with a checked constructor.
macro_rules! bounded {
    ($(#[$doc:meta])* $name:ident($int:ty), $min:expr, $max:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize)]
        pub struct $name($int);

        impl $name {
            /// Minimum.
            pub const MIN: Self = Self($min);
            /// Maximum.
            pub const MAX: Self = Self($max);

            /// Creates a value; `None` if `n` is out of range.
            #[must_use]
            pub const fn new(n: $int) -> Option<Self> {
                // The bounds of some types equal those of the integer.
                #[allow(unused_comparisons, clippy::absurd_extreme_comparisons)]
                if n >= $min && n <= $max { Some(Self(n)) } else { None }
            }

            /// Returns the number.
            #[must_use]
            pub const fn get(self) -> $int {
                self.0
            }

            /// Returns the number as an index.
            #[must_use]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

bounded! {
    /// IEEE 802.1Q priority, the unit of PFC. Range 0 to 7.
    Priority(u8), 0, 7
}
bounded! {
    /// Traffic class: one egress queue of a port. Range 0 to 7.
    TrafficClass(u8), 0, 7
}
bounded! {
    /// Priority group: one ingress accounting unit of a port (SAI's priority group). Range 0 to 7.
    PriorityGroup(u8), 0, 7
}
bounded! {
    /// Priority code point of a VLAN tag (802.1Q 9.6). Range 0 to 7.
    Pcp(u8), 0, 7
}
bounded! {
    /// Differentiated services code point (RFC 2474). Range 0 to 63.
    Dscp(u8), 0, 63
}
bounded! {
    /// VLAN identifier of a VLAN (802.1Q 9.6: 0 is priority-tagged, 4095 reserved). Range 1 to
    /// 4094.
    Vid(u16), 1, 4094
}
bounded! {
    /// Port of one switch or host, counted from 0 in the order of the configuration. Range 0 to
    /// 1023.
    PortId(u16), 0, 1023
}

impl Priority {
    /// All priorities, lowest first.
    pub const ALL: [Self; PRIORITIES] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];
}

/// Returns the number of parts of 65536 that is nearest to a share in millionths.
#[must_use]
pub const fn parts_of(millionths: u32) -> u32 {
    ((millionths as u64 * 65_536 + 500_000) / 1_000_000) as u32
}

/// Returns the share in millionths with the fewest digits that [`parts_of`] reads as `parts`.
fn millionths_of_parts(parts: u32) -> u64 {
    let millionths = (u64::from(parts) * 1_000_000 + 32_768) / 65_536;
    // From 1 % down: the coarsest step that reads back as the same parts has the fewest digits.
    let fits = |step: &u64| {
        let rounded = (millionths + step / 2) / step * step;
        (parts_of(rounded as u32) == parts).then_some(rounded)
    };
    [10_000, 1_000, 100, 10].iter().find_map(fits).unwrap_or(millionths)
}

/// Returns parts of 65536 as the share with the fewest digits that [`parts_of`] reads as the same.
#[must_use]
pub fn share_of_parts(parts: u32) -> f64 {
    millionths_of_parts(parts) as f64 / 1e6
}

/// Formats parts of 65536 as the shortest percentage that [`parts_of`] reads as the same.
#[must_use]
pub fn percent_of_parts(parts: u32) -> String {
    let shortest = millionths_of_parts(parts);
    // A percent is 10,000 millionths.
    let text = format!("{}.{:04}", shortest / 10_000, shortest % 10_000);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

impl Dscp {
    /// Returns the class selector of a priority (RFC 2474 4.2.2.1): networks that classify by DSCP
    /// and by tags treat a message with it alike.
    #[must_use]
    pub const fn selector(priority: Priority) -> Self {
        Self(priority.0 << 3)
    }
}

impl TrafficClass {
    /// All traffic classes, lowest first.
    pub const ALL: [Self; PRIORITIES] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];
}

impl PriorityGroup {
    /// All priority groups, lowest first.
    pub const ALL: [Self; PRIORITIES] =
        [Self(0), Self(1), Self(2), Self(3), Self(4), Self(5), Self(6), Self(7)];
}

/// Set of priorities, bit n for priority n: PFC's priority enable vector.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct PrioritySet(pub u8);

impl PrioritySet {
    /// No priority.
    pub const EMPTY: Self = Self(0);
    /// Every priority.
    pub const ALL: Self = Self(0xff);

    /// Returns the set of one priority.
    #[must_use]
    pub const fn of(p: Priority) -> Self {
        Self(1 << p.get())
    }

    /// Returns true if `p` is in the set.
    #[must_use]
    pub const fn contains(self, p: Priority) -> bool {
        self.0 & (1 << p.get()) != 0
    }

    /// Adds `p`.
    pub const fn insert(&mut self, p: Priority) {
        self.0 |= 1 << p.get();
    }

    /// Removes `p`.
    pub const fn remove(&mut self, p: Priority) {
        self.0 &= !(1 << p.get());
    }

    /// Returns true if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the priorities in the set, lowest first.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Priority> {
        let mut left = self.0;
        core::iter::from_fn(move || {
            // An empty set has 8 trailing zeros, which is past the last priority.
            let first = Priority::ALL.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(*first)
        })
    }
}

/// Contents of a PFC frame (802.3 31D.2): the enabled priorities, and their pause times. A time of
/// 0 resumes. Times of priorities that are not enabled are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseVector {
    /// Priority enable vector.
    pub enabled: PrioritySet,
    /// Time vector, by priority.
    pub time: [Quanta; PRIORITIES],
}

impl PauseVector {
    /// Returns the enabled priorities that are to pause.
    #[must_use]
    pub fn paused(&self) -> PrioritySet {
        self.enabled.iter().filter(|p| self.time[p.index()] > Quanta(0)).collect()
    }
}

impl FromIterator<Priority> for PrioritySet {
    fn from_iter<I: IntoIterator<Item = Priority>>(iter: I) -> Self {
        let mut set = Self::EMPTY;
        for p in iter {
            set.insert(p);
        }
        set
    }
}

/// A list of numbers.
impl Serialize for PrioritySet {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for PrioritySet {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let numbers = Vec::<u8>::deserialize(from)?.into_iter();
        let priorities: Option<Self> = numbers.map(Priority::new).collect();
        priorities.ok_or_else(|| D::Error::custom("a priority is a number from 0 to 7"))
    }
}

impl fmt::Debug for PrioritySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Priority::get)).finish()
    }
}

/// EUI-48 MAC address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// ff-ff-ff-ff-ff-ff.
    pub const BROADCAST: Self = Self([0xff; 6]);

    /// Returns true for a group address (802 8.2.2: the first bit on the wire).
    #[must_use]
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Returns the address as a number below 2^48, first octet in the high bits.
    #[must_use]
    pub const fn to_u64(self) -> u64 {
        let [a, b, c, d, e, f] = self.0;
        u64::from_be_bytes([0, 0, a, b, c, d, e, f])
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// As text.
impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Mac {
    type Err = &'static str;

    /// Parses `02:00:00:00:00:01` or the same with dashes.
    fn from_str(s: &str) -> Result<Self, Self::Err> {
        const WHY: &str = "a MAC address is six hexadecimal octets, such as 02:00:00:00:00:01";
        let mut out = [0; 6];
        let mut parts = s.split([':', '-']);
        for octet in &mut out {
            let part = parts.next().ok_or(WHY)?;
            // `from_str_radix` takes leading zeros of any number, and a sign.
            if part.len() > 2 || !part.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(WHY);
            }
            *octet = u8::from_str_radix(part, 16).map_err(|_| WHY)?;
        }
        if parts.next().is_some() { Err(WHY) } else { Ok(Self(out)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_shown_as_it_is_written() {
        for (millionths, text) in [
            (0, "0%"),
            (10_000, "1%"),
            (50_000, "5%"),
            (200_000, "20%"),
            (125_000, "12.5%"),
            (999_900, "99.99%"),
            (1_000_000, "100%"),
        ] {
            assert_eq!(percent_of_parts(parts_of(millionths)), text);
            assert_eq!(share_of_parts(parts_of(millionths)), f64::from(millionths) / 1e6);
        }
        for parts in 0..=65_536 {
            let text = percent_of_parts(parts);
            let percent: f64 = text.trim_end_matches('%').parse().unwrap();
            assert_eq!(parts_of((percent * 10_000.0).round() as u32), parts, "{text}");
        }
    }

    #[test]
    fn a_quantum_is_512_bit_times_of_the_link() {
        // Keysight's table, from 802.3 31B.2: 5.12 ns at 100G, 838.848 us for 65535 at 40G.
        assert_eq!(Quanta(1).at(BitsPerSec::gbps(100)).as_picos(), 5_120);
        assert_eq!(Quanta::MAX.at(BitsPerSec::gbps(40)).as_picos(), 838_848_000);
    }

    #[test]
    fn serialisation_keeps_the_fraction_of_a_nanosecond() {
        assert_eq!(BitsPerSec::gbps(100).time_for(Bytes(1048)).as_picos(), 83_840);
        assert_eq!(BitsPerSec::gbps(100).bytes_in(Duration::from_nanos(100)), Bytes(1250));
    }

    /// A time that does not fit must not become a short one.
    #[test]
    fn times_that_do_not_fit_panic_and_do_not_wrap() {
        let (slow, ps) = (BitsPerSec(1), 1_000_000_000_000);
        let most = u64::MAX / ps;
        assert_eq!(slow.time_for_bits(most), Duration::from_picos(most * ps));
        for bits in [most + 1, 1 << 40, u64::MAX] {
            assert!(std::panic::catch_unwind(|| slow.time_for_bits(bits)).is_err(), "{bits}");
        }
        let fast = BitsPerSec::gbps(100);
        assert!(std::panic::catch_unwind(|| fast.time_for(Bytes(1 << 61))).is_err());
    }

    #[test]
    fn out_of_range_values_are_refused() {
        assert!(Priority::new(8).is_none() && Vid::new(0).is_none() && Vid::new(4095).is_none());
        assert!(Dscp::new(64).is_none() && BitsPerSec::new(0).is_none());
        assert_eq!(Vid::new(4094).map(Vid::get), Some(4094));
    }

    #[test]
    fn mac_addresses_read_and_print() {
        let m: Mac = "01-80-c2-00-00-01".parse().unwrap();
        assert_eq!(m.to_string(), "01:80:c2:00:00:01");
        assert!(m.is_multicast());
        assert_eq!(m.to_u64(), 0x0180_c200_0001);
        for bad in [
            "",
            "1:2:3:4:5",
            "1:2:3:4:5:6:7",
            "zz:0:0:0:0:0",
            "001:0:0:0:0:0",
            "+1:0:0:0:0:0",
            "1::2:3:4:5",
        ] {
            assert!(bad.parse::<Mac>().is_err(), "{bad}");
        }
    }

    #[test]
    fn sets_hold_what_was_put_in() {
        let set: PrioritySet = [Priority::MIN, Priority::MAX].into_iter().collect();
        assert_eq!(set.0, 0x81);
        assert_eq!(set.iter().map(Priority::get).collect::<Vec<_>>(), [0, 7]);
    }
}
