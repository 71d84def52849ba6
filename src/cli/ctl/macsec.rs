//! `sluice ctl macsec`: keys for a running switch, from files or standard input; never from the
//! command line, which other users can read.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};

use crate::cli::bad_input;
use crate::config::raw::HexText;
use crate::config::{read_key, read_key_from};
use crate::report;
use crate::secure::Sak;
use daemon::messages::{MacsecInstall, PortSecured, Request};

const EXAMPLES: &str = "\
A new key goes to the receivers first, then to the sender, and is used at last:
  sluice ctl macsec install p0 --receive 02:00:00:00:00:09/1 --an 1 --key-file k
  sluice ctl macsec install p0 --transmit --an 1 --key-file k
  sluice ctl macsec use p0 1
  sluice ctl macsec remove p0 --transmit --an 0

A key file has 32 or 64 hexadecimal digits and is readable by its owner alone (chmod 600).";

#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) enum MacsecArgs {
    /// Show channels, associations and counters (the default).
    Show,
    /// Install a key.
    Install(InstallArgs),
    /// Send with another association from now on.
    Use {
        /// Port name or number (from 0).
        port: String,
        /// Association number, 0 to 3.
        an: u8,
    },
    /// Remove an association or a whole receive channel.
    Remove {
        /// Port name or number (from 0).
        port: String,
        #[command(flatten)]
        way: Way,
        /// Association number, 0 to 3. Default: all of a receive channel.
        #[arg(long, required_unless_present = "receive")]
        an: Option<u8>,
    },
}

/// Direction of the associations.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct Way {
    /// Transmit associations of the port.
    #[arg(long)]
    transmit: bool,
    /// Associations of a receive channel: the sender's address and port, 02:00:00:00:00:09/1.
    #[arg(long, value_name = "SCI")]
    receive: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct InstallArgs {
    /// Port name or number (from 0).
    port: String,
    #[command(flatten)]
    way: Way,
    /// Association number, 0 to 3.
    #[arg(long)]
    an: u8,
    /// File with the key, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Packet number of the first frame sent, or the lowest accepted. Default: 1.
    #[arg(long, value_name = "PN")]
    next_pn: Option<u64>,
    /// Short SCI of the channel's sender; required for XPN suites.
    #[arg(long, value_name = "N", requires = "salt")]
    ssci: Option<u32>,
    /// Salt of the nonces, 24 hexadecimal digits; required for XPN suites.
    #[arg(long, value_name = "HEX", requires = "ssci")]
    salt: Option<String>,
    /// Send with this association from now on.
    #[arg(long = "use", conflicts_with = "receive")]
    using: bool,
}

/// Builds the request to the switch.
///
/// # Errors
/// Bad input: the key cannot be read.
pub(super) fn request(what: Option<MacsecArgs>) -> Result<Request> {
    Ok(match what.unwrap_or(MacsecArgs::Show) {
        MacsecArgs::Show => Request::Macsec {},
        MacsecArgs::Use { port, an } => Request::MacsecUse { port, an },
        MacsecArgs::Remove { port, way, an } => {
            Request::MacsecRemove { port, receive: way.receive, an }
        }
        MacsecArgs::Install(args) => {
            // Read here and not by the switch, which may not have the right to.
            let key = key(&args.key_file).map_err(|why| bad_input(anyhow!("--key-file: {why}")))?;
            Request::MacsecInstall(MacsecInstall {
                port: args.port,
                receive: args.way.receive,
                an: args.an,
                key: HexText::of(&key),
                next_pn: args.next_pn,
                ssci: args.ssci,
                salt: args.salt.as_deref().map(HexText::from),
                using: args.using,
            })
        }
    })
}

fn key(from: &Path) -> Result<Sak, String> {
    if from == Path::new("-") {
        return read_key_from(&mut std::io::stdin().lock()).map_err(|why| format!("`-` {why}"));
    }
    read_key(from)
}

/// Formats ports with MACsec as tables.
pub(super) fn text(found: &[PortSecured]) -> String {
    if found.is_empty() {
        return "no port has MACsec; `macsec` in the switch file gives it one\n".into();
    }
    report::macsec_text(found.iter().map(|port| (port.name.as_str(), &port.macsec)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Line {
        #[command(subcommand)]
        what: MacsecArgs,
    }

    fn read(line: &str) -> Result<MacsecArgs, clap::Error> {
        Line::try_parse_from(["macsec"].into_iter().chain(line.split(' '))).map(|line| line.what)
    }

    #[test]
    fn a_direction_is_needed_and_only_one() {
        assert!(read("install p0 --transmit --an 1 --key-file k").is_ok());
        assert!(read("install p0 --receive 02:00:00:00:00:09/1 --an 1 --key-file k").is_ok());
        assert!(read("install p0 --an 1 --key-file k").is_err());
        assert!(read("install p0 --transmit --receive x --an 1 --key-file k").is_err());
        assert!(read("install p0 --receive x --an 1 --key-file k --use").is_err());
        assert!(read("install p0 --transmit --an 1 --key-file k --ssci 1").is_err());
        assert!(read("remove p0 --receive x").is_ok());
        assert!(read("remove p0 --transmit").is_err());
    }

    #[test]
    fn no_key_can_be_given_on_the_command_line() {
        assert!(read("install p0 --transmit --an 1 --key 00").is_err());
        let key = "000102030405060708090a0b0c0d0e0f";
        let Ok(what) = read(&format!("install p0 --transmit --an 1 --key-file {key}")) else {
            panic!()
        };
        let why = format!("{:#}", request(Some(what)).unwrap_err());
        assert!(why.contains("not the name of a file") && !why.contains("00010203"), "{why}");
    }
}
