//! Captures: a pcapng file of each test that failed, with comments on the frames by which it did.

use std::io;
use std::time::Duration;

use super::repeat;
use crate::judge::Outcome;
use crate::observation::Way;
use crate::setup::Setup;
use crate::suite::Results;
use crate::suite::TestResult;
use text::packets::{self, Interface, Notes, Packet, Pcapng};

/// A capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capture {
    /// Name of its file, such as `V-R01.pcapng`.
    pub name: String,
    pub octets: Vec<u8>,
}

/// Returns the captures of the tests that failed; `file` is the DUT file. Frames are kept only with
/// [`Keep::Frames`](crate::setup::Keep::Frames).
///
/// # Errors
/// None of a writer into memory.
pub fn captures(results: &Results, setup: &Setup, file: &str) -> io::Result<Vec<Capture>> {
    let failed = results.tests.iter().filter(|test| test.outcome == Outcome::Fail);
    let with_frames = failed.filter(|test| test.seen.iter().any(|seen| !seen.frames.is_empty()));
    with_frames.map(|test| capture(test, setup, &repeat(results, file, test.id))).collect()
}

fn capture(test: &TestResult, setup: &Setup, command: &str) -> io::Result<Capture> {
    let describe = |port: &crate::setup::TesterPort| {
        format!("port {} of the tester, at {} of the DUT", port.name, port.dut)
    };
    let descriptions: Vec<_> = setup.ports.iter().map(describe).collect();
    let interface = |(port, description): (&'_ crate::setup::TesterPort, &'_ String)| {
        (port.name.clone(), description.clone())
    };
    let named: Vec<_> = setup.ports.iter().zip(&descriptions).map(interface).collect();
    let interfaces: Vec<_> = named
        .iter()
        .map(|(name, description)| Interface {
            name,
            description,
            rate: Some(setup.rate),
            fcs: false,
        })
        .collect();
    let trials = test.seen.iter().filter(|seen| !seen.frames.is_empty());
    let left_out: usize = trials.clone().map(|seen| seen.left_out).sum();
    let comment = format!(
        "{} {}: {}; {left_out} frames are left out; {command}",
        test.id, test.title, test.detail
    );
    let mut octets = Vec::new();
    let mut writer = Pcapng::new(&mut octets, Some(&comment), &interfaces)?;
    // One trial after the other.
    let mut start = Duration::ZERO;
    for seen in trials {
        for (n, kept) in seen.frames.iter().enumerate() {
            let at = start + Duration::from_nanos(kept.end.as_nanos());
            let packet = Packet { at, octets: &kept.octets, len: kept.len.saturating_sub(4) };
            let way = match kept.way {
                Way::Sent => packets::Way::Out,
                Way::Received => packets::Way::In,
            };
            let first = (n == 0).then(|| format!("trial: {}", seen.trial));
            let comment = kept.comment.as_ref().or(first.as_ref()).map(String::as_str);
            let notes = Notes { interface: kept.port.0 as u32, way: Some(way), comment };
            writer.packet(&packet, &notes)?;
        }
        start += Duration::from_nanos(seen.length.as_nanos());
    }
    writer.flush()?;
    drop(writer);
    Ok(Capture { name: format!("{}.pcapng", test.id), octets })
}
