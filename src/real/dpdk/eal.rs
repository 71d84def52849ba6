//! DPDK's environment (EAL): started once per process from typed options, and ended when its last
//! user is dropped.
//!
//! Nothing is shared with another process: memory is either anonymous hugepages (`--in-memory`,
//! which needs neither a mount nor root) or ordinary pages (`--no-huge`). Addresses are virtual
//! (`--iova-mode=va`), unless a device needs physical ones. EAL's threads stay on the CPUs that the
//! starting thread may use, or on the one of [`EalOptions::main_cpu`]. The affinity of the starting
//! thread is restored, so that threads it starts later are not pinned.

use core::ffi::{c_char, c_int};
use core::marker::PhantomData;
use std::ffi::CString;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dpdk_sys as sys;

use super::binding::{Allowed, Binding};
use super::error::{self, Error, errno, strerror, string};
use super::spec::is_pci_address;
use super::{hot, leftovers};

/// Memory in MiB that a process without hugepages reserves. Pages are not touched before they are
/// used, so an excess costs address space alone.
const NO_HUGE_MIB: u32 = 512;

/// Least free hugepage memory in MiB for which [`Memory::Auto`] uses hugepages.
const HUGE_MIB_MIN: u32 = 64;

/// Pages of DPDK's memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Memory {
    /// Hugepages where enough of them are free, else ordinary pages.
    #[default]
    Auto,
    /// Hugepages, or an error.
    Hugepages,
    /// Ordinary pages: slower address translation, but nothing to set up.
    NoHuge,
}

/// Options to start DPDK.
#[derive(Clone, Debug)]
pub struct EalOptions {
    /// Pages to use. Default: hugepages if enough of them are free.
    pub memory: Memory,
    /// Memory in MiB (1 or more). Default: with hugepages as much as is allocated later, else 512.
    pub memory_mib: Option<u32>,
    /// Enables `dpdk-telemetry.py -f <file_prefix>`. Default: no.
    pub telemetry: bool,
    /// Name of the runtime directory, which contains the telemetry socket. Default: `sluice-PID`,
    /// which no other process has.
    pub file_prefix: String,
    /// Virtual devices to create at the start, such as `net_null0`. Ports opened later by name need
    /// no entry.
    pub vdevs: Vec<String>,
    /// PCI addresses whose devices DPDK may use. Those that a driver of the kernel has are left out.
    /// None: the bus is not probed.
    pub pci: Vec<String>,
    /// CPU for the starting thread and EAL's threads during the start. Default: all CPUs that the
    /// process may use.
    pub main_cpu: Option<usize>,
    /// Further EAL arguments, passed unchanged; they may override those above.
    pub extra: Vec<String>,
    /// Most verbose DPDK log level (`RTE_LOG_*`) that goes to standard error. Default: 5, warnings.
    pub log_level: u32,
}

impl Default for EalOptions {
    fn default() -> Self {
        Self {
            memory: Memory::Auto,
            memory_mib: None,
            telemetry: false,
            file_prefix: own_prefix("sluice"),
            vdevs: Vec::new(),
            pci: Vec::new(),
            main_cpu: None,
            extra: Vec::new(),
            log_level: sys::RTE_LOG_WARNING,
        }
    }
}

/// Returns a name of a runtime directory that no other process has.
pub fn own_prefix(what: &str) -> String {
    format!("{what}-{}", std::process::id())
}

impl EalOptions {
    /// Allows those of `devices` that are PCI addresses, so that they can be opened later.
    #[must_use]
    pub fn for_devices<S: AsRef<str>>(mut self, devices: impl IntoIterator<Item = S>) -> Self {
        for device in devices {
            let name = device.as_ref().split(',').next().unwrap_or_default();
            if is_pci_address(name) {
                self.pci.push(device.as_ref().to_string());
            }
        }
        self
    }

