//! Finds DPDK with pkg-config, reads its headers with bindgen, compiles the shim, and prints the
//! link arguments. Writes to `OUT_DIR` alone.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// Oldest release whose headers and behaviour the shim and the safe layer support.
const MIN_VERSION: &str = "22.11";

/// Functions that bindgen takes from the headers, with all types that they use.
const FUNCTIONS: &[&str] = &[
    "rte_cryptodev_(close|configure|get_dev_id|info_get|start|stop)",
    "rte_cryptodev_sym_(capability_check_aead|capability_check_auth|capability_get)",
    "rte_cryptodev_sym_cpu_crypto_process",
    "rte_cryptodev_sym_get_private_session_size",
    "rte_cryptodev_sym_session_(free|pool_create)",
    "rte_dev_probe",
    "rte_dev_remove",
    "rte_eal_alarm_set",
    "rte_eal_cleanup",
    "rte_eal_get_runtime_dir",
    "rte_eal_init",
    "rte_eth_allmulticast_enable",
    "rte_eth_dev_adjust_nb_rx_tx_desc",
    "rte_eth_dev_close",
    "rte_eth_dev_count_avail",
    "rte_eth_dev_flow_ctrl_get",
    "rte_eth_dev_flow_ctrl_set",
    "rte_eth_dev_fw_version_get",
    "rte_eth_dev_get_name_by_port",
    "rte_eth_dev_get_port_by_name",
    "rte_eth_dev_info_get",
    "rte_eth_dev_is_valid_port",
    "rte_eth_dev_priority_flow_ctrl_queue_configure",
    "rte_eth_dev_priority_flow_ctrl_queue_info_get",
    "rte_eth_dev_rx_offload_name",
    "rte_eth_dev_set_link_down",
    "rte_eth_dev_set_link_up",
    "rte_eth_dev_socket_id",
    "rte_eth_dev_start",
    "rte_eth_dev_stop",
    "rte_eth_dev_tx_offload_name",
    "rte_eth_find_next",
    "rte_eth_from_rings",
    "rte_eth_iterator_cleanup",
    "rte_eth_iterator_init",
    "rte_eth_iterator_next",
    "rte_eth_macaddr_get",
    "rte_eth_promiscuous_disable",
    "rte_eth_promiscuous_enable",
    "rte_eth_promiscuous_get",
    "rte_eth_read_clock",
    "rte_eth_rx_queue_setup",
    "rte_eth_stats_get",
    "rte_eth_timesync_(enable|disable|read_time|read_tx_timestamp)",
    "rte_eth_tx_done_cleanup",
    "rte_eth_tx_queue_setup",
    "rte_get_tsc_hz",
    "rte_lcore_count",
    "rte_log_set_global_level",
    "rte_mbuf_dyn_rx_timestamp_register",
    "rte_mempool_avail_count",
    "rte_mempool_free",
    "rte_mempool_in_use_count",
    "rte_pktmbuf_copy",
    "rte_ring_create",
    "rte_ring_free",
    "rte_strerror",
    "rte_tel_data_(alloc|free|start_array|start_dict|string)",
    "rte_tel_data_add_(array|dict)_(string|int|container)",
    "rte_telemetry_register_cmd",
    "rte_thread_register",
    "rte_thread_unregister",
    "rte_version",
    "sluice_.*",
];

const TYPES: &[&str] = &[
    "rte_eth_dev_info",
    "rte_eth_fc_conf",
    "rte_eth_fp_ops",
    "rte_eth_pfc_queue_conf",
    "rte_eth_pfc_queue_info",
    "rte_eth_stats",
    "rte_mempool",
    "rte_mempool_cache",
    "sluice_.*",
];

const VARS: &[&str] = &[
    "RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO",
    "RTE_ETH_[RT]X_OFFLOAD_.*",
    "RTE_MBUF_F_RX_IEEE1588_TMST",
    "RTE_MBUF_F_RX_L4_CKSUM_GOOD",
    "RTE_MBUF_F_TX_IEEE1588_TMST",
    "RTE_LOG_(ERR|WARNING|NOTICE|INFO|DEBUG)",
    "RTE_MEMPOOL_F_NO_IOVA_CONTIG",
    "RTE_MEMPOOL_NAMESIZE",
    "RTE_RING_NAMESIZE",
    "RTE_TEL_MAX_.*",
    "RING_F_.*",
    "SLUICE_.*",
    "rte_eth_fp_ops",
    "sluice_.*",
];

