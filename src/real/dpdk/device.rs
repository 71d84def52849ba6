//! A device by its EAL name: from its name to a DPDK port number, and back. It is attached while EAL
//! runs.
//!
//! Drivers handle the peers of their sockets on EAL's interrupt thread. DPDK 22.11's memif driver frees a
//! connection's memory when the peer disconnects (on the interrupt thread) and when the device is stopped
//! (on the caller's), without mutual exclusion: two ends that stop at the same time free it twice. So such a
//! device is stopped and closed on the interrupt thread, where no other callback runs meanwhile.

use core::ffi::{c_int, c_void};
use std::ffi::CString;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use dpdk_sys as sys;

use super::binding::Binding;
use super::eal::Eal;
use super::error::{self, Error, Logged, strerror, string};
use super::gate::Gate;
use super::kernel_side::KernelSide;
use super::life::Life;
use super::pair::Ring;
use super::pool::{Pool, memory_remedy};
use super::queues::QUEUES_MAX;
use super::sockets;
use super::spec::{Claim, Spec, VIRTUAL, is_pci_address, pci_address};

/// Pools whose frames a device, or a pair of devices, may hold. They must outlive it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pools(Arc<Mutex<Vec<Pool>>>);

impl Pools {
    fn lock(&self) -> MutexGuard<'_, Vec<Pool>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An attached device. It is detached when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Device {
    /// DPDK's port number.
    pub(super) id: u16,
    /// Name and arguments with which it was opened.
    pub(super) spec: Spec,
    /// Driver name, such as `net_af_packet`.
    pub(super) driver: String,
    /// True for a virtual device: no MAC, no wire and no line rate.
    pub(super) is_virtual: bool,
    /// Interface of the kernel that it works on, if any, and the losses there.
    pub(super) kernel: KernelSide,
    /// Admit the polling thread of each queue to the driver.
    pub(super) gates: [Gate; QUEUES_MAX],
    /// Held by any other thread that calls the driver.
    life: RwLock<Life>,
    /// Rings of Sluice that it works on; before `pools`, because they may hold frames of them.
    _rings: Vec<Arc<Ring>>,
    pools: Pools,
    pub(super) eal: Eal,
    _claim: Claim,
}

/// Parts of a device that exist before its port is adopted.
pub(super) struct Adopted {
    pub(super) spec: Spec,
    pub(super) kernel: KernelSide,
    pub(super) claim: Claim,
    /// Rings in memory that it sends to and receives from, if it is one of a pair.
    pub(super) rings: Vec<Arc<Ring>>,
    pub(super) pools: Pools,
}

impl Device {
    /// Attaches the device that `text` names.
    pub(super) fn open(eal: &Eal, text: &str) -> Result<Arc<Self>, Error> {
        let spec = Spec::parse(text)?;
        let claim = Claim::take(&spec)?;
        let kernel = KernelSide::new(&spec);
        let id = match port_by_name(&spec.name) {
            Some(id) => id,
            None => {
                spec.check_before()?;
                let taken = |by| Error::Taken { device: spec.full.clone(), by };
                kernel.hold().map_err(taken)?;
                spec.attach(eal)?
            }
        };
        let pools = Pools::default();
        let device =
            Self::adopt(eal, id, Adopted { spec, kernel, claim, rings: Vec::new(), pools })?;
        device.kernel.attach(info(id).map_or(0, |info| info.if_index));
        Ok(device)
    }

