//! Sluice's counters in DPDK's telemetry: `dpdk-telemetry.py -f <file_prefix>` sends a request, a
//! function of Sluice answers.
//!
//! Needs [`EalOptions::telemetry`](super::EalOptions::telemetry), with hugepages or without. Each
//! client has a thread in DPDK, which calculates the answer and must not wait for a worker. DPDK's
//! values are more limited than JSON's: names keep letters, digits, `_` and `/` (others become
//! `_`); strings end after 127 characters; an object ends after 255 entries, with the count of the
//! rest in `_more`; arrays of objects inside an object become objects with the names `0`, `1`, ..;
//! fractions become strings. One answer holds 16 KiB of JSON; longer ones should be split over
//! commands, or by the parameter that the client gives after a comma.

use core::ffi::{CStr, c_char, c_int};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dpdk_sys as sys;
use dpdk_sys::rte_tel_data;
use serde_json::{Map, Value};

use super::eal::Eal;
use super::error::{Error, strerror};

/// Entries of an object, less the one for `_more`.
const ENTRIES_MAX: usize = sys::RTE_TEL_MAX_DICT_ENTRIES as usize - 1;

type Answer = Arc<dyn Fn(&str) -> Value + Send + Sync>;

/// Commands registered with DPDK; those without an answer are no longer registered here, because
/// DPDK cannot remove a command.
static ANSWERS: Mutex<BTreeMap<String, Option<Answer>>> = Mutex::new(BTreeMap::new());

fn answers() -> MutexGuard<'static, BTreeMap<String, Option<Answer>>> {
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A registered command; after it is dropped, clients get `null`.
#[must_use]
#[derive(Debug)]
pub struct TelemetryCommand {
    name: String,
    _eal: Eal,
}

/// Answers `name` (such as `/sluice/ports`) with the result of `answer` for the client's parameter,
/// which is empty if there is none.
///
/// # Errors
/// [`Error::Option`] for a name that DPDK does not accept (55 characters of `/`, letters, digits
/// and `_`, a slash first), a help text over 127 characters, or a name that has an answer.
pub fn register_telemetry(
    eal: &Eal,
    name: &str,
    help: &str,
    answer: impl Fn(&str) -> Value + Send + Sync + 'static,
) -> Result<TelemetryCommand, Error> {
    let fail = |why: String| Error::Option { what: format!("telemetry command {name}"), why };
    let mut answers = answers();
    let known = answers.contains_key(name);
    if matches!(answers.get(name), Some(Some(_))) {
        return Err(fail("it has an answer already".into()));
    }
    if !known {
        let no_zero = |_| fail("a zero byte cannot stand in it".into());
        let c_name = CString::new(name).map_err(no_zero)?;
        let c_help = CString::new(help).map_err(no_zero)?;
        // SAFETY: EAL runs; both strings end with a zero and are copied; `respond` stays for ever.
        let code = unsafe {
            sys::rte_telemetry_register_cmd(c_name.as_ptr(), Some(respond), c_help.as_ptr())
        };
        if code != 0 {
            return Err(fail(strerror(code)));
        }
    }
    answers.insert(name.into(), Some(Arc::new(answer)));
    Ok(TelemetryCommand { name: name.into(), _eal: eal.clone() })
}

impl Drop for TelemetryCommand {
    fn drop(&mut self) {
        answers().insert(self.name.clone(), None);
    }
}

unsafe extern "C" fn respond(
    name: *const c_char,
    parameter: *const c_char,
    out: *mut rte_tel_data,
) -> c_int {
    let text = |s: *const c_char| {
        if s.is_null() {
            return String::new();
        }
        // SAFETY: DPDK passes null or a string that ends with a zero, and lives over the call.
        unsafe { CStr::from_ptr(s) }.to_string_lossy().into_owned()
    };
    let Some(answer) = answers().get(&text(name)).cloned().flatten() else { return -libc::ENOENT };
    let parameter = text(parameter);
    let Ok(value) = catch_unwind(AssertUnwindSafe(|| answer(&parameter))) else {
        return -libc::EIO;
    };
    // SAFETY: `out` is DPDK's, empty, and not used by others over the call.
    let out = unsafe { Data::from_raw(out) };
    out.fill(&value);
    0
}

/// DPDK's form of a value. Values that DPDK refuses are left out.
struct Data(*mut rte_tel_data);

/// Name of an entry, or an element of an array.
enum Place<'a> {
    Entry(&'a CStr),
    Element,
}