/// Result of pkg-config for DPDK.
struct Dpdk {
    version: String,
    cflags: Vec<String>,
    library: pkg_config::Library,
}

fn main() {
    for file in ["build.rs", "csrc/shim.h", "csrc/shim.c"] {
        println!("cargo:rerun-if-changed={file}");
    }
    let static_link = env::var_os("CARGO_FEATURE_STATIC").is_some();
    let dpdk = find(static_link);
    println!("cargo:rustc-env=SLUICE_DPDK_VERSION={}", dpdk.version);
    println!("cargo:version={}", dpdk.version);
    println!("cargo:include={}", join(&dpdk.library.include_paths));

    compile_shim(&dpdk.cflags);
    if static_link {
        link_archives(&dpdk.library.link_paths);
    } else {
        link_shared(&dpdk.library);
    }
    generate(&dpdk.cflags);
}

fn find(static_link: bool) -> Dpdk {
    let mut probe = pkg_config::Config::new();
    probe.atleast_version(MIN_VERSION).cargo_metadata(false).env_metadata(true);
    let library = probe.statik(static_link).probe("libdpdk").unwrap_or_else(|err| {
        give_up(&format!(
            "DPDK {MIN_VERSION} or later was not found.\n\
             Install its development files (Debian 12 or later, Ubuntu 24.04 or later):\n\
             \x20   sudo apt install libdpdk-dev libclang-dev pkg-config\n\
             For a DPDK of your own, point PKG_CONFIG_PATH at the directory of its libdpdk.pc.\n\
             Without DPDK, `cargo build --no-default-features` gives the virtual world alone.\n\
             pkg-config said: {err}"
        ))
    });
    // The crate drops `-include rte_config.h` and `-march=`, without which the headers differ from
    // those that the library was built with.
    let cflags = pkg_config(&["--cflags", "libdpdk"]);
    Dpdk { version: library.version.clone(), cflags, library }
}

/// Runs pkg-config as its crate does, and splits its output.
fn pkg_config(args: &[&str]) -> Vec<String> {
    let tool = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let out = Command::new(&tool)
        .args(args)
        .output()
        .unwrap_or_else(|err| give_up(&format!("cannot run {tool}: {err}")));
    if !out.status.success() {
        give_up(&format!("{tool} {args:?}: {}", String::from_utf8_lossy(&out.stderr)));
    }
    String::from_utf8_lossy(&out.stdout).split_whitespace().map(String::from).collect()
}

fn compile_shim(cflags: &[String]) {
    let mut cc = cc::Build::new();
    cc.file("csrc/shim.c").warnings(true).define("ALLOW_EXPERIMENTAL_API", None);
    cc.flag("-Werror=implicit-function-declaration");
    // DPDK's headers are not warning-free in every release.
    for flag in cflags {
        match flag.strip_prefix("-I") {
            Some(dir) => cc.flag("-isystem").flag(dir),
            None => cc.flag(flag),
        };
    }
    cc.compile("sluice_dpdk_shim");
}

fn link_shared(library: &pkg_config::Library) {
    for dir in &library.link_paths {
        println!("cargo:rustc-link-search=native={}", dir.display());
    }
    for lib in &library.libs {
        println!("cargo:rustc-link-lib={lib}");
    }
    // Drivers are loaded at run time; this one is called by name (rte_eth_from_rings), and
    // pkg-config does not list drivers.
    println!("cargo:rustc-link-lib=rte_net_ring");
}