    /// Argument list, and true if it uses hugepages.
    ///
    /// # Errors
    /// [`Error::Option`] for ordinary pages and a device that needs physical addresses.
    fn arguments(&self, cpus: &Affinity) -> Result<(Vec<String>, bool), Error> {
        let allowed = Allowed::of(&self.pci, Binding::of);
        let huge = match self.memory {
            Memory::Hugepages => true,
            Memory::Auto if allowed.physical.is_some() => true,
            Memory::NoHuge => false,
            Memory::Auto => {
                let need = u64::from(self.memory_mib.unwrap_or(HUGE_MIB_MIN));
                free_hugepage_kib() >= need * 1024
            }
        };
        // The kernel may move ordinary pages, so they have no physical address that lasts.
        if let (Some(device), false) = (&allowed.physical, huge) {
            return Err(Error::Option {
                what: format!("ordinary pages with {device}"),
                why: "its driver gives it no IOMMU, so it needs hugepages; or bind it to vfio-pci on a \
                      machine with an IOMMU"
                    .into(),
            });
        }
        let mut args: Vec<String> = vec![
            "sluice".into(),
            format!("--file-prefix={}", self.file_prefix),
            format!("--iova-mode={}", if allowed.physical.is_some() { "pa" } else { "va" }),
            // One lcore, for this thread; workers are threads of Sluice that register.
            format!("--lcores=0@({})", cpus.list()),
        ];
        let mib = self.memory_mib.or(if huge { None } else { Some(NO_HUGE_MIB) });
        if huge {
            args.push("--in-memory".into());
        } else {
            args.extend(["--no-huge".into(), "--no-shconf".into()]);
        }
        if let Some(mib) = mib {
            args.extend(["-m".into(), mib.to_string()]);
        }
        if !self.telemetry {
            args.push("--no-telemetry".into());
        }
        if allowed.devices.is_empty() {
            args.push("--no-pci".into());
        }
        args.extend(allowed.devices.iter().map(|pci| format!("--allow={pci}")));
        args.extend(self.vdevs.iter().map(|vdev| format!("--vdev={vdev}")));
        args.extend(self.extra.iter().cloned());
        Ok((args, huge))
    }
}

/// The running DPDK. Clones are handles on the same one; dropping the last ends it.
#[derive(Clone, Debug)]
pub struct Eal(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    hugepages: bool,
    arguments: Vec<String>,
    /// Set if memory of DPDK must outlive this handle: then it stays mapped until the process ends.
    pinned: AtomicBool,
}

static STARTED: AtomicBool = AtomicBool::new(false);

impl Eal {
    /// Starts DPDK.
    ///
    /// # Errors
    /// [`Error::AlreadyStarted`] for the second start in a process, whether or not the first
    /// succeeded; [`Error::Start`] with DPDK's log lines, and [`Error::Option`] for a zero byte in
    /// an argument or a CPU that this process may not use.
    pub fn start(options: &EalOptions) -> Result<Self, Error> {
        let before = Affinity::of_this_thread();
        let cpus = match options.main_cpu {
            Some(cpu) => before.only(cpu).ok_or_else(|| Error::Option {
                what: format!("main CPU {cpu}"),
                why: format!("this process may use CPUs {}", before.list()),
            })?,
            None => before.clone(),
        };
        let (arguments, hugepages) = options.arguments(&cpus)?;
        let owned = arguments
            .iter()
            .map(|arg| CString::new(arg.as_str()))
            .collect::<Result<Vec<_>, _>>()
            .map_err(|_| Error::Option {
                what: "EAL argument".into(),
                why: "a zero byte cannot stand in one".into(),
            })?;
        if STARTED.swap(true, Ordering::SeqCst) {
            return Err(Error::AlreadyStarted);
        }
        error::take_over();
        leftovers::claim(&prefix_of(&arguments));
        remove_runtime_dir_at_exit();
        // A successful start warns of conditions that do not concern the user, such as hugepages of
        // one size and not of another.
        let warns_only = options.log_level <= sys::RTE_LOG_WARNING;
        error::echo_up_to(if warns_only { sys::RTE_LOG_ERR } else { options.log_level });
        // EAL's threads inherit the affinity that the starting thread has at this moment.
        cpus.apply();
        let result = error::capture(|| init(&owned));
        error::echo_up_to(options.log_level);
        before.apply();
        hot::refresh_lcore();
        match result {
            Ok(()) => Ok(Self(Arc::new(Inner { hugepages, arguments, pinned: false.into() }))),
            Err((code, logged)) => Err(Error::Start {
                reason: strerror(code),
                remedy: start_remedy(code, hugepages),
                logged,
            }),
        }
    }

