//! Reading of capture files of Ethernet: pcap and pcapng, of either byte order and any timestamp
//! resolution, also compressed by gzip. The only reader in the tree.
//!
//! It reads what libpcap and Wireshark read: packets above the snap length of the file, options
//! without an end or with a text that is not UTF-8, packets without a time, blocks of unknown types,
//! several sections. The crates that were compared do not: pcap-file refuses some of these files,
//! pcap-parser misreads `if_tsoffset` of big-endian sections and knows no obsolete Packet Blocks.
//! No file makes it panic, and no length in a file makes it allocate more than the file has.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::GzDecoder;

use contracts::frame::FCS_BYTES;
use ground::time::Instant;

/// First bytes of a pcapng file: the type of a section header, the same in both byte orders.
const PCAPNG: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// First bytes of a gzip file (RFC 1952, 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Link type of Ethernet (`LINKTYPE_ETHERNET`).
const ETHERNET: u16 = 1;
/// Maximum bytes of a packet or its block. A choice, 64 times what capture programs write.
const PACKET_MAX: u32 = 16 << 20;
/// Picoseconds of a second.
const SECOND: i128 = 1_000_000_000_000;
/// Time before 1970 at which the instants of captures start, so that every offset of an interface
/// gives an instant.
const ORIGIN_SECONDS: i128 = 1 << 64;

/// Types of the blocks of pcapng that are read.
mod block {
    pub(super) const INTERFACE: u32 = 1;
    pub(super) const OBSOLETE_PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const ENHANCED_PACKET: u32 = 6;
}

/// A captured packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Captured {
    /// Time of the capture, from an origin that is the same for all files. `None` for a kind of
    /// packet without a time.
    pub at: Option<Instant>,
    /// The captured bytes, from the destination address on, without FCS.
    pub octets: Vec<u8>,
    /// Original length in bytes, without FCS.
    pub len: u32,
    /// True if the file has the packet's FCS, which is not in `octets`.
    pub fcs: bool,
}

/// Reason for which a file is not read, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The file cannot be read.
    #[error("{0}")]
    Read(io::Error),
    /// It is of another format, or damaged.
    #[error("{0}")]
    Format(String),
    /// It ends within a packet.
    #[error("it ends within a packet or block, after {0} whole packets")]
    Cut(usize),
    /// A packet has another link type than Ethernet. Packets count from 1.
    #[error("packet {packet} was not captured on Ethernet but on link type {link}")]
    NotEthernet { packet: usize, link: u16 },
}

fn format<T>(why: impl Into<String>) -> Result<T, CaptureError> {
    Err(CaptureError::Format(why.into()))
}

/// The packets of a file, in its order. The first error is the last item.
pub struct Packets {
    input: Box<dyn Read>,
    compressed: bool,
    format: Format,
    order: Order,
    /// Number of packets read so far.
    count: usize,
    done: bool,
}

enum Format {
    Pcap { interface: Interface, header: usize },
    Pcapng { interfaces: Vec<Interface> },
}

/// Opens a capture file.
///
/// # Errors
/// A file that cannot be read, or is not a capture.
pub fn open(path: &Path) -> Result<Packets, CaptureError> {
    let file = File::open(path).map_err(CaptureError::Read)?;
    Packets::new(BufReader::new(file))
}

impl Packets {
    fn new(mut file: impl Read + 'static) -> Result<Self, CaptureError> {
        let (mut start, mut got) = start(&mut file)?;
        let mut input: Box<dyn Read> = Box::new(file);
        let compressed = start[..got].starts_with(&GZIP);
        if compressed {
            // The first bytes were read to recognize the format, and belong to the compressed data.
            let whole = io::Cursor::new(start).take(got as u64).chain(input);
            let mut inside = BufReader::new(Members::new(BufReader::new(whole)));
            (start, got) = self::start(&mut inside)?;
            input = Box::new(inside);
        }
        let mut packets = Self {
            input,
            compressed,
            format: Format::Pcapng { interfaces: Vec::new() },
            order: Order::Little,
            count: 0,
            done: false,
        };
        match start {
            _ if got < start.len() => return format("it has fewer than 4 bytes"),
            PCAPNG => packets.section_start()?,
            _ => packets.pcap_header(start)?,
        }
        Ok(packets)
    }