/// Links DPDK's archives whole, because drivers register themselves in constructors that nothing
/// refers to: without that no device would be found.
fn link_archives(extra_paths: &[PathBuf]) {
    let libdir = pkg_config(&["--variable=libdir", "libdpdk"]);
    for dir in libdir.iter().map(Path::new).chain(extra_paths.iter().map(PathBuf::as_path)) {
        println!("cargo:rustc-link-search=native={}", dir.display());
    }
    let mut whole = false;
    let mut archives = Vec::new();
    let mut shared = Vec::new();
    for flag in pkg_config(&["--static", "--libs", "libdpdk"]) {
        match flag.as_str() {
            "-Wl,--whole-archive" => whole = true,
            "-Wl,--no-whole-archive" => whole = false,
            "-pthread" => shared.push("pthread".into()),
            _ => match flag.strip_prefix("-l") {
                Some(lib) if whole => archives.push(archive_name(lib)),
                Some(lib) => shared.push(lib.to_string()),
                None => {
                    if let Some(dir) = flag.strip_prefix("-L") {
                        println!("cargo:rustc-link-search=native={dir}");
                    }
                }
            },
        }
    }
    for lib in &archives {
        println!("cargo:rustc-link-lib=static:+whole-archive,-bundle={lib}");
    }
    shared.sort_unstable();
    shared.dedup();
    let compiler = cc::Build::new().get_compiler();
    for lib in shared.iter().filter(|lib| !archives.contains(lib)) {
        // pkg-config also names libraries that only static archives of the system's libraries need,
        // which may be missing where those libraries are linked as shared ones.
        if ["so", "a"].iter().any(|kind| is_installed(&compiler, &format!("lib{lib}.{kind}"))) {
            println!("cargo:rustc-link-lib={lib}");
        }
    }
}

/// True if the compiler finds this library: it then prints the path, else the bare name.
fn is_installed(compiler: &cc::Tool, file: &str) -> bool {
    let out = compiler.to_command().arg(format!("-print-file-name={file}")).output();
    out.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).trim() != file)
}

/// `:librte_eal.a` and `rte_eal` name the same archive.
fn archive_name(lib: &str) -> String {
    let lib = lib.strip_prefix(":lib").unwrap_or(lib);
    lib.strip_suffix(".a").unwrap_or(lib).to_string()
}

fn generate(cflags: &[String]) {
    let mut builder = bindgen::Builder::default()
        .header("csrc/shim.h")
        .clang_args(cflags)
        .clang_arg("-DALLOW_EXPERIMENTAL_API")
        // Offload bits and similar macros have casts, which the compiler must evaluate.
        .clang_macro_fallback()
        .clang_macro_fallback_build_dir(PathBuf::from(env::var_os("OUT_DIR").unwrap()))
        .rust_target(bindgen::RustTarget::stable(85, 0).unwrap_or_default())
        .rust_edition(bindgen::RustEdition::Edition2024)
        .use_core()
        .derive_default(true)
        .derive_debug(false)
        .generate_comments(false)
        .prepend_enum_name(false)
        .layout_tests(true)
        // Laid out by hand in src/mbuf.rs.
        .blocklist_type("rte_mbuf")
        // Thread-local variables, which Rust cannot link to.
        .blocklist_var("per_lcore_.*")
        // Both packed and aligned, which Rust cannot express; its fields are not used.
        .opaque_type("rte_l2tpv2_combined_msg_hdr");
    for name in FUNCTIONS {
        builder = builder.allowlist_function(name);
    }
    for name in TYPES {
        builder = builder.allowlist_type(name);
    }
    for name in VARS {
        builder = builder.allowlist_var(name);
    }
    let bindings = builder.generate().unwrap_or_else(|err| {
        give_up(&format!(
            "bindgen cannot read DPDK's headers: {err}\n\
             If libclang is missing: sudo apt install libclang-dev"
        ))
    });
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap()).join("bindings.rs");
    bindings.write_to_file(&out).unwrap_or_else(|err| give_up(&format!("{out:?}: {err}")));
}

fn join(paths: &[PathBuf]) -> String {
    paths.iter().map(|p| p.display().to_string()).collect::<Vec<_>>().join(":")
}

/// Ends the build with this message alone, without the text of a panic.
fn give_up(message: &str) -> ! {
    for line in message.lines() {
        println!("cargo:warning={line}");
    }
    eprintln!("{message}");
    exit(1)
}
