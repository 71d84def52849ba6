//! Files with results.

use anyhow::{Context, Result};

use super::ValidateArgs;
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
        })
    }

    /// Writes all of them; `name` is the DUT file.
    ///
    /// # Errors
    /// The first file that could not be written, after all others are.
    pub(super) fn write(
        self,
        args: &ValidateArgs,
        name: &str,
        (results, setup): (&Results, &Setup),
    ) -> Result<()> {
        let page = || {
            let page = ValidationPage { results, setup, file: name, strict: args.strict };
            validation_html(&page)
        };
        let write = |file: Option<OutputFile>, text: &dyn Fn() -> String| {
            file.map_or(Ok(()), |file| file.write(text().as_bytes()))
        };
        let written = [
            write(self.jsonl, &|| evidence::json_lines(results, name)),
            write(self.junit, &|| evidence::junit(results, &testbed(results))),
            write(self.report, &page),
            write(self.prometheus, &|| validation_metrics(results)),
            captures(args, name, (results, setup)),
        ];
        written.into_iter().collect()
    }
}

/// Writes the captures of failed tests.
fn captures(args: &ValidateArgs, name: &str, (results, setup): (&Results, &Setup)) -> Result<()> {
    let Some(folder) = &args.captures else { return Ok(()) };
    for capture in evidence::captures(results, setup, name)? {
        let path = folder.join(&capture.name);
        let named = || format!("--captures: {}", path.display());
        std::fs::write(&path, capture.octets).with_context(named)?;
    }
    Ok(())
}

fn testbed(results: &Results) -> Testbed {
    let start = results.tests.first().map_or(0.0, |test| test.start_s);
    Testbed {
        timestamp: stamp(start),
        topology: results.world.to_owned(),
        testbed: "sluice".to_owned(),
        host: results.dut.clone(),
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

    #[test]
    fn a_time_is_written_in_utc() {
        assert_eq!(stamp(0.0), "1970-01-01 00:00:00.000000");
        assert_eq!(stamp(1_795_491_115.951_871), "2026-11-24 03:31:55.951871");
    }
}