    /// True if the file is compressed.
    pub const fn is_compressed(&self) -> bool {
        self.compressed
    }

    /// Reads the header of a pcap file, after its magic number.
    fn pcap_header(&mut self, magic: [u8; 4]) -> Result<(), CaptureError> {
        self.order = if magic[0] == 0xa1 { Order::Big } else { Order::Little };
        let (nanoseconds, header) = match self.order.u32(&magic, 0) {
            Some(0xa1b2_c3d4) => (false, 16),
            Some(0xa1b2_3c4d) => (true, 16),
            // Kuznetzov's format: eight more bytes in front of each packet.
            Some(0xa1b2_cd34) => (false, 24),
            _ => return format("it starts like no pcap or pcapng file"),
        };
        let Some(rest) = self.input_octets(20)? else { return format("it ends within its header") };
        let half = |place: usize| self.order.u16(&rest, place).unwrap_or(0);
        let (major, minor) = (half(0), half(2));
        // Others have another layout: before 2.3 the two lengths of a packet stood the other way round.
        if major != 2 || !(3..=4).contains(&minor) {
            let what =
                format!("it is of version {major}.{minor} of pcap, and 2.3 and 2.4 are known");
            return format(what);
        }
        let network = self.order.u32(&rest, 16).unwrap_or(0);
        // The upper bits say if packets have an FCS, and of how many 16-bit words.
        let fcs = network & 0x0400_0000 != 0 && network >> 28 == FCS_BYTES / 2;
        let unit = Unit::Decimal(if nanoseconds { 9 } else { 6 });
        let interface = Interface { link: network as u16, snap: 0, unit, offset: 0, fcs };
        self.format = Format::Pcap { interface, header };
        Ok(())
    }

    /// Reads the rest of the first block of a pcapng file, after its type.
    fn section_start(&mut self) -> Result<(), CaptureError> {
        let Some(len) = self.input_octets(4)? else { return format("it ends within its header") };
        self.section(&len)
    }

    /// Reads the rest of a section header, after its length.
    fn section(&mut self, len: &[u8]) -> Result<(), CaptureError> {
        let magic = self.octets(4)?;
        self.order = match magic[..] {
            [0x1a, 0x2b, 0x3c, 0x4d] => Order::Big,
            [0x4d, 0x3c, 0x2b, 0x1a] => Order::Little,
            _ => return format("a section header has no byte order"),
        };
        self.format = Format::Pcapng { interfaces: Vec::new() };
        let len = self.order.u32(len, 0).unwrap_or(0);
        // Type, length, magic and version are read; a header without options has 28 bytes.
        let Some(rest) = len.checked_sub(16).filter(|_| len >= 28) else {
            return format("a section header is too short");
        };
        let version = self.octets(4)?;
        let half = |place: usize| self.order.u16(&version, place).unwrap_or(0);
        // A minor version adds to the format, another major one has another layout (section 4.1 of the draft).
        if half(0) != 1 {
            let what = format!(
                "a section is of version {}.{} of pcapng, and 1 is known",
                half(0),
                half(2)
            );
            return format(what);
        }
        self.skip(rest)
    }

    /// Reads the next packet. `None` at the end of the file.
    fn packet(&mut self) -> Result<Option<Captured>, CaptureError> {
        match &self.format {
            Format::Pcap { interface, header } => {
                let (interface, header) = (*interface, *header);
                self.pcap_packet(interface, header)
            }
            Format::Pcapng { .. } => self.pcapng_packet(),
        }
    }

    fn pcap_packet(
        &mut self,
        interface: Interface,
        header: usize,
    ) -> Result<Option<Captured>, CaptureError> {
        let Some(start) = self.input_octets(header)? else { return Ok(None) };
        let word = |n: usize| self.order.u32(&start, 4 * n).unwrap_or(0);
        // Kuznetzov's additional fields stand behind these four.
        let (seconds, fraction, captured, len) = (word(0), word(1), word(2), word(3));
        if captured > PACKET_MAX {
            return format(format!("packet {} has {captured} bytes", self.count + 1));
        }
        let octets = self.octets(captured as usize)?;
        let picos = i128::from(seconds) * SECOND + interface.unit.picos(fraction.into());
        self.captured(Some(picos), octets, len, interface).map(Some)
    }

