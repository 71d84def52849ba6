//! A run of a procedure: its tables, and what every run has.

use serde::Serialize;
use validate::bench::Trouble;

use crate::took::Took;
use crate::trial::Runner;

/// Results of a procedure. Tables that were not selected, or not reached, have no rows.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Run<T> {
    #[serde(flatten)]
    pub tables: T,
    /// Durations of the rows.
    pub took: Vec<Took>,
    /// Number of trials.
    pub trials: u64,
    /// Remarks about the numbers, once each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Reason why the run ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
}

impl<T: Default> Run<T> {
    /// Fills the tables by trials of a runner, as far as it comes.
    pub(crate) fn of<'a>(
        mut runner: Runner<'a>,
        fill: impl FnOnce(&mut Runner<'a>, &mut T) -> Result<(), Trouble>,
    ) -> (Self, Option<Trouble>) {
        let mut tables = T::default();
        let trouble = fill(&mut runner, &mut tables).err();
        let Runner { took, trials, notes, .. } = runner;
        let ended = trouble.as_ref().map(ToString::to_string);
        (Self { tables, took, trials, notes, ended }, trouble)
    }
}
