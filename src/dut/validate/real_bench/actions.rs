//! Actions of a trial at their times: links of the tester that go down and come up, and settings of a device in
//! this process.

use super::in_process::Made;
use crate::bench::Trouble;
use crate::trial::Trial;
use ground::time::Duration;
use switch::Change;
use tester::session::{Session, SessionError};

/// An action.
#[derive(Clone, Copy, Debug)]
enum Action {
    /// A link of the tester goes down or comes up.
    Link { port: usize, up: bool },
    /// A switch of the device gets another setting.
    Change { switch: usize, change: Change },
}

/// The actions of a trial that are not done yet.
#[derive(Debug, Default)]
pub(super) struct Actions {
    /// By time from the start of the flows, the last one first.
    left: Vec<(Duration, Action)>,
    /// Ports whose link is down.
    down: Vec<usize>,
}

impl Actions {
    pub(super) fn none() -> Self {
        Self::default()
    }

    /// Returns the actions of a trial that begins `lead` after its flows.
    pub(super) fn of(trial: &Trial, made: Option<&Made>, lead: Duration) -> Self {
        let links = trial.links.iter();
        let links = links.map(|link| (link.at, Action::Link { port: link.port.0, up: link.up }));
        let changes = made.iter().flat_map(|made| &made.changes);
        let changes = changes
            .map(|(at, switch, change)| (*at, Action::Change { switch: *switch, change: *change }));
        let mut left: Vec<_> =
            links.chain(changes).map(|(at, action)| (lead + at, action)).collect();
        left.sort_by_key(|(at, _)| *at);
        left.reverse();
        Self { left, down: Vec::new() }
    }

    /// Does what is due so many seconds after the start, and returns the seconds until the next action.
    ///
    /// # Errors
    /// A link cannot be taken down or up, or the device refuses a setting.
    pub(super) fn due(&mut self, session: &Session, elapsed: f64) -> Result<f64, Trouble> {
        while let Some((at, action)) = self.left.last().copied() {
            let left = at.as_secs_f64() - elapsed;
            if left > 0.0 {
                return Ok(left);
            }
            self.left.pop();
            match action {
                Action::Link { port, up } => self.link(session, port, up)?,
                Action::Change { switch, change } => {
                    let set = session.device(move |device, now| device.change(now, switch, change));
                    let refused = |why| Trouble::Error(format!("a setting is refused: {why}"));
                    set.map_err(trouble)?.map_err(refused)?;
                }
            }
        }
        Ok(f64::INFINITY)
    }

    fn link(&mut self, session: &Session, port: usize, up: bool) -> Result<(), Trouble> {
        if !up && !self.down.contains(&port) {
            self.down.push(port);
        }
        let set = session.change_link(port, up).map_err(trouble)?;
        let name = &session.plan().ports[port].name;
        set.map_err(|why| match up {
            true => Trouble::Error(format!("the link of port {name} does not come up: {why}")),
            false => Trouble::Missing(format!(
                "the tester cannot take the link of port {name} down: {why}"
            )),
        })?;
        if up {
            self.down.retain(|down| *down != port);
        }
        Ok(())
    }

    /// Takes all links up again that are down. Errors are those of the trial that left them down.
    pub(super) fn restore(&mut self, session: &Session) {
        for port in self.down.drain(..) {
            let _ = session.change_link(port, true);
        }
    }
}

/// Returns the trouble that an error of the session is.
pub(super) fn trouble(error: SessionError) -> Trouble {
    match error {
        SessionError::Starved(_) => Trouble::Disturbed(error.to_string()),
        error => Trouble::Error(error.to_string()),
    }
}