    fn pcapng_packet(&mut self) -> Result<Option<Captured>, CaptureError> {
        loop {
            let Some(start) = self.input_octets(8)? else { return Ok(None) };
            if start.starts_with(&PCAPNG) {
                // The order of the bytes may change with the section, so its length is not read before.
                self.section(&start[4..])?;
                continue;
            }
            let (kind, len) = (self.order.u32(&start, 0), self.order.u32(&start, 4));
            let (kind, len) = (kind.unwrap_or(0), len.unwrap_or(0));
            // Type and two lengths take 12 bytes, and bodies are padded to words.
            if len < 12 || len % 4 != 0 {
                return format(format!("a block has a length of {len} bytes"));
            }
            let packet = match kind {
                block::INTERFACE => {
                    let interface = Interface::of(&self.block(len)?, self.order);
                    let Some(interface) = interface else {
                        return format("the description of an interface is too short");
                    };
                    if let Format::Pcapng { interfaces } = &mut self.format {
                        interfaces.push(interface);
                    }
                    continue;
                }
                block::ENHANCED_PACKET | block::OBSOLETE_PACKET => {
                    let body = self.block(len)?;
                    self.dated_packet(&body, kind == block::OBSOLETE_PACKET)
                }
                block::SIMPLE_PACKET => {
                    let body = self.block(len)?;
                    self.simple_packet(&body)
                }
                _ => {
                    // Blocks of other types are skipped, as readers of pcapng have to.
                    self.skip(len - 8)?;
                    continue;
                }
            };
            return match packet {
                Some(packet) => packet.map(Some),
                None => format(format!(
                    "packet {} is longer than its block, or of an interface that is not described",
                    self.count + 1
                )),
            };
        }
    }

    /// Reads the body of a block of `len` bytes, after its type and length.
    fn block(&mut self, len: u32) -> Result<Vec<u8>, CaptureError> {
        if len > PACKET_MAX {
            return format(format!("a block has a length of {len} bytes"));
        }
        let mut body = self.octets(len as usize - 8)?;
        // The length stands at both ends of a block, so that damage shows.
        let trailer = body.split_off(body.len() - 4);
        if self.order.u32(&trailer, 0) != Some(len) {
            return format("the two lengths of a block differ");
        }
        Ok(body)
    }

    /// Returns a packet of an Enhanced Packet Block, or of the obsolete kind, which differs in the
    /// place of the interface's number. `None` if the block contradicts itself.
    fn dated_packet(&self, body: &[u8], obsolete: bool) -> Option<Result<Captured, CaptureError>> {
        let order = self.order;
        let interface = match obsolete {
            true => order.u16(body, 0)?.into(),
            false => order.u32(body, 0)?,
        };
        let mut interface = self.interface(interface)?;
        let count = u64::from(order.u32(body, 4)?) << 32 | u64::from(order.u32(body, 8)?);
        let (captured, len) = (order.u32(body, 12)? as usize, order.u32(body, 16)?);
        let octets = body.get(20..)?.get(..captured)?;
        let options = body.get(20 + captured.next_multiple_of(4)..).unwrap_or_default();
        // The length of the FCS in the flags of the packet takes precedence.
        let flags = order.options(options).find(|(code, _)| *code == 2);
        if let Some(flags) = flags.and_then(|(_, value)| order.u32(value, 0)) {
            // Bits 5 to 8, in bytes; 0 if the length is not known.
            let fcs = flags >> 5 & 0xf;
            interface.fcs = if fcs == 0 { interface.fcs } else { fcs == FCS_BYTES };
        }
        let picos = interface.unit.picos(count) + i128::from(interface.offset) * SECOND;
        Some(self.captured(Some(picos), octets.to_vec(), len, interface))
    }

