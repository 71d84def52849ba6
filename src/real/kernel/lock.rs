//! Locks on interfaces between processes.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::{fs, io};

use crate::interface::Interface;
use ground::printable;

/// A lock on an interface for this process, until it is dropped.
#[derive(Debug)]
pub struct InterfaceLock {
    /// Not read: the open socket alone has the effect.
    _socket: UnixDatagram,
}

impl InterfaceLock {
    /// Locks an interface. Nothing where the system has no such locks, or where its holder has no right to the
    /// interface.
    ///
    /// # Errors
    /// The process that holds it, in words.
    pub fn take(interface: &Interface) -> Result<Option<Self>, String> {
        match hold(interface.index) {
            Ok(socket) => Ok(Some(Self { _socket: socket })),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                match Holder::of(interface.index) {
                    Some(holder) if holder.is_believed(interface.index) => Err(holder.process),
                    // Others' processes are hidden, so nothing is known against this one.
                    None if user_of("self") != Some(0) => Err("another process".into()),
                    other => {
                        let by = other.map_or("a process that is not shown".into(), |h| h.process);
                        let name = &interface.name;
                        tracing::warn!(
                            target: "sluice::kernel",
                            "interface {name}: {by} holds its lock without a right to the interface; it is \
                             ignored, and another Sluice on the interface would not be noticed"
                        );
                        Ok(None)
                    }
                }
            }
            // A system without such sockets has no such protection.
            Err(_) => Ok(None),
        }
    }
}

/// Name of the lock on an interface: an abstract socket name, which belongs to the network
/// namespace as the interface does, and is released when the process ends for any reason.
fn lock_name(index: u32) -> String {
    format!("sluice/interface/{index}")
}

fn hold(index: u32) -> io::Result<UnixDatagram> {
    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(lock_name(index))?)
}

/// Process that holds the lock on an interface, as far as the system shows it.
struct Holder {
    process: String,
    user: Option<u32>,
}

impl Holder {
    fn of(index: u32) -> Option<Self> {
        let name = format!("@{}", lock_name(index));
        let sockets = fs::read_to_string("/proc/net/unix").ok()?;
        let line = sockets.lines().find(|line| line.ends_with(&name))?;
        let inode = format!("socket:[{}]", line.split_whitespace().nth(6)?);
        let has = |pid: &u32| {
            let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            files.map(|file| fs::read_link(file.path())).any(|link| link.is_ok_and(|l| l == *inode))
        };
        let processes = fs::read_dir("/proc").ok()?.flatten();
        let pid = processes.filter_map(|p| p.file_name().to_str()?.parse().ok()).find(has)?;
        let command = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let process = format!("process {pid} ({})", printable::line(command.trim_end()));
        Some(Self { process, user: user_of(&pid.to_string()) })
    }

    /// Returns true if the process may open the interface. Any user can bind the name of the lock, but only
    /// root, or a user whose program has the right to it, has a packet socket on the interface.
    fn is_believed(&self, index: u32) -> bool {
        let Some(user) = self.user else { return true };
        let packets = fs::read_to_string("/proc/net/packet").unwrap_or_default();
        user == 0 || Some(user) == user_of("self") || has_packet_socket(&packets, index, user)
    }
}

/// Returns true if a socket of `/proc/net/packet` is of this user and on this interface.
fn has_packet_socket(packets: &str, index: u32, user: u32) -> bool {
    packets.lines().any(|line| {
        let field = |n| line.split_whitespace().nth(n).and_then(|field| field.parse().ok());
        (field(4), field(7)) == (Some(index), Some(user))
    })
}

/// Returns the effective user of a process.
fn user_of(process: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let users = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    users.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_without_a_right_to_the_interface_is_not_believed() {
        let holder = |user| Holder { process: String::new(), user };
        // No interface has this number, and hardly a user.
        assert!(!holder(Some(4_000_000_002)).is_believed(4_000_000_003));
        assert!(
            holder(Some(0)).is_believed(4_000_000_003) && holder(None).is_believed(4_000_000_003)
        );
        let packets = "sk               RefCnt Type Proto  Iface R Rmem   User   Inode\n\
                       ffff8d3d4a2b4800 3      3    0003   7     1 0      1000   31337\n";
        assert!(has_packet_socket(packets, 7, 1_000));
        assert!(!has_packet_socket(packets, 7, 1_001) && !has_packet_socket(packets, 8, 1_000));
    }

    #[test]
    fn an_interface_is_held_by_one_and_free_again_after() {
        let first = hold(4_000_000_001).unwrap();
        assert_eq!(hold(4_000_000_001).unwrap_err().kind(), io::ErrorKind::AddrInUse);
        let by = Holder::of(4_000_000_001).unwrap();
        assert!(by.process.starts_with(&format!("process {} (", std::process::id())));
        assert!(by.is_believed(4_000_000_001), "it is this user's");
        drop(first);
        let _again = hold(4_000_000_001).unwrap();
    }
}
