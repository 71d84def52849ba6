//! The path of a frame takes no lock and makes no read-modify-write on memory that workers share:
//! its modules do not name any. `dpdk_no_syscall` tests that they make no system call.

use crate::sources::rust_files;
use crate::tokens::tokens;

/// Every module that a frame passes between the two bursts, and the channels between workers.
const PATH: &str = "src/plane/contracts/frame.rs src/plane/contracts/port.rs \
    src/plane/contracts/port/secured.rs src/plane/contracts/world.rs src/plane/switch/ \
    src/machines/buffer/ src/machines/pfc/ src/machines/schedule/ src/machines/congestion/ \
    src/machines/secure/ src/wire/ src/real/dpdk/hot.rs src/real/dpdk/mbuf.rs \
    src/real/dpdk/port.rs src/real/dpdk/clock.rs src/plane/contracts/mesh";

/// Functions that wait for another thread, and the atomic operations that hold a cache line while
/// they read and write it (loads, stores and fences do not).
const BANNED: &str = "Mutex RwLock Condvar Barrier Once OnceLock LazyLock mpsc channel park \
    yield_now spin_loop fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min \
    fetch_update compare_exchange compare_exchange_weak";

#[test]
fn the_path_of_a_frame_names_no_lock() {
    let files = rust_files(&["src"]);
    for part in PATH.split_whitespace() {
        assert!(files.iter().any(|file| file.path.starts_with(part)), "{part} has moved");
    }
    // The clock's calibration and its quality test wait on purpose; `now` does not. A channel of
    // MACsec is not one between threads.
    let allowed = |path: &str, word: &str| match word {
        "spin_loop" => path == "src/real/dpdk/clock.rs",
        "channel" => path == "src/wire/macsec.rs" || path.starts_with("src/machines/secure/"),
        _ => false,
    };
    let on_path = |path: &str| PATH.split_whitespace().any(|part| path.starts_with(part));
    for file in files.iter().filter(|f| on_path(&f.path) && !f.path.contains("/tests")) {
        for token in tokens(&file.text) {
            let word = token.text.as_str();
            let found = BANNED.split_whitespace().any(|banned| banned == word)
                && !allowed(&file.path, word);
            assert!(!found, "{}:{}: {word}", file.path, token.line);
        }
    }
}
