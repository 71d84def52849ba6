//! Arguments of `sluice headroom measure`.

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum};
use tester::plan::{Location, Place};

use crate::cli::Format;
use crate::cli::machine::MachineArgs;
use crate::config::quantity::{LinkRate, Signed, Size, Span};
use crate::headroom::Formula;
use crate::link::{Method, Preference, Statistic};
use crate::time::Duration;
use crate::wire::headroom::{
    Compensation, Dialect, KindCodes, LengthField, PduLength, Piggyback, Readings, TimeUnit,
};

const EXAMPLES: &str = "\
EXAMPLES:
  sluice headroom measure --ring --rate 10G                 two ports in memory: try it anywhere
  sluice headroom measure --port iface:eth1 --respond       at one end: answers until Ctrl-C
  sluice headroom measure --port iface:eth1 --rate 10G      at the other end: measures
  sluice headroom measure --port 0000:3b:00.0 --max-frame 9216 --cell 208
  sluice headroom measure --port 0000:3b:00.0 --macsec 120ns,120ns
  sluice headroom measure --port iface:eth1 --method ptp    beside ptp4l, or any switch with PTP
  sluice headroom measure --port iface:eth1 --count 10 --period 1s --format json

PORTS:
  iface:eth1                an interface of the kernel, by AF_PACKET (root)
  0000:3b:00.0              a network card by its PCI address, or any other device of DPDK
  ring:x.a                  an end of a pair of rings in memory; give both ends, or --ring

Any port of a Sluice switch with `measurement` in its file answers, too.

EXIT STATUS: 0 measured, 1 the peer did not answer, 2 bad arguments, 3 a port cannot be opened.";

/// Measure the round trip of a link and calculate the headroom it needs (P802.1Qdt).
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct MeasureArgs {
    /// Port to measure on. A second one, for links with both ends in this process, answers.
    #[arg(long = "port", value_name = "PORT", value_parser = Location::parse)]
    pub ports: Vec<Location>,
    /// Measure between two ports in memory, which are created for it.
    #[arg(long, conflicts_with = "ports")]
    pub ring: bool,
    /// Only answer, until a signal or for --duration.
    #[arg(long, conflicts_with_all = ["ring", "count", "period"])]
    pub respond: bool,
    /// Time to answer. Default: until a signal.
    #[arg(long, value_name = "TIME", requires = "respond")]
    pub duration: Option<Span>,
    /// Measurement method: round-trip, ptp, auto (both, the first that works), or both in another
    /// order of preference.
    #[arg(long, value_name = "METHOD,..", default_value = "round-trip", value_parser = preference)]
    pub method: Preference,
    /// Statistic of the measured times for the headroom: max, mean, or a percentile such as p99.
    /// The proposal uses the mean (letter), which is not the worst case. Default: max; with
    /// --dialect letter the mean.
    #[arg(long)]
    pub statistic: Option<Statistic>,
    /// Delay value of round trips: full, (t2 - t1) + (t4 - t3) and the peer's reaction, or short,
    /// t4 - t1.
    #[arg(long, value_enum, default_value_t)]
    pub formula: Formula,
    /// Link rate, such as 100G. Default: that of the port, if it has one.
    #[arg(long)]
    pub rate: Option<LinkRate>,
    /// Longest frame, FCS included. Default: 2000 bytes.
    #[arg(long, value_name = "SIZE")]
    pub max_frame: Option<Size>,
    /// Time from the peer's reception of a pause to its last frame start. Default: what the peer
    /// says in its responses or by DCBX, otherwise 614.4ns.
    #[arg(long, value_name = "TIME")]
    pub reaction: Option<Span>,
    /// This port's own reaction, which it tells its peer. Default: 614.4ns.
    #[arg(long, value_name = "TIME")]
    pub own_reaction: Option<Span>,
    /// Adjustment of this port, added to the headroom, for the difference between the paths of MAC
    /// data and MAC control frames: signed, such as -20ns.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, default_value = "0ns")]
    pub adjustment: Signed,
    /// Time from the crossing of a threshold to the transfer of the PFC frame to the MAC. Default:
    /// 0.
    #[arg(long, value_name = "TIME")]
    pub invocation: Option<Span>,
    /// MACsec delays of a PFC frame here and at the peer (shim layers). The headroom is then shown
    /// with MACsec, too.
    #[arg(long, value_name = "LOCAL,REMOTE", value_parser = pair)]
    pub macsec: Option<(Duration, Duration)>,
    /// ptp: delay of this port's interface outside of the measured path (transmit and receive), and
    /// that of the peer's with its reaction. Default: 0, because timestamps are taken above the MAC
    /// here, and the peer's DCBX value, otherwise the PHY of the rate and --reaction.
    #[arg(long, value_name = "OWN,PEER", value_parser = pair)]
    pub internal: Option<(Duration, Duration)>,
    /// Cell size of a switch's buffer: also shows the cells that the headroom takes in the least
    /// efficient frame size, with the frame that triggers XOFF.
    #[arg(long, value_name = "SIZE")]
    pub cell: Option<Size>,
    /// Number of measurements.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub count: u32,
    /// Time from the end of a measurement to the next. Default: 1s.
    #[arg(long, value_name = "TIME")]
    pub period: Option<Span>,
    /// Format of the result on standard output.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub format: Format,
    #[command(flatten)]
    pub machine: MachineArgs,
    #[command(flatten)]
    pub protocol: ProtocolArgs,
}