    /// Returns a packet of a Simple Packet Block: of the first interface, without a time.
    fn simple_packet(&self, body: &[u8]) -> Option<Result<Captured, CaptureError>> {
        let (interface, len) = (self.interface(0)?, self.order.u32(body, 0)?);
        let snap = if interface.snap == 0 { u32::MAX } else { interface.snap };
        // The block does not tell the captured length, and ends with padding.
        let captured = (len.min(snap) as usize).min(body.len() - 4);
        Some(self.captured(None, body[4..4 + captured].to_vec(), len, interface))
    }

    fn interface(&self, n: u32) -> Option<Interface> {
        match &self.format {
            Format::Pcap { interface, .. } => Some(*interface),
            Format::Pcapng { interfaces } => interfaces.get(n as usize).copied(),
        }
    }

    /// Returns a packet without its FCS.
    fn captured(
        &self,
        picos: Option<i128>,
        mut octets: Vec<u8>,
        len: u32,
        Interface { link, fcs, .. }: Interface,
    ) -> Result<Captured, CaptureError> {
        if link != ETHERNET {
            return Err(CaptureError::NotEthernet { packet: self.count + 1, link });
        }
        // What was captured existed, whatever length the file gives.
        let mut len = len.max(octets.len() as u32);
        if fcs {
            len = len.saturating_sub(FCS_BYTES);
            // A packet that was cut may have lost its FCS already, or a part of it.
            octets.truncate(len as usize);
        }
        let at = picos.map(|picos| {
            Instant::from_picos((picos + ORIGIN_SECONDS * SECOND).try_into().unwrap_or(0))
        });
        Ok(Captured { at, octets, len, fcs })
    }

    /// Reads `n` bytes. `None` if the file ends before the first of them.
    fn input_octets(&mut self, n: usize) -> Result<Option<Vec<u8>>, CaptureError> {
        let mut octets = Vec::new();
        // The buffer grows with what is there: a length in the file alone reserves no memory.
        let read = self.input.by_ref().take(n as u64).read_to_end(&mut octets);
        let is_cut = whole(read)?.is_none();
        match octets.len() {
            0 if n > 0 && !is_cut => Ok(None),
            got if got < n => Err(CaptureError::Cut(self.count)),
            _ => Ok(Some(octets)),
        }
    }

    /// Reads `n` bytes of a packet or block that has begun.
    fn octets(&mut self, n: usize) -> Result<Vec<u8>, CaptureError> {
        self.input_octets(n)?.ok_or(CaptureError::Cut(self.count))
    }

    fn skip(&mut self, n: u32) -> Result<(), CaptureError> {
        let read = io::copy(&mut self.input.by_ref().take(n.into()), &mut io::sink());
        match whole(read)? {
            Some(read) if read == u64::from(n) => Ok(()),
            _ => Err(CaptureError::Cut(self.count)),
        }
    }
}

impl Iterator for Packets {
    type Item = Result<Captured, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let next = self.packet().transpose();
        match &next {
            Some(Ok(_)) => self.count += 1,
            // After an error the place of the next packet is not known.
            _ => self.done = true,
        }
        next
    }
}

/// The content of a gzip file, which may have several members. Bytes behind the last one that begin no
/// further member are an error, and not the end of a member that is cut.
struct Members<R> {
    /// `None` behind the last member.
    member: Option<GzDecoder<R>>,
}

impl<R: BufRead> Members<R> {
    fn new(input: R) -> Self {
        Self { member: Some(GzDecoder::new(input)) }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, octets: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.member {
            let read = member.read(octets)?;
            if read > 0 || octets.is_empty() {
                return Ok(read);
            }
            let Some(mut rest) = self.member.take().map(GzDecoder::into_inner) else { break };
            match rest.fill_buf()?.first() {
                None => {}
                Some(first) if *first == GZIP[0] => self.member = Some(GzDecoder::new(rest)),
                Some(_) => {
                    let what = "bytes that are not compressed follow";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, what));
                }
            }
        }
        Ok(0)
    }
}

