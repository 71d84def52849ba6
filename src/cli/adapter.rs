//! The adapter of a running switch of this program: its control socket.

use std::path::PathBuf;

use daemon::messages::{About, Request, SetObject};
use ground::time::Duration;
use results::Summary;
use validate::adapter::Adapter;
use validate::bench::TrialError;
use validate::counters::{Counter, Counters, PortCounters, of_summary};

/// A switch that serves a control socket.
#[derive(Debug)]
pub(super) struct Ctl {
    path: PathBuf,
}

impl Ctl {
    /// The switch that serves this control socket.
    pub(super) const fn new(path: PathBuf) -> Self {
        Self { path }
    }

    /// Sends a request, and returns its result.
    fn ask(&self, request: &Request) -> Result<serde_json::Value, TrialError> {
        let failed = |why: String| TrialError::Error(format!("adapter.ctl: {why}"));
        let response = request.send(&self.path).map_err(|error| failed(format!("{error:#}")))?;
        match response.ok {
            true => Ok(response.result.unwrap_or_default()),
            false => {
                Err(failed(format!("the switch refuses: {}", response.error.unwrap_or_default())))
            }
        }
    }
}

impl Ctl {
    fn about(&self) -> Result<About, TrialError> {
        let about = self.ask(&Request::About {})?;
        serde_json::from_value(about).map_err(other_version)
    }
}

/// Returns the counters of a port that its switch has: an older one has no totals of PFC frames, which are unknown
/// then, and not 0.
fn known(shown: &serde_json::Value, mut counters: PortCounters) -> PortCounters {
    let totals = [("pfc_rx_frames", Counter::PfcRxAll), ("pfc_tx_frames", Counter::PfcTxAll)];
    for (_, counter) in totals.iter().filter(|(name, _)| shown.get(name).is_none()) {
        counters.port.remove(counter);
    }
    counters
}

/// Returns the error for an answer that is not understood.
fn other_version(error: serde_json::Error) -> TrialError {
    TrialError::Error(format!("adapter.ctl: the switch is of another version: {error}"))
}

impl Adapter for Ctl {
    fn settle(&self) -> Duration {
        Duration::ZERO
    }

    fn read(&mut self, ports: &[&str]) -> Result<Counters, TrialError> {
        let shown = self.ask(&Request::Show {})?;
        // Read twice: as a summary, and as it came, to see which fields are absent.
        let summary: Summary = serde_json::from_value(shown.clone()).map_err(other_version)?;
        let one = |name: &&str| {
            let found = summary.ports.iter().zip(0..).find(|(port, _)| port.port.name == *name);
            let known = |(port, n): (_, usize)| known(&shown["ports"][n], of_summary(port));
            found.map(known).ok_or_else(|| {
                let names: Vec<_> = summary.ports.iter().map(|port| port.port.name.as_str()).collect();
                let what = format!(
                    "ports: the switch has no port `{name}`; it has {}; give the right one as `dut`",
                    names.join(", ")
                );
                TrialError::Error(what)
            })
        };
        ports.iter().map(one).collect::<Result<_, _>>().map(Counters)
    }

    fn clear(&mut self) -> Result<(), TrialError> {
        self.ask(&Request::Clear {}).map(drop)
    }

    fn version(&mut self) -> Result<Option<String>, TrialError> {
        self.about().map(|about| Some(format!("sluice {}", about.version)))
    }

    fn can_read_memory(&self) -> bool {
        true
    }

    fn memory(&mut self) -> Result<Option<u64>, TrialError> {
        self.about().map(|about| about.memory)
    }

    fn can_set(&self) -> bool {
        true
    }

