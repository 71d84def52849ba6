//! The path of a frame takes no lock and makes no read-modify-write on memory that workers share:
//! its modules do not name any. `dpdk_no_syscall` tests that they make no system call.

use crate::sources::rust_files;
use crate::tokens::{Token, tokens};

/// Every module that a frame passes between the two bursts, and the channels between workers.
const PATH: &[&str] = &[
    "src/plane/contracts/frame.rs",
    "src/plane/contracts/port.rs",
    "src/plane/contracts/port/secured.rs",
    "src/plane/contracts/world.rs",
    "src/plane/switch/",
    "src/machines/buffer/",
    "src/machines/pfc/",
    "src/machines/schedule/",
    "src/machines/congestion/",
    "src/machines/secure/",
    "src/wire/",
    "src/real/dpdk/hot.rs",
    "src/real/dpdk/mbuf.rs",
    "src/real/dpdk/port.rs",
    "src/real/dpdk/clock.rs",
    "src/plane/contracts/mesh",
];

/// Functions that wait for another thread, and the atomic operations that hold a cache line while
/// they read and write it (loads, stores and fences do not).
const BANNED: &[&str] = &[
    "Mutex",
    "RwLock",
    "Condvar",
    "Barrier",
    "Once",
    "OnceLock",
    "LazyLock",
    "mpsc",
    "channel",
    "park",
    "yield_now",
    "spin_loop",
    "fetch_add",
    "fetch_sub",
    "fetch_and",
    "fetch_or",
    "fetch_xor",
    "fetch_max",
    "fetch_min",
    "fetch_update",
    "fetch_nand",
    "compare_exchange",
    "compare_exchange_weak",
];

#[test]
fn the_path_of_a_frame_names_no_lock() {
    let files = rust_files(&["src"]);
    for part in PATH {
        assert!(files.iter().any(|file| file.path.starts_with(part)), "{part} has moved");
    }
    // The clock's calibration and its quality test wait on purpose; `now` does not. A channel of
    // MACsec is not one between threads.
    let allowed = |path: &str, word: &str| match word {
        "spin_loop" => path == "src/real/dpdk/clock.rs",
        // Only where a link went down: `Mesh::find_down`.
        "swap" => path == "src/plane/contracts/mesh.rs",
        "channel" => path == "src/wire/macsec.rs" || path.starts_with("src/machines/secure/"),
        _ => false,
    };
    let on_path = |path: &str| PATH.iter().any(|part| path.starts_with(part));
    for file in files.iter().filter(|f| on_path(&f.path) && !f.path.contains("/tests")) {
        let tokens = tokens(&file.text);
        for (n, token) in tokens.iter().enumerate() {
            let word = token.text.as_str();
            let banned = BANNED.contains(&word) || swaps_atomic(&tokens[n..]);
            assert!(!banned || allowed(&file.path, word), "{}:{}: {word}", file.path, token.line);
        }
    }
}

/// Returns true if the tokens begin with an atomic's `swap`, which names an ordering; that of memory and of slices
/// does not.
fn swaps_atomic(tokens: &[Token]) -> bool {
    let end = tokens.iter().position(|token| token.text == ")").unwrap_or(tokens.len());
    tokens[0].text == "swap" && tokens[..end].iter().any(|token| token.text == "Ordering")
}

#[test]
fn an_atomic_swap_is_told_from_others() {
    let swaps = |text: &str| (0..tokens(text).len()).any(|n| swaps_atomic(&tokens(text)[n..]));
    assert!(swaps("news.swap(false, Ordering::AcqRel);"));
    assert!(!swaps(
        "frames.swap(a, b); core::mem::swap(&mut a, &mut b); news.load(Ordering::Acquire);"
    ));
}
