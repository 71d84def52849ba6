//! Captures are written here byte by byte, so that the reader is not tested by its own kin.

use proptest::prelude::*;

use super::*;
use crate::packets::{self, Notes, Pcap, Pcapng};
use crate::testfolder::Folder;

const ORDERS: [Order; 2] = [Order::Little, Order::Big];

fn reversed<const N: usize>(order: Order, mut octets: [u8; N]) -> [u8; N] {
    if order == Order::Little {
        octets.reverse();
    }
    octets
}

impl Order {
    fn half(self, n: u16) -> [u8; 2] {
        reversed(self, n.to_be_bytes())
    }

    fn words(self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|n| reversed(self, n.to_be_bytes())).collect()
    }

    fn option(self, code: u16, value: &[u8]) -> Vec<u8> {
        let mut octets = [self.half(code), self.half(value.len() as u16)].concat();
        octets.extend(value);
        octets.resize(octets.len().next_multiple_of(4), 0);
        octets
    }

    /// A block of pcapng. Its options need no end mark.
    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let len = 12 + body.len() as u32;
        [self.words(&[kind, len]), body.to_vec(), self.words(&[len])].concat()
    }

    fn section(self) -> Vec<u8> {
        let version = [self.half(1), self.half(0)].concat();
        let body = [self.words(&[0x1a2b_3c4d]), version, self.words(&[u32::MAX; 2])].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    fn interface(self, link: u16, snap: u32, options: &[u8]) -> Vec<u8> {
        let body = [&self.half(link)[..], &[0; 2], &self.words(&[snap]), options].concat();
        self.block(1, &body)
    }

    fn enhanced(self, interface: u32, time: u64, packet: (&[u8], u32), options: &[u8]) -> Vec<u8> {
        let (octets, len) = packet;
        let time = [(time >> 32) as u32, time as u32];
        let mut body = self.words(&[interface, time[0], time[1], octets.len() as u32, len]);
        body.extend(octets);
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(options);
        self.block(6, &body)
    }

    fn pcap(
        self,
        magic: u32,
        snap: u32,
        network: u32,
        packets: &[(u32, u32, &[u8], u32)],
    ) -> Vec<u8> {
        let mut file = self.words(&[magic]);
        file.extend([self.half(2), self.half(4)].concat());
        file.extend(self.words(&[0, 0, snap, network]));
        for (seconds, fraction, octets, len) in packets {
            file.extend(self.words(&[*seconds, *fraction, octets.len() as u32, *len]));
            file.extend(*octets);
        }
        file
    }
}

fn read(file: &[u8]) -> Result<Vec<Captured>, CaptureError> {
    Packets::new(io::Cursor::new(file.to_vec()))?.collect()
}

/// Nanoseconds from the first packet to each, first captured byte, captured and original lengths.
fn seen(file: &[u8]) -> Vec<Shown> {
    let packets = read(file).unwrap();
    let time = |packet: &Captured| packet.at.unwrap_or(Instant::ZERO);
    let first = time(&packets[0]);
    let since = |packet: &Captured| time(packet).total_since(first).as_nanos();
    packets.iter().map(|p| (since(p), p.octets[0], p.octets.len(), p.len)).collect()
}

/// A packet as [`seen`] shows it.
type Shown = (u64, u8, usize, u32);