/// Reads the first four bytes, or fewer if there are no more.
fn start(input: &mut impl Read) -> Result<([u8; 4], usize), CaptureError> {
    let mut octets = Vec::new();
    whole(input.take(4).read_to_end(&mut octets))?;
    let mut start = [0; 4];
    start[..octets.len()].copy_from_slice(&octets);
    Ok((start, octets.len()))
}

/// Returns the result of a read; `None` for a compressed file that ends too early.
fn whole<T>(read: io::Result<T>) -> Result<Option<T>, CaptureError> {
    match read {
        Ok(read) => Ok(Some(read)),
        // Decoders report the end of a compressed file that is cut as an error of reading.
        Err(error) => match error.kind() {
            io::ErrorKind::UnexpectedEof => Ok(None),
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                format(format!("its compression is damaged ({error})"))
            }
            _ => Err(CaptureError::Read(error)),
        },
    }
}

/// Properties of an interface that the packets of a file were captured on.
#[derive(Clone, Copy)]
struct Interface {
    link: u16,
    /// Maximum captured bytes of a packet; 0 for no limit.
    snap: u32,
    unit: Unit,
    /// Seconds to add to each time.
    offset: i64,
    /// True if packets end with their FCS.
    fcs: bool,
}

impl Interface {
    /// Reads the description of an interface in pcapng.
    fn of(body: &[u8], order: Order) -> Option<Self> {
        let (link, snap) = (order.u16(body, 0)?, order.u32(body, 4)?);
        let mut interface = Self { link, snap, unit: Unit::Decimal(6), offset: 0, fcs: false };
        for (code, value) in order.options(&body[8..]) {
            match (code, value) {
                // The highest bit tells powers of two from powers of ten.
                (9, [unit]) if unit & 0x80 != 0 => interface.unit = Unit::Binary(unit & 0x7f),
                (9, [unit]) => interface.unit = Unit::Decimal(*unit),
                // The draft says bits, and means bytes: its example is 4.
                (13, [len]) => interface.fcs = matches!(len, 4 | 32),
                (14, _) => interface.offset = order.i64(value).unwrap_or(0),
                _ => {}
            }
        }
        Some(interface)
    }
}

/// The unit of timestamps.
#[derive(Clone, Copy)]
enum Unit {
    /// 10^-n s.
    Decimal(u8),
    /// 2^-n s.
    Binary(u8),
}

impl Unit {
    /// Converts a count to picoseconds, rounded down.
    fn picos(self, count: u64) -> i128 {
        let count = i128::from(count);
        match self {
            Self::Decimal(n @ 0..=12) => count * 10_i128.pow(12 - u32::from(n)),
            // Units below a picosecond; the smallest ones leave nothing of any count.
            Self::Decimal(n) => 10_i128.checked_pow(u32::from(n) - 12).map_or(0, |of| count / of),
            Self::Binary(n) => (count * SECOND).checked_shr(n.into()).unwrap_or(0),
        }
    }
}

/// The byte order of a file or section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn word<const N: usize>(self, octets: &[u8], place: usize) -> Option<[u8; N]> {
        let mut word: [u8; N] = octets.get(place..)?.get(..N)?.try_into().ok()?;
        // Words are read as big-endian below.
        if self == Self::Little {
            word.reverse();
        }
        Some(word)
    }

    fn u16(self, octets: &[u8], place: usize) -> Option<u16> {
        self.word(octets, place).map(u16::from_be_bytes)
    }

    fn u32(self, octets: &[u8], place: usize) -> Option<u32> {
        self.word(octets, place).map(u32::from_be_bytes)
    }

    fn i64(self, octets: &[u8]) -> Option<i64> {
        self.word(octets, 0).map(i64::from_be_bytes)
    }

    /// Returns the options of a block, to the end mark or the end of the block.
    fn options(self, mut octets: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
        core::iter::from_fn(move || {
            let (code, len) = (self.u16(octets, 0)?, usize::from(self.u16(octets, 2)?));
            let value = octets.get(4..4 + len)?;
            octets = octets.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
            // 0 is the end mark, which some writers leave out.
            (code != 0).then_some((code, value))
        })
    }
}

#[cfg(test)]
mod tests;