    /// True if DPDK's memory is hugepages.
    pub fn hugepages(&self) -> bool {
        self.0.hugepages
    }

    /// Arguments with which EAL was started.
    pub fn arguments(&self) -> &[String] {
        &self.0.arguments
    }

    /// Directory of the telemetry socket.
    pub fn runtime_dir(&self) -> String {
        // SAFETY: reads a static string, which is set while EAL is running.
        string(unsafe { sys::rte_eal_get_runtime_dir() })
    }

    /// Gives the calling thread a share of every pool's cache, until the guard is dropped in the
    /// same thread. Without it a thread works too, but every frame that it allocates or frees then
    /// goes through the pool's shared ring, at about 20 times the cost.
    ///
    /// # Errors
    /// [`Error::Worker`] when all of DPDK's lcore numbers (128 as distributed) are taken.
    pub fn register_worker(&self) -> Result<Worker, Error> {
        if hot::lcore() != sys::SLUICE_LCORE_ID_ANY {
            return Ok(Worker { eal: self.clone(), registered: false, _here: PhantomData });
        }
        // SAFETY: EAL is running, and this thread is not an lcore yet.
        if unsafe { sys::rte_thread_register() } != 0 {
            return Err(Error::Worker(strerror(errno())));
        }
        hot::refresh_lcore();
        Ok(Worker { eal: self.clone(), registered: true, _here: PhantomData })
    }

    /// Keeps DPDK's memory mapped until the process ends, because something still points into it.
    pub(super) fn pin(&self) {
        self.0.pinned.store(true, Ordering::SeqCst);
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.pinned.load(Ordering::SeqCst) {
            return;
        }
        // SAFETY: EAL is running, and every pool and port, which hold a handle, is gone.
        let code = unsafe { sys::rte_eal_cleanup() };
        if code != 0 {
            tracing::warn!(target: "sluice::dpdk", "dpdk: clean-up: {}", strerror(code));
        }
    }
}

/// Registration of a thread as a worker; see [`Eal::register_worker`].
#[derive(Debug)]
pub struct Worker {
    eal: Eal,
    registered: bool,
    /// The registration belongs to the thread, so the guard must not leave it.
    _here: PhantomData<*const ()>,
}

impl Worker {
    /// DPDK handle of this worker.
    pub fn eal(&self) -> &Eal {
        &self.eal
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.registered {
            // SAFETY: this thread registered itself, and has not left since.
            unsafe { sys::rte_thread_unregister() };
            hot::refresh_lcore();
        }
    }
}

/// Release of the loaded DPDK, such as `DPDK 22.11.11`.
pub fn dpdk_version() -> String {
    // SAFETY: needs no EAL, and returns a static string.
    string(unsafe { sys::rte_version() })
}

/// Release of the DPDK headers of this build, such as `22.11.11`.
pub fn built_against() -> &'static str {
    sys::BUILT_AGAINST
}

/// Name of the runtime directory: the last one in the arguments.
fn prefix_of(arguments: &[String]) -> String {
    let given = arguments.iter().rev().find_map(|arg| arg.strip_prefix("--file-prefix="));
    given.unwrap_or_default().to_owned()
}

/// Removes the runtime directory when the process exits: DPDK creates one for every start, also for
/// one that fails, and leaves it.
fn remove_runtime_dir_at_exit() {
    extern "C" fn remove() {
        leftovers::release();
        // SAFETY: returns a static string, which is empty where no directory was made.
        let dir = unsafe { sys::rte_eal_get_runtime_dir() };
        // SAFETY: `dir` ends with a zero. A directory that is not empty stays: another process of
        // the same prefix may use it.
        unsafe { libc::rmdir(dir) };
    }
    // Functions run in reverse order, so this one runs after the one by which DPDK removes its
    // telemetry socket.
    // SAFETY: `remove` stays for ever and does not unwind. On failure the directory stays.
    let _ = unsafe { libc::atexit(remove) };
}

