//! Packets as files that every analyser reads: pcapng, and pcap with nanosecond stamps.
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

use crate::frame::FCS_BYTES;
use crate::units::BitsPerSec;

/// The longest frame in a pcap file: what analysers take a longer one for is a damaged file.
const PCAP_SNAP: u32 = 262_144;

/// Nanoseconds: the exponent of ten of a pcapng stamp's unit.
const NANOSECONDS: u8 = 9;

/// Which way a frame went, as the one who captured it saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// It was received.
    In,
    /// It was sent.
    Out,
}

/// Where packets of a pcapng file come from.
#[derive(Clone, Copy, Debug)]
pub struct Interface<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it is.
    pub description: &'a str,
    /// Its rate, if it is known.
    pub rate: Option<BitsPerSec>,
    /// True if its packets end with their FCS.
    pub fcs: bool,
}

/// A packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When, since 1970 began (or since a virtual world did).
    pub at: Duration,
    /// The octets that were kept, from the destination address on.
    pub octets: &'a [u8],
    /// Number of them.
    pub len: u32,
}

/// What pcapng can say of a packet besides.
#[derive(Clone, Copy, Debug, Default)]
pub struct Notes<'a> {
    /// The place of its interface among those of the file.
    pub interface: u32,
    /// Which way it went.
    pub way: Option<Way>,
    /// What is known of it.
    pub comment: Option<&'a str>,
}

/// A pcapng file that is being written.
pub struct Pcapng<W: Write>(PcapNgWriter<W>);

impl<W: Write> Pcapng<W> {
    /// Starts a file whose packets come from `interfaces`, with a comment on all of it.
    ///
    /// # Errors
    /// Those of `out`.
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
                options.push(InterfaceDescriptionOption::IfFcsLen(FCS_BYTES as u8));
            }
            options.extend(interface.rate.map(|r| InterfaceDescriptionOption::IfSpeed(r.get())));
            let block =
                InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
            writer.write_pcapng_block(block).map_err(failed)?;
        }
        Ok(Self(writer))
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// Those of the file.
    pub fn packet(&mut self, packet: &Packet<'_>, notes: &Notes<'_>) -> io::Result<()> {
        let comment = notes.comment.map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)));
        // The two lowest bits say the direction (pcapng, "Enhanced Packet Block Flags Word").
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

    /// Writes what is left.
    ///
    /// # Errors
    /// Those of the file.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.get_mut().flush()
    }
}

/// A pcap file with nanosecond stamps that is being written.
pub struct Pcap<W: Write>(PcapWriter<W>);

impl<W: Write> Pcap<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let header = PcapHeader {
            ts_resolution: TsResolution::NanoSecond,
            datalink: DataLink::ETHERNET,
            snaplen: PCAP_SNAP,
            endianness: Endianness::Little,
            ..Default::default()
        };
        PcapWriter::with_header(out, header).map(Self).map_err(failed)
    }

    /// Adds a packet.
    ///
    /// # Errors
    /// Those of the file; a packet of more than 2^18 octets, or later than the year 2106.
    pub fn packet(&mut self, packet: &Packet<'_>) -> io::Result<()> {
        let packet = PcapPacket::new(packet.at, packet.len, packet.octets);
        self.0.write_packet(&packet).map_err(failed).map(|_| ())
    }
}

/// What went wrong, as the file's own error where it was that.
fn failed(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