/// A file of each kind with its packets.
fn golden() -> Vec<(Vec<u8>, Vec<Shown>)> {
    let (one, two) = ([1; 64], [2; 100]);
    let mut files = Vec::new();
    for order in ORDERS {
        let micro = [(1, 999_999, &one[..], 64), (2, 1, &two[..], 100)];
        let plain = vec![(0, 1, 64, 64), (2_000, 2, 100, 100)];
        files.push((order.pcap(0xa1b2_c3d4, 65_535, 1, &micro), plain.clone()));
        let nano = [(1, 999_999_999, &one[..], 64), (2, 0, &two[..], 100)];
        let nano = order.pcap(0xa1b2_3c4d, 65_535, 1, &nano);
        files.push((nano, vec![(0, 1, 64, 64), (1, 2, 100, 100)]));
        // Packets above the snap length of the file, whole and cut.
        let snap = [(0, 0, &one[..], 1_442), (0, 5, &two[..], 100)];
        let snap = order.pcap(0xa1b2_c3d4, 60, 1, &snap);
        files.push((snap, vec![(0, 1, 64, 1_442), (5_000, 2, 100, 100)]));
        // FCS bits of the link type: two 16-bit words.
        let fcs = [(0, 0, &one[..], 64), (0, 0, &two[..], 102), (0, 0, &two[..], 1_000)];
        let fcs = order.pcap(0xa1b2_c3d4, 65_535, 0x2400_0001, &fcs);
        files.push((fcs, vec![(0, 1, 60, 60), (0, 2, 98, 98), (0, 2, 100, 996)]));
        files.push((pcapng_fcs(order), vec![(0, 1, 60, 60), (0, 1, 64, 64), (0, 1, 60, 60)]));
        files.push((
            pcapng_times(order),
            vec![
                (0, 1, 64, 64),
                (500_000_000, 2, 100, 100),
                (1_000_000_000, 1, 64, 64),
                (1_000_000_000, 2, 100, 100),
            ],
        ));
        // Simple Packet Blocks, the second one cut by the snap length.
        let simple =
            |octets: &[u8], len| order.block(3, &[&order.words(&[len])[..], octets].concat());
        let simple = [simple(&one, 62), simple(&two, 200)].concat();
        let file = [order.section(), order.interface(1, 96, &[]), simple].concat();
        files.push((file, vec![(0, 1, 62, 62), (0, 2, 96, 200)]));
        // Kuznetzov's format, and the obsolete Packet Block.
        let mut modified = order.pcap(0xa1b2_cd34, 65_535, 1, &[]);
        modified.extend([order.words(&[7, 0, 64, 64, 0, 0]), one.to_vec()].concat());
        files.push((modified, vec![(0, 1, 64, 64)]));
        let mut body = [order.half(0), order.half(9)].concat();
        body.extend([order.words(&[0, 0, 64, 64]), one.to_vec()].concat());
        let file = [order.section(), order.interface(1, 0, &[]), order.block(2, &body)].concat();
        files.push((file, vec![(0, 1, 64, 64)]));
    }
    files
}

/// `if_fcslen`, its absence, and the flags of a packet, which take precedence.
fn pcapng_fcs(order: Order) -> Vec<u8> {
    let packet = (&[1; 64][..], 64);
    [
        order.section(),
        order.interface(1, 0, &order.option(13, &[4])),
        order.interface(1, 0, &order.option(3, b"not \xff UTF-8")),
        order.enhanced(0, 0, packet, &order.option(1, b"no end")),
        order.enhanced(1, 0, packet, &[]),
        order.enhanced(1, 0, packet, &order.option(2, &order.words(&[4 << 5 | 1]))),
    ]
    .concat()
}

/// Units of times, and `if_tsoffset`, in two sections with a block of an unknown type.
fn pcapng_times(order: Order) -> Vec<u8> {
    let offset = |seconds: i64| order.option(14, &reversed(order, seconds.to_be_bytes()));
    let end = order.option(0, &[]);
    let (one, two) = ((&[1; 64][..], 64), (&[2; 100][..], 100));
    [
        order.section(),
        order.interface(1, 0, &[order.option(9, &[9]), offset(-3), end].concat()),
        order.interface(1, 0, &[order.option(9, &[0x81]), offset(-2)].concat()),
        order.block(0x4000_0bad, &[7; 8]),
        order.enhanced(0, 1_000_000_000, one, &[]),
        order.enhanced(1, 1, two, &[]),
        order.section(),
        order.interface(1, 0, &offset(-1)),
        order.enhanced(0, 0, one, &[]),
        order.enhanced(0, 0, two, &[]),
    ]
    .concat()
}

#[test]
fn each_kind_of_file_is_read_in_both_byte_orders() {
    for (file, packets) in golden() {
        assert_eq!(seen(&file), packets, "{file:02x?}");
    }
}

