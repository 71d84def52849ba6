//! Files with results.

use std::path::PathBuf;

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use super::args::ValidateArgs;
use crate::cli::outputs::{OutputFile, Outputs};
use chrono::DateTime;
use report::{ValidationPage, validation_html, validation_metrics};
use validate::evidence::{self, Testbed};
use validate::setup::Setup;
use validate::suite::Results;

/// The opened files, and the folder of captures.
pub(super) struct Files {
    jsonl: Option<OutputFile>,
    junit: Option<OutputFile>,
    report: Option<OutputFile>,
    prometheus: Option<OutputFile>,
    ctrf: Option<OutputFile>,
}

impl Files {
    /// Opens the files before the run, so that one that cannot be written is found at once.
    ///
    /// # Errors
    /// Bad input: a file cannot be written.
    pub(super) fn open(args: &ValidateArgs, outputs: &mut Outputs) -> Result<Self> {
        if let Some(folder) = &args.captures {
            Outputs::folder("--captures", folder)?;
        }
        let mut open = |option, path: &Option<_>| {
            path.as_ref().map(|path: &std::path::PathBuf| outputs.open(option, path)).transpose()
        };
        Ok(Self {
            jsonl: open("--jsonl", &args.jsonl)?,
            junit: open("--junit", &args.junit)?,
            report: open("--report", &args.report)?,
            prometheus: open("--prometheus", &args.prometheus)?,
            ctrf: open("--ctrf", &args.ctrf)?,
        })
    }

    /// Writes all of them, the page last, as it has the sums of the others; `name` is the DUT file. Returns
    /// the sums, and the error of the first file that could not be written, after all others are.
    pub(super) fn write(
        self,
        args: &ValidateArgs,
        name: &str,
        (results, setup): (&Results, &Setup),
    ) -> (Vec<evidence::File>, Result<()>) {
        let mut written = Written::default();
        if let Some(Ok(octets)) = args.file.as_ref().map(std::fs::read) {
            written.files.push(sum(name.to_owned(), &octets));
        }
        written.text(self.jsonl, args.jsonl.as_ref(), || evidence::json_lines(results, name));
        written.text(self.junit, args.junit.as_ref(), || {
            evidence::junit(results, name, &setup.limits, &testbed(results, setup))
        });
        written.text(self.ctrf, args.ctrf.as_ref(), || evidence::ctrf(results, name));
        written.text(self.prometheus, args.prometheus.as_ref(), || validation_metrics(results));
        let captured = written.captures(args, name, (results, setup));
        written.errors.push(captured);
        let files = written.files.clone();
        written.text(self.report, args.report.as_ref(), || {
            let (file, strict) = (name, args.strict);
            validation_html(&ValidationPage { results, setup, file, strict, files: &files })
        });
        (written.files, written.errors.into_iter().collect())
    }
}

/// Files that were written, and what became of each.
#[derive(Default)]
struct Written {
    files: Vec<evidence::File>,
    errors: Vec<Result<()>>,
}

impl Written {
    fn text(
        &mut self,
        file: Option<OutputFile>,
        path: Option<&PathBuf>,
        text: impl FnOnce() -> String,
    ) {
        let Some((file, path)) = file.zip(path) else { return };
        let text = text();
        self.files.push(sum(path.display().to_string(), text.as_bytes()));
        self.errors.push(file.write(text.as_bytes()));
    }

    /// Writes the captures of failed tests.
    fn captures(
        &mut self,
        args: &ValidateArgs,
        name: &str,
        (results, setup): (&Results, &Setup),
    ) -> Result<()> {
        let Some(folder) = &args.captures else { return Ok(()) };
        for capture in evidence::captures(results, setup, name)? {
            let path = folder.join(&capture.name);
            let named = || format!("--captures: {}", path.display());
            std::fs::write(&path, &capture.octets).with_context(named)?;
            self.files.push(sum(path.display().to_string(), &capture.octets));
        }
        Ok(())
    }
}

/// Returns a file with the sum of its contents.
fn sum(name: String, octets: &[u8]) -> evidence::File {
    let sum = Sha256::digest(octets);
    let sha256 = sum.iter().map(|octet| format!("{octet:02x}")).collect();
    evidence::File { name, bytes: octets.len(), sha256 }
}

fn testbed(results: &Results, setup: &Setup) -> Testbed {
    let start = results.tests.first().map_or(0.0, |test| test.start_s);
    Testbed {
        timestamp: stamp(start),
        topology: results.world.to_owned(),
        testbed: "sluice".to_owned(),
        host: results.dut.clone(),
        os_version: setup.version.clone().unwrap_or_default(),
        ..Testbed::default()
    }
}

/// Returns a time in seconds since 1970 as sonic-mgmt writes it, in UTC.
pub(in crate::cli) fn stamp(seconds: f64) -> String {
    let time = DateTime::from_timestamp_micros((seconds * 1e6).round() as i64);
    time.map_or(String::new(), |time| time.format("%Y-%m-%d %H:%M:%S%.6f").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FIPS 180-2, appendix B.1.
    #[test]
    fn a_sum_is_that_of_the_standard() {
        let file = sum("abc".into(), b"abc");
        assert_eq!((file.bytes, &file.sha256[..16]), (3, "ba7816bf8f01cfea"));
        assert_eq!(&file.sha256[48..], "b410ff61f20015ad");
    }

    #[test]
    fn a_time_is_written_in_utc() {
        assert_eq!(stamp(0.0), "1970-01-01 00:00:00.000000");
        assert_eq!(stamp(1_795_491_115.951_871), "2026-11-24 03:31:55.951871");
    }
}
