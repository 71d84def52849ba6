//! `sluice ctl macsec`: keys for a running switch, from files or standard input, never from the
//! command line, which others can read.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use clap::{Args, Subcommand};

use crate::cli::bad_input;
use crate::cli::control::{MacsecInstall, PortSecured, Request};
use crate::config::raw::HexText;
use crate::config::{read_key, read_key_from};
use crate::report;
use crate::secure::Sak;

const EXAMPLES: &str = "\
A new key goes to the receivers first, then to the sender, and is used at last:
  sluice ctl macsec install port0 --receive 02:00:00:00:00:09/1 --an 1 --key-file 1.key
  sluice ctl macsec install port0 --transmit --an 1 --key-file 1.key
  sluice ctl macsec use port0 1
  sluice ctl macsec remove port0 --transmit --an 0

A key file has 32 or 64 hexadecimal digits and is readable by its owner alone (chmod 600).";

#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) enum MacsecArgs {
    /// Channels, associations and counters; what is done without a command.
    Show,
    /// Install a key.
    Install(InstallArgs),
    /// Send with another association from now on.
    Use {
        /// The port's name, or its number counted from 0.
        port: String,
        /// The association, 0 to 3.
        an: u8,
    },
    /// Take an association out, or a whole channel that is received.
    Remove {
        /// The port's name, or its number counted from 0.
        port: String,
        #[command(flatten)]
        way: Way,
        /// The association, 0 to 3. Default: all of a channel that is received.
        #[arg(long, required_unless_present = "receive")]
        an: Option<u8>,
    },
}

/// Whose associations are meant.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct Way {
    /// Those that the port sends with.
    #[arg(long)]
    transmit: bool,
    /// Those of a channel that it receives: the sender's address and port, 02:00:00:00:00:09/1.
    #[arg(long, value_name = "SCI")]
    receive: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct InstallArgs {
    /// The port's name, or its number counted from 0.
    port: String,
    #[command(flatten)]
    way: Way,
    /// The association, 0 to 3.
    #[arg(long)]
    an: u8,
    /// The file with the key, or `-` for standard input.
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// The packet number of the first frame sent, or the lowest accepted. Default: 1.
    #[arg(long, value_name = "PN")]
    next_pn: Option<u64>,
    /// The short name of the channel's sender; XPN suites need it.
    #[arg(long, value_name = "N", requires = "salt")]
    ssci: Option<u32>,
    /// What nonces are mixed with, 24 hexadecimal digits; XPN suites need it.
    #[arg(long, value_name = "HEX", requires = "ssci")]
    salt: Option<String>,
    /// Send with it from now on.
    #[arg(long = "use", conflicts_with = "receive")]
    using: bool,
}

/// What is asked of the switch.
///
/// # Errors
/// Bad input where the key cannot be had.
pub(super) fn request(what: Option<MacsecArgs>) -> Result<Request> {
    Ok(match what.unwrap_or(MacsecArgs::Show) {
        MacsecArgs::Show => Request::Macsec {},
        MacsecArgs::Use { port, an } => Request::MacsecUse { port, an },
        MacsecArgs::Remove { port, way, an } => {
            Request::MacsecRemove { port, receive: way.receive, an }
        }
        MacsecArgs::Install(args) => {
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

/// Ports with MACsec as tables.
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