#[test]
fn a_compressed_file_is_read_like_the_file() {
    use std::io::Write;
    for (file, packets) in golden() {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(&file).unwrap();
        let gz = gz.finish().unwrap();
        assert_eq!(seen(&gz), packets);
        for end in 0..gz.len() {
            assert!(read(&gz[..end]).is_err(), "a compressed file has a checksum at its end");
        }
        // A file may have several members, and nothing else behind them.
        for more in [&b"x"[..], b"trailing bytes", &[0; 600]] {
            let why = read(&[&gz[..], more].concat()).unwrap_err().to_string();
            assert!(why.contains("bytes that are not compressed follow"), "{why}");
        }
    }
}

#[test]
fn a_file_that_ends_anywhere_gives_its_whole_packets() {
    for (file, packets) in golden() {
        for end in 0..file.len() {
            let (mut whole, mut cut) = (0, None);
            match Packets::new(io::Cursor::new(file[..end].to_vec())) {
                Err(error) => cut = Some(error),
                Ok(read) => read.for_each(|packet| match packet {
                    Ok(_) => whole += 1,
                    Err(error) => cut = Some(error),
                }),
            }
            assert!(whole < packets.len());
            match cut {
                Some(CaptureError::Cut(after)) => assert_eq!(after, whole),
                Some(CaptureError::Format(_)) => assert!(whole == 0 && end < 28, "{end}"),
                None => {}
                Some(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn times_at_both_ends_of_the_range_have_an_instant() {
    let order = Order::Big;
    let mut files = vec![order.pcap(0xa1b2_3c4d, 0, 1, &[(0, 0, &[1; 60], 60)])];
    files.push(order.pcap(0xa1b2_3c4d, 0, 1, &[(u32::MAX, u32::MAX, &[1; 60], 60)]));
    for unit in [0, 6, 9, 12, 13, 20, 50, 51, 0x7f, 0x80, 0x8a, 0xff] {
        for seconds in [i64::MIN, -1, 0, i64::MAX] {
            for time in [0, 1, u64::MAX] {
                let options = [order.option(9, &[unit]), order.option(14, &seconds.to_be_bytes())];
                let interface = order.interface(1, 0, &options.concat());
                let packet = order.enhanced(0, time, (&[1; 60], 60), &[]);
                files.push([order.section(), interface, packet].concat());
            }
        }
    }
    let instants: Vec<_> = files.iter().map(|file| read(file).unwrap()[0].at.unwrap()).collect();
    assert!(instants.iter().all(|at| (Instant::ZERO..Instant::NEVER).contains(at)));
    let first = instants[2].as_picos();
    assert_eq!(instants[4].as_picos() - first, u128::from(u64::MAX) * SECOND as u128);
}

/// Their layout is unknown, so the numbers in them mean something else.
#[test]
fn files_of_other_versions_are_refused() {
    for order in ORDERS {
        let pcap = |major: u16, minor: u16| {
            let mut file = order.pcap(0xa1b2_c3d4, 0, 1, &[(0, 0, &[1; 60], 60)]);
            file[4..8].copy_from_slice(&[order.half(major), order.half(minor)].concat());
            read(&file).map(|all| all.len()).map_err(|error| error.to_string())
        };
        assert_eq!((pcap(2, 4), pcap(2, 3)), (Ok(1), Ok(1)));
        for (major, minor) in [(9, 9), (2, 2), (2, 5), (1, 4), (0, 0)] {
            let why = pcap(major, minor).unwrap_err();
            assert!(why.contains(&format!("version {major}.{minor} of pcap")), "{why}");
        }
        let section = |major: u16, minor: u16| {
            let mut section = order.section();
            section[12..16].copy_from_slice(&[order.half(major), order.half(minor)].concat());
            let packet = order.enhanced(0, 0, (&[1; 60], 60), &[]);
            [section, order.interface(1, 0, &[]), packet].concat()
        };
        for minor in [0, 2] {
            assert_eq!(read(&section(1, minor)).unwrap().len(), 1);
        }
        for major in [0, 2] {
            let why = read(&section(major, 0)).unwrap_err().to_string();
            assert!(why.contains(&format!("version {major}.0 of pcapng")), "{why}");
            // Also where it is not the first section.
            let why = read(&[section(1, 0), section(major, 0)].concat()).unwrap_err().to_string();
            assert!(why.contains(&format!("version {major}.0 of pcapng")), "{why}");
        }
    }
}

#[test]
fn what_is_no_ethernet_capture_is_refused_with_the_reason() {
    let order = Order::Little;
    let refused = |file: &[u8]| read(file).unwrap_err().to_string();
    let cooked = order.pcap(0xa1b2_c3d4, 0, 113, &[(0, 0, &[1; 60], 60)]);
    assert!(
        refused(&cooked).contains("packet 1 was not captured on Ethernet but on link type 113")
    );
    // An interface of another type is no fault until it has a packet.
    let two = [order.section(), order.interface(1, 0, &[]), order.interface(105, 0, &[])].concat();
    let first = [two.clone(), order.enhanced(0, 0, (&[1; 60], 60), &[])].concat();
    assert_eq!(read(&first).unwrap().len(), 1);
    let second = [first, order.enhanced(1, 0, (&[1; 60], 60), &[])].concat();
    assert!(refused(&second).contains("packet 2") && refused(&second).contains("105"));
    let unknown = [two.clone(), order.enhanced(2, 0, (&[1; 60], 60), &[])].concat();
    assert!(refused(&unknown).contains("not described"));
    let mut lengths = [two, order.block(99, &[])].concat();
    let place = lengths.len() - 8;
    lengths[place] = 13;
    assert!(refused(&lengths).contains("length of 13 bytes"));
    assert!(refused(b"no capture at all, but long enough").contains("no pcap or pcapng"));
    assert!(refused(b"ab").contains("fewer than 4"));
    assert!(refused(b"\x1f\x8b no gzip at all").contains("compression"));
    assert!(matches!(open(Path::new("/nonexistent/file")), Err(CaptureError::Read(_))));
}

#[test]
fn what_sluice_writes_is_read_as_it_was() {
    let folder = Folder::new("captures-own");
    for fcs in [false, true] {
        let (mut pcap, mut pcapng) = (Vec::new(), Vec::new());
        let interface = packets::Interface { name: "a", description: "", rate: None, fcs };
        let mut one = Pcap::new(&mut pcap, fcs).unwrap();
        let mut other = Pcapng::new(&mut pcapng, None, &[interface]).unwrap();
        for nanos in [5_000_000_000, 5_000_001_234] {
            let at = std::time::Duration::from_nanos(nanos);
            let packet = packets::Packet { at, octets: &[7; 64], len: 64 };
            one.packet(&packet).unwrap();
            other.packet(&packet, &Notes::default()).unwrap();
        }
        other.flush().unwrap();
        drop((one, other));
        let len = if fcs { 60 } else { 64 };
        let expected = vec![(0, 7, len, len as u32), (1_234, 7, len, len as u32)];
        assert_eq!((seen(&pcap), seen(&pcapng)), (expected.clone(), expected));
        let packets: Vec<_> =
            open(&folder.put("own", &pcap)).unwrap().map(Result::unwrap).collect();
        assert!(packets.iter().all(|packet| packet.fcs == fcs));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Damage anywhere in a file gives packets or an error.
    #[test]
    fn no_damage_panics(
        which in any::<prop::sample::Index>(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        end in any::<prop::sample::Index>(),
    ) {
        let files = golden();
        let mut file = which.get(&files).0.clone();
        for (place, octet) in damage {
            *place.get_mut(&mut file) = octet;
        }
        file.truncate(end.index(2 * file.len()).max(1));
        for packet in Packets::new(io::Cursor::new(file)).into_iter().flatten().flatten() {
            prop_assert!(packet.octets.len() <= packet.len as usize);
        }
    }
}