    fn set(&mut self, port: &str, name: &str, value: &str) -> Result<(), TrialError> {
        let object = SetObject {
            name: name.to_owned(),
            port: Some(port.to_owned()),
            class: None,
            value: value.to_owned(),
        };
        self.ask(&Request::Set(object)).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::testfolder::Folder;
    use contracts::stats::{self, DropReason, NicCounters, PortSnapshot, SwitchSnapshot};
    use daemon::messages::Response;
    use daemon::socket::{self, ControlSocket};
    use ground::time::{Instant, Total};
    use ground::units::Priority;
    use runtime::RunSnapshot;
    use validate::trial::{DETECTION, Port};

    /// Returns the summary of a switch with a port `left`, on which priority 3 was paused.
    fn summary() -> Summary {
        let mut counters = stats::PortCounters { rx_frames: 17, ..stats::PortCounters::default() };
        counters.priorities[3].rx_frames = 5;
        counters.priorities[3].pfc_rx_frames = 12;
        counters.priorities[3].pfc_rx_paused = Total::from(Duration::from_micros(7));
        counters.drops.count(DropReason::QueueLimit);
        let port = PortSnapshot {
            name: "left".into(),
            up: true,
            rate_bps: 1_000_000_000,
            counters,
            waiting: [None; 8],
            secy: None,
        };
        let mut switch = SwitchSnapshot::new("pair".into(), Instant::ZERO);
        switch.ports.push(port);
        let run = RunSnapshot {
            switch,
            nics: vec![NicCounters::NO_DEVICE],
            lossless_lost: Default::default(),
            lossless: Vec::new(),
            polls: Vec::new(),
        };
        Summary::new(&run, Duration::ZERO)
    }

    /// Serves a switch that answers so; the second value collects the requests.
    fn serve(
        path: &std::path::Path,
        answer: impl Fn(&Request) -> Response + Send + Sync + 'static,
    ) -> (ControlSocket, Arc<Mutex<Vec<Request>>>) {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let reply = move |line: &str| {
            let request = serde_json::from_str(line).unwrap();
            let response = answer(&request);
            kept.lock().unwrap().push(request);
            serde_json::to_string(&response).unwrap()
        };
        (socket::serve(path, Arc::new(reply)).unwrap(), asked)
    }

    #[test]
    fn counters_are_those_of_the_summary() {
        let folder = Folder::new("validate-ctl-read");
        let path = folder.at("s.sock");
        let (_served, _) = serve(&path, |_| Response {
            ok: true,
            result: Some(serde_json::to_value(summary()).unwrap()),
            error: None,
        });
        let mut ctl = Ctl::new(path);
        let all = ctl.read(&["left"]).unwrap();
        let of = |counter| all.get(Port(0), Priority::new(3), counter);
        assert_eq!((of(Counter::RxOk), of(Counter::PfcRx)), (Some(5), Some(12)));
        assert_eq!((of(Counter::Paused), of(Counter::PfcRxXon)), (Some(7000), None));
        assert_eq!((of(Counter::RxDrop), all.dropped()), (Some(1), Some(1)));
        let why = ctl.read(&["Ethernet0"]).unwrap_err().to_string();
        assert!(
            why.contains("no port `Ethernet0`; it has left; give the right one as `dut`"),
            "{why}"
        );
    }

    #[test]
    fn a_total_that_an_older_switch_does_not_count_is_unknown() {
        let folder = Folder::new("validate-ctl-older");
        let path = folder.at("s.sock");
        let mut shown = serde_json::to_value(summary()).unwrap();
        assert!(shown["ports"][0].as_object_mut().unwrap().remove("pfc_rx_frames").is_some());
        let (_served, _) =
            serve(&path, move |_| Response { ok: true, result: Some(shown.clone()), error: None });
        let all = Ctl::new(path).read(&["left"]).unwrap();
        let of = |counter| all.get(Port(0), None, counter);
        assert_eq!((of(Counter::PfcRxAll), of(Counter::PfcTxAll)), (None, Some(0)));
    }

    #[test]
    fn settings_are_managed_objects_and_a_refusal_is_an_error() {
        let folder = Folder::new("validate-ctl-set");
        let path = folder.at("s.sock");
        let (served, asked) = serve(&path, |request| Response {
            ok: matches!(request, Request::Clear {}),
            result: None,
            error: Some("not now".into()),
        });
        let mut ctl = Ctl::new(path.clone());
        assert!(ctl.can_set());
        assert_eq!(ctl.clear(), Ok(()));
        let why = ctl.set("left", DETECTION, "2ms").unwrap_err().to_string();
        assert_eq!(why, "adapter.ctl: the switch refuses: not now");
        let object = SetObject {
            name: "watchdog.detection".into(),
            port: Some("left".into()),
            class: None,
            value: "2ms".into(),
        };
        assert_eq!(*asked.lock().unwrap(), [Request::Clear {}, Request::Set(object)]);
        drop(served);
        let why = ctl.clear().unwrap_err().to_string();
        assert!(why.contains("no switch answers"), "{why}");
    }

    #[test]
    fn the_version_and_the_memory_are_those_of_the_switch() {
        let folder = Folder::new("validate-ctl-about");
        for (answer, memory) in
            [(r#"{"version":"9.8.7","memory":4096}"#, Some(4096)), (r#"{"version":"9.8.7"}"#, None)]
        {
            let path = folder.at("s.sock");
            let (_served, asked) = serve(&path, move |_| Response {
                ok: true,
                result: Some(serde_json::from_str(answer).unwrap()),
                error: None,
            });
            let mut ctl = Ctl::new(path);
            assert_eq!(ctl.version().unwrap().as_deref(), Some("sluice 9.8.7"));
            assert_eq!((ctl.can_read_memory(), ctl.memory().unwrap()), (true, memory));
            assert_eq!(*asked.lock().unwrap(), [Request::About {}, Request::About {}]);
        }
        let path = folder.at("old.sock");
        let (_served, _) = serve(&path, |_| Response {
            ok: false,
            result: None,
            error: Some("no command about".into()),
        });
        assert!(Ctl::new(path).memory().unwrap_err().to_string().contains("no command about"));
    }
}
