//! AES-GCM for a SecY by a DPDK crypto device that works synchronously on this CPU
//! (`crypto_aesni_gcm` and `crypto_aesni_mb` of Intel's multi-buffer library).
//!
//! A device has no queue and no thread: any thread may use any cipher, one at a time. The first
//! call of a thread allocates memory of the C library, later calls do not.
//!
//! A DPDK session has one direction and one length of readable octets, so a cipher holds three: one
//! for each length that its SecY's encrypted frames have, and one of GMAC for frames that stay
//! readable. Its memory is wiped when it is freed. The driver compares check values with `memcmp`,
//! whose time for 16 octets does not depend on them in the C libraries that were tested; aws-lc-rs
//! guarantees it.

use core::ffi::{c_int, c_void};
use core::ptr::{self, NonNull};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use dpdk_sys as sys;
use dpdk_sys::rte_mempool;

use super::eal::Eal;
use super::error::{self, Error, Logged, errno, strerror};
use super::pool::memory_remedy;
use secure::{Aead, BATCH, Ciphers, Direction, Job, Sak};
use wire::macsec::ICV_LEN;

/// Capacity in sessions of a device: about 300 associations, about 1 KiB per session.
const SESSIONS: u32 = 1_024;

/// Devices of this process by driver, at most one per driver.
static ATTACHED: Mutex<BTreeMap<&'static str, Weak<Inner>>> = Mutex::new(BTreeMap::new());

/// A crypto device. Clones are handles on the same device, which is detached when the last handle
/// and the last cipher are dropped.
#[derive(Clone, Debug)]
pub struct CryptoDevice(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    id: u8,
    driver: &'static str,
    sessions: NonNull<rte_mempool>,
    /// Held while a session is made or freed: its memory is wiped between the two.
    changing: Mutex<()>,
    _eal: Eal,
}

// SAFETY: sessions are made and freed under the lock, and DPDK lets any thread use any of them.
unsafe impl Send for Inner {}
// SAFETY: as above.
unsafe impl Sync for Inner {}

/// Returns the ciphers for SecYs of the real world: the device's if there is one, because it took
/// less time than aws-lc-rs for frames of every length in both directions (`perf/README.md`). None
/// without a device: the SecY then uses the built-in cipher, and reports that.
pub fn ciphers(eal: &Eal) -> Option<Arc<dyn Ciphers>> {
    CryptoDevice::any(eal).ok().map(|device| Arc::new(device) as _)
}

impl CryptoDevice {
    /// Drivers with synchronous AES-GCM, the one with the shorter call path first.
    pub const DRIVERS: [&'static str; 2] = ["crypto_aesni_gcm", "crypto_aesni_mb"];

    /// Opens the first of [`Self::DRIVERS`] that this DPDK has and that works.
    ///
    /// # Errors
    /// The error of the last driver tried.
    pub fn any(eal: &Eal) -> Result<Self, Error> {
        let [first, second] = Self::DRIVERS;
        Self::open(eal, first).or_else(|_| Self::open(eal, second))
    }

    /// Opens the device of this driver, and attaches it if it is not attached.
    ///
    /// # Errors
    /// [`Error::NoDriver`] if this DPDK does not have the driver, [`Error::Device`] and
    /// [`Error::NoMemory`] if the device cannot be set up.
    pub fn open(eal: &Eal, driver: &'static str) -> Result<Self, Error> {
        let mut attached = locked(&ATTACHED);
        if let Some(device) = attached.get(driver).and_then(Weak::upgrade) {
            return Ok(Self(device));
        }
        let device = Arc::new(Inner::attach(eal, driver)?);
        attached.insert(driver, Arc::downgrade(&device));
        Ok(Self(device))
    }

    pub fn driver(&self) -> &'static str {
        self.0.driver
    }
}

