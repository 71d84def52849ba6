//! The adapter of a running switch of this program: its control socket.

use std::path::PathBuf;

use super::{Adapter, Counters, of_snapshot};
use crate::bench::Trouble;
use daemon::messages::{Request, SetObject};
use ground::time::Duration;
use results::Summary;

/// A switch that serves a control socket.
#[derive(Debug)]
pub struct Ctl {
    path: PathBuf,
}

impl Ctl {
    /// The switch that serves this control socket.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Sends a request, and returns its result.
    fn ask(&self, request: &Request) -> Result<serde_json::Value, Trouble> {
        let failed = |why: String| Trouble::Error(format!("adapter.ctl: {why}"));
        let response = request.send(&self.path).map_err(|error| failed(format!("{error:#}")))?;
        match response.ok {
            true => Ok(response.result.unwrap_or_default()),
            false => {
                Err(failed(format!("the switch refuses: {}", response.error.unwrap_or_default())))
            }
        }
    }
}

impl Adapter for Ctl {
    fn settle(&self) -> Duration {
        Duration::ZERO
    }

    fn read(&mut self, ports: &[&str]) -> Result<Counters, Trouble> {
        let shown = self.ask(&Request::Show {})?;
        let summary: Summary = serde_json::from_value(shown).map_err(|error| {
            Trouble::Error(format!("adapter.ctl: the switch is of another version: {error}"))
        })?;
        let one = |name: &&str| {
            let found = summary.ports.iter().find(|port| port.port.name == *name);
            found.map(|port| of_snapshot(&port.port)).ok_or_else(|| {
                let names: Vec<_> = summary.ports.iter().map(|port| port.port.name.as_str()).collect();
                let what = format!(
                    "ports: the switch has no port `{name}`; it has {}; give the right one as `dut`",
                    names.join(", ")
                );
                Trouble::Error(what)
            })
        };
        ports.iter().map(one).collect::<Result<_, _>>().map(Counters)
    }

    fn clear(&mut self) -> Result<(), Trouble> {
        self.ask(&Request::Clear {}).map(drop)
    }

    fn can_set(&self) -> bool {
        true
    }

    fn set(&mut self, port: &str, name: &str, value: &str) -> Result<(), Trouble> {
        let object = SetObject {
            name: name.to_owned(),
            port: Some(port.to_owned()),
            class: None,
            value: value.to_owned(),
        };
        self.ask(&Request::Set(object)).map(drop)
    }
}
