//! The priorities that a test tries one after the other, and the queues that it looks at beside one: a few at level
//! quick, all at level full.

use super::{Context, Level};
use crate::bench::TrialError;
use crate::setup::FlowControl;
use ground::units::Priority;

impl Context<'_> {
    /// Returns the lossless priorities to try: one at level quick, all at level full.
    pub fn each_lossless(&self) -> Vec<Priority> {
        let all = if self.level == Level::Quick { 1 } else { usize::MAX };
        self.sent(self.setup.lossless).iter().take(all).collect()
    }

    /// Returns the lossy priorities to try: one at level quick, all at level full.
    pub fn each_lossy(&self) -> Vec<Priority> {
        let all = if self.level == Level::Quick { 1 } else { usize::MAX };
        self.sent(self.setup.lossy).iter().take(all).collect()
    }

    /// Returns the priorities to try alone: as [`Context::each_lossless`], or one with PAUSE, which
    /// stops all alike.
    pub fn each_stopped(&self) -> Vec<Priority> {
        match self.setup.flow_control {
            FlowControl::Pfc => self.each_lossless(),
            FlowControl::Pause => self.setup.lossy.iter().take(1).collect(),
        }
    }

    /// Returns a priority beside another one: the next lossless one, or a lossy one if there is no other.
    ///
    /// # Errors
    /// The set-up has none.
    pub fn neighbour(&self, priority: Priority) -> Result<Priority, TrialError> {
        let mut lossless = self.setup.lossless.iter().filter(|other| *other != priority);
        lossless.next().map_or_else(|| self.lossy(), Ok)
    }

    /// Returns the priorities to look at beside one: `quick` at level quick, all others at level full.
    pub fn others(&self, priority: Priority, quick: Priority) -> Vec<Priority> {
        match self.level {
            Level::Quick => vec![quick],
            Level::Full => self.priorities().iter().filter(|other| *other != priority).collect(),
        }
    }

    /// Runs a part of the test for each of some priorities. If there are several, the values of each name it by a
    /// word, and a part that lacks something is skipped alone: another priority may still fail.
    ///
    /// # Errors
    /// As the part.
    pub fn for_each(
        &mut self,
        word: &str,
        priorities: &[Priority],
        part: impl Fn(&mut Self, Priority) -> Result<(), TrialError>,
    ) -> Result<(), TrialError> {
        if let [only] = priorities {
            return part(self, *only);
        }
        for priority in priorities {
            let first = self.measured.len();
            let ended = part(self, *priority);
            self.name_since(first, &format!(" ({word} {priority})"));
            match ended {
                Err(TrialError::Missing(why)) => self.skip(format!("{word} {priority}"), &why),
                other => other?,
            }
        }
        Ok(())
    }
}