fn init(arguments: &[CString]) -> Result<(), c_int> {
    let mut argv: Vec<*mut c_char> = arguments.iter().map(|a| a.as_ptr().cast_mut()).collect();
    let argc = argv.len() as c_int;
    argv.push(core::ptr::null_mut());
    // SAFETY: `argv` holds `argc` zero-terminated strings and a null, all alive over the call. EAL
    // permutes the array, and copies the strings before it keeps or changes any.
    let code = unsafe { sys::rte_eal_init(argc, argv.as_mut_ptr()) };
    if code < 0 { Err(errno()) } else { Ok(()) }
}

fn start_remedy(code: c_int, hugepages: bool) -> &'static str {
    match code {
        libc::EACCES | libc::EPERM => {
            "Check that this user may write to the runtime directory (XDG_RUNTIME_DIR or /tmp; \
             /var/run for root), and for PCI devices that it may use /dev/vfio"
        }
        libc::ENOMEM if hugepages => {
            "Free or add hugepages (as root: echo 512 > /proc/sys/vm/nr_hugepages), ask for less \
             memory, or do without hugepages"
        }
        libc::ENOMEM => "Ask for less memory",
        libc::ENODEV | libc::ENOTSUP => {
            "Check the devices named at the start; `sluice doctor` shows what DPDK sees"
        }
        _ => "`sluice doctor` checks what DPDK needs of this machine",
    }
}

/// Free hugepage memory of every size, in KiB; 0 where the kernel has none.
pub(super) fn free_hugepage_kib() -> u64 {
    let Ok(sizes) = fs::read_dir("/sys/kernel/mm/hugepages") else { return 0 };
    let mut kib = 0;
    for size in sizes.flatten() {
        let name = size.file_name();
        let page = name.to_string_lossy();
        let page = page.strip_prefix("hugepages-").and_then(|s| s.strip_suffix("kB"));
        let free = fs::read_to_string(size.path().join("free_hugepages")).ok();
        let page: Option<u64> = page.and_then(|s| s.parse().ok());
        let free: Option<u64> = free.and_then(|s| s.trim().parse().ok());
        kib += page.unwrap_or(0) * free.unwrap_or(0);
    }
    kib
}

/// Set of CPUs that a thread may run on.
#[derive(Clone)]
pub(super) struct Affinity(libc::cpu_set_t);

impl Affinity {
    /// Affinity of the calling thread; empty if the kernel does not report it.
    pub(super) fn of_this_thread() -> Self {
        // SAFETY: a CPU set is a bit array, of which all zeroes is a value.
        let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
        // SAFETY: `set` is writable and of the size passed; 0 is the calling thread.
        unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
        Self(set)
    }

    /// CPUs of the set, lowest first.
    pub(super) fn cpus(&self) -> Vec<usize> {
        (0..libc::CPU_SETSIZE as usize).filter(|&cpu| self.has(cpu)).collect()
    }

    fn has(&self, cpu: usize) -> bool {
        // SAFETY: callers keep `cpu` below CPU_SETSIZE, which is what the array has.
        cpu < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(cpu, &self.0) }
    }

    /// Set of this CPU alone, or none if it is not in the set.
    fn only(&self, cpu: usize) -> Option<Self> {
        if !self.has(cpu) {
            return None;
        }
        // SAFETY: a CPU set is a bit array, of which all zeroes is a value.
        let mut set: libc::cpu_set_t = unsafe { core::mem::zeroed() };
        // SAFETY: `has` bounds `cpu`.
        unsafe { libc::CPU_SET(cpu, &mut set) };
        Some(Self(set))
    }

    fn apply(&self) {
        // SAFETY: `self.0` is readable and of the size passed; 0 is the calling thread. The set
        // came from the kernel, so refusing it is not expected and would change nothing.
        unsafe { libc::sched_setaffinity(0, size_of_val(&self.0), &self.0) };
    }

    /// The set as EAL and the kernel write it: `0,1,4`.
    pub(super) fn list(&self) -> String {
        self.cpus().iter().map(usize::to_string).collect::<Vec<_>>().join(",")
    }
}
