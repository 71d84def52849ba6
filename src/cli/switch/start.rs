//! Messages of a switch that has started: its state, how to control and stop it, and unexpected
//! properties of its ports.

use std::path::Path;

use crate::cli::log::RUNNING;
use crate::cli::quoted;
use crate::config::SwitchFile;
use crate::dpdk::{Undone, undone_checksums};
use crate::runtime::real::Running;
use crate::runtime::{Claimed, Unpinned};
use daemon::socket;

/// Reports on standard error that the switch runs.
pub(super) fn announce(file: &SwitchFile, running: &Running, socket: Option<&Path>) {
    let (ports, workers) = (running.devices.len(), file.workers.len());
    tracing::info!(
        target: RUNNING,
        "{}: running, {}, {}; Ctrl-C stops it and prints the summary",
        file.plan.name,
        counted(ports, "port"),
        counted(workers, "worker"),
    );
    if let Some(why) = &running.placement.unpinned {
        tracing::warn!(target: RUNNING, "{}: {}", file.plan.name, unpinned(why));
    }
    for claimed in &running.placement.claimed {
        tracing::warn!(target: RUNNING, "{}: {}", file.plan.name, shared(claimed));
    }
    if let Some(path) = socket {
        let usual = path == socket::default_path(&file.plan.name);
        let option = if usual { String::new() } else { format!(" --control {}", quoted(path)) };
        let path = path.display();
        tracing::info!(target: RUNNING, "control socket: {path}, for `sluice ctl{option} show`");
    }
    let ports = file.plan.ports.iter().zip(&running.devices);
    for (port, device) in ports {
        let Some(interface) = device.interface() else { continue };
        if let Some(found) = undone_checksums(&interface) {
            tracing::warn!(target: RUNNING, "{}: {}", port.name, advice(&interface.name, &found));
        }
    }
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Remedy for workers that are not pinned.
fn unpinned(why: &Unpinned) -> String {
    format!(
        "workers are not pinned to cores: {why}; allow more CPUs, name a `core` for the ports, or write \
         `core: none`"
    )
}

/// Remedy for a configured core that another process polls on.
fn shared(claimed: &Claimed) -> String {
    format!(
        "{claimed}, so each loses it to the other at times; configure another `core`, or write `core: auto`"
    )
}

/// Remedy for checksums that the sender left to its hardware.
fn advice(port: &str, found: &Undone) -> String {
    match found {
        Undone::By { interface, command } => format!(
            "{interface}, the other end of {port}, leaves TCP and UDP checksums undone, and hosts \
             drop such frames: {command}"
        ),
        Undone::Hidden => format!(
            "the other end of {port} is in a network namespace that cannot be seen from here; if it \
             leaves TCP and UDP checksums undone, hosts drop its frames: run `ethtool -K INTERFACE tx \
             off` there"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advice_has_the_command_or_says_why_there_is_none() {
        let interface = "eth0 in namespace a".to_string();
        let command = "ip netns exec a ethtool -K eth0 tx off".to_string();
        let said = advice("v0", &Undone::By { interface, command });
        assert!(said.ends_with(": ip netns exec a ethtool -K eth0 tx off"), "{said}");
        assert!(said.starts_with("eth0 in namespace a, the other end of v0"), "{said}");
        assert!(advice("v0", &Undone::Hidden).contains("cannot be seen from here"));
        let said = unpinned(&Unpinned::TooFew { needed: 2, allowed: 2, taken: 1 });
        let expected = "workers are not pinned to cores: they need 2 CPUs, this process may use 2, and other \
                        processes of Sluice poll on 1 of them; allow more CPUs, name a `core` for the \
                        ports, or write `core: none`";
        assert_eq!(said, expected);
        let process = Some("7 (sluice switch b.yaml)".to_owned());
        let said = shared(&Claimed { cpu: 3, process });
        assert_eq!(
            said,
            "core 3 is configured, and process 7 (sluice switch b.yaml) polls on it, too, so each loses it to \
             the other at times; configure another `core`, or write `core: auto`"
        );
        assert_eq!((counted(1, "port"), counted(2, "port")), ("1 port".into(), "2 ports".into()));
    }
}
