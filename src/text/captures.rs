//! Reading of capture files: pcap and pcapng, of either byte order and any timestamp resolution.

use std::io::{self, BufReader, Read};
use std::path::Path;

use pcap_file::pcap::PcapReader;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::{Block, PcapNgReader};

use super::packets::failed;
use ground::time::Duration;

/// First bytes of a pcapng file.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// A captured packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Time since that of the capture's first packet, or zero for one that is earlier.
    pub at: Duration,
    /// The captured bytes, from the destination address on.
    pub octets: Vec<u8>,
    /// Original length in bytes.
    pub len: u32,
}

/// Reads all packets of a file.
///
/// # Errors
/// A file that cannot be read, or is not a capture.
pub fn read(path: &Path) -> io::Result<Vec<Captured>> {
    let mut file = BufReader::new(std::fs::File::open(path)?);
    let mut start = [0; 4];
    file.read_exact(&mut start)?;
    let all = start.chain(file);
    let mut packets = if start == PCAPNG { pcapng(all)? } else { pcap(all)? };
    let first = packets.first().map_or(0, |(picos, _)| *picos);
    let packets = packets.drain(..).map(|(picos, packet)| {
        let since = u64::try_from(picos.saturating_sub(first)).unwrap_or(u64::MAX);
        Captured { at: Duration::from_picos(since), ..packet }
    });
    Ok(packets.collect())
}

/// A packet and the picoseconds from 1970 to it.
type Dated = (u128, Captured);

fn dated(picos: u128, len: u32, octets: &[u8]) -> Dated {
    (picos, Captured { at: Duration::ZERO, octets: octets.to_vec(), len })
}

fn pcap(file: impl Read) -> io::Result<Vec<Dated>> {
    let mut reader = PcapReader::new(file).map_err(failed)?;
    let mut packets = vec![];
    while let Some(packet) = reader.next_packet() {
        let packet = packet.map_err(failed)?;
        packets.push(dated(packet.timestamp.as_nanos() * 1_000, packet.orig_len, &packet.data));
    }
    Ok(packets)
}

fn pcapng(file: impl Read) -> io::Result<Vec<Dated>> {
    let mut reader = PcapNgReader::new(file).map_err(failed)?;
    // The library reads every timestamp as nanoseconds; its unit is that of the interface.
    let mut units = vec![];
    let mut packets = vec![];
    while let Some(block) = reader.next_block() {
        match block.map_err(failed)? {
            Block::SectionHeader(_) => units.clear(),
            Block::InterfaceDescription(interface) => units.push(unit(&interface)),
            Block::EnhancedPacket(packet) => {
                let unit = units.get(packet.interface_id as usize).copied();
                let (numerator, denominator) = unit.unwrap_or(MICROSECOND);
                let picos = packet.timestamp.as_nanos() * numerator / denominator;
                packets.push(dated(picos, packet.original_len, &packet.data));
            }
            _ => {}
        }
    }
    Ok(packets)
}

/// Picoseconds of a unit, as a fraction.
type Unit = (u128, u128);

/// Unit of interfaces that do not state one.
const MICROSECOND: Unit = (1_000_000, 1);

/// Returns the unit of an interface's timestamps: a negative power of ten, or of two if the highest
/// bit is set.
fn unit(interface: &InterfaceDescriptionBlock<'_>) -> Unit {
    const PICOS: u128 = 1_000_000_000_000;
    let resolution = interface.options.iter().find_map(|option| match option {
        InterfaceDescriptionOption::IfTsResol(resolution) => Some(*resolution),
        _ => None,
    });
    match resolution {
        None => MICROSECOND,
        Some(of_two @ 0x80..) => (PICOS, 1 << (of_two & 0x3f)),
        Some(of_ten) => (PICOS, 10_u128.pow(u32::from(of_ten.min(20)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packets::{Interface, Notes, Packet, Pcap, Pcapng};
    use crate::testfolder::Folder;

    fn file(name: &str, octets: &[u8]) -> io::Result<Vec<Captured>> {
        let folder = Folder::new(&format!("captures-{name}"));
        read(&folder.put(name, octets))
    }

    fn packet(nanos: u64, octets: &[u8]) -> Packet<'_> {
        Packet { at: std::time::Duration::from_nanos(nanos), octets, len: 80 }
    }

    fn expected() -> Vec<Captured> {
        let one = |nanos, octet: u8| Captured {
            at: Duration::from_nanos(nanos),
            octets: vec![octet; 60],
            len: 80,
        };
        vec![one(0, 1), one(1_234, 2)]
    }

    #[test]
    fn both_formats_are_read_with_their_times() {
        let mut pcap = vec![];
        let mut writer = Pcap::new(&mut pcap).unwrap();
        let mut pcapng = vec![];
        let interface = Interface { name: "a", description: "", rate: None, fcs: false };
        let mut other = Pcapng::new(&mut pcapng, None, &[interface]).unwrap();
        for (nanos, octet) in [(5_000_000_000, 1), (5_000_001_234, 2)] {
            writer.packet(&packet(nanos, &[octet; 60])).unwrap();
            other.packet(&packet(nanos, &[octet; 60]), &Notes::default()).unwrap();
        }
        other.flush().unwrap();
        drop((writer, other));
        assert_eq!(file("a.pcap", &pcap).unwrap(), expected());
        assert_eq!(file("a.pcapng", &pcapng).unwrap(), expected());
        let mut microseconds = InterfaceDescriptionBlock::new(pcap_file::DataLink::ETHERNET, 0);
        assert_eq!(unit(&microseconds), MICROSECOND);
        microseconds.options.push(InterfaceDescriptionOption::IfTsResol(9));
        assert_eq!(unit(&microseconds), (1_000_000_000_000, 1_000_000_000));
        microseconds.options[0] = InterfaceDescriptionOption::IfTsResol(0x8a);
        assert_eq!(unit(&microseconds), (1_000_000_000_000, 1_024));
    }

    #[test]
    fn what_is_no_capture_is_refused() {
        assert!(file("text", b"no capture at all, but long enough").is_err());
        assert!(file("short", b"ab").is_err());
        assert!(read(Path::new("/nonexistent/file")).is_err());
    }
}
