//! Results of a benchmark: as JSON, as tables, and the files that are made of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;

use super::args::Common;
use crate::cli::outputs::{OutputFile, Outputs};
use crate::verdict::Verdict;
use benchmark::baseline::{Comparison, Runs};
use benchmark::plan::{Plan, TesterLimit};
use benchmark::{run, summary, table};
use report::{BenchmarkPage, benchmark_html};

/// Runs in JSON.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    procedure: &'static str,
    dut: &'a str,
    /// Absent if it is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    dut_version: Option<&'a str>,
    /// Cables and optics of the calibration, and the latency by them without the device, which is not subtracted
    /// from any other. Absent without a calibration.
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calibration_ns: Option<f64>,
    world: &'static str,
    seed: u64,
    /// Parameters of the plan by name, which a comparison needs to be equal.
    parameters: &'a BTreeMap<String, String>,
    /// Version of this program, which is the tester.
    tester: &'static str,
    /// Loads that the tester carries by itself, where they are less than the line.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    tester_limits: &'a [TesterLimit],
    /// Reason why these loads are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tester_limits_unknown: Option<&'a str>,
    /// Conditions that cost the tester exact times or rates.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) warnings: &'a [String],
    runs: &'a [Value],
    /// `inconclusive` if the machine disturbed a trial repeatedly, or the comparison is.
    pub(super) verdict: Verdict,
    /// Reason why the run ended early, also before the first trial of a procedure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ended: Option<&'a str>,
    /// Differences from the baseline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) compared: Option<Comparison>,
}

impl<'a> Document<'a> {
    /// A document of complete runs, without warnings and without a comparison.
    pub(super) fn new(
        procedure: &'static str,
        plan: &'a Plan,
        world: &'static str,
        parameters: &'a BTreeMap<String, String>,
        runs: &'a [Value],
    ) -> Self {
        let calibration = plan.setup.calibration.as_ref();
        Self {
            procedure,
            dut: &plan.setup.name,
            dut_version: plan.setup.version.as_deref(),
            calibration: calibration.map(|of| of.cabling.as_str()),
            calibration_ns: calibration.map(|of| of.latency.as_nanos_f64()),
            world,
            seed: plan.setup.seed,
            parameters,
            tester: ground::program::version(),
            tester_limits: &plan.tester,
            tester_limits_unknown: None,
            warnings: &[],
            runs,
            verdict: Verdict::Pass,
            ended: None,
            compared: None,
        }
    }

    /// Returns the runs as a later one has them as its baseline.
    pub(super) fn as_runs(&self) -> Runs {
        Runs {
            procedure: self.procedure.to_owned(),
            dut: self.dut.to_owned(),
            world: self.world.to_owned(),
            seed: self.seed,
            parameters: Some(self.parameters.clone()),
            runs: self.runs.to_vec(),
            ended: self.ended.map(str::to_owned),
        }
    }
}

/// Output files, claimed before the first trial.
pub(super) struct Files {
    json: Option<OutputFile>,
    jsonl: Option<OutputFile>,
    csv: Option<OutputFile>,
    page: Option<OutputFile>,
    junit: Option<OutputFile>,
}

impl Files {
    pub(super) fn open(args: &Common, outputs: &mut Outputs) -> Result<Self> {
        let mut open = |option, path: &Option<PathBuf>| {
            path.as_ref().map(|path| outputs.open(option, path)).transpose()
        };
        Ok(Self {
            json: open("--json", &args.json)?,
            jsonl: open("--jsonl", &args.jsonl)?,
            csv: open("--csv", &args.csv)?,
            page: open("--report", &args.report)?,
            junit: open("--junit", &args.junit)?,
        })
    }

    /// Writes all files, and returns the result of each: one that fails does not stop the others.
    pub(super) fn write(
        self,
        document: &Document<'_>,
        tables: &str,
        plan: &Plan,
        junit: &dyn Fn() -> String,
    ) -> Result<[Result<()>; 5]> {
        let write = |file: Option<OutputFile>, text: &dyn Fn() -> String| {
            file.map_or(Ok(()), |file| file.write(text().as_bytes()))
        };
        let (text, value) =
            (serde_json::to_string_pretty(document)?, serde_json::to_value(document)?);
        let html = || {
            benchmark_html(&BenchmarkPage {
                procedure: document.procedure,
                dut: document.dut,
                world: document.world,
                seed: document.seed,
                verdict: document.verdict,
                ended: document.ended,
                tables,
                plan: &plan.to_string(),
                metrics: &summary::metrics(document.runs),
                compared: document.compared.as_ref(),
            })
        };
        Ok([
            write(self.json, &|| format!("{text}\n")),
            write(self.jsonl, &|| run::json_lines(&value)),
            write(self.csv, &|| run::csv(&value)),
            write(self.page, &html),
            write(self.junit, junit),
        ])
    }
}

/// Returns the tables: those of the last run (`last`), of all runs if there were several, and of the comparison
/// with a baseline.
pub(super) fn text_of(last: String, document: &Document<'_>) -> String {
    let mut text = last;
    if document.runs.len() > 1 {
        text += &format!("\n{}", table::summary(&summary::metrics(document.runs)));
    }
    if let Some(compared) = &document.compared {
        text += &format!("\n{}", table::compared(compared));
    }
    if let Some(why) = document.ended {
        text += &format!("{}: {why}\n", document.verdict.label());
    }
    text
}