    /// Adopts an existing port.
    pub(super) fn adopt(eal: &Eal, id: u16, parts: Adopted) -> Result<Arc<Self>, Error> {
        let Adopted { spec, kernel, claim, rings, pools } = parts;
        let step = "ask what it can do";
        let failed = |code| spec.failed(step, strerror(code), Logged::default());
        let info = info(id).map_err(failed)?;
        // These drivers leave interrupts behind whose handles are in EAL's memory, and EAL's
        // cleanup unmaps that while the interrupt thread still reads them.
        let sockets = ["net_memif", "net_vhost", "eth_vhost", "net_virtio_user", "virtio_user"];
        if spec.virtual_driver().is_some_and(|driver| sockets.contains(&driver)) {
            eal.pin();
        }
        // SAFETY: the port exists.
        let bus = unsafe { sys::sluice_port_bus(id) };
        Ok(Arc::new(Self {
            id,
            driver: string(info.driver_name),
            is_virtual: string(bus) == "vdev",
            spec,
            kernel,
            gates: Default::default(),
            life: RwLock::default(),
            _rings: rings,
            pools,
            eal: eal.clone(),
            _claim: claim,
        }))
    }

    /// Locks the setup for opening the device again; while it is held the driver may be called.
    pub(super) fn life(&self) -> RwLockReadGuard<'_, Life> {
        self.life.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Locks it exclusively to open the device again: no other thread calls the driver.
    pub(super) fn life_mut(&self) -> RwLockWriteGuard<'_, Life> {
        self.life.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the port and removes the device.
    pub(super) fn detach(&self) {
        self.apart(|| close(self.id));
    }

    /// Stops the port. No thread polls it any more.
    pub(super) fn stop(&self) {
        // SAFETY: while its device is held the port exists, or its number is refused.
        self.apart(|| _ = unsafe { sys::rte_eth_dev_stop(self.id) });
    }

    /// Runs `work` while the driver handles no event of a peer.
    fn apart(&self, work: impl FnOnce() + Send) {
        match self.spec.virtual_driver() {
            Some("net_memif") => run_on_interrupt_thread(work),
            _ => work(),
        }
    }

    /// Keeps `pool` alive for as long as the device may hold frames of it.
    pub(super) fn hold(&self, pool: &Pool) {
        let mut pools = self.pools.lock();
        if !pools.iter().any(|held| held.as_ptr() == pool.as_ptr()) {
            pools.push(pool.clone());
        }
    }

    /// Returns the pool of this name, if the device holds it.
    pub(super) fn held(&self, name: &str) -> Option<Pool> {
        self.pools.lock().iter().find(|pool| pool.name() == name).cloned()
    }

    pub(super) fn error(&self, step: &'static str, code: c_int, logged: Logged) -> Error {
        match code.abs() {
            libc::ENOMEM => Error::NoMemory {
                what: format!("{} (to {step})", self.spec.full),
                need_kib: 0,
                remedy: memory_remedy(&self.eal),
                logged,
            },
            _ => self.spec.failed(step, reason(code), logged),
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        if !self.life().is_detached {
            self.detach();
        }
    }
}

/// Closes a port that is stopped and unused, and removes its device.
pub(super) fn close(id: u16) {
    let device = info(id).map(|info| info.device);
    // SAFETY: the port is stopped, and no handle on it is left; an unknown number is refused.
    unsafe { sys::rte_eth_dev_close(id) };
    if let Ok(device) = device {
        // SAFETY: the device outlives its port until it is removed here.
        unsafe { sys::rte_dev_remove(device) };
    }
}

impl Spec {
    /// Attaches the device and returns DPDK's number for its port.
    pub(super) fn attach(&self, eal: &Eal) -> Result<u16, Error> {
        let c_text = self.c_text()?;
        let probe = || {
            // SAFETY: EAL runs while `eal` is alive; the text ends with a zero and is copied.
            match unsafe { sys::rte_dev_probe(c_text.as_ptr()) } {
                0 => Ok(()),
                code => Err(code),
            }
        };
        sockets::attach(|| error::capture(probe))
            .map_err(|(code, logged)| self.explain(eal, code, logged))?;
        port_by_name(&self.name).ok_or_else(|| Error::NoDriver {
            device: self.full.clone(),
            remedy: "a driver took it, but made no Ethernet port of it".into(),
            logged: Logged::default(),
        })
    }