impl Inner {
    fn attach(eal: &Eal, driver: &'static str) -> Result<Self, Error> {
        let name = CString::new(format!("{driver}0")).map_err(|_| Error::Option {
            what: "crypto driver".into(),
            why: "a zero byte cannot stand in its name".into(),
        })?;
        error::capture(|| {
            // SAFETY: EAL runs while `eal` is alive; the text ends with a zero and is copied.
            match unsafe { sys::rte_dev_probe(name.as_ptr()) } {
                0 => device_id(&name).ok_or(-libc::ENODEV),
                code => Err(code),
            }
        })
        .map_err(|(code, logged)| Error::NoDriver {
            device: driver.into(),
            remedy: format!(
                "{}; Debian has it in librte-crypto-ipsec-mb, and there is none for other CPUs \
                 than x86",
                strerror(code)
            ),
            logged,
        })
        .and_then(|id| Self::set_up(eal, driver, id).inspect_err(|_| detach(id)))
    }

    fn set_up(eal: &Eal, driver: &'static str, id: u8) -> Result<Self, Error> {
        let fail = |step, code, logged| {
            let (device, reason) = (driver.into(), strerror(code));
            Error::Device { device, step, reason, logged }
        };
        if ![16, 32].iter().any(|&key| offers(id, Direction::Open, key, 20)) {
            return Err(fail("do AES-GCM in the call", libc::ENOTSUP, Logged::default()));
        }
        let any_socket = sys::SLUICE_SOCKET_ID_ANY_BITS as c_int;
        // Calls use no queue, but DPDK requires one.
        let mut config = sys::rte_cryptodev_config {
            socket_id: any_socket,
            nb_queue_pairs: 1,
            ..Default::default()
        };
        let started = error::capture(|| {
            // SAFETY: the device exists, and `config` is readable.
            match unsafe { sys::rte_cryptodev_configure(id, &mut config) } {
                0 => {}
                code => return Err(code),
            }
            // SAFETY: it exists, and is configured.
            match unsafe { sys::rte_cryptodev_start(id) } {
                0 => Ok(()),
                code => Err(code),
            }
        });
        started.map_err(|(code, logged)| fail("start", code, logged))?;
        // SAFETY: the device exists.
        let octets = unsafe { sys::rte_cryptodev_sym_get_private_session_size(id) };
        let name = CString::new(format!("{driver}_keys")).expect("it had no zero before");
        let made = error::capture(|| {
            // SAFETY: the name ends with a zero and is copied; the pool has no cache, so the lock
            // alone decides which elements are in use.
            let pool = unsafe {
                sys::rte_cryptodev_sym_session_pool_create(
                    name.as_ptr(),
                    SESSIONS,
                    octets,
                    0,
                    0,
                    any_socket,
                )
            };
            NonNull::new(pool).ok_or_else(errno)
        });
        let sessions = made.map_err(|(_, logged)| Error::NoMemory {
            what: format!("the keys of {driver}"),
            need_kib: u64::from(SESSIONS) * u64::from(octets) / 1_024,
            remedy: memory_remedy(eal),
            logged,
        })?;
        Ok(Self { id, driver, sessions, changing: Mutex::new(()), _eal: eal.clone() })
    }
}