/// Parameters of the protocols.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Options of the protocols")]
pub struct ProtocolArgs {
    /// Round trips of a measurement (N of the proposal), 1 to 256. Default: 100; with ptp 8.
    #[arg(long, value_name = "N")]
    pub rounds: Option<u16>,
    /// Largest number of requests of a measurement (M), at most 256. Default: twice the rounds.
    #[arg(long, value_name = "M")]
    pub requests: Option<u16>,
    /// Shortest and longest time between two requests (t and T).
    #[arg(long, value_name = "MIN..MAX", default_value = "400us..500us", value_parser = range)]
    pub spacing: (Duration, Duration),
    /// Never send a request in a response.
    #[arg(long)]
    pub no_piggyback: bool,
    /// Readings of all that the proposal leaves open, unless an option sets one: sluice, or the
    /// letter of the proposal (PDUs of 65 bytes, the mean).
    #[arg(long, value_enum, default_value_t)]
    pub dialect: Readings,
    /// Length to which PDUs are padded, 65 to 529. Default: none; with --dialect letter 65.
    #[arg(long, value_name = "BYTES")]
    pub pdu: Option<u16>,
    /// Owner of the optional fields in a message with a response and a request.
    #[arg(long, value_enum, default_value_t)]
    pub rides: Piggyback,
    /// Place of the reaction in messages.
    #[arg(long, value_enum, default_value_t)]
    pub compensation: Compensation,
    /// Unit of the times in messages.
    #[arg(long, value_enum, default_value_t)]
    pub times: TimeUnit,
    /// Encoding of the message type.
    #[arg(long, value_enum, default_value_t)]
    pub kinds: KindCodes,
    /// Extent of the length field of messages.
    #[arg(long, value_enum, default_value_t)]
    pub length: LengthField,
    /// ptp: time between requests. Default: 100ms.
    #[arg(long, value_name = "TIME")]
    pub interval: Option<Span>,
    /// ptp: domain, 0 to 239.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=239))]
    pub domain: u8,
    /// ptp: use IEEE 802.1AS instead of IEEE 1588.
    #[arg(long)]
    pub gptp: bool,
}

impl ProtocolArgs {
    /// Encoding of messages.
    ///
    /// # Errors
    /// A PDU of a length that the table does not have or the length field cannot state.
    pub fn dialect(&self) -> Result<Dialect> {
        let (least, most) = PduLength::RANGE;
        // To the letter of S4 a PDU has 65 octets or more; Sluice's own reading has no padding.
        let pdu = match (self.pdu, self.dialect) {
            (Some(octets), _) => PduLength::padded(octets)
                .with_context(|| format!("--pdu: must be {least} to {most} bytes"))?,
            (None, Readings::Letter) => PduLength::SHORTEST,
            (None, Readings::Sluice) => PduLength::NONE,
        };
        let dialect = Dialect {
            kind: self.kinds,
            length: self.length,
            unit: self.times,
            piggyback: self.rides,
            pdu,
            compensation: self.compensation,
        };
        ensure!(
            dialect.is_consistent(),
            "--pdu: the length field has one byte, which cannot state so long a PDU: use --length fields"
        );
        Ok(dialect)
    }
}