    fn c_text(&self) -> Result<CString, Error> {
        CString::new(self.full.as_str()).map_err(|_| Error::Option {
            what: format!("device `{}`", self.full),
            why: "a zero byte cannot stand in it".into(),
        })
    }

    /// Checks for conditions that drivers report as a failure without a reason.
    fn check_before(&self) -> Result<(), Error> {
        let device = self.full.clone();
        if is_pci_address(&self.name) {
            return self.check_binding(Binding::of(&self.name));
        }
        if let Some(interface) = self.interface() {
            let absent = match CString::new(interface) {
                // SAFETY: the name ends with a zero.
                Ok(name) => unsafe { libc::if_nametoindex(name.as_ptr()) == 0 },
                Err(_) => true,
            };
            if absent {
                return Err(Error::Absent {
                    device,
                    remedy: format!(
                        "the network interface {interface} does not exist in this network \
                         namespace; `ip link` lists those that do"
                    ),
                    logged: Logged::default(),
                });
            }
        }
        let remedy = match self.virtual_driver() {
            Some("net_af_packet" | "eth_af_packet" | "net_af_xdp") if !may_open_packet_socket() => {
                "packet sockets need CAP_NET_RAW (af_xdp also CAP_NET_ADMIN and CAP_BPF): run as \
                 root, or `setcap cap_net_raw,cap_net_admin+ep` the program"
            }
            Some("net_tap") if !may_write("/dev/net/tun") => {
                "net_tap needs /dev/net/tun and CAP_NET_ADMIN: run as root"
            }
            _ => return Ok(()),
        };
        Err(Error::Permission { device, remedy, logged: Logged::default() })
    }

    /// Refuses a PCI device that does not exist, or that DPDK must not touch.
    fn check_binding(&self, binding: Binding) -> Result<(), Error> {
        let (device, logged) = (self.full.clone(), Logged::default());
        let bind = format!("dpdk-devbind.py --bind=vfio-pci {}", self.name);
        match binding {
            Binding::Usable { .. } => Ok(()),
            Binding::Absent => {
                let remedy =
                    "`dpdk-devbind.py --status` lists the PCI devices of this machine".into();
                Err(Error::Absent { device, remedy, logged })
            }
            Binding::Unbound => {
                Err(Error::NoDriver { device, remedy: format!("bind it to DPDK: {bind}"), logged })
            }
            Binding::Kernel(driver) => {
                let remedy =
                    format!("it is bound to the kernel's {driver}; bind it to DPDK: {bind}");
                Err(Error::NoDriver { device, remedy, logged })
            }
        }
    }

    /// Translates a failure to attach into an error with its cause.
    fn explain(&self, eal: &Eal, code: c_int, logged: Logged) -> Error {
        let device = self.full.clone();
        let is_virtual = self.virtual_driver().is_some();
        match code.abs() {
            libc::ENOMEM => {
                Error::NoMemory { what: device, need_kib: 0, remedy: memory_remedy(eal), logged }
            }
            // Many drivers return -1, which is -EPERM, for any failure.
            code if code == libc::EACCES || logged.is_about_permission() => {
                let remedy = if is_virtual {
                    "run as root, or give the program the capability or the file it needs"
                } else {
                    "run as root, or give this user the device (its group under /dev/vfio) and a \
                     `memlock` limit that covers DPDK's memory"
                };
                Error::Permission { device, remedy, logged }
            }
            // The parser of device names found no bus that knows this name.
            libc::EFAULT if is_virtual => Error::NoDriver {
                device,
                remedy: format!("a virtual device is {VIRTUAL}, with a number behind it"),
                logged,
            },
            libc::ENODEV if !is_virtual => {
                Error::Absent { device, remedy: self.pci_remedy(eal), logged }
            }
            _ if !is_virtual => Error::NoDriver { device, remedy: self.pci_remedy(eal), logged },
            _ if sockets::is_taken(&logged) => {
                let reason = "other processes have its packet fanout group, whose number comes from \
                              the process's and the interface's; start it again";
                self.failed("attach it", reason, logged)
            }
            _ if code == -1 && !logged.0.is_empty() => {
                self.failed("attach it", "its driver refused", logged)
            }
            _ => self.failed("attach it", reason(code), logged),
        }
    }

