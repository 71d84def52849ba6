//! `sluice headroom identify`: the readings of the measurement protocol that a peer uses.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;

use crate::cli::terminal::say;
use crate::cli::{Format, bad_input, exit, terminal};
use crate::headroom::identify::{Identifier, Reading, Readings, source};
use crate::time::Instant;
use crate::verdict::Verdict;
use crate::wire::headroom::{Compensation, KindCodes, LengthField, Piggyback, TimeUnit};
use ::text::captures::{self, CaptureError};
use ::text::{Column, Table, columns};

const EXAMPLES: &str = "\
EXAMPLES:
  tcpdump -i eth1 -w peer.pcap ether proto 0x89a2        record the messages of a link, then
  sluice headroom identify peer.pcap                     read the peers' dialects from them
  sluice headroom identify peer.pcapng --format json

The P802.1Qdt proposal leaves parts of its message open. Every combination of readings is compared with
the messages, pcap or pcapng; what does not fit is ruled out. `open` means that the messages so far fit
several readings, of which Sluice's default is shown: those of both ends tell more than those of one, and
a peer that answers tells more than one that asks.

EXIT STATUS: 0 every message fits a reading, 1 some fit none, 2 not a capture, 4 no message in it.";

/// Find out which readings of the headroom measurement a peer uses, from its first messages.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct IdentifyArgs {
    /// Capture of the link, pcap or pcapng.
    #[arg(value_name = "CAPTURE")]
    capture: PathBuf,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// One part of the protocol and its reading.
#[derive(Clone, Serialize)]
struct Part {
    /// Key in files and argument of `sluice headroom measure`.
    part: &'static str,
    /// `known`, `open` or `none`.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reading: Option<String>,
}

/// A peer and its readings.
#[derive(Clone, Serialize)]
struct Peer {
    mac: String,
    messages: u64,
    /// Messages that fit no reading that the others fit.
    unreadable: u64,
    parts: Vec<Part>,
    /// Arguments of `sluice headroom measure` for this peer, if its messages fit a reading.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<String>,
}

/// Result of the command.
#[derive(Serialize)]
struct Outcome {
    verdict: Verdict,
    peers: Vec<Peer>,
}

/// Reads the capture and prints the readings of each sender of measurement messages.
///
/// # Errors
/// A file that is not a capture.
pub fn run(args: &IdentifyArgs) -> Result<ExitCode> {
    let packets = read(&args.capture).map_err(bad_input)?;
    let peers: Vec<_> = identify(&packets).iter().map(Peer::new).collect();
    let unreadable = peers.iter().map(|peer| peer.unreadable).sum::<u64>();
    let verdict = Verdict::of_judged(unreadable == 0, peers.len() as u64);
    let outcome = Outcome { verdict, peers };
    match args.format {
        Format::Json => terminal::print_json(&outcome)?,
        Format::Table => terminal::print(text(&outcome))?,
    }
    Ok(exit(verdict))
}

/// A packet: time, captured bytes and original length.
type Observed = (Instant, Vec<u8>, usize);

fn read(path: &Path) -> Result<Vec<Observed>> {
    let shown = || path.display().to_string();
    ensure!(path.is_file(), "{}: is no file", shown());
    let mut packets = Vec::new();
    for packet in captures::open(path).with_context(shown)? {
        let packet = match packet {
            Ok(packet) => packet,
            // A capture program that was stopped left it; what is whole is read.
            Err(cut @ CaptureError::Cut(_)) => {
                say!("warning: {}: {cut}", shown());
                break;
            }
            Err(error) => return Err(error).with_context(shown),
        };
        let time = packet.at.with_context(|| {
            format!("{}: packet {} has no time, which readings need", shown(), packets.len() + 1)
        })?;
        packets.push((time, packet.octets, packet.len as usize));
    }
    Ok(packets)
}

/// An observer for each sender.
fn identify(packets: &[Observed]) -> Vec<Identifier> {
    let mut peers: Vec<Identifier> = vec![];
    for (_, octets, _) in packets {
        let Some(mac) = source(octets) else { continue };
        // Senders in the order of their first message.
        if peers.iter().all(|peer| peer.peer() != mac) {
            peers.push(Identifier::new(mac));
        }
    }
    // Each observes all packets, those of other senders, too.
    for peer in &mut peers {
        for (at, octets, len) in packets {
            peer.observe(*at, octets, *len);
        }
    }
    peers
}

/// State and name of a reading.
fn part<T>(part: &'static str, reading: Reading<T>, name: impl Fn(T) -> &'static str) -> Part {
    let (state, reading) = match reading {
        Reading::None => ("none", None),
        Reading::Known(value) => ("known", Some(name(value).to_owned())),
        Reading::Open(value) => ("open", Some(name(value).to_owned())),
    };
    Part { part, state, reading }
}

impl Peer {
    fn new(identifier: &Identifier) -> Self {
        let Readings { kind, length, unit, piggyback, compensation, pdu } = identifier.readings();
        let mut parts = vec![
            part("kinds", kind, |kind| match kind {
                KindCodes::Flags => "flags",
                KindCodes::Numbers => "numbers",
            }),
            part("length", length, |length| match length {
                LengthField::Whole => "whole",
                LengthField::Rest => "rest",
                LengthField::Fields => "fields",
            }),
            part("times", unit, |unit| match unit {
                TimeUnit::Nanoseconds => "ns",
                TimeUnit::Picoseconds => "ps",
            }),
            part("rides", piggyback, |piggyback| match piggyback {
                Piggyback::Request => "request",
                Piggyback::Response => "response",
            }),
            part("compensation", compensation, |compensation| match compensation {
                Compensation::Absent => "absent",
                Compensation::InResponse => "response",
            }),
        ];
        // The length is observed and never open, unlike the other parts.
        let octets = pdu.map(|pdu| pdu.octets());
        parts.push(Part {
            part: "pdu",
            state: if octets.is_some() { "known" } else { "none" },
            reading: octets.map(|octets| octets.map_or("not padded".into(), |n| n.to_string())),
        });
        // Padding has no option when there is none.
        let given = |part: &Part| {
            let reading = part.reading.as_ref().filter(|reading| *reading != "not padded")?;
            Some(format!("--{} {reading}", part.part))
        };
        // Only if all parts are known, or the command would measure by a wrong reading.
        let arguments = identifier
            .dialect()
            .map(|_| parts.iter().filter_map(given).collect::<Vec<_>>().join(" "));
        let (messages, unreadable) = identifier.messages();
        Self { mac: identifier.peer().to_string(), messages, unreadable, parts, arguments }
    }
}

fn text(outcome: &Outcome) -> String {
    if outcome.peers.is_empty() {
        return format!("{}: no headroom measurement message in the capture\n", outcome.verdict);
    }
    let mut out = String::new();
    for peer in &outcome.peers {
        let columns: [Column<Part>; 3] = columns! { part =>
            Text ["part"] = part.part;
            Text ["reading"] = part.reading.as_deref();
            Text [""] = part.state;
        };
        let table = Table::of(&peer.parts, &columns);
        let unreadable = match peer.unreadable {
            0 => String::new(),
            n => format!(", of which {n} fit no reading that the others fit"),
        };
        out += &format!("{}: {} messages{unreadable}\n\n{table}\n", peer.mac, peer.messages);
        if let Some(arguments) = &peer.arguments {
            out += &format!("sluice headroom measure {arguments}\n\n");
        }
    }
    out + &format!("{}\n", outcome.verdict)
}