impl Ciphers for CryptoDevice {
    fn name(&self) -> &'static str {
        self.0.driver
    }

    fn make(&self, direction: Direction, key: &Sak, readable: [usize; 2]) -> Option<Box<dyn Aead>> {
        let octets = key.octets();
        let [Ok(short), Ok(long)] = readable.map(u16::try_from) else { return None };
        let offered = |&n: &u16| offers(self.0.id, direction, octets.len() as u16, n);
        if ![short, long].iter().all(offered) {
            return None;
        }
        let (gcm, gmac) = kinds(direction);
        let session = |what, aad| Session::new(self, what, octets, aad);
        Some(Box::new(DeviceCipher {
            direction,
            readable,
            partly: [session(gcm, short)?, session(gcm, long)?],
            wholly: session(gmac, 0)?,
        }))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The lock keeps another thread from opening the device before it is detached.
        let _attached = locked(&ATTACHED);
        detach(self.id);
        // SAFETY: every session holds a handle on this, so all have been returned.
        unsafe { sys::rte_mempool_free(self.sessions.as_ptr()) };
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True if the device has both GCM with `readable` octets of associated data, and GMAC.
fn offers(id: u8, direction: Direction, key: u16, readable: u16) -> bool {
    let (gcm, gmac) = kinds(direction);
    // SAFETY: the device exists.
    let offers = |what| unsafe { sys::sluice_crypto_offers(id, what, key, readable) } != 0;
    offers(gcm) && offers(gmac)
}

/// Operations of the GCM and the GMAC session of a direction.
const fn kinds(direction: Direction) -> (sys::sluice_crypto_what, sys::sluice_crypto_what) {
    match direction {
        Direction::Seal => (sys::SLUICE_CRYPTO_GCM_SEAL, sys::SLUICE_CRYPTO_GMAC_SEAL),
        Direction::Open => (sys::SLUICE_CRYPTO_GCM_OPEN, sys::SLUICE_CRYPTO_GMAC_OPEN),
    }
}

fn device_id(name: &CString) -> Option<u8> {
    // SAFETY: the name ends with a zero.
    u8::try_from(unsafe { sys::rte_cryptodev_get_dev_id(name.as_ptr()) }).ok()
}

fn detach(id: u8) {
    let mut info = sys::rte_cryptodev_info::default();
    // SAFETY: the device exists, and `info` is writable.
    unsafe { sys::rte_cryptodev_info_get(id, &mut info) };
    // SAFETY: it exists, and no other user of it is left.
    unsafe { sys::rte_cryptodev_stop(id) };
    // SAFETY: as above, and it is stopped.
    unsafe { sys::rte_cryptodev_close(id) };
    // SAFETY: the device below a crypto device outlives it until it is removed here.
    unsafe { sys::rte_dev_remove(info.device) };
}

/// A key in the device's form.
#[derive(Debug)]
struct Session {
    session: NonNull<c_void>,
    device: CryptoDevice,
}

// SAFETY: DPDK's sessions are not written after they were made, and any thread may use them.
unsafe impl Send for Session {}

impl Session {
    fn new(
        device: &CryptoDevice,
        what: sys::sluice_crypto_what,
        key: &[u8],
        readable: u16,
    ) -> Option<Self> {
        let inner = &device.0;
        let _changing = locked(&inner.changing);
        // A failure is not an error: the built-in cipher is used instead, and the SecY reports it.
        let made = error::capture(|| {
            // SAFETY: device and pool exist, and the key has the length that is passed.
            let session = unsafe {
                sys::sluice_crypto_session(
                    inner.id,
                    inner.sessions.as_ptr(),
                    what,
                    key.as_ptr(),
                    key.len() as u16,
                    readable,
                )
            };
            NonNull::new(session).ok_or(())
        });
        made.ok().map(|session| Self { session, device: device.clone() })
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let inner = &self.device.0;
        let _changing = locked(&inner.changing);
        let at = self.session.as_ptr();
        // SAFETY: made by this device, and no longer in use.
        let code = unsafe { sys::rte_cryptodev_sym_session_free(inner.id, at) };
        assert_eq!(code, 0, "a session that was made can be freed");
        // SAFETY: the pool exists.
        let octets = unsafe { (*inner.sessions.as_ptr()).elt_size } as usize;
        // Drivers do not promise to wipe keys.
        // SAFETY: the element has this length, is in the pool and is not in use: elements are taken
        // only under the lock, which is held.
        let memory = unsafe { core::slice::from_raw_parts_mut(at.cast::<u8>(), octets) };
        zeroize::Zeroize::zeroize(memory);
    }
}

/// One key of a SecY on a crypto device, in one direction.
#[derive(Debug)]
struct DeviceCipher {
    direction: Direction,
    readable: [usize; 2],
    /// Sessions for encrypted frames, one per length of the readable part.
    partly: [Session; 2],
    /// Session for frames that stay readable.
    wholly: Session,
}

impl DeviceCipher {
    /// Session for frames with `readable` readable octets (none: all), and the offset at which its
    /// text begins.
    #[inline]
    fn session(&self, readable: Option<usize>) -> (&Session, usize) {
        match readable {
            None => (&self.wholly, 0),
            Some(short) if short == self.readable[0] => (&self.partly[0], short),
            Some(long) => {
                assert_eq!(long, self.readable[1], "the cipher was made for other frames");
                (&self.partly[1], long)
            }
        }
    }

    #[inline]
    fn run<const N: usize>(&self, jobs: &mut [Job<'_>], readable: Option<usize>) -> u32 {
        const { assert!(N <= u32::BITS as usize) };
        assert!(jobs.len() <= N, "more than a burst");
        let (session, from) = self.session(readable);
        let nowhere = sys::rte_crypto_va_iova_ptr { va: ptr::null_mut(), iova: 0 };
        // DPDK reads 16 octets for a nonce.
        let mut nonces = [[0_u8; 16]; N];
        let empty = sys::rte_crypto_vec { base: ptr::null_mut(), iova: 0, len: 0, tot_len: 0 };
        let mut texts = [empty; N];
        let mut lists = [sys::rte_crypto_sgl { vec: ptr::null_mut(), num: 1 }; N];
        let mut ivs = [nowhere; N];
        let mut readables = [nowhere; N];
        let mut icvs = [nowhere; N];
        // A driver that returns early may leave the status unset.
        let mut status = [-1; N];
        for (n, (nonce, frame)) in jobs.iter_mut().enumerate() {
            let end = frame.len().checked_sub(ICV_LEN).filter(|&end| from <= end);
            let end = end.expect("the frame has all that stays readable, and a check value");
            let at = frame.as_mut_ptr();
            nonces[n][..12].copy_from_slice(nonce);
            ivs[n].va = nonces[n].as_mut_ptr().cast();
            readables[n].va = at.cast();
            icvs[n].va = at.wrapping_add(end).cast();
            let len = (end - from) as u32;
            let base = at.wrapping_add(from).cast();
            texts[n] = sys::rte_crypto_vec { base, iova: 0, len, tot_len: len };
            lists[n].vec = &mut texts[n];
        }
        let mut job = sys::rte_crypto_sym_vec {
            num: jobs.len() as u32,
            src_sgl: lists.as_mut_ptr(),
            dest_sgl: ptr::null_mut(),
            iv: ivs.as_mut_ptr(),
            digest: icvs.as_mut_ptr(),
            __bindgen_anon_1: sys::rte_crypto_sym_vec__bindgen_ty_1 { aad: readables.as_mut_ptr() },
            status: status.as_mut_ptr(),
        };
        let none = sys::rte_crypto_sym_ofs { raw: 0 };
        let (id, session) = (session.device.0.id, session.session.as_ptr());
        // SAFETY: the session is alive and this device's; everything that the job points to is
        // alive over the call, writable, inside the frame, and of the length that the session was
        // set up for.
        unsafe { sys::rte_cryptodev_sym_cpu_crypto_process(id, session, none, &mut job) };
        let mut done = 0;
        for (n, (_, frame)) in jobs.iter_mut().enumerate() {
            if status[n] == 0 {
                done |= 1 << n;
            } else if self.direction == Direction::Open && from != 0 {
                let end = frame.len() - ICV_LEN;
                frame[from..end].fill(0);
            }
        }
        done
    }
}

impl Aead for DeviceCipher {
    #[inline]
    fn apply(&self, job: Job<'_>, readable: Option<usize>) -> bool {
        self.run::<1>(&mut [job], readable) == 1
    }

    #[inline]
    fn apply_all(&self, jobs: &mut [Job<'_>], readable: Option<usize>) -> u32 {
        self.run::<BATCH>(jobs, readable)
    }
}