    /// Possible causes of a failure of a PCI device that is bound to DPDK.
    fn pci_remedy(&self, eal: &Eal) -> String {
        let name = &self.name;
        let allowed = |arg: &String| {
            let device = arg.strip_prefix("--allow=").and_then(|device| device.split(',').next());
            device.and_then(pci_address).as_deref() == Some(name)
        };
        if !eal.arguments().iter().any(allowed) {
            return format!("DPDK was started without {name} among the devices it may take");
        }
        "no driver of the loaded DPDK is for this model, or the driver failed".into()
    }
}

impl Logged {
    fn is_about_permission(&self) -> bool {
        let about = |line: &String| line.contains("ermission") || line.contains("not permitted");
        self.0.iter().any(about)
    }
}

/// Text of a driver's error code. Many drivers return -1 for any failure, although its number means
/// a lack of permission.
fn reason(code: c_int) -> String {
    if code == -1 { "the driver gives no reason".into() } else { strerror(code) }
}

/// DPDK's number of the port with this name.
pub(super) fn port_by_name(name: &str) -> Option<u16> {
    let name = CString::new(name).ok()?;
    let mut id = 0;
    // SAFETY: the name ends with a zero, and `id` is writable.
    let code = unsafe { sys::rte_eth_dev_get_port_by_name(name.as_ptr(), &mut id) };
    (code == 0).then_some(id)
}

/// DPDK's information about a port.
pub(super) fn info(id: u16) -> Result<sys::rte_eth_dev_info, c_int> {
    let mut info = sys::rte_eth_dev_info::default();
    // SAFETY: `info` is writable; an unknown number is refused.
    match unsafe { sys::rte_eth_dev_info_get(id, &mut info) } {
        0 => Ok(info),
        code => Err(code),
    }
}

fn may_open_packet_socket() -> bool {
    // SAFETY: plain system call without pointers.
    let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) };
    if socket >= 0 {
        // SAFETY: just opened, and not used anywhere else.
        unsafe { libc::close(socket) };
    }
    socket >= 0
}

fn may_write(path: &str) -> bool {
    std::fs::OpenOptions::new().write(true).open(path).is_ok()
}

/// Work to do, and the channel that reports its end.
struct Errand<F> {
    work: F,
    done: SyncSender<()>,
}

/// Runs `work` on the interrupt thread and waits for its end. If EAL accepts no alarm, it runs on
/// the calling thread.
///
/// The calling thread must not be the interrupt thread, which would wait for itself.
fn run_on_interrupt_thread<F: FnOnce() + Send>(work: F) {
    let (done, ended) = sync_channel(1);
    let errand = Box::into_raw(Box::new(Errand { work, done }));
    // SAFETY: `errand` is a box of this type, which the callback takes over, and it is called once.
    let code = unsafe { sys::rte_eal_alarm_set(1, Some(callback::<F>), errand.cast()) };
    if code == 0 {
        // The borrows of `work` live until here. A panic in it ends the process, as the callback is
        // C's.
        ended.recv().expect("the callback tells of its end");
        return;
    }
    // SAFETY: EAL did not take the callback, so the box is still ours.
    let Errand { work, .. } = *unsafe { Box::from_raw(errand) };
    work();
}

unsafe extern "C" fn callback<F: FnOnce() + Send>(argument: *mut c_void) {
    // SAFETY: `argument` is the box that `run_on_interrupt_thread` made for this call.
    let Errand { work, done } = *unsafe { Box::from_raw(argument.cast::<Errand<F>>()) };
    work();
    // `run_on_interrupt_thread` waits for this, so there is a receiver.
    let _ = done.send(());
}