impl Data {
    /// # Safety
    /// `data` is alive, and has no other user while the result is in use.
    unsafe fn from_raw(data: *mut rte_tel_data) -> Self {
        Self(data)
    }

    fn new() -> Option<Self> {
        // SAFETY: allocates, or returns null.
        let data = unsafe { sys::rte_tel_data_alloc() };
        (!data.is_null()).then_some(Self(data))
    }

    fn fill(&self, value: &Value) {
        match value {
            Value::Object(map) => self.fill_object(map),
            Value::Array(items) => self.fill_array(items),
            other => {
                let text = c_string(&plain(other));
                // SAFETY: alive and empty; the string is copied.
                unsafe { sys::rte_tel_data_string(self.0, text.as_ptr()) };
            }
        }
    }

    fn fill_object(&self, map: &Map<String, Value>) {
        // SAFETY: alive and empty.
        unsafe { sys::rte_tel_data_start_dict(self.0) };
        for (name, value) in map.iter().take(ENTRIES_MAX) {
            let name = entry_name(name);
            self.add(&Place::Entry(&name), value);
        }
        if let Some(more) = map.len().checked_sub(ENTRIES_MAX).filter(|&more| more > 0) {
            self.add(&Place::Entry(c"_more"), &Value::from(more));
        }
    }

    /// Fills an array that DPDK can hold: of unsigned numbers, of objects (at the top only), or
    /// else of strings.
    fn fill_array(&self, items: &[Value]) {
        let kind = if items.iter().all(Value::is_u64) {
            sys::SLUICE_TEL_UINT_VAL
        } else if items.iter().all(is_nested) {
            sys::RTE_TEL_CONTAINER
        } else {
            sys::RTE_TEL_STRING_VAL
        };
        // SAFETY: alive and empty.
        unsafe { sys::rte_tel_data_start_array(self.0, kind) };
        for item in items {
            if kind == sys::RTE_TEL_STRING_VAL {
                self.add(&Place::Element, &Value::from(plain(item)));
            } else {
                self.add(&Place::Element, item);
            }
        }
    }

    fn add(&self, place: &Place<'_>, value: &Value) {
        match value {
            Value::Object(map) => {
                self.add_nested(place, |data| data.fill_object(map));
            }
            Value::Array(items) if items.iter().any(is_nested) => {
                let numbered = items.iter().enumerate().map(|(n, v)| (n.to_string(), v.clone()));
                let map = numbered.collect();
                self.add_nested(place, |data| data.fill_object(&map));
            }
            Value::Array(items) => self.add_nested(place, |data| data.fill_array(items)),
            other => self.add_plain(place, other),
        }
    }

    fn add_plain(&self, place: &Place<'_>, value: &Value) {
        let text = c_string(&plain(value));
        match (place, value.as_u64()) {
            (Place::Entry(name), Some(number)) => {
                // SAFETY: alive and started; the name is copied.
                unsafe { sys::sluice_tel_dict_uint(self.0, name.as_ptr(), number) }
            }
            (Place::Element, Some(number)) => {
                // SAFETY: alive and started.
                unsafe { sys::sluice_tel_array_uint(self.0, number) }
            }
            (Place::Entry(name), None) => {
                // SAFETY: alive and started; name and string are copied.
                unsafe { sys::rte_tel_data_add_dict_string(self.0, name.as_ptr(), text.as_ptr()) }
            }
            (Place::Element, None) => {
                // SAFETY: alive and started; the string is copied.
                unsafe { sys::rte_tel_data_add_array_string(self.0, text.as_ptr()) }
            }
        };
    }

    fn add_nested(&self, place: &Place<'_>, fill: impl FnOnce(&Self)) {
        let Some(inner) = Self::new() else { return };
        fill(&inner);
        let code = match place {
            Place::Entry(name) => {
                // SAFETY: both are alive; on success the outer one frees the inner one.
                unsafe { sys::rte_tel_data_add_dict_container(self.0, name.as_ptr(), inner.0, 0) }
            }
            // SAFETY: both are alive; on success the outer one frees the inner one.
            Place::Element => unsafe { sys::rte_tel_data_add_array_container(self.0, inner.0, 0) },
        };
        if code < 0 {
            // SAFETY: refused, so still owned here, and without another user.
            unsafe { sys::rte_tel_data_free(inner.0) };
        }
    }
}

fn is_nested(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

/// A value as text, strings without their quotes.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn entry_name(name: &str) -> CString {
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '/';
    c_string(&name.chars().map(|c| if good(c) { c } else { '_' }).collect::<String>())
}

fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', " ")).expect("the zero bytes were replaced")
}