impl MeasureArgs {
    /// The ports; the first measures.
    ///
    /// # Errors
    /// There are none, too many, or half a pair.
    pub fn places(&self) -> Result<Vec<Place>> {
        // A location of a generator's file may have options, which a measurement would ignore.
        let options = self.ports.iter().find(|port| port.text.contains('?'));
        if let Some(port) = options {
            bail!(
                "--port {}: options are for generators; leave out the part behind the ?",
                port.text
            );
        }
        let ring = |end| Place::Ring { pair: "headroom".into(), end };
        if self.ring {
            return Ok(vec![ring(0), ring(1)]);
        }
        let places: Vec<_> = self.ports.iter().map(|port| port.place.clone()).collect();
        match &places[..] {
            [] => bail!("--port: say which port to measure on, or --ring to try it in memory"),
            [one, two] if one == two => bail!("--port: {one} is named twice"),
            [_] | [_, _] => {}
            _ => bail!("--port: a link has two ends; give one port, or two"),
        }
        for place in &places {
            let Place::Ring { pair, end } = place else { continue };
            // The ends of a ring are 0 and 1. Only this process has the other one.
            let other = Place::Ring { pair: pair.clone(), end: 1 - end };
            ensure!(
                places.contains(&other),
                "--port: {place} ends at {other}, where no peer answers; give both"
            );
        }
        Ok(places)
    }
}

/// Parses methods in order of preference.
fn preference(text: &str) -> Result<Preference, String> {
    if text == "auto" {
        return Ok(Preference::AUTO);
    }
    let one = |name: &str| Method::from_str(name.trim(), true);
    let methods: Result<Vec<_>, _> = text.split(',').map(one).collect();
    let methods =
        methods.map_err(|_| "write auto, or methods in order of preference: round-trip,ptp")?;
    Preference::of(&methods).ok_or_else(|| "name each method once: round-trip,ptp".into())
}

/// Parses two times separated by a comma.
fn pair(text: &str) -> Result<(Duration, Duration), String> {
    two(text, ",").ok_or_else(|| "write two times with a comma between them: 120ns,80ns".into())
}

/// Parses two times separated by two dots, the shorter first.
fn range(text: &str) -> Result<(Duration, Duration), String> {
    two(text, "..")
        // A spacing of zero would send all requests in one burst.
        .filter(|(min, max)| min <= max && *max > Duration::ZERO)
        .ok_or_else(|| "write the least and the most time: 50us..500us".into())
}

fn two(text: &str, between: &str) -> Option<(Duration, Duration)> {
    let (a, b) = text.split_once(between)?;
    let span = |text: &str| text.trim().parse::<Span>().ok().map(|Span(time)| time);
    Some((span(a)?, span(b)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports(all: &[&str]) -> Result<Vec<Place>> {
        #[derive(clap::Parser)]
        struct Command {
            #[command(flatten)]
            args: MeasureArgs,
        }
        let words = all.iter().flat_map(|port| ["--port", *port]);
        let command: Command = clap::Parser::parse_from(["measure"].into_iter().chain(words));
        command.args.places()
    }

    #[test]
    fn a_link_has_one_end_here_or_both() {
        assert_eq!(ports(&["iface:eth1"]).unwrap(), [Place::Interface("eth1".parse().unwrap())]);
        assert_eq!(ports(&["ring:x.b", "ring:x.a"]).unwrap().len(), 2);
        for (all, says) in [
            (&[][..], "--ring"),
            (&["ring:x.a"][..], "ring:x.b"),
            (&["ring:x.a", "ring:y.b"][..], "ring:x.b"),
            (&["iface:a", "iface:a"][..], "twice"),
            (&["iface:a", "iface:b", "iface:c"][..], "two ends"),
        ] {
            let error = ports(all).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn times_come_in_pairs() {
        let ns = Duration::from_nanos;
        assert_eq!(pair("120ns,0.08us"), Ok((ns(120), ns(80))));
        assert_eq!(range("50us..500us"), Ok((ns(50_000), ns(500_000))));
        for wrong in ["", "5us", "500us..50us", "0s..0s"] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
        assert_eq!(preference("auto"), Ok(Preference::AUTO));
        assert_eq!(preference("round-trip,ptp"), Ok(Preference::AUTO));
        assert_eq!(preference("ptp"), Ok(Preference::only(Method::PeerDelay)));
        assert!(["", "ptp,ptp", "qdt"].iter().all(|text| preference(text).is_err()));
        assert_eq!("p99".parse(), Ok(Statistic::Percentile(99)));
        assert_eq!("letter".parse(), Ok(Statistic::Mean));
        assert!(["p100", "median"].iter().all(|text| text.parse::<Statistic>().is_err()));
    }
}
