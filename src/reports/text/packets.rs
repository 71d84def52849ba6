//! Capture files: pcapng, and pcap with nanosecond timestamps.
//!
//! Both are little-endian, because some readers know no other order.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::{DataLink, Endianness, PcapError, TsResolution};

use contracts::frame::FCS_BYTES;
use ground::units::BitsPerSec;

/// Maximum frame length in a pcap file: analysers treat a longer one as a damaged file.
const PCAP_SNAP: u32 = 262_144;

/// Bits beside the link type of a pcap file: packets have an FCS, of two 16-bit words.
const PCAP_FCS: u32 = 0x2400_0000;

/// The exponent of ten of a pcapng timestamp's unit.
const NANOSECONDS: u8 = 9;

/// The direction of a frame from the point of view of the capturing device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    In,
    Out,
}

/// An interface of a pcapng file.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    pub name: &'a str,
    pub description: &'a str,
    pub rate: Option<BitsPerSec>,
    /// True if its packets end with their FCS.
    pub fcs: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Time since 1970, or since the start of a virtual world.
    pub at: Duration,
    /// The captured bytes, from the destination address on.
    pub octets: &'a [u8],
    /// Original length in bytes.
    pub len: u32,
}

/// Further pcapng properties of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes<'a> {
    /// Index of its interface in the file.
    pub interface: u32,
    pub way: Option<Way>,
    pub comment: Option<&'a str>,
}

/// A pcapng file during writing.
pub struct Pcapng<W: Write>(PcapNgWriter<W>);

impl<W: Write> Pcapng<W> {
    /// Starts a file for packets of `interfaces`, with a comment on the whole file.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, comment: Option<&str>, interfaces: &[Interface<'_>]) -> io::Result<Self> {
        let application = concat!("sluice ", env!("CARGO_PKG_VERSION"));
        let comment = comment.map(|text| SectionHeaderOption::Comment(Cow::Owned(text.into())));
        let options = comment
            .into_iter()
            .chain([SectionHeaderOption::UserApplication(Cow::Borrowed(application))])
            .collect();
        let endianness = Endianness::Little;
        let section = SectionHeaderBlock { endianness, options, ..Default::default() };
        let mut writer = PcapNgWriter::with_section_header(out, section).map_err(failed)?;
        for interface in interfaces {
            let mut options = vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(interface.name)),
                InterfaceDescriptionOption::IfDescription(Cow::Borrowed(interface.description)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ];
            if interface.fcs {
                // Without the option analysers guess whether the last bytes are an FCS.
                options.push(InterfaceDescriptionOption::IfFcsLen(FCS_BYTES as u8));
            }
            options.extend(interface.rate.map(|r| InterfaceDescriptionOption::IfSpeed(r.get())));
            let block =
                InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
            writer.write_pcapng_block(block).map_err(failed)?;
        }
        Ok(Self(writer))
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn packet(&mut self, packet: &Packet<'_>, notes: &Notes<'_>) -> io::Result<()> {
        let comment = notes.comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)));
        // The two lowest bits hold the direction (pcapng, "Enhanced Packet Block Flags Word").
        let way = notes.way.map(|way| match way {
            Way::In => EnhancedPacketOption::Flags(1),
            Way::Out => EnhancedPacketOption::Flags(2),
        });
        let block = EnhancedPacketBlock {
            interface_id: notes.interface,
            timestamp: packet.at,
            original_len: packet.len,
            data: Cow::Borrowed(packet.octets),
            options: comment.into_iter().chain(way).collect(),
        };
        self.0.write_pcapng_block(block).map_err(failed).map(|_| ())
    }

    /// Writes buffered data.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}

/// A pcap file with nanosecond timestamps during writing.
pub struct Pcap<W: Write>(PcapWriter<W>);

impl<W: Write> Pcap<W> {
    /// Starts a file; `fcs` says that its packets end with their FCS.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W, fcs: bool) -> io::Result<Self> {
        let ethernet = u32::from(DataLink::ETHERNET);
        // The field of the link type has room for the length of the FCS in its upper bits.
        let link = if fcs { ethernet | PCAP_FCS } else { ethernet };
        let header = PcapHeader {
            ts_resolution: TsResolution::NanoSecond,
            datalink: DataLink::from(link),
            // Readers refuse a longer packet.
            snaplen: PCAP_SNAP,
            endianness: Endianness::Little,
            ..Default::default()
        };
        PcapWriter::with_header(out, header).map(Self).map_err(failed)
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// Errors of the file; a packet of more than 2^18 bytes, or after the year 2106.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let packet = PcapPacket::new(packet.at, packet.len, packet.octets);
        self.0.write_packet(&packet).map_err(failed).map(|_| ())
    }
}

/// Converts a writer's error, and returns the file's own error if that was the cause.
fn failed(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
